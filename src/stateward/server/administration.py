"""`/doctor` and `/verify`: what an operator asks of the whole installation, for those who may see all of it."""

from typing import Any

from litestar import Response
from litestar.params import JSONBody

from stateward import schemas
from stateward.app.doctor import checks
from stateward.app.views import diagnosis_view, verification_view
from stateward.proofs.history_checkpoint import read_checkpoint
from stateward.server import route, views
from stateward.server.auth import Asked, caller_of, reply, service_of
from stateward.server.operations import reply_read
from stateward.server.parameters import IdempotencyKey
from stateward.server.problems import Refusal


@route.get(
    "/doctor",
    "observe",
    "getDiagnosis",
    "Look for what is wrong with the installation",
    tags=["service"],
)
async def doctor(request: Asked) -> Response[schemas.Diagnosis]:
    """Every check with what was found, and what to do about it."""
    check_whole(request)
    return await reply_read(request, lambda app, _: diagnosis_view(checks(app)))


@route.get(
    "/verify",
    "observe",
    "verifyHistory",
    "Replay the whole history and check it against the records",
    tags=["service"],
)
async def verify(request: Asked) -> Response[schemas.Verification]:
    """Takes as long as the history is; other requests are answered meanwhile."""
    check_whole(request)
    verdict = await service_of(request).aside("verify", lambda app: app.admin.verify())
    document = verification_view(verdict)
    return reply(views.json_answer(document))


@route.post(
    "/verify",
    "observe",
    "verifyHistoryAgainst",
    "The same, also against a checkpoint that was kept elsewhere",
    tags=["service"],
)
async def verify_against(
    request: Asked, data: JSONBody[schemas.VerificationRequest], key: IdempotencyKey = None
) -> Response[schemas.Verification]:
    """The history must have come past the checkpoint: what it covers was neither rewritten nor cut off.

    It changes nothing, so that the key has no effect.
    """
    check_whole(request)
    kept = read_checkpoint(data.checkpoint)
    verdict = await service_of(request).aside("verify", lambda app: app.admin.verify(kept=kept))
    return reply(views.json_answer(verification_view(verdict)))


def check_whole(request: Asked) -> None:
    """Refuse a key that covers some pipelines only what concerns all of them."""
    if not caller_of(request).covers_all:
        raise Refusal("forbidden", "this key covers some pipelines only, and this concerns all")


HANDLERS: list[Any] = [doctor, verify, verify_against]
