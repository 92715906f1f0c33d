"""Edits of a history that hide behind how it is read, or move what is there from one place to another."""

from msgspec.structs import replace

from tests.engine.edits import DISPOSITION, FIRST, copy_output, double
from tests.engine.forger import Forger

# ruff: noqa: S608 - the statements are made of constants

# What readers that begin at the first number, or take one of two values, would not see


def labels_doubled(forger: Forger) -> None:
    """Lists of SQLite take the first value of a key, and what is hashed is the last."""
    forger.later("""UPDATE records SET labels = '{"number":77,' || substr(labels, 2)""")


def metadata_doubled(forger: Forger) -> None:
    forger.later(
        """UPDATE transitions SET metadata = '{"worker":"eve",' || substr(metadata, 2) WHERE metadata <> '{}'"""
    )


def detail_doubled(forger: Forger) -> None:
    forger.run(
        """UPDATE audit_log SET detail = '{"epoch":77,' || substr(detail, 2) WHERE verb = 'coordinator_started'"""
    )


def trigger(forger: Forger) -> None:
    """It does nothing yet, and would change each label before it is sealed."""
    forger.later(
        "CREATE TRIGGER planted BEFORE INSERT ON transitions BEGIN UPDATE records SET rank = 0; END"
    )


def own_trigger(forger: Forger) -> None:
    forger.later("DROP TRIGGER records_deleted_names")
    forger.later(
        "CREATE TRIGGER records_deleted_names AFTER DELETE ON records BEGIN DELETE FROM holds; END"
    )


def partial_index(forger: Forger) -> None:
    """Lists by status would not show what is queued."""
    forger.later("DROP INDEX records_status")
    forger.later(
        "CREATE INDEX records_status ON records (machine, status, id) WHERE status <> 'queued'"
    )


def index_entries(forger: Forger) -> None:
    """Lists by status read the index alone, which SQLite takes for a table as long as its schema says so."""
    forger.later("PRAGMA writable_schema = ON")
    forger.later(
        "CREATE TEMP TABLE own AS SELECT sql FROM sqlite_master WHERE name = 'records_status'"
    )
    forger.later(
        "UPDATE sqlite_master SET type = 'table', tbl_name = name, sql = 'CREATE TABLE records_status"
        " (machine, status, id, PRIMARY KEY (machine, status, id)) WITHOUT ROWID' WHERE name = 'records_status'"
    )
    forger.later("PRAGMA writable_schema = RESET")
    forger.later("UPDATE records_status SET status = 'failed' WHERE id = 'UL_000001'")
    forger.later("PRAGMA writable_schema = ON")
    forger.later(
        "UPDATE sqlite_master SET type = 'index', tbl_name = 'records', sql = (SELECT sql FROM own)"
        " WHERE name = 'records_status'"
    )
    forger.later("PRAGMA writable_schema = RESET")


def no_unique_index(forger: Forger) -> None:
    forger.later("DROP INDEX transitions_event")


def unique_index(forger: Forger) -> None:
    """It refuses rows, and where doubled ones are left out without an error, nobody is told."""
    forger.later("CREATE UNIQUE INDEX planted ON holds (actor)")


def failing_index(forger: Forger) -> None:
    """It refuses every record that fails, in the statement that would say so."""
    forger.later(
        "CREATE INDEX planted ON records (json_extract(iif(status = 'failed', '{', '{}'), '$'))"
    )


def true_as_two(forger: Forger) -> None:
    """What is true in one place and not equal to 1 in another."""
    forger.run(f"UPDATE outputs SET is_retryable = is_retryable + 2 {FIRST}")


def view(forger: Forger) -> None:
    """It shows today what is there, and could show something else tomorrow."""
    forger.later("ALTER TABLE holds RENAME TO holds_kept")
    forger.later("CREATE VIEW holds AS SELECT * FROM holds_kept")


def other_collation(forger: Forger) -> None:
    forger.later("PRAGMA writable_schema = ON")
    forger.later(
        "UPDATE sqlite_master SET sql = replace(sql, 'actor TEXT', 'actor TEXT COLLATE NOCASE')"
        " WHERE name = 'transitions'"
    )
    forger.later("PRAGMA writable_schema = RESET")


def record_before_first(forger: Forger) -> None:
    """With a whole history of its own, whose numbers come before those that lanes count."""
    double(forger)
    forger.later("UPDATE transitions SET seq = -seq WHERE record_id = 'UL_forged'")


def record_without_id(forger: Forger) -> None:
    record = next(iter(forger.records.values()))
    forger.records[""] = replace(record, id="", dedupe=None)


def event_before_first(forger: Forger) -> None:
    columns = DISPOSITION.replace("event_id, ", "")
    forger.run(
        f"INSERT INTO dispositions (id, event_id, {columns}) SELECT -1, 'x', {columns} FROM dispositions"
    )


def letter_before_first(forger: Forger) -> None:
    forger.run(
        "INSERT INTO dead_letters (id, kind, body, reason, at) VALUES (0, 'event', 'a', 'b', 1)"
    )


def act_before_first(forger: Forger) -> None:
    """With a number and a place before those of the chain; lists and comparisons with acts would show it."""
    forger.run(
        "INSERT INTO audit_log (id, at, actor, verb, record_id, detail, reason, seq, hash)"
        " SELECT 0, at, 'person:eve', 'hold', 'UL_000001', '{}', 'case 12', -1, hash FROM audit_log WHERE seq = 1"
    )
    forger.run(
        "INSERT INTO holds SELECT 'UL_000001', at, 'person:eve', 'case 12' FROM audit_log WHERE seq = 1"
    )


def acts_before_first(forger: Forger) -> None:
    """All of them, in their order: who compares rows with acts would find none."""
    forger.run("UPDATE audit_log SET id = id - 1000000")


def result_of_nobody(forger: Forger) -> None:
    copy_output(forger, "version", to="'UL_forged'")


def items_before_first(forger: Forger) -> None:
    forger.run(
        "INSERT INTO item_chunks (record_id, version, chunk, count, data)"
        f" SELECT record_id, version, {-(1 << 62) - 9}, 1, '[{{\"n\":7}}]' FROM item_chunks {FIRST} AND chunk = 0"
        " LIMIT 1"
    )


def items_of_no_edition(forger: Forger) -> None:
    forger.run("INSERT INTO item_chunks VALUES ('UL_000002', -7, 0, 1, '[{\"n\":7}]')")


def rows_called_erased(forger: Forger) -> None:
    """By an entry like that of an erasure, at the end of a chain that goes on as it was."""
    forger.call_erased("dispositions")


# What is moved from one place to another


def definition_with_digest(forger: Forger) -> None:
    forger.run(
        "UPDATE machines SET document = replace(document, '120', '121'), digest = replace(digest, 'a', 'b')"
    )


def act_gone(forger: Forger) -> None:
    forger.run("DELETE FROM audit_log WHERE seq = 2")


def act_gone_sealed(forger: Forger) -> None:
    """The acts behind it move up, and the chain is computed anew."""
    forger.run("DELETE FROM audit_log WHERE seq = 2")


def transition_moved(forger: Forger) -> None:
    """To another record, and so perhaps to another lane."""
    forger.move(0, record_id="UL_elsewhere")


def record_renamed(forger: Forger) -> None:
    """With its whole history, and so from one lane to another."""
    first = next(iter(forger.records))
    forger.records["UL_renamed"] = replace(forger.records.pop(first), id="UL_renamed")
    for place, each in enumerate(forger.log):
        if each.record_id == first:
            forger.move(place, record_id="UL_renamed")


def event_of_another(forger: Forger) -> None:
    """Which event a transition was made of."""
    forger.move(-1, event_id="UL_000001:9:approve")


def commits_rolled_back(forger: Forger) -> None:
    """The newest record is back where it was opened; every hash fits, and the state is one that it had."""
    last = [each for each in forger.log if each.record_id == forger.log[-1].record_id]
    opened = last[0]
    forger.log = [each for each in forger.log if each not in last[1:]]
    forger.records[opened.record_id] = replace(
        forger.records[opened.record_id], status=opened.target, version=0, entered_at=opened.at, fields={}, outputs={},
        waiting="parse", error_code=None, error_message=None, failed_from=None, rest=None,
    )  # fmt: skip


def items_to_another(forger: Forger) -> None:
    """From one attempt of a record to the other."""
    forger.run(f"UPDATE item_chunks SET version = -version {FIRST} AND version > 0")


def time_of_act(forger: Forger) -> None:
    forger.run("UPDATE audit_log SET at = at + 1 WHERE seq = 2")


def no_time(forger: Forger) -> None:
    """One that no calendar knows."""
    forger.move(-1, at=-(1 << 62))
