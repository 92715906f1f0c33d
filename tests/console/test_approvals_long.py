"""Reviews that need two people, in two browsers: who has approved keeps no one from approving next."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from stateward.console import console
from stateward.settings import Settings
from tests.console.conftest import WAIT_MS
from tests.server.api_client import ApiClient, serving
from tests.server.contracts import waiting

TWO = """
reviews: {undo_seconds: 0}
contract_record:
  review:
    approvals: 2
    reason_codes: {illegible: The scan cannot be read}
"""


GROUP = """
reviews: {undo_seconds: 0, groups: {legal: [ada]}}
contract_record:
  review:
    group: legal
    reason_codes: {illegible: The scan cannot be read}
"""


@contextmanager
def ruled(tmp_path: Path, rules: str) -> Iterator[ApiClient]:
    """A service whose reviews have these rules."""
    file = tmp_path / "settings.yaml"
    file.write_text(rules)
    environ = {"STATEWARD_DATA": str(tmp_path / "data"), "STATEWARD_CONFIG": str(file)}
    settings = Settings.load(environ=environ)
    own = replace(settings, api=replace(settings.api, port=0))
    with serving(own, extra_routes=console()) as found:
        yield found


def signed_in(browser: Browser, api: ApiClient, name: str) -> Page:
    _, key = api.app.admin.new_key(name, role="reviewer")
    context = browser.new_context()
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto(f"{api.url}/console")
    page.locator("input[name=key]").fill(key)
    page.keyboard.press("Enter")
    expect(page.locator("header.top")).to_be_visible()
    return page


@pytest.mark.long
def test_two_people_approve_one_after_the_other(tmp_path: Path, browser: Browser) -> None:
    with ruled(tmp_path, TWO) as api:
        approve_twice(api, browser)


def approve_twice(api: ApiClient, browser: Browser) -> None:
    record, other = waiting(api.app), waiting(api.app)
    ada, bob = signed_in(browser, api, "ada"), signed_in(browser, api, "bob")
    address = f"{api.url}/console/review/{record.id}"

    ada.goto(address)
    expect(ada.locator("#approvals")).to_contain_text("0 of 2 approvals")
    ada.locator("#approve").click()
    expect(ada.locator("article")).to_have_attribute("data-record", other.id)
    ada.goto(address)
    expect(ada.locator("#approvals")).to_contain_text("You have accepted it")
    expect(ada.locator("#approve")).to_have_count(0)
    expect(ada.locator("#reject")).to_be_enabled()

    bob.goto(address)
    expect(bob.locator("#work")).to_have_attribute("data-claimed", record.id)
    ada.locator("#reject").click()
    expect(ada.locator("#message")).to_contain_text("Choose the reason")
    bob.locator("#approve").click()
    expect(bob.locator("article")).to_have_attribute("data-record", other.id)

    assert api.app.record(record.id).status == "validated"


@pytest.mark.long
def test_one_of_two_approvals_is_told_as_such_once_it_has_effect(
    tmp_path: Path, browser: Browser
) -> None:
    with ruled(tmp_path, TWO.replace("undo_seconds: 0", "undo_seconds: 600")) as api:
        record = waiting(api.app)
        ada = signed_in(browser, api, "ada")
        ada.clock.install()
        ada.goto(f"{api.url}/console/review/{record.id}")
        ada.locator("#approve").click()
        expect(ada.locator("[data-held]")).to_contain_text("takes effect in")

        api.app.database.run("UPDATE pending_decisions SET effective_at = 0")
        api.app.run_until_idle()
        ada.clock.fast_forward(602_000)

        expect(ada.locator(".toast")).to_have_text(re.compile(" is approved: 1 of 2 approvals"))


@pytest.mark.long
def test_the_group_alone_decides_and_a_rejection_names_its_reason(
    tmp_path: Path, browser: Browser
) -> None:
    with ruled(tmp_path, GROUP) as api:
        record = waiting(api.app)
        ada, bob = signed_in(browser, api, "ada"), signed_in(browser, api, "bob")
        address = f"{api.url}/console/review/{record.id}"

        bob.goto(address)
        expect(bob.locator("#refusal")).to_contain_text(
            "decided by the group legal, and bob is not in it"
        )
        expect(bob.locator("#approve")).to_be_disabled()
        expect(bob.locator("#reject")).to_be_disabled()
        ada.goto(address)
        expect(ada.locator("#work")).to_have_attribute("data-claimed", record.id)
        ada.locator("#reason-code").select_option(label="The scan cannot be read")
        ada.locator("#reject").click()
        expect(ada.locator("#nothing")).to_be_visible()

        last = api.app.store.history(record.id)[-1]
    assert (last.trigger, last.metadata["reason_code"]) == ("review.rejected", "illegible")
    assert last.actor.startswith("person:ada@")
