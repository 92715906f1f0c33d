"""A Stateward in this process, for commands: an `App` that answers with the documents of the HTTP API."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from stateward import schemas
from stateward.app.views import (
    attempt_view,
    error_group_views,
    file_view,
    review_view,
    statistics_view,
    status_counts,
    task_view,
    why_view,
)
from stateward.cli.apps import Corrections, StageItems, status_query
from stateward.cli.local_installation import PAGE, LocalInstallation
from stateward.core.errors import StatewardError, UnknownName
from stateward.core.model import SECOND, Record
from stateward.definition.plugin import AUTO

# What a command does not call it need not wait for.
if TYPE_CHECKING:
    from stateward.app import App
    from stateward.app.actions import Bulk, BulkAction, Verb
    from stateward.engine.corrections import Values
    from stateward.engine.flags import FlagAction


class LocalApp(LocalInstallation):
    """`AppProtocol` over an `App`."""

    def __init__(self, app: App) -> None:
        super().__init__(app)
        # Parsed once a command: `age>2h` means the same when it is shown to a person and when it is acted on.
        self._query = cache(app.records.query)

    # Documents in

    def check_submission(
        self, machine: str | None, priority: str, source_type: str | None = None
    ) -> str:
        submissions = self._app.submissions
        if machine in (None, AUTO):
            self._check_any_priority(priority)
            submissions.check_source_type(AUTO, source_type or None)
            return AUTO  # what each document is, its content says
        name = self._app.registry.named(machine).name
        submissions.priority(name, priority)
        submissions.check_source_type(name, source_type or None)
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

    def submit_document(
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

    def statuses(self) -> Mapping[str, Collection[str]]:
        return self._app.registry.query_names.kinds

    def find(
        self,
        query: str,
        *,
        statuses: Sequence[str] = (),
        machines: Sequence[str] = (),
        after: str = "",
    ) -> Iterator[schemas.Record]:
        """Every record that matches, a page at a time."""
        records = self._app.records
        text = status_query(query, self.statuses(), statuses=statuses, machines=machines)
        parsed = self._query(text)
        while page := records.find(parsed, after=after, limit=PAGE):
            yield from records.views(page)
            after = page[-1].id

    def wait(self, record_id: str, *, timeout_s: float) -> schemas.Record:
        record_id = self.whole(record_id)
        return self._app.records.view(self._app.records.wait(record_id, timeout_s=timeout_s))

    def history(self, record_id: str) -> Iterator[schemas.Transition]:
        records = self._app.records
        return map(records.transition_view, records.history(self.whole(record_id)))

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

    def stage_items(
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
        record = self._app.record(self.whole(record_id))
        saved = self._app.records.file(record, f"{stage}/{name}")
        return self._app.artifacts.pieces(saved.file.sha256)

    def search_as(
        self,
        text: str,
        format_: str,
        *,
        pipeline: str = "",
        filters: Sequence[str] = (),
        is_hybrid: bool = False,
        limit: int = 20,
    ) -> str:
        search = self._app.search
        found = search.find(
            text, pipeline=pipeline, filters=filters, is_hybrid=is_hybrid, limit=limit
        )
        return search.formatted(format_, found.hits, pipeline=pipeline)[0]

    def search(
        self, text: str, *, pipeline: str = "", filters: Sequence[str] = (), is_hybrid: bool = False
    ) -> Iterator[schemas.SearchHit]:
        """Passages or ranked documents that match, a page at a time."""
        place = None
        while True:
            page = self._app.search.find(
                text,
                pipeline=pipeline,
                filters=filters,
                is_hybrid=is_hybrid,
                after=place,
                limit=PAGE,
            )
            yield from page.hits
            place = page.next
            if place is None:
                return

    def errors(self) -> list[schemas.ErrorGroup]:
        return error_group_views(self._app.dashboard.causes())

    def counts(self, q: str | None = None) -> list[schemas.StatusCount]:
        records, asked = self._app.records, self._query(q or "")
        return status_counts(records.count(asked), records.count_cancelled(asked))

    def provenance(
        self, record_id: str, *, form: Literal["prov", "openlineage"] = "prov"
    ) -> schemas.Provenance:
        from stateward.app.provenance import provenance

        record = self._app.record(self.whole(record_id))
        document = provenance(record, self._app.records.history(record.id), form=form)
        return schemas.Provenance(record_id=record.id, format=form, document=document)

    # Actions

    def retry(self, record_id: str, *, reason: str | None = None) -> schemas.Record:
        return self._act("retry", record_id, reason)

    def cancel(self, record_id: str, *, reason: str | None = None) -> schemas.Record:
        return self._act("cancel", record_id, reason)

    def _act(self, verb: Verb, record_id: str, reason: str | None) -> schemas.Record:
        record_id = self.whole(record_id)
        found = self._app.actions.act(verb, record_id, actor=self._actor, reason=reason)
        return self._app.records.view(found)

    def set_priority(
        self, record_id: str, priority: int | str, *, reason: str | None = None
    ) -> schemas.Record:
        record_id = self.whole(record_id)
        (found,) = self._app.actions.set_priority(
            [record_id], priority, actor=self._actor, reason=reason
        )
        return self._view(found)

    def _view(self, found: Record | StatewardError) -> schemas.Record:
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

    def reprocess(
        self, record_id: str, hints: Mapping[str, str] | None = None, *, reason: str | None = None
    ) -> schemas.RecordOpened:
        record_id = self.whole(record_id)
        made = self._app.editions.reprocess(
            record_id, hints or {}, actor=self._actor, reason=reason
        )
        record = self._app.records.view(made.record)
        return schemas.RecordOpened(record=record, is_duplicate=made.is_duplicate)

    def move(self, record_id: str, event: str, *, reason: str | None = None) -> schemas.Record:
        record_id = self.whole(record_id)
        (found,) = self._app.actions.move(event, [record_id], actor=self._actor, reason=reason)
        return self._view(found)

    def advance(self, record_id: str, *, reason: str | None = None) -> schemas.Record:
        record_id = self.whole(record_id)
        found = self._app.external_driver.advance(record_id, actor=self._actor, reason=reason)
        return self._app.records.view(found)

    def pause(self, machine: str, *, stage: str | None = None, reason: str | None = None) -> None:
        self._app.actions.pause(machine, stage or "", actor=self._actor, reason=reason)

    def resume(self, machine: str, *, stage: str | None = None) -> schemas.Paused:
        was = self._app.actions.resume(machine, stage or "", actor=self._actor)
        return schemas.Paused(machine=machine, stage=stage, is_paused=False, was_paused=was)

    # Reviews

    def reread(self, record_id: str, asked: schemas.RereadRequest) -> schemas.RereadAnswer:
        return self._app.editions.reread(
            self.whole(record_id), asked, actor=self._actor, is_administrator=True
        )

    def decide_flags(
        self, record_id: str, action: FlagAction, *, reason: str | None = None
    ) -> schemas.Record:
        record = self._app.flags.decide(record_id, action, actor=self._actor, reason=reason)
        return self._app.records.view(record)

    def pending_reviews(self, *, limit: int) -> Iterator[schemas.ReviewTask]:
        found = self._app.reviews.pending(limit=limit)
        return (task_view(each, actor=self._actor) for each in found)

    def get_review(self, record_id: str) -> schemas.ReviewDetail:
        record_id = self.whole(record_id)
        task = self._app.reviews.task(record_id)
        return review_view(self._app.reviews, self._app.store, task, actor=self._actor)

    def review_statistics(self, *, days: int) -> schemas.ReviewStatistics:
        since = self._app.clock() - days * 86_400 * SECOND
        return statistics_view(self._app.review_statistics.since(since), since=since)

    def claim_review(self, record_id: str) -> schemas.ReviewTask:
        record_id = self.whole(record_id)
        task = self._app.reviews.claim(record_id, actor=self._actor, is_administrator=True)
        return task_view(task, actor=self._actor)

    def unclaim_review(self, record_id: str) -> schemas.ReviewTask:
        record_id = self.whole(record_id)
        return task_view(self._app.reviews.unclaim(record_id, actor=self._actor), actor=self._actor)

    def create_review_link(
        self, record_id: str, person: str, *, hours: float | None = None
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

    def revoke_review_link(self, record_id: str, link_id: str) -> schemas.ReviewLinkRevoked:
        record_id = self.whole(record_id)
        was_open = self._app.approver_links.revoke(record_id, link_id, actor=self._actor)
        return schemas.ReviewLinkRevoked(id=link_id, was_open=was_open)

    def review(
        self,
        record_id: str,
        action: str,
        *,
        corrected: Corrections | None = None,
        moved: Mapping[str, str] | None = None,
        notes: str | None = None,
        reason_code: str | None = None,
    ) -> schemas.Record:
        from stateward.engine.answers import DecisionRequest

        deciding = DecisionRequest(
            record_id=self.whole(record_id),
            action=action,
            actor=self._actor,
            corrected=_values(corrected),
            moved=moved or {},
            notes=notes,
            reason_code=reason_code,
            is_administrator=True,  # who runs the command on this machine has all rights to it
        )
        return self._app.records.view(self._app.reviews.decide(deciding))

    def ask_opinion(
        self,
        record_id: str,
        to: str,
        *,
        corrected: Corrections | None = None,
        is_blind: bool = False,
        notes: str | None = None,
    ) -> schemas.ReviewTask:
        from stateward.engine.answers import OpinionRequest

        asking = OpinionRequest(
            record_id=self.whole(record_id),
            actor=self._actor,
            to=to,
            values=_values(corrected),
            is_blind=is_blind,
            notes=notes,
            is_administrator=True,
        )
        return task_view(self._app.reviews.refer(asking), actor=self._actor)

    def gold_lines(self) -> Iterator[bytes]:
        return (each.line() for each in self._app.reviews.gold())


def _values(corrected: Corrections | None) -> Values:
    """Values of a reviewer, as the engine takes them."""
    return {
        name: list(each) if isinstance(each, tuple) else each
        for name, each in (corrected or {}).items()
    }
