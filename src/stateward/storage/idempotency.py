"""Idempotency keys, and the progress of bulk actions.

The answer to a request with an `Idempotency-Key` is stored in the transaction that carried the request out, under the
caller and the key: a request that is sent twice is executed once, wherever the connection or the process broke. A
bulk action stores the last record that it reached, so that any process can continue it. Nothing here changes a
record.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec

from stateward.core.errors import UnknownName
from stateward.core.model import Micros
from stateward.storage.database import Database, Row, Table
from stateward.storage.sealing import SecretKeys

ANSWERS = Table(
    "answers",
    {
        "caller": "text", "key": "text", "fingerprint": "text", "status": "bigint", "headers": "json",
        "body": "text", "at": "bigint",
    },
    key=("caller", "key"),
)  # fmt: skip
BATCHES = Table(
    "batches",
    {
        "id": "text", "version": "bigint", "verb": "text", "status": "text", "query": "text", "query_at": "bigint",
        "ids": "json", "pipelines": "json", "actor": "text", "reason": "text", "after": "text", "expected": "bigint",
        "matched": "bigint", "applied": "bigint", "refused": "json", "examples": "json", "created_at": "bigint",
        "updated_at": "bigint",
    },
    key=("id",),
)  # fmt: skip
FORGOTTEN_MAX = 1000  # rows of one DELETE: other writers wait for it
_ANSWER_COLUMNS = ", ".join(ANSWERS.columns)
_BATCH_COLUMNS = ", ".join(BATCHES.columns)

BatchStatus: TypeAlias = Literal["checked", "running", "done", "aborted"]
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_counts = msgspec.json.Decoder(dict[str, int]).decode
_decode_examples = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode


class IdempotentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that must be executed once.

    The fingerprint tells whether a repeated key comes with another request.
    """

    caller: str
    key: str
    fingerprint: str

    @property
    def name(self) -> str:
        """An id of caller and key together; the key alone is not unique."""
        return sha256(f"{self.caller}\x00{self.key}".encode()).hexdigest()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP response: its status, its headers, and its JSON body."""

    status: int
    body: bytes
    headers: dict[str, str] = {}
    is_secret: bool = False
    """Whether it holds a secret, and so is stored encrypted."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A bulk action and its progress. `refused` counts by reason; `examples` holds a few ids for each outcome.

    One that is `checked` waits for a person to confirm it; until then `matched` and `applied` are what was foreseen.
    """

    id: str
    version: int
    verb: str
    status: BatchStatus
    query: str
    query_at: Micros
    ids: tuple[str, ...]
    pipelines: tuple[str, ...]
    actor: str
    reason: str | None
    after: str
    expected: int
    matched: int
    applied: int
    refused: dict[str, int]
    examples: dict[str, tuple[str, ...]]
    created_at: Micros
    updated_at: Micros


class IdempotencyKeys:
    """Answers and batches, in one database."""

    def __init__(self, database: Database, *, secrets: SecretKeys) -> None:
        self._database = database
        self._secrets = secrets

    # Answers

    def answers(
        self, wanted: Sequence[IdempotentRequest]
    ) -> dict[tuple[str, str], tuple[str, Answer]]:
        """The stored answers, by caller and key, each with its fingerprint."""
        if not wanted:
            return {}
        condition, params = self._database.among("key", sorted({each.key for each in wanted}))
        found = self._database.rows(
            f"SELECT {_ANSWER_COLUMNS} FROM answers WHERE {condition}", **params
        )
        return {
            (str(caller), str(key)): (
                str(fingerprint),
                Answer(
                    status=int(status or 0),
                    headers=_decode_headers(str(headers)),
                    body=self._secrets.open(str(body), purpose=_purpose(caller, key)).encode(),
                ),
            )
            for caller, key, fingerprint, status, headers, body, _ in found
        }

    def remember(self, once: IdempotentRequest, answer: Answer, *, now: Micros) -> bool:
        """Store an answer; False if another process has stored one for the same key meanwhile."""
        headers, body = msgspec.json.encode(answer.headers).decode(), answer.body.decode()
        if answer.is_secret:
            body = self._secrets.seal(body, purpose=_purpose(once.caller, once.key))
        row = (once.caller, once.key, once.fingerprint, answer.status, headers, body, now)
        (is_stored,) = self._database.insert_new(ANSWERS, [row])
        return is_stored

    def forget(self, *, before: Micros) -> int:
        """Delete some of the answers from before this time; how many."""
        return self._database.run(
            "DELETE FROM answers WHERE (caller, key) IN"
            f" (SELECT caller, key FROM answers WHERE at < :before ORDER BY at LIMIT {FORGOTTEN_MAX})",
            before=before,
        )

    def forget_plain(self) -> int:
        """Delete answers that hold a secret of a webhook as it is, as versions before this stored them."""
        return self._database.run("DELETE FROM answers WHERE body LIKE '%\"whsec\\_%' ESCAPE '\\'")

    # Batches

    def add_batch(self, batch: Batch) -> None:
        """Store a new bulk action."""
        self._database.insert(BATCHES, [_batch_row(batch)])

    def batch(self, batch_id: str, *, lock: bool = False) -> Batch:
        """One bulk action; with `lock`, no other process continues it until the transaction ends."""
        found = self._database.rows(
            f"SELECT {_BATCH_COLUMNS} FROM batches WHERE id = :id"
            + (self._database.for_update if lock else ""),
            id=batch_id,
        )
        if not found:
            raise UnknownName("batch", batch_id[:80])
        return _batch(found[0])

    def save_batch(self, batch: Batch) -> None:
        """Write the progress of a bulk action. The caller holds its lock."""
        self._database.update(
            BATCHES, [_batch_row(batch)], expected="version", column=[batch.version - 1]
        )

    def batches(self, *, after: str = "", limit: int = 100) -> list[Batch]:
        """Bulk actions that were begun, newest first."""
        cursor = " AND id < :after" if after else ""
        found = self._database.rows(
            f"SELECT {_BATCH_COLUMNS} FROM batches WHERE status <> 'checked'{cursor}"
            " ORDER BY id DESC LIMIT :limit",
            limit=limit,
            **({"after": after} if after else {}),
        )
        return [_batch(row) for row in found]

    def forget_checked(self, *, before: Micros) -> int:
        """Delete the bulk actions from before this time that were checked and never confirmed; how many."""
        return self._database.run(
            "DELETE FROM batches WHERE status = 'checked' AND created_at < :before", before=before
        )

    def running(self) -> list[str]:
        """The ids of bulk actions that are not done."""
        found = self._database.rows("SELECT id FROM batches WHERE status = 'running' ORDER BY id")
        return [str(each) for (each,) in found]


def _purpose(caller: object, key: object) -> str:
    return f"answer {caller} {key}"


def _batch_row(b: Batch) -> Row:
    def text(value: object) -> str:
        return msgspec.json.encode(value).decode()

    return (
        b.id, b.version, b.verb, b.status, b.query, b.query_at, text(b.ids), text(b.pipelines), b.actor, b.reason,
        b.after, b.expected, b.matched, b.applied, text(b.refused), text(b.examples), b.created_at, b.updated_at,
    )  # fmt: skip


def _batch(row: Row) -> Batch:
    values: dict[str, object] = BATCHES.named(row)
    values["ids"] = _decode_names(str(values["ids"]))
    values["pipelines"] = _decode_names(str(values["pipelines"]))
    values["refused"] = _decode_counts(str(values["refused"]))
    values["examples"] = _decode_examples(str(values["examples"]))
    return Batch(**values)  # type: ignore[arg-type]
