"""A list of byte strings that moves to an unnamed temporary file when it grows large.

So that a stage with a million items costs the memory of a few thousand, in the child and in the worker. A spool
belongs to one process and one thread (reads and writes share a file position), is append-only and can be read any
number of times. Its file has no name: it is gone with the process, however that ends.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, overload

# Most stages stay below this and never touch the disk; with a spool for each input and one for the output, a child
# still keeps far away from its memory limit (1 GiB by default).
MEMORY_BYTES = 16 * 1024 * 1024


class Spool(Sequence[bytes]):
    """Pieces, in a file in `folder` once they have more than `memory_bytes`.

    `folder` is a function because an inline job's scratch folder is made when it is first used: a job whose items
    fit in memory makes none.
    """

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

    @property
    def pieces(self) -> Sequence[bytes]:
        """The pieces while they are in memory."""
        return self._pieces

    def append(self, piece: bytes) -> None:
        self._places.append((self._size, len(piece)))
        self._size += len(piece)
        if self._file is not None:
            self._file.seek(0, 2)  # a read in between has moved the position
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
        # A large buffer: pieces are chunks of up to 256 KiB, and are written and read mostly in order.
        file: BinaryIO = tempfile.TemporaryFile(dir=self._folder(), buffering=1 << 20)  # type: ignore[assignment]  # noqa: SIM115 - it lives as long as the spool
        file.writelines(self._pieces)
        self._file, self._pieces = file, []
