"""Files that are locked, torn, forged or far too large: a code or a note, and never fewer rows in silence."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.documents.statements import Statement, broken, draw
from lab.documents.statements.paper import Paper, assemble, stream
from stateward.core.errors import FatalFailure
from stateward.pipelines.statements.pdf import read_pdf
from stateward.workers.sdk import Completed, Failed
from tests.pipelines.statements.pdf.judging import drawn, judged, sheet
from tests.pipelines.statements.reading import read_file, run

CODES = {"PDF_CORRUPT", "PDF_ENCRYPTED", "NO_TEXT", "NO_TABLE", "TOO_LARGE"}


@pytest.fixture(autouse=True)
def no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans are not read here: it takes ten seconds a page."""
    monkeypatch.setitem(sys.modules, "stateward.pipelines.kit.ocr", None)


def a_statement() -> Statement:
    return draw(
        8,
        rows=70,
        accounts=1,
        kind="table",
        is_card=False,
        names="known",
        summary="lines",
        tongue="en_GB",
    )


def code_of(folder: Path, pdf: bytes, *, password: str | None = None, pages_max: int = 2000) -> str:
    path = folder / "broken.pdf"
    path.write_bytes(pdf)
    with pytest.raises(FatalFailure) as caught:
        read_pdf(path, password=password, pages_max=pages_max)
    return str(caught.value.code)


FORGED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "EMPTY_FILE"),
    "not a PDF": (lambda: b"PK\x03\x04" + bytes(100), "PDF_CORRUPT"),
    "only a head": (lambda: b"%PDF-1.7\n", "PDF_CORRUPT"),
    "no pages": (broken.without_pages, "PDF_CORRUPT"),
    "fewer pages than it says": (lambda: broken.missing_pages(9), "PDF_CORRUPT"),
    "far more pages than it has": (lambda: broken.missing_pages(1_000_000), "TOO_LARGE"),
    "a tree without end": (broken.circular_tree, "PDF_CORRUPT"),
    "a bomb": (lambda: broken.bomb(20), "NO_TEXT"),
    "too many letters": (lambda: broken.endless_line(310_000), "TOO_LARGE"),
    "a scan": (lambda: broken.picture(3), "NO_TEXT"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_cannot_be_read_is_refused_with_its_code(tmp_path: Path, name: str) -> None:
    forge, code = FORGED[name]

    assert code_of(tmp_path, forge()) == code


def test_a_deep_tree_of_pages_ends(tmp_path: Path) -> None:
    assert code_of(tmp_path, broken.deep_tree(3000)) in CODES


def test_more_pages_than_allowed_are_refused(tmp_path: Path) -> None:
    pdf = a_statement().pdf

    assert code_of(tmp_path, pdf, pages_max=1) == "TOO_LARGE"


def test_a_locked_file_wants_its_password(tmp_path: Path) -> None:
    pdf = broken.lock(_objects(), user="secret", owner="master")

    assert code_of(tmp_path, pdf) == "PDF_ENCRYPTED"
    assert code_of(tmp_path, pdf, password="guess") == "PDF_ENCRYPTED"
    assert _rows(tmp_path, pdf, password="secret") == 2


def test_a_file_that_only_its_owner_locked_opens(tmp_path: Path) -> None:
    pdf = broken.lock(_objects(), user="", owner="master")

    assert _rows(tmp_path, pdf) == 2


def test_a_password_of_the_settings_opens_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "locked.pdf"
    path.write_bytes(broken.lock(_objects(), user="secret", owner="master"))

    assert read_file(path).error.code == "PDF_ENCRYPTED"
    assert read_file(path, options={"passwords": ["wrong", "secret"]}).amounts == [
        "-10.00",
        "-5.00",
    ]


def test_a_torn_file_never_gives_fewer_rows_in_silence(tmp_path: Path) -> None:
    statement = a_statement()

    for piece in broken.torn(statement.pdf, 60):
        found = judged(tmp_path, piece, statement.known())

        assert found.is_exact or found.notes, len(piece)


@pytest.mark.long
def test_a_flipped_bit_never_gives_fewer_rows_in_silence(tmp_path: Path) -> None:
    statement = a_statement()

    for piece in broken.flipped(statement.pdf, 150):
        found = judged(tmp_path, piece, statement.known())

        assert found.is_exact or found.notes or found.score.rows_found == found.score.rows


def test_noise_in_a_file_never_crashes_the_reader(tmp_path: Path) -> None:
    rng = random.Random(5)
    whole = a_statement().pdf
    path = tmp_path / "noise.pdf"

    for _ in range(40):
        noisy = bytearray(whole)
        for _ in range(rng.randint(1, 200)):
            noisy[rng.randrange(len(noisy))] = rng.randrange(256)
        path.write_bytes(noisy)
        assert _outcome(path) in CODES | {"read"}


def test_a_page_of_two_hundred_inches_is_read(tmp_path: Path) -> None:
    paper = Paper((14_400, 14_400))
    paper.page()
    for y, texts in enumerate(_LINES):
        for x, text in texts:
            paper.text(x, 100 + 14 * y, text)
    path = tmp_path / "huge.pdf"
    path.write_bytes(paper.pdf())

    (section,) = read_pdf(path).sections

    assert len(list(section.rows)) == 2


def test_a_scanned_page_among_others_is_told(tmp_path: Path) -> None:
    objects = _objects()
    image, content, page = (len(objects) + number for number in (1, 2, 3))
    objects[1] = objects[1].replace(b"/Count 1", b"/Count 2").replace(b"R]", b"R %d 0 R]" % page, 1)
    objects += [
        broken.image(),
        stream(b"q 500 0 0 800 0 0 cm /I Do Q"),
        b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /XObject << /I %d 0 R >> >> >>"
        % (content, image),
    ]
    path = tmp_path / "scan.pdf"
    path.write_bytes(assemble(objects))

    assert "PAGE_UNREADABLE" in [problem.code for problem in read_pdf(path).problems]


def test_text_that_is_no_statement_is_refused(tmp_path: Path) -> None:
    paper = sheet(
        [(40, "Dear Sir or Madam, we write to you about nothing in particular.")],
        [(40, "Yours faithfully")],
    )

    assert code_of(tmp_path, paper.pdf()) == "NO_TABLE"


def test_the_seed_of_these_tests_is_read(tmp_path: Path) -> None:
    assert drawn(tmp_path, a_statement()).is_exact


_LINES: list[list[tuple[float, str]]] = [
    [(40, "Statement period 01/03/2025 - 31/03/2025")],
    [(40, "Date"), (110, "Description"), (420, "Amount"), (520, "Balance")],
    [(40, "03/03/2025"), (110, "SHOP"), (420, "-10.00"), (520, "90.00")],
    [(40, "15/03/2025"), (110, "SHOP"), (420, "-5.00"), (520, "85.00")],
]


def _objects() -> list[bytes]:
    return sheet(*_LINES).objects()


def _outcome(path: Path) -> str:
    try:
        read_pdf(path)
    except FatalFailure as refusal:
        return str(refusal.code)
    return "read"


def _rows(folder: Path, pdf: bytes, *, password: str | None = None) -> int:
    path = folder / "opened.pdf"
    path.write_bytes(pdf)
    (section,) = read_pdf(path, password=password).sections
    return len(list(section.rows))


def with_a_missing_page() -> bytes:
    """A statement of three pages that says it has four."""
    return a_statement().pdf.replace(b"/Count 3", b"/Count 4")


def test_a_damaged_file_is_retried_and_then_read_with_what_can_be_saved_of_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "torn.pdf"
    path.write_bytes(with_a_missing_page())

    first = run("upload.parse", path)
    second = run("upload.parse", path, retry_count=1)

    assert isinstance(first, Failed)
    assert (first.code, first.is_retryable) == ("PDF_CORRUPT", True)
    assert isinstance(second, Completed)
    assert second.count == 70
    notes = second.facts["notes"]
    assert isinstance(notes, list)
    assert any("left out (4)" in str(note) for note in notes)


def test_a_file_of_which_nothing_can_be_saved_stays_damaged(tmp_path: Path) -> None:
    path = tmp_path / "torn.pdf"
    path.write_bytes(b"%PDF-1.7\n")

    again = run("upload.parse", path, retry_count=2)

    assert isinstance(again, Failed)
    assert (again.code, again.is_retryable) == ("PDF_CORRUPT", True)
