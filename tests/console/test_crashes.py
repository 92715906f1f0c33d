"""Browsers that crash right after a decision. They are started here one by one, so no other may run in this process."""

import pytest
from playwright.sync_api import expect

from tests.console.scene import Scene, chromium, contract_text, kill_browser
from tests.waiting import wait_until


def submitted(scene: Scene, number: int) -> str:
    """A contract that a person has to look at."""
    text = contract_text(f"{number + 10},50")
    return scene.submit(text, name=f"killed-{number}.txt", machine="contract")


def takes_effect(scene: Scene, record_id: str) -> str:
    """Let the time in which a decision can be undone be over; the status after it."""
    scene.app.database.run("UPDATE pending_decisions SET effective_at = 0")
    wait_until(lambda: scene.app.record(record_id).status != "review_required")
    return scene.rested(record_id)


@pytest.mark.long
@pytest.mark.timeout(1800)  # twenty browsers are started, and the machine may have other work
def test_no_decision_is_lost_with_twenty_browsers_that_are_killed(scene: Scene) -> None:
    ids = [submitted(scene, number) for number in range(20)]
    assert {scene.rested(each, timeout_s=600) for each in ids} == {"review_required"}

    for record_id in ids:
        with chromium() as browser:
            page = browser.new_page()
            page.goto(scene.page(f"/review/{record_id}"))
            expect(page.locator(f"#work[data-claimed='{record_id}']")).to_be_visible()
            page.keyboard.press("a")
            expect(page.locator(f"[data-held='{record_id}']")).to_be_visible()
            kill_browser(browser)

    assert {each.record.id for each in scene.app.reviews.pending() if each.pending} == set(ids)
    assert {takes_effect(scene, each) for each in ids} == {"completed"}
    for each in ids:
        decided = [
            one for one in scene.app.records.history(each) if one.trigger.endswith("approved")
        ]
        assert len({one.actor for one in decided}) == len(decided) == 1
