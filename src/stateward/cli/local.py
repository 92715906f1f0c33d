"""A Stateward in this process, for commands: an `App` that answers with the documents of the HTTP API."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from stateward import schemas
from stateward.app.views import (
    attempt_view,
    diagnosis_view,
    error_group_views,
    file_view,
    review_view,
    statistics_view,
    status_counts,
    task_view,
    verification_view,
    why_view,
)
from stateward.cli.apps import (
    AppProtocol,
    AuditFilter,
    Corrections,
    ReviewAnswer,
    SearchRequest,
    StageItems,
    check_known,
    of_machines,
    status_query,
)
from stateward.core.errors import InvalidRequest, StatewardError, UnknownName
from stateward.core.model import SECOND, Micros, from_iso
from stateward.definition.plugin import AUTO
from stateward.engine.system import person

# What a command does not call it need not wait for.
if TYPE_CHECKING:
    from stateward.app import App
    from stateward.app.actions import Bulk, BulkAction, Verb
    from stateward.engine.flags import FlagAction

PAGE = 200


class LocalApp(AppProtocol):
    """`AppProtocol` over an `App`; the actor is the person who runs the command."""

    def __init__(self, app: App) -> None:
        self._app = app
        # Parsed once a command: `age>2h` means the same when it is shown to a person and when it is acted on.
        self._query = cache(app.records.query)

    @cached_property
    def _actor(self) -> str:
        return person()

    # Documents in

    def check_submission(
        self, machine: str | None, priority: str, source_type: str | None = None
    ) -> str:
        submissions, plugins = self._app.submissions, self._app.plugins
        if machine in (None, AUTO):
            self._check_any_priority(priority)
            _check_source_type(source_type, plugins.source_type_names)
            return AUTO  # what each document is, its content says
        name = self._app.registry.named(machine).name
        submissions.priority(name, priority)
        _check_source_type(source_type, plugins.source_types(name))
        return name

    def _check_any_priority(self, priority: str) -> None:
        """Refuse a priority that no machine knows, before any document is read."""
        refused: UnknownName | None = None
        for name in self._app.registry.newest:
            try:
                self._app.submissions.priority(name, priority)
            except UnknownName as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused

    def submit(
        self,
        source: Path | Iterable[bytes],
        *,
        machine: str,
        name: str | None,
        labels: Mapping[str, str],
        priority: str,
        reason: str | None,
    ) -> schemas.RecordOpened:
        found = self._app.submit(
            source, machine=machine, name=name, labels=labels, priority=priority, reason=reason
        )
        record = self._app.records.view(found.record)
        return schemas.RecordOpened(
            record=record,
            is_duplicate=found.is_duplicate,
            edition=found.edition,
            note=found.note,
        )

    def is_known(self, path: Path, *, machine: str, source_type: str | None) -> bool:
        return self._app.submissions.is_known(path, machine=machine, source_type=source_type)

    def work_while(self, is_wanted: Callable[[], bool]) -> bool:
        """Do the work here, unless a worker runs."""
        if self._app.records.has_worker():
            return False
        with self._app.node() as node:
            node.work_while(is_wanted)
        return True

    # Queries

    def record(self, record_id: str) -> schemas.Record:
        found = self._app.record(self.whole(record_id))
        records = self._app.records
        return records.with_successors(records.view(found), found)

    def find(
        self,
        query: str,
        *,
        statuses: Sequence[str] = (),
        machines: Sequence[str] = (),
        after: str = "",
    ) -> Iterator[schemas.Record]:
        """Every record that matches, a page at a time."""
        known = self._app.registry.query_names.kinds
        records = self._app.records
        parsed = self._query(status_query(query, known, statuses=statuses, machines=machines))
        while page := records.find(parsed, after=after, limit=PAGE):
            yield from records.views(page)
            after = page[-1].id

    def wait(self, record_id: str, *, timeout_s: float) -> schemas.Record:
        record_id = self.whole(record_id)
        return self._app.records.view(self._app.records.wait(record_id, timeout_s=timeout_s))

    def history(self, record_id: str) -> list[schemas.Transition]:
        record_id = self.whole(record_id)
        records = self._app.records
        return [records.transition_view(each) for each in records.history(record_id)]

    def explain(self, record_id: str) -> schemas.Why:
        record_id = self.whole(record_id)
        return why_view(self._app.record(record_id), self._app.records.explain(record_id))

    def attempts(self, record_id: str) -> list[schemas.Attempt]:
        """Every attempt at a stage of a record, then its editions."""
        record_id = self.whole(record_id)
        return [attempt_view(each) for each in self._app.records.attempts(record_id)]

    def stages(self, record_id: str) -> list[str]:
        record_id = self.whole(record_id)
        return list(self._app.registry.of(self._app.record(record_id)).stage)

    def items(
        self,
        record_id: str,
        *,
        stage: str | None = None,
        kind: str | None = None,
        edition: int | None = None,
    ) -> StageItems:
        record_id = self.whole(record_id)
        record = self._app.record(record_id)
        found = self._app.records.find_items(record, stage=stage, kind=kind, edition=edition)
        if found is None:
            return StageItems(None, iter(()))
        maker, version = found
        return StageItems(maker, self._app.outputs.items(record.id, version))

    def files(self, record_id: str) -> list[schemas.RecordFile]:
        record_id = self.whole(record_id)
        record = self._app.record(record_id)
        return [file_view(record.id, each) for each in self._app.records.files(record)]

    def file(self, record_id: str, stage: str, name: str) -> Iterator[bytes]:
        record_id = self.whole(record_id)
        wanted = f"{stage}/{name}"
        saved = self._app.records.files(self._app.record(record_id))
        for each in saved:
            if each.path == wanted:
                return self._app.artifacts.pieces(each.file.sha256)
        raise UnknownName("file", wanted, [each.path for each in saved])

    def search_as(self, asked: SearchRequest, format_: str, *, limit: int) -> str:
        found = self._app.search.find(
            asked.text,
            pipeline=asked.pipeline,
            filters=asked.filters,
            is_hybrid=asked.is_hybrid,
            limit=limit,
        )
        return self._app.search.formatted(format_, found.hits, pipeline=asked.pipeline)[0]

    def search(self, asked: SearchRequest) -> Iterator[schemas.SearchHit]:
        """Passages or ranked documents that match, a page at a time."""
        place = None
        while True:
            page = self._app.search.find(
                asked.text,
                pipeline=asked.pipeline,
                filters=asked.filters,
                is_hybrid=asked.is_hybrid,
                after=place,
                limit=PAGE,
            )
            yield from page.hits
            place = page.next
            if place is None:
                return

    def errors(self, machines: Sequence[str] = ()) -> list[schemas.ErrorGroup]:
        check_known("machine", machines, self._app.registry.query_names.kinds)
        return of_machines(error_group_views(self._app.dashboard.causes()), machines)

    def counts(self, query: str) -> list[schemas.StatusCount]:
        records, asked = self._app.records, self._query(query)
        return status_counts(records.count(asked), records.count_cancelled(asked))

    # Actions

    def act(self, verb: Verb, record_id: str, *, reason: str | None) -> schemas.Record:
        record_id = self.whole(record_id)
        found = self._app.actions.act(verb, record_id, actor=self._actor, reason=reason)
        return self._app.records.view(found)

    def set_priority(self, record_id: str, priority: str, *, reason: str | None) -> schemas.Record:
        record_id = self.whole(record_id)
        (found,) = self._app.actions.set_priority(
            [record_id], priority, actor=self._actor, reason=reason
        )
        if isinstance(found, StatewardError):
            raise found
        return self._app.records.view(found)

    def bulk(
        self,
        action: BulkAction,
        *,
        ids: Sequence[str],
        query: str | None,
        priority: str | None,
        reason: str | None,
        is_dry_run: bool,
        progress: Callable[[int], None],
    ) -> Bulk:
        ids = [self.whole(each) for each in ids]
        return self._app.actions.bulk(
            action,
            ids=ids,
            query=None if query is None else self._query(query),
            priority=priority,
            actor=self._actor,
            reason=reason,
            is_dry_run=is_dry_run,
            progress=progress,
        )

    def reprocess(self, record_id: str, *, reason: str | None) -> schemas.RecordOpened:
        record_id = self.whole(record_id)
        made = self._app.external_driver.reprocess(record_id, actor=self._actor, reason=reason)
        record = self._app.records.view(made.record)
        return schemas.RecordOpened(record=record, is_duplicate=made.is_duplicate)

    def move(self, event: str, record_id: str, *, reason: str | None) -> schemas.Record:
        record_id = self.whole(record_id)
        (found,) = self._app.actions.move(event, [record_id], actor=self._actor, reason=reason)
        if isinstance(found, StatewardError):
            raise found
        return self._app.records.view(found)

    def advance(self, record_id: str, *, reason: str | None) -> schemas.Record:
        record_id = self.whole(record_id)
        found = self._app.external_driver.advance(record_id, actor=self._actor, reason=reason)
        return self._app.records.view(found)

    def provenance(self, record_id: str, form: str) -> schemas.Provenance:
        from stateward.app.provenance import provenance

        record = self._app.record(self.whole(record_id))
        document = provenance(record, self._app.records.history(record.id), form=form)
        named: Literal["prov", "openlineage"] = "prov" if form == "prov" else "openlineage"
        return schemas.Provenance(record_id=record.id, format=named, document=document)

    def pause(self, machine: str, stage: str, *, reason: str | None) -> None:
        self._app.actions.pause(machine, stage, actor=self._actor, reason=reason)

    def resume(self, machine: str, stage: str) -> bool:
        return self._app.actions.resume(machine, stage, actor=self._actor)

    # Reviews

    def reread(self, record_id: str, asked: schemas.RereadRequest) -> schemas.RereadAnswer:
        found = self._app.editions.reread(
            self.whole(record_id),
            hints=dict(asked.hints),
            secrets=dict(asked.secrets),
            actor=self._actor,
            is_preview=asked.is_preview,
            is_reset=asked.is_reset,
            is_accepted=asked.accept_flags,
            is_remembered=asked.remember,
            only_outdated=asked.only_outdated,
            reason=asked.reason,
            reason_code=asked.reason_code,
            is_administrator=True,
        )
        return schemas.RereadAnswer(**msgspec.structs.asdict(found))

    def decide_flags(
        self, record_id: str, action: FlagAction, *, reason: str | None
    ) -> schemas.Record:
        record = self._app.flags.decide(record_id, action, actor=self._actor, reason=reason)
        return self._app.records.view(record)

    def pending_reviews(self, *, limit: int) -> list[schemas.ReviewTask]:
        found = self._app.reviews.pending(limit=limit)
        return [task_view(each, actor=self._actor) for each in found]

    def review(self, record_id: str) -> schemas.ReviewDetail:
        record_id = self.whole(record_id)
        task = self._app.reviews.task(record_id)
        return review_view(self._app.reviews, self._app.store, task, actor=self._actor)

    def review_statistics(self, *, days: int) -> schemas.ReviewStatistics:
        since = self._app.clock() - days * 86_400 * SECOND
        return statistics_view(self._app.review_statistics.since(since), since=since)

    def claim(self, record_id: str) -> schemas.ReviewTask:
        record_id = self.whole(record_id)
        task = self._app.reviews.claim(record_id, actor=self._actor, is_administrator=True)
        return task_view(task, actor=self._actor)

    def unclaim(self, record_id: str) -> schemas.ReviewTask:
        record_id = self.whole(record_id)
        return task_view(self._app.reviews.unclaim(record_id, actor=self._actor), actor=self._actor)

    def create_review_link(
        self, record_id: str, person: str, *, hours: float | None
    ) -> schemas.ReviewLink:
        from stateward.app.approver_links import link_url

        own = self._app.approver_links
        made, text = own.create(
            self.whole(record_id), person, hours=hours, actor=self._actor, is_administrator=True
        )
        return msgspec.structs.replace(own.view(made), url=link_url(self._app.settings, text))

    def review_links(self, record_id: str) -> list[schemas.ReviewLink]:
        own = self._app.approver_links
        return [own.view(each) for each in own.of(self.whole(record_id))]

    def revoke_review_link(self, record_id: str, link_id: str) -> bool:
        record_id = self.whole(record_id)
        return self._app.approver_links.revoke(record_id, link_id, actor=self._actor)

    def decide(self, record_id: str, answer: ReviewAnswer) -> schemas.Record:
        from stateward.engine.answers import DecisionRequest

        record_id = self.whole(record_id)
        deciding = DecisionRequest(
            record_id=record_id,
            action=answer.action,
            actor=self._actor,
            corrected=dict(answer.corrected),
            moved=answer.moved,
            notes=answer.notes,
            reason_code=answer.reason_code,
            is_administrator=True,  # who runs the command on this machine has all rights to it
        )
        return self._app.records.view(self._app.reviews.decide(deciding))

    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Corrections,
        is_blind: bool,
        notes: str | None,
    ) -> schemas.ReviewTask:
        from stateward.engine.answers import OpinionRequest

        asking = OpinionRequest(
            record_id=self.whole(record_id),
            actor=self._actor,
            to=to,
            values=dict(corrected),
            is_blind=is_blind,
            notes=notes,
            is_administrator=True,
        )
        return task_view(self._app.reviews.refer(asking), actor=self._actor)

    # The installation

    def audit(self, wanted: AuditFilter, *, is_rising: bool = False) -> Iterator[schemas.AuditItem]:
        from stateward.app.views import audit_view
        from stateward.storage.audit import ENTRIES_MAX, AuditQuery

        query = AuditQuery(
            actor=wanted.actor,
            verb=wanted.verb,
            record_id=wanted.record_id and self.whole(wanted.record_id),
            since=_moment("since", wanted.since),
            until=_moment("until", wanted.until),
        )
        place = None
        while found := self._app.audit.find(
            query, place=place, is_rising=is_rising, limit=ENTRIES_MAX
        ):
            for place, entry in found:
                yield audit_view(place, entry)

    def doctor(self) -> schemas.Diagnosis:
        from stateward.app.doctor import checks

        return diagnosis_view(checks(self._app))

    def verify(
        self, *, checkpoint: str | None = None, progress: Callable[[str, int], None]
    ) -> schemas.Verification:
        from stateward.proofs.history_checkpoint import read_checkpoint

        kept = None if checkpoint is None else read_checkpoint(checkpoint)
        return verification_view(self._app.admin.verify(kept=kept, progress=progress))

    def erase(
        self,
        record_ids: Sequence[str],
        *,
        subject: str | None,
        reason: str,
        is_dry_run: bool,
        is_compacted: bool,
        progress: Callable[[str], None],
    ) -> schemas.ErasureAnswer:
        from stateward.app.subjects import records_of, remaining_copies
        from stateward.app.views import erasure_view

        app = self._app
        named = [self.whole(each) for each in record_ids]
        wanted = named if subject is None else records_of(app, subject)
        done = app.eraser.erase(wanted, actor=person(), reason=reason, is_dry_run=is_dry_run)
        # Also if nothing was left to erase: the command that erased it may have been killed before this.
        if is_compacted and not is_dry_run and (done.erased or not app.database.is_compact):
            progress("the database is written anew")
            app.database.compact()
        copies = remaining_copies(app.settings, is_compacted=is_compacted)
        return erasure_view(done, copies=copies, is_dry_run=is_dry_run)

    def hold(self, record_id: str, *, reason: str, is_held: bool) -> schemas.HeldRecord:
        from stateward.app.views import held_view

        change = self._app.eraser.hold if is_held else self._app.eraser.release
        done = change(self.whole(record_id), actor=person(), reason=reason)
        return held_view(done, is_held=is_held)

    def holds(self) -> list[schemas.HeldRecord]:
        from stateward.app.views import held_view

        return [held_view(each, is_held=True) for each in self._app.eraser.holds()]

    def apply_retention(
        self, *, is_dry_run: bool, progress: Callable[[str, int], None]
    ) -> schemas.RetentionAnswer:
        from stateward.app.views import retention_view

        done = self._app.retention.run(actor=person(), is_dry_run=is_dry_run, progress=progress)
        return retention_view(done, is_dry_run=is_dry_run)

    def dead_letters(self) -> Iterator[schemas.DeadLetter]:
        from stateward.app.views import dead_letter_view

        before = None
        while found := self._app.store.dead_letters.page(before=before, limit=PAGE):
            yield from (dead_letter_view(*each) for each in found)
            before = found[-1][0]

    def feed(self) -> schemas.FeedDocument:
        from stateward.app.feed import feed_status, feed_view

        return feed_view(self._app, feed_status(self._app))

    def replay_feed(self, seq: int) -> schemas.FeedDocument:
        from stateward.app.feed import feed_view, replay_feed

        return feed_view(self._app, replay_feed(self._app, seq, actor=person()))

    def gold_lines(self) -> Iterator[bytes]:
        return (each.line() for each in self._app.reviews.gold())

    def export_history(
        self, folder: Path, *, progress: Callable[[str, int], None]
    ) -> dict[str, int]:
        """Write the whole history into a new or empty folder."""
        return self._app.admin.export(folder, progress=progress)


def _moment(name: str, text: str | None) -> Micros | None:
    if text is None:
        return None
    try:
        return from_iso(text)
    except (ValueError, OverflowError):
        raise InvalidRequest(
            f"--{name} is a time with its zone, such as 2026-11-16T00:00:00Z"
        ) from None


def _check_source_type(given: str | None, known: Collection[str]) -> None:
    """As the API does: a machine that has source types takes no other."""
    if given and known and given not in known:
        raise UnknownName("source type", given, sorted(known))
