"""JSON Schemas of the records that have a path of their own in the API: `GET /schemas/upload.json`.

They are made from the documents that the routes answer with and from the machine, so that they cannot say something
else: every status, and which fields a status brings. A test checks answers of the API against them.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath

from stateward.core.machine import Machine
from stateward.definition import discovery
from stateward.definition.plugin import Plugin, Resource
from stateward.server.auth import Asked, reply
from stateward.server.problems import Refusal
from stateward.server.resources import records_of
from stateward.storage.idempotency import Answer

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MEDIA_TYPE = "application/schema+json"
SUFFIX = ".json"


def record_schemas(plugins: Sequence[Plugin]) -> dict[str, Schema]:
    """The schema of each resource of these plug-ins, by its noun."""
    machines = {each.name: each for plugin in plugins for each in discovery.machines(plugin)}
    return {
        resource.noun.replace(" ", "-"): schema_of(resource, machines[resource.machine])
        for plugin in plugins
        for resource in plugin.resources
    }


def schema_of(resource: Resource, machine: Machine) -> Schema:
    """The JSON Schema of the records of one resource."""
    record = records_of(resource, machine).record
    (schema,), definitions = msgspec.json.schema_components([record], ref_template="#/$defs/{name}")
    own: Schema = definitions.pop(schema["$ref"].rpartition("/")[2])
    properties = own["properties"]
    properties["status"] = {
        "enum": [state.name for state in machine.states],
        "description": "; ".join(
            f"{each.name}: {each.doc or each.kind}" for each in machine.states
        ),
    }
    properties[resource.id_field]["pattern"] = f"^{machine.prefix}_"
    return {
        "$schema": DIALECT,
        "$id": f"urn:stateward:schema:{resource.noun.replace(' ', '-')}",
        **own,
        "allOf": [_while_running(state) for state in machine.stage_running_in],
        "$defs": definitions,
    }


def _while_running(state: str) -> Schema:
    """A record shows since when it runs and how long it may, in that state and in no other."""
    times = [f"{state}_started_at", f"{state}_timeout_seconds"]
    return {
        "if": {"properties": {"status": {"const": state}}},
        "then": {"required": times},
        "else": {"properties": dict.fromkeys(times, False)},
    }


@get("/schemas/{name:str}", opt={"right": "observe"}, include_in_schema=False)
async def record_schema(request: Asked, name: FromPath[str]) -> Response[Any]:
    """One schema, by the noun of its resource."""
    known: dict[str, Schema] = request.app.state.record_schemas()
    found = known.get(name.removesuffix(SUFFIX))
    if found is None or not name.endswith(SUFFIX):
        there = ", ".join(f"{each}{SUFFIX}" for each in known) or "none"
        raise Refusal("not-found", f"there is no such schema; there are: {there}")
    body = msgspec.json.encode(found)
    return reply(Answer(status=200, headers={"Content-Type": MEDIA_TYPE}, body=body))


HANDLERS: list[Any] = [record_schema]
