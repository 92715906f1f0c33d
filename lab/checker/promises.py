"""The laws of what outsiders were promised: events (E), acknowledgements (L, R), and the rest (V, P, D, O, W)."""

import math
from collections.abc import Iterator
from datetime import datetime

from lab.checker.case import (
    UPGRADED,
    Case,
    Finding,
    Graph,
    Key,
    where_of,
)
from lab.checker.history import Line

# E, events


def e1(case: Case) -> Iterator[Finding]:
    for event_id, entries in case.by_event.items():
        if len(entries) > 1:
            yield where_of(entries[1]), f"event {event_id} was applied {len(entries)} times"


def e2(case: Case) -> Iterator[Finding]:
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
            yield where_of(entry), f"no source sent {entry['event_id']}"


def _is_own(entry: Line, graph: Graph) -> bool:
    """Whether the coordinator itself is the source: it started, upgraded or gave up an attempt."""
    name, _, what = entry["trigger"].partition(".")
    is_stage = name in graph.stages and what in ("started", "failed")
    return entry["actor"] == "coordinator" and (is_stage or entry["trigger"] == UPGRADED)


def e3(case: Case) -> Iterator[Finding]:
    for event_id, sent in case.sent.items():
        for entry in case.by_event.get(event_id, ()):
            versions = [event["version"] for event in sent]
            if None not in versions and entry["version"] - 1 not in versions:
                yield where_of(entry), f"was caused by an event that speaks of {versions}"
            if all(event["is_forged"] for event in sent):
                yield where_of(entry), f"was caused by a forged event: {event_id}"
    for entry in case.log:
        if entry["actor"].startswith("runner:"):
            yield from _of_holder(case, entry)
    for mark in case.seen.marks or ():
        holder = case.holders.get((mark["record_id"], mark["version"]))
        if case.seen.handed is not None and not _is_holder(mark, holder):
            yield where_of(mark), f"{mark['worker']} wrote an output that was not its own to write"


def _of_holder(case: Case, entry: Line) -> Iterator[Finding]:
    if entry["attempt"] != entry["version"] - 1:
        yield where_of(entry), f"a runner reported attempt {entry['attempt']}"
    if case.seen.handed is None:
        return
    holder = case.holders.get((entry["record_id"], entry["version"] - 1))
    named = {"worker": entry["actor"].removeprefix("runner:")}
    if not _is_holder(named, holder):
        yield where_of(entry), f"{entry['actor']} reported an attempt that was not its own"


def _is_holder(named: Line, holder: Line | None) -> bool:
    return holder is not None and holder["worker"] == named["worker"]


def e4(case: Case) -> Iterator[Finding]:
    for lines in (case.seen.acks, case.records or ()):
        known: dict[tuple[str, str], str] = {}
        for line in lines:
            if line["dedupe"] is None:
                continue
            first = known.setdefault((line["machine"], line["dedupe"]), line["record_id"])
            if first != line["record_id"]:
                yield line["record_id"], f"has the same key as {first}: {line['dedupe']}"


# L, R: nothing acknowledged is lost, and the records are what the log says


def l1(case: Case) -> Iterator[Finding]:
    for ack in case.seen.acks:
        first = case.at_version.get((ack["record_id"], 0))
        if first is None:
            yield ack["record_id"], "was acknowledged and is not in the log"
        elif first["machine"] != ack["machine"]:
            yield (
                ack["record_id"],
                f"was opened as {ack['machine']}, is logged as {first['machine']}",
            )


def l2(case: Case) -> Iterator[Finding]:
    for move in case.seen.moves:
        entry = case.at_version.get((move["record_id"], move["version"]))
        if entry is None:
            yield where_of(move), "was acknowledged and is not in the log"
        elif entry["to"] != move["to"] or entry["seal"] != (move["hash"] or entry["seal"]):
            yield (
                where_of(move),
                f"was told as {move['to']!r}, the log has another: {entry['to']!r}",
            )


def l3(case: Case) -> Iterator[Finding]:
    if case.records is None:
        return
    kept = {record["record_id"] for record in case.records}
    for record_id in sorted(kept ^ case.by_record.keys()):
        place = "table" if record_id in kept else "log"
        yield record_id, f"is in the {place} alone"


def r1(case: Case) -> Iterator[Finding]:
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and record["status"] != last["to"]:
            yield record["record_id"], f"is {record['status']!r}, its log ends in {last['to']!r}"


def r2(case: Case) -> Iterator[Finding]:
    for record in case.records or ():
        last = case.by_record.get(record["record_id"], [None])[-1]
        if last is not None and record["version"] != last["version"]:
            yield (
                record["record_id"],
                f"is at {record['version']}, its log ends at {last['version']}",
            )


# V, P, D, O, W: what outsiders care about


def v1(case: Case) -> Iterator[Finding]:
    if not case.seen.is_healed:
        return
    for work in case.seen.work:
        yield where_of(work), "its work is still out"
    for record in case.records or ():
        graph = case.graph(record)
        newest = case.graphs.get((record["machine"], case.seen.in_force.get(record["machine"], 0)))
        if (
            newest
            and newest.current_name(record["status"], record["machine_version"]) != record["status"]
        ):
            yield (
                record["record_id"],
                f"is still in {record['status']!r}, which has another name now",
            )
        if graph is not None and not _is_settled(case, record, graph):
            about = (
                f"waiting {record['waiting']!r}, due {record['due_at']}, rest {record['rest']!r}"
            )
            yield record["record_id"], f"is stuck in {record['status']!r}: {about}"


def _is_settled(case: Case, record: Line, graph: Graph) -> bool:
    kind = graph.kind.get(record["status"])
    is_moving = record["waiting"] is not None or record["due_at"] is not None
    if kind == "terminal":
        return not is_moving
    if (
        record["due_at"] is not None
    ):  # inside its window: a law of its own says that it is not past it
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


def _rests(case: Case, record: Line) -> bool:
    """A stage found nothing, and says so; or the record is held until its external driver asks for its stage."""
    if record["rest"] == "held":
        return bool(record["labels"].get("sequencing") == "outside")
    moved = [e for e in case.by_record[record["record_id"]] if e["trigger"] != UPGRADED]
    found = moved[-1]["metadata"].get("count")
    return record["rest"] is not None and found == 0


def p1(case: Case) -> Iterator[Finding]:
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
                is_first = rank.get(other, math.inf) < rank.get(record_id, -math.inf)
                if theirs == wanted and is_first:
                    yield where_of(entry), f"was started while {other} waited, which goes first"
        stage = graph.stage_of(entry["to"])
        if stage is not None and stage["from"] == entry["to"] and "rest" not in entry["metadata"]:
            waiting[record_id] = (entry["machine"], stage["name"])


def _rank(record: Line, ageing_s: float) -> float:
    created = datetime.fromisoformat(record["created_at"]).timestamp()
    return created - float(record["priority"]) * ageing_s


def d1(case: Case) -> Iterator[Finding]:
    for record in case.records or ():
        graph = case.graph(record)
        for field, since in graph.expose.items() if graph else ():
            is_due = since in case.reached.get(record["record_id"], ())
            is_there = record["fields"].get(field) is not None
            is_fact = not field.endswith(("_log_ref", "_count"))  # a stage may leave it out
            if is_due != is_there and not is_fact:
                word = "lacks" if is_due else "has"
                yield record["record_id"], f"{word} {field}, which is due from {since!r} on"


def o1(case: Case) -> Iterator[Finding]:
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
            yield where_of(entry), f"{entry['trigger']} has no such completion mark"
        elif what == "completed":
            told = entry["metadata"].get("count")  # a forged report may tell nothing
            if not mark["count"] == mark["items"] == told:
                yield where_of(entry), f"told of {told} items, {mark['items']} are kept"


def w4(case: Case) -> Iterator[Finding]:
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
            yield where_of(entry), f"no person was asked in {entry['to']!r}"
