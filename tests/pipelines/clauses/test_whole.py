"""Contracts through both stages: DOCX with tracked changes and tables, PDF, a real app, detection and evaluation."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.documents.contracts.blocks import Heading, Lines, docx
from lab.documents.statements import Paper
from stateward.app import App
from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.definition.plugin import ConfiguredPlugin, Content, EvaluationRequest, Host
from stateward.pipelines.clauses import RUNNERS, runners
from stateward.pipelines.clauses.detection import detect
from stateward.pipelines.clauses.report import covers, evaluation
from stateward.pipelines.clauses.settings import ClauseSettings
from stateward.pipelines.documents.detection import detect as detect_letter
from stateward.pipelines.kit.evaluation import StagesRun, run_stages
from stateward.pipelines.statements.detection import detect as detect_statement
from stateward.workers.sdk import Completed, Failed
from tests.pipelines.two_stages import a_job, rows_of
from tests.pipelines.two_stages import run as run_runner_of

PIPELINES = Path(__file__).parents[3] / "src/stateward/pipelines"
SAMPLES = PIPELINES / "clauses/samples"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(path: Path, options: Fields | None = None) -> StagesRun:
    assert runners is not None
    return run_stages(path, RUNNERS, now=lambda: 0, options=options)


def a_docx(path: Path, body: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>"
        )
    return path


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>"


def test_insertions_of_a_docx_are_read_and_deletions_are_not(tmp_path: Path) -> None:
    changed = (
        "<w:p><w:r><w:t>2. Price. The price is </w:t></w:r><w:del><w:r><w:delText>100</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>120</w:t></w:r></w:ins><w:r><w:t> EUR.</w:t></w:r></w:p>"
        "<w:ins><w:p><w:r><w:t>3. Confidentiality. Nothing is told.</w:t></w:r></w:p></w:ins>"
    )
    found = run(a_docx(tmp_path / "a.docx", paragraph("1. Term. One year.") + changed))

    texts = {str(item["number"]): str(item["text"]) for item in found.items("normalize")}
    assert texts["2."].strip() == "2. Price. The price is 120 EUR."
    assert "3." in texts


def test_automatic_numbers_of_a_docx_are_the_numbers_of_its_clauses(tmp_path: Path) -> None:
    levels = '<w:lvl w:ilvl="0"><w:lvlText w:val="§ %1"/></w:lvl><w:lvl w:ilvl="1"><w:lvlText w:val="(%2)"/></w:lvl>'
    numbering = (
        f'<w:numbering {W}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    )
    body = "".join(
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r></w:p>"
        for level, text in ((0, "Vergütung"), (1, "Fünf Euro."), (1, "Im Monat."), (0, "Haftung"))
    )
    path = a_docx(tmp_path / "n.docx", body)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/numbering.xml", numbering)

    found = [(item["path"], item["type"]) for item in run(path).items("normalize")]

    assert found == [
        ("§ 1", "fees"),
        ("§ 1 (1)", "fees"),
        ("§ 1 (2)", "fees"),
        ("§ 2", "liability"),
    ]


def test_headings_in_a_table_of_a_docx_are_clauses(tmp_path: Path) -> None:
    rows = "".join(
        f"<w:tr><w:tc>{paragraph(number)}</w:tc><w:tc>{paragraph(heading)}</w:tc><w:tc>{paragraph(text)}</w:tc></w:tr>"
        for number, heading, text in (
            ("1.", "Laufzeit", "Ein Jahr."),
            ("2.", "Vergütung", "Fünf Euro."),
            ("3.", "Haftung", "Keine."),
        )
    )
    found = run(a_docx(tmp_path / "t.docx", f"<w:tbl>{rows}</w:tbl>"))

    assert [(item["heading"], item["type"]) for item in found.items("normalize")] == [
        ("Laufzeit", "term"),
        ("Vergütung", "fees"),
        ("Haftung", "liability"),
    ]


def test_clauses_of_a_pdf_have_pages_and_boxes(tmp_path: Path) -> None:
    paper = Paper()
    for lines in (
        ["1. Term", "The agreement lasts for one whole year from today."],
        [
            "2. Governing Law",
            "English law applies to all of this.",
            "3. Notices",
            "All notices shall be in writing.",
        ],
    ):
        paper.page()
        for at, line in enumerate(lines):
            paper.text(60, 80 + 18 * at, line, size=11)
    path = tmp_path / "a.pdf"
    path.write_bytes(paper.pdf())

    found = run(path)
    items = list(found.items("normalize"))

    assert [(item["page"], item["type"]) for item in items] == [
        (1, "term"),
        (2, "governing_law"),
        (2, "notices"),
    ]
    assert items[0]["where"]["box"][0] == pytest.approx(60, abs=2)  # type: ignore[index, call-overload]
    assert covers(list(found.items("parse")))


def test_the_same_contract_gives_the_same_items() -> None:
    path = SAMPLES / "wartungsvertrag.txt"

    assert list(run(path).items("normalize")) == list(run(path).items("normalize"))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 100, "UNSUPPORTED_FORMAT"),
        (b"Dear Ann, this letter has no numbers and no headings at all.", "NO_CLAUSES"),
        (b"PK\x03\x04 broken", "CORRUPT_FILE"),
        (b"%PDF-1.4 nothing", "CORRUPT_FILE"),
    ],
)
def test_what_cannot_be_read_fails_with_a_code(data: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    failure = run(path).failure

    assert failure is not None
    assert failure.code == code
    assert failure.is_retryable == (code == "CORRUPT_FILE"), "a damaged file is tried again"


def test_a_damaged_contract_is_read_with_what_is_left_and_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateward.pipelines.clauses import stages
    from stateward.pipelines.kit.reader import read_document

    whole = read_document

    def damaged(path: Path, *, is_lenient: bool, **options: Any) -> object:  # noqa: ANN401
        if not is_lenient:
            raise FatalFailure("page 2 is damaged", code="CORRUPT_FILE")
        return replace(whole(path, **options), damage="page 2 is damaged")

    monkeypatch.setattr(stages, "read_document", damaged)
    path = SAMPLES / "wartungsvertrag.txt"

    first, second = (
        run_runner_of(RUNNERS["parse"], a_job("parse", path, retry_count=count)) for count in (0, 1)
    )

    assert isinstance(first, Failed)
    assert (first.code, first.is_retryable) == ("CORRUPT_FILE", True)
    assert isinstance(second, Completed)
    assert second.facts["flags"] == ["DAMAGED_FILE"]
    assert "page 2 is damaged" in str(second.facts["notes"])


def test_a_docx_that_was_cut_off_is_retried_and_read_if_no_part_of_it_is_lost(
    tmp_path: Path,
) -> None:
    whole = docx([Heading("Agreement"), Lines(["1. Term. One year.", "2. Price. 120 EUR."])])
    path = tmp_path / "cut.docx"
    path.write_bytes(whole)
    sound = run_runner_of(RUNNERS["parse"], a_job("parse", path))
    path.write_bytes(
        whole[: whole.index(b"PK\x01\x02") + 7]
    )  # without the directory of the archive

    first, second = (
        run_runner_of(RUNNERS["parse"], a_job("parse", path, retry_count=count)) for count in (0, 1)
    )
    path.write_bytes(whole[: whole.index(b"word/document.xml") + 60])
    lost = run_runner_of(RUNNERS["parse"], a_job("parse", path, retry_count=1))

    assert isinstance(first, Failed)
    assert (first.code, first.is_retryable) == ("CORRUPT_FILE", True)
    assert isinstance(sound, Completed)
    assert isinstance(second, Completed)
    assert rows_of(second) == rows_of(sound)
    assert isinstance(lost, Failed)
    assert (lost.code, lost.is_retryable) == ("CORRUPT_FILE", False)


def test_a_contract_longer_than_the_settings_allow_is_refused(tmp_path: Path) -> None:
    failure = run(SAMPLES / "wartungsvertrag.txt", {"chars_max": 100}).failure

    assert failure is not None
    assert failure.code == "TEXT_TOO_LARGE"


def test_a_missing_number_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1.1 One thing here\n1.2 Two things here\n1.4 Four things here\n")

    assert "between 1.2 and 1.4" in str(run(path).completed["parse"].facts["notes"])


def test_a_contract_is_normalized_by_a_real_app(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(
            (SAMPLES / "service-agreement.txt").read_bytes(),
            name="agreement.txt",
            labels={"source_type": "contract_clauses"},
        ).record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))
        items = list(app.items(record.id))

        assert view.status == "normalized", app.records.attempts(record.id)[-1].log
        assert view.exposed["canonicals_count"] == len(items)
        types = {str(item["path"]): item["type"] for item in items}
        assert types["3."] == "fees"
        assert types["6."] == "governing_law"
        assert "2. 2.2 (b) (ii)" in types


def test_contracts_are_known_by_their_content_and_statements_stay_statements() -> None:
    for path in sorted((PIPELINES / "statements/samples").iterdir()):
        content = Content.of(path)
        own = detect(content)
        assert own is None or own.confidence < detect_statement(content).confidence, path.name
    for path in sorted(SAMPLES.iterdir()):
        own = detect(Content.of(path))
        assert own is not None
        assert own.confidence > 20


@pytest.mark.parametrize(
    ("lines", "is_contract"),
    [
        (("Hyresavtal", "1. Föremål", "2. Hyra", "3. Ändringar"), True),
        (("Договор", "1. Предмет", "2. Цена", "3. Срок"), True),
        (("This agreement binds the parties.", "TERM", "PRICE", "LAW"), True),
        (("Kündigung", "hiermit kündige ich meinen Vertrag zum 3. Mai."), False),
        (("Minutes", "It was agreed that each party shall pay."), False),
        (("Dear parents,", "1. Bring a coat.", "2. Bring a towel.", "3. Bring a friend."), False),
        (("Kära Anna!", "1. Ta en rock.", "2. Ta en bok.", "3. Ta en bil."), False),
    ],
)
def test_numbered_clauses_make_a_docx_a_contract_and_two_words_do_not(
    tmp_path: Path, lines: tuple[str, ...], *, is_contract: bool
) -> None:
    path = a_docx(tmp_path / "a.docx", "".join(map(paragraph, lines)))

    own, letter = detect(Content.of(path)), detect_letter(Content.of(path))

    assert own is not None
    assert letter is not None
    assert (own.confidence > letter.confidence) is is_contract


def test_a_body_of_open_brackets_is_no_contract(tmp_path: Path) -> None:
    found = detect(Content.of(a_docx(tmp_path / "a.docx", "<" * 200_000)))

    assert found is not None
    assert found.confidence < 20


def test_the_evaluation_compares_numbers_headings_and_types(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "1. Term\nOne year.\n2. Governing Law\nEnglish law.\n3. Notices\nBy post.\n"
    )
    truth = [
        {"number": "1", "heading": "Term", "type": "term"},
        {"number": "2.", "type": "disputes"},
        {"number": "9."},
    ]
    (tmp_path / "a.truth.json").write_text(
        json.dumps({"clauses": truth, "Governing Law-Answer": "England", "Insurance-Answer": "Yes"})
    )
    host = Host(clock=lambda: 0, warn=lambda _: None)

    report = evaluation(
        EvaluationRequest(
            path=tmp_path,
            parameters={},
            clock=lambda: 0,
            cpu_s=lambda: 0.0,
            progress=lambda _: None,
            configured=lambda: ConfiguredPlugin(ClauseSettings(), host),
            artifact_path=Path,
        )
    )

    total = report.document["total"]
    assert (total["true"], total["found"], total["types_right"]) == (3, 2, 1)  # type: ignore[index]
    assert (total["cuad"], total["cuad_right"]) == (2, 1)  # type: ignore[index]
    assert report.is_well
    assert any("9." in sentence and "missing" in sentence for sentence in report.sentences)
