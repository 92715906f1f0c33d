"""Cursors: where a list goes on, as a text that means nothing to clients and fits only the list it came from."""

import base64
import binascii
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

import msgspec
from litestar.datastructures import URL

from stateward.server import views
from stateward.server.auth import Asked, service_of
from stateward.server.problems import Refusal
from stateward.storage.idempotency import Answer

CURSOR_CHARS_MAX = 1000
T = TypeVar("T")
# Anyone can write a cursor: no number in it may be one that a database cannot take, nor a text.
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$")]


class Cursor(
    msgspec.Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True
):
    """The last thing that was seen of a list, and the moment that its query means."""

    of: str
    at: Whole = 0
    after: Text = ""
    numbers: tuple[Whole, ...] = ()


class ListPage:
    """A page of a list as it was asked for: where it begins (`at`) and how many `rows` it may have.

    `named` is what else the list depends on: a cursor of another list is refused.
    """

    def __init__(self, request: Asked, cursor: str | None, limit: int, *named: object) -> None:
        self.rows = min(limit, service_of(request).settings.limits.page_rows_max)
        self.of = list_name(*named)
        self.at = read_cursor(cursor, of=self.of)
        self._url = request.url

    def answer(
        self,
        document: Callable[..., object],
        found: Sequence[T],
        view: Callable[[T], object],
        cursor: Callable[[T], Cursor],
    ) -> Answer:
        """The page as an answer. The list goes on where `found` has one row more; `cursor` is of the last shown."""
        following = None
        if len(found) > self.rows:
            following = write_cursor(cursor(found[self.rows - 1]))
        items = [each for each in map(view, found[: self.rows]) if each is not None]
        page = document(items=items, next=following)
        return views.json_answer(page, headers=link(self._url, following))


_decoder = msgspec.json.Decoder(Cursor)


def list_name(*parts: object) -> str:
    """A short name of what is listed, so that a cursor of another list is refused."""
    return sha256("\x00".join(map(repr, parts)).encode()).hexdigest()[:16]


def read_cursor(text: str | None, *, of: str) -> Cursor | None:
    """A cursor of this list; None at its beginning."""
    if text is None:
        return None
    try:
        if len(text) > CURSOR_CHARS_MAX:
            raise ValueError(text[:9])
        cursor = _decoder.decode(base64.urlsafe_b64decode(text.encode("ascii")))
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise Refusal("unprocessable", "the cursor is invalid; start the list again") from None
    if cursor.of != of:
        raise Refusal(
            "unprocessable",
            "the cursor belongs to another list; send it with the same parameters",
        )
    return cursor


def write_cursor(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def link(url: URL, following: str | None) -> dict[str, str]:
    """The header that leads to the next page."""
    if following is None:
        return {}
    parameters: Any = url.query_params
    kept = [(key, value) for key, value in parameters.multi_items() if key != "cursor"]
    query = urlencode([*kept, ("cursor", following)])
    return {"Link": f'<{url.path}?{query}>; rel="next"'}
