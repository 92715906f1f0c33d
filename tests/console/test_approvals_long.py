"""Reviews that need two people, in two browsers: who has approved keeps no one from approving next."""

from collections.abc import Iterator
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


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiClient]:
    """A service whose contracts need two approvals."""
    file = tmp_path / "settings.yaml"
    file.write_text(TWO)
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
def test_two_people_approve_one_after_the_other(api: ApiClient, browser: Browser) -> None:
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
    expect(ada.locator("#said")).to_contain_text("Choose the reason")
    bob.locator("#approve").click()
    expect(bob.locator("article")).to_have_attribute("data-record", other.id)

    assert api.app.record(record.id).status == "validated"
