"""Vectors in a file that is mapped into memory: a copy of the database's, brought up to date before it is searched.

One file a machine, of 32-bit numbers, below `search/` in the data folder; beside it a note of how many rows it holds
and the chain of the last one. If the database has another chain there, the copy is of another index and is made anew.
Any process may bring it up to date; a lock lets one at a time. A row is written and durable before the note counts it.

Reading every row takes longer than the rest of a search, and memory is what it waits for. Of many rows there is a
second, smaller file: each row in the `COARSE_SIZE` directions in which the first rows differ most (principal
components). A search takes the nearest by that one, and compares only these with all their numbers. It lies in blocks
of `COARSE_ROWS` rows, in each the first numbers of all rows, then the second ones: multiplied so, a processor adds many
rows at once, in less than half of the time, and a block is too small for the BLAS library to wake a second thread.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.storage.vectors import StoredVector, Vectors, unpacked_vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float32]
    Rows: TypeAlias = npt.NDArray[np.intp]

ROWS_AT_ONCE = 2000
ROWS_MAX = 200_000  # that are compared one by one; more need an index of their own
COARSE_FROM = 20_000  # rows: fewer are compared as fast without
COARSE_SIZE = 96
COARSE_ROWS = 1000
_BYTES = 4


class NearRows:
    """Rows that are near to a query, in the order of their numbers, to be compared exactly."""

    def __init__(self, numbers: "Rows", rows: "Floats") -> None:
        self.numbers = numbers
        self._rows = rows

    def best(self, asked: Sequence[float]) -> "tuple[Rows, Floats]":
        """The rows with the cosine of their angle, the most alike first; of equal ones the older."""
        import numpy as np

        if not len(self.numbers):
            return self.numbers, np.empty(0, np.float32)
        scores = _products(self._rows, np.asarray(asked, np.float32))
        order = np.argsort(-scores, kind="stable")
        return self.numbers[order], scores[order]

    def moved(
        self, asked: Sequence[float], numbers: Sequence[int], *, share: float
    ) -> Sequence[float]:
        """A vector of length 1 between the one that is asked for and the mean of some rows (Rocchio)."""
        import numpy as np

        places = np.flatnonzero(np.isin(self.numbers, np.asarray(numbers, np.intp)))
        if not len(places):
            return asked
        vector = np.asarray(asked, np.float32) + np.float32(share) * self._rows[places].mean(0)
        moved: list[float] = (vector / (np.linalg.norm(vector) or 1)).tolist()
        return moved


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows are durable, `in_blocks` of them in the smaller file too."""

    rows: int = 0
    dimensions: int = 0
    chain: str = ""
    in_blocks: int = 0


class VectorFile:
    """The vectors of one machine, mapped."""

    def __init__(self, folder: Path, machine: str, vectors: Vectors) -> None:
        self._data = folder / f"{machine}.f32"
        self._coarse = folder / f"{machine}.coarse.f32"
        self._basis = folder / f"{machine}.basis.f32"
        self._note = folder / f"{machine}.json"
        self._lock = folder / f"{machine}.lock"
        self._machine = machine
        self._vectors = vectors
        self._map: tuple[_Note, Floats, tuple[Floats, Floats] | None] | None = None

    def near(self, asked: Sequence[float], *, limit: int) -> NearRows:
        """The rows that are most alike."""
        import numpy as np

        rows, coarse = self._map_files()
        if rows is None or rows.shape[1] != len(asked):
            return NearRows(np.empty(0, np.intp), np.empty((0, len(asked)), np.float32))
        wanted = np.asarray(asked, np.float32)
        if coarse is not None:
            basis, blocks = coarse
            scores = np.matmul(_products(basis.T, wanted), blocks).reshape(-1)[: len(rows)]
        else:
            scores = _products(rows, wanted)
        numbers = _highest(scores, min(limit, len(scores)))
        return NearRows(numbers, rows[numbers])

    def _map_files(self) -> "tuple[Floats | None, tuple[Floats, Floats] | None]":
        import numpy as np

        note = self._up_to_date()
        if not note.rows or not note.dimensions:
            return None, None
        if self._map is None or self._map[0] != note:
            rows = _map(self._data, note.rows, note.dimensions)
            coarse = None
            if note.in_blocks == note.rows:
                basis = np.fromfile(self._basis, np.float32).reshape(note.dimensions, COARSE_SIZE)
                blocks = _map(self._coarse, _blocks(note.rows) * COARSE_SIZE, COARSE_ROWS)
                coarse = basis, blocks.reshape(-1, COARSE_SIZE, COARSE_ROWS)
            self._map = note, rows, coarse
        return self._map[1], self._map[2]

    # Bringing the copy up to date

    def _up_to_date(self) -> _Note:
        note = self._read()
        has_blocks = note.in_blocks == note.rows or not _needs_coarse(note)
        is_whole = has_blocks and self._is_of_this_index(note)
        if is_whole and not self._vectors.after(self._machine, note.rows - 1, limit=1):
            return note
        self._map = None
        with self._hold_lock():
            note = self._read()  # another process may have done it
            size = self._vectors.newest_size(self._machine)
            # Vectors of another size are of another model: those of the newest one are searched.
            if not self._is_of_this_index(note) or (note.rows and size and note.dimensions != size):
                note = _Note()
                for each in (self._data, self._coarse):
                    each.unlink(missing_ok=True)  # a reader keeps the old one mapped
            while found := self._vectors.after(self._machine, note.rows - 1, limit=ROWS_AT_ONCE):
                note = self._append(note, found, size)
            return self._add_coarse(note)

    def _is_of_this_index(self, note: _Note) -> bool:
        return not note.rows or note.chain == self._vectors.chain_at(self._machine, note.rows - 1)

    def _append(self, note: _Note, found: Sequence[StoredVector], size: int) -> _Note:
        import numpy as np

        if note.rows + len(found) > ROWS_MAX:
            raise InvalidRequest(
                f"there are more than {ROWS_MAX} vectors, which are too many to compare one by one; search without"
                " --hybrid, or keep the data in PostgreSQL with the extension pgvector"
            )
        block = np.zeros((len(found), size), np.float32)
        for row, each in enumerate(found):
            vector = unpacked_vector(each.vector)
            if len(vector) == size:  # emptied ones, and those of another model, are like nothing
                block[row] = vector
        _write_rows(self._data, note.rows, block)
        note = msgspec.structs.replace(
            note, rows=note.rows + len(found), dimensions=size, chain=found[-1].chain
        )
        return self._write(note)

    def _add_coarse(self, note: _Note) -> _Note:
        """Write the rows that the smaller file lacks, if there are enough rows for one."""
        if not _needs_coarse(note):
            return note
        import numpy as np

        rows = _map(self._data, note.rows, note.dimensions)
        if not note.in_blocks:
            _write_rows(self._basis, 0, _principal(rows[:COARSE_FROM]))
            self._coarse.unlink(missing_ok=True)  # a reader keeps the old one mapped
        basis = np.fromfile(self._basis, np.float32).reshape(note.dimensions, COARSE_SIZE)
        for number in range(note.in_blocks // COARSE_ROWS, _blocks(note.rows)):
            block = np.zeros((COARSE_SIZE, COARSE_ROWS), np.float32)
            filled = rows[number * COARSE_ROWS : (number + 1) * COARSE_ROWS] @ basis
            block[:, : len(filled)] = filled.T
            _write_rows(self._coarse, number * COARSE_SIZE, block)
        return self._write(msgspec.structs.replace(note, in_blocks=note.rows))

    def _write(self, note: _Note) -> _Note:
        made = self._note.with_suffix(".new")
        made.touch(mode=0o600)
        made.write_bytes(msgspec.json.encode(note))
        made.replace(self._note)
        return note

    def _read(self) -> _Note:
        try:
            note = msgspec.json.decode(self._note.read_bytes(), type=_Note)
            is_whole = all(path.stat().st_size >= size for path, size in self._sizes(note))
        except (OSError, msgspec.MsgspecError):
            return _Note()
        return note if is_whole else _Note()

    def _sizes(self, note: _Note) -> Iterator[tuple[Path, int]]:
        """The files, each with how many bytes it has at least."""
        yield self._data, note.rows * note.dimensions * _BYTES
        if note.in_blocks:
            yield self._coarse, _blocks(note.in_blocks) * COARSE_ROWS * COARSE_SIZE * _BYTES
            yield self._basis, note.dimensions * COARSE_SIZE * _BYTES

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        self._lock.touch(mode=0o600)
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _products(rows: "Floats", vector: "Floats") -> "Floats":
    """The product of each row with a vector.

    By NumPy's own loop and not by `@`: that asks the BLAS library, whose threads wait for each other by turning in
    circles. Memory is what the product waits for, so that a second thread hardly helps, and where every core has work
    it took three times the CPU time.
    """
    import numpy as np

    found: Floats = np.einsum("ij,j->i", rows, vector)
    return found


def _highest(scores: "Floats", count: int) -> "Rows":
    """The places of the highest scores, in their order, in which a file is read faster; of equal ones the first.

    The least of them is found first: `partition` of values is several times as fast as that of places.
    """
    import numpy as np

    least = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > least)
    equal = np.flatnonzero(scores == least)[: count - len(above)]
    return np.sort(np.concatenate((above, equal)))


def _blocks(rows: int) -> int:
    """How many blocks of the smaller file rows fill, the last one perhaps in part."""
    return -(-rows // COARSE_ROWS)


def _needs_coarse(note: _Note) -> bool:
    return note.rows >= COARSE_FROM and note.dimensions > COARSE_SIZE


def _map(path: Path, rows: int, size: int) -> "Floats":
    import numpy as np

    # As an array, whose rows are taken without the check of each that a `memmap` makes.
    return np.memmap(path, np.float32, "r", shape=(rows, size)).view(np.ndarray)


def _write_rows(path: Path, at: int, block: "Floats") -> None:
    """Write rows behind those that there are, durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("r+b") as file:
        file.seek(at * block.shape[1] * _BYTES)
        file.write(block.tobytes())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _principal(rows: "Floats") -> "Floats":
    """The directions, one a column, in which rows differ most from nothing."""
    import numpy as np

    _, directions = np.linalg.eigh(rows.T @ rows)  # by ascending size
    return np.ascontiguousarray(directions[:, : -COARSE_SIZE - 1 : -1], dtype=np.float32)
