"""The laws of attempts: how often work is delivered (B), what failures say (C), pauses, upgrades, held decisions."""

from collections.abc import Iterator

from lab.checker.case import UPGRADED, Case, Finding, Graph, Key, where_of
from lab.checker.history import Line

CANCEL = "cancel.requested"


def b1(case: Case) -> Iterator[Finding]:
    """Work is delivered again within its bounds, and is given up as lost only when they are reached."""
    limits = case.seen.redelivery
    if limits is None or case.seen.handed is None:
        return
    deliveries: dict[Key, set[int]] = {}
    for each in case.seen.handed:
        deliveries.setdefault((each["record_id"], each["version"]), set()).add(each["delivery"])
    most = max(limits["deliveries_max"], limits["redeliveries_max"] + 1)
    begun: dict[Key, set[int]] = {}
    for each in case.seen.begun:
        begun.setdefault((each["record_id"], each["version"]), set()).add(each["delivery"])
    for key, seen in deliveries.items():
        where = f"{key[0]} version {key[1]}"
        if len(seen) > most:
            yield where, f"was delivered {len(seen)} times, {most} are allowed"
        died = [number for number in begun.get(key, ()) if number < max(seen)]
        if len(died) >= limits["deliveries_max"]:
            yield where, f"was delivered again after {len(died)} processes that had begun it died"
    for entry in case.log:
        if entry["metadata"].get("error_code") == "WORKER_LOST" and entry["attempt"] is not None:
            made = len(deliveries.get((entry["record_id"], entry["attempt"]), ()))
            if made < limits["deliveries_max"]:
                yield where_of(entry), f"was given up as lost after {made} deliveries"


def c1(case: Case) -> Iterator[Finding]:
    """The code of a failure is the one that was reported."""
    codes = {(mark["record_id"], mark["version"]): mark for mark in case.seen.marks or ()}
    for entry, before, graph in case.triples:
        if before is None:
            continue
        expected = _codes(case, entry, graph, codes.get((entry["record_id"], before["version"])))
        told = entry["metadata"].get("error_code")
        if expected and told not in expected:
            yield where_of(entry), f"says {told!r}; {' or '.join(map(str, expected))} was reported"


def _codes(case: Case, entry: Line, graph: Graph, mark: Line | None) -> list[object]:
    name, _, what = entry["trigger"].partition(".")
    if entry["trigger"] == CANCEL:
        return ["CANCELLED"]
    if name not in graph.stages or what not in ("failed", "timed_out"):
        return []
    default = "TIMEOUT" if what == "timed_out" else "STAGE_FAILED"
    if entry["actor"].startswith("runner:"):
        return [] if mark is None else [mark["error_code"]]
    if entry["actor"] == "clock":
        return [default]
    if entry["actor"] == "coordinator":
        return ["WORKER_LOST"]
    return [event.get("error_code") or default for event in case.sent.get(entry["event_id"], ())]


def s12(case: Case) -> Iterator[Finding]:
    """What no retry can cure is not retried by the clock."""
    for entries in case.by_record.values():
        failed: Line | None = None
        for entry in entries:
            if entry["trigger"] == UPGRADED:
                continue
            if entry["trigger"] == "retry.due" and failed is not None and _is_fatal(case, failed):
                yield where_of(entry), f"was retried although {failed['event_id']} cannot be cured"
            failed = entry if entry["trigger"].endswith(".failed") else None


def _is_fatal(case: Case, failed: Line) -> bool:
    sent = case.sent.get(failed["event_id"], [])
    return bool(sent) and not any(event["is_retryable"] for event in sent)


def p2(case: Case) -> Iterator[Finding]:
    """No attempt at a paused stage begins."""
    first: set[Key] = set()
    for each in case.seen.handed or ():
        key = (each["record_id"], each["version"])
        if key in first:
            continue
        first.add(key)
        for pause in case.seen.paused:
            is_meant = pause["stage"] in ("", each["stage"])
            is_over = pause["until"] is not None and pause["until"] <= each["commit"]
            if is_meant and pause["since"] < each["commit"] and not is_over:
                yield where_of(each), f"was handed out while {pause['stage'] or 'all'} was paused"


def u1(case: Case) -> Iterator[Finding]:
    """Work is withdrawn with the transition that ends its attempt: an upgrade, a timeout, a request."""
    for each in case.seen.stale_work:
        yield where_of(each), f"is still with {each['worker']} although its record has moved on"


def n1(case: Case) -> Iterator[Finding]:
    """A decision that was stored is made, unless its author took it back or the record moved before."""
    for each in case.seen.decisions:
        where = f"{each['record_id']} version {each['version']}"
        after = case.at_version.get((each["record_id"], each["version"] + 1))
        is_made = after is not None and after["actor"] == each["actor"]
        if each["is_undone"] and is_made:
            yield where, f"the decision of {each['actor']} was made although it was taken back"
        elif not each["is_undone"] and after is None:
            yield where, f"the decision of {each['actor']} was stored and is not made"
        elif is_made and after is not None and not _is_meant(after["trigger"], each["trigger"]):
            yield where, f"{each['actor']} decided {each['trigger']}, not {after['trigger']}"


def _is_meant(made: str, decided: str) -> bool:
    """Whether a decision became this transition: the first of several approvals leaves the review open."""
    name, _, answer = decided.partition(".")
    return made == decided or (
        answer == "approved" and made in (f"{name}.endorsed", f"{name}.corrected")
    )
