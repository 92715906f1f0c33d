"""How well contracts are read: every contract of a folder that has a truth, extracted, judged and compared.

A value is right if it says the same as the truth, however that is spelled (`3 Monate` is `3 months`, `Inc.` is
`Incorporated`). Precision, recall and F1 are counted for each field, and how often a value of a given confidence is
right. An accepted contract is seen by no person, so the first number is how many of them have every required field
right. Contracts are split into two halves by the hash of their names, for fitting and for checking.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from stateward.core.errors import StageFailure
from stateward.pipelines.contracts import values
from stateward.pipelines.contracts.calibration import Half, ScoredValue, half_of
from stateward.pipelines.contracts.caps import cap_extraction, mask_instructions
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.general import GeneralExtractor, law, names
from stateward.pipelines.contracts.general.dates import dates_in
from stateward.pipelines.contracts.ground_truth import (
    GENERAL,
    Truth,
    contracts,
    truths_in,
)
from stateward.pipelines.contracts.offline import OfflineExtractor, detect
from stateward.pipelines.contracts.rules import ContractRules, FieldRule, Vertical
from stateward.pipelines.contracts.statutory import mask_statutory
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.documents import TextDocument
from stateward.pipelines.kit.evaluation import FieldScore
from stateward.pipelines.kit.reader import read_document

PAGE_CHARS = 3000
_HONORIFIC = re.compile(r"^(?:Mr|Mrs|Ms|Dr|Prof)\.?\s+", re.IGNORECASE)

Extract = Callable[[TextDocument, Vertical, ContractRules], Extraction]


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """A field that is not right. `is_printed` is no if the document prints none of the true values that were missed."""

    field: str
    expected: list[str]
    found: list[str]
    confidence: int
    is_printed: bool = True


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one contract."""

    file: str
    vertical: str
    is_accepted: bool
    is_right: bool
    is_required_right: bool  # every required field is
    half: Half
    final_confidence: int
    cpu_ms: float
    pages: float  # of the document; a text without pages has one for every 3,000 characters
    misses: list[Miss]
    code: str = ""  # of a failure
    # No if the document prints no true value of any required field that is wrong.
    is_truth_printed: bool = True


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A whole folder."""

    judged: list[Judged]
    fields: dict[str, dict[str, FieldScore]]  # by vertical
    no_truth: list[str]
    unknown_fields: list[str]
    values: list[ScoredValue] = []

    def total(self) -> FieldScore:
        """Every field of every vertical."""
        score = FieldScore()
        for fields in self.fields.values():
            for each in fields.values():
                score.add(each)
        return score

    @property
    def accepted(self) -> list[Judged]:
        """The contracts that no person would see."""
        return [one for one in self.judged if one.is_accepted]

    @property
    def wrongly_accepted(self) -> list[Judged]:
        """Those of them in which a required field is wrong."""
        return [one for one in self.accepted if not one.is_required_right]


def evaluate(
    folder: Path,
    *,
    rules: ContractRules,
    cpu_s: Callable[[], float],
    extract: Extract | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> Evaluation:
    """Judge every contract under a folder."""
    truths = truths_in(folder)
    named = {path.relative_to(folder).as_posix(): path for path in contracts(folder)}
    cases = [(name, path, truths.get(name)) for name, path in named.items()]
    return measure(cases, rules=rules, cpu_s=cpu_s, extract=extract, tell=tell)


def measure(
    cases: Iterable[tuple[str, Path, Truth | None]],
    *,
    rules: ContractRules,
    cpu_s: Callable[[], float],
    extract: Extract | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> Evaluation:
    """Judge contracts, each by its name, its file and its truth, if that is known."""
    result = Evaluation(judged=[], fields={}, no_truth=[], unknown_fields=[], values=[])
    for name, path, truth in cases:
        if truth is None:
            result.no_truth.append(name)
            continue
        tell(name)
        _judge(result, path, name, truth, rules=rules, cpu_s=cpu_s, extract=extract or by_rules)
    return result


def by_rules(document: TextDocument, vertical: Vertical, rules: ContractRules) -> Extraction:
    """The extraction of the offline extractor that the rules of a vertical ask for."""
    extractor = GeneralExtractor() if vertical.extractor == GENERAL else OfflineExtractor()
    document = mask_statutory(document)
    seen = mask_instructions(document, rules)
    return cap_extraction(extractor.extract(seen, vertical, rules), document, vertical, rules)


def _judge(
    result: Evaluation,
    path: Path,
    name: str,
    truth: Truth,
    *,
    rules: ContractRules,
    cpu_s: Callable[[], float],
    extract: Extract,
) -> None:
    start = cpu_s()
    code, final, accepted = "", 0, False
    found: list[FoundValue] = []
    slug = truth.vertical
    document: TextDocument | None = None
    try:
        document = read_document(path, is_ocr=True)
        slug = slug or detect(document, rules)[0] or GENERAL
        extraction = extract(document, rules.vertical(slug), rules)
        verdict = validate_extraction(extraction, rules)
        found, final, accepted = extraction.found, verdict.final_confidence, verdict.accepted
    except StageFailure as error:
        code = error.code
    spent = cpu_s() - start
    vertical = rules.vertical(slug or GENERAL)
    half = half_of(name)
    misses = _count(result, vertical, found, truth, rules, document, half=half)
    required = {field.name for field in vertical.required}
    wrong = [miss for miss in misses if miss.field in required]
    result.judged.append(
        Judged(
            file=name,
            vertical=vertical.slug,
            is_accepted=accepted,
            is_right=not misses and not code,
            is_required_right=not code and not wrong,
            is_truth_printed=not wrong or any(miss.is_printed for miss in wrong),
            half=half,
            final_confidence=final,
            cpu_ms=round(1000 * spent, 1),
            pages=_page_count(document),
            misses=misses,
            code=code,
        )
    )


def _page_count(document: TextDocument | None) -> float:
    if document is None:
        return 1.0
    return max(1.0, len(document.pages), len(document.text) / PAGE_CHARS)


def _count(
    result: Evaluation,
    vertical: Vertical,
    found: list[FoundValue],
    truth: Truth,
    rules: ContractRules,
    document: TextDocument | None,
    *,
    half: Half,
) -> list[Miss]:
    """Count the fields of one contract; gives those that are not right."""
    scores = result.fields.setdefault(vertical.slug, {})
    misses: list[Miss] = []
    for field in vertical.fields:
        if truth.scope and field.name not in truth.scope:
            continue
        true = truth.fields.get(field.name, [])
        mine = _of(field, found)
        right = match_values(field, true, mine, rules)
        scores.setdefault(field.name, FieldScore()).count(len(true), mine, right)
        result.values.extend(
            ScoredValue(half, field.name, one.confidence, is_right=one in right) for one in mine
        )
        if len(right) < max(len(true), len(mine)):
            misses.append(
                Miss(
                    field=field.name,
                    expected=true,
                    found=[one.value or "" for one in mine],
                    confidence=max((one.confidence for one in mine), default=0),
                    is_printed=_is_printed(
                        field, _missing_values(field, true, mine, rules), document
                    ),
                )
            )
    known = {field.name for field in vertical.fields}
    unknown = [f"{vertical.slug}.{name}" for name in truth.fields if name not in known]
    result.unknown_fields.extend(name for name in unknown if name not in result.unknown_fields)
    return misses


def _of(field: FieldRule, found: Iterable[FoundValue]) -> list[FoundValue]:
    """The values of a field: of parties all, of others the surest."""
    mine = [one for one in found if one.field == field.name and one.value]
    if field.kind == "party":
        return mine
    return [max(mine, key=lambda one: one.confidence)] if mine else []


def match_values(
    field: FieldRule, true: Sequence[str], found: Sequence[FoundValue], rules: ContractRules
) -> list[FoundValue]:
    """Those of the values that are right; each true value is met once."""
    left = list(true)
    right: list[FoundValue] = []
    for one in found:
        met = next((text for text in left if is_same(field, text, one.value or "", rules)), None)
        if met is not None:
            left.remove(met)
            right.append(one)
    return right


def _missing_values(
    field: FieldRule, true: Sequence[str], found: Sequence[FoundValue], rules: ContractRules
) -> list[str]:
    """The true values that were not found."""
    values_ = [one.value or "" for one in found]
    return [text for text in true if not any(is_same(field, text, one, rules) for one in values_)]


def _is_printed(field: FieldRule, missed: Sequence[str], document: TextDocument | None) -> bool:
    """Whether the document prints one of them; yes where that cannot be told. A truth may have a slip of its own."""
    if document is None or not missed:
        return True
    if field.kind == "party":
        text = names.letters_of(document.text)
        return any(names.letters_of(name) in text for name in missed)
    if field.kind == "date":
        printed = {dated.value for dated in dates_in(document.text)}
        return any(day in printed for day in missed)
    return True


def is_same(field: FieldRule, true: str, value: str, rules: ContractRules) -> bool:
    """Whether a value says what the truth says, without regard to case, dots and usual spellings."""
    match field.kind:
        case "party":
            return _party(true) == _party(value)
        case "law":
            return _law(true) == _law(value)
        case _:
            return values.same(field, true, value, rules)


def _party(text: str) -> str:
    return names.key(_HONORIFIC.sub("", text.strip()))


def _law(text: str) -> str:
    plain = re.sub(
        r"^(?:the\s+)?(?:state|commonwealth|province|republic)\s+of\s+",
        "",
        text.strip(),
        flags=re.IGNORECASE,
    )
    place = law.NAMES.get(" ".join(plain.split()).casefold(), plain)
    return names.key("England" if place == "England and Wales" else place)
