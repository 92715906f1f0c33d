"""The plug-in protocol: all that a pipeline package gives to Stateward, as one frozen value.

    PLUGIN = Plugin(
        name="receipts",
        package=__name__,
        machines=("machine.yaml",),
        runners=("receipts.runners",),
        options="receipts.options:ReceiptOptions",
        source_types=(SourceType(name="receipt", machine="receipts", title="Receipt"),),
        detect="receipts.detection:detect",
    )

A plug-in is found by an entry point of the group `stateward.pipelines`, or because the setting `pipelines` names its
module or file. Only `name` is required: a plug-in may bring state machines of its own, or only source types for the
machine of another. Whatever takes long to import is named as "module:attribute" and imported when it is first used, so
that `stateward --help` never waits for it. Nothing here runs anything or knows who calls.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from stateward.core.machine import Machine
from stateward.core.model import Fields, Json, Micros, Record
from stateward.definition.display import ItemView, RecordView, SearchableText
from stateward.definition.search import RankedText

if TYPE_CHECKING:
    from stateward.definition.section import (
        Section,  # with YAML, which help texts need not wait for
    )

ENTRY_POINTS = "stateward.pipelines"
# The source type of a document whose content decides what it is.
AUTO = "auto"
# Enough to tell every format apart by its beginning, and one read.
HEAD_BYTES = 64 * 1024

T = TypeVar("T")
O_co = TypeVar("O_co", bound="Section", covariant=True)
Reference: TypeAlias = str
"""An object by name, "package.module:attribute", imported when it is first used."""


# Documents


class SourceType(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of document that a state machine takes.

    Several plug-ins may offer source types of one machine: `runners` (stage to runner) then names the code that handles
    a document of this type where it is not that of the machine itself, `network` the stages of it that may open
    connections, and `programs` (stage to names) what its stages may execute. `one_machine` are stages of it whose
    runners keep a limit among themselves, which they can do on one machine only: workers of one machine at a time are
    given them. `format` is what `detect` must say of the content; "" accepts whatever the plug-in reads. `labels` are
    those without which a document of this type cannot be processed, each with what to ask a person for. `document`
    ("stage/name") is the derived file that the record only asked for, such as what stands at an address: it is shown
    as the document, and places in it are those of the items.
    """

    name: str
    machine: str
    title: str = ""
    doc: str = ""
    format: str = ""
    suffixes: tuple[str, ...] = ()
    runners: dict[str, str] = {}
    network: tuple[str, ...] = ()
    programs: dict[str, tuple[str, ...]] = {}
    one_machine: tuple[str, ...] = ()
    document: str = ""
    labels: dict[str, str] = {}


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """A document that has just arrived, for `detect` to look at. `name` is what its sender calls it.

    `is_compared`: whether other plug-ins are asked as well. Where none is, the confidence of an answer decides nothing.
    """

    path: Path
    head: bytes
    name: str = ""
    is_compared: bool = True

    @classmethod
    def of(
        cls, path: Path, *, name: str = "", head: bytes | None = None, is_compared: bool = True
    ) -> "Content":
        """The content of a file; it is opened unless its `head` is at hand."""
        if head is None:
            with path.open("rb") as file:
                head = file.read(HEAD_BYTES)
        return cls(path=path, head=head, name=name, is_compared=is_compared)


class Detected(msgspec.Struct, frozen=True, kw_only=True):
    """What a document is by its content. The highest `confidence` (0 to 100) of all plug-ins is believed.

    `evidence` is what speaks for it, in a few words each, for the person who is asked.
    """

    source_type: str
    format: str = ""
    confidence: int = 50
    evidence: tuple[str, ...] = ()


Detect: TypeAlias = Callable[[Content], Detected | None]
"""What a document is; None if it is nothing of this plug-in's.

It runs in the process that takes documents in, before any limit holds: it may look at bytes, at the directory of an
archive and at the bounded start of an entry, but must not inflate more, parse or trust anything. It raises a
`StageFailure` for what it knows and cannot read.
"""


# Settings


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What a service lends to its plug-ins."""

    clock: Callable[[], Micros]
    warn: Callable[[str], object]
    data: Path | None = None
    """The data folder, for what a plug-in learns; None where nothing is to be kept."""


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer's values: the items as they would be, and the names of the fields that were corrected."""

    record: Record
    items: Sequence[Fields]
    fields: Sequence[str]


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """The items as they are kept, and what is wrong with them: (field, sentence). Faults refuse the correction."""

    items: Sequence[Fields]
    faults: Sequence[tuple[str, str]] = ()


class AutomaticMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move of a state machine that the settings ask for: records make it as soon as they reach `status`.

    `event` must be that of one of the machine's `moves`, and not one that only a person may make.
    """

    machine: str
    status: str
    event: str
    reason: str = ""


class ConfiguredPlugin(Generic[O_co]):
    """A plug-in under the settings of one service: override what depends on the options.

    It is made when it is first needed. What raises a `DeclarationError` in its constructor, such as a file of rules
    that cannot be read, is refused when the service starts.
    """

    def __init__(self, options: O_co, host: Host) -> None:
        self.options = options
        self.host = host

    def job_options(self, runner: str) -> Fields:
        """What reaches the jobs of a runner as `job.options`, asked anew for every job: no secret that it can spare."""
        options: Fields = msgspec.to_builtins(self.options)
        return options

    def offline_runners(self) -> Collection[str]:
        """Runners that may open no connection under these settings, although their stage may."""
        return ()

    def source_types(self) -> Iterable[SourceType]:
        """Source types that the settings add to those of the plug-in."""
        return ()

    def automatic_moves(self) -> Iterable[AutomaticMove]:
        """Moves that records make by themselves under these settings, such as leaving out stages that are off."""
        return ()

    @property
    def is_embedding(self) -> bool:
        """Whether documents get vectors under these settings, so that they can be searched by meaning."""
        return False

    def embed_query(self, text: str) -> tuple[str, Sequence[float]] | None:
        """The model that ranked documents are embedded with, and the vector of a query; None without one."""
        return None

    def check_hints(self, hints: Mapping[str, str]) -> None:
        """Refuse with an `InvalidRequest` or `UnknownName` what a document cannot be read with, before it is tried."""

    def hint_choices(self, name: str) -> Sequence[str]:
        """What may be chosen for a hint that declares no choices, because these settings say it."""
        return ()

    def learn(self, rows: list[list[str]], hints: Mapping[str, str], *, name: str) -> str:
        """Remember what a person said about a document called `name`, for others like it; "" if nothing was learned.

        What is learned reaches the runners as `job_options`.
        """
        return ""

    def check_correction(self, correction: Correction) -> Corrected:
        """A reviewer's values in canonical form, or what is wrong with them."""
        return Corrected(items=correction.items)

    def check_approval(
        self, record: Record, problems: Sequence[Fields]
    ) -> Sequence[tuple[str, str]]:
        """What keeps a record from being approved as it was found, given what the checks said: (field, sentence)."""
        return ()


# Samples and evaluation


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A document that ships with the plug-in; `file` is its path below the package, or a pattern like `samples/*`.

    A file that several samples name is taken as the first of them says.
    """

    file: str
    machine: str
    labels: dict[str, str] = {}


class DemoApp(Protocol):
    """What a demonstration may do besides submitting its samples."""

    def record_of(self, file: str) -> Record:
        """The record of a sample, as it is now."""

    def retry(self, file: str, *, reason: str) -> Record:
        """Have a failed sample tried again, and wait for it."""


class Demonstration(msgspec.Struct, frozen=True, kw_only=True):
    """What `stateward demo` shows of a plug-in.

    `options` are laid over the plug-in's section of the settings; `{data}` in a text is the demo's own folder. `then`
    continues the story when the samples were processed; it gives the sentences to tell. `search` is a query that must
    find one of them then: its best result is shown.
    """

    samples: tuple[Sample, ...] = ()
    options: dict[str, Json] = {}
    then: "Callable[[DemoApp, Path], Iterable[str]] | Reference | None" = None
    search: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of a report."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""


class EvaluationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be evaluated: a folder of documents with their truth, or a file that the plug-in understands."""

    path: Path
    parameters: Mapping[str, str]
    clock: Callable[[], Micros]
    cpu_s: Callable[[], float]
    progress: Callable[[str], object]
    configured: Callable[[], Any]
    """The plug-in under the settings that hold (`ConfiguredPlugin`)."""
    artifact_path: Callable[[str], Path]
    """Where the document with this SHA-256 lies in the data folder; an `ArtifactError` if it is not there."""


class EvaluationReport(msgspec.Struct, frozen=True, kw_only=True):
    """How well documents were read: a document for programs, tables and sentences for people."""

    document: Mapping[str, object]
    tables: tuple[Table, ...] = ()
    sentences: tuple[str, ...] = ()
    flagged: int = 0
    """How many documents are flagged as wrong or incomplete."""
    is_well: bool = True
    """Whether the command ends with 0: nothing is wrong that would go unnoticed."""


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """`stateward eval NAME PATH`. `doc` is its help; `parameters` are further options, each with its help."""

    run: Callable[[EvaluationRequest], EvaluationReport] | Reference
    doc: str
    parameters: dict[str, str] = {}


# Interfaces


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """A further format of a stage's items, such as one that other programs import: `stateward items --format`."""

    name: str
    machine: str
    stage: str
    lines: Callable[[Iterable[Fields]], Iterator[str]] | Reference
    doc: str = ""
    media_type: str = "text/plain"
    comment: str = ""
    """How the format writes a comment, with {} for its text: a flagged result is named in one at the end."""
    unfit: Callable[[Fields], str] | Reference | None = None
    """Why the format has no place for an item; "" if it has one. Who writes the file says how many are left out."""

    def fitting(self, rows: Iterable[Fields], left_out: Counter[str]) -> Iterator[Fields]:
        """The items that the format has a place for; why there is none for the others is counted."""
        why_unfit = None if self.unfit is None else resolve(self.unfit)
        for row in rows:
            if why_unfit is not None and (why := why_unfit(row)):
                left_out[why] += 1
            else:
                yield row

    def written(self, rows: Iterable[Fields], doubts: Iterable[str] = ()) -> Iterator[str]:
        """The lines of a file; `doubts` are sentences about results that are flagged, known when all rows are read."""
        yield from resolve(self.lines)(rows)
        if self.comment:
            yield from (self.comment.format(each) + "\n" for each in doubts)


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A path of the HTTP API at which the records of one state machine have names of their own.

    It answers exactly as `/records` does, with `id_field` instead of `id`, the exposed `fields` at the top level (what
    else the machine exposes stands under `further`), and `machine` left out. `noun` and `plural` name operations and
    summaries: `getUpload`, "List uploads".
    """

    path: str
    machine: str
    noun: str
    id_field: str
    fields: tuple[str, ...]
    plural: str = ""
    required: tuple[str, ...] = ("file",)

    @property
    def nouns(self) -> str:
        """Several of them."""
        return self.plural or f"{self.noun}s"


class PluginCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the plug-in: `stateward NAME`. `target` is a click command, imported when it is called."""

    name: str
    doc: str
    target: Reference
    is_hidden: bool = False


class FlowInput(msgspec.Struct, frozen=True, kw_only=True):
    """One more input of a generated Windmill flow, and the key under which it is sent with the document.

    With `choices` the form offers these, and nothing.
    """

    name: str
    key: str
    doc: str
    choices: tuple[str, ...] = ()


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """How a Windmill flow calls the steps of a machine: below `path`, the document under `document_key`.

    Under `run_key`, if there is one, the id of the run of the flow is sent with it.
    """

    machine: str
    path: str
    document_key: str
    run_key: str = ""
    inputs: tuple[FlowInput, ...] = ()


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person can say about a document when it is read again; it reaches runners as a label.

    A secret one reaches them as an option, and is stored nowhere.
    """

    name: str
    doc: str
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    is_once: bool = False
    """It holds for one reading, and is not in force for the next."""
    roles: tuple[str, ...] = ()
    """Its value names columns of the document's table by these: `date=1,amount=4`."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline package.

    `name` is also its section in the settings and what `stateward eval` and `stateward demo --only` call it. `package`
    is where its files are: those of `machines` (YAML), `profiles` and samples are relative to it. What is exposed at
    which status is part of each state machine.
    """

    name: str
    package: str = ""
    doc: str = ""

    machines: tuple[Machine | str, ...] = ()
    """State machines: values, YAML files of the package, or references."""
    runners: tuple[str, ...] = ()
    """Modules that register the runners when they are imported, here and in child processes."""
    preload: tuple[str, ...] = ()
    """Modules that the first job of a child would import: the process that children are forked from does it for all.

    Only of plug-ins that come with Stateward: what is imported there must start no thread (docs/decisions/0037).
    """

    options: "type[Section] | Reference | None" = None
    """The section of the settings (a `Section`): typed, with defaults and descriptions."""
    configured: type[ConfiguredPlugin[Any]] | Reference | None = None
    profiles: str = ""
    """A folder with `personal.yaml`, `business.yaml` and `enterprise.yaml`: what each profile says to its machines."""

    source_types: tuple[SourceType, ...] = ()
    detect: Detect | Reference | None = None
    default_machine: str = ""
    """The machine of documents that are submitted without naming one."""

    records: tuple[RecordView, ...] = ()
    items: tuple[ItemView, ...] = ()
    searchable: tuple[SearchableText, ...] = ()
    ranked: tuple[RankedText, ...] = ()
    """Documents that searches of their machine rank as a whole; their stages are `searchable` too."""
    exports: tuple[Export, ...] = ()
    hints: tuple[Hint, ...] = ()
    """The options by which documents of its machines are read again or retried (`stateward reparse`)."""
    raw_table: "Callable[[Path, Mapping[str, str]], list[list[str]] | None] | Reference | None" = (
        None
    )
    """The first rows of a document's table as they are printed, given the hints; None for what has no table.

    It runs in a sandboxed process, as `unlock` does."""
    unlock: "Callable[[Path, Mapping[str, str]], bytes] | Reference | None" = None
    """A locked document as it is without its lock, given the secret hints; a `StageFailure` if they do not open it."""
    readers: dict[str, int] = {}
    """The version of what reads documents, by runner: its attempts report it with the fact `reader`."""

    demo: Demonstration = Demonstration()
    evaluation: Evaluation | None = None

    resources: tuple[Resource, ...] = ()
    routes: Reference = ""
    """A list of route handlers for the HTTP API."""
    commands: tuple[PluginCommand, ...] = ()
    flows: tuple[Flow, ...] = ()

    def __hash__(self) -> int:
        """By name: the rest may hold mappings."""
        return hash(self.name)


def item_view(
    plugins: Iterable[Plugin], machine: str, stage: str, source_type: Json = None
) -> ItemView | None:
    """How the items of a stage are shown; a view for the source type goes before one for all."""
    views = [
        view
        for plugin in plugins
        for view in plugin.items
        if (view.machine, view.stage) == (machine, stage)
        and (not view.source_types or source_type in view.source_types)
    ]
    return max(views, key=lambda view: bool(view.source_types), default=None)


class ProvidesPlugin(Protocol):
    """An object that has a plug-in to offer, such as a `Pipeline`."""

    @property
    def plugin(self) -> Plugin: ...


@lru_cache(maxsize=1024)
def _import_object(reference: str) -> object:
    module, colon, path = reference.partition(":")
    found: object = import_module(module)
    for name in path.split(".") if colon else ():
        found = getattr(found, name)
    return found


def resolve(value: T | Reference) -> T:
    """The object itself, imported if it was given by name."""
    return _import_object(value) if isinstance(value, str) else value  # type: ignore[return-value]


def reference_of(value: Callable[..., object] | Reference) -> Reference:
    """The name by which another process imports a function: `module:name`."""
    return value if isinstance(value, str) else f"{value.__module__}:{value.__qualname__}"
