"""A review page that stays open while its service is away."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.scene import Scene, contract_text


def waiting(scene: Scene, *names: str) -> list[str]:
    """Contracts that wait for a person."""
    ids = [
        scene.submit(contract_text(f"{10 + at},50"), name=name, machine="contract")
        for at, name in enumerate(names)
    ]
    for each in ids:
        assert scene.rested(each) == "review_required"
    return ids


@pytest.mark.long
def test_what_was_pressed_while_the_service_was_away_is_pressed_again(
    scene: Scene, page: Page
) -> None:
    page.clock.install()
    first, second, third = waiting(scene, "away.txt", "next.txt", "last.txt")
    page.goto(scene.page(f"/review/{first}"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", first)
    for record_id in (second, third):
        page.locator(f"[data-pick-review='{record_id}']").check()
    page.locator("#decide-picked").click()
    page.locator("#several-check").click()
    expect(page.locator("#several-yes")).to_be_visible()

    # The service is away, and then something in front of it answers in its place.
    page.route("**/*", lambda route: route.abort())
    page.locator("#several-yes").click()
    expect(page.locator("#several-result .problem")).to_contain_text("does not answer")
    page.locator("#several [data-close]").click()
    with page.expect_request(lambda asked: asked.url.endswith("/claim")):
        page.clock.run_for(60_000)
    expect(page.locator("#message")).to_contain_text("does not answer")
    expect(page.locator("#approve")).to_be_enabled()
    page.keyboard.press("j")
    expect(page.locator(".toast", has_text="does not answer")).to_be_visible()
    page.unroute("**/*")
    page.route("**/claim", lambda route: route.fulfill(status=502, body="bad gateway"))
    page.locator("#approve").click()
    expect(page.locator("#message")).to_contain_text("does not answer")
    expect(page.locator("#approve")).to_be_enabled()
    assert scene.app.reviews.task(first).pending is None

    page.unroute("**/claim")
    page.locator("#approve").click()

    expect(page.locator(f".toast[data-held='{first}']")).to_be_visible()
    page.locator("#decide-picked").click()
    page.locator("#several-check").click()
    page.locator("#several-yes").click()
    expect(page.locator(".toast[data-batch]")).to_contain_text("2 reviews: approved")
    # An undo that nobody answered can be pressed again.
    page.route("**/decision", lambda route: route.fulfill(status=503, body="{}"))
    undo = page.locator(f".toast[data-held='{first}'] button")
    undo.click()
    expect(page.locator(".toast.bad")).to_be_visible()
    expect(undo).to_be_visible()
    page.unroute("**/decision")
    undo.click()
    expect(page.locator("#work article")).to_have_attribute("data-record", first)
    assert scene.app.reviews.task(first).pending is None
