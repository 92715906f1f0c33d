"""What shows that a table was made in the United States, where dates begin with the month.

Only where no date of a file decides its order is this asked. A currency is no evidence: dollars are held everywhere;
but another one is evidence against it. Time zones are, and addresses that card networks print behind a shop.
"""

import re
from collections.abc import Sequence

from stateward.pipelines.statements.layout import ColumnLayout

ROWS_MIN = 3
SHARE_MIN = 0.6  # of the rows: a traveller's card shows some of them abroad, too
TIME_ZONES = frozenset("PST PDT MST MDT CDT EST EDT".split())  # CST is also the time of China
STATES = (
    "AL AK AZ AR CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR"
    " PA RI SC SD TN TX UT VA VT WA WI WV WY"
)
# "SAFEWAY #1234 SEATTLE WA", "SHELL OIL AUSTIN TX 78701", "TARGET.COM BROOKLYN PARK MN USA"
_ADDRESS = re.compile(
    rf"[A-Za-z.]{{3,}} +(?:{STATES.replace(' ', '|')})(?: +[0-9]{{5}}(?:-[0-9]{{4}})?)?(?: +USA?)?\s*$"
)
_ELSEWHERE = re.compile(
    r"[£€]|\b(?:AUD|BRL|CAD|CHF|DKK|EUR|GBP|HKD|INR|JPY|MXN|NOK|NZD|PLN|SEK|SGD)\b"
)


def american_evidence(layout: ColumnLayout, rows: Sequence[Sequence[str]]) -> str:
    """A sentence about what shows it; "" if nothing does."""
    dated = [cells for cells in rows if len(cells) == layout.width]
    if len(dated) < ROWS_MIN:
        return ""
    for place, heading in enumerate(layout.headings):
        if heading.replace(" ", "").casefold() == "timezone":
            zones = {cells[place].strip().upper() for cells in dated}
            if zones <= TIME_ZONES:
                return f"its times are of {', '.join(sorted(zones))}"
    if any(_ELSEWHERE.search(cell) for cells in (layout.headings, *dated) for cell in cells):
        return ""
    text = layout.description
    found = sum(bool(_ADDRESS.search(cells[text])) for cells in dated) if text >= 0 else 0
    if found >= ROWS_MIN and found >= SHARE_MIN * len(dated):
        return f"{found} of {len(dated)} rows end with a place in the United States"
    return ""
