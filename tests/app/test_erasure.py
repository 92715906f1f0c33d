"""An erasure leaves nothing of a person's text, and a history that still verifies."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core import chain
from stateward.core.erasure import KINDS
from stateward.core.errors import (
    ConcurrentModification,
    InvalidRequest,
    StoreError,
    UnknownName,
)
from stateward.core.model import Disposition, Record, Transition
from stateward.core.verify import Finding, check_record
from stateward.engine import history
from stateward.engine.coordinator import Submission
from stateward.engine.erasure import SETTLED_WITHIN
from stateward.engine.mirror import compare
from stateward.ledger import Ledger
from stateward.notifications import outbox
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.settings import Settings
from stateward.storage import output_seals, store
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.erasure import Erasures
from stateward.storage.outputs import AttemptResult, Output
from stateward.storage.ranked import RankedIndex
from stateward.workers.attempt_data import StageFiles
from tests.app.erasing import ANNA, CELL, LABEL, NAME, NOTE, submitted
from tests.apps import Maker, on_each_store

WORDS = (NAME, LABEL, NOTE, CELL)


class Undo(Exception):
    """Nothing of it is to stay."""


def leave_rows(app: App, record: Record) -> None:
    """What no transition binds: an event that changed nothing, a dead letter, and an edition."""
    ignored = Disposition(
        event_id="e1", event_type="retry.requested", record_id=record.id, version=1, actor=ANNA,
        reason="impossible", detail=NOTE, at=1,
    )  # fmt: skip
    app.store.commit([], dispositions=[ignored])
    letter = DeadLetter(kind="event", body=f"{record.id} {NAME}", reason="not an event", at=1)
    app.store.dead_letters.add([letter])
    edition = AttemptResult(
        record_id=record.id, version=-1, stage="parse", worker=ANNA, at=1, count=1
    )
    app.outputs.write([Output(edition, [(1, f'[{{"a":"{CELL}"}}]')])])


def bytes_of(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file())


@pytest.fixture
def own(tmp_path: Path) -> Iterator[App]:
    """An app with a mirrored ledger beside it, on a file whose bytes can be looked at."""
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {tmp_path}/data\nledger: {{mirror: '{tmp_path}/ledger'}}\n")
    with App(Settings.load(config, environ={})) as app:
        yield app


def test_nothing_of_the_person_is_left_and_the_history_verifies(own: App, tmp_path: Path) -> None:
    first, other = submitted(own), submitted(own, 2, who="another")
    leave_rows(own, first)
    kept = read_checkpoint(own.admin.verify().checkpoint)
    before = bytes_of(tmp_path / "data")
    assert [word for word in WORDS if word.encode() not in before] == []

    done = own.eraser.erase([first.id], actor=ANNA, reason="request 17")
    own.eraser.erase([other.id], actor=ANNA, reason="request 18")
    own.database.compact()

    assert (done.erased, done.documents) == ((first.id,), 1)
    verdict = own.admin.verify(kept=kept)
    assert (verdict.findings, verdict.transitions) == ((), kept.count + 2)
    assert own.admin.verify_documents() == []
    after = bytes_of(tmp_path / "data")
    assert [word for word in WORDS if word.encode() in after] == []
    last = own.store.history(first.id)[-1]
    assert (last.actor, last.trigger, last.source) == (ANNA, "record.erased", last.target)
    assert last.metadata["reason"] == "request 17"
    own.run_until_idle()
    assert compare(own.store, tmp_path / "ledger").difference is None
    with Ledger.open(tmp_path / "ledger", read_only=True, machine=None) as ledger:
        assert list(ledger.replay()) == []


def test_an_erasure_is_news_of_its_own_and_no_second_end(own: App) -> None:
    record = submitted(own)
    webhook = own.notifications.add("https://example.org/", events=["upload.*"], actor=ANNA)
    own.eraser.erase([record.id], actor=ANNA, reason="request 17")

    rows = own.database.rows(f"SELECT {outbox._CHANGE} FROM transitions ORDER BY seq")  # noqa: S608
    told = [change.type for change, _ in outbox._matches(rows, [webhook])]

    assert told == ["upload.erased"]


def test_a_record_is_erased_on_every_database(make_app: Maker) -> None:
    app = make_app("")
    first, other = submitted(app), submitted(app, 2)
    leave_rows(app, first)
    kept = read_checkpoint(app.admin.verify().checkpoint)

    app.eraser.erase([first.id], actor=ANNA, reason="request 17")

    app.database.compact()
    assert app.admin.verify(kept=kept).findings == ()
    erased = app.record(first.id)
    assert (erased.labels, erased.artifact, erased.rest) == ({}, None, "erased")
    assert erased.status == first.status
    assert list(app.items(other.id))
    assert app.outputs.attempts(first.id) == []
    again = app.submit(b"date;amount;text\n2026-01-01;12,50;pustekuchen\n", machine="upload")
    assert not again.is_duplicate


def test_a_document_that_another_record_has_stays(make_app: Maker) -> None:
    app = make_app("")
    first = submitted(app)
    (other,) = app.coordinator.submit(
        [Submission(machine="upload", actor=ANNA, artifact=first.artifact, dedupe="another")]
    )

    done = app.eraser.erase([first.id], actor=ANNA, reason="request 17")

    assert done.documents == 0
    assert app.artifacts.holds(other.record.artifact or "")


@on_each_store
@pytest.mark.parametrize("kinds", [KINDS, ("items",)])
def test_what_was_erased_cannot_be_planted_again(make_app: Maker, kinds: tuple[str, ...]) -> None:
    """The digest of what was there is gone, or does not fit what is left, so nothing else would say no."""
    app = make_app("")
    record = submitted(app)
    version = record.outputs["parse"]
    app.eraser.erase([record.id], actor=ANNA, reason="request 17", kinds=kinds)
    assert app.admin.verify().findings == ()

    if kinds == KINDS:
        result = AttemptResult(
            record_id=record.id, version=version, stage="parse", worker="w", at=1, count=1
        )
        app.outputs.write([Output(result)])
    else:
        sql = "INSERT INTO item_chunks VALUES (:id, :version, 0, 1, '[{}]')"
        app.database.run(sql, id=record.id, version=version)

    (found,) = app.admin.verify().findings
    assert (found.check, found.sentence) == ("output", "it was invented: what was here is erased")


@on_each_store
def test_items_that_outlive_the_contents_are_no_forgery_and_others_still_are(
    make_app: Maker,
) -> None:
    """A rule of retention may delete the contents alone: outputs go with them, items stay."""
    app = make_app("")
    record = submitted(app)
    leave_rows(app, record)
    app.eraser.erase([record.id], actor=ANNA, reason="request 17", kinds=("contents",))
    assert app.admin.verify().findings == ()

    sql = "INSERT INTO item_chunks VALUES (:id, :version, 0, 1, '[{}]')"
    app.database.run(sql, id=record.id, version=record.version + 1)
    (found,) = app.admin.verify().findings
    assert found.sentence.startswith("items of no output")
    app.database.run("DELETE FROM item_chunks WHERE version > :version", version=record.version)

    app.eraser.erase([record.id], actor=ANNA, reason="request 18", kinds=("items",))
    assert app.admin.verify().findings == ()
    app.database.run(sql, id=record.id, version=record.outputs["parse"])
    assert not app.admin.verify().is_sound


@pytest.mark.parametrize("kinds", [KINDS, ("items",), ("logs",)])
def test_a_record_that_is_erased_while_it_is_verified_is_no_finding(
    own: App, monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...]
) -> None:
    record = submitted(own)

    def interrupted(*given: object) -> Iterator[Finding]:
        own.eraser.erase([record.id], actor=ANNA, reason="request 17", kinds=kinds)
        return check_record(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(output_seals, "RESULTS_AT_ONCE", 1)  # the second is read after the erasure
    monkeypatch.setattr(history, "check_record", interrupted)

    assert own.admin.verify().findings == ()


LEFT: dict[tuple[str, ...], tuple[str, ...]] = {
    ("items",): (
        "UPDATE outputs SET stage = 'validate' WHERE version = :version",
        "UPDATE outputs SET outcome = 'other' WHERE version = :version",
        "UPDATE outputs SET count = count + 1 WHERE version = :version",
        "UPDATE outputs SET error_code = 'X' WHERE version = :version",
        "UPDATE outputs SET is_retryable = NOT is_retryable WHERE version = :version",
        "UPDATE outputs SET worker = 'eve' WHERE version = :version",
        "UPDATE outputs SET at = at + 1 WHERE version = :version",
        "DELETE FROM outputs WHERE version = :version",
    ),
    ("contents",): (
        "UPDATE item_chunks SET data = '[{}]' WHERE version = :version",
        "UPDATE item_chunks SET count = count + 1 WHERE version = :version",
        "DELETE FROM item_chunks WHERE version = :version",
    ),
}


@on_each_store
@pytest.mark.parametrize("kinds", LEFT)
def test_what_an_erasure_left_of_outputs_is_proved(make_app: Maker, kinds: tuple[str, ...]) -> None:
    """The digest of a whole output does not fit what is left of it, or is erased itself."""
    app = make_app("")
    record = submitted(app)
    app.eraser.erase([record.id], actor=ANNA, reason="request 17", kinds=kinds)
    assert app.admin.verify().findings == ()
    app.eraser.erase([record.id], actor=ANNA, reason="request 18", kinds=("documents", "logs"))
    assert app.admin.verify().findings == ()
    unseen = []

    for sql in LEFT[kinds]:
        with suppress(Undo), app.database.transaction():
            app.database.run(sql, version=record.outputs["parse"])
            if app.admin.verify().is_sound:
                unseen.append(sql)
            raise Undo

    assert unseen == []
    assert app.admin.verify().findings == ()


@on_each_store
def test_logs_are_proved_when_only_the_items_were_erased(make_app: Maker) -> None:
    app = make_app("")
    record = submitted(app)
    app.eraser.erase([record.id], actor=ANNA, reason="request 17", kinds=("items",))
    assert app.admin.verify().findings == ()

    app.database.run("UPDATE outputs SET log = 'all was well'")

    assert {each.check for each in app.admin.verify().findings} == {"log"}


def test_what_is_under_way_held_or_unknown_is_refused(own: App) -> None:
    held = submitted(own).id
    running = own.submit(b"a;b\n1;2\n", machine="upload").record.id
    own.eraser.hold(held, actor=ANNA, reason="case 12")

    done = own.eraser.erase([running, held, "UL_none"], actor=ANNA, reason="request 17")

    assert done.erased == ()
    assert "cancel it first" in done.refused[running]
    assert "case 12" in done.refused[held]
    assert "no record" in done.refused["UL_none"]
    own.eraser.release(held, actor=ANNA, reason="closed")
    assert own.eraser.erase([held], actor=ANNA, reason="request 17").erased == (held,)
    verbs = [each.verb for each in own.audit.entries(record_id=held)]
    assert verbs == ["hold_released", "hold"]


def test_holds_and_erasures_need_a_reason(own: App) -> None:
    with pytest.raises(InvalidRequest, match="say why"):
        own.eraser.erase(["UL_1"], actor=ANNA, reason=" ")
    with pytest.raises(InvalidRequest, match="give a reason"):
        own.eraser.hold("UL_1", actor=ANNA, reason="")
    with pytest.raises(UnknownName):
        own.eraser.hold("UL_1", actor=ANNA, reason="case")


def test_metadata_that_no_transition_erased_is_found(own: App) -> None:
    submitted(own)
    own.database.run('UPDATE transitions SET metadata = \'{"erased":""}\', salt = NULL')

    checks = {each.check for each in own.admin.verify().findings}

    assert "erased" in checks


def test_what_a_former_version_wrote_can_be_erased_too(
    own: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsalted(
        transition: Transition, record: Record, *, epoch: int, head: str | None, salt: str
    ) -> tuple[Transition, Record]:
        return chain.seal(transition, record, epoch=epoch, head=head)

    with monkeypatch.context() as former:
        former.setattr(store, "seal", unsalted)
        record = submitted(own)
    assert {each.salt for each in own.store.history(record.id)} == {None}
    kept = read_checkpoint(own.admin.verify().checkpoint)

    own.eraser.erase([record.id], actor=ANNA, reason="request 17")

    assert own.admin.verify(kept=kept).findings == ()
    assert own.store.history(record.id)[0].metadata == {"erased": ""}


def test_a_dry_run_changes_nothing(own: App, tmp_path: Path) -> None:
    record = submitted(own)

    done = own.eraser.erase([record.id], actor=ANNA, reason="request 17", is_dry_run=True)

    assert done.erased == (record.id,)
    assert own.record(record.id) == record


def test_a_term_that_only_an_erased_document_has_leaves_the_ranked_index(own: App) -> None:
    index = RankedIndex(own.database)
    own.database.run(
        "INSERT INTO search_documents VALUES ('library', 1, 'R1', 's', 't', '{}'), ('library', 2, 'R2', 's', 't', '{}')"
    )
    own.database.run("INSERT INTO search_segments VALUES ('library', 1, 2, '')")
    own.database.run(
        "INSERT INTO search_postings VALUES ('library', 'both', 1, 2, 'AQAAAAIAAAABAAAAAQAAAA=='),"
        " ('library', 'own', 1, 1, 'AQAAAAEAAAA=')"
    )

    index.forget(["R1"])

    rows = own.database.rows("SELECT term, count, postings FROM search_postings")
    assert rows == [("both", 1, "AgAAAAEAAAA=")]


def test_no_record_names_bytes_that_were_erased_while_they_were_submitted(make_app: Maker) -> None:
    app = make_app("")
    record, text = app.submit(b"date;amount\n").record, b"date;amount\n"
    app.actions.act("cancel", record.id, actor=ANNA, reason=None)
    stored = app.artifacts.put([text], bytes_max=100)  # they are there, so no file is written
    again = app.submissions.prepare(
        stored, machine="upload", name=None, labels=None, priority=5, actor=ANNA, reason=None
    )

    done = app.eraser.erase([record.id], actor=ANNA, reason=NOTE)
    with pytest.raises(StoreError, match="submit them again"):
        app.submissions.create([again])

    assert (done.documents, stored.is_new) == (1, False)
    assert app.store.by_dedupe("upload", stored.sha256) is None
    made = app.submit(text).record
    assert app.artifacts.holds(made.artifact or "")


def late_files(app: App, record: Record, *, at: int | None = None) -> StageFiles:
    """Where an attempt stores files that will never have a result: its worker is lost."""
    clock = app.clock if at is None else lambda: at
    return StageFiles(app.outputs, app.artifacts, record.id, {}, clock)


@on_each_store
def test_what_a_lost_attempt_stored_is_erased_with_its_record_or_soon_after(
    make_app: Maker,
) -> None:
    app = make_app("")
    first, other = submitted(app), submitted(app, 2)
    long_ago = app.clock() - SETTLED_WITHIN - 1
    before = late_files(app, first).store(b"before").sha256
    shared = late_files(app, first).store(b"of both").sha256
    late_files(app, other).store(b"of both")

    done = app.eraser.erase([first.id], actor=ANNA, reason="request 17")

    assert done.documents == 2  # its document is the other one
    erasures = Erasures(app.database)
    assert list(erasures.erased()) == [(first.id, set(KINDS))]
    assert erasures.not_erased([first.id, other.id, "UL_none"]) == [other.id]
    assert [app.artifacts.holds(each) for each in (before, shared)] == [False, True]

    after = late_files(app, first, at=long_ago).store(b"after").sha256
    young = late_files(app, first).store(b"just now").sha256
    late_files(app, other, at=long_ago).store(b"of both")
    app.outputs.save_value(first.id, "parse", "answer", CELL.encode(), at=1)
    app.outputs.save_value(other.id, "parse", "answer", b"paid for", at=1)

    assert app.eraser.sweep().files == 1

    stored = [app.artifacts.holds(each) for each in (after, young, shared)]
    assert stored == [
        False,
        True,
        True,
    ]  # those announced of late may belong to an attempt under way
    assert app.outputs.load_value(first.id, "parse", "answer") is None
    assert app.outputs.load_value(other.id, "parse", "answer") == b"paid for"
    assert app.admin.verify().findings == ()


def test_no_edition_is_written_of_a_record_that_was_erased_meanwhile(own: App) -> None:
    read = submitted(own)
    own.eraser.erase([read.id], actor=ANNA, reason="request 17")

    with pytest.raises(ConcurrentModification), own.database.transaction():
        own.records.lock(read)
