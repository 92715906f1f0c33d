"""A reviewer's values: in canonical form, or refused with a sentence each."""

from collections.abc import Iterator

from stateward.core.model import Fields
from stateward.definition.plugin import Corrected, Correction
from stateward.pipelines.labs.values import PrintedValue, plain, read_value


def correct_items(correction: Correction) -> Corrected:
    """The items with corrected values as decimals, and what is wrong with them."""
    items = [_canonical(item) if item.get("is_corrected") else item for item in correction.items]
    return Corrected(items=items, faults=tuple(_faults(correction)))


def _faults(correction: Correction) -> Iterator[tuple[str, str]]:
    for item in correction.items:
        if not item.get("is_corrected"):
            continue
        name, value = str(item.get("field")), item.get("value")
        if item.get("was") is None:
            yield name, "the report has no such result; correct one of those that are listed"
        elif not isinstance(value, str) or read_value(value, ".").kind in ("none", "unread"):
            yield (
                name,
                "write a number, such as 5.4 or <0.5, a titre, such as 1:160, or words, such as negative",
            )


def _canonical(item: Fields) -> Fields:
    value = item.get("value")
    read = read_value(value, ".") if isinstance(value, str) else PrintedValue(kind="none")
    if read.kind == "quantity" and read.number is not None:
        return {
            **item,
            "value": plain(read.number),
            "comparator": read.comparator,
            "kind": read.kind,
        }
    return {**item, "kind": read.kind}
