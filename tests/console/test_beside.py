"""What stands beside a document: values in the order in which people read, what was derived, and what can be said."""

import re

import pytest
from playwright.sync_api import Page, expect

from stateward.console.record import order_columns
from stateward.core.model import Fields
from stateward.definition.display import Column
from tests import web
from tests.console.scene import Scene, statement

# Segments of HL7 end with a carriage return alone.
REPORT = "\r".join(
    [
        r"MSH|^~\&|LAB|EXAMPLE|EHR|CLINIC|20260309101500+0100||ORU^R01^ORU_R01|MSG{0}|P|2.5.1",
        "PID|1||SAMPLE-{0}^^^LAB^MR||SAMPLE^PATIENT||19700101|F",
        "OBR|1|ORD1|FIL1|24323-8^Comprehensive metabolic panel^LN|||20260309074000+0100",
        "OBX|1|NM|2345-7^Glucose^LN||131|mg/dL^^UCUM|70-99|H|||F",
        "OBX|2|NM|2160-0^Creatinine^LN||0.9|mg/dL^^UCUM|0.5-1.1|N|||F",
    ]
)
MEASURED = "run;length [m];period [s]\n" + "".join(
    f"{run};{1 + run % 7},{run % 10}0;{2 + run % 3},{run % 9}7\n" for run in range(1, 25)
)


def report(scene: Scene, name: str) -> str:
    record_id = scene.submit(REPORT.format(name).encode(), name=f"{name}.hl7")
    assert scene.rested(record_id) == "normalized"
    return record_id


def test_a_record_offers_the_formats_of_its_kind_alone(scene: Scene) -> None:
    paid = scene.submit(statement(4100), name="paid.csv")
    assert scene.rested(paid) == "normalized"

    of_report = web.get(scene.page(f"/records/{report(scene, 'formats')}/items")).text
    of_statement = web.get(scene.page(f"/records/{paid}/items")).text

    assert re.findall(r'id="export-(\w+)"', of_report) == ["csv", "json"]
    assert "ofx" in re.findall(r'id="export-(\w+)"', of_statement)


def test_a_unit_stands_beside_its_value_and_an_identifier_last() -> None:
    columns = [Column("id", format="code"), Column("value"), Column("unit", format="code")]
    rows: list[Fields] = [{"id": "0c5e1b6a9d3f4e21", "value": "131", "unit": "mg/dL"}]

    assert [each.name for each in order_columns(columns, rows)] == ["value", "unit", "id"]


@pytest.mark.parametrize(
    ("value", "text", "hint"),
    [
        (5.822222222222222, "5.82222", "5.822222222222222"),
        (1.2345678901e-7, "1.23457e-07", "1.2345678901e-07"),
        (1234567.8912345, "1234567.89", "1234567.8912345"),
        (98.76543, "98.76543", ""),
        (45, "45", ""),
        ("12.6363636363636", "12.6364", "12.6363636363636"),
        ("4006381333931", "4006381333931", ""),
    ],
)
def test_a_computed_number_is_short_and_tells_its_digits_on_demand(
    value: float | str, text: str, hint: str
) -> None:
    column = Column("mean", format="number")

    assert (column.text({"mean": value}), column.hint({"mean": value})) == (text, hint)


def test_a_line_that_ends_with_a_carriage_return_is_shown_as_a_line(scene: Scene) -> None:
    record_id = report(scene, "lines")

    shown = web.get(scene.page(f"/records/{record_id}/document")).text

    assert "\nPID|1||SAMPLE-lines" in shown


def test_options_of_other_kinds_of_documents_stand_apart(scene: Scene) -> None:
    answer = web.get(scene.page(f"/records/{report(scene, 'options')}/correct"))

    own, _, others = answer.text.partition("Options of other kinds of documents")
    assert 'name="source_type"' in own
    assert 'name="sign"' not in own
    assert 'name="sign"' in others
    assert "data-viewer" in own  # what is spoken of can be seen


def test_who_publishes_data_sees_what_was_made_of_it(scene: Scene) -> None:
    text = MEASURED + "25;0,40;stopped too late\n"
    record_id = scene.submit(text.encode(), name="pendulum.csv", machine="experiments")
    assert scene.rested(record_id) == "analyzed"

    shown = web.get(scene.page(f"/review/{record_id}/work")).text

    assert "24 data points" in shown
    assert "<code>FAULTY_ROWS</code>" in shown
    assert f"/records/{record_id}/files/process/plot.svg" in shown
    assert "Download</a>" in shown


@pytest.mark.long
def test_a_column_is_picked_by_a_click_into_it(scene: Scene, page: Page) -> None:
    record_id = scene.submit(statement(4200), name="clicked.csv")
    scene.rested(record_id)
    page.goto(scene.page(f"/records/{record_id}/correct"))

    page.locator("#raw tbody tr").nth(2).locator("td").nth(1).click()

    expect(page.get_by_label("Column 2", exact=True)).to_be_focused()


@pytest.mark.long
def test_a_move_that_a_machine_declares_is_made_on_the_page(scene: Scene, page: Page) -> None:
    scene.app.actions.pause("literature", "fetch", actor="person:op@local", reason=None)
    paper = scene.submit(b"<article/>", name="paper.xml", machine="literature")
    page.goto(scene.page(f"/records/{paper}"))

    page.get_by_role("button", name="Move to skipped…").click()
    page.get_by_label("Why").fill("in another language")
    page.get_by_role("button", name="Move it").click()

    expect(page.locator("#status")).to_have_attribute("data-status", "skipped")
    expect(page.locator("#timeline")).to_contain_text("in another language")
    expect(page.locator("#actions .move")).to_have_count(0)


AGREEMENT = (
    "MUTUAL NON-DISCLOSURE AGREEMENT\n\nThis Agreement is made on 1 March 2026 between Acme Tools GmbH and "
    "Beta Works Ltd.\n\n"
    "1. Confidential Information. The receiving party shall keep all information secret that the other party marks as "
    "confidential, and shall use it only to evaluate the cooperation of the parties.\n\n"
    "2. Governing Law. This Agreement is governed by the laws of England and Wales.\n"
)


@pytest.mark.long
def test_the_text_of_a_clause_is_read_without_scrolling_sideways(scene: Scene, page: Page) -> None:
    record_id = scene.submit(
        AGREEMENT.encode(), name="agreement.txt", source_type="contract_clauses"
    )
    assert scene.rested(record_id) == "normalized"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(scene.page(f"/records/{record_id}"))

    cell = page.locator("#items td", has_text="keep all information secret").last.bounding_box()
    box = page.locator("#items .scroll").bounding_box()

    assert cell is not None
    assert box is not None
    assert cell["x"] + cell["width"] <= box["x"] + box["width"] + 1


@pytest.mark.long
@pytest.mark.parametrize("width", [320, 430])
def test_a_code_in_a_list_breaks_between_its_words_alone(
    scene: Scene, page: Page, width: int
) -> None:
    record_id = scene.submit(b"%PDF-1.7 torn", name="a-rather-long-name-of-a-file.pdf")
    assert scene.rested(record_id) == "error"
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(scene.page("/records?q=status:error"))
    expect(page.locator("td code.code").first).to_be_visible()

    lines = page.locator("td code.code").evaluate_all(
        """codes => codes.flatMap((code) => [...code.childNodes]
          .filter((each) => each.nodeType === Node.TEXT_NODE)
          .map((each) => {
            const range = document.createRange();
            range.selectNode(each);
            return range.getClientRects().length;
          }))"""
    )

    assert set(lines) == {1}
