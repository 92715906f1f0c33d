"""Vectors in a file that is mapped into memory: a copy of the database's, brought up to date before it is searched.

One file a machine, of 32-bit numbers, below `search/` in the data folder; beside it a note of how many rows it holds
and the chain of the last one. If the database has another chain there, the copy is of another index and is made anew.
Any process may bring it up to date; a lock lets one at a time. A row is written and durable before the note counts it.
"""

import fcntl
import os
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.storage.vectors import StoredVector, Vectors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Rows: TypeAlias = npt.NDArray[np.intp]

ROWS_AT_ONCE = 2000
ROWS_FOUND = 1000
# Of the first answer, among which a query that is moved towards its best is asked again: comparing all rows twice would
# take twice as long, and what a moved query finds is near to what it found before.
ROWS_NEAR = 4000
ROWS_LOOKED_UP = 250
RECORDS_FOUND = 200
FEEDBACK_SHARE = 0.6
ROWS_MAX = 200_000  # that are compared one by one; more need an index of their own


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    rows: int = 0
    dimensions: int = 0
    chain: str = ""


class VectorFile:
    """The vectors of one machine, mapped."""

    def __init__(self, folder: Path, machine: str, vectors: Vectors) -> None:
        self._data = folder / f"{machine}.f32"
        self._note = folder / f"{machine}.json"
        self._lock = folder / f"{machine}.lock"
        self._machine = machine
        self._vectors = vectors
        self._map: tuple[_Note, npt.NDArray[np.float32]] | None = None

    def best(
        self, asked: Sequence[float], *, limit: int, among: "Rows | None" = None
    ) -> "tuple[Rows, npt.NDArray[np.float32]]":
        """The rows that are most alike, with the cosine of their angle; the most alike first.

        `among`: only of these.
        """
        import numpy as np

        rows = self._mapped()
        if rows is None or rows.shape[1] != len(asked):
            return np.empty(0, np.intp), np.empty(0, np.float32)
        if among is not None:
            rows = rows[among]
        scores = rows @ np.asarray(asked, np.float32)
        count = min(limit, len(scores))
        top = np.sort(np.argpartition(scores, -count)[-count:])
        top = top[np.argsort(-scores[top], kind="stable")]
        return top if among is None else among[top], scores[top]

    def moved(
        self, asked: Sequence[float], numbers: Sequence[int], *, share: float
    ) -> Sequence[float]:
        """A vector of length 1 between the one that is asked for and the mean of some rows (Rocchio)."""
        import numpy as np

        rows = self._mapped()
        if rows is None or not numbers:
            return asked
        vector = np.asarray(asked, np.float32) + np.float32(share) * rows[list(numbers)].mean(0)
        return [float(each) for each in vector / (np.linalg.norm(vector) or 1)]

    def _mapped(self) -> "npt.NDArray[np.float32] | None":
        import numpy as np

        note = self._up_to_date()
        if not note.rows:
            return None
        if self._map is None or self._map[0] != note:
            shape = (note.rows, note.dimensions)
            mapped = np.memmap(self._data, np.float32, "r", shape=shape)
            self._map = (
                note,
                mapped.view(np.ndarray),
            )  # whose rows are taken without a check of each
        return self._map[1]

    # Bringing the copy up to date

    def _up_to_date(self) -> _Note:
        note = self._read()
        if self._is_of_this_index(note) and not self._vectors.after(self._machine, note.rows - 1, limit=1):  # fmt: skip
            return note
        with self._locked():
            note = self._read()  # another process may have done it
            if not self._is_of_this_index(note):
                note = _Note()
                self._data.unlink(missing_ok=True)  # a reader keeps the old one mapped
            while found := self._vectors.after(self._machine, note.rows - 1, limit=ROWS_AT_ONCE):
                note = self._append(note, found)
            return note

    def _is_of_this_index(self, note: _Note) -> bool:
        return not note.rows or note.chain == self._vectors.chain_at(self._machine, note.rows - 1)

    def _append(self, note: _Note, found: Sequence[StoredVector]) -> _Note:
        import numpy as np

        if note.rows + len(found) > ROWS_MAX:
            raise InvalidRequest(
                f"there are more than {ROWS_MAX} vectors, which are too many to compare one by one; search without"
                " --hybrid"
            )
        parts = [np.frombuffer(b64decode(each.vector), np.int8) for each in found]
        size = note.dimensions or max(map(len, parts), default=0)
        block = np.zeros((len(parts), size), np.float32)
        for row, part in enumerate(parts):
            if (
                len(part) == size and size
            ):  # emptied ones, and those of another model, are like nothing
                block[row] = part
        length = np.linalg.norm(block, axis=1, keepdims=True)
        block /= np.where(length == 0, 1, length)
        self._data.parent.mkdir(parents=True, exist_ok=True)
        with self._data.open("r+b" if self._data.exists() else "wb") as file:
            file.seek(note.rows * size * 4)
            file.write(block.tobytes())
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
        note = _Note(rows=note.rows + len(parts), dimensions=size, chain=found[-1].chain)
        made = self._note.with_suffix(".new")
        made.write_bytes(msgspec.json.encode(note))
        made.replace(self._note)
        return note

    def _read(self) -> _Note:
        try:
            note = msgspec.json.decode(self._note.read_bytes(), type=_Note)
            is_whole = self._data.stat().st_size >= note.rows * note.dimensions * 4
        except (OSError, msgspec.MsgspecError):
            return _Note()
        return note if is_whole else _Note()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


EmbedQuery: TypeAlias = "Callable[[str, str], tuple[str, Sequence[float]] | None]"
"""(machine, text) to the name of a model and the vector of the text; None where no embedder is set."""


class VectorSearch:
    """Records whose texts are alike in meaning."""

    def __init__(self, folder: Path, vectors: Vectors, *, embed: EmbedQuery) -> None:
        self._folder = folder
        self._vectors = vectors
        self._embed = embed
        self._files: dict[str, VectorFile] = {}

    def query(self, machine: str, text: str) -> "MeaningQuery":
        """One search in the documents of a machine."""
        made = self._embed(machine, text)
        if made is None:
            raise InvalidRequest(
                "no embedder is set, so that meanings cannot be compared; search without --hybrid, or see the"
                " documentation of the pipeline"
            )
        model, asked = made
        if machine not in self._files:
            self._files[machine] = VectorFile(self._folder, machine, self._vectors)
        return MeaningQuery(
            asked,
            file=self._files[machine],
            records=lambda rows: self._vectors.records(machine, rows, model=model),
        )


class MeaningQuery:
    """One search by meaning, which can be moved towards documents that it found."""

    def __init__(
        self,
        asked: Sequence[float],
        *,
        file: VectorFile,
        records: Callable[[Sequence[int]], Mapping[int, str]],
    ) -> None:
        self._asked = asked
        self._file = file
        self._records = records
        self._near: Rows | None = None
        self._best: dict[str, int] = {}

    def find(self) -> dict[str, float]:
        """The records that are most alike, with how alike their best piece is (-1 to 1)."""
        near, scores = self._file.best(self._asked, limit=ROWS_NEAR, among=self._near)
        self._near = near.copy()
        self._near.sort()  # in the order of the file, which is read faster so
        alike: dict[str, float] = {}
        for start in range(0, min(ROWS_FOUND, len(near)), ROWS_LOOKED_UP):
            rows = near[start : start + ROWS_LOOKED_UP].tolist()
            known = self._records(rows)
            for row, score in zip(
                rows, scores[start : start + ROWS_LOOKED_UP].tolist(), strict=True
            ):
                if row in known and len(alike) < RECORDS_FOUND:
                    alike.setdefault(known[row], score)
                    self._best.setdefault(known[row], row)
            if len(alike) == RECORDS_FOUND:
                break
        return alike

    def towards(self, record_ids: Sequence[str]) -> dict[str, float]:
        """The same for a query that is moved towards these records, of those that were found."""
        rows = [self._best[each] for each in record_ids if each in self._best]
        self._asked = self._file.moved(self._asked, rows, share=FEEDBACK_SHARE)
        return self.find()
