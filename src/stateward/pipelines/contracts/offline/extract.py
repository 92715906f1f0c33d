"""From a document to values: analyze its pages, collect candidates, choose one for each field with a confidence.

A confidence is the score of the best candidate less what counts against it: another value nearly as good, OCR noise, a
figure that is computed and not printed. It is calibrated so that 80 or more means correct in at least 95 of 100 cases;
`docs/explanation/contract-confidence.md` has the figures.
"""

from stateward.core.model import Fields
from stateward.pipelines.contracts.extraction import Extraction, FoundValue
from stateward.pipelines.contracts.offline import (
    number_fields,
    provider_field,
    sentence_fields,
    text_fields,
)
from stateward.pipelines.contracts.offline.choice import FieldChoice, choose
from stateward.pipelines.contracts.offline.elimination import doubts
from stateward.pipelines.contracts.offline.labels import phrases_of, rivals_of
from stateward.pipelines.contracts.offline.number_fields import BY_UNIT
from stateward.pipelines.contracts.offline.open_ended import open_ends
from stateward.pipelines.contracts.offline.page_analysis import (
    ContractReading,
    Finders,
    analyze,
)
from stateward.pipelines.contracts.offline.vertical_detection import detect
from stateward.pipelines.contracts.providers import provider_index
from stateward.pipelines.contracts.rules import ContractRules, FieldRule, Vertical
from stateward.pipelines.kit.documents import TextDocument, locate

VERSION = 1


class OfflineExtractor:
    """Values by rules alone."""

    name = f"rules/{VERSION}"

    def extract(
        self, document: TextDocument, vertical: Vertical, rules: ContractRules
    ) -> Extraction:
        """The values of the fields of `vertical` in the document."""
        providers = provider_index(rules)
        reading = analyze(
            document, vertical, Finders(providers, phrases_of(vertical), rivals_of(vertical))
        )
        linked = number_fields.link_values(reading)
        found = number_fields.candidates(reading, vertical, linked)
        for rule in vertical.fields:
            found += sentence_fields.candidates(rule, reading)
            if rule.kind == "provider":
                found += provider_field.candidates(rule, reading, providers)
            elif rule.kind == "text":
                found += text_fields.candidates(rule, reading)
        terms = [
            each
            for order in vertical.orders
            for each in number_fields.terms(reading, order, linked)
        ]
        choices = choose(vertical, reading, found, terms)
        choices |= dict(open_ends(vertical, reading, choices, terms))
        for name, doubt in doubts(vertical, reading, linked, choices).items():
            if _is_no_volume(vertical.field(name), choices[name]):
                del choices[
                    name
                ]  # `unlimited` among other words of a fixed line says nothing of a volume
            else:
                choices[name] = choices[name].capped(doubt.cap, doubt.sentence)
        listed = [
            self._found_value(document, reading, rule, choices.get(rule.name))
            for rule in vertical.fields
        ]
        values = [each for each in listed if each is not None]
        provider = next(
            (each.value for each in values if _kind(vertical, each) == "provider"), None
        )
        seen, is_sure = detect(document, rules)
        about: Fields = {
            "rules": rules.version,
            "vertical_version": vertical.version,
            "language": reading.language,
            "noise": round(reading.noise, 4),
            "vertical_seen": seen if is_sure else "",
        }
        return Extraction(
            vertical=vertical.slug,
            provider=provider,
            found=values,
            extractor=self.name,
            about=about,
        )

    def _found_value(
        self,
        document: TextDocument,
        reading: ContractReading,
        rule: FieldRule,
        choice: FieldChoice | None,
    ) -> FoundValue | None:
        if choice is None:
            return self._empty(document, reading, rule)
        best = choice.best
        page = reading.pages[best.page]
        return FoundValue(
            field=rule.name,
            value=best.value,
            raw=" ".join(page.text[best.start : best.end].split()),
            confidence=choice.confidence,
            source=self.name,
            unit=best.unit or rule.unit,
            place=locate(document, page.number, best.start, best.end),
            why=choice.why,
            cap=choice.cap,
        )

    def _empty(
        self, document: TextDocument, reading: ContractReading, rule: FieldRule
    ) -> FoundValue | None:
        """A label without a value, where nothing else was found: the field is there and empty."""
        for page in reading.pages:
            for mention in page.mentions:
                is_label = any(
                    each.what == rule.name and each.weight == 1 for each in mention.meanings
                )
                cell = page.cell(mention.start)
                if not is_label or cell is None or page.is_small_print(mention.start):
                    continue
                row = page.grid.rows[cell.row]
                rest = page.text[mention.end : row[-1].end].strip(" :.-_\t|–…*")
                if not rest and page.text[cell.start : mention.start].strip() == "":
                    at = locate(document, page.number, mention.start, mention.end)
                    label = page.text[mention.start : mention.end]
                    return FoundValue(
                        field=rule.name, value=None, raw="", confidence=0, source=self.name, place=at,
                        why=f"nothing behind '{label}'",
                    )  # fmt: skip
        return None


def _is_no_volume(rule: FieldRule | None, choice: FieldChoice) -> bool:
    is_optional = rule is not None and rule.may_be_missing
    return is_optional and choice.best.value == "unlimited" and choice.why.startswith(BY_UNIT)


def _kind(vertical: Vertical, found: FoundValue) -> str:
    rule = vertical.field(found.field)
    return rule.kind if rule else ""
