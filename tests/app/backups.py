"""Backup sets for tests: where they are made, and of what."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from stateward.app import App
from stateward.app.backup import PIECE_BYTES, Backup
from stateward.app.backup_places import (
    MANIFEST,
    BackupSet,
    FolderPlace,
    encode_set,
    read_manifest,
)
from stateward.settings import Settings

PAGE_BYTES = 4096
STATEMENT = b"Date;Text;Amount\n2026-01-05;Bakery;-1,00\n"


def settings_at(folder: Path, text: str = "") -> Settings:
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "settings.yaml"
    config.write_text(f"data: {folder}/data\n{text}")
    return Settings.load(config, environ={})


def backed_up(
    app: App, folder: Path, config: Path | None = None, *, piece_bytes: int = PIECE_BYTES
) -> BackupSet:
    clock: Callable[[], int] = app.clock
    return Backup(
        app.settings,
        FolderPlace(folder),
        database=app.database,
        config=config,
        clock=clock,
        piece_bytes=piece_bytes,
    ).make()


def rewritten(place: Path, **changes: object) -> None:
    """Change what a set says of itself, as someone who knows how its hash is made."""
    made = replace(read_manifest(place), **changes)
    (place / MANIFEST).write_bytes(encode_set(made))


def submitted(app: App, number: int) -> str:
    return app.submit(STATEMENT + f"2026-01-06;Shop {number};-2,00\n".encode()).record.id
