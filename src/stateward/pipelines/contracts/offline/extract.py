"""The way from a document to values: read it, gather candidates, choose one for each field, and say how sure it is.

A confidence is what is left of the score of the best candidate when everything that speaks against it is taken off:
another value nearly as good, a scanner's noise, a figure that was reckoned and not printed. It is calibrated so that
80 or more means right in at least 95 of 100 cases; `docs/explanation/contract-confidence.md` has the figures.
"""

from stateward.core.model import Fields
from stateward.pipelines.contracts.extraction import Extraction, Found
from stateward.pipelines.contracts.offline import (
    fields,
    parties,
    sentences,
    texts,
)
from stateward.pipelines.contracts.offline.choosing import Choice, choose
from stateward.pipelines.contracts.offline.labels import phrases_of, rivals_of
from stateward.pipelines.contracts.offline.reading import Finders, Reading, read
from stateward.pipelines.contracts.offline.verticals import detect
from stateward.pipelines.contracts.providers import book_of
from stateward.pipelines.contracts.rules import FieldRule, Rules, Vertical
from stateward.pipelines.kit.documents import TextDocument, locate

VERSION = 1


class OfflineExtractor:
    """Values by rules alone."""

    name = f"rules/{VERSION}"

    def extract(self, document: TextDocument, vertical: Vertical, rules: Rules) -> Extraction:
        """The values of the fields of `vertical` that stand in the document."""
        book = book_of(rules)
        reading = read(document, vertical, Finders(book, phrases_of(vertical), rivals_of(vertical)))
        held = fields.claimed(reading)
        found = fields.candidates(reading, vertical, held)
        for rule in vertical.fields:
            found += sentences.candidates(rule, reading)
            if rule.kind == "provider":
                found += parties.candidates(rule, reading, book)
            elif rule.kind == "text":
                found += texts.candidates(rule, reading)
        terms = [each for order in vertical.orders for each in fields.terms(reading, order, held)]
        choices = choose(vertical, reading, found, terms)
        listed = [
            self._found(document, reading, rule, choices.get(rule.name)) for rule in vertical.fields
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

    def _found(
        self, document: TextDocument, reading: Reading, rule: FieldRule, choice: Choice | None
    ) -> Found | None:
        if choice is None:
            return self._empty(document, reading, rule)
        best = choice.best
        page = reading.leaves[best.leaf].page
        return Found(
            field=rule.name,
            value=best.value,
            raw=" ".join(page.text[best.start : best.end].split()),
            confidence=choice.confidence,
            source=self.name,
            unit=best.unit or rule.unit,
            place=locate(document, page.number, best.start, best.end),
            why=choice.why,
        )

    def _empty(self, document: TextDocument, reading: Reading, rule: FieldRule) -> Found | None:
        """A label that stands alone, where there is nothing else: the field is there and empty."""
        for leaf in reading.leaves:
            for mention in leaf.mentions:
                is_label = any(
                    each.what == rule.name and each.weight == 1 for each in mention.meanings
                )
                cell = leaf.cell(mention.start)
                if not is_label or cell is None or leaf.is_small_print(mention.start):
                    continue
                row = leaf.grid.rows[cell.row]
                rest = leaf.page.text[mention.end : row[-1].end].strip(" :.-_\t|–…*")
                if not rest and leaf.page.text[cell.start : mention.start].strip() == "":
                    at = locate(document, leaf.page.number, mention.start, mention.end)
                    said = leaf.page.text[mention.start : mention.end]
                    return Found(
                        field=rule.name, value=None, raw="", confidence=0, source=self.name, place=at,
                        why=f"nothing behind '{said}'",
                    )  # fmt: skip
        return None


def _kind(vertical: Vertical, found: Found) -> str:
    rule = vertical.field(found.field)
    return rule.kind if rule else ""
