"""Words of reports in several languages: columns, flags, ordinal values, specimens; from words.yaml."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

_SPECIAL = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "µ": "u", "μ": "u"})


def load_data(name: str) -> Any:  # noqa: ANN401 - YAML of our own, checked by the tests
    """A YAML file of this package."""
    # libyaml's parser, where PyYAML has it, is ten times as fast; both build plain values only.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return loader(files(__package__).joinpath(name).read_text("utf-8")).get_single_data()


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """A text without case, accents and punctuation, `+` aside; ä, ae and a are the same."""
    bare = unicodedata.normalize("NFKD", text.casefold().translate(_SPECIAL))
    bare = "".join(c for c in bare if not unicodedata.combining(c))
    bare = re.sub(r"(?<=[a-z])(?:ae)", "a", bare) if "ae" in bare else bare
    return " ".join(re.sub(r"[^\w+%]+|_", " ", bare).split())


def _fold_words(words: dict[str, list[str]]) -> dict[str, str]:
    """Words by their folded form; signs without letters and digits as they are."""
    return {_key(word): name for name, spelled in words.items() for word in spelled}


def _key(text: str) -> str:
    return fold(text) if any(map(str.isalnum, text)) else text.strip()


_WORDS = load_data("words.yaml")
COLUMNS: dict[str, str] = _fold_words(_WORDS["columns"])
FLAGS: dict[str, str] = {
    word.casefold(): name for name, spelled in _WORDS["flags"].items() for word in spelled
}
_ORDINALS: dict[str, str] = _fold_words(_WORDS["ordinals"])
ENVIRONMENT = "environmental sample"  # of which no code of a test of blood is true
SPECIMENS: dict[str, str] = _fold_words(_WORDS["specimens"])
# First what tells the specimen of a test as a whole: P-LCR is of platelets, LCR alone is cerebrospinal fluid.
_SPECIMENS_OF_TESTS: dict[str, str] = _fold_words(_WORDS["tests_of_specimens"]) | SPECIMENS
HL7_SPECIMENS: dict[str, str] = _WORDS["hl7_specimens"]
SECTIONS: frozenset[str] = frozenset(map(fold, _WORDS["sections"]))
COLLECTED: tuple[str, ...] = tuple(map(fold, _WORDS["collected"]))
PENDING_WORDS: frozenset[str] = frozenset(map(fold, _WORDS["pending"]))
ANTIBIOGRAMS: frozenset[str] = frozenset(map(fold, _WORDS["antibiograms"]))
SUSCEPTIBILITIES: dict[str, str] = _WORDS["susceptibilities"]
LABELS: frozenset[str] = frozenset(map(fold, _WORDS["no_result_labels"]))
LINES: tuple[str, ...] = tuple(map(fold, _WORDS["no_results"]))


_FLAG_PARTS: dict[str, str] = _fold_words(_WORDS["flag_parts"])
PHRASE_WORDS_MAX = 8
FLAGS_MAX = 3  # of one result


# Letters and words in brackets that are nothing but flags; `(ALT)` and `(B)` are names too.
_BRACKETED = re.compile(
    r"\((hh?|ll?|aa?|high|low|abnormal|critical|critical high|critical low|normal)\)"
    r"|\[(hh?|ll?|aa?|high|low|abnormal|critical|critical high|critical low|normal|n|ok)\]"
)
# Drawn before a word, which says what they mean: `✓ Within range`.
_DRAWN = "✓✔☑●○◉■□◆◇•⬤✗✘❌✅🟢🟡🟠🔴️ "


@lru_cache(maxsize=4096)
def flag_of_words(text: str) -> str:
    """What a flag means: a known one, or a phrase of words that say one side and nothing else; "" if it is none.

    `Below the lower reference limit` is low: it says `below`, and `lower` only tells which limit.
    """
    bare = text.strip().casefold()
    if known := FLAGS.get(bare, "") or FLAGS.get(_BRACKETED.sub(r"\1\2", bare), ""):
        return known
    if several := _flag_of_several(bare.split()):
        return several
    plain = bare.lstrip(_DRAWN)
    if plain != bare and plain:
        return flag_of_words(plain)
    words = fold(text).split()
    if not 1 < len(words) <= PHRASE_WORDS_MAX:
        return ""
    parts = [_FLAG_PARTS.get(word, "") for word in words]
    if not all(parts):
        return ""
    sides = {each for each in parts if each in ("H", "L", "A")} or {
        {"upper": "H", "lower": "L"}.get(each, "") for each in parts
    } - {""}
    return sides.pop() if len(sides) == 1 else ""


def _flag_of_several(parts: list[str]) -> str:
    """What flags side by side mean, one of them a sign: `H ↑`, `* L`; "" if they contradict each other."""
    if not 1 < len(parts) <= FLAGS_MAX or all(map(str.isalpha, parts)):
        return ""
    told = {FLAGS.get(each, "") for each in parts}
    sides = told - {"A"} or told
    return sides.pop() if len(sides) == 1 else ""


def ordinal_of(text: str) -> str:
    """The ordinal value that a text means, such as negative or 2+; "" if it means none."""
    return _ORDINALS.get(_key(text), "")


_DOUBTED: tuple[str, ...] = tuple(map(fold, _WORDS["doubted"]))
_DENYING: frozenset[str] = frozenset(map(fold, _WORDS["denying"]))
_GENERAL: frozenset[str] = frozenset(map(fold, _WORDS["general_remarks"]))
_SENTENCE_END, _CLAUSE_END = re.compile(r"[.;\n]"), re.compile(r",")


@lru_cache(maxsize=1024)
def doubts_specimen(remark: str) -> bool:
    """Whether a remark of the laboratory says that this specimen or value is not to be relied upon.

    What a sentence says of specimens in general, as remarks on a method do, is no doubt about this one.
    """
    sentences = (
        each for each in _SENTENCE_END.split(remark) if _GENERAL.isdisjoint(fold(each).split())
    )
    return any(_is_doubt(clause) for each in sentences for clause in _CLAUSE_END.split(each))


def _is_doubt(clause: str) -> bool:
    words = f" {fold(clause)} "
    found = (words.partition(f" {each} ") for each in _DOUBTED)
    return any(
        sign and _DENYING.isdisjoint(before.split()) and _DENYING.isdisjoint(behind.split()[:1])
        for before, sign, behind in found
    )


_AMENDED: tuple[str, ...] = tuple(map(fold, _WORDS["amended"]))


def says_amended(text: str) -> bool:
    """Whether a text says that a report takes the place of an earlier one."""
    words = f" {fold(text)} "
    return any(f" {each} " in words for each in _AMENDED)


REMARK_HEADINGS: frozenset[str] = frozenset(map(fold, _WORDS["remark_headings"]))
_TECHNIQUES: frozenset[str] = frozenset(map(fold, _WORDS["techniques"]))
PANELS: frozenset[str] = frozenset(map(fold, _WORDS["panels"]))
ADDRESSES: tuple[str, ...] = tuple(map(re.escape, _WORDS["addresses"]))
_METHODS: tuple[str, ...] = tuple(map(fold, _WORDS["methods"]))


def says_method(text: str) -> bool:
    """Whether a text says how something was measured: `Hexokinase`, `ISE, indirect`, `calculated`."""
    words = f" {fold(text)} "
    return any(f" {each}" in words for each in _METHODS)


def names_technique(text: str) -> bool:
    """Whether a text says itself that it is a method: `VCS Technology`, `Hexokinase method`."""
    return says_method(text) and not _TECHNIQUES.isdisjoint(fold(text).split())


CATEGORIES: frozenset[str] = frozenset(map(fold, _WORDS["categories"]))


def is_category(text: str) -> bool:
    """Whether a text names what values mean, and no test: `Deficient`, `Borderline high`."""
    words = fold(text).split()
    told = sum(word in CATEGORIES for word in words)
    # `Risk Group Category A`
    is_lettered = told > 1 and all(word in CATEGORIES or len(word) == 1 for word in words)
    return bool(words) and (told == len(words) or is_lettered)


_STEMS: dict[str, tuple[str, ...]] = {
    role: tuple(map(fold, stems)) for role, stems in _WORDS["column_stems"].items()
}
_FILLER = "filler"
_SIDES = frozenset({"low", "high"})
_WEAK = frozenset(
    {"value", "test"}
)  # words that headings of other columns have too: `reference value`
HEADING_WORDS_MAX = 5
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DAY_BEHIND = re.compile(
    r"(?<=\w)[\s:,(]{1,3}(\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[T ]\d{1,2}:\d\d(?::\d\d)?)?)\)?\s*$"
)


_DAYS = re.compile(r"\(|\d")


def known_column(text: str) -> str:
    """The column that a heading names, if it is known as a whole."""
    return COLUMNS.get(_key(text), "")


@lru_cache(maxsize=8192)
def column_of(text: str) -> str:
    """The column that a heading names, known as a whole or by its words; "" for a text that is no heading."""
    parted = _CAMEL.sub(" ", text)  # `CharacteristicName`, as programs name columns
    return (
        known_column(text)
        or _column_by_words(fold(text).split())
        or (column_of(parted) if parted != text else "")
    )


def column_of_cell(text: str) -> str:
    """The same of a whole cell, whose heading may name a day behind it: `Current 2025-05-06 06:10`."""
    found = column_of(text)
    if found or (dated := _DAY_BEHIND.search(text)) is None:
        return found
    found = column_of(text[: dated.start()])
    return found if found in ("value", "previous") else ""


def is_earlier(label: str) -> bool:
    """Whether a label says that what follows are earlier results: `Resultados anteriores em 02/03/2026`."""
    words = fold(_DAYS.split(label, maxsplit=1)[0]).split()
    return any(
        column_of(" ".join(words[:count])) == "previous" for count in range(len(words), 0, -1)
    )


def day_in_heading(text: str) -> str:
    """The day and time that a heading names behind its words."""
    found = _DAY_BEHIND.search(text)
    return found[1] if found else ""


PERSON_COLUMNS: dict[str, str] = _fold_words(_WORDS["person_columns"])
_PROCESS = frozenset(map(fold, _WORDS["process"]))
PROCESS_TESTS = frozenset(_WORDS["process_tests"])
# Columns that only a laboratory of people prints beside a batch; a range may be that of a tank.
_OF_LABORATORIES = frozenset({"flag", "specimen", "previous", "in_range", "out_of_range"})
_SAMPLE_IDS = frozenset(map(fold, _WORDS["sample_ids"]))


def is_of_production(headings: Iterable[str]) -> bool:
    """Whether headings name a vessel or a batch, and no person: glucose and lactate are not those of blood there."""
    told = [(column_of(each), fold(each)) for each in headings]
    is_of_person = any(
        (role == "patient" and name not in _SAMPLE_IDS)
        or role in _OF_LABORATORIES
        or "loinc" in name
        for role, name in told
    )
    return not is_of_person and any(not _PROCESS.isdisjoint(name.split()) for _, name in told)


def _column_by_words(words: list[str]) -> str:
    """What several words name together: the role that comes first in the table, where all of them are known.

    `Valores de referencia` has words for values and for ranges, and is a range.
    """
    if not 1 < len(words) <= HEADING_WORDS_MAX:
        return ""
    roles = [_role_of_word(word) for word in words]
    told = {role for role in roles if role not in ("", _FILLER)}
    sides = told & _SIDES
    if all(roles) and len(sides) == 1 and told - _SIDES - _WEAK == {"range"}:
        return sides.pop()  # `Normbereich unten`, `Lower reference limit`
    if not all(roles) or not told or sides or len(told - _WEAK) > 1:
        return ""  # `Interval Method` is two headings
    return min(told, key=[*_STEMS].index)


@lru_cache(maxsize=8192)
def _role_of_word(word: str) -> str:
    """The role of a word that is a stem, or begins with one that ends in `+`."""
    for role, stems in _STEMS.items():
        if any(word.startswith(s[:-1]) if s.endswith("+") else word == s for s in stems):
            return role
    return ""


def specimen_of(text: str) -> str:
    """The specimen that a text names: blood, urine, stool, csf; "" if it names none."""
    return _named_in(text, SPECIMENS)


def specimen_of_test(name: str) -> str:
    """The specimen of a test by its name, which may tell it without naming it: microalbumin is of urine."""
    return _named_in(name, _SPECIMENS_OF_TESTS)


def _named_in(text: str, specimens: Mapping[str, str]) -> str:
    words = f" {fold(text)} "
    return next((name for word, name in specimens.items() if f" {word} " in words), "")
