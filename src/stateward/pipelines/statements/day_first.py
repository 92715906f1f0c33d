"""What shows a country that writes the day before the month: its script, or a currency that no other country has."""

import re
from collections.abc import Sequence

# Currencies of one country, or of several that all write the day first, which accounts elsewhere rarely have.
_DAY_FIRST_CURRENCY = re.compile(
    r"\b(?:AED|AUD|BRL|CLP|COP|CZK|DKK|EGP|IDR|ILS|INR|MYR|NOK|NZD|PKR|PLN|RON|SAR|SGD|THB|TRY|VND|ZAR)\b|[₪₹₺]|R\$"
)
_DAY_FIRST_SCRIPTS = (("Hebrew", "\u0590", "\u05ff"), ("Arabic", "\u0600", "\u06ff"),
                      ("Thai", "\u0e00", "\u0e7f"), ("Greek", "\u0370", "\u03ff"),
                      ("Cyrillic", "\u0400", "\u04ff"))  # fmt: skip


def day_first_country(names: Sequence[str], of_amounts: Sequence[str], currency: str) -> str:
    """What shows that day comes first: the script of headings, or a currency in those of amounts or of all amounts."""
    letters = "".join(names)
    for name, low, high in _DAY_FIRST_SCRIPTS:
        if any(low <= letter <= high for letter in letters):
            return f"the headings are in {name} letters"
    for text in (*of_amounts, currency):
        if found := _DAY_FIRST_CURRENCY.search(text):
            return f"the amounts are in {found[0]}"
    return ""
