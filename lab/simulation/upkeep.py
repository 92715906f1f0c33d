"""People who erase and hold records, and rules of retention, in some of the histories.

They are drawn from a generator of their own, so that they move no draw of the other seeds. In these histories all that
a record holds has the name of its document in it: items, logs, facts, messages, reasons, search entries and messages to
others. After an erasure that name is looked for in every table.
"""

import random
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from lab.checker import Line
from lab.simulation.world import World
from stateward.app.retention import DAY_S, Retention
from stateward.blobs import Announcement
from stateward.core.erasure import CONTENTS, DOCUMENTS, ITEMS, KINDS
from stateward.core.errors import InvalidRequest
from stateward.core.failpoints import Point
from stateward.core.model import PERSON, SECOND, Fields, Micros, Work
from stateward.engine.erasure import Erased, Eraser
from stateward.engine.history import anchor_line
from stateward.notifications.deliveries import Delivery
from stateward.notifications.outbox import Outbox
from stateward.settings import RetentionRule
from stateward.storage.audit import AuditLog
from stateward.storage.erasure import Erasures
from stateward.storage.full_text import FullTextIndex, Passage
from stateward.workers.sdk import Completed, Failed, Result

STEP_SHARE, CRASH_SHARE = 0.25, 0.4
OFFSETS: tuple[Micros, ...] = (0, 0, 0, 3600 * SECOND, -3600 * SECOND)
AGES_S = (5.0, 60.0, 3600.0)
DELETED = ((DOCUMENTS,), (DOCUMENTS, ITEMS), KINDS)
LAST_ROUNDS = 6
HOLDER, ERASER = f"{PERSON}counsel", f"{PERSON}clerk"
TOLD = "of {}"


def marked(work: Work, result: Result | None) -> Result | None:
    """The same result with the name of the document in all that it says."""
    told = TOLD.format(work.artifact)
    if isinstance(result, Failed):
        return msgspec.structs.replace(result, message=f"{result.message} {told}")
    if not isinstance(result, Completed):
        return result
    chunks = [
        msgspec.structs.replace(chunk, data=chunk.data.replace("}", f',"told":"{told}"}}'))
        for chunk in result.chunks
    ]
    facts: Fields = {**result.facts, "vertical": told}
    log = f'{{"said":"{told}"}}\n'
    return msgspec.structs.replace(result, chunks=tuple(chunks), facts=facts, log=log)


class Shelf:
    """Where documents lie, for those who remove them; it knows what was removed."""

    def __init__(self) -> None:
        self.removed: set[str] = set()

    def holds(self, digest: str) -> bool:
        """Whether a file is there."""
        return digest not in self.removed

    def remove(self, digest: str) -> bool:
        """Remove a file."""
        self.removed.add(digest)
        return True

    def settle_removed(self, digests: Iterable[str]) -> None:
        """They are gone already."""

    def announced(self, *, limit: int) -> list[Announcement]:
        """Nothing: every process here has the database."""
        return []


class Upkeep:
    """Erasures, holds and retention of one history, and what was told about them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = random.Random(f"upkeep {world.plan.seed}")
        self._shelf = Shelf()
        self._names: dict[str, str] = {}
        self._asked: dict[str, tuple[str, ...]] = {}  # erasures without an answer
        self._holds: list[Line] = []
        self._erasures: list[Line] = []
        self._checkpoints: list[Line] = []
        self._rule = self._draw_rule()
        world.mark, world.reason, world.told = marked, self.reason, self.seen

    def _draw_rule(self) -> RetentionRule:
        machine = self._world.plan.shape.machine
        final = [name for name, kind in machine.kind.items() if kind in ("terminal", "failed")]
        return RetentionRule(
            pipeline=machine.name,
            status=self._rng.choice(("*", *final)),
            older_than_days=self._rng.choice(AGES_S) / DAY_S,
            delete=self._rng.choice(DELETED),  # type: ignore[arg-type]
        )

    # What people and the clock do

    def step(self, guided: AbstractSet[str]) -> None:
        """Now and then one of them acts; a record that is still guided to where the fault strikes is left alone."""
        if self._rng.random() < STEP_SHARE:
            self._act(guided)

    def last(self) -> None:
        """When all is healed and has ended: some more, with time between them."""
        for _ in range(LAST_ROUNDS):
            self._world.around.pass_s(self._rng.choice((1.0, *AGES_S)))
            self._world.frontend.offset = self._rng.choice(OFFSETS)
            if self._rng.random() < CRASH_SHARE:
                self._world.arm(self._rng.choice(list(Point)))
            self._act()
        self._world.armed = None
        self._world.start(self._world.frontend)
        for record_id, kinds in list(self._asked.items()):
            self._erase(record_id, kinds)
        self._eraser().sweep()  # as a service does, which finds the files that a crash left

    def _act(self, spared: AbstractSet[str] = frozenset()) -> None:
        known = sorted(self._world.witness.status.keys() - spared)
        if not known:
            return
        record_id = self._rng.choice(known)
        kinds = self._rng.choice((KINDS, KINDS, (DOCUMENTS,), (ITEMS, CONTENTS)))
        acts = (
            lambda: self._erase(record_id, kinds),
            lambda: self._gossip(record_id),
            lambda: self._hold(record_id),
            self._release,
            *(() if spared else (self._apply,)),
        )
        self._world.start(self._world.frontend)
        if self._world.frontend.is_up:
            self._learn()
            self._rng.choice(acts)()

    def _learn(self) -> None:
        """The names of documents, by record: they are not there to be read when they are erased."""
        for record_id in self._world.witness.status:
            if record_id not in self._names:
                record = self._world.frontend.store.get(record_id)
                if record is not None and record.artifact is not None:
                    self._names[record_id] = record.artifact
                    self._shelf.removed.discard(record.artifact)

    def reason(self, record_id: str) -> str:
        """Why a person asks for something: the reason names the document."""
        self._learn()
        return f"because {TOLD.format(self._names.get(record_id))}"

    def _eraser(self) -> Eraser:
        frontend = self._world.frontend
        return Eraser(
            database=frontend.database,
            store=frontend.store,
            coordinator=lambda: frontend.coordinator,
            registry=self._world.around.registry(frontend.store, frontend.clock()),
            audit=AuditLog(frontend.database),
            artifacts=self._shelf,  # type: ignore[arg-type]
            clock=frontend.clock,
        )

    def _erase(self, record_id: str, kinds: tuple[str, ...]) -> None:
        self._checkpoint()
        done = self._world.act(
            self._world.frontend,
            f"erases {', '.join(kinds)} of {record_id}",
            lambda: self._eraser().erase([record_id], actor=ERASER, reason="asked", kinds=kinds),
        )
        if done is None:
            self._asked[record_id] = kinds
            return
        self._asked.pop(record_id, None)
        self._told(done, kinds)

    def _told(self, done: Erased, kinds: Sequence[str]) -> None:
        self._erasures += [{"record_id": each, "kinds": list(kinds)} for each in done.erased]

    def _apply(self) -> None:
        """The rules of retention are applied."""
        self._checkpoint()
        frontend = self._world.frontend
        retention = Retention(
            [self._rule],
            eraser=self._eraser(),
            erasures=Erasures(frontend.database),
            registry=self._world.around.registry(frontend.store, frontend.clock()),
            audit=AuditLog(frontend.database),
            clock=frontend.clock,
            clock_fault=lambda: None,
        )
        self._world.act(
            frontend, "applies the rules of retention", lambda: retention.run() and True
        )

    def _checkpoint(self) -> None:
        self._checkpoints.append(anchor_line(self._world.frontend.store.lanes.all()))

    def _hold(self, record_id: str) -> None:
        since, had = self._last(), set(self._held(record_id))
        if self._world.act(
            self._world.frontend, f"holds {record_id}", lambda: self._is_changed("hold", record_id)
        ):
            self._holds.append(
                {"record_id": record_id, "since": since, "until": None, "had": had, "missing": []}
            )

    def _release(self) -> None:
        """A hold is over, for its record and for the judge, from when somebody asks for that."""
        for hold in [each for each in self._holds if each["until"] is None][:1]:
            self._miss(hold)
            hold["until"] = self._last()
            record_id = hold["record_id"]
            self._world.act(
                self._world.frontend,
                f"releases {record_id}",
                lambda record_id=record_id: self._is_changed("release", record_id),  # type: ignore[misc]
            )

    def _is_changed(self, verb: str, record_id: str) -> bool:
        eraser = self._eraser()
        try:
            (eraser.hold if verb == "hold" else eraser.release)(
                record_id, actor=HOLDER, reason="a case"
            )
        except InvalidRequest:  # it is held already, by a request that had no answer; or is not
            return False
        return True

    def _miss(self, hold: Line) -> None:
        hold["missing"] = sorted(hold["had"] - set(self._held(hold["record_id"])))

    def _gossip(self, record_id: str) -> None:
        """What an indexer and a notifier write of a record, as long as there is something to tell of."""
        name = self._names.get(record_id)
        frontend = self._world.frontend
        record = frontend.store.get(record_id)
        if name is None or record is None or record.artifact is None or record.rest == "erased":
            return
        self._world.act(
            frontend, f"tells of {record_id}", lambda: self._tell(record_id, TOLD.format(name))
        )

    def _tell(self, record_id: str, told: str) -> bool:
        database = self._world.frontend.database
        passage = Passage(record_id=record_id, stage="parse", item=0, title="", place="", text=told)
        message = Delivery(
            webhook_id="w", message_id=f"{record_id}-{self._rng.random()}", type="told",
            record_id=record_id, body=told, created_at=self._world.now, due_at=None,
        )  # fmt: skip
        with database.transaction():
            FullTextIndex(database).add([passage])
            Outbox(database, backoff_s=(1,)).add(message)
        return True

    # What there is

    def _last(self) -> int:
        ((last,),) = self._world.around.database.rows("SELECT max(seq) FROM transitions")
        return int(last or 0)

    def _held(self, record_id: str) -> list[str]:
        """The kinds of which a record has something."""
        record = self._world.frontend.store.get(record_id)
        if record is None:
            return []
        found = {DOCUMENTS: record.artifact, CONTENTS: record.labels}
        return [kind for kind, value in found.items() if value]

    def seen(self) -> dict[str, Any]:
        """What outsiders saw of it, and find now."""
        for hold in self._holds:
            if hold["until"] is None:
                self._miss(hold)
        machine = self._world.plan.shape
        statuses = {
            name
            for each in (machine.machine, machine.newer)
            for name, kind in each.kind.items()
            if self._rule.status == name
            or (self._rule.status == "*" and kind in ("terminal", "failed"))
        }
        rule = {
            "statuses": sorted(statuses),
            "older_than_s": self._rule.older_than_days * DAY_S,
            "delete": list(self._rule.delete),
        }
        return {
            "erasures": self._erasures,
            "remains": self._remains(),
            "lacks": self._lacks(),
            "checkpoints": self._checkpoints,
            "holds": self._holds,
            "retention": rule,
        }

    def _remains(self) -> list[Line]:
        """Every place that holds the name of an erased record's document, but for those of another record's."""
        database = self._world.around.database
        wanted = {
            str(id_)
            for (id_,) in database.rows(
                "SELECT DISTINCT record_id FROM transitions WHERE trigger = 'record.erased'"
            )
        }
        found: list[Line] = []
        for table, columns, rows in database.contents() if wanted else ():
            for row in rows:
                found += self._in_row(table, dict(zip(columns, row, strict=True)), wanted)
        return [*found, *self._files_of(wanted)]

    def _in_row(self, table: str, row: dict[str, Any], wanted: set[str]) -> list[Line]:
        owner = row["id"] if table == "records" else row.get("record_id")
        found: list[Line] = []
        for record_id in sorted(wanted & self._names.keys()):
            name = self._names[record_id]
            if owner is None and list(self._names.values()).count(name) > 1:
                continue  # it may be that of the same document's other record
            for column, value in row.items():
                if owner in (None, record_id) and isinstance(value, str) and name in value:
                    place = f"records.{column}" if table == "records" else table
                    found.append({"record_id": record_id, "place": place, "value": value})
        return found

    def _files_of(self, wanted: set[str]) -> list[Line]:
        """Documents of erased records that lie there although no record names them."""
        named = {
            str(name)
            for (name,) in self._world.around.database.rows("SELECT artifact FROM records")
        }
        return [
            {"record_id": record_id, "place": "file", "value": name}
            for record_id, name in self._names.items()
            if record_id in wanted and name not in named and name not in self._shelf.removed
        ]

    def _lacks(self) -> list[Line]:
        """What records should have as long as no person and no rule erased it."""
        found: list[Line] = []
        for record_id, artifact, labels in self._world.around.database.rows(
            "SELECT id, artifact, labels FROM records ORDER BY id"
        ):
            if artifact is None:
                found.append({"record_id": record_id, "kind": DOCUMENTS, "what": "its document"})
            if str(labels) == "{}":
                found.append({"record_id": record_id, "kind": CONTENTS, "what": "its labels"})
        short = self._world.around.database.rows(
            "SELECT o.record_id FROM outputs o WHERE o.count > (SELECT coalesce(sum(c.count), 0)"
            " FROM item_chunks c WHERE c.record_id = o.record_id AND c.version = o.version)"
        )
        found += [{"record_id": id_, "kind": ITEMS, "what": "items"} for (id_,) in short]
        return found
