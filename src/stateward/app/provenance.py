"""The history of a record in the formats of other tools: W3C PROV (PROV-JSON) and OpenLineage.

Both are made of transitions alone, so that they say no more and no less than the hash-chained history. Names are
derived from record and version: the same history always gives the same document. Pure.
"""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from stateward.core.model import Json, Record, Transition, to_iso
from stateward.core.view import document_name

FORMATS = ("prov", "openlineage")
NAMESPACE = "stateward"
PREFIX = "urn:stateward:"
PRODUCER = "https://github.com/stateward/stateward"
RUN_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
STARTED = "started"
ENDS = {"completed": "COMPLETE", "failed": "FAIL", "timed_out": "FAIL", "lost": "ABORT"}
UUID_BYTES = 16


def provenance(record: Record, history: Sequence[Transition], *, form: str) -> Json:
    """The history of a record as one document of this format."""
    return prov(record, history) if form == "prov" else openlineage(record, history)


def prov(record: Record, history: Sequence[Transition]) -> Json:
    """PROV-JSON: each state of the record is an entity, each transition the activity that generated it."""
    document = f"sw:{record.id}/document"
    entities: dict[str, Json] = {
        document: {"prov:type": "document", "prov:label": document_name(record)},
    }
    activities: dict[str, Json] = {}
    agents: dict[str, Json] = {}
    used: dict[str, Json] = {}
    generated: dict[str, Json] = {}
    associated: dict[str, Json] = {}
    for each in history:
        state, activity = f"sw:{record.id}/v{each.version}", f"sw:{record.id}/t{each.version}"
        agent = f"sw:agent/{each.actor}"
        at = to_iso(each.at)
        entities[state] = {"prov:type": "record state", "sw:status": each.target}
        activities[activity] = {
            "prov:type": each.trigger,
            "prov:startTime": at,
            "prov:endTime": at,
            "sw:hash": each.hash,
        }
        agents[agent] = {"prov:type": _agent_type(each.actor)}
        before = document if each.source is None else f"sw:{record.id}/v{each.version - 1}"
        used[f"_:u{each.version}"] = {"prov:activity": activity, "prov:entity": before}
        generated[f"_:g{each.version}"] = {
            "prov:entity": state,
            "prov:activity": activity,
            "prov:time": at,
        }
        associated[f"_:a{each.version}"] = {"prov:activity": activity, "prov:agent": agent}
    return {
        "prefix": {"sw": PREFIX, "prov": "http://www.w3.org/ns/prov#"},
        "entity": entities,
        "activity": activities,
        "agent": agents,
        "used": used,
        "wasGeneratedBy": generated,
        "wasAssociatedWith": associated,
    }


def _agent_type(actor: str) -> str:
    return "prov:Person" if actor.startswith("person:") else "prov:SoftwareAgent"


def openlineage(record: Record, history: Sequence[Transition]) -> Json:
    """OpenLineage: a START and an end event for each attempt at a stage, in the order of the history."""
    events: list[Json] = []
    for each in history:
        stage, _, what = each.trigger.partition(".")
        kind = "START" if what == STARTED else ENDS.get(what)
        if kind is None or each.attempt is None:
            continue
        dataset: Json = {"namespace": NAMESPACE, "name": f"{record.machine}/{record.id}"}
        made: list[Json] = [
            {"namespace": NAMESPACE, "name": f"{record.machine}/{record.id}/{stage}"}
        ]
        events.append(
            {
                "eventType": kind,
                "eventTime": to_iso(each.at),
                "run": {"runId": _run_id(record.id, stage, each.attempt)},
                "job": {"namespace": NAMESPACE, "name": f"{record.machine}.{stage}"},
                "inputs": [dataset],
                "outputs": made if kind == "COMPLETE" else [],
                "producer": PRODUCER,
                "schemaURL": RUN_EVENT,
            }
        )
    return events


def _run_id(record_id: str, stage: str, attempt: int) -> str:
    """A run has a UUID; this one is the same whenever it is asked for."""
    digest = sha256(f"{record_id}\x00{stage}\x00{attempt}".encode()).digest()[:UUID_BYTES]
    return str(UUID(bytes=digest, version=5))
