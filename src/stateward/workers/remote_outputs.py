"""What a worker without a database sends to the coordinators, and what it has of the attempts that are here.

All of it is in memory: what an attempt reads came with its message, and what it leaves goes away with the message about
it. Nothing here decides what a result means.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from stateward.blobs import ArtifactStore
from stateward.core.errors import StoreUnreachable, TransportError
from stateward.core.files import DerivedFile, SavedFile
from stateward.core.model import Micros, Work
from stateward.core.output_seal import OutputSeal
from stateward.storage.database import Database, Keys
from stateward.storage.outputs import Output, Outputs
from stateward.transport.channel import Channel, Received
from stateward.transport.credentials import WorkerCredential, sign
from stateward.transport.messages import (
    SAVED,
    Envelope,
    SavedMessage,
    WorkMessage,
    encode,
    results_stream,
)

Attempt = tuple[str, int]
"""(record, version)."""
# The coordinator seals what it takes in; a digest that was computed here would be believed by none.
_UNSEALED = OutputSeal("")


class Reporter:
    """What a worker sends to the coordinators."""

    def __init__(
        self,
        channel: Channel,
        *,
        worker: str,
        prefix: str,
        clock: Callable[[], Micros],
        credential: WorkerCredential | None = None,
    ) -> None:
        self._channel = channel
        self._credential = credential
        self.credential_id = None if credential is None else credential.id
        self._worker = worker
        self._stream = results_stream(prefix)
        self._clock = clock
        self._count = 0

    def send(self, type_: str, messages: Sequence[object], *, subject: str = "") -> None:
        """Publish messages; on return the engine has them."""
        self._channel.publish(
            self._stream, [self._envelope(type_, each, subject) for each in messages]
        )

    def _envelope(self, type_: str, data: object, subject: str) -> Envelope:
        self._count += 1
        envelope = encode(
            type_,
            data,
            id_=f"{self._worker}-{self._count}",
            source=f"/stateward/workers/{self._worker}",
            subject=getattr(data, "record_id", subject),
            at=self._clock(),
        )
        return envelope if self._credential is None else sign(envelope, self._credential)


class Held(msgspec.Struct, frozen=True, gc=False):
    """Work that this worker has, and the lease on its message. `work` is as the coordinator sent it."""

    received: Received
    work: Work


class Given(msgspec.Struct, frozen=True, gc=False):
    """What an attempt reads: items of earlier stages by version, their files, saved values by (stage, name)."""

    chunks: dict[int, list[str]]
    files: list[SavedFile]
    saved: dict[tuple[str, str], bytes]


def given_with(message: WorkMessage) -> Given:
    """What came with the work; raises ValueError where it is no text."""
    work = message.work
    return Given(
        chunks={
            work.inputs[stage]: [bytes(each).decode() for each in chunks]
            for stage, chunks in message.items.items()
            if stage in work.inputs
        },
        files=[
            SavedFile(
                stage=each.stage,
                attempt=work.inputs[each.stage],
                file=DerivedFile(
                    name=each.name,
                    media_type=each.media_type,
                    size=each.size,
                    sha256=each.sha256,
                ),
            )
            for each in message.files
            if each.stage in work.inputs
        ],
        saved={(work.stage, name): data for name, data in message.saved.items()},
    )


class RemoteOutputs(Outputs):
    """The outputs of a worker without a database: values that runners save are sent before they count as saved."""

    def __init__(
        self, database: Database, reporter: Reporter, *, shared: ArtifactStore | None
    ) -> None:
        super().__init__(database)
        self._shared = shared  # blob storage that the coordinators reach too
        self._reporter = reporter
        self.held: dict[Attempt, Held] = {}
        self._versions: dict[str, int] = {}  # of a record only the latest attempt is held
        self._given: dict[str, Given] = {}
        self._written: dict[Attempt, Output] = {}

    def hold(self, held: Held, given: Given) -> None:
        """This worker has an attempt, which reads this."""
        record_id, version = held.work.record_id, held.work.version
        self.held[record_id, version] = held
        self._versions[record_id] = version
        self._given[record_id] = given

    def drop(self, attempt: Attempt) -> Held:
        """It no longer has it."""
        self._versions.pop(attempt[0], None)
        self._given.pop(attempt[0], None)
        self._written.pop(attempt, None)
        return self.held.pop(attempt)

    def version_of(self, record_id: str) -> int | None:
        return self._versions.get(record_id)

    # As the worker uses them

    def write(self, outputs: Sequence[Output]) -> list[OutputSeal | None]:
        """Keep outputs until their messages are sent. Another one of the same attempt takes its place."""
        for each in outputs:
            self._written[each.result.record_id, each.result.version] = each
        return [_UNSEALED] * len(outputs)

    def write_finished(
        self, outputs: Sequence[Output], work: Keys, *, is_expected: bool = False
    ) -> tuple[list[bool], list[OutputSeal | None]]:
        """Remove the work of each output, and keep those whose work was there."""
        were_there = self._database.delete(work.table, work.keys, by=work.by)
        own = [each for each, is_own in zip(outputs, were_there, strict=True) if is_own]
        seals = iter(self.write(own))
        return were_there, [next(seals) if is_own else None for is_own in were_there]

    def written(self, attempt: Attempt) -> Output | None:
        """The output of an attempt that has ended."""
        return self._written.get(attempt)

    def item_chunks(self, record_id: str, version: int) -> Sequence[str]:
        """The items of an attempt at an earlier stage, as JSON arrays."""
        given = self._given.get(record_id)
        return [] if given is None else given.chunks.get(version, [])

    def files(self, record_id: str, attempts: Mapping[str, int]) -> list[SavedFile]:
        """The derived files of these attempts (stage to version)."""
        given = self._given.get(record_id)
        found = [] if given is None else given.files
        return [each for each in found if attempts.get(each.stage) == each.attempt]

    def load_value(self, record_id: str, stage: str, name: str) -> bytes | None:
        """The value that an attempt at the stage saved under a name, or None."""
        given = self._given.get(record_id)
        return None if given is None else given.saved.get((stage, name))

    def announce_files(self, record_id: str, digests: Sequence[str], *, at: Micros) -> None:
        """Say it where the bytes go. Where that is this machine alone, the coordinator does when it takes them over."""
        if self._shared is not None:
            self._shared.announce(record_id, digests)

    def save_value(self, record_id: str, stage: str, name: str, data: bytes, *, at: Micros) -> None:
        """Send bytes for all attempts of a stage; the engine has them on return. The first value under a name wins."""
        held = self.held.get((record_id, self._versions.get(record_id, -1)))
        if held is None or held.work.stage != stage:
            return  # withdrawn: its process is about to be stopped
        message = SavedMessage(
            record_id=record_id,
            version=held.work.version,
            delivery=held.work.delivery,
            assigned_to=held.work.worker,
            stage=stage,
            name=name,
            data=data,
        )
        try:
            self._reporter.send(SAVED, [message])
        except TransportError as error:  # the loop waits for it, as for a database that is away
            raise StoreUnreachable(str(error)) from error
        self._given[record_id].saved.setdefault((stage, name), data)
