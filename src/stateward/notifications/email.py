"""Mail that is to be written to the admin: one letter an occurrence, many of them together in one mail.

A letter is written down in the transaction that settles the effect it follows from, and sent until it is accepted or a
day of attempts is over. Sending is at least once; a mail that is sent twice has the same Message-ID both times.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from stateward.core.model import SECOND, Fields, Micros
from stateward.storage.database import Database, Row, Table

Topic: TypeAlias = Literal["exhausted", "failed", "stuck", "review", "webhook"]
LETTERS_MAX = 200
BACKOFF_S = (60.0, 300.0, 900.0, 3600.0, 10_800.0, 21_600.0, 43_200.0)

LETTERS = Table(
    "letters",
    {
        "id": "text",
        "topic": "text",
        "record_id": "text",
        "machine": "text",
        "facts": "json",
        "created_at": "bigint",
        "attempts": "bigint",
        "due_at": "bigint",
        "sent_at": "bigint",
        "error": "text",
    },
    key=("id",),
)
OUTCOMES = Table(
    "letters",
    {name: LETTERS.columns[name] for name in ("id", "attempts", "due_at", "sent_at", "error")},
    key=("id",),
)
_COLUMNS = ", ".join(LETTERS.columns)
_decode_fields = msgspec.json.Decoder(Fields).decode


class Email(msgspec.Struct, frozen=True, kw_only=True):
    """News for the admin. The id is made of what it is about, so that it is written once."""

    id: str
    topic: Topic
    record_id: str
    machine: str
    facts: Fields
    created_at: Micros
    attempts: int = 0
    due_at: Micros | None = None
    sent_at: Micros | None = None
    error: str | None = None


def letter_id(record_id: str, version: int, topic: str) -> str:
    """One occurrence, one id."""
    return f"{record_id}:{version}:{topic}"


class EmailQueue:
    """The table of letters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, letters: Iterable[Email], *, now: Micros) -> int:
        """Keep letters until they are sent; how many are new."""
        rows = [_row(msgspec.structs.replace(each, due_at=now)) for each in letters]
        return sum(self._database.insert_new(LETTERS, rows)) if rows else 0

    def next_at(self) -> Micros | None:
        """When the next attempt is due."""
        ((at,),) = self._database.rows("SELECT min(due_at) FROM letters WHERE due_at IS NOT NULL")
        return None if at is None else int(at)

    def take(self, *, now: Micros, until: Micros, limit: int = LETTERS_MAX) -> list[Email]:
        """EmailQueue whose time has come, ours until then; oldest first."""
        with self._database.transaction():
            found = self._database.rows(
                f"SELECT {_COLUMNS} FROM letters WHERE due_at <= :now ORDER BY due_at"
                f" LIMIT :limit{self._database.skip_locked}",
                now=now,
                limit=limit,
            )
            taken = [
                msgspec.structs.replace(each, attempts=each.attempts + 1, due_at=until)
                for each in map(_letter, found)
            ]
            self._write(taken, [each.attempts - 1 for each in taken])
            return sorted(taken, key=lambda each: (each.created_at, each.id))

    def put_off(self, letters: Sequence[Email], *, until: Micros) -> None:
        """Send these later, together with what comes meanwhile; that is no failure."""
        later = [
            msgspec.structs.replace(each, attempts=each.attempts - 1, due_at=until)
            for each in letters
        ]
        self._write(later, [each.attempts for each in letters])

    def settle(self, letters: Sequence[Email], *, error: str | None, now: Micros) -> bool:
        """Write down what came of a mail; whether these letters are done with."""
        if error is None:
            settled = [
                msgspec.structs.replace(each, due_at=None, sent_at=now, error=None)
                for each in letters
            ]
        else:
            settled = [
                msgspec.structs.replace(each, due_at=_again_at(each, now), error=error)
                for each in letters
            ]
        self._write(settled, [each.attempts for each in letters])
        return all(each.due_at is None for each in settled)

    def sent_since(self, since: Micros) -> list[Micros]:
        """When letters were sent, of late; those of one mail count once."""
        found = self._database.rows(
            "SELECT DISTINCT sent_at FROM letters WHERE sent_at >= :since ORDER BY sent_at LIMIT 1000",
            since=since,
        )
        return [int(at or 0) for (at,) in found]

    def prune(self, *, before: Micros) -> int:
        """Forget letters that were sent long ago."""
        return self._database.run("DELETE FROM letters WHERE sent_at < :before", before=before)

    def _write(self, letters: Sequence[Email], attempts: Sequence[int]) -> None:
        rows: list[Row] = [
            (each.id, each.attempts, each.due_at, each.sent_at, each.error) for each in letters
        ]
        if rows:
            self._database.update(OUTCOMES, rows, expected="attempts", column=list(attempts))


def planned(
    letters: Sequence[Email], *, sent: Sequence[Micros], over: int, window_s: float, now: Micros
) -> tuple[list[Sequence[Email]], Micros | None]:
    """Which letters go together in one mail; or, when there were too many mails of late, when to look again.

    Up to `over` mails within the window, each letter is a mail of its own. Beyond that they are gathered: one mail
    with all of them, and the next one a window later.
    """
    if not letters:
        return [], None
    if len(sent) + len(letters) <= over:
        return [[each] for each in letters], None
    if len(sent) < over or now >= sent[-1] + round(window_s * SECOND):
        return [letters], None
    return [], sent[-1] + round(window_s * SECOND)


def _again_at(letter: Email, now: Micros) -> Micros | None:
    if letter.attempts > len(BACKOFF_S):
        return None
    return now + round(BACKOFF_S[letter.attempts - 1] * SECOND)


def _row(letter: Email) -> Row:
    values = msgspec.structs.asdict(letter)
    values["facts"] = msgspec.json.encode(letter.facts).decode()
    return tuple(values[name] for name in LETTERS.columns)


def _letter(row: Row) -> Email:
    values = dict(zip(LETTERS.columns, row, strict=True))
    values["facts"] = _decode_fields(str(values["facts"]))  # type: ignore[assignment]
    return Email(**values)  # type: ignore[arg-type]
