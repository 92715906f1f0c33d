"""Administrative acts are in the audit log, and what they left in other tables is compared with it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from msgspec.structs import replace

from stateward.app import App, secrets
from stateward.core.verify import Finding
from stateward.engine.history import check_audit
from stateward.engine.pending_decisions import PendingDecision, PendingDecisions
from stateward.engine.row_check import check_acts, check_numbers, check_rows
from stateward.storage.audit import AuditEntry
from stateward.storage.pauses import PAUSES
from stateward.storage.review_links import STORED_AFTER_EXPIRY, ReviewLink, ReviewLinks
from stateward.storage.row_seals import sealed_change
from tests.apps import Maker, on_each_store
from tests.waiting import wait_until

ANN = "person:ann"
# A result that its stage itself calls doubtful: the day and the month could be either.
NO_ACTS = ("machines_stored", "sealed", "sealing_began", "coordinator_started")
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


# A priority is compared with the first transition of its record or the last act, all others with their seals.
PRIORITIES = {
    "a priority that an act gave": "UPDATE records SET priority = 5 WHERE priority = 9",
    "a priority of the submission": "UPDATE records SET priority = 5 WHERE priority = 2",
    "a priority that no one gave": "UPDATE records SET priority = 10 WHERE priority = 5",
}
STANDING = {
    "a pause is deleted": "DELETE FROM pauses",
    "a pause is of another person": "UPDATE pauses SET actor = 'person:bob'",
    "a pause has another reason": "UPDATE pauses SET reason = NULL",
    "a pause is of another time": "UPDATE pauses SET at = at + 1",
    "a pause is invented": "INSERT INTO pauses VALUES ('upload', '', 1, 'person:bob', NULL)",
    "a webhook goes elsewhere": "UPDATE webhooks SET url = 'https://example.com/'",
    "a webhook tells of more": "UPDATE webhooks SET events = '[\"*\"]'",
    "a webhook has a secret that someone knows": "UPDATE webhooks SET secret = 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4'",
    "a webhook is told nothing": "UPDATE webhooks SET is_enabled = NOT is_enabled",
    "a webhook is deleted": "DELETE FROM webhooks",
    "a worker may do all stages": "UPDATE worker_keys SET stages = '[\"upload.parse\"]'",
    "a worker has a secret that someone knows": "UPDATE worker_keys SET secret = 'known'",
    "a worker that was revoked is trusted": "UPDATE worker_keys SET revoked_at = NULL",
    "a credential of a worker is deleted": "DELETE FROM worker_keys",
    "a credential of a worker is invented": "INSERT INTO worker_keys"
    " VALUES ('w', 'eve', '[]', 'x', 1, 'person:ann', NULL)",
    "a pending decision is another": "UPDATE pending_decisions SET action = 'reject'",
    "a pending decision is of another person": "UPDATE pending_decisions SET actor = 'person:bob'",
    "a pending decision is deleted": "DELETE FROM pending_decisions",
    "a pending decision is invented": "INSERT INTO pending_decisions"
    " SELECT id, version, 'person:bob', 'approve', '{}', 1, 2 FROM records WHERE priority = 9",
    "a link is of another person": "UPDATE review_links SET person = 'bob'",
    "a link lives longer": "UPDATE review_links SET expires_at = expires_at + 1",
    "a link that was opened can be opened": "UPDATE review_links SET opened_at = NULL",
    "a link is deleted": "DELETE FROM review_links",
    "an error is acknowledged": "INSERT INTO acknowledged VALUES ('upload', 'x', 1, 'person:bob', NULL)",
    "a machine is invented": "INSERT INTO machines SELECT name, version + 9, digest, document, at FROM machines",
    "a machine came earlier": "UPDATE machines SET at = at - 1",
    "a machine has another digest": "UPDATE machines SET digest = 'x'",
    "a key is invented with a former date": "INSERT INTO api_keys (id, name, role, pipelines, secret_hash, created_at,"
    " created_by) VALUES ('k', 'eve', 'admin', '[]', 'x', 1, 'person:ann')",
    "there were lanes earlier": "UPDATE lanes SET since = 1",
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
        found = (
            *check_numbers(app.database),
            *check_audit(app.store, app.audit),
            *check_acts(app.store, app.audit),
            *check_rows(app.store, app.audit),
        )
        raise Undo
    return found


def verified_after(app: App, statement: str) -> list[str]:
    found: list[str] = []
    with suppress(Undo), app.database.transaction():
        app.database.run(statement)
        found = [each.check for each in app.admin.verify().findings]
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
    app.admin.new_key("bob", role="viewer", pipelines=["upload"], days=0.001, actor=ANN)
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

    assert checks == {what: {"act"} | ({"sealed"} if "key" in what else set()) for what in EDITS}
    for edit in INVENTED_ACTS:
        assert {each.check for each in findings_after(app, edit)} & {"audit", "order"}
    assert app.admin.verify().findings == ()


@on_each_store
def test_what_is_in_force_cannot_be_changed_unseen(make_app: Maker) -> None:
    app = make_app("")
    app.submit(FLAGGED)
    low = app.submit(FLAGGED + b"05/06/2026;1;-3,00\n", priority=2).record
    high = app.submit(FLAGGED + b"05/06/2026;2;-3,00\n").record
    app.actions.set_priority([high.id], 8, actor=ANN, reason=None)
    app.actions.set_priority([high.id], 9, actor=ANN, reason="urgent")
    app.actions.pause("upload", "parse", actor=ANN, reason="the parser is being mended")
    app.actions.pause("upload", "normalize", actor=ANN, reason=None)
    app.actions.pause("upload", "parse", actor=ANN, reason="it is still being mended")
    app.actions.resume("upload", "normalize", actor=ANN)
    own = app.notifications
    hooks = [own.add("https://example.org/", events=["upload.*"], actor=ANN).id for _ in range(3)]
    own.disable(hooks[0], actor=ANN, reason="moving")
    own.rotate(hooks[1], actor=ANN)
    own.remove(hooks[2], actor=ANN)
    app.admin.new_worker_key("far", stages=["upload.*"], actor=ANN)
    key, _ = app.admin.new_worker_key("gone", stages=["upload.*"], actor=ANN)
    app.admin.revoke_worker_key(key.id, actor=ANN)
    now = app.clock()
    pending = PendingDecision(
        record_id=low.id, version=0, actor=ANN, action="approve", at=now, effective_at=now + 1
    )
    PendingDecisions(app.database).put(pending, salt="1")
    link = ReviewLink(
        id="link-1", record_id=low.id, machine="upload", version=0, person="ada", created_at=now, created_by=ANN,
        key_id="", expires_at=now,
    )  # fmt: skip
    links = ReviewLinks(app.database)
    links.add(link, secret="x", now=now)
    links.open("link-1", now=now)
    secrets.rotate(app, actor=ANN)
    assert app.admin.verify().findings == ()

    found = {what: findings_after(app, edit) for what, edit in STANDING.items()}
    priorities = {what: verified_after(app, edit) for what, edit in PRIORITIES.items()}

    assert {what: {each.check for each in own} for what, own in found.items()} == {
        what: {"sealed"} | ({"act"} if "a key" in what else set()) for what in STANDING
    }
    assert priorities == {what: ["act"] for what in PRIORITIES}
    links.add(replace(link, id="link-2"), secret="y", now=now + 2 * STORED_AFTER_EXPIRY)
    assert links.get("link-1") is None
    app.actions.resume("upload", "parse", actor=ANN)
    app.run_until_idle()
    app.eraser.erase([low.id], actor=ANN, reason="request 17")  # with its decision and link
    assert app.admin.verify().findings == ()
    assert not app.database.rows("SELECT 1 FROM pending_decisions")


@on_each_store
def test_what_another_secret_replaced_is_still_missing_when_secrets_are_sealed_anew(
    make_app: Maker,
) -> None:
    app = make_app("")
    app.admin.new_worker_key("far", stages=["upload.*"], actor=ANN)
    app.database.run("UPDATE worker_keys SET secret = 'known'")

    assert secrets.seal_stored(app) == 1  # as the next start does

    assert [str(each) for each in app.admin.verify().findings] == [
        "credentials of workers: sealed: 1 were changed or deleted"
    ]


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

    acts = [each for each in app.audit.walk() if each.verb not in NO_ACTS]
    stage = {"machine": "upload", "stage": "parse"}
    about = {"webhook_id": made.id}
    assert [said(each) for each in acts] == [
        ("paused", ANN, stage, "the parser is being mended"),
        ("resumed", "person:bob", stage, None),
        ("webhook_added", ANN, {**about, "events": ["upload.*"], "host": "example.org"}, None),
        ("webhook_secret_rotated", ANN, about, None),
        ("webhook_disabled", ANN, {**about, "reason": "disabled by ann: moving"}, None),
        ("webhook_enabled", ANN, about, None),
        ("webhook_removed", "person:bob", about, None),
    ]


@pytest.mark.parametrize(
    "store_url", ["postgres"], indirect=True
)  # SQLite has one writer at a time
def test_of_two_acts_at_once_each_seals_what_it_did_itself(make_app: Maker) -> None:
    app, other, onlooker = make_app(""), make_app(""), make_app("")

    def is_waiting() -> bool:
        return bool(
            onlooker.database.rows(
                "SELECT 1 FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        )

    with ThreadPoolExecutor(1) as pool:
        with sealed_change(app.database, PAUSES.name, ["upload"], at=1):
            pausing = pool.submit(other.actions.pause, "upload", "parse", actor=ANN, reason=None)
            wait_until(lambda: pausing.done() or is_waiting())
            app.database.insert(PAUSES, [("upload", "normalize", 1, ANN, None)])
        pausing.result()

    assert list(check_rows(app.store, app.audit)) == []
