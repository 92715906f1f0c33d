"""The laws of the log itself: the chain (H), the machine (S), and who wrote it (A)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from zlib import crc32

from lab.checker.case import (
    EXHAUSTED,
    RETRIES,
    UPGRADED,
    Case,
    Finding,
    Graph,
    held_s,
    where_of,
)
from lab.checker.history import Line

GENESIS = "0" * 64
EARLY_S = 1.0
GRACE_S = 5.0
CONFIDENCE_MIN = 80
SEALED_OF_TRANSITION = (
    "record_prev", "record_id", "machine", "machine_version", "from", "to", "version", "event_id", "at",
    "actor", "authority", "epoch", "attempt", "trigger", "metadata", "record_hash",
)  # fmt: skip
SEALED_OF_RECORD = (
    "record_id", "machine", "machine_version", "status", "version", "created_at", "entered_at", "retry_count",
    "last_retry_at", "failed_from", "error_code", "error_message", "rest", "artifact", "dedupe", "replaces",
    "labels", "fields", "outputs",
)  # fmt: skip

# H: the chain

_write = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode


def sealed(line: Line, fields: Iterable[str]) -> str:
    """The SHA-256 of these fields of a line, as the documentation of the chain has it."""
    return sha256(_write([line[field] for field in fields]).encode()).hexdigest()


def committed(entry: Line) -> Line:
    """A transition with the commitment to its metadata in the place of that, where it has one."""
    metadata = entry["metadata"]
    if "salt" in entry:
        commitment = sha256((entry["salt"] + _write(metadata)).encode()).hexdigest()
        return {**entry, "metadata": commitment}
    return {**entry, "metadata": metadata["erased"]} if metadata.keys() == {"erased"} else entry


def sealed_record(record: Line, last: Line) -> str:
    """The hash of a record as its last transition must have it, with the salt of that."""
    if "salt" not in last:
        return sealed(record, SEALED_OF_RECORD)
    return sealed({**record, "salt": last["salt"]}, (*SEALED_OF_RECORD, "salt"))


def chained(before: str, seal: str) -> str:
    """The next value of a lane."""
    return sha256((before + seal).encode()).hexdigest()


def root_of(lanes: Sequence[Line]) -> str:
    """The root over the heads of lanes (RFC 6962), by the definition of that tree."""
    texts = [f"lane {each['lane']} {each['count']} {each['head']}".encode() for each in lanes]
    return _tree([sha256(b"\x00" + text).digest() for text in texts]).hex()


def _tree(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\x01" + _tree(leaves[:half]) + _tree(leaves[half:])).digest()


def h1(case: Case) -> Iterator[Finding]:
    for entry in case.log:
        if entry["seal"] != sealed(committed(entry), SEALED_OF_TRANSITION):
            yield where_of(entry), "its seal is not that of its content"
        if entry["lane_hash"] != chained(entry["lane_prev"], entry["seal"]):
            yield where_of(entry), "its hash is not that of its seal and the hash before it"
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and last["record_hash"] != sealed_record(record, last):
            yield record["record_id"], "the record is not as its last transition sealed it"


def h2(case: Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        before = GENESIS
        for entry in entries:
            if entry["record_prev"] != before:
                yield where_of(entry), "does not name the seal of its record's entry before it"
            before = entry["seal"]
    for entries in case.by_lane.values():
        before = GENESIS
        for entry in entries:
            if entry["lane_prev"] != before:
                yield where_of(entry), "does not name the hash of the entry before it in its lane"
            before = entry["lane_hash"]
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and record["head"] != last["seal"]:
            yield record["record_id"], "its head is not the seal of its last transition"


def h3(case: Case) -> Iterator[Finding]:
    if case.anchor is None:
        return
    lanes = {each["lane"]: each for each in case.anchor["lanes"]}
    for number in sorted({*lanes, *case.by_lane}):
        entries = case.by_lane.get(number, [])
        lane = lanes.get(number, {"count": 0, "head": GENESIS})
        if len(entries) < lane["count"]:
            yield f"lane {number}", f"{len(entries)} entries, the anchor counts {lane['count']}"
        elif (entries[lane["count"] - 1]["lane_hash"] if lane["count"] else GENESIS) != lane[
            "head"
        ]:
            yield f"lane {number}", f"the hash of entry {lane['count']} is not the anchor's head"
    if root_of(case.anchor["lanes"]) != case.anchor["root"]:
        yield "anchor", "its lanes do not give its root"


def h4(case: Case) -> Iterator[Finding]:
    lanes = sum(each["lane"] >= 0 for each in case.anchor["lanes"]) if case.anchor else 0
    for number, entries in case.by_lane.items():
        for place, entry in enumerate(entries, 1):
            if entry["lane_seq"] != place:
                yield where_of(entry), f"stands at {place} but is numbered {entry['lane_seq']}"
            if lanes and number >= 0 and number != crc32(entry["record_id"].encode()) % lanes:
                yield where_of(entry), f"its record does not belong to lane {number}"
    for before, entry in pairwise(case.log):
        if entry["seq"] <= before["seq"]:
            yield where_of(entry), f"entry {entry['seq']} stands after entry {before['seq']}"


# S: the machine


def s1(case: Case) -> Iterator[Finding]:
    for entry in case.log:
        graph = case.graph(entry)
        if graph is None:
            yield (
                where_of(entry),
                f"no machine {entry['machine']} {entry['machine_version']} is known",
            )
        elif entry["to"] not in graph.kind:
            yield where_of(entry), f"{entry['machine']} has no state {entry['to']!r}"
        elif entry["from"] is not None and entry["from"] not in case.states(entry["machine"]):
            yield where_of(entry), f"{entry['machine']} has no state {entry['from']!r}"


def s2(case: Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        source, to, trigger = entry["from"], entry["to"], entry["trigger"]
        if source is None:
            continue
        if trigger == UPGRADED:
            if before is None or graph.current_name(source, before["machine_version"]) != to:
                yield where_of(entry), f"no upgrade leads from {source!r} to {to!r}"
        elif trigger not in graph.causes.get((source, to), ()):
            yield where_of(entry), f"{trigger} may not lead from {source!r} to {to!r}"


def s3(case: Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        if before is None:
            if entry["from"] is not None or entry["to"] not in graph.entries(entry["trigger"]):
                yield (
                    where_of(entry),
                    f"{entry['trigger']} does not begin a record with {entry['from']} -> {entry['to']}",
                )
        elif entry["from"] != before["to"]:
            yield (
                where_of(entry),
                f"leaves {entry['from']!r}, but the record was in {before['to']!r}",
            )


def s4(case: Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        for place, entry in enumerate(entries):
            if entry["version"] != place:
                yield where_of(entry), f"version {place} was due"


def s5(case: Case) -> Iterator[Finding]:
    for entry, _, graph in case.triples:
        if graph.kind.get(entry["from"]) != "terminal" or entry["trigger"] == UPGRADED:
            continue
        is_declared = (entry["from"], entry["to"]) in graph.causes
        if not is_declared or not entry["actor"].startswith("person:"):
            yield where_of(entry), f"{entry['actor']} took it out of {entry['from']!r}, an end"


def s6(case: Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        step: str | None = None
        version = entries[0]["machine_version"]
        for entry in entries:
            graph = case.graph(entry)
            if graph is None:
                continue
            if step is not None and version != entry["machine_version"]:
                step = graph.current_name(step, version)
            version = entry["machine_version"]
            if entry["trigger"] in RETRIES and graph.kind.get(entry["from"]) == "failed":
                stage = graph.stage_of(step)
                if stage is None or entry["to"] != stage["resume"]:
                    yield where_of(entry), f"resumes at {entry['to']!r} after {step!r} failed"
            step = entry["metadata"].get("failed_at_step", step)


def _automatic(entries: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Retries that no person asked for, each with the failure before it."""
    for before, entry in pairwise(entries):
        if entry["trigger"] == "retry.due" and before["trigger"] != "retry.requested":
            yield before, entry


def _is_retry(entry: Line, graph: Graph) -> bool:
    return entry["trigger"] in RETRIES and graph.kind.get(entry["from"]) == "failed"


def s7(case: Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        # A retry that was due before the number was lowered still comes.
        most = max(case.retries(entries[-1]), default=None)
        automatic = [entry for _, entry in _automatic(entries)]
        if most is not None and len(automatic) > most:
            yield (
                where_of(automatic[most]),
                f"is automatic retry {len(automatic)}, {most} are allowed",
            )
    for record in case.records or ():
        graph = case.graph(record)
        entries = case.by_record.get(record["record_id"], [])
        made = sum(_is_retry(entry, graph) for entry in entries) if graph else record["retry_count"]
        if made != record["retry_count"]:
            yield record["record_id"], f"counts {record['retry_count']} retries, {made} were made"


def s8(case: Case) -> Iterator[Finding]:
    for entries in case.by_record.values():
        made = 0
        allowed: list[
            int
        ] = []  # by the versions that it has had: the clock may have spoken under an older one
        for entry in entries:
            graph = case.graph(entry)
            if graph is None:
                continue
            made += _is_retry(entry, graph)
            allowed += graph.retries()
            if made < min(allowed, default=0) and _gives_up(case, entry, graph):
                yield where_of(entry), f"was given up after {made} retries"


def _gives_up(case: Case, entry: Line, graph: Graph) -> bool:
    if entry["trigger"] == EXHAUSTED:
        return True
    name, _, what = entry["trigger"].partition(".")
    stage = graph.stages.get(name)
    if (
        stage is None
        or what not in ("failed", "timed_out")
        or stage["on_fatal"] == stage["on_error"]
    ):
        return False
    sent = case.sent.get(entry["event_id"], [])
    is_retryable = what == "timed_out" or all(event["is_retryable"] for event in sent)
    return entry["to"] == stage["on_fatal"] and is_retryable and bool(sent)


def s9(case: Case) -> Iterator[Finding]:
    for entry in case.log:
        if (entry["machine"], entry["trigger"]) != ("contract", "validate.completed"):
            continue
        confidence = entry["metadata"].get("final_confidence")
        is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        is_sure = is_number and confidence >= CONFIDENCE_MIN
        is_good = is_sure and entry["metadata"].get("valid") is True
        if (entry["to"] == "review_required") == is_good:
            yield where_of(entry), f"went to {entry['to']!r} with confidence {confidence!r}"


STAYING = (".endorsed", ".referred")
"""Answers to a review that is still open after them."""


def s10(case: Case) -> Iterator[Finding]:
    yield from _timed(case)
    now = case.seen.now
    for record in case.records or ():
        due = record["due_at"]
        if now is not None and due is not None and held_s(due, now) > case.seen.slack_s:
            yield record["record_id"], f"still waits at {now}, and was due at {due}"


def _timed(case: Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        if before is None or entry["actor"] != "clock":
            continue
        if entry["trigger"] == "retry.due" and before["trigger"] == "retry.requested":
            continue  # a person reopened it: tried at once
        made = before["metadata"].get("retry_count", 0)
        waits = graph.waits(entry["trigger"], made)
        if not waits:
            continue
        held = held_s(_since(case, entry, before), entry["at"])
        jitter = 1.0 if entry["trigger"] == "retry.due" else GRACE_S
        # Given up under one tuning, and taken up again at once because another one allows more retries.
        is_taken_up = entry["trigger"] == "retry.due" and made >= min(
            case.retries(entry), default=made
        )
        if held < min(waits) - EARLY_S and not is_taken_up:
            yield where_of(entry), f"{entry['trigger']} after {held:g} s, {min(waits):g} were due"
        elif held > max(waits) + jitter + case.seen.slack_s and case.seen.handed is not None:
            yield where_of(entry), f"{entry['trigger']} only after {held:g} s of {max(waits):g}"


def _since(case: Case, entry: Line, before: Line) -> str:
    """When the clock began: of an attempt, when a worker got it; never before the state was entered."""
    holder = case.holders.get((entry["record_id"], before["version"]))
    if entry["attempt"] is None or holder is None:
        return str(_arrival(case, before)["at"])
    return max(str(holder["at"]), str(before["at"]))


def _arrival(case: Case, line: Line) -> Line:
    """The line that led into a state, before those that left it there: the deadline of a review stays."""
    for each in reversed(case.by_record[line["record_id"]]):
        if each["version"] <= line["version"] and not each["trigger"].endswith(STAYING):
            return each
    return line


def s11(case: Case) -> Iterator[Finding]:
    for entry, before, _ in case.triples:
        if before is not None and entry["at"] < before["at"]:
            yield where_of(entry), f"at {entry['at']}, earlier than {before['at']}"


# A: who wrote it

ASKERS = ("person:", "sequencer:")


def a1(case: Case) -> Iterator[Finding]:
    for entry in case.log:
        if entry["authority"] != "coordinator":
            yield where_of(entry), f"was written by {entry['authority']!r}"


def a2(case: Case) -> Iterator[Finding]:
    for entry, before, graph in case.triples:
        if before is not None and not _may(entry, graph):
            yield where_of(entry), f"{entry['actor']} may not cause {entry['trigger']}"


def _may(entry: Line, graph: Graph) -> bool:
    actor, trigger = entry["actor"], entry["trigger"]
    name, _, what = trigger.partition(".")
    if trigger == UPGRADED or (name in graph.stages and what == "started"):
        return bool(actor == "coordinator")
    if name in graph.stages and what in ("completed", "failed"):
        return bool(actor.startswith(("runner:", "sequencer:")) or actor == "coordinator")
    if trigger in ("retry.due", EXHAUSTED) or what == "timed_out":
        is_stage = name in graph.stages
        is_own = is_stage and actor.startswith(("runner:", "sequencer:"))
        is_own |= name in graph.reviews and actor.startswith("sequencer:")
        return bool(actor == "clock" or is_own)
    if f"{entry['from']} {trigger}" in graph.by_person:
        return bool(actor.startswith("person:"))
    return bool(actor.startswith(ASKERS))


def a3(case: Case) -> Iterator[Finding]:
    for entries in case.by_lane.values():
        epoch = 0
        for entry in entries:
            if entry["epoch"] < epoch:
                yield where_of(entry), f"epoch {entry['epoch']} after {epoch}"
            epoch = max(epoch, entry["epoch"])
