"""Names in the first sentences: behind `between`, with a short name in brackets, behind a label, behind `I,`.

A contract names its parties in one sentence, often a long one with addresses and descriptions. It is split at the
brackets that give a party its short name; each part starts with a name, or contains one.
"""

import re
from collections.abc import Iterator

import msgspec

from stateward.pipelines.contracts.general.names import (
    OFFICES,
    ROLES,
    PartyName,
    key,
    name_at,
)
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.word_lists import words

HEAD_CHARS = 7000
ZONE_CHARS = 1600
OPENERS_MAX = 12
PARTIES_MAX = 6
DEFINED_CHARS = 3000
BLOCK_CHARS = 900  # of parties that are set out in blocks, with their addresses
LABEL_ROWS = 60

_OPENER = re.compile(
    r"\b(?:by\s+and\s+(?:between|among(?:st)?)|by,?\s+between\s+and\s+among|between(?:\s+and\s+among)?|among(?:st)?|zwischen)\b"
    r"\s*:?|\bPARTIES\s*(?::|(?=\(1\)))|"
    r"\b(?:made|entered\s+into|executed|delivered|given|granted|provided)\b[^.;]{0,110}?(?<!signed )\bby\b"
    r"(?!\s+and\s+(?:between|among))|"
    r"\b(?:in\s+favou?r\s+of|for\s+the\s+benefit\s+of)\b|\bparties\s+(?:to|of|hereto)\b[^.;]{0,60}\bare\b",
    re.IGNORECASE,
)
_STOP = re.compile(
    r"\bWHEREAS\b|W\s*I\s*T\s*N\s*E\s*S\s*S\s*E\s*T\s*H|\bRECITALS?\b|R\s+E\s+C\s+I\s+T\s+A\s+L|\bBACKGROUND\b|"
    r"\bNOW,?\s+THEREFORE|\bDATE\s*:|\bagrees?\s+as\s+follows|\bIn\s+consideration\b|\bArticle\s+1\b|\bSection\s+1\b|"
    r"\bIN\s+WITNESS\b|\bEffective\s+(?:as\s+of|Date)\b"
)
_BODY = re.compile(r"\bagrees?\s+(?:as\s+follows|that)\b|\bNOW,?\s+THEREFORE", re.IGNORECASE)
_LABEL = re.compile(
    r"\W*(?:the\s+)?(?P<role>"
    + "|".join(sorted(OFFICES, key=len, reverse=True)).replace(
        "disclosing", "(?:disclosing|receiving)\\s+party"
    )
    + r"|(?:party|partei|vertragspartner(?:in)?)\s+(?:[A-H]|[1-9]|one|two)|between|zwischen|(?:and|und)(?=\s*:))"
    r"(?:\s*[/(][\w\s-]{1,30}\)?)?\s*(?::|\t)\s*",
    re.IGNORECASE,
)
_BLANK = re.compile(r"_{2,}|\[[\s\u2022.*]*\]|\t|\.{4,}|-{4,}")
_WORD_START = re.compile(r"(?:^|(?<=[\s(]))(?=[A-Z0-9]|[a-z][A-Z0-9])")
_ALIAS = re.compile(r"(?:the\s+)?(?:[A-Z0-9]|[a-z][A-Z0-9])|(?:you|your|we|us|our)\b|[a-z]+$")
_I = re.compile(r"\b(?:I|[Uu]ndersigned|UNDERSIGNED),\s+(?=[A-Z])")
_DEFINED = re.compile(r"\((?P<body>[^()]{2,220})\)")
_WITHIN_NAME = re.compile(
    r"\s*,?\s*(?:Inc|INC|Ltd|LTD|Limited|LIMITED|LLC|L\.L\.C|L\.?P|Co|CO|Corp|CORP|GmbH|AG|B\.?V|N\.?V|S\.?A|PLC|plc|"
    r"Pty|PTY|Pte|PTE|Private|Company|Corporation|Holdings?|Management)\b"
)
_QUOTED = re.compile(r"\"\s*([^\"]{1,60}?)[\s,.]*\"|(?<!\w)'\s*([^'\"]{1,60}?)[\s,.]*'(?!\w)")
_LEAD = re.compile(
    r"[\s,;:.\-]*(?:(?:and\s+between|and|und|(?-i:der|dem|den|die|Firma)|or|by|with|to|in\s+favou?r\s+of|for\s+the\s+benefit\s+of|on\s+the\s+one\s+(?:hand|part)|"
    r"on\s+the\s+other\s+(?:hand|part)|of\s+the\s+(?:one|other|first|second|third)\s+part|each\s+of|both|the\s+following|its\s+subsidiar\w+|"
    r"including|but\s+not\s+limited\s+to|\(?(?:[ivx]{1,4}|[a-d]|\d)\)|\d\.)(?=[\s,;:.])[\s,;:.]*)*",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\s*(?:,\s*and|;\s*and|,|;|\band\b|&|und)\s+", re.IGNORECASE)
_INNER = re.compile(
    r"(?:[;,]\s*and|;|\band\b|\bund\b|\bin\s+favou?r\s+of|\bfor\s+the\s+benefit\s+of|\bincluding,?(?:\s+but\s+not\s+limited\s+to)?,?)\s+",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"\s*,?\s*(?:\(|an?\s+(?:\w+\s+){0,6}(?:corporation|company|partnership|individual|bank|trust|entity|resident|association|"
    r"limited|citizen|organization|person|firm|university|institution)|having\b|(?-i:[A-ZÄÖÜ][\w.-]*\s+){1,4}\d{1,4}\s?[a-z]?,|"
    r"vertreten\s+durch\b|mit\s+Sitz\b|(?:FN|HRB|HRA)\s|-\s*(?:nachfolgend|im\s+Folgenden)\b|with\s+(?:\w+\s+){0,3}(?:office|place|address|"
    r"head)|located|whose|residing|of\s+\d|on\s+behalf|for\s+itself|organi[sz]ed|incorporated|d/b/a|its\b|and\s+(?:its|all)\b|"
    r"together\s+with|acting|$|\.\s|;)",
    re.IGNORECASE,
)
# What is defined in brackets beside the parties.
_NO_PARTY = frozenset(words("no_party"))
_PLACEHOLDER = re.compile(r"^\W*(?:_{2,}|\[\s*[\w\s\u2022.]*\]|\.{4,}|-{4,})")


class PartyMention(msgspec.Struct, frozen=True, gc=False):
    """A name that may be a party, and where it was found."""

    name: PartyName
    source: str  # preamble, defined, letterhead, addressee, signature
    alias: str = ""


def preamble_of(prose: Prose) -> list[PartyMention]:
    """The names of the first sentence that names parties."""
    best: list[PartyMention] = []
    most = 0
    for opener in list(_OPENER.finditer(prose.text, 0, HEAD_CHARS))[:OPENERS_MAX]:
        found = list(_names_behind(prose, opener))
        worth = sum(1 + 2 * bool(mention.alias) + mention.name.is_company for mention in found)
        if worth > most:
            best, most = found, worth
        if sum(bool(mention.alias) for mention in found) >= 2:
            break
    return best


def _names_behind(prose: Prose, opener: re.Match[str]) -> list[PartyMention]:
    """Names behind an opening word: each starts a part that ends with its short name in brackets."""
    text, start = prose.text, opener.end()
    limit = min(start + ZONE_CHARS, len(text))
    if stop := _STOP.search(text, start + 1, limit):
        limit = stop.start()
    end = min(limit, max(prose.sentence(start)[1], start))
    found = list(_parts(text, start, end))
    if end < limit and sum(bool(mention.alias) for mention in found) < 2:
        # A full stop in an address is no end: what follows counts if it defines more short names.
        longer = list(_parts(text, start, min(limit, start + BLOCK_CHARS)))
        if sum(bool(mention.alias) for mention in longer) >= 2:
            return [mention for mention in longer if mention.alias]
    return found


def zone_end(prose: Prose, start: int) -> int:
    """Where the sentence ends that names the parties, or the part of the contract before its recitals."""
    limit = min(start + ZONE_CHARS, len(prose.text))
    stop = _STOP.search(prose.text, start + 1, limit)
    return min(stop.start() if stop else limit, prose.sentence(start)[1])


def companies_in(text: str, start: int, end: int) -> Iterator[PartyName]:
    """Every name with a legal form in a part of the text."""
    return (name for name in _all_names(text, start, end) if name.is_company)


def labelled_parties(prose: Prose) -> Iterator[PartyMention]:
    """Names behind a label at the top of the contract: `Licensor: Acme Inc.`, for example."""
    for row in prose.rows[:LABEL_ROWS]:
        label = _LABEL.match(row.text)
        name = name_at(row.text, label.end()) if label else None
        if label is not None and name is not None and (name.is_company or name.is_person):
            yield PartyMention(name.shifted(row.start), "preamble", label["role"])


def first_person(prose: Prose) -> Iterator[PartyMention]:
    """The person in `I, John Doe, agree`."""
    for self in _I.finditer(prose.text, 0, DEFINED_CHARS):
        name = name_at(prose.text, self.end())
        if name is not None and not name.is_company and len(name.text.split()) > 1:
            yield PartyMention(name, "preamble", "I")


def _parts(text: str, start: int, end: int) -> Iterator[PartyMention]:
    at = start
    for bracket in _brackets(text, start, end):
        aliases = list(_aliases(bracket["body"]))
        names = list(_names(text, at, bracket.start(), is_first=at == start))
        if not names:
            names = list(_fitting(text, at, bracket.start(), aliases))[-1:]
        for index, name in enumerate(names):
            yield PartyMention(
                name, "preamble", aliases[0] if index == 0 or len(names) == 1 else ""
            )
        at = bracket.end()
    for name in _names(text, at, end, is_first=at == start):
        yield PartyMention(name, "preamble")


def _brackets(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Brackets that give a party its short name."""
    for bracket in _DEFINED.finditer(text, start, end):
        if '"' not in bracket["body"] and _WITHIN_NAME.match(text, bracket.end()):
            continue  # `Fonterra (USA) Inc.`
        aliases = list(_aliases(bracket["body"]))
        if aliases and not all(key(alias) in _NO_PARTY for alias in aliases):
            yield bracket


def _aliases(body: str) -> Iterator[str]:
    quoted = [one or two for one, two in _QUOTED.findall(body)]
    if quoted:
        yield from (alias for alias in quoted if _ALIAS.match(alias))
    elif re.fullmatch(r"\s*(?:the\s+)?[A-Z][\w&.'-]*(?:\s+[A-Z][\w&.'-]*){0,2}\s*", body):
        yield body.strip()
    elif found := re.search(r"referred\s+to\s+(?:\w+\s+){0,4}as\s+(?:the\s+)?([A-Z]\w+)", body):
        yield found[1]


def _names(text: str, start: int, end: int, *, is_first: bool) -> Iterator[PartyName]:
    """The names of one part: those at its start, else the first one inside it."""
    part = text[start:end]
    lead = _LEAD.match(part)
    at = lead.end() if lead else 0
    if _PLACEHOLDER.match(part[at:]):
        found = _inner(part, at)
    else:
        name = name_at(part, at)
        found = (
            list(_consecutive_names(part, name))
            if name is not None and _is_party(name, part, is_first)
            else _inner(part, at)
        )
    for name in found:
        yield name.shifted(start)


def _consecutive_names(part: str, name: PartyName) -> Iterator[PartyName]:
    """A name, and those that follow directly: `A Inc., B LLC and John C. Doe`."""
    yield name
    for _ in range(PARTIES_MAX):
        step = _NEXT.match(part, name.end)
        lead = _LEAD.match(part, step.end()) if step else None
        following = name_at(part, lead.end()) if lead else None
        if following is None or not (following.is_company or following.is_person):
            break
        name = following
        yield name
    yield from (one for one in _inner(part, name.end) if one.is_company or one.is_person)


def _inner(part: str, start: int) -> list[PartyName]:
    """Names inside a part, behind `and` or a semicolon, with their own description."""
    found: list[PartyName] = []
    for step in _INNER.finditer(part, start):
        lead = _LEAD.match(part, step.end())
        name = name_at(part, lead.end() if lead else step.end())
        if name is None or (found and name.start < found[-1].end):
            continue
        if (name.is_company or name.is_person) and _DESCRIBED.match(part, name.end):
            found.append(name)
    return found


def _is_party(name: PartyName, part: str, is_first: bool) -> bool:
    if name.is_company or name.is_person:
        return True
    rest = part[name.end :]
    parts = name.text.split()
    if len(parts) == 1 and parts[0].casefold() in ROLES:
        return False
    return bool(_DESCRIBED.match(rest)) and (is_first or len(parts) > 1 or not rest.strip())


def defined_parties(prose: Prose, start: int, length: int) -> Iterator[PartyMention]:
    """Names with a short name in brackets, anywhere in the first paragraphs."""
    text = prose.text
    end = min(len(text), start + length)
    if body := _BODY.search(text, start, end):
        end = body.start()
    at = start
    for bracket in _brackets(text, start, end):
        first = max(at, prose.sentence(bracket.start())[0])
        at = bracket.end()
        aliases = list(_aliases(bracket["body"]))
        if pick := list(_fitting(text, first, bracket.start(), aliases)):
            yield PartyMention(pick[0], "defined", aliases[0])


def _fitting(text: str, start: int, end: int, aliases: list[str]) -> Iterator[PartyName]:
    """Names of a part that fit the short name behind it; if that is a role, the last name before it."""
    names = list(_all_names(text, start, end))
    fitting = [name for name in names if any(_is_short_name(alias, name) for alias in aliases)]
    if fitting:
        yield from fitting
    elif any(key(re.sub(r"^the\s+", "", alias, flags=re.IGNORECASE)) in ROLES for alias in aliases):
        sure = [name for name in names if name.is_company or name.is_person]
        near = sure or [name for name in names if _is_close(text, name, end)]
        yield from [name for name in near if not _BLANK.search(text, name.end, end)][-1:]
    else:
        sure = [name for name in names if name.is_company or name.is_person]
        yield from [name for name in sure if not text[name.end : end].strip(" ,")]


def _is_close(text: str, name: PartyName, end: int) -> bool:
    """Whether a name without a legal form is right before its short name."""
    return (
        2 <= len(name.text.split()) <= 4
        and not text[name.end : end].strip(" ,")
        and name.text[0].isalpha()
    )


def _all_names(text: str, start: int, end: int) -> Iterator[PartyName]:
    """Every name in a part."""
    at = start
    for found in _WORD_START.finditer(text[start:end]):
        if start + found.start() < at:
            continue
        name = name_at(text[:end], start + found.start())
        if name is not None:
            at = name.end
            yield name


def _is_short_name(alias: str, name: PartyName) -> bool:
    """Whether a short name comes from the name: its start, a word of it, its initials."""
    short, whole = key(alias), name.key
    initials = "".join(word[0] for word in name.text.split() if word[0].isupper()).casefold()
    return len(short) >= 2 and ((len(short) >= 4 and short in whole) or initials.startswith(short))
