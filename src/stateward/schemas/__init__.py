"""The JSON documents of the HTTP API: what the server answers, the client decodes and commands print; and requests.

Names are snake_case, times are RFC 3339 in UTC. A field that does not apply is absent, not null (`UNSET`). How an
answer is made from the engine's values is in `app.views`.

The modules are imported when a name of theirs is first used: a command that lists records needs two of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stateward.schemas.base import IDS_MAX as IDS_MAX
    from stateward.schemas.base import MAX_INTEGER as MAX_INTEGER
    from stateward.schemas.base import PROBLEM_JSON as PROBLEM_JSON
    from stateward.schemas.base import PROBLEM_PREFIX as PROBLEM_PREFIX
    from stateward.schemas.base import REASON_CHARS_MAX as REASON_CHARS_MAX
    from stateward.schemas.base import REVIEWS_MAX as REVIEWS_MAX
    from stateward.schemas.base import Count as Count
    from stateward.schemas.base import Document as Document
    from stateward.schemas.base import FieldFault as FieldFault
    from stateward.schemas.base import Priority as Priority
    from stateward.schemas.base import Problem as Problem
    from stateward.schemas.base import Reason as Reason
    from stateward.schemas.base import Request as Request
    from stateward.schemas.base import Seconds as Seconds
    from stateward.schemas.base import Time as Time
    from stateward.schemas.batches import Batch as Batch
    from stateward.schemas.batches import BatchPage as BatchPage
    from stateward.schemas.batches import BatchRequest as BatchRequest
    from stateward.schemas.feed import FeedDocument as FeedDocument
    from stateward.schemas.feed import FeedReplayRequest as FeedReplayRequest
    from stateward.schemas.health import AuditItem as AuditItem
    from stateward.schemas.health import AuditPage as AuditPage
    from stateward.schemas.health import DeadLetter as DeadLetter
    from stateward.schemas.health import DeadLetterPage as DeadLetterPage
    from stateward.schemas.health import Diagnosis as Diagnosis
    from stateward.schemas.health import DiagnosisCheck as DiagnosisCheck
    from stateward.schemas.health import Health as Health
    from stateward.schemas.health import Provenance as Provenance
    from stateward.schemas.health import Readiness as Readiness
    from stateward.schemas.health import ReadyCheck as ReadyCheck
    from stateward.schemas.health import Verification as Verification
    from stateward.schemas.health import VerificationFinding as VerificationFinding
    from stateward.schemas.health import VerificationRequest as VerificationRequest
    from stateward.schemas.keys import KeyDocument as KeyDocument
    from stateward.schemas.keys import KeyList as KeyList
    from stateward.schemas.keys import KeyRequest as KeyRequest
    from stateward.schemas.keys import KeyRevoked as KeyRevoked
    from stateward.schemas.machines import DetectedType as DetectedType
    from stateward.schemas.machines import Detection as Detection
    from stateward.schemas.machines import ItemColumn as ItemColumn
    from stateward.schemas.machines import ItemView as ItemView
    from stateward.schemas.machines import MachineDetail as MachineDetail
    from stateward.schemas.machines import Machines as Machines
    from stateward.schemas.machines import MachineSummary as MachineSummary
    from stateward.schemas.machines import Pause as Pause
    from stateward.schemas.machines import Paused as Paused
    from stateward.schemas.machines import PauseRequest as PauseRequest
    from stateward.schemas.machines import Pauses as Pauses
    from stateward.schemas.machines import SourceType as SourceType
    from stateward.schemas.records import ArchiveMember as ArchiveMember
    from stateward.schemas.records import Ask as Ask
    from stateward.schemas.records import Attempt as Attempt
    from stateward.schemas.records import Counts as Counts
    from stateward.schemas.records import ErrorGroup as ErrorGroup
    from stateward.schemas.records import Errors as Errors
    from stateward.schemas.records import FlagDecision as FlagDecision
    from stateward.schemas.records import FlagRequest as FlagRequest
    from stateward.schemas.records import History as History
    from stateward.schemas.records import ItemPage as ItemPage
    from stateward.schemas.records import PriorityRequest as PriorityRequest
    from stateward.schemas.records import Record as Record
    from stateward.schemas.records import RecordFile as RecordFile
    from stateward.schemas.records import RecordFiles as RecordFiles
    from stateward.schemas.records import RecordOpened as RecordOpened
    from stateward.schemas.records import RecordPage as RecordPage
    from stateward.schemas.records import RefusedUpload as RefusedUpload
    from stateward.schemas.records import RefusedUploads as RefusedUploads
    from stateward.schemas.records import ReprocessRecordRequest as ReprocessRecordRequest
    from stateward.schemas.records import RereadAnswer as RereadAnswer
    from stateward.schemas.records import RereadRequest as RereadRequest
    from stateward.schemas.records import StageLog as StageLog
    from stateward.schemas.records import StatusCount as StatusCount
    from stateward.schemas.records import StatusMetadata as StatusMetadata
    from stateward.schemas.records import Transition as Transition
    from stateward.schemas.records import Why as Why
    from stateward.schemas.retention import ErasureAnswer as ErasureAnswer
    from stateward.schemas.retention import ErasureRequest as ErasureRequest
    from stateward.schemas.retention import HeldRecord as HeldRecord
    from stateward.schemas.retention import HeldRecords as HeldRecords
    from stateward.schemas.retention import HoldRequest as HoldRequest
    from stateward.schemas.retention import RetentionAnswer as RetentionAnswer
    from stateward.schemas.retention import RetentionRequest as RetentionRequest
    from stateward.schemas.retention import RetentionRuleResult as RetentionRuleResult
    from stateward.schemas.reviews import Corrected as Corrected
    from stateward.schemas.reviews import CorrectedValue as CorrectedValue
    from stateward.schemas.reviews import EvidenceTable as EvidenceTable
    from stateward.schemas.reviews import FieldStatistics as FieldStatistics
    from stateward.schemas.reviews import Notes as Notes
    from stateward.schemas.reviews import OpinionRequest as OpinionRequest
    from stateward.schemas.reviews import PersonStatistics as PersonStatistics
    from stateward.schemas.reviews import ReasonCode as ReasonCode
    from stateward.schemas.reviews import ReasonStatistics as ReasonStatistics
    from stateward.schemas.reviews import ReviewApproval as ReviewApproval
    from stateward.schemas.reviews import ReviewBatch as ReviewBatch
    from stateward.schemas.reviews import ReviewBatchRequest as ReviewBatchRequest
    from stateward.schemas.reviews import ReviewBatchResult as ReviewBatchResult
    from stateward.schemas.reviews import ReviewBatchUndone as ReviewBatchUndone
    from stateward.schemas.reviews import ReviewChoice as ReviewChoice
    from stateward.schemas.reviews import ReviewClaim as ReviewClaim
    from stateward.schemas.reviews import ReviewDecision as ReviewDecision
    from stateward.schemas.reviews import ReviewDetail as ReviewDetail
    from stateward.schemas.reviews import ReviewLink as ReviewLink
    from stateward.schemas.reviews import ReviewLinkList as ReviewLinkList
    from stateward.schemas.reviews import ReviewLinkRequest as ReviewLinkRequest
    from stateward.schemas.reviews import ReviewLinkRevoked as ReviewLinkRevoked
    from stateward.schemas.reviews import ReviewOpinion as ReviewOpinion
    from stateward.schemas.reviews import ReviewPage as ReviewPage
    from stateward.schemas.reviews import ReviewPending as ReviewPending
    from stateward.schemas.reviews import ReviewReferral as ReviewReferral
    from stateward.schemas.reviews import ReviewRequest as ReviewRequest
    from stateward.schemas.reviews import ReviewStatistics as ReviewStatistics
    from stateward.schemas.reviews import ReviewTask as ReviewTask
    from stateward.schemas.search import SearchHit as SearchHit
    from stateward.schemas.search import SearchPage as SearchPage
    from stateward.schemas.search import SearchPassage as SearchPassage
    from stateward.schemas.search import SearchReason as SearchReason
    from stateward.schemas.search import SnippetSegment as SnippetSegment
    from stateward.schemas.webhooks import AttemptDocument as AttemptDocument
    from stateward.schemas.webhooks import DeliveryDocument as DeliveryDocument
    from stateward.schemas.webhooks import DeliveryPage as DeliveryPage
    from stateward.schemas.webhooks import DisableRequest as DisableRequest
    from stateward.schemas.webhooks import Replayed as Replayed
    from stateward.schemas.webhooks import ReplayRequest as ReplayRequest
    from stateward.schemas.webhooks import WebhookDocument as WebhookDocument
    from stateward.schemas.webhooks import WebhookList as WebhookList
    from stateward.schemas.webhooks import WebhookRequest as WebhookRequest

# In the order in which a name is looked for: what short commands need stands first.
_MODULES = (
    "base",
    "records",
    "machines",
    "reviews",
    "search",
    "health",
    "keys",
    "batches",
    "retention",
    "webhooks",
    "feed",
)


if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> object:
        """A document, from the module that declares it; from then on an ordinary attribute."""
        for module in () if name.startswith("_") else _MODULES:
            found = vars(import_module(f"{__name__}.{module}")).get(name)
            if found is not None:
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
