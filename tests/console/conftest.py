"""One service and one browser for the tests of a file; a fresh window for each.

Both end with the file: while they run, this process has an event loop and threads that other tests would stumble over.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

from stateward.settings import Settings
from tests.console.scene import MissingBrowser, Scene, chromium, staged
from tests.waiting import WAIT_S_MAX

WAIT_MS = 1000 * int(WAIT_S_MAX)
UNDO_S = 600.0

expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A service without keys, which mirrors its history to a ledger."""
    folder = tmp_path_factory.mktemp("console")

    def settle(settings: Settings) -> Settings:
        return replace(
            settings,
            ledger=replace(settings.ledger, mirror=str(folder / "ledger")),
            notifications=replace(settings.notifications, webhook_allow=("127.0.0.1",)),
            # A test says when a decision takes effect, however slow the machine is.
            reviews=replace(settings.reviews, undo_seconds=UNDO_S),
        )

    with staged(folder / "data", settle=settle) as found:
        yield found


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A service that wants a key."""
    with staged(tmp_path_factory.mktemp("locked")) as found:
        found.app.admin.new_key("root", role="admin")
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; without one, tests are skipped and say why, and in CI they fail."""
    with ExitStack() as stack:
        try:
            yield stack.enter_context(chromium())
        except MissingBrowser as missing:
            if os.environ.get("CI", "").lower() in {"true", "1"}:
                pytest.fail(f"CI must not skip: {missing}")
            pytest.skip(str(missing))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A window. Whatever it does: no error on its console, and no request to anybody but the service."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    errors: list[str] = []
    strangers: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # A refusal that a test provokes is no fault of the page; everything else is.
        if message.type == "error" and "Failed to load resource" not in message.text:
            errors.append(message.text)

    def look(request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:")):
            strangers.append(request.url)

    page.on("console", hear)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", look)
    yield page
    context.close()
    assert errors == []
    assert strangers == []
