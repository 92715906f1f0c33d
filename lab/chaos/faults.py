"""What is done to the processes. Each fault hurts, holds, heals, and says from when on recovery counts.

`FAULTS` is the list of them: on which stores each makes sense and what its fleet looks like. A fault knows nothing
of records beyond what it needs to hit at the right moment; whether the history is sound is judged in `rounds`.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from lab.chaos import feed
from lab.chaos.load import Document, Submitter
from lab.chaos.outside import NATS, REDIS, REQUEST_S, Outside, lacks
from lab.chaos.processes import (
    Fleet,
    Member,
    faketime_library,
    until,
)
from lab.chaos.proxy import WELL, Behaviour, Link
from lab.postgres import Cluster
from stateward.app import App
from stateward.core.errors import StoreUnreachable
from stateward.core.model import Micros, Work
from stateward.storage.sqlite import SqliteDatabase

SQLITE, POSTGRES = "sqlite", "postgres"
BOTH = (SQLITE, POSTGRES)
SLACK_S = 6.0
OUTSIDE_SLACK_S = 5.0
SINGLE_BOUND_S = 6.5
STEP_S = 5.0
HELD_S = 2.0
CUT_AFTER_S = 2.0
DISK_BYTES = 48 << 20
BALLAST_PIECE = 1 << 20
TRIES_MAX = 200
LOCK_PROBE_S = 0.3
AWAY_S_MAX = 8.0
# While a broker or a bucket is away everything waits: what is measured is recovery, not how fast a queue is worked off.
OUTSIDE_SUBMITS_PER_S = 5.0


class Damage(msgspec.Struct, kw_only=True):
    """What a fault did: when, from when on recovery counts, and what must not be found afterwards."""

    at: Micros
    since: Micros
    bound_s: float
    what: str
    zombie: str = ""
    taken: list[tuple[str, int]] = []  # attempts (record, version) that were taken from the zombie
    caught_up_s: float = 0.0  # after which the change feed had sent all that it was behind


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a fault can reach."""

    store: str
    fleet: Fleet
    app: App
    submitter: Submitter
    submit: Callable[[Document], tuple[str, str]]
    rng: Random
    lease_s: float
    data: Path
    links: dict[str, Link]
    outside: Outside
    feed: feed.FeedEngine | None
    cluster: Cluster | None

    @property
    def bound_s(self) -> float:
        """What recovery may take on several nodes."""
        return self.lease_s + SLACK_S

    def pick(self, role: str) -> Member:
        """One of those that have a role."""
        return self.rng.choice(self.fleet.of(role))


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of fault: what it does, and what kind of fleet it is done to."""

    act: Callable[[Scene], Damage]
    stores: tuple[str, ...] = BOTH
    roles: tuple[str, ...] = ("coordinator", "coordinator", "worker", "worker")
    is_linked: bool = False  # the processes reach PostgreSQL through links
    broker: str = ""  # work and results travel over it, and the workers have no database
    has_bucket: bool = False  # documents are in object storage
    feed: str = ""  # the engine that every transition is sent to
    submits_per_s: float = 15.0
    is_remote: bool = False  # each process believes to be on a machine of its own
    is_jumpy: bool = False  # the processes have clocks that can be set
    is_small: bool = False  # the data folder is a small file system
    is_single: bool = False  # the settings that ship, and no load but the fault's own
    lacks: Callable[[], str] = lambda: ""  # why this machine cannot do it


def now() -> Micros:
    """The present, as the driver has it."""
    return time.time_ns() // 1000


# kill -9


def kill_coordinator(scene: Scene) -> Damage:
    """One of two coordinators; it comes back after a while."""
    return _kill(scene, scene.pick("coordinator"))


def kill_worker(scene: Scene) -> Damage:
    """A worker of this machine, with work in its hands; it comes back after a while."""
    victim = scene.pick("worker")
    _holding(scene, victim)
    return _kill(scene, victim)


def _kill(scene: Scene, victim: Member) -> Damage:
    at = now()
    victim.kill()
    time.sleep(scene.rng.uniform(0.0, 1.5))
    victim.start()
    return Damage(at=at, since=at, bound_s=scene.bound_s, what=f"kill -9 {victim.name}")


def kill_remote_worker(scene: Scene) -> Damage:
    """A worker of another machine, which only its silence tells of; it stays away until the rest is done."""
    victim = scene.pick("worker")
    _holding(scene, victim)
    at = now()
    victim.kill()
    scene.fleet.members.remove(victim)
    time.sleep(scene.lease_s)
    return Damage(at=at, since=at, bound_s=scene.bound_s, what=f"kill -9 {victim.name}, for good")


def kill_postgres(scene: Scene) -> Damage:
    """The server and all of its sessions; it is started again."""
    assert scene.cluster is not None
    at = now()
    scene.cluster.kill()
    time.sleep(scene.rng.uniform(0.0, 2.0))
    scene.cluster.start()
    since = now()  # until then it reads its own log again, and no process can do anything
    away_s = (since - at) / 1_000_000
    return Damage(
        at=at,
        since=since,
        bound_s=scene.bound_s,
        what=f"kill -9 of PostgreSQL, away for {away_s:.1f} s",
    )


def kill_up(scene: Scene) -> Damage:
    """The only process there is, 2 s into a step of 5 s; it is started again at once."""
    (victim,) = scene.fleet.members
    record_id, _ = scene.submit(Document(name=f"long-{scene.rng.random()}", work_s=STEP_S))
    until(
        lambda: scene.app.record(record_id).status == "working",
        s_max=STEP_S,
        what="the long step to begin",
    )
    time.sleep(CUT_AFTER_S)
    at = now()
    victim.kill()
    victim.start()
    scene.app.records.wait(record_id, timeout_s=60)
    return Damage(at=at, since=at, bound_s=SINGLE_BOUND_S, what="kill -9 of up, started at once")


# SIGSTOP, and the zombie that wakes


def stop_coordinator(scene: Scene) -> Damage:
    """One of two coordinators, for longer than a lease."""
    victim = scene.pick("coordinator")
    at = _stop_outside_lock(scene, victim)
    time.sleep(scene.lease_s + scene.rng.uniform(1.0, 3.0))
    victim.wake()
    return Damage(at=at, since=at, bound_s=scene.bound_s, what=f"SIGSTOP {victim.name}")


def stop_worker(scene: Scene) -> Damage:
    """A worker with work in its hands, until another has got that work, or has done it; then it wakes."""
    record_id, _ = scene.submit(Document(name=f"held-{scene.rng.random()}", work_s=HELD_S))
    until(
        lambda: scene.app.record(record_id).status == "working",
        s_max=30.0,
        what="a worker to have it",
    )
    name = scene.app.record(record_id).worker
    (zombie,) = (worker for worker in scene.app.bus.workers() if worker.id == name)
    (victim,) = (member for member in scene.fleet.of("worker") if member.pid == zombie.pid)
    at = _stop_outside_lock(scene, victim)
    held = _assigned(scene, zombie.id)
    if record_id not in {work.record_id for work in held}:
        raise TimeoutError(f"{victim.name} was done before it was stopped")
    is_early = (
        scene.rng.random() < 0.5
    )  # it wakes while the other still works, with its own result in hand
    is_over = _is_taken if is_early else _is_done
    until(
        lambda: all(is_over(scene, work) for work in held),
        s_max=scene.bound_s * 2,
        what=f"others to take over from {victim.name}",
    )
    victim.wake()
    return Damage(
        at=at,
        since=at,
        bound_s=scene.bound_s,
        what=f"SIGSTOP {victim.name} with {len(held)} in hand{', woken early' if is_early else ''}",
        zombie=zombie.id,
        taken=[(work.record_id, work.version) for work in held],
    )


def _holding(scene: Scene, member: Member) -> None:
    """Wait until a worker has work in its hands."""

    def has_work() -> bool:
        own = [each for each in scene.app.bus.workers() if each.pid == member.pid]
        return any(_assigned(scene, each.id) for each in own)

    until(has_work, s_max=30.0, what=f"{member.name} to have work", of=member)


def _assigned(scene: Scene, worker: str) -> list[Work]:
    return [each for each in scene.app.bus.assigned_work(worker, limit=100) if not each.is_inline]


def _is_done(scene: Scene, work: Work) -> bool:
    """Whether an attempt was finished."""
    return scene.app.record(work.record_id).version > work.version


def _is_taken(scene: Scene, work: Work) -> bool:
    """Whether an attempt is with another worker, or finished."""
    holder = scene.app.record(work.record_id).worker
    return holder != work.worker or _is_done(scene, work)


def _stop_outside_lock(scene: Scene, victim: Member) -> Micros:
    """Stop a process, but on SQLite not while it holds the lock of the file; when that was.

    Who is stopped inside a transaction on SQLite keeps everybody waiting until it goes on or is killed: nothing but
    the kernel can take that lock away. On PostgreSQL the server does, and there it is stopped anywhere.
    """
    for _ in range(TRIES_MAX):
        at = now()
        victim.stop()
        if scene.store != SQLITE or _is_lock_free(scene):
            return at
        victim.wake()
        time.sleep(0.01)
    raise TimeoutError(f"{victim.name} held the lock of the file {TRIES_MAX} times")


def _is_lock_free(scene: Scene) -> bool:
    path = scene.app.settings.store_path
    assert path is not None
    with suppress(StoreUnreachable):
        probe = SqliteDatabase(path, busy_s=LOCK_PROBE_S)
        try:
            with probe.transaction():
                return True
        finally:
            probe.close()
    return False


# The network between the processes and PostgreSQL


def cut(scene: Scene) -> Damage:
    """Connections end, and none can be made for a while."""
    return _disturbed(scene, Behaviour(is_refusing=True), "cut off", is_reset=True)


def resets(scene: Scene) -> Damage:
    """Every so many packets tear a connection down."""
    odds = scene.rng.uniform(0.01, 0.1)
    return _disturbed(scene, Behaviour(reset_odds=odds), f"{odds:.0%} resets", is_reset=False)


def latency(scene: Scene) -> Damage:
    """Every packet takes 50 ms to 1 s each way, an answer thus 100 ms to 2 s."""
    most = scene.rng.choice((0.1, 0.3, 1.0))
    slow = Behaviour(latency_s=(0.05, most))
    return _disturbed(scene, slow, f"up to {2 * most:g} s for an answer", is_reset=False)


def blackhole(scene: Scene) -> Damage:
    """Nothing comes through, and neither side is told; in the end it does after all, or is reset."""
    return _disturbed(
        scene, Behaviour(is_holding=True), "black hole", is_reset=scene.rng.random() < 0.5
    )


def _disturbed(scene: Scene, behaviour: Behaviour, what: str, *, is_reset: bool) -> Damage:
    return disturb(
        scene, scene.links, behaviour, what, is_reset=is_reset, away_s_max=scene.lease_s + 2.0
    )


def disturb(
    scene: Scene,
    links: dict[str, Link],
    behaviour: Behaviour,
    what: str,
    *,
    is_reset: bool,
    away_s_max: float,
) -> Damage:
    """All links, or those of some, behave badly for a while."""
    names = sorted(links)
    victims = names if scene.rng.random() < 0.5 else scene.rng.sample(names, k=len(names) // 2)
    at = now()
    for name in victims:
        links[name].behave(behaviour)
        if is_reset:
            links[name].reset()
    time.sleep(scene.rng.uniform(1.0, away_s_max))
    for name in victims:
        if is_reset:
            links[name].reset()
        links[name].behave(WELL)
    return Damage(at=at, since=now(), bound_s=scene.bound_s, what=f"{what}: {', '.join(victims)}")


# The broker and the bucket


def kill_broker(scene: Scene) -> Damage:
    """The server of the messages; it comes back after a while, half of the time without any of its files."""
    broker = scene.outside.broker
    assert broker is not None
    at = now()
    broker.kill()
    time.sleep(scene.rng.uniform(0.0, AWAY_S_MAX))
    has_lost = scene.rng.random() < 0.5
    if has_lost:
        broker.lose()
    broker.start()
    since = now()
    how = ", all of its messages lost" if has_lost else ""
    what = f"kill -9 of the broker, away for {(since - at) / 1_000_000:.1f} s{how}"
    return _outside(scene, Damage(at=at, since=since, bound_s=0.0, what=what))


def cut_broker(scene: Scene) -> Damage:
    """Some or all processes are cut off from the broker, loudly or in silence."""
    return _outside(scene, _cut_off(scene, scene.outside.broker_links))


def cut_bucket(scene: Scene) -> Damage:
    """Some or all processes are cut off from the documents, loudly or in silence."""
    return _outside(scene, _cut_off(scene, scene.outside.bucket_links))


def fail_bucket(scene: Scene) -> Damage:
    """Every request for a document is answered with 500, and the bucket hears nothing of it."""
    return _hurt_bucket(scene, Behaviour(is_failing=True), "500", is_reset=True)


def tear_bucket(scene: Scene) -> Damage:
    """Every second to every piece of what the bucket answers comes by half, and then the connection ends."""
    odds = scene.rng.uniform(0.5, 1.0)
    return _hurt_bucket(
        scene, Behaviour(tear_odds=odds), f"{odds:.0%} cut in the middle", is_reset=False
    )


def slow_bucket(scene: Scene) -> Damage:
    """Every packet to and from the bucket takes so long that some requests end in time and others do not."""
    slow = Behaviour(latency_s=(0.2, REQUEST_S))
    return _hurt_bucket(scene, slow, f"up to {2 * REQUEST_S:g} s for an answer", is_reset=False)


def _hurt_bucket(scene: Scene, behaviour: Behaviour, what: str, *, is_reset: bool) -> Damage:
    links = scene.outside.bucket_links
    hurt = disturb(scene, links, behaviour, what, is_reset=is_reset, away_s_max=AWAY_S_MAX)
    return _outside(scene, hurt)


def _cut_off(scene: Scene, links: dict[str, Link]) -> Damage:
    is_silent = scene.rng.random() < 0.5
    behaviour = Behaviour(is_holding=True) if is_silent else Behaviour(is_refusing=True)
    what = "black hole" if is_silent else "cut off"
    return disturb(scene, links, behaviour, what, is_reset=True, away_s_max=AWAY_S_MAX)


def _outside(scene: Scene, damage: Damage) -> Damage:
    return msgspec.structs.replace(damage, bound_s=scene.lease_s + OUTSIDE_SLACK_S)


# The change feed


def hurt_feed(scene: Scene) -> Damage:
    """Senders are killed, the engine goes away, and a part is asked for again, all while records move."""
    assert scene.feed is not None
    at = now()
    what = feed.hurt_feed(scene.feed, scene.fleet.of("notifier"), scene.app, scene.rng)
    since, bound_s = now(), scene.lease_s + OUTSIDE_SLACK_S
    caught_up_s = feed.caught_up_s(scene.app)
    what = f"{what}; caught up after {caught_up_s:.1f} s"
    return Damage(at=at, since=since, bound_s=bound_s, what=what, caught_up_s=caught_up_s)


# The disk


def disk_full(scene: Scene) -> Damage:
    """Not a byte is left on the file system of the data folder; then some space is freed."""
    at = now()
    ballast = scene.data / "ballast"
    _fill(ballast)
    is_refused = until_refused(scene)
    time.sleep(scene.rng.uniform(1.0, 3.0))
    _fill(ballast)  # what was freed meanwhile
    time.sleep(0.5)
    since = now()
    ballast.unlink()
    told = "submits were refused" if is_refused else "no submit was refused"
    return Damage(at=at, since=since, bound_s=scene.bound_s, what=f"disk full, {told}")


def until_refused(scene: Scene) -> bool:
    """Wait until a submit was told that the disk is full."""
    with suppress(TimeoutError):
        until(lambda: bool(scene.submitter.refused), s_max=10.0, what="a refusal")
    return bool(scene.submitter.refused)


def _fill(path: Path) -> None:
    """Write until there is no space, in ever smaller pieces."""
    piece = BALLAST_PIECE
    with path.open("ab", buffering=0) as file:
        while piece:
            try:
                file.write(b"\0" * piece)
            except OSError:
                piece //= 2


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of a few megabytes, in memory, mounted over a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={DISK_BYTES}"
    subprocess.run([_program("mount"), "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run([_program("umount"), "--lazy", str(folder)], check=True)


def no_mounts() -> str:
    """Why no file system can be mounted here, if so."""
    if os.geteuid() != 0:
        return "mounting a small file system needs root"
    probe = ["--mount", _program("mount"), "-t", "tmpfs", "tmpfs", "/mnt"]
    return "" if _is_allowed(probe) else "this machine does not let root mount a file system"


def no_hosts() -> str:
    """Why no process can have a host name of its own here, if so."""
    return "" if _is_allowed(["--uts", "true"]) else "a host name of one's own needs root"


@cache
def _program(name: str) -> str:
    return shutil.which(name) or name


def _is_allowed(probe: list[str]) -> bool:
    """Whether `unshare` may do this; what it does is gone when it ends."""
    try:
        done = subprocess.run([_program("unshare"), *probe], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


# Clocks


def clock_forward(scene: Scene) -> Damage:
    """The clocks of some processes are set 25 h ahead while they run."""
    return _jump(scene, "+25h")


def clock_backward(scene: Scene) -> Damage:
    """The clocks of some processes are set back by an hour while they run."""
    return _jump(scene, "-1h")


def _jump(scene: Scene, offset: str) -> Damage:
    members = scene.fleet.members
    victims = members if scene.rng.random() < 0.4 else scene.rng.sample(members, k=2)
    at = now()
    for victim in victims:
        victim.set_clock(offset)
    time.sleep(scene.lease_s + 1.0)
    is_set_right = scene.rng.random() < 0.5
    for victim in victims:
        if is_set_right:
            victim.set_clock("+0")
    names = ", ".join(victim.name for victim in victims)
    how = "" if faketime_library() else ", in Python"
    back = " and back" if is_set_right else ""
    return Damage(
        at=at, since=at, bound_s=scene.bound_s + 3.0, what=f"clock {offset}{back}: {names}{how}"
    )


def _outside_fault(
    act: Callable[[Scene], Damage], *, broker: str = "", has_bucket: bool = False
) -> Fault:
    return Fault(
        act=act,
        broker=broker,
        has_bucket=has_bucket,
        submits_per_s=OUTSIDE_SUBMITS_PER_S,
        lacks=lambda: lacks(broker, has_bucket=has_bucket),
    )


def _feed_fault(engine: str) -> Fault:
    roles = ("coordinator", "worker", "notifier", "notifier")
    return Fault(act=hurt_feed, roles=roles, feed=engine, lacks=lambda: feed.lacks_feed(engine))


FAULTS: dict[str, Fault] = {
    "kill-coordinator": Fault(act=kill_coordinator),
    "kill-worker": Fault(act=kill_worker),
    "kill-remote-worker": Fault(
        act=kill_remote_worker, stores=(POSTGRES,), is_remote=True, lacks=no_hosts
    ),
    "kill-postgres": Fault(act=kill_postgres, stores=(POSTGRES,)),
    "kill-up": Fault(act=kill_up, roles=("up",), is_single=True),
    "stop-coordinator": Fault(act=stop_coordinator),
    "stop-worker": Fault(act=stop_worker),
    "cut": Fault(act=cut, stores=(POSTGRES,), is_linked=True),
    "resets": Fault(act=resets, stores=(POSTGRES,), is_linked=True),
    "latency": Fault(act=latency, stores=(POSTGRES,), is_linked=True),
    "blackhole": Fault(act=blackhole, stores=(POSTGRES,), is_linked=True),
    "kill-redis": _outside_fault(kill_broker, broker=REDIS),
    "kill-nats": _outside_fault(kill_broker, broker=NATS),
    "cut-redis": _outside_fault(cut_broker, broker=REDIS),
    "cut-nats": _outside_fault(cut_broker, broker=NATS),
    "cut-s3": _outside_fault(cut_bucket, has_bucket=True),
    "cut-s3-redis": _outside_fault(cut_bucket, broker=REDIS, has_bucket=True),
    "fail-s3": _outside_fault(fail_bucket, has_bucket=True),
    "tear-s3": _outside_fault(tear_bucket, has_bucket=True),
    "slow-s3": _outside_fault(slow_bucket, has_bucket=True),
    "feed-redis": _feed_fault(feed.REDIS),
    "feed-nats": _feed_fault(feed.NATS),
    "feed-kafka": _feed_fault(feed.KAFKA),
    "disk-full": Fault(act=disk_full, is_small=True, lacks=no_mounts),
    "clock-forward": Fault(act=clock_forward, is_jumpy=True),
    "clock-backward": Fault(act=clock_backward, is_jumpy=True),
}
