"""Every format, told from stories whose truth is known: exact rows, and what adds up is said to."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from lab.documents.statements.structured import WRITERS, Story, story
from tests.pipelines.statements.reading import Read, read_bytes

# Formats that print no opening balance, or no closing one: nothing in them proves a sum.
UNPROVEN = {"ofx_sgml", "ofx_xml", "qif"}
SIGNED = {"csv_plain", "csv_german", "tsv_swiss", "xlsx"}  # one column of amounts
NEWEST_FIRST = {"csv_indian"}
# A story draws its words at random: several salaries in the column of debits are doubted where no balance runs along.
DOUBTS = {"csv_french": {"SIGN_CONTRADICTED"}}


def assert_told(read: Read, told: Story, name: str) -> None:
    rows = read.canonicals[::-1] if name in NEWEST_FIRST else read.canonicals
    cut = 32 if name == "ofx_sgml" else 1000
    assert [row["date"] for row in rows] == [move.day.isoformat() for move in told.moves]
    assert [row["amount"] for row in rows] == [f"{move.amount:.2f}" for move in told.moves]
    assert [row["description"] for row in rows] == [
        " ".join(move.text[:cut].split()) for move in told.moves
    ]
    notes = [note for note in read.notes if note not in {"SIGN_UNPROVEN", *DOUBTS.get(name, ())}]
    assert notes == (["NOT_CHECKED"] if name in UNPROVEN else [])
    # Money that mostly comes in adds up as a debt, too, and the texts of a story have no words.
    mostly_in = sum(move.amount > 0 for move in told.moves) > len(told.moves) / 2
    assert "SIGN_UNPROVEN" not in read.notes or (name in SIGNED and mostly_in)
    assert all(row["place"] for row in read.observations)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_read_exactly(name: str, tmp_path: Path) -> None:
    told = story(4, moves=30)

    read = read_bytes(tmp_path, WRITERS[name](told))

    assert_told(read, told, name)
    assert {row.get("currency", "") for row in read.canonicals} <= {"EUR", ""}


@given(
    seed=some.integers(100, 10_000), moves=some.integers(3, 60), name=some.sampled_from([*WRITERS])
)
def test_any_story_in_any_format_is_read_exactly(
    seed: int, moves: int, name: str, tmp_path: Path
) -> None:
    told = story(seed, moves=moves)
    # Without a day above 12 nothing in a QIF file tells day and month apart, and it says so instead.
    assume(name != "qif" or any(move.day.day > 12 for move in told.moves))

    assert_told(read_bytes(tmp_path, WRITERS[name](told)), told, name)


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_file_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    data = WRITERS[name](story(9))

    first, second = read_bytes(tmp_path, data), read_bytes(tmp_path, data)

    assert first.parsed == second.parsed
    assert first.normalized == second.normalized


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"xlsx"}))
def test_a_file_that_was_cut_never_passes_in_silence(name: str, tmp_path: Path) -> None:
    data = WRITERS[name](story(5, moves=20))

    for share in (0.3, 0.5, 0.7, 0.9):
        read = read_bytes(tmp_path, data[: int(len(data) * share)])
        if read.normalized is not None and not hasattr(read.normalized, "code"):
            assert len(read.canonicals) < 20
            # A running balance chains up to the cut; a cut last row and missing totals are noted.
            is_chained = {check["status"] for check in read.checks} == {"reconciled"}
            assert read.notes or is_chained
        else:
            assert read.error.code
