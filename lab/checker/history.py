"""What the checker reads: an export as plain dicts, what outsiders saw, and the form of both (the laws F1, F2)."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

Line: TypeAlias = dict[str, Any]

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
    "record_prev": TEXT, "seal": TEXT, "lane": NUMBER, "lane_seq": NUMBER, "lane_prev": TEXT, "lane_hash": TEXT,
}  # fmt: skip
RECORD_FIELDS = {
    "record_id": TEXT, "machine": TEXT, "machine_version": NUMBER, "status": TEXT, "version": NUMBER,
    "created_at": MOMENT, "entered_at": MOMENT, "priority": NUMBER, "rank": NUMBER, "waiting": "text or null",
    "due_at": "time or null", "worker": "text or null", "asked_by": "text or null", "retry_count": NUMBER,
    "last_retry_at": "time or null",
    "failed_from": "text or null", "error_code": "text or null", "error_message": "text or null",
    "rest": "text or null", "artifact": "text or null", "dedupe": "text or null", "replaces": "text or null",
    "labels": MAPPING, "fields": MAPPING, "outputs": MAPPING, "head": TEXT,
}  # fmt: skip
DISPOSITION_FIELDS = {
    "event_id": TEXT, "event_type": TEXT, "record_id": TEXT, "version": "number or null", "actor": TEXT,
    "reason": TEXT, "detail": TEXT, "at": MOMENT,
}  # fmt: skip
DEAD_LETTER_FIELDS = {"kind": TEXT, "body": TEXT, "reason": TEXT, "at": MOMENT}


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

    # Submits that were answered: record_id, machine, dedupe.
    acks: list[Line] = []
    # Transitions that a caller was told of: record_id, version, to, hash or None.
    moves: list[Line] = []
    # Sent, once for each time: id, type, version, is_accepted, is_lost, is_forged, is_retryable, error_code, is_blind:
    # an overrun that the clock told of although the completion mark was there.
    events: list[Line] | None = None
    # What arrived and was no event; what still waits; work that is still out (record_id, version).
    garbled: list[str] = []
    inbox: list[str] = []
    work: list[Line] = []
    # Work given out, in order: record_id, version, delivery, worker, at, stage, commit (the number of its commit).
    handed: list[Line] | None = None
    # Outputs: record_id, version, worker, is_failed, error_code, count, items.
    marks: list[Line] | None = None
    # Effects: record_id, version, kind.
    effects: list[Line] | None = None
    pauses: list[Line] = []  # machine, stage
    # Pauses that were answered: stage, since, until (numbers of commits; None while it lasts).
    paused: list[Line] = []
    # Work that was lost before and begun: record_id, version, delivery; work that was out though its record moved on.
    begun: list[Line] = []
    stale_work: list[Line] = []
    redelivery: Line | None = None  # deliveries_max, redeliveries_max
    # Decisions that people were told are stored: record_id, version, actor, trigger, is_undone.
    decisions: list[Line] = []
    # Erasures that were answered: record_id, kinds; what was found of the values of erased records: record_id, place,
    # value; what records do not have: record_id, kind, what; anchors that were taken before.
    erasures: list[Line] = []
    remains: list[Line] = []
    lacks: list[Line] = []
    checkpoints: list[Line] = []
    # Holds that were answered: record_id, since, until (numbers of transitions; None while it lasts), missing.
    holds: list[Line] = []
    retention: Line | None = None  # statuses, older_than_s, delete
    is_own_refused: bool = False  # no person may accept what they submitted
    in_force: dict[str, int] = {}  # machine, and the version that takes over from older ones
    ageing_s: float | None = None  # what a point of priority is worth, where dispatch was strict
    now: str | None = None
    slack_s: float = 0.0  # how long clocks may have gone unread, and how far they jumped
    is_healed: bool = False


class History(msgspec.Struct, kw_only=True):
    """An exported history with the machines that made it. The same machine may stand here in several tunings."""

    transitions: list[Line]
    machines: list[Line]
    records: list[Line] | None = None
    dispositions: list[Line] = []
    dead_letters: list[Line] = []
    anchor: Line | None = None
    seen: Seen = msgspec.field(default_factory=Seen)


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


def malformed(history: History) -> Iterator[Violation]:
    for name, fields in FILES.items():
        for number, line in enumerate(getattr(history, name) or (), 1):
            for field, kind in fields.items():
                value = line.get(field, ...)
                if type(value) not in TYPES[kind] or (kind in MOMENTS and not _is_moment(value)):
                    sentence = f"{field} must be a {kind}, not {line.get(field, 'missing')!r}"
                    yield Violation(law="F2", where=f"{name}:{number}", sentence=sentence)


def _is_moment(value: object) -> bool:
    return value is None or TIME.fullmatch(str(value)) is not None
