"""What attempts read and leave, as a worker with a database gives and takes it: items, saved values, derived files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from stateward.blobs import Artifact
from stateward.core.errors import StoreError
from stateward.core.failpoints import Point, point
from stateward.core.model import Micros, Work
from stateward.storage.outputs import CHUNKS_AT_ONCE, AttemptResult, Output, Outputs
from stateward.workers.child_attempt import SMALL_INPUT_CHARS
from stateward.workers.fetching import Fetchable
from stateward.workers.job_files import StoredFile, pieces_of_file
from stateward.workers.results import Chunk, Completed, Result

RECENT_CHARS_MAX = 4 * 1024 * 1024  # of items that are remembered


class Pairs(Iterable[tuple[int, str]]):
    """Chunks as the outputs take them, decoded one by one: many of them may be in a file.

    Iterable more than once, because a transaction that fails is written again from the start.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return ((chunk.count, chunk.data) for chunk in self._chunks)

    @property
    def small(self) -> list[str] | None:
        """The chunks as text, if they are in memory and few."""
        if not isinstance(self._chunks, tuple) or len(self._chunks) >= CHUNKS_AT_ONCE:
            return None
        chunks = [chunk.data for chunk in self._chunks]
        return chunks if sum(map(len, chunks)) <= SMALL_INPUT_CHARS else None


def output_of(work: Work, result: Result, *, worker: str, at: Micros, log: str) -> Output:
    """What is stored of an attempt that ended; `log` is that of the result with what is known beside it."""
    if isinstance(result, Completed):
        completed = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            outcome=result.outcome,
            count=result.count,
            worker=worker,
            at=at,
            facts=result.facts,
            log=log,
        )
        return Output(completed, Pairs(result.chunks), result.files)
    failed = AttemptResult(
        record_id=work.record_id,
        version=work.version,
        stage=work.stage,
        error_code=result.code,
        error_message=result.message,
        is_retryable=result.is_retryable,
        worker=worker,
        at=at,
        facts=result.facts,
        log=log,
    )
    return Output(failed)


class Inputs(Mapping[str, Sequence[str]]):
    """The items of earlier stages, in the order in which these completed; each is read when it is used.

    `Job.items` takes the latest stage by default, so the order of iteration matters to callers.
    """

    def __init__(self, outputs: Outputs, work: Work, recent: "RecentItems | None" = None) -> None:
        self._outputs = outputs
        self._work = work
        self._recent = RecentItems() if recent is None else recent

    def __getitem__(self, stage: str) -> Sequence[str]:
        attempt = (self._work.record_id, self._work.inputs[stage])
        found = self._recent.get(*attempt)
        return self._outputs.item_chunks(*attempt) if found is None else found

    def __iter__(self) -> Iterator[str]:
        inputs = self._work.inputs
        return iter(sorted(inputs, key=inputs.__getitem__))

    def __len__(self) -> int:
        return len(self._work.inputs)

    def __contains__(self, stage: object) -> bool:
        return stage in self._work.inputs

    def read(self) -> dict[str, Sequence[str]]:
        """All of them, in their order."""
        return {stage: self[stage] for stage in self} if self._work.inputs else {}


class RecentItems:
    """The items that this worker wrote last, in memory: mostly the next stage of the same record wants them.

    What an attempt has written never changes, so they are what the database holds.
    """

    def __init__(self) -> None:
        self._chunks: dict[tuple[str, int], list[str]] = {}
        self._size = 0

    def add(self, output: Output) -> None:
        """Remember what was durably written, unless there is much of it; the oldest is forgotten for it."""
        chunks = output.chunks.small if isinstance(output.chunks, Pairs) else None
        if chunks is not None:
            self._chunks[output.result.record_id, output.result.version] = chunks
            self._size += sum(map(len, chunks))
        while self._size > RECENT_CHARS_MAX:
            self._size -= sum(map(len, self._chunks.pop(next(iter(self._chunks)))))

    def get(self, record_id: str, version: int) -> list[str] | None:
        """The chunks of an attempt, or None."""
        return self._chunks.get((record_id, version))


class StageSavedValues:
    """The saved values of one stage of one record, in the database."""

    def __init__(
        self, outputs: Outputs, record_id: str, stage: str, clock: Callable[[], Micros]
    ) -> None:
        self._outputs = outputs
        self._of = (record_id, stage)
        self._clock = clock

    def save(self, name: str, data: bytes) -> None:
        """Store bytes; they are durable when this returns, because `prepare` runs outside of any transaction."""
        self._outputs.save_value(*self._of, name, data, at=self._clock())

    def load(self, name: str) -> bytes | None:
        """The value under a name, or None."""
        return self._outputs.load_value(*self._of, name)


class Artifacts(Fetchable, Protocol):
    """Blob storage, as far as a worker needs it."""

    def path(self, digest: str) -> Path:
        """The file of an artifact; raises ArtifactError if there is none."""

    def put_as(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> Artifact | None:
        """Store bytes durably if that is their SHA-256; None if it is not, and then nothing is stored."""


class StageFiles:
    """Derived files of one attempt: stored as artifacts at once, and found by the attempts that the record counts.

    An artifact is durable before there is a result that names it, and is announced before it is stored: an attempt that
    then fails or is lost leaves bytes that no result names, which are removed with the record, or some hours later.
    """

    def __init__(
        self,
        outputs: Outputs,
        artifacts: Artifacts,
        record_id: str,
        inputs: Mapping[str, int],
        clock: Callable[[], Micros],
    ) -> None:
        self._clock = clock
        self._outputs = outputs
        self._artifacts = artifacts
        self._record_id = record_id
        self._inputs = inputs

    def store(self, source: bytes | Path) -> StoredFile:
        """Store the file of an inline job."""
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        digest = sha256()
        for piece in pieces_of_file(source):
            digest.update(piece)
        own = digest.hexdigest()
        self.announce([own])
        if self.put(own, pieces_of_file(source), bytes_max=size) is None:
            raise StoreError("a file changed while it was saved")
        return StoredFile(own, size, self._artifacts.path(own))

    def announce(self, digests: Sequence[str]) -> None:
        self._outputs.announce_files(self._record_id, digests, at=self._clock())

    def put(self, digest: str, pieces: Iterable[bytes], *, bytes_max: int) -> int | None:
        """Store these bytes; how many, None if they have another hash."""
        stored = self._artifacts.put_as(digest, pieces, bytes_max=bytes_max)
        point(Point.FILE_STORED)
        return None if stored is None else stored.size

    def find(self, stage: str, name: str) -> Path | None:
        attempt = self._inputs.get(stage)
        if attempt is None:
            return None
        files = self._outputs.files(self._record_id, {stage: attempt})
        digests = [each.file.sha256 for each in files if each.file.name == name]
        return self._artifacts.path(digests[0]) if digests else None

    def clear(self) -> None:
        """Nothing to do: what no result names does not count."""
