"""The key that checkpoints are signed with: the one of the settings, or one that an installation makes for itself."""

import os
from typing import TYPE_CHECKING

from stateward import telemetry

if TYPE_CHECKING:
    from pathlib import Path

    from stateward.settings import Settings

SIGNING_KEY = "signing.key"
NAME = "stateward.local/history"


def signing_key_of(settings: "Settings") -> str | None:
    """The file with the private half; None if there is none."""
    if settings.ledger.signing_key is not None:
        return settings.ledger.signing_key
    own = settings.data_path / SIGNING_KEY
    return str(own) if own.exists() else None


def ensure_signing_key(settings: "Settings") -> None:
    """Where proof matters, make a key in the data folder if the settings name none; its public half lies beside it.

    Who has only copies of the history cannot sign another one with it. Who has this machine can, from then on: what was
    handed over before still binds them.
    """
    if settings.profile == "personal" or signing_key_of(settings) is not None:
        return
    from stateward.ledger import generate_key

    private, public = generate_key(NAME)
    path = settings.data_path / SIGNING_KEY
    _write_new(path.with_suffix(".key.pub"), public)
    _write_new(path, private)
    telemetry.log("anchors").info("made a key that signs checkpoints", public=public)


def _write_new(path: "Path", line: str) -> None:
    """Whole and private, or not at all: of two processes that make a key the last one wins, and both sign with it."""
    incoming = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
    incoming.replace(path)
