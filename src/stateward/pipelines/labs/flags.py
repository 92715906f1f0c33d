"""Which problems of a report say that it is wrong or incomplete, and so need a person: its flags.

Everything else that is noted leaves a value as it is printed and says what is not known of it. A flag means that two
things that the report itself says cannot both be true, or that a part of it is not here, such as whose
results they are.
"""

from collections.abc import Iterable, Sequence

from stateward.pipelines.labs.model import (
    DAMAGED,
    FILE_CUT,
    FLAG_DISAGREES,
    NO_VALUE,
    PAGE_MISSING,
    ROW_UNREAD,
    SPECIMEN_DOUBTED,
    UNIT_CONTRADICTED,
    VALUE_UNREAD,
    LabResult,
)
from stateward.pipelines.labs.persons import PATIENTS_UNTOLD, SEVERAL_PATIENTS

OF_DOCUMENTS = (SEVERAL_PATIENTS, PATIENTS_UNTOLD, PAGE_MISSING, FILE_CUT, DAMAGED)
OF_RESULTS = (
    ROW_UNREAD, SPECIMEN_DOUBTED, VALUE_UNREAD, NO_VALUE, UNIT_CONTRADICTED, FLAG_DISAGREES,
)  # fmt: skip
SIDES = {"HH": "H", "LL": "L", "AA": "A"}
# What is printed, and what value and range say. An N outside of the range is only noted: it also means "not judged".
_CONTRADICTIONS = frozenset({("H", "L"), ("L", "H"), ("H", "N"), ("L", "N")})


def flags_of(notes: Sequence[str], results: Iterable[LabResult]) -> list[str]:
    """The flags of a report by the notes on its document and by its results."""
    told = {each.partition(":")[0] for each in notes}
    wrong = {code for each in results for code in each.problems if _is_wrong(code, each)}
    return [
        *(code for code in OF_DOCUMENTS if code in told),
        *(code for code in OF_RESULTS if code in wrong),
    ]


def _is_wrong(code: str, result: LabResult) -> bool:
    if code == FLAG_DISAGREES:
        return _is_contradicted(result)
    if code == NO_VALUE:  # laboratories print titles and remarks as tests, but give them no unit
        printed = result.printed  # a dash is a value that was not measured
        return not printed.get("value") and bool(printed.get("unit") or printed.get("range"))
    if (
        code == VALUE_UNREAD
    ):  # `12,` and `7l` are damaged numbers where a unit or a range is of numbers
        printed = result.printed
        is_number = printed.get("value", "").lstrip("<>≤≥=~ ")[:1].isdigit()
        return is_number and bool(printed.get("unit") or printed.get("range"))
    if code == SPECIMEN_DOUBTED:  # a remark beside a value that was not given explains why
        return result.kind != "none"
    return code in OF_RESULTS


def _is_contradicted(result: LabResult) -> bool:
    """Whether a flag is printed that value and range deny. A flag that is missing is only noted: many print few.

    Laboratories differ in whether a limit belongs to its range, so a value at a limit may have either flag.
    """
    printed = SIDES.get(result.printed_flag, result.printed_flag)
    is_at_limit = result.value in (result.low, result.high)
    return (printed, result.flag) in _CONTRADICTIONS and not is_at_limit
