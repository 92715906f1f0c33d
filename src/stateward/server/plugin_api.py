"""What the routes of a plug-in are written with: the public part of this package, and no other.

A plug-in's `routes` module may import from here; the names below keep their meaning within a version. A handler says in
its `opt` who may call it and what it may answer (`described_as`), asks the App in a thread of the service
(`service_of(request).quick.ask`, `.broad.ask` for what reads much, `.writer.ask` for what writes), and gives its answer
with `reply(json_answer(document))`.
"""

from stateward.app import App
from stateward.app.views import text_of
from stateward.engine.answers import DecisionRequest
from stateward.engine.coordinator import Submitted
from stateward.engine.external_driver import Step, retried_step
from stateward.schemas import Ask, FieldFault
from stateward.server.auth import (
    Asked,
    Caller,
    caller_of,
    expected_version,
    get_visible_record,
    once_of,
    own_machine,
    reply,
    service_of,
    trace_of,
)
from stateward.server.description import (
    ACTING,
    CHANGED,
    LOOKED_AT,
    PAGED,
    SENDING,
    SENT,
    STEPPING,
    WRITING,
    described_as,
    form_body,
)
from stateward.server.executors import Call
from stateward.server.operations import LOOK_PAUSE_S, get_record, write_once
from stateward.server.parameters import (
    CursorText,
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    Limit,
    QueryText,
    Wait,
)
from stateward.server.problems import Refusal
from stateward.server.service import Service
from stateward.server.strict import strict_json
from stateward.server.upload_stream import (
    FORM,
    Form,
    UploadReceiver,
    pieces,
)
from stateward.server.views import etag, json_answer, record_view
from stateward.storage.idempotency import Answer, IdempotentRequest

__all__ = [
    "ACTING",
    "CHANGED",
    "FORM",
    "LOOKED_AT",
    "LOOK_PAUSE_S",
    "PAGED",
    "SENDING",
    "SENT",
    "STEPPING",
    "WRITING",
    "Answer",
    "App",
    "Ask",
    "Asked",
    "Call",
    "Caller",
    "CursorText",
    "DecisionRequest",
    "FieldFault",
    "Form",
    "IdempotencyKey",
    "IdempotentRequest",
    "IfMatch",
    "IfNoneMatch",
    "Limit",
    "QueryText",
    "Refusal",
    "Service",
    "Step",
    "Submitted",
    "UploadReceiver",
    "Wait",
    "caller_of",
    "described_as",
    "etag",
    "expected_version",
    "form_body",
    "get_record",
    "get_visible_record",
    "json_answer",
    "once_of",
    "own_machine",
    "pieces",
    "record_view",
    "reply",
    "retried_step",
    "service_of",
    "strict_json",
    "text_of",
    "trace_of",
    "write_once",
]
