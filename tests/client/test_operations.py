"""The client beside the OpenAPI document: no operation is missing, none is sent or read in another way."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import pytest

from stateward import schemas
from stateward.async_client import AsyncClient
from stateward.client import Client, Operations
from stateward.client.steps import Call, Listing, Steps, Stream
from stateward.definition.discovery import installed_plugins
from stateward.pipelines.contracts.async_client import AsyncWorkflowClient
from stateward.pipelines.contracts.client import WorkflowClient, WorkflowOperations
from stateward.pipelines.experiments.async_client import AsyncExperimentClient
from stateward.pipelines.experiments.client import ExperimentClient, ExperimentOperations
from stateward.pipelines.literature.async_client import AsyncLiteratureClient
from stateward.pipelines.literature.client import LiteratureClient, LiteratureOperations
from stateward.server.asgi import describe_api
from stateward.server.pages import operations

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "client.md"
# The same operation at the path that it had first.
SECOND_PATHS = {"/logs/{stage}/{record_id}": "/records/{record_id}/logs/{stage}"}
PART_OF_A_LIST = {"item_page", "search_as"}


class Sent(NamedTuple):
    """A request of a client, and the method that it is of."""

    name: str
    verb: str
    path: str
    params: frozenset[str]
    headers: Mapping[str, str]


class Recorder(WorkflowOperations, ExperimentOperations, LiteratureOperations):
    """Notes what would be sent, and sends nothing."""

    def __init__(self) -> None:
        super().__init__("http://nowhere")
        self.sent: list[Call | Stream] = []

    def _run(self, steps: Steps[Any]) -> Any:  # noqa: ANN401 - nothing
        self._note(steps)

    def _iterate(self, steps: Listing) -> Iterator[Any]:
        self._note(steps)
        return iter(())

    def _note(self, steps: Steps[Any] | Listing) -> None:
        step = next(steps)
        assert isinstance(step, Call | Stream)
        self.sent.append(step)
        steps.close()


def methods() -> dict[str, Callable[..., Any]]:
    return {
        name: each
        for name, each in inspect.getmembers(Recorder, inspect.isfunction)
        if not name.startswith("_")
    }


def some(type_: Any, name: str) -> Any:  # noqa: ANN401 - any value of the type
    """A value that a parameter may have."""
    if name == "source":
        return b"x"
    origin, parts = get_origin(type_), get_args(type_)
    if origin in (Union, types.UnionType):
        return some(next(each for each in parts if each is not type(None)), name)
    if origin is Literal:
        return parts[0]
    if type_ is schemas.RereadRequest:
        return schemas.RereadRequest(hints={})
    plain: dict[Any, Any] = {str: "x", int: 1, float: 1.0, bool: True}
    if type_ in plain:
        return plain[type_]
    is_mapping = inspect.isclass(origin) and issubclass(origin, Mapping)
    return {"x": 1} if is_mapping and name == "versions" else {} if is_mapping else ["x"]


@cache
def requests() -> tuple[Sent, ...]:
    """What every method sends, with nothing but what it needs and with everything that it takes."""
    found = []
    for name, method in methods().items():
        hints = typing.get_type_hints(method)
        taken = list(inspect.signature(method).parameters.values())[1:]
        needed = {
            each.name: some(hints[each.name], each.name)
            for each in taken
            if each.default is inspect.Parameter.empty
        }
        every = {each.name: some(hints[each.name], each.name) for each in taken}
        for given in (needed, every):
            recorder = Recorder()
            getattr(recorder, name)(**given)
            (step,) = recorder.sent
            verb, path = (step.method, step.url) if isinstance(step, Call) else ("GET", step.path)
            params = frozenset(step.params or {})
            found.append(Sent(name, verb, path, params, step.headers or {}))
    return tuple(found)


@cache
def documented() -> dict[tuple[str, str], dict[str, Any]]:
    return {(verb, path): each for path, verb, each in operations(describe_api())}


def place(sent: Sent) -> tuple[str, str]:
    """The operation of the document that a request is for; a literal path before one with a name in it."""
    fits = [
        (verb, path)
        for verb, path in documented()
        if verb == sent.verb and re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), sent.path)
    ]
    assert fits, f"{sent.name} sends {sent.verb} {sent.path}, which is not documented"
    return min(fits, key=lambda each: each[1].count("{"))


def first_path(path: str) -> str:
    """The path of an operation at `/records`, where a plug-in offers it at a path of its own too."""
    for resource in (each for found in installed_plugins() for each in found.plugin.resources):
        if path == resource.path or path.startswith(f"{resource.path}/"):
            rest = path.removeprefix(resource.path)
            return "/records" + rest.replace(resource.id_field, "record_id")
    return SECOND_PATHS.get(path, path)


def test_every_operation_of_the_document_is_a_method_of_the_client() -> None:
    reached = {place(each) for each in requests()}

    missing = [
        (verb, path) for verb, path in documented() if (verb, first_path(path)) not in reached
    ]

    assert missing == []


def test_a_client_sends_nothing_that_the_document_does_not_know() -> None:
    for sent in requests():
        operation = documented()[place(sent)]
        known = {each["name"] for each in operation.get("parameters", ())}
        assert sent.params <= known, sent
        has_version = "version" in inspect.signature(methods()[sent.name]).parameters
        assert has_version == ("If-Match" in known), f"{sent.name} and If-Match"


def answer_name(operation: Mapping[str, Any]) -> str:
    """The name of the document that an operation answers with; empty if it is no JSON."""
    ok = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    schema = ok.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).rpartition("/")[2]


def row_name(document: str) -> str:
    """The name of what a list has in it."""
    items = describe_api()["components"]["schemas"][document]["properties"]["items"]["items"]
    return str(items.get("$ref", "")).rpartition("/")[2]


def test_every_answer_has_the_type_that_the_document_says() -> None:
    for sent in requests():
        returns = typing.get_type_hints(methods()[sent.name])["return"]
        operation = documented()[place(sent)]
        wanted = answer_name(operation)
        is_listing = get_origin(returns) in (list, Iterator)
        if is_listing and wanted:
            returns, wanted = get_args(returns)[0], row_name(wanted)
        said = returns.__name__ if hasattr(returns, "__struct_fields__") else ""
        assert returns is str or said == wanted, sent
        if "cursor" in {each["name"] for each in operation.get("parameters", ())}:
            assert is_listing or sent.name in PART_OF_A_LIST, f"{sent.name} gives one page"


@pytest.mark.parametrize(
    ("blocking", "awaited", "shared"),
    [
        (Client, AsyncClient, Operations),
        (WorkflowClient, AsyncWorkflowClient, WorkflowOperations),
        (ExperimentClient, AsyncExperimentClient, ExperimentOperations),
        (LiteratureClient, AsyncLiteratureClient, LiteratureOperations),
    ],
)
def test_both_kinds_of_client_share_one_definition(
    blocking: type, awaited: type, shared: type
) -> None:
    for name, method in inspect.getmembers(shared, inspect.isfunction):
        if not name.startswith("_"):
            assert getattr(blocking, name) is method
            assert getattr(awaited, name) is method


def test_the_page_of_the_client_names_every_method_and_no_other() -> None:
    rows = [line.split("|")[1] for line in DOCS.read_text("utf-8").splitlines() if line[:1] == "|"]
    named = {match for row in rows for match in re.findall(r"`(\w+)\(", row)}

    assert named == set(methods())
