"""The composition root: the only place that picks database, clock and identities, and wires the parts together.

Command line, HTTP API and console call an `App` and nothing below it. What it can do is grouped by purpose:

    submissions   documents in
    records       queries: records, histories, items, logs, explanations, counts
    actions       retry, cancel, priority, bulk actions, pauses
    reviews       what waits for a person, claims, decisions
    flags         results that are flagged as wrong or incomplete, and what people decided about them
    admin         keys, verification, export
    search        what documents say
    editions      items made again by today's rules
    eraser        what records held is deleted, and holds that forbid it; retention: the same by rules
    notifications webhooks and email
    dashboard     figures for the console;  monitor: figures for Prometheus

`node()` builds the loop of a process; nothing here starts a thread or a process by itself.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from stateward import __version__
from stateward.app.artifacts import open_artifacts
from stateward.app.databases import RUNNER_ROLE, open_database, open_memory
from stateward.app.identity import new_record_id
from stateward.app.machines import faults_of_machines, tune
from stateward.app.plugins import Plugins
from stateward.core.model import PRIORITY_NORMAL
from stateward.engine.registry import MachineRegistry, register
from stateward.engine.system import make_private, steady_clock
from stateward.settings import Settings, SettingsRefused
from stateward.storage.audit import AuditLog
from stateward.storage.database import TOPIC_RESTS
from stateward.storage.outputs import Outputs
from stateward.storage.store import Store
from stateward.transport import Bus
from stateward.workers.child_role import refuse_in_child

# Each capability imports what it is made of when it is first asked for: a command that lists records must not wait
# for the coordinator, the sandbox and the mail client.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from stateward.app.actions import Actions
    from stateward.app.admin import Admin
    from stateward.app.approver_links import ApproverLinks
    from stateward.app.editions import Editions
    from stateward.app.records import Records
    from stateward.app.retention import Retention
    from stateward.app.search import Search
    from stateward.app.search_parts import SearchParts
    from stateward.app.submissions import Submissions
    from stateward.core.machine import Machine
    from stateward.core.model import Fields, Micros, Record
    from stateward.engine.clock_guard import ClockGuard
    from stateward.engine.coordinator import Coordinator, Submitted
    from stateward.engine.erasure import Eraser
    from stateward.engine.external_driver import ExternalDriver
    from stateward.engine.flags import Flags
    from stateward.engine.indexer import Indexer
    from stateward.engine.node import Node
    from stateward.engine.review_statistics import ReviewStatistics
    from stateward.engine.reviews import Reviews
    from stateward.engine.scheduler import Scheduler
    from stateward.engine.search_confirmation import SearchConfirmation
    from stateward.monitoring.dashboard import Dashboard
    from stateward.monitoring.gauges import Monitor
    from stateward.notifications import NotificationService
    from stateward.storage.acknowledgements import Acknowledgements
    from stateward.storage.database import Database
    from stateward.storage.idempotency import IdempotencyKeys
    from stateward.storage.keys import Keys
    from stateward.storage.refused_uploads import RefusedUploads
    from stateward.storage.saved_views import SavedViews
    from stateward.storage.sealing import SecretKeys
    from stateward.storage.sessions import Sessions
    from stateward.storage.worker_keys import WorkerKeys
    from stateward.workers.pipeline import Pipeline


def load_settings(
    config: Path | None = None,
    *,
    profile: str | None = None,
    data: str | None = None,
    server: str | None = None,
) -> Settings:
    """The settings of a command: its options override the environment of this process."""
    given = {"STATEWARD_DATA": data, "STATEWARD_SERVER": server}
    own = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings.load(config, profile=profile, environ={**os.environ, **own})
    except SettingsRefused as error:
        # The names of machines and states are asked for too, which takes the loaded pipelines.
        raise error.joined(faults_of_machines(error.readable)) from None


class App:
    """A Stateward in this process.

    With `is_runner` it can only execute runners: on PostgreSQL its connection then has the runners' role, which sees
    no record, and a login that was granted nothing else is enough; over a transport its database is in memory, and it
    has no store at all. With `is_read_only` nothing is written, so that a copy, a read-only medium or a replica can be
    looked at.
    """

    registry: MachineRegistry
    """The machines in force; a process that only executes runners has none."""

    def __init__(
        self,
        settings: Settings,
        *,
        machines: Sequence[Machine] = (),
        pipelines: Sequence[Pipeline] = (),
        database: Database | None = None,
        clock: Callable[[], Micros] = steady_clock,
        new_id: Callable[[str], str] = new_record_id,
        is_runner: bool = False,
        is_read_only: bool = False,
    ) -> None:
        refuse_in_child()
        if settings.crash_at is not None:
            from stateward.app.runtime import crash_at

            crash_at(settings.crash_at)
        self.settings = settings
        self.clock = clock
        self.new_id = new_id
        self.is_runner = is_runner
        self.plugins = Plugins(settings, [*pipelines, *machines], clock=clock)
        self._machines = tune(settings, self.plugins)
        is_remote = is_runner and not settings.transport.is_database
        self.is_read_only = is_read_only
        if settings.store_path is not None and not (is_read_only or is_remote):
            make_private(settings.data_path)
        role = RUNNER_ROLE if is_runner else None
        if is_remote:
            database = database or open_memory()
        self.database = database or open_database(settings, role=role, is_read_only=is_read_only)
        self.store = Store(self.database)
        self.outputs = Outputs(self.database)
        self.bus = Bus(self.database)
        self.audit = AuditLog(self.database)
        self.shares_blobs = settings.transport.blobs is not None or not settings.artifacts.is_folder
        self.artifacts = open_artifacts(settings, is_remote=is_remote)
        if not is_runner:  # a wrong machine is refused now, before anything is done
            try:
                if settings.store.lanes is not None and not is_read_only:
                    self.store.lanes.make(settings.store.lanes, now=clock())
                self.registry = register(
                    self.store, self._machines, now=clock(), saves=not is_read_only
                )
                if not is_read_only:
                    self.store.seal_former_rows(now=clock())
            except BaseException:
                self.database.close()
                raise

    @classmethod
    def embedded(
        cls,
        data: str | Path,
        *,
        pipelines: Sequence[Pipeline] = (),
        machines: Sequence[Machine] = (),
    ) -> Self:
        """A Stateward in a folder of its own, with the personal profile: for scripts and first steps."""
        settings = Settings.load(environ={"STATEWARD_DATA": str(data)})
        return cls(settings, machines=machines, pipelines=pipelines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, and the process in which documents were read again."""
        if "editions" in self.__dict__:
            self.editions.release()
        self.database.close()

    def _has_no_sealed_secret(self) -> bool:
        found = self.database.rows(
            "SELECT 1 FROM webhooks WHERE secret LIKE 'sealed.%'"
            " UNION SELECT 1 FROM worker_keys WHERE secret LIKE 'sealed.%'"
        )
        return not found

    # Short ways for scripts

    def submit(
        self,
        source: Path | bytes | Iterable[bytes],
        *,
        machine: str | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        priority: int | str = PRIORITY_NORMAL,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Submitted:
        """Store a document and create its record; the same bytes again give the record that exists.

        Without a machine it goes to the one that a pipeline offers for that.
        """
        return self.submissions.submit(
            source,
            machine=machine,
            name=name,
            labels=labels,
            priority=priority,
            actor=actor,
            reason=reason,
        )

    def record(self, record_id: str) -> Record:
        """One record; `UnknownName` if there is none."""
        return self.records.get(record_id)

    def items(self, record_id: str, stage: str | None = None) -> Iterator[Fields]:
        """The items of a stage; by default of the last one that is done."""
        return self.records.items(record_id, stage)

    def run_until_idle(self) -> None:
        """Do all the work that there is, in this process, and return."""
        with self.node() as node:
            node.run(until_idle=True)

    # What it can do

    @cached_property
    def submissions(self) -> Submissions:
        """Documents in."""
        from stateward.app.submissions import Submissions

        return Submissions(
            self.settings,
            database=self.database,
            artifacts=self.artifacts,
            coordinator=self.coordinator,
            registry=self.registry,
            plugins=self.plugins,
            find=self.store.by_dedupe,
            editions=lambda: self.editions,
        )

    @cached_property
    def records(self) -> Records:
        """Queries."""
        from stateward.app.records import Records

        return Records(
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            registry=self.registry,
            new_wakeup=lambda: self.database.wakeup(TOPIC_RESTS),
            flag_decisions=self.flags.decisions,
            # A lambda: the driver is made when it is first asked for.
            successors=lambda record: self.external_driver.successors(record),  # noqa: PLW0108
            has_runner=lambda name: name in self.plugins.runners,
            is_priority_used=lambda name: not self.settings.machine(name).is_fifo,
            engine_stages=self.plugins.engine_stages,
            clock=self.clock,
        )

    @cached_property
    def actions(self) -> Actions:
        """Requests of people about records and stages."""
        from stateward.app.actions import Actions

        return Actions(
            self.settings,
            store=self.store,
            coordinator=self.coordinator,
            registry=self.registry,
            audit=self.audit,
            clock=self.clock,
        )

    @cached_property
    def reviews(self) -> Reviews:
        """What waits for people, and their decisions."""
        from stateward.engine.reviews import Reviews

        own = self.settings.reviews
        return Reviews(
            database=self.database,
            store=self.store,
            outputs=self.outputs,
            coordinator=lambda: self.coordinator,
            registry=self.registry,
            clock=self.clock,
            claim_s=own.claim_seconds,
            undo_s=own.undo_seconds,
            self_approval=own.self_approval,
            groups=own.groups,
            has_keys=self.keys.any_exist,
            judge=self.plugins.check_correction,
            approval=self.plugins.check_approval,
            view_of=self.plugins.record_view,
        )

    @cached_property
    def approver_links(self) -> ApproverLinks:
        """Links that let a named person decide one review."""
        from stateward.app.approver_links import ApproverLinks
        from stateward.storage.review_links import ReviewLinks

        return ApproverLinks(
            links=ReviewLinks(self.database),
            reviews=self.reviews,
            store=self.store,
            keys=self.keys,
            audit=self.audit,
            clock=self.clock,
            hours=self.settings.reviews.link_hours,
        )

    @cached_property
    def review_statistics(self) -> ReviewStatistics:
        """What people decided in reviews, and which fields they correct."""
        from stateward.engine.review_statistics import ReviewStatistics

        return ReviewStatistics(self.database, self.registry)

    @cached_property
    def external_driver(self) -> ExternalDriver:
        """Records whose stages an external driver asks for, one by one."""
        from stateward.engine.external_driver import ExternalDriver

        return ExternalDriver(
            store=self.store,
            outputs=self.outputs,
            coordinator=lambda: self.coordinator,
            registry=self.registry,
            clock=self.clock,
        )

    @cached_property
    def flags(self) -> Flags:
        """Results that are flagged as wrong or incomplete, and the decisions about them."""
        from stateward.engine.flags import Flags

        return Flags(database=self.database, store=self.store, audit=self.audit, clock=self.clock)

    @cached_property
    def eraser(self) -> Eraser:
        """What records held is deleted, and holds that forbid it."""
        from stateward.engine.erasure import Eraser

        return Eraser(
            database=self.database,
            store=self.store,
            coordinator=lambda: self.coordinator,
            registry=self.registry,
            audit=self.audit,
            artifacts=self.artifacts,
            clock=self.clock,
        )

    @cached_property
    def retention(self) -> Retention:
        """Rules that delete what is old."""
        from stateward.app.retention import Retention
        from stateward.storage.erasure import Erasures

        return Retention(
            self.settings.retention.rules,
            eraser=self.eraser,
            erasures=Erasures(self.database),
            registry=self.registry,
            audit=self.audit,
            clock=self.clock,
            clock_fault=self.clock_guard.fault,
        )

    @cached_property
    def editions(self) -> Editions:
        """Items of finished stages, made again."""
        from stateward.app.editions import Editions
        from stateward.app.runtime import build_single_jobs, runner_limits
        from stateward.engine.earlier_items import EarlierIndex

        return Editions(
            records=self.records,
            registry=self.registry,
            outputs=self.outputs,
            artifacts=self.artifacts,
            plugins=self.plugins,
            limits=runner_limits(self.settings),
            clock=self.clock,
            index=self.indexer.replace,
            flags=self.flags,
            driver=self.external_driver,
            jobs=build_single_jobs(self.settings, self.plugins, self.clock),
            owners=self.store.submitters,
            earlier=EarlierIndex(self.database),
            transaction=self.store.transaction,
            audit=self.audit,
            decide_review=self.reviews.decide,
        )

    @cached_property
    def _search_parts(self) -> SearchParts:
        from stateward.app.search_parts import SearchParts

        return SearchParts(
            self.settings,
            database=self.database,
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            plugins=self.plugins,
            registry=self.registry,
            query=lambda text, now: self.records.query(text, now=now),
            clock=self.clock,
        )

    @property
    def search(self) -> Search:
        """What documents say."""
        return self._search_parts.search

    @property
    def indexer(self) -> Indexer:
        """What puts the text of completed stages into the full-text index."""
        return self._search_parts.indexer

    @property
    def search_confirmation(self) -> SearchConfirmation:
        """What completes the stages that ask whether a search finds the document."""
        return self._search_parts.confirmation

    @cached_property
    def admin(self) -> Admin:
        """Keys, verification, export."""
        from stateward.app.admin import Admin
        from stateward.app.signing import signing_key_of

        return Admin(
            store=self.store,
            keys=self.keys,
            worker_keys=self.worker_keys,
            audit=self.audit,
            registry=self.registry,
            clock=self.clock,
            signing_key=lambda: signing_key_of(self.settings),
            artifacts=self.artifacts,
            mirror=self.settings.ledger.mirror,
            is_read_only=self.is_read_only,
        )

    @cached_property
    def notifications(self) -> NotificationService:
        """Webhooks and their deliveries."""
        from secrets import token_bytes

        from stateward.app.webhook_views import message_names
        from stateward.core.webhook_signing import KEY_BYTES, secret_of
        from stateward.notifications import NotificationService

        return NotificationService(
            self.database,
            self.settings,
            clock=self.clock,
            new_id=self.new_id,
            new_secret=lambda: secret_of(token_bytes(KEY_BYTES)),
            secrets=self.secrets,
            statuses={name: tuple(own.kind) for name, own in self.registry.newest.items()},
            names=message_names(self.plugins.resources(), self.registry),
        )

    @cached_property
    def dashboard(self) -> Dashboard:
        """Figures and lists for the console."""
        from stateward.monitoring.dashboard import Dashboard

        return Dashboard(
            self.database,
            self.store,
            clock=self.clock,
            kinds=lambda: {name: dict(own.kind) for name, own in self.registry.newest.items()},
        )

    @cached_property
    def monitor(self) -> Monitor:
        """The figures of this installation, for Prometheus."""
        from stateward.monitoring.gauges import Monitor

        return Monitor(
            self.database,
            self.settings,
            machines=lambda: list(self.registry.newest.values()),
            clock=self.clock,
            version=__version__,
        )

    # Tables that a few operations have for themselves

    @cached_property
    def keys(self) -> Keys:
        """Who may ask for what."""
        from stateward.storage.keys import Keys

        return Keys(self.database)

    @cached_property
    def worker_keys(self) -> WorkerKeys:
        """Which workers behind a transport are believed, and for which stages."""
        from stateward.storage.worker_keys import WorkerKeys

        return WorkerKeys(self.database, secrets=self.secrets)

    @cached_property
    def secrets(self) -> SecretKeys:
        """What secrets are sealed with."""
        from stateward.app.key_file import key_path
        from stateward.storage.sealing import SecretKeys

        return SecretKeys(key_path(self.settings), is_new=self._has_no_sealed_secret)

    @cached_property
    def idempotency(self) -> IdempotencyKeys:
        """Requests that are done once, and bulk actions."""
        from stateward.storage.idempotency import IdempotencyKeys

        return IdempotencyKeys(self.database, secrets=self.secrets)

    @cached_property
    def sessions(self) -> Sessions:
        """Who is signed in to the console."""
        from stateward.storage.sessions import Sessions

        return Sessions(self.database)

    @cached_property
    def acknowledgements(self) -> Acknowledgements:
        """Causes of errors that people acknowledged."""
        from stateward.storage.acknowledgements import Acknowledgements

        return Acknowledgements(self.database, self.audit)

    @cached_property
    def saved_views(self) -> SavedViews:
        """Queries that people named."""
        from stateward.storage.saved_views import SavedViews

        return SavedViews(self.database)

    @cached_property
    def refused_uploads(self) -> RefusedUploads:
        """Uploads that were refused and not dismissed yet."""
        from stateward.storage.refused_uploads import RefusedUploads

        return RefusedUploads(self.database)

    # Running

    @cached_property
    def coordinator(self) -> Coordinator:
        """The only writer of status."""
        from stateward.app.coordinator import build_coordinator

        return build_coordinator(self, [each.name for each in self._machines])

    @cached_property
    def scheduler(self) -> Scheduler:
        """Turns due times into events."""
        from stateward.engine.scheduler import Scheduler

        return Scheduler(
            store=self.store,
            outputs=self.outputs,
            bus=self.bus,
            machine_of=self.registry.of,
            clock=self.clock,
            batch_max=self.settings.coordinator.batch_max,
            is_clock_doubted=self.clock_guard.is_doubted,
        )

    @cached_property
    def clock_guard(self) -> ClockGuard:
        """Holds deadlines back while the clock of this machine is not trusted."""
        from stateward.app.runtime import build_clock_guard

        return build_clock_guard(self.settings, self.database, self.store, self.clock)

    def node(
        self, *, is_coordinator: bool = True, is_worker: bool = True, is_notifier: bool = False
    ) -> Node:
        """The loop of this process, in these roles."""
        from stateward.app.process import build_node

        return build_node(
            self, is_coordinator=is_coordinator, is_worker=is_worker, is_notifier=is_notifier
        )
