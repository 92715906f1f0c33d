"""A simulation that finds nothing proves nothing: each of these defects, put into the engine, is found."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from lab.simulation import Arena, simulate
from lab.simulation.plan import Fault, plan_of
from stateward.core import decide
from stateward.core.model import (
    Event,
    Micros,
    Record,
)
from stateward.core.output_seal import OutputSeal
from stateward.core.retry import Retry
from stateward.core.timers import due_event
from stateward.engine import coordinator, dispatcher, foresight
from stateward.engine.coordinator import Coordinator
from stateward.engine.pending_decisions import PendingDecisions
from stateward.engine.reviews import Reviews
from stateward.engine.scheduler import Scheduler
from stateward.storage import outputs, sqlite, store
from stateward.storage.database import Exchanged, Keys, Known, Row, Table
from stateward.storage.outputs import Output, Outputs
from stateward.storage.pauses import Pauses
from stateward.storage.record_rows import record_row
from stateward.storage.sqlite import SqliteDatabase
from stateward.storage.store import Store
from stateward.transport import Bus
from stateward.workers import worker
from tests.lab.simulation import upkeep_defects

SEEDS_MAX = 2000
Breaks = Callable[[pytest.MonkeyPatch], None]
Anything = Any


def stale_events_count(patch: pytest.MonkeyPatch) -> None:
    whole = decide.decide

    def lax(machine: Anything, record: Record, event: Event, *, now: Micros) -> Anything:
        is_report = event.actor.startswith("runner:")
        event = replace(event, version=record.version) if is_report else event
        return whole(machine, record, event, now=now)

    patch.setattr(coordinator, "decide", lax)
    reports_of_anybody_count(patch)


def anybody_may_do_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decide, "_is_permitted", lambda *_: True)
    reports_of_anybody_count(patch)


def reports_of_anybody_count(patch: pytest.MonkeyPatch) -> None:
    """The second line of defence against reports of workers that do not have the attempt; no defect by itself."""
    patch.setattr(Coordinator, "_is_forged", lambda *_: False)


def time_runs_backwards(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decide, "_not_before", lambda _, now: now)


def retries_have_no_bound(patch: pytest.MonkeyPatch) -> None:
    def next_at(self: Retry, *, now: Micros, **_: object) -> Micros:
        return now + round(self.backoff_s[0] * 1_000_000)

    patch.setattr(Retry, "next_at", next_at)


def zombies_may_write(patch: pytest.MonkeyPatch) -> None:
    def exchange(
        self: SqliteDatabase, old: Keys, table: Table, rows: Sequence[Row], *, is_expected: bool
    ) -> Exchanged:
        self.delete(old.table, old.keys, by=old.by)
        return Exchanged([True] * len(rows), self.insert_new(table, rows))

    patch.setattr(SqliteDatabase, "exchange", exchange)


def the_clock_does_not_look_for_marks(patch: pytest.MonkeyPatch) -> None:
    def blind(self: Scheduler, record: Record, now: Micros) -> Event | None:
        return due_event(self._machine_of(record), record, now=now)

    patch.setattr(Scheduler, "_event", blind)


def the_clock_may_ring_too_soon(patch: pytest.MonkeyPatch) -> None:
    strict = decide._decide

    def hasty(machine: Anything, record: Record, event: Event, now: Micros) -> Anything:
        record = replace(record, due_at=0) if event.actor == "clock" else record
        return strict(machine, record, event, now)

    patch.setattr(decide, "_decide", hasty)


def the_clock_never_rings(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Scheduler, "_event", lambda *_: None)


def ignored_events_leave_no_trace(patch: pytest.MonkeyPatch) -> None:
    noted = coordinator._note
    patch.setattr(coordinator, "_note", lambda *given: replace(noted(*given), event_id="?"))


def keys_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "record_row", lambda record: record_row(replace(record, dedupe=None)))


def a_killed_unit_is_half_kept(patch: pytest.MonkeyPatch) -> None:
    def keep(self: SqliteDatabase) -> None:
        if self._connection.in_transaction:
            self._execute("COMMIT")

    patch.setattr(SqliteDatabase, "_undo", keep)


def handled_events_stay_in_the_inbox(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bus, "settle", lambda *_: None)


def effects_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Store, "_add_effects", lambda *_: None)


def the_last_comes_first(patch: pytest.MonkeyPatch) -> None:
    in_order = Store.waiting

    def waiting(self: Store, machine: str, stage: str, *, limit: int) -> list[Record]:
        return in_order(self, machine, stage, limit=100)[::-1][:limit]

    patch.setattr(Store, "waiting", waiting)


def lost_workers_keep_their_work(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Coordinator, "recover", lambda _: [])


def lost_work_goes_to_no_worker(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bus, "orphaned_work", lambda *_, **__: [])


def items_are_lost(patch: pytest.MonkeyPatch) -> None:
    whole = Outputs._complete

    def complete(
        self: Outputs, given: Sequence[Output], results: Sequence[Row], written: Sequence[bool]
    ) -> list[OutputSeal | None]:
        return whole(self, [Output(each.result) for each in given], results, written)

    patch.setattr(outputs.Outputs, "_complete", complete)


def fields_are_not_disclosed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decide, "_with_log", lambda record, _: record.fields)


def the_lanes_are_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        sqlite,
        "EXTEND_LANE",
        "UPDATE lanes SET count = count + ?, head = head || substr(?, 1, 0) WHERE lane = ?",
    )


def work_is_never_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Bus, "send", lambda *_, **__: None)


def work_is_redelivered_without_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dispatcher, "stop_reason", lambda *_: None)
    patch.setattr(worker, "stop_reason", lambda *_: None)


def one_death_is_a_failure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dispatcher, "stop_reason", lambda losses, _: "it died" if losses else None)


def outside_ids_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Store, "applied_event_ids", lambda *_: set())


def paused_stages_are_dispatched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Pauses, "ask_open_stages", lambda _, places: Known([(*place, True) for place in places])
    )


def error_codes_are_lost(patch: pytest.MonkeyPatch) -> None:
    whole = decide._fail
    patch.setattr(
        decide,
        "_fail",
        lambda machine, record, event, *rest: whole(
            machine, record, replace(event, error_code=None), *rest
        ),
    )


def fatal_failures_are_retried(patch: pytest.MonkeyPatch) -> None:
    whole = decide._arrive_failed
    patch.setattr(decide, "_arrive_failed", lambda *given, **_: whole(*given, is_retryable=True))


def an_upgrade_turns_time_back(patch: pytest.MonkeyPatch) -> None:
    whole = decide.upgrade
    patch.setattr(
        coordinator,
        "upgrade",
        lambda machine, record, *, now: whole(machine, replace(record, entered_at=0), now=now),
    )


def an_upgrade_leaves_old_work(patch: pytest.MonkeyPatch) -> None:
    whole = Coordinator._adopt

    def adopt(self: Coordinator, *given: Anything) -> int:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self._bus, "withdraw", lambda _: None)
            return whole(self, *given)

    patch.setattr(Coordinator, "_adopt", adopt)


def pending_decisions_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PendingDecisions, "due", lambda *_, **__: [])


def what_was_undone_is_decided(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reviews, "undo", lambda *_, **__: None)


def what_is_foreseen_knows_of_no_pause(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(foresight, "_NOTHING_IS_PAUSED", "TRUE")


def what_was_refused_stays_known(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(foresight.Foresight, "is_wrong", lambda self: self._is_used)


class Defect(NamedTuple):
    """What is broken, the laws that may tell of it, and the fault that brings it to light, if one does."""

    breaks: Breaks
    laws: set[str]
    fault: Fault | None = None


DEFECTS = [
    Defect(stale_events_count, {"E3"}, Fault.EVENTS_REORDERED),
    Defect(anybody_may_do_anything, {"A2", "E3"}, Fault.EVENT_FORGED),
    Defect(time_runs_backwards, {"S11"}, Fault.CLOCK_AHEAD),
    Defect(retries_have_no_bound, {"S7"}),
    Defect(zombies_may_write, {"E3"}, Fault.STOP_WORKER),
    Defect(the_clock_does_not_look_for_marks, {"O1"}, Fault.EVENT_LOST),
    Defect(the_clock_may_ring_too_soon, {"S10"}, Fault.CLOCK_AHEAD),
    Defect(the_clock_never_rings, {"S10", "V1"}),
    Defect(ignored_events_leave_no_trace, {"E2"}),
    Defect(keys_are_not_kept, {"E4"}, Fault.SUBMITTED_TWICE),
    Defect(a_killed_unit_is_half_kept, {"E2", "H3", "L3", "O1", "R1", "V1"}),
    Defect(handled_events_stay_in_the_inbox, {"E2"}),
    Defect(effects_are_forgotten, {"W4"}),
    Defect(the_last_comes_first, {"P1"}),
    Defect(lost_workers_keep_their_work, {"V1"}, Fault.KILL_WORKER),
    Defect(lost_work_goes_to_no_worker, {"V1"}, Fault.KILL_WORKER),
    Defect(items_are_lost, {"O1"}),
    Defect(fields_are_not_disclosed, {"D1"}),
    Defect(the_lanes_are_not_kept, {"H3"}),
    Defect(work_is_never_sent, {"E3", "S10", "V1"}),
    Defect(work_is_redelivered_without_end, {"B1"}, Fault.KILL_AGAIN),
    Defect(one_death_is_a_failure, {"B1"}, Fault.KILL_WORKER),
    Defect(outside_ids_are_forgotten, {"E1"}, Fault.SEQUENCED),
    Defect(paused_stages_are_dispatched, {"P2"}, Fault.PAUSED),
    Defect(what_is_foreseen_knows_of_no_pause, {"P2"}),
    Defect(what_was_refused_stays_known, {"V1"}),
    Defect(error_codes_are_lost, {"C1"}),
    Defect(fatal_failures_are_retried, {"S12"}),
    Defect(an_upgrade_turns_time_back, {"S11"}, Fault.UPGRADED),
    Defect(an_upgrade_leaves_old_work, {"U1"}, Fault.UPGRADED),
    Defect(pending_decisions_are_forgotten, {"N1", "V1"}),
    Defect(what_was_undone_is_decided, {"N1"}),
    Defect(upkeep_defects.erased_items_stay, {"G1"}),
    Defect(upkeep_defects.erased_search_entries_stay, {"G1"}),
    Defect(upkeep_defects.erased_messages_to_others_stay, {"G1"}),
    Defect(upkeep_defects.erased_notes_stay, {"G1"}),
    Defect(upkeep_defects.erased_labels_stay, {"G1"}),
    Defect(upkeep_defects.erased_documents_lie_there, {"G1"}),
    Defect(upkeep_defects.an_erasure_breaks_the_seals, {"H1"}),
    Defect(upkeep_defects.an_erasure_makes_the_history_anew, {"G2"}),
    Defect(upkeep_defects.holds_are_not_asked_for, {"G3"}),
    Defect(upkeep_defects.retention_forgets_the_age, {"G4"}),
    Defect(upkeep_defects.retention_takes_every_status, {"G4"}),
    Defect(upkeep_defects.retention_takes_every_kind, {"G4"}),
    Defect(upkeep_defects.what_is_under_way_is_erased, {"G4"}),
    Defect(upkeep_defects.one_approval_is_enough, {"M1"}),
    Defect(upkeep_defects.one_person_counts_twice, {"M1"}),
    Defect(upkeep_defects.submitters_accept_their_own, {"M1"}),
]


@pytest.mark.long
@pytest.mark.parametrize("defect", DEFECTS, ids=[each.breaks.__name__ for each in DEFECTS])
def test_a_defect_in_the_engine_is_found(defect: Defect, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena()
    wanted = [seed for seed in range(SEEDS_MAX) if defect.fault in (None, plan_of(seed).aim.fault)]

    defect.breaks(monkeypatch)

    for seed in wanted:
        found = {violation.law for violation in simulate(seed, arena).violations}
        if found & defect.laws:
            return
    pytest.fail(f"{len(wanted)} histories did not find that {defect.breaks.__name__}")
