"""The stage `normalize`: facts with the entities, dates, amounts and units that they are about.

Each has a key made of its canonical parts: the same fact of another page, printed in other words for the same names and
amounts, has the same key. Within a document, a fact that comes again names the first one.
"""

from collections.abc import Iterator
from decimal import Decimal
from hashlib import blake2b

import msgspec

from stateward.core.model import Fields
from stateward.pipelines.kit.dates import fold, read_date
from stateward.pipelines.kit.money import guess_number
from stateward.pipelines.web.entities import EntityResolver, full_names, simple_name
from stateward.pipelines.web.facts import QUANTITY, FactPlace, PrintedFact, leading_name
from stateward.pipelines.web.options import WebOptions
from stateward.pipelines.web.parse import PageItem
from stateward.pipelines.web.vocabulary import vocabulary
from stateward.workers.sdk import Batch, Job, Outcome

NORMALIZER_VERSION = 2  # to be increased by a change after which the same facts become others
BATCH_FACTS = 100
KEY_BYTES = 16
NO_NUMBER, NO_SUBJECT, SHARED_SIGN = "NUMBER_UNREADABLE", "NO_SUBJECT", "AMBIGUOUS_CURRENCY"


class CanonicalPage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page without its text."""

    kind: str
    page: int
    url: str = ""
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    author_id: str = ""
    where: FactPlace


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A canonical fact. `value` is exact, in `unit` (a code of UCUM or ISO 4217, or a word for what is counted)."""

    key: str
    kind: str
    subject: str = ""
    subject_id: str = ""
    relation: str = ""
    object: str = ""
    object_id: str = ""
    value: str = ""
    unit: str = ""
    date: str = ""
    quotation: str = ""
    duplicate_of: str = ""
    printed: str = ""
    page: int
    flags: tuple[str, ...] = ()
    spans: dict[str, tuple[int, int]] = {}
    where: FactPlace


def normalize(job: Job) -> Iterator[Batch]:
    """Convert the pages and facts of a job."""
    resolver = EntityResolver(WebOptions.of(job).aliases)
    items = [*job.items("parse")]
    printed = [msgspec.convert(each, PrintedFact) for each in items if each.get("kind") != "page"]
    pages = [msgspec.convert(each, PageItem) for each in items if each.get("kind") == "page"]
    normalizer = _Normalizer(resolver, printed)
    yield Batch([_page(each, resolver) for each in pages])
    facts: list[Fact] = [normalizer.convert(each) for each in printed]
    for at in range(0, len(facts), BATCH_FACTS):
        yield Batch(facts[at : at + BATCH_FACTS])
    counts = normalizer.counts(facts)
    job.log(f"{len(facts)} facts by aliases {resolver.version}", counts=counts)
    about: Fields = {"normalizer": NORMALIZER_VERSION, "aliases": resolver.version, **counts}
    parsed = job.about("parse")
    notes = parsed.get("notes") or []
    result: Fields = {"facts": len(facts), "pages": len(pages), "aliases": resolver.version}
    if notes:
        result["notes"] = notes
    return Outcome(facts=result, about=about)  # type: ignore[return-value]


def _page(page: PageItem, resolver: EntityResolver) -> CanonicalPage:
    known = {
        name: getattr(page, name) for name in CanonicalPage.__struct_fields__ if name != "author_id"
    }
    return CanonicalPage(**known, author_id=resolver.id_of(page.author) if page.author else "")


class _Normalizer:
    def __init__(self, resolver: EntityResolver, facts: list[PrintedFact]) -> None:
        self._resolver = resolver
        names: dict[int, list[str]] = {}
        for fact in facts:
            names.setdefault(fact.page, []).append(fact.subject)
        self._full = {page: full_names(listed) for page, listed in names.items()}
        self._first: dict[str, int] = {}

    def convert(self, fact: PrintedFact) -> Fact:
        """A printed fact in canonical form."""
        flags: list[str] = []
        subject = self._full[fact.page].get(simple_name(fact.subject), fact.subject)
        subject_id = self._resolver.id_of(subject) if subject else ""
        name = leading_name(fact.object) or fact.object
        object_id = self._resolver.id_of(name) if name else ""
        value, unit = _amount(fact, flags) if fact.number else ("", "")
        if fact.kind == QUANTITY and not subject:
            flags.append(NO_SUBJECT)
        day = read_date(fact.date, "dmy") if fact.date else None
        date = day.isoformat() if day else ""
        key = _key(
            subject_id or simple_name(subject),
            fact.relation,
            object_id or _object_core(fact.object, value),
            value,
            unit,
            date,
            simple_name(fact.quotation),
        )
        number = self._first.setdefault(key, fact.where.start)
        return Fact(
            key=key,
            kind=fact.kind,
            subject=subject,
            subject_id=subject_id,
            relation=fact.relation,
            object=fact.object,
            object_id=object_id,
            value=value,
            unit=unit,
            date=date,
            quotation=fact.quotation,
            duplicate_of=key if number != fact.where.start else "",
            printed=fact.printed,
            page=fact.page,
            flags=tuple(flags),
            spans=fact.spans,
            where=fact.where,
        )

    def counts(self, facts: list[Fact]) -> Fields:
        """What was found, for the log and the summary."""
        kinds: Fields = {}
        for fact in facts:
            kinds[fact.kind] = int(str(kinds.get(fact.kind, 0))) + 1
        return {
            "kinds": kinds,
            "resolved": sum(bool(fact.subject_id or fact.object_id) for fact in facts),
            "duplicates": sum(bool(fact.duplicate_of) for fact in facts),
            "flagged": sum(bool(fact.flags) for fact in facts),
        }


def _amount(fact: PrintedFact, flags: list[str]) -> tuple[str, str]:
    """The exact value of a printed number, its scale applied, and the unit; "" and a flag where it cannot be read."""
    words = vocabulary(fact.language)
    value = guess_number(fact.number, words.decimal, is_fine=True)
    unit = fact.unit.casefold()
    if value is None:
        flags.append(NO_NUMBER)
        return "", ""
    power = words.scales.get(fact.scale.casefold().rstrip("."), 0) if fact.scale else 0
    found = words.currencies.get(unit) or words.units.get(unit) or ""
    if not found:
        flags.append(SHARED_SIGN)
    return f"{(value * Decimal(10) ** power).normalize():f}", found or fact.unit


def _object_core(printed: str, value: str) -> str:
    """What of an object tells facts apart: the name that it begins with; beside a value, words only say it again."""
    name = leading_name(printed)
    if name or value:
        return simple_name(name)
    return simple_name(printed)


def _key(*parts: str) -> str:
    text = "\x1f".join(fold(part) for part in parts)
    return blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).hexdigest()
