"""ODT files become text as a person reads it."""

import re
import zipfile
from pathlib import Path

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.reader import read_document

OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
HEAD = (
    f'<office:document-content xmlns:office="{OFFICE}office:1.0" xmlns:text="{OFFICE}text:1.0"'
    f' xmlns:table="{OFFICE}table:1.0" xmlns:style="{OFFICE}style:1.0"'
    f' xmlns:draw="{OFFICE}drawing:1.0" xmlns:fo="{OFFICE}xsl-fo-compatible:1.0"'
    f' xmlns:svg="{OFFICE}svg-compatible:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/">'
)
LONG = "A contract with enough text to be one"


def an_odt(
    path: Path,
    body: str,
    *,
    styles: str = "",
    kind: str = "text",
    prolog: str = "",
    common: str = "",
) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr(
            "content.xml",
            f"{prolog}{HEAD}<office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
        )
        if common:
            archive.writestr("styles.xml", f"{HEAD}{common}</office:document-content>")
    return path


def a_style(name: str, properties: str, *, family: str = "text", parent: str = "") -> str:
    kind = "text" if family in ("text", "paragraph") else family
    return (
        f'<style:style style:name="{name}" style:family="{family}" style:parent-style-name="{parent}">'
        f"<style:{kind}-properties {properties}/></style:style>"
    )


def a_span(text: str, style: str = "T1") -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def test_paragraphs_tables_tabs_and_breaks_are_read(tmp_path: Path) -> None:
    body = (
        "<text:h>Vertragsbestätigung</text:h>"
        '<text:p>Tarif:<text:tab/>Strom<text:s text:c="2"/>24<text:line-break/>ab <text:span>Mai</text:span></text:p>'
        "<table:table><table:table-row><table:table-cell><text:p>Abschlag</text:p></table:table-cell>"
        "<table:table-cell><text:p>95,00 EUR</text:p></table:table-cell></table:table-row></table:table>"
    )

    document = read_document(an_odt(tmp_path / "a.odt", body))

    assert document.format == "odt"
    assert document.text == "Vertragsbestätigung\nTarif:\tStrom  24\nab Mai\nAbschlag\t95,00 EUR"


HIDES = {
    'text:display="none"': "hidden",
    'fo:color="#FFFFFF"': "hidden",
    'fo:color="#ffff66"': "hidden",
    'fo:font-size="1pt"': "hidden",
    'fo:font-size="10%"': "hidden",
    'style:text-line-through-style="solid"': "struck",
    'style:text-line-through-type="double"': "struck",
}


@pytest.mark.parametrize("where", ["own", "inherited", "common", "paragraph", "parents default"])
@pytest.mark.parametrize("hides", HIDES)
def test_text_that_a_style_hides_or_strikes_is_kept_apart(
    tmp_path: Path, hides: str, where: str
) -> None:
    styles, common, body = {
        "own": (a_style("T1", hides), "", f"<text:p>{LONG}{a_span(' 2099')}</text:p>"),
        "inherited": (
            a_style("T0", hides) + a_style("T1", 'fo:font-weight="bold"', parent="T0"),
            "",
            f"<text:p>{LONG}{a_span(' 2099')}</text:p>",
        ),
        "common": ("", a_style("T1", hides), f"<text:p>{LONG}{a_span(' 2099')}</text:p>"),
        "paragraph": (
            a_style("P1", hides, family="paragraph"),
            "",
            f'<text:p>{LONG}</text:p><text:p text:style-name="P1">2099</text:p>',
        ),
        "parents default": (
            a_style("P1", 'fo:font-weight="bold"', family="paragraph", parent="Standard"),
            a_style("Standard", hides, family="paragraph"),
            f'<text:p>{LONG}</text:p><text:p text:style-name="P1">2099</text:p>',
        ),
    }[where]

    document = read_document(an_odt(tmp_path / "a.odt", body, styles=styles, common=common))

    page = document.pages[0]
    assert page.text == LONG
    kept = {"hidden": page.unseen, "struck": page.struck}
    assert kept == {"hidden": "", "struck": ""} | {HIDES[hides]: "2099"}


@pytest.mark.parametrize(
    ("styles", "body"),
    [
        (a_style("T1", 'fo:color="#ffffff" fo:background-color="#000080"'), a_span("95 EUR")),
        (
            a_style("T1", 'fo:color="#ffffff" style:use-window-font-color="true"'),
            a_span("95 EUR"),
        ),
        (
            a_style("T0", 'fo:color="#ffffff"') + a_style("T1", 'fo:color="#333333"'),
            a_span(a_span("95 EUR"), "T0"),
        ),
        (
            a_style("T1", 'style:text-line-through-style="none" fo:font-size="7pt"'),
            a_span("95 EUR"),
        ),
        (a_style("T1", 'fo:font-size="58%"'), a_span("95 EUR")),
    ],
    ids=["ground", "automatic", "overruled", "not struck", "smaller"],
)
def test_text_that_only_seems_hidden_is_read(tmp_path: Path, styles: str, body: str) -> None:
    path = an_odt(tmp_path / "a.odt", f"<text:p>{LONG} {body}</text:p>", styles=styles)

    page = read_document(path).pages[0]

    assert (page.text, page.unseen, page.struck) == (f"{LONG} 95 EUR", "", "")


def test_white_words_in_a_dark_cell_are_read_and_those_in_a_bare_one_are_not(
    tmp_path: Path,
) -> None:
    styles = a_style("T1", 'fo:color="#ffffff"') + a_style(
        "C1", 'fo:background-color="#004488"', family="table-cell"
    )
    body = (
        f"<text:p>{LONG}</text:p><table:table><table:table-row>"
        f'<table:table-cell table:style-name="C1"><text:p>{a_span("Abschlag")}</text:p></table:table-cell>'
        f"<table:table-cell><text:p>95 EUR{a_span(' 12 EUR')}</text:p></table:table-cell>"
        "</table:table-row></table:table>"
    )

    page = read_document(an_odt(tmp_path / "a.odt", body, styles=styles)).pages[0]

    assert (page.text, page.unseen) == (f"{LONG}\nAbschlag\t95 EUR", "12 EUR")


@pytest.mark.parametrize(
    ("grounds", "is_read"),
    [
        ({"table": "#004488"}, True),
        ({"table-row": "#004488"}, True),
        ({"table": "#004488", "table-cell": "transparent"}, True),
        ({"table": "#004488", "table-cell": "#ffffff"}, False),
        ({"table-row": "#004488", "table-cell": "#f2f2f2"}, False),
        ({"table-cell": "#004488", "paragraph": "#ffffff"}, False),
        ({"table-cell": "#ffffff", "paragraph": "#004488"}, True),
        ({"table-cell": "#ffff99"}, False),
    ],
)
def test_of_several_grounds_the_nearest_decides_whether_white_words_are_read(
    tmp_path: Path, grounds: dict[str, str], *, is_read: bool
) -> None:
    styles = a_style("T1", 'fo:color="#ffffff"') + "".join(
        a_style("G1", f'fo:background-color="{color}"', family=family)
        for family, color in grounds.items()
    )
    name = 'table:style-name="G1"'
    body = (
        f"<text:p>{LONG}</text:p><table:table {name}><table:table-row {name}><table:table-cell {name}>"
        f'<text:p text:style-name="G1">{a_span("95 EUR")}</text:p></table:table-cell></table:table-row></table:table>'
    )

    page = read_document(an_odt(tmp_path / "a.odt", body, styles=styles)).pages[0]

    assert (page.text.strip(), page.unseen) == (
        (f"{LONG}\n95 EUR", "") if is_read else (LONG, "95 EUR")
    )


def test_dark_words_in_a_cell_as_dark_are_not_read(tmp_path: Path) -> None:
    dark = 'fo:color="#000000"', 'fo:background-color="#000000"'
    styles = a_style("T1", dark[0]) + a_style("C1", dark[1], family="table-cell")
    body = (
        f"<text:p>{LONG}</text:p><table:table><table:table-row>"
        f'<table:table-cell table:style-name="C1"><text:p>{a_span("95 EUR")}</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    )

    page = read_document(an_odt(tmp_path / "a.odt", body, styles=styles)).pages[0]

    assert (page.text.strip(), page.unseen) == (LONG, "95 EUR")


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (
            '<text:tracked-changes><text:changed-region><text:deletion><office:change-info>'
            "<dc:creator>Ann</dc:creator></office:change-info><text:p>old 2099</text:p></text:deletion>"
            "</text:changed-region></text:tracked-changes>",
            ("", "old 2099", ""),
        ),
        (
            "<text:p><office:annotation><dc:creator>Ann</dc:creator><text:p>old 2099</text:p></office:annotation>"
            "</text:p>",
            ("old 2099", "", ""),
        ),
        ('<text:section text:display="none"><text:p>old 2099</text:p></text:section>', ("old 2099", "", "")),
        ('<text:p>old 2099<text:hidden-paragraph text:is-hidden="true"/></text:p>', ("old 2099", "", "")),
        (
            '<text:p><text:hidden-text text:is-hidden="true" text:string-value="old 2099"/></text:p>',
            ("old 2099", "", ""),
        ),
        (
            "<text:p><draw:frame><draw:image/><svg:title>old</svg:title><svg:desc>2099</svg:desc></draw:frame></text:p>",
            ("", "", "old\n2099"),
        ),
    ],
    ids=["deleted", "comment", "section", "paragraph", "field", "picture"],
)  # fmt: skip
def test_what_is_no_text_is_kept_apart(
    tmp_path: Path, body: str, kept: tuple[str, str, str]
) -> None:
    page = read_document(an_odt(tmp_path / "a.odt", f"<text:p>{LONG}</text:p>{body}")).pages[0]

    assert page.text.strip() == LONG
    assert (page.unseen, page.struck, page.aside) == kept


def test_headers_stand_first_then_the_text_with_its_boxes_then_footers_and_notes(
    tmp_path: Path,
) -> None:
    body = (
        f"<text:p>{LONG}<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>plus tax</text:p></text:note-body></text:note>"
        "<draw:frame><draw:text-box><text:p>Reference 17</text:p></draw:text-box></draw:frame> today</text:p>"
        "<text:p>Yours</text:p>"
    )
    master = (
        "<office:master-styles><style:master-page>"
        "<style:header><text:p>E.ON Energie</text:p></style:header>"
        "<style:header-first><text:p>E.ON Energie</text:p></style:header-first>"
        '<style:header-left style:display="false"><text:p>Old</text:p></style:header-left>'
        "<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>"
        "</style:master-page></office:master-styles>"
    )

    text = read_document(an_odt(tmp_path / "a.odt", body, common=master)).text

    assert text.split("\n") == [
        "E.ON Energie",
        f"{LONG} today",
        "Reference 17",
        "Yours",
        "Page 1",
        "plus tax",
    ]


def test_cells_of_a_table_keep_their_columns(tmp_path: Path) -> None:
    def cell(text: str, attributes: str = "") -> str:
        return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"

    rows = [
        cell("") + cell("Old", 'table:number-columns-spanned="2"') + "<table:covered-table-cell/>" + cell("New"),
        cell("Price") + cell("", 'table:number-columns-repeated="2"') + cell("95 EUR</text:p><text:p/><text:p>a month"),
        cell("Gone"),
    ]  # fmt: skip
    visible = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows[:2])
    table = (
        f"<table:table><table:table-header-rows>{visible}</table:table-header-rows>"
        f'<table:table-row table:visibility="collapse">{rows[2]}</table:table-row></table:table>'
    )

    page = read_document(an_odt(tmp_path / "a.odt", f"<text:p>{LONG}</text:p>{table}")).pages[0]

    assert page.text.split("\n") == [LONG, "\tOld\t\tNew", "Price\t\t\t95 EUR", "\t\t\ta month"]
    assert page.unseen == "Gone"


def test_an_entity_is_neither_expanded_nor_fetched(tmp_path: Path) -> None:
    prolog = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{Path(__file__).as_uri()}">]>'

    with pytest.raises(FatalFailure) as refused:
        read_document(an_odt(tmp_path / "a.odt", "<text:p>&x;</text:p>", prolog=prolog))

    assert refused.value.code == "HOSTILE_FILE"


@pytest.mark.parametrize(
    ("kind", "said"),
    [("spreadsheet", "a spreadsheet (ODS); save it as PDF"), ("unheard-of", "a zip archive")],
)
def test_another_zip_is_refused_as_what_it_is(tmp_path: Path, kind: str, said: str) -> None:
    with pytest.raises(FatalFailure, match=re.escape(f"the file is {said}")):
        read_document(an_odt(tmp_path / "a.ods", "<text:p>x</text:p>", kind=kind))


def test_a_workbook_is_refused_as_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")

    with pytest.raises(FatalFailure, match=r"a spreadsheet \(XLSX\)"):
        read_document(tmp_path / "a.xlsx")
