"""Threads: what was written in them, and neither who wrote it, nor signatures, buttons and what was quoted again."""

from collections.abc import Callable

import pytest

from stateward.pipelines.web.captures import CapturedPage
from stateward.pipelines.web.main_text import PageText, read_page

QUESTION = "The pump of my greenhouse hums since the frost and gives no water. Is it broken, or can it be thawed?"
ANSWERS = (
    "Do not run it dry. Ice cracks the housing first, so take the lid off and look for a hairline around the inlet.",
    "Mine was only jammed by a pebble. Turn the shaft with a screwdriver, it has a slot behind the cap.",
    "It was the pebble!",
)
NAMES = ("reed_w", "Marrow", "old-dibber", "reed_w")


def read(body: str, *, attributes: str = "") -> PageText:
    html = (
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Pump hums - Plot Talk</title></head>'
        f"<body {attributes}><div><a>Log in</a> <a>Join</a></div>{body}"
        "<div>More threads: Slugs again, Which compost?</div></body></html>"
    )
    return read_page(CapturedPage(html=html.encode()))


def posts_beside_their_writers(texts: tuple[str, ...]) -> str:
    """One element for the writer, one for what was written, one for buttons."""
    return "<h1>Pump hums</h1>" + "".join(
        f'<li class="entry"><div class="poster"><strong>{name}</strong><br>Plot holder<br>Entries: {at}07</div>'
        f'<span class="when">3 Feb 2025, 1{at}:20</span><div class="words">{text}</div>'
        '<div class="sig">Dig once, weed for ever</div><div class="tools">Thank · Answer · Flag</div></li>'
        for at, (name, text) in enumerate(zip(NAMES, texts, strict=False))
    )


def posts_below_their_writers(texts: tuple[str, ...]) -> str:
    """The text and its signature in one element, two boxes deep."""
    return "<h1>Pump hums</h1>" + "".join(
        f'<section class="msg"><div class="head"><a class="username" href="/u">{name}</a> <time>3 Feb</time></div>'
        f'<div class="main"><div class="inner">{text}<div class="signature">Dig once, weed for ever</div></div></div>'
        "<div>Like (2) | Quote</div></section>"
        for name, text in zip(NAMES, texts, strict=False)
    )


def question_and_answers(texts: tuple[str, ...]) -> str:
    """The question and its answers are in different elements, what was written in them is in the same."""
    parts = [
        f'<div class="text-of-post"><p>{text}</p></div>'
        f'<div class="by"><span class="member">{name}</span> 3 Feb 2025</div>'
        for name, text in zip(NAMES, texts, strict=False)
    ]
    answers = "".join(
        f'<div class="reply"><b>{at}</b> votes {part}</div>' for at, part in enumerate(parts[1:])
    )
    return f'<h1>Pump hums</h1><div id="ask">{parts[0]}</div><div id="replies"><h2>Answers</h2>{answers}</div>'


@pytest.mark.parametrize(
    "shape", [posts_beside_their_writers, posts_below_their_writers, question_and_answers]
)
def test_the_text_of_a_thread_is_what_was_written_in_it(
    shape: Callable[[tuple[str, ...]], str],
) -> None:
    found = read(shape((QUESTION, *ANSWERS)))

    assert found.text.splitlines() == [QUESTION, *ANSWERS]
    assert found.author == "reed_w"


def test_a_quotation_of_an_earlier_post_is_left_out_and_any_other_is_kept() -> None:
    again = f"<blockquote>Marrow wrote: Do not run it dry.</blockquote>{ANSWERS[1]}"
    foreign = "<blockquote>The manual says: never below four degrees.</blockquote>So it is your own fault, I fear."

    lines = read(posts_beside_their_writers((QUESTION, ANSWERS[0], again, foreign))).text

    assert lines.count("Do not run it dry.") == 1
    assert ANSWERS[1] in lines
    assert "never below four degrees" in lines


def test_articles_that_are_announced_with_name_and_day_are_no_thread() -> None:
    cards = "".join(
        f'<div class="card"><h2>Story {at}</h2><div class="author">{name}</div><time>3 Feb</time>'
        f'<div class="teaser">{text}</div></div>'
        for at, (name, text) in enumerate(zip(NAMES, (QUESTION, *ANSWERS), strict=False))
    )

    assert "Story 2" in read(cards).text


def test_opinions_below_an_article_do_not_take_its_place() -> None:
    story = "".join(
        f"<p>{at}. The parish has bought a pump for the plots, which lifts forty litres a minute from the brook.</p>"
        for at in range(6)
    )

    found = read(f"<article>{story}</article>{posts_beside_their_writers((QUESTION, *ANSWERS))}")

    assert "5. The parish has bought" in found.text
    assert found.author != "reed_w"


@pytest.mark.parametrize("sign", ["¶", "#", "§"])
def test_the_sign_by_which_a_heading_links_to_itself_is_no_part_of_it(sign: str) -> None:
    heads = f"<h1>Pumps<a>{sign}</a></h1><p>{QUESTION}</p><h2>Frost<a class='self'>{sign}</a></h2>"
    body = f"<main>{heads}<p>{ANSWERS[0]}</p></main>"

    assert sign not in read(body).text


@pytest.mark.parametrize(
    "line",
    [
        "Last updated on 3 May 2025",
        "This page was last modified on May 3, 2025 by Ann Lee",
        "Zuletzt geändert am 3. Mai 2025",
        "Dernière mise à jour : 3 mai 2025",
        "Stand: 03.05.2025",
    ],
)
def test_the_day_of_the_last_change_below_a_text_is_no_part_of_it(line: str) -> None:
    body = f"<main><h1>Pumps</h1><p>{QUESTION}</p><p>{ANSWERS[0]}</p><p>{ANSWERS[1]}</p><p>{line}</p></main>"

    found = read(body)

    assert line not in found.text
    assert found.text.endswith(ANSWERS[1])


def test_a_sentence_that_begins_with_a_change_is_kept() -> None:
    line = "Updated pumps of 2025 hum less. They cost more."
    body = f"<main><h1>Pumps</h1><p>{QUESTION}</p><p>{ANSWERS[0]}</p><p>{line}</p></main>"

    assert line in read(body).text
