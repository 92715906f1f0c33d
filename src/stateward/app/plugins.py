"""The plug-ins of one installation, under its settings: the one place through which they are asked for anything.

Everybody else asks `Plugins` by machine, source type or runner and never learns which package answers. Plug-ins are
configured when they are first needed, so that a command that needs none waits for none.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stateward import telemetry
from stateward.core.errors import FatalFailure, InvalidRequest, StageFailure, UnknownName
from stateward.core.machine import SOURCE_TYPE, Machine
from stateward.core.model import Fields, Micros, Record
from stateward.definition import discovery
from stateward.definition.discovery import LoadedPlugin
from stateward.definition.display import ItemView, RecordView
from stateward.definition.plugin import (
    AUTO,
    AutomaticMove,
    ConfiguredPlugin,
    Content,
    Correction,
    Detected,
    Export,
    Hint,
    Host,
    Plugin,
    ProvidesPlugin,
    Resource,
    SourceType,
    item_view,
    reference_of,
    resolve,
)
from stateward.settings import Settings
from stateward.workers.routes import RunnerRoute

if TYPE_CHECKING:
    from stateward.workers.sdk import (
        Runner,  # with the whole kit, which most commands can do without
    )

# Below this, a pipeline only says that it could read the document: any text may be a paper. A person may choose it.
EVIDENCE_MAX = 12
# The code with which a plug-in says that it does not know what content is; others say what is wrong with it.
UNKNOWN_FORMAT = "UNKNOWN_FORMAT"
CONFIDENCE_MIN = 20


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What a plug-in takes a document for, how sure it is (0 to 100), and which labels it needs to be given."""

    machine: str
    source_type: str
    title: str
    format: str
    confidence: int
    labels: dict[str, str] = {}
    evidence: tuple[str, ...] = ()

    @property
    def is_likely(self) -> bool:
        """Whether the document may be taken for this without asking a person."""
        return self.confidence >= CONFIDENCE_MIN

    def missing(self, given: Collection[str]) -> list[str]:
        """The labels that it needs and that were not given."""
        return [name for name in self.labels if name not in given]


class Plugins:
    """All plug-ins that these settings load."""

    def __init__(
        self,
        settings: Settings,
        given: Iterable[Plugin | Machine | ProvidesPlugin] = (),
        *,
        clock: Callable[[], Micros],
    ) -> None:
        self._settings = settings
        self._clock = clock
        given = tuple(given)
        self.loaded: Sequence[LoadedPlugin] = discovery.plugins(settings.pipelines, given)
        first = given[0] if len(given) == 1 else None
        self._own = None if first is None or isinstance(first, Plugin | Machine) else first.plugin
        self._configured: dict[str, ConfiguredPlugin[Any]] = {}
        self._has_runners = False
        self._hints: dict[str, dict[str, Hint]] = {}
        self._types: dict[str, dict[str, SourceType]] = {}
        self._detecting: dict[str, list[tuple[str, Plugin]]] = {}
        self._deciding: dict[str, frozenset[str]] = {}

    def __iter__(self) -> Iterator[Plugin]:
        return (each.plugin for each in self.loaded)

    def named(self, name: str) -> Plugin:
        known = {plugin.name: plugin for plugin in self}
        if name not in known:
            raise UnknownName("pipeline", name, known)
        return known[name]

    def configured(self, name: str) -> Any:  # noqa: ANN401 - each plug-in has a class of its own
        """A plug-in under these settings; what its files say wrongly is refused here."""
        if name not in self._configured:
            plugin = self.named(name)
            data = Path(self._settings.data)
            host = Host(clock=self._clock, warn=telemetry.log(name).warning, data=data)
            made = ConfiguredPlugin if plugin.configured is None else resolve(plugin.configured)
            self._configured[name] = made(self._settings.options_of(plugin), host)
        return self._configured[name]

    def hints(self, machine: str) -> dict[str, Hint]:
        """What can be said about the documents of a machine, by name."""
        if machine not in self._hints:
            self._hints[machine] = {
                hint.name: hint
                for plugin in self
                if any(each.machine == machine for each in plugin.source_types)
                or any(each.name == machine for each in discovery.machines(plugin))
                for hint in plugin.hints
            }
        return self._hints[machine]

    def passage_types(self, machines: Collection[str] = ()) -> list[str]:
        """The types that searchable passages of these machines (none: of all) may have."""
        found = (
            each.types
            for plugin in self
            for each in plugin.searchable
            if not machines or each.machine in machines
        )
        return sorted({name for names in found for name in names})

    def check_hints(self, machine: str, hints: Mapping[str, str]) -> None:
        """Have the pipelines of a machine refuse what they cannot use."""
        for each in self._of(machine):
            own = {hint.name for hint in each.hints}
            if given := {name: value for name, value in hints.items() if name in own}:
                self.configured(each.name).check_hints(given)

    def hint_choices(self, machine: str, hint: Hint) -> tuple[str, ...]:
        """What may be chosen for a hint: as declared, or as the settings of its pipeline say; () where it is free."""
        if hint.choices:
            return hint.choices
        own = [each for each in self._of(machine) if hint in each.hints]
        found = [self.configured(each.name).hint_choices(hint.name) for each in own]
        return tuple(dict.fromkeys(value for each in found for value in each))

    def learn(
        self, machine: str, rows: list[list[str]], hints: Mapping[str, str], *, name: str
    ) -> list[str]:
        """Have the pipelines of a machine remember what a person said; what they learned."""
        own = [each for each in self._of(machine) if each.hints]
        learned = [self.configured(each.name).learn(rows, hints, name=name) for each in own]
        return [each for each in learned if each]

    def raw_table_target(self, machine: str) -> str:
        """The function that shows the first rows of a document's table as `module:name`; "" if none does."""
        found = [each.raw_table for each in self._of(machine) if each.raw_table is not None]
        return reference_of(found[0]) if found else ""

    def serving(self, record: Record) -> list[Plugin]:
        """The plug-ins of a record's machine that read documents of its source type; all, where it has none."""
        name = str(record.labels.get(SOURCE_TYPE) or "")
        by_type = list(self._detectors(record.machine, name))
        return by_type or [
            plugin
            for plugin in self
            if any(each.name == record.machine for each in discovery.machines(plugin))
        ]

    def _of(self, machine: str) -> list[Plugin]:
        """The plug-ins that offer source types of a machine."""
        return [
            plugin
            for plugin in self
            if any(each.machine == machine for each in plugin.source_types)
        ]

    def unlock_target(self, machine: str) -> str:
        """The function that opens locked documents as `module:name`."""
        found = [each.unlock for each in self._of(machine) if each.unlock is not None]
        if not found:
            raise InvalidRequest(f"no pipeline can unlock documents of the machine {machine}")
        return reference_of(found[0])

    # State machines and runners

    @cached_property
    def machines(self) -> dict[str, Machine]:
        """Every state machine by name; the one that is loaded last stands for those of its name."""
        return {machine.name: machine for plugin in self for machine in discovery.machines(plugin)}

    @property
    def default_machine(self) -> str:
        """The machine of documents that name none: a program that brings one pipeline of its own means that one."""
        if self._own is not None:
            return self._own.default_machine or discovery.machines(self._own)[0].name
        offered = [plugin.default_machine for plugin in self if plugin.default_machine]
        if not offered and len(self.machines) == 1:
            return next(iter(self.machines))
        if not offered:
            raise UnknownName("machine", "", self.machines)
        return offered[-1]

    @property
    def runners(self) -> "Mapping[str, Runner]":
        """Every runner by name; the modules that register them are imported when one is first asked for."""
        from stateward.workers.sdk import registered_runners

        if not self._has_runners:
            discovery.load_runners(self.loaded)
            self._has_runners = True
        return registered_runners()

    @property
    def imports(self) -> list[str]:
        """The modules and files that a child process imports to have the same runners."""
        return list(dict.fromkeys(name for each in self.loaded for name in each.imports))

    @property
    def preload(self) -> dict[str, tuple[str, ...]]:
        """What children are forked with, by the runner that they are spawned for."""
        return {
            runner: plugin.preload
            for plugin in self
            if plugin.preload
            for runner in _runners_of(plugin)
        }

    @cached_property
    def runner_options(self) -> Mapping[str, Fields]:
        """What the settings say to each runner, asked anew for every job."""
        owners = {
            runner: plugin.name
            for plugin in self
            if plugin.options is not None or plugin.configured is not None
            for runner in _runners_of(plugin)
        }
        for name in dict.fromkeys(owners.values()):
            self.configured(name)  # a wrong file is refused now, not by the first job
        return _RunnerOptions(owners, self.configured)

    @property
    def offline_runners(self) -> tuple[str, ...]:
        """Runners that may open no connection under these settings."""
        names = [plugin.name for plugin in self if plugin.configured is not None]
        return tuple(each for name in names for each in self.configured(name).offline_runners())

    @cached_property
    def routes(self) -> dict[tuple[str, str, str], RunnerRoute]:
        """(machine, stage, source type) to the runner of documents that another than the machine's own handles."""
        return {
            (each.machine, stage, each.name): RunnerRoute(
                runner=runner,
                network=stage in each.network,
                programs=each.programs.get(stage, ()),
                one_machine=stage in each.one_machine,
            )
            for _, each in self._all_source_types
            for stage, runner in each.runners.items()
            if not self._is_own_runner(each.machine, stage, runner)
        }

    def _is_own_runner(self, machine: str, stage: str, runner: str) -> bool:
        own = self.machines.get(machine)
        return own is not None and stage in own.stage and own.stage[stage].runner == runner

    @cached_property
    def automatic_moves(self) -> dict[tuple[str, str], AutomaticMove]:
        """(machine, status) to the move that records make as soon as they are there."""
        names = [plugin.name for plugin in self if plugin.configured is not None]
        moves = [each for name in names for each in self.configured(name).automatic_moves()]
        return {(each.machine, each.status): each for each in moves}

    @cached_property
    def engine_stages(self) -> frozenset[tuple[str, str]]:
        """(machine, stage) that the engine does itself, without a runner."""
        return frozenset(
            (each.machine, each.confirm)
            for plugin in self
            for each in plugin.ranked
            if each.confirm
        )

    # Documents

    @cached_property
    def _all_source_types(self) -> list[tuple[Plugin, SourceType]]:
        return [
            (plugin, each)
            for plugin in self
            for each in (*plugin.source_types, *self._configured_types(plugin))
        ]

    def _configured_types(self, plugin: Plugin) -> Sequence[SourceType]:
        is_plain = plugin.configured is None
        return () if is_plain else tuple(self.configured(plugin.name).source_types())

    def source_types(self, machine: str) -> dict[str, SourceType]:
        """The source types of a machine by name, `auto` first; none if it takes documents of any name."""
        if machine not in self._types:  # every upload asks, several times
            own = [each for _, each in self._all_source_types if each.machine == machine]
            auto = SourceType(name=AUTO, machine=machine, title="Detected from the content")
            self._types[machine] = {each.name: each for each in (auto, *own)} if own else {}
        return self._types[machine]

    def detect(
        self,
        machine: str,
        path: Path,
        *,
        source_type: str = "",
        name: str = "",
        head: bytes | None = None,
    ) -> Detected | None:
        """What a document is by its content: asked of the plug-in of its source type, or of all that serve the machine.

        None where none of them can tell. Raises the `StageFailure` of the first plug-in that says why it cannot be
        read, if no other one can. `head`: the first bytes of the file, if they are at hand.
        """
        detectors = [
            each.detect for each in self._detectors(machine, source_type) if each.detect is not None
        ]
        content = Content.of(path, name=name, head=head, is_compared=len(detectors) > 1)
        found: list[Detected] = []
        failures: list[StageFailure] = []
        for detect in detectors:
            try:
                answer = resolve(detect)(content)
            except StageFailure as error:
                failures.append(error)
            else:
                found += [] if answer is None else [answer]
        if failures and not found:
            if content.is_compared and failures[0].code == UNKNOWN_FORMAT:
                raise self._unknown(machine, failures[0], name) from failures[0]
            raise failures[0]
        return max(found, key=lambda each: each.confidence, default=None)

    def _unknown(self, machine: str, failure: StageFailure, name: str) -> StageFailure:
        """The failure with the source types that may have files of such a name: the sender may know which it is."""
        suffix = Path(name).suffix.lower()
        likely = [each for each in self.source_types(machine).values() if suffix in each.suffixes]
        if not likely:
            return failure
        looked = ", ".join(f"{each.name} ({each.title or each.name})" for each in likely)
        message = (
            f"{failure.message}; looked for {looked}: name the one that it is as its source type"
        )
        return FatalFailure(message, code=failure.code)

    def _detectors(self, machine: str, source_type: str) -> Iterable[Plugin]:
        """The plug-ins that say what a document of this source type is, each once."""
        if machine not in self._detecting:  # every upload asks
            own = [each for each in self._all_source_types if each[1].machine == machine]
            self._detecting[machine] = [(each.name, plugin) for plugin, each in own]
        is_open = source_type in ("", AUTO)
        found = self._detecting[machine]
        # By identity: what a plug-in declares is much to hash.
        return {id(each): each for name, each in found if is_open or name == source_type}.values()

    def candidates(self, path: Path, *, name: str = "") -> list[Candidate]:
        """What a document may be, asked of every plug-in: the surest first, and of equals the default machine's.

        Empty where none of them takes it for one of its own.
        """
        content = Content.of(path, name=name)
        found: list[Candidate] = []
        for plugin in self:
            try:
                answer = None if plugin.detect is None else resolve(plugin.detect)(content)
            except StageFailure:
                continue  # it knows what this is and cannot read it; another one may
            if answer is not None:
                found += self._candidates_of(plugin, answer)
        return sorted(
            found, key=lambda each: (-each.confidence, each.machine != self.known_default)
        )

    def _candidates_of(self, plugin: Plugin, answer: Detected) -> Iterator[Candidate]:
        own = [each for owner, each in self._all_source_types if owner is plugin]
        if answer.source_type == AUTO:  # one of them, and its runners find out which
            own = [SourceType(name=AUTO, machine=name) for name in {each.machine for each in own}]
        for each in own:
            if each.name == answer.source_type and each.machine in self.machines:
                yield Candidate(
                    machine=each.machine,
                    source_type=each.name,
                    title=each.title or self.record_view(each.machine).title or each.name,
                    format=answer.format,
                    confidence=answer.confidence,
                    labels=each.labels,
                    evidence=answer.evidence[:EVIDENCE_MAX],
                )

    @property
    def known_default(self) -> str:
        """The machine of documents that name none; "" where no pipeline offers one."""
        try:
            return self.default_machine
        except UnknownName:
            return ""

    @property
    def source_type_names(self) -> set[str]:
        """The source types of all machines, and `auto`."""
        return {AUTO, *(each.name for _, each in self._all_source_types)}

    def machines_of(self, source_type: str) -> list[str]:
        """The machines that have a source type of this name, the default one first."""
        found = [each.machine for _, each in self._all_source_types if each.name == source_type]
        return sorted(dict.fromkeys(found), key=lambda each: each != self.known_default)

    def routed_type(self, machine: str, found: Detected | None, *, source_type: str) -> str:
        """The source type to keep with a document.

        It stays what the submitter said, unless that leaves it to the content and something depends on what that is.
        """
        if found is None or source_type not in ("", AUTO):
            return source_type
        return (
            found.source_type if found.source_type in self._deciding_types(machine) else source_type
        )

    def is_routed(self, machine: str) -> bool:
        """Whether the source type of a document decides which runners handle it, or how often they try."""
        return bool(self._deciding_types(machine))

    def _deciding_types(self, machine: str) -> frozenset[str]:
        """The source types that lead to runners of their own, or that the settings retry otherwise."""
        if machine not in self._deciding:  # every upload asks
            routed = {key[2] for key in self.routes if key[0] == machine}
            retried = self._settings.machine(machine).retry_by_source_type
            self._deciding[machine] = frozenset({*routed, *retried})
        return self._deciding[machine]

    # Reviews

    def check_correction(
        self, record: Record, items: Sequence[Fields], named: Sequence[str]
    ) -> tuple[Sequence[Fields], Sequence[tuple[str, str]]]:
        """What a reviewer's values are under the rules of their pipeline, and what is wrong with them."""
        owner = self._owner(record)
        if owner is None or owner.configured is None:
            return items, ()
        correction = Correction(record=record, items=items, fields=named)
        corrected = self.configured(owner.name).check_correction(correction)
        return corrected.items, corrected.faults

    def check_approval(
        self, record: Record, problems: Sequence[Fields]
    ) -> Sequence[tuple[str, str]]:
        """What keeps a record from being approved as it was found, by the rules of its pipeline."""
        owner = self._owner(record)
        if owner is None or owner.configured is None:
            return ()
        faults: Sequence[tuple[str, str]] = self.configured(owner.name).check_approval(
            record, problems
        )
        return faults

    def _owner(self, record: Record) -> Plugin | None:
        """The plug-in whose code handles a record: that of its source type, else that of its machine's runners."""
        source_type = record.labels.get(SOURCE_TYPE)
        for plugin, each in self._all_source_types:
            if each.runners and (each.machine, each.name) == (record.machine, source_type):
                return plugin
        machine = self.machines.get(record.machine)
        runners = set() if machine is None else {stage.runner for stage in machine.stages}
        able = [plugin for plugin in self if not runners.isdisjoint(_runners_of(plugin))]
        # A machine may be declared in one plug-in and its runners offered by another, which is the one that knows.
        return next(
            (each for each in able if each.configured is not None), able[0] if able else None
        )

    # Search

    def embed_query(self, machine: str, text: str) -> tuple[str, Sequence[float]] | None:
        """The model of the ranked documents of a machine and the vector of a query; None if none is set."""
        for plugin in self:
            if any(each.machine == machine and each.vectors for each in plugin.ranked):
                found: tuple[str, Sequence[float]] | None = self.configured(
                    plugin.name
                ).embed_query(text)
                return found
        return None

    # Display

    def record_view(self, machine: str) -> RecordView:
        """How records of a machine are introduced and summed up."""
        views = [view for plugin in self for view in plugin.records if view.machine == machine]
        return views[-1] if views else RecordView(machine=machine)

    def item_view(self, record: Record, stage: str) -> ItemView | None:
        """How the items of a stage of a record are shown; None: as they are."""
        return item_view(self, record.machine, stage, record.labels.get(SOURCE_TYPE))

    def exports(self, record: Record, stage: str) -> dict[str, Export]:
        """The further formats of the items of a stage, of the pipelines that read documents like this one."""
        return {
            each.name: each
            for plugin in self.serving(record)
            for each in plugin.exports
            if (each.machine, each.stage) == (record.machine, stage)
        }

    def resources(self) -> list[Resource]:
        """Paths of the API at which records have names of their own."""
        return [each for plugin in self for each in plugin.resources]


class _RunnerOptions(Mapping[str, Fields]):
    """Options that are made when they are asked for."""

    def __init__(self, owners: Mapping[str, str], configured: Callable[[str], Any]) -> None:
        self._owners = owners
        self._configured = configured

    def __getitem__(self, runner: str) -> Fields:
        options: Fields = self._configured(self._owners[runner]).job_options(runner)
        return options

    def __iter__(self) -> Iterator[str]:
        return iter(self._owners)

    def __len__(self) -> int:
        return len(self._owners)


def _runners_of(plugin: Plugin) -> Iterator[str]:
    for machine in discovery.machines(plugin):
        yield from (stage.runner for stage in machine.stages)
    for each in plugin.source_types:
        yield from each.runners.values()
