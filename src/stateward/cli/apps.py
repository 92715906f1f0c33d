"""What commands can ask of a Stateward, in this process (`LocalApp`) or over HTTP (`RemoteApp`).

Both satisfy `AppProtocol` and answer with the documents of the HTTP API, so that a command prints the same wherever
it asks. A command that needs the database or the data folder itself asks `CliContext.local_app` instead.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from stateward import schemas
    from stateward.app.actions import Bulk, BulkAction, Verb
    from stateward.core.model import Fields
    from stateward.engine.flags import FlagAction

ID_CHARS = 36  # of the ids that are made today, after the prefix
SHORT_IDS_SHOWN = 4
SHORT_ID_CHARS_MIN = 4  # fewer are a slip of the hand, and a key is revoked by its id
_SHORT_ID = re.compile(r"[A-Z]{1,8}_[0-9a-z]+")

Corrections = Mapping[str, str | list[str] | None]


class StageItems(NamedTuple):
    """Items and the stage that made them; None where no such stage is done."""

    stage: str | None
    rows: "Iterator[Fields]"


class SearchRequest(NamedTuple):
    """What `stateward search` looks for."""

    text: str
    pipeline: str = ""
    filters: Sequence[str] = ()
    is_hybrid: bool = False


class AuditFilter(NamedTuple):
    """Which entries of the audit log are wanted; the times are RFC 3339."""

    actor: str | None = None
    verb: str | None = None
    record_id: str | None = None
    since: str | None = None
    until: str | None = None


class ReviewAnswer(NamedTuple):
    """What `stateward review approve`, `correct` and `reject` answer."""

    action: str
    corrected: Corrections = MappingProxyType({})
    moved: Mapping[str, str] = MappingProxyType({})
    notes: str | None = None
    reason_code: str | None = None


class AppProtocol(Protocol):
    """A Stateward. Who acts is the person at this machine, or over HTTP the one whose key it is."""

    def whole(self, given: str) -> str:
        """The id of the record that a person means: as it is, or of the one whose id begins with it."""
        is_whole = len(given.partition("_")[2]) >= ID_CHARS or not _SHORT_ID.fullmatch(given)
        return given if is_whole else _only(given, (each.id for each in self.find(f"id:{given}*")))

    # Documents in

    def check_submission(
        self, machine: str | None, priority: str, source_type: str | None = None
    ) -> str:
        """The machine that documents go to, by default `auto`: the one that each belongs to by its content.

        Names that would be wrong for every file alike are refused here.
        """
        ...

    def submit(
        self,
        source: Path | Iterable[bytes],
        *,
        machine: str,
        name: str | None,
        labels: Mapping[str, str],
        priority: str,
        reason: str | None,
    ) -> "schemas.RecordOpened":
        """Store a document and create its record; the same bytes again give the record that exists."""
        ...

    def is_known(self, path: Path, *, machine: str, source_type: str | None) -> bool:
        """Whether a pipeline reads a file as it is: a likely one, or the one that is named."""
        ...

    def work_while(self, is_wanted: Callable[[], bool]) -> bool:
        """Do the work here as long as it is wanted; False, at once, where workers run already."""
        ...

    # Queries

    def record(self, record_id: str) -> "schemas.Record":
        """One record; `UnknownName` if there is none."""
        ...

    def find(
        self,
        query: str,
        *,
        statuses: Sequence[str] = (),
        machines: Sequence[str] = (),
        after: str = "",
    ) -> Iterator["schemas.Record"]:
        """Every record that matches, newest first; only in these statuses and of these machines, if any are named."""
        ...

    def wait(self, record_id: str, *, timeout_s: float) -> "schemas.Record":
        """The record once it has ended or rests, at the latest after this time."""
        ...

    def history(self, record_id: str) -> "list[schemas.Transition]":
        """Every transition of a record, oldest first."""
        ...

    def explain(self, record_id: str) -> "schemas.Why":
        """Why a record is where it is."""
        ...

    def attempts(self, record_id: str) -> "list[schemas.Attempt]":
        """Every attempt at a stage of a record that ended, with its log."""
        ...

    def stages(self, record_id: str) -> list[str]:
        """The stages of a record's machine."""
        ...

    def items(
        self,
        record_id: str,
        *,
        stage: str | None = None,
        kind: str | None = None,
        edition: int | None = None,
    ) -> StageItems:
        """The items of a stage, or of a kind; by default of the last stage that is done."""
        ...

    def files(self, record_id: str) -> "list[schemas.RecordFile]":
        """The derived files of a record."""
        ...

    def file(self, record_id: str, stage: str, name: str) -> Iterator[bytes]:
        """The bytes of a derived file, a piece at a time."""
        ...

    def search(self, asked: SearchRequest) -> Iterator["schemas.SearchHit"]:
        """Passages or ranked documents that match, the best first."""
        ...

    def search_as(self, asked: SearchRequest, format_: str, *, limit: int) -> str:
        """The best ranked documents in a format that their pipeline offers."""
        ...

    def errors(self, machines: Sequence[str] = ()) -> "list[schemas.ErrorGroup]":
        """Records that rest with an error, by cause, the most frequent first; of these machines, if any are named."""
        ...

    def counts(self, query: str) -> "list[schemas.StatusCount]":
        """How many records match, by machine and status."""
        ...

    # Actions

    def act(self, verb: "Verb", record_id: str, *, reason: str | None) -> "schemas.Record":
        """Retry or cancel a record; the record as it then is."""
        ...

    def set_priority(
        self, record_id: str, priority: str, *, reason: str | None
    ) -> "schemas.Record":
        """Let a record go sooner or later."""
        ...

    def bulk(
        self,
        action: "BulkAction",
        *,
        ids: Sequence[str],
        query: str | None,
        priority: str | None,
        reason: str | None,
        is_dry_run: bool,
        progress: Callable[[int], None],
    ) -> "Bulk":
        """Do something with everything that is named or matches."""
        ...

    def reprocess(self, record_id: str, *, reason: str | None) -> "schemas.RecordOpened":
        """Process the document of a record that has ended again, as a new record."""
        ...

    def move(self, event: str, record_id: str, *, reason: str | None) -> "schemas.Record":
        """Make a move that the machine of a record declares, by its event."""
        ...

    def advance(self, record_id: str, *, reason: str | None) -> "schemas.Record":
        """Let a held record go on, in place of its external driver."""
        ...

    def provenance(self, record_id: str, form: str) -> "schemas.Provenance":
        """The history of a record in the format of another tool."""
        ...

    def pause(self, machine: str, stage: str, *, reason: str | None) -> None:
        """Stop dispatching a stage, or with '' all stages, of a machine."""

    def resume(self, machine: str, stage: str) -> bool:
        """Dispatch a stage again; whether it was paused."""
        ...

    def audit(
        self, wanted: AuditFilter, *, is_rising: bool = False
    ) -> Iterator["schemas.AuditItem"]:
        """Entries of the audit log, the newest first or the oldest."""
        ...

    # Flagged results and reviews

    def reread(self, record_id: str, asked: "schemas.RereadRequest") -> "schemas.RereadAnswer":
        """Read a document again; what was read before stays as an earlier edition."""
        ...

    def decide_flags(
        self, record_id: str, action: "FlagAction", *, reason: str | None
    ) -> "schemas.Record":
        """Decide about a result that is flagged as wrong or incomplete; the record as it then is."""
        ...

    def pending_reviews(self, *, limit: int) -> "list[schemas.ReviewTask]":
        """What waits for a decision, the nearest deadline first."""
        ...

    def review(self, record_id: str) -> "schemas.ReviewDetail":
        """A review with the values to look at, or how it was decided."""
        ...

    def review_statistics(self, *, days: int) -> "schemas.ReviewStatistics":
        """What people decided in reviews, and which fields they correct most."""
        ...

    def claim(self, record_id: str) -> "schemas.ReviewTask":
        """Claim a review: for a while only the caller may decide it."""
        ...

    def unclaim(self, record_id: str) -> "schemas.ReviewTask":
        """Leave a claimed review to others."""
        ...

    def create_review_link(
        self, record_id: str, person: str, *, hours: float | None
    ) -> "schemas.ReviewLink":
        """Make a link that lets a named person decide a review; the answer has its address."""
        ...

    def review_links(self, record_id: str) -> "list[schemas.ReviewLink]":
        """The links to a review, oldest first."""
        ...

    def revoke_review_link(self, record_id: str, link_id: str) -> bool:
        """Close a link; whether it was open."""
        ...

    def decide(self, record_id: str, answer: "ReviewAnswer") -> "schemas.Record":
        """Answer a review; the record as it then is."""
        ...

    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Corrections,
        is_blind: bool,
        notes: str | None,
    ) -> "schemas.ReviewTask":
        """Ask another person or a group, who then decides."""
        ...

    # The installation

    def doctor(self) -> "schemas.Diagnosis":
        """What is wrong with the installation."""
        ...

    def verify(
        self, *, checkpoint: str | None = None, progress: Callable[[str, int], None]
    ) -> "schemas.Verification":
        """Replay the whole history and check it, also against the text of a checkpoint that was kept elsewhere."""
        ...

    def erase(
        self,
        record_ids: Sequence[str],
        *,
        subject: str | None,
        reason: str,
        is_dry_run: bool,
        is_compacted: bool,
        progress: Callable[[str], None],
    ) -> "schemas.ErasureAnswer":
        """Delete what records held, and keep the proof. Only beside the database it can be written anew."""
        ...

    def hold(self, record_id: str, *, reason: str, is_held: bool) -> "schemas.HeldRecord":
        """Forbid the deletion of anything of a record, or allow it again."""
        ...

    def holds(self) -> "list[schemas.HeldRecord]":
        """The records of which nothing may be deleted."""
        ...

    def apply_retention(
        self, *, is_dry_run: bool, progress: Callable[[str, int], None]
    ) -> "schemas.RetentionAnswer":
        """Delete what is old, by the rules of the settings."""
        ...

    def dead_letters(self) -> "Iterator[schemas.DeadLetter]":
        """Events and messages that could not be read, newest first."""
        ...

    def feed(self) -> "schemas.FeedDocument":
        """How far the change feed has come."""
        ...

    def replay_feed(self, seq: int) -> "schemas.FeedDocument":
        """Have everything from a transition on sent again."""
        ...

    def gold_lines(self) -> Iterator[bytes]:
        """Every decision of a person as a line of gold data."""
        ...

    def export_history(
        self, folder: Path, *, progress: Callable[[str, int], None]
    ) -> dict[str, int]:
        """Write the history into a new or empty folder; the lines of each file. Over HTTP it is the transitions."""
        ...


def one_of(given: str, ids: Iterable[str]) -> str:
    """The id of a webhook, key or link that a person means: as it is, or the one of these that begins with it."""
    if len(given) < SHORT_ID_CHARS_MIN:
        return given
    return _only(given, (each for each in ids if each.startswith(given)))


def _only(given: str, matches: Iterable[str]) -> str:
    from stateward.core.errors import InvalidRequest

    found = list(islice(matches, SHORT_IDS_SHOWN))
    if given in found or not found:
        return given
    if len(found) > 1:
        more = ", …" if len(found) == SHORT_IDS_SHOWN else ""
        raise InvalidRequest(f"{given} is the beginning of several ids: {', '.join(found)}{more}")
    return found[0]


def status_query(
    query: str,
    known: Mapping[str, Collection[str]],
    *,
    statuses: Sequence[str],
    machines: Sequence[str],
) -> str:
    """A query narrowed to statuses and machines; `known` are the statuses of each machine.

    An unknown name in an option is an unknown thing, not a query that finds nothing.
    """
    check_known("machine", machines, known)
    check_known("status", statuses, {state for states in known.values() for state in states})
    terms = [
        *(f"status:{_quote(name)}" for name in statuses),
        *(f"machine:{_quote(name)}" for name in machines),
    ]
    return " ".join([query, *terms]).strip()


def check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is none of these."""
    from stateward.core.errors import UnknownName

    for name in names:
        if name not in known:
            raise UnknownName(what, name, known)


def of_machines(
    groups: "Iterable[schemas.ErrorGroup]", machines: Collection[str]
) -> "list[schemas.ErrorGroup]":
    """Those of these machines; all if none is named."""
    return [each for each in groups if not machines or each.machine in machines]


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
