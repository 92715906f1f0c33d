"""What a relay publishes: work with all that it reads, read for many attempts at once."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    TransportFull,
)
from stateward.core.files import SavedFile
from stateward.core.model import PRIORITY_NORMAL, Micros, Work
from stateward.engine.sent_work import Sent
from stateward.storage.database import Asked, Database
from stateward.storage.outputs import Output, Outputs, saved_values
from stateward.transport import messages
from stateward.transport.channel import Blobs, Channel
from stateward.transport.inbox import Outage
from stateward.transport.messages import (
    Envelope,
    FileReference,
    WorkMessage,
    encode,
    priority_class,
    work_stream,
)
from stateward.workers.fetching import Fetchable, Fetcher

AT_ONCE = 256  # attempts whose inputs are in memory together
FIRST_DELIVERY = 1
FIRST_ATTEMPT = 1  # the version of a record that was submitted and dispatched, and nothing else
NOTHING: Mapping[int, Sequence[tuple[int, str]]] = {}


class PublisherConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How work is published. `ageing_s` by machine is that of the coordinator."""

    prefix: str = "stateward"
    inline_bytes_max: int = 256 * 1024
    ageing_s: Mapping[str, float] = {}


class Fresh(msgspec.Struct, frozen=True, gc=False):
    """What the attempt left that was settled in this turn, and all values that attempts at its record have saved."""

    output: Output
    saved: dict[str, dict[str, bytes]]

    def is_all_of(self, work: Work) -> bool:
        """Whether it is all that an attempt reads: the stage after it, without items of others.

        Another try of the same stage looks in the store: it may have saved a value that another coordinator took in.
        """
        result = self.output.result
        return work.stage != result.stage and work.inputs == {result.stage: result.version}


class Documents(Blobs, Fetchable, Protocol):
    """Blob storage that documents are read from, fetched ahead where it is on the network."""


class Publisher:
    """Puts the work of one relay into the streams of its stages."""

    def __init__(
        self,
        relay: str,
        config: PublisherConfig,
        *,
        channel: Channel,
        database: Database,
        artifacts: Documents,
        storage: Outage,
        clock: Callable[[], Micros],
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._relay = relay
        self._config = config
        self._channel = channel
        self._outputs = Outputs(database)
        self._artifacts = artifacts
        self._storage = storage
        self._clock = clock
        self._ticks = ticks
        self._fetcher = Fetcher(artifacts)
        self._fetch_at = 0.0
        self._count = 0
        self._settled: tuple[Sequence[Output], Asked] | None = None
        self._fresh: dict[str, Fresh] = {}

    @property
    def is_fetching(self) -> bool:
        """Whether documents are being fetched."""
        return self._fetcher.is_busy

    def close(self) -> None:
        """Fetch nothing more."""
        self._fetcher.close()

    def remember(self, outputs: Sequence[Output], saved: Asked) -> None:
        """What a turn has settled: mostly it dispatches the next stages of the same records, which read just that.

        `saved` is read once something is published, so that the transaction does not wait for it.
        """
        self._settled, self._fresh = (outputs, saved), {}

    def forget(self) -> None:
        """The turn is over: from now on the store may have more."""
        self._settled, self._fresh = None, {}

    def _fresh_of(self, record_id: str) -> Fresh | None:
        if self._settled is not None:
            self._fresh, self._settled = _fresh(*self._settled), None
        return self._fresh.get(record_id)

    def publish(self, sent: Sequence[Sent]) -> bool:
        """Publish what is not published yet, in the order of the queue, stream by stream; whether that was all."""
        waiting: dict[str, list[Sent]] = {}
        is_all = True
        for each in sorted(sent, key=lambda each: each.work.rank):
            if each.number:
                continue
            if self._is_here(each.work):
                waiting.setdefault(each.stream, []).append(each)
            else:
                is_all = False
        for stream, group in waiting.items():
            for start in range(0, len(group), AT_ONCE):
                is_all &= self._publish(stream, group[start : start + AT_ONCE])
        return is_all

    def _publish(self, stream: str, group: Sequence[Sent]) -> bool:
        """Publish a few; False if the stream takes no more, for its consumers are behind."""
        envelopes = self._envelopes(group)
        while envelopes:
            try:
                self._channel.publish(stream, envelopes)
                break
            except TransportFull:  # fewer may fit
                envelopes = envelopes[: len(envelopes) // 2]
        for each in group[: len(envelopes)]:
            self._count += 1
            each.number, each.sent_at, each.heard_at = self._count, self._ticks(), 0.0
        return len(envelopes) == len(group)

    def stream_of(self, work: Work) -> str:
        """The stream that an attempt goes to."""
        own = self._config
        ageing_s = own.ageing_s.get(work.machine, 0.0)
        name = priority_class(work, ageing_s=ageing_s, normal=PRIORITY_NORMAL)
        return work_stream(work.machine, work.stage, name, prefix=own.prefix)

    def _is_here(self, work: Work) -> bool:
        """Whether the document can be read without waiting; if not, it is fetched from now on."""
        if self._ticks() < self._fetch_at or not self._fetcher.is_here(work.artifact):
            return False
        try:
            if work.artifact is not None and not self._artifacts.is_local:
                self._fetcher.take(work.artifact)
        except ArtifactsUnreachable as error:
            self._storage.note(error)
            self._fetch_at = self._ticks() + self._storage.pause_s
            return False
        except ArtifactError:
            pass  # the worker finds that too, which is a failed attempt with its code
        self._storage.end()
        return True

    def _envelopes(self, group: Sequence[Sent]) -> list[Envelope]:
        stored = self._store([each.work for each in group if not self._is_known(each)])
        return [
            self._envelope(
                each.work, stored.get(each.work.record_id) or self._fresh_inputs(each.work)
            )
            for each in group
        ]

    def _is_known(self, sent: Sent) -> bool:
        """Whether nothing has to be looked up: there was no attempt before it, or this turn has settled that one.

        Neither counts for work that was sent before: the worker that had it may have saved a value.
        """
        work = sent.work
        if sent.sent_at or work.delivery > FIRST_DELIVERY:
            return False
        if work.version <= FIRST_ATTEMPT:
            return True
        fresh = self._fresh_of(work.record_id)
        return fresh is not None and fresh.is_all_of(work)

    def _fresh_inputs(self, work: Work) -> WorkMessage:
        fresh = self._fresh_of(work.record_id) if work.inputs else None
        if fresh is None:
            return self._message(work)
        result = fresh.output.result
        files = [
            SavedFile(stage=result.stage, attempt=result.version, file=each)
            for each in fresh.output.files
        ]
        return self._message(
            work,
            chunks={result.version: list(fresh.output.chunks)},
            files=files,
            saved=fresh.saved.get(work.stage),
        )

    def _store(self, work: Sequence[Work]) -> dict[str, WorkMessage]:
        """What the store has for attempts, read for all of them at once."""
        if not work:
            return {}
        saved = self._outputs.saved_values_of([each.record_id for each in work])
        later = {each.record_id: each.inputs for each in work if each.inputs}
        chunks = self._outputs.counted_chunks_of(list(later)) if later else {}
        files = self._outputs.files_of(later) if later else {}
        return {
            each.record_id: self._message(
                each,
                chunks={
                    version: chunks.get((each.record_id, version), [])
                    for version in each.inputs.values()
                },
                files=files.get(each.record_id, ()),
                saved=saved.get((each.record_id, each.stage)),
            )
            for each in work
        }

    def _message(
        self,
        work: Work,
        *,
        chunks: Mapping[int, Sequence[tuple[int, str]]] = NOTHING,
        files: Sequence[SavedFile] = (),
        saved: dict[str, bytes] | None = None,
    ) -> WorkMessage:
        return WorkMessage(
            work=work,
            document=None if work.artifact is None else self._small(work.artifact),
            items={
                stage: [msgspec.Raw(data.encode()) for _, data in chunks.get(version, ())]
                for stage, version in work.inputs.items()
            },
            files=[self._reference(file) for file in files],
            saved=saved or {},
        )

    def _envelope(self, work: Work, message: WorkMessage) -> Envelope:
        return encode(
            messages.WORK,
            message,
            id_=f"{work.record_id}-{work.version}-{work.delivery}",
            source=f"/stateward/coordinators/{self._relay}",
            subject=work.record_id,
            at=self._clock(),
            rank=work.rank,
        )

    def _reference(self, saved: SavedFile) -> FileReference:
        return FileReference(
            name=saved.file.name,
            media_type=saved.file.media_type,
            size=saved.file.size,
            sha256=saved.file.sha256,
            stage=saved.stage,
            data=self._small(saved.file.sha256),
        )

    def _small(self, digest: str) -> bytes | None:
        """The bytes of an artifact that is small enough to travel in a message; else it stays in blob storage."""
        try:
            path = self._artifacts.path(digest)
            if path.stat().st_size > self._config.inline_bytes_max:
                return None
            return path.read_bytes()
        except (ArtifactError, OSError):
            return (
                None  # the worker finds that it is missing, which is a failed attempt with its code
            )


def _fresh(outputs: Sequence[Output], asked: Asked) -> dict[str, Fresh]:
    of_record: dict[str, dict[str, dict[str, bytes]]] = {}
    for (record_id, stage), values in saved_values(asked).items():
        of_record.setdefault(record_id, {})[stage] = values
    return {
        each.result.record_id: Fresh(each, of_record.get(each.result.record_id, {}))
        for each in outputs
        if each.result.error_code is None
    }
