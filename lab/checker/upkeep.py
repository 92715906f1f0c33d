"""The laws of upkeep: erasures and holds (G1-G3), rules of retention (G4), reviews that need several people (M1)."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from lab.checker.case import UPGRADED, Case, Finding, Graph, held_s, where_of
from lab.checker.history import History, Line
from lab.checker.laws import GENESIS, root_of

ERASED = "record.erased"
DOCUMENTS, ITEMS, CONTENTS = "documents", "items", "contents"
ALL_KINDS: Final = frozenset((DOCUMENTS, ITEMS, "logs", CONTENTS))
PLACES = {
    DOCUMENTS: ("records.artifact", "file"),
    ITEMS: ("item_chunks", "derived_files", "search_texts"),
}
"""Where a kind lies alone. What is not listed here may hold any: it counts once all kinds are erased."""
ABOUT_RECORDS = (
    "acks", "moves", "events", "work", "handed", "marks", "effects", "begun", "stale_work", "decisions",
)  # fmt: skip
"""What outsiders saw of single records."""
ACCEPTED = ("approved", "corrected")


def erased_records(history: History) -> set[str]:
    """The records of which anything was erased."""
    return {each["record_id"] for each in history.transitions if each["trigger"] == ERASED}


def without(history: History, gone: set[str]) -> History:
    """The history of the other records: most laws need what an erasure takes away."""
    seen = history.seen
    others = {name: _others(getattr(seen, name), gone) for name in ABOUT_RECORDS}
    return msgspec.structs.replace(
        history,
        transitions=_others(history.transitions, gone),
        records=_others(history.records, gone),
        dispositions=_others(history.dispositions, gone),
        seen=msgspec.structs.replace(seen, **others),
    )


def _others(lines: list[Line] | None, gone: set[str]) -> list[Line] | None:
    return None if lines is None else [each for each in lines if each.get("record_id") not in gone]


def _erasures(case: Case) -> Iterator[tuple[Line, list[Line]]]:
    """Each erasure with the transitions of its record."""
    for entries in case.by_record.values():
        yield from ((entry, entries) for entry in entries if entry["trigger"] == ERASED)


def _kinds(case: Case) -> dict[str, set[str]]:
    """What was erased of each record."""
    found: dict[str, set[str]] = {}
    for entry, _ in _erasures(case):
        # An erasure that came later may have taken the words of this one, and then it erased them all.
        found.setdefault(entry["record_id"], set()).update(entry["metadata"].get("kinds", ()))
    return found


def g1(case: Case) -> Iterator[Finding]:
    """Nothing of what was erased remains, and what a caller was told is erased."""
    kinds = _kinds(case)
    for each in case.seen.erasures:
        own = kinds.get(each["record_id"])
        if own is None or (_is_whole(case, each) and not set(each["kinds"]) <= own):
            yield each["record_id"], f"was said to be erased, and its history knows of no {each}"
    for each in case.seen.remains:
        own = kinds.get(each["record_id"], set())
        alone = {place for kind in own for place in PLACES.get(kind, ())}
        if own >= ALL_KINDS or each["place"] in alone:
            yield each["record_id"], f"was erased, and {each['place']} still holds {each['value']}"


def g2(case: Case) -> Iterator[Finding]:
    """A checkpoint that was taken before an erasure still holds after it."""
    for number, checkpoint in enumerate(case.seen.checkpoints):
        where = f"checkpoint {number}"
        for lane in checkpoint["lanes"]:
            entries = case.by_lane.get(lane["lane"], [])
            count = lane["count"]
            if len(entries) < count:
                yield where, f"lane {lane['lane']} has {len(entries)} entries, and had {count}"
            elif (entries[count - 1]["lane_hash"] if count else GENESIS) != lane["head"]:
                yield where, f"entry {count} of lane {lane['lane']} is another than it was"
        if root_of(checkpoint["lanes"]) != checkpoint["root"]:
            yield where, "its lanes do not give its root"


def g3(case: Case) -> Iterator[Finding]:
    """Nothing of a record is deleted while it is held."""
    for hold in case.seen.holds:
        for entry in case.by_record.get(hold["record_id"], ()):
            is_over = hold["until"] is not None and hold["until"] < entry["seq"]
            if entry["trigger"] == ERASED and hold["since"] < entry["seq"] and not is_over:
                yield where_of(entry), "was erased while it was held"
        if hold["missing"]:
            yield hold["record_id"], f"lost its {', '.join(hold['missing'])} while it was held"


def g4(case: Case) -> Iterator[Finding]:
    """Retention deletes what its rule names, of records that ended so long ago, and nothing of any other."""
    for entry, entries in _erasures(case):
        before = [each for each in entries if each["version"] < entry["version"]]
        moved = [each for each in before if each["trigger"] not in (ERASED, UPGRADED)]
        yield from _under_way(case, entry, entries)
        if entry["actor"] == "coordinator":
            yield from _by_rule(case, entry, moved[-1])
    kinds = _kinds(case)
    for record in case.records or ():
        moving = [name for name in ("waiting", "due_at", "worker") if record[name] is not None]
        if moving and record["record_id"] in kinds:
            yield record["record_id"], f"was erased, and is under way: {', '.join(moving)}"
    for each in case.seen.lacks:
        if each["kind"] not in kinds.get(each["record_id"], set()) and _is_whole(case, each):
            yield (
                each["record_id"],
                f"lacks {each['what']}, and no transition erased its {each['kind']}",
            )


def _is_whole(case: Case, line: Line) -> bool:
    """Whether the words of all its erasures are there: the last one takes those of the others with the contents."""
    entries = case.by_record.get(line["record_id"], ())
    return all("erased" not in each["metadata"] for each in entries)


def _by_rule(case: Case, entry: Line, moved: Line) -> Iterator[Finding]:
    rule = case.seen.retention
    if rule is None:
        return
    where = where_of(entry)
    kinds = entry["metadata"].get("kinds")
    if kinds is not None and sorted(kinds) != sorted(rule["delete"]):
        yield where, f"lost {kinds}; the rule names {rule['delete']}"
    if entry["to"] not in rule["statuses"]:
        yield where, f"is {entry['to']!r}; the rule is about {rule['statuses']}"
    age = held_s(moved["at"], entry["at"])
    if age < rule["older_than_s"]:
        yield where, f"ended {age:g} s before; the rule says {rule['older_than_s']:g} s"


def _under_way(case: Case, entry: Line, entries: Iterable[Line]) -> Iterator[Finding]:
    graph = case.graph(entry)
    if graph is not None and graph.kind.get(entry["to"]) not in ("terminal", "failed"):
        yield where_of(entry), f"was erased in {entry['to']!r}, which is no end"
    after = [e for e in entries if e["version"] > entry["version"]]
    for each in after:
        if each["trigger"] not in (ERASED, UPGRADED):
            yield where_of(each), f"{each['trigger']} moved it after it was erased"


def m1(case: Case) -> Iterator[Finding]:
    """A review is accepted by as many different people as it needs, and not by who submitted the record."""
    for entries in case.by_record.values():
        people: set[str] = set()
        for entry in entries:
            graph = case.graph(entry)
            review = None if graph is None else _review_of(graph, entry["from"])
            if graph is None or review is None:
                people = set()
                continue
            what = entry["trigger"].partition(".")[2]
            if what not in (*ACCEPTED, "endorsed"):
                continue
            people = _begun_anew(entry, people) | {_person(entry)}
            if case.seen.is_own_refused and _person(entry) == _person(entries[0]):
                yield where_of(entry), f"{entry['actor']} accepted what they had submitted"
            if what != "endorsed" and len(people) < review.get("approvals", 1):
                needed = review["approvals"]
                yield where_of(entry), f"was accepted by {sorted(people)}; it needs {needed} people"


def _review_of(graph: Graph, state: str | None) -> Line | None:
    return next((each for each in graph.reviews.values() if each["state"] == state), None)


def _begun_anew(entry: Line, people: set[str]) -> set[str]:
    """Those whose approval still counts: a correction changes what is accepted."""
    given = entry["metadata"].get("approvals", ())
    is_new = len(given) == 1 and given[0]["answer"] == "corrected"
    return set() if is_new else people


def _person(entry: Line) -> str:
    """Who acted, without the key: what follows the last `@`, if it is no domain."""
    name = str(entry["actor"]).partition(":")[2]
    before, _, after = name.rpartition("@")
    return before if before and "." not in after else name
