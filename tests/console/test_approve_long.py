"""An approver link in a browser: made on the review page, opened by another person, and over once it is used."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.conftest import WAIT_MS
from tests.console.scene import Scene, contract_text
from tests.waiting import wait_until


@pytest.mark.long
def test_a_link_is_made_opened_and_used_in_the_browser(
    scene: Scene, page: Page, browser: Browser
) -> None:
    record_id = scene.submit(contract_text("17,50"), name="one.txt", machine="contract")
    assert scene.rested(record_id) == "review_required"
    page.goto(scene.page(f"/review/{record_id}"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)

    page.get_by_role("button", name="Link for an approver…").click()
    page.get_by_label("For whom").fill("anna@example.org")
    page.get_by_role("button", name="Make the link").click()
    expect(page.locator("#links li")).to_contain_text("anna@example.org: unopened")
    url = page.locator("#link-url").input_value()
    page.keyboard.press("Escape")

    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(WAIT_MS)
    anna = context.new_page()
    errors: list[str] = []
    anna.on("pageerror", lambda error: errors.append(str(error)))
    anna.goto(url)
    anna.get_by_role("button", name="Open the review").click()
    expect(anna.locator("#work")).to_have_attribute("data-claimed", record_id)
    expect(anna.locator(".user")).to_contain_text("anna@example.org")
    expect(anna.get_by_role("navigation")).to_have_count(0)
    expect(anna.locator("#queue")).to_have_count(0)
    anna.keyboard.press("a")
    expect(anna.locator("#nothing")).to_contain_text("Your decision is stored")
    anna.keyboard.press("u")
    expect(anna.locator("#approve")).to_be_enabled()
    expect(anna.locator("#work")).to_have_attribute("data-claimed", record_id)
    anna.keyboard.press("a")
    expect(anna.locator("#nothing")).to_contain_text("Your decision is stored")
    scene.app.database.run("UPDATE pending_decisions SET effective_at = 0")
    wait_until(lambda: scene.app.record(record_id).status != "review_required")
    anna.goto(scene.page(f"/review/{record_id}"))
    expect(anna.get_by_role("alert")).to_contain_text("you have answered this review")

    actors = {each.actor.partition("@link-")[0] for each in scene.app.store.history(record_id)}
    assert "person:anna@example.org" in actors
    assert errors == []
    context.close()
