"""The page of the API in a browser: an operation is tried out, and nothing else is loaded or run."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.scene import Scene, statement


@pytest.mark.long
def test_an_operation_is_tried_out(scene: Scene, page: Page) -> None:
    record_id = scene.submit(statement(4000), name="tried.csv")
    scene.rested(record_id)
    page.goto(f"{scene.url}/docs#getRecord")
    place = page.locator("details[data-try=getRecord]")

    place.locator("summary").click()
    place.locator("input[name=record_id]").fill(record_id)
    place.get_by_role("button", name="Send GET").click()

    expect(place.locator("pre")).to_contain_text("200")
    expect(place.locator("pre")).to_contain_text(f'"id": "{record_id}"')
