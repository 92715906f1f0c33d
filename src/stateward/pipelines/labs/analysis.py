"""What a person should look at: critical values, values out of range, changes against an earlier result.

Earlier results are those of the same document (a cumulative report, a message with several collection times) and
those of earlier reports of the same patient key. They are compared by patient key, analyte (or name) and unit, and by
the time of collection: in which order reports arrive does not matter.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import groupby

from stateward.pipelines.labs.analytes import ANALYTES, by_code, by_name
from stateward.pipelines.labs.model import (
    NOTEWORTHY,
    PENDING,
    AnalyzedResult,
    EarlierResult,
    LabResult,
)
from stateward.pipelines.labs.options import CriticalLimits
from stateward.pipelines.labs.words import fold, specimen_of

FINDINGS = ("critical", "out of range", "changed", "review")
FLAG_WORDS = {"L": "below its range", "H": "above its range", "A": "abnormal"}
PROBLEM_CONFIDENCE = 50  # of a result with a problem that a person should know of
LIKELY = 95
DAY_CHARS = len("2026-02-09")

_BY_TITLE = {analyte.title: key for key, analyte in ANALYTES.items()}


def analyze_results(
    results: Iterable[LabResult],
    *,
    critical: Mapping[str, CriticalLimits],
    delta_percent: int,
    earlier: Iterable[EarlierResult] = (),
) -> list[AnalyzedResult]:
    """Every result in the order of the report, with what the analysis says about it."""
    told = list(results)
    previous = _previous_results(told, list(earlier))
    names = _field_names(told)
    return [
        _analyze(each, names[at], previous.get(at), critical, delta_percent)
        for at, each in enumerate(told)
    ]


def _analyze(
    result: LabResult,
    field: str,
    previous: LabResult | None,
    critical: Mapping[str, CriticalLimits],
    delta_percent: int,
) -> AnalyzedResult:
    side = _critical_side(result, critical)
    change = None if previous is None else _change_percent(result, previous)
    is_changed = change is not None and abs(change) > delta_percent
    problems = [code for code in result.problems if code in NOTEWORTHY]
    is_out = result.flag in FLAG_WORDS or (
        not result.flag and result.printed_flag.strip("LHA") == "" and bool(result.printed_flag)
    )
    finding = next(
        (
            name
            for name, holds in zip(FINDINGS, (side, is_out, is_changed, problems), strict=True)
            if holds
        ),
        "",
    )
    reasons = [
        f"critically {side}" if side else "",
        FLAG_WORDS.get(result.flag, "flagged by the report" if is_out else ""),
        f"changed by {change:+} % since {previous.collected[:10]}"
        if is_changed and previous is not None
        else "",
        *problems,
    ]
    kept = {name: getattr(result, name) for name in LabResult.__struct_fields__}
    return AnalyzedResult(
        **kept,
        field=field,
        raw=" ".join(
            filter(None, (result.printed.get("value", ""), result.printed.get("unit", "")))
        ),
        confidence=_confidence(result, problems),
        finding=finding,
        critical=side,
        previous="" if previous is None else f"{previous.comparator}{previous.value}",
        previous_at="" if previous is None else previous.collected,
        previous_record=previous.record_id if isinstance(previous, EarlierResult) else "",
        change_percent="" if change is None else str(change),
        why="; ".join(filter(None, reasons)),
    )


def _confidence(result: LabResult, problems: Sequence[str]) -> int:
    if PENDING in result.problems:
        return LIKELY
    return PROBLEM_CONFIDENCE if problems else min(LIKELY, result.code_confidence or LIKELY)


def _critical_side(result: LabResult, critical: Mapping[str, CriticalLimits]) -> str:
    """Which side of its critical limits a value is on, low or high; "" if on neither, or if that is not certain."""
    limits = critical.get(_analyte_key(result))
    number = _number(result)
    analyte = ANALYTES.get(_analyte_key(result))
    if limits is None or number is None or analyte is None or result.unit != analyte.unit:
        return (
            "low" if result.printed_flag == "LL" else "high" if result.printed_flag == "HH" else ""
        )
    is_upper = result.comparator.startswith("<")
    is_lower = result.comparator.startswith(">")
    if limits.low is not None and number <= limits.low and not is_lower:
        return "low"
    if limits.high is not None and number >= limits.high and not is_upper:
        return "high"
    return "low" if result.printed_flag == "LL" else "high" if result.printed_flag == "HH" else ""


def _analyte_key(result: LabResult) -> str:
    found = by_code(result.code) if result.code else None
    if found is None and result.code_name in _BY_TITLE:
        return _BY_TITLE[result.code_name]
    if found is None and not result.code:
        found = by_name(
            result.test, (), specimen_of(result.specimen) or specimen_of(result.section)
        ).analyte
    return "" if found is None else found.key


def _number(result: LabResult) -> Decimal | None:
    if result.kind != "quantity":
        return None
    try:
        return Decimal(result.value)
    except InvalidOperation:
        return None


def _previous_results(
    own: Sequence[LabResult], earlier: Sequence[EarlierResult]
) -> dict[int, LabResult]:
    """The latest earlier result of the same patient, test and unit, by the index of the later one.

    The same result in two reports (a correction, a cumulative one) has the same time, and is no earlier one.
    """
    results: list[LabResult] = [*own, *earlier]
    groups: dict[tuple[str, str, str], list[int]] = {}
    for at, each in enumerate(results):
        if _number(each) is not None and _moment(each):
            name = _analyte_key(each) or fold(each.test)
            groups.setdefault((each.patient_key, name, each.unit), []).append(at)
    found: dict[int, LabResult] = {}
    for indexes in groups.values():
        moments = _comparable({at: _moment(results[at]) for at in indexes})
        latest: LabResult | None = None
        # At the same time those of this report count before those of others.
        ordered = sorted(indexes, key=lambda at: (moments[at], at))
        for _, together in groupby(ordered, key=moments.__getitem__):
            at_once = list(together)
            if latest is not None:
                found.update((at, latest) for at in at_once if at < len(own))
            latest = results[at_once[0]]
    return found


def _comparable(moments: dict[int, str]) -> dict[int, str]:
    """The moments as exactly as they can be compared: if one result tells its day alone, so do all of that day."""
    short = {moment for moment in moments.values() if len(moment) <= DAY_CHARS}
    return {
        at: next((moment[:size] for size in (4, 7, DAY_CHARS) if moment[:size] in short), moment)
        for at, moment in moments.items()
    }


def _moment(result: LabResult) -> str:
    """When it was collected, in a form that sorts by time: in UTC where the report says a zone; "" if unknown."""
    text = result.collected
    if len(text) <= DAY_CHARS:
        return text
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return (at.astimezone(UTC) if at.tzinfo else at).strftime("%Y-%m-%dT%H:%M:%S")


def _change_percent(result: LabResult, previous: LabResult) -> Decimal | None:
    now, then = _number(result), _number(previous)
    if now is None or then is None or not then or result.comparator or previous.comparator:
        return None
    return ((now - then) * 100 / abs(then)).quantize(Decimal(1))


def _field_names(results: Sequence[LabResult]) -> list[str]:
    """A name for each result that no other one of the report has: reviewers correct by name."""
    counts = Counter(each.test for each in results)
    seen: Counter[str] = Counter()
    names = []
    for each in results:
        name = each.test or "?"
        if counts[each.test] > 1 and each.collected:
            name = f"{name} {each.collected[:10]}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def summary_of(results: Sequence[AnalyzedResult]) -> str:
    """The report in one sentence."""
    counts = Counter(each.finding for each in results)
    parts = [f"{counts[name]} {name}" for name in FINDINGS if counts[name]]
    return f"{len(results)} results: {', '.join(parts) if parts else 'nothing to look at'}"
