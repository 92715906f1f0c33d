"""A reviewer whose keys are faster than the pages: nothing unseen is decided, and nothing is hidden."""

from itertools import count

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.scene import Scene, contract_text
from tests.waiting import wait_until

pytestmark = pytest.mark.long

_rates = count(10)


def waiting(scene: Scene, number: int) -> None:
    """So many contracts wait for a person, and none is claimed from a window of before."""
    for rate in (next(_rates) for _ in range(number)):
        text = contract_text(f"{rate},50")
        record_id = scene.submit(text, name=f"fast-{rate}.txt", machine="contract")
        assert scene.rested(record_id) == "review_required"
    for task in scene.app.reviews.pending():
        if task.claim is not None:
            scene.app.reviews.unclaim(task.record.id, actor=task.claim.actor)


def test_keys_that_are_faster_than_pages_decide_about_nothing_unseen(
    scene: Scene, page: Page
) -> None:
    waiting(scene, 3)
    page.goto(scene.page("/review"))
    first = str(page.locator("article").get_attribute("data-record"))
    expect(page.locator(f"#work[data-claimed='{first}']")).to_be_visible()
    # All at once: the list is live, and a row that comes in between moves the others.
    tasks = page.locator("[data-task][data-taken='no']:not([data-pending])")
    queue: list[str] = tasks.evaluate_all("rows => rows.map((row) => row.dataset.task)")
    second, third = queue[queue.index(first) + 1 :][:2]
    slow: list[Route] = []

    def hold_back(route: Route) -> None:
        slow.append(route)

    page.route(f"**/review/{second}/work", hold_back)

    with page.expect_request(f"**/review/{second}/work"):
        page.keyboard.press("j")
    page.keyboard.press("a")
    expect(page.locator(".toast", has_text="still loading")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(f"#work[data-claimed='{third}']")).to_be_visible()
    slow[0].continue_()
    page.keyboard.press("x")

    expect(page.locator(f"[data-pick-review='{third}']")).to_be_checked()
    expect(page.locator("article")).to_have_attribute("data-record", third)
    wait_until(lambda: scene.app.reviews.task(first).claim is None)
    assert scene.app.reviews.task(second).claim is None
    reviews = [scene.app.reviews.task(each) for each in (first, second, third)]
    assert [each.pending for each in reviews] == [None, None, None]


def test_many_decisions_in_a_row_leave_the_form_in_sight(scene: Scene, page: Page) -> None:
    waiting(scene, 6)
    page.goto(scene.page("/review"))

    for _ in range(5):
        shown = str(page.locator("article").get_attribute("data-record"))
        expect(page.locator(f"#work[data-claimed='{shown}']")).to_be_visible()
        page.keyboard.press("a")
        expect(page.locator("article")).not_to_have_attribute("data-record", shown)

    lines = page.locator(".toast[data-held]")
    expect(lines).to_have_count(5)
    expect(lines.filter(visible=True)).to_have_count(3)
    newest = str(lines.last.get_attribute("data-held"))
    page.keyboard.press("u")
    expect(page.locator("article")).to_have_attribute("data-record", newest)
