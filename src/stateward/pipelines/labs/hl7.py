"""HL7 version 2: messages of segments, fields and components. Every OBX segment is an observation.

The delimiters are those that the message declares. A file may hold several messages, framed for a connection (MLLP) or
batched, and segments may end with any line end.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from stateward.core.errors import FatalFailure
from stateward.pipelines.labs.analytes import is_loinc
from stateward.pipelines.labs.model import (
    BAD_CODE,
    FILE_CUT,
    UNSUPPORTED_VALUE,
    LabReading,
    Observation,
    Place,
)
from stateward.pipelines.labs.persons import SEVERAL, UNTOLD, Person, are_several
from stateward.pipelines.labs.source import ReportSource, hl7_time
from stateward.pipelines.labs.words import HL7_SPECIMENS

HEADERS = (b"MSH", b"FHS", b"BHS")
STATUSES = {
    "F": "final", "P": "preliminary", "C": "corrected", "I": "pending", "S": "partial", "X": "cancelled",
    "R": "unverified", "D": "deleted", "W": "wrong", "N": "not asked", "O": "order only", "U": "final",
    "A": "amended", "B": "appended",
}  # fmt: skip
GONE = frozenset({"D", "W", "N"})  # told so that a receiver forgets an earlier result
# A correction, and what withdraws: the result that came before under the same identity does not hold any more.
REPLACING = frozenset({"C", "D", "W"})
CORRECTED = "results that the file itself corrects or withdraws are left out"
LOINC_NAMES = frozenset({"ln", "loinc"})
STATUS_FIELD = 11  # of an OBX, and required: what ends before it is not whole
TEXT_TYPES = frozenset({"TX", "FT", "ST"})
UNSUPPORTED = frozenset({"ED", "RP", "MA", "NA"})  # embedded documents, pointers, wave forms
# Messages in which an OBX is no laboratory result: a weight, what a vaccine was paid by, what an order asks for.
OTHER_MESSAGES = frozenset(
    {"ACK", "ADT", "BAR", "DFT", "MDM", "MFN", "OMG", "OML", "OMP", "ORM", "PPR", "RDE", "RDS", "SIU", "VXU"}
)  # fmt: skip
# `x10^9/L` with its caret not escaped is two components.
_POWER_BASE = re.compile(r"(?:^|[x*× ])10$", re.IGNORECASE)
_POWER = re.compile(r"[0-9]{1,2} ?/")
_LETTER = re.compile(r"[^\W\d_]")
_SEPARATORS = re.compile(r"[\r\n]+")


class Delimiters(msgspec.Struct, frozen=True):
    """The delimiters of one message."""

    field: str = "|"
    component: str = "^"
    repetition: str = "~"
    escape: str = "\\"
    subcomponent: str = "&"

    @classmethod
    def of(cls, header: str) -> "Delimiters":
        """Those that a header segment declares in its first two fields."""
        if len(header) < 5:
            return cls()
        field = header[3]
        signs = (header[4:].partition(field)[0] + "^~\\&"[len(header[4:].partition(field)[0]) :])[
            :4
        ]
        return cls(field, *signs)


class Segment:
    """One segment: fields by the numbers of the standard."""

    def __init__(self, text: str, line: int, signs: Delimiters) -> None:
        self.line = line
        self.name = text[:3]
        self._fields = text.split(signs.field)
        self._signs = signs

    def __len__(self) -> int:
        """How many fields there are, the name of the segment among them."""
        return len(self._fields)

    def raw(self, number: int) -> str:
        """A field as it is; "" if it is missing or explicitly empty."""
        found = self._fields[number] if number < len(self._fields) else ""
        return "" if found == '""' else found

    def text(self, number: int, component: int = 1) -> str:
        """A component of the first repetition of a field, unescaped."""
        first = self.raw(number).split(self._signs.repetition)[0]
        parts = first.split(self._signs.component)
        return self.plain(parts[component - 1]) if component <= len(parts) else ""

    def repetitions(self, number: int) -> list[str]:
        """The repetitions of a field."""
        return [part for part in self.raw(number).split(self._signs.repetition) if part]

    def components(self, field: str) -> list[str]:
        """The components of a repetition, unescaped."""
        return [self.plain(part) for part in field.split(self._signs.component)]

    def plain(self, text: str) -> str:
        """A text without escape sequences."""
        signs = self._signs
        if not signs.escape or signs.escape not in text:
            return text.strip()
        mark = re.escape(signs.escape)
        return re.sub(rf"{mark}([^{mark}]*){mark}", self._unescape, text).strip()

    def _unescape(self, found: re.Match[str]) -> str:
        code, signs = found[1], self._signs
        known = {
            "F": signs.field, "S": signs.component, "R": signs.repetition, "E": signs.escape, "T": signs.subcomponent,
            ".br": "\n", ".sp": "\n", "H": "", "N": "",
        }  # fmt: skip
        if code in known:
            return known[code]
        if re.fullmatch(r"X(?:[0-9A-Fa-f]{2})+", code):
            return bytes.fromhex(code[1:]).decode("latin-1")
        return ""


class _Order(msgspec.Struct):
    """An OBR with what belongs to it."""

    number: str = ""
    panel: str = ""
    collected: str = ""
    received: str = ""
    resulted: str = ""
    specimen: str = ""
    first: int = 0  # the index of its first observation


class _Patient(msgspec.Struct, frozen=True):
    """Whose the results of a message are: by the keyed hash, and by what tells patients of one file apart."""

    key: str = ""
    number: str = ""


class _Corrections:
    """Which results of a file take the place of earlier ones of it, or withdraw them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[int, tuple[str, int]]] = {}
        self.superseded: set[int] = set()

    def take(self, identity: tuple[str, ...], status: str, order: int, at: int | None) -> None:
        """A result, which stands at a place of the reading, or nowhere if it only withdraws another one.

        Two corrections in one order correct two results that were sent before, and not each other.
        """
        earlier, how = self._known.get(identity, (None, None))
        if earlier is not None and status in REPLACING and how != (status, order):
            self.superseded.add(earlier)
        if at is not None:
            self._known[identity] = at, (status, order)


def read_hl7(source: ReportSource) -> LabReading:
    """Every observation of every message."""
    text = _text(source.data())
    reading = LabReading(format="hl7", observations=[], decisions=[], skipped={})
    patients: list[Person] = []
    number = 0
    last: list[Segment] = []
    corrections = _Corrections()
    for segments in _messages(text):
        number += 1
        told = len(patients)
        _read_message(segments, reading, source, patients, corrections)
        if are_several(patients[told:]) and SEVERAL not in reading.decisions:
            reading.decisions.append(SEVERAL)
        last = segments
        if len(reading.observations) > source.results_max:
            raise FatalFailure(
                f"the file has more than {source.results_max} results; split it, or raise labs.results_max",
                code="TOO_LARGE",
            )
    if corrections.superseded:
        reading.observations = [
            each for at, each in enumerate(reading.observations) if at not in corrections.superseded
        ]
        reading.skipped[CORRECTED] = len(corrections.superseded)
    if _is_cut(text, last):
        reading.decisions.append(
            f"{FILE_CUT}: the file ends inside a segment; results are missing, so have it sent again"
        )
    reading.patients = len(patients)
    if not source.patient_key and SEVERAL not in reading.decisions and are_several(patients):
        reading.decisions.append(UNTOLD)
    reading.decisions.append(
        f"HL7 version 2: {number} messages, {len(reading.observations)} observations"
    )
    return reading


def _text(data: bytes) -> str:
    declared = re.search(rb"\|(UNICODE UTF-8|8859/1|ASCII|UNICODE)(?:\||\r|\n|~)", data[:2000])
    data = data.removeprefix(b"\xef\xbb\xbf")
    if declared is not None and declared[1] == b"8859/1":
        return data.decode("latin-1")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _messages(text: str) -> Iterator[list[Segment]]:
    """The segments of each message; lines that begin with no segment name continue the field before."""
    found: list[Segment] = []
    signs = Delimiters()
    for line, raw in enumerate(_lines(text), start=1):
        segment = raw.strip("\x0b\x1c \t")
        name = segment[:3]
        if name in ("MSH", "FHS", "BHS"):
            signs = Delimiters.of(segment)
        if name == "MSH" and found:
            yield found
            found = []
        if re.fullmatch(r"[A-Z][A-Z0-9]{2}", name) and segment[3:4] in (signs.field, ""):
            found.append(Segment(_shift(segment, signs), line, signs))
        elif segment and found:
            found[-1]._fields[-1] += f"\n{segment}"
    if found:
        yield found


def _is_cut(text: str, last: list[Segment]) -> bool:
    """Whether the file ends inside a result: its last line is not ended, and shorter than every result before it.

    Or inside the name of a segment.
    """
    if not last or text.endswith(("\r", "\n", "\x1c")):
        return False
    if re.fullmatch(r"[A-Z][A-Z0-9]?", _lines(text)[-1]):
        return True
    if last[-1].name != "OBX" or len(last[-1]) > STATUS_FIELD:
        return False
    return all(len(last[-1]) < len(each) for each in last[:-1] if each.name == "OBX")


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _shift(segment: str, signs: Delimiters) -> str:
    """A header with its first field, which is the field delimiter itself, so that fields have their numbers."""
    if segment[:3] not in ("MSH", "FHS", "BHS"):
        return segment
    return segment[:3] + signs.field + segment[3:]


def _read_message(
    segments: list[Segment],
    reading: LabReading,
    source: ReportSource,
    patients: list[Person],
    corrections: _Corrections,
) -> None:
    kind = next((each.text(9).upper() for each in segments if each.name == "MSH"), "")
    if kind in OTHER_MESSAGES:
        left_out = f"messages of the type {kind} are left out: they carry no laboratory results"
        reading.skipped[left_out] = reading.skipped.get(left_out, 0) + 1
        return
    patient = _Patient()
    order = _Order(first=len(reading.observations))
    names = [each.name for each in segments]
    # An analyser tells the specimen first, then the orders for it and their results; elsewhere it follows them.
    is_specimen_first = "OBR" in names and "SPM" in names[: names.index("OBR")]
    specimen = order
    for segment in segments:
        match segment.name:
            case "PID":
                patient = _patient(segment, source)
                patients.append(_person(segment))
            case "OBR":
                order = _order(segment, len(reading.observations))
                if is_specimen_first:
                    order.specimen = order.specimen or specimen.specimen
                    order.collected = order.collected or specimen.collected
            case "OBX":
                _take(segment, order, patient, reading, corrections)
            case "SPM":
                if is_specimen_first:
                    order = specimen = _Order(first=len(reading.observations))
                _take_specimen(segment, order, reading)
            case "NTE" if len(reading.observations) > order.first:
                _take_note(segment, reading)


def _patient(segment: Segment, source: ReportSource) -> _Patient:
    """The patient by number, else by name and birthday."""
    number = segment.text(3) or segment.text(2) or segment.text(4)
    number = number or f"{segment.raw(5)} {segment.text(7)}"
    return _Patient(source.patient(number), number)


def _person(segment: Segment) -> Person:
    names = (" ".join(segment.components(each)[:2]) for each in segment.repetitions(5))
    numbers = (segment.components(each)[0] for at in (2, 3) for each in segment.repetitions(at))
    return Person.of(numbers=numbers, names=names, birth=segment.text(7)[:8])


def _order(segment: Segment, first: int) -> _Order:
    source = segment.text(15)
    return _Order(
        number=segment.text(3) or segment.text(2),
        panel=segment.text(4, 2) or segment.text(4),
        collected=hl7_time(segment.text(7)),
        received=hl7_time(segment.text(14)),
        resulted=hl7_time(segment.text(22)),
        specimen=HL7_SPECIMENS.get(
            source.partition("&")[0].upper(), source.partition("&")[2] or source
        ),
        first=first,
    )


def _take(
    segment: Segment,
    order: _Order,
    patient: _Patient,
    reading: LabReading,
    corrections: _Corrections,
) -> None:
    status = segment.text(11).upper()
    code, name, local, problems = _identity(segment)
    collected = _collection_time(hl7_time(segment.text(14)), order)
    # Where nothing tells when a specimen was taken or which order it was, only a result of the same order is the same.
    told = collected or order.number or str(order.first)
    identity = (
        patient.number, order.number, order.panel, told, code or local or name, segment.text(4)
    )  # fmt: skip
    if status in GONE:
        corrections.take(identity, status, order.first, None)
        reading.skipped["results withdrawn by their sender are left out"] = (
            reading.skipped.get("results withdrawn by their sender are left out", 0) + 1
        )
        return
    kind = segment.text(2).upper()
    value = _value(segment, kind)
    if kind in UNSUPPORTED:
        problems = (*problems, UNSUPPORTED_VALUE)
    previous = reading.observations[-1] if len(reading.observations) > order.first else None
    if previous is not None and kind in TEXT_TYPES and _continues(previous, segment, name, value):
        joined = f"{previous.value}\n{value}"
        reading.observations[-1] = replace(previous, value=joined)
        return
    corrections.take(identity, status, order.first, len(reading.observations))
    reading.observations.append(
        Observation(
            test=name or code or local,
            value=value,
            unit=_unit(segment),
            range=segment.plain(segment.raw(7)),
            flag="~".join(segment.plain(each.partition("^")[0]) for each in segment.repetitions(8)),
            code=code,
            local_code=local,
            specimen=order.specimen,
            collected=collected,
            resulted=hl7_time(segment.text(19)) or order.resulted,
            status=STATUSES.get(status, status.lower()),
            section=order.panel,
            patient_key=patient.key,
            decimal=".",
            problems=problems,
            where=Place(line=segment.line),
        )
    )


def _collection_time(observed: str, order: _Order) -> str:
    """When the specimen was taken: by the observation itself, unless its time is that of its result.

    Some laboratories give there when they reported, which is not before the specimen had arrived.
    """
    if not order.collected or not observed:
        return observed or order.collected
    is_of_result = observed == order.resulted or (order.received and observed > order.received)
    return order.collected if is_of_result and observed > order.collected else observed


def _identity(segment: Segment) -> tuple[str, str, str, tuple[str, ...]]:
    """LOINC code, name and local code of a test; a code with a wrong check digit is flagged and not used."""
    code = local = name = ""
    problems: tuple[str, ...] = ()
    for at in (1, 4):
        found, text, system = (segment.text(3, at + step) for step in range(3))
        if not found and not text:
            continue
        name = name or text
        if system.casefold() in LOINC_NAMES or (not system and is_loinc(found)):
            if is_loinc(found):
                code = code or found
            else:
                problems = (BAD_CODE,)
                local = local or found
        else:
            local = local or found
    if not name and not code and local.isdigit() and _LETTER.match(segment.text(4)):
        name = segment.text(4)  # analysers number their tests, and name them where others count
    return code, name, local, problems


def _unit(segment: Segment) -> str:
    """The printed unit; the UCUM code where the field says that it is one."""
    code, text, system = (segment.text(6, at) for at in (1, 2, 3))
    if system.upper() == "UCUM" and code:
        return code
    if _POWER_BASE.search(code) and _POWER.match(text):
        return f"{code}^{text}"
    return code or text


def _value(segment: Segment, kind: str) -> str:
    """The value as one text, whatever its type."""
    texts = []
    for repetition in segment.repetitions(5):
        parts = segment.components(repetition)
        match kind:
            case "SN":
                texts.append(_structured_value(parts))
            case "CE" | "CWE" | "CNE" | "CF":
                texts.append(
                    next((part for part in (*parts[1:2], *parts[8:9], *parts[:1]) if part), "")
                )
            case "TS" | "DTM" | "DT":
                texts.append(hl7_time(parts[0]) or parts[0])
            case "ED" | "RP":
                texts.append("")
            case _:
                texts.append(
                    segment.plain(
                        repetition.partition("^")[0] if kind in ("NM", "CQ") else repetition
                    )
                )
    return "\n".join(texts).strip()


def _structured_value(parts: list[str]) -> str:
    """SN: a comparator, a number, a separator and a second number: `>^100`, `^1^:^160`, `^0^-^2`."""
    sign, first, separator, second = (*parts, "", "", "", "")[:4]
    return f"{sign.strip()}{first.strip()}{separator.strip()}{second.strip()}"


def _continues(previous: Observation, segment: Segment, name: str, value: str) -> bool:
    """Whether a segment is one more line of the text before: the same test and no number, unit or range."""
    is_same = (
        bool(name)
        and previous.test == name
        and previous.local_code in ("", segment.text(3), segment.text(3, 4))
    )
    is_prose = segment.text(2).upper() in ("TX", "FT") and not segment.raw(6) and not segment.raw(7)
    return is_same and is_prose and bool(value) and not previous.unit


def _take_specimen(segment: Segment, order: _Order, reading: LabReading) -> None:
    """A specimen follows the results that were made from it."""
    code, text = segment.text(4), segment.text(4, 2)
    specimen = HL7_SPECIMENS.get(code.upper(), text or code)
    collected = hl7_time(segment.text(17))
    for at in range(order.first, len(reading.observations)):
        each = reading.observations[at]
        reading.observations[at] = replace(
            each,
            specimen=each.specimen or specimen,
            collected=each.collected or collected,
        )
    order.specimen = order.specimen or specimen
    order.collected = order.collected or collected


def _take_note(segment: Segment, reading: LabReading) -> None:
    note = "\n".join(segment.plain(each) for each in segment.repetitions(3))
    last = reading.observations[-1]
    reading.observations[-1] = replace(last, comment=f"{last.comment}\n{note}".strip())
