"""Every transition of the three machines, cut at every crash point that lies on its way."""

import json
import re

import pytest

from lab.simulation import Arena
from lab.simulation.__main__ import main
from lab.simulation.pairs import (
    Pair,
    Way,
    cut,
    pairs,
    ways,
)
from lab.simulation.shapes import BY_MACHINE, Hop
from stateward.core.failpoints import Point
from tests.lab.simulation.command import run


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("machine", "least"),
    [
        ("upload", 270),
        pytest.param("contract", 600, marks=pytest.mark.long),
        pytest.param("literature", 950, marks=pytest.mark.long),
    ],
)
def test_every_transition_survives_a_crash_at_every_point_on_its_way(
    machine: str, least: int
) -> None:
    done = run("--pairs", machine, "--json")

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    summary = json.loads(done.stdout)
    assert summary["uncut"] == summary["violations"] == []
    assert summary["transitions"] == len(list(ways(machine)))
    assert summary["pairs"] >= least


def test_the_points_on_the_ways_of_a_machine_are_all_there_are() -> None:
    arena = Arena()
    found = {pair.point for way in ways("contract") for pair in pairs(way, arena)}

    assert found == set(Point)


@pytest.mark.long
def test_a_machine_is_cut_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pairs", "upload"]) == 0

    shown = capsys.readouterr().out
    assert re.fullmatch(r"upload: 20 transitions cut in \d+ places, 0 violations\n", shown)


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
        Point.LANES_ADVANCED, Point.STARTS_COMMITTED, Point.WORK_SENT,
    ]  # fmt: skip


def test_a_pair_says_what_it_is() -> None:
    way = Way("upload", Hop("parsing", "parse.completed", "parsed"), is_hard=True)
    pair = Pair(way, Point.RESULTS_WRITTEN, 2)

    assert str(pair) == (
        "upload parsing -> parsed by parse.completed the hard way, cut at results_written:2"
    )


def test_a_point_that_is_not_on_the_way_cuts_nothing() -> None:
    way = Way("upload", Hop("queued_for_parse", "parse.started", "parsing"))

    verdict = cut(Pair(way, Point.DEAD_LETTERS_WRITTEN, 1), Arena())

    assert not verdict.is_cut
    assert verdict.violations == []
