"""What a page says of its author and title in other places is compared with what was taken."""

import json

import pytest

from stateward.pipelines.web.captures import CapturedPage
from stateward.pipelines.web.main_text import read_page
from stateward.pipelines.web.rivals import doubts_of

MARKED = '<p class="article-byline">By <b>Jana Metzinger</b></p>'
LINKED = (
    '<script type="application/ld+json">'
    + json.dumps({"@graph": [{"author": [{"@type": "Person", "name": "Jana Metzinger"}]}]})
    + "</script>"
)
META = '<meta name="author" content="Jana Metzinger">'


@pytest.mark.parametrize("html", [MARKED, LINKED, META])
def test_an_author_whom_the_page_does_not_name_is_doubted(html: str) -> None:
    assert doubts_of(html, title="", author="Jana Metzinger") == []
    assert [code for code, _ in doubts_of(html, title="", author="Peter Zwei")] == [
        "AUTHOR_DOUBTED"
    ]
    assert [code for code, _ in doubts_of(html, title="", author="")] == ["AUTHOR_DOUBTED"]


@pytest.mark.parametrize(
    "html",
    [
        '<p class="author">Share this article with all of your friends today</p>',
        '<span class="author">Editor</span>',
        '<script type="application/ld+json">{"author": {"name": broken</script>',
        "<p>By Jana Metzinger</p>",
    ],
)
def test_what_is_no_name_of_an_author_is_no_rival(html: str) -> None:
    assert doubts_of(html, title="", author="") == []


def test_one_of_several_authors_is_enough() -> None:
    assert doubts_of(MARKED + '<a rel="author">Peter Zwei</a>', title="", author="Peter Zwei") == []


@pytest.mark.parametrize(
    "html",
    [
        "<h1>The bridge stays closed</h1>",
        '<meta property="og:title" content="The bridge stays closed">',
    ],
)
def test_a_title_that_shares_no_word_with_what_the_page_calls_itself_is_doubted(html: str) -> None:
    told = doubts_of(html, title="Daily Gazette", author="")

    assert [code for code, _ in told] == ["TITLE_DOUBTED"]
    assert doubts_of(html, title="Bridge closed until Easter", author="") == []


def test_a_page_tells_its_doubts() -> None:
    text = "<p>" + "The bridge between the towns stays closed for cars and lorries. " * 5 + "</p>"
    html = (
        f"<html><head>{META}<title>Bridge</title></head><body><h1>Bridge</h1>{text}</body></html>"
    )

    page = read_page(CapturedPage(html=html.encode()))

    assert page.author == "Jana Metzinger"
    assert page.doubts == ()


def test_blocks_of_data_that_never_end_are_each_looked_at_once() -> None:
    """A page of such openings alone took time that grew with the square of its length."""
    opened = '<script type="application/ld+json">{}'
    html = LINKED + opened * 50_000

    assert [code for code, _ in doubts_of(html, title="", author="Peter Zwei")] == [
        "AUTHOR_DOUBTED"
    ]
