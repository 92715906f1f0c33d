"""The four stages of a contract: its text is read, its terms extracted, validated by the rules, compared with offers.

Each stage gives the next its items and a summary (`about`). The vertical comes from the label of the record, or is
detected; no model decides it. A person's correction is an output like any other, and the comparison prefers it to what
was extracted. What only some contracts need (readers of files, the model) is imported when it is needed.
"""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec

from stateward.core.errors import FatalFailure, UnknownName
from stateward.core.model import NOTES, OUTSIDE, SEQUENCING, Fields, Json
from stateward.pipelines.contracts.caps import cap_extraction, mask_instructions
from stateward.pipelines.contracts.comparison import Comparison, ContractValue, compare
from stateward.pipelines.contracts.extraction import Extraction, Extractor, FoundValue
from stateward.pipelines.contracts.offers import SAMPLE_OFFERS, catalogue_of, named_as_sample
from stateward.pipelines.contracts.offline import OfflineExtractor
from stateward.pipelines.contracts.offline.vertical_detection import Detection, detection_of
from stateward.pipelines.contracts.prompts import Prompts, prompts_of
from stateward.pipelines.contracts.rules import (
    ContractRules,
    Vertical,
    default_rules,
    rules_of,
    shipped_texts,
)
from stateward.pipelines.contracts.statutory import mask_statutory
from stateward.pipelines.contracts.switching import day_of
from stateward.pipelines.contracts.terms import terms_of
from stateward.pipelines.contracts.validation import ValidationResult, validate_extraction
from stateward.pipelines.kit.documents import TextDocument, TextPage, split_lines
from stateward.pipelines.kit.money import typed_number
from stateward.workers.sdk import Batch, Job, Outcome

STAGES_VERSION = 1
NOTES_MAX = 20
PAGE_BYTES_MAX = 900_000  # an item has at most a MiB (worker.item_bytes_max)
PIECE_CHARS = 150_000
CURRENCY_CHARS = 3
CACHED_MAX = 4
REVIEW = "review"
CONSUMPTION = "consumption"
GENERAL = "general"
SAMPLE_CODE = "SAMPLE_OFFERS"  # of a note
CLAUSE_TYPES = "clause_types"  # what a model says of clauses, in what its extraction says of itself
PRODUCT_TYPE = "product_type"  # a label: what kind of product of its vertical it is, for the choice of a prompt


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a job of any stage; `rules`, `prompts` and `offers` are texts of files."""

    pages_max: int = 1000
    chars_max: int = 4_000_000
    extractor: Literal["offline", "model", "both"] = "offline"
    rules: dict[str, str] = {}
    prompts: dict[str, str] = {}
    model: dict[str, Json] = {}
    today: str = ""
    offers: dict[str, str] = {}
    comparison: dict[str, str] = {}
    consumption: dict[str, str] = {}
    saving_min: str = "0"
    currency: str = "EUR"

    @classmethod
    def of(cls, job: Job) -> "Options":
        """Those of a job."""
        return msgspec.convert(dict(job.options), cls)


def parse(job: Job) -> Outcome:
    """The document of a job as pages."""
    options = Options.of(job)
    if job.path is None:
        job.bytes()  # raises with the reason
        raise AssertionError
    document = _read(job, job.path, options)
    scanned = sum(page.is_scan for page in document.pages)
    about: Fields = {
        "format": document.format,
        "pages": len(document.pages),
        "chars": sum(len(page.text) for page in document.pages),
    }
    if scanned:
        about["scanned_pages"] = scanned
    if document.damage:
        about["damage"] = document.damage
    job.log("the text was read", about=about)
    return Outcome(
        facts={"format": document.format, "pages": len(document.pages)},
        items=[Batch([piece for page in document.pages for piece in pieces_of(page)])],
        about=about,
    )


def _read(job: Job, path: Path, options: Options) -> TextDocument:
    """The text of a file. A damaged one is tried again, and then read with what can be saved of it.

    Where an external driver decides on retries there may be none: then that is done at once.
    """
    from stateward.pipelines.kit.archive_repair import readable_path
    from stateward.pipelines.kit.failures import CORRUPT_FILE, damage_is_retried
    from stateward.pipelines.kit.reader import read_document

    def read(*, is_lenient: bool) -> TextDocument:
        return read_document(
            readable_path(job, path),
            pages_max=options.pages_max,
            chars_max=options.chars_max,
            is_ocr=True,
            is_lenient=is_lenient,
        )

    if job.labels.get(SEQUENCING) == OUTSIDE and job.retry_count == 0:
        try:
            document = read(is_lenient=False)
        except FatalFailure as error:
            if error.code != CORRUPT_FILE:
                raise
            document = read(is_lenient=True)
    else:
        with damage_is_retried(job.retry_count):
            document = read(is_lenient=job.retry_count > 0)
    if document.damage:
        job.log(f"the file is damaged: {document.damage}", level="warning")
    return document


def pieces_of(page: TextPage) -> list[TextPage]:
    """A page as items: itself, or pieces of its text if it is too large for one item. Pieces have no boxes."""
    if len(msgspec.json.encode(page)) <= PAGE_BYTES_MAX:
        return [page]
    starts = range(0, len(page.text), PIECE_CHARS)
    parts = [page.text[start : start + PIECE_CHARS] for start in starts]
    return [
        TextPage(
            page.number,
            page.width,
            page.height,
            part,
            is_scan=page.is_scan,
            turned=page.turned,
        )
        for part in parts
    ]


def pages_of(pieces: Iterable[TextPage]) -> list[TextPage]:
    """Pages from items: those that were split are joined again."""
    pages: list[TextPage] = []
    for number, group in groupby(pieces, key=lambda piece: piece.number):
        parts = list(group)
        text = "".join(part.text for part in parts)
        first = parts[0]
        is_whole = len(parts) == 1 and (first.lines or not text)
        pages.append(
            first
            if is_whole
            else TextPage(
                number,
                first.width,
                first.height,
                text,
                split_lines(text),
                is_scan=first.is_scan,
                turned=first.turned,
            )
        )
    return pages


def extract(job: Job) -> Outcome:
    """Pages as terms, each with its place and its confidence."""
    options = Options.of(job)
    rules = _rules(options)
    document = _document(job)
    detection = detection_of(document, rules)
    vertical = _vertical(job, detection, rules)
    extraction = extract_terms(job, document, vertical, rules, options)
    about: Fields = {
        "vertical": extraction.vertical,
        "provider": extraction.provider,
        "extractor": extraction.extractor,
        "stages": STAGES_VERSION,
        "rules": rules.version,
        "detection": msgspec.to_builtins(detection),
        "details": extraction.about,
    }
    valued = {each.field for each in extraction.found if each.value}
    job.log(
        f"{len(valued)} of {len(vertical.fields)} fields have a value",
        vertical=extraction.vertical,
        provider=extraction.provider,
        extractor=extraction.extractor,
        details=extraction.about,
    )
    facts: Fields = {
        "vertical": extraction.vertical,
        "provider": extraction.provider,
        "extractor": extraction.extractor,
    }
    return Outcome(facts=facts, items=[Batch(extraction.found)], about=about)


def extract_terms(
    job: Job, document: TextDocument, vertical: Vertical, rules: ContractRules, options: Options
) -> Extraction:
    """What the configured extractors find, capped by what the document says around the values."""
    document = mask_statutory(document)
    seen = mask_instructions(document, rules)
    found = _by_extractors(job, seen, vertical, rules, options)
    return cap_extraction(found, document, vertical, rules)


def _by_extractors(
    job: Job, document: TextDocument, vertical: Vertical, rules: ContractRules, options: Options
) -> Extraction:
    """What the configured extractors find. The rules always run: they know the providers."""
    by_rules = _by_rules(vertical).extract(document, vertical, rules)
    if options.extractor == "offline":
        return by_rules
    from stateward.pipelines.contracts.ensemble import combine
    from stateward.pipelines.contracts.model import JobServices, ModelExtractor, options_of

    services = JobServices(
        keep=job.save, kept=job.load, log=job.log, left_s=lambda: job.remaining_s
    )
    extractor = ModelExtractor(
        options_of(options.model),
        _prompts(options),
        services=services,
        provider=by_rules.provider,
        product_type=str(job.labels.get(PRODUCT_TYPE) or "") or None,
    )
    by_model = extractor.extract(document, vertical, rules)
    if options.extractor == "both":
        return combine(by_rules, by_model, vertical, rules)
    return msgspec.structs.replace(by_model, about={**by_rules.about, **by_model.about})


def _by_rules(vertical: Vertical) -> Extractor:
    """The extractor that the rules of a vertical name."""
    if vertical.extractor != GENERAL:
        return OfflineExtractor()
    from stateward.pipelines.contracts.general import GeneralExtractor

    return GeneralExtractor()


def validate(job: Job) -> Outcome:
    """Validate terms: the final confidence, and every problem. The items are problems, then clauses."""
    rules = _rules(Options.of(job))
    extraction = _extraction(job)
    result = validate_extraction(extraction, rules)
    for problem in result.problems:
        job.log(problem.sentence, level="warning", field=problem.field, code=problem.code)
    job.log(
        "the terms were validated", final_confidence=result.final_confidence, valid=result.valid
    )
    # The state machine requires this and 80 (`ACCEPTED_MIN`); a vertical or a provider may require more, never less.
    facts: Fields = {"final_confidence": result.final_confidence, "valid": result.accepted}
    if result.problems:
        facts[NOTES] = [f"{each.code}: {each.sentence}" for each in result.problems[:NOTES_MAX]]
    clauses = _clauses(job, extraction)
    about: Fields = {
        **msgspec.to_builtins(result),
        "vertical": extraction.vertical,
        "provider": extraction.provider,
        "rules": rules.version,
        "clauses": len(clauses),
    }
    return Outcome(facts=facts, items=[*_to_check(extraction, result), *clauses], about=about)


def _clauses(job: Job, extraction: Extraction) -> list[Fields]:
    """The clauses of the contract with their types: they do not decide anything, they can be found."""
    from stateward.pipelines.clauses.items import clauses_of

    clauses = clauses_of(_document(job))
    model = extraction.about.get("model")
    given = (model if isinstance(model, dict) else extraction.about).get(CLAUSE_TYPES)
    if isinstance(given, dict):
        from stateward.pipelines.contracts.clause_types import with_model_types

        clauses = with_model_types(clauses, given)
    job.log(f"{len(clauses)} clauses were found")
    return clauses


def compare_offers(job: Job) -> Outcome:
    """Compare terms, as extracted or corrected, with the offers of the catalogue."""
    options = Options.of(job)
    extraction = _extraction(job)
    today = day_of(options.today)
    if today is None:
        raise FatalFailure("the day of the comparison is missing", code="NO_TODAY")
    catalogue = catalogue_of(options.offers)
    comparison = _compare(job, extraction, options, today)
    if catalogue.is_sample:
        comparison = msgspec.structs.replace(
            comparison,
            sentence=named_as_sample(comparison.sentence),
            offers=[msgspec.structs.replace(each, is_sample=True) for each in comparison.offers],
        )
    for said in comparison.assumptions:
        job.log(said)
    job.log(comparison.sentence, answer=comparison.answer)
    about: Fields = msgspec.to_builtins(
        msgspec.structs.replace(comparison, offers=[]), builtin_types=()
    )
    del about["offers"]
    best = comparison.best
    facts: Fields = {"answer": comparison.answer}
    if best is not None:
        facts |= {"best_offer": best.offer, "saving": f"{best.saving:f}"}
    if catalogue.is_sample:
        facts["sample_offers"] = True
        facts[NOTES] = [*_notes_before(job), f"{SAMPLE_CODE}: {SAMPLE_OFFERS}"]
    about |= {"catalogue": catalogue.source, "sample_offers": catalogue.is_sample}
    return Outcome(facts=facts, items=[Batch(comparison.offers)], about=about)


def _compare(job: Job, extraction: Extraction, options: Options, today: date) -> Comparison:
    vertical = extraction.vertical
    terms = terms_of(options.comparison).get(vertical)
    if terms is not None and terms.consumption is not None and vertical in options.consumption:
        assumed = msgspec.structs.replace(terms.consumption, assumed=options.consumption[vertical])
        terms = msgspec.structs.replace(terms, consumption=assumed)
    values = _values(job, extraction)
    stated = values.get(terms.monthly) if terms else None
    unit = stated.unit if stated else ""
    return compare(
        values,
        vertical=vertical,
        terms=terms,
        offers=catalogue_of(options.offers).of(vertical),
        today=today,
        consumption=_consumption_label(job),
        text="\n".join(page.text for page in pages_of(job.items(TextPage, "parse"))),
        saving_min=typed_number(options.saving_min) or Decimal(0),
        currency=unit if len(unit) == CURRENCY_CHARS and unit.isupper() else options.currency,
    )


def _notes_before(job: Job) -> list[Json]:
    """The notes that the checks left: those of a later stage take their place."""
    try:
        found = [each for each in job.items("validate") if "sentence" in each and "code" in each]
    except UnknownName:
        return []
    return [f"{each['code']}: {each['sentence']}" for each in found[:NOTES_MAX]]


def _consumption_label(job: Job) -> Decimal | None:
    """The consumption in the label of the record."""
    text = str(job.labels.get(CONSUMPTION) or "")
    amount = typed_number(text) if text else None
    if text and (amount is None or amount <= 0):
        said = f"the label {CONSUMPTION} is {text!r}; write a number of units a year, like 3500"
        raise FatalFailure(said, code="BAD_LABEL")
    return amount


def _values(job: Job, extraction: Extraction) -> dict[str, ContractValue]:
    """The terms as corrected by a person; otherwise the value of each field with the highest confidence."""
    corrected = _corrected_terms(job)
    if corrected is not None:
        return corrected
    values: dict[str, ContractValue] = {}
    for found in sorted(extraction.found, key=lambda each: each.confidence):
        if found.value:
            values[found.field] = ContractValue(found.value, found.unit)
    return values


def _corrected_terms(job: Job) -> dict[str, ContractValue] | None:
    """All terms after a correction, without those that the person removed; None if there was no correction."""
    try:
        items = list(job.items(REVIEW))
    except UnknownName:
        return None
    return {
        str(item["field"]): ContractValue(str(item["value"]), str(item.get("unit") or ""))
        for item in items
        if item.get("field") and item.get("value")
    }


def _vertical(job: Job, detection: Detection, rules: ContractRules) -> Vertical:
    """The vertical in the label of the record; otherwise the detected one."""
    label = str(job.labels.get("vertical") or "")
    if not label:
        slug = detection.vertical or GENERAL
        about = msgspec.to_builtins(detection.evidence)
        job.log(
            "the vertical was detected", vertical=slug, is_sure=detection.is_sure, evidence=about
        )
        return rules.vertical(slug)
    try:
        return rules.vertical(label)
    except UnknownName as error:
        raise FatalFailure(f"{error}; see the label vertical", code="UNKNOWN_VERTICAL") from error


def _document(job: Job) -> TextDocument:
    pages = pages_of(job.items(TextPage, "parse"))
    about = job.about("parse")
    return TextDocument(
        format=str(about.get("format", "")), pages=pages, damage=str(about.get("damage") or "")
    )


def _extraction(job: Job) -> Extraction:
    about = job.about("extract")
    provider = about.get("provider")
    details = about.get("details")
    return Extraction(
        vertical=str(about.get("vertical", "")),
        provider=None if provider is None else str(provider),
        found=list(job.items(FoundValue, "extract")),
        extractor=str(about.get("extractor", "")),
        about=details if isinstance(details, dict) else {},
    )


def _to_check(extraction: Extraction, result: ValidationResult) -> Iterable[Fields]:
    """What a reviewer has to check, one item each: problems, with the value that each is about."""
    surest: dict[str, FoundValue] = {}
    for found in sorted(extraction.found, key=lambda each: each.confidence):
        surest[found.field] = found
    for problem in result.problems:
        about = surest.get(problem.field)
        yield {
            **msgspec.to_builtins(problem),
            "value": None if about is None else about.value,
            "confidence": 0 if about is None else about.confidence,
        }


def _rules(options: Options) -> ContractRules:
    return _rules_of(tuple(options.rules.items())) if options.rules else default_rules()


@lru_cache(CACHED_MAX)
def _rules_of(own: tuple[tuple[str, str], ...]) -> ContractRules:
    return rules_of({**shipped_texts(), **dict(own)})


def _prompts(options: Options) -> Prompts:
    return _prompts_of(tuple(options.prompts.items()))


@lru_cache(CACHED_MAX)
def _prompts_of(own: tuple[tuple[str, str], ...]) -> Prompts:
    return prompts_of(dict(own))
