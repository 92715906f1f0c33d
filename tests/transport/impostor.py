"""A worker made of messages alone."""

from collections.abc import Sequence

from stateward.core.model import Micros
from stateward.transport.channel import Channel
from stateward.transport.connect import connect
from stateward.transport.credentials import WorkerCredential, sign
from stateward.transport.messages import (
    CLASSES,
    HEARTBEAT,
    RESULT,
    HeartbeatMessage,
    Key,
    ResultMessage,
    StopMessage,
    WorkMessage,
    data_of,
    encode,
    results_stream,
    work_stream,
)
from stateward.workers.sdk import registered_runners
from tests.transport.scene import Scene


class Impostor:
    """A worker made of messages alone, which says what a test wants it to."""

    def __init__(
        self, scene: Scene, *, name: str = "impostor", credential: WorkerCredential | None = None
    ) -> None:
        self.name = name
        self._clock = scene.app.clock
        self.credential = credential
        self._prefix = scene.prefix
        self.channel = Channel(
            connect(scene.url, consumer=name, lease_s=60.0), clock=lambda: 1, prefix=scene.prefix
        )
        self._streams = [
            work_stream("upload", "parse", each, prefix=scene.prefix) for each in CLASSES
        ]

    def announce(
        self, *, at: Micros | None = None, holding: Sequence[Key] = (), host: str = ""
    ) -> None:
        message = HeartbeatMessage(
            worker=self.name, runners=sorted(registered_runners()), slots=1, holding=list(holding), host=host,
        )  # fmt: skip
        self.send(HEARTBEAT, message, at=at)

    def told_to_stop(self) -> list[Key]:
        return [
            attempt
            for each in self.channel.broadcasts()
            for attempt in data_of(each, StopMessage).attempts
        ]

    def depth(self) -> int:
        return sum(map(self.channel.depth, self._streams))

    def lease(self) -> list[WorkMessage]:
        found = self.channel.receive(self._streams, limit=1, wait_s=0.01)
        return [data_of(each.envelope, WorkMessage) for each in found]

    def take(self) -> WorkMessage | None:
        found = self.channel.receive(self._streams, limit=1, wait_s=0.01)
        self.channel.ack(found)
        return data_of(found[0].envelope, WorkMessage) if found else None

    def send(
        self, type_: str, data: object, *, at: Micros | None = None, subject: str = "x"
    ) -> None:
        at = self._clock() if at is None else at
        envelope = encode(type_, data, id_="1", source="/impostor", subject=subject, at=at)
        if self.credential is not None:
            envelope = sign(envelope, self.credential)
        self.channel.publish(results_stream(self._prefix), [envelope])

    def answer(self, message: WorkMessage, **more: object) -> None:
        work = message.work
        facts: dict[str, object] = {
            "record_id": work.record_id, "version": work.version, "delivery": work.delivery,
            "assigned_to": work.worker, "stage": work.stage, "worker": self.name,
        }  # fmt: skip
        self.send(RESULT, ResultMessage(**{**facts, **more}))  # type: ignore[arg-type]


def first_work(scene: Scene, impostor: Impostor, document: bytes) -> WorkMessage:
    """The work of a submitted document, taken by the impostor."""
    impostor.announce()
    scene.app.submit(document)
    found: list[WorkMessage] = []

    def has_come() -> bool:
        if (message := impostor.take()) is not None:
            found.append(message)
        return bool(found)

    scene.until(has_come)
    return found[0]
