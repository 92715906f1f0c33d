"""How a route of the API is declared: its path, who may ask, the name of the operation, and what it does.

    @route.get("/{name:str}", "read", "getMachine", "Look at a machine")

`opt` is what else a route says of itself to this package, such as `by_link`; `how` is what it says to Litestar.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import litestar

from stateward.storage.keys import Right

RouteRight: TypeAlias = Right | Literal["anybody"]


def _parts(
    right: RouteRight, operation: str, summary: str, opt: Mapping[str, object] | None
) -> dict[str, Any]:
    return {
        "opt": {"right": right, **(opt or {})}, "operation_id": operation, "summary": summary
    }  # fmt: skip


def get(
    path: str, right: RouteRight, operation: str, summary: str, *, opt: Mapping[str, object] | None = None,
    **how: Any,  # noqa: ANN401 - Litestar's own words
) -> litestar.get:  # fmt: skip
    """A route that reads."""
    return litestar.get(path, **_parts(right, operation, summary, opt), **how)


def post(
    path: str, right: RouteRight, operation: str, summary: str, *, opt: Mapping[str, object] | None = None,
    status_code: int = 200, **how: Any,  # noqa: ANN401 - Litestar's own words
) -> litestar.post:  # fmt: skip
    """A route that does something; one that makes something answers with another status."""
    return litestar.post(
        path, **_parts(right, operation, summary, opt), status_code=status_code, **how
    )


def put(
    path: str, right: RouteRight, operation: str, summary: str, *, opt: Mapping[str, object] | None = None,
    **how: Any,  # noqa: ANN401 - Litestar's own words
) -> litestar.put:  # fmt: skip
    """A route that stores something."""
    return litestar.put(path, **_parts(right, operation, summary, opt), **how)


def delete(
    path: str, right: RouteRight, operation: str, summary: str, *, opt: Mapping[str, object] | None = None,
    status_code: int = 200, **how: Any,  # noqa: ANN401 - Litestar's own words
) -> litestar.delete:  # fmt: skip
    """A route that removes something, and answers with what it was."""
    return litestar.delete(
        path, **_parts(right, operation, summary, opt), status_code=status_code, **how
    )
