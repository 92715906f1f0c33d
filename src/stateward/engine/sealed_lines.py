"""Rows that no transition binds as lines of an export: events that changed nothing, and dead letters.

The audit log has a digest of each (`storage.row_seals`), over its salt and its values. So a line has the salt as well,
and with the folder alone the digest of each line can be computed and compared with `audit.jsonl`.

Rows come and go while an export is written. It holds those that the audit log had sealed when the writing of them
began, and its own copy of that log ends there; if an erasure takes rows away meanwhile, they are written anew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stateward.core.model import Fields, from_iso, to_iso
from stateward.engine.row_check import Digests, seals_of
from stateward.storage.audit import SEALED, SEALING_BEGAN, AuditEntry, AuditLog
from stateward.storage.database import Database
from stateward.storage.row_seals import (
    DEAD_LETTERS,
    DISPOSITIONS,
    ERASED,
    began_at,
    columns_of,
    first_of_kinds,
    row_digest,
    salted_rows,
    sealing_began,
)

SEALED_FILES = {"dispositions.jsonl": DISPOSITIONS, "dead_letters.jsonl": DEAD_LETTERS}


def is_erased_since(audit: AuditLog | None, end: int) -> bool:
    """Whether rows were erased after the audit log had so many entries."""
    names = {f"{ERASED}{kind}" for kind in SEALED_FILES.values()}
    return audit is not None and any(
        names & each.detail.keys() for each in audit.walk(verb=SEALED, after=end)
    )


def sealed_lines(
    database: Database, kind: str, audit: AuditLog | None, *, end: int
) -> Iterator[Fields]:
    """The lines of a table: of rows that were sealed when the audit log had `end` entries, and of those never sealed.

    The latter were changed or invented, and come last. Without an audit log all rows are written.
    """
    if audit is None:
        yield from (_line_of(kind, *row) for row in salted_rows(database, kind))
        return
    began = began_at(sealing_began(audit))
    entries = (each for each in audit.walk(verb=SEALED) if (each.seq or 0) <= end)
    written, erased = seals_of(entries, began)
    left = written - erased
    others: list[tuple[str, Fields]] = []
    for salt, values in salted_rows(database, kind):
        digest = row_digest(salt, values)
        if left[kind, digest] > 0:
            left[kind, digest] -= 1
            yield _line_of(kind, salt, values)
        else:
            others.append((digest, _line_of(kind, salt, values)))
    newer, _ = seals_of(audit.walk(verb=SEALED, after=end), began)
    yield from (line for digest, line in others if not newer[kind, digest])


def _line_of(kind: str, salt: str, values: Sequence[Any]) -> Fields:
    line: Fields = dict(zip(columns_of(kind), values, strict=True))
    return {**line, "at": to_iso(int(values[-1])), "salt": salt}


def digest_of_line(kind: str, line: Mapping[str, Any]) -> str | None:
    """The digest that the audit log must have of a line; None if it is not of this kind, or has no salt."""
    columns = columns_of(kind)
    if line.keys() != {*columns, "salt"} or not isinstance(line["salt"], str):
        return None
    try:
        values = [from_iso(line[each]) if each == "at" else line[each] for each in columns]
        is_as_written = to_iso(values[-1]) == line["at"]
    except (TypeError, ValueError, OverflowError):
        return None
    return row_digest(line["salt"], values) if is_as_written else None


class SealsRead:
    """What the entries of an audit log say of rows, read one by one in their order."""

    def __init__(self) -> None:
        self._entries: list[AuditEntry] = []

    def read(self, entry: AuditEntry) -> None:
        """Take the next entry."""
        if entry.verb in (SEALED, SEALING_BEGAN):
            self._entries.append(entry)

    def left(self) -> Digests:
        """The digests of the rows that are still there."""
        began: Iterable[AuditEntry] = (each for each in self._entries if each.verb == SEALING_BEGAN)
        written, erased = seals_of(self._entries, began_at(first_of_kinds(began)))
        return written - erased
