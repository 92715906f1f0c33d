"""A reviewer's values under the rules of their vertical: in canonical form, or refused with a sentence each. Pure.

The same rules hold as for what an extractor found. Two things are a person's to say: that a provider is one whom the
rules do not know, and that the contract does not state a field at all (null).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from stateward.core.model import Fields
from stateward.pipelines.contracts.rules import Rules, Vertical
from stateward.pipelines.contracts.validation import SEVERAL, judge_values
from stateward.pipelines.contracts.values import canonical

Fault = tuple[str, str]


def corrected(
    items: Sequence[Fields], *, named: Collection[str], vertical: str, rules: Rules
) -> tuple[list[Fields], list[Fault]]:
    """The items with the values of the fields in `named` made canonical, and what is wrong with all of it."""
    own = rules.vertical(vertical)
    faults = [*_unknown(named, own), *_several(items, named, own)]
    read = [_read(item, own, rules) if str(item.get("field")) in named else item for item in items]
    values = _values(read)
    left_out = {name for name in named if name not in values}
    verdict = judge_values(values, own, rules)
    faults += [
        (problem.field, problem.sentence)
        for problem in verdict.problems
        if problem.is_blocking and problem.field not in left_out
    ]
    return read, faults


def _unknown(named: Iterable[str], vertical: Vertical) -> Iterable[Fault]:
    known = [field.name for field in vertical.fields]
    for name in named:
        if name not in known:
            yield name, f"{vertical.slug} has no such field; it has: {', '.join(known)}"


def _several(items: Iterable[Fields], named: Iterable[str], vertical: Vertical) -> Iterable[Fault]:
    """Only parties are several."""
    counts = Counter(str(item.get("field")) for item in items)
    for name in named:
        rule = vertical.field(name)
        if rule is not None and rule.kind != SEVERAL and counts[name] > 1:
            yield name, f"{name} has one value, not {counts[name]}"


def _read(item: Fields, vertical: Vertical, rules: Rules) -> Fields:
    """The item with its value in canonical form; what cannot be read stays, for the verdict to name."""
    rule = vertical.field(str(item.get("field")))
    value = item.get("value")
    if rule is None or not isinstance(value, str):
        return item
    return {**item, "value": canonical(rule, value, rules) or value}


def _values(items: Iterable[Fields]) -> dict[str, str | None]:
    """The first value of each field."""
    values: dict[str, str | None] = {}
    for item in items:
        value = item.get("value")
        values.setdefault(str(item.get("field")), value if isinstance(value, str) else None)
    return values
