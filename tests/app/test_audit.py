"""The audit log is a chain: what was changed, left out or cut off is seen. The data folder is for its owner alone."""

import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.engine.system import make_private
from stateward.storage.audit import AuditEntry, AuditHead
from stateward.storage.sqlite import SqliteDatabase
from tests.apps import Maker


@pytest.fixture
def audited(make_app: Maker) -> App:
    app = make_app("")
    for number in range(3):
        entry = AuditEntry(at=number, actor="person:ann", verb="sign_in", detail={"n": number})
        app.audit.add([entry, replace(entry, verb="exported", record_id=f"UL_{number}")])
    return app


def test_entries_are_found_by_record_verb_and_actor(audited: App) -> None:
    log = audited.audit

    found = [each.seq or 0 for each in log.entries()]
    assert (len(found), found[-1], found) == (7, 1, sorted(found, reverse=True))
    assert [each.detail["n"] for each in log.entries(verb="sign_in")] == [2, 1, 0]
    assert [each.seq for each in log.entries(record_id="UL_1")] == [found[2]]
    assert log.entries(actor="person:bob") == []
    assert log.faults(kept=log.head()) == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE audit_log SET actor = 'person:bob' WHERE seq = 3", "entry 3 was changed"),
        ("UPDATE audit_log SET at = 99 WHERE seq = 1", "entry 1 was changed"),
        ("DELETE FROM audit_log WHERE seq = 2", "entry 2 is missing"),
        (
            "DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)",
            "entries, and should have",
        ),
        (
            "INSERT INTO audit_log (at, actor, verb, record_id, detail, seq, hash)"
            " SELECT at, 'person:bob', verb, record_id, detail, seq + 1, hash FROM audit_log ORDER BY seq DESC LIMIT 1",
            "behind its head",
        ),
        ("UPDATE audit_log SET id = id + 100 WHERE seq = 2", "1 entries are listed before one"),
    ],
)
def test_what_was_changed_is_seen(audited: App, damage: str, said: str) -> None:
    audited.database.run(damage)

    (fault,) = audited.audit.faults()
    assert said in fault


def test_a_head_that_was_kept_elsewhere_sees_an_end_that_was_cut_off_with_care(
    audited: App,
) -> None:
    kept = audited.audit.head()
    before, count = audited.audit.entries()[1], kept.count - 1
    audited.database.run("DELETE FROM audit_log WHERE seq = :last", last=kept.count)
    audited.database.run(
        "UPDATE audit_head SET count = :count, hash = :hash WHERE id = 1",
        count=count,
        hash=before.hash,
    )

    assert audited.audit.faults() == []
    said = f"it has {count} entries, and had {kept.count} when its head was kept"
    assert audited.audit.faults(kept=kept) == [said]
    forged = AuditHead(count=count, hash="f" * 64)
    said = f"entry {count} is not the one that was kept elsewhere"
    assert audited.audit.faults(kept=forged) == [said]


def test_keys_and_exports_are_in_the_log(make_app: Maker, tmp_path: Path) -> None:
    app = make_app("")
    key, _ = app.admin.new_key("anna", role="viewer")
    app.admin.revoke_key(key.id)
    app.admin.export(tmp_path / "history")

    verbs = [each.verb for each in app.audit.entries()]
    assert verbs == ["exported", "key_revoked", "key_created", "machines_stored"]
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o700
    lines = (tmp_path / "history" / "audit.jsonl").read_text().splitlines()
    assert len(lines) == app.audit.head().count


def test_the_data_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder, shared = tmp_path / "data", tmp_path / "shared"
    folder.mkdir(mode=0o755)
    (folder / "stateward.db").touch(mode=0o644)
    shared.mkdir(mode=0o755)
    (shared / "other.txt").touch()

    make_private(folder)
    make_private(shared)
    make_private(tmp_path / "new")
    (empty := tmp_path / "empty").mkdir(mode=0o755)
    make_private(empty)

    folders = (folder, shared, tmp_path / "new", empty)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in folders]
    assert modes == [0o700, 0o755, 0o700, 0o700]
    assert stat.S_IMODE((folder / "stateward.db").stat().st_mode) == 0o600


def test_a_database_is_for_its_owner_alone_from_its_first_moment(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        opened = SqliteDatabase(tmp_path / "stateward.db")
        opened.wakeup("work").close()
        opened.close()
    finally:
        os.umask(before)

    assert [each.name for each in tmp_path.rglob("*") if each.stat().st_mode & 0o077] == []


def test_no_file_of_the_data_folder_is_for_others(make_app: Maker, tmp_path: Path) -> None:
    app = make_app("")
    document = tmp_path / "a.csv"
    document.write_bytes(b"date;amount;text\n2026-01-02;-12,50;Coffee\n")
    app.submit(document)
    app.run_until_idle()

    found = list(app.settings.data_path.rglob("*"))
    assert {each.parent.parent.name for each in found} >= {"artifacts"}
    assert "scratch" in {each.name for each in found}
    assert [each for each in found if each.stat().st_mode & 0o077] == []
