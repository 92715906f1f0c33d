"""A snapshot of what has changed, above the one that holds the rest: answers, damage, rollback, retention."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.ledger import Ledger, LedgerState, repair, verify
from stateward.ledger.manifest import LAYERED_FORMAT, SnapshotInfo, read_manifest
from tests.ledger.builders import DAY_S, Clock, QuickDisk, in_layers, states_of

DOCUMENTS = [f"doc:{number:03}" for number in range(60)]
STEPS = (LedgerState.FETCHING, LedgerState.FETCHED, LedgerState.PARSING, LedgerState.PARSED)


@pytest.fixture(autouse=True)
def layered() -> Iterator[None]:
    with in_layers(share=2):
        yield


class Nights:
    """A ledger of sixty documents, of which some move on each day; compacted each night."""

    def __init__(self, folder: Path, *, snapshots_kept: int = 7) -> None:
        self.folder, self.clock, self.kept = folder, Clock(), snapshots_kept
        self.states: dict[str, str] = {}
        self._steps: dict[str, int] = {}
        with self.open() as ledger:
            ledger.record_many([(each, LedgerState.PENDING) for each in DOCUMENTS])
            ledger.compact()
        self.states = dict.fromkeys(DOCUMENTS, "pending")

    def open(self, *, read_only: bool = False) -> Ledger:
        return Ledger.open(
            self.folder, clock=self.clock, disk=QuickDisk(), snapshots_kept=self.kept, read_only=read_only
        )  # fmt: skip

    def pass_by(self, *changed: str) -> SnapshotInfo:
        self.clock.tick(DAY_S)
        with self.open() as ledger:
            for doc_id in changed:
                step = self._steps.get(doc_id, 0)
                state = STEPS[step] if doc_id in self.states else LedgerState.PENDING
                self._steps[doc_id] = step + (doc_id in self.states)
                ledger.record(doc_id, state)
                self.states[doc_id] = str(state)
            made = ledger.compact()
        assert made is not None
        return made

    def check(self) -> None:
        with self.open(read_only=True) as ledger:
            assert states_of(ledger) == self.states
            assert {each: ledger.state(each) for each in self.states} == self.states
            assert ledger.state("doc:none") is None
            for state in set(self.states.values()):
                found = [each.doc_id for each in ledger.documents(state=state)]
                assert found == sorted(each for each in self.states if self.states[each] == state)
            assert list(ledger.replay()) == []

    def spoil(self, info: SnapshotInfo) -> None:
        path = self.folder / info.file
        text = path.read_bytes()
        path.write_bytes(text.replace(b'"pending"', b'"fetched"', 1))
        assert path.read_bytes() != text


def test_a_night_writes_what_has_changed_and_all_documents_only_now_and_then(
    tmp_path: Path,
) -> None:
    nights = Nights(tmp_path / "ledger", snapshots_kept=20)

    made = [nights.pass_by(*DOCUMENTS[at : at + 6], f"doc:new{at:02}") for at in range(0, 36, 6)]

    with nights.open(read_only=True) as ledger:
        first = ledger.snapshots()[-1]
    bottom, layered = first, 0
    for each in made:
        assert each.base in (None, bottom.root)
        layered += each.base is not None
        bottom = each if each.base is None else bottom
    assert (layered > 2, bottom != first) == (True, True)
    assert made[0].bytes < first.bytes / 2
    assert made[0].documents == 61  # of both layers together
    nights.check()
    assert verify(nights.folder).is_sound


def test_the_list_of_files_says_that_older_versions_cannot_read_it(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "ledger")
    before = read_manifest(nights.folder)
    nights.pass_by("doc:007")

    after = read_manifest(nights.folder)

    assert before
    assert after
    assert (before.format, after.format) == (LAYERED_FORMAT - 1, LAYERED_FORMAT)


@pytest.mark.parametrize("lost", ["MANIFEST.json", "*.idx"])
def test_layers_are_found_again_without_what_is_derived(tmp_path: Path, lost: str) -> None:
    nights = Nights(tmp_path / "ledger")
    nights.pass_by("doc:007", "doc:new")
    for path in nights.folder.glob(lost):
        path.unlink()

    nights.check()

    nights.pass_by("doc:008")
    nights.check()
    assert verify(nights.folder).is_sound


def test_a_damaged_layer_takes_away_what_stands_on_it_and_nothing_else(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "ledger")
    lower = read_manifest(nights.folder).snapshots[0]  # type: ignore[union-attr]
    upper = nights.pass_by("doc:007", "doc:new")
    nights.spoil(upper)

    nights.check()
    with nights.open() as ledger:
        assert ledger.state("doc:new") == "pending"
        assert [each.file for each in ledger.snapshots()] == [lower.file]

    again = nights.pass_by("doc:009", "doc:newer")
    assert again.base == lower.root
    nights.spoil(lower)
    with nights.open() as ledger:
        assert {each: ledger.state(each) for each in nights.states} == nights.states
    with nights.open() as ledger:
        assert ledger.snapshots() == []
    nights.pass_by("doc:010")
    nights.check()


def test_repair_puts_aside_what_stands_on_a_damaged_snapshot(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "ledger")
    lower = read_manifest(nights.folder).snapshots[0]  # type: ignore[union-attr]
    upper = nights.pass_by("doc:007")
    nights.spoil(lower)

    (step,) = repair(nights.folder, execute=True)

    assert f"those that stand on it: {upper.file}" in step.action
    assert verify(nights.folder).is_sound
    nights.check()


def test_a_lower_layer_cannot_be_exchanged(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "ledger")
    other = Nights(tmp_path / "other")
    other.clock.tick(5)
    with other.open() as ledger:
        ledger.record("doc:007", LedgerState.SKIPPED)
        ledger.compact()
    nights.pass_by("doc:008")
    lower = read_manifest(nights.folder).snapshots[-1]  # type: ignore[union-attr]
    forged = read_manifest(other.folder).snapshots[0]  # type: ignore[union-attr]
    (nights.folder / lower.file).write_bytes((other.folder / forged.file).read_bytes())
    (nights.folder / f"{lower.file}.idx").unlink()

    assert not verify(nights.folder).is_sound
    nights.check()


@pytest.mark.parametrize("back", [0, 1, 2])
def test_one_can_go_back_to_a_snapshot_of_either_kind(tmp_path: Path, back: int) -> None:
    nights = Nights(tmp_path / "ledger")
    states = [dict(nights.states)]
    for night in range(2):
        nights.pass_by(f"doc:{night:03}", f"doc:new{night}")
        states.append(dict(nights.states))

    with nights.open() as ledger:
        target = ledger.snapshots()[2 - back]
        ledger.rollback(target.last_seq)

    nights.states = states[back]
    with nights.open(read_only=True) as ledger:
        assert states_of(ledger) == nights.states
    nights.pass_by("doc:040")
    with nights.open(read_only=True) as ledger:
        assert states_of(ledger) == nights.states
    assert verify(nights.folder).is_sound


def test_what_kept_snapshots_stand_on_is_kept_and_one_that_does_not(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "ledger", snapshots_kept=2)
    made = [nights.pass_by(*DOCUMENTS[:40]), nights.pass_by("doc:001"), nights.pass_by("doc:002")]
    with nights.open() as ledger:
        kept = ledger.snapshots()

    # The newest two stand on the third; the first one of all is there in case that is damaged.
    assert [each.base for each in made] == [None, made[0].root, made[0].root]
    assert [each.last_seq for each in kept[:3]] == [each.last_seq for each in reversed(made)]
    assert len({each.bottom for each in kept}) == 2
    assert [each.file.endswith(".gz") for each in kept] == [False, True, False, True]
    nights.spoil(kept[2])
    nights.check()


def test_after_many_look_ups_a_filter_says_what_the_upper_layer_has(tmp_path: Path) -> None:
    nights = Nights(tmp_path / "ledger")
    nights.pass_by("doc:007", "doc:new")

    with (
        nights.open(read_only=True) as ledger,
        patch("stateward.ledger.layers.LOOK_UP_BYTES", 9999),
    ):
        for _ in range(3):
            assert {each: ledger.state(each) for each in nights.states} == nights.states
            assert ledger.state("doc:none") is None
        assert ledger._view.base
        assert ledger._view.base._filter
