"""FHIR in JSON: a Bundle, a DiagnosticReport or an Observation, of R2 to R5, or one resource a line (NDJSON).

Numbers stay as they are written (1.10 is not 1.1). Each object remembers where in the text it stands.
"""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE
from stateward.pipelines.labs.analytes import is_loinc
from stateward.pipelines.labs.model import (
    BAD_CODE,
    DAMAGED,
    UNIT_UNSURE,
    UNSUPPORTED_VALUE,
    LabReading,
    Observation,
    Place,
)
from stateward.pipelines.labs.persons import SEVERAL, UNTOLD, Person, are_several
from stateward.pipelines.labs.source import ReportSource
from stateward.pipelines.labs.torn import whole_part
from stateward.pipelines.labs.units import candidates

DEPTH_MAX = 60
PLACES_MAX = 100  # of a number, before or behind its point
SPAN = "\x00span"  # no key of a document: JSON texts that are stored hold no such character
LOINC_SYSTEMS = frozenset(
    {"http://loinc.org", "https://loinc.org", "urn:oid:2.16.840.1.113883.6.1"}
)
UCUM_SYSTEM = "http://unitsofmeasure.org"
# Observations of these categories are no laboratory results.
OTHER_CATEGORIES = frozenset(
    {
        "vital-signs",
        "social-history",
        "survey",
        "exam",
        "therapy",
        "activity",
        "imaging",
        "procedure",
    }
)
# LOINC codes of blood pressure, pulse, breathing, temperature, oxygen by a clip, height, weight and body mass index.
VITAL_SIGNS = frozenset(
    "85354-9 55284-4 8480-6 8462-4 8867-4 9279-1 8310-5 59408-5 8302-2 29463-7 39156-5 85353-1".split()
)
# Reasons of FHIR that are answers; `unknown` and `error` are none.
ABSENT_CODES = frozenset(
    {
        "not-performed",
        "not-permitted",
        "not-asked",
        "asked-declined",
        "temp-unknown",
        "not-applicable",
    }
)
MEANINGS = {"true": "positive", "false": "negative"}
STATUSES = {"registered": "pending", "entered-in-error": "wrong"}
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]')

Json = Any
Object = dict[str, Any]


def read_fhir(source: ReportSource) -> LabReading:
    """Every laboratory observation of a document."""
    reading = LabReading(format="fhir", observations=[], decisions=[], skipped={})
    document = _document(source, reading)
    resources = list(_resources(document))
    index = _index(resources)
    grouped = _reports(resources, index)
    patients: set[str] = set()
    persons: dict[int, list[Person]] = {}  # of each report; 0 for observations of none
    for resource in resources:
        if resource.get("resourceType") != "Observation":
            continue
        if why := _why_skipped(resource):
            reading.skipped[why] = reading.skipped.get(why, 0) + 1
            continue
        subject = _subject(resource, index, source)
        patients.add(_reference(resource.get("subject")))
        report = grouped.get(id(resource), {})
        told = persons.setdefault(id(report) if report else 0, [_person(report, index)])
        told.append(_person(resource, index))
        reading.observations += _observations(resource, report, index, subject)
        if len(reading.observations) > source.results_max:
            raise FatalFailure(
                f"the file has more than {source.results_max} results; split it, or raise labs.results_max",
                code="TOO_LARGE",
            )
    reading.patients = len(patients)
    everyone = [each for told in persons.values() for each in told]
    persons.pop(0, None)
    if any(map(are_several, persons.values())) or (
        not _is_batch(document, persons) and are_several(everyone)
    ):
        reading.decisions.append(SEVERAL)
    elif not source.patient_key and are_several(everyone):
        reading.decisions.append(UNTOLD)
    reading.decisions.append(
        f"FHIR: {len(resources)} resources, {len(reading.observations)} observations"
    )
    return reading


def _is_batch(document: Json, reports: Mapping[int, object]) -> bool:
    """Whether a document holds what does not belong together: several reports, or the answer to a search."""
    kind = document.get("type") if isinstance(document, dict) else "list"
    return len(reports) > 1 or kind in ("list", "searchset", "history", "batch", "transaction")


def _person(resource: Object, index: Mapping[str, Object]) -> Person:
    """The subject of a resource, if it is a person who can be told from others."""
    reference = _reference(resource.get("subject"))
    patient = _target(resource.get("subject"), index)
    name = "/".join(reference.split("/")[-2:])
    numbers = [name] if name.startswith("Patient/") else []
    if patient is None or patient.get("resourceType") != "Patient":
        return Person.of(numbers=numbers if patient is None else ())
    numbers += [f"Patient/{patient['id']}"] if isinstance(patient.get("id"), str) else []
    told = [each for each in _list(patient.get("identifier")) if isinstance(each, dict)]
    names = [each for each in _list(patient.get("name")) if isinstance(each, dict)]
    return Person.of(
        numbers=[*numbers, *(_text_of(each.get("value")) for each in told)],
        names=[
            " ".join(
                map(_text_of, (each.get("text"), each.get("family"), *_list(each.get("given"))))
            )
            for each in names
        ],
        birth=_text_of(patient.get("birthDate")),
    )


def _document(source: ReportSource, reading: LabReading) -> Json:
    """The document; of one that ends too early, on a later attempt, the resources of its bundle that are whole."""
    text = source.data().decode("utf-8-sig")
    try:
        return _decode(text)
    except FatalFailure:
        whole = whole_part(text) if source.attempt else ""
        document = _decode(whole) if whole else None
        is_cut = isinstance(document, list) or (document or {}).get("resourceType") == "Bundle"
        if not is_cut:  # a resource without what was cut off says something else
            raise
        reading.decisions.append(
            f"{DAMAGED}: the file ends too early, and results may be missing; those that are whole were read"
        )
        return document


def _decode(text: str) -> Json:
    lines = text.splitlines()
    # As servers export in bulk (NDJSON): each line is a resource, and none goes on in the next one.
    is_listed = len(lines) > 1 and all(each[:1] == "{" for each in lines[:2])
    spans = _object_spans(text)

    def load(part: str) -> Json:
        return json.loads(
            part,
            parse_float=Decimal,
            parse_int=Decimal,
            parse_constant=_refuse_constant,
            # Objects are given in the order in which they close, which is the order of the spans.
            object_pairs_hook=lambda pairs: {**dict(pairs), SPAN: next(spans, (0, 0))},
        )

    try:
        found = [load(each) for each in lines if each.strip()] if is_listed else load(text)
    except RecursionError:
        raise _damage_error("is nested too deeply") from None
    except ValueError:
        raise _damage_error("is no valid JSON") from None
    if not isinstance(found, dict | list):
        raise _damage_error("is no FHIR resource")
    return found


def _object_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each object begins and ends, in the order in which they end."""
    opened: list[int] = []
    for found in _STRUCTURE.finditer(text):
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}" and opened:
            yield opened.pop(), found.end()


def _is_told_absent(node: Object) -> bool:
    """Whether the report says why there is no value: the test was not performed, or asked and not answered."""
    codings = (
        _list((node.get("dataAbsentReason") or {}).get("coding"))
        if isinstance(node.get("dataAbsentReason"), dict)
        else []
    )
    return any(isinstance(each, dict) and each.get("code") in ABSENT_CODES for each in codings)


def _refuse_constant(_: str) -> Json:
    raise ValueError


def _damage_error(how: str) -> FatalFailure:
    return FatalFailure(f"the FHIR document {how}; export it again", code=CORRUPT_FILE)


def _resources(node: Json, depth: int = 0) -> Iterator[Object]:
    """Every resource of a document: entries of bundles, contained ones, and lists of resources."""
    if depth > DEPTH_MAX:
        raise _damage_error("is nested too deeply")
    if isinstance(node, list):
        for each in node:
            yield from _resources(each, depth + 1)
    elif isinstance(node, dict) and isinstance(node.get("resource"), dict):
        yield from _resources(node["resource"], depth + 1)  # an entry that was cut out of a bundle
    elif isinstance(node, dict) and isinstance(node.get("resourceType"), str):
        if node["resourceType"] == "Bundle":
            for entry in _list(node.get("entry")):
                inner = entry.get("resource") if isinstance(entry, dict) else None
                if isinstance(inner, dict):
                    if isinstance(entry.get("fullUrl"), str):
                        inner["\x00url"] = entry["fullUrl"]
                    yield from _resources(inner, depth + 1)
            return
        yield node
        for inner in _list(node.get("contained")):
            if isinstance(inner, dict):
                inner["\x00in"] = id(node)
                yield from _resources(inner, depth + 1)


def _index(resources: list[Object]) -> dict[str, Object]:
    """Resources by every name that a reference may use."""
    index: dict[str, Object] = {}
    for each in resources:
        kind, number = each.get("resourceType"), each.get("id")
        if isinstance(number, str):
            index.setdefault(f"{kind}/{number}", each)
            index.setdefault(f"#{number}", each)
        if isinstance(each.get("\x00url"), str):
            index.setdefault(each["\x00url"], each)
    return index


def _reports(resources: list[Object], index: Mapping[str, Object]) -> dict[int, Object]:
    """The report that each observation belongs to, by the identity of the observation."""
    found: dict[int, Object] = {}
    for report in resources:
        if report.get("resourceType") == "DiagnosticReport":
            for reference in _list(report.get("result")):
                target = _target(reference, index)
                if target is not None:
                    found.setdefault(id(target), report)
    return found


def _target(reference: Json, index: Mapping[str, Object]) -> Object | None:
    text = _reference(reference)
    return index.get(text) or index.get("/".join(text.split("/")[-2:])) if text else None


def _reference(value: Json) -> str:
    text = value.get("reference") if isinstance(value, dict) else None
    return text.partition("/_history")[0] if isinstance(text, str) else ""


def _why_skipped(resource: Object) -> str:
    if resource.get("status") == "entered-in-error":
        return "results entered in error are left out"
    codes = {
        coding.get("code")
        for category in _list(resource.get("category"))
        for coding in _codings(category)
    }
    is_vital = not codes and not VITAL_SIGNS.isdisjoint(
        _text_of(coding.get("code")) for coding in _codings(resource.get("code"))
    )
    if is_vital or (codes & OTHER_CATEGORIES and "laboratory" not in codes):
        return "observations of other categories than laboratory are left out"
    if not _has_value(resource) and not _list(resource.get("component")):
        members = _list(resource.get("hasMember")) or _list(resource.get("related"))
        if members:
            return "panels only group other results"
    return ""


def _has_value(node: Object) -> bool:
    return any(key.startswith("value") for key in node)


def _subject(resource: Object, index: Mapping[str, Object], source: ReportSource) -> str:
    patient = _target(resource.get("subject"), index)
    if patient is None:
        return source.patient(_reference(resource.get("subject")))
    for identifier in _list(patient.get("identifier")):
        if isinstance(identifier, dict) and identifier.get("value"):
            return source.patient(str(identifier["value"]))
    names = [
        " ".join(map(str, [name.get("family", ""), *_list(name.get("given"))]))
        for name in _list(patient.get("name"))
        if isinstance(name, dict)
    ]
    return source.patient(f"{' '.join(names)} {patient.get('birthDate', '')}")


def _observations(
    resource: Object, report: Object, index: Mapping[str, Object], patient: str
) -> Iterator[Observation]:
    """An observation, or one for each component that has a value of its own."""
    components = [each for each in _list(resource.get("component")) if isinstance(each, dict)]
    if _has_value(resource) or not components:
        yield _observation(resource, resource, report, index, patient)
    for component in components:
        yield _observation(component, resource, report, index, patient)


def _observation(
    node: Object, resource: Object, report: Object, index: Mapping[str, Object], patient: str
) -> Observation:
    code, name, local, problems = _identity(node.get("code"))
    value, unit, is_supported = _value(node)
    if not is_supported:
        problems = (*problems, UNSUPPORTED_VALUE)
    if _is_unit_told_twice(node.get("valueQuantity")):
        problems = (*problems, UNIT_UNSURE)
    start, end = node.get(SPAN, (0, 0))
    status = str(resource.get("status") or "")
    if not value and status in ("", "unknown") and not _has_value(node):
        status = "registered"
    if not value and _is_told_absent(node):
        status = "cancelled"
    return Observation(
        test=name or code or local,
        value=value,
        unit=unit,
        range=_ranges(node.get("referenceRange"), unit),
        flag=_interpretation(node.get("interpretation")),
        code=code,
        local_code=local,
        specimen=_specimen(resource, report, index),
        collected=_time(resource) or _time(report),
        resulted=_text_of(resource.get("issued")) or _text_of(report.get("issued")),
        status=STATUSES.get(status, status),
        section=_concept_text(report.get("code")),
        comment=_notes(resource),
        patient_key=patient,
        decimal=".",
        meaning=MEANINGS.get(value, "") if isinstance(node.get("valueBoolean"), bool) else "",
        problems=problems,
        where=Place(start=start, end=end),
    )


def _identity(concept: Json) -> tuple[str, str, str, tuple[str, ...]]:
    code = local = ""
    problems: tuple[str, ...] = ()
    for coding in _codings(concept):
        found = _text_of(coding.get("code"))
        if _text_of(coding.get("system")).rstrip("/") in LOINC_SYSTEMS:
            if is_loinc(found):
                code = code or found
            else:
                problems = (BAD_CODE,)
        else:
            local = local or found
    return code, _concept_text(concept), local, problems


def _concept_text(concept: Json) -> str:
    if not isinstance(concept, dict):
        return ""
    shown = [_text_of(coding.get("display")) for coding in _codings(concept)]
    return _text_of(concept.get("text")) or next(filter(None, shown), "")


def _codings(concept: Json) -> list[Object]:
    found = concept.get("coding") if isinstance(concept, dict) else None
    return [each for each in _list(found) if isinstance(each, dict)]


def _value(node: Object) -> tuple[str, str, bool]:
    """Value and unit as texts, and whether the type of the value is one that is read."""
    for key, value in node.items():
        match key, value:
            case "valueQuantity", dict():
                return *_quantity(value), True
            case "valueCodeableConcept", dict():
                codes = [_text_of(each.get("code")) for each in _codings(value)]
                return _concept_text(value) or next(filter(None, codes), ""), "", True
            case "valueRatio", dict():
                return *_ratio(value), True
            case "valueRange", dict():
                low, unit = _quantity(value.get("low"))
                high, other = _quantity(value.get("high"))
                return (
                    f"{low}-{high}" if low and high else f"<={high}" if high else f">={low}",
                    unit or other,
                    True,
                )
            case "valueBoolean", bool():
                return "true" if value else "false", "", True
            case "valueString" | "valueDateTime" | "valueTime" | "valueInteger" | "valueDate", _:
                return _text_of(value), "", True
            case "valuePeriod", dict():
                return f"{_text_of(value.get('start'))}/{_text_of(value.get('end'))}", "", True
    is_unread = any(key.startswith("value") for key in node)
    return "", "", not is_unread


def _quantity(value: Json) -> tuple[str, str]:
    if not isinstance(value, dict):
        return "", ""
    is_ucum = _text_of(value.get("system")) == UCUM_SYSTEM
    code, unit = _text_of(value.get("code")), _text_of(value.get("unit"))
    number = _text_of(value.get("value"))
    return f"{_text_of(value.get('comparator'))}{number}" if number else "", (
        code if is_ucum and code else unit or code
    )


def _is_unit_told_twice(value: Json) -> bool:
    """Whether the unit for people and the code for programs are known, and none is the other."""
    if not isinstance(value, dict):
        return False
    code, unit = _text_of(value.get("code")), _text_of(value.get("unit"))
    shown, coded = candidates(unit), candidates(code)
    return bool(shown and coded) and not {*shown} & {*coded}


def _ratio(value: Object) -> tuple[str, str]:
    """A ratio of 1 to a number is a titre; any other is told as it is."""
    first, unit = _quantity(value.get("numerator"))
    second, other = _quantity(value.get("denominator"))
    return f"{first}:{second}", f"{unit}/{other}" if unit and other else unit


def _ranges(ranges: Json, unit: str) -> str:
    """The reference range: the plain one, or all of them as text where they depend on the patient."""
    told = [each for each in _list(ranges) if isinstance(each, dict)]
    plain = [
        each
        for each in told
        if not each.get("appliesTo") and not each.get("age") and _is_normal(each)
    ]
    if len(plain) == 1:
        return _range(plain[0], unit)
    texts = [
        " ".join(
            filter(
                None,
                (
                    *(f"{_concept_text(to)}:" for to in _list(each.get("appliesTo"))),
                    _range(each, unit),
                ),
            )
        )
        for each in told
        if _is_normal(each)
    ]
    return "; ".join(filter(None, texts))


def _is_normal(told: Object) -> bool:
    """Whether a range is that of healthy people, and not a limit of treatment or alarm."""
    kinds = _codings(told.get("type")) or [
        coding for each in _list(told.get("type")) for coding in _codings(each)
    ]
    codes = {coding.get("code") for coding in kinds}
    return not codes or "normal" in codes


def _range(told: Object, unit: str) -> str:
    low, low_unit = _quantity(told.get("low"))
    high, high_unit = _quantity(told.get("high"))
    other = low_unit or high_unit
    tail = f" {other}" if other and other != unit else ""
    if low and high:
        return f"{low} - {high}{tail}"
    if low or high:
        return f"{'>=' if low else '<='} {low or high}{tail}"
    return _text_of(told.get("text"))


def _interpretation(found: Json) -> str:
    concepts = _list(found) if not isinstance(found, dict) else [found]
    codes = [
        next((code for each in _codings(concept) if (code := _text_of(each.get("code")))), "")
        or _concept_text(concept)
        for concept in concepts
    ]
    return "~".join(filter(None, codes))


def _specimen(resource: Object, report: Object, index: Mapping[str, Object]) -> str:
    for holder in (resource, report):
        references = holder.get("specimen")
        for reference in _list(references) if not isinstance(references, dict) else [references]:
            target = _target(reference, index)
            if target is not None and (text := _concept_text(target.get("type"))):
                return text
            if target is not None and (codes := _codings(target.get("type"))):
                return _text_of(codes[0].get("code"))
            if isinstance(reference, dict) and (text := _text_of(reference.get("display"))):
                return text
    return ""


def _time(resource: Object) -> str:
    period = resource.get("effectivePeriod")
    start = _text_of(period.get("start")) if isinstance(period, dict) else ""
    return (
        _text_of(resource.get("effectiveDateTime"))
        or _text_of(resource.get("effectiveInstant"))
        or start
    )


def _notes(resource: Object) -> str:
    texts = [
        _text_of(each.get("text")) for each in _list(resource.get("note")) if isinstance(each, dict)
    ]
    return "\n".join(filter(None, (*texts, _text_of(resource.get("comment")))))


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text_of(value: Json) -> str:
    """A scalar as text; "" for everything else."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, Decimal):
        # Written out, a number of twelve characters (1e999999999) may fill the memory.
        return f"{value:f}" if abs(int(value.as_tuple().exponent)) <= PLACES_MAX else str(value)
    return value.strip() if isinstance(value, str) else ""
