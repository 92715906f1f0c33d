"""Histories over a faulty transport, and that they would show a defect."""

from collections import Counter

import pytest

from lab.simulation import transport
from stateward.engine import relay
from stateward.engine.coordinator import Submission

SEEDS = range(12)


def test_whatever_the_transport_does_every_record_ends_and_every_stage_counts_once() -> None:
    faults: Counter[str] = Counter()
    for seed in SEEDS:
        found, injected = transport.run(seed)
        faults += injected
        assert found == [], f"python -m lab.simulation.transport 1 {seed}"

    assert {*transport.FAULTS, "foreseen"} <= set(faults)


@pytest.mark.long
def test_many_more_histories() -> None:
    assert transport.main(300, 50_000) == 0


def test_a_relay_that_sends_nothing_again_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "lost_work", lambda *_, **__: [])
    monkeypatch.setattr(transport, "HEAL_STEPS_MAX", 60)

    assert any(transport.run(seed)[0] for seed in SEEDS)


def test_no_attempt_times_out_while_the_engine_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport.World, "_misbehave", lambda _: None)
    world = transport.World(1)
    world.faults = frozenset()
    try:
        for _ in range(4):
            world.advance()
        submission = Submission(machine="letters", actor="person:ann", dedupe="1")
        world.records += [each.record for each in world.coordinator.submit([submission])]
        world.relay_engine.is_cut_off = True
        for _ in range(400):  # 200 s, where an attempt may take 60
            world.advance()
        world.relay_engine.is_cut_off = False
        for _ in range(100):
            world.advance()

        (record,) = world.current()
        assert (record.status, record.retry_count) == ("sorted", 0)
    finally:
        world.database.close()
