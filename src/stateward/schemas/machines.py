"""State machines, their source types and item views, detection of a file's type, and pauses."""

from typing import Annotated

import msgspec
from msgspec import Meta

from stateward.core.field_docs import about
from stateward.core.model import Fields
from stateward.schemas.base import Document, Reason, Request, Time


class SourceType(Document, frozen=True, kw_only=True):
    """A kind of document that a machine takes. `format` is what its content must be; empty: any that is read."""

    name: str
    title: str
    format: str
    suffixes: list[str]
    labels: Annotated[dict[str, str], about("Labels that it needs, each with what to give.")] = {}


class DetectedType(Document, frozen=True, kw_only=True):
    """What a document may be: a source type of a machine, and how sure that is."""

    machine: str
    source_type: str
    title: str
    format: str
    confidence: Annotated[int, Meta(ge=0, le=100)]
    is_likely: Annotated[
        bool, about("Whether it is taken for this if it is sent without a pipeline.")
    ]
    labels: Annotated[dict[str, str], about("Labels that it needs, each with what to give.")] = {}
    evidence: Annotated[
        list[str], about("What in the document speaks for it, where its pipeline says.")
    ] = []


class Detection(Document, frozen=True, kw_only=True):
    """What a document may be, the surest first; empty where no pipeline takes it for one of its own."""

    items: list[DetectedType]


class ItemColumn(Document, frozen=True, kw_only=True):
    """A column of items. `path` leads to the value inside an item."""

    name: str
    title: str
    format: str
    align: str
    path: list[str]


class ItemView(Document, frozen=True, kw_only=True):
    """How the items of a stage are shown; without columns, as they are.

    `where` is the key of an item with its place in the document: `page` and `box`, `line`, `row`, or `start` and `end`.
    """

    stage: str
    title: str
    columns: list[ItemColumn]
    where: str
    source_types: list[str]


class MachineSummary(Document, frozen=True, kw_only=True):
    """A machine in short. `title` and `accepts` say what documents it takes; `is_default`: those that name none."""

    name: str
    version: int
    prefix: str
    doc: str
    states: list[str]
    stages: list[str]
    title: str = ""
    accepts: str = ""
    is_default: bool = False


class MachineDetail(Document, frozen=True, kw_only=True):
    """A machine as it is drawn (`graph`) and declared (`declaration`), what it takes, and how its items are shown."""

    name: str
    version: int
    graph: Fields
    declaration: Fields
    source_types: list[SourceType] = msgspec.field(default_factory=list)
    items: list[ItemView] = msgspec.field(default_factory=list)


class Machines(Document, frozen=True, kw_only=True):
    """The machines in force that the caller may see."""

    items: list[MachineSummary]


class Pause(Document, frozen=True, kw_only=True):
    """A stage that is not dispatched for now; stage null is the whole machine."""

    machine: str
    stage: str | None
    at: Time
    actor: str
    reason: str | None


class Pauses(Document, frozen=True, kw_only=True):
    """What is paused."""

    items: list[Pause]


class PauseRequest(Request, frozen=True, kw_only=True):
    """A stage to pause or to resume; null is the whole machine."""

    stage: Annotated[str, Meta(max_length=100)] | None = None
    reason: Reason = None


class Paused(Document, frozen=True, kw_only=True):
    """Whether a stage is paused now, and whether it was before."""

    machine: str
    stage: str | None
    is_paused: bool
    was_paused: bool
