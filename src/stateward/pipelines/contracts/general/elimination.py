"""Approval by elimination: what in an agreement was not understood and may change a value.

As with the other verticals, listing all words that may qualify a value is hopeless, and listing those that do not is
possible. An agreement is prose, and what changes a value there is written in words of lower case: names, places and
addresses are not. So a party, the date and the law may go on without a person only if every such word of the
statement that makes them is known (`plain_…` in words.yaml), and if every other company, date or law that could be
meant instead is accounted for. Nothing here changes a value: what is left over caps its confidence.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from stateward.pipelines.contracts.general.effective import (
    WHY_CALLED,
    WHY_SIGNED,
    EffectiveDate,
    is_of_something_else,
)
from stateward.pipelines.contracts.general.law import ADJECTIVES, FEDERAL, NAMES, NamedLaw
from stateward.pipelines.contracts.general.names import PartyName, key
from stateward.pipelines.contracts.general.parties import Party, is_letter
from stateward.pipelines.contracts.general.preamble import companies_in, zone_end
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.word_lists import words
from stateward.pipelines.kit.date_finder import FoundDate

UNREAD_CAP, RIVAL_CAP = 78, 76
DATE_BEFORE, DATE_BEHIND = 200, 80
HEAD_CHARS = 1500
LISTED_WITHIN, LISTED_CHARS = 300, 200  # behind the last party: the next of a numbered list
LAW_BEFORE, LAW_BEHIND = 260, 220
PARTY_BEHIND = 300
QUOTED_WORDS_MAX = 4
SHOUTED_MIN = 5  # words of a text that is all in capitals: fewer are a name or a place
PAIR = 2
UNSIGNED = 78  # confidence of a company with a short name that is not among the signatures
BOUNDED = 82  # confidence of a name that does not sign, but that known words on both sides delimit

# Folded as the words of a text are: that also makes a double s of each ß.
_PLAIN = {
    kind: frozenset(word.casefold() for word in words(f"plain_{kind}"))
    for kind in ("date", "law", "party")
}
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_DIGIT = re.compile(r"\d")
_DEFINED = re.compile(r"\([^()]{0,80}\"[^\"]{1,60}\"[^()]{0,40}\)|\"[^\"]{1,60}\"")
_ROLE = re.compile(r"\((?:the\s+)?[A-Z][a-z]+(?:\s+[A-Z][a-z]+){0,2}\)")  # `(Disclosing Party)`
ADJECTIVE_LAWS = {name.casefold(): place for name, place in ADJECTIVES.items()}
_ADJECTIVE = re.compile(rf"\b(?:{'|'.join(map(re.escape, ADJECTIVE_LAWS))})\b", re.IGNORECASE)
_THIS = re.compile(
    r"\b(?:This|THIS|this|Diese[rs]?|DIESE[RS]?|(?:Auf|Für)\s+diese[nrs]?|Es\s+(?:gilt|findet))\b"
)
# The title of the contract, whatever it is called: `This Non-Interference Agreement`.
_TITLE = re.compile(
    r"\b(?:this|diese[rs]?)\b(?:(?!\bthis\b)[^.;(]){0,110}?(?:agreement|contract|letter|deed|undertaking|amendment|addendum|memorandum|lease|licen[cs]e|"
    r"vertrag|vereinbarung)\b",
    re.IGNORECASE,
)
# Legal forms that end no address: `Media, PA`, `Denver, CO`.
_FORMS = frozenset(
    {
        "inc",
        "ltd",
        "limited",
        "llc",
        "lp",
        "llp",
        "plc",
        "gmbh",
        "ag",
        "corp",
        "corporation",
        "bv",
        "kg",
        "se",
    }
)
# In German a noun begins with a capital as a name does, so there every word must be known.
_GERMAN = re.compile(
    r"\b(?:der|die|das|den|dem|des|wird|und|gilt|unterliegt|zwischen|wurde|am|zum|zur|im|vom|mit)\b"
)
_EFFECTIVE = re.compile(r"\b(?:effective|in\s+force|in\s+Kraft|wirksam|gültig)\b", re.IGNORECASE)
# What follows is about its end: `beginnt am 1. März 2025 und endet nach 6 Monaten`.
_DATE_ENDS = re.compile(
    r"\b(?:between|among(?:st)?|by|zwischen)\b|[(.;]|"
    r",?\s+und\s+(?:hat\s+eine\s+(?:feste\s+)?Laufzeit\s+von|(?:gilt|läuft)\s+(?:für|auf)(?:\s+die\s+Dauer\s+von)?)\s+\w+\s+"
    r"(?:Jahre?n?|Monate?n?)(?:\s+bis\s+zum\s+\d|\s*(?=[.;]|$))|"
    r",?\s+and\s+(?:shall\s+|will\s+)?(?:continues?|runs?|lasts?|remains?\s+in\s+(?:force|effect))\s+for\s+\w+|"
    r",?\s+for\s+an?\s+(?:\w+\s+)?(?:period|term)\s+of\s+\w+|"
    r",?\s+und\s+endet\s+(?:nach|am|mit)\s+[\w. ]{1,40}"
    r"(?:,\s+ohne\s+dass\s+es\s+(?:hierzu\s+)?einer\s+kündigung\s+bedarf)?\s*(?=[.;]|$)|"
    r",?\s+and\s+(?:ends|expires)\s+(?:on|after)\s+[\w, ]{1,40}(?=[.;]|$)",
    re.IGNORECASE,
)
# The clause on the law is over, and the sentence goes on with something else.
_CLAUSE_ENDS = re.compile(
    r"[.;(](?=\s|\w|$)|,\s+whose\s+courts\b|,?\s+and\s+(?:the|each|any|all|may|shall|will|both|you|we|is|are|no)\b",
    re.IGNORECASE,
)
# What takes nothing away from the law that is named: the rules by which another one could come in are left out.
_CONFLICTS = re.compile(
    r"\b(?:except|excluding|exclusive\s+of|without|other\s+than|regardless|irrespective|notwithstanding|but\s+not|to\s+the\s+exclusion)\b"
    r"[^.;]{0,120}?\b(?:conflicts?|choice)[\s-]+(?:of[\s-]+)?laws?\b[^.;]{0,160}|"
    r"\b(?:conflicts?|choice)[\s-]+of[\s-]+laws?\b[^.;]{0,160}|"
    r"\bunter\s+Ausschluss\b[^.;]{0,160}|"
    r"\bmit\s+Ausnahme\s+(?:der|des|seiner|von)\s+(?:\w+\s+){0,2}(?:Verweisungs|Kollisions|UN-)[^.;]{0,60}",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"\b(?:effective|commenc\w*|begin\w*|start\w*|in\s+force|as\s+of|in\s+Kraft|wirksam|beginnt|Beginn)\b[^.;]{0,40}$",
    re.IGNORECASE,
)
# In German the verb may stand behind the date: `wird der Vertrag erst zum 20. Juni 2023 wirksam`.
_BEGINS = re.compile(
    r"\b(?:wirksam|wirksamkeit|in\s+kraft|beginnt|beginnen|beginn|startet|gilt\s+(?:erst\s+)?(?:ab|seit)|rückwirkend|frühestens|erst)\b",
    re.IGNORECASE,
)
_WITH_EFFECT = re.compile(
    r"\b(?:mit\s+wirkung\s+(?:zum|ab|vom)|with\s+effect\s+(?:from|on|as\s+of))(?:\s+(?:dem|the))?\s*$",
    re.IGNORECASE,
)
_CONTRACT = re.compile(
    r"\b(?:this|the)\s+(?:\w+[\s-]+){0,3}(?:agreement|contract|undertaking|nda|letter|deed|lease|licen[cs]e)\b|\bterm\b|\bhereof\b|"
    r"\bvertrag(?:e?s)?\b|\bvereinbarung\b|\blaufzeit\b|\bmietverhältnis\b",
    re.IGNORECASE,
)
_NAME_BEGINS = re.compile(
    r"(?:\b(?:between|among|amongst|and|by|with|zwischen|und)\s*:?|\bparty\s+\w{1,3}\s*[:\t]|\(\w{1,3}\)|\b\d{1,2}[.)]|;)\s*(?:the\s+)?$",
    re.IGNORECASE,
)
_NAME_ENDS = re.compile(
    r"\s*,?\s*(?:\(\s*(?:the\s+|hereinafter\s+)?[\"“]|an?\s+(?:[\w.]+\s+){0,6}(?:corporation|company|partnership|individual|bank|trust|"
    r"entity|resident|association|university|institution)\b|having\b|with\s+(?:its\s+)?(?:\w+\s+){0,3}(?:office|place|address|headquarters)|"
    r"\d{1,5}\s+[A-Z][\w.]*\s+\w|located\b|whose\b|organi[sz]ed\b|incorporated\b|mit\s+Sitz\b)",
    re.IGNORECASE,
)
_BELONGS = re.compile(
    r"\b(?:subsidiary|affiliate|parent|division|successor|formerly|d/b/a|dba|member|unit|part|branch|holding)\b[^.;]{0,60}$",
    re.IGNORECASE,
)


# Right before a name, over the end of a line: its bearer acts for a party, or follows one.
_ACTS_FOR = re.compile(
    r"(?:\b(?:\w*verwalter(?:in)?|\w*verwaltung|\w*makler(?:in)?|vermittelt\s+(?:von|durch)|vermittler(?:in)?|im\s+auftrage?|i\.\s?A\.|inhaber(?:in)?|"
    r"rechtsnachfolger(?:in)?|bevollmächtigte[rn]?|vertreter(?:in)?|managing\s+agent|(?:its|sales|as)\s+agent|agent\s*:|property\s+manager|broker|"
    r"arranged\s+by|(?<!for\sand\s)on\s+behalf|proprietor|successor\s+(?:to|of)|prepared\s+by|c/o)|,\s*by)\s*(?:of|der|des|die|the|von)?\s*[:,-]?\s*$",
    re.IGNORECASE,
)
_BODY = re.compile(
    r"(?:\b(?i:und|and|sowie|zwischen|between)|:)\s*(?:(?:der|dem|die|den|the)\s+)?(?P<name>(?:Stadt|Gemeinde|Landkreis|Land|Universität|Hochschule|"
    r"Stiftung|Verein|Eheleute|Ehepaar|Freistaat|Bundesrepublik|University|City|County|Town|College|Foundation|Trust)\s+(?:of\s+)?[A-ZÄÖÜ]\w+)"
)
_UNTIL = re.compile(r"\b(?:bis|endet)\s+(?:zum|am|mit(?:\s+dem)?)\s*$", re.IGNORECASE)
_MOVED = re.compile(
    r"\b(?:verschoben|verschiebt|verlegt|vorverlegt|vorgezogen|postponed|deferred|moved|brought\s+forward)\b",
    re.IGNORECASE,
)
_OTHER_LAW = re.compile(
    r"\b(?P<name>\w+isch(?:es|em|en))\s+Rechts?\b|\b(?P<adjective>[A-Z][a-z]+(?:ish|ch|an|ese|ss))\s+law\s+(?:applies|shall\s+apply|governs)\b"
)
_NO_LAND = re.compile(
    r"europäisch|dispositiv|ausländisch|inländisch|materiell|zivil|kanonisch|applicable|such|this|the|no|any|mandatory",
    re.IGNORECASE,
)
_SIGNED_FOR = re.compile(
    r"\b(?:for\s+and\s+on\s+behalf\s+of|executed\s+(?:and\s+delivered\s+)?as\s+a\s+deed\s+by)\s+(?=[A-Z])",
    re.IGNORECASE,
)
PROSE_WORDS = 9  # a line with so many words is part of a paragraph
SIGNED_FROM, SIGNED_CHARS = 0.5, 90  # of the text: signatures come later; of a name in one
_ITEM = re.compile(r"(?<!\S)\([1-9]\)\s+(?=[A-ZÄÖÜ])")
LIST_BEFORE, LIST_CHARS = 60, 1600  # before the first name of a list, and all of it
ACTS_CHARS, HEAD_BEFORE, HEAD_BEHIND = 60, 300, 200


_MAKES = re.compile(
    r"\b(?:schließen|schliessen|vereinbaren|treffen)\b|\bwird\s+(?=mit\s+Wirkung\b)"
)


class Doubt(NamedTuple):
    """What keeps a value from being approved: the highest confidence that it may have, and why."""

    cap: int
    sentence: str


def doubt_of_date(prose: Prose, day: EffectiveDate, parties: list[Party]) -> Doubt | None:
    """Why the effective date may be another one."""
    head, tail = _date_statement(prose, day)
    text = _mask_parties(prose, parties)
    unread = [
        *_unread(text[head : day.start], "date"),
        *_unread(text[day.end : tail], "date"),
    ]
    if unread:
        return _not_understood(unread)
    if day.why == WHY_SIGNED and (first := _date_at_head(prose, day)):
        return _not_accounted(prose.text[first.start : first.end])
    if (other := _EFFECTIVE.search(text, day.end, tail)) and text[day.end : other.start()].strip():
        return Doubt(UNREAD_CAP, f"behind it another day is said to count: {other[0]}")
    rival = next((dated for dated in prose.dates if _is_rival(prose, dated, day)), None)
    if rival is None:
        return None
    return _not_accounted(prose.text[rival.start : rival.end])


def _date_at_head(prose: Prose, day: EffectiveDate) -> FoundDate | None:
    """Another date at the beginning: that of the contract, rather than the one beside a signature."""
    return next(
        (one for one in prose.dates if one.end <= HEAD_CHARS and one.value != day.value), None
    )


def _date_statement(prose: Prose, day: EffectiveDate) -> tuple[int, int]:
    """Where the words begin and end that date the contract: from its title, else on the line of the date."""
    first, last = prose.sentence(day.start)[0], prose.sentence(day.end)[1]  # a date may have a dot
    head = max(first, day.start - DATE_BEFORE)
    titles = [found.end() for found in _TITLE.finditer(prose.text, head, day.start)]
    row = prose.row_at(day.start)
    tail = min(last, day.end + DATE_BEHIND) if titles else row.end
    ends = _DATE_ENDS.search(prose.text, day.end, tail)
    head = titles[-1] if titles else max(head, row.start)
    if makes := _MAKES.search(prose.text, head, day.start):  # what is before it names the parties
        head = makes.start()
    if (
        day.why == WHY_CALLED
    ):  # by its own words: those before the last comma speak of something else
        head = max(head, prose.text.rfind(",", head, day.start))
    return head, ends.start() if ends else tail


def _mask_parties(prose: Prose, parties: list[Party]) -> str:
    """The text with blanks in place of the names of the parties."""
    text = prose.text
    for name in (party.name for party in parties):
        text = text[: name.start] + " " * (name.end - name.start) + text[name.end :]
    return text


def _is_rival(prose: Prose, dated: FoundDate, day: EffectiveDate) -> bool:
    """Whether another date may be the one from which the contract is effective."""
    if dated.value == day.value or is_of_something_else(prose, dated):
        return False
    first, last = prose.sentence(dated.start)
    last = max(last, prose.sentence(dated.end)[1])  # a date may have a dot
    before = prose.text[max(first, dated.start - DATE_BEFORE) : dated.start]
    around = prose.text[max(first, dated.start - DATE_BEFORE) : min(last, dated.end + DATE_BEHIND)]
    if _MOVED.search(around):
        return True
    if _UNTIL.search(before):
        return False
    is_begun = _BEGINS.search(around) or _WITH_EFFECT.search(before)
    return bool(_CONTRACT.search(around) and is_begun) or bool(
        _STARTS.search(before) and _CONTRACT.search(before)
    )


def doubt_of_law(prose: Prose, law: NamedLaw, others: Iterable[NamedLaw]) -> Doubt | None:
    """Why the governing law may be another one."""
    first, last = prose.sentence(law.start)
    head, tail = max(first, law.start - LAW_BEFORE), min(last, law.end + LAW_BEHIND)
    text = prose.text
    starts = [found.start() for found in _THIS.finditer(text, head, law.start)]
    head = starts[-1] if starts else head
    behind = _CONFLICTS.sub(" ", text[law.end : tail])
    unread = [
        *_unread(text[head : law.start].partition(" ")[2], "law"),
        *_unread(_CLAUSE_ENDS.split(behind)[0], "law"),
    ]
    if unread:
        return _not_understood(unread)
    rival = next((one for one in others if _is_other_law(one, law)), None)
    if rival is None:
        named = _ADJECTIVE.finditer(text, head, tail)
        adjective = next(
            (one for one in named if not _is_law_of(ADJECTIVE_LAWS[one[0].casefold()], law)), None
        )
        if adjective is None:
            adjective = next(
                (one for one in _OTHER_LAW.finditer(text) if _is_foreign(one, law)), None
            )
        return None if adjective is None else _not_accounted(adjective[0])
    return _not_accounted(text[rival.start : rival.end])


def _is_law_of(place: str, law: NamedLaw) -> bool:
    """Whether a place has that law: England has that of England and Wales."""
    return law.value == place or law.value.startswith(f"{place} and ")


def _is_foreign(one: re.Match[str], law: NamedLaw) -> bool:
    """Whether an adjective before a law means another country."""
    word = (one["name"] or one["adjective"]).casefold()
    return ADJECTIVE_LAWS.get(word) != law.value and word not in NAMES and not _NO_LAND.match(word)


def raised_parties(prose: Prose, parties: list[Party]) -> list[Party]:
    """Two parties whose names cannot have been cut, although they do not sign in print."""
    if len(parties) != PAIR:
        return parties
    return [
        replace(party, confidence=BOUNDED)
        if party.confidence == UNSIGNED and party.cap > BOUNDED and _is_bounded(prose, party.name)
        else party
        for party in parties
    ]


def _is_bounded(prose: Prose, name: PartyName) -> bool:
    """Whether known words stand right before and behind a name, so that it is not cut."""
    before, behind = (
        prose.text[max(0, name.start - 40) : name.start],
        prose.text[name.end : name.end + 90],
    )
    return bool(_NAME_BEGINS.search(before) and _NAME_ENDS.match(behind))


def _is_other_law(one: NamedLaw, law: NamedLaw) -> bool:
    """Whether another law is named: that of a federation is, beside a state, for exports and securities."""
    return one.value != law.value and one.kind != "courts" and one.value not in FEDERAL


def doubt_of_parties(prose: Prose, parties: list[Party]) -> Doubt | None:
    """Why a party may be another one, or one more."""
    named = sorted((party.name for party in parties), key=lambda name: name.start)
    described = (
        [] if is_letter(prose) else named
    )  # a letter is known by its addressee and its signature
    unread = [
        word for name in described for word in _unread(_description(prose, name, named), "party")
    ]
    if unread:
        return _not_understood(unread)
    if acting := next(_find_acting(prose, named), None):
        return Doubt(UNREAD_CAP, f"it may act for another one: {acting}")
    rival = next(_find_unaccounted(prose, named), None)
    if rival is not None:
        return _not_accounted(rival.value)
    if stranger := next(_find_strangers(prose, named), None):
        return _not_accounted(stranger.value)
    if listed := _find_listed(prose, named):
        return _not_accounted(listed)
    unsigned = _find_unsigned(prose, named)
    return None if unsigned is None else _not_accounted(unsigned)


def _find_acting(prose: Prose, named: list[PartyName]) -> Iterator[str]:
    """The words before names that make them those of someone who acts for a party."""
    for name in named:
        if found := _ACTS_FOR.search(prose.text, max(0, name.start - ACTS_CHARS), name.start):
            yield " ".join(found[0].split())


def _find_strangers(prose: Prose, named: list[PartyName]) -> Iterator[PartyName]:
    """Companies for which a line at the end is signed, and that are none of the parties."""
    first = int(SIGNED_FROM * len(prose.text))
    lines = "\n".join(row.text for row in prose.rows if row.start >= first and "\t" not in row.text)
    for text in (lines, *prose.columns(first)):
        for found in _SIGNED_FOR.finditer(text):
            for name in companies_in(text, found.end(), min(len(text), found.end() + SIGNED_CHARS)):
                if name.start - found.end() <= 1 and not any(
                    one.key in name.key or name.key in one.key for one in named
                ):
                    yield name
    yield from _find_at_foot(prose, named)


def _find_at_foot(prose: Prose, named: list[PartyName]) -> Iterator[PartyName]:
    """Companies below the last sentence, where the signatures are, that are none of the parties and belong to none."""
    first = max(
        (
            row.end
            for row in prose.rows
            if len(row.text.split()) >= PROSE_WORDS and "\t" not in row.text
        ),
        default=0,
    )
    rows = [row for row in prose.rows if row.start >= max(first, SIGNED_FROM * len(prose.text))]
    cells = [cell.strip() for row in rows for cell in row.text.split("\t")]
    if not any(one.key in key(cell) for one in named for cell in cells):
        return  # the parties do not sign there, so it may be the foot of a page or a list of addresses
    for cell in cells:
        for name in companies_in(cell, 0, len(cell)):
            if (
                _last_word(name) in _FORMS
                and not any(one.key in name.key or name.key in one.key for one in named)
                and not _BELONGS.search(cell[: name.start])
            ):
                yield name


def _find_listed(prose: Prose, named: list[PartyName]) -> str:
    """One of a numbered list of parties that none of the names found stands in."""
    if len(named) < PAIR:
        return ""
    text = prose.text
    near = [name for name in named if name.start < named[0].start + LIST_CHARS]
    items = list(_ITEM.finditer(text, max(0, named[0].start - LIST_BEFORE), near[-1].end))
    ends = [item.start() for item in items[1:]] + [near[-1].end]
    for item, end in zip(items, ends, strict=False):
        if not any(item.start() < name.start < end for name in near):
            return text[item.start() : min(end, item.end() + LISTED_CHARS // 4)]
    return ""


def _find_unsigned(prose: Prose, named: list[PartyName]) -> str | None:
    """One without a legal form that the head names as parties are named, and that is none of them."""
    if len(named) < PAIR:
        return None
    first = max(0, named[0].start - HEAD_BEFORE)
    last = min(named[-1].end + HEAD_BEHIND, prose.sentence(named[-1].end)[1])
    for found in _BODY.finditer(prose.text, first, last):
        start, end = found.span("name")
        if not any(one.start < end and start < one.end for one in named):
            return found["name"]
    return None


def _description(prose: Prose, name: PartyName, named: list[PartyName]) -> str:
    """What is said of a party up to its short name, or up to the next party."""
    end = min(len(prose.text), name.end + PARTY_BEHIND, prose.sentence(name.end)[1])
    following = [other.start for other in named if other.start >= name.end]
    end = min([end, *following])
    bracket = _DEFINED.search(prose.text, name.end, end) or _ROLE.search(prose.text, name.end, end)
    return prose.text[name.end : bracket.start()] if bracket else ""


def _find_unaccounted(prose: Prose, named: list[PartyName]) -> Iterator[PartyName]:
    """Companies of the first sentence that are neither parties nor said to belong to one."""
    if len(named) < 2:
        return
    start, end = named[0].start, zone_end(prose, named[0].start)
    last = named[-1].end
    following = re.compile(rf"(?:\n|;|,|\band)\s*\(?{len(named) + 1}[.)]\s").search(
        prose.text, last, last + LISTED_WITHIN
    )
    if following is not None:  # the list of parties goes on
        end = max(end, min(len(prose.text), following.end() + LISTED_CHARS))
    for name in companies_in(prose.text, start, end):
        if any(one.key in name.key or name.key in one.key for one in named):
            continue
        if _last_word(name) in _FORMS and not _BELONGS.search(
            prose.text, max(start, name.start - 80), name.start
        ):
            yield name


def _last_word(name: PartyName) -> str:
    words_ = name.text.split()
    return (
        re.sub(r"\W", "", words_[-1]).casefold()
        if len(words_) > 1 and words_[0] != "Limited"
        else ""
    )


def _unread(text: str, kind: str) -> Iterator[str]:
    """The words of lower case that are not known to change nothing; of a text in capitals, all words."""
    text = _DEFINED.sub(" ", text)
    found = [word for word in _WORD.findall(text) if not _DIGIT.search(word)]
    is_shouted = len(found) >= SHOUTED_MIN and not any(word[0].islower() for word in found)
    is_german = kind != "party" and _GERMAN.search(text) is not None
    for word in found:
        plain = word.casefold().removesuffix("'s").strip("-'’")
        is_word = is_german or (word.isupper() if is_shouted else word[0].islower())
        if len(plain) > 1 and is_word and plain not in _PLAIN[kind]:
            yield word


def _not_understood(unread: list[str]) -> Doubt:
    said = ", ".join(repr(word) for word in unread[:QUOTED_WORDS_MAX])
    return Doubt(UNREAD_CAP, f"words beside it were not understood: {said}")


def _not_accounted(value: str) -> Doubt:
    said = " ".join(value.split())
    return Doubt(RIVAL_CAP, f"another one is not accounted for: {said}")
