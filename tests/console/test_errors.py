"""Errors: by cause, tried again together, acknowledged until they strike again."""

import pytest
from playwright.sync_api import Page, expect

from stateward.console.errors import query_of
from stateward.monitoring.dashboard import ErrorCause, cause_of
from tests.console.scene import BROKEN, Scene


def test_messages_that_differ_in_numbers_and_names_are_one_cause() -> None:
    one = cause_of("row 17 of 'january.csv' has no date")
    other = cause_of("row 4 of 'may.csv' has no date")

    assert one == other == "row # of … has no date"


def test_the_query_of_a_cause_holds_what_its_messages_share() -> None:
    cause = ErrorCause(
        machine="upload",
        error_code="ROW_BAD",
        cause="row # of … has no date",
        message="row 17 of 'january.csv' has no date",
        count=1,
        first_at=0,
        last_at=0,
    )

    assert query_of(cause) == 'machine:upload error:ROW_BAD message:"has no date"'


@pytest.mark.long
def test_a_cause_is_acknowledged_and_leaves_the_badge_until_it_strikes_again(
    scene: Scene, page: Page
) -> None:
    for number in range(2):
        scene.rested(scene.submit(BROKEN + b"e%d" % number, name=f"cause-{number}.csv"))
    page.goto(scene.page("/errors"))
    cause = page.locator("[data-cause=UNKNOWN_FORMAT]", has_text="no column of dates")
    badge = page.locator("[data-badge=errors]")
    expect(cause.locator(".count")).not_to_have_text("0")
    # Other tests of this file leave causes open too; the badge follows the page, and may be a moment behind it.
    before = page.locator("[data-cause][data-open=yes]").count()
    expect(badge).to_contain_text(str(before))

    cause.get_by_role("button", name="Acknowledge").click()

    expect(cause).to_have_attribute("data-open", "no")
    page.reload()
    if before > 1:
        expect(badge).to_contain_text(str(before - 1))
    else:
        expect(badge).to_be_hidden()
    scene.rested(scene.submit(BROKEN + b"anew", name="cause-anew.csv"))
    expect(cause).to_have_attribute("data-open", "yes")


@pytest.mark.long
def test_a_group_is_retried_from_its_cause(scene: Scene, page: Page) -> None:
    record_id = scene.submit(b"%PDF-1.4 torn", name="group.pdf")
    assert scene.rested(record_id) == "error"
    code = scene.app.record(record_id).error_code
    page.goto(scene.page("/errors"))

    page.locator(f"[data-cause={code}]").first.get_by_role(
        "button", name="Retry this group…"
    ).click()
    page.get_by_label("Why").fill("a newer reader")
    page.get_by_role("button", name="Check what would happen").click()
    expect(page.locator("#would-apply")).to_have_text("1")
    page.locator("#bulk-begin").click()

    expect(page.locator("#bulk-done")).to_be_visible()
    triggers = [each.trigger for each in scene.app.records.history(record_id)]
    assert "retry.requested" in triggers
