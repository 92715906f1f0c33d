"""The parameters and headers that routes share, as the OpenAPI document describes them."""

from typing import Annotated, Any, TypeAlias

from litestar.params import HeaderParameter, QueryParameter

ROWS_DEFAULT = 100
ROWS_MAX = 10_000


def query(name: str, text: str, **how: Any) -> Any:  # noqa: ANN401 - Litestar's own words
    """A parameter of the address that may be left out: `query("limit", "The most rows.", ge=1)`."""
    return QueryParameter(name=name, description=text, required=False, **how)


def header(name: str, text: str, **how: Any) -> Any:  # noqa: ANN401 - Litestar's own words
    """A header that may be left out."""
    return HeaderParameter(name=name, description=text, required=False, **how)


IdempotencyKey: TypeAlias = Annotated[
    str | None,
    header(
        "Idempotency-Key",
        "A name of the client's for this request, 1 to 255 visible ASCII characters. Sent again with the "
        "same content, the same answer comes back and nothing is done twice.",
        pattern=r"^[\x21-\x7e]{1,255}$",
    ),
]
IfMatch: TypeAlias = Annotated[
    str | None,
    header(
        "If-Match",
        "The ETag that the change is meant for; if it is another by now, nothing is done (412).",
        min_length=1,
        pattern=r'^(\*|"[0-9]{1,18}")$',
    ),
]
IfNoneMatch: TypeAlias = Annotated[
    str | None,
    header(
        "If-None-Match", "An ETag that the client has; if it is still that one, the answer is 304."
    ),
]
CursorText: TypeAlias = Annotated[
    str | None,
    query(
        "cursor",
        "Where to go on: `next` of the page before. It means nothing to clients.",
        max_length=1000,
    ),
]
DAYS_DEFAULT = 30
StatisticsDays: TypeAlias = Annotated[
    int, query("days", "How many days back, from now.", ge=1, le=366)
]
Limit: TypeAlias = Annotated[
    int,
    query(
        "limit",
        "The most rows of a page; `limits.page_rows_max` is the most that is given.",
        ge=1,
        le=ROWS_MAX,
    ),
]
Wait: TypeAlias = Annotated[
    str | None,
    query(
        "wait",
        "Wait this long, as in `20s`, until the record is another than `If-None-Match` says; without that "
        "header, until it has ended or rests.",
        pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?s?$",
    ),
]
QueryText: TypeAlias = Annotated[
    str | None,
    query(
        "q",
        "A query in the grammar of the command line, such as `error:PDF_* age>2h`.",
        max_length=8000,
    ),
]
Statuses: TypeAlias = Annotated[
    list[str] | None,
    query("status", "In this status; may come again, or name several with commas."),
]
SourceTypes: TypeAlias = Annotated[
    list[str] | None,
    query("source_type", "Of this source type; may come again, or name several with commas."),
]
