"""Administrative acts are in the audit log, and what they left in other tables is compared with it."""

from contextlib import suppress

from stateward.app import App
from stateward.core.verify import Finding
from stateward.engine.history import check_audit
from stateward.engine.row_check import check_acts
from stateward.storage.audit import AuditEntry
from tests.apps import Maker, on_each_store

ANN = "person:ann"
# A result that its stage itself calls doubtful: the day and the month could be either.
FLAGGED = b"Date;Text;Amount\n01/02/2026;Bakery;-1,00\n03/04/2026;Shop;-2,00\n"

EDITS = {
    "a hold is deleted": "DELETE FROM holds",
    "a hold has another reason": "UPDATE holds SET reason = 'none'",
    "a hold is of another person": "UPDATE holds SET actor = 'person:bob'",
    "a hold is invented": "INSERT INTO holds SELECT id, 1, 'person:bob', 'x' FROM records"
    " WHERE id NOT IN (SELECT record_id FROM holds)",
    "a decision is deleted": "DELETE FROM flag_decisions",
    "a decision is another": "UPDATE flag_decisions SET action = 'reject'",
    "a decision is of another person": "UPDATE flag_decisions SET actor = 'person:bob'",
    "a decision is of another version": "UPDATE flag_decisions SET version = version + 1",
    "a decision is invented": "INSERT INTO flag_decisions SELECT id, version, 'person:bob', 'confirm', NULL, 1"
    " FROM records WHERE id NOT IN (SELECT record_id FROM flag_decisions)",
    "a key may do more": "UPDATE api_keys SET role = 'admin' WHERE name = 'bob'",
    "a key covers all pipelines": "UPDATE api_keys SET pipelines = '[]' WHERE name = 'bob'",
    "a key has another secret": "UPDATE api_keys SET secret_hash = 'x' WHERE name = 'bob'",
    "a key lives longer": "UPDATE api_keys SET expires_at = NULL WHERE name = 'bob'",
    "a key is deleted": "DELETE FROM api_keys WHERE name = 'bob'",
    "a key is invented": "INSERT INTO api_keys (id, name, role, pipelines, secret_hash, created_at, created_by)"
    " SELECT 'zz', name, 'admin', pipelines, secret_hash, created_at, created_by FROM api_keys WHERE name = 'bob'",
    "a revoked key is valid again": "UPDATE api_keys SET revoked_at = NULL",
}


COPIED = "INSERT INTO audit_log ({0}at, actor, verb, record_id, detail, reason) SELECT {0}at, 'person:bob', "
INVENTED_ACTS = (
    COPIED.format("")
    + "'hold_released', record_id, detail, reason FROM audit_log WHERE verb = 'hold'",
    COPIED.format("") + "verb, record_id, detail, reason FROM audit_log WHERE verb = 'key_created'",
    "INSERT INTO audit_log (id, at, actor, verb, record_id, detail, reason)"
    " VALUES (0, 0, 'person:bob', 'key_created', '', '{}', NULL)",
)


class Undo(Exception):
    """Nothing of it is to stay."""


def findings_after(app: App, statement: str) -> tuple[Finding, ...]:
    found: tuple[Finding, ...] = ()
    with suppress(Undo), app.database.transaction():
        app.database.run(statement)
        found = (*check_audit(app.store, app.audit), *check_acts(app.store, app.audit))
        raise Undo
    return found


@on_each_store
def test_what_acts_left_cannot_be_changed_unseen(make_app: Maker) -> None:
    app = make_app("")
    decided, held, erased = (
        app.submit(FLAGGED + b"05/06/2026;%d;-3,00\n" % number).record.id for number in range(3)
    )
    app.run_until_idle()
    for each in (decided, erased):
        app.flags.decide(each, "confirm", actor=ANN, reason="looked at it")
    app.eraser.hold(held, actor=ANN, reason="case 12")
    app.eraser.hold(decided, actor=ANN, reason="case 13")
    app.eraser.release(decided, actor=ANN, reason="closed")
    app.admin.new_key("bob", role="viewer", pipelines=["upload"], expires_in_s=60.0, actor=ANN)
    key, _ = app.admin.new_key("eve", role="admin", actor=ANN)
    app.admin.revoke_key(key.id, actor=ANN)
    app.admin.new_worker_key("far", stages=["upload.*"], actor=ANN)
    app.eraser.erase([erased], actor=ANN, reason="request 17")  # and its decision with it
    assert app.admin.verify().findings == ()
    with suppress(Undo), app.database.transaction():
        app.database.run("DELETE FROM holds")
        assert [str(each) for each in app.admin.verify().findings] == [
            f"{held}: act: the hold was deleted"
        ]
        raise Undo

    checks = {
        what: {each.check for each in findings_after(app, edit)} for what, edit in EDITS.items()
    }

    assert checks == {what: {"act"} for what in EDITS}
    for edit in INVENTED_ACTS:
        assert "audit" in {each.check for each in findings_after(app, edit)}
    assert app.admin.verify().findings == ()


@on_each_store
def test_a_derived_file_that_is_missing_or_changed_is_found_with_the_documents(
    make_app: Maker,
) -> None:
    app = make_app("")
    record = app.submit(FLAGGED).record
    app.run_until_idle()
    gone, changed = (app.artifacts.put([each], bytes_max=10).sha256 for each in (b"1", b"2"))
    for number, digest in enumerate((gone, changed)):
        app.database.run(
            "INSERT INTO derived_files (record_id, version, name, number, stage, media_type, size, sha256)"
            " VALUES (:id, 1, :name, :number, 'parse', 'text/plain', 1, :digest)",
            id=record.id, name=str(number), number=number, digest=digest,
        )  # fmt: skip
    assert app.admin.verify_documents() == []
    app.artifacts.path(gone).unlink()
    path = app.artifacts.path(changed)
    path.chmod(0o600)
    path.write_bytes(b"3")

    found = app.admin.verify_documents()

    assert [(each.check, each.where) for each in found] == [("document", record.id)] * 2


@on_each_store
def test_who_paused_and_who_changed_whom_is_told_is_in_the_audit_log(make_app: Maker) -> None:
    app = make_app("")
    app.actions.pause("upload", "parse", actor=ANN, reason="the parser is being mended")
    assert app.actions.resume("upload", "parse", actor="person:bob")
    assert not app.actions.resume("upload", "parse", actor="person:bob")
    own = app.notifications
    made = own.add("https://example.org/hook?token=secret", events=["upload.*"], actor=ANN)
    own.rotate(made.id, actor=ANN)
    own.disable(made.id, actor=ANN, reason="moving")
    own.enable(made.id, actor=ANN)
    own.remove(made.id, actor="person:bob")

    def said(entry: AuditEntry) -> tuple[object, ...]:
        return entry.verb, entry.actor, entry.detail, entry.reason

    acts = [each for each in app.audit.walk() if each.verb not in ("machines_stored", "sealed")]
    stage = {"machine": "upload", "stage": "parse"}
    about = {"webhook_id": made.id}
    assert [said(each) for each in acts] == [
        ("paused", ANN, stage, "the parser is being mended"),
        ("resumed", "person:bob", stage, None),
        ("webhook_added", ANN, {**about, "events": ["upload.*"], "host": "example.org"}, None),
        ("webhook_secret_rotated", ANN, about, None),
        ("webhook_disabled", ANN, {**about, "reason": "moving"}, None),
        ("webhook_enabled", ANN, about, None),
        ("webhook_removed", "person:bob", about, None),
    ]
