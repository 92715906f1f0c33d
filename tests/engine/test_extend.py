"""G4: a machine grows by editing its declaration alone, while records are in flight."""

from importlib.resources import files

import pytest

from stateward.core.errors import DeclarationError
from stateward.core.machine import Machine
from stateward.core.model import Applied, Ignored
from stateward.definition.declare import from_yaml
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.storage.pauses import Pause
from stateward.testing.rig import Rig
from tests.engine.conftest import Opener

TEXT = (files("stateward.pipelines.uploads") / "machine.yaml").read_text("utf-8")

GROWN = (
    TEXT.replace("version: 1", "version: 2")
    .replace(
        '  normalized: {kind: terminal, doc: "Canonical transactions are kept"}',
        """\
  normalized: ready
  categorizing: running
  categorized: ready
  reconciling: running
  reconciled: terminal""",
    )
    .replace(
        "expose:",
        """\
  categorize:
    from: normalized
    running: categorizing
    outcomes: {done: categorized}
    on_error: error
    on_error_waiting: error
    produces: categories
  reconcile:
    from: categorized
    running: reconciling
    outcomes: {done: reconciled}
    on_error: error
    on_error_waiting: error
    produces: matches
upgrades:
  "1": {}
expose:""",
    )
)


def grown() -> Machine:
    return from_yaml(GROWN, source="grown.yaml")


def test_records_in_flight_go_on_through_the_new_stages(open_database: Opener) -> None:
    before = Rig(open_database(), [UPLOAD])
    before.worker()
    ended = before.open()
    before.run()
    failed = before.open()
    before.settle()
    before.fail(before.work()[0])
    before.settle()
    before.store.pauses.add(
        Pause(machine="upload", stage="normalize", at=0, actor="person:op", reason=None)
    )
    parsed = before.open()
    before.run()
    parsing = before.open()
    before.settle()
    before.bus.remove_worker("w1")
    waiting = before.open()
    before.store.pauses.lift("upload", "normalize", now=1)
    in_flight = [waiting, parsing, parsed, failed]
    assert [before.now(each).status for each in in_flight] == [
        "queued_for_parse", "parsing", "parsed", "error",
    ]  # fmt: skip

    after = Rig(open_database(), [grown()], clock=before.clock)
    after.worker(slots=100)
    after.run()
    after.clock.pass_s(100)
    after.worker(slots=100)
    after.run()

    for record in in_flight:
        assert after.now(record).status == "reconciled", record.id
        assert after.now(record).machine_version == 2
    assert after.now(ended).status == "normalized"
    assert after.now(ended).machine_version == 1
    assert after.verify().is_sound


def test_what_had_ended_is_taken_on_where_it_is_asked_for(open_database: Opener) -> None:
    before = Rig(open_database(), [UPLOAD])
    before.worker()
    ended, other, empty = before.open(), before.open(), before.open()
    before.settle()
    for work in before.work():
        before.complete(work)
    before.settle()
    for work in before.work():
        before.complete(work, items=0 if work.record_id == empty.id else 1)
    before.settle()
    assert before.now(empty).status == "normalized"

    after = Rig(open_database(), [grown()], clock=before.clock)
    after.worker(slots=100)
    foreseen = after.coordinator.advance_to_new_stages(
        [ended, empty], actor="person:ada", is_dry_run=True
    )
    after.run()
    assert [isinstance(each, Applied) for each in foreseen] == [True, False]
    assert after.now(ended).status == "normalized"

    for _ in range(2):  # asked twice, done once
        after.coordinator.advance_to_new_stages([ended, empty], actor="person:ada")
    after.run()

    assert after.now(ended).status == "reconciled"
    assert after.now(ended).machine_version == 2
    assert after.now(other).status == after.now(empty).status == "normalized"
    begun = next(
        each for each in after.store.history(ended.id) if each.trigger == "categorize.started"
    )
    assert begun.metadata["asked_by"] == "person:ada"
    assert after.verify().is_sound


def test_what_has_ended_under_the_newest_version_stays(open_database: Opener) -> None:
    rig = Rig(open_database(), [UPLOAD])
    rig.worker()
    ended, waiting = rig.open(), rig.open()
    rig.run()

    decisions = rig.coordinator.advance_to_new_stages([ended, waiting], actor="person:ada")

    assert [type(each) for each in decisions] == [Ignored, Ignored]
    assert rig.now(ended).status == "normalized"


def test_a_changed_graph_under_the_same_version_is_refused(open_database: Opener) -> None:
    Rig(open_database(), [UPLOAD])
    changed = from_yaml(
        GROWN.replace("version: 2", "version: 1").replace('upgrades:\n  "1": {}\n', ""), source="x"
    )

    with pytest.raises(
        DeclarationError, match="its graph changed: give it the next version number"
    ):
        Rig(open_database(), [changed])


def test_an_older_version_than_the_one_in_force_is_refused(open_database: Opener) -> None:
    Rig(open_database(), [grown()])

    with pytest.raises(DeclarationError, match="version 2 is already in force"):
        Rig(open_database(), [UPLOAD])


def test_a_change_that_would_strand_records_is_refused_with_their_count(
    open_database: Opener,
) -> None:
    before = Rig(open_database(), [UPLOAD])
    for _ in range(3):
        before.open()
    renamed = from_yaml(GROWN.replace("queued_for_parse", "queued"), source="renamed.yaml")

    with pytest.raises(DeclarationError, match="would strand 3 in 'queued_for_parse' of version 1"):
        Rig(open_database(), [renamed])


def test_a_renamed_state_carries_its_records_over(open_database: Opener) -> None:
    before = Rig(open_database(), [UPLOAD])
    record = before.open()
    text = GROWN.replace("queued_for_parse", "queued").replace(
        '"1": {}', '"1": {queued_for_parse: queued}'
    )
    after = Rig(open_database(), [from_yaml(text, source="renamed.yaml")], clock=before.clock)

    assert after.coordinator.upgrade_records() == 1
    assert after.coordinator.upgrade_records() == 0
    after.worker()
    after.run()

    targets = [each.target for each in after.store.history(record.id)]
    assert targets[:3] == ["queued_for_parse", "queued", "parsing"]
    assert after.now(record).status == "reconciled"
    assert after.verify().is_sound


def test_an_older_coordinator_goes_on_with_records_of_a_newer_version(
    open_database: Opener,
) -> None:
    old = Rig(open_database(), [UPLOAD])
    new = Rig(open_database(), [grown()], clock=old.clock, new_id=lambda prefix: f"{prefix}_new")
    record = new.open()
    old.worker()

    old.run()
    new.worker()
    new.run()

    assert new.now(record).status == "reconciled"
    assert {each.machine_version for each in new.store.history(record.id)} == {2}
