"""A first visit: the real command, four files, a correction by keyboard, a broken file found and tried again."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import FilePayload, Page, expect

from stateward.app import App
from tests.console.scene import SAMPLES, contract_pdf
from tests.waiting import WAIT_S_MAX

NAMES = ("checking-2026-01.csv", "statement-2026-01.pdf", "torn-statement.pdf")


@contextmanager
def service(folder: Path) -> Iterator[str]:
    """`stateward up` as a person starts it; its address."""
    command = [sys.executable, "-m", "stateward", "--data", str(folder), "up", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stderr)))
        try:
            yield found[0]
        finally:
            process.terminate()
            process.communicate(timeout=WAIT_S_MAX)


def test_a_new_user_needs_no_documentation(tmp_path: Path, page: Page) -> None:
    statements = [
        FilePayload(
            name=name, mimeType="application/octet-stream", buffer=(SAMPLES / name).read_bytes()
        )
        for name in NAMES
    ]
    contract = FilePayload(
        name="strom.pdf", mimeType="application/pdf", buffer=contract_pdf("81,50")
    )
    with service(tmp_path) as url:
        page.goto(url)
        page.locator("[data-machine=upload] input[type=file]").set_input_files(statements)
        page.locator("[data-machine=contract] input[type=file]").set_input_files(contract)
        expect(page.locator("#chip-upload-normalized b")).to_have_text("2")
        expect(page.locator("#chip-upload-error b")).to_have_text("1")
        expect(page.locator("#chip-contract-review_required b")).to_have_text("1")

        menu = page.get_by_role("navigation", name="Main")
        expect(menu.locator("[data-badge=review]")).to_contain_text("1")
        menu.get_by_role("link", name="Review").click()
        expect(page.locator(".sheet")).to_have_attribute("data-drawn", "yes")
        page.locator(".field[data-field=monthly_rate-0] input").fill("82.00")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".toast[data-held]")).to_contain_text(
            "strom.pdf: corrected, takes effect in"
        )

        menu.get_by_role("link", name="Errors").click()
        page.get_by_role("link", name="torn-statement.pdf").click()
        page.get_by_role("button", name="Retry…").click()
        page.get_by_role("button", name="Retry", exact=True).click()
        expect(page.locator("#timeline")).to_contain_text("retry.requested")
        expect(page.locator("#status")).to_have_attribute("data-status", "error")

        page.goto(f"{url}/console/records?q=machine:contract")
        page.get_by_role("link", name="strom.pdf").click()
        # The decision takes effect after ten seconds, in which it could have been undone.
        expect(page.locator("#status")).to_have_attribute(
            "data-status", "completed", timeout=120_000
        )
        page.close()

    with App.embedded(tmp_path) as app:
        assert app.admin.verify().is_sound
