"""An end that a contract says it does not have: `unbefristet`, `keine Mindestlaufzeit`, `no fixed term`.

That is an answer, and not a value that is missing. It counts only where no end and no term is printed: what is said of
the time after a term (`danach unbefristet`) leaves the end of that term as it is.
"""

import re
from collections.abc import Iterator, Mapping

from stateward.pipelines.contracts.offline.choice import SURE_ENOUGH, FieldChoice
from stateward.pipelines.contracts.offline.number_fields import FieldCandidate, said_in_words
from stateward.pipelines.contracts.offline.page_analysis import ContractReading
from stateward.pipelines.contracts.offline.statements import statement
from stateward.pipelines.contracts.rules import Vertical

OPEN_CONFIDENCE = 90
_LATER = re.compile(
    r"\b(?:danach|anschließend|hiernach|sodann|dann|später|ab|nach|bis|weiter\w*|verlänger\w*|läuft\s+aus|afterwards?|after|thereafter|"
    r"then|later|from|until|unless|renew\w*|extend\w*|extension\w*|continu\w*|rolls|becomes|wird\s+(?:er|sie|es)\s+nicht|kündigst|"
    r"(?:kündigen|gekündigt)\b[^.;]*\bnicht|ohne\s+kündigung|wenn|falls|sofern|if)\b",
    re.IGNORECASE,
)


def open_ends(
    vertical: Vertical,
    reading: ContractReading,
    choices: Mapping[str, FieldChoice],
    terms: list[FieldCandidate],
) -> Iterator[tuple[str, FieldChoice]]:
    """The ends that the document says it has not, by field."""
    if any(each.score >= SURE_ENOUGH for each in terms):
        return
    for order in vertical.orders:
        rule = vertical.field(order.second)
        if rule is None or order.second in choices:
            continue
        said = said_in_words(rule, reading)
        if said and not any(_is_of_later(reading, each) for each in said):
            best = max(said, key=lambda each: each.score)
            yield order.second, FieldChoice(best, OPEN_CONFIDENCE, best.why)


def _is_of_later(reading: ContractReading, each: FieldCandidate) -> bool:
    """Whether the statement of such words is of what follows a term, or of a condition."""
    page = reading.pages[each.page]
    return any(
        _LATER.search(page.text, first, last)
        for first, last in statement(page, each.start, each.end)
    )
