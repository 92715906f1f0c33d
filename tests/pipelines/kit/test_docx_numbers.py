"""The numbers of automatic lists, counted as Word counts them."""

import zipfile
from pathlib import Path

from stateward.pipelines.kit.docx import read_docx

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
LEVELS = """
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl>
<w:lvl w:ilvl="3"><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="(%4)"/></w:lvl>
"""
NUMBERING = f"""<w:numbering {W}>
<w:abstractNum w:abstractNumId="0">{LEVELS}</w:abstractNum>
<w:abstractNum w:abstractNumId="1">
<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2">
<w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="Article %1"/></w:lvl>
<w:lvl w:ilvl="1"><w:isLgl/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="0"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
</w:numbering>"""
STYLES = f"""<w:styles {W}>
<w:style w:styleId="H1"><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="H2"><w:basedOn w:val="H1"/><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>
</w:styles>"""


def read(tmp_path: Path, body: str, *, is_numbered: bool = True) -> list[str]:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>"
        )
        archive.writestr("word/numbering.xml", NUMBERING)
        archive.writestr("word/styles.xml", STYLES)
    return read_docx(path, is_numbered=is_numbered).split("\n")


def listed(text: str, *, number: int, level: int = 0) -> str:
    place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{place}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def styled(text: str, style: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def test_levels_are_counted_and_start_again_below_the_next_number(tmp_path: Path) -> None:
    levels = [0, 1, 1, 2, 2, 3, 3, 1, 0, 1, 2]
    body = "".join(listed("x", number=1, level=level) for level in levels)

    assert read(tmp_path, body) == [
        "1. x", "1.1 x", "1.2 x", "(a) x", "(b) x", "(i) x", "(ii) x", "1.3 x", "2. x", "2.1 x", "(a) x",
    ]  # fmt: skip


def test_styles_name_lists_and_are_based_on_each_other(tmp_path: Path) -> None:
    body = styled("Term", "H1") + styled("Start", "H2") + styled("End", "H2") + styled("Law", "H1")

    assert read(tmp_path, body) == ["Article I Term", "1.1 Start", "1.2 End", "Article II Law"]


def test_bullets_plain_paragraphs_and_circles_have_no_number(tmp_path: Path) -> None:
    body = listed("dot", number=2) + styled("loop", "Loop") + listed("gone", number=99)

    assert read(tmp_path, body) == ["dot", "loop", "gone"]


def test_a_list_may_start_elsewhere(tmp_path: Path) -> None:
    body = listed("x", number=4) + listed("y", number=4) + listed("z", number=1)

    assert read(tmp_path, body) == ["5. x", "6. y", "1. z"]


def test_a_paragraph_that_a_tracked_change_deletes_is_not_counted(tmp_path: Path) -> None:
    place = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr><w:rPr><w:del/></w:rPr>'
    deleted = (
        f"<w:p><w:pPr>{place}</w:pPr><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
    )

    lines = read(tmp_path, listed("x", number=1) + deleted + listed("y", number=1))

    assert [line for line in lines if line] == ["1. x", "2. y"]


def test_without_asking_the_text_is_as_it_was(tmp_path: Path) -> None:
    assert read(tmp_path, listed("x", number=1), is_numbered=False) == ["x"]
