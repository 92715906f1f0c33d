"""In a browser: the queue of flagged results by keyboard, and decisions that can be changed and are not lost."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.scene import Scene

pytestmark = pytest.mark.long
AMBIGUOUS = "Date,Description,Amount\n01/02/2026,Shop purchase {0},-1.00\n03/04/2026,Salary,2.00\n"


def flagged(scene: Scene, name: str, *, rows: int = 0) -> str:
    more = "".join(f"0{1 + at % 9}/0{1 + at % 8}/2026,Shop {at},-1.00\n" for at in range(rows))
    text = AMBIGUOUS.format(name) + more
    record_id = scene.app.submit(text.encode(), name=name).record.id
    scene.app.records.wait(record_id, timeout_s=60)
    return record_id


def press(page: Page, key: str, *, at: str) -> None:
    """Press a key once the page of a record is there."""
    expect(page.locator(f"article[data-record={at}] [data-ready]")).to_be_visible()
    page.keyboard.press(key)


def decision(scene: Scene, record_id: str) -> tuple[str, str | None] | None:
    made = scene.app.flags.decisions([scene.app.record(record_id)]).get(record_id)
    return None if made is None else (made.action, made.reason)


def test_the_queue_is_walked_and_decided_by_keys_alone(scene: Scene, page: Page) -> None:
    first, second, third = (flagged(scene, f"walked-{number}.csv") for number in range(3))
    page.goto(scene.page(f"/flags/{first}"))

    press(page, "j", at=first)
    press(page, "k", at=second)
    press(page, "j", at=first)
    press(page, "a", at=second)

    # What was passed over is not shown again before what comes after.
    expect(page.locator(f"article[data-record={third}] [data-ready]")).to_be_visible()
    assert decision(scene, second) == ("confirm", None)
    page.keyboard.press("r")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("not ours")
    page.keyboard.press("Enter")
    assert decision(scene, third) is None
    page.keyboard.press("Control+Enter")
    expect(page.locator("#last-decision")).to_contain_text("walked-2.csv: rejected")
    assert decision(scene, third) == ("reject", "not ours")


def test_keys_that_come_before_the_scripts_lead_on_and_decide_nothing(
    scene: Scene, page: Page
) -> None:
    first, second = (flagged(scene, f"early-{number}.csv") for number in range(2))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/flags.js", hold)
    page.goto(scene.page(f"/flags/{first}"), wait_until="commit")
    expect(page.locator("#confirm")).to_be_visible()

    page.keyboard.press("a")
    held.pop().continue_()
    expect(page.locator(".toast")).to_have_text(
        "a was pressed before the page was ready: press it again."
    )
    assert decision(scene, first) is None
    page.goto(scene.page(f"/flags/{first}"), wait_until="commit")
    expect(page.locator("#confirm")).to_be_visible()
    page.keyboard.press("j")
    held.pop().continue_()

    page.wait_for_url(f"**/flags/{second}", wait_until="commit")


def test_a_decision_can_be_changed_by_who_sees_it(scene: Scene, page: Page) -> None:
    record_id = flagged(scene, "hasty.csv")
    page.goto(scene.page(f"/flags/{record_id}"))
    page.locator("#confirm").click()
    page.locator("#last-decision a").click()
    expect(page.locator("#decided")).to_contain_text("confirm")

    page.keyboard.press("r")  # the form is closed
    assert decision(scene, record_id) == ("confirm", None)
    page.get_by_text("Change the decision").click()
    page.get_by_label("Reason").fill("it was hasty")
    page.locator("#reject").click()

    expect(page.locator("#last-decision")).to_contain_text("hasty.csv: rejected")
    assert decision(scene, record_id) == ("reject", "it was hasty")


def test_a_decision_of_another_is_not_replaced_unseen(scene: Scene, page: Page) -> None:
    record_id = flagged(scene, "raced.csv")
    page.goto(scene.page(f"/flags/{record_id}"))
    scene.app.flags.decide(record_id, "reject", actor="person:anna@local", reason="forged")

    page.locator("#confirm").click()

    expect(page.locator("#message")).to_contain_text("anna decided it meanwhile")
    assert decision(scene, record_id) == ("reject", "forged")


def test_rows_are_compared_with_the_document_by_keys(scene: Scene, page: Page) -> None:
    record_id = flagged(scene, "compared.csv", rows=520)
    page.goto(scene.page(f"/flags/{record_id}"))
    expect(page.locator("[data-viewer]")).to_have_attribute("data-ready", "yes")
    expect(page.locator("#cut")).to_contain_text("the first 500 rows")

    page.locator("[data-row-place]").first.focus()
    expect(page.locator(".spot.on")).to_contain_text("Shop purchase compared.csv")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".spot.on")).to_contain_text("Salary")
    expect(page.locator("#checked tr.on")).to_contain_text("Salary")


def test_the_number_in_the_menu_of_an_open_page_follows(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/records"))
    expect(page.locator("#fresh")).to_contain_text("live")
    badge = page.locator("[data-badge=flags] [data-number]")

    record_id = flagged(scene, "counted.csv")

    expect(page.locator(f"#r-{record_id} .k-failed")).to_have_text("flagged")
    expect(badge).to_have_text(str(sum(scene.app.flags.counts().values())))
