"""Jobs that are sent ahead: they run one after another, and each ends as if it had been sent alone."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from stateward.workers import sandbox
from stateward.workers.child_attempt import JobOrder
from stateward.workers.confinement import Grants
from stateward.workers.sandbox import BATCH_MAX, Child, ChildJob
from stateward.workers.sdk import Completed, Failed, Limits, Result, UnsavedValues
from tests.waiting import wait_until
from tests.workers.children import (
    ChildSlot,
    an_order,
    much_later,
    only_item,
    said,
    wait_for,
    wait_until_gone,
    wait_until_loaded,
)

RECALL_S = sandbox.RECALL_S


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine any job may take so long that those behind it are taken back, and have no result."""
    monkeypatch.setattr(sandbox, "RECALL_S", 60.0)


def orders(*runners: str, **order: object) -> list[JobOrder]:
    return [
        an_order(runner, record_id=f"UL_{number}", **order) for number, runner in enumerate(runners)
    ]


def started(slot: ChildSlot, jobs: Sequence[JobOrder]) -> Child:
    child = slot.idle_child()
    child.start_all([ChildJob(order) for order in jobs])
    return child


def results(child: Child) -> list[Result]:
    """The results of all jobs that the child does not give back."""
    found = []
    while child.pending:
        found.append(wait_for(child))
    return found


def test_jobs_run_in_order_in_one_process_and_see_their_own_inputs(slot: ChildSlot) -> None:
    # More than a socket takes at once: the last orders are sent when the first jobs have ended.
    text = "x" * 100_000
    jobs = [
        an_order(
            "good.copy", items={"parse": [f'[{{"number":{number},"text":"{text}"}}]'], "empty": []}
        )
        for number in range(20)
    ]

    found = results(started(slot, jobs))

    assert [only_item(result)["number"] for result in found] == list(range(20))
    assert len(slot.spawned) == 1


def test_a_job_sent_ahead_may_save_values_while_others_wait(slot: ChildSlot) -> None:
    values = UnsavedValues()
    child = slot.idle_child()
    jobs = orders(*["good.pay_once"] * 2)

    child.start_all([ChildJob(order, values) for order in (*jobs, *orders("good.echo"))])

    (failed,) = results(child)
    assert isinstance(failed, Failed)
    assert values.load("answer") is not None
    child = slot.idle_child()
    child.start_all([ChildJob(order, values) for order in (*jobs, *orders("good.echo"))])
    assert all(isinstance(result, Completed) for result in results(child))


@pytest.mark.parametrize(
    "runner", ["bad.segfault", "bad.os_exit", "bad.kill_self", "bad.half_a_message"]
)
def test_a_job_that_takes_its_process_down_fails_alone(slot: ChildSlot, runner: str) -> None:
    child = started(slot, orders("good.echo", runner, "good.echo"))

    first, second = results(child)

    assert only_item(first)["record_id"] == "UL_0"
    assert isinstance(second, Failed)
    assert child.is_dead
    slot.works()


def test_a_job_that_fails_stops_the_batch_and_its_process_goes_on(slot: ChildSlot) -> None:
    child = started(slot, orders("good.echo", "bad.fatal", "good.echo"))

    first, second = results(child)

    assert isinstance(first, Completed)
    assert isinstance(second, Failed)
    assert second.code == "ENCRYPTED"
    slot.works()
    assert len(slot.spawned) == 1


def test_what_a_job_prints_is_in_its_own_log(slot: ChildSlot) -> None:
    jobs = orders("good.echo", "bad.garbage", "good.echo", "bad.garbage")
    found: list[Result] = []
    while len(found) < len(jobs):
        found += results(started(slot, jobs[len(found) :]))

    assert [bool(said(result, "output")) for result in found] == [False, True, False, True]
    assert len(slot.spawned) == 1


@pytest.mark.parametrize("runner", ["bad.fork", "bad.daemon"])
def test_processes_that_a_job_leaves_are_killed_before_its_child_is_used_again(
    slot: ChildSlot, runner: str
) -> None:
    child = started(slot, orders("good.echo", runner))

    _, result = results(child)

    wait_until_gone(only_item(result)["pid"])
    assert "they are killed" in said(result, "warning")[0]
    assert child.is_dead


def test_a_job_that_leaves_a_process_is_the_last_of_its_batch(slot: ChildSlot) -> None:
    child = started(slot, orders("bad.fork", "good.echo"))

    (result,) = results(child)

    assert "they are killed" in said(result, "warning")[0]


def test_what_has_not_begun_can_be_taken_back_and_is_never_run(
    slot: ChildSlot, tmp_path: Path
) -> None:
    slot.works()
    child = started(slot, orders("bad.sleep", *["good.echo"] * 5))
    wait_until(lambda: child.has_begun)

    child.recall()

    assert child.pending == 1
    result = child.expire(much_later())
    assert isinstance(result, Failed)
    assert result.code == "TIMEOUT"
    assert child.pending == 0


def test_the_neighbours_of_a_long_job_are_taken_back_in_time(
    slot: ChildSlot, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot.works()
    child = started(slot, orders("good.echo", "bad.sleep", "good.echo"))
    monkeypatch.setattr(sandbox, "RECALL_S", RECALL_S)  # for the second job

    assert isinstance(wait_for(child), Completed)
    wait_until(lambda: child.on_ready() is None and child.expire() is None and child.pending == 1)

    child.cancel()
    assert child.is_dead


def test_taking_back_leaves_the_job_whose_turn_it_is(slot: ChildSlot) -> None:
    slot.works()
    child = started(slot, orders(*["good.echo"] * 40))

    child.recall()  # the child may not even have got to the first one

    found = results(child)
    assert found
    assert all(isinstance(result, Completed) for result in found)
    slot.works()
    assert len(slot.spawned) == 1


def test_a_child_takes_more_at_once_while_nothing_stops_it(slot: ChildSlot) -> None:
    capacities = []
    for _ in range(8):
        child = slot.idle_child()
        wait_until_loaded(child)
        child._mean_s = 0.0  # as quick as the estimate can be, on any machine
        capacities.append(child.capacity)
        results(started(slot, orders(*["good.echo"] * child.capacity)))
    results(started(slot, orders("bad.garbage")))

    assert capacities == [1, 2, 4, 8, 16, 32, 64, BATCH_MAX]
    assert slot.idle_child().capacity == 1


def test_a_child_takes_no_more_than_its_count_of_jobs_allows(slot: ChildSlot) -> None:
    slot.limits = Limits(jobs_per_child=1)
    child = slot.idle_child()
    child._mean_s = 0.0
    child._batch_max = BATCH_MAX

    assert child.capacity == 1


def test_slow_jobs_and_jobs_with_a_network_are_not_sent_ahead(slot: ChildSlot) -> None:
    child = slot.idle_child()
    child._batch_max = BATCH_MAX

    child._mean_s = 0.5
    assert child.capacity == 1
    child._mean_s = 0.0
    child.grants = Grants(may_connect=True)
    assert child.capacity == 1


def test_large_inputs_are_not_sent_ahead() -> None:
    chunk = '[{"text":"' + "x" * 100_000 + '"}]'

    assert an_order("good.copy", items={"parse": ["[]"]}).is_small
    assert not an_order("good.copy", items={"parse": [chunk]}).is_small
    assert not an_order("good.copy", items={"parse": ("[]",)}).is_small
