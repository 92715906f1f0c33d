"""Retries, timeouts, lost workers, cancelled attempts and missed review deadlines."""

from stateward.core.model import Applied, Loss, Work
from stateward.testing.rig import Rig
from tests.engine.histories import statuses


def test_a_retry_waits_its_turn_and_resumes_at_the_failed_step(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.complete(rig.work()[0])
    rig.settle()
    rig.fail(rig.work()[0])
    rig.settle()
    assert rig.now(record).status == "error"

    rig.clock.pass_s(59)
    rig.settle()
    assert rig.now(record).status == "error"
    rig.worker()
    rig.clock.pass_s(2)
    rig.worker()
    rig.settle()

    assert rig.now(record).status == "normalizing"
    assert rig.now(record).retry_count == 1
    assert statuses(rig, record)[-3:] == ["error", "parsed", "normalizing"]


def test_exhausted_retries_rest_in_error_and_the_admin_is_told_once(rig: Rig) -> None:
    record = rig.open()
    for _ in range(4):
        rig.worker()
        rig.settle()
        rig.fail(rig.work()[0])
        rig.settle()
        rig.clock.pass_s(10_000)
    rig.worker()
    rig.settle()

    assert rig.now(record).status == "error"
    assert rig.now(record).retry_count == 3
    assert rig.work() == []
    told = rig.database.rows("SELECT kind, payload FROM effects")
    assert len(told) == 1
    assert '"exhausted"' in str(told[0][1])


def test_a_timeout_fails_the_attempt_and_takes_the_work_away(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()

    rig.clock.pass_s(3604)
    rig.settle()
    assert rig.now(record).status == "parsing", "its worker has a moment to report it itself"
    rig.clock.pass_s(1)
    rig.settle()

    failed = rig.now(record)
    assert (failed.status, failed.error_code) == ("error", "TIMEOUT")
    assert failed.error_message == "Parsing timeout (3600s)"
    assert rig.work() == []
    assert not rig.complete(work), "a worker that was given up may not write"
    assert rig.outputs.result(record.id, work.version) is None


def test_a_lost_event_is_found_again_by_its_completion_mark(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.write_but_lose_event(rig.work()[0], items=7)

    rig.clock.pass_s(3605)
    rig.settle()

    found = rig.now(record)
    assert statuses(rig, record)[:3] == ["queued_for_parse", "parsing", "parsed"]
    assert found.fields["observations_count"] == 7
    assert "error" not in statuses(rig, record)


def test_work_of_a_lost_worker_goes_to_another_under_the_same_version(rig: Rig) -> None:
    rig.worker("w1")
    record = rig.open()
    rig.settle()
    (lost,) = rig.work("w1")
    rig.gone.add("w1")
    rig.worker("w2")

    assert rig.coordinator.recover() == ["w1"]
    rig.settle()

    (again,) = rig.work("w2")
    assert (again.record_id, again.version, again.delivery) == (record.id, lost.version, 2)
    assert not rig.complete(lost), "the lost worker came back too late"
    assert rig.complete(again)
    rig.settle()
    assert rig.now(record).status == "normalizing"


def test_work_that_is_given_back_goes_to_another_and_costs_no_delivery(rig: Rig) -> None:
    rig.worker("w1", slots=1)
    record = rig.open()
    rig.settle()
    (unbegun,) = rig.work("w1")

    for _ in range(5):  # more often than a job may lose its worker
        rig.bus.return_unstarted(rig.work("w1"))
        rig.coordinator.recover()
        rig.settle()
    rig.bus.remove_worker("w1")
    rig.bus.return_unstarted(rig.work("w1"))
    rig.worker("w2")
    rig.settle()

    (again,) = rig.work("w2")
    assert (again.version, again.delivery) == (unbegun.version, 1)
    assert not rig.complete(unbegun), "who gave it back has no say in it"
    assert rig.complete(again)
    rig.settle()
    assert rig.now(record).status == "normalizing"


def test_a_silent_worker_loses_its_work_when_its_lease_is_over(rig: Rig) -> None:
    rig.worker("w1")
    rig.open()
    rig.settle()

    rig.clock.pass_s(14)
    assert rig.coordinator.recover() == []
    rig.clock.pass_s(2)

    assert rig.coordinator.recover() == ["w1"]


def test_work_whose_workers_die_before_they_begin_it_is_charged_nothing_up_to_a_bound(
    rig: Rig,
) -> None:
    record = rig.open()
    for number in range(10):
        assert _lose(rig, f"w{number}").losses == rig.bus.losses(record.id, rig.now(record).version)
        assert rig.now(record).retry_count == 0
    rig.worker("w10")
    rig.settle()
    assert rig.now(record).status == "parsing"
    assert len(rig.work("w10")[0].losses) == 10

    rig.gone.add("w10")
    rig.coordinator.recover()
    rig.worker("w11")
    rig.settle()

    assert (rig.now(record).status, rig.now(record).error_code) == ("error", "WORKER_LOST")
    assert "11 processes died, 0 of them" in str(rig.now(record).error_message)


def test_work_that_kills_the_workers_that_begin_it_fails_in_the_end(rig: Rig) -> None:
    record = rig.open()
    _lose(rig, "w0")  # unseen: a first delivery is not recorded
    for number in range(1, 4):
        assert rig.now(record).status in ("queued_for_parse", "parsing")
        _lose(rig, f"w{number}", has_begun=True)
    rig.worker("w9")
    rig.settle()

    failed = rig.now(record)
    assert (failed.status, failed.error_code) == ("error", "WORKER_LOST")
    assert "3 processes died after they had begun this document, on 3 workers" in str(
        failed.error_message
    )


def test_work_that_was_lost_goes_to_another_worker_where_there_is_one(rig: Rig) -> None:
    rig.worker("w1", slots=100)
    rig.open()
    rig.settle()
    (work,) = rig.work("w1")
    rig.worker("w2", slots=1)

    rig.bus.return_lost(work, Loss(worker="w1", has_begun=True, cause="its child died"))
    rig.settle()

    (again,) = rig.work("w2")
    assert again.losses == (Loss(worker="w1", has_begun=True, cause="its child died"),)
    assert again.delivery == 2
    assert not rig.complete(work), "who lost it has no say in it"
    assert rig.complete(again)


def test_a_worker_that_ends_in_order_loses_nothing(rig: Rig) -> None:
    rig.worker("w1")
    rig.open()
    rig.settle()
    (work,) = rig.work("w1")
    rig.bus.record_begun(work, Loss(worker="w1", has_begun=True, cause="the worker was lost"))

    rig.bus.return_all("w1")
    rig.bus.remove_worker("w1")
    rig.worker("w2")
    rig.settle()

    (again,) = rig.work("w2")
    assert (again.losses, again.delivery) == ((), 1)


def _lose(rig: Rig, name: str, *, has_begun: bool = False) -> Work:
    """A worker gets the work, begins it or not, and dies."""
    rig.worker(name)
    rig.settle()
    (work,) = rig.work(name)
    if has_begun:
        loss = Loss(worker=name, has_begun=True, cause="the worker was lost")
        rig.bus.record_begun(work, loss)
    rig.gone.add(name)
    rig.coordinator.recover()
    return work


def test_a_cancelled_attempt_is_taken_from_its_worker(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()

    decision = rig.ask("cancel.requested", record, reason="wrong file")

    assert isinstance(decision, Applied)
    cancelled = rig.now(record)
    assert (cancelled.status, cancelled.error_code) == ("error", "CANCELLED")
    assert cancelled.error_message == "wrong file"
    assert cancelled.due_at is None
    assert rig.work() == []
    assert not rig.complete(work)


def test_a_review_is_asked_for_and_its_deadline_rings_once(rig: Rig) -> None:
    rig.worker()
    record = rig.open("contract")
    for _ in range(2):
        rig.settle()
        rig.complete(rig.work()[0])
    rig.settle()
    rig.complete(rig.work()[0], facts={"final_confidence": 79, "valid": True})
    rig.settle()
    assert rig.now(record).status == "review_required"
    ((kind,),) = rig.database.rows("SELECT kind FROM effects")
    assert kind == "ask"

    rig.clock.pass_s(86_400)
    rig.scheduler.tick()
    rig.scheduler.tick()
    rig.settle()

    assert rig.now(record).status == "timed_out"
    assert {note.reason for _, note in rig.store.dispositions()} == {"duplicate"}
    assert statuses(rig, record).count("timed_out") == 1


def test_no_attempt_times_out_while_it_waits_for_a_worker(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    rig.gone = {"w1"}
    rig.coordinator.recover()

    rig.clock.pass_s(100_000)
    rig.settle()
    assert rig.now(record).status == "parsing"
    rig.worker("w2")
    rig.settle()

    assert [work.record_id for work in rig.work("w2")] == [record.id]
    assert rig.now(record).retry_count == 0


def test_no_attempt_times_out_while_workers_may_not_have_been_able_to_report(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()

    rig.clock.pass_s(100_000)
    rig.scheduler.bide(15)
    rig.settle()
    assert rig.now(record).status == "parsing"
    rig.clock.pass_s(15)
    rig.settle()

    assert rig.now(record).status == "error"
