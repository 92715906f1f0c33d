"""Pictures of every page of the console, light and dark, from a service that has worked for an hour.

python -m tests.console.screenshots screenshots
"""

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from msgspec.structs import replace
from playwright.sync_api import Browser, Page

from stateward.app import App
from stateward.core.model import SECOND, Micros
from stateward.engine.system import steady_clock
from stateward.settings import Settings
from tests.console.scene import (
    BROKEN,
    SAMPLES,
    Scene,
    chromium,
    contract_pdf,
    contract_text,
    staged,
    statement,
)
from tests.server.api_client import settings_at

MINUTES = (52, 46, 41, 33, 27, 20, 14, 9, 5, 2)
SIZE = {"width": 1280, "height": 860}
PAGES = {
    "board": "",
    "records": "/records?q=machine:upload",
    "record": "/records/{statement}",
    "failed": "/records/{failed}",
    "errors": "/errors",
    "review": "/review/{contract}",
    "ledger": "/ledger",
    "operations": "/operations",
}


def settle(settings: Settings) -> Settings:
    """With a ledger beside, so that there is something to see of it."""
    return replace(settings, ledger=replace(settings.ledger, mirror="ledger"))


def an_hour(settings: Settings) -> None:
    """What came in during the last hour, a few files at a time."""
    for number, minutes in enumerate(MINUTES):

        def earlier(minutes: int = minutes) -> Micros:
            return steady_clock() - minutes * 60 * SECOND

        with App(settings, clock=earlier) as app:
            for each in range(3 + number * 7 % 5):
                app.submit(
                    statement(100 * number + each),
                    name=f"bank-{2000 + 10 * number + each}.csv",
                    labels={"source_type": "bank_csv"},
                )
            if number % 4 == 1:
                app.submit(BROKEN + b"%d" % number, name=f"export-{number}.csv")
            app.run_until_idle()


def today(scene: Scene) -> dict[str, str]:
    """What is looked at; the ids."""
    for each in sorted(SAMPLES.iterdir(), key=lambda each: each.name):
        scene.sample(each.name)
    for number, rate in enumerate(("88,10", "91,40", "74,00")):
        scene.submit(contract_text(rate), name=f"vertrag-{number + 1}.txt", machine="contract")
    ids = {
        "statement": scene.sample("statement-2026-01.pdf"),
        "failed": scene.sample("torn-statement.pdf"),
        "contract": scene.submit(
            contract_pdf("81,50"), name="stromvertrag.pdf", machine="contract"
        ),
    }
    for record_id in ids.values():
        scene.rested(record_id)
    return ids


def draw(browser: Browser, scene: Scene, ids: dict[str, str], folder: Path) -> None:
    """Every page in both themes."""
    for theme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": SIZE["width"], "height": SIZE["height"]},
            color_scheme="dark" if theme == "dark" else "light",
            locale="en-GB",
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
        )
        page = context.new_page()
        for name, path in PAGES.items():
            page.goto(scene.page(path.format(**ids)))
            settled(page)
            page.screenshot(path=folder / f"console-{name}-{theme}.png")
        context.close()


def settled(page: Page) -> None:
    """Wait until all that a page loads later is there, and show where a value stands."""
    page.wait_for_load_state("load")
    for text in ("loading…", "counting…", "drawing…"):
        page.get_by_text(text).first.wait_for(state="detached")
    if page.locator("[data-pdf]").count():
        page.locator("[data-pdf][data-drawn]").first.wait_for()
    if page.locator(".review [data-pdf]").count():
        page.locator(".field[data-field=monthly_rate-0] input").focus()
        page.locator(".mark.on").wait_for()


def main(folder: Path) -> None:
    """Draw them all."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    # From within, so that no picture shows where it was made.
    with tempfile.TemporaryDirectory() as work, chdir(work):
        an_hour(settle(settings_at(Path("data"))))
        with staged(Path("data"), settle=settle) as scene, chromium() as browser:
            draw(browser, scene, today(scene), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
