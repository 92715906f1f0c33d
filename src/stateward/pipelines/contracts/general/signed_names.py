"""Parties whose names stand both at the head of a contract and under it, where they sign.

It asks for no wording: a name that is printed on a line of its own beside a signature, and again in the first
sentences between words and signs that delimit it, is a party, in German as in English, with a legal form or without.
"""

import re
from collections.abc import Iterator

from stateward.pipelines.contracts.general.names import PartyName, is_person, key, may_name
from stateward.pipelines.contracts.general.preamble import PARTIES_MAX, PartyMention
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.word_lists import words

HEAD_CHARS = 2600
HEAD_SHARE = 0.6  # of the text, at most
TAIL_SHARE = 0.4  # of the text: signatures come later
NAME_CHARS_MIN, NAME_CHARS_MAX = 4, 90
NEAR_ROWS = 2  # between a name and the line on which its party signs

_BEHALF = re.compile(
    r"(?:\bfor\s+and\s+on\s+behalf\s+of|(?:^|\t)\s*f[üu]r\s+(?:die|den|das))\s+(?P<name>[^:_]{3,90}?)\s*[:.]?\s*$",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"_{4,}|\.{6,}|(?-i:\bBy)\s*:|/s/|\bsignature\s*:|\bunterschrift\b|\bexecuted\b", re.IGNORECASE
)
# What may follow the name of a party on its line: what it is called in the contract.
_ROLE = re.compile(r"\s*(?:,\s*(?:the\s+)?[A-Z][\w-]{3,20}|\([^()]{2,40}\))\s*$")
_LABELLED = re.compile(
    r"(?:by|name|title|its|date|datum|ort|print\w*|position|place|witness)\b|.{0,20}:",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:^|[:;,(\"\t]|\s-|\(?\b\d[.)]|\b(?:zwischen|und|sowie|between|among|and|der|dem|die|den|das|the|parties|herrn?|frau|firma))\s*$",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"[ ]*\t|\s*(?:$|[,;:(.\"]|-\s|(?:und|and|sowie|vertreten|mit\s+sitz|nachfolgend|im\s+folgenden|schließen|"
    r"vereinbaren|of\s+\d|a\s|an\s|having|whose)\b)",
    re.IGNORECASE,
)
# Before a name: it is one who acts for a party, belongs to one, or was called so before.
_ACTS = re.compile(
    r"\b(?:represented\s+by|by\s+its|acting\s+through|formerly|früher|vormals|through|durch(?:\s+\w+){0,3}|subsidiary\s+of|affiliate\s+of|"
    r"tochter\w*|guarantor|attention|"
    r"geschäftsführ\w*|vorstand|inhaber\w*|managing\s+director)\W*$",
    re.IGNORECASE,
)
_FIRST = re.compile(r"[A-ZÄÖÜ0-9]|[a-z][A-Z]")
_NAMELESS = frozenset(words("offices")) | frozenset(words("roles"))


def signed_parties(prose: Prose) -> list[PartyMention]:
    """The parties that are named at the head and sign at the foot, in the order of the head; none if it is only one."""
    limit = min(HEAD_CHARS, int(HEAD_SHARE * len(prose.text)))
    found: dict[str, PartyMention] = {}
    for printed in _signing_names(prose):
        at = _at_head(prose, printed, limit)
        if at is not None and key(printed) not in found:
            person = is_person(printed)
            name = PartyName(at, at + len(printed), printed, not person, person)
            found[key(printed)] = PartyMention(name, "preamble")
    several = sorted(found.values(), key=lambda one: one.name.start)[:PARTIES_MAX]
    return several if len(several) > 1 else []


def _signing_names(prose: Prose) -> Iterator[str]:
    """What is printed beside the lines on which parties sign."""
    first = TAIL_SHARE * len(prose.text)
    rows = [row.text.strip() for row in prose.rows if row.start >= first]
    for at, row in enumerate(rows):
        if behalf := _BEHALF.search(row):
            printed = behalf["name"]
        elif _LABELLED.match(row) or _LINE.search(row):
            continue
        elif any(map(_LINE.search, rows[max(0, at - NEAR_ROWS) : at + NEAR_ROWS + 1])):
            printed = row
        else:
            continue
        for cell in printed.split("\t"):
            yield from {_ROLE.sub("", cell).strip(" .,;:"), cell.strip(" .,;:")}


def _at_head(prose: Prose, printed: str, limit: int) -> int | None:
    """Where a name stands at the head, delimited on both sides; None if it does nowhere."""
    is_long = NAME_CHARS_MIN <= len(printed) <= NAME_CHARS_MAX
    if not is_long or not _FIRST.match(printed) or not may_name(printed):
        return None
    if all(key(word) in _NAMELESS for word in printed.split()):
        return None
    text = prose.text[:limit]
    for match in re.finditer(rf"(?<!\w){re.escape(printed)}(?!\w)", text, re.IGNORECASE):
        row = prose.row_at(match.start())
        before = text[max(row.start, match.start() - 60) : match.start()]
        above = text[max(0, match.start() - 60) : match.start()]
        if not _BEFORE.search(before) or _ACTS.search(above):
            continue
        if match.end() >= row.end or _BEHIND.match(text, match.end()):
            return match.start()
    return None
