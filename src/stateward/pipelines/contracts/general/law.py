"""The law that governs a contract: the name of a state, province or country.

A clause with "governed by" or "construed under" counts most. The law under which a party is organised does not count,
and the place of a court only where no clause names a law.
"""

import re
from collections.abc import Iterator

import msgspec

from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.word_lists import pairs, phrases
from stateward.pipelines.kit.windows import windows

ADJECTIVES = pairs("adjectives")
_PLACES = [*phrases("states"), *phrases("provinces"), *phrases("countries")]
NAMES = {name.casefold(): name for name in _PLACES}
NAMES |= {alias.casefold(): name for alias, name in pairs("aliases").items()}


def _any(names: list[str]) -> str:
    return "|".join(
        re.escape(name).replace(r"\ ", r"\s+") for name in sorted(names, key=len, reverse=True)
    )


_PLACE = f"(?P<place>{_any(list(NAMES))})"
_OF = r"(?:the\s+)?(?:(?:internal|substantive|domestic|local|applicable|civil|material)\s+)?(?:and\s+\w+\s+)?"
_STATE = (
    r"(?:the\s+)?(?:(?:State|Commonwealth|Province|Republic|Kingdom|Territory|Country|Federal\s+Republic|Grand\s+Duchy)\s+"
    r"of\s+)?(?:the\s+)?"
)
_GOVERNED = (
    r"(?:govern(?:ed|s|ing)?|constru(?:ed|ction)|interpret(?:ed|ation)|enforce(?:d|ment|able)?|subject\s+to\s+and|"
    r"unterlieg(?:t|en)|maßgeb(?:lich|end)|untersteh(?:t|en)|gilt|gelten|findet|anwendbar|anzuwenden|ist(?=[^.;]{0,120}\b(?:anzuwenden|anwendbar|maßgeb)))"
)
_CLAUSE = re.compile(
    rf"\b{_GOVERNED}\b(?:(?!\borganized\b|\bincorporated\b).){{0,260}}?\blaws?\s*(?:,\s*(?:and\s+)?[^,.;]{{0,60}},\s*)?"
    rf"(?:\([^()]{{0,80}}\)\s*)?(?:and\s+(?:decisions\s+of\s+the\s+courts|\w+)\s+)?(?:in\s+(?:force|effect)\s+)?(?:of|in|for)\s+{_STATE}{_PLACE}\b",
    re.IGNORECASE | re.DOTALL,
)
_ADJECTIVE_CLAUSE = re.compile(
    rf"\b{_GOVERNED}\b.{{0,120}}?\b(?:(?P<adjective>{_any(list(ADJECTIVES))})|{_PLACE}(?:'s)?(?:\s+state)?)\s+"
    r"(?:(?:internal|substantive|state)\s+)?(?:laws?|Recht)\b",
    re.IGNORECASE | re.DOTALL,
)
# `Delaware law governs this Agreement`, `the laws of Texas shall apply`: the law is what the sentence speaks of.
_GOVERNS = re.compile(
    rf"(?:\blaws?\s+of\s+{_STATE}{_PLACE}(?:,?\s+U\.?S\.?A?\.?)?|"
    rf"\b(?:(?P<adjective>{_any(list(ADJECTIVES))})|{_PLACE.replace('place', 'own')})\s+(?:law|Recht))\s+"
    r"(?:(?:shall|will|is\s+to)\s+)?(?:govern|control|appl(?:y|ies)|findet\s+Anwendung|gilt)s?(?=\s+(?:this|to\s+this|the\s+(?:validity|terms)|all)\b|\s*[.;])",
    re.IGNORECASE,
)
_RECHT = re.compile(rf"\bRecht\s+(?:der\s+|des\s+)?{_PLACE}\b", re.IGNORECASE)
_LAWS_OF = re.compile(rf"\blaws?\s+(?:\w+\s+){{0,3}}of\s+{_STATE}{_PLACE}\b", re.IGNORECASE)
_COURTS = re.compile(
    rf"\b(?:courts?|venue|jurisdiction|tribunals?|arbitration)\b[^.;]{{0,140}}?\b(?:of|in|for|within)\s+"
    rf"(?:(?:the\s+)?(?:[\w.]+\s+){{0,3}}(?:County|City|District)(?:\s+of\s+\w+)?,?\s+(?:of\s+)?)?{_STATE}{_PLACE}\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"\b(?:(?:governing|applicable|choice\s+of)\s+law|anwendbares\s+Recht)\b(?:\s+and\s+\w+)?\s*[:.\t-]\s*(?:the\s+)?(?:laws?\s+of\s+)?"
    rf"{_STATE}(?:{_PLACE}|(?P<adjective>{_any(list(ADJECTIVES))})\s+(?:law|Recht))\b",
    re.IGNORECASE,
)
_ORGANIZED = re.compile(
    r"\b(?:organi[sz]ed|incorporated|existing|formed|established|chartered|constituted|registered|corporation|company)"
    r"[^.;]{0,60}$",
    re.IGNORECASE,
)
# `a Master Agreement dated 3 May 2019, governed by`: the law of an agreement that is not this one.
_OTHERS = re.compile(
    r"\b(?:an?|the|that|certain|prior|previous|their|its)\s+(?:(?!\bthis\b)[^.;]){0,90}\bdated\b(?:(?!\bthis\b)[^.;]){0,60}$",
    re.IGNORECASE,
)
BEFORE_CHARS = 160
NAME_CHARS, GOVERNS_CHARS = 40, 120  # before and behind the word law
_LAW = re.compile(
    r"\b(?:[Ll]aws?|LAWS?|Recht)\b"
    rf"(?=(?is:.{{0,{GOVERNS_CHARS}}}?(?:govern|control|appl(?:y|ies)|findet|gilt)))"
)
_SEPARATE = re.compile(
    r"\b(?:securities|patent|tax|bankruptcy|employment|antitrust|privacy)\s+$", re.IGNORECASE
)
FEDERAL = frozenset(
    {"United States", "Canada"}
)  # named beside a state mostly for exports and securities
STRONG = ("clause", "adjective", "label")
WEIGHTS = {"clause": 6.0, "adjective": 5.0, "label": 5.0, "laws": 2.0, "courts": 1.0}


class NamedLaw(msgspec.Struct, frozen=True, gc=False):
    """A place whose law is named."""

    value: str
    start: int
    end: int
    kind: str


def named_laws(prose: Prose) -> list[NamedLaw]:
    """Every place whose law is named, but for those under which a party was founded."""
    return list(_find_laws(prose.text))


def governing_law(found: list[NamedLaw]) -> tuple[NamedLaw, int] | None:
    """The law that governs, with a confidence."""
    if not found:
        return None
    totals: dict[str, float] = {}
    for law in found:
        weight = WEIGHTS[law.kind] / (4 if law.value in FEDERAL else 1)
        totals[law.value] = totals.get(law.value, 0.0) + weight
    best = max(totals, key=lambda value: totals[value])
    law = max((law for law in found if law.value == best), key=lambda law: WEIGHTS[law.kind])
    rivals = [law for law in found if law.value != best]
    return law, _confidence(law, rivals)


def _confidence(law: NamedLaw, rivals: list[NamedLaw]) -> int:
    if law.kind in STRONG:
        strong = sum(rival.kind in STRONG for rival in rivals)
        return 96 if not strong else 78
    if law.kind == "laws":
        return 76 if not rivals else 62
    return 60 if not rivals else 45


def _find_laws(text: str) -> Iterator[NamedLaw]:
    taken: set[int] = set()
    for kind, pattern in (
        ("clause", _CLAUSE),
        ("adjective", _ADJECTIVE_CLAUSE),
        ("clause", _GOVERNS),
        ("clause", _RECHT),
        ("label", _LABEL),
        ("laws", _LAWS_OF),
        ("courts", _COURTS),
    ):
        for match in _matches(pattern, text):
            group = next(name for name, value in match.groupdict().items() if value)
            start, end = match.span(group)
            before = text[max(0, match.start() - 90) : start]
            if start in taken or _is_other(before, kind):
                continue
            if kind in STRONG and _is_of_another(text, match.start(), start):
                continue
            taken.add(start)
            yield NamedLaw(_name(match[group]), start, end, kind)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """All matches. One that begins with the name of a place is looked for only around the word law: it is costly."""
    if pattern is not _GOVERNS:
        yield from pattern.finditer(text)
        return
    for first, last in windows(_LAW, text, before=NAME_CHARS, behind=GOVERNS_CHARS):
        yield from pattern.finditer(text, first, last)


def _is_of_another(text: str, start: int, place: int) -> bool:
    """Whether the words before a clause, in its own sentence, speak of another agreement."""
    first = max(0, start - BEFORE_CHARS)
    return "." not in text[start:place] and _OTHERS.search(text, first, start) is not None


def _is_other(before: str, kind: str) -> bool:
    """Whether it is the law under which a party was founded, or that of one matter only."""
    if kind == "courts":
        return False
    before = before.rpartition("law")[0] or before
    return (
        bool(_ORGANIZED.search(before[-70:])) if kind == "laws" else bool(_SEPARATE.search(before))
    )


def _name(text: str) -> str:
    plain = " ".join(text.split()).casefold()
    adjectives = {name.casefold(): value for name, value in ADJECTIVES.items()}
    return NAMES.get(plain) or adjectives.get(plain) or text
