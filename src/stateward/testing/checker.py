"""An independent judge of a history: every line of the invariants table that applies to the engine, as code.

It reads what `stateward export history` writes (transitions, records, dispositions, dead letters, anchor), a machine
as plain JSON, and what outsiders saw (acknowledged submits and requests, events sent, work handed out). It shares
no code with the engine, on purpose: hashes are computed here with `json` and `hashlib` alone, graphs are looked up
in plain lists. It must never import another room of Stateward.

    history, faults = read_export(Path("export"), machines=[machine_json])
    for violation in [*faults, *check(history)]:
        print(violation)

A law needs what it is checked on: without `records`, without an `anchor`, or with nothing in `seen`, the laws about
them say nothing. `LAWS` lists all of them by their ids in the table.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

Line: TypeAlias = dict[str, Any]
Finding: TypeAlias = tuple[str, str]
Key: TypeAlias = tuple[str, int]

GENESIS = "0" * 64
EARLY_S = 1.0
GRACE_S = 5.0
RETRIES = ("retry.requested", "retry.due")
EXHAUSTED = "retries.exhausted"
UPGRADED = "machine.upgraded"
CONFIDENCE_MIN = 80
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

TEXT, NUMBER, MOMENT, MAPPING = "text", "number", "time", "mapping"
TYPES: dict[str, tuple[type, ...]] = {  # exactly these: True is no number here
    TEXT: (str,),
    NUMBER: (int,),
    MOMENT: (str,),
    MAPPING: (dict,),
    "text or null": (str, type(None)),
    "number or null": (int, type(None)),
    "time or null": (str, type(None)),
}
MOMENTS = (MOMENT, "time or null")
TRANSITION_FIELDS = {
    "record_id": TEXT, "machine": TEXT, "machine_version": NUMBER, "from": "text or null", "to": TEXT,
    "version": NUMBER, "event_id": TEXT, "at": MOMENT, "actor": TEXT, "authority": TEXT, "epoch": NUMBER,
    "attempt": "number or null", "trigger": TEXT, "seq": NUMBER, "metadata": MAPPING, "record_hash": TEXT,
    "prev_hash": TEXT, "hash": TEXT,
}  # fmt: skip
RECORD_FIELDS = {
    "record_id": TEXT, "machine": TEXT, "machine_version": NUMBER, "status": TEXT, "version": NUMBER,
    "created_at": MOMENT, "entered_at": MOMENT, "priority": NUMBER, "rank": NUMBER, "waiting": "text or null",
    "due_at": "time or null", "worker": "text or null", "retry_count": NUMBER, "last_retry_at": "time or null",
    "failed_from": "text or null", "error_code": "text or null", "error_message": "text or null",
    "rest": "text or null", "artifact": "text or null", "dedupe": "text or null", "replaces": "text or null",
    "labels": MAPPING, "fields": MAPPING, "outputs": MAPPING, "head": TEXT,
}  # fmt: skip
DISPOSITION_FIELDS = {
    "event_id": TEXT, "event_type": TEXT, "record_id": TEXT, "version": "number or null", "actor": TEXT,
    "reason": TEXT, "detail": TEXT, "at": MOMENT,
}  # fmt: skip
DEAD_LETTER_FIELDS = {"kind": TEXT, "body": TEXT, "reason": TEXT, "at": MOMENT}
SEALED_OF_TRANSITION = (
    "prev_hash", "record_id", "machine", "machine_version", "from", "to", "version", "event_id", "at",
    "actor", "authority", "epoch", "attempt", "trigger", "metadata", "record_hash",
)  # fmt: skip
SEALED_OF_RECORD = (
    "record_id", "machine", "machine_version", "status", "version", "created_at", "entered_at", "retry_count",
    "last_retry_at", "failed_from", "error_code", "error_message", "rest", "artifact", "dedupe", "replaces",
    "labels", "fields", "outputs",
)  # fmt: skip


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A law that a history breaks: its id in the table, where, and a sentence."""

    law: str
    where: str
    sentence: str

    def __str__(self) -> str:
        """As a report prints it."""
        return f"{self.law} {self.where}: {self.sentence}"


class Seen(msgspec.Struct, kw_only=True):
    """What outsiders saw, as plain lines; the comments name the keys."""

    acks: list[Line] = []  # submits that were answered: record_id, machine, dedupe
    moves: list[Line] = []  # transitions that somebody was told of: record_id, version, to, hash or None
    # id, type, version, is_accepted, is_lost, is_forged, is_retryable, is_blind: told although a mark was there
    events: list[Line] | None = None
    inbox: list[str] = []  # events that are still waiting
    work: list[Line] = []  # work that is still out: record_id, version
    garbled: list[str] = []  # what arrived and was no event
    handed: list[Line] | None = None  # work given out, in order: record_id, version, delivery, worker, at
    marks: list[Line] | None = None  # outputs: record_id, version, worker, is_failed, count, items
    effects: list[Line] | None = None  # record_id, version, kind
    pauses: list[Line] = []  # machine, stage
    in_force: dict[str, int] = {}  # machine, and the version that takes over from older ones
    ageing_s: float | None = None  # what a point of priority is worth, where dispatch was strict
    now: str | None = None
    slack_s: float = 0.0  # how long nobody may have looked at a clock, and how far clocks jumped
    is_healed: bool = False
    is_fenced: bool = True  # a worker that lost its work cannot write (not so on an outside bus)


class History(msgspec.Struct, kw_only=True):
    """An exported history with the machines that made it. The same machine may stand here in several tunings."""

    transitions: list[Line]
    machines: list[Line]
    records: list[Line] | None = None
    dispositions: list[Line] = []
    dead_letters: list[Line] = []
    anchor: Line | None = None
    seen: Seen = msgspec.field(default_factory=Seen)


def check(history: History) -> list[Violation]:
    """Every violation of every law, in the order of the table."""
    malformed = [*_malformed(history)]
    if malformed:  # the other laws may trust the form
        return malformed
    case = _Case(history)
    return [
        Violation(law=law, where=where, sentence=sentence)
        for law, find in LAWS.items()
        for where, sentence in find(case)
    ]


# F: the files

FILES = {
    "transitions": TRANSITION_FIELDS,
    "records": RECORD_FIELDS,
    "dispositions": DISPOSITION_FIELDS,
    "dead_letters": DEAD_LETTER_FIELDS,
}


def read_export(folder: Path, *, machines: list[Line]) -> tuple[History, list[Violation]]:
    """An exported folder as a history, and what is wrong with the form of its files."""
    found: list[Violation] = []
    parts: dict[str, list[Line]] = {}
    for name in FILES:
        parts[name], faults = read_lines(f"{name}.jsonl", (folder / f"{name}.jsonl").read_bytes())
        found += faults
    anchors, faults = read_lines("anchor.json", (folder / "anchor.json").read_bytes())
    history = History(
        transitions=parts["transitions"],
        records=parts["records"],
        dispositions=parts["dispositions"],
        dead_letters=parts["dead_letters"],
        anchor=anchors[0] if anchors else None,
        machines=machines,
    )
    return history, found + faults


def read_lines(name: str, raw: bytes) -> tuple[list[Line], list[Violation]]:
    """The objects of a file of JSON lines, and a violation of F1 for each line that is not sound."""
    lines: list[Line] = []
    found: list[Violation] = []
    if raw and not raw.endswith(b"\n"):
        found.append(Violation(law="F1", where=name, sentence="the last line has no end"))
    for number, line in enumerate(raw.split(b"\n")[: raw.count(b"\n")], 1):
        try:
            lines.append(_read(line))
        except ValueError as error:
            where = f"{name}:{number}"
            found.append(Violation(law="F1", where=where, sentence=str(error)))
    return lines, found


def _read(line: bytes) -> Line:
    text = line.decode("utf-8")
    value = _DECODER.decode(text)
    if not isinstance(value, dict):
        raise ValueError("is not an object")  # noqa: TRY004 - one kind of fault for a wrong line
    if "\\ud" in text.lower():
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is no text
    return value


def _no_twins(pairs: list[tuple[str, Any]]) -> Line:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"has a key twice: {', '.join(key for key, _ in pairs)}")
    return found


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_no_twins, parse_constant=_no_constant, parse_float=_finite
)


def _malformed(history: History) -> Iterator[Violation]:
    for name, fields in FILES.items():
        for number, line in enumerate(getattr(history, name) or (), 1):
            for field, kind in fields.items():
                value = line.get(field, ...)
                if type(value) not in TYPES[kind] or (kind in MOMENTS and not _is_moment(value)):
                    sentence = f"{field} must be a {kind}, not {line.get(field, 'missing')!r}"
                    yield Violation(law="F2", where=f"{name}:{number}", sentence=sentence)


def _is_moment(value: object) -> bool:
    return value is None or TIME.fullmatch(str(value)) is not None


# What the laws look at


class _Graph:
    """One version of a machine, in whatever tunings it was used."""

    def __init__(self, tunings: Sequence[Line]) -> None:
        own = tunings[0]
        self.initial: str = own["initial"]
        self.kind: dict[str, str] = {state["name"]: state["kind"] for state in own["states"]}
        self.causes: dict[tuple[str, str], list[str]] = {
            (edge["from"], edge["to"]): edge["on"].split(" | ") for edge in own["transitions"]
        }
        self.imported: list[str] = own.get("imported", [])
        self.stages: dict[str, Line] = {stage["name"]: stage for stage in own.get("stages", [])}
        self.reviews: dict[str, Line] = {each["name"]: each for each in own.get("reviews", [])}
        self.disclose: dict[str, str] = own.get("disclose", {})
        self.upgrades: dict[str, dict[str, str]] = own.get("upgrades", {})
        self.exhausted: str | None = own.get("exhausted")
        self.by_person: list[str] = own.get("by_person", [])
        self._tunings = tunings

    def stage_of(self, state: str | None) -> Line | None:
        """The stage that runs in a state, or takes its records from it."""
        running = [each for each in self.stages.values() if each["running"] == state]
        entered = [each for each in self.stages.values() if each["enter"] == state]
        return next(iter(running + entered), None)

    def name_now(self, state: str, version: int) -> str:
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


class _Case:
    """A history with the look-ups that several laws share."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.log = history.transitions
        self.seen = history.seen
        self.anchor = history.anchor
        self.records = history.records

    @cached_property
    def graphs(self) -> dict[Key, _Graph]:
        tunings: dict[Key, list[Line]] = {}
        for machine in self.history.machines:
            tunings.setdefault((machine["name"], machine["version"]), []).append(machine)
        return {key: _Graph(lines) for key, lines in tunings.items()}

    @cached_property
    def by_record(self) -> dict[str, list[Line]]:
        found: dict[str, list[Line]] = {}
        for entry in self.log:
            found.setdefault(entry["record_id"], []).append(entry)
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
    def triples(self) -> list[tuple[Line, Line | None, _Graph]]:
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
                graph.name_now(each["to"], each["machine_version"]) if graph else each["to"]
                for each in entries
            }
        return found

    def graph(self, line: Line) -> _Graph | None:
        return self.graphs.get((line["machine"], line["machine_version"]))

    def states(self, machine: str) -> set[str]:
        """The states of all versions of a machine."""
        return {
            state for (name, _), graph in self.graphs.items() if name == machine for state in graph.kind
        }


def _where(entry: Line) -> str:
    return f"{entry['record_id']} version {entry['version']}"


def _held_s(since: str, until: str) -> float:
    passed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return passed / timedelta(seconds=1)


# H: the chain

_write = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode


def sealed(line: Line, fields: Iterable[str]) -> str:
    """The SHA-256 of these fields of a line, as the documentation of the chain has it."""
    return sha256(_write([line[field] for field in fields]).encode()).hexdigest()


def _h1(case: _Case) -> Iterator[Finding]:
    for entry in case.log:
        if entry["hash"] != sealed(entry, SEALED_OF_TRANSITION):
            yield _where(entry), "its hash is not that of its content"
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and last["record_hash"] != sealed(record, SEALED_OF_RECORD):
            yield record["record_id"], "the record is not as its last transition sealed it"


def _h2(case: _Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        before = GENESIS
        for entry in entries:
            if entry["prev_hash"] != before:
                yield _where(entry), "does not name the hash of the entry before it"
            before = entry["hash"]
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and record["head"] != last["hash"]:
            yield record["record_id"], "its head is not the hash of its last transition"


def _h3(case: _Case) -> Iterator[Finding]:
    if case.anchor is None:
        return
    count = case.anchor["count"]
    if len(case.log) < count:
        yield "log", f"{len(case.log)} entries, the anchor counts {count}"
        return
    head = case.log[count - 1]["hash"] if count else GENESIS
    if head != case.anchor["head"]:
        yield f"entry {count}", "its hash is not the anchor's head"
    digest = GENESIS
    for entry in case.log[:count]:
        digest = sha256((digest + entry["hash"]).encode()).hexdigest()
    if digest != case.anchor.get("digest", digest):
        yield "log", "its entries in their order do not give the anchor's digest"


def _h4(case: _Case) -> Iterator[Finding]:
    for place, entry in enumerate(case.log, 1):
        if entry["seq"] != place:
            yield _where(entry), f"stands at {place} but is numbered {entry['seq']}"


# S: the machine


def _s1(case: _Case) -> Iterator[Finding]:
    for entry in case.log:
        graph = case.graph(entry)
        if graph is None:
            yield _where(entry), f"no machine {entry['machine']} {entry['machine_version']} is known"
        elif entry["to"] not in graph.kind:
            yield _where(entry), f"{entry['machine']} has no state {entry['to']!r}"
        elif entry["from"] is not None and entry["from"] not in case.states(entry["machine"]):
            yield _where(entry), f"{entry['machine']} has no state {entry['from']!r}"


def _s2(case: _Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        source, to, trigger = entry["from"], entry["to"], entry["trigger"]
        if source is None:
            continue
        if trigger == UPGRADED:
            if before is None or graph.name_now(source, before["machine_version"]) != to:
                yield _where(entry), f"no upgrade leads from {source!r} to {to!r}"
        elif trigger not in graph.causes.get((source, to), ()):
            yield _where(entry), f"{trigger} may not lead from {source!r} to {to!r}"


def _s3(case: _Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        if before is None:
            if entry["from"] is not None or entry["to"] not in (graph.initial, *graph.imported):
                yield _where(entry), f"a record does not begin with {entry['from']} -> {entry['to']}"
        elif entry["from"] != before["to"]:
            yield _where(entry), f"leaves {entry['from']!r}, but the record was in {before['to']!r}"


def _s4(case: _Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        for place, entry in enumerate(entries):
            if entry["version"] != place:
                yield _where(entry), f"version {place} was due"


def _s5(case: _Case) -> Iterator[Finding]:
    for entry, _, graph in case.triples:
        if graph.kind.get(entry["from"]) != "terminal" or entry["trigger"] == UPGRADED:
            continue
        is_declared = (entry["from"], entry["to"]) in graph.causes
        if not is_declared or not entry["actor"].startswith("person:"):
            yield _where(entry), f"{entry['actor']} took it out of {entry['from']!r}, an end"


def _s6(case: _Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        step: str | None = None
        version = entries[0]["machine_version"]
        for entry in entries:
            graph = case.graph(entry)
            if graph is None:
                continue
            if step is not None and version != entry["machine_version"]:
                step = graph.name_now(step, version)
            version = entry["machine_version"]
            if entry["trigger"] in RETRIES and graph.kind.get(entry["from"]) == "failed":
                stage = graph.stage_of(step)
                if stage is None or entry["to"] != stage["resume"]:
                    yield _where(entry), f"resumes at {entry['to']!r} after {step!r} failed"
            step = entry["metadata"].get("failed_at_step", step)


def _automatic(entries: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Retries that nobody asked for, each with the failure before it."""
    for before, entry in zip(entries, entries[1:], strict=False):
        if entry["trigger"] == "retry.due" and before["trigger"] != "retry.requested":
            yield before, entry


def _is_retry(entry: Line, graph: _Graph) -> bool:
    return entry["trigger"] in RETRIES and graph.kind.get(entry["from"]) == "failed"


def _s7(case: _Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        graph = case.graph(entries[-1])
        most = max(graph.retries(), default=None) if graph else None
        automatic = [entry for _, entry in _automatic(entries)]
        if most is not None and len(automatic) > most:
            yield _where(automatic[most]), f"is automatic retry {len(automatic)}, {most} are allowed"
    for record in case.records or ():
        graph = case.graph(record)
        entries = case.by_record.get(record["record_id"], [])
        made = sum(_is_retry(entry, graph) for entry in entries) if graph else record["retry_count"]
        if made != record["retry_count"]:
            yield record["record_id"], f"counts {record['retry_count']} retries, {made} were made"


def _s8(case: _Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        made = 0
        for entry in entries:
            graph = case.graph(entry)
            if graph is None:
                continue
            made += _is_retry(entry, graph)
            if made < min(graph.retries(), default=0) and _gives_up(case, entry, graph):
                yield _where(entry), f"was given up after {made} retries"


def _gives_up(case: _Case, entry: Line, graph: _Graph) -> bool:
    if entry["trigger"] == EXHAUSTED:
        return True
    name, _, what = entry["trigger"].partition(".")
    stage = graph.stages.get(name)
    if stage is None or what not in ("failed", "timed_out") or stage["on_fatal"] == stage["on_error"]:
        return False
    sent = case.sent.get(entry["event_id"], [])
    is_retryable = what == "timed_out" or all(event["is_retryable"] for event in sent)
    return entry["to"] == stage["on_fatal"] and is_retryable and bool(sent)


def _s9(case: _Case) -> Iterator[Finding]:
    for entry in case.log:
        if (entry["machine"], entry["trigger"]) != ("contract", "validate.completed"):
            continue
        confidence = entry["metadata"].get("final_confidence")
        is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        is_sure = is_number and confidence >= CONFIDENCE_MIN
        is_good = is_sure and entry["metadata"].get("valid") is True
        if (entry["to"] == "review_required") == is_good:
            yield _where(entry), f"went to {entry['to']!r} with confidence {confidence!r}"


def _s10(case: _Case) -> Iterator[Finding]:
    yield from _timed(case)
    now = case.seen.now
    for record in case.records or ():
        due = record["due_at"]
        if now is not None and due is not None and _held_s(due, now) > case.seen.slack_s:
            yield record["record_id"], f"still waits at {now}, and was due at {due}"


def _timed(case: _Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        if before is None or entry["actor"] != "clock":
            continue
        if entry["trigger"] == "retry.due" and before["trigger"] == "retry.requested":
            continue  # a person reopened it: tried at once
        made = before["metadata"].get("retry_count", 0)
        waits = graph.waits(entry["trigger"], made)
        if not waits:
            continue
        held = _held_s(_since(case, entry, before), entry["at"])
        jitter = 1.0 if entry["trigger"] == "retry.due" else GRACE_S
        if held < min(waits) - EARLY_S:
            yield _where(entry), f"{entry['trigger']} after {held:g} s, {min(waits):g} were due"
        elif held > max(waits) + jitter + case.seen.slack_s and case.seen.handed is not None:
            yield _where(entry), f"{entry['trigger']} only after {held:g} s of {max(waits):g}"


def _since(case: _Case, entry: Line, before: Line) -> str:
    """When the clock of an attempt began: when a worker got it, never before the state was entered."""
    holder = case.holders.get((entry["record_id"], before["version"]))
    if entry["attempt"] is None or holder is None:
        return str(before["at"])
    return max(str(holder["at"]), str(before["at"]))


def _s11(case: _Case) -> Iterator[Finding]:
    for entry, before, _ in case.triples:
        if before is not None and entry["at"] < before["at"]:
            yield _where(entry), f"at {entry['at']}, earlier than {before['at']}"


# A: who wrote it

ASKERS = ("person:", "sequencer:")


def _a1(case: _Case) -> Iterator[Finding]:
    for entry in case.log:
        if entry["authority"] != "coordinator":
            yield _where(entry), f"was written by {entry['authority']!r}"


def _a2(case: _Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        if before is not None and not _may(entry, graph):
            yield _where(entry), f"{entry['actor']} may not cause {entry['trigger']}"


def _may(entry: Line, graph: _Graph) -> bool:
    actor, trigger = entry["actor"], entry["trigger"]
    name, _, what = trigger.partition(".")
    if trigger == UPGRADED or (name in graph.stages and what == "started"):
        return bool(actor == "coordinator")
    if name in graph.stages and what in ("completed", "failed"):
        return actor.startswith(("runner:", "sequencer:")) or actor == "coordinator"
    if trigger in ("retry.due", EXHAUSTED) or what == "timed_out":
        is_stage = name in graph.stages
        return actor == "clock" or (is_stage and actor.startswith(("runner:", "sequencer:")))
    if f"{entry['from']} {trigger}" in graph.by_person:
        return bool(actor.startswith("person:"))
    return bool(actor.startswith(ASKERS))


def _a3(case: _Case) -> Iterator[Finding]:
    epoch = 0
    for entry in case.log:
        if entry["epoch"] < epoch:
            yield _where(entry), f"epoch {entry['epoch']} after {epoch}"
        epoch = max(epoch, entry["epoch"])


# E: events


def _e1(case: _Case) -> Iterator[Finding]:
    for event_id, entries in case.by_event.items():
        if len(entries) > 1:
            yield _where(entries[1]), f"event {event_id} was applied {len(entries)} times"


def _e2(case: _Case) -> Iterator[Finding]:
    if case.seen.events is None:
        return
    noted: dict[str, int] = {}
    for each in case.history.dispositions:
        noted[each["event_id"]] = noted.get(each["event_id"], 0) + 1
    for body in case.seen.inbox:
        yield "inbox", f"this still waits: {body}"
    for event_id, sent in case.sent.items():
        due = sum(event["is_accepted"] and not event["is_lost"] for event in sent)
        done = len(case.by_event.get(event_id, ())) + noted.get(event_id, 0)
        if done < due:
            yield event_id, f"was accepted {due} times; {done} were applied or noted"
    buried = [letter["body"] for letter in case.history.dead_letters]
    for body in case.seen.garbled:
        if case.seen.garbled.count(body) > buried.count(body):
            yield "inbox", f"this arrived and was not kept: {body}"
    for entry, before, graph in case.triples:
        if before is not None and not _is_own(entry, graph) and entry["event_id"] not in case.sent:
            yield _where(entry), f"nobody sent {entry['event_id']}"


def _is_own(entry: Line, graph: _Graph) -> bool:
    """Whether the coordinator itself is the source: it started, upgraded or gave up an attempt."""
    name, _, what = entry["trigger"].partition(".")
    is_stage = name in graph.stages and what in ("started", "failed")
    return entry["actor"] == "coordinator" and (is_stage or entry["trigger"] == UPGRADED)


def _e3(case: _Case) -> Iterator[Finding]:
    for event_id, sent in case.sent.items():
        for entry in case.by_event.get(event_id, ()):
            versions = [event["version"] for event in sent]
            if None not in versions and entry["version"] - 1 not in versions:
                yield _where(entry), f"was caused by an event that speaks of {versions}"
            if all(event["is_forged"] for event in sent):
                yield _where(entry), f"was caused by a forged event: {event_id}"
    for entry in case.log:
        if entry["actor"].startswith("runner:"):
            yield from _of_holder(case, entry)
    for mark in case.seen.marks or ():
        holder = case.holders.get((mark["record_id"], mark["version"]))
        if case.seen.is_fenced and case.seen.handed is not None and not _is_holder(mark, holder):
            yield _where(mark), f"{mark['worker']} wrote an output that was not its own to write"


def _of_holder(case: _Case, entry: Line) -> Iterator[Finding]:
    if entry["attempt"] != entry["version"] - 1:
        yield _where(entry), f"a runner reported attempt {entry['attempt']}"
    if case.seen.handed is None:
        return
    holder = case.holders.get((entry["record_id"], entry["version"] - 1))
    named = {"worker": entry["actor"].removeprefix("runner:")}
    if holder is None or (case.seen.is_fenced and not _is_holder(named, holder)):
        yield _where(entry), f"{entry['actor']} reported an attempt that was not its own"


def _is_holder(named: Line, holder: Line | None) -> bool:
    return holder is not None and holder["worker"] == named["worker"]


def _e4(case: _Case) -> Iterator[Finding]:
    for lines in (case.seen.acks, case.records or ()):
        known: dict[tuple[str, str], str] = {}
        for line in lines:
            if line["dedupe"] is None:
                continue
            first = known.setdefault((line["machine"], line["dedupe"]), line["record_id"])
            if first != line["record_id"]:
                yield line["record_id"], f"has the same key as {first}: {line['dedupe']}"


# L, R: nothing acknowledged is lost, and the records are what the log says


def _l1(case: _Case) -> Iterator[Finding]:
    for ack in case.seen.acks:
        first = case.at_version.get((ack["record_id"], 0))
        if first is None:
            yield ack["record_id"], "was acknowledged and is not in the log"
        elif first["machine"] != ack["machine"]:
            yield ack["record_id"], f"was opened as {ack['machine']}, is logged as {first['machine']}"


def _l2(case: _Case) -> Iterator[Finding]:
    for move in case.seen.moves:
        entry = case.at_version.get((move["record_id"], move["version"]))
        if entry is None:
            yield _where(move), "was acknowledged and is not in the log"
        elif entry["to"] != move["to"] or entry["hash"] != (move["hash"] or entry["hash"]):
            yield _where(move), f"was told as {move['to']!r}, the log has another: {entry['to']!r}"


def _l3(case: _Case) -> Iterator[Finding]:
    if case.records is None:
        return
    kept = {record["record_id"] for record in case.records}
    for record_id in sorted(kept ^ case.by_record.keys()):
        place = "table" if record_id in kept else "log"
        yield record_id, f"is in the {place} alone"


def _r1(case: _Case) -> Iterator[Finding]:
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and record["status"] != last["to"]:
            yield record["record_id"], f"is {record['status']!r}, its log ends in {last['to']!r}"


def _r2(case: _Case) -> Iterator[Finding]:
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and record["version"] != last["version"]:
            yield record["record_id"], f"is at {record['version']}, its log ends at {last['version']}"


# V, P, D, O, W: what outsiders care about


def _v1(case: _Case) -> Iterator[Finding]:
    if not case.seen.is_healed:
        return
    for work in case.seen.work:
        yield _where(work), "its work is still out"
    for record in case.records or ():
        graph = case.graph(record)
        newest = case.graphs.get((record["machine"], case.seen.in_force.get(record["machine"], 0)))
        if newest and newest.name_now(record["status"], record["machine_version"]) != record["status"]:
            yield record["record_id"], f"is still in {record['status']!r}, which has another name now"
        if graph is not None and not _is_settled(case, record, graph):
            about = f"waiting {record['waiting']!r}, due {record['due_at']}, rest {record['rest']!r}"
            yield record["record_id"], f"is stuck in {record['status']!r}: {about}"


def _is_settled(case: _Case, record: Line, graph: _Graph) -> bool:
    kind = graph.kind.get(record["status"])
    is_moving = record["waiting"] is not None or record["due_at"] is not None
    if kind == "terminal":
        return not is_moving
    if record["due_at"] is not None:  # inside its window: a law of its own says that it is not past it
        return record["waiting"] is None
    if record["waiting"] is not None:
        paused = {(pause["machine"], pause["stage"]) for pause in case.seen.pauses}
        return not paused.isdisjoint(
            {(record["machine"], ""), (record["machine"], record["waiting"])}
        )
    if kind == "failed":
        return record["error_code"] is not None
    if kind == "suspended":
        return all(review["state"] != record["status"] for review in graph.reviews.values())
    stage = graph.stage_of(record["status"])
    return stage is None or _rests(case, record)


def _rests(case: _Case, record: Line) -> bool:
    """A stage found nothing, and says so."""
    moved = [e for e in case.by_record[record["record_id"]] if e["trigger"] != UPGRADED]
    found = moved[-1]["metadata"].get("count")
    return record["rest"] is not None and found == 0


def _p1(case: _Case) -> Iterator[Finding]:
    if case.seen.ageing_s is None or case.records is None:
        return
    rank = {record["record_id"]: _rank(record, case.seen.ageing_s) for record in case.records}
    waiting: dict[str, tuple[str, str]] = {}  # who waits for which stage, as the log goes on
    for entry in case.log:
        record_id, graph = entry["record_id"], case.graph(entry)
        wanted = waiting.pop(record_id, None)
        if graph is None:
            continue
        if entry["trigger"].endswith(".started") and wanted is not None:
            for other, theirs in waiting.items():
                if theirs == wanted and rank[other] < rank[record_id]:
                    yield _where(entry), f"was started while {other} waited, which goes first"
        stage = graph.stage_of(entry["to"])
        if stage is not None and stage["enter"] == entry["to"] and "rest" not in entry["metadata"]:
            waiting[record_id] = (entry["machine"], stage["name"])


def _rank(record: Line, ageing_s: float) -> float:
    created = datetime.fromisoformat(record["created_at"]).timestamp()
    return created - float(record["priority"]) * ageing_s


def _d1(case: _Case) -> Iterator[Finding]:
    for record in case.records or ():
        graph = case.graph(record)
        for field, since in graph.disclose.items() if graph else ():
            is_due = since in case.reached.get(record["record_id"], ())
            is_there = record["fields"].get(field) is not None
            if is_due != is_there:
                word = "lacks" if is_due else "has"
                yield record["record_id"], f"{word} {field}, which is due from {since!r} on"


def _o1(case: _Case) -> Iterator[Finding]:
    if case.seen.marks is None:
        return
    marks = {(mark["record_id"], mark["version"]): mark for mark in case.seen.marks}
    for event in case.seen.events or ():
        if event["is_blind"]:
            yield event["id"], "the clock gave up an attempt whose completion mark was there"
    for entry, before, graph in case.triples:
        name, _, what = entry["trigger"].partition(".")
        if before is None or name not in graph.stages or not entry["actor"].startswith("runner:"):
            continue
        mark = marks.get((entry["record_id"], entry["version"] - 1))
        if mark is None or mark["is_failed"] == (what == "completed"):
            yield _where(entry), f"{entry['trigger']} has no such completion mark"
        elif what == "completed" and not mark["count"] == mark["items"] == entry["metadata"]["count"]:
            told = entry["metadata"]["count"]
            yield _where(entry), f"told of {told} items, {mark['items']} are kept"


def _w4(case: _Case) -> Iterator[Finding]:
    if case.seen.effects is None:
        return
    effects: dict[Key, list[str]] = {}
    for each in case.seen.effects:
        effects.setdefault((each["record_id"], each["version"]), []).append(each["kind"])
    for record_id, version in sorted(effects.keys() - case.at_version.keys()):
        yield f"{record_id} version {version}", "an effect without a transition"
    for entry, _, graph in case.triples:
        is_asked = any(review["state"] == entry["to"] for review in graph.reviews.values())
        if is_asked and "ask" not in effects.get((entry["record_id"], entry["version"]), ()):
            yield _where(entry), f"nobody was asked in {entry['to']!r}"


Law: TypeAlias = Callable[[_Case], Iterator[Finding]]

LAWS: dict[str, Law] = {
    "H1": _h1, "H2": _h2, "H3": _h3, "H4": _h4,
    "S1": _s1, "S2": _s2, "S3": _s3, "S4": _s4, "S5": _s5, "S6": _s6, "S7": _s7, "S8": _s8, "S9": _s9,
    "S10": _s10, "S11": _s11,
    "A1": _a1, "A2": _a2, "A3": _a3,
    "E1": _e1, "E2": _e2, "E3": _e3, "E4": _e4,
    "L1": _l1, "L2": _l2, "L3": _l3,
    "R1": _r1, "R2": _r2, "V1": _v1, "P1": _p1, "D1": _d1,
    "O1": _o1,  # ours: what a record tells of an attempt is what the attempt kept
    "W4": _w4,  # of the webhooks' laws, what holds of effects before anybody sends them
}  # fmt: skip
