"""Histories over a faulty transport, and that they would show a defect."""

from collections import Counter

import pytest

from lab.simulation import transport
from stateward.engine import relay

SEEDS = range(12)


def test_whatever_the_transport_does_every_record_ends_and_every_stage_counts_once() -> None:
    faults: Counter[str] = Counter()
    for seed in SEEDS:
        found, injected = transport.run(seed)
        faults += injected
        assert found == [], f"python -m lab.simulation.transport 1 {seed}"

    assert set(faults) == set(transport.FAULTS)


@pytest.mark.long
def test_many_more_histories() -> None:
    assert transport.main(300, 50_000) == 0


def test_a_relay_that_sends_nothing_again_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "lost_work", lambda *_, **__: [])
    monkeypatch.setattr(transport, "HEAL_STEPS_MAX", 60)

    assert any(transport.run(seed)[0] for seed in SEEDS)
