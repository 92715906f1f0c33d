"""Pieces of text in the order in which they came: in memory while they are few, past that in a nameless file.

So that a stage with a million rows costs the memory of a few thousand, at the runner's end and at the worker's. A spool
belongs to one process, is written once and may be read again and again; its file is gone with it.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, overload

MEMORY_BYTES = 16 * 1024 * 1024


class Spool(Sequence[bytes]):
    """Pieces, kept in a file below `folder` once they are more than `memory_bytes`."""

    def __init__(self, folder: Callable[[], Path], *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._pieces: list[bytes] = []
        self._places: list[tuple[int, int]] = []
        self._file: BinaryIO | None = None
        self._size = 0

    @property
    def is_spilled(self) -> bool:
        """Whether the pieces are in a file."""
        return self._file is not None

    def append(self, piece: bytes) -> None:
        """Keep one more piece."""
        self._places.append((self._size, len(piece)))
        self._size += len(piece)
        if self._file is not None:
            self._file.seek(0, 2)
            self._file.write(piece)
            return
        self._pieces.append(piece)
        if self._size > self._memory_bytes:
            self._spill()

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        start, size = self._places[index]
        if self._file is None:
            return self._pieces[index]
        self._file.seek(start)
        return self._file.read(size)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        file: BinaryIO = tempfile.TemporaryFile(dir=self._folder(), buffering=1 << 20)  # type: ignore[assignment]  # noqa: SIM115 - it lives as long as the spool
        file.writelines(self._pieces)
        self._file, self._pieces = file, []
