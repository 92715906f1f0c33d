"""One page of a record for each pipeline, from the samples that `stateward demo` shows."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from stateward.core.model import Record
from tests.cli.shell import Shell
from tests.console.scene import Scene, staged

pytestmark = pytest.mark.long
# Every pipeline that names places; of each, one document at least can be drawn. A workbook, for one, cannot.
MARKED = {
    "labs",
    "images",
    "inspection",
    "documents",
    "experiments",
    "literature",
    "contract",
    "upload sample",
    "upload catalog",
    "upload web_page",
    "upload contract_clauses",
    "upload lab_report",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A service on the data of the demo."""
    folder: Path = tmp_path_factory.mktemp("demo") / "data"
    assert Shell(folder)("demo").exit_code == 0
    with staged(folder) as found:
        yield found


def test_every_pipeline_has_a_page_with_document_and_result(shown: Scene, page: Page) -> None:
    records = shown.app.records
    found = [each for each in records.find(records.query("-is:failed"), limit=200) if each.outputs]
    newest: dict[str, Record] = {}
    for each in found:
        newest.setdefault(kind_of(each), each)
    assert len({each.machine for each in newest.values()}) >= 8

    for kind, record in newest.items():
        page.goto(shown.page(f"/records/{record.id}"))
        expect(page.locator("#made .tabs button").first, kind).to_be_visible()
        expect(page.get_by_text("loading…")).to_have_count(0)
        expect(page.locator("#document-body"), kind).not_to_contain_text("There is no document")
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 700})
            outside = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert outside <= 0, (kind, width)


def test_rows_of_every_pipeline_are_marked_in_a_document(shown: Scene, page: Page) -> None:
    records = shown.app.records
    marked: set[str] = set()
    for record in records.find(records.query("-is:failed"), limit=200):
        if record.outputs and kind_of(record) not in marked and is_marked(shown, page, record):
            marked.add(kind_of(record))

    assert marked == MARKED


def test_a_paper_that_failed_is_retried_on_its_page(shown: Scene, page: Page) -> None:
    paper = shown.submit(b"<article><body><p>cut", name="cut.xml", machine="literature")
    assert shown.rested(paper) == "failed"
    version = shown.app.records.get(paper).version

    page.goto(shown.page(f"/records/{paper}"))
    page.get_by_role("button", name="Retry…").click()
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_text("It is tried again.")).to_be_visible()

    assert shown.app.records.get(paper).version > version


def kind_of(record: Record) -> str:
    return f"{record.machine} {record.labels.get('source_type', '')}".strip()


def is_marked(shown: Scene, page: Page, record: Record) -> bool:
    """Whether a click on the first row of one of the stages marks its place in the document."""
    page.goto(shown.page(f"/records/{record.id}"))
    tabs = page.locator("#made .tabs button")
    expect(tabs.first).to_be_visible()
    for at in range(tabs.count()):
        with page.expect_response(lambda answer: "/items" in answer.url):
            tabs.nth(at).click()
        place = page.locator("#items [data-mark]").first
        if place.count():
            place.click()
            with suppress(PlaywrightTimeout):
                page.locator("#document .mark.on, #document .spot.on").first.wait_for(timeout=8000)
                return True
    return False
