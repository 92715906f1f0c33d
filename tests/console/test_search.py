"""Search: the box of every page, results with what matched, and the way to the place in the document."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.console.scene import Scene
from tests.waiting import wait_until

TEXT = b"date;amount;text\n2026-01-02;-12,50;Zebra <b>crossing</b> fee\n2026-01-03;-3,00;Bread\n"


@pytest.mark.long
def test_a_search_from_any_page_leads_to_the_place_in_the_document(
    scene: Scene, page: Page
) -> None:
    record = scene.submit(TEXT, name="zoo.csv")
    assert scene.rested(record) == "normalized"
    wait_until(lambda: scene.app.search.find("zebra").hits != [])
    page.goto(scene.page("/operations"))

    page.get_by_role("searchbox", name="Search documents").fill("zebr* fee")
    page.get_by_role("searchbox", name="Search documents").press("Enter")

    expect(page.locator("#hits li")).to_have_count(1)
    expect(page.locator("#hits mark")).to_have_text(["Zebra", "fee"])
    expect(page.locator("#hits .snippet")).to_contain_text("<b>crossing</b>")
    page.get_by_role("link", name="zoo.csv").click()
    expect(page.locator("#document-text .spot.on")).to_have_text(
        "2026-01-02;-12,50;Zebra <b>crossing</b> fee"
    )


@pytest.mark.long
def test_a_search_that_finds_nothing_or_means_nothing_is_answered(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/search?q=" + quote("xylophone-of-nobody")))
    expect(page.get_by_text("Nothing matches.")).to_be_visible()

    page.goto(scene.page("/search?q=" + quote("-rent")))
    expect(page.get_by_role("alert")).to_contain_text("at least one word")

    page.goto(scene.page("/search?q=" + quote("rent status:nonsense")))
    expect(page.get_by_role("alert")).to_contain_text("nonsense")
