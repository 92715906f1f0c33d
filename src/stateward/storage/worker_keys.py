"""Credentials of workers behind a transport: who they are, for which stages, and with which secret they sign.

The secret itself is stored, because a signature is checked with it; who can read this table can write results anyway.
"""

import msgspec

from stateward.core.errors import UnknownName
from stateward.core.model import Micros
from stateward.storage.database import Database, Row, Table

WORKER_KEYS_MAX = 10_000
WORKER_KEYS = Table(
    "worker_keys",
    {
        "id": "text", "name": "text", "stages": "json", "secret": "text", "created_at": "bigint",
        "created_by": "text", "revoked_at": "bigint",
    },
    key=("id",),
)  # fmt: skip
_COLUMNS = ", ".join(WORKER_KEYS.columns)
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode


class WorkerKey(msgspec.Struct, frozen=True, kw_only=True):
    """A credential without its secret. `stages` are `machine.stage` or `machine.*`."""

    id: str
    name: str
    stages: tuple[str, ...]
    created_at: Micros
    created_by: str
    revoked_at: Micros | None = None


class WorkerKeys:
    """The credentials, in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: WorkerKey, *, secret: str) -> None:
        """Store a credential."""
        row: Row = (
            key.id, key.name, msgspec.json.encode(key.stages).decode(), secret, key.created_at,
            key.created_by, key.revoked_at,
        )  # fmt: skip
        with self._database.transaction():
            self._database.insert(WORKER_KEYS, [row])

    def all(self) -> list[WorkerKey]:
        """Every credential that was ever made, newest last."""
        return [key for key, _ in self.with_secrets()]

    def with_secrets(self) -> list[tuple[WorkerKey, str]]:
        """Every credential with its secret, revoked ones too: revoking the last one must not let everyone in."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM worker_keys ORDER BY created_at, id LIMIT {WORKER_KEYS_MAX}"
        )
        return [_key(row) for row in found]

    def revoke(self, key_id: str, *, now: Micros) -> bool:
        """Revoke a credential; whether it was not revoked before."""
        with self._database.transaction():
            live = [each.id for each in self.all() if each.revoked_at is None]
            changed = self._database.run(
                "UPDATE worker_keys SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
                id=key_id,
                now=now,
            )
            if not changed and key_id not in [each.id for each in self.all()]:
                raise UnknownName("worker key", key_id, live)
            return bool(changed)


def _key(row: Row) -> tuple[WorkerKey, str]:
    values = dict(zip(WORKER_KEYS.columns, row, strict=True))
    secret = str(values.pop("secret"))
    stages = _decode_names(str(values.pop("stages")))
    return WorkerKey(stages=stages, **values), secret  # type: ignore[arg-type]
