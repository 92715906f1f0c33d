"""Whether a file may be a contract, by its bytes. Of a DOCX and a PDF only bounded starts are inflated."""

import re
import zipfile

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.clauses import SOURCE_TYPE
from stateward.pipelines.kit.files import ZIP, is_pdf
from stateward.pipelines.kit.pdf.peek import peeked_texts

# A PDF may be anything, and so may a DOCX without the words of a contract: others are believed first.
DOCX, TEXT, PDF, ANY_DOCX = 70, 60, 10, 12
NUMBERED_DOCX = 30  # without known words: in a language of which none are known
# Terms, statutes, rules of a house: more than what is said of any PDF, and less than what is known of a paper.
NUMBERED_PDF = 35
BODY = "word/document.xml"
BODY_BYTES_MAX = 128 * 1024
_TAG = re.compile(r"<[^<>]{0,2000}>")
_PARAGRAPH_END = re.compile(r"</w:p>|<w:br\b[^<>]{0,200}>")
# Automatic numbers, and the styles of headings, which end in their level in every language.
_STRUCTURE = re.compile(r'<w:numPr>|<w:pStyle w:val="[^"<>]{2,20}[1-9]"')
NUMBERS_MIN = 3
WORDS_MIN = 2
_NUMBERS = re.compile(
    r"(?m)^\s{0,12}(?:§\s*\d+|(?:Article|ARTICLE|Section|SECTION|Artikel|Ziffer)\s+[\dIVX]+|\d{1,2}\.(?:\d{1,2}\.?)?\s+[^\W\d_a-zß-öø-ÿ])"
)
_WORDS = re.compile(
    r"\b(?:agreement|hereinafter|hereby|party|parties|shall|whereas|vertrag\w*|vereinbarung|vertragspartei\w*|auftragnehmer"
    r"|auftraggeber|kündigung|haftung|contrat|résiliation|prestataire|ci-après|contrato|resolución|cláusula|contratto|recesso"
    r"|overeenkomst|partijen|opzegging|umowa|strony)\b",
    re.IGNORECASE,
)
# Words of a title, each enough beside numbers on two levels; a report has such numbers, too.
_TITLE = re.compile(
    r"(?:(?:general )?(?:terms|conditions) (?:and conditions )?of|terms (?:and|&) conditions|by-?laws|house rules"
    r"|articles of association|code of conduct|(?:allgemeine|besondere) \w{0,30}bedingungen|gesch[aä]ftsbedingungen"
    r"|satzung|hausordnung|gesch[aä]ftsordnung|conditions g[eé]n[eé]rales|r[eè]glement|statuts|condiciones generales"
    r"|reglamento|estatutos|condizioni generali|regolamento|statuto|algemene voorwaarden|huisregels|statuten"
    r"|condi[cç][oõ]es gerais|regulamin|statut)\b",
    re.IGNORECASE,
)
TITLE_LINES, TITLE_CHARS = 60, 60  # programs of fonts may be shown before the first line
_ARTICLE = re.compile(
    r"(?m)^\s{0,12}(?:§|(?:Article|ARTICLE|Artikel|ARTIKEL|Art[íi]culo|ART[ÍI]CULO|Articolo|ARTICOLO|Artigo|ARTIGO|Art\.))"
    r"\s{0,3}(\d{1,3})(?:er)?\b"
)
_TWO_LEVELS = re.compile(r"(?m)^\s{0,12}(\d{1,2}\.\d{1,2})\.?(?=\s)")
ARTICLES_MIN, TWO_LEVELS_MIN = 3, 4
# Points of a letter may be numbered, too; a contract greets no person.
_SALUTATION = re.compile(
    r"(?mi)^\s{0,12}(?:dear|hello|hi|sehr geehrte\w?|liebe[rs]?|hallo|guten tag|madame|monsieur|ch[eè]re?s?|bonjour"
    r"|estimad[oa]s?|querid[oa]s?|hola|gentil[ei]|egregi[oa]|caro|cara|ciao|beste|geachte|szanown[aiey]\w{0,3}|hej|hei"
    r"|kära|kjære|kære|vážen\w{1,3}|prezad[oa]s?|car[oa]s)\b[^\n.]{0,80}$"
)


def detect(content: Content) -> Detected | None:
    """A contract, or None."""
    head = content.head
    if is_pdf(head):
        is_numbered = any(map(_is_numbered, peeked_texts(content.path)))
        confidence = NUMBERED_PDF if is_numbered else PDF
        return Detected(source_type=SOURCE_TYPE, format="pdf", confidence=confidence)
    if head.startswith(ZIP):
        return _word_document(content)
    text = head.decode("utf-8", "replace")
    if "\x00" in text or text.lstrip()[:1] in "<{[":
        return None
    words = {found.casefold() for found in _WORDS.findall(text)}
    if len(words) >= WORDS_MIN and len(_NUMBERS.findall(text)) >= NUMBERS_MIN:
        return Detected(source_type=SOURCE_TYPE, format="text", confidence=TEXT)
    return None


def _is_numbered(text: str) -> bool:
    """Whether a text is one of articles that are counted from the first, or of terms with numbers on two levels.

    A paper and a report have numbers on two levels, too, and a letter cites articles.
    """
    if _SALUTATION.search(text):
        return False
    articles = {int(number) for number in _ARTICLE.findall(text)}
    if articles.issuperset(range(1, ARTICLES_MIN + 1)):
        return True
    levels = {*_TWO_LEVELS.findall(text)}
    words = {found.casefold() for found in _WORDS.findall(text)}
    is_told = len(words) >= WORDS_MIN or _is_titled(text)
    return is_told and bool(levels & {"1.1", "2.1"}) and len(levels) >= TWO_LEVELS_MIN


def _is_titled(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines()[:TITLE_LINES])
    return any(len(line) <= TITLE_CHARS and _TITLE.match(line) for line in lines)


def _word_document(content: Content) -> Detected | None:
    """By the directory of the archive, and by the start of its text."""
    try:
        with zipfile.ZipFile(content.path) as archive:
            names = archive.namelist()
            body = b""
            if BODY in names:
                with archive.open(BODY) as entry:
                    body = entry.read(BODY_BYTES_MAX)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return None
    if not any(name.startswith("word/") for name in names):
        return None
    return Detected(source_type=SOURCE_TYPE, format="docx", confidence=_confidence(body))


def _confidence(body: bytes) -> int:
    """By clauses and words: a letter may have words of a contract, and a contract words that are not known."""
    xml = body.decode("utf-8", "replace")
    text = _TAG.sub(" ", _PARAGRAPH_END.sub("\n", xml))
    words = {found.casefold() for found in _WORDS.findall(text)}
    numbers = len(_NUMBERS.findall(text))
    if len(words) < WORDS_MIN:
        is_contract = numbers >= NUMBERS_MIN and not _SALUTATION.search(text)
        return NUMBERED_DOCX if is_contract else ANY_DOCX
    titles = sum(line.strip().isupper() for line in text.split("\n"))
    clauses = numbers + len(_STRUCTURE.findall(xml)) + titles
    # No letter is so long that its text does not fit.
    return DOCX if clauses >= NUMBERS_MIN or len(body) == BODY_BYTES_MAX else ANY_DOCX
