"""A document, or a file that a stage derived from it, as the record page and the review page show it beside values.

What is shown is decided by the bytes (`content`). Where a pipeline made text of pages that cannot be drawn, that text
is shown instead. Marks are not drawn here: pages carry the `where` of items, and `viewer.mjs` puts them on whatever is
shown, by one set of rules for every pipeline.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import quote

import msgspec

from stateward.app import App
from stateward.console.content import Content, Form, PackedFile, packed_files, shown_as
from stateward.core.errors import ArtifactError
from stateward.core.files import SavedFile
from stateward.core.machine import SOURCE_TYPE
from stateward.core.model import Fields, Json, Record
from stateward.core.view import document_name
from stateward.definition.display import ItemView, Where
from stateward.server.audit import note_read
from stateward.server.auth import Asked
from stateward.storage.audit import DOCUMENT_READ

PAGES_MAX = 60
PDF_TYPE = "application/pdf"
PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})


class PageText(msgspec.Struct, frozen=True):
    """A page of a document as the text that a stage made of it."""

    number: int
    text: str


class ShownFile(msgspec.Struct, frozen=True, kw_only=True):
    """A document or derived file to look at. `file` is "stage/name" of a derived one, "" for the document itself."""

    source: str
    save: str
    name: str
    content: Content
    file: str = ""
    pages: Sequence[PageText] = ()
    packed: Sequence[PackedFile] = ()

    @property
    def form(self) -> Form | str:
        """How it is shown: `pages` is text that a stage made of it, `packed` is what an archive holds."""
        if self.pages:
            return "pages"
        return "packed" if self.packed else self.content.form

    @property
    def is_shown(self) -> bool:
        """Whether there is something to look at."""
        return bool(self.pages or self.packed) or self.content.is_shown

    @property
    def kind(self) -> str:
        """What it is, in plain words; of what cannot be drawn, the ending of its name says it."""
        match self.content.form:
            case "pdf":
                return "PDF"
            case "image":
                return (
                    f"{self.content.media_type.partition('/')[2].partition('+')[0].upper()} picture"
                )
            case "text":
                return "text"
        suffix = PurePath(self.name).suffix.lstrip(".").upper()
        return f"{suffix} file" if suffix.isalnum() else "file"


async def note_shown(request: Asked, record: Record, shown: ShownFile | None) -> None:
    """Note that a document is read, where its text is a part of the page; any other is fetched, and noted then."""
    if shown is not None and shown.form in ("text", "pages", "packed"):
        await note_read(request, DOCUMENT_READ, record_id=record.id, file=shown.file)


class FileLink(msgspec.Struct, frozen=True, kw_only=True):
    """A derived file in the list of those that a record has."""

    path: str
    url: str
    size: int
    is_picture: bool
    is_shown: bool


def file_links(record: Record, files: Sequence[SavedFile]) -> list[FileLink]:
    """The derived files of a record, for people to open or save."""
    return [
        FileLink(
            path=each.path,
            url=_file_url(record, each),
            size=each.file.size,
            is_picture=each.file.media_type in PICTURE_TYPES,
            is_shown=_is_shown(each.file.media_type),
        )
        for each in files
    ]


def _is_shown(media_type: str) -> bool:
    shown = ("application/pdf", "application/json", "application/xml")
    return media_type in PICTURE_TYPES or media_type in shown or media_type.startswith("text/")


def pictures_of(record: Record, files: Sequence[SavedFile]) -> Mapping[str, str]:
    """Where each derived picture is, by its reference and by its path: what a value of an item may name."""
    found: dict[str, str] = {}
    for each in files:
        if each.file.media_type in PICTURE_TYPES:
            url = _file_url(record, each)
            found |= {each.file.reference: url, each.path: url}
    return found


def shown_file(app: App, record: Record, base: str, *, file: str = "") -> ShownFile | None:
    """What is shown of a record: its document, or a derived file; None where there is no document."""
    if file:
        return _derived_file(app, record, file)
    if fetched := _asked_for(app, record):
        return msgspec.structs.replace(_derived_file(app, record, fetched), file="")
    content = content_of(app, record)
    if content is None:
        return None
    source = f"{base}/records/{quote(record.id, safe='')}/content"
    is_drawn = content.form in ("pdf", "image")
    pages = [] if is_drawn else page_texts(app, record)
    if not content.is_shown and not pages and (path := _drawn_instead(app, record)):
        return _derived_file(app, record, path)
    return ShownFile(
        source=source,
        save=f"{source}?save=true",
        name=document_name(record),
        content=content,
        pages=pages,
        packed=[] if content.is_shown or pages else packed_files(content.path),
    )


def _asked_for(app: App, record: Record) -> str:
    """The derived file that is the document of a record which only asks for it; "" until it is there."""
    types = app.plugins.source_types(record.machine)
    own = types.get(str(record.labels.get(SOURCE_TYPE) or ""))
    if own is None or not own.document:
        return ""
    return next((each.path for each in app.records.files(record) if each.path == own.document), "")


def _drawn_instead(app: App, record: Record) -> str:
    """The derived PDF of a document that no browser draws, such as a TIFF; "" where there is none."""
    files = app.records.files(record)
    return next((each.path for each in files if each.file.media_type == PDF_TYPE), "")


def _derived_file(app: App, record: Record, path: str) -> ShownFile:
    found = app.records.file(record, path)
    url = _file_url(record, found)
    place = app.artifacts.path(found.file.sha256)
    content = shown_as(place, media_type=found.file.media_type)
    return ShownFile(source=url, save=url, name=found.file.name, content=content, file=path)


def _file_url(record: Record, saved: SavedFile) -> str:
    return f"/records/{quote(record.id, safe='')}/files/{saved.path}"


def content_of(app: App, record: Record) -> Content | None:
    """What a record's document is and how it can be shown; None where there is none."""
    if record.artifact is None:
        return None
    try:
        return shown_as(app.artifacts.path(record.artifact))
    except ArtifactError:
        return None


def page_texts(app: App, record: Record) -> list[PageText]:
    """The pages of a document as text, where its pipeline has a stage whose items they are."""
    stage = app.plugins.record_view(record.machine).pages
    if not stage or stage not in record.outputs:
        return []
    pages: list[PageText] = []
    for found in app.items(record.id, stage):
        number, text = found.get("number"), found.get("text")
        if isinstance(number, int) and isinstance(text, str) and len(pages) < PAGES_MAX:
            pages.append(PageText(number, text))
    return pages


def place_of(view: ItemView | None, item: Fields) -> Where | None:
    """Where an item comes from: at the key that its pipeline declares, or at the one that all use by default."""
    return Where.read(item.get("where")) if view is None else view.place(item)


def mark_of(mark_id: str, place: Where) -> dict[str, Json]:
    """A mark on what is shown, for `viewer.mjs`."""
    mark: dict[str, Json] = msgspec.to_builtins(place)
    return {"field": mark_id, **mark}
