"""In a browser: the queue of what is flagged, and a wrong reading that is corrected, looked at and accepted."""

import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from xlsxwriter import Workbook

from lab.documents.statements.broken import lock
from stateward.pipelines.statements.settings import LEARNED
from tests import web
from tests.console.scene import Scene
from tests.pipelines.statements.pdf.judging import sheet

AMBIGUOUS = "Date,Description,Amount\n01/02/2026,Shop purchase {0},-1.00\n03/04/2026,Salary,2.00\n"
# Two columns of dates and two of amounts: the reader cannot know which of them were booked.
COLUMNS = "a,b,c,d\n2026-01-05,7.00,Shop {0},1.00\n2026-01-06,7.00,Shop,2.00\n"


def submitted(scene: Scene, text: str, name: str) -> str:
    record_id = scene.app.submit(text.format(name).encode(), name=name).record.id
    scene.app.records.wait(record_id, timeout_s=30)
    return record_id


@pytest.mark.long
def test_a_flagged_result_is_corrected_from_its_queue(scene: Scene, page: Page) -> None:
    record_id = submitted(scene, AMBIGUOUS, "unclear.csv")
    seen: list[tuple[bool, bool]] = []

    def look_and_continue(route: Route) -> None:
        seen.append((page.locator("#reading").is_visible(), page.locator("#look").is_disabled()))
        route.continue_()

    page.goto(scene.page(f"/flags/{record_id}"))
    expect(page.locator("#checked tbody tr")).to_have_count(2)
    expect(page.locator("article .pill")).to_have_text("AMBIGUOUS_DATES")
    # What people read comes first, and the identifier, which programs need, last.
    headings = page.locator("#checked th").all_inner_texts()
    assert (headings[:2], headings[-1]) == (["Place", "amount"], "id")

    page.locator("#correct-it").click()
    page.get_by_label("date order").select_option("mdy")
    expect(page.locator("#reading")).to_be_hidden()
    page.route("**/correct", look_and_continue)
    page.locator("#look").click()
    expect(page.locator("#outcome")).to_contain_text("no longer be flagged")
    assert seen == [(True, True)]  # while the document was read, the page said so
    page.unroute("**/correct")
    expect(page.locator("#changes tr.added").first).to_contain_text("2026-01-02")
    assert page.locator("#changes th").all_inner_texts()[1] == "date"
    assert [row["date"] for row in scene.app.items(record_id)] == [None, None]
    page.locator("#accept").click()

    expect(page.locator("#items")).to_contain_text("2026-01-02")
    assert [row["date"] for row in scene.app.items(record_id)] == ["2026-01-02", "2026-03-04"]
    page.goto(scene.page("/flags"))
    expect(page.get_by_role("link", name="unclear.csv", exact=True)).to_have_count(0)


@pytest.mark.long
def test_a_flagged_result_is_confirmed_or_rejected_with_a_reason(scene: Scene, page: Page) -> None:
    record_id = submitted(scene, AMBIGUOUS, "rejected.csv")
    page.goto(scene.page(f"/records/{record_id}"))
    expect(page.locator("#timeline")).to_contain_text("notes AMBIGUOUS_DATES: every date")
    expect(page.locator("#why")).not_to_contain_text("stateward")
    page.locator("#decide-flag").click()

    page.locator("#reject").click()
    expect(page.locator("#message")).to_contain_text("say why")
    page.get_by_label("Reason").fill("it is somebody else's")
    page.locator("#reject").click()

    expect(page.get_by_role("link", name="rejected.csv", exact=True)).to_have_count(0)
    page.goto(scene.page(f"/flags/{record_id}"))
    expect(page.locator("#decided")).to_contain_text("reject")
    page.get_by_role("link", name="open record").click()
    expect(page.locator("#why")).to_contain_text("reject by")
    expect(page.locator("#decide-flag")).to_have_count(0)


@pytest.mark.long
def test_columns_are_picked_and_remembered(scene: Scene, page: Page) -> None:
    first = submitted(scene, COLUMNS, "first.csv")
    page.goto(scene.page(f"/records/{first}"))
    page.locator("#correct-it").click()
    for number, role in ((1, "date"), (4, "amount"), (3, "description")):
        page.get_by_label(f"Column {number}", exact=True).select_option(role)
    page.get_by_label("sign", exact=False).first.select_option("flipped")
    page.get_by_label("Read other documents").check()
    page.locator("#look").click()
    page.locator("#accept").click()
    expect(page.locator("#items")).to_contain_text("-2.00")

    second = submitted(scene, COLUMNS, "second.csv")

    rows = list(scene.app.items(second))
    assert [row["amount"] for row in rows] == ["-1.00", "-2.00"]
    assert rows[0]["description"] == "Shop second.csv"
    assert "learned from first.csv" in (Path(scene.settings.data) / LEARNED).read_text("utf-8")


@pytest.mark.long
def test_what_cannot_be_read_so_is_said_and_a_flagged_result_must_be_accepted(
    scene: Scene, page: Page
) -> None:
    text = "Date,Description,Amount,Balance\n2026-01-05,Shop {0},-1.50,8.50\n2026-01-06,Pay,2.00,10.50\n"
    record_id = submitted(scene, text, "good.csv")
    page.goto(scene.page(f"/records/{record_id}/correct"))

    page.get_by_label("Column 2", exact=True).select_option("date")
    page.locator("#look").click()
    expect(page.locator("#preview")).to_contain_text("a map needs a date")
    page.get_by_label("Column 2", exact=True).select_option("")
    page.get_by_label("sign", exact=False).first.select_option("flipped")
    page.locator("#look").click()
    expect(page.locator("#outcome")).to_contain_text("NOT_RECONCILED")
    page.locator("#accept").click()
    expect(page.locator("#refused")).to_contain_text("flagged as wrong or incomplete")

    assert [row["amount"] for row in scene.app.items(record_id)] == ["-1.50", "2.00"]
    page.locator("#accept-flags").check()
    page.locator("#accept").click()
    expect(page.locator("#items")).to_contain_text("1.50")


@pytest.mark.long
def test_a_locked_document_is_read_with_the_password_that_is_typed(
    scene: Scene, page: Page
) -> None:
    statement = sheet(
        [(60, "Date"), (150, "Description"), (-480, "Amount"), (-560, "Balance")],
        [(60, "13/03/2026"), (150, "Shop"), (-480, "-5.00"), (-560, "95.00")],
        [(60, "14/03/2026"), (150, "Pay"), (-480, "20.00"), (-560, "115.00")],
    )
    locked = lock(statement.objects(), user="secret", owner="master")
    record_id = scene.app.submit(locked, name="locked.pdf").record.id
    scene.app.records.wait(record_id, timeout_s=30)
    page.goto(scene.page(f"/records/{record_id}/correct"))

    page.get_by_label("password").fill("secret")
    page.locator("#look").click()
    expect(page.locator("#preview")).to_contain_text("processed anew")
    page.locator("#accept").click()

    expect(page.locator("#items")).to_contain_text("Shop")
    expect(page.locator("#items")).to_contain_text("115.00")


@pytest.mark.long
def test_a_document_without_columns_shows_none(scene: Scene, page: Page) -> None:
    record_id = scene.app.submit(b"%PDF-1.7\nnothing").record.id
    scene.app.records.wait(record_id, timeout_s=30)

    page.goto(scene.page(f"/records/{record_id}/correct"))

    expect(page.get_by_label("password")).to_have_attribute("type", "password")
    expect(page.locator("#raw")).to_have_count(0)


def test_each_source_type_is_offered_once(scene: Scene) -> None:
    record_id = submitted(scene, AMBIGUOUS, "types.csv")

    shown = web.get(scene.page(f"/records/{record_id}/correct")).text
    offered = re.findall(r'<option value="([^"]+)"', shown.partition('name="source_type"')[2])

    assert offered.count("auto") == 1


def test_the_rows_of_a_sheet_stand_beside_what_was_read_of_them(scene: Scene) -> None:
    written = io.BytesIO()
    with Workbook(written) as book:
        page = book.add_worksheet()
        for at, cells in enumerate(
            (
                ("Date", "Description", "Amount"),
                ("01/02/2026", "Bakery <b>", "-1.00"),
                ("03/04/2026", "Salary", "2.00"),
            )
        ):
            page.write_row(at, 0, cells)
    record_id = scene.submit(written.getvalue(), name="sheet.xlsx")
    scene.rested(record_id)

    shown = web.get(scene.page(f"/flags/{record_id}")).text

    assert "AMBIGUOUS_DATES" in shown
    assert "Bakery &lt;b&gt;</td>" in shown.partition('id="raw"')[2].partition("</table>")[0]
