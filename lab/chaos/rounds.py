"""A round: a fresh store, a fleet at work, one fault, and what the history looks like when all is well again.

After the fault everything must come to rest; then the history is exported and judged by the independent checker,
every acknowledged submit must be there with the output it asked for, nothing may have timed out, no process may
have died or complained, no zombie may have written, and the time to recover must be within its bound.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from lab.chaos.faults import (
    FAULTS,
    POSTGRES,
    SQLITE,
    Damage,
    Fault,
    Scene,
    now,
    small_disk,
)
from lab.chaos.feed import feed_engine, unlike_store
from lab.chaos.load import Acknowledged, Document, Submitter
from lab.chaos.outside import Outside, surroundings
from lab.chaos.processes import (
    Fleet,
    Member,
    Place,
    until,
)
from lab.chaos.proxy import LOOPBACK, Link, Switchboard
from lab.checker import Seen, check, read_export
from lab.postgres import Cluster
from lab.simulation.shapes import plain
from stateward.app import App
from stateward.core.model import (
    Micros,
    Record,
    Transition,
    to_iso,
)
from stateward.settings import Settings

SUBMITTER = "submitter"
LEASE_S = 3.0
HEARTBEAT_S = 1.0
SHIPPED_LEASE_S = 15.0
SHIPPED_HEARTBEAT_S = 5.0
BEFORE_S = 1.0
AFTER_S = 1.0
REST_S_MAX = 60.0
SUBMIT_S_MAX = 60.0
VIOLATIONS_MAX = 20
LATE = (".timed_out",)
LOST_CODES = ("WORKER_LOST",)
DEATH_CODES = ("RUNNER_DIED", "RUNNER_NOT_LOADED", "WORKER_LOST")
"""What a record rests with if the death of a process was taken for a failure of its document."""


class Outcome(msgspec.Struct, kw_only=True):
    """What a round was and how it went."""

    kind: str
    store: str
    seed: int
    what: str = ""
    records: int = 0
    transitions: int = 0
    refusals: int = 0
    affected: int = 0
    deaths: int = 0
    """Records that rest with one of `DEATH_CODES`."""
    recovery_s: float | None = None
    bound_s: float = 0.0
    took_s: float = 0.0
    violations: list[str] = []
    folder: str = ""

    @property
    def is_well(self) -> bool:
        """Whether nothing at all was found, in a round that checked something."""
        return not self.violations


def plan(rounds: int, *, only: list[str], stores: list[str]) -> list[tuple[str, str]]:
    """Which fault on which store, in turns, so that every pair has its share."""
    pairs = [
        (kind, store)
        for kind, fault in FAULTS.items()
        for store in fault.stores
        if (not only or kind in only) and store in stores and not fault.lacks()
    ]
    return [pairs[number % len(pairs)] for number in range(rounds)] if pairs else []


def run_round(
    kind: str, store: str, *, seed: int, cluster: Cluster | None, keep: bool = False
) -> Outcome:
    """One round, from an empty folder to a verdict. The folder stays if something was found."""
    outcome = Outcome(kind=kind, store=store, seed=seed)
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix=f"stateward-chaos-{kind}-"))
    try:
        with ExitStack() as stack:
            _play(outcome, folder, cluster, stack)
    except Exception as error:  # noqa: BLE001 - whatever breaks a round is found, told, and does not end the run
        outcome.violations.append(f"the round broke: {type(error).__name__}: {error}")
    outcome.took_s = time.monotonic() - start
    if outcome.is_well and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        outcome.folder = str(folder)
    return outcome


def _play(outcome: Outcome, folder: Path, cluster: Cluster | None, stack: ExitStack) -> None:
    fault = FAULTS[outcome.kind]
    place = Place(
        folder=folder,
        lease_s=SHIPPED_LEASE_S if fault.is_single else LEASE_S,
        heartbeat_s=SHIPPED_HEARTBEAT_S if fault.is_single else HEARTBEAT_S,
        # A copy of a document that all could read would keep an outage of the bucket from being noticed.
        is_apart=fault.has_bucket,
    )
    if fault.is_small:
        stack.enter_context(small_disk(place.data))
    database = stack.enter_context(_database(outcome.store, cluster, place))
    outside = stack.enter_context(
        surroundings(
            fault.broker,
            has_bucket=fault.has_bucket,
            names=[*_names(fault), SUBMITTER],
            seed=outcome.seed + 3,
        )
    )
    fed = stack.enter_context(feed_engine(fault.feed)) if fault.feed else None
    more = {} if fed is None else {"feed": fed.settings()}
    app, submitting = (
        stack.enter_context(
            App(
                Settings.load(
                    place.settings(name, database.url, {**outside.settings(name), **more}),
                    environ={},
                )
            )
        )
        for name in ("observer", SUBMITTER)
    )

    def submit(document: Document) -> tuple[str, str]:
        opened = submitting.submit(document.bytes(), machine=document.machine)
        return opened.record.id, opened.record.dedupe or ""

    links = _links(fault, database, seed=outcome.seed + 2, stack=stack)
    scene = Scene(
        store=outcome.store,
        fleet=_fleet(fault, place, database, links, outside, more),
        app=app,
        submitter=Submitter(submit, rng=Random(outcome.seed + 1), per_s=fault.submits_per_s),
        submit=submit,
        rng=Random(outcome.seed),
        lease_s=place.lease_s,
        data=place.data,
        links=links,
        outside=outside,
        feed=fed,
        cluster=database.cluster,
    )
    with scene.fleet.running():
        damage = _suffer(scene, fault)
        _judge(outcome, scene, damage)
    outcome.violations += scene.fleet.bad_words()


class _Database(msgspec.Struct, frozen=True):
    url: str
    cluster: Cluster | None
    name: str


@contextmanager
def _database(store: str, cluster: Cluster | None, place: Place) -> Iterator[_Database]:
    """A fresh store."""
    if store == SQLITE:
        place.data.mkdir(exist_ok=True)
        yield _Database(f"sqlite://{place.data / 'stateward.db'}", None, "")
        return
    assert cluster is not None
    name = cluster.create_database()
    try:
        yield _Database(cluster.dsn(name), cluster, name)
    finally:
        cluster.drop_database(name)


def _names(fault: Fault) -> list[str]:
    return [f"{role}-{number}" for number, role in enumerate(fault.roles, 1)]


def _links(fault: Fault, database: _Database, *, seed: int, stack: ExitStack) -> dict[str, Link]:
    """A way to PostgreSQL for each process, if the fault is on the way."""
    if not fault.is_linked or database.cluster is None:
        return {}
    socket = database.cluster.folder / ".s.PGSQL.5432"
    board = stack.enter_context(Switchboard(socket, rng=Random(seed)))
    return {name: board.link() for name in _names(fault)}


def _fleet(
    fault: Fault,
    place: Place,
    database: _Database,
    links: dict[str, Link],
    outside: Outside,
    more: Mapping[str, object],
) -> Fleet:
    return Fleet(
        Member(
            place,
            role,
            name,
            url=_linked(database, links[name].port) if name in links else database.url,
            host=name if fault.is_remote else "",
            is_jumpy=fault.is_jumpy,
            more={**outside.settings(name), **more},
        )
        for name, role in zip(_names(fault), fault.roles, strict=True)
    )


def _linked(database: _Database, port: int) -> str:
    return f"postgresql://postgres@{LOOPBACK}:{port}/{database.name}"


def _suffer(scene: Scene, fault: Fault) -> Damage:
    """The load, the fault in the middle of it, and the rest after it."""
    if fault.is_single:
        return fault.act(scene)
    scene.submitter.start()
    try:
        time.sleep(BEFORE_S + scene.rng.random())
        damage = fault.act(scene)
        time.sleep(AFTER_S)
    finally:  # it must not go on while what it uses is closed
        scene.submitter.stop(timeout_s=SUBMIT_S_MAX)
    return damage


# The verdict


def _judge(outcome: Outcome, scene: Scene, damage: Damage) -> None:
    outcome.what, outcome.bound_s = damage.what, damage.bound_s
    outcome.refusals = len(scene.submitter.refused)
    found = outcome.violations
    found += _unrest(scene)
    if scene.feed is not None:
        found += unlike_store(scene.feed.follower, scene.app)
    found += scene.fleet.dead()
    found += scene.fleet.end()
    found += _histories(outcome, scene)
    found += _promises(scene.app, scene.submitter.acknowledged)
    found += _zombies(scene.app, damage)
    _measure(outcome, scene.app, damage)
    if outcome.recovery_s is not None and outcome.recovery_s > damage.bound_s:
        found.append(f"recovery took {outcome.recovery_s:.1f} s, {damage.bound_s:g} are allowed")
    if damage.caught_up_s > damage.bound_s:
        found.append(
            f"the feed was behind for {damage.caught_up_s:.1f} s, {damage.bound_s:g} are allowed"
        )
    del found[VIOLATIONS_MAX:]


def _unrest(scene: Scene) -> Iterator[str]:
    """What still moves although everything is well again."""

    def moving() -> list[Record]:
        return [each for each in scene.app.store.walk() if not _rests(scene.app, each)]

    try:
        until(lambda: not moving(), s_max=REST_S_MAX, what="rest")
    except TimeoutError:
        for record in moving():
            yield f"{record.id} does not rest: {scene.app.records.explain(record.id).sentence}"


def _rests(app: App, record: Record) -> bool:
    if record.machine == "patience":
        return record.status == "error"
    return app.records.is_at_rest(record)


def _histories(outcome: Outcome, scene: Scene) -> Iterator[str]:
    """What the checker and the product's own verification find."""
    app = scene.app
    folder = scene.data.parent / "export"
    app.admin.export(folder)
    machines = [plain(machine) for machine in app.registry.newest.values()]
    history, malformed = read_export(folder, machines=machines)
    outcome.records, outcome.transitions = len(history.records or ()), len(history.transitions)
    history.seen = Seen(
        acks=[_ack(each) for each in scene.submitter.acknowledged],
        now=to_iso(now()),
        slack_s=REST_S_MAX,
        is_healed=True,
    )
    for violation in [*malformed, *check(history)]:
        yield str(violation)
    for finding in app.admin.verify().findings:
        yield f"verify: {finding}"
    if not history.transitions:
        yield "nothing was checked: the history is empty"
    for entry in history.transitions:
        if entry["trigger"].endswith(LATE) or entry["metadata"].get("error_code") in LOST_CODES:
            yield f"{entry['record_id']}: {entry['trigger']} although no time limit had passed"
        if entry["machine"] == "patience" and entry["trigger"] == "retry.due":
            yield f"{entry['record_id']} was retried an hour early"


def _ack(each: Acknowledged) -> dict[str, Any]:
    return {"record_id": each.record_id, "machine": each.document.machine, "dedupe": each.dedupe}


def _promises(app: App, acknowledged: list[Acknowledged]) -> Iterator[str]:
    """Every acknowledged submit is there, ended as its document asked, with its output once."""
    for each in acknowledged:
        record = app.store.get(each.record_id)
        if record is None:
            yield f"{each.record_id} was acknowledged and is lost"
            continue
        ends_well = each.document.machine == "chaos" and each.document.failures < 3
        if record.status != ("done" if ends_well else "error"):
            yield f"{record.id} ended in {record.status!r}: {record.error_code}"
        elif ends_well and len(list(app.items(record.id, "work"))) != each.document.items:
            yield f"{record.id} lacks items, or has some twice"


def _zombies(app: App, damage: Damage) -> Iterator[str]:
    """No output and no transition of an attempt that was taken away comes from whom it was taken."""
    for record_id, version in damage.taken:
        mark = app.outputs.result(record_id, version)
        if mark is None:
            yield f"{record_id} version {version} was taken from a zombie and never done"
        elif mark.worker == damage.zombie:
            yield f"{record_id} version {version}: the zombie {mark.worker} wrote its output"
        for entry in app.records.history(record_id):
            if entry.version == version + 1 and entry.actor == f"runner:{damage.zombie}":
                yield f"{record_id} version {entry.version} comes from the zombie"


def _measure(outcome: Outcome, app: App, damage: Damage) -> None:
    """From the fault (or from its end) to the last transition of whatever was under way then."""
    last = _last_transitions(app)
    hit = [
        entry.at
        for record in app.store.walk()
        if record.created_at <= damage.since
        and (entry := last.get(record.id)) is not None
        and entry.at > damage.since
    ]
    outcome.affected = len(hit)
    outcome.deaths = sum(each.error_code in DEATH_CODES for each in app.store.walk())
    if hit:
        outcome.recovery_s = (max(hit) - damage.since) / 1_000_000


def _last_transitions(app: App) -> dict[str, Transition]:
    found: dict[str, Transition] = {}
    after: Micros = 0
    while chunk := app.store.log.read(after=after, limit=2000):
        found.update((entry.record_id, entry) for entry in chunk)
        after = chunk[-1].seq
    return found


STORES = (SQLITE, POSTGRES)
