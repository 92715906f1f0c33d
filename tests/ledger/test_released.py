"""A ledger that a released version wrote is read, verified and continued.

The files in `released` were written by the code of that version, without `LOCK` and the indexes, which are derived. A
new version adds a folder before it is released. The ledger has two compactions, a rollback, an import and a retry.
"""

import shutil
from pathlib import Path

import pytest

from stateward.ledger import Ledger, LedgerState, verify
from stateward.ledger.export_file import file_states, verify_file
from tests.ledger.builders import states_of

RELEASED = Path(__file__).parent / "released"
STATES = dict.fromkeys([f"doc:{number}" for number in range(2, 14)], "pending") | {
    "doc:1": "retrying", "doc:4": "fetching", 'odd "id"\n/ü': "pending", "old:1": "legacy",
}  # fmt: skip


@pytest.fixture(params=sorted(each.name for each in RELEASED.iterdir()))
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(RELEASED / request.param, tmp_path / "written")


@pytest.mark.parametrize("which", ["first", "last"])
def test_it_is_sound_by_a_checkpoint_of_its_time(written: Path, which: str) -> None:
    checkpoint = (written / f"checkpoint-{which}.txt").read_text("utf-8")

    found = verify(written / "ledger", checkpoint=checkpoint)

    assert (found.findings, found.lines, found.snapshots) == ((), 25, 3)


def test_its_documents_are_where_they_were(written: Path) -> None:
    with Ledger.open(written / "ledger", read_only=True) as ledger:
        assert states_of(ledger) == STATES
        assert list(ledger.replay()) == []
        assert [each.new_state for each in ledger.history("doc:1")] == [
            "pending", "fetching", "retrying", "fetching", "fetched",
        ]  # fmt: skip
    assert verify_file(written / "export.jsonl").is_sound
    assert file_states(written / "export.jsonl") == STATES


def test_it_is_continued(written: Path) -> None:
    checkpoint = (written / "checkpoint-last.txt").read_text("utf-8")
    with Ledger.open(written / "ledger") as ledger:
        ledger.record("doc:1", LedgerState.FETCHING, adapter="pubmed")
        ledger.compact()
        ledger.record("doc:5", LedgerState.FETCHING, adapter="pmc")
        now = states_of(ledger)

    assert now == STATES | {"doc:1": "fetching", "doc:5": "fetching"}
    assert verify(written / "ledger", checkpoint=checkpoint).is_sound


def test_a_changed_byte_of_it_is_found(written: Path) -> None:
    checkpoint = (written / "checkpoint-last.txt").read_text("utf-8")
    newest = max((written / "ledger").glob("snapshot-*.json"))
    for path, old, new in (
        (newest, b'"retrying"', b'"fetching"'),
        (max((written / "ledger").glob("delta-*.jsonl")), b"person:ada", b"person:eve"),
    ):
        text = path.read_bytes()
        path.write_bytes(text.replace(old, new))
        assert not verify(written / "ledger", checkpoint=checkpoint).is_sound
        path.write_bytes(text)
