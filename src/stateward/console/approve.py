"""Opening an approver link: it becomes a session that sees one review, in the first browser that opens it.

As with a link that signs in, looking at the address uses nothing up, and attempts are limited.
"""

from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from stateward.app import App
from stateward.app.approver_links import LIVE, SAID
from stateward.app.identity import new_token
from stateward.console.layout import html, redirect, set_session
from stateward.console.login import check_sender, check_tries
from stateward.console.static_files import BASE
from stateward.core.model import SECOND, Micros, to_iso
from stateward.server.auth import ANYBODY, Asked, service_of, session_cookie
from stateward.server.problems import Refusal
from stateward.server.throttle import address_of
from stateward.storage.review_links import ReviewLink

# For so long after its end a session still says that its link has expired, instead of asking for a key.
SAID_AFTER: Micros = 86_400 * SECOND


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The session that a link became; `token` is None where this browser has it already."""

    link: ReviewLink
    now: Micros
    token: str | None


@get("/approve/{token:str}", opt={"right": ANYBODY})
async def look(request: Asked, token: FromPath[str]) -> Response[Any]:
    """What a link leads to: a button, so that a program that looks at links does not use it up."""
    service = service_of(request)
    check_tries(request, service)
    try:
        link = await service.quick.ask(lambda app: live_link(app, token))
    except Refusal as refusal:
        await _note_refusal(request, token, refusal)
        raise
    facts = {"token": token, "person": link.person, "until": to_iso(link.expires_at)}
    return html("approve.html", facts)


@post("/approve/{token:str}", opt={"right": ANYBODY}, status_code=200)
async def enter(request: Asked, token: FromPath[str]) -> Response[Any]:
    """Begin the session of a link, or go on with it in the browser that has it."""
    service = service_of(request)
    check_sender(request, service)
    present = request.cookies.get(session_cookie(service.settings.api), "")
    address = address_of(request, service.settings.api)
    try:
        opened = await service.writer.ask(
            lambda app: open_link(app, token, present=present, address=address)
        )
    except Refusal as refusal:
        await _note_refusal(request, token, refusal)
        raise
    answer = redirect(f"{BASE}/review/{opened.link.record_id}")
    if opened.token is None:
        return answer
    lasts_s = (opened.link.expires_at + SAID_AFTER - opened.now) // SECOND
    set_session(service, answer, opened.token, lasts_s=lasts_s)
    return answer


async def _note_refusal(request: Asked, text: str, refusal: Refusal) -> None:
    """In the audit log, for who looks for links that were passed on or guessed; `check_tries` limits how many."""
    service, reason = service_of(request), str(refusal)
    address = address_of(request, service.settings.api)

    def note(app: App) -> None:
        link = app.approver_links.authenticate(text)
        app.approver_links.note_refusal(link, reason=reason, address=address)

    await service.writer.ask(note)


def live_link(app: App, text: str) -> ReviewLink:
    """The link that this text is; refused if it is none, or over."""
    link = app.approver_links.authenticate(text)
    if link is None:
        raise Refusal("not-found", "there is no such link; ask who sent it for a new one")
    state = app.approver_links.state(link)
    if state not in LIVE:
        raise Refusal("link-over", app.approver_links.why_over(link, state))
    return link


def open_link(app: App, text: str, *, present: str, address: str) -> Opened:
    """Begin the session of a link. `present` is the session that the browser has, if any."""
    link, now = live_link(app, text), app.clock()
    if present and app.sessions.key_of(present, now=now) == link.id:
        return Opened(link=link, now=now, token=None)
    if not app.approver_links.open(link, address=address):
        raise Refusal("link-over", SAID["opened"])
    token = new_token()
    app.sessions.begin(token, key_id=link.id, now=now, until=link.expires_at + SAID_AFTER)
    return Opened(link=link, now=now, token=token)


HANDLERS: list[Any] = [look, enter]
