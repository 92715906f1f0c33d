"""The site around a text: its name in the title, who it says has published the page, its bars; and threads of posts."""

import pytest

from stateward.pipelines.web.captures import CapturedPage
from stateward.pipelines.web.main_text import PageText, read_page
from stateward.pipelines.web.page_frame import listed_author

TEXT = (
    "The footbridge at the weir will be closed to all users while the decking is replaced by the council. "
    "Walkers should use the road bridge six hundred metres upstream, where the diversion is signed in both directions."
)


def page(body: str, *, title: str, body_class: str = "") -> PageText:
    html = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f'<body class="{body_class}">{body}</body></html>'
    )
    return read_page(CapturedPage(html=html.encode()))


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        # The heading of the site stands above that of the text, and the title names both.
        ("Left channel buzzes - Amp Repair Board",
         "<h1>Amp Repair Board</h1><p>Solder first</p><h2>Left channel buzzes</h2>", "Left channel buzzes"),
        ("Amp Repair Board :: Left channel buzzes",
         "<h1>Amp Repair Board</h1><h2>Left channel buzzes</h2>", "Left channel buzzes"),
        # A section of the site is named in the title, too, and stands above the text.
        ("Left channel buzzes - Repairs", "<h3>Repairs</h3><h1>Left channel buzzes</h1>", "Left channel buzzes"),
        # The heading of the section is the first one, and the title does not name it.
        ("Left channel buzzes | Ann's board",
         "<h1>Hi, I'm Ann.</h1><h2>Left channel buzzes</h2>", "Left channel buzzes"),
        ("Left channel buzzes",
         "<h1>Amplifier Center</h1><div><h1>Left channel buzzes</h1></div>", "Left channel buzzes"),
        # Only the site and a word that says nothing.
        ("Valnord - Press release", "<h2>Valnord opens a workshop</h2>", "Valnord opens a workshop"),
    ],
)  # fmt: skip
def test_the_title_is_that_of_the_text_and_not_of_the_site(
    title: str, body: str, expected: str
) -> None:
    assert page(f"{body}<div><p>{TEXT}</p><p>{TEXT}</p></div>", title=title).title == expected


@pytest.mark.parametrize("label", ["From:", "Published by", "Herausgeber"])
def test_a_list_of_properties_says_who_published_a_page(label: str) -> None:
    body = (
        f"<main><h1>Closure of a crossing</h1><dl><dt>{label}</dt><dd><a>Environment Agency</a></dd>"
        f"<dt>Published</dt><dd>11 March 2025</dd></dl><p>{TEXT}</p><p>{TEXT}</p></main>"
    )

    assert page(body, title="Closure of a crossing").author == "Environment Agency"


def test_the_way_to_a_page_and_its_notice_of_cookies_are_no_text() -> None:
    body = (
        "<table><tr><td><h1>Closure of a crossing</h1><p>You are here: Home &gt; News &gt; Notices</p>"
        f"<p>{TEXT}</p><p>Objections are to be made in writing by the end of the month, it says. {TEXT}</p>"
        "<p>This site uses cookies to count its visitors. | Legal | Sitemap</p></td></tr></table>"
    )

    text = page(body, title="Closure of a crossing").text

    assert "Walkers should use" in text
    assert "You are here" not in text
    assert "cookies" not in text


def thread(body_class: str) -> str:
    posts = "".join(
        f'<div class="post"><p class="author">by <b>user{at}</b> » Sat Feb 1{at}, 2025 8:02 pm</p>'
        f'<div class="content">Answer number {at} is about the left channel, which hums.<br>{TEXT}</div></div>'
        for at in range(4)
    )
    return page(
        f"<h1>Amp Repair Board</h1><h2>Left channel buzzes</h2>{posts}<div>Who is online: 3 guests</div>",
        title="Left channel buzzes - Amp Repair Board",
        body_class=body_class,
    ).text


def test_all_posts_of_a_thread_are_its_text() -> None:
    text = thread("section-viewtopic")

    assert [f"Answer number {at}" in text for at in range(4)] == [True] * 4
    assert "guests" not in text


def test_the_moment_behind_the_name_of_a_post_is_no_part_of_the_name() -> None:
    byline = '<p class="author">by <strong>quadman</strong> » Sat Feb 15, 2025 8:02 pm</p>'
    body = f"<article>{byline}<p>{TEXT}</p></article>"

    assert "Feb" not in page(body, title="Left channel buzzes").author


def test_blanks_behind_a_label_of_a_list_are_read_once() -> None:
    """A million of them, which would be tried in pairs for hours."""
    assert listed_author(f"<dt>From{' ' * 1_000_000}<dd>nobody</dd>") == ""
    assert listed_author("<dt>From :\n</dt> <dd>Harbour Trust</dd>") == "Harbour Trust"


REPLIES = "".join(
    f"<div class='post'><p>Reply {at} says that the bridge is good.</p></div>" for at in range(6)
)


def test_cards_beside_an_article_about_a_topic_do_not_take_its_place() -> None:
    parts = "".join(f"<div class='post'><p>Part {at}. {TEXT}</p></div>" for at in range(4))

    found = page(
        f"<article>{parts}</article><aside>{REPLIES}</aside>", title="X", body_class="topic"
    )

    assert "Part 3." in found.text
    assert "Reply" not in found.text


def test_posts_do_not_replace_a_text_that_has_more_than_they() -> None:
    body = f"<article><div class='post'><p>{TEXT}</p></div><p>At the end: {TEXT}</p></article>{REPLIES}"

    assert "At the end:" in page(body, title="X", body_class="forum").text


def test_posts_below_elements_in_one_another_are_looked_for_once() -> None:
    """Two hundred of one kind, which were all compared with thousands of posts."""
    nested = f"{'<div class=post>' * 200}<p>{TEXT}</p>{'</div>' * 200}"

    assert TEXT in page(nested + REPLIES * 800, title="X", body_class="forum").text


@pytest.mark.parametrize(
    "inside",
    [
        '<i class="icon"></i>',
        '<span id="note-4"></span>',
        '<span class="formula"><img src="f.png" alt="E"></span>',
        "<b><script>count()</script></b>",
        "<time>4 May</time>",
    ],
)
def test_a_sentence_goes_on_behind_an_element_that_holds_no_words(inside: str) -> None:
    body = (
        f"<article><h1>Closure</h1><p>{TEXT}</p><p>The weir of {inside} was measured by two engineers.</p>"
        f"<p>{TEXT}</p></article>"
    )

    assert "was measured by two engineers." in page(body, title="Closure").text


def test_the_words_of_a_day_within_a_sentence_are_kept() -> None:
    body = f"<p>{TEXT}</p><p>From <time>4 May 2026</time> on the bridge is open. {TEXT}</p>"
    body = f"<article><h1>Closure</h1>{body}</article>"

    assert "From 4 May 2026 on the bridge is open." in page(body, title="Closure").text


def test_a_box_that_holds_only_sentences_is_a_paragraph_among_others() -> None:
    other = "Objections are to be made in writing by the end of the month, and the council answers each by post."
    body = f"<article><h1>Closure</h1><p>{TEXT}</p><h2>Objections</h2><div>{other} It is free.</div></article>"

    assert f"{other} It is free." in page(body, title="Closure").text


def test_where_boxes_hold_the_text_the_short_ones_are_kept_too() -> None:
    lines = f"<div>{TEXT}</div><div>They both took one.</div>" * 4
    body = f"<article><h1>Closure</h1>{lines}<p>Votes: 3.</p></article>"

    assert "They both took one." in page(body, title="Closure").text
