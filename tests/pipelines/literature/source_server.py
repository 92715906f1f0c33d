"""A server on 127.0.0.1 that speaks as the sources of papers do, and fails as they do."""

# ruff: noqa: E501 - XML as it is delivered has long lines

import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.pipelines.literature.articles import PAGE, PMC, SAMPLES

ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title><entry><id>http://arxiv.org/abs/2101.00001v2</id>
<updated>2021-02-01T00:00:00Z</updated><published>2021-01-01T00:00:00Z</published><title>Ladles
 in flat space</title><summary>  We bend a ladle. </summary><author><name>Anna Spoon</name></author>
<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.5555/ladle.9</arxiv:doi><category term="math.LA"/></entry></feed>"""
NO_ENTRY = '<feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title></feed>'
STUDY = {
    "protocolSection": {
        "identificationModule": {"nctId": "NCT01234567", "briefTitle": "Soup", "officialTitle": "Soup for all"},
        "statusModule": {"studyFirstPostDateStruct": {"date": "2012-03-01"}},
        "descriptionModule": {"briefSummary": "Does soup help?", "detailedDescription": "One.\n\nTwo."},
        "conditionsModule": {"conditions": ["Hunger"]},
        "outcomesModule": {"primaryOutcomes": [{"measure": "Hunger", "timeFrame": "1 hour"}]},
        "contactsLocationsModule": {"overallOfficials": [{"name": "Anna Spoon", "affiliation": "Kitchen"}]},
    }
}  # fmt: skip
# What E-utilities answer with status 200 while they are being mended, or their database cannot be reached.
WORDS_OF_ENTREZ = {
    "503": b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN"><html><p>Sorry</p></html>',
    "504": b"<eFetchResult><ERROR>Unable to obtain query #1</ERROR></eFetchResult>",
}
RYE = (SAMPLES / "rye-bread.xml").read_bytes()


class SourceServer:
    """Counts what it is asked, and remembers the last headers."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.headers: dict[str, str] = {}
        self.queries: list[dict[str, list[str]]] = []
        self.url = ""
        self.is_retracted = False

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, dict[str, str], bytes]:
        xml = {"Content-Type": "text/xml"}
        number = query.get("id", query.get("id_list", [""]))[0]
        if path == "/eutils/efetch.fcgi" and number in WORDS_OF_ENTREZ:
            return 200, xml, WORDS_OF_ENTREZ[number]
        if path == "/eutils/efetch.fcgi" and query["db"] == ["pubmed"]:
            found = RYE if number == "99000002" else b"<PubmedArticleSet></PubmedArticleSet>"
            return 200, xml, found
        if path == "/eutils/efetch.fcgi":
            found = f"<pmc-articleset>{PMC.split('>', 1)[1]}</pmc-articleset>".encode()
            missing = b'<pmc-articleset><Reply Id="1" error="no such id"/></pmc-articleset>'
            return 200, xml, found if number == "9900010" else missing
        if path == "/epmc/search":
            return self._search(query["query"][0])
        if path == "/epmc/PMC9900010/fullTextXML":
            notice = '<related-article related-article-type="retraction-forward"/>'
            if self.is_retracted:
                body = PMC.replace("</article-meta>", f"{notice}</article-meta>", 1)
                return 200, {**xml, "ETag": '"two"'}, body.encode()
            return 200, {**xml, "ETag": '"one"'}, PMC.encode()
        if path == "/arxiv/query":
            return (
                200,
                {"Content-Type": "application/atom+xml"},
                (ATOM if number == "2101.00001" else NO_ENTRY).encode(),
            )
        if path == "/trials/studies/NCT01234567":
            return 200, {"Content-Type": "application/json"}, json.dumps(STUDY).encode()
        return self._odd(path)

    def _search(self, query: str) -> tuple[int, dict[str, str], bytes]:
        open_hit = {"doi": "10.5555/SJ.2010.10", "pmcid": "PMC9900010", "isOpenAccess": "Y"}
        closed_hit = {"doi": "10.5555/stateward.rye.2", "pmid": "99000002", "isOpenAccess": "N"}
        read_hit = closed_hit | {"doi": "10.5555/read", "pmcid": "PMC404", "inEPMC": "Y"}
        hits = [
            each
            for each in (open_hit, closed_hit, read_hit)
            if each["doi"].lower() in query.lower()
        ]
        return (
            200,
            {"Content-Type": "application/json"},
            json.dumps({"resultList": {"result": hits}}).encode(),
        )

    def _odd(self, path: str) -> tuple[int, dict[str, str], bytes]:  # noqa: C901 - a table of answers
        times = self.asked[path]
        match path:
            case "/page.html":
                return 200, {"Content-Type": "text/html", "ETag": '"v1"'}, PAGE.encode()
            case "/moved":
                return 302, {"Location": "/page.html"}, b""
            case "/moved-away":
                return 301, {"Location": "http://192.168.0.1/secret"}, b""
            case "/for-ever":
                return 302, {"Location": "/for-ever"}, b""
            case "/busy" if times == 1:
                return 429, {"Retry-After": "0"}, b"slow down"
            case "/busy":
                return 200, {"Content-Type": "text/html"}, PAGE.encode()
            case "/busy-for-long":
                return 429, {"Retry-After": "3600"}, b""
            case "/broken" if times == 1:
                return 500, {}, b""
            case "/broken":
                return 200, {"Content-Type": "text/html"}, PAGE.encode()
            case "/truncated":
                return 200, {"Content-Length": "100000"}, PAGE.encode()
            case "/large":
                return 200, {}, b"x" * 300_000
            case "/accepted":
                return 202, {"Content-Type": "text/html"}, PAGE.encode()
            case "/nowhere":
                return 301, {"Content-Type": "text/html"}, PAGE.encode()
            case "/two-members":
                half = len(PAGE) // 2
                packed = [gzip.compress(part.encode()) for part in (PAGE[:half], PAGE[half:])]
                return 200, {"Content-Encoding": "gzip"}, b"".join(packed)
            case "/bomb":
                return 200, {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 300_000)
            case "/half-packed":
                return 200, {"Content-Encoding": "gzip"}, gzip.compress(PAGE.encode())[:-20]
            case "/brotli":
                return 200, {"Content-Encoding": "br"}, b"\x0b\x02\x80pots\x03"
            case "/forbidden":
                return 403, {}, b""
        return 404, {}, b""


@contextmanager
def a_source_server() -> Iterator[SourceServer]:
    """The server, running in a thread."""
    server = SourceServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            server.asked[parts.path] += 1
            server.headers = {name.lower(): value for name, value in self.headers.items()}
            server.queries.append(parse_qs(parts.query))
            status, headers, body = server.answer(parts.path, parse_qs(parts.query))
            if headers.get("ETag") and headers["ETag"] == self.headers.get("If-None-Match"):
                status, body = 304, b""
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of its base class
            """Nothing is said on stderr."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
