"""Records: the query in the address, pages, views of one's own, and acting on many after a look."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.console.scene import BROKEN, Scene, statement
from tests.waiting import wait_until


@pytest.mark.long
def test_the_query_stands_in_the_address_and_survives_a_reload(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(800), name="needle-in-hay.csv"))
    page.goto(scene.page("/records"))

    page.get_by_label("Query").fill("needle machine:upload")
    page.get_by_role("button", name="Search").click()

    expect(page).to_have_url(re.compile(r"/console/records\?q=needle\+machine%3Aupload"))
    expect(page.locator("#records tbody tr")).to_have_count(1)
    page.reload()
    expect(page.locator("#records tbody tr")).to_have_count(1)
    expect(page.locator("#total")).to_have_text("1")
    expect(page.get_by_role("columnheader", name="canonicals count")).to_be_visible()


@pytest.mark.long
def test_a_query_that_means_nothing_is_answered_with_a_sentence(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/records?q=state:error"))

    expect(page.get_by_role("alert")).to_contain_text("status")


@pytest.mark.long
def test_a_view_can_be_saved_and_forgotten(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/records?q=" + quote("is:failed priority:10") + "&sort=%2Bchanged"))

    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name of the view").fill("urgent trouble")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="urgent trouble")).to_be_visible()
    page.evaluate("localStorage.clear()")  # as in another browser: the service keeps it
    page.goto(scene.page("/records"))
    page.get_by_role("link", name="urgent trouble").click()

    expect(page.get_by_label("Query")).to_have_value("is:failed priority:10")
    expect(page).to_have_url(re.compile(r"sort=%2Bchanged"))
    page.get_by_role("button", name="Forget the view urgent trouble").click()
    expect(page.get_by_role("link", name="urgent trouble")).to_have_count(0)


@pytest.mark.long
def test_a_list_is_sorted_by_the_head_of_a_column(scene: Scene, page: Page) -> None:
    ids = [scene.submit(statement(2000 + n), name=f"sorted-{n}.csv") for n in range(3)]
    for record_id, priority in zip(ids, (3, 9, 6), strict=True):
        scene.rested(record_id)
        scene.app.database.run(
            "UPDATE records SET priority = :priority WHERE id = :id",
            id=record_id,
            priority=priority,
        )
    page.goto(scene.page("/records?q=sorted-"))
    head = page.get_by_role("columnheader", name="Priority")
    shown = page.locator("#records tbody tr td.num:first-of-type, #records tbody td.num").filter(
        has_text=re.compile("^[369]$")
    )

    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(shown).to_have_text(["9", "6", "3"])
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(shown).to_have_text(["3", "6", "9"])


@pytest.mark.long
def test_a_long_list_comes_in_pages(scene: Scene, page: Page) -> None:
    for number in range(60):
        scene.submit(statement(1000 + number), name=f"many-{number}.csv")

    page.goto(scene.page("/records?q=many-"))

    expect(page.locator("#records tbody tr")).to_have_count(50)
    expect(page.locator("#total")).to_have_text("60")
    page.locator("#next-page").click()
    expect(page.locator("#records tbody tr")).to_have_count(10)
    page.get_by_role("link", name="Previous page").click()
    expect(page.locator("#records tbody tr")).to_have_count(50)
    page.locator("#next-page").click()
    page.get_by_role("link", name="First page").click()
    expect(page.locator("#records tbody tr")).to_have_count(50)


@pytest.mark.long
def test_a_list_that_stays_open_shows_what_comes(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/records?q=document:arrives"))
    expect(page.locator("#record-rows")).to_contain_text("Nothing matches.")
    expect(page.locator("#fresh")).to_contain_text("live")

    record_id = scene.submit(statement(1200), name="arrives.csv")

    expect(page.locator(f"#r-{record_id} .pill")).to_have_text("normalized")
    expect(page.locator("#total")).to_have_text("1")
    for number in range(55):
        scene.submit(statement(1300 + number), name=f"arrives-{number}.csv")
    expect(page.locator("#total")).to_have_text("56")
    page.locator("#next-page").click()
    expect(page.locator("#records tbody tr")).to_have_count(6)


@pytest.mark.long
def test_a_record_leads_on_to_those_around_it_in_its_list(scene: Scene, page: Page) -> None:
    ids = [scene.submit(statement(1400 + n), name=f"around-{n}.csv") for n in range(3)]
    for each in ids:
        scene.rested(each)
    page.goto(scene.page("/records?q=around-"))
    page.get_by_role("link", name="around-1.csv").click()
    expect(page.locator("#in-list")).to_contain_text("2 of 3 on that page")

    page.keyboard.press("j")  # the newest stands first

    expect(page.locator("h1")).to_have_text("around-0.csv")
    expect(page.locator("#in-list a")).to_have_count(2)  # and none after it
    page.keyboard.press("k")
    expect(page.locator("h1")).to_have_text("around-1.csv")
    page.get_by_role("link", name="Records: around-").click()
    expect(page.locator("#records tbody tr")).to_have_count(3)
    page.goto(scene.page(f"/records/{scene.submit(statement(1500), name='alone.csv')}"))
    expect(page.locator("#in-list")).to_be_hidden()


@pytest.mark.long
def test_all_that_match_are_retried_after_a_look_at_the_counts(scene: Scene, page: Page) -> None:
    ids = [scene.submit(BROKEN + b"%d" % number, name=f"stuck-{number}.csv") for number in range(3)]
    for each in ids:
        assert scene.rested(each) == "error"
    page.goto(scene.page("/records?q=" + quote("stuck- is:failed")))

    page.get_by_role("button", name="Act on what matches…").click()
    page.get_by_label("retry from the failed step").check()
    page.get_by_label("Why").fill("the bank mended it")
    page.get_by_role("button", name="Check what would happen").click()

    expect(page.locator("#would-apply")).to_have_text("3")
    assert [len(scene.app.records.history(each)) for each in ids] == [3, 3, 3]
    page.get_by_role("button", name="Yes, retry 3 records").click()
    expect(page.locator("#bulk-done")).to_be_visible()
    for each in ids:
        asked = [one for one in scene.app.records.history(each) if one.trigger == "retry.requested"]
        assert [one.metadata["reason"] for one in asked] == ["the bank mended it"]


@pytest.mark.long
def test_picked_records_get_another_priority(scene: Scene, page: Page) -> None:
    ids = [
        scene.submit(BROKEN + b"p%d" % number, name=f"later-{number}.csv") for number in range(2)
    ]
    for each in ids:
        scene.rested(each)
    page.goto(scene.page("/records?q=later-"))

    page.get_by_label("Pick all on this page").check()
    expect(page.locator("#picked")).to_have_text("2 picked")
    page.get_by_role("button", name="Act on what matches…").click()
    page.get_by_label("set priority to").check()
    page.get_by_label("New priority").fill("9")
    page.get_by_label("Why").fill("the auditor waits")
    page.get_by_role("button", name="Check what would happen").click()
    page.get_by_role("button", name="Yes, set priority 9 for 2 records").click()

    expect(page.locator("#bulk-done")).to_be_visible()
    assert [scene.app.record(each).priority for each in ids] == [9, 9]
    (act,) = scene.app.audit.entries(record_id=ids[0])
    assert (act.verb, act.detail, act.reason) == (
        "priority",
        {"from": 5, "to": 9},
        "the auditor waits",
    )


@pytest.mark.long
def test_what_was_checked_is_done_and_nothing_that_was_chosen_since(
    scene: Scene, page: Page
) -> None:
    record_id = scene.submit(BROKEN + b"switch", name="switched.csv")
    scene.rested(record_id)
    page.goto(scene.page("/records?q=switched"))
    page.get_by_role("button", name="Act on what matches…").click()
    page.get_by_label("set priority to").check()
    page.get_by_label("New priority").fill("8")
    page.get_by_label("Why").fill("the auditor waits")
    page.get_by_role("button", name="Check what would happen").click()
    confirmed = page.locator("#bulk-begin")
    batch = json.loads(confirmed.get_attribute("hx-vals") or "")

    page.get_by_label("cancel").check()

    expect(confirmed).to_have_count(0)
    token = page.locator("meta[name=csrf]").get_attribute("content") or ""
    answer = page.request.post(
        scene.page("/records/bulk/begin"),
        form={**batch, "action": "cancel", "q": "switched", "reason": "by mistake"},
        headers={"X-CSRF-Token": token},
    )
    assert answer.status == 200
    wait_until(lambda: scene.app.record(record_id).priority == 8)
    assert scene.app.record(record_id).status == "error"


@pytest.mark.long
def test_nothing_is_done_to_everything_by_mistake(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/records"))

    page.get_by_role("button", name="Act on several…").click()

    expect(page.locator("#dialog")).to_contain_text("an empty query would mean every record")
    expect(page.get_by_role("button", name="Check what would happen")).to_have_count(0)
