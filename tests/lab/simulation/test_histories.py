"""Thousands of histories: crashes, lies, lost and doubled events, wrong clocks, and no law broken."""

import json

import pytest

from lab.simulation import Arena, simulate
from lab.simulation.__main__ import main
from lab.simulation.coverage import Coverage
from lab.simulation.plan import Fault, covering_list, plan_of
from tests.lab.simulation.command import run

CHUNK = 500
FEW = 60
CHUNKS = 4


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("first", "count"),
    [(0, FEW), *(pytest.param(CHUNK * n, CHUNK, marks=pytest.mark.long) for n in range(CHUNKS))],
)
def test_no_history_breaks_a_law(first: int, count: int) -> None:
    done = run("--seeds", str(count), "--from", str(first), "--json")

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    summary = json.loads(done.stdout)
    assert summary["histories"] == count
    assert summary["violations"] == []
    assert summary["aims_met"] > 0.9 * count
    assert summary["transitions"] > 5 * count, "a run that checked nothing fails"


def test_a_few_histories_here_and_now_say_what_they_saw() -> None:
    arena, coverage = Arena(), Coverage()
    for seed in range(100_000, 100_060):
        coverage.add(simulate(seed, arena))

    lines = list(coverage.lines())

    assert coverage.violations == []
    assert lines[0].startswith("60 histories")
    assert lines[-1] == "0 violations"
    assert sum("coverage of" in line for line in lines) == 3
    assert len(coverage.faults) > 15
    assert coverage.as_json()["histories"] == 60


@pytest.mark.parametrize("seed", [45, 345, 418, 2858])
def test_a_turn_that_was_foreseen_wrongly_is_decided_anew(seed: int) -> None:
    """A pause, an outage, a worker that was given up: what a process knew of its record was not so any more."""
    report = simulate(seed, is_long=True)

    assert report.refused > 0
    assert report.violations == []


@pytest.mark.parametrize("seed", [4276, 5758, 6212])
def test_a_record_that_waits_in_its_running_state_is_not_taken_for_lost(seed: int) -> None:
    """Its worker was given up and had not come back: the check for strays once called that a lost record."""
    assert simulate(seed, is_long=True).violations == []


@pytest.mark.parametrize("seed", [400_367, 3_226_916])
def test_a_worker_whose_rings_were_lost_looks_by_itself(seed: int) -> None:
    """A real one looks every second. Here it did not, and what waited for its place was called lost."""
    assert simulate(seed, is_long=True).violations == []


@pytest.mark.parametrize("seed", [2_008_157, 2_008_930])
def test_a_child_that_had_begun_a_document_dies_as_one_that_had(seed: int) -> None:
    """A real one cannot die otherwise. Here it did, and its death was not charged to the document."""
    assert simulate(seed, is_long=True).violations == []


def test_a_worker_that_comes_back_writes_nothing_of_a_record_that_was_erased() -> None:
    """One whose mark is durable before its event did here, for it did not exchange its work for it as real ones do."""
    assert simulate(9_402_765, is_long=True).violations == []


def test_the_judge_asks_the_version_in_which_a_record_failed_for_its_retries() -> None:
    """No retry was allowed, and a newer version that allows three heard of the failure."""
    assert simulate(3_232_117, is_long=True).violations == []


@pytest.mark.parametrize(
    "seed", [pytest.param(483, id="lost"), pytest.param(6_017_577, id="returned")]
)
def test_work_that_was_given_back_waits_until_a_coordinator_looks(seed: int) -> None:
    """A real one looks every second. Here time went on to the next deadline, and the record was called lost."""
    assert simulate(seed, is_long=True).violations == []


def test_a_seed_gives_the_same_trace_to_the_byte_whatever_ran_before() -> None:
    arena = Arena()
    first = [simulate(seed, arena).trace for seed in (7, 8, 9)]

    again = [simulate(seed).trace for seed in (9, 8, 7)]

    assert first == again[::-1]


def test_a_seed_gives_the_same_trace_in_another_process() -> None:
    one = run("--seed", "4711", PYTHONHASHSEED="1")
    other = run("--seed", "4711", PYTHONHASHSEED="2")

    assert one.returncode == other.returncode == 0
    assert one.stdout == other.stdout
    assert one.stdout.splitlines()[:-1] == simulate(4711).trace


def test_the_plan_of_a_seed_never_changes_and_seeds_differ() -> None:
    plans = [plan_of(seed) for seed in range(200)]

    assert plans == [plan_of(seed) for seed in range(200)]
    assert len({plan.aim for plan in plans}) == 200
    assert {plan.aim.fault for plan in plans} == set(Fault)


def test_one_seed_in_eight_has_a_long_history_and_either_can_be_asked_for() -> None:
    plans = [plan_of(seed) for seed in range(800)]
    long = [plan for plan in plans if plan.is_long]

    assert [plan.seed for plan in long] == list(range(0, 800, 8))
    assert all(plan.records >= plan.guided for plan in plans)
    assert {plan.records for plan in plans if not plan.is_long} == {1, 2, 3}
    assert plan_of(8, is_long=False).aim == plan_of(8).aim
    assert plan_of(9, is_long=True).is_long


def test_a_document_in_reserve_comes_where_no_other_leads_to_the_aim() -> None:
    arena = Arena()
    reports = [simulate(seed, arena, is_long=False) for seed in range(200_000, 200_040)]

    helped = [each for each in reports if any("opens ['spare" in line for line in each.lines())]

    assert helped
    assert any(each.is_hit for each in helped)


def test_the_aims_cover_every_triple_once() -> None:
    aims = covering_list()

    assert len(set(aims)) == len(aims)
    assert plan_of(3).aim == plan_of(3 + len(aims)).aim
    assert len({(aim.machine, aim.state) for aim in aims}) == 32


def test_the_command_ends_with_1_where_a_law_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stateward.engine.coordinator._note", _forgetful)

    assert main(["--seeds", "6", "--from", "0"]) == 1

    shown = capsys.readouterr()
    assert "E2" in shown.out
    assert "violations" in shown.err


def test_the_command_shows_a_whole_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("seed 3: ")
    assert any("healing" in line for line in lines)
    assert lines[-1] == "0 violations"


def _forgetful(event: object, ignored: object, now: int) -> object:
    from stateward.core.model import Disposition

    return Disposition(
        event_id="?", event_type="?", record_id="?", version=None, actor="?", reason="?", detail="", at=0
    )  # fmt: skip


@pytest.mark.parametrize("seed", [501_665, 502_679, 508_042])
def test_the_judge_knows_what_was_known_and_which_deadlines_stay(seed: int) -> None:
    """A worker that came back said late that it had begun; a review that was referred has its first deadline."""
    assert simulate(seed, is_long=True).violations == []
