"""The main text of a page, without menus, notices and comments; and who wrote it, when, in which language.

trafilatura finds it. What it gives depends on the page alone: not on the day on which it is read, nor on pages before.
"""

import re
from collections import Counter
from collections.abc import Sequence
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import clean_text
from stateward.pipelines.kit.dates import MONTH_TABLE, month_names
from stateward.pipelines.kit.failures import NO_TEXT
from stateward.pipelines.kit.files import is_binary
from stateward.pipelines.web.captures import INVALID_HTML, CapturedPage, decode_page
from stateward.pipelines.web.page_frame import (
    GENERIC_TITLE,
    heading_of_title,
    listed_author,
    without_bars,
)
from stateward.pipelines.web.posts import thread_of, with_all_posts
from stateward.pipelines.web.rivals import doubts_of
from stateward.pipelines.web.shown_page import as_shown, paragraph_text

if TYPE_CHECKING:
    from lxml.etree import _Element

TEXT_CHARS_MAX = 1_000_000
META_CHARS_MAX = 500
# libxml2 drops what is deeper than 256 levels, and real pages stay below 40: a refusal says more than half a text.
DEPTH_MAX = 250
TAGS_MIN = 1
# A main text that is shorter may be a notice: the whole text of the page is then taken.
MAIN_CHARS_MIN = 80
# A main text that is so many times shorter than the paragraphs of its page is looked for once more, less strictly.
LOST_FACTOR = 3
PRECISION, RECALL = "precision", "recall"
# How much more the element that a page marks as its article must have for it to be taken instead.
ARTICLE_FACTOR, ARTICLE_CHARS_MIN = 2, 1500
_BESIDE = (
    "nav", "aside", "footer", "header", "form", "button", "figure", "script", "style", "noscript", "template",
)  # fmt: skip
_BLOCKS = ("p", "blockquote", "h2", "h3", "li")
# A day after every page: the library would otherwise take today, and give another date tomorrow.
LAST_DAY = "2099-12-31"
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})")
# Elements that stand alone, or end where the next one begins: they do not nest.
_FLAT = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot", "path", "use", "rect", "circle",
})  # fmt: skip
# Attributes of such a length hold no text (they are data), and parsers take the square of their number in time.
_LONG_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,20})\s[^<>]{20000,}>?")
# Many elements that open and hold nothing: parsers close each of them by looking at all before it.
_EMPTY_TAGS = re.compile(r"(?:<(p|li|br|td|tr|dd|dt|option)>\s*){20,}", re.IGNORECASE)
_HIDDEN = re.compile(r"<(script|style|!--)", re.IGNORECASE)
_LANGUAGE = re.compile(r"<html[^>]{0,500}?\blang\s*=\s*[\"']?([a-zA-Z]{2})", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]+")
_MARKUP = re.compile(r"<[^<>]{0,500}>|&nbsp;|&#160;")
_MONTHS = month_names(*(line[:2] for line in MONTH_TABLE.split("\n")))
# Who wrote a page and when, where only a line above its text says so: `Publicado por Ana Ruiz el 27 de mayo de 2023`.
_LINE_START = r"(?:^|[|·•\u2013\u2014]\s)"
_NAME_WORD = r"[A-ZÀ-ÖØ-Þ][\w.'\u2019-]{0,40}"
# A part of a byline that says when or what: `Published October 8`, `312 ratings`, `Jump to Recipe`.
_NO_NAME = re.compile(
    r"\d|^(?:(?:last )?(?:published|posted|updated|modified)|publi[ée]\w*|veröffentlicht|aktualisiert|stand|"
    r"actualizado|pubblicato|aggiornato|gepubliceerd|jump|print|share|comments?|ratings?|reviews?)\b",
    re.IGNORECASE,
)
_PART_OF_LINE = re.compile(r"\s[»\u203a|·•\u2013\u2014]\s")
_NAMED_BY = re.compile(r"^(?:(?:written )?by|par|por|przez)\s+(?=\S)", re.IGNORECASE)
_WRITTEN_BY = re.compile(
    rf"{_LINE_START}(?i:(?:posted|written) by|publicado por|escrito por|publi[ée] par|[ée]crit par|veröffentlicht von"
    r"|geschrieben von|pubblicato da|scritto da)\s*:?\s+"
    rf"({_NAME_WORD}(?:\s(?:(?:de|van|von|der|den|la|del|di|da)\s)?{_NAME_WORD}){{1,3}})"
    # Only a date or another part of the line may follow: a sentence goes on.
    r"(?=\s?(?:$|[,;|·•\u2013\u2014(\d]|(?:on|at|el|am|le|il)\s))"
)
_PUBLISHED = re.compile(
    rf"{_LINE_START}(?:posted|published|publicado|publicada|publi[ée]e?|veröffentlicht|erschienen|pubblicato|gepubliceerd|geplaatst)\b",
    re.IGNORECASE,
)
# A line that has a date, too, needs only one word: `19. August 2026 | Von Birgit Nestmann, Freiberg`.
_BY = re.compile(
    rf"{_LINE_START}(?i:by|von|par|por|di|av|af)\s"
    rf"({_NAME_WORD}(?:\s(?:(?:de|van|von|der|den|la|del|di|da)\s)?{_NAME_WORD}){{1,3}})"
    r"(?=\s?(?:$|[,;|·•\u2013\u2014(\d]))"
)
# A line of its own: `Texte : Maëlle Guérin`, `Words: Ann Lee`. Who made the pictures is no author.
_SIGNED = re.compile(
    r"(?i:(?:pressestelle|pressereferat|pressesprecher(?:in)?|press office"
    r"|service (?:de )?presse|bureau de presse"  # codespell:ignore presse
    r"|gabinete de prensa|oficina de prensa|ufficio stampa|persdienst|redaktion|redazione)\s?[,:|\u2013-]"
    r"|(?:text[eo]?|testo|tekst|words|story|written by"  # codespell:ignore tekst
    r"|autor(?:in)?|auteure?|autora|autore|author)\s?:)\s?"  # codespell:ignore autor
    rf"({_NAME_WORD}(?:\s(?:(?:de|van|von|der|den|la|del|di|da)\s)?{_NAME_WORD}){{1,3}})\.?"
)
_HEADING = re.compile(r"<h([123])\b[^<>]{0,500}>(.{1,600}?)</h\1\s*>", re.IGNORECASE | re.DOTALL)
_WRITTEN_THEN = re.compile(
    rf"{_PUBLISHED.pattern}|\b(?:updated|modified|edited|revised|reviewed on|created|written|date[d:]|by|"
    r"aktualisiert|geändert|bearbeitet|erstellt|stand|datum|von|mise? à jour|modifi[ée]|rédigé|par|actualizado|editado|"
    r"escrito|fecha|por|aggiornato|modificato|scritto|bijgewerkt|gewijzigd|atualizado|uppdaterad|opdateret)\b|更新|发布|公開|投稿",
    re.IGNORECASE,
)
# As the attribute of the page, or as what it tells to social networks.
_LOCALE = re.compile(
    r"(?:<html\b[^>]{0,500}?\blang\s*=|\bog:locale[\"']?\s+content\s*=|http-equiv=[\"']?content-language[\"']?\s+content\s*=)"
    r"\s*[\"']?([a-zA-Z]{2})(?:[-_]([a-zA-Z]{2}))?\b",
    re.IGNORECASE,
)
MONTH_FIRST = frozenset({"US", "PH"})
_IN_FIGURES = re.compile(r"(?<![\d./-])(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d{2})(?![\d./-])")
# The word for writing, a date, and the name: `posted 25/04/2026 by Ann Lee`.
_WRITTEN_THEN_BY = re.compile(
    r"(?i:posted|published|written|publicado|publicada|publi[ée]|veröffentlicht|geschrieben|pubblicato|geplaatst|gepubliceerd)"
    r"\b(?=[^|]{0,40}\d)[\s\w.,:/-]{1,40}?\s(?:by|von|par|por|da|di)\s"
    rf"({_NAME_WORD}(?:\s(?:(?:de|van|von|der|den|la|del|di|da)\s)?{_NAME_WORD}){{1,3}})(?=\s?(?:$|[,;|·•\u2013\u2014(]))"
)
# What stands around the text of a press release and is the same in all of them.
_ABOUT = re.compile(
    r"(?:about|über|ueber|à propos d[eu']|acerca de|sobre|informazioni su|over|om)\s\S.{0,80}[^.!?:,;]",
    re.IGNORECASE,
)
_CONTACT = re.compile(
    r"(?:(?:media|press|presse|investor)[- ]?"  # codespell:ignore presse
    r"(?:relations )?(?:contacts?|kontakt|enquiries|inquiries)"
    r"|contacts? (?:presse|média|médias|de prensa|per la stampa|stampa)"  # codespell:ignore presse
    r"|pressekontakt|ansprechpartner(?:in)?(?: für (?:die )?(?:presse|medien))?"  # codespell:ignore presse
    r"|medienkontakt|perscontact|notes? to editors?|contacto de prensa)\s?:?",
    re.IGNORECASE,
)
TAIL_LINES_MAX, BODY_LINES_MIN = 6, 2
HEAD_LINES_MAX, BYLINE_GAP_MAX = 4, 2
_PAGE_START = re.compile(r"<(?:html|body)\b", re.IGNORECASE)
_PAGE_END = re.compile(r"</(?:html|body)\s{0,9}>", re.IGNORECASE)
_NEXT_SPAN = re.compile(r"</span>\s?<span\b[^<>]{0,500}>", re.IGNORECASE)
DATED_CHARS_MAX = 2000  # of a line in which a day is looked for
BYLINE_CHARS_MAX = 120
BYLINES_MAX = 60  # lines that are looked at, the nearest above the text
TEXT_START_CHARS = 60  # by which the start of the main text is found in the page
_LINE_ENDS = re.compile(
    r"</?(?:p|div|h[1-6]|ul|ol|li|dl|dt|dd|table|tr|td|th|section|article|header|footer|aside|nav|main|address"
    r"|blockquote|figure|figcaption|br|hr)\b[^<>]{0,500}>",
    re.IGNORECASE,
)
# The commonest words of each language, none of which another of them has.
_COMMON = {
    "en": "the and of to that was for with from this have are which been by",
    "de": "der die und das ist nicht mit von dem den ein eine wird auch für",  # codespell:ignore ist
    "fr": "le les des et est dans que pour une sur pas avec au du aux",
    "es": "el los las y que del por con una para es como más pero fue",
}
LANGUAGES = tuple(_COMMON)


class PageText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a page, in which every fact has its place, and what the page says about itself."""

    text: str
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    url: str = ""
    is_cut: bool = False  # the file ends in the middle of a text or a tag
    is_main: bool = True  # False: no main text was found, and this is all text of the page
    doubts: tuple[tuple[str, str], ...] = ()  # code and sentence, of title and author
    doubted_date: str = ""  # as it is printed, where nothing tells which number is the month


def read_page(page: CapturedPage) -> PageText:
    """The main text of a page, or a refusal."""
    html = _XML_DECLARATION.sub("", decode_page(page)).replace("\x00", "")
    html = _EMPTY_TAGS.sub(r"<\1>", _LONG_TAG.sub(r"<\1>", html))
    _check_structure(html)
    found = _extract(as_shown(html), page.url)
    text, is_main = found.get("text", ""), True
    if len(text) < MAIN_CHARS_MIN:
        whole = _whole_text(html)
        if not whole.strip():
            text = ""  # what was found is shown only where scripts do not run
        elif len(whole) > len(text):
            text, is_main = whole, False
    thread = thread_of(text, html) if is_main else None
    if thread is not None:
        text = thread.text
    elif is_main:
        text = with_all_posts(text, html)
    text = _tidy(text)
    if not text:
        raise FatalFailure(
            "the page has no text; it may be filled by a script: save it from a browser",
            code=NO_TEXT,
        )
    said = _LANGUAGE.search(html)
    above = _lines_above(html, text)
    title = _title(_line(found.get("title", "")), html, above)
    date, doubted_date = settled_date(printed_date(found.get("date", ""), html, above), html)
    author = (
        (thread.author if thread else "")
        or _names(found.get("author", ""))
        or _byline_author(above)
        or _signature(html)
        or listed_author(html)
    )
    return PageText(
        text=_without_frame(text, title),
        title=title,
        author=author,
        doubts=tuple(doubts_of(html, title=title, author=author)),
        date=date,
        doubted_date=doubted_date,
        site=_line(found.get("sitename", "")),
        language=language_of(text, said[1].lower() if said else ""),
        url=page.url or found.get("url", ""),
        is_main=is_main,
        is_cut=_is_cut(html),
    )


def _is_cut(html: str) -> bool:
    """Whether a page ends inside of its head or body: a browser closes them, a torn download does not."""
    if html.rstrip().endswith(">") or _PAGE_END.search(html):
        return False
    return _PAGE_START.search(html) is not None


def printed_date(date: str, html: str, above: Sequence[str] = ()) -> str:
    """The date of a page; none where the library made the first day of a month or year that stands alone.

    An address such as `/2023/11/` names a month, and a line above the text may print the day. Below the text a
    line must say that the page was written or changed then: that of a review or a comment does not.
    """
    year, month, day = (*date.split("-"), "", "")[:3]
    if day != "01":
        return date if _is_of_page(date, html, above) else ""
    # With the markup, which may hold the date, and without it: `1<sup>er</sup> janvier`.
    texts = (html, _MARKUP.sub(" ", html))
    pattern = re.compile("|".join(_first_days(year, int(month))), re.IGNORECASE)
    return date if any(map(pattern.search, texts)) else _byline_date(above, f"{year}-{month}")


def settled_date(date: str, html: str) -> tuple[str, str]:
    """A date whose day and month may be the other way round, by the order that the page shows; and what is in doubt.

    `04/05/2026` is told by another date of the page with a number above 12, by its country or by its language. Where
    only English stands there, either is possible, and there is no date.
    """
    year, month, day = (*date.split("-"), "", "")[:3]
    if not day or day == month or int(day) > 12 or date in html:
        return date, ""
    first, second = rf"0?{int(day)}", rf"0?{int(month)}"
    short = f"(?:{year}|{year[2:]}(?!\\d))"
    either = re.compile(
        rf"(?<![\d./-])(?:{first}([/-]){second}\1|{second}([/-]){first}\2){short}(?![\d./-])"
    )
    lines = [line[:DATED_CHARS_MAX] for line in _shown_lines(html)]
    told = next((found[0] for line in lines if (found := either.search(line))), "")
    slashed = date.replace("-", "/")
    if not told or slashed in html or date.replace("-", "") in html or _is_worded(date, lines):
        return date, ""
    order = _order_of(lines, told) or _order_of_place(html)
    if not order:
        return "", told
    one, two = map(int, re.findall(r"\d+", told)[:2])
    number, of = (one, two) if order == "dmy" else (two, one)
    return f"{year}-{of:02}-{number:02}", ""


def _is_worded(date: str, lines: Sequence[str]) -> bool:
    """Whether a line prints this day with its month in words."""
    from stateward.pipelines.web.facts import page_dates

    names = re.compile("|".join(map(re.escape, _MONTHS)), re.IGNORECASE)
    return any(names.search(line) and date in page_dates(line) for line in lines)


def _order_of(lines: Sequence[str], told: str) -> str:
    """The order of other dates in figures, where one number of them can be no month; "" for none, or for both."""
    orders = {
        "dmy" if int(found[1]) > 12 else "mdy"
        for line in lines
        for found in _IN_FIGURES.finditer(line)
        if found[0] != told and (int(found[1]) > 12) != (int(found[2]) > 12)
    }
    return orders.pop() if len(orders) == 1 else ""


def _order_of_place(html: str) -> str:
    """The order of a country or language that the page names; "" where it only says that it is English."""
    found = _LOCALE.search(html)
    language, region = (found[1].lower(), (found[2] or "").upper()) if found else ("", "")
    if region:
        return "mdy" if region in MONTH_FIRST and language in ("en", "es") else "dmy"
    return "dmy" if language not in ("", "en") else ""


def _first_days(year: str, month: int) -> tuple[str, ...]:
    """How the first day of a month is printed; some languages decline its name: `tammikuuta`."""
    names = "|".join(re.escape(name) for name, number in _MONTHS.items() if number == month)
    named = rf"(?<![^\W\d])(?:{names})[^\W\d]{{0,2}}"
    number = f"0?{month}"
    one = r"(?<!\d)0?1(?!\d)"
    first = rf"{one}\W{{0,2}}(?:st|er|º|ª|°)?"
    of = r"(?:\W{1,3}(?:de|del|of))?\W{1,3}"
    short = f"(?:{year}|{year[2:]}(?!\\d))"
    time = r"\d\d?:\d\d(?::\d\d)?\s(?:[A-Z]{1,5}\s)?"
    # In a script of which no names of months are known: the library has read it, and Thailand counts other years.
    foreign = r"(?![\u0370-\u052f])[^\x00-\u024f][^\s\d<>]{1,20}"
    return (
        rf"(?<!\d){year}(?:([-./ ]){number}\1|\s?[年년]\s?{number}\s?[月월]\s?)0?1(?!\d)",
        rf"(?<!\d){year}{month:02}01",
        rf"{one}\s?([-./])\s?{number}\s?\2\s?{short}",
        rf"(?<!\d){number}\s?([-./])\s?0?1\s?\3\s?{short}",
        rf"{first}{of}{named}{of}{year}",
        rf"{named}\W{{1,3}}{first}\W{{1,3}}(?:{time})?{year}",
        rf"{one}\s{foreign}\s(?:{year}|{int(year) + 543})",
        rf"{one}\stháng\s{number},?\s(?:năm\s)?{year}",
        rf"{year}\W{{1,3}}{named}\W{{1,3}}{one}",
    )


def _is_of_page(date: str, html: str, above: Sequence[str]) -> bool:
    """Whether a day is told by markup, by a line above the text, or by one that says what happened to the page then."""
    from stateward.pipelines.web.facts import page_dates

    if date in html or date.replace("-", "/") in html or date.replace("-", "") in html or not above:
        return True
    if any(date in page_dates(line) for line in above):
        return True
    # To find the days of a line takes long, and a page may have thousands of comments: few lines are asked.
    year, month, day_number = map(int, date.split("-"))
    day = re.compile(rf"(?<!\d)0?{day_number}(?!\d)")
    # In figures either may come first: which one, the page need not tell.
    figures = re.compile(
        rf"(?<!\d)(?:0?{day_number}([./-])0?{month}\1|0?{month}([./-])0?{day_number}\2)(?:{year}|{year % 100:02})(?!\d)"
    )
    lines = [line for line in _shown_lines(html) if day.search(line[:DATED_CHARS_MAX])]
    lines.sort(key=lambda line: not _WRITTEN_THEN.search(line))
    dated = (line[:DATED_CHARS_MAX] for line in lines)
    told = next((line for line in dated if figures.search(line) or date in page_dates(line)), "")
    return not told or bool(_WRITTEN_THEN.search(told))


def _shown_lines(html: str) -> list[str]:
    """The lines of a page as a browser shows them, with a bar between elements that follow each other in a line."""
    shown = " ".join(_without_hidden(html).split())
    shown = _LINE_ENDS.sub("\n", _NEXT_SPAN.sub(" | ", shown))
    return [" ".join(unescape(_MARKUP.sub(" ", line)).split()) for line in shown.split("\n")]


def _lines_above(html: str, text: str) -> list[str]:
    """The short lines of a page above its main text; none where the page does not show where that begins."""
    long = next((line for line in text.splitlines() if len(line) >= MAIN_CHARS_MIN), "")
    start = "".join(long.split())[:TEXT_START_CHARS]
    lines = _shown_lines(html)
    at = next((at for at, line in enumerate(lines) if start in line.replace(" ", "")), 0)
    return [line for line in lines[:at] if 0 < len(line) <= BYLINE_CHARS_MAX][-BYLINES_MAX:]


def _byline_date(above: Sequence[str], month: str) -> str:
    """The day of this month which follows a word for `published`, where one line has one and no other another."""
    from stateward.pipelines.web.facts import page_dates

    found = (page_dates(line[word.end() :]) for line in above if (word := _PUBLISHED.search(line)))
    days = {each[0] for each in found if each and each[0].startswith(month)}
    return days.pop() if len(days) == 1 else ""


# One of these is in every page that a browser shows; XML of other kinds has none.
_TEXT_ELEMENTS = frozenset({
    "html", "head", "body", "frameset", "p", "div", "span", "a", "table", "tr", "td", "h1", "h2", "h3", "h4", "h5",
    "h6", "article", "section", "main", "header", "footer", "nav", "ul", "ol", "li", "dl", "br", "hr", "pre", "small",
    "blockquote", "img", "font", "center", "b", "i", "em", "strong", "form", "figure", "iframe", "video", "code",
})  # fmt: skip


def _check_structure(html: str) -> None:
    """Refuse what is no HTML, and what is nested so deep that no reader of it is safe."""
    if is_binary(html):
        raise FatalFailure(
            "Invalid HTML structure: the file is no text; save the page as HTML", code=INVALID_HTML
        )
    tags = depth = 0
    has_text_elements = False
    for match in _TAG.finditer(_without_hidden(html)):
        tags += 1
        has_text_elements = has_text_elements or match[2].lower() in _TEXT_ELEMENTS
        if match[2].lower() in _FLAT:
            continue
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > DEPTH_MAX:
            raise FatalFailure(
                f"Invalid HTML structure: elements are nested more than {DEPTH_MAX} deep; save the page from a browser",
                code=INVALID_HTML,
            )
    if tags < TAGS_MIN:
        raise FatalFailure(
            "Invalid HTML structure: the file holds no element; save the page as HTML",
            code=INVALID_HTML,
        )
    if not has_text_elements:
        raise FatalFailure(
            "Invalid HTML structure: the file has elements, and none of a page; save the page as HTML",
            code=INVALID_HTML,
        )


def _without_hidden(html: str) -> str:
    """The markup without scripts, styles and comments, whose brackets open no element."""
    parts: list[str] = []
    at = 0
    while (found := _HIDDEN.search(html, at)) is not None:
        parts.append(html[at : found.start()])
        end = "-->" if found[1] == "!--" else f"</{found[1].lower()}"
        stop = html.find(end, found.end())
        if stop < 0:  # in capitals, or never closed: nothing behind it is counted
            stop = html.lower().find(end, found.end())
        if stop < 0:
            return "".join(parts)
        at = stop + len(end)
    return "".join([*parts, html[at:]])


def _extract(html: str, url: str) -> dict[str, str]:
    """What the library finds: without what may be boilerplate, unless hardly anything is left of the page then."""
    found = _extraction(html, url, favor=PRECISION)
    if not found:
        return _extraction(html, url)
    marked = _MarkedText.of(html)
    if marked.paragraph_chars > LOST_FACTOR * len(found["text"]):
        others = _extraction(html, url), _extraction(html, url, favor=RECALL)
        if all(len(each.get("text", "")) > LOST_FACTOR * len(found["text"]) for each in others):
            found = {**found, "text": others[1]["text"]}
    if marked.is_more_of(found["text"]):
        found = {**found, "text": marked.article}
    return found


def _extraction(html: str, url: str, *, favor: str = "") -> dict[str, str]:
    import trafilatura

    try:
        found = trafilatura.bare_extraction(
            html,
            url=url or None,
            with_metadata=True,
            include_comments=False,
            date_extraction_params={"original_date": True, "max_date": LAST_DAY},
            favor_precision=favor == PRECISION,
            favor_recall=favor == RECALL,
        )
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
        RecursionError,
    ) as error:
        raise FatalFailure(
            f"Invalid HTML structure: the page cannot be read ({type(error).__name__}); save it from a browser",
            code=INVALID_HTML,
        ) from error
    if found is None or not getattr(found, "text", None):
        return {}
    names = ("text", "title", "author", "date", "sitename", "url")
    return {name: str(getattr(found, name, "") or "") for name in names}


class _MarkedText(NamedTuple):
    """How much text stands in paragraphs, and that of the only element which the page itself marks as its article."""

    paragraph_chars: int = 0
    article: str = ""

    @classmethod
    def of(cls, html: str) -> "_MarkedText":
        from lxml import etree
        from lxml import html as parser

        try:
            root = parser.document_fromstring(html)
        except (etree.ParserError, etree.XMLSyntaxError, ValueError, TypeError):
            return cls()
        etree.strip_elements(root, etree.Comment, *_BESIDE, with_tail=False)
        chars = sum(len(paragraph_text(each)) for each in root.iter("p"))
        articles = [*root.iter("article")]
        if len(articles) != 1:
            return cls(chars)
        outer = [each for each in articles[0].iter(*_BLOCKS) if not _is_inner(each)]
        return cls(chars, "\n".join(filter(None, map(paragraph_text, outer))))

    def is_more_of(self, text: str) -> bool:
        """Whether the article has what was found, and far more: the library takes some long texts for boilerplate."""
        added = len(self.article) - len(text)
        if added < ARTICLE_CHARS_MIN or len(self.article) < ARTICLE_FACTOR * len(text):
            return False
        lines = (" ".join(line.split()) for line in text.splitlines())
        return 2 * sum(len(line) for line in lines if line in self.article) > len(text)


def _is_inner(element: "_Element") -> bool:
    return any(each.tag in ("p", "blockquote", "li") for each in element.iterancestors())


def _whole_text(html: str) -> str:
    """All text of a page, for one in which no main text is found."""
    from lxml import etree
    from lxml import html as parser

    try:
        root = parser.document_fromstring(html)
        etree.strip_elements(
            root, etree.Comment, "script", "style", "noscript", "template", "head", with_tail=False
        )
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, TypeError):
        return ""
    return "\n".join(map(str, root.itertext()))


def _tidy(text: str) -> str:
    """The text as it is kept: single blanks, no empty lines, nothing that no store can hold."""
    lines = (" ".join(line.split()) for line in text[:TEXT_CHARS_MAX].splitlines())
    return clean_text("\n".join(filter(None, lines)), chars_max=TEXT_CHARS_MAX)


def _names(told: str) -> str:
    """The names of authors among the parts of a byline, each without the word before it."""
    # A forum prints the moment behind the name: `by quadman » Sat Feb 15, 2025`.
    parts = (_PART_OF_LINE.split(_line(part))[0] for part in told.split(";"))
    names = (_NAMED_BY.sub("", part) for part in parts)
    return "; ".join(name for name in names if name and not _NO_NAME.search(name))


def _byline_author(above: Sequence[str]) -> str:
    """The name behind words for `written by`, where the lines above a text have one name so and no other."""
    from stateward.pipelines.web.facts import page_dates

    names = {name for line in above for name in _WRITTEN_BY.findall(line)}
    names |= {name for line in above for name in _WRITTEN_THEN_BY.findall(line)}
    names |= {name for line in above if page_dates(line) for name in _BY.findall(line)}
    return _line(names.pop()) if len(names) == 1 else ""


def _signature(html: str) -> str:
    """The name that signs a page in a line of its own, where no other line has another."""
    names = {found[1] for line in _shown_lines(html) if (found := _SIGNED.fullmatch(line.strip()))}
    return _line(names.pop()) if len(names) == 1 else ""


def _title(found: str, html: str, above: Sequence[str] = ()) -> str:
    """The title, unless it only says what kind of page it is, or whose, and a heading says more."""
    headings = [_line(unescape(_MARKUP.sub(" ", text))) for _, text in _HEADING.findall(html)]
    if GENERIC_TITLE.fullmatch(found):
        return next(
            (each for each in headings if each and not GENERIC_TITLE.fullmatch(each)), found
        )
    return (
        heading_of_title(found, html, headings, above)
        or _heading_of_byline(found, headings, above)
        or found
    )


def _heading_of_byline(found: str, headings: Sequence[str], above: Sequence[str]) -> str:
    """The heading right above the line that says when the text was written, where the title is a heading before it.

    Such a title is that of the site, as each of its pages has it.
    """
    if found not in headings:
        return ""
    at = max((at for at, line in enumerate(above) if _PUBLISHED.search(line)), default=-1)
    near = [line for line in above[max(0, at - BYLINE_GAP_MAX) : max(at, 0)] if line in headings]
    if not near or found not in above[: at - BYLINE_GAP_MAX + 1] or near[-1] == found:
        return ""
    return "" if GENERIC_TITLE.fullmatch(near[-1]) else near[-1]


def _without_frame(text: str, title: str) -> str:
    """The text without its own title and day above it, and without what a press office writes below every release."""
    lines = without_bars(text.split("\n"))
    bare = "".join(title.casefold().split())
    at = next(
        (
            at
            for at, line in enumerate(lines[:HEAD_LINES_MAX])
            if "".join(line.casefold().split()) == bare
        ),
        -1,
    )
    if at >= 0 and sum(map(len, lines[:at])) < MAIN_CHARS_MIN:
        start = at + 1
        while start < len(lines) and _is_dateline(lines[start]):
            start += 1
        lines = lines[start:] or lines
    end = next(
        (at for at, line in enumerate(lines) if at >= BODY_LINES_MIN and _is_tail(lines, at)),
        len(lines),
    )
    return "\n".join(lines[:end])


def _is_dateline(line: str) -> bool:
    from stateward.pipelines.web.facts import page_dates

    return len(line) <= BYLINE_CHARS_MAX // 3 and bool(page_dates(line))


def _is_tail(lines: Sequence[str], at: int) -> bool:
    """Whether only lines about the sender follow: `About Example Ltd`, a paragraph, `Media contact`, an address."""
    left = lines[at:]
    if len(left) > TAIL_LINES_MAX or 2 * sum(map(len, left)) > sum(map(len, lines)):
        return False
    is_contact = any(_CONTACT.fullmatch(line.strip()) for line in left)
    return bool(_CONTACT.fullmatch(left[0].strip())) or (
        is_contact and bool(_ABOUT.fullmatch(left[0]))
    )


def _line(text: str) -> str:
    return clean_text(" ".join(text.split()), chars_max=META_CHARS_MAX)


def language_of(text: str, said: str = "") -> str:
    """The language of a text by its commonest words; what the page says of itself where those are few."""
    words = Counter(word.lower() for word in _WORDS.findall(text[:20_000]))
    counts = {name: sum(words[word] for word in listed.split()) for name, listed in _COMMON.items()}
    best = max(LANGUAGES, key=lambda name: counts[name])
    if counts[best] >= 3 or said not in LANGUAGES:
        return best if counts[best] >= 3 else said
    return said
