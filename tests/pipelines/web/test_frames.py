"""Days that may be read in two ways, titles of sites, and what stands around every text of a sender."""

from pathlib import Path

import pytest

from tests.pipelines.web.reading import LONG, read

BYLINES = [
    ("posted 04/05/2026 by Walt Jessop", "Walt Jessop"),
    ("Published on 04/05/2026, 10:15 by Ann Lee", "Ann Lee"),
    ("Publicado el 04/05/2026 por Ana Ruiz", "Ana Ruiz"),
]


def a_page(line: str, *, lang: str = "", more: str = "") -> bytes:
    said = f' lang="{lang}"' if lang else ""
    body = f"<h1>A day at the works</h1><p>{line}</p><p>{LONG}</p><p>{LONG}</p>{more}"
    return f"<html{said}><head><title>A day at the works</title></head><body>{body}</body></html>".encode()


@pytest.mark.parametrize(
    ("lang", "more", "date"),
    [
        ("", "", ""),
        ("en", "", ""),
        ("en-GB", "", "2026-05-04"),
        ("en-US", "", "2026-04-05"),
        ("fr", "", "2026-05-04"),
        ("", '<meta property="og:locale" content="en_US">', "2026-04-05"),
        ("en", "<p>Updated 04/25/2026</p>", "2026-04-05"),
        ("en", "<p>Updated 25/04/2026</p>", "2026-05-04"),
    ],
)
def test_a_day_in_figures_has_the_order_that_the_page_shows(
    tmp_path: Path, lang: str, more: str, date: str
) -> None:
    found = read(tmp_path, a_page("posted 04/05/2026 by Walt Jessop", lang=lang, more=more))

    assert found.pages[0].get("date", "") == date
    assert ("AMBIGUOUS_DATE: 04/05/2026" in str(found.parsed.facts.get("notes"))) == (not date)


@pytest.mark.parametrize("line", ["Posted 4 May 2026", "Posted 25/04/2026", "Posted 05/05/2026"])
def test_a_day_that_can_be_read_in_one_way_only_is_the_date(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, a_page(line))

    assert found.pages[0]["date"] in ("2026-05-04", "2026-04-25", "2026-05-05")
    assert "AMBIGUOUS_DATE" not in str(found.parsed.facts.get("notes"))


@pytest.mark.parametrize(("line", "author"), BYLINES)
def test_a_name_behind_the_day_of_a_byline_is_the_author(
    tmp_path: Path, line: str, author: str
) -> None:
    (page,) = read(tmp_path, a_page(line)).pages

    assert page.get("author", "") == author


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("Pressestelle, Birgit Nestmann", "Birgit Nestmann"),
        ("Service de presse : Maëlle Guérin", "Maëlle Guérin"),  # codespell:ignore presse
        ("Press office - Ann Lee", "Ann Lee"),
        ("Pressestelle, Rathausplatz 1, 12345 Musterstadt", ""),
        ("Pressestelle", ""),
    ],
)
def test_a_name_behind_the_press_office_is_the_author(
    tmp_path: Path, line: str, author: str
) -> None:
    (page,) = read(tmp_path, a_page("Aktuelles", more=f"<p>{line}</p>")).pages

    assert page.get("author", "") == author


@pytest.mark.parametrize("byline", ["posted 4 May 2026 by Walt Jessop", "Published 4 May 2026"])
def test_the_heading_above_the_byline_is_the_title_and_not_that_of_the_site(
    tmp_path: Path, byline: str
) -> None:
    body = f"<h1>Points Railway Club</h1><a href='/'>Home</a><hr><h3>Open day!</h3><i>{byline}</i>"
    html = (
        f"<html><head><title>Club News</title></head><body>{body}<p>{LONG}<p>{LONG}</body></html>"
    )

    (page,) = read(tmp_path, html.encode()).pages

    assert page["title"] == "Open day!"


@pytest.mark.parametrize(
    ("kind", "about", "contact"),
    [
        ("Press release", "About Kuura Batteries", "Media contact"),
        ("Pressemitteilung", "Über Kuura Batteries", "Pressekontakt:"),
        ("Communiqué", "À propos de Kuura", "Contact presse"),  # codespell:ignore presse
    ],
)
def test_what_a_press_office_writes_below_every_release_is_no_text_of_it(
    tmp_path: Path, kind: str, about: str, contact: str
) -> None:
    title = "Kuura opens a second assembly line"
    body = (
        f"<div>{kind}</div><h1>{title}</h1><div>5 May 2026</div><p>{LONG}</p><p>{LONG}Again.</p>"
        f"<h4>{about}</h4><p>Kuura makes cells for storage of energy and was founded in 2017 in Espoo.</p>"
        f"<h4>{contact}</h4><p>press@kuura.example</p>"
    )
    html = f"<html><head><title>{title}</title></head><body><article>{body}</article></body></html>"

    (page,) = read(tmp_path, html.encode()).pages

    assert page["text"] == f"{LONG.strip()}\n{LONG}Again."


def test_a_heading_that_begins_with_about_stays_where_no_contact_follows(tmp_path: Path) -> None:
    more = "<h2>About the old bridge</h2><p>It was built in 1911 of oak, and last repaired in 1987.</p>"

    (page,) = read(tmp_path, a_page("Posted 4 May 2026", more=more)).pages

    assert "built in 1911" in page["text"]


@pytest.mark.parametrize(
    "anchor", ['<a class="hash-link" href="#how"></a>', '<a href="#how">¶</a>']
)
def test_a_heading_that_links_to_itself_stays_in_the_text(tmp_path: Path, anchor: str) -> None:
    more = f"<h2>How rotation works{anchor}</h2><p>{LONG}</p><p>{LONG}</p>"

    text = read(tmp_path, a_page("Posted 4 May 2026", more=more)).text()

    assert "How rotation works\n" in text
    assert "¶" not in text


def test_the_lead_in_the_header_of_an_article_is_its_first_paragraph(tmp_path: Path) -> None:
    lead = "The open-air pool of the town was to be closed, and then 412 people bought it together."
    header = (
        "<header><h1>A day at the works</h1>"
        f'<p class="lead">{lead}</p><p>By <a href="/a">Ann Lee</a>, who has written for this paper about many pools '
        "and works since 2019.</p><ul><li>Share</li></ul></header>"
    )
    body = f"<article>{header}<p>{LONG}</p><p>{LONG}</p></article>"

    text = read(tmp_path, f"<html><body>{body}</body></html>".encode()).text()

    assert text.startswith(f"{lead}\nThe committee met")
    assert "written for this paper" not in text
