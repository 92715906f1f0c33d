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
    f' xmlns:table="{OFFICE}table:1.0" xmlns:style="{OFFICE}style:1.0">'
)


def an_odt(
    path: Path, body: str, *, styles: str = "", kind: str = "text", prolog: str = ""
) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr(
            "content.xml",
            f"{prolog}{HEAD}<office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
        )
    return path


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


@pytest.mark.parametrize("hides", ['text:display="none"', 'style:text-line-through-style="solid"'])
def test_hidden_and_struck_text_is_not_read(tmp_path: Path, hides: str) -> None:
    styles = f'<style:style style:name="T1"><style:text-properties {hides}/></style:style>'
    body = (
        "<text:p>A contract with enough text to be one"
        '<text:span text:style-name="T1"> and 31.12.2099</text:span></text:p>'
    )

    text = read_document(an_odt(tmp_path / "a.odt", body, styles=styles)).text

    assert text == "A contract with enough text to be one"


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
