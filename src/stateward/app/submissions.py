"""Submitting documents: bytes into blob storage, then one record each."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import starmap
from pathlib import Path
from secrets import token_bytes
from typing import TYPE_CHECKING

from msgspec.structs import replace

from stateward.app.plugins import Plugins
from stateward.blobs import PIECE_BYTES, Artifact, ArtifactStore
from stateward.core.errors import (
    InvalidRequest,
    MissingLabels,
    StageFailure,
    StoreError,
    UnknownName,
)
from stateward.core.machine import SOURCE_TYPE
from stateward.core.model import (
    PRIORITY_MAX,
    PRIORITY_MIN,
    PRIORITY_NORMAL,
    PRIORITY_REASON,
    Fields,
    Record,
    clean_text,
)
from stateward.core.view import first_come
from stateward.definition.plugin import AUTO
from stateward.engine.coordinator import Coordinator, Submission, Submitted
from stateward.engine.registry import MachineRegistry
from stateward.engine.system import person
from stateward.settings import Settings
from stateward.settings.machines import MachineSettings
from stateward.storage.database import Database
from stateward.telemetry.tracing import SPAN_BYTES, TRACE_BYTES, new_traceparent

if TYPE_CHECKING:
    from stateward.app.editions import Editions
    from stateward.app.rereading import OtherHints

# Files that wait for the disk at the same time; it makes several durable with one write.
STORED_AT_ONCE = 8


class Submissions:
    """Turns documents into records; the same bytes again give the record that exists."""

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        artifacts: ArtifactStore,
        coordinator: Coordinator,
        registry: MachineRegistry,
        plugins: Plugins,
        find: Callable[[str, str], Record | None],
        editions: Callable[[], "Editions"],
    ) -> None:
        self._find = find
        self._editions = editions
        self._settings = settings
        self._machine_settings = cache(settings.machine)  # asked three times for each document
        self._database = database
        self._artifacts = artifacts
        self._coordinator = coordinator
        self._registry = registry
        self._plugins = plugins

    @property
    def default_machine(self) -> str:
        """The machine of documents that are submitted without naming one."""
        return self._plugins.default_machine

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
        entry: str | None = None,
        move: str | None = None,
        move_reason: str | None = None,
    ) -> Submitted:
        """Store a document and create its record; the machine `auto` is the one that its content belongs to.

        `entry` is the state of a document of which some of the work was done elsewhere, before it was imported. `move`
        is a move of the machine that the new record makes at once, before any worker is given it.
        """
        # Wrong names are refused before a byte is stored.
        own = AUTO
        if machine != AUTO:
            own = self._registry.named(machine or self.default_machine).name
            self.priority(own, priority)
        if isinstance(source, Path):
            name = name or source.name
        artifact = self._artifacts.put(
            _pieces(source), bytes_max=self._settings.limits.upload_bytes_max
        )
        given = said = labels or {}
        if own == AUTO:
            path = self._artifacts.path(artifact.sha256)
            own, given = self.destination(path, name=name or "", labels=given)
        if other := self.other_hints(own, artifact, said):
            reading = self._editions().read_other(other)
            return self._editions().correct(other, reading, actor=actor or person(), reason=reason)
        submission = self.prepare(
            artifact,
            machine=own,
            name=name,
            labels=self._routed_labels(own, artifact, name=name, labels=given),
            priority=priority,
            actor=actor or person(),
            reason=reason,
        )
        submission = replace(
            submission,
            entry=entry,
            move=move,
            move_reason=clean_reason(self._settings, move_reason),
        )
        submitted = self.create([submission])[0]
        return self.with_note(submitted)

    def with_note(self, submitted: Submitted) -> Submitted:
        """What became of a submission, with a word about a priority that does not count."""
        record = submitted.record
        if submitted.is_duplicate or record.priority == PRIORITY_NORMAL:
            return submitted
        note = submitted.note or unused_priorities(self._settings, [record.machine])
        return replace(submitted, note=note)

    def submit_all(
        self, sources: Sequence[Path | bytes], *, machine: str, name: str, reason: str | None = None
    ) -> list[Submitted]:
        """Store documents of one machine, then create their records in one transaction: together they wait less.

        They have one name and no labels. If one cannot be stored, none has a record; all can be submitted again.
        """
        own, bytes_max = self._registry.named(machine).name, self._settings.limits.upload_bytes_max

        def store(source: Path | bytes) -> Artifact:
            return self._artifacts.put(_pieces(source), bytes_max=bytes_max)

        with ThreadPoolExecutor(STORED_AT_ONCE) as threads:
            artifacts = list(threads.map(store, sources))
        return self.create(
            [
                self.prepare(
                    artifact,
                    machine=own,
                    name=name,
                    labels=self._routed_labels(own, artifact, name=name, labels={}),
                    priority=PRIORITY_NORMAL,
                    actor=person(),
                    reason=reason,
                )
                for artifact in artifacts
            ]
        )

    def other_hints(
        self, machine: str, artifact: Artifact, given: Mapping[str, str]
    ) -> "OtherHints | None":
        """The record of a known document, with those of the given hints by which it was not read; None without any."""
        if artifact.is_new:
            return None  # bytes that were not stored before have no record
        known = self._plugins.hints(machine)
        hints: Fields = {name: value for name, value in given.items() if name in known}
        record = self._find(machine, artifact.sha256) if hints else None
        if record is None or not (hints := self._editions().other_hints(record, hints)):
            return None
        from stateward.app.rereading import OtherHints

        return OtherHints(record=record, hints=hints)

    def destination(
        self, path: Path, *, name: str, labels: Mapping[str, str], machines: Collection[str] = ()
    ) -> tuple[str, Mapping[str, str]]:
        """The machine of a document that names none, and its labels; only among `machines`, if any are given.

        A source type that was given decides, otherwise the content does. A pipeline that needs a label which was given
        is meant; the surest one that needs a label which is missing asks for it. What none of the pipelines knows goes
        to the default machine, which says why it cannot be read.
        """
        given = labels.get(SOURCE_TYPE, AUTO)
        if given != AUTO:
            known = [each for each in self._plugins.machines_of(given) if _is_among(each, machines)]
            own = known[0] if known else self._default_among(machines)
            self.check_labels(own, given, labels)
            return own, labels
        found = [
            each
            for each in self._plugins.candidates(path, name=name)
            if each.is_likely and _is_among(each.machine, machines)
        ]
        if not found:
            return self._default_among(machines), labels
        best = min(found, key=lambda each: not each.labels or bool(each.missing(labels)))
        _check_missing(best.title, best.labels, labels)
        if best.machine == self._plugins.known_default:
            return best.machine, labels
        return best.machine, {**labels, SOURCE_TYPE: best.source_type}

    def is_known(
        self, path: Path, *, machine: str, source_type: str | None, name: str | None = None
    ) -> bool:
        """Whether a pipeline reads a file as it is: an archive that none reads is opened."""
        return any(
            each.is_likely or source_type == each.source_type or machine == each.machine
            for each in self._plugins.candidates(path, name=name or path.name)
        )

    def check_source_type(self, machine: str, given: str | None) -> None:
        """Refuse a source type that a machine has not; with the machine `auto`, one that no machine has."""
        own = self._plugins
        known = own.source_type_names if machine == AUTO else own.source_types(machine)
        if known and given is not None and given not in known:
            shown = clean_text(given, chars_max=self._settings.limits.name_chars_max)
            raise UnknownName("source type", shown, known)

    def check_labels(self, machine: str, source_type: str, labels: Mapping[str, str]) -> None:
        """Refuse a document of a source type whose labels are missing."""
        known = self._plugins.source_types(machine).get(source_type)
        if known is not None:
            _check_missing(known.title or known.name, known.labels, labels)

    def _default_among(self, machines: Collection[str]) -> str:
        own = self.default_machine
        return own if _is_among(own, machines) else next(iter(machines))

    def _routed_labels(
        self, machine: str, artifact: Artifact, *, name: str | None, labels: Mapping[str, str]
    ) -> Mapping[str, str]:
        """The labels with the source type that the content has, where that decides which runners handle a document."""
        if not self._plugins.is_routed(machine):
            return labels
        given = labels.get(SOURCE_TYPE, "")
        path = self._artifacts.path(artifact.sha256)
        try:
            found = self._plugins.detect(machine, path, source_type=given, name=name or "")
        except StageFailure:  # its runner says the same, and keeps it with the record
            return labels
        routed = self._plugins.routed_type(machine, found, source_type=given)
        return {**labels, SOURCE_TYPE: routed} if routed else labels

    def prepare(
        self,
        artifact: Artifact,
        *,
        machine: str,
        name: str | None,
        labels: Mapping[str, str] | None,
        priority: int | str,
        actor: str,
        reason: str | None,
        trace: str | None = None,
    ) -> Submission:
        """The request for the record of a document that is stored already."""
        limits = self._settings.limits
        facts: Fields = {"size": artifact.size}
        if priority in self._machine_settings(machine).priorities:
            facts[PRIORITY_REASON] = str(priority)  # unless the labels give a better one
        for key, value in starmap(_label_text, (labels or {}).items()):
            label = clean_text(key, chars_max=limits.name_chars_max)
            facts[label] = clean_text(value, chars_max=limits.name_chars_max)
        if name:
            facts["filename"] = clean_text(name, chars_max=limits.name_chars_max)
        if trace is None and self._machine_settings(machine).logging.trace_id:
            trace = new_traceparent(token_bytes(TRACE_BYTES + SPAN_BYTES))
        return Submission(
            machine=self._registry.named(machine).name,
            actor=actor,
            artifact=artifact.sha256,
            dedupe=artifact.sha256,
            priority=self.priority(machine, priority),
            labels=facts,
            reason=clean_reason(self._settings, reason),
            trace=trace,
            is_artifact_known=not artifact.is_new,
        )

    def create(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Create records, all in one transaction; none if the bytes of one were erased since they were stored."""
        known = {each.artifact for each in submissions if each.is_artifact_known}
        if not known:
            return self._coordinator.submit(submissions)
        with self._database.transaction():
            done = self._coordinator.submit(submissions)
            made = {each.record.artifact for each in done if not each.is_duplicate}
            self._check_stored({each for each in made & known if each is not None})
            return done

    def _check_stored(self, digests: set[str]) -> None:
        self._database.take_turns(digests)
        if gone := [each for each in digests if not self._artifacts.holds(each)]:
            raise StoreError(
                f"the bytes of {gone[0]} were erased while they were submitted; submit them again"
            )

    def priority(self, machine: str, given: int | str) -> int:
        """A priority as a number, given as one or by the name that the settings give it."""
        return priority_number(self._machine_settings(machine), given)


def _is_among(machine: str, machines: Collection[str]) -> bool:
    return not machines or machine in machines


def _check_missing(title: str, needed: Mapping[str, str], given: Mapping[str, str]) -> None:
    missing = {name: why for name, why in needed.items() if not given.get(name)}
    if missing:
        raise MissingLabels(title, missing)


def priority_number(machine: MachineSettings, given: int | str) -> int:
    """A priority of a machine as a number, given as one or by the name that the settings give it."""
    names = machine.priorities
    if isinstance(given, str) and given in names:
        return names[given]
    text = str(given)
    if text.isascii() and text.isdecimal() and PRIORITY_MIN <= int(text) <= PRIORITY_MAX:
        return int(text)
    raise UnknownName("priority", text, [*names, f"{PRIORITY_MIN} to {PRIORITY_MAX}"])


def unused_priorities(settings: Settings, machines: Iterable[str]) -> str:
    """That a priority does not count for some of these machines; empty where it counts for all."""
    return first_come([each for each in machines if settings.machine(each).is_fifo])


def clean_reason(settings: Settings, given: str | None) -> str | None:
    """A person's reason as it is stored: without control characters, and not longer than a message may be."""
    chars_max = settings.limits.message_chars_max
    return None if given is None else clean_text(given, chars_max=chars_max)


def _pieces(source: Path | bytes | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(source, bytes | bytearray | memoryview):
        yield bytes(source)
    elif isinstance(source, Path):
        try:
            with source.open("rb") as file:  # a person may name a pipe
                yield from iter(lambda: file.read(PIECE_BYTES), b"")
        except OSError as error:
            raise InvalidRequest(f"cannot read {source}: {error.strerror or error}") from error
    else:
        yield from map(_checked_piece, _each_of(source))


# A script may be without types. What it gives is refused here with a sentence, before anything is stored.


def _each_of(source: object) -> Iterable[object]:
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise InvalidRequest(_no_document(source))
    return source


def _checked_piece(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise InvalidRequest(_no_document(piece))
    return bytes(piece)


def _no_document(given: object) -> str:
    kind = type(given).__name__
    return f"a document is a Path or bytes, not {kind}: write Path('name') for a file, or encode the text"


def _label_text(key: object, value: object) -> tuple[str, str]:
    if not (isinstance(key, str) and isinstance(value, str)):
        raise InvalidRequest(f"labels are text: {key!r} is given as {type(value).__name__}")
    return key, value
