"""Column profiles: exports of banks that are known by their headings or their shape. They are data, and can be shared.

A profile says what a file alone cannot show: the order of its dates, or that charges of a card are printed as positive.
It never overrules what the file shows: a sign that balances or words refute is reported by `signs`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Json
from stateward.pipelines.kit import dates, money
from stateward.pipelines.statements.headings import simplify
from stateward.pipelines.statements.layout import ColumnLayout

HEADINGS_CACHED_MAX = 512
EXTRA_MAX = 12  # columns that a bank may add without changing the others
SHAPE_ROWS = 50
HEADING_WITHIN = 40
Cells = Sequence[str]


class ColumnProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of the exports of one bank."""

    name: str
    headings: list[str] = []
    spelled: list[str] = []
    """Headings with letters beyond ASCII that files may have besides: one of them proves the encoding."""
    shape: str = ""
    sign: str = ""
    date_order: str = ""
    decimal: str = ""
    is_card: bool = False
    columns: dict[str, int] = {}
    """Columns by their role, numbered from 1, for tables with just these headings or this shape."""


class ProfileFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a file of profiles."""

    version: int | str
    profiles: list[ColumnProfile] = []


def find_profile(
    layout: ColumnLayout, body: Sequence[Cells], own: Mapping[str, Json]
) -> ColumnProfile | None:
    """The profile of a table: one's own before those that ship; of several, the one with the most headings."""
    there = tuple(simplify(name) for name in layout.headings if name.strip())
    for profiles in (_own(own), _shipped_for(there)):
        found = [each for each in profiles if _matches(each, there, layout, body)]
        if found:
            return max(found, key=lambda each: len(each.headings))
    return None


def find_columns(rows: Sequence[Cells], own: Mapping[str, Json]) -> str:
    """The map of columns that one's own profiles have for a table, as a person would write it; "" for none.

    Such a profile is for tables with all of its headings in their order: a column that was added moves the others.
    """
    for profile in _own(own):
        if profile.columns and _is_mapped(profile, rows[:HEADING_WITHIN]):
            return ",".join(f"{role}={number}" for role, number in profile.columns.items())
    return ""


def _is_mapped(profile: ColumnProfile, rows: Sequence[Cells]) -> bool:
    if profile.headings:
        wanted = [simplify(name) for name in profile.headings]
        return any([simplify(cell) for cell in cells] == wanted for cells in rows)
    return bool(rows) and all(_fits(profile.shape, cells) for cells in rows)


@lru_cache(maxsize=HEADINGS_CACHED_MAX)
def _shipped_for(there: tuple[str, ...]) -> tuple[ColumnProfile, ...]:
    """The profiles that ship and may be those of these headings: most statements of a worker have the same ones."""
    return tuple(each for each in shipped_profiles() if _may_match(each, there))


def _may_match(profile: ColumnProfile, there: tuple[str, ...]) -> bool:
    wanted = _simplify(tuple(profile.headings))
    is_near = len(there) - len(wanted) <= EXTRA_MAX
    # Few headings are those of many banks: then nothing may be added to them.
    is_fit = is_near and set(there).issuperset(wanted) and (len(wanted) > 3 or there == wanted)
    return not profile.headings or is_fit


def _matches(
    profile: ColumnProfile, there: tuple[str, ...], layout: ColumnLayout, body: Sequence[Cells]
) -> bool:
    if profile.headings:
        return _may_match(profile, there)
    return (
        layout.body_at == 0
        and (not layout.is_headed or bool(profile.columns))
        and bool(body)
        and all(_fits(profile.shape, cells) for cells in body[:SHAPE_ROWS])
    )


@lru_cache(maxsize=HEADINGS_CACHED_MAX)
def _simplify(headings: tuple[str, ...]) -> tuple[str, ...]:
    """Every table is compared with the headings of every profile: they are simplified once."""
    return tuple(simplify(name) for name in headings)


def _fits(shape: str, cells: Cells) -> bool:
    return len(cells) == len(shape) and all(
        _KINDS[kind](cell.strip()) for kind, cell in zip(shape, cells, strict=True)
    )


_KINDS: dict[str, Callable[[str], bool]] = {
    "d": dates.is_date,
    "a": lambda text: money.is_amount(text) and ("." in text or "," in text),
    "s": lambda text: text[:1] in ("+", "-") and money.is_amount(text),
    "t": lambda text: any(c.isalpha() for c in text),
    "*": lambda text: text == "*",
    ".": lambda _: True,
}


@cache
def shipped_profiles() -> tuple[ColumnProfile, ...]:
    """Those that come with the package."""
    text = (files(__package__) / "profiles.yaml").read_text("utf-8")
    return tuple(msgspec.yaml.decode(text, type=ProfileFile).profiles)


@cache
def spelled_headings() -> frozenset[str]:
    """Headings beyond ASCII of the profiles that come with the package: no other encoding makes them by chance."""
    return frozenset(name for each in shipped_profiles() for name in each.spelled)


def _own(data: Mapping[str, Json]) -> Iterable[ColumnProfile]:
    if not data:
        return ()
    try:
        return msgspec.convert(dict(data), ProfileFile).profiles
    except msgspec.ValidationError as error:
        raise FatalFailure(f"invalid file of profiles: {error}", code="BAD_PROFILES") from error
