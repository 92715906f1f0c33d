"""In a browser: a queue of reviews that is limited to what belongs together, and shows what others do."""

from itertools import count

import pytest
from playwright.sync_api import Page, expect

from lab.documents.contracts.blocks import plain
from tests.console.scene import Scene, contract_blocks

pytestmark = pytest.mark.long


_rates = count(61)


def contract(scene: Scene, name: str, *, provider: str) -> str:
    text = bytes(plain(contract_blocks(f"{next(_rates)},10", provider=provider)))
    record_id = scene.submit(text, name=name, machine="contract")
    assert scene.rested(record_id) == "review_required"
    return record_id


def test_reviews_of_one_provider_are_taken_together(scene: Scene, page: Page) -> None:
    one = contract(scene, "one.txt", provider="Talwerke Nord AG")
    other = contract(scene, "other.txt", provider="Kellerstrom Süd GmbH")
    page.goto(scene.page("/review"))
    expect(page.locator(f"#task-{other}")).to_be_visible()

    page.locator(f"#task-{one}").get_by_role("link", name="Talwerke Nord AG").click()

    expect(page.locator("#only")).to_have_text("provider: Talwerke Nord AG")
    expect(page.locator("article")).to_have_attribute("data-record", one)
    expect(page.locator("[data-task]")).to_have_count(1)
    # What comes later is limited, too.
    expect(page.locator("#fresh")).to_contain_text("live")
    contract(scene, "third.txt", provider="Kellerstrom Süd GmbH & Co. KG")
    later = contract(scene, "later.txt", provider="Talwerke Nord AG")
    expect(page.locator(f"#task-{later}")).to_be_visible()
    expect(page.locator("[data-task]")).to_have_count(2)
    page.get_by_role("link", name="Show all").click()
    expect(page.locator(f"#task-{other}")).to_be_visible()


def test_what_others_claim_and_give_up_is_seen_by_itself(scene: Scene, page: Page) -> None:
    mine = contract(scene, "mine.txt", provider="Bergstrom Ost AG")
    theirs = contract(scene, "theirs.txt", provider="Bergstrom Ost AG")
    page.goto(scene.page(f"/review/{mine}"))
    expect(page.locator("#fresh")).to_contain_text("live")
    row = page.locator(f"#task-{theirs}")
    expect(row).to_have_attribute("data-taken", "no")

    scene.app.reviews.claim(theirs, actor="person:otto@elsewhere")
    expect(row).to_contain_text("otto, until")
    scene.app.reviews.unclaim(theirs, actor="person:otto@elsewhere")
    expect(row).not_to_contain_text("otto")


def test_what_could_not_be_refreshed_is_refreshed_later(scene: Scene, page: Page) -> None:
    contract(scene, "first.txt", provider="Moorstrom West AG")
    page.goto(scene.page("/review"))
    expect(page.locator("#fresh")).to_contain_text("live")
    page.route("**/review-queue", lambda route: route.fulfill(status=503, body="busy"))
    with page.expect_response("**/review-queue"):
        later = contract(scene, "later.txt", provider="Moorstrom West AG")

    page.unroute("**/review-queue")

    expect(page.locator(f"#task-{later}")).to_be_visible()
