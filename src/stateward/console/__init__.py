"""The console: pages for people, at the same address as the API and with the same verbs and rights.

A handler takes the request, asks a thread of the service with a function on the App, and renders a template that
escapes everything. It must never do what the API would refuse: every route names the right it needs, and whatever
changes something goes through the functions that the API itself calls. The pages load nothing from elsewhere.

Its code is imported when the server loads its routes, which is after the API is open.
"""

from functools import cache

from stateward.console.static_files import BASE
from stateward.server.extra_routes import ExtraRoutes, LoadedRoutes

__all__ = ["console"]


def console() -> ExtraRoutes:
    """The routes of the console: all below its base, and the root, which leads there."""
    return ExtraRoutes(base=BASE, load=_load)


@cache
def _load() -> LoadedRoutes:
    from litestar import Router

    from stateward.console import (
        approve,
        assets,
        board,
        correct,
        errors,
        flags,
        ledger,
        login,
        operations,
        record,
        records,
        review,
        search,
    )
    from stateward.console.layout import badges_now, check_page, error_page, page_of, unknown_page

    pages = (board, records, record, errors, review, flags, correct, ledger, operations, search)
    own = Router(
        path=BASE,
        route_handlers=[
            *assets.HANDLERS,
            *login.HANDLERS,
            *approve.HANDLERS,
            badges_now,
            *(handler for page in pages for handler in page.HANDLERS),
            unknown_page,
        ],
        guards=[check_page],
        exception_handlers={Exception: error_page},
        include_in_schema=False,
    )
    return LoadedRoutes(handlers=(login.root, own), page_of=page_of)
