"""What breaks the laws of upkeep, to be planted into a sound history."""

from lab.checker import History, Line
from tests.lab.simulation.histories import entries, first, record

RULE: Line = {"statuses": ["normalized"], "older_than_s": 0.0, "delete": ["documents"]}


def erased(history: History, *, actor: str = "person:clerk", **parts: object) -> None:
    """The documents of the first record are erased."""
    last = entries(history)[-1]
    place = len(history.transitions) + 1
    told: Line = {"kinds": ["documents"], "reason": "asked"}
    history.transitions.append(
        {
            **last, "from": last["to"], "trigger": "record.erased", "actor": actor, "event_id": "erasure",
            "version": last["version"] + 1, "attempt": None, "metadata": told, "seq": place, "lane_seq": place,
            **parts,
        }
    )  # fmt: skip
    record(history).update(version=last["version"] + 1, artifact=None, rest="erased")


def remains(history: History) -> None:
    erased(history)
    found = {"record_id": record(history)["record_id"], "place": "file", "value": "doc0"}
    history.seen.remains.append(found)


def said_only(history: History) -> None:
    told = {"record_id": record(history)["record_id"], "kinds": ["documents"]}
    history.seen.erasures.append(told)


def another_checkpoint(history: History) -> None:
    assert history.anchor is not None
    lanes = [{**each, "head": "0" * 64} for each in history.anchor["lanes"]]
    history.seen.checkpoints.append({**history.anchor, "lanes": lanes})


def shorter_than_before(history: History) -> None:
    assert history.anchor is not None
    lanes = [{**each, "count": 99} for each in history.anchor["lanes"]]
    history.seen.checkpoints.append({**history.anchor, "lanes": lanes})


def held_and_erased(history: History) -> None:
    erased(history)
    held(history)


def held(history: History, *missing: str) -> None:
    hold = {"record_id": record(history)["record_id"], "since": 0, "until": None}
    history.seen.holds.append({**hold, "missing": list(missing)})


def by_rule(history: History, **parts: object) -> None:
    """Retention deletes the documents of the first record, under a rule with these parts."""
    erased(history, actor="coordinator")
    history.seen.retention = {**RULE, **parts}


def under_way(history: History) -> None:
    erased(history)
    record(history)["waiting"] = "parse"


def lacking(history: History) -> None:
    line = {"record_id": record(history)["record_id"], "kind": "items", "what": "items"}
    history.seen.lacks.append(line)


def accepted(history: History, *, approvals: int, actor: str = "person:eve") -> None:
    """One person accepts a contract."""
    history.machines[0]["reviews"][0]["approvals"] = approvals
    first(history, "review.timed_out").update(trigger="review.approved", actor=actor)
    history.seen.is_own_refused = True
