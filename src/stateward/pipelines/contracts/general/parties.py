"""The parties: from the first sentence, from the head and foot of a letter, from the signatures.

Most contracts name them behind `between`, each with a short name in brackets; letters name one above the greeting and
both at the foot. Every mention adds to the score of a name, and mentions in two such places are enough.
"""

import msgspec

from stateward.pipelines.contracts.general.names import PartyName, key, letters_of
from stateward.pipelines.contracts.general.preamble import (
    DEFINED_CHARS,
    PARTIES_MAX,
    PartyMention,
    defined_parties,
    first_person,
    labelled_parties,
    preamble_of,
)
from stateward.pipelines.contracts.general.prose import Prose
from stateward.pipelines.contracts.general.set_out import set_out_parties
from stateward.pipelines.contracts.general.signatures import (
    addressee,
    greeting_row,
    letterhead,
    signers,
)
from stateward.pipelines.contracts.general.signed_names import signed_parties
from stateward.pipelines.contracts.general.unlined_text import (
    greeting_at,
    unlined_addressee,
    unlined_signers,
)

LETTER_CHARS = 1800  # at the start of a letter, where it defines short names
SCORE_MIN, SCORE_MAX = 45, 96
SCORE_FEW = 36  # enough in a letter that would otherwise have one party
UNSIGNED_MAX = 74  # confidence of each where a company has signed that is none of them
CROWD_MAX = 78  # confidence of each of three or more: often one of them is only mentioned
CROWD_MIN = 3
TAIL = 0.5  # of the text: signatures are in the second half


class Party(msgspec.Struct, frozen=True, gc=False):
    """A party at its first mention."""

    name: PartyName
    confidence: int
    why: str
    cap: int = 100


def parties_of(prose: Prose) -> list[Party]:
    """The parties in the order in which they are named."""
    first = int(TAIL * len(prose.text))
    tail = letters_of(prose.text[first:]) + letters_of("\n".join(prose.columns(first)))
    greeting = greeting_row(prose)
    unlined = greeting_at(prose) if greeting is None else None
    preamble = preamble_of(prose)
    is_letter = sum(bool(one.alias) for one in preamble) < 2 and (greeting, unlined) != (None, None)
    if is_letter and greeting is not None:
        found = _letter(prose, greeting, preamble)
    elif is_letter and unlined is not None:
        found = _unlined_letter(prose, unlined, preamble)
    else:
        found = _agreement(prose, preamble)
    parties = _score_parties(_without_repeated(found), tail, is_letter=is_letter)
    signed = _signers(prose)
    if len(parties) >= CROWD_MIN and not _is_crowd_signed(parties, found, signed):
        parties = [
            Party(one.name, min(one.confidence, CROWD_MAX), one.why, CROWD_MAX) for one in parties
        ]
    return _compare_signatures(parties, signed)


def _is_crowd_signed(
    parties: list[Party], found: list[PartyMention], signed: list[PartyName]
) -> bool:
    """Whether three or more are companies with short names in the first sentence, and exactly these sign."""
    defined = {one.name.key for one in found if one.alias and one.source == "preamble"}
    names = {one.name.key for one in parties}
    return names <= defined and names == {one.key for one in signed if one.is_company}


def is_letter(prose: Prose) -> bool:
    """Whether the document greets someone, as letters do."""
    return greeting_row(prose) is not None or greeting_at(prose) is not None


def _compare_signatures(parties: list[Party], signed: list[PartyName]) -> list[Party]:
    """None is certain where a company has signed that is not among the parties, or with a longer name than it has."""
    parties = [_compare_form(one, signed) for one in parties]
    strangers = [
        name
        for name in signed
        # A signature may be glued to what stands before it: the name of a party within it is that party.
        if name.is_company
        and not any(one.name.key in name.key or name.key in one.name.key for one in parties)
    ]
    if not strangers or not parties:
        return parties
    said = f"{strangers[0].value} has signed and is not among the parties"
    return [
        Party(one.name, min(one.confidence, UNSIGNED_MAX), f"{one.why}; {said}", UNSIGNED_MAX)
        for one in parties
    ]


def _compare_form(party: Party, signed: list[PartyName]) -> Party:
    """A party that signs with a legal form which the first sentence leaves out: one of the two is not its name."""
    longer = [one for one in signed if one.is_company and one.key.startswith(party.name.key)]
    if not longer or any(one.key == party.name.key for one in longer):
        return party
    said = f"it signs as {longer[0].value}"
    return Party(
        party.name, min(party.confidence, UNSIGNED_MAX), f"{party.why}; {said}", UNSIGNED_MAX
    )


def _agreement(prose: Prose, preamble: list[PartyMention]) -> list[PartyMention]:
    """The parties of an agreement: by its first sentence, by labels, by the first person, by signatures."""
    if sum(bool(mention.alias) for mention in preamble) >= 2:
        return preamble
    if set_out := set_out_parties(prose):
        return set_out
    signed = signed_parties(prose)
    if len(signed) >= max(2, len({mention.name.key for mention in preamble})):
        return signed
    by_label = list(labelled_parties(prose))
    by_bracket = [
        PartyMention(one.name, "preamble", one.alias)
        for one in defined_parties(prose, 0, DEFINED_CHARS)
    ]
    for several in (by_label, by_bracket):
        if len(several) >= max(2, len(preamble)):
            return several
    selves = list(first_person(prose))
    found = [*preamble, *by_label, *selves]
    if selves or not found:
        found += by_bracket
    if len({mention.name.key for mention in found}) < 2:
        found += [PartyMention(name, "signature") for name in _signers(prose)]
    return found


def _without_repeated(found: list[PartyMention]) -> list[PartyMention]:
    """Names without those that only start with the short name of another (its subsidiaries, both together)."""
    shorts = {(key(one.alias), one.name.key) for one in found if one.alias}
    return [
        one
        for one in found
        if one.alias or not any(one.name.key.startswith(short) and not _is_same(one.name.key, whole)
                                for short, whole in shorts if len(short) > 3)
    ]  # fmt: skip


def _score_parties(found: list[PartyMention], tail: str, *, is_letter: bool) -> list[Party]:
    """Mentions grouped by name, as parties if their score is high enough."""
    groups: dict[str, list[PartyMention]] = {}
    for mention in found:
        same = next((one for one in groups if _is_same(one, mention.name.key)), mention.name.key)
        groups.setdefault(same, []).append(mention)
    scores = {
        same: _score(mentions, tail, is_letter=is_letter) for same, mentions in groups.items()
    }
    aliased = {same for same, mentions in groups.items() if any(one.alias for one in mentions)}
    if len(aliased) >= 2 and not is_letter:
        # Beside two with a short name, one without is rarely a party of its own.
        scores = {
            same: score if same in aliased else min(score, 60) for same, score in scores.items()
        }
    least = SCORE_MIN
    if is_letter and sum(score >= SCORE_MIN for score in scores.values()) < 2:
        least = max(SCORE_FEW, sorted([0, 0, *scores.values()])[-2])
    kept = [_party(groups[same], score) for same, score in scores.items() if score >= least]
    kept.sort(key=lambda party: party.name.start)
    return kept[:PARTIES_MAX]


def _party(mentions: list[PartyMention], score: int) -> Party:
    best = min(mentions, key=lambda mention: mention.name.start)
    sources = sorted({mention.source for mention in mentions})
    return Party(best.name, min(score, SCORE_MAX), ", ".join(sources))


def _is_same(one: str, two: str) -> bool:
    return one == two or (
        min(len(one), len(two)) >= 8 and (one.startswith(two) or two.startswith(one))
    )


def _score(mentions: list[PartyMention], tail: str, *, is_letter: bool) -> int:
    sources = {mention.source for mention in mentions}
    name = mentions[0].name
    has_form = name.is_company or name.is_person
    is_signed = name.key in tail or letters_of(name.text) in tail
    if is_letter:
        score = (
            45 * ("signature" in sources)
            + 28 * ("addressee" in sources)
            + 20 * ("letterhead" in sources)
        )
        score += 24 * ("defined" in sources) + 30 * ("preamble" in sources) + 12 * is_signed
        return score + 5 * has_form
    # A name that was cut wrongly is not among the signatures: without that, none is certain.
    score = 58 if "preamble" in sources else 50 if "signature" in sources else 44
    score += 12 * any(mention.alias for mention in mentions) + 8 * has_form + 18 * is_signed
    return score


def _letter(prose: Prose, greeting: int, preamble: list[PartyMention]) -> list[PartyMention]:
    found = list(preamble)
    signed = [PartyMention(name, "signature") for name in _signers(prose)]
    head = [
        PartyMention(name, "letterhead") for name in letterhead(prose, greeting) if name.is_company
    ]
    block = list(addressee(prose, greeting))
    companies = [name for name in block if name.is_company]
    writers = {mention.name.key for mention in (*head, *signed[:1])}
    strangers = [
        name for name in companies if not any(_is_same(name.key, other) for other in writers)
    ]
    persons = [name for name in block if name.is_person]
    found += head
    found += [PartyMention(name, "addressee") for name in (strangers or persons)[:1]]
    found += [
        PartyMention(mention.name, "defined", mention.alias)
        for mention in defined_parties(prose, prose.rows[greeting].end, LETTER_CHARS)
    ]
    return found + signed


def _unlined_letter(
    prose: Prose, greeting: int, preamble: list[PartyMention]
) -> list[PartyMention]:
    """The parties of a letter without lines."""
    return [
        *preamble,
        *(PartyMention(name, "addressee") for name in unlined_addressee(prose, greeting)),
        *defined_parties(prose, greeting, LETTER_CHARS),
        *(PartyMention(name, "signature") for name in unlined_signers(prose)),
    ]


def _signers(prose: Prose) -> list[PartyName]:
    return list(signers(prose)) or list(unlined_signers(prose))
