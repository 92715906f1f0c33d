"""`/reviews/{id}/links`: links that let a named person decide one review.

A link's address is in the answer to its making and in no other.
"""

from typing import Any

from litestar import Response
from litestar.params import FromPath, JSONBody
from msgspec.structs import replace

from stateward import schemas
from stateward.app import App
from stateward.app.approver_links import link_url
from stateward.core.model import clean_text
from stateward.server import route, views
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.operations import reply_once, reply_read
from stateward.server.parameters import IdempotencyKey
from stateward.storage.idempotency import Answer

ID_CHARS_MAX = 120


@route.post(
    "/reviews/{record_id:str}/links",
    "review",
    "createReviewLink",
    "Create a link that lets a named person decide a review",
    status_code=201,
    tags=["reviews"],
)
async def create(
    request: Asked,
    record_id: FromPath[str],
    data: JSONBody[schemas.ReviewLinkRequest],
    key: IdempotencyKey = None,
) -> Response[schemas.ReviewLink]:
    """Keep its address: it is not shown again. The caller's own claim on the review ends with it.

    To a review that needs several approvals, or of a document that the caller submitted, only an administrator makes
    one.
    """
    service, caller = service_of(request), caller_of(request)

    def act(app: App) -> schemas.ReviewLink:
        made, text = app.approver_links.create(
            record_id,
            data.person,
            hours=data.hours,
            actor=caller.actor,
            key_id="" if caller.key is None else caller.key.id,
            machines=caller.machines,
            is_administrator=caller.may("admin"),
        )
        url = link_url(service.settings, text, host=request.headers.get("host"))
        return replace(app.approver_links.view(made), url=url)

    def answer(_: App, made: schemas.ReviewLink) -> Answer:
        return views.json_answer(made, status=201, is_secret=True)

    return await reply_once(request, key, act, answer)


@route.get(
    "/reviews/{record_id:str}/links",
    "review",
    "listReviewLinks",
    "List the links to a review",
    tags=["reviews"],
)
async def list_(request: Asked, record_id: FromPath[str]) -> Response[schemas.ReviewLinkList]:
    """For whom, by whom, until when, and what became of each."""

    def look(app: App, caller: Caller) -> schemas.ReviewLinkList:
        own = app.approver_links
        found = [own.view(each) for each in own.of(record_id, machines=caller.machines)]
        return schemas.ReviewLinkList(items=found)

    return await reply_read(request, look)


@route.delete(
    "/reviews/{record_id:str}/links/{link_id:str}",
    "review",
    "revokeReviewLink",
    "Revoke a link to a review",
    tags=["reviews"],
)
async def revoke(
    request: Asked, record_id: FromPath[str], link_id: FromPath[str]
) -> Response[schemas.ReviewLinkRevoked]:
    """From the next request on, also where it is open in a browser. A decision that was made by it stays."""
    caller, named = caller_of(request), clean_text(link_id, chars_max=ID_CHARS_MAX)

    def act(app: App) -> Answer:
        was_open = app.approver_links.revoke(
            record_id, named, actor=caller.actor, machines=caller.machines
        )
        return views.json_answer(schemas.ReviewLinkRevoked(id=named, was_open=was_open))

    return reply(await service_of(request).writer.ask(act))


HANDLERS: list[Any] = [create, list_, revoke]
