"""What commands can ask of a Stateward, in this process (`LocalApp`) or over HTTP (`RemoteApp`).

The operations are those of `stateward.client`, with its names and its documents: `RemoteApp` is such a client, so a
command prints the same wherever it asks. A few that differ from the client say so. A command that needs the database
or the data folder itself asks `CliContext.local_app` instead.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from stateward import schemas
    from stateward.app.actions import Bulk, BulkAction
    from stateward.core.model import Fields
    from stateward.engine.flags import FlagAction
    from stateward.storage.keys import Role

ID_CHARS = 36  # of the ids that are made today, after the prefix
SHORT_IDS_SHOWN = 4
SHORT_ID_CHARS_MIN = 4  # fewer are a slip of the hand, and a key is revoked by its id
_SHORT_ID = re.compile(r"[A-Z]{1,8}_[0-9a-z]+")

Corrections: TypeAlias = Mapping[str, str | Sequence[str] | None]
DeliveryState: TypeAlias = Literal["pending", "delivered", "dead"]


class StageItems(NamedTuple):
    """Items and the stage that made them; None where no such stage is done."""

    stage: str | None
    rows: "Iterator[Fields]"


class AppProtocol(Protocol):
    """A Stateward. Who acts is the person at this machine, or over HTTP the one whose key it is.

    Ids of records may be given by their beginning.
    """

    def whole(self, given: str) -> str:
        """The id of the record that a person means: as it is, or of the one whose id begins with it."""
        return whole_record_id(given, lambda query: (each.id for each in self.find(query)))

    def whole_webhook(self, given: str) -> str:
        """The id of the webhook that a person means, who may have typed its beginning."""
        return one_of(given, (each.id for each in self.webhooks()))

    # Documents in

    def check_submission(
        self, machine: str | None, priority: str, source_type: str | None = None
    ) -> str:
        """The machine that documents go to, by default `auto`: the one that each belongs to by its content.

        Names that would be wrong for every file alike are refused here.
        """
        ...

    def submit_document(
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

    def statuses(self) -> Mapping[str, Collection[str]]:
        """The statuses of each machine."""
        ...

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

    def wait(self, record_id: str, *, timeout_s: float) -> "schemas.Record": ...
    def history(self, record_id: str) -> Iterator["schemas.Transition"]: ...
    def explain(self, record_id: str) -> "schemas.Why": ...

    def attempts(self, record_id: str) -> "list[schemas.Attempt]":
        """Every attempt at a stage of a record that ended, with its log."""
        ...

    def stages(self, record_id: str) -> list[str]:
        """The stages of a record's machine."""
        ...

    def stage_items(
        self,
        record_id: str,
        *,
        stage: str | None = None,
        kind: str | None = None,
        edition: int | None = None,
    ) -> StageItems:
        """The items of a stage, or of a kind; by default of the last stage that is done."""
        ...

    def files(self, record_id: str) -> "list[schemas.RecordFile]": ...
    def file(self, record_id: str, stage: str, name: str) -> Iterator[bytes]: ...
    def search(
        self, text: str, *, pipeline: str = "", filters: Sequence[str] = (), is_hybrid: bool = False
    ) -> Iterator["schemas.SearchHit"]: ...
    def search_as(
        self,
        text: str,
        format_: str,
        *,
        pipeline: str = "",
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> str: ...
    def errors(self) -> "list[schemas.ErrorGroup]": ...
    def counts(self, q: str | None = None) -> "list[schemas.StatusCount]": ...
    def provenance(
        self, record_id: str, *, form: Literal["prov", "openlineage"] = "prov"
    ) -> "schemas.Provenance": ...

    # Actions

    def retry(self, record_id: str, *, reason: str | None = None) -> "schemas.Record": ...
    def cancel(self, record_id: str, *, reason: str | None = None) -> "schemas.Record": ...

    def set_priority(
        self, record_id: str, priority: int | str, *, reason: str | None = None
    ) -> "schemas.Record":
        """Let a record go sooner or later; a name of a priority is known only where the database is."""
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

    def reprocess(
        self, record_id: str, hints: Mapping[str, str] | None = None, *, reason: str | None = None
    ) -> "schemas.RecordOpened": ...
    def move(
        self, record_id: str, event: str, *, reason: str | None = None
    ) -> "schemas.Record": ...
    def advance(self, record_id: str, *, reason: str | None = None) -> "schemas.Record": ...
    def pause(
        self, machine: str, *, stage: str | None = None, reason: str | None = None
    ) -> object: ...
    def resume(self, machine: str, *, stage: str | None = None) -> "schemas.Paused": ...

    # Flagged results and reviews

    def reread(self, record_id: str, asked: "schemas.RereadRequest") -> "schemas.RereadAnswer": ...
    def decide_flags(
        self, record_id: str, action: "FlagAction", *, reason: str | None = None
    ) -> "schemas.Record": ...
    def pending_reviews(self, *, limit: int) -> Iterator["schemas.ReviewTask"]: ...
    def get_review(self, record_id: str) -> "schemas.ReviewDetail": ...
    def review_statistics(self, *, days: int) -> "schemas.ReviewStatistics": ...
    def claim_review(self, record_id: str) -> "schemas.ReviewTask": ...
    def unclaim_review(self, record_id: str) -> "schemas.ReviewTask": ...
    def create_review_link(
        self, record_id: str, person: str, *, hours: float | None = None
    ) -> "schemas.ReviewLink": ...
    def review_links(self, record_id: str) -> "list[schemas.ReviewLink]": ...
    def revoke_review_link(self, record_id: str, link_id: str) -> "schemas.ReviewLinkRevoked": ...
    def review(
        self,
        record_id: str,
        action: str,
        *,
        corrected: Corrections | None = None,
        moved: Mapping[str, str] | None = None,
        notes: str | None = None,
        reason_code: str | None = None,
    ) -> "schemas.Record": ...
    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Corrections | None = None,
        is_blind: bool = False,
        notes: str | None = None,
    ) -> "schemas.ReviewTask": ...
    def gold_lines(self) -> Iterator[bytes]: ...

    # The installation

    def audit(
        self,
        *,
        actor: str | None = None,
        verb: str | None = None,
        record_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: int | None = None,
    ) -> Iterator["schemas.AuditItem"]: ...
    def doctor(self) -> "schemas.Diagnosis": ...

    def verify(
        self,
        *,
        checkpoint: str | None = None,
        progress: Callable[[str, int], None] = lambda _what, _count: None,
    ) -> "schemas.Verification":
        """Replay the whole history and check it, also against the text of a checkpoint that was kept elsewhere."""
        ...

    def erase_records(
        self,
        record_ids: Sequence[str],
        *,
        subject: str | None,
        reason: str,
        is_dry_run: bool,
        is_compacted: bool,
        progress: Callable[[str], None],
    ) -> "schemas.ErasureAnswer":
        """Erase the content of records, and keep the proof. Only beside the database it can be written anew."""
        ...

    def hold(
        self, record_id: str, *, reason: str, is_held: bool = True
    ) -> "schemas.HeldRecord": ...
    def holds(self) -> "list[schemas.HeldRecord]": ...

    def apply_retention(
        self,
        *,
        is_dry_run: bool = False,
        progress: Callable[[str, int], None] = lambda _what, _count: None,
    ) -> "schemas.RetentionAnswer":
        """Delete old content by the retention rules of the settings."""
        ...

    def dead_letters(self) -> Iterator["schemas.DeadLetter"]: ...
    def transport_letters(self, *, limit: int = 200) -> "schemas.TransportLetters": ...
    def act_on_letters(
        self, action: "schemas.LetterAction", ids: Sequence[str]
    ) -> "schemas.LetterOutcomes": ...
    def feed(self) -> "schemas.FeedDocument": ...
    def replay_feed(self, seq: int) -> "schemas.FeedDocument": ...

    def export_history(
        self, folder: Path, *, progress: Callable[[str, int], None]
    ) -> dict[str, int]:
        """Write the history into a new or empty folder; the lines of each file. Over HTTP it is the transitions."""
        ...

    # Keys and webhooks

    def keys(self) -> "list[schemas.KeyDocument]": ...
    def create_key(
        self,
        name: str,
        role: "Role",
        *,
        pipelines: Sequence[str] = (),
        days: float | None = None,
        rate_per_minute: int | None = None,
        upload_bytes_max: int | None = None,
    ) -> "schemas.KeyDocument": ...
    def revoke_key(self, key_id: str) -> "schemas.KeyRevoked": ...
    def webhooks(self) -> "list[schemas.WebhookDocument]": ...

    def webhook(self, webhook_id: str) -> "schemas.WebhookDocument":
        """An endpoint; with its secret where that can be read."""
        ...

    def add_webhook(
        self,
        url: str,
        events: Sequence[str],
        *,
        content: Literal["standard", "cloudevents"] = "standard",
    ) -> "schemas.WebhookDocument": ...
    def remove_webhook(self, webhook_id: str) -> None: ...
    def rotate_webhook(self, webhook_id: str) -> "schemas.WebhookDocument": ...
    def enable_webhook(self, webhook_id: str) -> "schemas.WebhookDocument": ...
    def disable_webhook(
        self, webhook_id: str, *, reason: str | None = None
    ) -> "schemas.WebhookDocument": ...

    def test_webhook(self, webhook_id: str) -> "schemas.DeliveryDocument":
        """Send a test, and wait until it was tried once."""
        ...

    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        record_id: str | None = None,
        state: DeliveryState | None = None,
        limit: int = 200,
    ) -> Iterator["schemas.DeliveryDocument"]: ...
    def delivery(self, webhook_id: str, message_id: str) -> "schemas.DeliveryDocument": ...
    def replay_deliveries(
        self,
        *,
        webhook_id: str | None = None,
        message_id: str | None = None,
        state: Literal["delivered", "dead"] | None = None,
        since: str | None = None,
    ) -> "schemas.Replayed": ...


def whole_record_id(given: str, find: Callable[[str], Iterable[str]]) -> str:
    """The id of the record that a person means; `find` gives the ids of the records that match a query."""
    is_whole = len(given.partition("_")[2]) >= ID_CHARS or not _SHORT_ID.fullmatch(given)
    return given if is_whole else _only(given, find(f"id:{given}*"))


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
    from stateward.core.query import quote_text

    check_known("machine", machines, known)
    check_known("status", statuses, {state for states in known.values() for state in states})
    terms = [
        *(f"status:{quote_text(name)}" for name in statuses),
        *(f"machine:{quote_text(name)}" for name in machines),
    ]
    return " ".join([query, *terms]).strip()


def check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is none of these."""
    from stateward.core.errors import UnknownName

    for name in names:
        if name not in known:
            raise UnknownName(what, name, known)
