"""Every rewriting of a history is found, by `verify` alone or with a checkpoint that was kept elsewhere."""

import re
from collections.abc import Iterator

import pytest

from stateward.core.chain import GENESIS
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.proofs.history_checkpoint import make_checkpoint, read_checkpoint
from stateward.storage.dead_letters import DeadLetter
from stateward.storage.outputs import AttemptResult, Output
from stateward.storage.pauses import Pause
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from stateward.testing.rig import START, Rig
from tests.docs.pages import DOCS
from tests.engine import edits
from tests.engine.forger import Forger
from tests.engine.rewritings import CHECKPOINT, REWRITINGS, SEALS, Rewriting

SHADOWS = ("sqlite_", "search_index_")  # tables that SQLite makes for itself


@pytest.fixture
def rig() -> Iterator[Rig]:
    database = SqliteDatabase(MEMORY)
    made = Rig(database, [UPLOAD, CONTRACT])
    made.store.lanes.make(3, now=1)
    made.store.seal_former_rows(now=1)
    made.store.lanes.begin_epoch(now=1)
    made.worker()
    opened = [
        made.open(labels={"number": number}, artifact=f"{number}" * 64) for number in range(6)
    ]
    last = opened[-1]
    made.run()
    made.store.lanes.begin_epoch(now=2)
    cancelled = made.open(labels={"number": 6}, artifact="6" * 64)
    made.settle()
    made.ask("cancel.requested", cancelled)
    made.ask("retry.requested", last)  # nothing failed, so it changes nothing
    made.store.dead_letters.add([DeadLetter(kind="event", body="?", reason="not an event", at=7)])
    result = AttemptResult(record_id=last.id, version=-1, stage="parse", worker="w", at=8, count=1)
    made.outputs.write([Output(result, [(1, '[{"n":1}]')])])
    made.store.pauses.add(
        Pause(machine="upload", stage="parse", at=9, actor="person:ann", reason=None)
    )
    yield made
    database.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rewriting", REWRITINGS, ids=lambda it: f"{it.what}, {it.sealed}")
def test_a_rewriting_is_found(rig: Rig, rewriting: Rewriting) -> None:
    kept = read_checkpoint(rig.verify().checkpoint)
    forger = Forger(rig)
    rewriting.edit(forger)
    if rewriting.edit is not edits.one_lane:
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


def test_a_checkpoint_with_the_trees_of_another_history_is_refused(rig: Rig) -> None:
    """A proof of consistency compares trees alone: such a checkpoint has grown from the one that was kept."""
    kept = read_checkpoint(rig.verify().checkpoint)
    forger = Forger(rig)
    edits.rename(forger)
    forger.seal_all()
    forger.write()
    forged = read_checkpoint(rig.verify().checkpoint)
    mixed = read_checkpoint(
        make_checkpoint(
            forged.lanes,
            audit=forged.audit,
            trees={**forged.trees, **{each.lane: kept.trees[each.lane] for each in kept.lanes}},
        )
    )

    assert rig.verify(forged).is_sound
    found = rig.verify(mixed).findings
    assert {each.check for each in found} == {"checkpoint"}
    assert {each.where for each in found} <= {f"tree {each.lane}" for each in kept.lanes}


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


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM audit_log WHERE id = 1",
        "UPDATE audit_log SET actor = 'person:eve' WHERE id = 1",
        "UPDATE audit_log SET reason = 'another' WHERE id = 1",
        "INSERT INTO audit_log (id, at, actor, verb, record_id, detail) VALUES (2, 1, 'a', 'exported', '', '{}')",
    ],
)
def test_acts_of_a_version_that_did_not_chain_them_are_sealed_once(edit: str) -> None:
    database = SqliteDatabase(MEMORY)
    for number in (1, 9):
        database.run(
            "INSERT INTO audit_log (id, at, actor, verb, record_id, detail)"
            " VALUES (:number, 1, 'person:ann', 'exported', '', '{}')",
            number=number,
        )
    rig = Rig(database, [UPLOAD])
    rig.open()
    rig.store.seal_former_rows(now=START)
    assert rig.verify().findings == ()

    database.run(edit)

    assert "sealed" in {each.check for each in rig.verify().findings}
    database.close()


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
