"""The roles of a process that stays: `up`, `coordinator`, `worker`, `notifier`, `api`.

The first SIGTERM or SIGINT lets what runs finish and then ends; the second ends at once, and what was under way is
given to another worker. Nothing is lost either way.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

from stateward.cli.commands import command, flag_option, option
from stateward.cli.context import CliContext, pass_context
from stateward.cli.exit_codes import Exit
from stateward.cli.serve import api_beside, at, listening_socket, open_api, where

if TYPE_CHECKING:
    from socket import socket

    from stateward.app import App
    from stateward.engine.node import Node
    from stateward.schemas import StatusCount
    from stateward.settings import Settings

LEVELS = ("debug", "info", "warning", "error")
DRAINING = b"stateward: finishing what runs; once more ends at once\n"


@command(
    "up",
    "stateward up",
    "stateward --profile business --data /var/lib/stateward up",
    "stateward up --until-idle",
)
@flag_option("--until-idle", "Do the work there is, then end; without HTTP.")
@where
@pass_context
def up(context: CliContext, *, until_idle: bool, host: str | None, port: int | None) -> None:
    """Run coordinator, worker, notifier and HTTP in one process.

    One machine needs nothing else. Ctrl-C or SIGTERM finishes running work and ends; twice ends at once. If the port is
    taken, the exit code is 4.
    """
    settings = at(context.settings(), host=host, port=port)
    roles = ("coordinator", "worker", "notifier")
    _run(context, roles, settings, until_idle=until_idle, is_serving=not until_idle)


@command(
    "coordinator", "stateward coordinator", "stateward coordinator --config /etc/stateward.yaml"
)
@pass_context
def coordinator(context: CliContext) -> None:
    """Run a coordinator and its scheduler, without a worker.

    Several may run side by side, and any of them may die.
    """
    _run(context, ("coordinator",))


@command(
    "worker",
    "stateward worker",
    "stateward worker --config /etc/stateward.yaml",
    "stateward worker --transport redis://broker:6379 --blobs /mnt/artifacts",
)
@option(
    "--transport URL",
    "Broker to take work from, in place of the database: redis://, nats:// or kafka://. Otherwise transport.url.",
)
@option(
    "--blobs DIR",
    "Where the coordinators keep documents: a folder, or s3://, gs:// or az://. Otherwise transport.blobs, "
    "or artifacts.url.",
)
@pass_context
def worker(context: CliContext, *, transport: str | None, blobs: str | None) -> None:
    """Run a worker only.

    Runs up to worker.processes stages at once, each in a process of its own with limits. With a transport it needs no
    database: it reads work from the broker's streams and reports results there.
    """
    _run(context, ("worker",), _over(context.settings(), url=transport, blobs=blobs))


def _over(settings: "Settings", *, url: str | None, blobs: str | None) -> "Settings":
    """The settings, with what the options say of the transport; refused as in a file."""
    from msgspec.structs import replace

    from stateward.core.errors import InvalidRequest

    own, artifacts = settings.transport, settings.artifacts
    if url is not None:
        own = replace(own, url=url)
    if blobs is not None and "://" in blobs:
        artifacts = replace(artifacts, url=blobs)
    elif blobs is not None:
        own = replace(own, blobs=blobs)
    for name, problems in (("--transport", own.problems()), ("--blobs", artifacts.problems())):
        for _, sentence in problems:
            raise InvalidRequest(f"{name}: {sentence}")
    return replace(settings, transport=own, artifacts=artifacts)


@command("notifier", "stateward notifier", "stateward notifier --config /etc/stateward.yaml")
@pass_context
def notifier(context: CliContext) -> None:
    """Run the delivery of webhooks and email only.

    Several may run side by side, and any of them may die.
    """
    _run(context, ("notifier",))


@command(
    "api",
    "stateward api",
    "stateward api --port 9000",
    "stateward api --config /etc/stateward.yaml --host 0.0.0.0",
)
@where
@pass_context
def api(context: CliContext, *, host: str | None, port: int | None) -> None:
    """Run the HTTP API only.

    Without an API key it listens on loopback only. Several may run side by side on PostgreSQL. Ctrl-C or SIGTERM
    finishes running requests and ends.
    """
    settings = at(context.settings(), host=host, port=port)
    set_up_log(settings)
    _wait(context, settings)
    ending = Event()
    with handling_stops(lambda *_: ending.set()), _opened_alone(settings) as url:
        context.say(f"stateward: api with the profile {settings.profile} at {url}")
        ending.wait()
    if context.json:
        context.emit({"roles": ["api"], "url": url})
    else:
        context.say("stateward: ended")


@contextmanager
def _opened_alone(settings: "Settings") -> Iterator[str]:
    from stateward.app import App

    with App(settings) as app:
        has_key = app.keys.any_live(app.clock())
    with (
        listening_socket(settings, has_key=has_key) as listening,
        open_api(settings, listening) as url,
        chores(settings, (), is_remote=False),
    ):
        yield url


def _run(
    context: CliContext,
    roles: Sequence[str],
    given: "Settings | None" = None,
    *,
    until_idle: bool = False,
    is_serving: bool = False,
) -> None:
    from stateward.cli.local import LocalApp
    from stateward.engine.system import raise_open_files

    raise_open_files()
    settings = given or context.settings()
    is_runner = tuple(roles) == ("worker",)
    is_remote = is_runner and not settings.transport.is_database
    if "worker" in roles and not until_idle:
        from stateward.workers.spawning import the_fork_server

        the_fork_server()  # which loads its modules on another core while this process does
    if not (until_idle or is_remote):
        _wait(context, settings, is_runner=is_runner)
    with context.local_app(settings, is_runner=is_runner) as app:
        is_json = set_up_log(settings)
        with (
            app.node(
                is_coordinator="coordinator" in roles,
                is_worker="worker" in roles,
                is_notifier="notifier" in roles,
            ) as node,
            _listening(app) if is_serving else nullcontext() as listening,
            _backups(context, settings, roles),
            _feed(settings, roles),
            chores(settings, roles, is_remote=is_remote),
            api_beside(settings, listening, failed=node.abort) as open_api,
            handling_stops(_Signals(node).hear),
        ):

            def follow() -> None:
                """What can wait until the loop has begun; the database may fail it, and it is done again."""
                open_api()
                if "coordinator" in roles:
                    from stateward.app.settings_audit import note_settings
                    from stateward.engine.system import person

                    note_settings(app, actor=person())

            url = None if listening is None else _url(settings, listening)
            _announce(context, settings, roles, is_json=is_json, url=url, is_remote=is_remote)
            node.run(until_idle=until_idle, once_begun=follow)
        _end(
            context,
            _place(settings, is_remote=is_remote),
            roles,
            [] if is_runner else LocalApp(app).counts(""),
        )


def _listening(app: "App") -> "AbstractContextManager[socket]":
    return listening_socket(app.settings, has_key=app.keys.any_live(app.clock()))


def _url(settings: "Settings", listening: "socket") -> str:
    from stateward.server.listening import url_of

    return url_of(settings, listening)


def _wait(context: CliContext, settings: "Settings", *, is_runner: bool = False) -> None:
    """Wait for a server that is starting; a person and a service manager both see why."""
    from stateward.app.databases import RUNNER_ROLE, wait_for_database

    wait_for_database(
        settings,
        say=lambda words: context.say(f"stateward: {words}"),
        role=RUNNER_ROLE if is_runner else None,
    )


def _backups(
    context: CliContext, settings: "Settings", roles: Sequence[str]
) -> AbstractContextManager[None]:
    if settings.backup.folder is None or "coordinator" not in roles:
        return nullcontext()
    from stateward.app.backup_schedule import scheduled_backups
    from stateward.engine.system import steady_clock

    return scheduled_backups(settings, context.config, clock=steady_clock)


def _feed(settings: "Settings", roles: Sequence[str]) -> AbstractContextManager[None]:
    if settings.feed.url is None or "notifier" not in roles:
        return nullcontext()
    from stateward.app import App
    from stateward.app.feed import running_feed

    return running_feed(settings, lambda: App(settings))


def chores(
    settings: "Settings", roles: Sequence[str], *, is_remote: bool
) -> AbstractContextManager[None]:
    """What is repeated beside the loop: copies that none uses; for a coordinator retention, leftovers and anchors."""
    from stateward.app.artifacts import SWEEP_EVERY_S, sweep_artifacts
    from stateward.app.repeating import RETRY_S, Chore, repeat_in_background

    copies = partial(sweep_artifacts, is_remote=is_remote)
    first_s = SWEEP_EVERY_S if roles else 0.0  # a node has done it as it began
    chores = [Chore("copies", copies, first_s)]
    if "coordinator" in roles:
        from stateward.app.anchors import anchor_destinations, anchor_when_due
        from stateward.app.retention import apply_when_due, remove_erased, sweep_leftovers

        chores.append(Chore("erasure", remove_erased))
        # Not at once, for it is not urgent; and also in a service that is started anew every hour.
        chores.append(Chore("erasure", sweep_leftovers, RETRY_S))
        if settings.retention.rules:
            chores.append(Chore("retention", apply_when_due))
        if anchor_destinations(settings):
            chores.append(Chore("anchors", anchor_when_due))
    return repeat_in_background(chores, settings)


def set_up_log(settings: "Settings") -> bool:
    """One log for the process, as talkative as its most talkative machine; whether it is JSON."""
    from stateward import telemetry

    named = [settings.machine(name).logging for name in settings.records]
    own = named or [settings.machine("").logging]
    is_json = any(each.format == "json" for each in own)
    level = min((each.level for each in own), key=LEVELS.index)
    telemetry.set_up(
        format="json" if is_json else "text",
        level=level,
        stream=sys.stderr,
        is_structured=any(each.structured for each in own),
    )
    return is_json


def _announce(
    context: CliContext,
    settings: "Settings",
    roles: Sequence[str],
    *,
    is_json: bool,
    url: str | None,
    is_remote: bool,
) -> None:
    """One line that says what runs where; in a log of JSON it is JSON too."""
    from stateward import telemetry

    what, place = (
        ", ".join(roles[:-1]) + " and " * (len(roles) > 1) + roles[-1],
        _place(settings, is_remote=is_remote),
    )
    if is_json:
        telemetry.log("process").info(f"{what} started", **place, url=url)
    else:
        context.say(
            f"stateward: {what} with the profile {place['profile']} on {place['store']}, "
            f"pid {place['pid']}" + (f", at {url}" if url else "")
        )


def _place(settings: "Settings", *, is_remote: bool) -> dict[str, object]:
    from stateward.settings import mask_secrets

    path = settings.store_path
    store = f"sqlite:{path}" if path is not None else mask_secrets(settings.store.url)
    if is_remote:
        from stateward.transport.engine import masked_url

        store = masked_url(settings.transport.url)
    return {
        "profile": settings.profile,
        "store": store,
        "data": str(settings.data_path),
        "pid": os.getpid(),
    }


def _end(
    context: CliContext,
    place: "dict[str, object]",
    roles: Sequence[str],
    counts: "list[StatusCount]",
) -> None:
    if context.json:
        context.emit({"roles": roles, **place, "counts": counts})
    else:
        shown = ", ".join(f"{each.machine} {each.status} {each.count:,}" for each in counts)
        context.say(f"stateward: ended; {shown}" if shown else "stateward: ended")


@contextmanager
def handling_stops(hear: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """SIGTERM and SIGINT call `hear`, as long as this lasts."""
    before = {number: signal.signal(number, hear) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Signals:
    """Counts what it is sent: first drain, then stop, then just go."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        self._count = 0

    def hear(self, _: int, __: FrameType | None) -> None:
        self._count += 1
        if self._count == 1:
            self._node.stop()
            os.write(2, DRAINING)  # a print may be under way, and cannot be entered twice
        elif self._count == 2:
            raise KeyboardInterrupt
        else:
            os._exit(Exit.INTERRUPTED)
