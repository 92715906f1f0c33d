"""The parameters and headers that routes share, as the OpenAPI document describes them."""

from typing import Annotated, TypeAlias

from litestar.params import HeaderParameter, QueryParameter

ROWS_DEFAULT = 100
ROWS_MAX = 10_000

IdempotencyKey: TypeAlias = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="A name of the client's for this request, 1 to 255 visible ASCII characters. Sent again with the "
        "same content, the same answer comes back and nothing is done twice.",
        required=False,
    ),
]
IfMatch: TypeAlias = Annotated[
    str | None,
    HeaderParameter(
        name="If-Match",
        min_length=1,
        pattern=r'^(\*|"[0-9]{1,18}")$',
        description="The ETag that the change is meant for; if it is another by now, nothing is done (412).",
        required=False,
    ),
]
IfNoneMatch: TypeAlias = Annotated[
    str | None,
    HeaderParameter(
        name="If-None-Match",
        description="An ETag that the client has; if it is still that one, the answer is 304.",
        required=False,
    ),
]
CursorText: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        name="cursor",
        max_length=1000,
        description="Where to go on: `next` of the page before. It means nothing to clients.",
        required=False,
    ),
]
DAYS_DEFAULT = 30
StatisticsDays: TypeAlias = Annotated[
    int,
    QueryParameter(
        name="days", ge=1, le=366, description="How many days back, from now.", required=False
    ),
]
Limit: TypeAlias = Annotated[
    int,
    QueryParameter(
        name="limit",
        ge=1,
        le=ROWS_MAX,
        description="The most rows of a page; `limits.page_rows_max` is the most that is given.",
        required=False,
    ),
]
Wait: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        name="wait",
        pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?s?$",
        description="Wait this long, as in `20s`, until the record is another than `If-None-Match` says; without that "
        "header, until it has ended or rests.",
        required=False,
    ),
]
QueryText: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        name="q",
        max_length=8000,
        description="A query in the grammar of the command line, such as `error:PDF_* age>2h`.",
        required=False,
    ),
]
Statuses: TypeAlias = Annotated[
    list[str] | None,
    QueryParameter(
        name="status",
        description="In this status; may come again, or name several with commas.",
        required=False,
    ),
]
SourceTypes: TypeAlias = Annotated[
    list[str] | None,
    QueryParameter(
        name="source_type",
        description="Of this source type; may come again, or name several with commas.",
        required=False,
    ),
]
