"""Who asks, and whether they may.

Every route says which right it needs (`opt={"right": …}`); the service does not start with one that does not say.
A session of an approver link is let into the few routes that also say `"by_link": True`, for its record alone.
Without any key the caller is the user of this machine, and only a loopback address is listened to; a page of
the web that a browser shows is not let in by that, whatever address it found. Nothing here logs a header.
"""

import base64
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from typing import Any, TypeAlias, TypeVar, get_args
from urllib.parse import urlsplit

import msgspec
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from stateward.app import App
from stateward.app.approver_links import LIVE
from stateward.core.errors import StatewardError, UnknownName
from stateward.core.model import PERSON, Fields, Record, clean_text
from stateward.server.executors import Condition
from stateward.server.extra_routes import ExtraRoutes
from stateward.server.listening import LOOPBACK, is_loopback
from stateward.server.plain_calls import whole_response
from stateward.server.problems import Refusal, come_back
from stateward.server.service import Service, shown_hash
from stateward.server.short_ids import SHORT_ID, complete_ids
from stateward.server.strict import CALLER, check_address_text, check_query
from stateward.server.throttle import account_of, address_of
from stateward.server.turns import Turns
from stateward.settings.server import ApiSettings
from stateward.storage.audit import KEY_REFUSED, AuditEntry
from stateward.storage.idempotency import Answer
from stateward.storage.keys import ApiKey, Right, roles_with
from stateward.storage.review_links import LINK_PREFIX

Asked = Request[Any, Any, State]

ANYBODY = "anybody"
OPTIONS = "OPTIONS"
RIGHTS = (ANYBODY, *get_args(Right))
LOCAL = "local"
READ = "read"
SESSION_COOKIE = "stateward_session"
CSRF_HEADER = "x-csrf-token"
# Asked by who watches the service; little is done for each.
PROBES = frozenset({"/healthz", "/readyz"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
KEY_CHARS = re.compile(r"[\x21-\x7e]{1,255}")
PORT_OF_HOST = re.compile(r":\d+$")
# A larger document is not taken in for who might be refused at its end.
ASSUMED_BYTES_MAX = 1 << 20
NO_KEY = ""
NO_KEY_HASH = shown_hash(NO_KEY)
KEY_OVER = "this key is unknown, expired or revoked"
FOREIGN_PAGE = "pages of other sites may not call this service without a key"
BEARER = 'Bearer realm="stateward"'
BASIC = 'Basic realm="stateward", charset="UTF-8"'

T = TypeVar("T")


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks: a key, or the user of this machine."""

    key: ApiKey | None
    session: str | None = None
    """The token by which a browser is signed in, if it is one."""
    record_id: str | None = None
    """The one record whose review an approver link lets its person see and answer; None: no link."""
    is_assumed: bool = False
    """Whether it was let in before, and the database is still to be asked: `still_let_in`, `confirm_caller`."""

    @property
    def id(self) -> str:
        """What tells callers apart."""
        return LOCAL if self.key is None else self.key.id

    @property
    def actor(self) -> str:
        """Who it is in the history."""
        return (
            f"{PERSON}anonymous@{LOCAL}"
            if self.key is None
            else f"{PERSON}{self.key.name}@{self.key.id}"
        )

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines that the caller may see; none means all."""
        return () if self.key is None else self.key.pipelines

    def covers(self, machine: str) -> bool:
        """Whether the caller may see a machine's records."""
        return not self.machines or machine in self.machines

    @property
    def covers_all(self) -> bool:
        """Whether no pipeline is hidden from the caller; what concerns the installation is for those alone."""
        return not self.machines

    def may(self, right: Right) -> bool:
        """Whether the caller has a right; the user of this machine has all."""
        return self.key is None or self.key.may(right)


ReadAhead: TypeAlias = Callable[[App, Caller], None]


def service_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Service:
    """The service of this application."""
    service: Service = connection.app.state.service
    return service


def caller_of(request: Asked) -> Caller:
    """Who asks; `guard` found it out."""
    caller: Caller = request.scope["state"][CALLER]
    return caller


def read_ahead(request: Asked) -> Any:  # noqa: ANN401 - what the `reads` of the route gives
    """What was read together with the caller, once; None if nothing was."""
    return request.scope["state"].pop(READ, None)


def line_of(service: Service, extra: ExtraRoutes | None, scope: Scope) -> Turns | None:
    """Where a request waits for its turn; None if it goes first: it shows what was let in before, or asks for health.

    Pages, and what they load for everybody, have a line of their own: a client that calls the API for the first time
    does not stand behind them. Where no key is needed only those wait.
    """
    if scope["path"] in PROBES:
        return None
    line = (
        service.page_turns if extra is not None and extra.covers(scope["path"]) else service.turns
    )
    headers = dict(
        scope["headers"]
    )  # an object of Litestar around them would cost more than all of this
    if (shown := headers.get(b"authorization")) is not None:
        text = _shown_key(shown.decode("latin-1"), is_basic_taken=True) or NO_KEY
        is_known = text != NO_KEY and shown_hash(text) in service.known_keys
    elif b"cookie" in headers and (token := _session_token(service, scope)):
        is_known = shown_hash(token) in service.known_sessions
    else:
        is_known = line is service.turns and NO_KEY_HASH in service.known_keys
    return None if is_known else line


def _session_token(service: Service, scope: Scope) -> str | None:
    cookies = ASGIConnection[Any, Any, Any, Any](scope).cookies
    return cookies.get(session_cookie(service.settings.api))


async def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Let a request in, or refuse it."""
    service = service_of(connection)
    method = connection.scope.get("method", "")
    if method == OPTIONS:
        raise OptionsAsked(_methods(connection))
    check_address_text(connection)
    if handler.opt["right"] == ANYBODY:
        check_query(connection, handler)
        # What is for everybody has one address: the router finds `//healthz` and `/healthz/`, and a proxy may not.
        path = connection.scope["raw_path"]
        if b"//" in path or (path.endswith(b"/") and path != b"/"):
            raise Refusal("not-found", "there is nothing at this address; see /openapi.json")
        return
    right: Right = handler.opt["right"]
    check_host(service, connection.headers.get("host", ""))
    is_for_eyes = right == "observe" and method == "GET"
    caller = await _caller(
        service,
        connection,
        is_basic_taken=is_for_eyes,
        ahead=_ahead(service, connection, handler, right),
        is_assumed=_is_assumed(connection, handler),
    )
    connection.scope["state"][CALLER] = caller
    try:
        own_rate = None if caller.key is None else caller.key.rate_per_minute
        if wait_s := service.rates.take(caller.id, per_minute=own_rate):
            sentence = f"the rate of this key is used up; come back in {wait_s:.1f} s"
            raise come_back(sentence, wait_s)
        if caller.record_id is not None:
            _check_limits(connection, handler, caller.record_id)
        elif caller.key is not None and not caller.is_assumed:
            service.used(caller.key.id)
        _check_right(caller, right)
        check_query(
            connection, handler
        )  # strangers and other roles are not told what a route knows
    except Refusal:
        await confirm_caller(connection)
        raise
    if caller.record_id is None and connection.path_params:
        await complete_ids(service, connection, connection.app.state.short_ids, caller)


def _check_right(caller: Caller, right: Right) -> None:
    if caller.key is not None and not caller.key.may(right):
        raise Refusal(
            "forbidden",
            f"a key with the role {caller.key.role} may not do that ({right}); it needs the role "
            f"{roles_with(right)}",
        )


def _check_limits(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler, record_id: str
) -> None:
    """A link opens the routes that say so (`opt={"by_link": True}`), and of the records its own alone."""
    target = connection.path_params.get("record_id", record_id)
    if not handler.opt.get("by_link") or target != record_id:
        raise Refusal("forbidden", "this link is for one review, and for nothing else")


class OptionsAsked(Exception):
    """An OPTIONS request. Litestar's own answer forgets some."""

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__(methods)
        self.methods = methods


def _methods(connection: ASGIConnection[Any, Any, Any, Any]) -> list[str]:
    template = connection.scope.get("path_template")
    found = {
        method
        for route in connection.app.routes
        if getattr(route, "path_format", None) == template
        for method in getattr(route, "methods", ())
    }
    heads = {"HEAD"} if "GET" in found else set()
    return sorted({*found, *heads, OPTIONS})


def check_host(service: Service, host: str) -> None:
    """Refuse a name that is not ours: a page of the web may have had it point here."""
    own = service.settings.api
    is_local = is_loopback(own.host)
    if not is_local and not own.hosts:
        return  # there is no access without a key
    name = PORT_OF_HOST.sub("", host)
    if name not in LOOPBACK and name.lower() not in {
        *LOOPBACK,
        own.host.lower(),
        *(each.lower() for each in own.hosts),
    }:
        raise Refusal(
            "wrong-host",
            f"this service is not called {clean_text(name, chars_max=80)!r}; add it to api.hosts",
        )


def _ahead(
    service: Service,
    connection: ASGIConnection[Any, Any, Any, Any],
    handler: BaseRouteHandler,
    right: Right,
) -> ReadAhead:
    """What the thread that finds the caller may read in the same go, so that the route need not ask it again.

    A route has it as `opt={"reads": …}` and takes it with `read_ahead`. Nothing is read for who has no right to it or
    no request left, in place of a wait, or for an id that is still to be completed; who is refused is told nothing.
    """
    read = handler.opt.get("reads")
    if (
        read is None
        or connection.scope.get("query_string")
        or any(SHORT_ID.fullmatch(str(each)) for each in connection.path_params.values())
    ):
        return _no_read

    def ahead(app: App, caller: Caller) -> None:
        if caller.record_id is None and caller.may(right) and service.rates.has_left(caller.id):
            try:
                connection.scope["state"][READ] = read(app, caller, connection)
            except StatewardError:
                return  # the route finds out again, when it is its turn to say so

    return ahead


def _no_read(app: App, caller: Caller) -> None:
    """Most routes read when they are called."""


def _is_assumed(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> bool:
    """Whether who was let in before may begin: a route that asks again where it writes, and a small request.

    Not with a header that is refused before the route has its say: the refusal would come before the question.
    """
    announced = connection.headers.get("content-length", "")
    return (
        bool(handler.opt.get("rechecks"))
        and announced.isdecimal()
        and int(announced) <= ASSUMED_BYTES_MAX
        and bool(KEY_CHARS.fullmatch(connection.headers.get("idempotency-key", "none")))
    )


async def confirm_caller(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Ask the database now whether a caller who was let in before still is; raises as for any other request.

    Before any other refusal: who is not let in any more is told nothing else, and has not used the key.
    """
    assumed: Caller = connection.scope["state"][CALLER]
    if not assumed.is_assumed:
        return
    service = service_of(connection)
    service.known_keys.clear()
    await _caller(service, connection, is_basic_taken=False, ahead=_no_read, is_assumed=False)
    if assumed.key is not None:
        service.used(assumed.key.id)


def still_let_in(service: Service, caller: Caller) -> Condition | None:
    """That a caller who was let in before still is, found out in the transaction in which something is written."""
    if not caller.is_assumed:
        return None
    key = caller.key

    def ask(app: App) -> Callable[[], None]:
        live = None if key is None else app.keys.ask_live(key.id, now=app.clock())
        any_exist = app.keys.ask_any_exist() if key is None else None

        def check() -> None:
            if (any_exist is not None and any_exist()) or (live is not None and live() is None):
                raise Refusal("unauthenticated", KEY_OVER, headers={"WWW-Authenticate": BEARER})
            if key is not None:
                service.used(key.id)

        return check

    return Condition(caller.id, ask)


async def _caller(
    service: Service,
    connection: ASGIConnection[Any, Any, Any, Any],
    *,
    is_basic_taken: bool,
    ahead: ReadAhead,
    is_assumed: bool,
) -> Caller:
    text = _shown_key(connection.headers.get("authorization"), is_basic_taken=is_basic_taken)
    challenge = {"WWW-Authenticate": f"{BEARER}, {BASIC}" if is_basic_taken else BEARER}
    if text is not None:
        key = await authenticate(service, connection, text, ahead=ahead, is_assumed=is_assumed)
        if key is None:
            raise Refusal("unauthenticated", KEY_OVER, headers=challenge)
        return Caller(key=key, is_assumed=is_assumed)
    token = connection.cookies.get(session_cookie(service.settings.api))
    if token:
        signed_in = await service.quick.ask(lambda app: _signed_in(app, token))
        if signed_in is not None:
            service.remember_session(token)
            _check_form(connection, csrf_token(token))
            return signed_in
        service.known_sessions.discard(shown_hash(token))
    is_local = is_loopback(service.settings.api.host)
    was_open = is_assumed and NO_KEY_HASH in service.known_keys
    if not was_open and await service.quick.ask(
        lambda app: _is_key_needed(
            app, ahead if is_local else _no_read, was_open=NO_KEY_HASH in service.known_keys
        )
    ):
        service.known_keys.pop(NO_KEY_HASH, None)
        raise Refusal(
            "unauthenticated",
            "a key is needed: send it as `Authorization: Bearer sw_…`",
            headers=challenge,
        )
    if not is_local:
        raise Refusal(
            "unauthenticated", "there is no key yet: stateward key create", headers=challenge
        )
    check_origin(connection)
    if not was_open:
        service.remember_key(NO_KEY, None)
    return Caller(key=None, is_assumed=is_assumed)


def _is_key_needed(app: App, ahead: ReadAhead, *, was_open: bool) -> bool:
    """Whether there are keys; without one the user of this machine asks.

    Where none was needed before, what is read for the route travels together with the question: who is refused then
    is not told what was read.
    """
    is_needed = app.keys.ask_any_exist()
    if was_open or not is_needed():
        ahead(app, Caller(key=None))
    return is_needed()


async def authenticate(
    service: Service,
    connection: ASGIConnection[Any, Any, Any, Any],
    shown: str,
    *,
    refused_as: str = KEY_REFUSED,
    ahead: ReadAhead = _no_read,
    is_assumed: bool = False,
) -> ApiKey | None:
    """The key that was shown, if it is one. Who has been wrong too often must wait before the next is looked at.

    Of keys that programs show again and again, the first refusal is noted; a failed sign-in is one each time.
    `is_assumed`: one that was let in before is not looked up again.
    """
    address = address_of(connection, service.settings.api)
    if wait_s := service.failures.wait_s(address, shown):
        raise too_often(wait_s)
    known = service.known_keys.get(shown_hash(shown)) if shown else None
    if is_assumed and known is not None:
        return known

    def look(app: App) -> ApiKey | None:
        answer = app.keys.ask_authenticate(shown, now=app.clock())
        # As in `_is_key_needed`: of a key that was let in before, both are read in one go.
        if (caller := known or answer()) is not None:
            ahead(app, Caller(key=caller))
        return answer()

    key = await service.quick.ask(look)
    if key is not None:
        service.failures.clear(address, shown)
        service.remember_key(shown, key)
        return key
    if shown:  # nothing shown is the mark of a service without keys
        service.known_keys.pop(shown_hash(shown), None)
    is_first, wait_s = service.failures.add(address, shown)
    if is_first or wait_s or refused_as != KEY_REFUSED:
        detail: Fields = {"address": address, "key_id": account_of(shown), "is_held_up": wait_s > 0}
        service.log.warning(f"a key was refused that {address} showed", **detail)
        with suppress(StatewardError):  # a database that is away must not change the answer
            await service.writer.ask(
                lambda app: app.audit.add(
                    [AuditEntry(at=app.clock(), actor="anonymous", verb=refused_as, detail=detail)]
                )
            )
    if wait_s:
        raise too_often(wait_s)
    return None


def too_often(wait_s: float) -> Refusal:
    """The answer to who tries too many keys."""
    return come_back(f"too many keys from here were wrong; come back in {wait_s:.0f} s", wait_s)


def session_cookie(settings: ApiSettings) -> str:
    """The name of the cookie. With TLS a browser takes this name from this host alone, whole and secure."""
    is_secure = settings.tls_certificate is not None or settings.behind_tls_proxy
    return f"__Host-{SESSION_COOKIE}" if is_secure else SESSION_COOKIE


def _signed_in(app: App, token: str) -> Caller | None:
    key_id = app.sessions.key_of(token, now=app.clock())
    if key_id is None:
        return None
    if key_id.startswith(LINK_PREFIX):
        return _by_link(app, key_id, token)
    key = app.keys.live(key_id, now=app.clock())
    return None if key is None else Caller(key=key, session=token)


def _by_link(app: App, link_id: str, token: str) -> Caller | None:
    """The person of an approver link, as a reviewer of one record; `Refusal` if the link is over."""
    link = app.approver_links.get(link_id)
    if link is None:
        return None
    state = app.approver_links.state(link)
    if state not in LIVE:
        raise Refusal("link-over", app.approver_links.why_over(link, state))
    reviewer = ApiKey(
        id=link.id,
        name=link.person,
        role="reviewer",
        pipelines=(link.machine,),
        created_at=link.created_at,
        created_by=link.created_by,
        expires_at=link.expires_at,
    )
    return Caller(key=reviewer, session=token, record_id=link.record_id)


def is_let_in(app: App, caller: Caller) -> bool:
    """Whether a caller who was let in before still would be: what an answer without an end asks as it goes on."""
    if caller.key is None:
        return not app.keys.any_exist()
    if caller.session is not None:
        return _signed_in(app, caller.session) is not None
    return app.keys.live(caller.key.id, now=app.clock()) is not None


def csrf_token(secret: str) -> str:
    """What a page of ours must send along with a change: another site's page cannot know it."""
    return sha256(f"csrf {secret}".encode()).hexdigest()


def _check_form(connection: ASGIConnection[Any, Any, Any, Any], expected: str) -> None:
    """A browser sends its cookie for a page of any site: a change must show that the page is ours."""
    if connection.scope.get("method", "") in SAFE_METHODS:
        return
    if not compare_digest(connection.headers.get(CSRF_HEADER, ""), expected):
        raise Refusal("forbidden", "this page is not ours, or it is old: load it again")
    check_origin(connection)


def _shown_key(header: str | None, *, is_basic_taken: bool) -> str | None:
    """The key that a request shows; None if it shows none, "" if what it shows is none."""
    if header is None:
        return None
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic" and is_basic_taken:
        try:
            return base64.b64decode(rest, validate=True).decode().partition(":")[2]
        except ValueError:  # no base64, no UTF-8, or no ASCII at all
            return ""
    return ""


def check_origin(connection: ASGIConnection[Any, Any, Any, Any], said: str = FOREIGN_PAGE) -> None:
    """A browser must not carry in what another site's page wants."""
    headers = connection.headers
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    host = headers.get("host", "")
    is_foreign = origin is not None and not _is_own_origin(connection, origin, host)
    if is_foreign or site not in ("none", "same-origin"):
        raise Refusal("forbidden", said)


def _is_own_origin(connection: ASGIConnection[Any, Any, Any, Any], origin: str, host: str) -> bool:
    """Whether a page is of this host. With TLS, one that came without it may be anybody's."""
    try:
        sent_from = urlsplit(origin)
    except ValueError:  # it has brackets of an IPv6 address that are none
        return False
    is_secure = session_cookie(service_of(connection).settings.api) != SESSION_COOKIE
    return sent_from.netloc == host and (sent_from.scheme == "https" or not is_secure)


# Records that the caller may see


def get_visible_record(
    app: App, caller: Caller, record_id: str, *, machine: str | None = None
) -> Record:
    """A record, if the caller may see it; otherwise there is none."""
    record = app.store.get(record_id)
    is_there = record is not None and caller.covers(record.machine)
    if record is None or not is_there or machine not in (None, record.machine):
        raise UnknownName("record", clean_text(record_id, chars_max=80))
    return record


def own_machine(app: App, caller: Caller, name: str) -> str:
    """A machine that the caller may use."""
    if name not in app.registry.newest or not caller.covers(name):
        known = [each for each in app.registry.newest if caller.covers(each)]
        raise UnknownName("pipeline", clean_text(name, chars_max=80), known)
    return name


def reply(answer: Answer) -> Response[Any]:
    """An answer as Litestar sends it."""
    return whole_response(answer)
