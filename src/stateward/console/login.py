"""Signing in: with a key, or with a link that works once. Without keys it is not needed on this machine.

The cookie holds 256 random bits that mean nothing elsewhere; scripts cannot read it, and other sites' pages cannot
send it along with a change. A session ends with its key.
"""

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter

from stateward.app import App
from stateward.app.identity import new_token
from stateward.console.layout import html, redirect, set_session
from stateward.console.static_files import BASE
from stateward.core.model import SECOND, Fields
from stateward.server.auth import (
    ANYBODY,
    Asked,
    Caller,
    authenticate,
    caller_of,
    check_host,
    check_origin,
    service_of,
)
from stateward.server.problems import come_back
from stateward.server.service import Service
from stateward.server.throttle import address_of, network_of
from stateward.storage.audit import SIGN_IN_FAILED, SIGNED_IN, SIGNED_OUT, AuditEntry
from stateward.storage.keys import ApiKey

SESSION_S = 12 * 3600
TRIES_PER_MINUTE = 30

Next = Annotated[str, QueryParameter(name="next", max_length=4000, required=False)]


@get("/", opt={"right": ANYBODY}, include_in_schema=False)
async def root(request: Asked) -> Response[Any]:
    """The address of the service leads to its console."""
    return redirect(BASE)


@get("/login", opt={"right": ANYBODY})
async def login(request: Asked, after: Next = "") -> Response[Any]:
    """The form for a key."""
    return html("login.html", {"after": own_page(after), "message": ""})


@post("/login", opt={"right": ANYBODY}, status_code=200)
async def sign_in(request: Asked) -> Response[Any]:
    """With a key."""
    service = service_of(request)
    check_sender(request, service)
    form = await request.form()
    text, after = str(form.get("key", "")).strip(), own_page(str(form.get("next", "")))
    key = await authenticate(service, request, text, refused_as=SIGN_IN_FAILED)
    if key is None:
        message = "This key is unknown, expired or revoked."
        return html("login.html", {"after": after, "message": message}, status=401)
    return await _signed_in(request, service, key, after)


@get("/enter/{token:str}", opt={"right": ANYBODY})
async def link(request: Asked, token: FromPath[str]) -> Response[Any]:
    """What a link leads to: a button, so that a program that looks at links does not use it up."""
    return html("enter.html", {"token": token})


@post("/enter/{token:str}", opt={"right": ANYBODY}, status_code=200)
async def enter(request: Asked, token: FromPath[str]) -> Response[Any]:
    """With a link that works once."""
    service = service_of(request)
    check_sender(request, service)
    address = address_of(request, service.settings.api)

    def take(app: App) -> ApiKey | None:
        now = app.clock()
        key_id = app.sessions.take_link(token, now=now)
        found = None if key_id is None else app.keys.live(key_id, now=now)
        if found is None:
            detail: Fields = {"address": address, "by": "link"}
            app.audit.add(
                [AuditEntry(at=now, actor="anonymous", verb=SIGN_IN_FAILED, detail=detail)]
            )
        return found

    key = await service.writer.ask(take)
    if key is None:
        message = "This link was used already, or its time is up. Ask for a new one."
        return html("login.html", {"after": "", "message": message}, status=401)
    return await _signed_in(request, service, key, "")


@post("/logout", opt={"right": "read", "by_link": True}, status_code=200)
async def sign_out(request: Asked) -> Response[Any]:
    """End the session."""
    service, caller = service_of(request), caller_of(request)
    token = caller.session
    if token is not None:

        def end(app: App) -> None:
            app.sessions.end(token)
            app.audit.add([AuditEntry(at=app.clock(), actor=caller.actor, verb=SIGNED_OUT)])

        await service.writer.ask(end)
    answer: Response[Any] = Response(content=b"", headers={"HX-Redirect": f"{BASE}/login"})
    set_session(service, answer, "", lasts_s=0)
    return answer


def own_page(address: str) -> str:
    """A page of ours to go on to; whatever else was asked for is the board."""
    is_ours = address.startswith(f"{BASE}/") or address == BASE
    return address if is_ours and "\\" not in address and address.isprintable() else ""


def check_sender(request: Asked, service: Service) -> None:
    """No page of another site can sign a person in here, and attempts are limited."""
    check_origin(request, "pages of other sites may not sign in here")
    check_tries(request, service)


def check_tries(request: Asked, service: Service) -> None:
    """Who asks from one address may try some tokens a minute, and not more."""
    check_host(service, request.headers.get("host", ""))
    who = network_of(address_of(request, service.settings.api))
    if wait_s := service.rates.take(f"login {who}", per_minute=TRIES_PER_MINUTE):
        raise come_back(f"too many tries; come back in {wait_s:.0f} s", wait_s)


async def _signed_in(request: Asked, service: Service, key: ApiKey, after: str) -> Response[Any]:
    address = address_of(request, service.settings.api)

    def begin(app: App) -> str:
        token, now = new_token(), app.clock()
        app.sessions.begin(token, key_id=key.id, now=now, until=now + SESSION_S * SECOND)
        actor = Caller(key=key).actor
        app.audit.add(
            [AuditEntry(at=now, actor=actor, verb=SIGNED_IN, detail={"address": address})]
        )
        return token

    token = await service.writer.ask(begin)
    answer = redirect(after or BASE)
    set_session(service, answer, token, lasts_s=SESSION_S)
    return answer


HANDLERS: list[Any] = [login, sign_in, link, enter, sign_out]
