"""All settings as one value: `Settings.load` merges the layers and refuses what cannot work."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self, cast
from urllib.parse import unquote

from msgspec import Meta, defstruct, field
from msgspec.structs import asdict

from stateward.core.errors import DeclarationError, Fault
from stateward.core.failpoints import CrashAt
from stateward.core.field_docs import about
from stateward.definition import discovery, plain_values, yaml_source
from stateward.definition.plain_values import Document
from stateward.definition.plugin import Plugin, resolve
from stateward.definition.section import Problem, Section, mapping_of
from stateward.settings.describe import SettingDescription, describe
from stateward.settings.feed import FeedSettings, shares_subjects
from stateward.settings.machines import MachineSettings, RecordSettings
from stateward.settings.notifications import NotificationSettings, TelemetrySettings
from stateward.settings.processing import (
    CoordinatorSettings,
    LimitSettings,
    ReviewSettings,
    WatchSettings,
    WorkerSettings,
)
from stateward.settings.server import ApiSettings, ServerSettings
from stateward.settings.sources import (
    CRASH_AT,
    ProfileName,
    crash_at,
    file_layer,
    profile_layers,
    variable_layers,
    variables_in,
)
from stateward.settings.storage import (
    AnchorSettings,
    ArtifactSettings,
    BackupSettings,
    LedgerSettings,
    RetentionSettings,
    StoreSettings,
)
from stateward.settings.transport import TransportSettings

DATABASE = "stateward.db"
VARIABLES: dict[str, plain_values.Path] = {
    "STATEWARD_PROFILE": ("profile",),
    "STATEWARD_DATA": ("data",),
    "STATEWARD_STORE_URL": ("store", "url"),
    "STATEWARD_ARTIFACTS_URL": ("artifacts", "url"),
    "STATEWARD_ARTIFACTS_ENDPOINT": ("artifacts", "endpoint"),
    "STATEWARD_TRANSPORT_URL": ("transport", "url"),
    "STATEWARD_TRANSPORT_CREDENTIAL": ("transport", "credential"),
    "STATEWARD_SERVER": ("server", "url"),
    "STATEWARD_KEY": ("server", "key"),
}
VARIABLE_PREFIX = "STATEWARD_"
_NEVER_OPTIONS = {*VARIABLES, "STATEWARD_CONFIG", CRASH_AT}  # those that no section declares
# Kubernetes gives each container the addresses of services, under their names: ours may be called `stateward`.
_OF_KUBERNETES = re.compile(
    r"STATEWARD_(\w+_)?(SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP|SCTP)\w*)?)"
)
_MACHINE_KEY = re.compile("[a-z][a-z0-9_]*_record")
_PIPELINE_FILES = (".py", ".yaml", ".yml")


class Declared(Section, frozen=True, kw_only=True):
    """All that a settings file may say."""

    profile: Annotated[ProfileName, about("The profile that the rest of the file changes.")] = (
        "personal"
    )
    data: Annotated[
        str,
        about(
            "The data folder, relative to the settings file.",
            min_length=1,
            extra={"is_path": lambda text: bool(text) and not text.startswith("~")},
        ),
    ] = "stateward-data"
    store: StoreSettings = StoreSettings()
    artifacts: ArtifactSettings = ArtifactSettings()
    worker: WorkerSettings = WorkerSettings()
    coordinator: CoordinatorSettings = CoordinatorSettings()
    transport: TransportSettings = TransportSettings()
    limits: LimitSettings = LimitSettings()
    api: ApiSettings = ApiSettings()
    server: ServerSettings = ServerSettings()
    notifications: NotificationSettings = NotificationSettings()
    feed: FeedSettings = FeedSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    ledger: LedgerSettings = LedgerSettings()
    backup: BackupSettings = BackupSettings()
    retention: RetentionSettings = RetentionSettings()
    anchors: AnchorSettings = AnchorSettings()
    reviews: ReviewSettings = ReviewSettings()
    watch: WatchSettings = WatchSettings()
    pipelines: Annotated[
        tuple[
            Annotated[
                str,
                Meta(min_length=1, extra={"is_path": lambda text: text.endswith(_PIPELINE_FILES)}),
            ],
            ...,
        ],
        Meta(
            description="Pipelines to load besides those of installed packages: Python modules, and Python or YAML "
            "files relative to the settings file."
        ),
    ] = ()
    records: Annotated[dict[str, RecordSettings], Meta(extra={"keys": "<machine>_record"})] = field(
        default_factory=dict
    )

    def problems(self) -> Iterator[Problem]:
        """A folder named ~ would be created where the service was started; and what sections say against each other."""
        if self.data.startswith("~"):
            yield ("data",), "data must be a whole path: ~ is not expanded"
        if shares_subjects(self.feed, self.transport):
            yield (
                ("feed", "topic"),
                f"topic {self.feed.topic} takes the subjects of the transport on the same NATS, which allows no two "
                f"streams of one subject: write another, such as {self.transport.prefix}.feed.{{machine}}",
            )


class SettingsRefused(DeclarationError):
    """Settings cannot be read; `readable` is what is left without the parts that cannot, if that makes sense."""

    def __init__(self, faults: Iterable[Fault], readable: "Settings | None") -> None:
        super().__init__(faults)
        self.readable = readable

    def joined(self, others: Iterable[Fault]) -> DeclarationError:
        """The same with faults that were found since, in the order of the sources and their lines."""
        faults = [*self.faults, *others]
        order = {
            source: at for at, source in enumerate(dict.fromkeys(each.source for each in faults))
        }
        return DeclarationError(sorted(faults, key=lambda each: (order[each.source], each.line)))


class Settings(Declared, frozen=True, kw_only=True):
    """Everything that was said, merged and checked; `layers` are who said it, the last on top.

    `options` are the sections of those pipelines that anything is said of, by name; `options_of` gives all of them.
    """

    options: dict[str, Section] = field(default_factory=dict)
    plugins: tuple[Any, ...] = ()
    """Each is a `Plugin`, of which msgspec need not know the parts."""
    layers: tuple[Document, ...] = ()
    profile_layers: int = 0
    crash_at: CrashAt | None = None
    """For tests alone, so no file can set it: where this process kills itself (`STATEWARD_CRASH_AT`)."""

    @classmethod
    def load(
        cls,
        config: Path | None = None,
        *,
        profile: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Profile, file, environment (this process's own if None) and arguments, as one value.

        Raises `DeclarationError` with every fault, each with its file and line.
        """
        variables = os.environ if environ is None else environ
        if config is None and variables.get("STATEWARD_CONFIG"):
            config = Path(variables["STATEWARD_CONFIG"])
        plugins = _plugins(config)
        raw = [] if config is None else [file_layer(config, Declared)]
        type_ = _declared_type(_spoken_of(plugins, raw, variables))
        layers: list[Document] = []
        if config is not None:
            layers.append(file_layer(config, type_))
        layers += variable_layers(variables, _variables(type_, variables))
        if profile is not None:
            layers.append(plain_values.read_python({"profile": profile}, source="--profile"))
        # First each layer alone, so that a fault names the layer; then what they say together.
        faults = [fault for each in layers for fault in yaml_source.convert(each, type_)[1]]
        if not faults:
            settings = cls._together(layers, raw, type_, plugins, variables)
            if wrong := settings.faults():
                raise SettingsRefused(wrong, settings)
            return settings
        # What is left is checked too, or a file that was mended by this list would be refused for something else.
        readable = None
        with suppress(DeclarationError):  # a part may need what was left out
            left = [each.without(faults) for each in layers]
            readable = cls._together(left, raw, type_, plugins, variables)
            faults += readable.faults()
        order = {each.source: place for place, each in enumerate(layers)}
        faults.sort(key=lambda fault: (order.get(fault.source, len(order)), fault.line))
        raise SettingsRefused(faults, readable)

    @classmethod
    def _together(
        cls,
        own: Sequence[Document],
        raw: Sequence[Document],
        type_: type[Declared],
        plugins: tuple[Plugin, ...],
        variables: Mapping[str, str],
    ) -> Self:
        """What the layers say over the profile that they name; `raw` is the file as it stands."""
        below = profile_layers(_declare(own, type_).profile, plugins)
        whole = _declared_type(_spoken_of(plugins, [*below, *raw], variables))
        declared = asdict(_declare([*below, *own], whole))
        sections = [name for name in declared if name not in Declared.__struct_fields__]
        return cls(
            options={name: declared.pop(name) for name in sections},
            **declared,
            plugins=plugins,
            layers=(*below, *own),
            profile_layers=len(below),
            crash_at=crash_at(variables),
        )

    @classmethod
    def declared_as(cls) -> type[Section]:
        """What a file can say; taking a type apart takes milliseconds, and `Declared` has been."""
        return Declared

    def options_of(self, plugin: Plugin) -> Section:
        """The section of a pipeline; its defaults where nothing is said."""
        if plugin.name in self.options:
            return self.options[plugin.name]
        return Section() if plugin.options is None else resolve(plugin.options)()

    def faults(self) -> list[Fault]:
        """Where what the sections say does not fit together."""
        return [self.fault(path, sentence) for path, sentence in self.all_problems()]

    def all_problems(self) -> Iterator[Problem]:
        """Those of our own sections and of the pipelines'."""
        yield from super().all_problems()
        for name, section in self.options.items():
            for path, sentence in section.all_problems():
                yield (name, *path), sentence

    @property
    def data_path(self) -> Path:
        """The data folder."""
        return Path(self.data)

    @property
    def store_path(self) -> Path | None:
        """The file of an SQLite store; None for every other store."""
        scheme, _, rest = self.store.url.partition(":")
        if scheme != "sqlite":
            return None
        if rest.startswith("//"):
            return Path(unquote(rest.removeprefix("//")))
        return self.data_path / (rest or DATABASE)

    def machine(self, name: str) -> MachineSettings:
        """What applies to one machine, whether a section speaks of it or not."""
        return MachineSettings.of(self.records.get(name, RecordSettings()))

    def check_states(self, machine_name: str, states: Iterable[str]) -> list[Fault]:
        """Where the section of a machine disagrees with the states that the machine has.

        A list in the user's own file names every state. The list of a shipped profile may be behind a machine that
        was extended since, but names none that is gone.
        """
        key = f"{machine_name}_record"
        is_own = any(layer.has(key, "states") for layer in self.layers[self.profile_layers :])
        section = self.records.get(machine_name, RecordSettings())
        problems = section.state_problems(machine_name, list(states), is_own=is_own)
        return [self.fault((key, *path), sentence) for path, sentence in problems]

    def fault(self, path: plain_values.Path, sentence: str) -> Fault:
        """A fault of what stands at `path`, with the source and line of the topmost layer that speaks of it."""
        for end in range(len(path), 0, -1):
            for layer in reversed(self.layers):
                if layer.has(*path[:end]):
                    return layer.fault(path, sentence)
        return Document(source="settings", value=None, lines={}).fault(path, sentence)

    def as_mapping(self) -> dict[str, object]:
        """All of it as one settings file, with *** for everything secret."""
        # Not the layers, which hold the secrets too.
        sections = {each.name: self.options_of(each) for each in self.plugins if each.options}
        pipelines = {name: section.as_mapping() for name, section in sections.items()}
        return {**mapping_of(self, Declared), **pipelines}


def describe_settings() -> list[SettingDescription]:
    """Every key that a settings file may hold, in the order of the declaration; those of installed pipelines last."""
    return list(describe(_declared_type(_plugins(None))))


def environment_variables() -> list[str]:
    """The variables that override a settings file, those of installed pipelines last."""
    return [*VARIABLES, *dict(variables_in(_declared_type(_plugins(None))))]


def unread_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Variables that look like settings and are none: a misspelt one would leave what it sets at its default."""
    variables = os.environ if environ is None else environ
    if _NEVER_OPTIONS.issuperset(_own(variables)):
        return []
    known = {*_NEVER_OPTIONS, *environment_variables()}
    return sorted(
        name for name in _own(variables) if name not in known and not _OF_KUBERNETES.fullmatch(name)
    )


def _plugins(config: Path | None) -> tuple[Plugin, ...]:
    """The pipelines that are installed and those that a settings file names; they say which sections there are."""
    named: object = ()
    if config is not None:
        layer = file_layer(config, Declared)
        named = layer.value.get("pipelines") if isinstance(layer.value, dict) else ()
    is_list = isinstance(named, list) and all(isinstance(each, str) and each for each in named)
    # What is no list of names is refused with its line when the whole file is read.
    names = tuple(map(str, named)) if is_list and isinstance(named, list) else ()
    return tuple(each.plugin for each in discovery.plugins(names))


def _spoken_of(
    plugins: tuple[Plugin, ...], layers: Iterable[Document], variables: Mapping[str, str]
) -> tuple[Plugin, ...]:
    """The pipelines whose sections files or variables may set: the code of all others need not be loaded for it."""
    if not _NEVER_OPTIONS.issuperset(_own(variables)):
        return plugins  # a pipeline's section itself says which variables set its fields
    keys = {key for layer in layers if isinstance(layer.value, dict) for key in layer.value}
    named = tuple(each for each in plugins if each.name in keys)
    known = {*Declared.__struct_fields__, *(each.name for each in named)}
    known.remove("records")  # which gathers the keys of machines
    is_known = all(key in known or _MACHINE_KEY.fullmatch(str(key)) for key in keys)
    # The sentence about an unknown key names all that there are.
    return named if is_known else plugins


def _variables(
    type_: type[Declared], variables: Mapping[str, str]
) -> Mapping[str, plain_values.Path]:
    if _NEVER_OPTIONS.issuperset(_own(variables)):
        return VARIABLES
    return {**VARIABLES, **dict(variables_in(type_))}


def _own(variables: Mapping[str, str]) -> Iterator[str]:
    return (name for name in variables if name.startswith(VARIABLE_PREFIX))


@cache
def _declared_type(plugins: tuple[Plugin, ...]) -> type[Declared]:
    """All that a settings file may say where these pipelines are loaded: their sections beside our own."""
    sections: list[tuple[str, type[Section], Section]] = []
    for plugin in plugins:
        if plugin.options is None:
            continue
        if plugin.name in Declared.__struct_fields__ or plugin.name.endswith("_record"):
            message = (
                f"the name {plugin.name!r} is that of a section of Stateward's own; take another"
            )
            raise DeclarationError([Fault(source=plugin.name, line=0, path="", sentence=message)])
        type_: type[Section] = resolve(plugin.options)
        sections.append((plugin.name, type_, type_()))
    if not sections:
        return Declared
    made = defstruct("Declared", sections, bases=(Declared,), frozen=True, kw_only=True)
    return cast("type[Declared]", made)


def _declare(layers: Iterable[Document], type_: type[Declared]) -> Declared:
    value: object = {}
    for layer in layers:
        value = _merge(value, layer.value)
    declared, faults = yaml_source.convert(
        plain_values.read_python(value, source="settings"), type_
    )
    if declared is None:
        raise DeclarationError(faults)
    return declared


def _merge(below: object, above: object) -> object:
    """Mappings are merged key by key; anything else replaces what lies below it."""
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {key: _merge(below.get(key), each) for key, each in above.items()}
    return above
