"""Words of pages that print no blanks, as browsers print them: pdfium guesses the blanks, and often wrong."""

from pathlib import Path

from stateward.pipelines.kit.pdf.text import read_pdf

WIDTH, SIZE = 600, 10.0  # of every glyph in thousandths of the size, and the size in points
SENTENCES = (
    "Ihr Vertrag beginnt mit der Bereitstellung und endet mit dem Ablauf der Laufzeit",
    "Tarif und Taktung stehen im Teil zwei Ihrer Unterlagen und gelten ab dem ersten Tag",
)


def a_printed_pdf(
    path: Path, lines: tuple[str, ...], *, blank: float, off: dict[str, float]
) -> Path:
    """A page on which each glyph has its place and blanks are left out; `off` moves what follows a letter."""
    shown: list[str] = []
    for at, line in enumerate(lines):
        x = 40.0
        for letter in line:
            if letter == " ":
                x += blank
                continue
            shown.append(f"BT /F1 {SIZE} Tf {x:.2f} {740 - 20 * at} Td ({letter}) Tj ET")
            x += WIDTH * SIZE / 1000 + off.get(letter, 0.0)
    widths = " ".join([str(WIDTH)] * 224)
    font = (
        "<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 255"
        f"/Widths[{widths}]>>"
    )
    content = "\n".join(shown)
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        font,
    ]
    body = "%PDF-1.4\n"
    for number, each in enumerate(objects, 1):
        body += f"{number} 0 obj\n{each}\nendobj\n"
    path.write_bytes(f"{body}trailer <</Root 1 0 R>>\n%%EOF".encode("cp1252"))
    return path


def text_of(path: Path) -> str:
    return read_pdf(path, password=None, pages_max=1, chars_max=10_000)[0].text


def test_narrow_blanks_part_words_where_every_gap_in_a_word_is_narrower(tmp_path: Path) -> None:
    off = {"e": 0.2, "t": -0.2, "i": 0.15, "n": -0.15, "r": 0.2, "a": -0.2, "d": 0.15, "m": 0.2}

    path = a_printed_pdf(tmp_path / "a.pdf", SENTENCES, blank=1.2, off=off)

    assert text_of(path) == "\n".join(SENTENCES)


def test_a_letter_that_stands_off_from_what_follows_ends_no_word(tmp_path: Path) -> None:
    off = {"T": 1.5, "e": 1.4, "r": -0.3}

    path = a_printed_pdf(tmp_path / "a.pdf", SENTENCES, blank=2.8, off=off)

    assert text_of(path) == "\n".join(SENTENCES)


def test_a_letter_with_which_words_only_end_ends_them(tmp_path: Path) -> None:
    lines = tuple(line.replace("d", "x").replace("mit", "miy") for line in SENTENCES)

    path = a_printed_pdf(tmp_path / "a.pdf", lines, blank=1.6, off={"t": 0.3})

    assert text_of(path) == "\n".join(lines)


def test_cells_that_stand_apart_stay_apart(tmp_path: Path) -> None:
    lines = ("Abschlag 96,00", *SENTENCES)

    path = a_printed_pdf(tmp_path / "a.pdf", lines, blank=14.0, off={})

    assert text_of(path).split("\n")[0] == "Abschlag\t96,00"
