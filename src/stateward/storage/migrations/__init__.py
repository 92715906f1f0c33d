"""Numbered SQL files, forward only; a folder per engine. They are read here and run by the engines."""

from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the schema."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """What the text was when it ran, so that an edited file is noticed."""
        return sha256(self.sql.encode()).hexdigest()


@cache  # a process opens the store several times: each role has a connection of its own
def migrations(engine: str) -> tuple[Migration, ...]:
    """All steps of an engine in order; numbers start at 1 and have no gaps."""
    folder = Path(__file__).parent / engine
    steps = tuple(
        Migration(number=int(file.name[:4]), name=file.name[5:-4], sql=file.read_text("utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    )
    if [step.number for step in steps] != list(range(1, len(steps) + 1)):
        raise AssertionError(f"the {engine} migrations are not numbered 1 to {len(steps)}")
    return steps
