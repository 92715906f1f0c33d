"""What can go wrong, done to a history. Each fault says whether it could be done now.

Events are tampered with where they lie, in the inbox; processes are killed and stopped; clocks are set wrong. Each
thing that is done is also told to the witness, so that the checker knows which events were lost or forged.
"""

import random
from collections.abc import Callable
from functools import partial

import msgspec

from lab.simulation.plan import Fault
from lab.simulation.processes import REDELIVERY, Process
from lab.simulation.witness import event_line
from lab.simulation.world import World
from stateward.core.machine import CANCEL_REQUESTED, RETRY_REQUESTED, Machine
from stateward.core.model import (
    CLOCK,
    PERSON,
    RUNNER,
    SECOND,
    SEQUENCER,
    Event,
    event_id,
)

AHEAD_S = 25 * 3600.0
BACK_S = 3600.0
SKEW_S = 3.0
OUTAGE_S = 2 * 3600.0
AWAY_STEPS = (2, 6)
AGAIN_MAX = 4
MEANWHILE_SHARE = 0.1  # of results that another one comes before
GARBLED = ('{"id": 7}', "no JSON at all", '{"id": "x", "type": "parse.completed"}', "[]")

_decode = msgspec.json.Decoder(Event).decode
_encode = msgspec.json.encode


def inject(world: World, fault: Fault) -> bool:
    """Let it happen; False where there is nothing that it could happen to."""
    return _FAULTS[fault](world)


# Processes


def _kill_coordinator(world: World) -> bool:
    return _kill(world, [each for each in world.running() if each.is_coordinator])


def _kill_worker(world: World) -> bool:
    return _kill(world, _loaded(world))


def _kill(world: World, victims: list[Process]) -> bool:
    if not victims:
        return False
    victim = world.rng.choice(victims)
    world.note(f"{victim.alias} is killed")
    victim.die()
    world.hurry()
    world.later(_steps(world), lambda: world.start(victim))
    return True


def _kill_again(world: World) -> bool:
    """Kill whoever has the same work, as often as it is given out: the document may be the cause, or not."""
    found = _loaded(world)
    if not found or not world.coordinators():
        return False
    for _ in range(REDELIVERY.losses_max + 1):
        victims = _loaded(world)
        if not victims or not world.coordinators():
            break
        victim = victims[0]
        if world.rng.random() < 0.8:
            world.act(victim, "begins its work", victim.prepare)
        world.note(f"{victim.alias} is killed")
        victim.die()
        if not world.around.is_local:
            world.outlast_lease()
        world.start(victim)
        deciding = world.coordinators()[:1]
        for process in deciding:
            world.act(process, "recovers", process.recover)
            if process.is_running:
                world.act(process, "hands out", partial(process.coordinator.turn, has_events=False))
    return True


def _loaded(world: World) -> list[Process]:
    """Workers that have work, on the bus or in their hands."""
    names = {name for name, _ in world.frontend.bus.load_by_worker()}
    return [
        each
        for each in world.running()
        if each.worker is not None and (each.worker.is_loaded or each.alias in names)
    ]


def _stop_worker(world: World) -> bool:
    found = _loaded(world)
    if not found:
        return False
    zombie = world.rng.choice(found)
    if not world.act(zombie, "does its work", zombie.prepare):
        return False
    zombie.is_stopped = True
    world.note(f"{zombie.alias} is stopped")
    world.outlast_lease()
    world.later(_steps(world), lambda: _wake(world, zombie))
    return True


def _wake(world: World, zombie: Process) -> None:
    """A zombie goes on where it was: it holds results, and writes them."""
    if zombie.is_stopped:
        zombie.is_stopped = False
        world.act(zombie, "comes back and writes", zombie.settle)


def _outage(world: World) -> bool:
    for process in world.processes:
        if process.is_up:
            process.die()
    world.note("everything is down for two hours")
    world.around.pass_s(OUTAGE_S)
    world.jumped_s += OUTAGE_S
    for process in world.processes:
        world.start(process)
    return True


def _mark_first(world: World) -> bool:
    able = [each for each in world.processes if each.is_worker and not each.is_split]
    if not able:
        return False
    process = world.rng.choice(able)
    process.die()
    process.is_split = True
    world.note(f"{process.name} writes its marks first from here on")
    world.start(process)
    return True


def _retuned(world: World) -> bool:
    if world.around.machine is not world.plan.shape.machine:
        return False
    return _restarted_with(world, world.plan.shape.retuned, "the number of retries is changed")


def _upgraded(world: World) -> bool:
    newer = world.plan.shape.newer
    if world.around.machine is newer:
        return False
    for process in world.processes:  # a new version often comes with another machine, and its clock
        if process.is_coordinator and world.rng.random() < 0.5:
            process.offset = -round(BACK_S * SECOND)
            world.jumped_s += 2 * BACK_S
            world.later(_steps(world), lambda process=process: _set_right(world, process))  # type: ignore[misc]
    return _restarted_with(world, newer, "a newer version of the machine takes over")


def _restarted_with(world: World, machine: Machine, words: str) -> bool:
    deciding = [each for each in world.processes if each.is_coordinator or each is world.frontend]
    for process in deciding:
        if process.is_up:
            process.die()
    world.around.machine = machine
    world.used.append(machine)
    world.note(words)
    for process in deciding:
        world.start(process)
    return True


# Events


def _lost(world: World) -> bool:
    inbox = world.inbox()
    if not inbox:
        return False
    seq, body = world.rng.choice(inbox)
    world.take_out(seq)
    _told_lost(world, body)
    world.note(f"lost: {body}")
    return True


def _told_lost(world: World, body: str) -> None:
    if body in world.witness.garbled:
        world.witness.garbled.remove(body)
    else:
        world.witness.lose(_decode(body).id)


def _doubled(world: World) -> bool:
    bodies = [body for _, body in world.inbox()] or world.bodies
    if not bodies:
        return False
    body = world.rng.choice(bodies)
    world.put_in(body)
    world.note(f"once more: {body}")
    return True


def _delayed(world: World) -> bool:
    inbox = world.inbox()
    if not inbox:
        return False
    seq, body = world.rng.choice(inbox)
    world.take_out(seq)
    world.note(f"held back: {body}")
    world.later(_steps(world), lambda: world.put_back(body))
    return True


def _reordered(world: World) -> bool:
    if not world.inbox() or not _doubled(world):
        return False
    bodies = [body for _, body in world.inbox()]
    for seq, _ in world.inbox():
        world.take_out(seq)
    for body in reversed(bodies):
        world.put_back(body)
    world.note(f"{len(bodies)} events in the opposite order")
    return True


def _garbled(world: World) -> bool:
    body = world.rng.choice(GARBLED)
    world.put_back(body)
    world.witness.garbled.append(body)
    world.note(f"arrives: {body}")
    return True


def _forged(world: World) -> bool:
    known = sorted(world.witness.status)
    if not known:
        return False
    event = _lie(world, world.rng.choice(known))
    world.witness.events.append(event_line(event, is_forged=True))
    world.put_back(_encode(event).decode())
    world.note(f"forged: {event.type} of version {event.version} by {event.actor}")
    return True


def _lie(world: World, record_id: str) -> Event:
    """Something that must not count: each line is one kind of lie."""
    rng, machine = world.rng, world.around.machine
    status, version = world.witness.status[record_id], world.witness.version[record_id]
    stage = machine.stage_of(status) or machine.stages[0]
    done = f"{stage.name}.completed"
    type_, spoken, actor, about = rng.choice(
        (
            (done, version - 1, f"{RUNNER}forger", record_id),
            (done, version + 1, f"{RUNNER}forger", record_id),
            (done, None, f"{RUNNER}forger", record_id),
            (done, version, f"{PERSON}forger", record_id),
            (done, version, "forger", record_id),
            (f"{stage.name}.exploded", version, f"{RUNNER}forger", record_id),
            (done, version, f"{RUNNER}forger", f"{machine.prefix}_nobody"),
            ("retry.requested", version, f"{RUNNER}forger", record_id),
            ("cancel.requested", version, f"{RUNNER}forger", record_id),
            ("cancel.requested", version, CLOCK, record_id),
            (f"{stage.name}.timed_out", version, CLOCK, f"{machine.prefix}_nobody"),
            ("review.approved", version, f"{RUNNER}forger", record_id),
            ("document.completed", version, CLOCK, record_id),
        )
    )
    world.forgeries += 1
    id_ = f"forged-{world.forgeries}"
    return Event(id=id_, type=type_, record_id=about, version=spoken, at=world.now, actor=actor)


# Clocks


def _ahead(world: World) -> bool:
    return _set_wrong(world, AHEAD_S)


def _back(world: World) -> bool:
    return _set_wrong(world, -BACK_S)


def _set_wrong(world: World, seconds: float) -> bool:
    running = [*world.running(), world.frontend]
    process = world.rng.choice(running)
    process.offset += round(seconds * SECOND)
    world.jumped_s += 2 * abs(seconds)
    world.note(f"the clock of {process.alias} jumps by {seconds:+g} s")
    if process.is_coordinator:  # another coordinator may have to judge what it tells
        world.act(process, "ticks", process.scheduler.tick)
    world.later(_steps(world), lambda: _set_right(world, process))
    return True


def _set_right(world: World, process: Process) -> None:
    process.offset = 0
    world.note(f"the clock of {process.alias} is set right")


def _skewed(world: World) -> bool:
    for process in world.processes:
        process.offset = round(world.rng.uniform(-SKEW_S, SKEW_S) * SECOND)
    world.jumped_s += 4 * SKEW_S
    world.note("the clocks differ")
    return True


def _wake_lost(world: World) -> bool:
    for process in world.running():
        process.listen_no_more()
        if process.worker is not None:
            process.worker.is_deaf = True
    world.note("wake-ups are lost")
    return True


# People and programs outside


def _submitted_twice(world: World) -> bool:
    if not world.submitted:
        return False
    name = world.rng.choice(world.submitted)
    world.submit([name] * world.rng.choice((1, 2)))
    return True


def _asked_late(world: World) -> bool:
    old = [each for each in sorted(world.witness.version) if world.witness.version[each] > 0]
    if not old:
        return False
    record_id = world.rng.choice(old)
    seen = world.rng.randrange(world.witness.version[record_id])
    type_ = world.rng.choice(sorted(world.around.machine.event_types))
    world.ask(record_id, type_, version=seen)
    return True


def _cancelled(world: World) -> bool:
    rules = world.around.machine.rules
    able = [
        record_id
        for record_id, status in sorted(world.witness.status.items())
        if (status, CANCEL_REQUESTED) in rules
    ]
    if not able:
        return False
    record_id = world.rng.choice(able)
    world.ask(record_id, CANCEL_REQUESTED, version=world.witness.version[record_id])
    return True


def _paused(world: World) -> bool:
    _pause(world, world.rng)
    return True


def _pause(world: World, rng: random.Random) -> None:
    stage = rng.choice(["", *world.around.machine.stage])
    world.pause(stage)
    world.later(rng.randint(*AWAY_STEPS), lambda: world.resume(stage))


def let_others_in(world: World) -> None:
    """From now on a stage may be paused between a result and the turn that is decided on what was known before it.

    By chance of its own: where none comes, the history is the same as without.
    """
    rng = random.Random(-world.plan.seed)

    def meanwhile() -> None:
        if not world.is_healing and rng.random() < MEANWHILE_SHARE:
            _pause(world, rng)

    world.around.meanwhile = meanwhile


def _sequenced(world: World) -> bool:
    machine = world.around.machine
    able = [
        record_id
        for record_id, status in sorted(world.witness.status.items())
        if status in machine.stage_running_in
    ]
    if not able:
        return False
    event = _flow_event(world, world.rng.choice(able))
    world.hear(event)
    if world.rng.random() < 0.7:  # a flow asks again when it did not understand the answer
        world.later(1, lambda: _hear_again(world, event, left=AGAIN_MAX))
    return True


def _hear_again(world: World, event: Event, *, left: int) -> None:
    """The same report once more, when its record is at the same stage again: a person has retried it meanwhile."""
    record_id = event.record_id
    status = world.witness.status[record_id]
    stage = event.type.partition(".")[0]
    if (status, RETRY_REQUESTED) in world.machine.rules:
        world.ask(record_id, RETRY_REQUESTED, version=world.witness.version[record_id])
    running = world.machine.stage_running_in.get(status)
    if left == 0 or (running is not None and running.name == stage):
        world.hear(event)
    else:
        world.later(2, lambda: _hear_again(world, event, left=left - 1))


def _flow_event(world: World, record_id: str) -> Event:
    rng, version = world.rng, world.witness.version[record_id]
    stage = world.machine.stage_running_in[world.witness.status[record_id]]
    what = rng.choice(("completed", "completed", "failed"))
    type_ = f"{stage.name}.{what}"
    own_id = f"flow-{world.steps}"
    return Event(
        id=rng.choice((event_id(record_id, makes=version + 1, type_=type_), own_id)),
        type=type_,
        record_id=record_id,
        version=rng.choice((version, None)),
        at=world.now,
        actor=f"{SEQUENCER}flow",
        count=1,
        facts={"final_confidence": 95, "valid": True} if what == "completed" else {},
        error_code=None if what == "completed" else "FLOW",
    )


def _steps(world: World) -> int:
    return world.rng.randint(*AWAY_STEPS)


_FAULTS: dict[Fault, Callable[[World], bool]] = {
    Fault.KILL_COORDINATOR: _kill_coordinator,
    Fault.KILL_WORKER: _kill_worker,
    Fault.KILL_AGAIN: _kill_again,
    Fault.STOP_WORKER: _stop_worker,
    Fault.OUTAGE: _outage,
    Fault.EVENT_LOST: _lost,
    Fault.EVENT_DOUBLED: _doubled,
    Fault.EVENT_DELAYED: _delayed,
    Fault.EVENTS_REORDERED: _reordered,
    Fault.EVENT_FORGED: _forged,
    Fault.EVENT_GARBLED: _garbled,
    Fault.CLOCK_AHEAD: _ahead,
    Fault.CLOCK_BACK: _back,
    Fault.CLOCK_SKEWED: _skewed,
    Fault.WAKE_LOST: _wake_lost,
    Fault.SUBMITTED_TWICE: _submitted_twice,
    Fault.ASKED_LATE: _asked_late,
    Fault.CANCELLED: _cancelled,
    Fault.PAUSED: _paused,
    Fault.SEQUENCED: _sequenced,
    Fault.MARK_FIRST: _mark_first,
    Fault.RETUNED: _retuned,
    Fault.UPGRADED: _upgraded,
}
