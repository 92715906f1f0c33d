"""What keeps an end that is reckoned from a start and a term from being certain.

The end is printed nowhere, so nothing else proves it: the statement of the term may have no words but those that
leave it as it is, and no other sentence may say that the term begins, ends or counts otherwise.
"""

import re
from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]+|[+/\[\]☐☒☑]")
# Beside a term, without its label: words that change nothing.
_PLAIN = frozenset(
    "der die das den dem dein deine deinen ihr ihre ihren ihres ihrem diese dieser dieses vertrag "
    "vertrags vertrages tarif hat haben eine einen einer ein von beträgt und läuft gilt für fest feste "
    "zunächst sie es er mit laufzeit ist wird geschlossen abgeschlossen ab the your this our contract "
    "agreement plan tariff has have a an is of for with runs lasts from fixed on and it term lasting you "
    "we are".split()
)
# What follows the term leaves its end as it is.
_THEN = re.compile(
    r"[,;]?\s*(?:danach|anschließend|thereafter|then)\s+(?:unbefristet|auf\s+unbestimmte\s+Zeit|rolling(?:\s+monthly)?|"
    r"jederzeit\s+kündbar|monthly)\b",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"kalender|calendar|abrechnung|billing", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:(?:[.!?;](?!\s)|\n(?=[ \t]*[a-zäöüß(]))[^.!?;\n]*)*")
_OTHERWISE = re.compile(
    r"\b(?:\w*laufzeit|\w*bindung|(?:strom|gas|mobilfunk|internet)?vertrag|\w*beginn|belieferung|lieferung)\b.{0,60}?"
    r"\b(?:beginnt|beginnen|startet|endet|enden|läuft|zählt|zählen|ruht|verschieb\w*|angerechnet|angehängt|verkürz\w*|verlänger\w*|unbefristet|beendet)\b"
    r"|\bverschieb\w*.{0,60}?(?:beginn|start|ende|laufzeit)\b|\brest(?:liche\s+)?laufzeit|\bunbefristet|\bauf\s+unbestimmte"
    r"|\b(?:monatlich|täglich|jederzeit)\s+kündbar|\b(?:keine|ohne)\s+(?:\w*bindung|\w*laufzeit)|(?:bindung|laufzeit)\s*:?\s*keine"
    r"|\bnach\s+(?:\d+|\w+)\s+monaten\b.{0,50}?\b(?:möglich|beend\w*|kündbar|kündigen|aussteigen|verlassen)"
    r"|\b(?:kündig\w*|beend\w*)\b.{0,40}?\bnach\s+(?:\d+|\w+)\s+monaten"
    r"|\b(?:term|contract|agreement|commitment|supply)\b(?:\s+\w+){0,3}?\s+(?:starts?|begins?|commences?|ends?|expires?|runs?|is\s+extended|is\s+shortened|"
    r"is\s+added|is\s+rolling|rolls)\b|\brolling\b|\bremaining\s+(?:term|\d+|\w+\s+months)|\bno\s+(?:fixed|minimum)\s+(?:term|contract|period)"
    r"|\b(?:start|activation|supply)\b.{0,50}?\b(?:moves?|delay\w*|postpon\w*|later)\b|\bdelay\w*.{0,50}?\bstart"
    r"|\b(?:leave|cancel|exit|terminate|end)\b.{0,30}?\bafter\s+(?:\d+|\w+)\s+months",
    re.IGNORECASE | re.DOTALL,
)
_BEGINS = re.compile(r"\b(?:beginn(?:t|en)|startet|starts?|begins?|commences?)\Z", re.IGNORECASE)
# What comes after the term leaves its end as it is.
_AFTERWARDS = re.compile(
    r"\b(?:danach|anschließend|nach\s+(?:ablauf|ende|der|ihrer)|automatisch|stillschweigend|jeweils|sofern|wenn|falls|wird\s+er\s+nicht|zum\s+ende|"
    r"vor\s+(?:ablauf|ende|dem)|thereafter|automatically|unless|afterwards|after\s+(?:the|this|that|your)|then|until\s+(?:cancell?ed|terminated)|before\s+the\s+end)\b",
    re.IGNORECASE,
)


def words_beside(statement: str, term: str) -> list[str]:
    """The words beside a term, without its label, that may change it; and those of the term itself."""
    odd = [found[0] for found in _CALENDAR.finditer(term)]
    statement = _THEN.sub(" ", statement)
    return odd + [word for word in _WORD.findall(statement) if word.casefold() not in _PLAIN]


def said_otherwise(text: str, places: list[int]) -> Iterator[str]:
    """The sentences that let a term begin, end or count otherwise, apart from those of these places."""
    for sentence in _SENTENCE.finditer(text):
        if any(sentence.start() <= place < sentence.end() for place in places):
            continue
        found = _OTHERWISE.search(sentence[0])
        if found and (_BEGINS.search(found[0]) or not _AFTERWARDS.search(sentence[0])):
            yield " ".join(found[0].split())
