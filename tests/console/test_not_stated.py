"""In a browser: a required value that the document does not state is an answer, too."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.scene import Scene
from tests.waiting import wait_until

TEXT = (
    "Stromliefervertrag\n\nAnbieter: Stadtwerke Musterhausen AG\nVertragsbeginn: 01.04.2026\n"
    "Tarif: Heimstrom 12\nArbeitspreis: 34,20 ct/kWh\nMonatlicher Abschlag: 51,50 EUR\nKunde: Erika Muster\n"
)
MISSING = ("contract_end", "cancellation_period")


@pytest.mark.long
def test_a_contract_that_does_not_state_a_required_value_is_accepted(
    scene: Scene, page: Page
) -> None:
    record_id = scene.submit(TEXT.encode(), name="open-ended.txt", machine="contract")
    assert scene.rested(record_id) == "review_required"
    page.goto(scene.page(f"/review/{record_id}"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)
    page.locator("#approve").click()
    expect(page.locator("#message")).to_contain_text("mark it as not stated")

    for name in MISSING:
        page.locator(f".field[data-field={name}-0] [data-absent]").click()
    page.locator("#correct").click()
    expect(page.locator("[data-held]")).to_contain_text("corrected")
    # What was undone is in the form again.
    page.keyboard.press("u")
    expect(page.locator("[data-absent][aria-pressed=true]")).to_have_count(len(MISSING))
    page.locator("#correct").click()
    expect(page.locator("[data-held]")).to_contain_text("corrected")

    scene.app.database.run("UPDATE pending_decisions SET effective_at = 0")
    wait_until(lambda: scene.app.record(record_id).status == "completed")
