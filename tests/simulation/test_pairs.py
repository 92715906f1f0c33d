"""Every transition of the three machines, cut at every crash point that lies on its way."""

import pytest

from stateward.core.points import Point
from stateward.testing.simulation import Arena
from stateward.testing.simulation.pairs import Pair, Way, cut, pairs, verdicts, ways
from stateward.testing.simulation.shapes import BY_MACHINE, Hop


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("machine", ["upload", "contract", "literature"])
def test_every_transition_survives_a_crash_at_every_point_on_its_way(machine: str) -> None:
    cuts = set()
    for verdict in verdicts(machine):
        assert verdict.is_cut, verdict.pair
        assert verdict.violations == [], f"{verdict.pair}: {verdict.violations[0]}"
        cuts.add((verdict.pair.way.hop, verdict.pair.point))

    edges = {(edge.source, edge.to) for edge in BY_MACHINE[machine][0].machine.edges}
    assert {(hop.source, hop.target) for hop, _ in cuts} >= edges
    assert {point for _, point in cuts} >= set(Point) - {Point.EFFECTS_ADDED}


def test_the_ways_are_all_transitions_by_each_of_their_causes() -> None:
    plain = [way for way in ways("contract") if not way.is_hard]

    causes = {(way.hop.source, way.hop.cause, way.hop.target) for way in plain}
    machine = BY_MACHINE["contract"][0].machine
    declared = {(edge.source, on, edge.to) for edge in machine.edges for on in edge.on}
    assert declared < causes
    assert {cause for _, cause, _ in causes - set(declared)} == {"machine.upgraded"}


def test_the_points_on_a_way_are_those_that_it_passes() -> None:
    way = Way("upload", Hop("queued_for_parse", "parse.started", "parsing"))

    found = pairs(way, Arena())

    assert [pair.point for pair in found] == [
        Point.COMMIT_BEFORE, Point.COMMIT_AFTER, Point.RECORDS_WRITTEN, Point.TRANSITIONS_APPENDED,
        Point.ANCHOR_ADVANCED, Point.STARTS_COMMITTED, Point.WORK_SENT,
    ]  # fmt: skip


def test_a_pair_says_what_it_is() -> None:
    way = Way("upload", Hop("parsing", "parse.completed", "parsed"), is_hard=True)
    pair = Pair(way, Point.MARKS_WRITTEN, 2)

    assert str(pair) == (
        "upload parsing -> parsed by parse.completed the hard way, cut at marks_written:2"
    )


def test_a_point_that_is_not_on_the_way_cuts_nothing() -> None:
    way = Way("upload", Hop("queued_for_parse", "parse.started", "parsing"))

    verdict = cut(Pair(way, Point.EVENTS_BURIED, 1), Arena())

    assert not verdict.is_cut
    assert verdict.violations == []
