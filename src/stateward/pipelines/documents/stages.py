"""The two stages of a scan: `ocr` reads its pages, `index` makes them searchable.

What was read of a page is saved as soon as it is read, so that an attempt that was stopped (a dense page takes half a
minute) goes on where it ended.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec

from stateward.core.errors import FatalFailure
from stateward.core.model import Fields, Json
from stateward.pipelines.documents.layout import (
    ReadPage,
    line_items,
    scanned_page,
    text_page,
)
from stateward.pipelines.documents.pdf_pages import pdf_pages
from stateward.pipelines.documents.pictures import PageImage, picture_pages
from stateward.pipelines.documents.receipts import (
    DISAGREES,
    PrintedLine,
    Receipt,
    receipt_fields,
)
from stateward.pipelines.documents.searchable import SearchablePdf
from stateward.pipelines.documents.settings import DocumentSettings
from stateward.pipelines.documents.texts import TEXT_FILE, Letter, read_letter, text_lines
from stateward.pipelines.documents.unread import unread_lines
from stateward.pipelines.kit.documents import Box
from stateward.pipelines.kit.failures import EMPTY_DOCUMENT
from stateward.pipelines.kit.files import is_empty, is_pdf
from stateward.pipelines.kit.ocr import OcrPage, Recognizer
from stateward.pipelines.kit.pdf.damage import count_damaged_streams
from stateward.workers.sdk import SAVED_BYTES_MAX, Job, Outcome

if TYPE_CHECKING:
    from PIL.Image import Image

SEARCHABLE = "searchable.pdf"
HEAD_BYTES = 4096
DPI_MIN = 110  # of a page: below it, letters of 8 points are no longer told apart
UNSURE = 60  # a word below this confidence may be wrong
UNSURE_SHARE = 0.3  # of the words of a page
PAGES_SHOWN = 8
TEXT_CHARS_MAX = 400_000  # of the text of a page in one item
RECEIPT = "receipt"


class SourcePage(msgspec.Struct):
    """A page before it is read: its words if it has a good text layer, its image if any page must be read from one."""

    number: int
    text: ReadPage | None = None
    image: PageImage | None = None
    why: str = ""


class Notes:
    """What a person should know of the document, by code: the pages that it holds for."""

    SENTENCES: ClassVar[Mapping[str, str]] = {
        "TRUNCATED": "the file ends before the picture does; what is missing cannot be read; scan it again",
        "REDUCED": "the page is so large that small letters may be lost; split it, or raise documents.page_pixels_max",
        "LOW_CONFIDENCE": "many words are unsure; compare them with the page, or scan it again",
        "BLANK_PAGES": "no text was found",
        "ATTACHMENTS_NOT_READ": "only the mail itself was read; save what is attached to it, and submit that",
        "DAMAGED_PARTS": "parts of the file are damaged and may lack text; get it again from its source",
    }

    # A part of the document is not in the result: these are flags, too.
    INCOMPLETE = ("TRUNCATED", "DAMAGED_PARTS")

    def __init__(self) -> None:
        self._pages: dict[str, list[int]] = {}

    def add(self, code: str, page: int = 0) -> None:
        """Note something of a page, or of the document (0)."""
        self._pages.setdefault(code, []).append(page)

    def lines(self) -> list[str]:
        """One line a code."""
        return [
            f"{code}: {_on(pages)}{self.SENTENCES[code]}" for code, pages in self._pages.items()
        ]

    def flags(self) -> list[str]:
        """The codes that say that a part of the document is missing."""
        return [code for code in self.INCOMPLETE if code in self._pages]


def _on(pages: list[int]) -> str:
    if not any(pages):
        return ""
    shown = ", ".join(map(str, pages[:PAGES_SHOWN]))
    more = f" and {len(pages) - PAGES_SHOWN} more" if len(pages) > PAGES_SHOWN else ""
    return f"{'page' if len(pages) == 1 else 'pages'} {shown}{more}: "


def read_lines(job: Job) -> Generator[Fields, None, Outcome]:
    """Every line of every page, and as a derived file the searchable PDF."""
    return _Reading(job).run()


def index_pages(job: Job) -> Generator[Fields, None, Outcome]:
    """The text of each page, and the fields of a receipt."""
    settings = _settings(job)
    pages: dict[int, list[Fields]] = {}
    for item in job.items("ocr"):
        pages.setdefault(int(item["page"]), []).append(item)  # type: ignore[arg-type]
    for number, lines in pages.items():
        text = "\n".join(str(line["text"]) for line in lines)
        yield {
            "kind": "page",
            "page": number,
            "text": text[:TEXT_CHARS_MAX],
            "confidence": _middle([int(line["confidence"]) for line in lines]),  # type: ignore[arg-type]
            "where": _where(lines, number),
        }
    receipt = _receipt(job, settings, pages)
    for field in receipt.fields if receipt else ():
        yield {"kind": "field", **msgspec.to_builtins(field)}
    notes: list[Json] = [*receipt.notes] if receipt else []
    if receipt is None or not receipt.fields:
        notes += _unread_rows(pages)
    # A record shows the notes and the flags of the last stage that has any, so that those of the pages are told again.
    facts: Fields = {"notes": [*_notes_of_pages(job), *notes]} if notes else {}
    if receipt and any(DISAGREES in field.flags for field in receipt.fields):
        facts["flags"] = [*_flags_of_pages(job), DISAGREES]
    return Outcome(facts=facts)


def _receipt(
    job: Job, settings: DocumentSettings, pages: Mapping[int, list[Fields]]
) -> Receipt | None:
    """What is found of a receipt; None where none is looked for."""
    is_told = job.labels.get("source_type") == RECEIPT or settings.receipts == "always"
    if settings.receipts == "never" and not is_told:
        return None
    printed = [_printed_line(line) for lines in pages.values() for line in lines if line["words"]]
    if not printed:  # a text has no places by which fields of a receipt could be found
        return None
    found = receipt_fields(
        printed, languages=settings.languages, date_order=settings.date_order, is_told=is_told
    )
    for sentence in found.decisions:
        job.log(sentence)
    return found


def _unread_rows(pages: Mapping[int, list[Fields]]) -> list[Json]:
    """A note if lines look like those of a list that another pipeline would read."""
    lines = [line for each in pages.values() for line in each if line["source"] == "text"]
    rows = unread_lines([str(line["text"]) for line in lines])
    if not rows:
        return []
    first = lines[rows[0] - 1]  # by its place: what it says may be about a person
    return [
        f"ROWS_KEPT_AS_TEXT: {len(rows)} lines from page {first['page']}, line {first['line']} on look like bookings, "
        "results or prices; they can be searched, but nothing was read of them: submit the table that they come from"
    ]


def _notes_of_pages(job: Job) -> list[Json]:
    notes = job.about("ocr").get("notes")
    return notes if isinstance(notes, list) else []


def _flags_of_pages(job: Job) -> list[Json]:
    codes = [str(note).partition(":")[0] for note in _notes_of_pages(job)]
    return [code for code in Notes.INCOMPLETE if code in codes]


class _Reading:
    """One attempt at the pages of a document."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._settings = _settings(job)
        self._notes = Notes()
        self._pages: list[Json] = []
        self._lines = 0

    def run(self) -> Generator[Fields, None, Outcome]:
        path = _path(self._job)
        letter = None if self._is_pdf else read_letter(path, self._head)
        return (yield from (self._run_pages(path) if letter is None else self._run_text(letter)))

    def _run_text(self, letter: Letter) -> Generator[Fields, None, Outcome]:
        """The lines of a document that is a text already."""
        text = letter.text
        self._job.save_file(TEXT_FILE, text.encode(), media_type="text/plain")
        self._job.log(f"a text of {len(text)} characters: nothing must be recognized")
        pages = 0
        for item in text_lines(text, f"{self._job.stage}/{TEXT_FILE}"):
            pages = int(item["page"])  # type: ignore[arg-type]
            yield item
        if not pages:
            raise FatalFailure("the document has no text; submit it again", code=EMPTY_DOCUMENT)
        if letter.attachments:
            self._notes.add("ATTACHMENTS_NOT_READ")
        return self._outcome(pages)

    def _run_pages(self, path: Path) -> Generator[Fields, None, Outcome]:
        target = self._job.scratch / SEARCHABLE
        with target.open("wb") as file:
            pdf = SearchablePdf(file)
            has_image = False
            for source in self._sources(path):
                page = self._read(source)
                yield from self._items(page, source)
                if source.image is not None:
                    pdf.add(page, _turn(source.image.picture, page.turn))
                    has_image = True
            pdf.close()
        if has_image:
            self._job.save_file(SEARCHABLE, target, media_type="application/pdf")
        return self._outcome(len(self._pages))

    def _outcome(self, pages: int) -> Outcome:
        notes: list[Json] = [*self._notes.lines()]
        facts: Fields = {"page_count": pages}
        if notes:
            facts["notes"] = notes
        if flags := self._notes.flags():
            facts["flags"] = list(flags)
        return Outcome(
            facts=facts,
            about={"pages": self._pages, "notes": notes},
        )

    @cached_property
    def _recognizer(self) -> Recognizer:
        return Recognizer(self._settings.languages)

    @cached_property
    def _head(self) -> bytes:
        with self._job.open() as file:
            head = file.read(HEAD_BYTES)
        if is_empty(head):
            raise FatalFailure("the file is empty; submit it again", code=EMPTY_DOCUMENT)
        return head

    @cached_property
    def _is_pdf(self) -> bool:
        return is_pdf(self._head)

    def _sources(self, path: Path) -> Iterator[SourcePage]:
        own = self._settings
        if not self._is_pdf:
            pictures = picture_pages(
                path,
                pages_max=own.pages_max,
                pixels_max=own.pixels_max,
                page_pixels_max=own.page_pixels_max,
            )
            for number, image in enumerate(pictures, start=1):
                yield SourcePage(number, image=image)
            return
        if count_damaged_streams(path):
            self._notes.add("DAMAGED_PARTS")
        for page in pdf_pages(
            path,
            dpi=own.dpi,
            pages_max=own.pages_max,
            page_pixels_max=own.page_pixels_max,
            uses_text=own.text_layer == "auto",
        ):
            text = text_page(page.number, page.width, page.height, page.words)
            yield SourcePage(page.number, None if page.why else text, page.image, page.why)

    def _read(self, source: SourcePage) -> ReadPage:
        if source.text is not None:
            self._job.log(f"page {source.number}: its text layer is used")
            return source.text
        image = source.image
        if image is None:
            raise ValueError(f"page {source.number} has neither text nor an image")
        found = self._recognize(source.number, image)
        page = scanned_page(source.number, found, image.points, is_given=self._is_pdf)
        why = f" ({source.why})" if source.why else ""
        turned = f", turned by {page.turn} degrees" if page.turn else ""
        self._job.log(
            f"page {source.number}: read from its image{why}{turned}: {len(page.words)} words"
        )
        self._note(page, image)
        return page

    def _recognize(self, number: int, image: PageImage) -> OcrPage:
        """What the image of a page says, from an earlier attempt where there was one."""
        size = "x".join(map(str, image.picture.size))
        name = f"page {number} {size} {' '.join(self._settings.languages)}"[:200]
        saved = self._job.load(name)
        if saved is not None:
            return msgspec.json.decode(saved, type=OcrPage)
        found = self._recognizer.read(image.picture)
        data = msgspec.json.encode(found)
        if len(data) <= SAVED_BYTES_MAX:
            self._job.save(name, data)
        return found

    def _note(self, page: ReadPage, image: PageImage) -> None:
        if image.is_truncated:
            self._notes.add("TRUNCATED", page.number)
        if not page.words:
            self._notes.add("BLANK_PAGES", page.number)
            return
        if image.is_reduced and image.dpi < DPI_MIN:
            self._notes.add("REDUCED", page.number)
        unsure = sum(word.confidence < UNSURE for word in page.words)
        if unsure >= UNSURE_SHARE * len(page.words):
            self._notes.add("LOW_CONFIDENCE", page.number)

    def _items(self, page: ReadPage, source: SourcePage) -> Iterator[Fields]:
        def where(box: Box) -> Fields:
            place: Fields = {"page": page.number, "box": list(box)}
            return place if self._is_pdf else {"file": f"{self._job.stage}/{SEARCHABLE}", **place}

        items = line_items(page, where, first=1)
        self._pages.append(
            {
                "number": page.number,
                "width": round(page.width, 1),
                "height": round(page.height, 1),
                "source": page.source,
                "why": source.why,
                "turn": page.turn,
                "lines": len(items),
                "words": len(page.words),
                "confidence": page.confidence,
            }
        )
        yield from items


def _settings(job: Job) -> DocumentSettings:
    return msgspec.convert(dict(job.options), DocumentSettings)


def _path(job: Job) -> Path:
    """The document as a file: the libraries that open it want one."""
    if job.path is not None:
        return job.path
    path = job.scratch / "document"
    path.write_bytes(job.bytes())
    return path


def _turn(picture: "Image", turn: int) -> "Image":
    return picture.rotate(-turn, expand=True) if turn else picture


def _where(lines: Sequence[Fields], page: int) -> Fields:
    """A page, in the file in which its lines stand; of a text the range of its lines in it instead."""
    first, last = lines[0].get("where"), lines[-1].get("where")
    if not isinstance(first, dict) or not isinstance(last, dict) or "file" not in first:
        return {"page": page}
    if "start" in first:  # offsets beside a page would be those into its text
        return {"file": first["file"], "start": first["start"], "end": last["end"]}
    return {"file": first["file"], "page": page}


def _middle(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def _printed_line(item: Fields) -> PrintedLine:
    return msgspec.convert(
        {"page": item["page"], "words": item["words"], "where": item["where"]}, PrintedLine
    )
