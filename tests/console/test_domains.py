"""One page of a record for each pipeline, from the samples that `stateward demo` shows."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.cli.shell import Shell
from tests.console.scene import Scene, staged

pytestmark = pytest.mark.long
# Whose newest sample is drawn beside its rows; a workbook, for one, is not.
MARKED = {
    "labs",
    "images",
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
    newest = {
        (each.machine, str(each.labels.get("source_type"))): each
        for each in records.find(records.query("-is:failed"), limit=200)
        if each.outputs
    }
    assert len({machine for machine, _ in newest}) >= 8
    marked: set[str] = set()

    for (machine, _), record in newest.items():
        page.goto(shown.page(f"/records/{record.id}"))
        expect(page.locator("#made .tabs button").first, machine).to_be_visible()
        expect(page.get_by_text("loading…")).to_have_count(0)
        expect(page.locator("#document-body"), machine).not_to_contain_text("There is no document")
        place = page.locator("#items [data-mark]").first
        if (
            place.count()
        ):  # a row that says where it comes from is marked there, if its document can be drawn
            place.click()
            with suppress(PlaywrightTimeout):
                page.locator("#document .mark.on, #document .spot.on").first.wait_for(timeout=8000)
                marked.add(f"{machine} {record.labels.get('source_type', '')}".strip())
        outside = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert outside <= 0, machine
    assert marked >= MARKED
