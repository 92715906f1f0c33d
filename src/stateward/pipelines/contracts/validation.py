"""Extracted values checked by the rules: the final confidence, whether all values are valid, and every problem.

The confidence starts with that of the weakest value and loses a penalty for each problem; it stays within 0 and 100.
Validity is separate: a contract with one value out of its range, two dates in the wrong order or an unknown provider
needs a review, whatever its confidence. The values of a reviewer are checked by the same rules, with one exception: a
person may name a provider that the rules do not know.
"""

from collections.abc import Iterator, Mapping

import msgspec

from stateward.core.model import Json
from stateward.pipelines.contracts import values as forms
from stateward.pipelines.contracts.caps import FLAGS
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.providers import provider_index
from stateward.pipelines.contracts.rules import (
    ContractRules,
    DateSequenceRule,
    FieldRule,
    PeriodWithinRule,
    Vertical,
)
from stateward.pipelines.contracts.switching import day_of

SCORE_MAX = 100
SEVERAL = "party"  # the kind of field that holds more than one value
YEAR_DAYS = 365.25
SEEN = "vertical_seen"  # in Extraction.about: the vertical that the text indicates


class ValidationProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem: a sentence, and its penalty."""

    field: str
    code: str
    sentence: str
    penalty: int = 0
    is_blocking: bool = True


class ValidationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one contract. It needs no review if it is `accepted`."""

    final_confidence: int
    valid: bool
    accepted: bool
    threshold: int
    base: int
    problems: list[ValidationProblem]


def validate_extraction(extraction: Extraction, rules: ContractRules) -> ValidationResult:
    """Validate what an extractor found."""
    best = _best(extraction.found)
    plain = rules.vertical(extraction.vertical)
    provider = _provider_of({name: found.value for name, found in best.items()}, plain)
    vertical = rules.for_provider(plain, provider)
    given = {name: found.value or "" for name, found in best.items()}
    problems = list(_problems(given, vertical, rules))
    seen = extraction.about.get(SEEN)
    if (
        isinstance(seen, str)
        and seen
        and seen != vertical.slug
        and not _has(problems, "WRONG_VERTICAL")
    ):
        said = f"the text looks like {seen}, not like {vertical.slug}"
        problems.append(_wrong_vertical(said, vertical))
    problems += _flag_problems(extraction.about.get(FLAGS))
    problems += _doubts(extraction.found, best, vertical)
    return _result(min(_scores(extraction.found, best, vertical), default=0), problems, vertical)


def _flag_problems(flags: Json) -> list[ValidationProblem]:
    """A problem for each flag of the document as a whole: none of them says that a value is wrong, so none costs."""
    return [
        ValidationProblem(field="", code=str(each["code"]), sentence=str(each["sentence"]))
        for each in (flags if isinstance(flags, list) else [])
        if isinstance(each, dict)
    ]


def _doubts(
    found: list[FoundValue], best: Mapping[str, FoundValue], vertical: Vertical
) -> list[ValidationProblem]:
    """A problem for each required value that is not sure enough. It costs nothing: its confidence counts already."""
    required = {rule.name for rule in vertical.required}
    return [
        ValidationProblem(
            field=each.field,
            code="LOW_CONFIDENCE",
            sentence=f"{each.field} is {each.value} with a confidence of only {each.confidence}: "
            + (each.why or "there is little that speaks for it"),
            is_blocking=False,
        )
        for each in _acceptable_values(found, best, vertical)
        if each.field in required and each.confidence < vertical.threshold
    ]


def _scores(
    found: list[FoundValue], best: Mapping[str, FoundValue], vertical: Vertical
) -> Iterator[int]:
    """The confidence of each value that decides: an optional field that is not sure keeps no contract from going on."""
    required = {rule.name for rule in vertical.required}
    for each in _acceptable_values(found, best, vertical):
        if each.field in required:
            yield each.confidence


def _acceptable_values(
    found: list[FoundValue], best: Mapping[str, FoundValue], vertical: Vertical
) -> Iterator[FoundValue]:
    """The values that would be accepted: the best of a field, and of one with several values all of them."""
    for each in found:
        rule = vertical.field(each.field)
        if rule is None or not each.value:
            continue
        if each is best[each.field] or rule.kind == SEVERAL:
            yield each


def validate_values(
    values: Mapping[str, str | None], vertical: Vertical, rules: ContractRules
) -> ValidationResult:
    """Validate values that a person gave, who may name an unknown provider."""
    named = rules.for_provider(vertical, _provider_of(values, vertical))
    given = {name: value or "" for name, value in values.items()}
    problems = [
        msgspec.structs.replace(problem, is_blocking=problem.code != "UNKNOWN_PROVIDER")
        for problem in _problems(given, named, rules)
    ]
    return _result(SCORE_MAX, problems, named)


def _result(base: int, problems: list[ValidationProblem], vertical: Vertical) -> ValidationResult:
    score = max(0, min(SCORE_MAX, base - sum(problem.penalty for problem in problems)))
    valid = not any(problem.is_blocking for problem in problems)
    return ValidationResult(
        final_confidence=score,
        valid=valid,
        accepted=valid and score >= vertical.threshold,
        threshold=vertical.threshold,
        base=base,
        problems=problems,
    )


def _problems(
    given: Mapping[str, str], vertical: Vertical, rules: ContractRules
) -> Iterator[ValidationProblem]:
    """All problems of the values of a vertical."""
    sound: dict[str, str] = {}
    for rule in vertical.fields:
        if rule.name not in given:
            if rule.required and not rule.may_be_missing:
                said = f"{rule.name} was not found"
                yield _problem(rule, "MISSING", said, vertical.penalties.missing)
        elif not given[rule.name].strip():
            if rule.required:
                yield _problem(rule, "EMPTY", f"{rule.name} is empty", vertical.penalties.empty)
        else:
            value = forms.canonical(rule, given[rule.name], rules)
            problem = _out_of_range(rule, value, given[rule.name], vertical)
            if problem:
                yield problem
            elif value is not None:
                sound[rule.name] = value
    yield from _provider_problems(sound, vertical, rules)
    yield from _combination_problems(sound, vertical)


def _out_of_range(
    rule: FieldRule, value: str | None, given: str, vertical: Vertical
) -> ValidationProblem | None:
    penalty = vertical.penalties.out_of_range
    if value is None:
        return _problem(rule, "UNREADABLE", f"{rule.name}: {given!r} is not a {rule.kind}", penalty)
    number = forms.number(rule, value)
    if rule.range and number is not None and not rule.range.holds(number):
        said = f"{rule.name} is {value}, which is outside of {rule.range}"
        return _problem(rule, "OUT_OF_RANGE", said, penalty)
    return None


def _provider_problems(
    sound: Mapping[str, str], vertical: Vertical, rules: ContractRules
) -> Iterator[ValidationProblem]:
    name = _provider_of(sound, vertical)
    rule = next((field for field in vertical.fields if field.kind == "provider"), None)
    if name is None or rule is None:
        return
    named = provider_index(rules).match(name)
    provider = rules.provider(named[0]) if named else None
    if provider is None:
        said = f"the provider {name!r} is unknown; it needs a review"
        yield _problem(rule, "UNKNOWN_PROVIDER", said, 0)
    elif vertical.slug not in provider.verticals:
        said = f"{provider.name} sells {', '.join(provider.verticals)}, not {vertical.slug}"
        yield _wrong_vertical(said, vertical)


def _combination_problems(
    sound: Mapping[str, str], vertical: Vertical
) -> Iterator[ValidationProblem]:
    """Problems of several fields together."""
    checks: list[DateSequenceRule | PeriodWithinRule] = [*vertical.orders, *vertical.within]
    for check in checks:
        first, second = (day_of(sound.get(name, "")) for name in (check.first, check.second))
        if first is not None and second is not None:
            days = (second - first).days
            said = _combination_sentence(check, days, sound, vertical)
            if said:
                code = "OUT_OF_ORDER" if isinstance(check, DateSequenceRule) else "PERIOD_TOO_LONG"
                yield ValidationProblem(
                    field=check.second if isinstance(check, DateSequenceRule) else check.period,
                    code=code,
                    sentence=said,
                    penalty=vertical.penalties.out_of_range,
                )


def _combination_sentence(
    check: DateSequenceRule | PeriodWithinRule,
    days: int,
    sound: Mapping[str, str],
    vertical: Vertical,
) -> str:
    if isinstance(check, DateSequenceRule):
        if days <= 0:
            return f"{check.second} is not after {check.first}"
        if check.years_max is not None and days > check.years_max * YEAR_DAYS:
            return f"from {check.first} to {check.second} it is more than {check.years_max:g} years"
        return ""
    rule = vertical.field(check.period)
    months = forms.number(rule, sound[check.period]) if rule and check.period in sound else None
    if months is not None and months * forms.MONTH_DAYS > days > 0:
        return f"{check.period} is longer than the time from {check.first} to {check.second}"
    return ""


def _best(found: list[FoundValue]) -> dict[str, FoundValue]:
    """The value of each field with the highest confidence; an empty one only where there is no other."""
    best: dict[str, FoundValue] = {}
    for each in found:
        held = best.get(each.field)
        if held is None or (bool(each.value), each.confidence) > (
            bool(held.value),
            held.confidence,
        ):
            best[each.field] = each
    return best


def _provider_of(values: Mapping[str, str | None], vertical: Vertical) -> str | None:
    name = next((field.name for field in vertical.fields if field.kind == "provider"), None)
    return (values.get(name) or None) if name else None


def _problem(rule: FieldRule, code: str, sentence: str, penalty: int) -> ValidationProblem:
    return ValidationProblem(field=rule.name, code=code, sentence=sentence, penalty=penalty)


def _wrong_vertical(sentence: str, vertical: Vertical) -> ValidationProblem:
    penalty = vertical.penalties.wrong_vertical
    return ValidationProblem(field="", code="WRONG_VERTICAL", sentence=sentence, penalty=penalty)


def _has(problems: list[ValidationProblem], code: str) -> bool:
    return any(problem.code == code for problem in problems)
