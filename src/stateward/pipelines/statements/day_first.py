"""What shows a country that writes the day before the month: its script, its currency, or its accounts."""

import re
from collections.abc import Sequence

# Currencies of one country, or of several that all write the day first, which accounts elsewhere rarely have.
_DAY_FIRST_CURRENCY = re.compile(
    r"\b(?:AED|AUD|BRL|CLP|COP|CZK|DKK|EGP|IDR|ILS|INR|MYR|NOK|NZD|PKR|PLN|RON|SAR|SGD|THB|TRY|VND|ZAR)\b|[₪₹₺]|R\$"
)
_DAY_FIRST_SCRIPTS = (("Hebrew", "\u0590", "\u05ff"), ("Arabic", "\u0600", "\u06ff"),
                      ("Thai", "\u0e00", "\u0e7f"), ("Greek", "\u0370", "\u03ff"),
                      ("Cyrillic", "\u0400", "\u04ff"))  # fmt: skip

# Countries with IBANs that write the day first. Hungary, Lithuania and Sweden write the year or the month first.
_DAY_FIRST_IBAN = re.compile(
    r"(?:A[DELTZ]|B[AEGHRY]|C[HRYZ]|D[EKO]|E[ES]|F[IOR]|G[BEILRT]|HR|I[ELQST]|JO|K[WZ]|L[BIUVY]|M[CDEKRT]|N[LO]|P[KLST]"
    r"|QA|R[OS]|S[AIKMV]|T[NR]|UA|V[AG]|XK)[0-9]{2}(?: ?[A-Z0-9]){11,30}"
)


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


def day_first_account(account: str) -> str:
    """What an account shows of the order of dates: an IBAN is of a country, and most write the day first."""
    is_iban = _DAY_FIRST_IBAN.fullmatch(account) is not None
    return f"the account is one of {account[:2]}" if is_iban else ""
