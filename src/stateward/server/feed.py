"""`/feed`: how far the change feed has come, and sending a part of it again, for administrators.

The feed carries every pipeline, so a key that covers some may not ask.
"""

from typing import Any

from litestar import Response
from litestar.params import JSONBody

from stateward import schemas
from stateward.app import App
from stateward.app.feed import feed_status, feed_view, replay_feed
from stateward.server import route, views
from stateward.server.administration import check_whole
from stateward.server.auth import Asked, caller_of, reply, service_of
from stateward.server.operations import reply_read
from stateward.server.parameters import IdempotencyKey


@route.get("/feed", "admin", "getFeed", "How far the change feed has come", tags=["service"])
async def status(request: Asked) -> Response[schemas.FeedDocument]:
    """Refused where the settings name no feed. The engine is not asked: only the process that sends must reach it."""
    check_whole(request)
    return await reply_read(request, lambda app, _: feed_view(app, feed_status(app)))


@route.post(
    "/feed/replay",
    "admin",
    "replayFeed",
    "Have everything from a transition on sent again",
    tags=["service"],
)
async def replay(
    request: Asked, data: JSONBody[schemas.FeedReplayRequest], key: IdempotencyKey = None
) -> Response[schemas.FeedDocument]:
    """Moves the cursor back; consumers see these events a second time, with the same ids.

    What is not sent yet cannot be skipped. Who asked for it is in the audit log. The key has no effect: a repetition
    sends them once more.
    """
    check_whole(request)
    del key  # consumers ignore repeated events by their ids
    actor = caller_of(request).actor

    def act(app: App) -> schemas.FeedDocument:
        return feed_view(app, replay_feed(app, data.seq, actor=actor))

    # It waits while a batch is being sent, and no other request may wait with it.
    return reply(views.json_answer(await service_of(request).aside("feed", act)))


HANDLERS: list[Any] = [status, replay]
