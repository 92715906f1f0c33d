"""A page from its upload to its facts, through a real app; and no document of another domain becomes one."""

from pathlib import Path

import pytest

from stateward.app import App
from stateward.definition.plugin import Content
from stateward.pipelines.web.detection import detect

PIPELINES = Path("src/stateward/pipelines")
SAMPLES = PIPELINES / "web" / "samples"


def test_a_page_ends_normalized_with_facts_that_stand_in_its_text(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        data = (SAMPLES / "funding-round.html").read_bytes()
        record = app.submit(data, name="funding-round.html").record
        app.run_until_idle()
        view = app.records.view(app.record(record.id))
        facts = [item for item in app.items(record.id) if item["kind"] != "page"]
        texts = [each.path for each in app.records.files(app.record(record.id))]

    assert view.status == "normalized"
    assert view.labels["source_type"] == "web_page"
    assert view.exposed["canonicals_count"] == len(facts) + 1
    assert texts == ["parse/page.txt"]
    assert any(fact.get("subject_id") == "@sama" for fact in facts)


@pytest.mark.parametrize(
    ("data", "name", "source_type"),
    [
        (b"<!DOCTYPE html><html><body>x", "a.html", "web_page"),
        (b"\xef\xbb\xbf\r\n<HTML><HEAD>", "a", "web_page"),
        (b"WARC/1.0\r\n", "a.warc", "web_page"),
        (b"\x1f\x8bxx", "crawl.warc.gz", "web_page"),
        (
            b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n",
            "a.mhtml",
            "web_page",
        ),
        (b"https://example.com/a\n", "a.txt", "web_url"),
        (b"[InternetShortcut]\r\nURL=https://example.com/\r\n", "a.url", "web_url"),
    ],
)
def test_a_page_or_address_is_detected(
    tmp_path: Path, data: bytes, name: str, source_type: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)

    found = detect(Content.of(path, name=name))

    assert found is not None
    assert found.source_type == source_type


@pytest.mark.parametrize(
    "path",
    [
        path
        for name in ("statements", "catalogs", "contracts")
        for path in sorted((PIPELINES / name / "samples").iterdir())
        if path.is_file()
    ],
    ids=lambda path: path.name,
)
def test_a_document_of_another_domain_is_no_page(path: Path) -> None:
    assert detect(Content.of(path, name=path.name)) is None


def test_a_letter_that_mentions_an_address_is_no_link(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("Dear all,\nsee https://example.com/ for more.\n")

    assert detect(Content.of(path)) is None
