"""Secrets at rest, by envelope encryption with AES-256-GCM.

Each secret is encrypted with a key of its own, and that key with the newest key of the key file. A sealed secret is one
word of URL-safe characters,

    sealed.v1.<id of the file's key>.<nonce, encrypted key>.<nonce, encrypted secret>

so that it can stand in a column of text and in place of the password of a URL. The purpose, such as the webhook that it
belongs to, is authenticated with it: a sealed secret that is copied to another place cannot be opened there.

The key file has a line for each key, the newest first: its id and 32 bytes in base64. `rotate` puts a new one before
them and leaves the others, with which backups and settings are still read. No method here says what a secret is.
"""

import os
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from stateward.core.errors import SecretUnreadable

PREFIX = "sealed.v1."
SETTINGS = "settings"  # the purpose of a password in a settings file
PARTS = 5
KEY_BYTES, NONCE_BYTES = 32, 12
KEYS_MAX = 100


def is_sealed(text: str) -> bool:
    return text.startswith(PREFIX)


class SecretKeys:
    """The keys of one file, which is made when the first secret is sealed.

    `is_new` says whether a new file may be made: where secrets were sealed before, a new key could not open them, and
    the right file is only not here.
    """

    def __init__(self, path: Path, *, is_new: Callable[[], bool] = lambda: True) -> None:
        self.path = path
        self._is_new = is_new
        self._keys: dict[str, bytes] = {}

    def seal(self, text: str, *, purpose: str) -> str:
        """A secret as it is stored."""
        if not self._keys:
            self._load()
        key_id, key = next(iter(self._keys.items()))
        own = os.urandom(KEY_BYTES)
        wrapped = _encrypt(key, own, key_id)
        return ".".join(
            (PREFIX + key_id, _text(wrapped), _text(_encrypt(own, text.encode(), purpose)))
        )

    def open(self, text: str, *, purpose: str) -> str:
        """The secret; a text that is not sealed is one that was stored before secrets were."""
        if not is_sealed(text):
            return text
        key_id, wrapped, sealed = self._parts(text)
        own = _decrypt(self._key(key_id), wrapped, key_id)
        return _decrypt(own, sealed, purpose).decode()

    def rewrap(self, text: str) -> str:
        """The same sealed secret under the newest key; the secret itself is not decrypted."""
        key_id, wrapped, _ = self._parts(text)
        own = _decrypt(self._key(key_id), wrapped, key_id)
        newest, key = next(iter(self._keys.items()))
        return ".".join((PREFIX + newest, _text(_encrypt(key, own, newest)), text.split(".")[-1]))

    def rotate(self) -> str:
        """Put a new key before the others; its id."""
        if not self._keys:
            self._load()
        key = os.urandom(KEY_BYTES)
        keys = {_id(key): key, **self._keys}
        if len(keys) > KEYS_MAX:
            raise SecretUnreadable(
                f"{self.path} has {KEYS_MAX} keys; remove some that are not used"
            )
        incoming = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            _write(incoming, _lines(keys), os.O_TRUNC)
            incoming.replace(self.path)
        except OSError as error:  # a file that is mounted for several machines is often read-only
            raise SecretUnreadable(
                f"a new key cannot be written to {self.path} ({error.strerror}); nothing was changed: rotate where the "
                "file can be written, and copy it to every machine"
            ) from None
        self._keys = keys
        return _id(key)

    def ids(self) -> list[str]:
        """The ids of the keys, the newest first; none if there is no file."""
        self._keys = _read(self.path) if self.path.exists() else {}
        return list(self._keys)

    def _key(self, key_id: str) -> bytes:
        if key_id not in self._keys and self.path.exists():
            self._keys = _read(self.path)  # another process may have rotated
        if key_id not in self._keys:
            raise SecretUnreadable(
                f"a secret was sealed with the key {key_id}, which {self.path} does not have: put the right file "
                "there, or name it in store.secret_key_file"
            )
        return self._keys[key_id]

    def _load(self) -> None:
        if not self.path.exists():
            if not self._is_new():
                raise SecretUnreadable(
                    f"secrets were sealed with a key that is not here: put its file at {self.path}, or name it in "
                    "store.secret_key_file"
                )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):  # of two processes that make it at once, one does
                make_key_file(self.path)
        self._keys = _read(self.path)

    def _parts(self, text: str) -> tuple[str, bytes, bytes]:
        parts = text.split(".")
        if len(parts) != PARTS:
            raise SecretUnreadable("a sealed secret is damaged")
        return parts[2], _bytes(parts[3]), _bytes(parts[4])


def open_url(url: str, open_: Callable[[str], str]) -> str:
    """A URL with its password as it is, where a sealed secret stands in its place."""
    before, at, host = url.rpartition("@")
    start, colon, password = before.rpartition(":")
    if not at or not colon or not is_sealed(password):
        return url
    return f"{start}:{quote(open_(password), safe='')}@{host}"


def make_key_file(path: Path) -> str:
    """A new file with one key, for its owner alone; the id of the key. Raises `FileExistsError`."""
    key = os.urandom(KEY_BYTES)
    _write(path, _lines({_id(key): key}), os.O_EXCL)
    return _id(key)


def _write(path: Path, content: bytes, how: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> dict[str, bytes]:
    try:
        lines = path.read_text("ascii").split("\n")
        keys = {
            key_id: b64decode(text, validate=True)
            for key_id, text in map(str.split, filter(None, lines))
        }
    except (OSError, ValueError) as error:
        raise SecretUnreadable(f"the keys of secrets cannot be read from {path}: {error}") from None
    if not keys or any(len(key) != KEY_BYTES or _id(key) != key_id for key_id, key in keys.items()):
        raise SecretUnreadable(f"{path} is not a file with keys of secrets, or is damaged")
    return keys


def _lines(keys: dict[str, bytes]) -> bytes:
    return "".join(f"{key_id} {b64encode(key).decode()}\n" for key_id, key in keys.items()).encode()


def _id(key: bytes) -> str:
    return sha256(b"stateward key id\x00" + key).hexdigest()[:16]


def _encrypt(key: bytes, content: bytes, purpose: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # few commands need it

    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, content, purpose.encode())


def _decrypt(key: bytes, sealed: bytes, purpose: str) -> bytes:
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except (
        ModuleNotFoundError
    ) as error:  # a machine that only coordinates may have been installed without it
        raise SecretUnreadable(
            f"a secret is encrypted, and cannot be opened here: {error}; install stateward[server]"
        ) from None
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose.encode())
    except (InvalidTag, ValueError):
        raise SecretUnreadable("a sealed secret was changed, or belongs to another place") from None


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise SecretUnreadable("a sealed secret is damaged") from None
