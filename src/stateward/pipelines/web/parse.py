"""The stage `parse`: the pages of a file, their main text, and the facts in it, as they are printed.

The text of each page is kept as a file of the record; every fact says at which characters of it it stands.
"""

from collections.abc import Iterable, Iterator

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields
from stateward.pipelines.kit.failures import DAMAGED_FILE, damage_is_retried
from stateward.pipelines.web.captures import CapturedPage, CaptureProblem, captured_pages
from stateward.pipelines.web.facts import FactFinder, FactPlace, PrintedFact
from stateward.pipelines.web.fetching import fetch_page
from stateward.pipelines.web.links import LINK_BYTES_MAX, link_in
from stateward.pipelines.web.main_text import PageText, read_page
from stateward.pipelines.web.options import WebOptions
from stateward.workers.sdk import Batch, Job, Outcome

READER_VERSION = 11  # to be increased by a change after which the same bytes give other facts
BATCH_FACTS = 100
SEARCHED_CHARS_MAX = 200_000
NOTE_CHARS_MAX = 300
NOTES_MAX = 20
FILE_FACTOR = 16
AMBIGUOUS_DATE = "AMBIGUOUS_DATE"
# Pages of the file are missing from the result, so that a person has to know: these are flags, too.
INCOMPLETE = frozenset({DAMAGED_FILE, "BROKEN_RECORD", "PAGE_TOO_LARGE", "TOO_MANY_PAGES"})


class PageItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page: what it says about itself, and its text for the search."""

    kind: str
    page: int
    url: str = ""
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    chars: int = 0
    text: str = ""
    where: FactPlace


def parse(job: Job) -> Iterator[Batch]:
    """Read the pages of the document of a job."""
    options = WebOptions.of(job)
    with job.open() as file:
        data = file.read(options.page_bytes_max * FILE_FACTOR + 1)
    if len(data) > options.page_bytes_max * FILE_FACTOR:
        raise FatalFailure(
            f"the file has more than {FILE_FACTOR} times web.page_bytes_max ({options.page_bytes_max}); split it",
            code="PAGE_TOO_LARGE",
        )
    found = captured_pages(
        data,
        page_bytes_max=options.page_bytes_max,
        pages_max=options.pages_max,
        is_lenient=job.retry_count > 0,
    )
    with damage_is_retried(job.retry_count):
        return (yield from _read(job, found, options))


def fetch(job: Job) -> Iterator[Batch]:
    """Fetch the page whose address is the document of a job, and read it."""
    options = WebOptions.of(job)
    with job.open() as file:
        url = link_in(file.read(LINK_BYTES_MAX + 1))
    if not url:
        raise FatalFailure(
            "the file holds no address of a page; it must be one line that begins with https://",
            code="NO_LINK",
        )
    page = fetch_page(job, url, options)
    job.save_file("received.html", page.html, media_type="text/html")
    return _read(job, [page], options)


def _read(
    job: Job, found: Iterable[CapturedPage | CaptureProblem], options: WebOptions
) -> Iterator[Batch]:
    reader = _PageReader(job, options)
    for each in found:
        if isinstance(each, CaptureProblem):
            reader.note(each.code, each.message)
        else:
            yield from reader.batches(each)
    return reader.outcome()  # type: ignore[return-value]


class _PageReader:
    """Reads the pages of one file."""

    def __init__(self, job: Job, options: WebOptions) -> None:
        self._job = job
        self._options = options
        self._notes: list[str] = []
        self._flags: dict[str, None] = {}
        self._failure: FatalFailure | None = None
        self._pages = 0
        self._facts = 0

    def note(self, code: str, message: str) -> None:
        """Remember something that a person should look at."""
        self._job.log(message, level="warning", code=code)
        if code in INCOMPLETE:
            self._flags[code] = None
        if len(self._notes) < NOTES_MAX:
            self._notes.append(f"{code}: {message}"[:NOTE_CHARS_MAX])

    def batches(self, captured: CapturedPage) -> Iterator[Batch]:
        """A page and its facts; one of several pages that cannot be read is noted and left out."""
        try:
            page = read_page(captured)
        except FatalFailure as error:
            self._failure = self._failure or error
            self.note(error.code, f"{captured.url or 'the page'}: {error.message}")
            return
        self._pages += 1
        name = "page.txt" if self._pages == 1 else f"page-{self._pages}.txt"
        self._job.save_file(name, page.text.encode(), media_type="text/plain")
        place = f"{self._job.stage}/{name}"
        facts = self._find_facts(page, place)
        self._facts += len(facts)
        self._job.log(
            f"{len(facts)} facts in {len(page.text)} characters",
            url=page.url,
            title=page.title,
            language=page.language,
        )
        if page.is_cut:
            self.note(
                DAMAGED_FILE,
                "the file ends in the middle of the page, and the rest of it is missing; save it again",
            )
        if page.doubted_date:
            self.note(
                AMBIGUOUS_DATE,
                f"{page.doubted_date} may have the day or the month first, and nothing on the page tells which",
            )
        for code, sentence in page.doubts:
            self.note(code, sentence)
        if not page.is_main:
            self.note(
                "NO_MAIN_TEXT",
                "no main text was found; all text of the page is taken, menus included",
            )
        yield Batch([self._item(page, place)])
        for at in range(0, len(facts), BATCH_FACTS):
            yield Batch(facts[at : at + BATCH_FACTS])

    def _find_facts(self, page: PageText, place: str) -> list[PrintedFact]:
        finder = FactFinder(page.text, language=page.language, file=place, page=self._pages)
        facts: list[PrintedFact] = []
        for fact in finder.facts():
            if len(facts) == self._options.facts_max:
                self.note(
                    "TOO_MANY_FACTS",
                    f"the page has more than {self._options.facts_max} facts (setting web.facts_max)",
                )
                break
            facts.append(fact)
        return facts

    def _item(self, page: PageText, place: str) -> PageItem:
        return PageItem(
            kind="page",
            page=self._pages,
            url=page.url[:2000],
            title=page.title,
            author=page.author,
            date=page.date,
            site=page.site,
            language=page.language,
            chars=len(page.text),
            text=page.text[:SEARCHED_CHARS_MAX],
            where=FactPlace(place, 0, len(page.text)),
        )

    def outcome(self) -> Outcome:
        """What holds for all pages; the failure of the only page is that of the file."""
        if not self._pages:
            raise self._failure or FatalFailure(
                "the archive holds no page of HTML; submit the page itself", code="NO_PAGE"
            )
        facts: Fields = {"pages": self._pages, "facts": self._facts}
        if self._notes:
            facts["notes"] = list(self._notes)
        if self._flags:
            facts["flags"] = list(self._flags)
        about: Fields = {
            "reader": READER_VERSION,
            "pages": self._pages,
            "facts": self._facts,
            "notes": list(self._notes),
        }
        return Outcome(facts=facts, about=about)
