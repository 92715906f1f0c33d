"""A document that was read again: what came out, and how it differs from before. Values only; nothing is stored."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from stateward.core.model import FLAGS, Fields, Record
from stateward.schemas import RereadAnswer
from stateward.workers.results import Completed


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What came out of a document that was read again, before it is stored."""

    record: Record
    hints: Fields
    """All that were in force, with those of earlier editions."""
    changed: dict[str, tuple[str, str]] = {}
    """What was said before and is said now, by the names of the hints that differ."""
    results: dict[str, Completed]
    found: RereadAnswer
    unlocked: bytes | None = None
    """The document without its lock, where a secret opened it."""
    table: list[list[str]] | None = None
    """The first rows of its table, if the hints are to be remembered for others like it."""


class OtherHints(msgspec.Struct, frozen=True, kw_only=True):
    """A known document that was submitted with hints that it was not read with."""

    record: Record
    hints: Fields


def changed_options(
    before: Fields, after: Fields, names: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """What these options were, and what they are now, where that differs."""
    pairs = {name: (str(before.get(name) or ""), str(after.get(name) or "")) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def describe_changes(changed: dict[str, tuple[str, str]]) -> str:
    """What was changed, in a sentence."""
    return ", ".join(
        f"{name} {new or 'none'} instead of {old or 'none'}"
        for name, (old, new) in sorted(changed.items())
    )


def nothing_to_compare(record: Record) -> RereadAnswer:
    """The answer where there is nothing to compare with."""
    return RereadAnswer(
        record_id=record.id,
        stage="",
        before=0,
        after=0,
        added=[],
        removed=[],
        flags=[],
        is_stored=False,
    )


def compare_items(record_id: str, stage: str, before: list[str], result: Completed) -> RereadAnswer:
    """What the items of a stage were, and what they are now; one that moved within the file is the same one."""
    old, new = _rows(before), _rows([chunk.data for chunk in result.chunks])
    left, right = Counter(map(_key, old)), Counter(map(_key, new))
    flags = result.facts.get(FLAGS)
    return RereadAnswer(
        record_id=record_id,
        stage=stage,
        before=len(old),
        after=len(new),
        added=_beyond(new, right - left),
        removed=_beyond(old, left - right),
        flags=[str(code) for code in flags] if isinstance(flags, list) else [],
        is_stored=False,
    )


def _rows(chunks: Iterable[str]) -> list[Fields]:
    values = [msgspec.json.decode(chunk) for chunk in chunks]
    return [row for value in values if isinstance(value, list) for row in value]


def _key(row: Fields) -> str:
    return msgspec.json.encode(row, order="sorted").decode()


def _beyond(rows: list[Fields], counts: Counter[str]) -> list[Fields]:
    found: list[Fields] = []
    for row in rows:
        key = _key(row)
        if counts[key] > 0:
            counts[key] -= 1
            found.append(row)
    return found
