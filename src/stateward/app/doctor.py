"""The checks of `stateward doctor`: what may be wrong with an installation, and what to do about it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from stateward.app import App
from stateward.app.anchors import anchor_destinations, last_anchors
from stateward.app.artifacts import FOLDER, storing_fault
from stateward.app.backup_places import MANIFEST, SETS
from stateward.app.feed import feed_of
from stateward.app.repeating import is_recent
from stateward.app.secrets import state as secret_state
from stateward.app.signing import signing_key_of
from stateward.core.errors import StatewardError
from stateward.core.model import SECOND, Micros, clean_text, plain_actor, plural, to_iso
from stateward.engine.clock_guard import ADVICE
from stateward.engine.mirror import mirror_state
from stateward.engine.system import is_alive
from stateward.notifications.alerts import AlertQueue
from stateward.storage.erasure import Erasures
from stateward.storage.failing_sources import failing_sources
from stateward.storage.full_text import FullTextIndex
from stateward.storage.last_backup import LastBackup, last_backup
from stateward.transport.messages import DeadLetterMessage, from_bytes, results_stream
from stateward.workers.confinement import program_paths
from stateward.workers.layers import sandbox_layers

DISK_FREE_MIN = 512 * 2**20
MIRROR_LATE_S = 60.0
DEAD_MAX = 1000
MAIL_TOLD: Micros = 7 * 86_400 * SECOND  # how long an email that was given up is complained of
# So long a dead letter is a reason to look. It stays, and none can be taken away: beyond that it is only counted, or
# one of last year would hide that of today.
DEAD_NEWS: Micros = 7 * 86_400 * SECOND
LETTERS_SHOWN = 3
LETTER_CHARS_MAX = 300


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `doctor`."""

    name: str
    is_well: bool
    sentence: str
    advice: str = ""


def checks(app: App) -> Iterator[Check]:
    """Every line of `doctor`."""
    facts = app.database.check()
    is_durable = facts.get("synchronous") in (None, "FULL", "EXTRA") and "off" not in (
        facts.get("fsync"),
        facts.get("synchronous_commit"),
    )
    is_fit = app.settings.profile != "enterprise" or "SQLite" not in str(facts.get("engine"))
    advice = "" if is_fit else "the enterprise profile is meant for PostgreSQL: set store.url"
    if not is_durable:
        advice = (
            "acknowledged work may be lost in a power cut: turn fsync and synchronous commits on"
        )
    yield Check(
        name="database",
        is_well=is_durable and is_fit,
        sentence=", ".join(f"{key} {value}" for key, value in facts.items()),
        advice=advice,
    )
    yield _disk_check(app.settings.data_path)
    if _is_without_its_history(app):
        yield Check(
            name="history",
            is_well=False,
            sentence="the history is empty although documents are stored: the database may be lost",
            advice="stop the service; if there were records, restore a backup: stateward restore --help",
        )
    if not app.settings.artifacts.is_folder:
        yield _artifacts_check(app)
    elif not app.is_read_only and (fault := storing_fault(app.artifacts)):
        yield Check(
            name="artifacts",
            is_well=False,
            sentence=fault,
            advice="every submission is refused until then; a folder that another user restored belongs to that user",
        )
    yield _backup_check(app)
    if app.settings.retention.rules:
        yield _retention_check(app)
    if left := Erasures(app.database).undeletable():
        yield Check(
            name="erasure",
            is_well=False,
            sentence=f"{plural(left, 'file')} of erased records could not be deleted",
            advice="allow deletion in the folder or bucket of documents; the coordinator's log names the files and the "
            "reasons, and it tries again every six hours",
        )
    if not app.database.is_compact:
        yield Check(
            name="erasure",
            is_well=True,
            sentence="free pages may still hold erased data; to overwrite them: stateward erase --compact",
        )
    yield _anchor_check(app)
    yield _clock_check(app)
    yield _worker_check(app)
    yield _runner_check(app)
    if not app.settings.transport.is_database:
        yield _transport_check(app)
    late = round(2 * app.settings.worker.lease_seconds * SECOND)
    overdue = len(app.store.due(app.clock() - late, limit=1000))
    yield Check(
        name="overdue",
        is_well=not overdue,
        sentence=f"{plural(overdue, 'record')} overdue",
        advice="start a coordinator: stateward up, or stateward coordinator" if overdue else "",
    )
    yield _source_check(app, late)
    pauses = app.store.pauses.all()
    yield Check(
        name="pauses",
        is_well=True,
        sentence=", ".join(
            f"{p.machine}{'.' + p.stage if p.stage else ''} by {plain_actor(p.actor)}"
            for p in pauses
        )
        or "nothing is paused",
    )
    yield _secrets_check(app)
    yield _audit_check(app)
    yield _search_check(app)
    yield from _notices_checks(app)
    yield _dead_letter_check(app)
    if app.settings.feed.url is not None:
        yield _feed_check(app)
    if app.settings.ledger.mirror is not None:
        yield _mirror_check(app, Path(app.settings.ledger.mirror))
    for layer in sandbox_layers():
        yield Check(
            name=f"sandbox: {layer.name}",
            is_well=layer.is_available,
            sentence=layer.sentence,
            advice=""
            if layer.is_available
            else "runners are confined by the other layers only; a newer kernel provides this one",
        )
    yield from _program_checks(app)


def _is_without_its_history(app: App) -> bool:
    """Whether nothing was ever recorded although documents are here, as after the loss of a database file.

    Of a folder only: a bucket may serve others too, and to list it costs.
    """
    ((count,),) = app.database.rows("SELECT coalesce(sum(count), 0) FROM lanes")
    is_empty = app.settings.artifacts.is_folder and not int(str(count))
    return is_empty and next(app.artifacts.digests(), None) is not None


def _source_check(app: App, overdue_us: Micros) -> Check:
    """Sources whose documents all fail, or are all overdue."""
    found = failing_sources(app.database, now=app.clock(), overdue_us=overdue_us)
    failing = next((each for each in found if each.failed), None)
    advice = ""
    if failing is not None:
        query = f"machine:{failing.machine} source:{failing.source_type} error:{failing.error_code}"
        advice = f"stateward list '{query}', and check the source"
    elif found:
        advice = "start a coordinator and workers: stateward up"
    return Check(
        name="sources",
        is_well=not found,
        sentence="; ".join(f"{each.name}: {each.sentence}" for each in found)
        or "no source fails or is stuck",
        advice=advice,
    )


def _program_checks(app: App) -> Iterator[Check]:
    """Programs that stages declare: without them their documents fail."""
    stages = {
        program: f"{machine.name}.{stage.name}"
        for machine in app.registry.newest.values()
        for stage in machine.stages
        for program in stage.programs
    }
    for program, path in program_paths(stages).items():
        yield Check(
            name=f"program: {program}",
            is_well=path is not None,
            sentence=f"{stages[program]} executes {path}"
            if path
            else f"{stages[program]} executes it, and it is not installed",
            advice="" if path else f"install {program}, or name its path in the stage",
        )


def _backup_check(app: App) -> Check:
    """Optional for one person; a team that would lose its only copy is warned."""
    last = last_backup(app.settings.data_path)
    limit = app.settings.backup.warn_after_hours * 3600 * SECOND
    is_known = last is not None and is_recent(last.at, within=limit, now=app.clock())
    is_gone = last is not None and _is_gone(last)
    is_well = (is_known and not is_gone) or app.settings.profile == "personal"
    state = "no backup yet" if last is None else f"last: {last.name} in {last.folder}"
    advice = "stateward backup DIR, or name backup.folder in the settings"
    if is_gone:
        state += ", where it is not now"
        advice = "connect that folder again, or make another set: stateward backup DIR"
    return Check(name="backup", is_well=is_well, sentence=state, advice="" if is_well else advice)


def _is_gone(last: LastBackup) -> bool:
    """Whether a set is not in its folder; of a bucket that is not asked."""
    return "://" not in last.folder and not Path(last.folder, SETS, last.name, MANIFEST).exists()


def _anchor_check(app: App) -> Check:
    """Only a signed checkpoint kept elsewhere shows that a whole history was rewritten."""
    own, places = app.settings.anchors, anchor_destinations(app.settings)
    found, limit = last_anchors(app), 2 * own.every_hours * 3600 * SECOND
    last = max((found[each] for each in places if each in found), default=None)
    now = app.clock()
    late = [each for each in places if not is_recent(found.get(each, 0), within=limit, now=now)]
    is_signed = signing_key_of(app.settings) is not None
    is_personal = app.settings.profile == "personal"
    is_well = not late and (is_personal or (last is not None and is_signed))
    state = "no checkpoint was sent elsewhere yet" if last is None else f"last at {to_iso(last)}"
    if last is not None and late:
        state += f", and none to {', '.join(late)}"
    advice = (
        "name anchors.destinations in the settings, or backup.folder, or notifications.admin_email and smtp_url"
        if not places
        else "a running coordinator sends them: check its log"
    )
    sentence = state if is_signed or last is None else f"{state}, not signed"
    return Check(
        name="anchors", is_well=is_well, sentence=sentence, advice="" if is_well else advice
    )


def _retention_check(app: App) -> Check:
    last = app.retention.last()
    limit = 2 * app.settings.retention.every_hours * 3600 * SECOND
    is_well = last is not None and is_recent(last, within=limit, now=app.clock())
    return Check(
        name="retention",
        is_well=is_well,
        sentence="the rules were never applied" if last is None else f"last at {to_iso(last)}",
        advice=""
        if is_well
        else "a running coordinator applies them: check its log, or run stateward retention --yes",
    )


def _artifacts_check(app: App) -> Check:
    """Whether a small object can be written and read back, and whether documents were left in the former folder."""
    from stateward.blobs.objects import ObjectStorage

    own = app.artifacts
    left = app.settings.data_path / FOLDER
    try:
        took = own.check(str(app.clock()).encode()) if isinstance(own, ObjectStorage) else 0.0
    except StatewardError as error:
        return Check(
            name="artifacts",
            is_well=False,
            sentence=str(error),
            advice="documents are refused and no work starts until it answers: check address, bucket and permissions",
        )
    is_left = any(left.glob("??/*"))
    return Check(
        name="artifacts",
        is_well=not is_left,
        sentence=f"wrote and read a test object at {own.location} in {took * 1000:.0f} ms"
        + (f"; {left} still holds documents" if is_left else ""),
        advice="copy them into the bucket under the same names, check with stateward verify --documents, and "
        "move the folder away"
        if is_left
        else "",
    )


def _worker_check(app: App) -> Check:
    """A person's own installation may be idle: commands do the work themselves. A service must have a worker."""
    workers = [worker for worker in app.bus.workers() if not worker.is_relay]
    alive = [worker for worker in workers if is_alive(worker)]
    is_idle = app.settings.profile == "personal" and not _has_work(app)
    lost = f", {len(workers) - len(alive)} lost" if len(alive) < len(workers) else ""
    idle = "" if alive or not is_idle else ", and no record needs one"
    unable = _unable(app, {runner for each in alive for runner in each.runners}) if alive else ""
    advice = (
        ""
        if alive or is_idle
        else "nothing is processed until a worker runs: stateward up, or stateward worker"
    )
    if unable:
        advice = "start a worker that can, or look at the stages of the workers' credentials: stateward key worker list"
    return Check(
        name="workers",
        is_well=not advice,
        sentence=f"{len(alive)} alive{lost}{idle}{unable}",
        advice=advice,
    )


def _unable(app: App, runners: set[str]) -> str:
    """The stages for which records wait although no worker can do them; not those of external drivers, or paused."""
    paused = {(each.machine, each.stage) for each in app.store.pauses.all()}
    waiting = {
        (each.machine, status) for each in app.dashboard.queues() for status in each.by_status
    }
    found = [
        stage.runner
        for machine in app.registry.newest.values()
        for stage in machine.stages
        if (machine.name, stage.from_state) in waiting
        and stage.runner in app.plugins.runners
        and stage.runner not in runners
        and not paused & {(machine.name, ""), (machine.name, stage.name)}
    ]
    return f", and none can run {', '.join(found)}, for which records wait" if found else ""


def _transport_check(app: App) -> Check:
    """Whether the broker answers, workers are connected, and no message was unreadable."""
    from stateward.app.remote import open_engine
    from stateward.transport.channel import Channel
    from stateward.transport.engine import masked_url

    own = app.settings.transport
    place = masked_url(own.url)
    try:
        channel = Channel(open_engine(app.settings, "doctor"), clock=app.clock, prefix=own.prefix)
        try:
            waiting = channel.depth(results_stream(own.prefix))
            dead = channel.dead_letters(limit=DEAD_MAX)
            channel.check_writable()
        finally:
            channel.close()
    except StatewardError as error:
        return Check(
            name="transport",
            is_well=False,
            sentence=str(error),
            advice="do what it says; until then work waits in the store, and nothing is lost",
        )
    workers = sum(bool(each.via) for each in app.bus.workers())
    is_news = bool(dead) and dead[-1].at >= to_iso(app.clock() - DEAD_NEWS)
    return Check(
        name="transport",
        is_well=not is_news,
        sentence=f"{place}: workers: {workers}, results waiting: {waiting}, dead letters: {len(dead)}"
        + _letters(dead),
        advice="list them: stateward dead-letters; check the logs of coordinators and workers, and the versions "
        "and settings of those workers"
        if is_news
        else "",
    )


def _letters(dead: Sequence[DeadLetterMessage]) -> str:
    """The reasons of dead letters, those of the newest first: how many, and whose the newest of each is."""
    by_reason: dict[str, list[DeadLetterMessage]] = {}
    for each in reversed(dead):
        by_reason.setdefault(each.reason, []).append(each)
    shown = [
        f"{reason} ({len(letters)}, the newest {_about(letters[0])})"
        for reason, letters in islice(by_reason.items(), LETTERS_SHOWN)
    ]
    more = (
        [f"{len(by_reason) - LETTERS_SHOWN} other reasons"]
        if len(by_reason) > LETTERS_SHOWN
        else []
    )
    return ": " + "; ".join(shown + more) if dead else ""


def _about(letter: DeadLetterMessage) -> str:
    """When a message was buried, and what it says of itself. It may be of anybody."""
    words = [letter.at[:19] + "Z", f"in {letter.stream}"]
    with suppress(ValueError):
        head = from_bytes(letter.head.encode())
        words += [f"from {head.source}", f"about {head.subject}" if head.subject else ""]
    return clean_text(", ".join(each for each in words if each), chars_max=LETTER_CHARS_MAX)


def _dead_letter_check(app: App) -> Check:
    """Events and messages that no process could read: they changed nothing, but a person should look."""
    found = app.store.dead_letters.page(limit=DEAD_MAX)
    newest = "; ".join(f"{each.kind}: {each.reason}" for _, each in found[:LETTERS_SHOWN])
    count = f"{len(found)} or more" if len(found) == DEAD_MAX else str(len(found))
    is_news = bool(found) and found[0][1].at >= app.clock() - DEAD_NEWS
    return Check(
        name="dead letters",
        is_well=not is_news,
        sentence=f"{count} could not be read ({newest})" if found else "none",
        advice="inspect them and their senders: stateward dead-letters" if is_news else "",
    )


def _secrets_check(app: App) -> Check:
    """Whether a copy of the database, or a backup of it, gives away the secrets in it."""
    found, path = secret_state(app), app.secrets.path
    keys = app.secrets.ids()
    state = f"{plural(found.sealed, 'secret')} of webhooks and workers encrypted"
    advice = ""
    if found.plain:
        state = f"{plural(found.plain, 'secret')} of webhooks and workers stored in plain text"
        advice = "start the service, which encrypts them, or run stateward secrets rotate"
    elif found.unreadable:
        state = f"the keys in {path} do not open {plural(found.unreadable, 'secret')}"
        advice = "put the right key file there, or name it in store.secret_key_file"
    elif keys and _is_open_to_others(path):
        state = f"other users of this machine can read {path}"
        advice = f"chmod 600 {path}"
    elif app.settings.profile == "enterprise" and app.settings.store.secret_key_file is None:
        state = (
            f"{state}; without store.secret_key_file the key would be made in the data folder"
            if not keys
            else f"{state}, with a key file beside them in the data folder"
        )
        advice = "name a file elsewhere in store.secret_key_file"
    elif not keys:
        state = "no secrets stored"
    return Check(name="secrets", is_well=not advice, sentence=state, advice=advice)


def _is_open_to_others(path: Path) -> bool:
    """Whether more users than must can read a file: one that is mounted for a group is read by that group."""
    found = path.stat()
    is_mounted = found.st_uid != os.geteuid()
    return bool(found.st_mode & (0o007 if is_mounted else 0o077))


def _audit_check(app: App) -> Check:
    faults, head = app.audit.faults(), app.audit.head()
    return Check(
        name="audit log",
        is_well=not faults,
        sentence="; ".join(faults)
        or f"{plural(head.count, 'entry')}, hash chain intact, head {head.hash[:16]}",
        advice="the database was changed outside Stateward: compare it with an export or a backup"
        if faults
        else "",
    )


def _search_check(app: App) -> Check:
    index = FullTextIndex(app.database)
    behind = index.last_transition() - index.cursor().seq
    is_alike = app.indexer.is_declared_alike()
    return Check(
        name="search",
        is_well=is_alike,
        sentence=f"{plural(index.count(), 'passage')} indexed, {plural(behind, 'transition')} to go"
        if is_alike
        else "the index does not match the text that pipelines declare searchable",
        advice="" if is_alike else "rebuild it: stateward search --rebuild",
    )


def _notices_checks(app: App) -> Iterator[Check]:
    dead = len(app.notifications.deliveries(state="dead", limit=DEAD_MAX))
    yield Check(
        name="notifications",
        is_well=not dead,
        sentence=f"{dead if dead < DEAD_MAX else f'{dead} or more'} undelivered",
        advice="inspect with stateward webhook dead, then run stateward webhook replay --dead"
        if dead
        else "",
    )
    if app.settings.notifications.smtp_url is not None:
        yield _mail_check(app)


def _mail_check(app: App) -> Check:
    """An alert that no mail server took has been seen by no person."""
    unsent = AlertQueue(app.database).unsent(since=app.clock() - MAIL_TOLD)
    faults = []
    if unsent.waiting:
        faults.append(f"{plural(unsent.waiting, 'alert')} not sent yet, to be tried again")
    if unsent.given_up:
        faults.append(f"{plural(unsent.given_up, 'alert')} of the last week never sent")
    return Check(
        name="mail",
        is_well=not faults,
        sentence=f"{'; '.join(faults)}: {unsent.error}" if faults else "every alert was sent",
        advice="check notifications.smtp_url and the mail server; what the alerts are about: stateward errors"
        if faults
        else "",
    )


def _feed_check(app: App) -> Check:
    """How late the change feed is. The engine itself is not asked: only the process that sends must reach it."""
    status = feed_of(app).status()
    late_s = status.late_s(app.clock())
    is_well = late_s <= app.settings.feed.warn_after_seconds
    return Check(
        name="feed",
        is_well=is_well,
        sentence=f"{plural(status.behind, 'transition')} not sent yet"
        + (f", the oldest for {late_s:.0f} s" if status.behind else ""),
        advice=""
        if is_well
        else "start stateward up or stateward notifier, and check what it logs about the change feed",
    )


def _mirror_check(app: App, folder: Path) -> Check:
    try:
        state = mirror_state(app.store, folder)
    except (StatewardError, OSError) as error:
        return Check(
            name="ledger",
            is_well=False,
            sentence=f"the mirror cannot be used: {error}",
            advice=f"work goes on without it; check it with stateward verify {folder}",
        )
    is_late = state.since is not None and app.clock() - state.since > MIRROR_LATE_S * SECOND
    return Check(
        name="ledger",
        is_well=not is_late,
        sentence=f"{state.seq} transitions mirrored to {folder}, {state.behind} to go",
        advice="start a coordinator, and check what it logs about the ledger" if is_late else "",
    )


def _disk_check(folder: Path) -> Check:
    folder.mkdir(parents=True, exist_ok=True)
    stat = os.statvfs(folder)
    free = stat.f_bavail * stat.f_frsize
    is_well = free > DISK_FREE_MIN
    return Check(
        name="disk",
        is_well=is_well,
        sentence=f"{free // 2**20} MiB free at {folder}",
        advice="" if is_well else "free some space: new documents will be refused soon",
    )


def _clock_check(app: App) -> Check:
    last = app.store.log.last_seq()
    newest = app.store.log.between(last - 1, last, limit=1)
    is_back = bool(newest) and newest[0].at > app.clock() + 60 * SECOND
    fault = app.clock_guard.fault()
    if fault is not None:
        sentence = f"{fault}; no deadline fires"
        return Check(name="clock", is_well=False, sentence=sentence, advice=ADVICE)
    return Check(
        name="clock",
        is_well=not is_back,
        sentence="the clock is behind the newest transition"
        if is_back
        else "the clock agrees with the history",
        advice="set the clock: timeouts and retries wait until it has caught up" if is_back else "",
    )


def _has_work(app: App) -> bool:
    """Whether any record waits for a worker or is with one; finished ones are not read for it."""
    kinds = app.registry.query_names.kinds
    return bool(app.dashboard.queues()) or any(
        kinds.get(machine, {}).get(status) == "running"
        for machine, status in app.dashboard.counts()
    )


def _runner_check(app: App) -> Check:
    loaded = app.plugins.runners
    missing = [
        stage.runner
        for machine in app.registry.newest.values()
        for stage in machine.stages
        if stage.runner not in loaded
        and (machine.name, stage.name) not in app.plugins.engine_stages
    ]
    return Check(
        name="runners",
        is_well=True,
        sentence=f"{len(loaded)} loaded"
        + (f"; run by external drivers: {', '.join(missing)}" if missing else ""),
    )
