"""Verification finds every change that was planted in the store."""

import pytest

from stateward.storage.database import Database
from stateward.testing.rig import Rig


def _planted(database: Database, sql: str) -> None:
    assert database.run(sql) > 0


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE transitions SET source = 'parsed' WHERE seq = 3",
        "UPDATE transitions SET target = 'error' WHERE seq = 3",
        "UPDATE transitions SET trigger = 'parse.failed' WHERE seq = 3",
        "UPDATE transitions SET actor = 'person:eve' WHERE seq = 3",
        "UPDATE transitions SET at = at + 1 WHERE seq = 3",
        "UPDATE transitions SET event_id = 'x' WHERE seq = 3",
        "UPDATE transitions SET metadata = '{}' WHERE seq = 3",
        "UPDATE transitions SET attempt = 9 WHERE seq = 3",
        "UPDATE transitions SET epoch = 9 WHERE seq = 3",
        "UPDATE transitions SET authority = 'runner' WHERE seq = 3",
        "UPDATE transitions SET machine = 'contract' WHERE seq = 3",
        "UPDATE transitions SET machine_version = 2 WHERE seq = 3",
        "UPDATE transitions SET record_hash = 'x' WHERE seq = 3",
        "UPDATE transitions SET prev_hash = 'x' WHERE seq = 3",
        "UPDATE transitions SET hash = 'x' WHERE seq = 3",
        "UPDATE transitions SET seq = 99 WHERE seq = 3",
        "UPDATE transitions SET version = 99 WHERE seq = 3",
        "UPDATE transitions SET record_id = 'UL_x' WHERE seq = 3",
        "DELETE FROM transitions WHERE seq = 5",
        "DELETE FROM records",
        "DELETE FROM transitions",
        "UPDATE records SET status = 'parsed'",
        "UPDATE records SET version = 3",
        "UPDATE records SET retry_count = 1",
        "UPDATE records SET error_code = 'X'",
        "UPDATE records SET error_message = 'X'",
        "UPDATE records SET artifact = 'x'",
        "UPDATE records SET labels = '{\"a\":1}'",
        "UPDATE records SET fields = '{}'",
        "UPDATE records SET outputs = '{}'",
        "UPDATE records SET head = 'x'",
        "UPDATE records SET rest = 'skipped'",
        "UPDATE records SET created_at = 1",
        "UPDATE records SET entered_at = 1",
        "UPDATE records SET machine_version = 2",
        "UPDATE records SET failed_from = 'parsing'",
        "UPDATE records SET replaces = 'x'",
        "UPDATE records SET dedupe = 'x'",
        "UPDATE records SET last_retry_at = 1",
        "UPDATE records SET priority = 99",
        "UPDATE records SET waiting = 'parse'",
        "UPDATE records SET due_at = 1",
        "UPDATE lanes SET count = count - 1 WHERE count > 0",
        "UPDATE lanes SET head = 'x' WHERE count > 0",
        "DELETE FROM lanes WHERE count > 0",
    ],
)
def test_verify_finds_a_planted_change(rig: Rig, change: str) -> None:
    rig.worker()
    rig.open()
    rig.run()
    assert rig.verify().is_sound

    _planted(rig.database, change)

    assert not rig.verify().is_sound
