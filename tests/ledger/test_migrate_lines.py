"""Every line of an old ledger is read, kept as text, or reported with its reason."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stateward.ledger import Ledger
from stateward.ledger.legacy import seconds
from stateward.ledger.migrate import migrate, undo
from stateward.ledger.migration_report import report_text
from tests.ledger.builders import QuickDisk, states_of
from tests.ledger.old_ledgers import an_old_ledger, moved


@pytest.mark.parametrize(
    ("given", "at"),
    [
        (1700000000, 1700000000.0), (1700000000.25, 1700000000.25), (1700000000123, 1700000000.123),
        (1700000000123456, 1700000000.123456), (1700000000123456789, 1700000000.123457),
        ("1700000000.5", 1700000000.5), ("2023-11-14T22:13:20Z", 1700000000.0), ("2023-11-14 22:13:20", 1700000000.0),
        ("2023-11-14T23:13:20+01:00", 1700000000.0), ("2023-11-14", 1699920000.0),
        (True, None), ("soon", None), (-1, None), ("nan", None), ("\uff11\uff17", None), ([], None),
        ("0001-01-01", None), ("9999-12-31T23:59:59Z", 253402300799.0), ("9999-12-31T23:59:59-12:00", None),
    ],
)  # fmt: skip
def test_times_are_read_as_they_were_written(given: Any, at: float | None) -> None:  # noqa: ANN401
    assert seconds(given) == at


WORDS = (
    "pending",
    "FETCHING",
    "fetched",
    "auto_done",
    "pdf-ir-ready",
    "error",
    "odd",
    "Retry",
    "",
    None,
    3,
    True,
)
IDS = ("doc:1", "doc:2", 'q"uote', "new\nline", "emoji 📄", "nul\x00", "", None, 17, "x" * 5000)
TIMES = (None, 1.5, 1700000000, "1700000000", "2023-11-14T22:13:20Z", "soon", -5, 1e300)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
old_lines = st.fixed_dictionaries(
    {},
    optional={
        "doc_id": st.sampled_from(IDS), "id": st.sampled_from(IDS), "state": st.sampled_from(WORDS),
        "status": st.sampled_from(WORDS), "old_state": st.sampled_from(WORDS), "timestamp": st.sampled_from(TIMES),
        "adapter": values, "metadata": values, "error": values, "retry_count": values, "loose": values,
        "DOC_ID": values,
    },
).map(json.dumps)  # fmt: skip


@given(
    st.lists(
        old_lines | st.sampled_from(["", "  ", "{", "null", '{"doc_id":"a","state":"\\ud800"}']),
        max_size=25,
    )
)
def test_any_old_ledger_is_counted_migrated_once_and_restorable(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = an_old_ledger(folder, lines)
        text = path.read_bytes()

        looked = moved(path, output=folder / "new", dry_run=True)
        assume(looked.is_usable)
        done = moved(path, output=folder / "new")
        again = moved(path, output=folder / "new")

        assert done.lines == done.blank + done.broken + done.records == text.count(b"\n")
        assert sum(done.before.values()) == sum(done.after.values()) == done.documents
        assert (looked.after, looked.impossible, looked.broken_places) == (
            done.after,
            done.impossible,
            done.broken_places,
        )
        assert again.is_done_already
        with Ledger.open(folder / "new", read_only=True) as ledger:
            assert Counter(states_of(ledger).values()) == Counter(done.after)
            assert sum(1 for each in ledger.records() if not each.is_control) == done.records
            assert list(ledger.replay()) == []
        path.unlink()
        undo(path, output=folder / "new", execute=True, disk=QuickDisk())
        assert path.read_bytes() == text


@pytest.mark.parametrize(
    ("line", "metadata"),
    [
        (b'\xef\xbb\xbf{"doc_id":"a","state":"pending"}', {}),
        (b'{"doc_id":"a","state":"pending","score":NaN}', {"score": "NaN"}),
        (b'{"doc_id":"a","state":"pending","score":-Infinity}', {"score": "-Infinity"}),
        (b'{"doc_id":"a","state":"pending","score":1e999}', {"score": "1e999"}),
        (b'{"doc_id":"a","state":"pending","n":%s}' % (b"9" * 6000), {"n": "9" * 6000}),
        (
            b'{"doc_id":"a","state":"pending","n":12345678901234567890}',
            {"n": "12345678901234567890"},
        ),
        (b'{"doc_id":"a","state":"pending","n":-9223372036854775808}', {"n": -(2**63)}),
        (b'{"doc_id":"a","state":"pending","text":"half \\ud800"}', {"text": "half \\ud800"}),
        (b'{"doc_id":"a","state":"pending","x":[{"\\udfff":NaN}]}', {"x": [{"\\udfff": "NaN"}]}),
    ],
    ids=["mark", "nan", "infinity", "large", "long", "20 digits", "64 bits", "half", "nested"],
)
def test_what_no_strict_reader_takes_is_kept_as_text(
    tmp_path: Path, line: bytes, metadata: dict[str, Any]
) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(line + b"\n")

    migrate(tmp_path / "ledger.jsonl", output=tmp_path / "new")

    with Ledger.open(tmp_path / "new", read_only=True) as ledger:
        found = ledger.document("a")
    assert found is not None
    assert found.metadata == metadata


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"doc_id":"a\xff","state":"pending"}', "this is not UTF-8 (byte 12)"),
        (b'{"doc_id":"a","sta', "this is not JSON: Unterminated string starting at (character 15)"),
        (b"\x00" * 9, "this is not JSON: Expecting value (character 1)"),
        (b"[" * 100_000, "this is nested too deeply"),
        (b"[1]", "not a JSON object"),
    ],
    ids=["bytes", "cut", "zeros", "deep", "list"],
)
def test_a_line_that_cannot_be_read_is_reported_with_its_reason(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    (tmp_path / "ledger.jsonl").write_bytes(line + b"\n")

    report = migrate(tmp_path / "ledger.jsonl", dry_run=True)

    assert report.broken == 1
    assert reason in report_text(report)
