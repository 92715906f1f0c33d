"""Edits of a history by someone who has the database: one cell, a row, a table, or all of it."""

from msgspec.structs import replace

from stateward.core.chain import commitment
from stateward.core.output_seal import OUTPUT_DIGEST
from stateward.testing.rig import START
from tests.engine.forger import Forger


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
    """With the results of all attempts, which would be those of no record."""
    forger.log.clear()
    forger.records.clear()
    for table in ("outputs", "item_chunks"):
        forger.run(f"DELETE FROM {table}")


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
FIRST = "WHERE record_id = (SELECT min(record_id) FROM item_chunks)"


def item(forger: Forger) -> None:
    forger.run(f"""UPDATE item_chunks SET data = '[{{"n":7}}]' {FIRST}""")


def items_gone(forger: Forger) -> None:
    forger.run(f"DELETE FROM item_chunks {FIRST}")


def items_doubled(forger: Forger) -> None:
    forger.run(
        "INSERT INTO item_chunks (record_id, version, chunk, count, data)"
        f" SELECT record_id, version, chunk + 1, count, data FROM item_chunks {FIRST}"
    )


def item_sealed(forger: Forger) -> None:
    """Also the digest in the transition fits again."""
    first = min(each.record_id for each in forger.log)
    for place, each in enumerate(forger.log):
        if each.record_id == first and OUTPUT_DIGEST in each.metadata:
            digest = forger.output_digest(first, each.version - 1, count=1, data='[{"n":7}]')
            forger.move(place, metadata={**each.metadata, OUTPUT_DIGEST: digest})


def log(forger: Forger) -> None:
    forger.run(f"UPDATE outputs SET log = 'all was well' {FIRST}")


def result(forger: Forger) -> None:
    forger.run(f"UPDATE outputs SET count = 7 {FIRST}")


def result_gone(forger: Forger) -> None:
    forger.run(f"DELETE FROM outputs {FIRST}")


def file(forger: Forger) -> None:
    forger.run(
        "INSERT INTO derived_files (record_id, version, name, number, stage, media_type, size, sha256)"
        f" SELECT record_id, version, 'a.txt', 0, stage, 'text/plain', 1, 'f' FROM outputs {FIRST}"
    )


def result_invented(forger: Forger) -> None:
    """Of an attempt that never ran: at the version in which the record waited for it."""
    columns = (
        "stage, outcome, count, facts, error_code, error_message, is_retryable, worker, at, log"
    )
    forger.run(
        f"INSERT INTO outputs (record_id, version, {columns}) SELECT record_id, 0, {columns} FROM outputs"
        f" {FIRST} LIMIT 1"
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


DISPOSITION = "event_id, event_type, record_id, version, actor, reason, detail, at, salt"


def event_doubled(forger: Forger) -> None:
    forger.run(f"INSERT INTO dispositions ({DISPOSITION}) SELECT {DISPOSITION} FROM dispositions")


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
    forger.run(f"UPDATE item_chunks SET chunk = chunk + 5 {FIRST}")


def file_of_nothing(forger: Forger) -> None:
    forger.run(
        "INSERT INTO derived_files VALUES ('UL_000001', 99, 'a.txt', 0, 'parse', 'text/plain', 1, 'f')"
    )


def result_beyond(forger: Forger) -> None:
    """A record that has ended gets one more."""
    copy_output(forger, "99")


def result_at_end(forger: Forger) -> None:
    copy_output(forger, "(SELECT version FROM records r WHERE r.id = outputs.record_id)")


def result_of_loss(forger: Forger) -> None:
    """Of the attempt that was cancelled: it ran, and no runner told of its end."""
    copy_output(forger, "1", to="(SELECT id FROM records WHERE status = 'error')")


def copy_output(forger: Forger, version: str, *, to: str = "record_id") -> None:
    columns = (
        "stage, outcome, count, facts, error_code, error_message, is_retryable, worker, at, log"
    )
    forger.later(
        f"INSERT INTO outputs (record_id, version, {columns}) SELECT {to}, {version}, {columns} FROM outputs"
        f" {FIRST} LIMIT 1"
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
