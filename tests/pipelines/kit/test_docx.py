"""A DOCX is read as if every tracked change were accepted, and a hostile one is not opened."""

import struct
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.reader import read_document

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
LONG = "The supplier delivers electricity to the customer from the first of March."


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*parts: str) -> str:
    return f"<w:p>{''.join(part if part.startswith('<') else run(part) for part in parts)}</w:p>"


def table(*rows: tuple[str, ...]) -> str:
    lines = "".join(
        f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>" for cells in rows
    )
    return f"<w:tbl>{lines}</w:tbl>"


def body(*blocks: str) -> str:
    return f"<w:document {W} {MC}><w:body>{''.join(blocks)}</w:body></w:document>"


def zipped(parts: dict[str, str]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def written(folder: Path, parts: dict[str, str]) -> Path:
    path = folder / "contract.docx"
    path.write_bytes(zipped(parts))
    return path


def lines_of(folder: Path, *blocks: str, **parts: str) -> list[str]:
    more = {f"word/{name}.xml": text for name, text in parts.items()}
    document = read_document(written(folder, {"word/document.xml": body(*blocks), **more}))
    assert document.format == "docx"
    return document.pages[0].text.split("\n")


def code_of(path: Path) -> str:
    with pytest.raises(FatalFailure) as caught:
        read_document(path)
    return caught.value.code


def test_insertions_stay_and_deletions_go(tmp_path: Path) -> None:
    deleted = "<w:del><w:r><w:delText>80</w:delText></w:r></w:del>"
    inserted = f"<w:ins>{run('89,90')}</w:ins>"

    lines = lines_of(tmp_path, paragraph("The fee is ", deleted, inserted, " EUR"), paragraph(LONG))

    assert lines[0] == "The fee is 89,90 EUR"


def test_moved_text_stands_once_where_it_was_moved_to(tmp_path: Path) -> None:
    lines = lines_of(
        tmp_path,
        paragraph(f"<w:moveFrom>{run('wandering clause')}</w:moveFrom>", LONG),
        paragraph(f"<w:moveTo>{run('wandering clause')}</w:moveTo>"),
    )

    assert lines == [LONG, "wandering clause"]


def test_a_cell_over_several_columns_leaves_the_others_in_their_columns(tmp_path: Path) -> None:
    def cell(text: str, span: str = "1") -> str:
        return f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/></w:tcPr>{paragraph(text)}</w:tc>'

    rows = [
        cell("Preise") + cell("netto") + cell("brutto"),
        cell("Abschlag", "2") + cell("84,00"),
        f'<w:trPr><w:gridBefore w:val="1"/></w:trPr>{cell("9,00")}{cell("10,71")}',
        cell("Alle Preise je Monat", "3"),
        cell("Viel", "999999"),
    ]
    drawn = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"

    assert lines_of(tmp_path, paragraph(LONG), drawn) == [
        LONG,
        "Preise\tnetto\tbrutto",
        "Abschlag\t\t84,00",
        "\t9,00\t10,71",
        "Alle Preise je Monat",
        "Viel",
    ]


def test_a_row_of_a_table_is_a_line_with_tabs(tmp_path: Path) -> None:
    lines = lines_of(
        tmp_path,
        paragraph(LONG),
        table(
            (paragraph("Provider"), paragraph("Vattenfall")),
            (paragraph("Address"), paragraph("Street 1") + paragraph("Berlin")),
        ),
    )

    assert lines == [LONG, "Provider\tVattenfall", "Address\tStreet 1", "\tBerlin"]


def test_headers_come_first_and_footers_and_notes_last_each_once(tmp_path: Path) -> None:
    header = f"<w:hdr {W}>{paragraph('Stadtwerke Beispiel')}</w:hdr>"
    footer = f"<w:ftr {W}>{paragraph('HRB 1234')}</w:ftr>"
    notes = f"<w:footnotes {W}><w:footnote>{paragraph('plus VAT')}</w:footnote></w:footnotes>"

    lines = lines_of(
        tmp_path, paragraph(LONG), header1=header, header2=header, footer1=footer, footnotes=notes
    )

    assert lines == ["Stadtwerke Beispiel", LONG, "HRB 1234", "plus VAT"]


def test_breaks_part_lines_and_pages(tmp_path: Path) -> None:
    text = body(
        paragraph("one", "<w:r><w:br/></w:r>", "two", "<w:r><w:tab/></w:r>", "three"),
        paragraph('<w:r><w:br w:type="page"/></w:r>', LONG),
    )

    document = read_document(written(tmp_path, {"word/document.xml": text}))

    assert [page.text for page in document.pages] == ["one\ntwo\tthree", LONG]


def test_a_box_of_text_stands_once_behind_its_paragraph(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
    choice = (
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )

    assert lines_of(tmp_path, paragraph(LONG, choice)) == [LONG, "in the box"]


def test_codes_of_fields_are_not_text(tmp_path: Path) -> None:
    code = "<w:r><w:instrText>PAGE \\* MERGEFORMAT</w:instrText></w:r>"

    assert lines_of(tmp_path, paragraph("page ", code, "1"), paragraph(LONG))[0] == "page 1"


def test_the_main_part_is_found_by_its_relation(tmp_path: Path) -> None:
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1"'
        ' Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="word/document2.xml"/>'
        "</Relationships>"
    )
    parts = {"_rels/.rels": relations, "word/document2.xml": body(paragraph(LONG))}

    assert read_document(written(tmp_path, parts)).text == LONG


def test_a_bomb_is_not_opened(tmp_path: Path) -> None:
    bomb = body(paragraph("x" * 12_000_000))

    assert code_of(written(tmp_path, {"word/document.xml": bomb})) == "HOSTILE_FILE"


def test_a_bomb_whose_directory_lies_is_not_read_to_its_end(tmp_path: Path) -> None:
    text = body(paragraph("x" * 2_000_000))
    data = bytearray(zipped({"word/document.xml": text}))
    size = struct.pack("<I", len(text))
    while (place := data.find(size)) >= 0:
        data[place : place + 4] = struct.pack("<I", 100)
    path = tmp_path / "lie.docx"
    path.write_bytes(data)

    assert code_of(path) in ("CORRUPT_FILE", "HOSTILE_FILE")


def test_entities_are_refused(tmp_path: Path) -> None:
    laughs = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]>' + body(paragraph("&c;", LONG))

    assert code_of(written(tmp_path, {"word/document.xml": laughs})) == "HOSTILE_FILE"


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"word/document.xml": "<broken"}, "CORRUPT_FILE"),
        ({"word/styles.xml": "<a/>"}, "CORRUPT_FILE"),
        ({"word/document.xml": body(paragraph(""))}, "EMPTY_DOCUMENT"),
        ({"readme.txt": "no document"}, "UNSUPPORTED_FORMAT"),
    ],
)
def test_what_is_no_document_is_refused_with_its_code(
    tmp_path: Path, parts: dict[str, str], code: str
) -> None:
    assert code_of(written(tmp_path, parts)) == code


def test_a_row_that_was_struck_out_is_not_read(tmp_path: Path) -> None:
    struck = table((paragraph("old fee"),)).replace("<w:tr>", "<w:tr><w:trPr><w:del/></w:trPr>")

    assert lines_of(tmp_path, paragraph(LONG), struck) == [LONG]


def test_a_part_that_inflates_too_far_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, {"word/document.xml": body(*[paragraph(LONG)] * 50)})

    monkeypatch.setattr("stateward.pipelines.kit.docx.PART_BYTES_MAX", 1000)

    assert code_of(path) == "HOSTILE_FILE"


@pytest.mark.parametrize("limit", ["archives.ENTRIES_MAX", "docx.INFLATED_BYTES_MAX"])
def test_more_than_a_document_may_hold_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    path = written(tmp_path, {"word/document.xml": body(paragraph(LONG))})

    monkeypatch.setattr(f"stateward.pipelines.kit.{limit}", 0)

    assert code_of(path) == "HOSTILE_FILE"


def test_a_zip_with_a_password_is_locked(tmp_path: Path) -> None:
    path = written(tmp_path, {"word/document.xml": body(paragraph(LONG))})
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)

    assert code_of(path) == "ENCRYPTED"


def test_a_torn_file_is_corrupt(tmp_path: Path) -> None:
    path = written(tmp_path, {"word/document.xml": body(*[paragraph(LONG)] * 50)})
    path.write_bytes(path.read_bytes()[:200])

    assert code_of(path) == "CORRUPT_FILE"


def test_tables_nested_deeply_are_refused_or_read_but_never_crash(tmp_path: Path) -> None:
    cell = paragraph(LONG)
    for _ in range(120):
        cell = table((cell,))
    path = written(tmp_path, {"word/document.xml": body(cell)})

    assert code_of(path) == "CORRUPT_FILE"


HIDES = {
    "<w:vanish/>": "hidden",
    '<w:color w:val="FFFFFF"/>': "hidden",
    '<w:color w:val="FFFF00"/>': "hidden",
    '<w:color w:val="EAEAEA"/>': "hidden",
    '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="FFFFFF"/>': "hidden",
    '<w:sz w:val="2"/>': "hidden",
    "<w:strike/>": "struck",
}


def a_style(name: str, kind: str, looks: str, more: str = "") -> str:
    return f'<w:style w:type="{kind}" w:styleId="{name}">{more}<w:rPr>{looks}</w:rPr></w:style>'


def styled(text: str, *, run_style: str = "", paragraph_style: str = "", looks: str = "") -> str:
    below = f'<w:pPr><w:pStyle w:val="{paragraph_style}"/></w:pPr>' if paragraph_style else ""
    own = f'<w:rStyle w:val="{run_style}"/>' if run_style else ""
    return f"<w:p>{below}<w:r><w:rPr>{own}{looks}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


@pytest.mark.parametrize("where", ["run", "paragraph", "based", "default"])
@pytest.mark.parametrize("looks", HIDES)
def test_text_that_a_style_hides_or_strikes_is_kept_apart(
    tmp_path: Path, looks: str, where: str
) -> None:
    styles, line = {
        "run": (a_style("A", "character", looks), styled("2099", run_style="A")),
        "paragraph": (a_style("A", "paragraph", looks), styled("2099", paragraph_style="A")),
        "based": (
            a_style("A", "paragraph", looks)
            + a_style("B", "paragraph", "", '<w:basedOn w:val="A"/>'),
            styled("2099", paragraph_style="B"),
        ),
        "default": (
            a_style("A", "paragraph", looks).replace("<w:style ", '<w:style w:default="1" ')
            + a_style("B", "paragraph", '<w:vanish w:val="0"/><w:strike w:val="0"/>'
                      '<w:color w:val="auto"/><w:sz w:val="20"/>'),
            styled("2099"),
        ),
    }[where]  # fmt: skip
    text = styled(LONG, paragraph_style="B") if where == "default" else paragraph(LONG)
    parts = {
        "word/document.xml": body(text, line),
        "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
    }

    page = read_document(written(tmp_path, parts)).pages[0]

    assert page.text.strip() == LONG
    kept = {"hidden": page.unseen, "struck": page.struck}
    assert kept == {"hidden": "", "struck": ""} | {HIDES[looks]: "2099"}


@pytest.mark.parametrize(
    ("styles", "line"),
    [
        (
            a_style("A", "paragraph", '<w:color w:val="FFFFFF"/>', '<w:pPr><w:shd w:fill="004488"/></w:pPr>'),
            styled("95 EUR", paragraph_style="A"),
        ),
        (a_style("A", "character", "<w:strike/>"), styled("95 EUR", run_style="A", looks='<w:strike w:val="0"/>')),
        (
            a_style("A", "paragraph", '<w:color w:val="FFFFFF"/>')
            + a_style("B", "character", '<w:color w:val="333333"/>'),
            styled("95 EUR", paragraph_style="A", run_style="B"),
        ),
        (
            a_style("A", "character", '<w:color w:val="FFFFFF"/><w:highlight w:val="blue"/>'),
            styled("95 EUR", run_style="A"),
        ),
        ("", '<w:p><w:pPr><w:shd w:fill="004488"/></w:pPr><w:r><w:rPr><w:color w:val="FFFFFF"/></w:rPr>'
             "<w:t>95 EUR</w:t></w:r></w:p>"),
        (a_style("A", "character", '<w:sz w:val="14"/>'), styled("95 EUR", run_style="A")),
    ],
    ids=["ground", "not struck", "overruled", "highlighted", "on a band", "small"],
)  # fmt: skip
def test_text_that_a_style_only_seems_to_hide_is_read(
    tmp_path: Path, styles: str, line: str
) -> None:
    parts = {
        "word/document.xml": body(paragraph(LONG), line),
        "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
    }

    page = read_document(written(tmp_path, parts)).pages[0]

    assert (page.text, page.unseen, page.struck) == (f"{LONG}\n95 EUR", "", "")


WHITE_LETTERS = '<w:color w:val="FFFFFF"/>'
DARK, BARE, LIGHT = (
    f'<w:shd w:val="clear" w:fill="{fill}"/>' for fill in ("004488", "auto", "F2F2F2")
)


def a_table_style(parts: str, *, name: str = "T", more: str = "") -> str:
    return f'<w:style w:type="table" w:styleId="{name}">{more}{parts}</w:style>'


def a_part(kind: str, properties: str) -> str:
    return f'<w:tblStylePr w:type="{kind}">{properties}</w:tblStylePr>'


def on_cells(shading: str) -> str:
    return f"<w:tcPr>{shading}</w:tcPr>"


def a_table(
    text: str, cell: str = "", *, table: str = "", row: str = "", looks: str = WHITE_LETTERS
) -> str:
    """A table of two rows of two cells, with the text in the first."""
    other = f"<w:tc>{paragraph('Fee')}</w:tc>"
    first = f"<w:tc><w:tcPr>{cell}</w:tcPr>{styled(text, looks=looks)}</w:tc>"
    return f"<w:tbl><w:tblPr>{table}</w:tblPr><w:tr>{row}{first}{other}</w:tr><w:tr>{other}{other}</w:tr></w:tbl>"


STYLED = '<w:tblStyle w:val="T"/><w:tblLook w:val="{}"/>'.format
SEEN_IN_CELLS = {
    "cell": ("", a_table("95 EUR", DARK)),
    "solid": ("", a_table("95 EUR", '<w:shd w:val="solid" w:color="004488" w:fill="FFFFFF"/>')),
    "pattern": ("", a_table("95 EUR", '<w:shd w:val="pct50" w:color="000000" w:fill="FFFFFF"/>')),
    "theme": ("", a_table("95 EUR", '<w:shd w:val="clear" w:fill="auto" w:themeFill="accent1"/>')),
    "table": ("", a_table("95 EUR", table=DARK)),
    "row": ("", a_table("95 EUR", row=f"<w:tblPrEx>{DARK}</w:tblPrEx>")),
    "style": (a_table_style(on_cells(DARK)), a_table("95 EUR", table=STYLED("0000"))),
    "head": (a_table_style(a_part("firstRow", on_cells(DARK))), a_table("95 EUR", table=STYLED("0020"))),
    "head by name": (
        a_table_style(a_part("firstRow", on_cells(DARK))),
        a_table("95 EUR", table='<w:tblStyle w:val="T"/><w:tblLook w:firstRow="1"/>'),
    ),
    "corner": (
        a_table_style(a_part("firstRow", on_cells(LIGHT)) + a_part("nwCell", on_cells(DARK))),
        a_table("95 EUR", table=STYLED("00A0")),
    ),
    "band": (a_table_style(a_part("band1Horz", on_cells(DARK))), a_table("95 EUR", table=STYLED("0000"))),
    "based": (
        a_table_style(on_cells(DARK), name="S") + a_table_style("", more='<w:basedOn w:val="S"/>'),
        a_table("95 EUR", table=STYLED("0000")),
    ),
    "around": ("", a_table("x", DARK).replace("<w:p>", f"{a_table('95 EUR', BARE)}<w:p>", 1)),
    "letters of the head": (
        a_table_style(a_part("firstRow", f"<w:rPr>{WHITE_LETTERS}</w:rPr>{on_cells(DARK)}")),
        a_table("95 EUR", table=STYLED("0020"), looks=""),
    ),
    "automatic": ("", a_table("95 EUR", '<w:shd w:fill="000000"/>', looks='<w:color w:val="auto"/>')),
}  # fmt: skip
UNSEEN_IN_CELLS = {
    "bare": ("", a_table("95 EUR")),
    "automatic ground": ("", a_table("95 EUR", BARE)),
    "white": ("", a_table("95 EUR", '<w:shd w:val="clear" w:fill="FFFFFF"/>', table=DARK)),
    "light": ("", a_table("95 EUR", LIGHT)),
    "faint pattern": ("", a_table("95 EUR", '<w:shd w:val="pct5" w:color="auto" w:fill="FFFFFF"/>')),
    "light theme": ("", a_table("95 EUR", '<w:shd w:val="clear" w:themeFill="background1"/>')),
    "bare in a dark style": (a_table_style(on_cells(DARK)), a_table("95 EUR", BARE, table=STYLED("0000"))),
    "head is off": (a_table_style(a_part("firstRow", on_cells(DARK))), a_table("95 EUR", table=STYLED("0000"))),
    "other band": (a_table_style(a_part("band2Horz", on_cells(DARK))), a_table("95 EUR", table=STYLED("0000"))),
    "bands are off": (a_table_style(a_part("band1Horz", on_cells(DARK))), a_table("95 EUR", table=STYLED("0200"))),
    "around is white": ("", a_table("x", LIGHT, table=DARK).replace("<w:p>", f"{a_table('95 EUR')}<w:p>", 1)),
    "letters of a style": (
        a_table_style(f"<w:rPr>{WHITE_LETTERS}</w:rPr>"), a_table("95 EUR", table=STYLED("0000"), looks=""),
    ),
    "dark on dark": ("", a_table("95 EUR", DARK, looks='<w:color w:val="004488"/>')),
    "dark style on dark": (
        a_style("A", "character", '<w:color w:val="004488"/>'),
        a_table("95 EUR", DARK, looks='<w:rStyle w:val="A"/>'),
    ),
    "highlighted white": ("", a_table("95 EUR", DARK, looks=f'{WHITE_LETTERS}<w:highlight w:val="white"/>')),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN_IN_CELLS)
def test_light_letters_in_a_dark_cell_are_read(tmp_path: Path, case: str) -> None:
    page = read_document(written(tmp_path, in_cells(*SEEN_IN_CELLS[case]))).pages[0]

    assert "95 EUR" in page.text
    assert page.unseen == ""


@pytest.mark.parametrize("case", UNSEEN_IN_CELLS)
def test_letters_of_nearly_the_colour_of_their_cell_are_not_read(tmp_path: Path, case: str) -> None:
    page = read_document(written(tmp_path, in_cells(*UNSEEN_IN_CELLS[case]))).pages[0]

    assert "95 EUR" not in page.text
    assert page.unseen.strip().split("\n")[0] == "95 EUR"


def in_cells(styles: str, content: str) -> dict[str, str]:
    return {
        "word/document.xml": body(paragraph(LONG), content),
        "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
    }
