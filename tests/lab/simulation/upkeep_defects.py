"""Defects of erasure, holds, retention and approvals, to be put into the engine."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.app.retention import Retention
from stateward.core import decide
from stateward.core.approvals import approvals_of, person_of
from stateward.core.chain import GENESIS, transition_hash
from stateward.core.erasure import KINDS
from stateward.core.erasure import erase as erase_record
from stateward.core.lanes import LaneRouter, extend
from stateward.core.model import Fields, Micros, Record
from stateward.engine import erasure as eraser
from stateward.engine.reviewers import Reviewers
from stateward.engine.reviews import Reviews
from stateward.storage import erasure as storage
from stateward.storage.database import Database
from stateward.storage.erasure import Erasures
from stateward.storage.store import Store

Anything = Any


def _leaves(patch: pytest.MonkeyPatch, *tables: str) -> None:
    left = {kind: [t for t in own if t not in tables] for kind, own in storage._ROWS.items()}
    patch.setattr(storage, "_ROWS", left)


def erased_items_stay(patch: pytest.MonkeyPatch) -> None:
    _leaves(patch, "item_chunks")


def erased_search_entries_stay(patch: pytest.MonkeyPatch) -> None:
    _leaves(patch, "search_texts")


def erased_messages_to_others_stay(patch: pytest.MonkeyPatch) -> None:
    _leaves(patch, "deliveries")


def erased_notes_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Erasures, "_erase_metadata", lambda *_: None)


def erased_labels_stay(patch: pytest.MonkeyPatch) -> None:
    whole = erase_record

    def erase(machine: Anything, record: Record, **given: Anything) -> Anything:
        decision = whole(machine, record, **given)
        if not hasattr(decision, "change"):
            return decision
        named = replace(decision.change.record, error_message=str(record.labels.get("filename")))
        return replace(decision, change=replace(decision.change, record=named))

    patch.setattr(eraser, "erase", erase)


def erased_documents_lie_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Erasures, "artifacts_of", lambda *_: set())


def an_erasure_breaks_the_seals(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(storage, "commitment", lambda metadata, _: "0" * 64)


def holds_are_not_asked_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Erasures, "holds", lambda *_: {})


def retention_forgets_the_age(patch: pytest.MonkeyPatch) -> None:
    whole = Erasures.old

    def old(self: Erasures, *, before: Micros, **given: Anything) -> list[str]:
        return whole(self, before=before * 2, **given)

    patch.setattr(Erasures, "old", old)


def retention_takes_every_status(patch: pytest.MonkeyPatch) -> None:
    whole = Retention._statuses
    patch.setattr(Retention, "_statuses", lambda self, rule: whole(self, replace(rule, status="*")))


def retention_takes_every_kind(patch: pytest.MonkeyPatch) -> None:
    whole = Erasures.delete

    def delete(
        self: Erasures, record_ids: Sequence[str], kinds: Collection[str], *, at: Micros
    ) -> None:
        whole(
            self, record_ids, [each for each in KINDS if each != "contents" or each in kinds], at=at
        )

    patch.setattr(Erasures, "delete", delete)


def what_is_under_way_is_erased(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("stateward.core.erasure._is_moving", lambda _: False)


def one_approval_is_enough(patch: pytest.MonkeyPatch) -> None:
    def once(_: Record, event: Anything, review: Anything) -> list[Fields]:
        return [{"by": person_of(event.actor), "answer": "approved"}] * int(review.approvals)

    patch.setattr(decide, "with_approval", once)


def one_person_counts_twice(patch: pytest.MonkeyPatch) -> None:
    def again(record: Record, event: Anything, _: object) -> list[Fields]:
        given = approvals_of(record)
        return [*given, {"by": person_of(event.actor), "answer": "approved"}]

    patch.setattr(decide, "with_approval", again)
    patch.setattr(Reviewers, "check_second", lambda *_: None)


def submitters_accept_their_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reviews, "_is_own", lambda *_: False)


def an_erasure_makes_the_history_anew(patch: pytest.MonkeyPatch) -> None:
    """Names of people are taken out of it, and all hashes are made to fit: only a checkpoint from before can tell."""
    whole = Erasures.delete

    def delete(self: Erasures, record_ids: Sequence[str], *given: Anything, at: Micros) -> None:
        whole(self, record_ids, *given, at=at)
        self._database.flush()
        for record_id in record_ids:
            _rehash(self._database, record_id)
        _relane(self._database)

    patch.setattr(Erasures, "delete", delete)


def _rehash(database: Database, record_id: str) -> None:
    head = GENESIS
    for each in Store(database).history(record_id):
        is_named = each.trigger == "record.erased"
        forged = replace(each, prev_hash=head, actor=each.actor if is_named else "person:erased")
        head = transition_hash(forged)
        database.run(
            "UPDATE transitions SET actor = :actor, prev_hash = :prev, hash = :hash WHERE seq = :seq",
            actor=forged.actor, prev=forged.prev_hash, hash=head, seq=each.seq,
        )  # fmt: skip
    database.run("UPDATE records SET head = :head WHERE id = :id", head=head, id=record_id)


def _relane(database: Database) -> None:
    store = Store(database)
    router = LaneRouter(store.lanes.all())
    heads = {each.lane: GENESIS for each in store.lanes.all()}
    for each in store.log.read(limit=100_000):
        lane = router.lane(each.record_id, each.seq)
        heads[lane] = extend(heads[lane], (each.hash,))
    for lane, head in heads.items():
        database.run("UPDATE lanes SET head = :head WHERE lane = :lane", head=head, lane=lane)
