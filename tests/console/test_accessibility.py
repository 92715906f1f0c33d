"""Everybody can use it: contrast, names and roles by axe; a phone; times of the reader; the chosen theme."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from stateward.console import console
from stateward.engine.answers import OpinionRequest
from stateward.server.auth import LOCAL
from stateward.storage.saved_views import SavedView
from tests.console.conftest import WAIT_MS
from tests.console.scene import BROKEN, Scene, contract_pdf, statement

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
LONG = (
    "19d0cc3894d25d570fc28283ff763ba7"  # a name without a place to break it, as many archives give
)
PAGES = (
    "", "/records", "/records/{failed}", "/errors", "/review", "/reviews/statistics", "/flags", "/ledger",
    "/operations", "/login", "/records/{done}", "/records/{failed}/correct", "/records/{asked}/correct",
    "/review/{asked}", "/search?q=shop", "/no/such/page", "/enter/a-link", "/docs", "/flags/{flagged}",
    "/approve/{token}",
)  # fmt: skip
# They follow the theme of the system without a script.
BARE = ("/login", "/no/such/page", "/enter/a-link", "/docs", "/approve/{token}")
# Routes that are no pages of their own: parts that a page loads into itself, and files.
PARTS = (
    "/badges", "/board/live", "/records/rows", "/records/count", "/batches/{}", "/records/{}/live",
    "/records/{}/timeline", "/records/{}/ask/{}", "/records/{}/items", "/records/{}/log/{}", "/records/{}/document",
    "/errors/live", "/review/{}/work", "/review-queue", "/flag-queue", "/ledger/verified", "/operations/live",
    "/operations/letters", "/operations/deliveries/{}/{}",
)  # fmt: skip
FILES = (
    "/favicon.ico", "/static/{}/{}", "/records/{}/export/{}", "/records/{}/content", "/ledger/export",
    "/search/export/{}",
)  # fmt: skip
# At its widest: every number of the menu is shown, the page was refreshed a while ago, and all took long.
BUSY = """() => {
    for (const badge of document.querySelectorAll("[data-badge]")) {
        badge.hidden = false;
        badge.querySelector("[data-number]").textContent = "128";
    }
    const fresh = document.getElementById("fresh");
    fresh.removeAttribute("id");
    fresh.hidden = false;
    fresh.textContent = "live · 30 s old";
    for (const took of document.querySelectorAll(".took")) took.textContent = "waited 12 min 30 s";
}"""
# Whatever a mouse can press, by its role or by the shape of the pointer over it. Clicks are heard and go no further.
NUMBER_AND_HEAR = """() => {
    const pressable = "a[href], button, input, select, textarea, summary, [role=button], [role=link], [role=tab]";
    document.querySelectorAll(pressable + ", [tabindex='0']").forEach((each, at) => { each.dataset.stop = `${at}`; });
    for (const each of document.body.querySelectorAll("*")) {
        const inside = each.closest("[data-stop], label");
        if (!inside && getComputedStyle(each).cursor === "pointer") each.dataset.pointed = "";
    }
    let count = 0;
    window.addEventListener("click", (event) => {
        count += 1;
        event.preventDefault();
        event.stopImmediatePropagation();
    }, true);
    window.heard = () => count !== (count = 0);
}"""
# What has the focus; and the key that has to press it, if it is something to press.
STOP = """() => {
    const here = document.activeElement;
    if (!here || here === document.body) return null;
    const shown = here.matches(".drop input[type=file]") ? here.closest(".drop") : here;
    const style = getComputedStyle(shown), box = shown.getBoundingClientRect();
    const isTicked = here.matches("input[type=checkbox], input[type=radio]");
    const isPressed = here.matches("a[href], button, summary, [role=button], [role=link], [role=tab]");
    return {
        number: here.dataset.stop ?? here.outerHTML.slice(0, 200),
        what: here.outerHTML.slice(0, 200),
        is_visible: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
        is_marked: style.outlineStyle !== "none" || style.boxShadow !== "none" || shown !== here,
        key: isTicked ? "Space" : isPressed ? "Enter" : "",
    };
}"""
UNREACHED = """(reached) => {
    const isShown = (each) => each.checkVisibility({visibilityProperty: true}) && !each.disabled;
    const isOneOf = (each) => each.type === "radio" && [...document.getElementsByName(each.name)]
        .some((other) => reached.includes(other.dataset.stop));
    const stops = [...document.querySelectorAll("[data-stop]")].filter((each) => isShown(each)
        && !reached.includes(each.dataset.stop) && !isOneOf(each));
    // A row is pressed by the link in it; a place in a document is shown by the row that names it.
    const pointed = [...document.querySelectorAll("[data-pointed]")].filter((each) => isShown(each)
        && !each.querySelector("[data-stop]") && !each.closest("tr:has([data-stop]), .viewer"));
    return [...stops, ...pointed].map((each) => each.outerHTML.slice(0, 200));
}"""
STOPS_MAX = 400
AMBIGUOUS = b"Date,Description,Amount\n01/02/2026,Shop,-1.00\n03/04/2026,Salary,2.00\n"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def filled(scene: Scene) -> dict[str, str]:
    """One document of each kind; their ids."""
    ids = {
        "done": scene.submit(statement(2000), name="done.csv"),
        "failed": scene.submit(BROKEN + b"axe", name=f"failed-{LONG}.csv"),
        "asked": scene.submit(contract_pdf("64,20"), name=f"asked-{LONG}.pdf", machine="contract"),
        "flagged": scene.submit(AMBIGUOUS, name=f"flagged-{LONG}.csv"),
    }
    for each in ids.values():
        scene.rested(each)
    scene.app.reviews.refer(
        OpinionRequest(
            record_id=ids["asked"], actor="person:anonymous@local", to="anna", notes=LONG * 8
        )
    )
    scene.app.saved_views.save(
        LOCAL, SavedView(name="my failures", query="is:failed"), now=scene.app.clock()
    )
    _, token = scene.app.approver_links.create(
        ids["asked"], "anna@example.org", actor="person:anonymous@local", is_administrator=True
    )
    return {**ids, "token": token}


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Iterator[dict[str, Page]]:
    """A light and a dark window, and one of a phone."""
    made = {
        "light": browser.new_context(color_scheme="light"),
        "dark": browser.new_context(color_scheme="dark"),
        "phone": browser.new_context(
            viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
        ),
    }
    for each in made.values():
        each.set_default_timeout(WAIT_MS)
    yield {name: context.new_page() for name, context in made.items()}
    for each in made.values():
        each.close()


def test_every_route_of_the_console_is_tried_here_or_is_no_page() -> None:
    routes = {
        re.sub(r"\{[^}]*\}", "{}", path)
        for handler in console().load().handlers
        for route in getattr(handler, "routes", ())
        for path in (route.path.removeprefix("/console").rstrip("/"),)
        if "GET" in route.methods
    }
    pages = {re.sub(r"\{[^}]*\}", "{}", path.partition("?")[0]) for path in PAGES}
    tried = {*pages, "/enter/{}", "/{}", *PARTS, *FILES}

    assert routes - tried == set()


def address(scene: Scene, path: str) -> str:
    return f"{scene.url}{path}" if path == "/docs" else scene.page(path)


def faults(page: Page) -> list[str]:
    page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate(
        "(tags) => axe.run(document, {runOnly: {type: 'tag', values: tags}}).then((all) => all.violations)",
        RULES,
    )
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found
        for node in each["nodes"]
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "theme"),
    [
        *((path, "light") for path in PAGES),
        *((path, "dark") for path in PAGES),
    ],
)
def test_axe_finds_nothing(
    scene: Scene, filled: dict[str, str], windows: dict[str, Page], path: str, theme: str
) -> None:
    page = windows[theme]
    page.goto(address(scene, path.format(**filled)))
    if path not in BARE:
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    expect(page.get_by_text("loading…")).to_have_count(0)

    assert faults(page) == []


@pytest.mark.long
def test_axe_finds_nothing_in_the_dialog(
    scene: Scene, filled: dict[str, str], windows: dict[str, Page]
) -> None:
    page = windows["light"]
    page.goto(scene.page("/records?q=is:failed"))
    page.get_by_role("button", name="Act on what matches…").click()
    page.get_by_label("Why").fill("to look at it")
    page.get_by_role("button", name="Check what would happen").click()
    expect(page.locator("#would-apply")).to_be_visible()

    assert faults(page) == []


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_a_phone_shows_it_without_scrolling_sideways(
    scene: Scene, filled: dict[str, str], windows: dict[str, Page], path: str
) -> None:
    page = windows["phone"]

    page.goto(address(scene, path.format(**filled)))
    expect(page.get_by_text("loading…")).to_have_count(0)

    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]


def test_a_narrow_phone_has_a_low_head_no_keys_and_sees_that_a_table_goes_on(
    scene: Scene, filled: dict[str, str], browser: Browser
) -> None:
    context = browser.new_context(
        viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(scene.page(f"/flags/{filled['flagged']}"))
    expect(page.locator("#checked")).to_be_visible()

    head = page.locator(".top").bounding_box()
    shades = page.locator(".scroll").first.evaluate(
        "each => getComputedStyle(each).backgroundImage"
    )

    assert head is not None
    assert head["height"] < 110
    assert shades.count("linear-gradient") == 4
    expect(page.locator(".keys").first).to_be_hidden()
    expect(page.locator("button kbd").first).to_be_hidden()
    context.close()


@pytest.mark.long
def test_times_are_those_of_the_reader_with_utc_on_hover(
    scene: Scene, filled: dict[str, str], browser: Browser
) -> None:
    context = browser.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
    page = context.new_page()

    page.goto(scene.page(f"/records/{filled['done']}"))

    time = page.locator("#facts time").first
    expect(time).to_have_attribute("title", re.compile(r"UTC · .* Asia/Tokyo"))
    context.close()


@pytest.mark.long
def test_times_are_shown_in_utc_when_that_is_chosen(
    scene: Scene, filled: dict[str, str], browser: Browser
) -> None:
    context = browser.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
    page = context.new_page()
    page.goto(scene.page(f"/records/{filled['done']}"))
    time = page.locator("#facts time").first
    utc = (time.get_attribute("datetime") or "")[11:19]

    page.locator("#zone").click()

    expect(time).to_contain_text(utc)
    page.reload()
    expect(time).to_contain_text(utc)
    expect(page.locator("#zone")).to_contain_text("UTC")

    # Charts too.
    page.goto(scene.page())
    chart = page.locator("#spark-upload-ended")
    chart.locator(".u-over").hover()
    expect(chart.locator(".tip")).to_contain_text("finished,")
    minutes = msgspec.json.decode(chart.get_attribute("data-points") or "")["at"]
    hours = {datetime.fromtimestamp(each, UTC).strftime("%H:") for each in minutes}
    assert chart.locator(".tip").inner_text()[:3] in hours
    context.close()


@pytest.mark.long
def test_the_palette_leads_anywhere(scene: Scene, filled: dict[str, str], page: Page) -> None:
    page.goto(scene.page())

    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_focused()
    page.keyboard.type("oper")
    expect(page.locator("#palette-list li").first).to_have_text("Operations")
    assert faults(page) == []
    page.keyboard.press("Enter")

    expect(page).to_have_url(scene.page("/operations"))
    page.keyboard.press("Control+k")
    page.keyboard.type(filled["done"])
    page.keyboard.press("Enter")
    expect(page).to_have_url(scene.page(f"/records/{filled['done']}"))

    # What the page offers, too.
    expect(page.locator("#fresh")).to_contain_text("live")
    page.keyboard.press("Control+k")
    page.keyboard.type("shortcuts")
    page.keyboard.press("Enter")
    expect(page.locator("#shortcuts")).to_contain_text("search documents")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("read again")
    page.keyboard.press("Enter")
    expect(page).to_have_url(scene.page(f"/records/{filled['done']}/correct"))


@pytest.mark.long
@pytest.mark.parametrize("width", [320, 430, 640])
def test_a_narrow_or_zoomed_window_needs_no_scrolling_sideways(
    scene: Scene, filled: dict[str, str], page: Page, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 700})  # 640: 1280 px at 200 %

    for path in PAGES:
        page.goto(address(scene, path.format(**filled)))
        expect(page.get_by_text("loading…")).to_have_count(0)
        if path not in BARE:
            page.evaluate(BUSY)
        widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1], path


@pytest.mark.long
def test_the_menu_is_one_line_while_the_age_of_the_page_is_shown(scene: Scene, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 700})
    page.goto(scene.page())
    line = page.locator(".top nav a").first.evaluate("(link) => link.offsetHeight")

    page.evaluate(BUSY)

    assert page.locator(".top").evaluate("(header) => header.clientHeight") < 2 * line


@pytest.mark.long
def test_the_theme_can_be_chosen_and_stays(scene: Scene, page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(scene.page("/errors"))
    html = page.locator("html")
    expect(html).to_have_attribute("data-theme", "light")

    page.locator("#theme").click()
    page.locator("#theme").click()

    expect(html).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(html).to_have_attribute("data-theme", "dark")


@pytest.mark.long
def test_the_keyboard_reaches_the_content_first(scene: Scene, page: Page) -> None:
    page.goto(scene.page("/records"))

    page.keyboard.press("Tab")

    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_the_keyboard_reaches_and_operates_everything(
    scene: Scene, filled: dict[str, str], page: Page, path: str
) -> None:
    page.goto(address(scene, path.format(**filled)))
    expect(page.get_by_text("loading…")).to_have_count(0)
    # A page that renews a part of itself would renew what is counted.
    page.route("**/*", lambda route: route.abort())
    page.evaluate(NUMBER_AND_HEAR)

    reached: set[str] = set()
    for _ in range(STOPS_MAX):
        stop = page.evaluate(STOP)
        if stop is not None:
            if stop["number"] in reached:
                break
            reached.add(stop["number"])
            assert stop["is_visible"], stop
            assert stop["is_marked"], stop
            if key := stop["key"]:
                page.keyboard.press(key)
                assert page.evaluate("heard()"), (key, stop)
        page.keyboard.press("Tab")

    assert reached
    assert page.evaluate(UNREACHED, list(reached)) == []
