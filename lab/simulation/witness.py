"""What outsiders saw of a history: acknowledgements, events, work that was handed out, and what the store keeps."""

from collections.abc import Callable, Iterable, Sequence

from lab.checker import Line
from stateward.core.model import (
    CLOCK,
    RUNNER,
    Event,
    Loss,
    Micros,
    Record,
    Transition,
    Work,
    to_iso,
)
from stateward.storage.database import Database
from stateward.storage.outputs import Outputs
from stateward.transport import Bus


class Witness:
    """What outsiders saw. What a unit did counts from its commit on; what was undone never happened."""

    def __init__(self) -> None:
        self.acks: list[Line] = []
        self.moves: list[Line] = []
        self.events: list[Line] = []
        self.handed: list[Line] = []
        self.garbled: list[str] = []
        self.status: dict[str, str] = {}
        self.version: dict[str, int] = {}
        self.entered: list[tuple[str, str]] = []
        self.begun: list[Line] = []
        self.stale_work: list[Line] = []
        self.paused: list[Line] = []
        self.decisions: list[Line] = []
        self.commits = 0
        self.foreseen = 0  # turns that were decided on what was known before them
        self.refused = 0  # those of them that were decided anew
        self.ended: set[str] = (
            set()
        )  # records whose attempts were ended by another than their runner
        self._events: list[Line] = []
        self._handed: list[Line] = []
        self._begun: list[Line] = []
        self._moved: list[Transition] = []

    def reported(self, events: Iterable[Event], *, is_blind: Callable[[Event], bool]) -> None:
        """Events are put into the inbox."""
        self._events += [event_line(event, is_blind=is_blind(event)) for event in events]

    def sent(self, work: Iterable[Work], at: Micros) -> None:
        """Work is handed to workers."""
        self._handed += [
            {
                "record_id": each.record_id,
                "version": each.version,
                "delivery": each.delivery,
                "worker": each.worker,
                "at": to_iso(at),
                "stage": each.stage,
            }
            for each in work
        ]

    def began(self, work: Work) -> None:
        """Work that was lost before is begun."""
        self._begun.append(
            {"record_id": work.record_id, "version": work.version, "delivery": work.delivery}
        )

    def moved(self, transitions: Sequence[Transition], _: Sequence[Record]) -> None:
        """Transitions are about to be committed."""
        self._moved += transitions

    def confirm(self) -> None:
        """The unit is durable."""
        self.commits += 1
        self.events += self._events
        self.handed += [{**each, "commit": self.commits} for each in self._handed]
        self.begun += self._begun
        for transition in self._moved:
            if not transition.actor.startswith(RUNNER):
                self.ended.add(transition.record_id)
            self.status[transition.record_id] = transition.target
            self.version[transition.record_id] = transition.version
            self.entered.append((transition.record_id, transition.target))
        self.forget()

    def forget(self) -> None:
        """The unit is undone."""
        self._events, self._handed, self._begun, self._moved = [], [], [], []

    def lose(self, event_id: str) -> None:
        """One delivery of this event will never arrive."""
        for event in self.events:
            if event["id"] == event_id and event["is_accepted"] and not event["is_lost"]:
                event["is_lost"] = True
                return


def event_line(
    event: Event, *, is_accepted: bool = True, is_forged: bool = False, is_blind: bool = False
) -> Line:
    """An event as the checker wants it."""
    return {
        "id": event.id,
        "record_id": event.record_id,
        "type": event.type,
        "version": event.version,
        "is_accepted": is_accepted,
        "is_lost": False,
        "is_forged": is_forged,
        "is_retryable": event.is_retryable,
        "error_code": event.error_code,
        "is_blind": is_blind,
    }


class WitnessedBus(Bus):
    """The bus, with a witness that writes down what goes over it."""

    def __init__(self, database: Database, witness: Witness, clock: Callable[[], Micros]) -> None:
        super().__init__(database)
        self._witness = witness
        self._clock = clock

    def report(self, events: Sequence[Event]) -> None:
        """Put events into the inbox."""
        self.overhear(events)
        super().report(events)

    def overhear(self, events: Sequence[Event]) -> None:
        """Write down events that a worker tells the coordinator of its own process."""
        self._witness.reported(events, is_blind=self._is_blind)

    def _is_blind(self, event: Event) -> bool:
        """Whether the clock tells of an overrun although the attempt's mark is there."""
        if event.actor != CLOCK or not event.type.endswith(".timed_out"):
            return False
        return Outputs(self._database).result(event.record_id, event.version or 0) is not None

    def send(self, work: Sequence[Work], *, told: str = "") -> None:
        """Hand work to workers."""
        self._witness.sent(work, self._clock())
        super().send(work, told=told)

    def record_begun(self, work: Work, loss: Loss) -> None:
        """Work that was lost before begins."""
        self._note_begun(work)
        super().record_begun(work, loss)

    def return_lost(self, work: Work, loss: Loss) -> None:
        """The child process of a worker died."""
        if loss.has_begun:
            self._note_begun(work)
        super().return_lost(work, loss)

    def _note_begun(self, work: Work) -> None:
        """What a worker says of work that was taken from it meanwhile changes nothing, and no coordinator knows it."""
        is_own = self._database.rows(
            "SELECT 1 FROM work WHERE record_id = :record_id AND version = :version AND worker = :worker"
            " AND delivery = :delivery",
            record_id=work.record_id,
            version=work.version,
            worker=work.worker,
            delivery=work.delivery,
        )
        if is_own:
            self._witness.began(work)


def kept_marks(database: Database) -> list[Line]:
    """Every output that was kept, with how many items are really there."""
    rows = database.rows(
        "SELECT o.record_id, o.version, o.worker, o.error_code, o.count,"
        " (SELECT coalesce(sum(c.count), 0) FROM item_chunks c"
        " WHERE c.record_id = o.record_id AND c.version = o.version)"
        " FROM outputs o ORDER BY o.record_id, o.version"
    )
    names = ("record_id", "version", "worker", "error_code", "count", "items")
    lines = [dict(zip(names, row, strict=True)) for row in rows]
    return [{**line, "is_failed": line["error_code"] is not None} for line in lines]


def kept_work(database: Database) -> list[Line]:
    """Work that is out."""
    rows = database.rows("SELECT record_id, version, worker FROM work ORDER BY record_id, version")
    return [dict(zip(("record_id", "version", "worker"), row, strict=True)) for row in rows]


def kept_effects(database: Database) -> list[Line]:
    """Every effect."""
    rows = database.rows("SELECT record_id, version, kind FROM effects ORDER BY record_id, version")
    return [dict(zip(("record_id", "version", "kind"), row, strict=True)) for row in rows]
