"""Two readings of one document made one: where they agree a value can be trusted, where they differ it cannot.

The score of a value comes from the agreement of two readings that fail in different ways, and from the text: 95 where
both say the same, 70 where only one says anything, 40 where they differ, and 60 at most where the value does not
stand in the document. Neither reading's own opinion of itself can lift it above that.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from stateward.core.model import Fields
from stateward.pipelines.contracts.extraction import Extraction, Found
from stateward.pipelines.contracts.grounding import UNGROUNDED_MAX
from stateward.pipelines.contracts.rules import FieldRule, Rules, Vertical
from stateward.pipelines.contracts.values import same

AGREED = 95
ALONE = 70
DIFFERENT = 40
BOTH = "both"


def fuse(
    rules_say: Extraction, model_says: Extraction, vertical: Vertical, rules: Rules
) -> Extraction:
    """One extraction out of that of the rules and that of the model."""
    found: list[Found] = []
    for rule in vertical.fields:
        ours = [each for each in rules_say.found if each.field == rule.name]
        theirs = [each for each in model_says.found if each.field == rule.name]
        found += _fused(rule, ours, theirs, rules)
    extra = [each for each in rules_say.found if vertical.field(each.field) is None]
    about: Fields = {**rules_say.about, "model": model_says.about}
    return Extraction(
        vertical=vertical.slug,
        provider=_provider(rules_say, found, vertical),
        found=[*found, *extra],
        extractor=f"{rules_say.extractor}+{model_says.extractor}",
        about=about,
    )


def _fused(
    rule: FieldRule, ours: Sequence[Found], theirs: Sequence[Found], rules: Rules
) -> list[Found]:
    """The values of one field. Of a field with several, each is matched with its like; the others stand alone."""
    said = [each for each in ours if each.value]
    left = [each for each in theirs if each.value]
    fused: list[Found] = []
    alone: list[Found] = []
    for each in said:
        like = next((one for one in left if same(rule, _text(each), _text(one), rules)), None)
        if like is None:
            alone.append(each)
        else:
            left.remove(like)
            fused.append(_agreed(each, like))
    if len(alone) == 1 and len(left) == 1 and not fused:
        return [_different(alone[0], left[0])]
    fused += [_only(each, "only the rules found it") for each in alone]
    fused += [_only(each, "only the model found it") for each in left]
    return fused or list(ours)


def _agreed(ours: Found, theirs: Found) -> Found:
    """Both say the same; the place is that of the rules, which is the narrower one."""
    stands = ours.place or theirs.place
    score = AGREED if stands is not None else UNGROUNDED_MAX
    why = "the rules and the model agree"
    return replace(ours, confidence=score, place=stands, source=BOTH, why=_said(ours, why))


def _only(found: Found, why: str) -> Found:
    most = ALONE if found.place is not None else UNGROUNDED_MAX
    return replace(found, confidence=min(found.confidence, most), why=_said(found, why))


def _different(ours: Found, theirs: Found) -> Found:
    """Both say something else: the better proved value is kept, and the other one is named."""
    kept, other = ours, theirs
    if ours.place is None and theirs.place is not None:
        kept, other = theirs, ours
    why = f"the rules and the model differ: {other.source} says {other.value!r}"
    return replace(kept, confidence=min(DIFFERENT, kept.confidence), why=_said(kept, why))


def _provider(rules_say: Extraction, found: Sequence[Found], vertical: Vertical) -> str | None:
    """The provider that was settled; the rules alone know which names are known ones."""
    for each in found:
        rule = vertical.field(each.field)
        if rule is not None and rule.kind == "provider" and each.value:
            return each.value
    return rules_say.provider


def _text(found: Found) -> str:
    return found.value or ""


def _said(found: Found, why: str) -> str:
    return f"{why}; {found.why}" if found.why else why
