"""A page is fetched once, from where it may be fetched, and never from the network of the operator by a trick."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stateward.core.model import Fields
from stateward.pipelines.web.fetching import fetch_page
from stateward.pipelines.web.options import WebOptions
from stateward.workers.sdk import Completed, Job, UnsavedValues
from tests.pipelines.web.reading import LONG, a_page, read

PAGE = a_page(LONG * 2, "Apple acquired Beats for $3 billion.")
LOCAL: Fields = {"allow": ["127.0.0.1"]}


class Site:
    """A site on this machine: what it answers at each path, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self.url = ""

    def page(self, path: str, body: bytes = PAGE, *, status: int = 200, **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = status, {"Content-Type": "text/html", **named}, body
        return f"{self.url}{path}"


@contextmanager
def site() -> Iterator[Site]:
    own = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own.asked.append(self.path)
            status, headers, body = own.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    own.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield own
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_page_is_fetched_kept_and_read(tmp_path: Path) -> None:
    with site() as own:
        found = read(tmp_path, own.page("/a").encode(), options=LOCAL, runner="web.fetch")

    assert isinstance(found.parsed, Completed)
    assert found.pages[0]["url"] == f"{own.url}/a"
    assert found.facts[0]["subject_id"] == "@Apple"
    assert found.job.file("parse", "received.html").read_bytes() == PAGE
    assert own.asked == ["/robots.txt", "/a"]


def test_a_retry_does_not_fetch_again(tmp_path: Path) -> None:
    saved = UnsavedValues()
    large = PAGE.replace(b"</article>", b"<p>x</p>" * 200_000 + b"</article>")

    with site() as own:
        url = own.page("/a", large)
        first = fetch_page(Job.for_test(), url, WebOptions(allow=("127.0.0.1",)))
        job = Job(record_id="UL_1", stage="parse", saved_values=saved)
        one = fetch_page(job, url, WebOptions(allow=("127.0.0.1",)))
        asked = len(own.asked)
        two = fetch_page(job, url, WebOptions(fetch=False))

        assert one == two == first
        assert len(own.asked) == asked


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://10.1.2.3/",
        "http://2130706433/",
        "https://user:secret@example.com/",
        "http://93.184.215.14:22/",
    ],
)
def test_addresses_that_are_not_public_are_refused(tmp_path: Path, url: str) -> None:
    failed = read(tmp_path, url.encode(), runner="web.fetch").error

    assert failed.code in ("ADDRESS_REFUSED", "PAGE_UNREACHABLE")
    assert failed.code == "ADDRESS_REFUSED" or "2130706433" in url


def test_every_address_of_a_name_is_checked_before_any_is_asked() -> None:
    def lookup(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "10.0.0.1"]

    with pytest.raises(Exception, match=r"10\.0\.0\.1, which is not a public address.*web\.allow"):
        fetch_page(Job.for_test(), "https://mixed.example/", WebOptions(), lookup=lookup)


def test_a_redirect_to_the_inside_is_refused(tmp_path: Path) -> None:
    with site() as own:
        url = own.page("/a", b"", status=302, Location="http://169.254.169.254/latest/")
        failed = read(tmp_path, url.encode(), options=LOCAL, runner="web.fetch").error

    assert failed.code == "ADDRESS_REFUSED"
    assert not failed.is_retryable


def test_redirects_are_followed_a_few_times(tmp_path: Path) -> None:
    with site() as own:
        own.page("/b")
        url = own.page("/a", b"", status=301, Location="/b#part")
        endless = own.page("/c", b"", status=302, Location="/c")

        assert (
            read(tmp_path, url.encode(), options=LOCAL, runner="web.fetch")
            .pages[0]["url"]
            .endswith("/b")
        )
        assert (
            read(tmp_path, endless.encode(), options=LOCAL, runner="web.fetch").error.code
            == "TOO_MANY_REDIRECTS"
        )


def test_robots_txt_is_obeyed_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    with site() as own:
        own.page("/robots.txt", b"User-agent: *\nDisallow: /private/\n", Content_Type="text/plain")
        hidden, open_ = own.page("/private/a"), own.page("/public/a")

        failed = read(tmp_path, hidden.encode(), options=LOCAL, runner="web.fetch").error
        assert failed.code == "ROBOTS_DISALLOW"
        assert "/private/a" not in own.asked
        for url, options in ((open_, LOCAL), (hidden, {**LOCAL, "robots": False})):
            assert read(tmp_path, url.encode(), options=options, runner="web.fetch").pages


@pytest.mark.parametrize(
    ("status", "code", "is_retryable"),
    [
        (404, "PAGE_NOT_FOUND", False),
        (410, "PAGE_NOT_FOUND", False),
        (403, "PAGE_FORBIDDEN", False),
        (429, "PAGE_UNREACHABLE", True),
        (503, "PAGE_UNREACHABLE", True),
    ],
)
def test_what_a_server_says_decides_whether_it_is_asked_again(
    tmp_path: Path, status: int, code: str, is_retryable: bool
) -> None:
    with site() as own:
        url = own.page("/a", b"no", status=status)
        failed = read(tmp_path, url.encode(), options=LOCAL, runner="web.fetch").error

    assert (failed.code, failed.is_retryable) == (code, is_retryable)


def test_what_is_too_large_or_no_page_is_refused(tmp_path: Path) -> None:
    with site() as own:
        large, picture = own.page("/a"), own.page("/b", b"\x89PNG", Content_Type="image/png")
        small = {**LOCAL, "page_bytes_max": 100}

        assert (
            read(tmp_path, large.encode(), options=small, runner="web.fetch").error.code
            == "PAGE_TOO_LARGE"
        )
        assert (
            read(tmp_path, picture.encode(), options=LOCAL, runner="web.fetch").error.code
            == "UNSUPPORTED_FORMAT"
        )


def test_fetching_can_be_switched_off_and_needs_an_address(tmp_path: Path) -> None:
    off = read(
        tmp_path, b"https://example.com/", options={"fetch": False}, runner="web.fetch"
    ).error

    assert off.code == "FETCH_DISABLED"
    assert read(tmp_path, b"no address", runner="web.fetch").error.code == "NO_LINK"
