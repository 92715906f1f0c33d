"""The SDK of runners: what they are written with, and how one attempt is run and becomes a result.

    @runner("invoices.parse")
    def parse(job: Job) -> Iterator[Fields]:
        for number, line in enumerate(job.text().splitlines(), start=1):
            yield {"line": number, "text": line}

`run_runner` calls such a function and turns whatever it does into a `Result`. It must never let an
exception out, change a value that cannot be stored without logging it, or store more than the limits
allow. It knows nothing of statuses, stores and processes: the same code runs in a child and inline.
"""

import errno
import os
import re
import shutil
import socket
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from math import isfinite
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    Generic,
    NamedTuple,
    NoReturn,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)

import msgspec
from msgspec.structs import replace

from stateward.core.errors import (
    FatalFailure,
    StageFailure,
    TransientFailure,
    UnknownName,
)
from stateward.core.files import DerivedFile, media_type_fault, name_fault
from stateward.core.model import (
    Fields,
    Json,
    Micros,
    clean_text,
    to_iso,
)
from stateward.extras import missing_extra
from stateward.workers.items import PLAIN, ItemType, is_item, item_type
from stateward.workers.spool import Spool

KIB, MIB = 1024, 1024 * 1024
# A chunk is one row of the database and one frame from a child: large enough that the cost of a row is shared by
# many items, small enough to be held in memory several times over. Only a single large item makes a larger one.
CHUNK_ITEMS_MAX = 500
CHUNK_BYTES_MAX = 256 * KIB
# Values are checked and cleaned by recursion, which Python bounds at 1000 frames by default.
DEPTH_MAX = 100
LABEL_CHARS_MAX = 100
CODE_CHARS_MAX = 100
# Facts are part of the history, which is append-only and hash-chained: what is large belongs into items.
FACTS_BYTES_MAX = 64 * KIB
ABOUT_BYTES_MAX = 8 * MIB
LINE_CHARS_MAX = 8 * KIB
# The facts of a log line as JSON; far below what a frame from a child may have.
LINE_BYTES_MAX = 64 * KIB
TRACEBACK_CHARS_MAX = 8 * KIB
TRACEBACK_FRAMES_MAX = 40  # the innermost ones; endless recursion would bring a thousand
CAUSES_MAX = 10  # errors that were raised while others were handled
CLOSING_BYTES_MAX = 160  # reserved in every log for the line that says how much was cut off
# As base64 it has 1 MiB, and fits into one frame from a child with default limits.
SAVED_BYTES_MAX = 768 * KIB
SAVED_NAME_CHARS_MAX = 200
# Derived files are copied in pieces: a file of any size costs this much memory.
PIECE_BYTES = MIB
# In the scratch folder of a child: what its job saved, until the worker has taken it.
DERIVED_FOLDER = ".derived"
# Each round takes one level off a tree, so this only ends a folder that another process keeps filling.
EMPTYING_ROUNDS_MAX = 1_000_000
KEY_CHARS_SHOWN_MAX = 60
# JSON allows these inside a string, but many readers of JSON lines take them for the end of a line.
LINE_ENDS = {
    "\x85".encode(): b"\\u0085",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
# Exact types that need no check; most values are one of them.
SCALARS = frozenset({str, int, bool, type(None)})
# How JSON writes the one character that PostgreSQL cannot store in text. Searching the encoded bytes for it is much
# cheaper than looking into every string of every item.
NUL_ESCAPED = b"\\u0000"

NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")

# What a failing disk, a busy machine and a network do. A missing file or permission does not come back
# within the seconds that a try inside an attempt waits.
TRANSIENT_ERRNOS = frozenset({
    errno.EIO, errno.EAGAIN, errno.EINTR, errno.EBUSY, errno.ENOBUFS, errno.ESTALE, errno.ETIMEDOUT,
    errno.ECONNRESET, errno.ECONNREFUSED, errno.ECONNABORTED, errno.EPIPE, errno.ENETDOWN,
    errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, socket.EAI_AGAIN,
})  # fmt: skip
# The network errors of requests, httpx and urllib3 are no relatives of the built-in ones, and
# none of these libraries is ours to import: they are known by the names of their classes.
TRANSIENT_NAMES = frozenset({"ConnectionError", "TimeoutError", "Timeout", "TransportError"})
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = range(500, 600)

# How full a log may be for a line of that level to be added. What a runner prints leaves space for
# what it logs, and both leave space for the reason of its failure, which comes last.
SHARES = {"output": 0.5, "info": 0.9, "error": 1.0}
DONE = "done"
# Keys that each log line has of its own; a fact of the same name gets an underscore.
RESERVED = frozenset({"at", "level", "message"})


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt may use. The defaults are those of the settings (`worker`, `limits`).

    `cpu_s` None is the timeout of the job. Only a child has its memory, processor time, files and
    processes bounded, because these are limits of a process; those of items, derived files, log and
    message hold inline too.
    """

    cpu_s: float | None = None
    memory_bytes: int = 512 * MIB
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
        """Add a chunk."""
        self._counts.append(count)
        self._spool.append(data)

    def settled(self) -> Sequence[Chunk]:
        """All of them: decoded if they are in memory anyway, else this object, which reads them one by one."""
        return self if self._spool.is_spilled else tuple(self)

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


class Died(Failed, frozen=True, kw_only=True):
    """The process of the attempt died, maybe by no fault of the document. `has_begun`: its runner had the document."""

    has_begun: bool


Result: TypeAlias = Completed | Failed
Item: TypeAlias = Mapping[str, object]
Bytes: TypeAlias = bytes  # inside Job, `bytes` is a method
ChunkText: TypeAlias = str | bytes
T = TypeVar("T")
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


_ENDED: Outcome = Outcome()


class Log(Protocol):
    """Where the lines of one attempt go."""

    def write(self, level: str, message: str, facts: Mapping[str, object]) -> None: ...

    def text(self) -> str: ...


class AttemptLog:
    """The lines of one attempt as JSON, one object per line, within a number of bytes.

    A level whose share is used up is closed for good: the rest of a flood is counted without being
    cleaned and encoded first.
    """

    def __init__(self, *, bytes_max: int, now: Callable[[], Micros]) -> None:
        self._bytes_max = bytes_max
        self._bytes_left = bytes_max - CLOSING_BYTES_MAX
        self._now = now
        self._lines: list[bytes] = []
        self._size = 0
        self._cut = 0
        self._closed: set[str] = set()

    def has_space(self, level: str) -> bool:
        """Whether another line of that level may still be added."""
        return _budget(level) not in self._closed

    def skip(self, size: int) -> None:
        """Count bytes that the caller left out without making a line of them."""
        self._cut += size

    def write(self, level: str, message: str, facts: Mapping[str, object]) -> None:
        """Add a line, or count it as cut off; never raises because of its content."""
        if not self.has_space(level):
            self._cut += len(message)
            return
        level, message, told = tame_line(level, message, facts)
        line = self._line({"level": level, "message": message, **told})
        size = len(line) + 1
        if self._size + size > self._bytes_left * SHARES[_budget(level)]:
            self._closed.add(_budget(level))
            self._cut += size
            return
        self._lines.append(line)
        self._size += size

    def text(self) -> str:
        """All lines; the last one says how much was cut off, if anything was."""
        lines = [*self._lines, *self._closing()]
        return b"".join(line + b"\n" for line in lines).decode()

    def _line(self, facts: Fields) -> bytes:
        line = msgspec.json.encode({"at": to_iso(self._now()), **facts})
        for end, escaped in LINE_ENDS.items():
            line = line.replace(end, escaped)
        return line

    def _closing(self) -> Iterator[bytes]:
        if not self._cut:
            return
        sentence = f"the log is full: {self._cut} bytes were cut off"
        line = self._line({"level": "warning", "message": sentence})
        if self._size + len(line) < self._bytes_max:  # a limit may be smaller than what is reserved
            yield line


def _budget(level: str) -> str:
    """The level whose share of the log counts for a line of this level: warnings and unknown ones are "info"."""
    return level if level in SHARES else "info"


# Of a job outside of `run_runner`: it stores no line.
_UNKEPT = AttemptLog(bytes_max=0, now=lambda: 0)


class SavedValues(Protocol):
    """The values that a stage of one record saves for its later attempts."""

    def save(self, name: str, data: bytes) -> None:
        """Store bytes durably. The first value under a name wins, so that all attempts see the same one."""

    def load(self, name: str) -> bytes | None:
        """The value that this attempt or an earlier one saved, or None."""


class UnsavedValues:
    """Saved values in memory, for a job that a test makes by hand."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def save(self, name: str, data: bytes) -> None:
        """Remember bytes. The first value under a name wins."""
        self._values.setdefault(name, data)

    def load(self, name: str) -> bytes | None:
        """The value under a name, or None."""
        return self._values.get(name)


class StoredFile(NamedTuple):
    """Bytes of a derived file: their SHA-256, their size, and where they can be read while the job runs."""

    sha256: str
    size: int
    path: Path


class JobFiles(Protocol):
    """Where the derived files of a job go, and where those of earlier stages are."""

    def store(self, source: bytes | Path) -> StoredFile:
        """Take a copy of these bytes. They count only if the attempt succeeds."""

    def find(self, stage: str, name: str) -> Path | None:
        """The file that an earlier stage saved under a name, or None."""

    def clear(self) -> None:
        """Drop what was stored: the attempt begins again."""


class FolderFiles:
    """Derived files in a folder, numbered in the order in which they are stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def store(self, source: bytes | Path) -> StoredFile:
        """Copy these bytes into the folder, hashed on the way."""
        self._folder.mkdir(exist_ok=True)
        path = self._folder / str(self._count)
        self._count += 1
        digest, size = sha256(), 0
        with path.open("xb") as file:
            for piece in pieces_of_file(source):
                digest.update(piece)
                size += file.write(piece)
        return StoredFile(digest.hexdigest(), size, path)

    def find(self, stage: str, name: str) -> Path | None:
        """Nothing: this folder has files of one job."""
        return None

    def clear(self) -> None:
        """Remove the folder with all that is in it, whatever stands there."""
        self._count = 0
        if _is_folder(self._folder):
            empty_folder(self._folder)
            self._folder.rmdir()
        else:
            self._folder.unlink(missing_ok=True)


class UnsavedFiles(FolderFiles):
    """Derived files of a job that a test makes by hand: in a folder that goes with this object."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="stateward-test-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        super().__init__(folder / "stored")
        self._given = folder / "given"
        for path, data in given.items():
            file = self._given / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def find(self, stage: str, name: str) -> Path | None:
        """A file that the test gave as `stage/name`."""
        path = self._given / stage / name
        return path if path.is_file() else None


def pieces_of_file(source: bytes | Path) -> Iterator[bytes]:
    """Bytes, or those of a file, a piece at a time."""
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


class Job:
    """The argument of a runner: one attempt at one stage of one record.

    `attempt` is the record's version, which tells attempts apart; `retry_count` how often the stage
    was tried before; `deadline` is on the clock of `time.monotonic`; `options` are those that the settings have for
    the pipeline. `labels` and `options` are read-only, because an inline job shares them with the worker.
    `Job.for_test` makes one without a worker.
    """

    def __init__(
        self,
        *,
        record_id: str,
        stage: str,
        attempt: int = 1,
        retry_count: int = 0,
        labels: Fields | None = None,
        path: Path | None = None,
        data: Bytes | None = None,
        items: Mapping[str, Sequence[ChunkText]] | None = None,
        scratch: Path | None = None,
        deadline: float | None = None,
        options: Fields | None = None,
        saved_values: SavedValues | None = None,
        files: JobFiles | None = None,
    ) -> None:
        self.record_id = record_id
        self.stage = stage
        self.attempt = attempt
        self.retry_count = retry_count
        self.labels: Mapping[str, Json] = MappingProxyType(labels or {})
        self.options: Mapping[str, Json] = MappingProxyType(options or {})
        self.path = path
        self._data = data
        self.deadline = deadline
        self._chunks = items or {}
        self._saved_values: SavedValues = UnsavedValues() if saved_values is None else saved_values
        self._job_files = files
        self._saved_files: dict[str, tuple[DerivedFile, Path]] = {}
        self._limits = Limits()
        self._scratch = scratch
        self._is_borrowed = scratch is None
        self._log: Log = _UNKEPT

    @classmethod
    def for_test(
        cls,
        document: str | Bytes = b"",
        *,
        items: Mapping[str, Iterable[object]] | None = None,
        labels: Fields | None = None,
        options: Fields | None = None,
        retry_count: int = 0,
        files: Mapping[str, Bytes] | None = None,
    ) -> Self:
        """A job over a document in memory, to call a stage function with.

        `items` are those of earlier stages, `files` their derived files as `{"stage/name": bytes}`. What the function
        saves is read back with `job.file(job.stage, name)`.
        """
        chunks = {
            stage: [msgspec.json.encode([PLAIN.to_plain(item) for item in given])]
            for stage, given in (items or {}).items()
        }
        return cls(
            record_id="TEST_1",
            stage="test",
            data=document.encode() if isinstance(document, str) else document,
            items=chunks,
            labels=labels,
            options=options,
            retry_count=retry_count,
            files=UnsavedFiles(files or {}),
        )

    def open(self) -> BinaryIO:
        """The artifact, opened for reading bytes."""
        return self._artifact().open("rb") if self._data is None else BytesIO(self._data)

    def bytes(self) -> Bytes:
        """The whole artifact."""
        return self._artifact().read_bytes() if self._data is None else self._data

    def text(self, encoding: str = "utf-8") -> str:
        """The whole artifact as text, with the line ends that it has."""
        return self.bytes().decode(encoding)

    @overload
    def items(self, stage: "str | Named | None" = None, /) -> Iterator[Fields]: ...

    @overload
    def items(self, kind: type[T], stage: "str | Named | None" = None, /) -> Iterator[T]: ...

    def items(self, kind: Any = None, stage: Any = None, /) -> Iterator[Any]:
        """Items of an earlier stage, by default of the latest one that produced any.

        `job.items(Word)` gives them as values of that type, checked; `job.items(Word, split)` those of one stage.
        """
        if not isinstance(kind, type | UnionType):
            kind, stage = None, kind
        return self.read_items(item_type(kind), () if stage is None else (_stage_name(stage),))

    def read_items(self, kind: ItemType[T], stages: Sequence[str] = ()) -> Iterator[T]:
        """Items of the latest of these stages that produced any; without names, of the latest of all."""
        # Looked up now and not at the first item: a wrong name fails in the line that has it.
        chunks = self._of(*stages)
        return (
            item for chunk in chunks if not _is_about(chunk) for item in self._decode(kind, chunk)
        )

    def _decode(self, kind: ItemType[T], chunk: ChunkText) -> list[T]:
        try:
            return kind.decode(chunk)
        except ValueError as error:
            raise FatalFailure(
                f"the items that stage {self.stage!r} reads are not {kind.name}: {error}",
                code="BAD_ITEM",
            ) from error

    def items_as(self, kind: type[T], stage: str | None = None) -> Iterator[T]:
        """The former name of `items(kind, stage)`."""
        warnings.warn("job.items_as is now job.items", FutureWarning, stacklevel=2)
        return self.items(kind, stage)

    def about(self, stage: "str | Named | None" = None) -> Fields:
        """The `about` of an earlier stage's `Outcome`; empty if it had none."""
        about: Fields = {}
        for chunk in self._of(*(() if stage is None else (_stage_name(stage),))):
            if _is_about(chunk):
                about = msgspec.json.decode(chunk)
        return about

    def _of(self, *stages: str) -> Sequence[ChunkText]:
        """The chunks of the latest of these stages (none: of all) that has any."""
        known = [name for name in self._chunks if name in stages or not stages]
        if stages and not known:
            raise UnknownName("earlier stage", stages[0], self._chunks)
        return next(filter(None, (self._chunks[name] for name in reversed(known))), ())

    def log(self, message: str, /, *, level: str = "info", **facts: object) -> None:
        """Write a line into the log of this attempt: a message and its facts."""
        self._log.write(level, message, facts)

    def save(self, name: str, data: Bytes) -> None:
        """Save bytes for later attempts at this stage; once this returns, no crash can lose them.

        For what must not be done or paid for twice, such as the answer of a model. Choose a name that says exactly
        which question the value answers: the first value under a name wins.
        """
        if not 0 < len(name) <= SAVED_NAME_CHARS_MAX or len(data) > SAVED_BYTES_MAX:
            raise ValueError(
                f"cannot save {len(data)} bytes as {name[:KEY_CHARS_SHOWN_MAX]!r}: at most {SAVED_BYTES_MAX} bytes, "
                f"under a name of at most {SAVED_NAME_CHARS_MAX} characters"
            )
        self._saved_values.save(name, data)

    def load(self, name: str) -> Bytes | None:
        """The value that this attempt or an earlier one saved under a name, or None."""
        return self._saved_values.load(name)

    def save_file(self, name: str, data: "Bytes | Path", *, media_type: str) -> str:
        """Save a derived file (a picture, a PDF, an archive) with the result of this attempt; its reference.

        The reference is `sha256:…` of its bytes. The file exists for others when the attempt has succeeded: then the
        API serves it at `/records/{id}/files/{stage}/{name}`, and later stages read it with `job.file`. An item whose
        place is in it says so as `where.file`: `"stage/name"`.
        """
        if fault := name_fault(name) or media_type_fault(media_type):
            raise FatalFailure(fault, code="BAD_FILE")
        if name in self._saved_files:
            raise FatalFailure(f"the file {name} was saved twice by one attempt", code="BAD_FILE")
        source = data if isinstance(data, Path) else bytes(data)
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        total = size + sum(file.size for file, _ in self._saved_files.values())
        if len(self._saved_files) >= self._limits.files_max:
            refuse_beyond(self._limits, "TOO_MANY_FILES", "more than", "files_max", "files")
        if total > self._limits.files_bytes_max:
            refuse_beyond(
                self._limits,
                "FILES_TOO_LARGE",
                "all files have more than",
                "files_bytes_max",
                "bytes",
            )
        stored = self._files().store(source)
        file = DerivedFile(name=name, media_type=media_type, size=stored.size, sha256=stored.sha256)
        self._saved_files[name] = (file, stored.path)
        return file.reference

    def file(self, stage: "str | Named", name: str) -> Path:
        """A derived file of an earlier stage, or one that this attempt has saved; to read, not to change."""
        named = _stage_name(stage)
        if named == self.stage and name in self._saved_files:
            return self._saved_files[name][1]
        found = None if name_fault(name) else self._files().find(named, name)
        if found is None:
            raise FatalFailure(
                f"{self.record_id} has no file {named}/{name[:KEY_CHARS_SHOWN_MAX]}; its stage saves it with "
                "job.save_file(), and only a stage that has completed has files",
                code="NO_FILE",
            )
        return found

    @property
    def saved_files(self) -> tuple[DerivedFile, ...]:
        """What this attempt has saved so far, in that order."""
        return tuple(file for file, _ in self._saved_files.values())

    def _files(self) -> JobFiles:
        if self._job_files is None:
            self._job_files = UnsavedFiles({})
        return self._job_files

    def _drop_files(self) -> None:
        """Forget the files of a try that failed."""
        if self._saved_files:
            self._saved_files.clear()
            self._files().clear()

    def keep(self, name: str, data: Bytes) -> None:
        """Deprecated name of `save`."""
        warnings.warn("job.keep() is now job.save()", DeprecationWarning, stacklevel=2)
        self.save(name, data)

    def kept(self, name: str) -> Bytes | None:
        """Deprecated name of `load`."""
        warnings.warn("job.kept() is now job.load()", DeprecationWarning, stacklevel=2)
        return self.load(name)

    @property
    def scratch(self) -> Path:
        """A private writable folder; it is emptied when the job is over."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="stateward-job-"))
        return self._scratch

    @property
    def remaining_s(self) -> float | None:
        """Seconds until this attempt is stopped; None where nothing stops it."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def _artifact(self) -> Path:
        if self.path is None:
            raise FatalFailure(
                f"{self.record_id} has no artifact; stage {self.stage!r} can read job.items() only",
                code="NO_ARTIFACT",
            )
        return self.path

    def _sweep(self) -> None:
        """Empty the scratch folder, and remove it if it was made here. A failure is logged, it fails no job."""
        if self._scratch is None:
            return
        try:
            # The folder of a child still holds the derived files of its job, which the worker has not taken yet.
            is_spared = bool(self._saved_files) and not self._is_borrowed
            empty_folder(self._scratch, spared=DERIVED_FOLDER if is_spared else "")
            if self._is_borrowed:
                self._scratch.rmdir()
                self._scratch = None
        except OSError as error:
            self.log(f"the scratch folder could not be emptied: {error}", level="warning")


RunnerFunction: TypeAlias = Callable[..., object]
F = TypeVar("F", bound=Callable[[Job], object])


class Named(Protocol):
    """A stage of a `Pipeline`, accepted wherever a stage's name is."""

    @property
    def name(self) -> str: ...


class Inputs(NamedTuple):
    """The items that a runner takes as its second argument: their type, and the stages that may have made them."""

    type: ItemType[Any]
    stages: tuple[str, ...]
    as_list: bool = False


class Runner(NamedTuple):
    """A function and the name by which state machines refer to it.

    A stage of a `Pipeline` also says what its items are (None: it has none), what it reads, and which outcomes it
    has (None: only the state machine says).
    """

    name: str
    function: RunnerFunction
    produces: ItemType[Any] | None = PLAIN
    reads: Inputs | None = None
    outcomes: frozenset[str] | None = None


# Of the process: importing a pipeline registers its runners, in the worker and in each of its children.
_RUNNERS: dict[str, Runner] = {}


def runner(name: str) -> Callable[[F], F]:
    """Register a function under a name: `machine.stage`, unless the machine names another."""
    if not NAME.fullmatch(f"{name}"):
        raise ValueError(
            f"{name!r} cannot be the name of a runner; write @runner('machine.stage') in small "
            "letters, digits and underscores"
        )

    def decorate(function: F) -> F:
        register(Runner(name, function))
        return function

    return decorate


def register(new: Runner) -> None:
    """Make a runner known in this process; raises ValueError if another function has its name."""
    known = _RUNNERS.get(new.name)
    if known is not None and not _is_same(known.function, new.function):
        raise ValueError(
            f"there are two runners {new.name!r}: {_place(known.function)} and {_place(new.function)}; "
            "rename one of them"
        )
    _RUNNERS[new.name] = new


def registered() -> Mapping[str, Runner]:
    """Every runner that was registered in this process, by name."""
    return MappingProxyType(_RUNNERS)


def run_runner(
    runner: Runner,
    job: Job,
    *,
    limits: Limits,
    sleep: Callable[[float], object],
    now: Callable[[], Micros],
    log: Log | None = None,
) -> Result:
    """One attempt: call the runner, collect what it produces, repeat what fails transiently.

    Whatever the runner does, a value is returned. `log` is where its lines go, by default a log
    within the limits that becomes the result's `log`.
    """
    book = AttemptLog(bytes_max=limits.log_bytes_max, now=now) if log is None else log
    job._log = book
    job._limits = limits
    try:
        try:
            completed = _produce(runner, job, limits, sleep)
        finally:
            job._sweep()  # inside the outer try: what it raises must become a result as well
    except BaseException as error:  # noqa: BLE001 - foreign code: even an exit is a failed attempt
        failed = _judged(error, limits)
        _log_failure(book, error, failed)
        return replace(failed, log=book.text())
    return replace(completed, log=book.text())


def _produce(
    runner: Runner, job: Job, limits: Limits, sleep: Callable[[float], object]
) -> Completed:
    """Repeat transient errors a few times, with doubled pauses, inside one attempt.

    This costs no transition and no dispatch. The last try is outside of the loop: its error is the result.
    """
    wait_s = limits.transient_backoff_s
    for tried in range(1, limits.transient_attempts):
        try:
            return _produce_once(runner, job, limits)
        except Exception as error:
            if not is_transient(error) or _is_too_late(job, wait_s):
                raise
            job.log(
                f"try {tried} of {limits.transient_attempts} failed, the next one is in "
                f"{wait_s:g} s: {describe(error)}",
                level="warning",
            )
        job._sweep()  # the next try must not find files of this one
        job._drop_files()
        sleep(wait_s)
        wait_s *= 2
    return _produce_once(runner, job, limits)


def _is_too_late(job: Job, wait_s: float) -> bool:
    """Whether the deadline comes first: the error at hand says more than a timeout would."""
    return job.remaining_s is not None and job.remaining_s <= wait_s


def _produce_once(runner: Runner, job: Job, limits: Limits) -> Completed:
    basket = _ItemCollector(limits, runner.produces, folder=lambda: job.scratch)
    reads = runner.reads
    if reads is None:
        returned = runner.function(job)
    else:
        items = job.read_items(reads.type, reads.stages)
        returned = runner.function(job, [*items] if reads.as_list else items)
    outcome = _collect(returned, basket)
    if runner.outcomes is not None and outcome.label not in runner.outcomes:
        known = ", ".join(sorted(runner.outcomes))
        raise _bad_outcome(f"{runner.name} has no outcome {outcome.label!r}; it has: {known}")
    facts = _checked_facts(outcome)
    chunks = basket.chunks(about=_about_data(outcome))
    if basket.cleaned:
        job.log(
            f"NUL or lone surrogates were replaced in {basket.cleaned} items: no store keeps them",
            level="warning",
        )
    return Completed(
        outcome=outcome.label,
        facts=facts,
        count=basket.count,
        chunks=chunks,
        files=job.saved_files,
    )


def _collect(returned: object, basket: "_ItemCollector") -> Outcome:
    """Collect all items that a runner returned or yielded; the outcome that it named, or `done`."""
    if returned is None:
        return _ENDED
    if isinstance(returned, Outcome):
        _drain(returned.items, basket)
        return returned
    if is_item(returned) and not isinstance(returned, Batch):
        basket.add(returned)
        return _ENDED
    ended = _drain(returned, basket)
    if ended is None:
        return _ENDED
    if not isinstance(ended, Outcome):
        raise FatalFailure(
            f"what the generator returned is {_kind(ended)}; it may return an Outcome or nothing",
            code="BAD_OUTCOME",
        )
    _drain(ended.items, basket)
    return ended


def _drain(items: object, basket: "_ItemCollector") -> object:
    """Collect every item; returns what a generator returns at its end, which a for loop would discard.

    Text is refused although it can be iterated: its characters are never what was meant.
    """
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise FatalFailure(
            f"what the runner gave is {_kind(items)}; a runner is a plain function that yields or "
            "returns dicts, or returns an Outcome",
            code="BAD_OUTCOME",
        )
    iterator = iter(items)
    while True:  # ends with the iterator, or when a limit of the collector is hit
        try:
            item = next(iterator)
        except StopIteration as stop:
            return stop.value
        if isinstance(item, Batch):
            basket.add_batch(item.items)
        else:
            basket.add(item)


def _about_data(outcome: Outcome) -> bytes:
    """The `about` of an outcome as a chunk: a JSON object where items are arrays, which tells the two apart."""
    about = outcome.about
    if not about:
        return b""
    fault = _fault(about) if isinstance(about, dict) else f" is {_kind(about)}, not a dict"
    if fault:
        raise _bad_outcome(f"about{fault}")
    data, _ = encode_item(about)
    if len(data) > ABOUT_BYTES_MAX:
        raise _bad_outcome(f"its about has more than {ABOUT_BYTES_MAX} bytes")
    return data


class _ItemCollector:
    """Puts items into chunks, each one checked and counted against the limits before it is stored."""

    def __init__(
        self, limits: Limits, kind: ItemType[Any] | None, *, folder: Callable[[], Path]
    ) -> None:
        self.count = 0
        self.cleaned = 0
        self._limits = limits
        self._kind = kind
        self._bytes = 0
        self._chunks = Chunks(folder)
        self._open: list[bytes] = []
        self._open_bytes = 0

    def add(self, item: object) -> None:
        self.count += 1
        if self.count > self._limits.items_max:
            refuse_beyond(self._limits, "TOO_MANY_ITEMS", "more than", "items_max", "items")
        data = self._encode(item)
        if len(data) > self._limits.item_bytes_max:
            refuse_beyond(
                self._limits,
                "ITEM_TOO_LARGE",
                f"item {self.count} has more than",
                "item_bytes_max",
                "bytes",
            )
        self._bytes += len(data) + 1
        if self._bytes > self._limits.items_bytes_max:
            self._refuse_bytes()
        self._put(data)

    def add_batch(self, items: Sequence[msgspec.Struct]) -> None:
        """Add many items as one chunk; one by one if that would be too large, or holds text to be cleaned."""
        try:
            data = msgspec.json.encode(items)
        except UnicodeEncodeError:  # a lone surrogate: treated as a NUL is
            data = NUL_ESCAPED
        if len(items) > CHUNK_ITEMS_MAX or len(data) > CHUNK_BYTES_MAX or NUL_ESCAPED in data:
            for item in items:
                self.add(msgspec.to_builtins(item))
            return
        self._item_type()  # refuses items of a stage that declares none
        # Items keep their order: those before the batch are in the chunk before it.
        self._close_chunk()
        self.count += len(items)
        if self.count > self._limits.items_max:
            refuse_beyond(self._limits, "TOO_MANY_ITEMS", "more than", "items_max", "items")
        self._bytes += len(data)
        if self._bytes > self._limits.items_bytes_max:
            self._refuse_bytes()
        if items:
            self._chunks.append(len(items), data)

    def chunks(self, *, about: bytes) -> Sequence[Chunk]:
        self._close_chunk()
        if about:
            self._chunks.append(0, about)
        return self._chunks.settled()

    def _encode(self, item: object) -> bytes:
        try:
            plain = self._item_type().to_plain(item)
        except (TypeError, ValueError) as error:
            why = f"item {self.count} is not {self._item_type().name}: {error}"
            raise FatalFailure(why, code="BAD_ITEM") from error
        fault = _fault(plain) if isinstance(plain, dict) else f" is {_kind(item)}, not a dict"
        if fault:
            raise FatalFailure(f"item {self.count}{fault}", code="BAD_ITEM")
        try:
            data, was_cleaned = encode_item(plain)
        except (TypeError, ValueError, RecursionError) as error:
            why = f"item {self.count} cannot be written as JSON: {describe(error)}"
            raise FatalFailure(why, code="BAD_ITEM") from error
        self.cleaned += was_cleaned
        return data

    def _refuse_bytes(self) -> NoReturn:
        refuse_beyond(
            self._limits, "OUTPUT_TOO_LARGE", "all items have more than", "items_bytes_max", "bytes"
        )

    def _item_type(self) -> ItemType[Any]:
        if self._kind is None:
            raise FatalFailure(
                "the stage gave an item, but its annotation says that it has none; "
                "annotate it with -> Iterator[...] or -> Outcome[...]",
                code="BAD_ITEM",
            )
        return self._kind

    def _put(self, data: bytes) -> None:
        is_full = self._open_bytes + len(data) + 2 > CHUNK_BYTES_MAX  # with both brackets
        if is_full or len(self._open) >= CHUNK_ITEMS_MAX:
            self._close_chunk()
        self._open.append(data)
        self._open_bytes += len(data) + 1

    def _close_chunk(self) -> None:
        if self._open:
            self._chunks.append(len(self._open), b"[" + b",".join(self._open) + b"]")
            self._open, self._open_bytes = [], 0


def refuse_beyond(limits: Limits, code: str, what: str, limit: str, unit: str) -> NoReturn:
    """Fail an attempt that went beyond one of its limits; the message names the setting."""
    raise FatalFailure(
        f"{what} {getattr(limits, limit)} {unit}; produce less, or raise the setting worker.{limit}",
        code=code,
    )


def _fault(value: object, depth: int = 0) -> str | None:
    """What keeps a value from being JSON, and where; None if nothing does.

    Encoders do not refuse enough: they write NaN as null and the key 1 as text, and the runner's author
    would never know. The path to the fault is built on the way back, so that valid items do not pay for it.
    """
    if type(value) in SCALARS or isinstance(value, (str, int)):
        return None
    if isinstance(value, float):
        return None if isfinite(value) else f" is {value}, which JSON cannot say; give null"
    if depth >= DEPTH_MAX:
        return f" is nested more than {DEPTH_MAX} deep"
    if isinstance(value, dict):
        return _dict_fault(value, depth)
    if isinstance(value, (list, tuple)):
        return _list_fault(value, depth)
    return f" is {_kind(value)}, which JSON has no form for; give text or a number"


def _dict_fault(value: dict[object, object], depth: int) -> str | None:
    for key, inner in value.items():
        if not isinstance(key, str):
            return f" has a key that is {_kind(key)}; keys are text"
        if type(inner) not in SCALARS and (fault := _fault(inner, depth + 1)) is not None:
            return f".{key[:KEY_CHARS_SHOWN_MAX]}{fault}"
    return None


def _list_fault(value: Sequence[object], depth: int) -> str | None:
    for index, inner in enumerate(value):
        if type(inner) not in SCALARS and (fault := _fault(inner, depth + 1)) is not None:
            return f"[{index}]{fault}"
    return None


def encode_item(value: object) -> tuple[bytes, bool]:
    """A JSON value as bytes, and whether text in it had to be cleaned of what no database stores.

    Cleaning builds a copy of the value, so it is done only when the encoder or its output asks for it.
    """
    try:
        data = msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(value), enc_hook=_plain), True
    if NUL_ESCAPED not in data:
        return data, False
    safe = msgspec.json.encode(cleaned(value), enc_hook=_plain)
    return safe, safe != data  # a backslash before "u0000" looks the same


def cleaned(value: object, depth: int = 0) -> object:
    """The same value with NUL and lone surrogates replaced in every string, also in keys."""
    if isinstance(value, str):
        return clean_text(value, chars_max=len(value))
    if depth > DEPTH_MAX:
        return clean_text(repr(value), chars_max=LINE_CHARS_MAX)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(inner, depth + 1) for inner in value]
    return value


def _plain(value: object) -> object:
    """The built-in value inside a subclass of its type (strings of parsers, floats of numpy)."""
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"it holds {_kind(value)}")


def _checked_facts(outcome: Outcome) -> Fields:
    label, facts = outcome.label, outcome.facts
    if label == DONE and not facts and type(facts) is dict:  # nearly always
        return {}
    if not _is_label(label):
        raise _bad_outcome(f"its label must be 1 to {LABEL_CHARS_MAX} printable characters")
    fault = _fault(facts) if isinstance(facts, dict) else f" is {_kind(facts)}, not a dict"
    if fault:
        raise _bad_outcome(f"facts{fault}")
    data, _ = encode_item(facts)
    if len(data) > FACTS_BYTES_MAX:
        raise _bad_outcome(f"its facts have more than {FACTS_BYTES_MAX} bytes; make items of them")
    decoded: Fields = msgspec.json.decode(data)
    return decoded


def _is_label(label: object) -> bool:
    return isinstance(label, str) and 0 < len(label) <= LABEL_CHARS_MAX and label.isprintable()


def _bad_outcome(why: str) -> FatalFailure:
    return FatalFailure(f"the Outcome cannot be used: {why}", code="BAD_OUTCOME")


def is_transient(error: BaseException) -> bool:
    """Whether an error is transient: the same call may succeed in a moment.

    What the runner says itself (`StageFailure`) comes first. An HTTP status comes before the class of
    the error, because it says more.
    """
    if isinstance(error, StageFailure):
        return isinstance(error, TransientFailure)
    status = _http_status(error)
    if status is not None:
        return status == TOO_MANY_REQUESTS or status in SERVER_ERRORS
    if any(kind.__name__ in TRANSIENT_NAMES for kind in type(error).__mro__):
        return True
    return isinstance(error, OSError) and _is_transient_os_error(error)


def _http_status(error: BaseException) -> int | None:
    for holder in (error, _attribute(error, "response")):
        for name in ("status_code", "status"):
            status = _attribute(holder, name)
            if isinstance(status, int):
                return status
    return None


def _is_transient_os_error(error: OSError) -> bool:
    reason = _attribute(error, "reason")  # urllib wraps what really happened
    inner = reason if isinstance(reason, OSError) else error
    return isinstance(inner, ConnectionError | TimeoutError) or inner.errno in TRANSIENT_ERRNOS


def _attribute(holder: object, name: str) -> object:
    """An attribute of a foreign object, or None; reading it may run foreign code, which may raise."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign exception
        return None


def describe(error: BaseException) -> str:
    """`TypeError: its message`; never raises, whatever the exception's `__str__` does."""
    name = type(error).__name__
    try:
        text = str(error)[:LINE_CHARS_MAX]
    except BaseException:  # noqa: BLE001 - a foreign __str__
        text = "(its text cannot be shown)"
    return f"{name}: {text}" if text else name


def _judged(error: BaseException, limits: Limits) -> Failed:
    """The failure that an error makes of an attempt, with texts that can be stored."""
    failed = _verdict(error, limits)
    return replace(
        failed,
        code=clean_text(failed.code, chars_max=CODE_CHARS_MAX),
        message=clean_text(failed.message, chars_max=limits.message_chars_max),
    )


def _verdict(error: BaseException, limits: Limits) -> Failed:
    if isinstance(error, StageFailure):
        message = describe(error).removeprefix(f"{type(error).__name__}: ")
        code = f"{_attribute(error, 'code')}"
        return Failed(code=code, message=message, is_retryable=error.is_retryable is True)
    if isinstance(error, ImportError) and (missing := missing_extra(error)):
        return Failed(code="MISSING_EXTRA", message=str(missing), is_retryable=True)
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        message = f"ran out of memory; the limit is {limits.memory_bytes} bytes"
        return Failed(code="MEMORY_LIMIT", message=f"{message} (worker.memory_bytes)")
    if number == errno.EFBIG:
        message = f"wrote a file of more than {limits.file_bytes} bytes (worker.file_bytes)"
        return Failed(code="FILE_LIMIT", message=message)
    if not isinstance(error, Exception):
        message = f"the runner left with {describe(error)}; it must return or raise an Exception"
        return Failed(code="RUNNER_EXITED", message=message)
    return Failed(code="EXCEPTION", message=describe(error))


def _log_failure(book: Log, error: BaseException, failed: Failed) -> None:
    try:
        if isinstance(error, MemoryError):
            # Frees what the runner held: the log needs memory too.
            traceback.clear_frames(error.__traceback__)
        text = _traceback(error)
    except BaseException:  # noqa: BLE001 - foreign objects are asked for their text
        text = "the traceback cannot be shown"
    facts = {"code": failed.code, "traceback": text} if text else {"code": failed.code}
    book.write("error", failed.message, facts)


def _traceback(error: BaseException) -> str:
    """The traceback from the runner's own first line on; empty if the SDK itself raised the error."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    if frames is None:
        return ""
    told = traceback.TracebackException(
        type(error), error, frames, limit=-TRACEBACK_FRAMES_MAX, compact=True
    )
    _shorten_paths(told)
    text = "".join(told.format())
    return text if len(text) <= TRACEBACK_CHARS_MAX else "…" + text[-TRACEBACK_CHARS_MAX:]


def _shorten_paths(told: traceback.TracebackException) -> None:
    """Name files as they are imported: a log tells its reader nothing of the folders of this machine."""
    roots = sorted((root for root in sys.path if root), key=len, reverse=True)
    for _ in range(CAUSES_MAX):
        for frame in told.stack:
            _ = frame.line  # read while the path still leads to it
            inside = (root for root in roots if frame.filename.startswith(f"{root}/"))
            root = next(inside, os.path.dirname(frame.filename))  # noqa: PTH120 - a text
            frame.filename = frame.filename.removeprefix(root).lstrip("/")
        following = told.__cause__ or told.__context__
        if following is None:
            return
        told = following


def tame_line(level: str, message: str, facts: Mapping[str, object]) -> tuple[str, str, Fields]:
    """A log line that can be stored: texts cleaned and bounded, facts that JSON does not have as text.

    Applied in the child, to bound what it sends, and again in the worker, which does not trust the child.
    """
    level = clean_text(f"{level}", chars_max=20)
    message = clean_text(f"{message}"[:LINE_CHARS_MAX], chars_max=LINE_CHARS_MAX)
    named = {f"{name}_" if name in RESERVED else name: value for name, value in facts.items()}
    try:
        data = msgspec.json.encode(cleaned(named), enc_hook=_shown)
        if len(data) > LINE_BYTES_MAX:
            return level, message, {"cut": f"facts of {len(data)} bytes"}
        told: Fields = msgspec.json.decode(data)
    except Exception as error:  # noqa: BLE001 - a log line must never fail a job
        return level, message, {"cut": f"facts that cannot be written: {type(error).__name__}"}
    return level, message, told


def _shown(value: object) -> str:
    try:
        text = f"{value}"
    except Exception:  # noqa: BLE001 - a foreign __str__
        text = f"({_kind(value)})"
    return clean_text(text[:LINE_CHARS_MAX], chars_max=LINE_CHARS_MAX)


def empty_folder(folder: Path, *, spared: str = "") -> None:
    """Remove all that is in a folder, however deep, but for one name; links are removed, never followed.

    A hostile runner may leave a tree deeper than recursion or a path may be, or without permissions.
    So folders inside folders are moved to the top first, and each is made accessible before it is read.
    """
    moves = 0
    for _ in range(EMPTYING_ROUNDS_MAX):
        found = [path for path in folder.iterdir() if path.name != spared]
        if not found:
            return
        for path in found:
            if not _is_folder(path):
                path.unlink(missing_ok=True)
                continue
            path.chmod(0o700)
            for inner in list(path.iterdir()):
                if _is_folder(inner):
                    moves += 1
                    _lift(inner, folder / f".removed-{moves}")
                else:
                    inner.unlink(missing_ok=True)
            path.rmdir()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _lift(folder: Path, target: Path) -> None:
    folder.chmod(0o700)
    try:
        folder.rename(target)
    except OSError:
        # The name is taken, or Landlock before ABI 2 forbids every move between folders.
        shutil.rmtree(folder)


def _is_about(chunk: ChunkText) -> bool:
    return chunk[:1] in ("{", b"{")


def _stage_name(stage: str | Named) -> str:
    return stage if isinstance(stage, str) else stage.name


def _is_same(known: RunnerFunction, function: RunnerFunction) -> bool:
    """Whether a module was imported again: under its own name, or the same file under another.

    A script is `__main__` in one process and a file or module in the next; that is no second runner.
    """
    return _place(known) == _place(function) or _source(known) == _source(function)


def _place(function: RunnerFunction) -> str:
    return f"{_attribute(function, '__module__')}:{_name(function)}"


def _source(function: RunnerFunction) -> str:
    code = _attribute(function, "__code__")
    return f"{_attribute(code, 'co_filename') or id(function)}:{_name(function)}"


def _name(function: RunnerFunction) -> object:
    return _attribute(function, "__qualname__") or type(function).__qualname__


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"
