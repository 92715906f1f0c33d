"""What the routes of a plug-in are written with: the public part of this package, and no other.

A plug-in's `routes` module may import from here; the names below keep their meaning within a version. A handler says in
its `opt` who may call it and what it may answer (`described_as`) and replies with a document that it reads from the App
(`reply_read`). Or it asks the App in a thread of the service itself (`service_of(request).quick.ask`, `.broad.ask` for
what reads much, `.writer.ask` for what writes), and gives its answer with `reply(json_answer(document))`.
"""

from stateward.app import App as App
from stateward.app.views import text_of as text_of
from stateward.engine.answers import DecisionRequest as DecisionRequest
from stateward.engine.coordinator import Submitted as Submitted
from stateward.engine.external_driver import Step as Step
from stateward.engine.external_driver import retried_step as retried_step
from stateward.schemas import Ask as Ask
from stateward.schemas import FieldFault as FieldFault
from stateward.server.auth import Asked as Asked
from stateward.server.auth import Caller as Caller
from stateward.server.auth import caller_of as caller_of
from stateward.server.auth import get_visible_record as get_visible_record
from stateward.server.auth import own_machine as own_machine
from stateward.server.auth import reply as reply
from stateward.server.auth import service_of as service_of
from stateward.server.description import ACTING as ACTING
from stateward.server.description import CHANGED as CHANGED
from stateward.server.description import LOOKED_AT as LOOKED_AT
from stateward.server.description import PAGED as PAGED
from stateward.server.description import SENDING as SENDING
from stateward.server.description import SENT as SENT
from stateward.server.description import STEPPING as STEPPING
from stateward.server.description import WRITING as WRITING
from stateward.server.description import described_as as described_as
from stateward.server.description import form_body as form_body
from stateward.server.executors import Call as Call
from stateward.server.headers import expected_version as expected_version
from stateward.server.headers import once_of as once_of
from stateward.server.headers import trace_of as trace_of
from stateward.server.operations import LOOK_PAUSE_S as LOOK_PAUSE_S
from stateward.server.operations import get_record as get_record
from stateward.server.operations import reply_read as reply_read
from stateward.server.operations import write_once as write_once
from stateward.server.parameters import CursorText as CursorText
from stateward.server.parameters import IdempotencyKey as IdempotencyKey
from stateward.server.parameters import IfMatch as IfMatch
from stateward.server.parameters import IfNoneMatch as IfNoneMatch
from stateward.server.parameters import Limit as Limit
from stateward.server.parameters import QueryText as QueryText
from stateward.server.parameters import Wait as Wait
from stateward.server.problems import Refusal as Refusal
from stateward.server.service import Service as Service
from stateward.server.strict import strict_json as strict_json
from stateward.server.upload_stream import FORM as FORM
from stateward.server.upload_stream import Form as Form
from stateward.server.upload_stream import UploadReceiver as UploadReceiver
from stateward.server.upload_stream import pieces as pieces
from stateward.server.views import etag as etag
from stateward.server.views import json_answer as json_answer
from stateward.server.views import record_view as record_view
from stateward.storage.idempotency import Answer as Answer
from stateward.storage.idempotency import IdempotentRequest as IdempotentRequest
