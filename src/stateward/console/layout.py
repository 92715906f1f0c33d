"""How a page is made: templates that escape everything, the headers that keep it harmless, what all pages share.

The content policy allows nothing inline and nothing from elsewhere. A change must bring the token that only our
own pages know, also without a session.
"""

import asyncio
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath
from markupsafe import Markup, escape

from stateward import __version__
from stateward.app.identity import new_token
from stateward.console.badges import Badges, badges
from stateward.console.static_files import BASE, static_base
from stateward.core.model import SECOND, Fields, Micros, clean_text, plain_actor, plural, to_iso
from stateward.core.query import quote_text
from stateward.schemas import REASON_CHARS_MAX
from stateward.server.asgi import refusal_for
from stateward.server.auth import (
    ANYBODY,
    CSRF_HEADER,
    SAFE_METHODS,
    Asked,
    Caller,
    caller_of,
    csrf_token,
    service_of,
    session_cookie,
)
from stateward.server.problems import Refusal
from stateward.server.service import Service
from stateward.storage.idempotency import Answer

HTML = "text/html"
BADGES_FRESH_S = 2.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "font-src 'self'; worker-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NAVIGATION = (
    ("board", "Board", ""),
    ("records", "Records", "/records"),
    ("errors", "Errors", "/errors"),
    ("review", "Review", "/review"),
    ("flags", "Flagged", "/flags"),
    ("ledger", "Ledger", "/ledger"),
    ("operations", "Operations", "/operations"),
)
MINUTE, HOUR, DAY = 60, 3600, 86_400
KIB = 1024
REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
# HL7 ends lines with it, and a browser would show a space. As many characters as before: places hold.
LONE_RETURN = re.compile(r"\r(?!\n)")
PATH_CHARS_SHOWN = 120
LOCAL_KEY_FILE = "console.key"


class Console:
    """What the pages of one process share; it lives on the event loop."""

    def __init__(self, token: str) -> None:
        self.local_token = csrf_token(token)
        self.tasks: set[asyncio.Task[None]] = set()
        self._badges: dict[tuple[str, ...], tuple[float, Badges]] = {}

    async def badges(self, service: Service, caller: Caller) -> Badges:
        """What waits for a person, not older than a moment."""
        kept = self._badges.get(caller.machines)
        if kept is not None and time.monotonic() - kept[0] < BADGES_FRESH_S:
            return kept[1]
        found = await service.broad.ask(lambda app: badges(app, caller))
        self._badges[caller.machines] = time.monotonic(), found
        return found

    def forget_badges(self) -> None:
        """They changed just now."""
        self._badges.clear()


def console_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Console:
    """What the pages of this process share."""
    state = connection.app.state
    if "console" not in state:
        state.console = Console(local_secret(service_of(connection).settings.data_path))
    console: Console = state.console
    return console


def local_secret(folder: Path) -> str:
    """The secret behind the token of pages without a session.

    It is one for a data folder, so that a restart of the service leaves open pages working; where it cannot be
    stored, it is one for this process.
    """
    file = folder / LOCAL_KEY_FILE
    with suppress(OSError):
        with suppress(FileExistsError):
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as writing:
                writing.write(new_token())
        if found := file.read_text("ascii").strip():
            return found
    return new_token()


# Who may


async def check_page(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """A change from a page without a session must show that the page is ours, too."""
    is_change = connection.scope.get("method", "") not in SAFE_METHODS
    if not is_change or handler.opt["right"] == ANYBODY:
        return
    caller: Caller = connection.scope["state"]["caller"]
    if connection.headers.get(CSRF_HEADER) != token_for(connection, caller):
        raise Refusal("forbidden", "this page is not ours, or it is old: load it again")


def token_for(connection: ASGIConnection[Any, Any, Any, Any], caller: Caller) -> str:
    """The token that the pages of a caller carry."""
    if caller.session is not None:
        return csrf_token(caller.session)
    return console_of(connection).local_token


# Rendering


@cache
def environment() -> Environment:
    """The templates, with the few filters that they use."""
    made = Environment(
        loader=PackageLoader("stateward.console"),
        autoescape=True,
        finalize=in_order,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "when": when,
        "lasted": duration_text,
        "number": lambda value: f"{value:,}",
        "plural": plural,
        "size": size,
        "plain": plain_actor,
        "verbatim": verbatim,
        "line_ends": lambda text: LONE_RETURN.sub("\n", text),
        "words": lambda name: str(name).replace("_", " "),
        "shown": value_text,
        "cell": lambda row, column: column.text(row),
        "hint": lambda row, column: column.hint(row),
        "json": lambda value: msgspec.json.encode(value).decode(),
        "quoted": quote_value,
        "path": lambda text: quote(str(text), safe=""),
    }
    made.tests["is_told"] = is_told
    made.globals |= {"base": BASE, "static": static_base(), "version": __version__}
    return made


async def page(
    request: Asked, template: str, facts: Mapping[str, Any], *, here: str, status: int = 200
) -> Response[bytes]:
    """A whole page with its frame."""
    service, caller = service_of(request), caller_of(request)
    frame = {
        "here": here,
        "navigation": NAVIGATION,
        "badges": await _numbers(request),
        "caller": caller,
        "csrf": token_for(request, caller),
        "profile": service.settings.profile,
    }
    return html(template, {**frame, **facts}, status=status)


@get("/badges", opt={"right": "read"})
async def badges_now(request: Asked) -> Response[bytes]:
    """The numbers in the menu, for pages that stay open."""
    body = msgspec.json.encode(await _numbers(request))
    return Response(content=body, media_type="application/json", headers=HEADERS)


async def _numbers(request: Asked) -> dict[str, int]:
    """What waits, by the name of the page in the menu."""
    waiting = await console_of(request).badges(service_of(request), caller_of(request))
    return {"errors": waiting.errors, "review": waiting.reviews, "flags": waiting.flags}


@get("/{rest:path}", opt={"right": "read"})
async def unknown_page(rest: FromPath[Path]) -> Response[bytes]:
    """An address of the console that leads nowhere: said by a page, as everything else is."""
    shown_path = clean_text(str(rest), chars_max=PATH_CHARS_SHOWN)
    raise Refusal("not-found", f"the console has no page {shown_path}")


def fragment(request: Asked, template: str, facts: Mapping[str, Any]) -> Response[bytes]:
    """A piece of a page."""
    return html(template, {"caller": caller_of(request), **facts})


def html(
    template: str,
    facts: Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response[bytes]:
    """A rendered template with the headers that all pages have."""
    body = environment().get_template(template).render(facts).encode()
    return Response(
        content=body, status_code=status, media_type=HTML, headers={**HEADERS, **(headers or {})}
    )


# Refusals


def error_page(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Whatever was raised, as a page, as a line in the page that asked, or as the way to the login."""
    refusal = refusal_for(error)
    if refusal.kind.status == 500:
        service_of(request).log.error(
            f"{request.method} {request.url.path} failed", exc_info=error, kind=type(error).__name__
        )
    if refusal.kind.slug == "unauthenticated":
        return to_login(request)
    message = problem_text(refusal.answer())
    if request.headers.get("hx-request"):
        return html("problem_line.html", {"message": message}, status=refusal.kind.status)
    facts = {"title": refusal.kind.title, "message": message, "status": refusal.kind.status}
    caller: Caller | None = request.scope["state"].get("caller")
    if caller is not None and caller.record_id is not None:
        facts |= {"is_alone": True, "meant": ("Review", f"/review/{quote(caller.record_id)}")}
    if refusal.kind.slug != "link-over":
        return html("problem.html", facts, status=refusal.kind.status)
    answer = html("problem.html", {**facts, "is_alone": True}, status=refusal.kind.status)
    if request.method in SAFE_METHODS and f"{BASE}/approve/" not in request.url.path:
        # The browser may belong to a person with a key: the page after this one asks for it.
        set_session(service_of(request), answer, "", lasts_s=0)
    return answer


def set_session(service: Service, answer: Response[Any], token: str, *, lasts_s: int) -> None:
    """Sign a browser in by its answer, or out with 0 seconds: it takes that only with the same attributes."""
    own = service.settings.api
    answer.set_cookie(
        Cookie(
            key=session_cookie(own),
            value=token,
            path="/",
            max_age=lasts_s,
            httponly=True,
            samesite="strict",
            secure=own.tls_certificate is not None or own.behind_tls_proxy,
        )
    )


def page_of(request: Request[Any, Any, Any], refusal: Refusal) -> Response[Any]:
    """An address outside the console, opened in a browser, that leads nowhere or may not be seen.

    What leads nowhere often lacks the console's prefix.
    """
    if refusal.kind.slug != "not-found":
        context = {"title": refusal.kind.title, "message": problem_text(refusal.answer())}
        return html("problem.html", context, status=refusal.kind.status, headers=refusal.headers)
    path = clean_text(request.url.path, chars_max=PATH_CHARS_SHOWN)
    first = "/" + request.url.path.strip("/").split("/", 1)[0]
    meant = [each for each in NAVIGATION if each[2] == first]
    facts = {
        "title": refusal.kind.title,
        "message": f"there is nothing at {path}",
        "meant": meant[0][1:] if meant else None,
    }
    return html("problem.html", facts, status=refusal.kind.status)


def to_login(request: Request[Any, Any, Any]) -> Response[Any]:
    """The way to the login, and back to the page after it."""
    if request.headers.get("hx-request"):
        # A part of a page was asked for: the way back leads to the whole of it.
        parts = urlsplit(request.headers.get("hx-current-url", ""))
        login = _login_for(parts.path, parts.query) if parts.path else f"{BASE}/login"
        return Response(content=b"", status_code=401, headers={"HX-Redirect": login})
    return redirect(_login_for(request.url.path, request.url.query))


def _login_for(path: str, query: str) -> str:
    return f"{BASE}/login?{urlencode({'next': path + (f'?{query}' if query else '')})}"


def redirect(address: str) -> Response[Any]:
    """Go there next."""
    headers = {"Location": address, "Cache-Control": "no-store"}
    return Response(content=b"", status_code=303, headers=headers)


def problem_text(answer: Answer) -> str:
    """What the API said that was wrong."""
    document = msgspec.json.decode(answer.body, type=dict[str, Any])
    return str(document.get("detail") or document.get("title") or "it was refused")


def refused_line(answer: Answer) -> Response[bytes]:
    """What the API refused, as a line in the page that asked."""
    return html("problem_line.html", {"message": problem_text(answer)}, status=answer.status)


def go_on(address: str) -> Response[Any]:
    """The page that asked goes on to another."""
    return Response(content=b"", headers={**HEADERS, "HX-Redirect": address}, media_type=HTML)


def tell_page(**events: Fields) -> Response[bytes]:
    """Nothing to show: the script of the page that asked hears of these events, such as a toast."""
    named = {f"stateward:{name}": detail for name, detail in events.items()}
    headers = {**HEADERS, "HX-Trigger": msgspec.json.encode(named).decode()}
    return Response(content=b"", headers=headers, media_type=HTML)


# Forms


def reason_of(form: Mapping[str, Any]) -> str | None:
    """Why, as a person wrote it in a form."""
    return clean_text(str(form.get("reason", "")).strip(), chars_max=REASON_CHARS_MAX) or None


# Filters


def when(at: Micros | str | None, how: str = "ago") -> Markup:
    """A moment: the page shows it in the zone of its reader, with UTC on hover."""
    if at is None or at == "":
        return Markup("")
    iso = to_iso(at) if isinstance(at, int) else str(at)
    short = iso[:19].replace("T", " ")
    return Markup('<time datetime="{}" title="{} UTC" data-as="{}">{} UTC</time>').format(
        iso, short, how, short
    )


def duration_text(seconds: float | None) -> str:
    """A span of time for people: 340 ms, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    for unit, smaller, names in (
        (MINUTE, 1, ("min", "s")),
        (HOUR, MINUTE, ("h", "min")),
        (DAY, HOUR, ("d", "h")),
    ):
        if whole < unit * (DAY if unit == DAY else 60 if unit == MINUTE else 24):
            rest = whole % unit // smaller
            return f"{whole // unit} {names[0]}" + (f" {rest} {names[1]}" if rest else "")
    return f"{whole // DAY} d"


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < KIB:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= KIB
    return f"{count:.1f} TiB"


def in_order(value: object) -> object:
    """What a template prints, with the marks that reorder text made visible: a name shows the ending that it has."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isascii():
        return value
    return REORDERING.sub(lambda found: f"\\u{ord(found[0]):04x}", value)


def verbatim(text: str) -> Markup:
    """Text in which a browser counts every character: HTML would make one line end of two."""
    return Markup(str(escape(text)).replace("\r", "&#13;"))  # noqa: S704 - escaped


def value_text(value: object) -> str:
    """A value of a record or an item as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return "; ".join(map(value_text, value))
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return str(value)


def is_told(value: object) -> bool:
    """Whether a value is a list of sentences with a status, as checks of a result are."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and {"status", "sentence"} <= each.keys() for each in value)
    )


def quote_value(value: str) -> str:
    """A value as the grammar of queries wants it."""
    is_plain = value != "" and not any(char in value for char in ' ",\\') and value.isprintable()
    return value if is_plain else quote_text(value)


def seconds_between(earlier: Micros, later: Micros) -> float:
    """How long it was from one moment to another."""
    return (later - earlier) / SECOND
