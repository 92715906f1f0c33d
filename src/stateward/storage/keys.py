"""API keys: who may do what, in which pipelines.

A key is `sw_<id>_<secret>`. The id finds its row; of the secret, 256 random bits, only the SHA-256 is stored, which
is enough for a secret that cannot be guessed. A key is shown once, when it is created; no answer and no log contains
it again. What a caller without a key may do is decided by the server, not here.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Literal, TypeAlias, get_args

import msgspec

from stateward.core.errors import InvalidRequest, StoreMismatch, UnknownName
from stateward.core.model import Micros
from stateward.storage.database import UNDECODABLE, UNREADABLE, Database, Row, Table
from stateward.storage.row_seals import sealed_change

PREFIX = "sw"
KEY_CHARS_MAX = 200  # anything longer is refused before it is hashed
NAME_CHARS_MAX = 60
# When a key was last used is stored to the minute: otherwise every request would write.
USED_STEP: Micros = 60_000_000
KEYS_MAX = 10_000

Role: TypeAlias = Literal["viewer", "submitter", "reviewer", "operator", "admin"]
Right: TypeAlias = Literal["read", "submit", "review", "act", "observe", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
RIGHTS: dict[Role, frozenset[Right]] = {
    "viewer": frozenset({"read"}),
    "submitter": frozenset({"read", "submit"}),
    "reviewer": frozenset({"read", "review"}),
    "operator": frozenset({"read", "submit", "review", "act", "observe"}),
    "admin": frozenset({"read", "submit", "review", "act", "observe", "admin"}),
}

API_KEYS = Table(
    "api_keys",
    {
        "id": "text", "name": "text", "role": "text", "pipelines": "json", "secret_hash": "text",
        "created_at": "bigint", "created_by": "text", "expires_at": "bigint", "revoked_at": "bigint",
        "used_at": "bigint", "rate_per_minute": "bigint", "upload_bytes_max": "bigint",
    },
    key=("id",),
)  # fmt: skip
_COLUMNS = ", ".join(API_KEYS.columns)
_BY_ID = f"SELECT {_COLUMNS} FROM api_keys WHERE id = :id"
_decode_names = msgspec.json.Decoder(tuple[str, ...]).decode


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """An API key without its secret. No `pipelines` means all."""

    id: str
    name: str
    role: Role
    pipelines: tuple[str, ...]
    created_at: Micros
    created_by: str
    expires_at: Micros | None = None
    revoked_at: Micros | None = None
    used_at: Micros | None = None
    rate_per_minute: int | None = None
    upload_bytes_max: int | None = None

    def is_live(self, now: Micros) -> bool:
        """Whether it is valid now: neither expired nor revoked."""
        is_over = self.expires_at is not None and self.expires_at <= now
        return self.revoked_at is None and not is_over

    def may(self, right: Right) -> bool:
        """Whether its role has a right."""
        return right in RIGHTS[self.role]


def key_text(key_id: str, secret: str) -> str:
    """A key as it is shown once, when it is created."""
    return f"{PREFIX}_{key_id}_{secret}"


def key_parts(text: str) -> tuple[str, str] | None:
    """The id and the secret of a key; None if the text is not a key."""
    parts = text.split("_", 2)
    is_key = len(parts) == 3 and parts[0] == PREFIX and len(text) <= KEY_CHARS_MAX
    return (parts[1], parts[2]) if is_key and parts[1] and parts[2] else None


def check_name(name: str) -> str:
    """A name that can appear in a history as an actor."""
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable() or name != name.strip():
        raise InvalidRequest(
            f"a key's name must have 1 to {NAME_CHARS_MAX} printable characters and no space at the ends, not {name!r}"
        )
    return name


def check_role(role: str) -> Role:
    """The role of this name; `UnknownName` if there is none."""
    for each in ROLES:
        if each == role:
            return each
    raise UnknownName("role", role, ROLES)


def roles_with(right: Right) -> str:
    """The roles that have a right, as a sentence names them."""
    return " or ".join(role for role in ROLES if right in RIGHTS[role])


class Keys:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: ApiKey, *, secret: str) -> str:
        """Store a key; of its secret, the hash. Its seal, for the entry of the audit log that says who made it."""
        with sealed_change(self._database, API_KEYS.name, [key.id], at=key.created_at):
            self._database.insert(API_KEYS, [_row(key, secret)])
        return _seal(key, _secret_hash(secret))

    def stored(self) -> list[tuple[ApiKey, str]]:
        """Every key that was ever created, with its seal as the row is now."""
        found = self._database.rows(
            f"SELECT {_COLUMNS} FROM api_keys ORDER BY created_at, id LIMIT {KEYS_MAX}"
        )
        return [(key, _seal(key, secret_hash)) for key, secret_hash in map(_key, found)]

    def all(self) -> list[ApiKey]:
        """Every key that was ever created, newest last."""
        return [key for key, _ in self.stored()]

    def any_exist(self) -> bool:
        """Whether a key was ever created. Revoked ones count: revoking the last key must not open the service."""
        return self.ask_any_exist()()

    def ask_any_exist(self) -> Callable[[], bool]:
        """The same, asked now and answered later: it travels with the next statement."""
        pending = self._database.ask_ahead("SELECT 1 FROM api_keys LIMIT 1")
        return lambda: bool(pending.rows())

    def any_live(self, now: Micros) -> bool:
        """Whether some key is valid now."""
        return any(key.is_live(now) for key in self.all())

    def authenticate(self, text: str, *, now: Micros) -> ApiKey | None:
        """The valid key that this text is, or None. Secrets are compared in constant time."""
        return self.ask_authenticate(text, now=now)()

    def ask_authenticate(self, text: str, *, now: Micros) -> Callable[[], ApiKey | None]:
        """The same, asked now and answered later."""
        parts = key_parts(text)
        if parts is None:
            return lambda: None
        pending = self._database.ask_ahead(_BY_ID, id=parts[0])

        def answer() -> ApiKey | None:
            found = pending.rows()
            if not found:
                return None
            key, secret_hash = _key(found[0])
            is_right = compare_digest(secret_hash, _secret_hash(parts[1]))
            return key if is_right and key.is_live(now) else None

        return answer

    def live(self, key_id: str, *, now: Micros) -> ApiKey | None:
        """The key of this id, if it is valid now."""
        return self.ask_live(key_id, now=now)()

    def ask_live(self, key_id: str, *, now: Micros) -> Callable[[], ApiKey | None]:
        """The same, asked now and answered later."""
        pending = self._database.ask_ahead(_BY_ID, id=key_id)

        def answer() -> ApiKey | None:
            key = next((_key(row)[0] for row in pending.rows()), None)
            return key if key is not None and key.is_live(now) else None

        return answer

    def revoke(self, key_id: str, *, now: Micros) -> bool:
        """Revoke a key from the next request on; whether it was not revoked before."""
        with sealed_change(self._database, API_KEYS.name, [key_id], at=now):
            if not self._database.rows("SELECT 1 FROM api_keys WHERE id = :id", id=key_id):
                raise UnknownName("key", key_id, [key.id for key in self.all() if key.is_live(now)])
            changed = self._database.run(
                "UPDATE api_keys SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
                id=key_id,
                now=now,
            )
            return bool(changed)

    def note_use(self, key_ids: Sequence[str], *, now: Micros) -> None:
        """Record when keys were used, to the minute."""
        condition, params = self._database.among("id", sorted(set(key_ids)))
        self._database.run(
            f"UPDATE api_keys SET used_at = :now WHERE {condition}"
            " AND (used_at IS NULL OR used_at < :before)",
            now=now,
            before=now - USED_STEP,
            **params,
        )


def _secret_hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _row(key: ApiKey, secret: str) -> Row:
    return (
        key.id, key.name, key.role, msgspec.json.encode(key.pipelines).decode(), _secret_hash(secret),
        key.created_at, key.created_by, key.expires_at, key.revoked_at, key.used_at, key.rate_per_minute,
        key.upload_bytes_max,
    )  # fmt: skip


def _seal(key: ApiKey, secret_hash: str) -> str:
    """A digest of what never changes of a key: what it may do, for how long, and what it is proved with."""
    fixed = (
        key.id, key.name, key.role, key.pipelines, secret_hash, key.created_at, key.created_by, key.expires_at,
        key.rate_per_minute, key.upload_bytes_max,
    )  # fmt: skip
    return sha256(msgspec.json.encode(fixed)).hexdigest()


def _key(row: Row) -> tuple[ApiKey, str]:
    values = API_KEYS.named(row)
    secret_hash = str(values.pop("secret_hash"))
    try:
        pipelines = _decode_names(str(values.pop("pipelines")))
    except UNDECODABLE as error:
        what = f"key {values['id']!s}"
        raise StoreMismatch(UNREADABLE.format(what=what, error=error)) from error
    return ApiKey(pipelines=pipelines, **values), secret_hash
