"""Two extractions of one document combined: where they agree a value can be trusted, where they differ it cannot.

The confidence of a value comes from the agreement of two extractors that fail in different ways, and from the text: 95
where both agree, 70 where only one has a value, 40 where they differ, and 60 at most where the value is not in the
document. Neither extractor's own confidence can raise it above that, and agreement does not lift a value above the cap
that the rules know for it: two readers are misled by the same trap.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from stateward.core.model import Fields
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.grounding import UNGROUNDED_MAX
from stateward.pipelines.contracts.rules import ContractRules, FieldRule, Vertical
from stateward.pipelines.contracts.values import same

AGREED = 95
ALONE = 70
DIFFERENT = 40
BOTH = "both"


def combine(
    by_rules: Extraction, by_model: Extraction, vertical: Vertical, rules: ContractRules
) -> Extraction:
    """One extraction from that of the rules and that of the model."""
    found: list[FoundValue] = []
    for rule in vertical.fields:
        ours = [each for each in by_rules.found if each.field == rule.name]
        theirs = [each for each in by_model.found if each.field == rule.name]
        found += _combine_field(rule, ours, theirs, rules)
    extra = [each for each in by_rules.found if vertical.field(each.field) is None]
    about: Fields = {**by_rules.about, "model": by_model.about}
    return Extraction(
        vertical=vertical.slug,
        provider=_provider(by_rules, found, vertical),
        found=[*found, *extra],
        extractor=f"{by_rules.extractor}+{by_model.extractor}",
        about=about,
    )


def _combine_field(
    rule: FieldRule, ours: Sequence[FoundValue], theirs: Sequence[FoundValue], rules: ContractRules
) -> list[FoundValue]:
    """The values of one field. Where a field has several, equal ones are paired; the others stay alone."""
    mine = [each for each in ours if each.value]
    left = [each for each in theirs if each.value]
    combined: list[FoundValue] = []
    alone: list[FoundValue] = []
    for each in mine:
        like = next((one for one in left if same(rule, _text(each), _text(one), rules)), None)
        if like is None:
            alone.append(each)
        else:
            left.remove(like)
            combined.append(_agree(each, like))
    if len(alone) == 1 and len(left) == 1 and not combined:
        return [_different(alone[0], left[0])]
    combined += [_only(each, "only the rules found it") for each in alone]
    combined += [_only(each, "only the model found it") for each in left]
    return combined or list(ours)


def _agree(ours: FoundValue, theirs: FoundValue) -> FoundValue:
    """Both agree; the place is that of the rules, which is the more precise one."""
    place = ours.place or theirs.place
    score = min(AGREED if place is not None else UNGROUNDED_MAX, ours.cap, theirs.cap)
    why = "the rules and the model agree"
    return replace(ours, confidence=score, place=place, source=BOTH, why=_with_reason(ours, why))


def _only(found: FoundValue, why: str) -> FoundValue:
    most = ALONE if found.place is not None else UNGROUNDED_MAX
    return replace(found, confidence=min(found.confidence, most), why=_with_reason(found, why))


def _different(ours: FoundValue, theirs: FoundValue) -> FoundValue:
    """The values differ: the one with a place in the document is kept, and the other one is named."""
    kept, other = ours, theirs
    if ours.place is None and theirs.place is not None:
        kept, other = theirs, ours
    why = f"the rules and the model differ: {other.source} says {other.value!r}"
    return replace(kept, confidence=min(DIFFERENT, kept.confidence), why=_with_reason(kept, why))


def _provider(by_rules: Extraction, found: Sequence[FoundValue], vertical: Vertical) -> str | None:
    """The provider among the combined values, else that of the rules."""
    for each in found:
        rule = vertical.field(each.field)
        if rule is not None and rule.kind == "provider" and each.value:
            return each.value
    return by_rules.provider


def _text(found: FoundValue) -> str:
    return found.value or ""


def _with_reason(found: FoundValue, why: str) -> str:
    return f"{why}; {found.why}" if found.why else why
