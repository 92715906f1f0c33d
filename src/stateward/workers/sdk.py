"""The SDK of runners: what they are written with, and how one attempt is run and becomes a result.

    @runner("invoices.parse")
    def parse(job: Job) -> Iterator[Fields]:
        for number, line in enumerate(job.text().splitlines(), start=1):
            yield {"line": number, "text": line}

`run_runner` calls such a function and turns whatever it does into a `Result`. It must never let an
exception out, change a value that cannot be stored without logging it, or store more than the limits
allow. It knows nothing of statuses, stores and processes: the same code runs in a child and inline.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import GeneratorType, MappingProxyType, UnionType
from typing import (
    Any,
    BinaryIO,
    NamedTuple,
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
    UnknownName,
)
from stateward.core.files import DerivedFile, media_type_fault, name_fault
from stateward.core.model import (
    EarlierItems,
    Fields,
    Json,
    Micros,
)
from stateward.workers.attempt_log import NO_LOG, AttemptLog, Log
from stateward.workers.collector import ItemCollector, refuse_beyond
from stateward.workers.failures import attribute_of, describe, is_transient, log_failure, to_failure
from stateward.workers.items import PLAIN, ItemType, is_item, item_type
from stateward.workers.job_files import DERIVED_FOLDER, JobFiles, UnsavedFiles, empty_folder
from stateward.workers.json_values import KEY_CHARS_SHOWN_MAX, encode_item, json_fault, kind_of
from stateward.workers.results import (
    DONE,
    KIB,
    MIB,
    Batch,
    Chunk,
    ChunkText,
    Completed,
    Died,
    Failed,
    Limits,
    Outcome,
    Result,
)

__all__ = [  # what authors of runners and their tests import from here; the engine imports each from its own module
    "Batch",
    "Chunk",
    "Completed",
    "Died",
    "Failed",
    "Job",
    "Limits",
    "Outcome",
    "Result",
    "Runner",
    "RunnerFunction",
    "SavedValues",
    "UnsavedFiles",
    "UnsavedValues",
    "register",
    "registered_runners",
    "run_runner",
    "runner",
]

LABEL_CHARS_MAX = 100
# Facts are part of the history, which is append-only and hash-chained: what is large belongs into items.
FACTS_BYTES_MAX = 64 * KIB
ABOUT_BYTES_MAX = 8 * MIB
# As base64 it has 1 MiB, and fits into one frame from a child with default limits.
SAVED_BYTES_MAX = 768 * KIB
SAVED_NAME_CHARS_MAX = 200
NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
Item: TypeAlias = Mapping[str, object]
Bytes: TypeAlias = bytes  # inside Job, `bytes` is a method
T = TypeVar("T")
_ENDED: Outcome = Outcome()
NO_LIMITS = Limits()  # until `run_runner` says which hold


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
        earlier: EarlierItems | None = None,
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
        self._earlier = earlier
        self._saved_files: dict[str, tuple[DerivedFile, Path]] = {}
        self._limits = NO_LIMITS
        self._scratch = scratch
        self._is_borrowed = scratch is None
        self._empty: Callable[..., None] = empty_folder
        self._log: Log = NO_LOG

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
        earlier: Iterable[object] | None = None,
    ) -> Self:
        """A job over a document in memory, to call a stage function with.

        `items` are those of earlier stages, `files` their derived files as `{"stage/name": bytes}`, `earlier` the items
        of other records that the stage reads. What the function
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
            earlier=None
            if earlier is None
            else EarlierItems(
                items=tuple(msgspec.to_builtins(PLAIN.to_plain(each)) for each in earlier)
            ),
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

    @overload
    def earlier(self, /) -> Iterator[Fields]: ...

    @overload
    def earlier(self, kind: type[T], /) -> Iterator[T]: ...

    def earlier(self, kind: Any = None, /) -> Iterator[Any]:
        """Items of earlier records with the same key, the oldest first, as the stage declares under `earlier`.

        They hold the declared fields, and `record_id`, the record that each is of. They were looked up when this
        attempt was dispatched, and are sealed in the history with it.
        """
        given = () if self._earlier is None else self._earlier.items
        return iter(self._decode(item_type(kind), msgspec.json.encode(given)))

    @property
    def is_earlier_cut(self) -> bool:
        """Whether there were more earlier items than are handed out at once: the oldest are missing."""
        return self._earlier is not None and self._earlier.is_cut

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
            self._empty(self._scratch, spared=DERIVED_FOLDER if is_spared else "")
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


def registered_runners() -> Mapping[str, Runner]:
    """Every runner that was registered in this process, by name."""
    return MappingProxyType(_RUNNERS)


def forget_runners(names: Iterable[str]) -> None:
    """Take back runners of a module that could not be imported whole."""
    for name in names:
        _RUNNERS.pop(name, None)


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
        failed = to_failure(error, limits)
        log_failure(book, error, failed)
        return replace(failed, log=book.text())
    text = book.text()
    return replace(completed, log=text) if text else completed


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
    basket = ItemCollector(limits, runner.produces, folder=lambda: job.scratch)
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


def _collect(returned: object, basket: "ItemCollector") -> Outcome:
    """Collect all items that a runner returned or yielded; the outcome that it named, or `done`."""
    if returned is None:
        return _ENDED
    if isinstance(returned, Outcome):
        _drain(returned.items, basket)
        return returned
    if (
        type(returned) is not GeneratorType
        and is_item(returned)
        and not isinstance(returned, Batch)
    ):
        basket.add(returned)
        return _ENDED
    ended = _drain(returned, basket)
    if ended is None:
        return _ENDED
    if not isinstance(ended, Outcome):
        raise FatalFailure(
            f"what the generator returned is {kind_of(ended)}; it may return an Outcome or nothing",
            code="BAD_OUTCOME",
        )
    _drain(ended.items, basket)
    return ended


def _drain(items: object, basket: "ItemCollector") -> object:
    """Collect every item; returns what a generator returns at its end, which a for loop would discard.

    Text is refused although it can be iterated: its characters are never what was meant.
    """
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise FatalFailure(
            f"what the runner gave is {kind_of(items)}; a runner is a plain function that yields or "
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
    fault = json_fault(about) if isinstance(about, dict) else f" is {kind_of(about)}, not a dict"
    if fault:
        raise _bad_outcome(f"about{fault}")
    data, _ = encode_item(about)
    if len(data) > ABOUT_BYTES_MAX:
        raise _bad_outcome(f"its about has more than {ABOUT_BYTES_MAX} bytes")
    return data


def _checked_facts(outcome: Outcome) -> Fields:
    label, facts = outcome.label, outcome.facts
    if label == DONE and not facts and type(facts) is dict:  # nearly always
        return {}
    if not _is_label(label):
        raise _bad_outcome(f"its label must be 1 to {LABEL_CHARS_MAX} printable characters")
    fault = json_fault(facts) if isinstance(facts, dict) else f" is {kind_of(facts)}, not a dict"
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
    return f"{attribute_of(function, '__module__')}:{_name(function)}"


def _source(function: RunnerFunction) -> str:
    code = attribute_of(function, "__code__")
    return f"{attribute_of(code, 'co_filename') or id(function)}:{_name(function)}"


def _name(function: RunnerFunction) -> object:
    return attribute_of(function, "__qualname__") or type(function).__qualname__
