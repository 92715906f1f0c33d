"""How the numbers of a table without a schema are written: which sign is the decimal one, and which parts thousands.

`1,234` alone may be 1.234 or 1234. The other cells of its column decide, then the other columns, then what parts the
cells. What only the latter decides is said, and what nothing decides stays text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

AMBIGUOUS_NUMBERS = "AMBIGUOUS_NUMBERS"
PERCENT = "%"
SAMPLE = 100  # of the cells of a column, by which most columns are known not to be grouped
NUMBERS_SHARE = 0.9  # of the cells of a column must be numbers, or it is left alone
BLANKS = str.maketrans("\u00a0\u2007\u2009\u202f", "    ")
_GROUPS = (",", ".", " ", "'", "’")  # noqa: RUF001 - Swiss programs write the second apostrophe
_SIGNED = r"[+\-\u2212\u2013]?"
_WHOLE = re.compile(rf"{_SIGNED}[0-9]+")


class Signs(NamedTuple):
    """Of one column: its decimal sign, what parts thousands, whether each cell ends with %, and what is in doubt."""

    decimal: str = "."
    group: str = ""
    is_percent: bool = False
    is_undecided: bool = False
    doubt: str = ""


class _Forms(NamedTuple):
    """What numbers look like where a sign parts thousands and another one is the decimal sign."""

    grouped: re.Pattern[str]
    plain: re.Pattern[str]
    fraction: re.Pattern[str]  # in which the decimal sign cannot part thousands


def _forms(group: str, decimal: str) -> _Forms:
    g, d = re.escape(group), re.escape(decimal)
    groups = rf"[1-9][0-9]{{0,2}}(?:{g}[0-9]{{2,3}})*{g}[0-9]{{3}}"
    part = rf"{d}(?:[0-9]{{1,2}}|[0-9]{{4,}})"
    return _Forms(
        re.compile(rf"{_SIGNED}{groups}(?:{d}[0-9]+)?"),
        re.compile(rf"{_SIGNED}[0-9]+(?:{d}[0-9]+)?"),
        re.compile(rf"{_SIGNED}(?:(?:[0-9]+|{groups}){part}|0{d}[0-9]+|[0-9]{{4,}}{d}[0-9]+|{groups}{d}[0-9]+)"),
    )  # fmt: skip


_FORMS = {
    (group, decimal): _forms(group, decimal)
    for group in _GROUPS
    for decimal in (".", ",")
    if group != decimal
}


class _Column:
    """The different cells of a column; hardly any is one of numbers with groups, and then they are looked at once."""

    def __init__(self, heading: str, cells: Sequence[str], missing: frozenset[str]) -> None:
        self.heading = heading
        self._cells = dict.fromkeys(cells)
        self._missing = missing
        self._joined = "\n".join(self._cells).translate(BLANKS)

    def has(self, sign: str) -> bool:
        """Whether any cell has a sign."""
        return sign in self._joined

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The cells that hold a value, in their order, so that what is shown of them is always the same."""
        told = (text for cell in self._cells if (text := cell.strip()) not in self._missing)
        return tuple(dict.fromkeys(text.translate(BLANKS) for text in told))


def find_signs(
    headings: Sequence[str],
    columns: Sequence[Sequence[str]],
    *,
    missing: frozenset[str],
    delimiter: str,
) -> dict[str, Signs]:
    """The signs of the columns whose numbers are not written with a decimal point alone."""
    seen = [
        _Column(heading, cells, missing) for heading, cells in zip(headings, columns, strict=True)
    ]

    @lru_cache(maxsize=2)
    def is_told(decimal: str) -> bool:
        return any(_has_fraction(each, decimal) for each in seen)

    found = ((each.heading, _signs_of(each, is_told, delimiter)) for each in seen)
    return {heading: signs for heading, signs in found if signs is not None}


def _has_fraction(column: _Column, decimal: str) -> bool:
    """Whether a column has numbers in which a sign can only be the decimal one."""
    if not column.has(decimal):
        return False
    group = "," if decimal == "." else "."
    forms = _FORMS[group, decimal]
    fits = sum(
        forms.plain.fullmatch(text) is not None or forms.grouped.fullmatch(text) is not None
        for text in column.texts
    )
    return fits >= NUMBERS_SHARE * len(column.texts) and any(
        map(forms.fraction.fullmatch, column.texts)
    )


def _signs_of(column: _Column, is_told: Callable[[str], bool], delimiter: str) -> Signs | None:
    if not column.has(PERCENT) or not all(text.endswith(PERCENT) for text in column.texts):
        signs = [sign for sign in _GROUPS if column.has(sign)]
        return _signs_of_texts(column.texts, is_told, delimiter) if signs else None
    bare = [text.removesuffix(PERCENT).rstrip() for text in column.texts]
    signs_of_bare = _signs_of_texts(bare, is_told, delimiter) or Signs()
    is_comma = any("," in text for text in bare) and not signs_of_bare.group
    decimal = "," if is_comma else signs_of_bare.decimal
    return signs_of_bare._replace(is_percent=True, decimal=decimal)


def _signs_of_texts(
    texts: Sequence[str], is_told: Callable[[str], bool], delimiter: str
) -> Signs | None:
    for (group, decimal), forms in _FORMS.items():
        # Most columns have a decimal point, and are passed over by the first cells that have one.
        first = [*islice((text for text in texts if group in text), SAMPLE)]
        if not any(map(forms.grouped.fullmatch, first)):
            continue
        marked = [text for text in texts if group in text]
        grouped = [text for text in marked if forms.grouped.fullmatch(text)]
        others = sum(
            group not in text and forms.plain.fullmatch(text) is not None for text in texts
        )
        if len(grouped) + others < NUMBERS_SHARE * len(texts):
            continue
        is_sure = any(text.count(group) > 1 or decimal in text for text in grouped)
        if len(grouped) < len(marked) and not is_sure:
            continue  # `1,234` beside `1,5`: the sign is the decimal one
        if told := _grouped_signs(group, decimal, texts, grouped, is_told, delimiter):
            return told
    return None


def _grouped_signs(
    group: str,
    decimal: str,
    texts: Sequence[str],
    grouped: Sequence[str],
    is_told: Callable[[str], bool],
    delimiter: str,
) -> Signs | None:
    """The signs of a column whose numbers may be grouped; None where they are read as they always were."""
    is_sure = any(text.count(group) > 1 or decimal in text for text in grouped)
    is_sure = is_sure or any(decimal in text for text in texts)
    if is_sure:
        return Signs(decimal, group)
    if group not in ",.":
        # Digits in blocks may be the number of a thing: those of amounts have different lengths.
        return Signs(decimal, group) if len({*map(len, texts)}) > 1 else None
    if is_told(decimal) and not is_told(group):
        return Signs(decimal, group)
    if is_told(group) and not is_told(decimal):
        return None
    shown, whole = grouped[0], grouped[0].replace(group, "")
    if group == ".":
        return _with_points(texts, shown, whole)
    if delimiter == ";":  # which is written where the comma is the decimal sign
        return None
    if delimiter == ",":
        doubt = f"{shown} is read as {whole}, as commas part the cells; if its comma is the decimal sign, write a point"
        return Signs(decimal, group, doubt=doubt)
    either = f"{whole} or {shown.replace(group, '.')}"
    doubt = f"{shown} may be {either}, and nothing tells which; write numbers without groups"
    return Signs(is_undecided=True, doubt=doubt)


def _with_points(texts: Sequence[str], shown: str, whole: str) -> Signs | None:
    """`1.234` is a decimal number, unless points stand exactly where numbers reach a thousand."""
    lengths = {len(text.lstrip("+-\u2212\u2013")) for text in texts if _WHOLE.fullmatch(text)}
    if not lengths or not 2 <= max(lengths) <= 3:
        return None
    return Signs(
        doubt=f"{shown} is read as a decimal number, although points stand only where a number could reach a thousand; "
        f"if it is {whole}, write numbers without groups"
    )


def doubts_of_signs(name: str, signs: Mapping[str, Signs]) -> Iterator[str]:
    """What a person should know of how numbers were read."""
    for heading, each in signs.items():
        if each.doubt:
            yield f"{AMBIGUOUS_NUMBERS}: {name}, {heading}: {each.doubt}"
