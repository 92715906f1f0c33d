"""Pages in every wrapping, broken and hostile ones too: a text, or a failure with a code; never a crash."""

import gzip
import zlib
from pathlib import Path

import pytest

from stateward.pipelines.web import main_text
from stateward.pipelines.web.captures import CapturedPage, decode_page
from stateward.pipelines.web.links import link_in
from stateward.pipelines.web.main_text import printed_date
from stateward.workers.sdk import Completed
from tests.pipelines.web.reading import LONG, a_page, read

TEXT = f"{LONG * 2}Apple acquired Beats for $3 billion."
PAGE = a_page(TEXT)


def warc_record(
    body: bytes, *, kind: str = "response", url: str = "https://example.com/a"
) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: text/html; charset=utf-8", *headers])
    return lines.encode() + b"\r\n\r\n" + body


def test_a_page_gives_its_main_text_as_a_file(tmp_path: Path) -> None:
    found = read(tmp_path, PAGE)

    (page,) = found.pages
    assert page["title"] == "A page"
    assert page["where"] == {"file": "parse/page.txt", "start": 0, "end": len(found.text())}
    assert "Apple acquired Beats" in found.text()
    assert "Log in" not in found.text()
    assert [fact["where"]["file"] for fact in found.printed] == ["parse/page.txt"]


def test_a_page_that_a_browser_saved_as_mhtml_is_read(tmp_path: Path) -> None:
    import base64

    body = base64.encodebytes(
        a_page(LONG, "Größe zählt: Siemens übernimmt Altair.", language="de")
    ).decode()
    document = (
        "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.com/x\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related; type="text/html"; boundary="b"\r\n\r\n--b\r\n'
        "Content-Type: text/html; charset=utf-8\r\n"
        f"Content-Transfer-Encoding: base64\r\nContent-Location: https://example.com/x\r\n\r\n{body}\r\n--b\r\n"
        "Content-Type: image/png\r\n\r\nxx\r\n--b--\r\n"
    )

    found = read(tmp_path, document.encode())

    assert found.pages[0]["url"] == "https://example.com/x"
    assert "Größe zählt" in found.text()


def test_every_page_of_a_warc_has_a_text_of_its_own(tmp_path: Path) -> None:
    chunked = b"%x\r\n" % len(PAGE) + PAGE + b"\r\n0\r\n\r\n"
    packed = gzip.compress(PAGE)
    data = b"".join(
        [
            warc_record(b"software: x", kind="warcinfo"),
            warc_record(http(PAGE)),
            warc_record(http(chunked, "Transfer-Encoding: chunked"), url="https://example.com/b"),
            warc_record(http(packed, "Content-Encoding: gzip"), url="https://example.com/c"),
            warc_record(http(b"gone", status="404 Not Found")),
            warc_record(http(b"%PDF-").replace(b"text/html", b"application/pdf")),
        ]
    )

    plain, zipped = read(tmp_path, data), read(tmp_path, gzip.compress(data))

    assert [page["url"][-1] for page in plain.pages] == ["a", "b", "c"]
    assert [page["where"]["file"] for page in plain.pages] == [
        "parse/page.txt",
        "parse/page-2.txt",
        "parse/page-3.txt",
    ]
    assert {fact["page"] for fact in plain.printed} == {1, 2, 3}
    assert len({fact["key"] for fact in plain.facts}) == 1
    assert zipped.parsed == plain.parsed


def test_a_warc_that_is_cut_off_gives_what_is_whole_and_is_flagged(tmp_path: Path) -> None:
    data = warc_record(http(PAGE)) + warc_record(http(PAGE))[:-200]

    found = read(tmp_path, data)

    assert len(found.pages) == 1
    assert found.notes == found.parsed.facts["flags"] == ["BROKEN_RECORD"]


def test_the_number_of_pages_and_facts_is_bounded_and_says_so(tmp_path: Path) -> None:
    page = a_page(LONG, *[f"Apple acquired Beats{number} in the end." for number in range(5)])

    found = read(tmp_path, warc_record(http(page)) * 3, options={"pages_max": 2, "facts_max": 3})

    assert (len(found.pages), len(found.printed)) == (2, 6)
    assert set(found.notes) == {"TOO_MANY_FACTS", "TOO_MANY_PAGES"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_DOCUMENT"),
        (b"no markup at all", "INVALID_HTML"),
        (
            b"%PDF-1.7\n<< /Type /Page >>\n" + bytes(range(256)) * 40 + b"<p>\x80 1</p>",
            "INVALID_HTML",
        ),
        (
            b"<?xml version='1.0'?><Document><Stmt><Amt>12 EUR</Amt></Stmt></Document>",
            "INVALID_HTML",
        ),
        (b"<html><body></body></html>", "NO_TEXT"),
        (b"<div>" * 100_000 + PAGE, "INVALID_HTML"),
        (b"<font>" * 100_000 + PAGE, "INVALID_HTML"),
        (b"<!--" * 50_000, "INVALID_HTML"),
        (b"\x1f\x8b" + b"x" * 50, "CORRUPT_FILE"),
        (gzip.compress(PAGE)[:-20], "CORRUPT_FILE"),
        (b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n", "NO_PAGE"),
        (
            b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b--\r\n",
            "INVALID_HTML",
        ),
    ],
)
def test_what_holds_no_page_fails_with_a_code(tmp_path: Path, data: bytes, code: str) -> None:
    assert read(tmp_path, data).error.code == code


@pytest.mark.parametrize(
    "data",
    [
        PAGE[:-40],
        b"<<<>>><html<body></p></div></b>" + PAGE,
        b"<html><body data-x='" + b"a" * 300_000 + b"'>" + PAGE,
        b"<html><body " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b">" + PAGE,
        b"<p>" * 20_000 + PAGE,
        b"<ul><li>" * 100 + PAGE,
        PAGE.replace(b"<nav>", b"\x00<nav>&#xD800;&#0;&#99999999999;&bogus;"),
        PAGE.replace(b"utf-8", b"klingon"),
        PAGE.replace(b"utf-8", b"utf-16"),
        b'<?xml version="1.0" encoding="UTF-8"?>' + PAGE,
        PAGE.replace(
            b"</head>", b"<script>document.write('" + b"<div>" * 500 + b"')</script></head>"
        ),
    ],
)
def test_broken_html_is_read(tmp_path: Path, data: bytes) -> None:
    assert "Apple acquired Beats for $3 billion." in read(tmp_path, data).text()


@pytest.mark.parametrize(
    ("encoding", "declared", "header"),
    [
        ("utf-8", "utf-8", ""),
        ("cp1252", "iso-8859-1", ""),
        ("utf-8", "iso-8859-2", "text/html; charset=UTF-8"),
        ("utf-16", "", ""),
        ("cp1252", "", ""),
        ("cp1252", "utf-8", ""),
        ("koi8-r", "koi8-r", ""),
    ],
)
def test_the_charset_is_found_also_where_a_word_of_it_is_wrong(
    encoding: str, declared: str, header: str
) -> None:
    word = "Größe" if encoding != "koi8-r" else "Привет"
    html = f"<html><head><meta charset='{declared}'></head><body>{word}</body></html>".encode(
        encoding
    )

    assert word in decode_page(CapturedPage(html=html, content_type=header))


def test_a_page_that_unpacks_too_far_is_refused(tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = packer.compress(b"<p>" + b"0" * 40_000_000) + packer.flush()

    assert read(tmp_path, bomb, options={"page_bytes_max": 1_000_000}).error.code == "HOSTILE_FILE"


def test_a_page_that_is_too_large_is_refused(tmp_path: Path) -> None:
    assert read(tmp_path, PAGE, options={"page_bytes_max": 100}).error.code == "PAGE_TOO_LARGE"


def test_the_same_bytes_give_the_same_facts(tmp_path: Path) -> None:
    one, two = read(tmp_path, PAGE), read(tmp_path, PAGE)

    assert (one.parsed, one.normalized) == (two.parsed, two.normalized)


@pytest.mark.parametrize(
    ("data", "url"),
    [
        (
            b"[InternetShortcut]\r\nURL=https://example.com/a\r\nIconIndex=0\r\n",
            "https://example.com/a",
        ),
        (b"https://example.com/a\n", "https://example.com/a"),
        (b"\xef\xbb\xbf# a note\nhttp://example.com/\n", "http://example.com/"),
        (
            b'<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>URL</key>'
            b"<string>https://example.com/a</string></dict></plist>",
            "https://example.com/a",
        ),
        (b"https://example.com/a\nhttps://example.com/b\n", ""),
        (b"file:///etc/passwd", ""),
        (b"[InternetShortcut]\nURL=javascript:alert(1)\n", ""),
        (b"a word", ""),
        (b"<?xml version='1.0'?><plist><dict>", ""),
        (b"bplist00garbage", ""),
        (b"https://example.com/" + b"a" * 9000, ""),
    ],
)
def test_the_address_in_a_small_file_is_found(data: bytes, url: str) -> None:
    assert link_in(data) == url


def test_a_torn_packed_page_is_tried_again_and_then_read_as_far_as_it_goes(tmp_path: Path) -> None:
    torn = gzip.compress(a_page(*[f"{LONG}{number}" for number in range(200)]))[:-40]

    first, second = read(tmp_path, torn), read(tmp_path, torn, retry_count=1)

    assert (first.error.code, first.error.is_retryable) == ("CORRUPT_FILE", True)
    assert isinstance(second.parsed, Completed)
    assert second.parsed.facts["flags"] == ["DAMAGED_FILE"]
    assert "DAMAGED_FILE: pages or parts of them may be missing" in str(
        second.parsed.facts["notes"]
    )
    assert LONG.strip() in second.text()


def test_a_packed_file_of_which_nothing_is_left_is_given_up(tmp_path: Path) -> None:
    error = read(tmp_path, b"\x1f\x8b" + b"x" * 50, retry_count=1).error

    assert (error.code, error.is_retryable) == ("CORRUPT_FILE", False)


def test_a_page_that_only_asks_to_enable_scripts_has_no_text(tmp_path: Path) -> None:
    page = (
        b"<html><head><title>App</title></head><body><div id='root'></div><script src='/app.js'></script>"
        b"<noscript>You need to enable JavaScript to run this app.</noscript></body></html>"
    )

    assert read(tmp_path, page).error.code == "NO_TEXT"


@pytest.mark.parametrize(
    ("sentence", "date"),
    [("発表は2026年3月1日、東京で行われた。", ""), ("Published on January 1, 2026.", "2026-01-01")],
)
def test_a_year_alone_does_not_give_a_page_the_first_of_january(
    tmp_path: Path, sentence: str, date: str
) -> None:
    (page,) = read(tmp_path, a_page(f"{sentence} {LONG * 2}")).pages

    assert page.get("date", "") == date


@pytest.mark.parametrize(
    ("html", "is_printed"),
    [
        ("Publié le 1er janvier 2023", True),
        ("Publié le 1<sup>er</sup>&nbsp;janv. 2023", True),
        ("1 de enero de 2023", True),
        ("1º de janeiro de 2023", True),
        ("2023年1月1日", True),
        ("1. Jänner 2023", True),
        ('<meta content="2023-01-01T09:00">', True),
        ("(c) 2023 Example, 1 March 2023", False),
        ("2023-11-05", False),
        ("21 January 2023", False),
        ("January 11, 2023", False),
    ],
)
def test_the_first_of_january_is_believed_where_a_page_prints_it(
    html: str, is_printed: bool
) -> None:
    assert printed_date("2023-01-01", html) == ("2023-01-01" if is_printed else "")


def test_tables_that_place_a_page_are_no_part_of_its_text(tmp_path: Path) -> None:
    body = f"<h1>About us</h1><p>{LONG}</p><p>Apple acquired Beats for $3 billion.</p>"
    page = (
        "<html><body><table><tr><td colspan=2><a href=/>Home</a> | <a href=/a>Sport</a></td></tr><tr><td>"
        f"<font>Read also: ten islands</font></td><td>{body}</td></tr><tr><td>We use cookies. Accept all</td></tr>"
        "</table></body></html>"
    ).encode()

    text = read(tmp_path, page).text()

    assert "Apple acquired Beats" in text
    assert not [word for word in ("Home", "islands", "cookies", "|") if word in text]


def test_a_table_of_figures_stays_one(tmp_path: Path) -> None:
    table = "<table><tr><th>City</th><th>People</th></tr><tr><td>Ghent</td><td>265,000</td></tr></table>"
    page = a_page(LONG * 2).replace(b"</article>", f"{table}</article>".encode())

    assert "Ghent | 265,000" in read(tmp_path, page).text()


def test_a_table_stays_one_where_a_value_is_two_short_paragraphs(tmp_path: Path) -> None:
    rows = "".join(
        f"<tr><td>Bridge {number}</td><td><p>Steel</p><p>{number}0 tons</p></td></tr>"
        for number in range(1, 7)
    )
    page = a_page(LONG * 2).replace(b"</article>", f"<table>{rows}</table></article>".encode())

    text = read(tmp_path, page).text()

    assert [n for n in range(1, 7) if f"Bridge {n}" not in text or f"{n}0 tons" not in text] == []


def test_what_a_page_hides_is_not_read(tmp_path: Path) -> None:
    hidden = "<div style='display: none'><p>Apple sold Beats for $9 billion to Oracle last week.</p></div>"
    page = a_page(LONG * 2, TEXT).replace(b"</article>", f"{hidden}</article>".encode())
    later = page.replace(b"<article>", b"<article style='visibility:hidden'>")

    assert "Oracle" not in read(tmp_path, page).text()
    assert "Apple acquired Beats" in read(tmp_path, later).text()


def test_a_long_article_that_the_page_marks_is_not_cut_to_a_part_of_it(tmp_path: Path) -> None:
    html = "<html><body><article>{}</article></body></html>"
    told = [f"{LONG}This is the part {number} of it." for number in range(30)]
    article = "".join(f"<p>{each}</p>" for each in told)

    marked = main_text._MarkedText.of(html.format(article))

    assert marked.is_more_of("\n".join(told[:5]))
    assert not marked.is_more_of("\n".join(told[:20]))
    assert not marked.is_more_of("Another text. " * 20)
    assert not main_text._MarkedText.of(
        html.format(f"{article}</article><article>{article}")
    ).article


def test_a_month_in_an_address_is_no_day_and_the_line_above_the_text_has_author_and_date(
    tmp_path: Path,
) -> None:
    byline = "<p><i>Publicado por Ana Ruiz Peña el 27 de mayo de 2023</i></p>"
    head = '<link rel="canonical" href="https://example.org/2023/05/norte">'
    html = (
        f"<html lang=es><head>{head}<title>El norte</title></head><body><h2>El norte</h2>{byline}"
        f"<p>{LONG}</p><p>{LONG}</p></body></html>"
    )

    (page,) = read(tmp_path, html.encode()).pages

    assert (page["author"], page["date"]) == ("Ana Ruiz Peña", "2023-05-27")


@pytest.mark.parametrize(
    ("html", "date"),
    [
        ("/2023/05/norte", ""),
        ("/2023/05/01/norte", "2023-05-01"),
        ("1 de mayo de 2023", "2023-05-01"),
        ("May 1st, 2023", "2023-05-01"),
        ("Published on 7 June 2023", ""),
    ],
)
def test_the_first_of_a_month_is_believed_where_a_page_prints_it(html: str, date: str) -> None:
    assert printed_date("2023-05-01", html) == date


def bylined(above: str = "", below: str = "", address: str = "2023/11/norte") -> bytes:
    return (
        f'<html><head><link rel="canonical" href="https://example.org/{address}"><title>A page</title></head><body>'
        f"<h1>A page</h1>{above}<p>{LONG}</p><p>{LONG}</p>{below}</body></html>"
    ).encode()


@pytest.mark.parametrize(
    ("above", "below", "author"),
    [
        ("<p>Written by Ann Lee</p>", "", "Ann Lee"),
        ("<div>7 May 2023 | Posted by Ann Lee on Sunday</div>", "", "Ann Lee"),
        ("", "<p>The song was written by Paul McCartney and it was recorded.</p>", ""),
        ("<p>The song was\nwritten by Paul McCartney.</p>", "", ""),
        ("<p>Written by Paul McCartney and recorded in a day.</p>", "", ""),
        ("", "<div>Posted by John Smith 3 days ago</div>", ""),
    ],
)
def test_only_a_line_of_its_own_above_the_text_names_an_author(
    tmp_path: Path, above: str, below: str, author: str
) -> None:
    (page,) = read(tmp_path, bylined(above, below)).pages

    assert page.get("author", "") == author


@pytest.mark.parametrize("place", ["above", "below"])
def test_the_date_of_another_page_is_not_the_date_of_this_one(tmp_path: Path, place: str) -> None:
    other = "<p>Related: Published 27 November 2023 other article</p>"

    html = bylined(**{place: other}).decode()

    assert printed_date("2023-11-01", html, main_text._lines_above(html, LONG)) == ""


@pytest.mark.parametrize(
    ("html", "date"),
    [
        ("01.11.23", "2023-11-01"),
        ("1 มิถุนายน 2566", "2023-06-01"),
        ("ngày 1 tháng 9 năm 2023", "2023-09-01"),
        ("Fri Sep 01 10:00:00 CEST 2023", "2023-09-01"),
    ],
)
def test_the_first_of_a_month_is_known_as_other_places_print_it(html: str, date: str) -> None:
    assert printed_date(date, html) == date
    assert printed_date("2022-12-01", html) == ""


@pytest.mark.parametrize("words", ["written by A" + "b" * 50_000, "published " * 20_000])
def test_no_byline_is_looked_for_in_a_line_that_is_too_long(words: str) -> None:
    html = f"<h1>A page</h1><p>{words}</p><p>Written by Ann Lee</p><p>{LONG}</p>"

    assert main_text._lines_above(html, LONG) == ["A page", "Written by Ann Lee"]
