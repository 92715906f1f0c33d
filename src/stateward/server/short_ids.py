"""The beginning of an id in a path, as people copy it from a list: the one thing whose id begins so is meant.

Only what the caller may see counts, so that a key says nothing of others. What is no beginning of any id is left as it
is: the route says that there is no such thing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from litestar.connection import ASGIConnection

from stateward.app import App
from stateward.server.bulk import within
from stateward.server.problems import Refusal
from stateward.server.service import Service

# Whole ids of records are longer (36 characters after the prefix). Without a prefix, fewer than 4 are a slip of the
# hand: a key is revoked by its id.
SHORT_ID = re.compile(r"[A-Z]{1,8}_[0-9a-z]{1,35}|[0-9a-z]{4,35}")
OF_RECORDS = re.compile(r"[A-Z]{1,8}_.*")
SHOWN_MAX = 4

Finder: TypeAlias = Callable[[App, Any, str], Sequence[str]]
"""The ids that begin with a text, of what a caller (`auth.Caller`) may see; a few are enough."""


class Limited(Protocol):
    """A caller, as far as a list of records minds."""

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines that the caller may see; none means all."""


async def complete_ids(
    service: Service,
    connection: ASGIConnection[Any, Any, Any, Any],
    finders: Mapping[str, Finder],
    caller: Limited,
) -> None:
    """Put whole ids where a path has their beginning. `finders` are by the names of parameters."""
    # A copy: the router keeps the parameters of a path, and gives the same ones to the next request for it, of which
    # the beginning may mean another record, or several.
    found = dict(connection.path_params)
    for name, given in found.items():
        if name in finders and SHORT_ID.fullmatch(str(given)):
            look = partial(_complete, given=str(given), caller=caller, find=finders[name])
            found[name] = await service.broad.ask(look)
    connection.scope["path_params"] = found


def _complete(app: App, *, given: str, caller: Limited, find: Finder) -> str:
    found = find(app, caller, given)
    if given in found or not found:
        return given
    if len(found) > 1:
        more = ", …" if len(found) >= SHOWN_MAX else ""
        shown = ", ".join(found[:SHOWN_MAX])
        raise Refusal("unprocessable", f"{given} is the beginning of several ids: {shown}{more}")
    return found[0]


def find_records(app: App, caller: Limited, given: str) -> Sequence[str]:
    """The records that begin so."""
    if not OF_RECORDS.fullmatch(given) or app.store.get(given) is not None:
        return ()  # the latter is of an installation with shorter ids
    query = within(app.records.query(f"id:{given}*"), caller.machines)
    return [each.id for each in app.records.find(query, limit=SHOWN_MAX)]
