"""Which lines of a plain text or a PDF are headings, by the words that papers use for them."""

import re

from stateward.pipelines.literature.identifiers import DOI, NCT, PMCID, normal_ids

_SECTIONS = frozenset({
    "introduction", "background", "methods", "method", "results", "discussion", "conclusion", "conclusions",
    "acknowledgements", "acknowledgments", "acknowledgement", "acknowledgment", "appendix", "materials",
    "limitations", "objectives", "objective", "aims", "related work", "materials and methods",
    "methods and materials", "patients and methods", "results and discussion", "discussion and conclusions",
    "conflicts of interest", "competing interests", "author contributions", "data availability", "funding",
    "supplementary material", "experimental section", "einleitung", "methoden", "ergebnisse", "diskussion",
    "schlussfolgerung", "schlussfolgerungen", "fazit", "danksagung", "méthodes", "résultats", "remerciements",
    "introducción", "métodos", "resultados", "discusión", "conclusiones", "agradecimientos", "introdução",
    "discussão", "conclusão", "conclusões", "agradecimentos", "introduzione", "metodi", "risultati", "discussione",
    "conclusioni", "ringraziamenti",
})  # fmt: skip
REFERENCES = frozenset({
    "references", "bibliography", "literature cited", "works cited", "literatur", "literaturverzeichnis",
    "références", "bibliographie", "referencias", "bibliografía", "referências", "referências bibliográficas",
    "bibliografia", "riferimenti bibliografici",
})  # fmt: skip
ABSTRACT = frozenset({
    "abstract", "summary", "zusammenfassung", "kurzfassung", "résumé", "resumen", "resumo", "riassunto",
})  # fmt: skip
NAMED = _SECTIONS | REFERENCES | ABSTRACT
# What stands above lists and boxes of the front: no section begins there.
LABELS = frozenset({
    "keywords", "key words", "index terms", "articleinfo", "article info", "article history", "open access",
    "citation", "correspondence", "corresponding author", "graphical abstract", "edited by", "reviewed by",
    "received", "accepted", "published",
})  # fmt: skip
HEADING_CHARS_MAX = 120
_KEYWORDS = re.compile(
    r"(?:key\s?words|index terms|mots[\s-]cl(?:é|e)s|schlüsselwörter|schlagw(?:ö|o)rte?r?|palabras[\s-]clave"
    r"|palavras[\s-]chave|parole[\s-]chiave|trefwoorden|słowa kluczowe)\s*[:.\u2013\u2014-]",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"(?:(?:received|accepted|published|available|correspond\w*|copyright|citation|funding|licen[cs]e|academic editor|"
    r"handling editor|key\s?words|index terms|subject (?:terms|headings))\b|e-?mail|edited by|reviewed by|cite this|"
    r"categories and subject|general terms|jel class|pacs\b|msc\b|\*|©|\(c\)|doi\b|https?:)",
    re.IGNORECASE,
)
IMPRINT_CHARS_MAX = 200
_IMPRINT = re.compile(
    r"\bvol(?:ume|\.)?\s*[0-9]|\bpp?\.\s*[0-9]|\bno\.\s*[0-9]|\bissn\b|\bdoi\b|https?://|©|"
    r"\(\s*(?:19|20)[0-9]{2}\)\s*[0-9]|[0-9]\s*\((?:19|20)[0-9]{2}\)|"
    r"^(?:open access|(?:(?:original|research|review|short|brief|regular|full|technical|case|rapid|invited)\s+)+"
    r"(?:article|paper|note|report|communication|letter|research|study)s?)$",
    re.IGNORECASE,
)
_CAPTION = re.compile(
    r"(?:(?:supplementary|supporting|extended data|appendix)\s+)?"
    r"(?:figures?|figs?|tables?|box|scheme|chart|plate|map|algorithm|listing)\b\.?\s*(?:[0-9]|[A-Z]\b)",
    re.IGNORECASE,
)

_NUMBER = re.compile(
    r"^(?P<number>(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}\.?|[IVX]{1,5}\.|[A-H]\.))\s+(?P<title>[A-Z].*)$"
)
# "Karp, H.T. Kung", "Kopp, O.": names with initials, as an entry of a list of references begins.
_NAMES = re.compile(r"\w[^\s,]*(?:\s[^\s,]+)?,\s(?:[A-Z]\.){1,3}")
_NAME = r"[^\W\d_a-z][\w'\u2019-]+"
_SURNAME = rf"(?:(?:van|von|de[rnl]?|d[aiu]|la|le|al|el|te[rn])\s){{0,3}}{_NAME}(?:\s{_NAME})?"
_AUTHORED = re.compile(
    rf"{_SURNAME}(?:,\s(?:[^\W\d_a-z]\.[\s-]?){{1,3}}|\s[^\W\d_a-z]{{1,3}}[,.]\s)"
)
_ENDED = re.compile(r"(?:[.)\]]|[0-9]|https?:\S+|doi\S+)$", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}|[\u2e80-\U0003ffff]")  # or a sign of a script that has no letters
_RUN_IN = re.compile(
    rf"^({'|'.join(sorted(ABSTRACT))})\s*[.:\u2013\u2014-]+\s*(?=\S)", re.IGNORECASE
)
# A line may begin with the year at the end of a sentence; no list is so long that its numbers would be years.
_ENTRY = re.compile(
    r"^(?:\[(?P<square>[0-9]{1,4})\]|(?P<plain>(?!(?:1[5-9]|20)[0-9]{2}[.)])[0-9]{1,4})[.)])\s+"
)
# At the end of a line: a year or a number of pages would be shorter. Behind a full stop a sentence or an address may
# begin: only the number of an article is so long, and only where what stands before it names no more than a journal.
_BROKEN_DOI = re.compile(
    r"(10\.[0-9]{4,9}/(?:[^\s\"<>{}|\\^`]*[/-](?=\s[0-9]{5})|[^\s\d\"<>{}|\\^`]*\.(?=\s[0-9]{7})))\s([0-9]+)"
)
_PMID = re.compile(r"\bPMID:?\s*([0-9]{4,9})\b", re.IGNORECASE)
_ARXIV = re.compile(
    r"\barXiv:\s*([0-9]{4}\.[0-9]{4,5}(?:v[0-9]+)?|[a-z-]+/[0-9]{7}(?:v[0-9]+)?)", re.IGNORECASE
)


def heading_level(line: str, *, is_cited: bool = False) -> int:
    """The level of a line that is a heading by its words or its number; 0 if it is none.

    Below the heading of the references (`is_cited`) a number is that of an entry, and a letter the initial of a name.
    """
    line = line.strip()
    if not line or len(line) > HEADING_CHARS_MAX:
        return 0
    if plain_heading(line) in NAMED:
        return _depth(line)
    found = None if is_cited else _NUMBER.match(line)
    if found is None or line.endswith((".", ",", ";")) or len(found["title"].split()) > 12:
        return 0
    title = found["title"]
    is_heading = is_words(title) or (len(title) > 1 and title.isalpha())
    return _depth(line) if is_heading and not _NAMES.match(title) else 0


def is_imprint(text: str) -> bool:
    """Whether a short paragraph is a line of the journal: its volume and pages, an address, a right."""
    return len(text) <= IMPRINT_CHARS_MAX and _IMPRINT.search(text) is not None


def is_notice(text: str) -> bool:
    """Whether a paragraph is one of those that stand around an abstract: keywords, dates, addresses, rights."""
    return _NOTICE.match(text) is not None or is_keywords(text)


def is_keywords(text: str) -> bool:
    """Whether a line or paragraph begins a list of keywords, which ends an abstract however close it stands."""
    return _KEYWORDS.match(text) is not None


def is_bold_heading(text: str) -> bool:
    """Whether a bold line that is no larger than the text is a heading: no caption, no label of what follows it."""
    is_short = len(text) <= HEADING_CHARS_MAX and not text.endswith((".", ",", ";", ":"))
    is_other = _CAPTION.match(text) or plain_heading(text) in LABELS
    return is_short and is_words(text) and not is_other


def is_words(text: str) -> bool:
    """Whether a text reads as a heading does, and is no formula, sign or address of a person."""
    signs = sum(not each.isspace() for each in text)
    is_lettered = 3 * sum(map(str.isalpha, text)) >= 2 * signs
    return is_lettered and _WORD.search(text) is not None and not {"@", "="} & set(text)


def is_titled(text: str) -> bool:
    """Whether a text begins as a heading does: with a capital, a number or a sign of a script that has no capitals."""
    return not text[:1].islower() and not text.endswith((",", ";"))


def _depth(line: str) -> int:
    found = _NUMBER.match(line)
    return 1 if found is None else found["number"].rstrip(".").count(".") + 1


def heading_text(line: str) -> str:
    """A heading without its number."""
    found = _NUMBER.match(line.strip())
    return found["title"] if found else line.strip().rstrip(":")


def heading_label(line: str) -> str:
    """The number of a heading."""
    found = _NUMBER.match(line.strip())
    return found["number"].rstrip(".") if found else ""


def follows(label: str, last: str) -> bool:
    """Whether the number of a part of a section is the next one: 3.1 after 3, or 4.3 after 4.2 or 4.2.7."""
    *section, number = label.split(".")
    known, before = last.split(".")[: len(section)], last.split(".")[len(section) :]
    count = before[0] if before else "0"
    is_next = count.isdecimal() and number.isdecimal() and int(number) == int(count) + 1
    return bool(section) and known == section and is_next


def plain_heading(line: str) -> str:
    """A heading as it is compared: without number and colon, in small letters."""
    return heading_text(line).strip(" .:").lower()


def run_in_abstract(line: str) -> str | None:
    """What follows the word Abstract on its own line ("Abstract. We show …"); None if the line does not begin so."""
    found = _RUN_IN.match(line)
    return line[found.end() :] if found else None


def entry_label(line: str) -> str:
    """The number with which a reference begins: [12] or 12."""
    found = _ENTRY.match(line)
    return "" if found is None else found["square"] or found["plain"]


def begins_entry(line: str, *, after: str) -> bool:
    """Whether a line of a list without numbers begins a reference: with a name, where the line above has ended.

    Names go on in the next line behind a comma, and a title behind a word.
    """
    return _AUTHORED.match(line) is not None and _ENDED.search(after) is not None


def without_label(line: str) -> str:
    """A reference without that number."""
    return _ENTRY.sub("", line, count=1)


def ids_in(text: str) -> dict[str, str]:
    """The identifiers that a text names: what looks like one and is introduced as one."""
    text = _BROKEN_DOI.sub(r"\1\2", text)
    pairs = [("doi", found) for found in DOI.findall(text)]
    pairs += [("pmid", found) for found in _PMID.findall(text)]
    pairs += [("arxiv", found) for found in _ARXIV.findall(text)]
    pairs += [("pmcid", found[0]) for found in PMCID.finditer(text)]
    pairs += [("nct", found[0]) for found in NCT.finditer(text)]
    return normal_ids(pairs)
