"""A console to drive: the real service with its worker, documents of every kind in it, and a browser."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from lab.documents.contracts.blocks import (
    Block,
    Heading,
    Lines,
    Pairs,
    pdf,
    plain,
)
from stateward.app import App
from stateward.console import console
from stateward.server.http_server import Server
from stateward.settings import Settings
from tests.server.api_client import settings_at
from tests.waiting import WAIT_S_MAX

BROWSERS = (
    "chromium-headless-shell",  # the lightest comes first
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
SAMPLES = files("stateward.pipelines.statements") / "samples"
BROKEN = b"date;amount;text\nno date;no amount;x\n"
FORMULA = b'date;amount;text\n2026-01-02;-12,50;"=HYPERLINK(""http://evil.example"")"\n2026-01-03;-3,00;Bread\n'


class MissingBrowser(Exception):
    """There is no Chromium on this machine."""


def browser_path() -> str:
    """The Chromium of this machine."""
    named = os.environ.get("TEST_CHROMIUM")
    for name in (named, *BROWSERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise MissingBrowser("no chromium was found; install it, or name one with TEST_CHROMIUM")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a screen."""
    path = browser_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        with suppress(PlaywrightError):  # a test may have killed it
            browser.close()


def kill_browser(browser: Browser) -> None:
    """End all processes of a browser at once, as a crash or a power cut does."""
    session = browser.new_browser_cdp_session()
    with suppress(PlaywrightError):
        session.send("Browser.crash")


class Scene:
    """A service with a console, its worker, and an App to look behind it."""

    def __init__(self, url: str, app: App, settings: Settings) -> None:
        self.url = url
        self.app = app
        self.settings = settings

    def page(self, path: str = "") -> str:
        """The address of a page of the console."""
        return f"{self.url}/console{path}"

    def submit(self, content: bytes, *, name: str, machine: str = "upload", **labels: str) -> str:
        """Send a document; the id of its record."""
        given = labels or ({"source_type": "auto"} if machine == "upload" else {})
        return self.app.submit(content, machine=machine, name=name, labels=given).record.id

    def sample(self, name: str, *, as_name: str | None = None) -> str:
        """Send a sample statement."""
        return self.submit((SAMPLES / name).read_bytes(), name=as_name or name)

    def rested(self, record_id: str, *, timeout_s: float = WAIT_S_MAX) -> str:
        """The status of a record once nothing happens to it any more."""
        return self.app.records.wait(record_id, timeout_s=timeout_s).status


@contextmanager
def staged(
    folder: Path, *, settle: Callable[[Settings], Settings] = lambda settings: settings
) -> Iterator[Scene]:
    """A service as long as this lasts, working in threads of this process."""
    settings = settle(settings_at(folder))
    with (
        App(settings) as app,
        App(settings) as own,
        own.node(is_notifier=True) as node,
        Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server,
    ):
        turning = Thread(target=node.run, name="node", daemon=True)
        turning.start()
        try:
            yield Scene(server.url, app, settings)
        finally:
            node.stop()
            turning.join(WAIT_S_MAX)


def statement(number: int) -> bytes:
    """A statement like no other."""
    lines = "".join(f"2026-01-{day:02d};-{number},{day:02d};Shop {day}\n" for day in range(1, 6))
    return f"date;amount;text\n{lines}".encode()


def contract_blocks(rate: str, *, provider: str = "Stadtwerke Musterhausen AG") -> list[Block]:
    """A contract for power with a provider that is not listed, so that a person has to look at it."""
    return [
        Lines([provider, "Am Markt 1, 01234 Musterhausen"]),
        Lines(["Erika Muster", "Lindenweg 12", "10115 Berlin"]),
        Heading("Stromliefervertrag"),
        Pairs(
            [
                ("Anbieter", provider),
                ("Tarif", "Heimstrom 12"),
                ("Arbeitspreis", "34,20 ct/kWh"),
                ("Monatlicher Abschlag", f"{rate} EUR"),
                ("Jahresverbrauch", "2.400 kWh"),
                ("Vertragsbeginn", "01.02.2026"),
                ("Vertragsende", "31.01.2027"),
                ("Kündigungsfrist", "1 Monat"),
            ],
            "gap",
        ),
    ]


def contract_pdf(rate: str) -> bytes:
    """The same as a PDF."""
    return bytes(pdf(contract_blocks(rate)))


def contract_text(rate: str) -> bytes:
    """The same as a text."""
    return bytes(plain(contract_blocks(rate)))
