"""Backup sets for tests: where they are made, and of what."""

from collections.abc import Callable
from pathlib import Path

from stateward.app import App
from stateward.app.backup import PIECE_BYTES, Backup
from stateward.app.backup_places import BackupSet, FolderPlace
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


def submitted(app: App, number: int) -> str:
    return app.submit(STATEMENT + f"2026-01-06;Shop {number};-2,00\n".encode()).record.id
