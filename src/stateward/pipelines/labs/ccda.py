"""C-CDA and other CDA documents in XML: the observations of their results sections.

What is a result is told by templates and by the codes of sections; vital signs and social history are observations
too, but no laboratory results.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.kit.xml import local_name, parse_xml
from stateward.pipelines.labs.analytes import is_loinc
from stateward.pipelines.labs.model import (
    BAD_CODE,
    DAMAGED,
    UNSUPPORTED_VALUE,
    LabReading,
    Observation,
    Place,
)
from stateward.pipelines.labs.source import ReportSource, hl7_time

LOINC = "2.16.840.1.113883.6.1"
RESULT_SECTIONS = frozenset(
    {"2.16.840.1.113883.10.20.22.2.3", "2.16.840.1.113883.10.20.22.2.3.1", "2.16.840.1.113883.10.20.1.14",
     "1.3.6.1.4.1.19376.1.3.3.2.1", "1.3.6.1.4.1.19376.1.3.3.2.2", "1.3.6.1.4.1.19376.1.5.3.1.3.27",
     "1.3.6.1.4.1.19376.1.5.3.1.3.28"}
)  # fmt: skip
# LOINC codes of sections: results, and the specialties of laboratory reports.
SECTION_CODES = frozenset(
    {"30954-2", "26436-6", "18717-9", "18718-7", "18719-5", "18720-3", "18721-1", "18722-9", "18723-7", "18724-5",
     "18725-2", "18727-8", "18728-6", "18729-4", "18767-4", "18768-2", "18769-0", "26435-8", "26437-4", "26438-2",
     "56874-1", "56846-9"}
)  # fmt: skip
RESULT_ORGANIZER = "2.16.840.1.113883.10.20.22.4.1"
RESULT_OBSERVATION = "2.16.840.1.113883.10.20.22.4.2"
STATUSES = {
    "active": "pending",
    "completed": "final",
    "aborted": "cancelled",
    "held": "pending",
    "cancelled": "cancelled",
}
MEANINGS = {"true": "positive", "false": "negative"}
XSI_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
# A section by itself, as examples and fragments are passed on: without the namespaces that its document declares.
_PART = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*(?=<(?:section|component)\b)",
    re.DOTALL,
)
_WHOLE = (
    b'<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" xmlns:voc="urn:hl7-org:v3/voc" '
    b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">%b</ClinicalDocument>'
)

Element: TypeAlias = etree._Element


def read_ccda(source: ReportSource) -> LabReading:
    """Every result of a document."""
    reading = LabReading(format="ccda", observations=[], decisions=[], skipped={}, patients=1)
    root = _root(source, reading)
    if local_name(root) != "ClinicalDocument":
        raise FatalFailure(
            "the XML is no clinical document (CDA); export the report as C-CDA, FHIR or HL7",
            code="UNKNOWN_FORMAT",
        )
    patient = _patient(root, source)
    narrative = _narrative(root)
    for element in root.iter():
        if local_name(element) != "observation" or element.get("moodCode", "EVN") != "EVN":
            continue
        if not _is_result(element):
            key = "observations outside of results sections are left out"
            reading.skipped[key] = reading.skipped.get(key, 0) + 1
            continue
        if element.get("negationInd") == "true":
            reading.skipped["negated observations are left out"] = (
                reading.skipped.get("negated observations are left out", 0) + 1
            )
            continue
        reading.observations.append(_observation(element, narrative, patient))
        if len(reading.observations) > source.results_max:
            raise FatalFailure(
                f"the file has more than {source.results_max} results; split it, or raise labs.results_max",
                code="TOO_LARGE",
            )
    reading.decisions.append(f"C-CDA: {len(reading.observations)} observations")
    return reading


def _root(source: ReportSource, reading: LabReading) -> Element:
    """The document; of a damaged one, on a later attempt, all but the observation in which it may end."""
    data = source.data()
    if part := _PART.match(data):
        data = _WHOLE % data[part.end() :]
    damage: list[str] = []
    try:
        root = parse_xml(
            data, name="the report", on_damaged=damage.append if source.attempt else None
        )
    except FatalFailure as error:
        if error.code != CORRUPT_FILE:
            raise FatalFailure(error.message, code=error.code) from None
        # What libxml2 says of a damaged file may quote it.
        raise FatalFailure(
            "the XML of the report is damaged or incomplete; save or download it again",
            code=CORRUPT_FILE,
        ) from None
    if damage:
        _drop_last_observation(root)
        reading.decisions.append(
            f"{DAMAGED}: the file ends too early or is damaged, and results may be missing; the last one is left out"
        )
    return root


def _drop_last_observation(root: Element) -> None:
    observations = [each for each in root.iter() if local_name(each) == "observation"]
    if observations and (parent := observations[-1].getparent()) is not None:
        parent.remove(observations[-1])


def _is_result(observation: Element) -> bool:
    """Whether an observation is a result: by its own template, its organizer's, or its section."""
    if RESULT_OBSERVATION in _templates(observation):
        return True
    for above in observation.iterancestors():
        match local_name(above):
            case "observation":
                return False  # a remark about another observation
            case "organizer" if RESULT_ORGANIZER in _templates(above):
                return True
            case "section":
                code = _child(above, "code")
                return bool(RESULT_SECTIONS & _templates(above)) or (
                    code is not None and code.get("code") in SECTION_CODES
                )
    return False


def _observation(element: Element, narrative: dict[str, str], patient: str) -> Observation:
    code, name, local, problems = _identity(_child(element, "code"), narrative)
    value, unit, is_supported = _value(_child(element, "value"), narrative)
    if not is_supported:
        problems = (*problems, UNSUPPORTED_VALUE)
    organizer = next(
        (each for each in element.iterancestors() if local_name(each) == "organizer"), None
    )
    status = _attribute(_child(element, "statusCode"), "code")
    return Observation(
        test=name or _referenced_text(element, narrative) or code or local,
        value=value,
        unit=unit,
        range=_range(element, unit, narrative),
        flag="~".join(
            filter(
                None, (each.get("code", "") for each in _children(element, "interpretationCode"))
            )
        ),
        code=code,
        local_code=local,
        specimen=_specimen(element) or ("" if organizer is None else _specimen(organizer)),
        collected=_time(element) or ("" if organizer is None else _time(organizer)),
        status=STATUSES.get(status, status) if value or status != "completed" else "final",
        section="" if organizer is None else _identity(_child(organizer, "code"), narrative)[1],
        comment=_comment(element, narrative),
        patient_key=patient,
        decimal=".",
        meaning=MEANINGS.get(value, "") if _is_truth(_child(element, "value")) else "",
        problems=problems,
        where=Place(line=int(element.sourceline or 0) or None),
    )


def _identity(
    code: Element | None, narrative: dict[str, str]
) -> tuple[str, str, str, tuple[str, ...]]:
    if code is None:
        return "", "", "", ()
    loinc = local = ""
    problems: tuple[str, ...] = ()
    for each in (code, *_children(code, "translation")):
        found = each.get("code", "")
        if each.get("codeSystem") == LOINC:
            if is_loinc(found):
                loinc = loinc or found
            elif found:
                problems = (BAD_CODE,)
        else:
            local = local or found
    names = (each.get("displayName", "") for each in (code, *_children(code, "translation")))
    text = _child(code, "originalText")
    shown = "" if text is None else _plain(text) or _referenced_text(code, narrative)
    return loinc, next(filter(None, names), "").replace("\u200b", "") or shown, local, problems


def _value(value: Element | None, narrative: dict[str, str]) -> tuple[str, str, bool]:
    if value is None:
        return "", "", True
    # An interval of quantities and one of integers, a ratio of either: the kind in front says enough.
    kind = value.get(XSI_TYPE, "").rpartition(":")[2].partition("_")[0]
    match kind:
        case "PQ" | "REAL" | "INT" | "MO":
            return *_quantity(value), True
        case "IVL":
            return *_interval(value), True
        case "RTO":
            first = _attribute(_child(value, "numerator"), "value")
            return f"{first}:{_attribute(_child(value, 'denominator'), 'value')}", "", True
        case "CD" | "CE" | "CO" | "CV" | "CS":
            text = _child(value, "originalText")
            shown = "" if text is None else _plain(text) or _referenced_text(value, narrative)
            return value.get("displayName", "") or shown or value.get("code", ""), "", True
        case "ST" | "ED" | "":
            return _plain(value) or _referenced_text(value, narrative), "", True
        case "BL":
            return value.get("value", "") if value.get("value") in MEANINGS else "", "", True
        case "TS":
            return hl7_time(value.get("value", "")), "", True
    return "", "", False


def _is_truth(value: Element | None) -> bool:
    return value is not None and value.get(XSI_TYPE, "").rpartition(":")[2] == "BL"


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _quantity(value: Element | None) -> tuple[str, str]:
    """Number and unit; of one whose unit is not in UCUM, both as the laboratory sent them (`translation`)."""
    if value is None:
        return "", ""
    for each in (value, *_children(value, "translation")):
        if number := each.get("value", ""):
            text = _child(each, "originalText")
            named = "" if text is None else _plain(text)
            return number, _unit(each.get("unit", "") or each.get("code", "") or named)
    return "", _unit(value.get("unit", ""))


def _interval(value: Element) -> tuple[str, str]:
    """An interval as a text: `3.5-5.1`, `<5` (excluded), `<=5`."""
    low, high = _child(value, "low"), _child(value, "high")
    (first, of_first), (last, of_last) = _quantity(low), _quantity(high)
    unit = of_first or of_last
    if first and last:
        return f"{first}-{last}", unit
    if last:
        return ("<" if high is not None and high.get("inclusive") == "false" else "<=") + last, unit
    if first:
        return (">" if low is not None and low.get("inclusive") == "false" else ">=") + first, unit
    return "", unit


def _range(element: Element, unit: str, narrative: dict[str, str]) -> str:
    texts = []
    for told in _children(element, "referenceRange"):
        inner = _child(told, "observationRange")
        if inner is None:
            continue
        value = _child(inner, "value")
        interval, own = ("", "") if value is None else _interval(value)
        text = _child(inner, "text")
        shown = "" if text is None else _plain(text) or _referenced_text(inner, narrative)
        tail = f" {own}" if own and own != unit else ""
        texts.append(f"{interval}{tail}" if interval else shown)
    told_texts = list(filter(None, texts))
    return told_texts[0] if len(told_texts) == 1 else "; ".join(told_texts)


def _specimen(element: Element) -> str:
    for each in element.iter():
        if local_name(each) == "specimenPlayingEntity":
            code = _child(each, "code")
            name = _child(each, "name")
            return (
                _attribute(code, "displayName")
                or ("" if name is None else _plain(name))
                or _attribute(code, "code")
            )
    return ""


def _time(element: Element) -> str:
    time = _child(element, "effectiveTime")
    if time is None:
        return ""
    low = _child(time, "low")
    return hl7_time(time.get("value", "") or _attribute(low, "value"))


def _comment(element: Element, narrative: dict[str, str]) -> str:
    texts = []
    for related in _children(element, "entryRelationship"):
        act = _child(related, "act")
        text = None if act is None else _child(act, "text")
        if text is not None:
            texts.append(_plain(text) or _referenced_text(act, narrative))
    return "\n".join(filter(None, texts))


def _patient(root: Element, source: ReportSource) -> str:
    for each in root.iter():
        if local_name(each) == "patientRole":
            number = _child(each, "id")
            if number is not None and number.get("extension"):
                return source.patient(number.get("extension", ""))
            person = _child(each, "patient")
            name = None if person is None else _child(person, "name")
            birth = None if person is None else _child(person, "birthTime")
            return source.patient(
                f"{'' if name is None else _plain(name)} {_attribute(birth, 'value')}"
            )
    return ""


def _narrative(root: Element) -> dict[str, str]:
    """The texts that entries refer to, by their id."""
    return {
        number: _plain(each)
        for each in root.iter()
        if (number := each.get("ID")) is not None and isinstance(each.tag, str)
    }


def _referenced_text(element: Element, narrative: dict[str, str]) -> str:
    for each in element.iter():
        if local_name(each) == "reference" and each.get("value", "").startswith("#"):
            return narrative.get(each.get("value", "")[1:], "")
        if local_name(each) == "entryRelationship":
            break
    return ""


def _plain(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _children(element: Element, name: str) -> Iterator[Element]:
    return (each for each in element if local_name(each) == name)


def _child(element: Element, name: str) -> Element | None:
    return next(_children(element, name), None)


def _attribute(element: Element | None, name: str) -> str:
    return "" if element is None else element.get(name, "") or ""


def _templates(element: Element) -> frozenset[str]:
    return frozenset(each.get("root", "") for each in _children(element, "templateId"))
