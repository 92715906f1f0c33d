"""What an attempt gives: an outcome with items and facts, or a failure, and the limits that hold for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    TypeAlias,
    TypeVar,
    overload,
)

import msgspec

from stateward.core.files import DerivedFile
from stateward.core.model import Fields
from stateward.core.retry import RETRY_AFTER
from stateward.workers.spool import Spool

KIB, MIB = 1024, 1024 * 1024
# A chunk is one row of the database and one frame from a child: large enough that the cost of a row is shared by
# many items, small enough to be held in memory several times over. Only a single large item makes a larger one.
CHUNK_ITEMS_MAX = 500
CHUNK_BYTES_MAX = 256 * KIB
DONE = "done"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt may use. The defaults are those of the settings (`worker`, `limits`).

    `cpu_s` None is the timeout of the job. Only a child has its memory, processor time, files and
    processes bounded, because these are limits of a process; those of items, derived files, log and
    message hold inline too.
    """

    cpu_s: float | None = None
    memory_bytes: int = 1024 * MIB
    file_bytes: int = 1024 * MIB
    scratch_bytes_max: int = 2048 * MIB
    open_files: int = 256
    processes_max: int = 64
    items_max: int = 5_000_000
    item_bytes_max: int = MIB
    items_bytes_max: int = 1024 * MIB
    files_max: int = 200
    files_bytes_max: int = 256 * MIB
    log_bytes_max: int = MIB
    message_chars_max: int = 2000
    jobs_per_child: int = 2000
    transient_attempts: int = 3
    transient_backoff_s: float = 0.5


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the items, as the text of one JSON array."""

    count: int
    data: str


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt succeeded. `log` is JSON lines."""

    outcome: str
    facts: Fields
    count: int
    chunks: Sequence[Chunk]
    files: tuple[DerivedFile, ...] = ()
    log: str = ""


class Chunks(Sequence[Chunk]):
    """The chunks of one attempt as they come; when they are many, they are in a file."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._counts: list[int] = []
        self._spool = Spool(folder)

    def append(self, count: int, data: bytes) -> None:
        self._counts.append(count)
        self._spool.append(data)

    def settled(self) -> Sequence[Chunk]:
        """All of them: decoded if they are in memory anyway, else this object, which reads them one by one."""
        if self._spool.is_spilled:
            return self
        pairs = zip(self._counts, self._spool.pieces, strict=True)
        return tuple(Chunk(count=count, data=data.decode()) for count, data in pairs)

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, index: int) -> Chunk: ...

    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...

    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        return Chunk(count=self._counts[index], data=self._spool[index].decode())


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt failed; items that it produced are dropped. `log` is JSON lines."""

    code: str
    message: str
    is_retryable: bool = True
    log: str = ""
    retry_after_s: float = 0.0

    @property
    def facts(self) -> Fields:
        """What the coordinator is told beside the error."""
        return {RETRY_AFTER: self.retry_after_s} if self.retry_after_s > 0 else {}


class Died(Failed, frozen=True, kw_only=True):
    """The process of the attempt died, maybe by no fault of the document. `has_begun`: its runner had the document."""

    has_begun: bool


class NotStored(Died, frozen=True, kw_only=True):
    """Its files could not be stored because object storage is away: no fault of the document either."""


Result: TypeAlias = Completed | Failed
ChunkText: TypeAlias = str | bytes


if (
    TYPE_CHECKING
):  # a default for a type variable is only in Python 3.13; type checkers know it everywhere
    from typing_extensions import TypeVar as TypeVarWithDefault

    ItemT_co = TypeVarWithDefault("ItemT_co", default=Any, covariant=True)
else:
    ItemT_co = TypeVar("ItemT_co", covariant=True)


class Batch(msgspec.Struct, frozen=True):
    """Many items that a runner yields at once, as Structs: they are encoded in one call, which is faster."""

    items: Sequence[msgspec.Struct]


class Outcome(msgspec.Struct, Generic[ItemT_co], frozen=True):
    """The outcome of a stage that has several, facts for the history, and (more) items.

    A stage that returns `Outcome[Word]` produces items of type `Word`.

    `facts` are few, because they are part of the history. `about` describes the items as a whole: it is stored
    beside them, is not counted as an item, and is read with `job.about()`.
    """

    label: str = DONE
    facts: Mapping[str, object] = {}
    items: Iterable[ItemT_co | Batch] = ()
    about: Mapping[str, object] = {}
