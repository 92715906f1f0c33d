"""Who wrote a page and when is what the page says of itself; and a page that was cut off is told."""

from pathlib import Path

import pytest

from stateward.pipelines.web import main_text
from stateward.pipelines.web.main_text import printed_date
from stateward.workers.sdk import Completed
from tests.pipelines.web.reading import LONG, read

HEAD = "<html><head><title>A page</title></head><body><h1>A page</h1>"


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("<p>19. August 2026, 5:00 Uhr | Von Birgit Nestmann, Freiberg | 2 Min.</p>", "Birgit Nestmann"),
        ("<div><span>14 May 2026</span> <span>By Ann Lee</span> <span>Reporter</span></div>", "Ann Lee"),
        ('<p class="byline">By Ann Lee | Published October 8, 2026 | <a href="#r">Jump to Recipe</a></p>', "Ann Lee"),
        ('<p><time datetime="2026-01-19">19 janvier</time> <span class="byline">par <span class="author vcard">'
         '<a class="url fn n" href="/a/">Solène Kerbrat</a></span></span></p>', "Solène Kerbrat"),
        ("<p>By Popular Demand</p>", ""),
        ("<p>Von Berlin nach Hamburg am 3. Mai 2026</p>", ""),
    ],
)  # fmt: skip
def test_a_name_beside_a_date_above_the_text_is_its_author(
    tmp_path: Path, line: str, author: str
) -> None:
    (page,) = read(tmp_path, f"{HEAD}{line}<p>{LONG}</p></body></html>".encode()).pages

    assert page.get("author", "") == author


@pytest.mark.parametrize(
    ("above", "below", "date"),
    [
        ("<p>3 May 2026</p>", "", "2026-05-03"),
        ("<p>Lamps</p>", "<h2>Reviews</h2><p><b>JT</b> 3 May 2026: Bright!</p>", ""),
        ("<p>Lamps</p>", "<p>This page was last edited on 3 May 2026.</p>", "2026-05-03"),
        ("<p>Lamps</p>", '<time datetime="2026-05-03">3 May</time>', "2026-05-03"),
        ("<p>Lamps</p>", "<p>JT, 3 May 2026: Bright!</p>" * 9000, ""),
        (
            "<p>Lamps</p>",
            "<p>JT, 3 May 2026: Bright!</p>" * 9000 + "<p>Last edited on 3 May 2026.</p>",
            "2026-05-03",
        ),
        (
            "<p>Lamps</p>",
            "<p>JT, 4 May 2026: Bright!</p>" * 9000 + "<p>JT, 3 May 2026: Dim!</p>",
            "",
        ),
    ],
    ids=lambda told: told[:40],
)
def test_a_day_below_the_text_is_that_of_the_page_only_if_a_line_says_so(
    above: str, below: str, date: str
) -> None:
    html = f"{HEAD}{above}<p>{LONG}</p>{below}</body></html>"

    assert printed_date("2026-05-03", html, main_text._lines_above(html, LONG)) == date


@pytest.mark.parametrize(
    ("end", "flags"),
    [
        ("<p>It was said that the sho", ["DAMAGED_FILE"]),
        ('<a href="https://exam', ["DAMAGED_FILE"]),
        ("<p>The end.</p>", []),
        ("<p>The end.</body></html>\n", []),
    ],
)
def test_a_page_that_ends_in_the_middle_is_flagged(
    tmp_path: Path, end: str, flags: list[str]
) -> None:
    found = read(tmp_path, f"{HEAD}<p>{LONG}</p>{end}".encode())

    assert isinstance(found.parsed, Completed)
    assert found.parsed.facts.get("flags", []) == flags


@pytest.mark.parametrize("day", ["12/01/2026", "1/12/26", "12.01.2026"])
def test_a_day_in_figures_of_a_review_is_not_that_of_the_page(day: str) -> None:
    html = f"<html><body><h1>A pot</h1><p>{LONG}</p><p>Ana G.: a fine pot. {day}</p></body></html>"

    assert printed_date("2026-01-12", html, main_text._lines_above(html, LONG)) == ""
    told = html.replace("Ana G.: a fine pot.", "Page updated")
    assert printed_date("2026-01-12", told, main_text._lines_above(told, LONG)) == "2026-01-12"


@pytest.mark.parametrize(
    ("signature", "author"),
    [
        ('<p class="s">Texte : Maëlle Guérin</p>', "Maëlle Guérin"),
        ("<div>Words: Ann Lee</div><div>Photos: Bo Ek</div>", "Ann Lee"),
        ("<p>Photos: Bo Ek</p>", ""),
        ("<p>Text: Ann Lee</p><p>Text: Bo Ek</p>", ""),
        ("<p>Text: Ann Lee is what the sign above the gate says to everyone who enters.</p>", ""),
    ],
)
def test_a_name_that_signs_below_the_text_is_its_author(
    tmp_path: Path, signature: str, author: str
) -> None:
    (page,) = read(tmp_path, f"{HEAD}<p>{LONG}</p>{signature}</body></html>".encode()).pages

    assert page.get("author", "") == author


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Communiqué - Ex SA", "A new works"), ("News", "A new works"), ("Old works - Ex SA", "Old works")],
)  # fmt: skip
def test_a_title_that_only_names_a_kind_of_page_gives_way_to_the_heading(
    tmp_path: Path, title: str, expected: str
) -> None:
    html = f"<html><head><title>{title}</title></head><body><h2>A new works</h2><p>{LONG}</p></body></html>"

    (page,) = read(tmp_path, html.encode()).pages

    assert page["title"] == expected
