"""The page of a record: where it is and why, its way, what came of it, its document, and what may be done."""

import csv
import io
import json

import pytest
from playwright.sync_api import Page, expect

from tests import web
from tests.console.scene import BROKEN, FORMULA, Scene, contract_pdf, statement

HTML = (
    b"<html><body><script>document.title='owned'</script><img src=x onerror=alert(1)>\n"
    b"date;amount;text\n2026-01-02;-12,50;Coffee\n2026-01-03;-3,00;Bread\n"
)


@pytest.fixture(scope="module")
def pdf(scene: Scene) -> str:
    record_id = scene.sample("statement-2026-01.pdf")
    scene.rested(record_id)
    return record_id


def test_a_record_says_where_it_is_and_how_it_came_there(
    scene: Scene, page: Page, pdf: str
) -> None:
    page.goto(scene.page(f"/records/{pdf}"))

    expect(page.locator("#why")).to_contain_text("Finished: normalized")
    expect(page.locator("#timeline > li")).to_have_count(5)
    expect(page.locator(".sw-machine .sw-present .sw-name")).to_have_text("normalized")
    expect(page.locator(".sw-machine .sw-taken")).to_have_count(5)  # with its place in the legend
    expect(page.locator("#facts")).to_contain_text("observations count")


@pytest.mark.long
def test_on_a_phone_the_graph_shows_where_the_record_is(scene: Scene, page: Page) -> None:
    text = contract_pdf("64,00")
    record_id = scene.submit(text, name="on-a-phone.pdf", machine="contract")
    scene.rested(record_id)
    page.set_viewport_size({"width": 320, "height": 700})

    page.goto(scene.page(f"/records/{record_id}"))

    expect(page.locator("[data-pdf][data-drawn]").first).to_be_visible()
    shown, present = (page.locator(each).bounding_box() for each in (".drawing", ".sw-present"))
    assert shown is not None and present is not None  # noqa: PT018
    assert shown["x"] < present["x"] < shown["x"] + shown["width"] - present["width"]
    assert shown["y"] < present["y"] < shown["y"] + shown["height"] - present["height"]


@pytest.mark.long
def test_what_may_come_next_is_drawn(scene: Scene, page: Page) -> None:
    record_id = scene.submit(BROKEN + b"next", name="next.csv")
    scene.rested(record_id)

    page.goto(scene.page(f"/records/{record_id}"))

    following = page.locator(".sw-machine .sw-next .sw-name")
    assert following.all_text_contents() == ["queued_for_parse"]


def test_items_are_a_table_that_can_be_taken_along(scene: Scene, page: Page, pdf: str) -> None:
    page.goto(scene.page(f"/records/{pdf}"))
    expect(page.locator("#items tbody tr")).to_have_count(25)

    with page.expect_download() as as_csv:
        page.locator("#export-csv").click()
    with page.expect_download() as as_json:
        page.locator("#export-json").click()

    rows = list(csv.DictReader(io.StringIO(as_csv.value.path().read_text("utf-8-sig"))))
    assert len(rows) == 25
    assert {row["currency"] for row in rows} == {"GBP"}
    assert len(json.loads(as_json.value.path().read_bytes())) == 25
    expect(page.locator("#items .tabs button")).to_have_text(["Transactions", "Observations"])
    page.get_by_role("button", name="Observations").click()
    expect(page.get_by_role("button", name="Observations")).to_have_attribute(
        "aria-current", "true"
    )


@pytest.mark.long
def test_a_record_in_review_opens_with_the_values_in_review(scene: Scene, page: Page) -> None:
    record_id = scene.submit(contract_pdf("66,30"), name="in-review.pdf", machine="contract")
    assert scene.rested(record_id) == "review_required"

    page.goto(scene.page(f"/records/{record_id}"))

    expect(page.locator("#items .tabs [aria-current=true]")).to_have_text("Terms")
    page.locator("#items tr", has_text="monthly").locator("[data-mark]").click()
    expect(page.locator("#document .mark.on")).to_be_visible()


def test_what_people_did_besides_is_told_in_words(scene: Scene) -> None:
    record_id = scene.submit(contract_pdf("66,90"), name="linked.pdf", machine="contract")
    assert scene.rested(record_id) == "review_required"
    scene.app.approver_links.create(
        record_id, "anna@example.org", actor="person:anonymous@local", is_administrator=True
    )

    assert "review link created" in web.get(scene.page(f"/records/{record_id}")).text


@pytest.mark.long
@pytest.mark.parametrize("width", [1400, 1024, 360])
def test_no_cell_of_the_results_is_printed_over_another(
    scene: Scene, page: Page, pdf: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(scene.page(f"/records/{pdf}"))
    expect(page.locator("#items tbody tr")).to_have_count(25)

    outside = page.evaluate(
        """() => [...document.querySelectorAll("#items td")].filter((cell) => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            const isCut = getComputedStyle(cell).overflowX === "hidden";
            return !isCut && text.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1;
        }).map((cell) => cell.textContent)"""
    )

    assert outside == []
    headings = page.locator("#items th").all_text_contents()
    assert headings.index("date") < headings.index("description") < headings.index("id")


@pytest.mark.long
def test_what_a_result_is_worth_stands_with_the_result(scene: Scene, page: Page) -> None:
    record_id = scene.submit(statement(950), name="unproved.csv")
    scene.rested(record_id)

    page.goto(scene.page(f"/records/{record_id}"))

    expect(page.locator("#made #result-notes")).to_contain_text("unchecked")


@pytest.mark.long
def test_what_a_person_stopped_is_cancelled_and_no_error(scene: Scene, page: Page) -> None:
    scene.app.actions.pause("upload", "", actor="person:anna", reason=None)
    record_id = scene.submit(statement(951), name="stopped.csv")
    scene.app.actions.act("cancel", record_id, actor="person:anna", reason="sent by mistake")
    scene.app.actions.resume("upload", "", actor="person:a")

    page.goto(scene.page(f"/records/{record_id}"))
    expect(page.locator("#status")).to_have_text("cancelled")
    expect(page.locator("#why")).to_contain_text("It was cancelled: sent by mistake")

    page.goto(scene.page("/records?q=document:stopped"))
    expect(page.locator("#records tbody tr .pill")).to_have_text("cancelled")
    page.goto(scene.page())
    expect(page.locator("#chip-upload-cancelled b")).to_have_text("1")
    page.goto(scene.page("/errors"))
    expect(page.locator("main")).not_to_contain_text("CANCELLED")


@pytest.mark.long
def test_an_address_that_leads_nowhere_is_a_page(scene: Scene, page: Page) -> None:
    answer = page.goto(scene.page("/nothing/here"))

    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("alert")).to_contain_text("the console has no page /nothing/here")
    expect(page.get_by_role("link", name="To the board")).to_be_visible()


def test_a_browser_outside_the_console_is_shown_the_way_and_a_client_a_problem(
    scene: Scene,
) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
    for path, links in (("/xyz<b>", ['"/console"']), ("/flags", ['"/console/flags"'])):
        shown = web.get(f"{scene.url}{path}", headers=browser)
        told = web.get(f"{scene.url}{path}")

        assert (shown.status_code, told.status_code) == (404, 404)
        assert shown.headers["content-type"].startswith("text/html")
        assert all(f"href={each}" in shown.text for each in links)
        assert "<b>" not in shown.text
        assert told.headers["content-type"] == "application/problem+json"


def test_no_cell_of_an_export_is_a_formula(scene: Scene) -> None:
    record_id = scene.submit(FORMULA, name="formula.csv")
    assert scene.rested(record_id) == "normalized"

    answer = web.get(scene.page(f"/records/{record_id}/export/csv"))

    cells = [cell for row in csv.reader(io.StringIO(answer.text)) for cell in row]
    assert any("HYPERLINK" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]


def test_a_record_and_its_successor_lead_to_each_other(scene: Scene) -> None:
    first = scene.submit(statement(952), name="first.csv")
    assert scene.rested(first) == "normalized"
    second = scene.app.external_driver.reprocess(first, actor="person:anna").record.id

    for one, other in ((first, second), (second, first)):
        assert f'/records/{other}"' in web.get(scene.page(f"/records/{one}")).text
    shown, anew = (web.get(f"{scene.url}/records/{each}").json() for each in (first, second))
    assert (shown["replaces"], shown["replaced_by"]) == (None, [second])
    assert (anew["replaces"], anew["replaced_by"]) == (first, [])


@pytest.mark.long
def test_the_pdf_is_drawn(scene: Scene, page: Page, pdf: str) -> None:
    page.goto(scene.page(f"/records/{pdf}"))

    page.locator("#document").scroll_into_view_if_needed()

    expect(page.locator(".sheet[data-page='1']")).to_have_attribute("data-drawn", "yes")
    ink = page.locator(".sheet[data-page='1'] canvas").evaluate(
        """(canvas) => {
            const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            let dark = 0;
            for (let at = 0; at < pixels.length; at += 4) if (pixels[at] < 100 && pixels[at + 3] > 200) dark += 1;
            return dark;
        }"""
    )
    assert ink > 1000


def test_html_is_shown_and_does_nothing(scene: Scene, page: Page) -> None:
    record_id = scene.submit(HTML, name="evil.html")
    page.goto(scene.page(f"/records/{record_id}"))

    expect(page.locator("#document-text")).to_contain_text("<script>document.title='owned'")
    expect(page).to_have_title("evil.html · Stateward")
    answer = web.get(scene.page(f"/records/{record_id}/content"))
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.content == HTML


@pytest.mark.long
def test_a_name_is_only_text(scene: Scene, page: Page) -> None:
    name = "<img src=x onerror=document.title='owned'>.csv"
    record_id = scene.submit(statement(900), name=name)

    page.goto(scene.page(f"/records/{record_id}"))

    expect(page.get_by_role("heading", level=1)).to_have_text(name)


@pytest.mark.long
def test_the_log_of_an_attempt_can_be_read(scene: Scene, page: Page, pdf: str) -> None:
    page.goto(scene.page(f"/records/{pdf}"))

    page.get_by_role("button", name="Log of parse").click()

    expect(page.locator("#dialog pre.log")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).not_to_be_visible()


def test_a_failed_record_is_tried_again_with_a_reason(scene: Scene, page: Page) -> None:
    record_id = scene.submit(BROKEN + b"again", name="again.csv")
    assert scene.rested(record_id) == "error"
    page.goto(scene.page(f"/records/{record_id}"))
    expect(page.locator("#why")).to_have_attribute("data-code", "failed")
    expect(page.locator("#advice")).to_have_text("Fix the cause, then retry it.")

    page.get_by_role("button", name="Retry…").click()
    page.get_by_label("Why").fill("try once more")
    page.get_by_role("button", name="Retry", exact=True).click()

    expect(page.locator(".toast")).to_contain_text("tried again")
    expect(page.locator("#timeline")).to_contain_text("try once more")
    expect(page.locator("#dialog")).not_to_be_visible()
    expect(page.locator("#timeline > li")).to_have_count(6)
    expect(page.locator("#status")).to_have_attribute("data-status", "error")


@pytest.mark.long
def test_a_priority_is_changed_and_that_is_kept(scene: Scene, page: Page) -> None:
    record_id = scene.submit(BROKEN + b"prio", name="prio.csv")
    scene.rested(record_id)
    page.goto(scene.page(f"/records/{record_id}"))

    page.get_by_role("button", name="Priority 5…").click()
    page.get_by_label("Priority").fill("10")
    page.get_by_label("Why").fill("a customer waits")
    page.get_by_role("button", name="Set priority").click()

    expect(page.get_by_role("button", name="Priority 10…")).to_be_visible()
    expect(page.locator("#record")).to_contain_text("a customer waits")
    assert scene.app.record(record_id).priority == 10
    assert scene.app.admin.verify().findings == ()


@pytest.mark.long
def test_a_record_that_is_not_there_is_a_page_that_says_so(scene: Scene, page: Page) -> None:
    answer = page.goto(scene.page("/records/UL_nothing"))

    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("alert")).to_contain_text("UL_nothing")


NDA = b"""MUTUAL NON-DISCLOSURE AGREEMENT

This Mutual Non-Disclosure Agreement (the "Agreement") is entered into as of March 3, 2021 (the "Effective Date") by and
between Palm Harbor Systems, Inc., a Delaware corporation ("Company"), and Northern Lights Software LLC, a Delaware
limited liability company ("Recipient").

1. Definition of Confidential Information. "Confidential Information" means any information disclosed by the disclosing
party to the receiving party. %s

2. Governing Law. This Agreement shall be governed by and construed in accordance with the laws of the State of New
York.

IN WITNESS WHEREOF, the parties hereto have executed this Agreement.

PALM HARBOR SYSTEMS, INC.            NORTHERN LIGHTS SOFTWARE LLC
By: Jane Smith                       By: John Doe
""" % (b"It includes business plans, trade secrets and customer lists. " * 8)


@pytest.mark.long
def test_a_contract_that_nothing_is_compared_with_opens_with_its_terms(
    scene: Scene, page: Page
) -> None:
    record_id = scene.submit(NDA, name="nda.txt", machine="contract")
    assert scene.rested(record_id) == "completed"

    page.goto(scene.page(f"/records/{record_id}"))

    expect(page.locator("#items .tabs [aria-current=true]")).to_have_text("Terms")
    expect(page.locator("#items")).to_contain_text("New York")
    expect(page.locator("#facts")).not_to_contain_text("provider")
    page.get_by_role("button", name="Checks and clauses").click()
    clause = page.locator("details.long", has_text="It includes business plans").first
    expect(clause).not_to_have_attribute("open", "")
    clause.locator("summary").click()
    expect(clause).to_have_attribute("open", "")
