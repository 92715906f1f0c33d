"""`/keys`: who may use the API and the console. A key's text is in the answer to its making and in no other.

Keys concern the whole installation, so a key that covers some pipelines only sees and makes none.
"""

from typing import Any

from litestar import Response
from litestar.params import FromPath, JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.key_views import key_view
from stateward.core.model import clean_text
from stateward.server import route, views
from stateward.server.administration import check_whole
from stateward.server.auth import Asked, Caller, caller_of, reply, service_of
from stateward.server.operations import reply_once, reply_read
from stateward.server.parameters import IdempotencyKey
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer

ID_CHARS_MAX = 120


@route.get("/keys", "admin", "listKeys", "List keys", tags=["service"])
async def list_(request: Asked) -> Response[schemas.KeyList]:
    """Without their secrets: who made them, what they may do, when they expire and were last used."""
    check_whole(request)

    def look(app: App, _: Caller) -> schemas.KeyList:
        now = app.clock()
        found = [key_view(each, now=now) for each in app.keys.all()]
        return schemas.KeyList(items=found)

    return await reply_read(request, look, is_quick=True)


@route.post("/keys", "admin", "createKey", "Create a key", status_code=201, tags=["service"])
async def create(
    request: Asked, data: JSONBody[schemas.KeyRequest], key: IdempotencyKey = None
) -> Response[schemas.KeyDocument]:
    """Keep its text: it is not shown again. The first key is made at the machine of the service."""
    check_whole(request)
    caller = caller_of(request)
    if caller.key is None:
        # From then on no one is let in without a key: a request that went astray would lock everybody out.
        raise Refusal(
            "forbidden", "the first key is made at the machine of the service: stateward key create"
        )

    def act(app: App) -> schemas.KeyDocument:
        made, text = app.admin.new_key(
            data.name,
            role=data.role,
            pipelines=data.pipelines,
            days=data.days,
            rate_per_minute=data.rate_per_minute,
            upload_bytes_max=data.upload_bytes_max,
            actor=caller.actor,
        )
        return key_view(made, now=app.clock(), text=text)

    def answer(_: App, made: schemas.KeyDocument) -> Answer:
        return views.json_answer(made, status=201, is_secret=True)

    return await reply_once(request, key, act, answer)


@route.delete("/keys/{key_id:str}", "admin", "revokeKey", "Revoke a key", tags=["service"])
async def revoke(request: Asked, key_id: FromPath[str]) -> Response[schemas.KeyRevoked]:
    """From the next request on."""
    check_whole(request)
    caller, named = caller_of(request), clean_text(key_id, chars_max=ID_CHARS_MAX)

    def act(app: App) -> Answer:
        was_open = app.admin.revoke_key(named, actor=caller.actor)
        return views.json_answer(schemas.KeyRevoked(id=named, was_open=was_open))

    return reply(await service_of(request).writer.ask(act))


def find_keys(app: App, caller: Caller, given: str) -> list[str]:
    """The keys whose ids begin so, for who may see keys."""
    is_let_in = caller.may("admin") and caller.covers_all
    return [each.id for each in app.keys.all() if is_let_in and each.id.startswith(given)]


HANDLERS: list[Any] = [list_, create, revoke]
