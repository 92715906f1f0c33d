"""A line below a row that says more of it: its range, its unit, the same value in another unit."""

import re
from collections.abc import Sequence
from copy import copy
from decimal import Decimal

from stateward.pipelines.labs.analytes import by_name
from stateward.pipelines.labs.pdf.cells import is_flag, split_unit_and_range, split_value
from stateward.pipelines.labs.pdf.leftovers import unread_cells
from stateward.pipelines.labs.pdf.row import NEAR, Row, name_of
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import candidates, convert, is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import column_of, fold

# Words before the value of the row above in another unit.
THAT_IS = frozenset(
    {
        "soit",
        "ou",
        "or",
        "ie",
        "i e",
        "entspricht",
        "equivalent to",
        "o sea",
        "ovvero",
        "pari a",
    }
)
_SECOND = re.compile(rf"\s(?:{'|'.join(sorted(THAT_IS))})\s+([0-9].*)$")
_LIMIT = re.compile(r"[0-9]")
SIGNED_WORDS_MAX = 3  # of a flag that begins with a sign
SAME_WITHIN = Decimal("0.03")  # two units of one result, each rounded as printed


def take_range(last: Row, row: Row) -> bool:
    """Take a line below a row that says its range and maybe its unit: `Ref. Interval : 4.0 - 11.0`, `g/L (64 - 83)`."""
    if row.page != last.page or row.base - last.base > NEAR * last.height or not last.values:
        return False
    unit_beside, range_beside, _ = split_unit_and_range(
        last.texts.get("unit", ""), last.texts.get("range", "")
    )
    if range_beside or last.texts.get("low") or last.texts.get("high"):
        return False
    label, colon, text = _without_brackets(name_of(row)).partition(":")
    is_labelled = bool(colon) and column_of(label.strip(" .")) == "range"
    if is_labelled and not text.strip(" -–"):
        last.awaits_range = True
        return True
    text = text.strip() if is_labelled else name_of(row)
    unit, range_, _ = split_unit_and_range("", text)
    has_value = read_value(split_value(last.values[0][0]).value).kind in ("quantity", "titre")
    if not has_value or read_range(range_).kind not in ("interval", "titre"):
        return False
    own = read_range(range_).unit
    if own and not is_known_unit(own):
        return False
    if unit and unit_beside:
        unit, range_ = "", text
    last.texts["range"] = range_
    if unit or unit_beside:  # which may stand alone in the column of ranges
        last.texts["unit"] = unit_beside or unit
    last.words += row.words
    last.awaits_range = False
    return True


def take_class(last: Row, row: Row) -> bool:
    """Take a line below the label of a range that says what values mean: `Below 5.7% : Normal`, one after the other."""
    is_near = row.page == last.page and row.base - last.base <= NEAR * last.height
    text = name_of(row)
    one, colon, other = text.partition(" : ") if " : " in text else text.partition(":")
    limits = [each for each in (one, other) if _LIMIT.search(each)]
    if not (last.awaits_range and is_near and colon and len(limits) == 1):
        return False
    before = last.texts.get("range", "")
    last.texts["range"] = f"{before}; {text}".strip(" ;")
    last.words += row.words
    last.base = row.base
    return True


def _without_brackets(text: str) -> str:
    """`(Ref: 130-180)` without its brackets; a range alone keeps them."""
    is_inside = text[:1] in ("(", "[") and text[-1:] in (")", "]") and ":" in text
    return text[1:-1] if is_inside else text


def take_flag(last: Row, row: Row) -> bool:
    """Take a line below a row that says on which side of its range it is: `Above high reference limit`."""
    text = name_of(row)
    is_near = row.page == last.page and 0 < row.base - last.base <= NEAR * last.height
    if not is_near or len(text.split()) < 2 or not is_flag(text):
        return False
    # `* Result outside of the reference range` explains the sign.
    if len(text.split()) > SIGNED_WORDS_MAX and not any(map(str.isalnum, text.split()[0])):
        return False
    signs = (last.flag, last.texts.pop("flag", ""), last.texts.get("mark", ""))
    last.texts["mark"] = " ".join(filter(None, signs))
    last.flag = text  # it says more than a sign before the name or in a column
    last.words += row.words
    return True


def take_other_unit(last: Row, row: Row) -> bool:
    """Take a line below a row that gives its value once more: `soit   4,38 mmol/L`. It is no test of its own.

    A value that is not the one above in another unit marks the row, because one of the two is wrong. Where a method in
    brackets stands before it, only the same value is taken.
    """
    is_near = row.page == last.page and 0 < row.base - last.base <= NEAR * last.height
    if not is_near or not row.values or not last.values:
        return False
    is_method = row.name.startswith("(") and row.name.endswith(")") and is_same_result(last, row)
    if fold(row.name) not in THAT_IS and not is_method:
        return False
    is_known = by_name(last.name).analyte is not None
    last.has_unread = last.has_unread or (is_known and not is_same_result(last, row))
    last.comment = f"{last.comment} {name_of(row)}".strip()
    last.words += row.words
    last.base = row.base
    return True


def is_same_result(last: Row, row: Row) -> bool:
    """Whether a line without a name gives the value above in another unit, as French laboratories do."""
    if not last.values or not row.values:
        return False
    (one, own_unit), (other, other_unit) = (_value_and_unit(each) for each in (last, row))
    targets = candidates(other_unit)
    match = by_name(last.name, candidates(own_unit))
    if one is None or other is None or match.analyte is None:
        return False
    for source in candidates(own_unit):
        for target in targets:
            converted = convert(one, source, target, match.analyte)
            if (
                converted is not None
                and other
                and abs(converted - other) <= SAME_WITHIN * abs(other)
            ):
                return True
    return False


def settle_second_units(rows: Sequence[Row]) -> None:
    """Keep the value in another unit as a remark: `0,95 g/L soit 5,27 mmol/L`, in one cell or in two."""
    for row in rows:
        if len(row.values) != 1:
            continue
        inside = _SECOND.search(row.values[0][0])
        found = inside or _SECOND.search(" " + " ".join(unread_cells(row)))
        if found is None:
            continue
        first = row.values[0][0][: inside.start()] if inside is not None else row.values[0][0]
        other = split_value(found[1])
        if not other.unit or read_value(other.value).number is None:
            continue
        one = copy(row)
        one.values = [(first, "")]
        line = Row(
            "",
            row.page,
            row.base,
            row.height,
            row.x0,
            [],
            {"unit": other.unit},
            [(other.value, "")],
        )
        if is_same_result(one, line):
            row.values, row.comment = one.values, f"{row.comment}{found[0]}".strip()


def _value_and_unit(row: Row) -> tuple[Decimal | None, str]:
    parts = split_value(row.values[0][0])
    unit, _, _ = split_unit_and_range(row.texts.get("unit", ""), row.texts.get("range", ""))
    return read_value(parts.value).number, unit or parts.unit
