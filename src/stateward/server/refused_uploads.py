"""`/refused-uploads`: what a caller sent and was not accepted, with the reason, until it is dismissed."""

from typing import Any

from litestar import Response
from litestar.params import FromPath

from stateward import schemas
from stateward.app import App
from stateward.core.errors import UnknownName
from stateward.core.model import clean_text, to_iso
from stateward.server import route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.problems import Refusal
from stateward.server.service import Service
from stateward.storage.idempotency import Answer
from stateward.storage.refused_uploads import RefusedUpload

PREFIX = "RU"
UNNAMED = "(without a name)"
# What another try would change, or what is no fault of the document: these are not worth a line.
PASSING = frozenset({"timed-out", "unavailable", "too-many-requests", "in-progress", "duplicate"})


async def note_refusal(
    service: Service, caller: Caller, refusal: Refusal, *, name: str | None
) -> None:
    """Store that an upload was refused; what is refused in passing is not."""
    if refusal.kind.slug in PASSING or refusal.kind.status >= 500:
        return

    def note(app: App) -> None:
        refused = RefusedUpload(
            id=app.new_id(PREFIX),
            owner=caller.id,
            name=name or UNNAMED,
            problem=refusal.kind.slug,
            reason=refusal.detail,
            at=app.clock(),
        )
        app.refused_uploads.note(refused)

    await service.writer.ask(note)


@route.get(
    "/refused-uploads",
    "submit",
    "listRefusedUploads",
    "What you sent and was refused",
    tags=["records"],
)
async def refused_uploads(request: Asked) -> Response[schemas.RefusedUploads]:
    """The newest first, with the reason of each; they stay until they are dismissed."""
    owner = caller_of(request).id

    def look(app: App) -> Answer:
        items = [
            schemas.RefusedUpload(
                id=each.id,
                name=each.name,
                problem=each.problem,
                reason=each.reason,
                at=to_iso(each.at),
            )
            for each in app.refused_uploads.of(owner)
        ]
        return views.json_answer(schemas.RefusedUploads(items=items))

    return reply(await service_of(request).quick.ask(look))


@route.delete(
    "/refused-uploads/{refused_id:str}",
    "submit",
    "dismissRefusedUpload",
    "Dismiss a refused upload",
    status_code=204,
    tags=["records"],
)
async def dismiss(request: Asked, refused_id: FromPath[str]) -> None:
    """It is not shown any more."""
    owner = caller_of(request).id
    found = await service_of(request).writer.ask(
        lambda app: app.refused_uploads.dismiss(owner, refused_id)
    )
    if not found:
        raise UnknownName("refused upload", clean_text(refused_id, chars_max=80))


@route.delete(
    "/refused-uploads",
    "submit",
    "dismissRefusedUploads",
    "Dismiss all refused uploads",
    status_code=204,
    tags=["records"],
)
async def dismiss_all(request: Asked) -> None:
    """None of yours are shown any more."""
    owner = caller_of(request).id
    await service_of(request).writer.ask(lambda app: app.refused_uploads.dismiss(owner))


HANDLERS: list[Any] = [refused_uploads, dismiss, dismiss_all]
