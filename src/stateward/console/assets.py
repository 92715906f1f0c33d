"""The files that pages load: our own style and script, and what others wrote, vendored with its hash.

Nothing is read but what lies in this package. The address holds a digest of the content, so a browser may keep it.
"""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from stateward.console.layout import redirect
from stateward.console.static_files import assets, static_base
from stateward.server.auth import ANYBODY, Asked
from stateward.server.problems import Refusal

MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "svg": "image/svg+xml",
    "ttf": "font/ttf",
    "pfb": "application/octet-stream",
    "txt": "text/plain",
}


@get("/static/{digest:str}/{name:path}", opt={"right": ANYBODY, "is_light": True})
async def static(request: Asked, digest: FromPath[str], name: FromPath[str]) -> Response[bytes]:
    """One file; what an older page asks for under another digest is the file of now, not to be kept."""
    path = str(name).lstrip("/")
    content = assets().get(path)
    if content is None:
        raise Refusal("not-found", "there is no such file")
    is_current = static_base().endswith(f"/{digest}")
    kept = "public, max-age=31536000, immutable" if is_current else "no-cache"
    return Response(
        content=content,
        media_type=MEDIA_TYPES.get(path.rpartition(".")[2], "application/octet-stream"),
        headers={"Cache-Control": kept, "X-Content-Type-Options": "nosniff"},
    )


@get("/favicon.ico", opt={"right": ANYBODY})
async def icon(request: Asked) -> Response[Any]:
    """Where browsers look for it without being told."""
    return redirect(f"{static_base()}/icon.svg")


HANDLERS: list[Any] = [static, icon]
