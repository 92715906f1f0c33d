"""Credentials of workers behind a transport: who they are, for which stages, and with which secret they sign.

A signature is checked with the secret itself, so it is stored, sealed with the key file of the installation: a copy of
the database signs nothing. It is opened when a message comes that names its credential, and deleted when that is
revoked; the row stays, for the history names it.
"""

import msgspec

from stateward.core.errors import UnknownName
from stateward.core.model import Micros
from stateward.storage.database import Database, Row, Table
from stateward.storage.row_seals import sealed_change
from stateward.storage.sealing import SecretKeys, is_sealed

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

    def __init__(self, database: Database, *, secrets: SecretKeys) -> None:
        self._database = database
        self._secrets = secrets

    def add(self, key: WorkerKey, *, secret: str) -> None:
        """Store a credential."""
        row: Row = (
            key.id, key.name, msgspec.json.encode(key.stages).decode(), self._seal(key, secret), key.created_at,
            key.created_by, key.revoked_at,
        )  # fmt: skip
        with sealed_change(self._database, WORKER_KEYS.name, [key.id], at=key.created_at):
            self._database.insert(WORKER_KEYS, [row])

    def all(self) -> list[WorkerKey]:
        """Every credential that was ever made, newest last."""
        return [key for key, _ in self.stored()]

    def stored(self) -> list[tuple[WorkerKey, str]]:
        """Every credential with its secret as it is stored, '' where that was deleted.

        Revoked ones too: revoking the last one must not let everyone in.
        """
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM worker_keys ORDER BY created_at, id LIMIT {WORKER_KEYS_MAX}"
        )
        return [_key(row) for row in found]

    def open(self, key: WorkerKey, stored: str) -> str:
        """What a credential signs with; one of a former version may be stored as it is. Raises SecretUnreadable."""
        return self._secrets.open(stored, purpose=_purpose(key))

    def seal_plain(self, *, now: Micros) -> int:
        """Seal the secrets that a former version stored as they are; how many."""
        with sealed_change(self._database, WORKER_KEYS.name, at=now):
            plain = [(key, each) for key, each in self.stored() if each and not is_sealed(each)]
            for key, secret in plain:
                self._store_secret(key, self._seal(key, secret))
        return len(plain)

    def rewrap(self, *, now: Micros) -> int:
        """Bring every sealed secret under the newest key; how many there are."""
        with sealed_change(self._database, WORKER_KEYS.name, at=now):
            found = [(key, sealed) for key, sealed in self.stored() if sealed]
            for key, sealed in found:
                self._store_secret(key, self._secrets.rewrap(sealed))
        return len(found)

    def _seal(self, key: WorkerKey, secret: str) -> str:
        return self._secrets.seal(secret, purpose=_purpose(key))

    def _store_secret(self, key: WorkerKey, sealed: str) -> None:
        self._database.run(  # not if it was revoked meanwhile
            "UPDATE worker_keys SET secret = :sealed WHERE id = :id AND secret <> ''",
            id=key.id,
            sealed=sealed,
        )

    def revoke(self, key_id: str, *, now: Micros) -> bool:
        """Revoke a credential and delete its secret; whether it was not revoked before."""
        with sealed_change(self._database, WORKER_KEYS.name, [key_id], at=now):
            live = [each.id for each in self.all() if each.revoked_at is None]
            changed = self._database.run(
                "UPDATE worker_keys SET revoked_at = :now, secret = '' WHERE id = :id AND revoked_at IS NULL",
                id=key_id,
                now=now,
            )
            if not changed and key_id not in [each.id for each in self.all()]:
                raise UnknownName("worker key", key_id, live)
            return bool(changed)


def _purpose(key: WorkerKey) -> str:
    return f"worker {key.id}"


def _key(row: Row) -> tuple[WorkerKey, str]:
    values = WORKER_KEYS.named(row)
    secret = str(values.pop("secret"))
    stages = _decode_names(str(values.pop("stages")))
    return WorkerKey(stages=stages, **values), secret
