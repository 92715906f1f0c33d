"""Files that are given out: derived files of a record, and documents for the console to show.

Whatever the bytes are, a browser runs nothing of them: the content type is one of a short list, no browser may guess
another, and each answer is a sandbox without scripts, forms, plug-ins and the rights of this site.
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from litestar import Response
from litestar.response import Stream

from stateward import schemas
from stateward.app import App
from stateward.app.views import file_view
from stateward.core.files import SavedFile
from stateward.server import views
from stateward.server.audit import note_read
from stateward.server.auth import Asked, caller_of, get_visible_record, service_of
from stateward.server.headers import is_known
from stateward.storage.audit import DOCUMENT_READ
from stateward.storage.idempotency import Answer

BLOCK_BYTES = 256 * 1024
OCTETS = "application/octet-stream"
SVG, PDF = "image/svg+xml", "application/pdf"
# What a browser may be told; anything else is bytes. Of these, the first ones are shown and the others are saved.
SHOWN_TYPES = (
    "image/png", "image/jpeg", "image/gif", "image/webp", SVG, "text/plain", "text/csv", "application/json",
)  # fmt: skip
SAVED_TYPES = (
    PDF,  # the viewer of the console draws it; a browser's own reader runs what is in it
    "text/html", "text/xml", "application/xml", "application/zip", "application/x-ndjson", "image/tiff", "image/avif",
)  # fmt: skip
MEDIA_TYPES = (OCTETS, *SHOWN_TYPES, *SAVED_TYPES)
POLICY = "default-src 'none'; sandbox"
CAGE = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def list_files(request: Asked, record_id: str, *, machine: str | None) -> Answer:
    """The derived files of a record, by stage."""
    caller = caller_of(request)

    def look(app: App) -> Answer:
        record = get_visible_record(app, caller, record_id, machine=machine)
        items = [file_view(record.id, each) for each in app.records.files(record)]
        return views.json_answer(schemas.RecordFiles(record_id=record.id, items=items))

    return await service_of(request).broad.ask(look)


async def get_file(
    request: Asked, record_id: str, stage: str, name: str, *, machine: str | None, known: str | None
) -> Response[Any] | Stream:
    """The bytes of a derived file; 304 where the client has them."""
    service, caller = service_of(request), caller_of(request)

    def look(app: App) -> tuple[str, SavedFile]:
        record = get_visible_record(app, caller, record_id, machine=machine)
        return record.id, app.records.file(record, f"{stage}/{name}")

    of, saved = await service.quick.ask(look)
    file = saved.file
    headers = {"ETag": f'"{file.sha256}"', "Cache-Control": "no-store"}
    if is_known(known, file.sha256):
        return Response(content=None, status_code=304, headers=headers)
    await note_read(request, DOCUMENT_READ, record_id=of, file=saved.path)
    way = "inline" if file.media_type in SHOWN_TYPES else "attachment"
    # A name has letters, digits, dots, hyphens and underscores alone: it needs no quoting.
    headers["Content-Disposition"] = f'{way}; filename="{file.name}"'
    media_type = file.media_type if file.media_type in MEDIA_TYPES else OCTETS
    if media_type == SVG:  # it is styled from within; nothing else of it may act or be loaded
        headers["Content-Security-Policy"] = f"{POLICY}; style-src 'unsafe-inline'"
    # The viewer fetches a PDF to draw it, and may fetch from nowhere else.
    is_sent_away = way == "attachment" and media_type != PDF
    if is_sent_away and (link := await download_link(request, file.sha256)):
        return link
    # On a thread for transfers: the file may have to be fetched from object storage first.
    path = await service.upload_thread().ask(lambda app: app.artifacts.path(file.sha256))
    return sandboxed_stream(request, path, size=file.size, media_type=media_type, headers=headers)


async def download_link(request: Asked, digest: str) -> Response[Any] | None:
    """The way to where an artifact can be downloaded from without us; None where the settings want no such links.

    Only for what is saved: what a browser shows must come with our headers, which keep it from acting.
    """
    link = await service_of(request).upload_thread().ask(lambda app: app.artifacts.link(digest))
    if link is None:
        return None
    # The link itself is the permission, so no cache may hold it.
    return Response(
        content=None, status_code=307, headers={"Location": link, "Cache-Control": "no-store"}
    )


def sandboxed_stream(
    request: Asked, path: Path, *, size: int, media_type: str, headers: Mapping[str, str]
) -> Stream:
    """A file as an answer that a browser runs nothing of, read a block at a time by a thread of the service."""
    thread = service_of(request).upload_thread()

    async def blocks() -> AsyncIterator[bytes]:
        with path.open("rb") as handle:
            while block := await thread.ask(partial(_read, handle)):
                yield block

    return Stream(
        blocks(), media_type=media_type, headers={**CAGE, "Content-Length": str(size), **headers}
    )


def _read(handle: BinaryIO, _: App) -> bytes:
    return handle.read(BLOCK_BYTES)
