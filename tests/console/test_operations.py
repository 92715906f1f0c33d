"""Ledger, audit and operations: whether the history is sound, what anybody did, who works, who is told."""

import json
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stateward.app import App
from stateward.storage.dead_letters import DeadLetter
from tests import web
from tests.console.scene import BROKEN, Scene, statement


@pytest.mark.long
def test_the_history_is_verified_on_demand(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(1200), name="to-verify.csv"))
    page.goto(scene.page("/ledger"))

    page.get_by_role("button", name="Verify now").click()

    expect(page.locator("#sound")).to_contain_text("Sound.")


@pytest.mark.long
def test_the_history_is_searched_and_taken_along(scene: Scene, page: Page) -> None:
    record_id = scene.submit(BROKEN + b"search", name="search.csv")
    scene.rested(record_id)
    page.goto(scene.page("/ledger"))

    page.get_by_label("Record").fill(record_id)
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#history tbody tr")).to_have_count(3)
    page.get_by_label("Event").fill("parse.failed")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#history tbody tr")).to_have_count(1)
    expect(page.locator("#history")).to_contain_text("UNKNOWN_FORMAT")

    with page.expect_download() as taken:
        page.locator("#export").click()
    lines = [json.loads(line) for line in taken.value.path().read_text().splitlines()]
    assert [line["to"] for line in lines] == ["queued_for_parse", "parsing", "error"]


def test_all_of_the_history_can_be_taken_along(scene: Scene) -> None:
    scene.rested(scene.submit(statement(1400), name="along.csv"))

    lines = web.get(scene.page("/ledger/export")).text.splitlines()

    assert len(lines) == scene.app.store.lanes.count_transitions()


@pytest.mark.long
def test_the_mirror_is_shown_with_how_far_it_is(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(1500), name="mirrored.csv"))

    page.goto(scene.page("/ledger"))

    expect(page.locator("#mirrored")).not_to_have_text("0")


def test_a_search_says_how_far_it_looked(scene: Scene) -> None:
    scene.rested(scene.submit(statement(1600), name="far.csv"))

    found = scene.app.dashboard.search(before=6, limit=3)
    rest = scene.app.dashboard.search(before=found.next, limit=100)
    none = scene.app.dashboard.search(actor="100%", limit=3)

    assert [each.seq for each in found.transitions] == [5, 4, 3]
    assert [each.seq for each in rest.transitions] == [2, 1]
    assert (rest.next, none.transitions) == (None, [])


@pytest.mark.long
def test_a_stage_is_paused_and_resumed(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/operations"))
    expect(page.locator("#workers")).to_contain_text("alive")

    page.get_by_label("What to pause").select_option("upload.parse")
    page.get_by_label("Reason").fill("new rules")
    page.get_by_role("button", name="Pause").click()

    # The form beside it names every stage, too: only a pause that is in force can be resumed.
    expect(page.locator("#pauses").get_by_role("button", name="Resume")).to_be_visible()
    record_id = scene.submit(statement(1700), name="held-back.csv")
    page.goto(scene.page(f"/records/{record_id}"))
    expect(page.locator("#why")).to_contain_text("paused")
    page.goto(scene.page("/operations"))
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#pauses")).to_contain_text("Nothing is paused")
    assert scene.rested(record_id) == "normalized"


@pytest.mark.long
def test_a_delivery_is_looked_at_and_replayed(scene: Scene, page: Page) -> None:
    webhook = scene.app.notifications.add(
        "http://127.0.0.1:9/", events=["upload.normalized"], actor="person:test"
    )
    scene.rested(scene.submit(statement(1300), name="told.csv"))
    page.goto(scene.page("/operations"))
    row = page.locator("#deliveries tbody tr").first
    expect(row).to_contain_text("upload.normalized")

    row.get_by_role("button", name="Details").click()
    expect(page.locator("#dialog")).to_contain_text("upload.normalized")
    page.keyboard.press("Escape")
    scene.app.notifications.disable(webhook.id, actor="person:a", reason="it is gone")
    scene.app.notifications.enable(webhook.id, actor="person:a")
    page.reload()
    dead = page.locator("#deliveries tr[data-delivery=dead]").first
    dead.get_by_role("button", name="Replay").click()

    expect(page.locator(".toast")).to_contain_text("1 will be delivered again.")
    scene.app.notifications.remove(webhook.id, actor="person:a")


@pytest.mark.long
def test_dead_letters_and_settings_are_shown_without_secrets(scene: Scene, page: Page) -> None:
    now = time.time_ns() // 1000  # one of long ago is counted, and no problem any more
    letter = DeadLetter(kind="event", body="<b>torn", reason="it is no event", at=now)
    scene.app.store.dead_letters.add([letter])
    page.goto(scene.page("/operations"))

    expect(page.locator("main")).to_contain_text("it is no event")
    expect(page.locator("#settings")).to_contain_text("profile: personal")
    expect(page.locator("#health")).to_have_text("problems found")  # the letter itself


def test_who_may_not_administer_sees_no_keys_and_no_settings(locked: Scene) -> None:
    _, text = locked.app.admin.new_key("watcher", role="viewer")

    answer = web.get(locked.page("/operations"), headers={"Authorization": f"Bearer {text}"})

    assert answer.status_code == 200
    assert "Settings in force" not in answer.text
    assert 'id="keys"' not in answer.text
    assert "Webhooks" not in answer.text


def test_counts_are_exact_whether_tallied_or_not(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        for number in range(2):
            app.submit(statement(number), name="x.csv")
        app.submit(BROKEN, name="y.csv")
        waiting = app.dashboard.counts()
        app.run_until_idle()
        before = app.dashboard.counts()
        app.monitor.update_counters()
        after = app.dashboard.counts()

    assert waiting == {("upload", "queued_for_parse"): 3}
    assert before == after == {("upload", "normalized"): 2, ("upload", "error"): 1}
