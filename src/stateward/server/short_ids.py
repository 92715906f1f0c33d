"""The beginning of a record's id in a path, as people copy it from a list: the one record that begins so is meant.

Only records that the caller may see count, so that a key says nothing of others. What is no beginning of any id is
left as it is: the route says that there is no such record.
"""

import re
from collections.abc import Collection
from functools import partial
from typing import Any

from litestar.connection import ASGIConnection

from stateward.app import App
from stateward.server.bulk import within
from stateward.server.problems import Refusal
from stateward.server.service import Service

# Whole ids are longer (36 characters after the prefix); fewer than 4 are a slip of the hand.
SHORT_ID = re.compile(r"[A-Z]{1,8}_[0-9a-z]{4,35}")
SHOWN_MAX = 4


async def complete_ids(
    service: Service,
    connection: ASGIConnection[Any, Any, Any, Any],
    names: Collection[str],
    machines: tuple[str, ...],
) -> None:
    """Put whole ids where a path has their beginning. `names` are the parameters that name records."""
    for name, given in connection.path_params.items():
        if name in names and SHORT_ID.fullmatch(str(given)):
            look = partial(_whole, given=str(given), machines=machines)
            connection.scope["path_params"][name] = await service.broad.ask(look)


def _whole(app: App, *, given: str, machines: tuple[str, ...]) -> str:
    if app.store.get(given) is not None:  # of an installation with shorter ids
        return given
    query = within(app.records.query(f"id:{given}*"), machines)
    found = [each.id for each in app.records.find(query, limit=SHOWN_MAX)]
    if len(found) > 1:
        more = ", …" if len(found) == SHOWN_MAX else ""
        detail = f"{given} is the beginning of several ids: {', '.join(found)}{more}"
        raise Refusal("unprocessable", detail)
    return found[0] if found else given
