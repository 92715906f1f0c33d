"""The console: pages for people, at the same address as the API and with the same verbs and rights.

A handler takes the request, asks a thread of the service with a function on the App, and renders a template that
escapes everything. It must never do what the API would refuse: every route names the right it needs, and whatever
changes something goes through the functions that the API itself calls. The pages load nothing from elsewhere.
"""

from functools import cache

from litestar import Router
from litestar.types import ControllerRouterHandler

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
from stateward.console.static_files import BASE

__all__ = ["console", "page_of"]
PAGES = (board, records, record, errors, review, flags, correct, ledger, operations, search)


@cache
def console() -> tuple[ControllerRouterHandler, ...]:
    """The routes of the console."""
    return (
        login.root,
        Router(
            path=BASE,
            route_handlers=[
                *assets.HANDLERS,
                *login.HANDLERS,
                *approve.HANDLERS,
                badges_now,
                *(handler for page in PAGES for handler in page.HANDLERS),
                unknown_page,
            ],
            guards=[check_page],
            exception_handlers={Exception: error_page},
            include_in_schema=False,
        ),
    )
