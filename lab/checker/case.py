"""A history with the look-ups that several laws share. It computes nothing that a law says."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeAlias

from lab.checker.history import History, Line

Finding: TypeAlias = tuple[str, str]
Key: TypeAlias = tuple[str, int]

RETRIES = ("retry.requested", "retry.due")
EXHAUSTED = "retries.exhausted"
UPGRADED = "machine.upgraded"


class Graph:
    """One version of a machine, in whatever tunings it was used."""

    def __init__(self, tunings: Sequence[Line]) -> None:
        own = tunings[0]
        self.initial: str = own["initial"]
        self.kind: dict[str, str] = {state["name"]: state["kind"] for state in own["states"]}
        self.causes: dict[tuple[str, str], list[str]] = {
            (edge["from"], edge["to"]): edge["on"].split(" | ") for edge in own["transitions"]
        }
        is_open = not own.get("expose")
        ready = [state for state, kind in self.kind.items() if kind == "ready" and is_open]
        self._entries = {f"{own['name']}.imported": [*ready, *own.get("imported", [])]}
        self.stages: dict[str, Line] = {stage["name"]: stage for stage in own.get("stages", [])}
        self.reviews: dict[str, Line] = {each["name"]: each for each in own.get("reviews", [])}
        for name, each in self.reviews.items():  # what leaves a record in its review
            stays = self.causes.setdefault((each["state"], each["state"]), [])
            stays += [f"{name}.endorsed", f"{name}.referred"]
        self.expose: dict[str, str] = own.get("expose", {})
        self.upgrades: dict[str, dict[str, str]] = own.get("upgrades", {})
        self.on_exhausted: str | None = own.get("on_exhausted")
        self.by_person: list[str] = own.get("by_person", [])
        self._tunings = tunings

    def stage_of(self, state: str | None) -> Line | None:
        """The stage that runs in a state, or takes its records from it."""
        running = [each for each in self.stages.values() if each["running"] == state]
        entered = [each for each in self.stages.values() if each["from"] == state]
        return next(iter(running + entered), None)

    def entries(self, trigger: str) -> list[str]:
        """The states in which this trigger may create a record: an import wherever work waits to begin."""
        return self._entries.get(trigger, [self.initial])

    def current_name(self, state: str, version: int) -> str:
        """What this version calls a state of an older one."""
        return self.upgrades.get(str(version), {}).get(state, state)

    def retries(self) -> list[int]:
        """The most retries, in each tuning."""
        return [tuning["retry"]["max_retries"] for tuning in self._tunings if "retry" in tuning]

    def waits(self, trigger: str, retry_count: int) -> list[float]:
        """How long a record must have waited for this event of the clock, in each tuning."""
        name, _, what = trigger.partition(".")
        found: list[float] = []
        for tuning in self._tunings:
            if trigger == "retry.due":
                backoff = tuning["retry"]["backoff_s"]
                found.append(backoff[min(retry_count, len(backoff) - 1)])
            elif what == "timed_out":
                both = [*tuning.get("stages", []), *tuning.get("reviews", [])]
                found += [each["timeout_s"] for each in both if each["name"] == name]
        return found


class Case:
    """A history with the look-ups that several laws share."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.log = history.transitions
        self.seen = history.seen
        self.anchor = history.anchor
        self.records = history.records

    @cached_property
    def graphs(self) -> dict[Key, Graph]:
        tunings: dict[Key, list[Line]] = {}
        for machine in self.history.machines:
            tunings.setdefault((machine["name"], machine["version"]), []).append(machine)
        return {key: Graph(lines) for key, lines in tunings.items()}

    @cached_property
    def by_record(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for entry in self.log:
            found.setdefault(entry["record_id"], []).append(entry)
        return found

    @cached_property
    def by_lane(self) -> dict[int, list[Line]]:
        found: dict[int, list[Line]] = {}
        for entry in self.log:
            found.setdefault(entry["lane"], []).append(entry)
        return found

    @cached_property
    def at_version(self) -> dict[Key, Line]:
        return {(entry["record_id"], entry["version"]): entry for entry in self.log}

    @cached_property
    def by_event(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for entry in self.log:
            found.setdefault(entry["event_id"], []).append(entry)
        return found

    @cached_property
    def sent(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for event in self.seen.events or ():
            found.setdefault(event["id"], []).append(event)
        return found

    @cached_property
    def holders(self) -> dict[Key, Line]:
        """Who had an attempt last."""
        return {(each["record_id"], each["version"]): each for each in self.seen.handed or ()}

    @cached_property
    def triples(self) -> list[tuple[Line, Line | None, Graph]]:
        """Each entry with the one before it in its record, and the graph that moved it."""
        return [
            (entry, before, graph)
            for entries in self.by_record.values()
            for before, entry in zip([None, *entries], entries, strict=False)
            if (graph := self.graph(entry)) is not None
        ]

    @cached_property
    def reached(self) -> dict[str, set[str]]:
        """Every state that a record was ever in, by the names that its last version has for them."""
        found: dict[str, set[str]] = {}
        for record_id, entries in self.by_record.items():
            graph = self.graph(entries[-1])
            found[record_id] = {
                graph.current_name(each["to"], each["machine_version"]) if graph else each["to"]
                for each in entries
            }
        return found

    def graph(self, line: Line) -> Graph | None:
        return self.graphs.get((line["machine"], line["machine_version"]))

    def retries(self, line: Line) -> list[int]:
        """The most retries in each tuning of each version of a line's machine."""
        own = [graph for (name, _), graph in self.graphs.items() if name == line["machine"]]
        return [most for graph in own for most in graph.retries()]

    def states(self, machine: str) -> set[str]:
        """The states of all versions of a machine."""
        return {
            state
            for (name, _), graph in self.graphs.items()
            if name == machine
            for state in graph.kind
        }


def where_of(entry: Line) -> str:
    return f"{entry['record_id']} version {entry['version']}"


def held_s(since: str, until: str) -> float:
    passed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return passed / timedelta(seconds=1)
