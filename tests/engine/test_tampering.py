"""Rewritings of a history, from one cell to the whole database: what finds each of them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from stateward.core.chain import GENESIS, commitment
from stateward.core.output_seal import OUTPUT_DIGEST
from stateward.ledger.history_checkpoint import read_checkpoint
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.outputs import AttemptResult, Output
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.storage.store import DeadLetter, Pause
from stateward.testing.rig import START, Rig
from tests.docs.pages import DOCS
from tests.engine.forger import Edit, Forger, nothing

SHADOWS = ("sqlite_", "search_index_")  # tables that SQLite makes for itself
ALONE, CHECKPOINT = "`verify`", "`verify --checkpoint`"
UNSEALED, ROWS, RECORDS, ALL = (
    "nothing", "its own hash", "the chains of records", "the whole database",
)  # fmt: skip
SEALS: dict[str, Edit] = {
    UNSEALED: nothing,
    ROWS: Forger.seal_rows,
    RECORDS: Forger.seal_records,
    ALL: Forger.seal_all,
}


class Rewriting(NamedTuple):
    """What is changed, what is computed anew, what finds it, and the checks that say so."""

    what: str
    edit: Edit
    sealed: str
    found_by: str
    checks: set[str]


def cut_the_end(forger: Forger) -> None:
    del forger.log[-1]


def cut_a_record(forger: Forger) -> None:
    gone = forger.records.popitem()[0]
    forger.log = [each for each in forger.log if each.record_id != gone]


def swap(forger: Forger) -> None:
    """Of two records: the order of one record's own transitions is in its chain."""
    log = forger.log
    here = next(n for n, each in enumerate(log) if each.record_id != log[n + 1].record_id)
    log[here], log[here + 1] = log[here + 1], log[here]


def double(forger: Forger) -> None:
    """A second record with the history of the first."""
    id_, record = next(iter(forger.records.items()))
    forger.records["UL_forged"] = replace(record, id="UL_forged")
    own = [each for each in forger.log if each.record_id == id_]
    for each in own:
        forger.log.append(each)
        forger.move(-1, record_id="UL_forged", event_id=f"forged:{each.version}:x")


def empty(forger: Forger) -> None:
    forger.log.clear()
    forger.records.clear()


def rename(forger: Forger) -> None:
    for place, each in enumerate(forger.log):
        forger.move(place, actor="person:eve" if each.actor.startswith("person:") else each.actor)


def relabel(forger: Forger) -> None:
    for id_ in list(forger.records)[:-1]:
        forger.records[id_] = replace(forger.records[id_], labels={"by": "eve"})


def shift(forger: Forger) -> None:
    for place, each in enumerate(forger.log):
        forger.move(place, at=each.at + 1)


def actor(forger: Forger) -> None:
    forger.move(0, actor="person:eve")


def reason(forger: Forger) -> None:
    forger.move(-1, metadata={"reason": "another"})


def time(forger: Forger) -> None:
    forger.move(-1, at=forger.log[-1].at + 1)


def label(forger: Forger) -> None:
    forger.record(labels={"by": "eve"})


def document(forger: Forger) -> None:
    forger.record(artifact="b" * 64)


def field(forger: Forger) -> None:
    forger.record(fields={"total": 1})


def one_lane(forger: Forger) -> None:
    forger.seal_all(lanes=1)


def head(forger: Forger) -> None:
    forger.lanes[0] = replace(forger.lanes[0], head="f" * 64)


def fewer(forger: Forger) -> None:
    del forger.lanes[-1]


# ruff: noqa: S608 - the statements are made of constants
_FIRST = "WHERE record_id = (SELECT min(record_id) FROM item_chunks)"


def item(forger: Forger) -> None:
    forger.run(f"""UPDATE item_chunks SET data = '[{{"n":7}}]' {_FIRST}""")


def items_gone(forger: Forger) -> None:
    forger.run(f"DELETE FROM item_chunks {_FIRST}")


def items_doubled(forger: Forger) -> None:
    forger.run(
        "INSERT INTO item_chunks (record_id, version, chunk, count, data)"
        f" SELECT record_id, version, chunk + 1, count, data FROM item_chunks {_FIRST}"
    )


def item_sealed(forger: Forger) -> None:
    """Also the digest in the transition fits again."""
    first = min(each.record_id for each in forger.log)
    for place, each in enumerate(forger.log):
        if each.record_id == first and OUTPUT_DIGEST in each.metadata:
            digest = forger.output_digest(first, each.version - 1, count=1, data='[{"n":7}]')
            forger.move(place, metadata={**each.metadata, OUTPUT_DIGEST: digest})


def log(forger: Forger) -> None:
    forger.run(f"UPDATE outputs SET log = 'all was well' {_FIRST}")


def result(forger: Forger) -> None:
    forger.run(f"UPDATE outputs SET count = 7 {_FIRST}")


def result_gone(forger: Forger) -> None:
    forger.run(f"DELETE FROM outputs {_FIRST}")


def file(forger: Forger) -> None:
    forger.run(
        "INSERT INTO derived_files (record_id, version, name, number, stage, media_type, size, sha256)"
        f" SELECT record_id, version, 'a.txt', 0, stage, 'text/plain', 1, 'f' FROM outputs {_FIRST}"
    )


def result_invented(forger: Forger) -> None:
    """Of an attempt that never ran: at the version in which the record waited for it."""
    columns = (
        "stage, outcome, count, facts, error_code, error_message, is_retryable, worker, at, log"
    )
    forger.run(
        f"INSERT INTO outputs (record_id, version, {columns}) SELECT record_id, 0, {columns} FROM outputs"
        f" {_FIRST} LIMIT 1"
    )


def definition(forger: Forger) -> None:
    forger.run("UPDATE machines SET document = replace(document, '120', '121')")


def machine_invented(forger: Forger) -> None:
    forger.run(
        "INSERT INTO machines SELECT name, version + 9, digest, document, at FROM machines LIMIT 1"
    )


def event(forger: Forger) -> None:
    forger.run("UPDATE dispositions SET actor = 'person:eve'")


def event_gone(forger: Forger) -> None:
    forger.run("DELETE FROM dispositions")


_DISPOSITION = "event_id, event_type, record_id, version, actor, reason, detail, at, salt"


def event_doubled(forger: Forger) -> None:
    forger.run(f"INSERT INTO dispositions ({_DISPOSITION}) SELECT {_DISPOSITION} FROM dispositions")


def event_sealed(forger: Forger) -> None:
    """It and its seal are gone, and the audit log is written anew."""
    forger.run("DELETE FROM dispositions")
    forger.rewrite_audit(without="dispositions")


def letter(forger: Forger) -> None:
    forger.run("UPDATE dead_letters SET body = 'another'")


def letter_gone(forger: Forger) -> None:
    forger.run("DELETE FROM dead_letters")


def letter_invented(forger: Forger) -> None:
    forger.run("INSERT INTO dead_letters (kind, body, reason, at) VALUES ('event', 'a', 'b', 1)")


def edition(forger: Forger) -> None:
    forger.run("""UPDATE item_chunks SET data = '[{"n":7}]' WHERE version < 0""")


def edition_gone(forger: Forger) -> None:
    forger.run("DELETE FROM outputs WHERE version < 0")


def edition_doubled(forger: Forger) -> None:
    columns = (
        "stage, worker, at, outcome, count, facts, error_code, error_message, is_retryable, log"
    )
    forger.run(
        f"INSERT INTO outputs (record_id, version, {columns})"
        f" SELECT record_id, version - 1, {columns} FROM outputs WHERE version < 0"
    )


def act_sealed(forger: Forger) -> None:
    """The audit log is written anew, by someone else."""
    forger.rewrite_audit("person:eve")


def act(forger: Forger) -> None:
    forger.run("UPDATE audit_log SET actor = 'person:eve' WHERE seq = 1")


def act_invented(forger: Forger) -> None:
    """It has no place in the chain, and lists of the audit log would show it all the same."""
    forger.run(
        "INSERT INTO audit_log (at, actor, verb, record_id, detail, reason)"
        " SELECT at, 'person:eve', 'exported', '', '{}', NULL FROM audit_log WHERE seq = 1"
    )


def hold_invented(forger: Forger) -> None:
    forger.run("INSERT INTO holds VALUES ('U0', 9, 'person:eve', 'case 12')")


def decision_invented(forger: Forger) -> None:
    forger.run("INSERT INTO flag_decisions VALUES ('U0', 3, 'person:eve', 'confirm', NULL, 9)")


def key_invented(forger: Forger) -> None:
    forger.run(
        "INSERT INTO api_keys (id, name, role, pipelines, secret_hash, created_at, created_by)"
        f" VALUES ('k', 'eve', 'admin', '[]', 'x', {START * 2}, 'person:ann')"
    )


def pause_gone(forger: Forger) -> None:
    forger.run("DELETE FROM pauses")


def webhook_invented(forger: Forger) -> None:
    forger.run(
        "INSERT INTO webhooks VALUES"
        " ('w', 'https://example.org', '[\"*\"]', 'standard', 's', NULL, NULL, 1, NULL, 'person:ann', 9, 0, 0)"
    )


def worker_invented(forger: Forger) -> None:
    forger.run("INSERT INTO worker_keys VALUES ('w', 'eve', '[]', 's', 9, 'person:ann', NULL)")


def pending_invented(forger: Forger) -> None:
    forger.run(
        "INSERT INTO pending_decisions VALUES ('U0', 3, 'person:ann', 'approve', '{}', 9, 9)"
    )


def link_invented(forger: Forger) -> None:
    forger.run(
        "INSERT INTO review_links VALUES"
        " ('l', 's', 'U0', 'upload', 3, 'eve', 9, 'person:ann', '', 9, NULL, NULL)"
    )


def acknowledged(forger: Forger) -> None:
    forger.run("INSERT INTO acknowledged VALUES ('upload', 'x', 9, 'person:ann', NULL)")


def items_of_nothing(forger: Forger) -> None:
    forger.run("INSERT INTO item_chunks VALUES ('UL_000001', 99, 0, 1, '[{\"n\":7}]')")


def items_moved(forger: Forger) -> None:
    """To numbers with a gap before them: a reader of many chunks, who asks by number, would get some of them twice."""
    forger.run(f"UPDATE item_chunks SET chunk = chunk + 5 {_FIRST}")


def file_of_nothing(forger: Forger) -> None:
    forger.run(
        "INSERT INTO derived_files VALUES ('UL_000001', 99, 'a.txt', 0, 'parse', 'text/plain', 1, 'f')"
    )


def result_beyond(forger: Forger) -> None:
    """A record that has ended gets one more."""
    _copy_output(forger, "99")


def result_at_end(forger: Forger) -> None:
    _copy_output(forger, "(SELECT version FROM records r WHERE r.id = outputs.record_id)")


def result_of_loss(forger: Forger) -> None:
    """Of the attempt that was cancelled: it ran, and no runner told of its end."""
    _copy_output(forger, "1", to="(SELECT id FROM records WHERE status = 'error')")


def _copy_output(forger: Forger, version: str, *, to: str = "record_id") -> None:
    columns = (
        "stage, outcome, count, facts, error_code, error_message, is_retryable, worker, at, log"
    )
    forger.later(
        f"INSERT INTO outputs (record_id, version, {columns}) SELECT {to}, {version}, {columns} FROM outputs"
        f" {_FIRST} LIMIT 1"
    )


def numbers(forger: Forger) -> None:
    """All by the same distance; negative first, because they are unique at each step."""
    forger.later("UPDATE transitions SET seq = -seq - 7")
    forger.later("UPDATE transitions SET seq = -seq")


def number_of_last(forger: Forger) -> None:
    forger.later(
        "UPDATE transitions SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM transitions)"
    )


def tree_planted(forger: Forger) -> None:
    """Behind the end of the log: it would be believed when the log has grown that far."""
    forger.run(f"INSERT INTO history_tree VALUES (0, 8, 0, 256, '{'f' * 64}')")


def tree_of_nothing(forger: Forger) -> None:
    forger.run(f"INSERT INTO history_tree VALUES (77, 8, 0, 256, '{'f' * 64}')")


def epoch_risen(forger: Forger) -> None:
    forger.lanes = [replace(each, epoch=each.epoch + 1) for each in forger.lanes]


def epoch_fallen(forger: Forger) -> None:
    forger.lanes = [replace(each, epoch=each.epoch - 1) for each in forger.lanes]


def epoch_of_one(forger: Forger) -> None:
    forger.lanes[0] = replace(forger.lanes[0], epoch=forger.lanes[0].epoch + 1)


def act_behind_head(forger: Forger) -> None:
    """With a place in the chain that the head does not count yet: as if it had just been added."""
    forger.run(
        "INSERT INTO audit_log (at, actor, verb, record_id, detail, reason, seq, hash)"
        " SELECT at, 'person:eve', 'exported', '', '{}', NULL, (SELECT max(seq) + 1 FROM audit_log), hash"
        " FROM audit_log WHERE seq = 1"
    )


def acts_swapped(forger: Forger) -> None:
    """Their numbers only, which are in no hash: of two acts that contradict each other the later one counts."""
    forger.run("UPDATE audit_log SET id = -1 WHERE seq = 1")
    forger.run(
        "UPDATE audit_log SET id = (SELECT id FROM audit_log b WHERE b.seq = 2) - 1000000 WHERE seq = 3"
    )


def act_cut(forger: Forger) -> None:
    forger.run("DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)")


def act_cut_with_head(forger: Forger) -> None:
    """The last act and its count: the head is that of the entry before."""
    forger.run("DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)")
    forger.run(
        "UPDATE audit_head SET count = count - 1,"
        " hash = (SELECT hash FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log))"
    )


def salt_of_transition(forger: Forger) -> None:
    forger.move(0, salt="0" * 32)


def salt_of_event(forger: Forger) -> None:
    forger.run("UPDATE dispositions SET salt = '0'")


def erased_words(forger: Forger) -> None:
    """As if a person had asked for it: the commitment stays, and no transition says who erased it."""
    each = forger.log[-1]
    forger.move(-1, metadata={"erased": commitment(each.metadata, each.salt)}, salt=None)


def retries(forger: Forger) -> None:
    forger.record(retry_count=2)


def machine_of_record(forger: Forger) -> None:
    forger.record(machine_version=9)


def output_of_record(forger: Forger) -> None:
    """Which attempt counts."""
    forger.record(outputs={})


def status(forger: Forger) -> None:
    forger.record(status="error")


def pause_of_another(forger: Forger) -> None:
    forger.run("UPDATE pauses SET actor = 'person:eve'")


def hash_as_text(forger: Forger) -> None:
    """The same number in other letters."""
    forger.move(0, hash=forger.log[0].hash.upper())


def priority(forger: Forger) -> None:
    forger.record(priority=10)


def since(forger: Forger) -> None:
    forger.lanes[0] = replace(forger.lanes[0], since=0)


REWRITINGS = [
    Rewriting("who made a transition", actor, UNSEALED, ALONE, {"hash"}),
    Rewriting("who made a transition", actor, ROWS, ALONE, {"chain", "lane"}),
    Rewriting("who made a transition", actor, RECORDS, ALONE, {"lane"}),
    Rewriting("who made a transition", actor, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("why a transition was made", reason, UNSEALED, ALONE, {"hash"}),
    Rewriting("why a transition was made", reason, ROWS, ALONE, {"chain", "lane"}),
    Rewriting("why a transition was made", reason, RECORDS, ALONE, {"lane"}),
    Rewriting("why a transition was made", reason, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("when a transition was made", time, UNSEALED, ALONE, {"hash"}),
    Rewriting("when a transition was made", time, RECORDS, ALONE, {"lane"}),
    Rewriting("when a transition was made", time, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("a label of a record", label, UNSEALED, ALONE, {"record"}),
    Rewriting("a label of a record", label, RECORDS, ALONE, {"lane"}),
    Rewriting("a label of a record", label, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("which document a record is of", document, UNSEALED, ALONE, {"record"}),
    Rewriting("which document a record is of", document, RECORDS, ALONE, {"lane"}),
    Rewriting("which document a record is of", document, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("a fact about a record", field, UNSEALED, ALONE, {"record"}),
    Rewriting("a fact about a record", field, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("the last transition is cut off", cut_the_end, UNSEALED, ALONE, {"lane", "status"}),
    Rewriting("the last transition is cut off", cut_the_end, ALL, ALONE, {"status"}),
    Rewriting("a record disappears", cut_a_record, UNSEALED, ALONE, {"lane"}),
    Rewriting("a record disappears", cut_a_record, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("a record is invented", double, RECORDS, ALONE, {"lane"}),
    Rewriting("two commits change places", swap, UNSEALED, ALONE, {"lane"}),
    Rewriting("two commits change places", swap, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("every person's name", rename, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("the labels of all records but one", relabel, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("every time", shift, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("everything is deleted", empty, UNSEALED, ALONE, {"lane"}),
    Rewriting("everything is deleted", empty, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("the head of a lane", head, UNSEALED, ALONE, {"lane"}),
    Rewriting("a lane is deleted", fewer, UNSEALED, ALONE, {"lane"}),
    Rewriting("the lanes become one", one_lane, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("an item that a stage produced", item, UNSEALED, ALONE, {"output"}),
    Rewriting("an item that a stage produced", item_sealed, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("items are deleted", items_gone, UNSEALED, ALONE, {"output"}),
    Rewriting("items are doubled", items_doubled, UNSEALED, ALONE, {"output"}),
    Rewriting("a derived file is added", file, UNSEALED, ALONE, {"output"}),
    Rewriting("the log of an attempt", log, UNSEALED, ALONE, {"log"}),
    Rewriting("the result of an attempt", result, UNSEALED, ALONE, {"output"}),
    Rewriting("the result of an attempt is deleted", result_gone, UNSEALED, ALONE, {"output"}),
    Rewriting("the result of an attempt is invented", result_invented, UNSEALED, ALONE, {"output"}),
    Rewriting("the definition of a machine", definition, UNSEALED, ALONE, {"machine"}),
    Rewriting("a machine is invented", machine_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an event that changed nothing", event, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an event that changed nothing is deleted", event_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting(
        "an event that changed nothing is doubled", event_doubled, UNSEALED, ALONE, {"sealed"}
    ),
    Rewriting("an event that changed nothing is deleted", event_sealed, ALL, CHECKPOINT, {"audit"}),
    Rewriting("a dead letter", letter, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a dead letter is deleted", letter_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a dead letter is invented", letter_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an edition of items", edition, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an edition is deleted", edition_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an edition is invented", edition_doubled, UNSEALED, ALONE, {"sealed"}),
    Rewriting("who did an administrative act", act, UNSEALED, ALONE, {"audit"}),
    Rewriting("who did an administrative act", act_sealed, ALL, CHECKPOINT, {"audit"}),
    Rewriting("an administrative act is invented", act_invented, UNSEALED, ALONE, {"audit"}),
    Rewriting("a hold is invented", hold_invented, UNSEALED, ALONE, {"act"}),
    Rewriting("a decision about flags is invented", decision_invented, UNSEALED, ALONE, {"act"}),
    Rewriting("a key of the API is invented", key_invented, UNSEALED, ALONE, {"act"}),
    Rewriting("the priority of a record", priority, UNSEALED, ALONE, {"act"}),
    Rewriting("a pause is deleted", pause_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a pause is deleted", pause_gone, ALL, CHECKPOINT, {"audit"}),
    Rewriting("a webhook is invented", webhook_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a credential of a worker is invented", worker_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a pending decision is invented", pending_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an approver link is invented", link_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an acknowledgement is invented", acknowledged, UNSEALED, ALONE, {"sealed"}),
    Rewriting("from when on there are lanes", since, UNSEALED, ALONE, {"sealed"}),
    Rewriting("items of no output are planted", items_of_nothing, UNSEALED, ALONE, {"output"}),
    Rewriting("the numbers of chunks", items_moved, UNSEALED, ALONE, {"output"}),
    Rewriting("a file of no output is planted", file_of_nothing, UNSEALED, ALONE, {"output"}),
    Rewriting(
        "a result beyond the record's version is planted",
        result_beyond,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting("a result of an ended record is planted", result_at_end, UNSEALED, ALONE, {"output"}),
    Rewriting(
        "a result of a cancelled attempt is planted", result_of_loss, UNSEALED, ALONE, {"output"}
    ),
    Rewriting("the numbers of the log, by one distance", numbers, UNSEALED, ALONE, {"order"}),
    Rewriting("the number of the last transition", number_of_last, UNSEALED, ALONE, {"order"}),
    Rewriting("a hash of a tree is planted", tree_planted, UNSEALED, ALONE, {"tree"}),
    Rewriting("a hash of no tree is planted", tree_of_nothing, UNSEALED, ALONE, {"tree"}),
    Rewriting("the epoch of all lanes rises", epoch_risen, UNSEALED, ALONE, {"epoch"}),
    Rewriting("the epoch of all lanes falls", epoch_fallen, UNSEALED, ALONE, {"epoch"}),
    Rewriting("the epoch of one lane", epoch_of_one, UNSEALED, ALONE, {"epoch"}),
    Rewriting("an act is planted behind the head", act_behind_head, UNSEALED, ALONE, {"audit"}),
    Rewriting("the order of two acts", acts_swapped, UNSEALED, ALONE, {"audit"}),
    Rewriting("the last act is cut off", act_cut, UNSEALED, ALONE, {"audit"}),
    Rewriting("the last act is cut off", act_cut_with_head, ALL, CHECKPOINT, {"audit"}),
    Rewriting("the salt of a transition", salt_of_transition, UNSEALED, ALONE, {"hash"}),
    Rewriting("the salt of an event", salt_of_event, UNSEALED, ALONE, {"sealed"}),
    Rewriting("words are erased by no one", erased_words, UNSEALED, ALONE, {"erased"}),
    Rewriting("how often a record was retried", retries, UNSEALED, ALONE, {"record"}),
    Rewriting("which machine a record follows", machine_of_record, UNSEALED, ALONE, {"record"}),
    Rewriting("which attempts of a record count", output_of_record, UNSEALED, ALONE, {"record"}),
    Rewriting("the status of a record", status, UNSEALED, ALONE, {"record", "status"}),
    Rewriting("who paused a stage", pause_of_another, UNSEALED, ALONE, {"sealed"}),
    Rewriting("the letters of a hash", hash_as_text, UNSEALED, ALONE, {"hash"}),
]


@pytest.fixture
def rig() -> Iterator[Rig]:
    database = SqliteDatabase(MEMORY)
    made = Rig(database, [UPLOAD, CONTRACT])
    made.store.make_lanes(3, now=1)
    made.store.seal_former_rows(now=1)
    made.store.begin_epoch(now=1)
    made.worker()
    opened = [
        made.open(labels={"number": number}, artifact=f"{number}" * 64) for number in range(6)
    ]
    last = opened[-1]
    made.run()
    made.store.begin_epoch(now=2)
    cancelled = made.open(labels={"number": 6}, artifact="6" * 64)
    made.settle()
    made.ask("cancel.requested", cancelled)
    made.ask("retry.requested", last)  # nothing failed, so it changes nothing
    made.store.add_dead_letters([DeadLetter(kind="event", body="?", reason="not an event", at=7)])
    result = AttemptResult(record_id=last.id, version=-1, stage="parse", worker="w", at=8, count=1)
    made.outputs.write([Output(result, [(1, '[{"n":1}]')])])
    made.store.pause(Pause(machine="upload", stage="parse", at=9, actor="person:ann", reason=None))
    yield made
    database.close()


@pytest.mark.parametrize("rewriting", REWRITINGS, ids=lambda it: f"{it.what}, {it.sealed}")
def test_a_rewriting_is_found(rig: Rig, rewriting: Rewriting) -> None:
    kept = read_checkpoint(rig.verify().checkpoint)
    forger = Forger(rig)
    rewriting.edit(forger)
    if rewriting.edit is not one_lane:
        SEALS[rewriting.sealed](forger)
    forger.write()

    alone, with_checkpoint = rig.verify(), rig.verify(kept)

    assert alone.is_sound == (rewriting.found_by == CHECKPOINT)
    found = with_checkpoint if alone.is_sound else alone
    assert rewriting.checks <= {each.check for each in found.findings}
    assert not with_checkpoint.is_sound


def test_an_older_copy_is_found_by_a_checkpoint_that_is_newer(rig: Rig) -> None:
    backup = Forger(rig)
    older = read_checkpoint(rig.verify().checkpoint)
    rig.open()
    newer = read_checkpoint(rig.verify(older).checkpoint)
    backup.write()

    assert rig.verify().is_sound
    assert rig.verify(older).is_sound
    (finding,) = rig.verify(newer).findings
    assert "or this is an older copy" in finding.sentence


def test_an_older_copy_that_went_another_way_is_found(rig: Rig) -> None:
    backup = Forger(rig)
    rig.open(labels={"way": "one"})
    kept = read_checkpoint(rig.verify().checkpoint)
    backup.write()
    for _ in range(9):
        rig.open(labels={"way": "other"})

    assert rig.verify().is_sound
    assert {each.check for each in rig.verify(kept).findings} == {"checkpoint"}


def test_rows_of_a_former_version_are_sealed_once(rig: Rig) -> None:
    database = rig.database
    database.run("DELETE FROM audit_log")
    database.run("UPDATE audit_head SET count = 0, hash = :none", none=GENESIS)
    database.run("UPDATE dispositions SET salt = NULL")
    database.run("DELETE FROM machines")
    assert {each.check for each in rig.verify().findings} >= {"sealed"}

    rig.store.seal_former_rows(now=START)
    assert "sealed" not in {each.check for each in rig.verify().findings}

    database.run("UPDATE dispositions SET actor = 'person:eve'")
    rig.store.seal_former_rows(now=START)
    assert "sealed" in {each.check for each in rig.verify().findings}


def test_a_history_that_has_grown_is_that_of_its_checkpoint(rig: Rig) -> None:
    kept = [read_checkpoint(rig.verify().checkpoint)]
    for _ in range(3):
        rig.open()
        rig.run()
        kept.append(read_checkpoint(rig.verify().checkpoint))

    assert all(rig.verify(each).is_sound for each in kept)
    assert len({each.root for each in kept}) == len(kept)


def test_the_page_says_of_every_table_whether_it_is_proved(rig: Rig) -> None:
    page = (DOCS / "how-to" / "prove-what-happened.md").read_text("utf-8")
    listed = re.findall(r"`([a-z_]+)`", page.partition("### Table by table")[2])

    stored = rig.database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = {str(name) for (name,) in stored if not str(name).startswith(SHADOWS)}

    assert len(listed) == len(set(listed))
    assert set(listed) == names - {"schema_version"}


def test_the_page_shows_what_finds_each_rewriting() -> None:
    page = (DOCS / "how-to" / "prove-what-happened.md").read_text("utf-8")
    rows = [f"| {each.what} | {each.sealed} | {each.found_by} |" for each in REWRITINGS]

    assert [row for row in rows if row not in page] == []
