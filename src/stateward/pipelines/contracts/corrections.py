"""A reviewer's values under the rules of their vertical: in canonical form, or refused with a sentence each.

The same rules apply as to extracted values. Only a person may name a provider that the rules do not know, or say that
the contract does not state a field at all (null).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from stateward.core.model import Fields
from stateward.pipelines.contracts.rules import ContractRules, Vertical
from stateward.pipelines.contracts.validation import SEVERAL, validate_values
from stateward.pipelines.contracts.values import canonical

Fault = tuple[str, str]


def correct_items(
    items: Sequence[Fields], *, named: Collection[str], vertical: str, rules: ContractRules
) -> tuple[list[Fields], list[Fault]]:
    """The items with the values of the fields in `named` made canonical, and all faults."""
    own = rules.vertical(vertical)
    faults = [*_unknown(named, own), *_several(items, named, own)]
    read = [_read(item, own, rules) if str(item.get("field")) in named else item for item in items]
    values = _values(read)
    left_out = {name for name in named if name not in values}
    result = validate_values(values, own, rules)
    faults += [
        (problem.field, problem.sentence)
        for problem in result.problems
        if problem.is_blocking and problem.field not in left_out
    ]
    return read, faults


def _unknown(named: Iterable[str], vertical: Vertical) -> Iterable[Fault]:
    known = [field.name for field in vertical.fields]
    for name in named:
        if name not in known:
            yield name, f"{vertical.slug} has no such field; it has: {', '.join(known)}"


def _several(items: Iterable[Fields], named: Iterable[str], vertical: Vertical) -> Iterable[Fault]:
    """Faults of fields with more than one value: only parties may have several."""
    counts = Counter(str(item.get("field")) for item in items)
    for name in named:
        rule = vertical.field(name)
        if rule is not None and rule.kind != SEVERAL and counts[name] > 1:
            yield name, f"{name} has one value, not {counts[name]}"


def _read(item: Fields, vertical: Vertical, rules: ContractRules) -> Fields:
    """The item with its value in canonical form; a value that cannot be read stays, and validation names it."""
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
