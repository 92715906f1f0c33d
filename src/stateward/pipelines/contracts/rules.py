"""Verticals and providers as data: which fields a contract has, what they are called, what is plausible.

A file describes one vertical (`vertical: energy`) or a list of providers (`providers:`). An own file replaces the
shipped one of the same vertical, and an own provider the shipped one of the same name. Everything is checked when it is
loaded: a `ContractRules` is always valid. Nothing here reads a contract.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from stateward.core.errors import DeclarationError, Fault, UnknownName
from stateward.definition.plain_values import Document
from stateward.definition.yaml_source import convert
from stateward.definition.yaml_text import read_yaml

FILES_MAX = 200
FILE_BYTES_MAX = 1_000_000
VERSION_CHARS = 10
# What the state machine requires before a contract goes on without a person. A vertical or a provider may require
# more; less would have no effect there, so it is refused here.
ACCEPTED_MIN = 80
LABEL_FORMS_MAX = 1000
LIKE = "like"
_GROUP = re.compile(r"\{([^{}]*)\}")

Kind = Literal[
    "provider", "text", "date", "money", "duration", "quantity", "percent", "party", "law"
]
Per = Literal["", "month", "year", "once", "kWh"]
Score = Annotated[int, msgspec.Meta(ge=0, le=100)]
Threshold = Annotated[
    int,
    msgspec.Meta(
        ge=ACCEPTED_MIN,
        le=100,
        title=f"a number from {ACCEPTED_MIN}, which the machine requires, to 100",
    ),
]
Slug = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,39}$", title="a small name")]
Words = dict[str, list[str]]  # by language: de, en, …


class ValueRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An inclusive range; an end that is not given is open. Durations count in months, dates in years."""

    min: float | None = None
    max: float | None = None

    def holds(self, number: float) -> bool:
        """Whether a number lies in it."""
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)

    def __str__(self) -> str:
        """As part of a sentence."""
        if self.min is None:
            return f"at most {self.max:g}" if self.max is not None else "anything"
        return f"{self.min:g} or more" if self.max is None else f"{self.min:g} to {self.max:g}"


class Penalties(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each problem takes off the score."""

    missing: Score = 15
    empty: Score = 10
    out_of_range: Score = 10
    wrong_vertical: Score = 30


class FieldRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field: its kind, its labels in each language, and what is plausible.

    `labels` name it; `weak` labels name it where no label does; `rivals` are so similar that a contract with both needs
    a review; `instead` are weak labels that mean something else beside a label. `zero` are words behind a label that
    mean zero, `phrases` state a value (the key) without a number, `words` are values of a text field that need no
    label, `wider` are words of such values with those that say the same more closely, `sentences` are patterns with a
    group `value`, and `told` are patterns of sentences in the small print that tell it: another value in one of
    them is a doubt. A group `{a|b}` in a label stands for each of its parts; an empty part is allowed. A required
    field that `may_be_missing` holds a contract up only where it is printed.
    """

    name: Slug
    kind: Kind
    required: bool = True
    may_be_missing: bool = False
    labels: Words = {}
    weak: Words = {}
    rivals: Words = {}
    instead: Words = {}
    zero: Words = {}
    phrases: Words = {}
    words: Words = {}
    wider: Words = {}
    sentences: list[str] = []
    told: list[str] = []
    range: ValueRange | None = None
    unit: str = ""
    per: Per = ""
    doc: str = ""


class Decoy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something else in a contract, whose value must not be taken for a field."""

    name: Slug
    kinds: list[Kind]
    labels: Words


class DateSequenceRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two dates: the first is before the second, by at most so many years.

    `labels` name the time between them, which a contract prints as two dates or as a period. `is_reckoned` says that
    the second date follows from the first and that period: the last day of it.
    """

    first: Slug
    second: Slug
    years_max: float | None = None
    labels: Words = {}
    is_reckoned: bool = False


class PeriodWithinRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A period that is not longer than the time from one date to another."""

    period: Slug
    first: Slug
    second: Slug


class Vertical(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of contract."""

    slug: Annotated[Slug, msgspec.Meta(title="the vertical's name")] = msgspec.field(
        name="vertical"
    )
    version: Annotated[int, msgspec.Meta(ge=1)]
    title: dict[str, str] = {}
    signs: Words = {}
    fields: Annotated[list[FieldRule], msgspec.Meta(min_length=1)]
    decoys: list[Decoy] = []
    plain: Words = {}  # words beside a value that change nothing about it
    orders: list[DateSequenceRule] = []
    within: list[PeriodWithinRule] = []
    threshold: Threshold = ACCEPTED_MIN
    penalties: Penalties = Penalties()
    extractor: str = "fields"

    def field(self, name: str) -> FieldRule | None:
        """The field of that name."""
        return next((field for field in self.fields if field.name == name), None)

    @property
    def required(self) -> list[FieldRule]:
        """The fields that a contract must have."""
        return [field for field in self.fields if field.required]

    @property
    def knows_providers(self) -> bool:
        """Whether contracts of this kind have a provider."""
        return any(field.kind == "provider" for field in self.fields)


class ProviderOverride(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What differs in one vertical for the contracts of one provider."""

    threshold: Threshold | None = None
    penalties: dict[str, Score] = {}
    ranges: dict[str, ValueRange] = {}
    optional: list[str] = []


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A company that sells contracts: its canonical name, other spellings, and its verticals."""

    name: str
    aliases: list[str] = []
    verticals: dict[str, ProviderOverride | None]


class ProviderFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with providers."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    providers: list[Provider]


class SharedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with what verticals share: sets of labels, used by `like`, decoys and plain words for all verticals."""

    shared: str
    version: Annotated[int, msgspec.Meta(ge=1)]
    labels: dict[str, Words] = {}
    decoys: list[Decoy] = []
    plain: Words = {}


class DocumentRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a document says of itself, in a heading, in a sentence or anywhere, that a person must see.

    `unless` are words in the sentence of a match that make it say nothing of this contract: a condition, a right.
    """

    code: str
    sentence: str
    where: Literal["heading", "document", "sentence"]
    patterns: Words
    unless: list[str] = []

    @property
    def all_patterns(self) -> list[str]:
        """The patterns of all languages: a document may mix them."""
        return [each for words in self.patterns.values() for each in words]


class CapRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The highest confidence of values of some fields, where the words around them match one of the patterns.

    `fields`, `kinds` and `per` choose the fields; what is left out does not matter. With `is_marked` the patterns see
    the value between ⟦ and ⟧. `unless_around` are words around a value that keep it from the cap.
    """

    code: str
    sentence: str
    where: Literal["around", "before", "behind", "value", "document"]
    cap: Annotated[int, msgspec.Meta(ge=0, lt=ACCEPTED_MIN)]
    patterns: Words
    fields: list[Slug] = []
    kinds: list[Kind] = []
    per: list[Per] = []
    unless_around: list[str] = []
    chars: int = 0  # of the start of the document, for `where: document`; 0 is all
    is_marked: bool = False
    is_settled_by_term: bool = False  # not of an end that start and printed term give, too

    @property
    def all_patterns(self) -> list[str]:
        """The patterns of all languages: a document may mix them."""
        return [each for words in self.patterns.values() for each in words]


class StateRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Families of words in which a document speaks of its own state: in a line by itself, or in a sentence.

    A sentence must also have one of `things`; a line or sentence with one of `unless` says nothing of this contract.
    `labels` are words before a colon that announce such a line. `blank` is a line to write on with those words.
    """

    code: str
    sentence: str
    where: Literal["mark", "statement", "blank"]
    words: Words
    things: Words = {}
    unless: list[str] = []
    labels: list[str] = []
    in_agreements: bool = True


class OrdinaryRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What letters to customers, or agreements, ordinarily say: sentences, or pairs of words that follow each other.

    A sentence is unusual if it does not know a share of `strange` of its pairs; for one that has none of the words of
    `duties`, so that it tells a fact, `strange_fact` is enough.
    """

    of: Literal["letters", "agreements"]
    language: str  # those of one kind and language are taken together
    strange: Annotated[float, msgspec.Meta(gt=0, le=1)]
    strange_fact: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    duties: list[str] = []
    sentences: list[str] = []
    pairs: list[str] = []  # a word, and those that follow it


class CapFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with caps; one of the same name replaces the shipped one."""

    name: str = msgspec.field(name="caps")
    version: Annotated[int, msgspec.Meta(ge=1)]
    values: list[CapRule] = []
    documents: list[DocumentRule] = []
    states: list[StateRule] = []
    function_words: Words = {}  # words that say nothing by themselves; each entry is several
    telling_words: list[str] = []  # by which an unusual sentence may say something of this contract
    pointing_words: list[str] = []  # of those: what happened, and what points at the document
    thing_words: list[str] = []  # what a contract is about
    harmless_words: list[
        str
    ] = []  # in a sentence that says nothing of this contract, unless it points
    open_words: list[str] = []  # in a sentence about what may happen
    subjects: list[str] = []  # each: words of which two make a sentence one about that subject
    denying_words: list[
        str
    ] = []  # by which a contract, or a value, is called wrong or not in force
    matter_words: list[str] = []  # what parties of an agreement do for each other
    neutral_words: list[str] = []  # in a sentence about that: amounts, periods, doing
    decisive_words: list[str] = []  # by which a sentence about that is about the agreement too
    idle_forms: list[str] = []  # patterns of whole sentences that change no contract
    signature_words: list[str] = []  # at the start of a line of a signature
    signing_words: list[str] = []  # in a sentence that belongs to the signatures
    schedule_words: list[str] = []  # at the start of the heading of what is attached
    ordinary: list[OrdinaryRule] = []


class ContractRules(msgspec.Struct, frozen=True, kw_only=True):
    """All rules; `version` changes with every change of the files."""

    version: str
    verticals: dict[str, Vertical]
    providers: list[Provider]
    caps: tuple[CapRule, ...] = ()
    document_rules: tuple[DocumentRule, ...] = ()
    states: tuple[StateRule, ...] = ()
    function_words: frozenset[str] = frozenset()
    telling_words: tuple[str, ...] = ()
    pointing_words: tuple[str, ...] = ()
    thing_words: tuple[str, ...] = ()
    harmless_words: tuple[str, ...] = ()
    open_words: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    denying_words: tuple[str, ...] = ()
    matter_words: tuple[str, ...] = ()
    neutral_words: tuple[str, ...] = ()
    decisive_words: tuple[str, ...] = ()
    idle_forms: tuple[str, ...] = ()
    signature_words: tuple[str, ...] = ()
    signing_words: tuple[str, ...] = ()
    schedule_words: tuple[str, ...] = ()
    ordinary: tuple[OrdinaryRule, ...] = ()

    def vertical(self, slug: str) -> Vertical:
        """A vertical by its name; raises `UnknownName` with the known names."""
        if slug not in self.verticals:
            raise UnknownName("vertical", slug, self.verticals)
        return self.verticals[slug]

    def provider(self, name: str) -> Provider | None:
        """A provider by its canonical name."""
        return next((provider for provider in self.providers if provider.name == name), None)

    def for_provider(self, vertical: Vertical, name: str | None) -> Vertical:
        """The vertical with what is different for that provider."""
        provider = self.provider(name) if name else None
        override = provider.verticals.get(vertical.slug) if provider else None
        return _override(vertical, override) if override else vertical


def load(folder: Path | None = None) -> ContractRules:
    """The shipped rules, and over them those of a folder; raises `DeclarationError` with every fault."""
    return rules_of({**shipped_texts(), **(_texts_in(folder) if folder else {})})


def rules_of(texts: Mapping[str, str]) -> ContractRules:
    """Rules out of the texts of files, by name; a later file takes the place of an earlier one."""
    faults: list[Fault] = []
    verticals: dict[str, tuple[Vertical, Document]] = {}
    providers: dict[str, tuple[Provider, Document, int]] = {}
    shared: dict[str, SharedFile] = {}
    caps: dict[str, CapFile] = {}
    for name, text in texts.items():
        try:
            document, file, wrong = _parse(name, text)
        except DeclarationError as error:
            faults.extend(error.faults)
            continue
        match file:
            case ProviderFile():
                for at, provider in enumerate(file.providers):
                    providers[provider.name] = (provider, document, at)
            case CapFile():
                caps[file.name] = file
            case SharedFile():
                shared[file.shared] = file
            case Vertical():
                verticals[file.slug] = (file, document)
        faults.extend(wrong)
    made = {
        slug: _complete(vertical, document, list(shared.values()), faults)
        for slug, (vertical, document) in verticals.items()
    }
    faults.extend(_provider_faults(providers.values(), made))
    if faults:
        raise DeclarationError(faults)
    return ContractRules(
        version=_version(texts),
        verticals=made,
        providers=[provider for provider, _, _ in providers.values()],
        caps=tuple(rule for file in caps.values() for rule in file.values),
        document_rules=tuple(rule for file in caps.values() for rule in file.documents),
        states=tuple(rule for file in caps.values() for rule in file.states),
        function_words=_single_words(file.function_words for file in caps.values()),
        telling_words=tuple(word for file in caps.values() for word in file.telling_words),
        pointing_words=tuple(word for file in caps.values() for word in file.pointing_words),
        thing_words=tuple(word for file in caps.values() for word in file.thing_words),
        harmless_words=tuple(word for file in caps.values() for word in file.harmless_words),
        open_words=tuple(word for file in caps.values() for word in file.open_words),
        subjects=tuple(words for file in caps.values() for words in file.subjects),
        denying_words=tuple(word for file in caps.values() for word in file.denying_words),
        matter_words=tuple(word for file in caps.values() for word in file.matter_words),
        neutral_words=tuple(word for file in caps.values() for word in file.neutral_words),
        decisive_words=tuple(word for file in caps.values() for word in file.decisive_words),
        idle_forms=tuple(form for file in caps.values() for form in file.idle_forms),
        signature_words=tuple(word for file in caps.values() for word in file.signature_words),
        signing_words=tuple(word for file in caps.values() for word in file.signing_words),
        schedule_words=tuple(word for file in caps.values() for word in file.schedule_words),
        ordinary=tuple(rule for file in caps.values() for rule in file.ordinary),
    )


def _single_words(sets: Iterable[Words]) -> frozenset[str]:
    """Every word of entries that are several words each."""
    lines = (line for words in sets for listed in words.values() for line in listed)
    return frozenset(word for line in lines for word in line.split())


@lru_cache(maxsize=FILES_MAX)
def _parse(
    name: str, text: str
) -> tuple[Document, ProviderFile | CapFile | SharedFile | Vertical | None, Sequence[Fault]]:
    """A file, what it holds and what is wrong with it by itself.

    Cached: most files do not change from one load to the next, and to check patterns they must all be compiled.
    """
    document = read_yaml(text, source=name)
    if document.has("providers"):
        return document, *convert(document, ProviderFile)
    if document.has("caps"):
        file, wrong = convert(document, CapFile)
        return document, file, (*wrong, *(_cap_faults(file, document) if file else ()))
    if document.has("shared"):
        return document, *convert(document, SharedFile)
    return document, *convert(document, Vertical)


def expand_label(label: str) -> list[str]:
    """A label with each of its groups expanded: `{Vertrags|Liefer}ende` is two labels."""
    found = _GROUP.search(label)
    if not found:
        return [label]
    before, behind = label[: found.start()], expand_label(label[found.end() :])
    return [before + part + rest for part in found[1].split("|") for rest in behind]


def all_labels(words: Words) -> Iterator[str]:
    """Every label of a set, in every language, expanded."""
    for each in words.values():
        for label in each:
            yield from expand_label(label)


@cache
def default_rules() -> ContractRules:
    """The rules that come with the package."""
    return rules_of(shipped_texts())


def shipped_texts() -> dict[str, str]:
    """The files that come with the package, by name."""
    folder = files(__package__) / "rules"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".yaml"))
    return {name: (folder / name).read_text("utf-8") for name in names}


def _texts_in(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise DeclarationError(
            [_fault(str(folder), "it is not a folder; name one with *.yaml files")]
        )
    paths = sorted(folder.glob("*.yaml"))[:FILES_MAX]
    texts: dict[str, str] = {}
    for path in paths:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise DeclarationError([_fault(str(path), f"it is larger than {FILE_BYTES_MAX} bytes")])
        try:
            texts[str(path)] = path.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise DeclarationError(
                [_fault(str(path), "it is not UTF-8; save it as UTF-8")]
            ) from error
    return texts


def _complete(
    vertical: Vertical, document: Document, shared: Sequence[SharedFile], faults: list[Fault]
) -> Vertical:
    """The vertical with the labels and decoys of the shared files; faults are appended to `faults`."""
    sets = {name: words for file in shared for name, words in file.labels.items()}
    for path, words in _word_sets(vertical):
        for name in words.get(LIKE, []):
            if name not in sets:
                said = (
                    f"unknown shared set of labels {name!r}; known sets: {', '.join(sorted(sets))}"
                )
                faults.append(document.fault(path, said))
    fields = [
        msgspec.structs.replace(
            field, labels=_with_shared(field.labels, sets), weak=_with_shared(field.weak, sets)
        )
        for field in vertical.fields
    ]
    orders = [
        msgspec.structs.replace(each, labels=_with_shared(each.labels, sets))
        for each in vertical.orders
    ]
    made = msgspec.structs.replace(vertical, fields=fields, orders=orders)
    faults.extend(_faults_of(made, document))
    common = [decoy for file in shared for decoy in file.decoys]
    plain = {
        "": [*all_labels(vertical.plain), *(w for file in shared for w in all_labels(file.plain))]
    }
    return msgspec.structs.replace(made, decoys=[*vertical.decoys, *common], plain=plain)


def _word_sets(vertical: Vertical) -> Iterator[tuple[tuple[str | int, ...], Words]]:
    for at, field in enumerate(vertical.fields):
        yield ("fields", at, "labels"), field.labels
        yield ("fields", at, "weak"), field.weak
    for at, order in enumerate(vertical.orders):
        yield ("orders", at, "labels"), order.labels


def _with_shared(words: Words, sets: Mapping[str, Words]) -> Words:
    made = {language: list(each) for language, each in words.items() if language != LIKE}
    for name in words.get(LIKE, []):
        for language, each in sets.get(name, {}).items():
            made[language] = [*made.get(language, []), *each]
    return made


def _faults_of(vertical: Vertical, document: Document) -> Iterator[Fault]:
    """Faults of a vertical that types cannot express."""
    owners: dict[str, str] = {}
    names = [field.name for field in vertical.fields]
    for at, field in enumerate(vertical.fields):
        if field.name in names[:at]:
            said = f"the field {field.name} is defined twice; keep one"
            yield document.fault(("fields", at, "name"), said)
        for said in _field_faults(field, owners):
            yield document.fault(("fields", at), said)
    named_by = {key.partition(" ")[2]: owner for key, owner in owners.items()}
    for at, decoy in enumerate(vertical.decoys):
        for label in all_labels(decoy.labels):
            if owner := named_by.get(label.casefold()):
                said = f"the label {label!r} names the field {owner}; take it out here or there"
                yield document.fault(("decoys", at, "labels"), said)
    named: list[tuple[str, int, tuple[str, ...]]] = [
        *(("orders", at, (each.first, each.second)) for at, each in enumerate(vertical.orders)),
        *(
            ("within", at, (each.period, each.first, each.second))
            for at, each in enumerate(vertical.within)
        ),
    ]
    for key, at, wanted in named:
        for name in wanted:
            if name not in names:
                yield document.fault((key, at), f"there is no field {name!r} in this vertical")


def _cap_faults(file: CapFile, document: Document) -> Iterator[Fault]:
    """Patterns that are no regular expressions."""
    listed: list[tuple[tuple[str | int, ...], str]] = [
        *(
            (("values", at, "patterns"), each)
            for at, rule in enumerate(file.values)
            for each in (*rule.all_patterns, *rule.unless_around)
        ),
        *(
            (("documents", at, "patterns"), each)
            for at, rule in enumerate(file.documents)
            for each in (*rule.all_patterns, *rule.unless)
        ),
        *((("idle_forms", at), each) for at, each in enumerate(file.idle_forms)),
    ]
    for place, pattern in listed:
        try:
            re.compile(pattern)
        except re.error as error:
            said = f"the pattern {pattern!r} is not a regular expression: {error}"
            yield document.fault(place, said)


def _field_faults(field: FieldRule, owners: dict[str, str]) -> Iterator[str]:
    if _is_reversed(field.range):
        yield "the range is reversed: min must not be above max"
    if field.kind not in ("provider", "party") and not (field.labels or field.sentences):
        yield f"{field.name} has no labels; list what contracts call it"
    for label in (each for words in field.labels.values() for each in words):
        if label.count("{") != label.count("}"):
            yield f"the label {label!r} has an unclosed group"
        if math.prod(part.count("|") + 1 for part in _GROUP.findall(label)) > LABEL_FORMS_MAX:
            yield f"the label {label!r} has more than {LABEL_FORMS_MAX} forms; write two labels"
            return
    for label in all_labels(field.labels):
        owner = owners.setdefault(f"{field.kind} {label.casefold()}", field.name)
        if owner != field.name:
            yield f"the label {label!r} already names {owner}; a label can name one {field.kind}"
    for pattern in (*field.told, *field.sentences):
        try:
            groups = re.compile(pattern).groupindex
        except re.error as error:
            yield f"the sentence {pattern!r} is not a regular expression: {error}"
        else:
            if pattern in field.sentences and "value" not in groups:
                yield f"the sentence {pattern!r} has no group for its value; write (?P<value>…)"


def _provider_faults(
    providers: Iterable[tuple[Provider, Document, int]], verticals: Mapping[str, Vertical]
) -> Iterator[Fault]:
    owners: dict[str, str] = {}
    for provider, document, at in providers:
        where = ("providers", at)
        for alias in (provider.name, *provider.aliases):
            owner = owners.setdefault(alias.casefold(), provider.name)
            if owner != provider.name:
                said = f"{alias!r} already means {owner}; one name can mean one provider"
                yield document.fault((*where, "aliases"), said)
        for slug, override in provider.verticals.items():
            if slug not in verticals:
                said = f"there is no vertical {slug!r}; there are: {', '.join(sorted(verticals))}"
                yield document.fault((*where, "verticals", slug), said)
            elif override:
                for said in _override_faults(override, verticals[slug]):
                    yield document.fault((*where, "verticals", slug), said)


def _override_faults(override: ProviderOverride, vertical: Vertical) -> Iterator[str]:
    for name in (*override.ranges, *override.optional):
        if vertical.field(name) is None:
            yield f"{vertical.slug} has no field {name!r}"
    for name, range_ in override.ranges.items():
        if _is_reversed(range_):
            yield f"the range of {name} is reversed: min must not be above max"
    for name in override.penalties:
        if name not in Penalties.__struct_fields__:
            yield f"there is no penalty {name!r}; there are: {', '.join(Penalties.__struct_fields__)}"


def _override(vertical: Vertical, override: ProviderOverride) -> Vertical:
    fields = [
        msgspec.structs.replace(
            field,
            range=override.ranges.get(field.name, field.range),
            required=field.required and field.name not in override.optional,
        )
        for field in vertical.fields
    ]
    return msgspec.structs.replace(
        vertical,
        fields=fields,
        threshold=vertical.threshold if override.threshold is None else override.threshold,
        penalties=msgspec.structs.replace(vertical.penalties, **override.penalties),
    )


def _version(texts: Mapping[str, str]) -> str:
    """A short hash of the files."""
    body = "\0".join(f"{name.rpartition('/')[2]}\0{text}" for name, text in texts.items())
    return hashlib.sha256(body.encode()).hexdigest()[:VERSION_CHARS]


def _is_reversed(range_: ValueRange | None) -> bool:
    return bool(
        range_ and range_.min is not None and range_.max is not None and range_.min > range_.max
    )


def _fault(source: str, sentence: str) -> Fault:
    return Fault(source=source, line=0, path="", sentence=sentence)
