"""The OpenAPI 3.1 document: made from the routes, and completed with what types cannot say.

Litestar describes parameters and documents; here each operation gets every header, every problem and every other
answer that it may give. A test asks the running service all that the document allows and more (schemathesis), and
finds no answer that is not in it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.types import ControllerRouterHandler

from stateward import __version__
from stateward.schemas import PROBLEM_JSON, Problem, Request
from stateward.server.problems import KINDS
from stateward.server.upload_stream import FORM

Document = dict[str, Any]

ABOUT = """The HTTP API of Stateward. Send a key as `Authorization: Bearer sw_…`; without any key the service
answers at loopback only. Errors are problem documents (RFC 9457) with stable types. Changes can be guarded with
`If-Match`, and every POST can be repeated safely with an `Idempotency-Key`. Lists have cursors, never offsets."""

EVERYWHERE = ("invalid-request", "unprocessable", "internal", "unavailable")
WITH_KEY = ("unauthenticated", "forbidden", "wrong-host", "too-many-requests")
WRITING = ("in-progress", "too-large", "key-reused", "storage-full")
ACTING = (*WRITING, "not-found", "impossible", "stale", "if-match-required")
SENDING = (
    *WRITING, "missing-fields", "timed-out", "duplicate", "unsupported-content", "unknown-value",
)  # fmt: skip
PAUSING = (*WRITING, "not-found", "unknown-value")
STEPPING = (
    *WRITING, "not-found", "out-of-order", "stale", "if-match-required", "step-failed", "step-retryable",
    "step-unfinished",
)  # fmt: skip
REVIEWING = (*WRITING, "not-found", "impossible", "review-taken")
DECIDING = (
    *REVIEWING, "stale", "if-match-required", "review-refused", "invalid-correction", "unknown-value",
)  # fmt: skip

# What each operation may answer besides EVERYWHERE and WITH_KEY.
PROBLEMS: dict[str, tuple[str, ...]] = {
    "prioritiseRecord": (*WRITING, "not-found", "impossible", "stale"),
    "getLog": ("not-found", "unknown-value"),
    "reprocessRecord": (*WRITING, "not-found"),
    "advanceRecord": (*WRITING, "not-found", "stale"),
    "moveRecord": (*ACTING, "unknown-value"),
    "getProvenance": ("not-found",),
    "explainRecord": ("not-found",),
    "searchText": ("not-found", "unknown-value"),
    "createBatch": (*WRITING, "not-found"),
    "getBatch": ("not-found",),
    "abortBatch": ACTING,
    "getMachine": ("not-found",),
    "drawMachine": ("not-found",),
    "pauseMachine": PAUSING,
    "resumeMachine": PAUSING,
    "streamEvents": ("unknown-value",),
    "getMetrics": ("not-found",),
    "getReview": ("not-found",),
    "claimReview": REVIEWING,
    "releaseReview": REVIEWING,
    "reviewRecord": DECIDING,
    "holdDecision": DECIDING,
    "undoDecision": REVIEWING,
    "askOpinion": DECIDING,
    "createReviewLink": (*REVIEWING, "review-refused"),
    "listReviewLinks": ("not-found",),
    "revokeReviewLink": ("not-found", "storage-full"),
    "decideReviews": WRITING,
    "decideFlags": (*ACTING, "unknown-value"),
    "reparseRecord": (*WRITING, "not-found", "impossible", "unknown-value"),
    "undoDecisions": (*WRITING, "not-found"),
    "createKey": (*WRITING, "unknown-value"),
    "revokeKey": ("not-found", "storage-full"),
    "eraseRecords": WRITING,
    "holdRecord": (*WRITING, "not-found"),
    "applyRetention": WRITING,
    "replayFeed": ("too-large", "storage-full"),
    "dismissRefusedUpload": ("not-found", "storage-full"),
    "dismissRefusedUploads": ("storage-full",),
    "exportHistory": ("storage-full",),
    "exportGold": ("storage-full",),
    "verifyHistoryAgainst": ("too-large",),
    "createWebhook": (*WRITING, "unknown-value"),
    "getWebhook": ("not-found",),
    "deleteWebhook": ("not-found", "storage-full"),
    "rotateWebhook": (*WRITING, "not-found"),
    "enableWebhook": (*WRITING, "not-found"),
    "disableWebhook": (*WRITING, "not-found"),
    "pingWebhook": (*WRITING, "not-found"),
    "listDeliveries": ("not-found",),
    "getDelivery": ("not-found",),
    "replayDeliveries": (*WRITING, "not-found"),
}

HEADERS: dict[str, tuple[str, str]] = {
    "ETag": ("The version, or the SHA-256 of a file, in quotes.", '^"[0-9a-f]+"$'),
    "Location": ("Where the thing is.", "^/"),
    "Link": ("The next page, with `rel=next`; absent on the last.", "^<"),
    "Cache-Control": ("`no-store`: it is kept in no cache; compare by `ETag`.", ""),
    "Idempotency-Replayed": ("`true` where this is the answer to an earlier request.", "^true$"),
    "Retry-After": ("Seconds to wait.", "^[0-9]+$"),
    "WWW-Authenticate": ("How to show a key.", ""),
    "Allow": ("The methods that are allowed.", ""),
}
PAGED = ("Link",)
LOOKED_AT = ("ETag", "Cache-Control")
CHANGED = ("ETag", "Idempotency-Replayed")
SENT = ("Location", "ETag", "Idempotency-Replayed")

# The headers of an operation's answers that are no problems, by status.
ANSWER_HEADERS: dict[str, dict[str, tuple[str, ...]]] = {
    "prioritiseRecord": {"200": CHANGED},
    "reprocessRecord": {"200": ("Idempotency-Replayed",)},
    "advanceRecord": {"200": CHANGED},
    "moveRecord": {"200": CHANGED},
    "createBatch": {"202": SENT, "200": ()},
    "listBatches": {"200": PAGED},
    "getBatch": {"200": ("ETag",), "304": ("ETag",)},
    "abortBatch": {"200": CHANGED},
    "listPendingReviews": {"200": PAGED},
    "listAudit": {"200": PAGED},
    "searchText": {"200": PAGED},
    "getReview": {"200": LOOKED_AT},
    "claimReview": {"200": CHANGED},
    "releaseReview": {"200": CHANGED},
    "reviewRecord": {"200": CHANGED},
    "holdDecision": {"200": CHANGED},
    "askOpinion": {"200": CHANGED},
    "decideReviews": {"200": ("Idempotency-Replayed",)},
    "decideFlags": {"200": CHANGED},
    "reparseRecord": {"200": ("Idempotency-Replayed",)},
    "eraseRecords": {"200": ("Idempotency-Replayed",)},
    "holdRecord": {"200": ("Idempotency-Replayed",)},
    "pauseMachine": {"200": ("Idempotency-Replayed",)},
    "resumeMachine": {"200": ("Idempotency-Replayed",)},
    "streamEvents": {"200": ("Cache-Control",)},
    "getReadiness": {"200": (), "503": ("Retry-After",)},
    "createWebhook": {"201": ("Location", "Idempotency-Replayed")},
    "rotateWebhook": {"200": ("Idempotency-Replayed",)},
    "enableWebhook": {"200": ("Idempotency-Replayed",)},
    "disableWebhook": {"200": ("Idempotency-Replayed",)},
    "pingWebhook": {"202": ("Location", "Idempotency-Replayed")},
    "listDeliveries": {"200": PAGED},
    "replayDeliveries": {"202": ("Idempotency-Replayed",)},
}
OTHERWISE = {
    "200": "The same bytes had been submitted before, or it was a dry run.",
    "304": "The client has it already.",
    "503": "The service cannot work now; `checks` says why.",
}
PROBLEM_HEADERS = {
    401: ("WWW-Authenticate",),
    409: ("Location", "Retry-After", "Idempotency-Replayed"),
    412: ("ETag", "Idempotency-Replayed"),
    404: ("Idempotency-Replayed",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
FORM_FIELDS: dict[str, tuple[str, str]] = {
    "file": ("The document.", "binary"),
    "source_type": (
        "What it is, one of the machine's source types; `auto` leaves it to the content.",
        "",
    ),
    "pipeline": (
        "The machine to run it through; without it, or with `auto`, the one that the content belongs to.",
        "",
    ),
    "priority": ("1 to 10, or the name of a class; 10 goes first.", ""),
    "priority_reason": (
        "Why it has this priority, such as `premium_user`; shown with the record.",
        "",
    ),
    "reason": ("Why; kept in the history.", ""),
    "name": ("Its name, instead of the file's.", ""),
}
MEDIA_TYPES = {
    "streamEvents": "text/event-stream",
    "drawMachine": "image/svg+xml",
    "getMetrics": "text/plain",
}


def describe(
    handlers: Sequence[ControllerRouterHandler], *, id_fields: Sequence[str] = ()
) -> Document:
    """The whole document, as plain JSON values. `id_fields` are further names of a record's id in problems."""
    config = OpenAPIConfig(
        title="Stateward",
        version=__version__,
        description=ABOUT,
        use_handler_docstrings=True,
    )
    app = Litestar(route_handlers=handlers, openapi_config=config, logging_config=None)
    document: Document = msgspec.json.decode(msgspec.json.encode(app.openapi_schema.to_schema()))
    opts = {
        str(handler.operation_id): handler.opt
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        if "right" in handler.opt
    }
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = _problem_schema(schemas)
    _settle_schemas(schemas)
    for name in id_fields:
        schemas["Problem"]["properties"][name] = schemas["Problem"]["properties"]["record_id"]
    document["components"]["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key: `sw_<id>_<secret>`.",
        }
    }
    document["servers"] = [{"url": "/"}]
    for methods in document["paths"].values():
        for operation in methods.values():
            _complete(operation, opts.get(operation["operationId"], {}))
    return document


def _problem_schema(schemas: Mapping[str, Any]) -> Document:
    """Problem and what it refers to, as msgspec describes them."""
    _, components = msgspec.json.schema_components(
        [Problem], ref_template="#/components/schemas/{name}"
    )
    if isinstance(schemas, dict):
        schemas.setdefault("FieldFault", components["FieldFault"])
    return dict(components["Problem"])


def _settle_schemas(schemas: Document) -> None:
    """Describe requests as they are read, and drop the choices that Litestar sees and are none.

    It describes `tuple[X, ...]` as a list of X or of anything, what may be absent as one of one, and forgets the
    limits of what may be null; msgspec, which reads requests, says what it refuses.
    """
    for name, schema in schemas.items():
        schemas[name] = _without_empty_choices(schema)
    requests = [each for each in _kinds_of(Request) if each.__name__ in schemas]
    _, components = msgspec.json.schema_components(
        requests, ref_template="#/components/schemas/{name}"
    )
    for known in requests:
        read = components[known.__name__]
        schemas[known.__name__] = {**read, "additionalProperties": False}


def _kinds_of(known: type) -> list[type]:
    """All classes that are of a kind."""
    found, waiting = [known], [known]
    while waiting:
        further: list[type] = waiting.pop().__subclasses__()
        found += further
        waiting += further
    return found


def _without_empty_choices(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, list):
        return [_without_empty_choices(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _without_empty_choices(each) for key, each in value.items()}
    choices = [each for each in plain.get("oneOf", ()) if each]
    if len(choices) == 1:
        del plain["oneOf"]
        return {**plain, **choices[0]}
    return {**plain, "oneOf": choices} if choices else plain


def _complete(operation: Document, opt: Mapping[str, Any]) -> None:
    name, right = operation["operationId"], str(opt.get("right", "anybody"))
    operation["x-right"] = right
    operation["security"] = [] if right == "anybody" else [{"key": []}, {}]
    responses: Document = operation["responses"]
    responses.pop("400", None)  # Litestar's own shape of it, which is not ours
    main = next(iter(responses))
    if media_type := MEDIA_TYPES.get(name):
        responses[main]["content"] = {media_type: {"schema": {"type": "string"}}}
    if media_types := opt.get("media_types"):
        bytes_of = {"schema": {"type": "string", "format": "binary"}}
        responses[main]["content"] = dict.fromkeys(media_types, bytes_of)
    for status, headers in opt.get("headers", ANSWER_HEADERS.get(name, {})).items():
        if status not in responses:
            content = {} if status == "304" else {"content": responses[main]["content"]}
            responses[status] = {"description": OTHERWISE[status], **content}
        responses[status]["headers"] = _headers(headers)
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    if "requestBody" in operation:
        # A document that may be null may be absent.
        body = operation["requestBody"]
        for each in body["content"].values():
            options = each["schema"].get("oneOf", ())
            body["required"] = not any(option.get("type") == "null" for option in options)
    if "body" in opt:
        operation["requestBody"] = opt["body"]
    own = (
        *opt.get("problems", PROBLEMS.get(name, ())),
        *(("link-over",) if opt.get("by_link") else ()),
    )
    _add_problems(
        responses, ("internal",) if right == "anybody" else (*EVERYWHERE, *WITH_KEY, *own)
    )


def _without_null(schema: Document) -> Document:
    """A parameter that may be absent cannot be null: it is text."""
    if None in schema.get("enum", ()):
        return {**schema, "type": "string", "enum": [each for each in schema["enum"] if each]}
    left = [each for each in schema.get("oneOf", ()) if each.get("type") != "null"]
    if len(left) != 1:
        return schema
    kept: Document = {key: value for key, value in schema.items() if key != "oneOf"}
    return {**kept, **left[0]}


def _add_problems(responses: Document, slugs: Sequence[str]) -> None:
    kinds = [kind for slug, kind in KINDS.items() if slug in slugs]
    for status in sorted({kind.status for kind in kinds}):
        lines = [f"`{kind.slug}`: {kind.when}" for kind in kinds if kind.status == status]
        responses[str(status)] = {
            "description": " ".join(lines),
            "headers": _headers(PROBLEM_HEADERS.get(status, ())),
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }


def _headers(names: Sequence[str]) -> Document:
    return {
        name: {
            "description": HEADERS[name][0],
            "required": False,
            "schema": {
                "type": "string",
                **({"pattern": HEADERS[name][1]} if HEADERS[name][1] else {}),
            },
        }
        for name in names
    }


def described_as(
    right: str,
    *,
    problems: Sequence[str] = (),
    headers: Mapping[str, Sequence[str]] | None = None,
    body: Document | None = None,
) -> dict[str, Any]:
    """The `opt` of a route: who may call it, and what the OpenAPI document says of it that its types cannot say.

    `problems` are the slugs of what it may refuse with besides those that every route has, `headers` those of its other
    answers by status, `body` the document of the request where that is none that Litestar reads.
    """
    opt: dict[str, Any] = {
        "right": right,
        "problems": tuple(problems),
        "headers": dict(headers or {}),
    }
    return opt if body is None else {**opt, "body": body}


def form_body(required: Sequence[str], *, without: Sequence[str] = ()) -> Document:
    """The form in which a document is sent."""
    properties = {
        name: {
            "type": "string",
            "description": about,
            **({"format": kind} if kind else {"maxLength": 4096}),
            **({"minLength": 1} if name in required else {}),
        }
        for name, (about, kind) in FORM_FIELDS.items()
        if name not in without
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "patternProperties": {"^label\\.": {"type": "string", "maxLength": 4096}},
        "additionalProperties": False,
    }
    return {"required": True, "content": {FORM: {"schema": schema}}}
