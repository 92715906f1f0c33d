"""Approval by elimination, for whole documents: a sentence that such documents do not ordinarily have is for a person.

What a document may say that a person must see cannot be listed: that it was replaced, that a signature is missing, that
another price holds, each in words of its own. What ordinary letters and agreements say can be: they all say the same.
So every sentence is compared, two words at a time, with what such documents ordinarily have (`ordinary_….yaml`). One
that knows too few of their pairs of words is unusual, and it was not understood if it may speak of this contract: if it
has a word of time, comparison, negation, doubt, a person, or of what a contract is about. Names and numbers do not
count, and a sentence with a value of the contract is judged where that value is (`elimination`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from stateward.core.model import Json
from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.rules import ContractRules, OrdinaryRule, Vertical
from stateward.pipelines.contracts.states import GENERAL, QUOTE_CHARS_MAX, family
from stateward.pipelines.kit.documents import TextDocument

WHOLE = "="  # in front of a short sentence of which no part may excuse another, which could say the opposite
START, END, NUMBER, NAME = "^", "$", "#", "*"
SMALL_MIN = 3  # words of small letters: a name, an address or a heading has fewer
PAIRS_MIN = 2
DENIAL_WORDS = 8  # in a sentence of so few words what is denied is what it is about
HEADING_WORDS = 3
SHORT_WORDS = 5  # a sentence of so few words says one thing, and no subject excuses it
SUBJECT_WORDS = 2
ACROSS_MIN = 3  # words of small letters in what is printed across a page
LONG_LINE = 55  # characters: a line that is shorter ends a paragraph
FORM_CHARS_MAX = 500  # of a sentence: the gaps of a form are short
QUOTES = '"“„'
QUOTE_WORDS = 4  # a quoted name has fewer, or capitals
FOREIGN = 0.85  # so unusual that hardly anything of it is known
TOKENS_KEPT = 16  # sentences are judged one after the other, each several times
SHORT_FOREIGN = 0.6  # the same of a short sentence, of which its ends are a part

_TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\d.,:/]*|#")
_SMALL = re.compile(r"(?<![\w@./&'’-])[a-zäöüß][a-zäöüß'’-]*(?![\w@/]|\.\w)")
_CAPITAL = re.compile(r"(?<![\w@./-])[A-ZÄÖÜ][\w&'’-]*")
_ASIDE = re.compile(
    r"[\w.+-]{1,60}@\S{1,60}|\b(?:https?://|www\.)\S{1,200}|\"[^\"\n]{1,60}\"|“[^”\n]{1,60}”|„[^“\n]{1,60}“"
    r"|\b(?:Herrn?|Frau|Familie|Mr|Mrs|Ms|Dr|Prof)\b\.?(?:\s(?:Dr\.\s)?[A-ZÄÖÜ][\w'’-]+){1,3}"
)
_MAY_BE_ASIDE = re.compile(
    r"[@\"\u201c\u201e]|://|www\.|Herrn?|Fra|Fam|Mr|Ms|Dr|Prof"
)  # each has one of these
_MONTHS = frozenset(
    "januar februar märz april mai juni juli august september oktober november dezember jänner january february march "
    "may june july october december jan feb apr jun jul aug sep sept okt oct nov dez dec".split()
)
_GERMAN = re.compile(
    r"\b(?:der|die|das|den|dem|des|und|ist|sind|wird|werden|nicht|mit|für|sie|wir|ihre?n?|vom|zum|zur|im|am|auf|hat|"
    r"wurde|von|bei|es|eine?)\b",
    re.IGNORECASE,
)
_CELLS = re.compile(r"\t+| {3,}|\.{3,}| \| ")
_LABEL = re.compile(r"^\W{0,5}[^:.!?]{1,45}:\s+(?=\S)")
_REMARK = re.compile(
    r"^\W{0,5}(?:(?:[\w-]{1,30}\s){0,2}[\w-]{0,30}(?:bemerkung|anmerkung|vermerk|notiz|hinweis|note|remark|info|nachtrag|nachträge|ergänzung|änderung|zusatzvereinbarung|amendment|change|update|zustand|stage|neu|korrektur|berichtigung|addendum|correction|erratum|"
    r"(?<!adress)(?<!namens)zusatz|comment|kommentar|memo|status|stempel|stamp|handschriftlich|handwritten|anm\.|bem\.)"
    r"(?:en|e|s)?(?:\s\([^()\n]{1,30}\)"
    r"|\s(?:vom|von|des|der|durch|an|of|to|on|für|by|from|for|re)\s[^:\n]{1,25}|\s(?:n[or]\.\s?)?\d{1,3})?"
    r"(?:\s?:(?!\d)|\t+|\s{3,}|\s[-–—](?=\s))"
    r"|N\.\s?B\.:?|P\.\s?S\.:?|NB:|PS:)\s*",
    re.IGNORECASE,
)
# A remark by which something becomes another: a few words behind it are enough.
_CHANGE = re.compile(
    r"^\W{0,5}(?:neu|änderung|ergänzung|nachtrag|zusatzvereinbarung|korrektur|berichtigung|amendment|change|update|addendum"
    r"|correction|erratum)\b",
    re.IGNORECASE,
)
# A paragraph and the law that it is in, such as `§ 58 Abs. 2 TKG`; not one of this contract, with a company behind it.
_OF_LAW = re.compile(
    r"§{1,2}\s?\d+\w?(?:\s?(?:,|ff?\.?|Abs\.|Satz|S\.|Nr\.|lit\.|und|bis|\d+\w?|[a-h]\)?)(?=\s)){0,8}\s(?:des\s|der\s)?"
    r"(?:(?!(?:AG|KG|OHG|UG|SE|EUR|CHF|GBP)\b)[A-ZÄÖÜ]\w{0,20}[A-Z]\b|\w*[Gg]esetz)"
)
_DENIED = re.compile(r"\b(?:nicht|nie|niemand\w*|kein\w*|not|never|none)\b", re.IGNORECASE)
# A few words by which an agreement lacks something, or a party leaves it.
_LACKING = re.compile(
    r"\b(?:fehl(?:t|en|te|ten)|missing|widerr(?:uft|ief)|kündigt|cancel(?:s|led|ed)|withdr(?:aws|ew)|revokes|ohne\s+(?:\w+\s+)?vollmacht"
    r"|vollmachtlos\w*|without\s+(?:\w+\s+)?authority|unauthori[sz]ed|only\s+if|countersigned|gegengezeichnet|nur\s+wenn)\b",
    re.IGNORECASE,
)
_RENEWED = re.compile(  # up to a day: that is another end
    r"\b(?:verlänger\w*\b[^.;]*\bbis|(?:renew|extend|prolong)\w*\b[^.;]*\b(?:until|till|to))\s+(?:zum\s+|the\s+)?"
    r"(?:(?:end|mitte|anfang)e?\s+(?:of\s+)?)?"
    r"(?:(?:19|20)\d\d\b|(?:jan|feb|mär|mar|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|de[zc])\w*\b)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|until|in\s+case|wenn|falls|sofern|soweit|sollten?)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile("(?!)")
_FIRM = re.compile(
    r"(?<=[\w&.,] )(?:GmbH|AG|KG|OHG|GbR|UG|SE|eG|Ltd|Limited|LLC|LLP|LP|Inc|plc|PLC|Corp|B\.V|N\.V|S\.A|Partners)\b"
)
_DATED = re.compile(r"\b\d{1,2}\.\s?\d{1,2}\.|\b(?:19|20)\d\d\b|\d/\d")
PARTY = "party"
# Words by which a sentence of an idle form says something of the contract after all, and where they do not.
_ALTERING = re.compile(
    r"\b(?:kein\w*|no|none of|nachlass|rabatt|reduction|discount|endete?n?|end(?:s|ed)|beendet|ruhe?nd\w*|ruht|trial|"
    r"probe\w*|angebot\w*|offer|quot\w+|previous|former|old|bisherige\w*|alte[nrs]?|could|once|only|nur|another|other|"
    r"landlord|left|leave us|did you|because|weil|entfällt|abmeldung|accept\w*|next|wirklich|"
    r"(?:bis|ab|until|from)\s+(?:ende|mitte|anfang|januar|februar|märz|april|mai|juni|juli|august|september|"
    r"oktober|november|dezember|january|february|march|may|june|july|october|december)\b)(?!\w)",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"\bno[- ]claims? (?:discount|bonus)|\bno (?:exit fees?|charge|fee|notice)\b|\bkeine der parteien\b"
    r"|\bbisheriger? (?:anbieter|lieferant|versorger)\b|:\s*(?:none|nil|keine?r?)\W*$"
    r"|\b(?:when my|until your) contract ends\b|\bleft blank\b",
    re.IGNORECASE,
)
# What is a right tells nothing that happened.
_RIGHT = re.compile(
    r"\b(?:haben|hast|have)\b(?=[^.;]{0,30}\b(?:recht|anspruch|widerrufsrecht|right)\b)",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?:gehör\w*|zugeordnet|stamm(?:t|en)|belong\w*|owned|nachbar\w*|neighbour\w*|mieter\w*|tenant\w*|anstelle|statt\w*|instead)\b",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b\d{1,2}[./-]\s?\d{1,2}[./-]\s?(?:19|20)\d\d\b|\b(?:19|20)\d\d-\d\d-\d\d\b"
    rf"|\b\d{{1,2}}(?:\.|st|nd|rd|th)?\s(?i:{'|'.join(sorted(_MONTHS))})\.?,?\s(?:19|20)\d\d\b"
    rf"|\b(?i:{'|'.join(sorted(_MONTHS))})\.?\s\d{{1,2}},\s(?:19|20)\d\d\b"
)
_AMOUNT = re.compile(r"\d[.,]\d\d\b")
_SMALL_WORD = re.compile(r"(?<![\w.@/-])[a-zäöüß][\w'’-]*")
_QUESTION = re.compile(  # it asks, and asserts nothing
    r"\W*(?:was|wie|wo|wer|wann|welche[rsn]?|what|how|where|when|who|which)\b[^.!?;:,\d]{1,50}\?\s*",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\s(?:no|nr)\.?(?=:?\s*(?:#|\d|[A-Z]{1,4}[ -]?\d|$))", re.IGNORECASE)
_NONE = re.compile(r"\s*(?:none|nil|keine?r?|n/a|entfällt)\W*", re.IGNORECASE)
_SMALL_OF_ADDRESS = frozenset("plc und and of an der am im in care service line".split())
_COMPANY = re.compile(r"\b(?:GmbH|AG|KG|SE|plc|Ltd|Limited|Ombudsman)\b|[Bb]ank\b|[Ss]parkasse")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_MONTH_OF_MAY = re.compile(r"\bMay\b")
_SHORTENED = (
    "Mr Ms Mrs Dr St Co No no Nr ca Inc Ltd Corp inc incl inkl zzgl evtl bzw Art Abs lit Mio Str str Tel etc "
    "ppa gez geb ref reg max min [A-Za-z] [0-9] [0-9][0-9]"
)
_SENTENCE_END = re.compile(
    "(?<=[.!?;])"
    + "".join(rf"(?<!\b{each}\.)" for each in _SHORTENED.split())
    + r"\s+(?=[A-ZÄÖÜ0-9(\"“„§\[])"
)
_ITEM = re.compile(r"\W{0,5}(?:\(?(?:[a-z]{1,4}|[A-Z]|\d{1,2})[).]\s|[a-zäöüß])")
_ENDED = (".", "!", "?")
_ENDS_SHORTENED = re.compile(rf"\b(?:{'|'.join(_SHORTENED.split())}|USt|MwSt|VersSt|Steuer|Std)\.$")


class _Words(NamedTuple):
    """The classes of words by which an unusual sentence may speak of the contract."""

    telling: re.Pattern[str]
    pointing: re.Pattern[str]
    things: re.Pattern[str]
    harmless: re.Pattern[str]
    open: re.Pattern[str]
    idle: re.Pattern[str]
    denying: re.Pattern[str]
    subjects: tuple[re.Pattern[str], ...]

    def is_altered_form(self, text: str) -> bool:
        """Whether a form that says nothing is filled with a word that alters a contract: `details of your old plan`."""
        return _ALTERING.search(_FINE.sub("", text)) is not None and self._is_form(text)

    def _is_form(self, text: str) -> bool:
        """Whether a sentence has a form that says nothing. Each is tried over all of it, which is costly."""
        return len(text) <= FORM_CHARS_MAX and self.idle.fullmatch(text.rstrip(" .!")) is not None

    def is_idle(self, text: str) -> bool:
        """Whether a sentence asserts nothing of a contract by its form: a question, an address, a known form."""
        if _ALTERING.search(_FINE.sub("", text)):
            return False
        if _QUESTION.fullmatch(text) or self._is_form(text):
            return True
        words = text.split()
        has_number = any(word[:1].isdigit() for word in words)
        if (has_number or _COMPANY.search(text)) and all(map(_is_of_address, words)):
            return not self.telling.search(text)
        label = _LABEL.match(text)
        if label is not None and _AMOUNT.search(text, label.end()):
            return False
        if label is not None and not _LETTERS.search(text, label.end()):
            return True  # the number of a customer, a meter, a telephone
        if label is None or self.things.search(label[0]) or self.pointing.search(text):
            return False
        value = text[label.end() :]
        is_none = _NONE.fullmatch(value) is not None
        # A small word says something: `Zustand: beendet`; a name and a number do not.
        is_few = len(_LETTERS.findall(value)) <= HEADING_WORDS and all(
            map(_is_of_address, value.split())
        )
        return is_none or (is_few and not self.telling.search(text))

    def is_of_subject(self, text: str) -> bool:
        """Whether a sentence is about a subject of all such documents, and says nothing that happened to this one.

        One word of a subject may stand in any sentence (`the meter is the neighbour's`); two make it one about it.
        """
        said = _RIGHT.sub(" ", text)
        if _ALTERING.search(_FINE.sub("", said)) or self.pointing.search(said):
            return False
        if _AMOUNT.search(said) or _DATED.search(said) or _OF_OTHERS.search(said):
            return False
        found = (each.findall(said) for each in self.subjects)
        return any(len({word.casefold() for word in words}) >= SUBJECT_WORDS for words in found)

    def may_speak(self, text: str, strangeness: float) -> bool:
        """Whether an unusual sentence may say something of this contract.

        A label does not end as a sentence does, and a thing alone says nothing there.
        """
        text = _NUMBERS.sub(" #", _MONTH_OF_MAY.sub("#", text))
        if self.denying.search(text) and not _CONDITION.search(text):
            return True
        if self.is_idle(text) or self.is_of_subject(text):
            return False
        if self.pointing.search(text):
            return True
        if _OF_LAW.search(text):
            return False
        is_short = len(text.split()) <= SHORT_WORDS
        is_foreign = strangeness >= (SHORT_FOREIGN if is_short else FOREIGN)
        is_telling, is_of_thing = self.telling.search(text), self.things.search(text)
        if self.open.search(text) and strangeness < FOREIGN:
            return bool(_DENIED.search(text) and is_of_thing and not self.harmless.search(text))
        if is_telling:
            return True
        if self.harmless.search(text) and not is_foreign:
            return _is_ended(text) and is_short
        return _is_ended(text) and bool(is_foreign or is_of_thing)


class _Matters(NamedTuple):
    """What the parties of an agreement do for each other: no field of an agreement is about it."""

    matters: re.Pattern[str]
    neutral: re.Pattern[str]
    decisive: re.Pattern[str]
    parties: tuple[str, ...]
    words: frozenset[str]

    @classmethod
    def of(
        cls, rules: ContractRules, found: Sequence[FoundValue], known: Sequence["_Known"]
    ) -> "_Matters":
        """Those of the rules, for an agreement with these values."""
        decisive = [*rules.decisive_words, *rules.denying_words]
        return cls(
            family(rules.matter_words) if rules.matter_words else _NOTHING,
            family(rules.neutral_words) if rules.neutral_words else _NOTHING,
            family(decisive) if decisive else _NOTHING,
            tuple(each.raw for each in found if each.field == PARTY and each.raw),
            rules.function_words.union(*(each.words for each in known)),
        )

    def is_only_of_them(self, text: str) -> bool:
        """Whether a sentence has no word by which it may be about the agreement, its parties, its days or its law."""
        for name in self.parties:  # a name without its legal form is one word of many
            text = text.replace(name, " ")
        if len(text.split()) < SHORT_WORDS or not self.matters.search(text):
            return False
        if any(each.search(text) for each in (self.decisive, _DATED, _FIRM)):
            return False
        rest = self.neutral.sub(" ", self.matters.sub(" ", text))
        return all(word in self.words for word in _SMALL_WORD.findall(rest))


class _Known(NamedTuple):
    """What one kind of documents ordinarily has."""

    rule: OrdinaryRule
    pairs: frozenset[tuple[str, str]]
    words: frozenset[str]
    whole: frozenset[str]
    duties: re.Pattern[str] | None

    def strangeness(self, text: str, names: frozenset[str]) -> float:
        """How much of a text it does not have, from 0 to 1."""
        if _plain(text) in self.whole:
            return 0.0
        found = tokens(text, names, self.words)
        pairs = [each for each in pairwise(found) if NAME not in each]
        if len(pairs) < PAIRS_MIN and _is_ended(text):
            # Short, and its capital words may be no names: only those of the document are.
            found = tokens(text.casefold(), names, self.words)
            pairs = [each for each in pairwise(found) if NAME not in each]
        if len(pairs) < PAIRS_MIN:
            return 0.0
        return sum(each not in self.pairs for each in pairs) / len(pairs)

    def denies(self, text: str, names: frozenset[str], denying: re.Pattern[str]) -> bool:
        """Whether a sentence has a word that denies a contract, and nothing of the kind stands beside it ordinarily.

        The clauses of an agreement speak of every state, so there only a short sentence counts.
        """
        if _plain(text) in self.whole:
            return False
        found = tokens(text, names, self.words)
        is_short = len(found) <= DENIAL_WORDS + 2
        is_altered = is_short and _ALTERING.search(_FINE.sub("", text)) is not None
        if _CONDITION.search(text) or (self.rule.of == "agreements" and not is_short):
            return False
        return any(
            (is_short and _DENIED.fullmatch(word) and (word, behind) not in self.pairs)
            or (
                (denying.fullmatch(word) or (is_altered and _ALTERING.fullmatch(word)))
                and {(before, word), (word, behind)}.isdisjoint(self.pairs)
            )
            for before, word, behind in zip(found, found[1:], found[2:], strict=False)
        )

    @property
    def fact_limit(self) -> float:
        """From which strangeness on a remark is unusual."""
        return min(self.rule.strange, self.rule.strange_fact)

    def limit(self, text: str) -> float:
        """From which strangeness on a sentence is unusual: less is asked of one that lays down a duty."""
        is_duty = self.duties is None or self.duties.search(text) is not None
        if is_duty or _ITEM.match(text) or text.rstrip().endswith((";", ",", ":")):
            return self.rule.strange
        return self.rule.strange_fact


def _is_of_address(word: str) -> bool:
    """Whether a word may be one of a name, an address or the number of a telephone: no amount, and no small word."""
    bare = word.strip(",.:;()")
    if len(bare) < 2 or bare in _SMALL_OF_ADDRESS:
        return True
    return bare[0].isupper() or (bare[0] in "+0123456789" and "," not in bare)


def ordinary_flags(
    document: TextDocument,
    vertical: Vertical,
    rules: ContractRules,
    found: Sequence[FoundValue] = (),
) -> Iterator[Json]:
    """The first sentence that such documents do not ordinarily have, if there is one."""
    kind = "agreements" if vertical.extractor == GENERAL else "letters"
    words, all_known = _load_known(rules)
    known = [each for each in all_known if each.rule.of == kind]
    if not known:
        return
    if note := _across(document, rules):
        said = f"a note stands across the page: {note[:QUOTE_CHARS_MAX]!r}"
        yield {"code": "NOT_UNDERSTOOD", "sentence": said}
        return
    names = _names(document, rules)
    values = list(_value_lines(document, found))
    about = _Matters.of(rules, found, known) if kind == "agreements" else None
    if about is not None:
        words = words._replace(subjects=())  # what an agreement is about may be any of them
    for text in _sentences(document, words, small_min=SMALL_MIN if about is not None else 0):
        is_lacking = about is not None and _is_lacking(text, words)
        if about is not None and not is_lacking and about.is_only_of_them(text):
            continue
        is_strange = is_lacking or _is_strange(text, names, known, words)
        if is_strange and not _has_value(text, values):
            quote = " ".join(text.split())[:QUOTE_CHARS_MAX]
            said = f"a sentence was not understood: {quote!r}"
            yield {"code": "NOT_UNDERSTOOD", "sentence": said}
            return


def _is_strange(text: str, names: frozenset[str], known: Iterable[_Known], words: _Words) -> bool:
    if _REMARK.match(text):
        # In small letters: an unknown word with a capital letter would count as a name, and say nothing.
        said = f"{_REMARK.sub('', text).rstrip(' .')}.".casefold()
        is_short = len(said.split()) <= SHORT_WORDS
        if is_short and (_CHANGE.match(text) or (_DENIED.search(said) and " " in said)):
            return True
        return all(each.strangeness(said, frozenset()) >= each.fact_limit for each in known)
    if _RENEWED.search(text) or words.is_altered_form(text):
        return True
    least = 1.0
    for each in known:
        strangeness = each.strangeness(text, names)
        if strangeness < each.limit(text) and not each.denies(text, names, words.denying):
            return False
        least = min(least, strangeness)
    return words.may_speak(text, least)


def _is_lacking(text: str, words: _Words) -> bool:
    """Whether a sentence of few small words says that something of an agreement is denied, missing or left."""
    is_ended = text.rstrip().endswith(_ENDED)  # with a number too: `under section 29.`
    if len(text.split()) > DENIAL_WORDS or not text[:1].isupper() or not is_ended:
        return False
    is_short = len(_SMALL.findall(text)) < SMALL_MIN
    return _LACKING.search(text) is not None or (is_short and bool(words.denying.search(text)))


def _across(document: TextDocument, rules: ContractRules) -> str:
    """What is printed across a page, or beside it, if it says something: a mark or a number has no small words."""
    imprint = family(rules.signing_words)
    for page in document.pages:
        is_said = len(_SMALL.findall(page.turned)) >= ACROSS_MIN
        if is_said and not imprint.search(page.turned):
            return " ".join(page.turned.split())
    return ""


def _value_lines(document: TextDocument, found: Iterable[FoundValue]) -> Iterator[tuple[str, str]]:
    """The values that were found, as printed, each with its line."""
    for each in found:
        if each.place is not None and each.raw:
            page = document.pages[each.place.page - 1]
            first = page.text.rfind("\n", 0, each.place.start) + 1
            last = page.text.find("\n", first)
            yield each.raw, page.text[first : last if last >= 0 else None].strip()


def _has_value(text: str, values: Iterable[tuple[str, str]]) -> bool:
    """Whether a sentence is the one that a value was found in."""
    return any(raw in text and (line in text or text in line) for raw, line in values)


def _sentences(
    document: TextDocument, words: _Words, *, small_min: int = SMALL_MIN
) -> Iterator[str]:
    """The sentences of a document, and the cells of its rows that are ones; what stands on several pages counts once.

    Fewer words in small letters than usual are enough for a line that ends as a sentence does, one for a remark, and
    none for one that denies something.
    """
    pages = [page.text.split("\n") for page in document.pages]
    on_pages = Counter(line.strip() for lines in pages for line in dict.fromkeys(lines))
    repeated = [line for line, count in on_pages.items() if count > 1]
    once = ([line for line in lines if on_pages[line.strip()] <= 1] for lines in pages)
    for lines in (*once, repeated):
        for text in _paragraphs(lines):
            for sentence in _with_headings(_SENTENCE_END.split(text)):
                said = _REMARK.sub("", sentence)
                is_long = len(_SMALL.findall(said)) >= _small_min(sentence, small_min)
                if is_long or _is_lacking(sentence, words):
                    yield sentence


def _with_headings(sentences: Sequence[str]) -> Iterator[str]:
    """The sentences of a paragraph; a few words that begin it are a heading of the first one: `Cooling off. You …`."""
    is_heading = sentences[0][:1].isupper() and len(sentences[0].split()) <= HEADING_WORDS
    if len(sentences) > 1 and is_heading:
        yield f"{sentences[0]} {sentences[1]}"
        sentences = sentences[2:]
    yield from sentences


def _small_min(sentence: str, ended_min: int) -> int:
    if _REMARK.match(sentence):
        return 0
    is_word = " " not in sentence and sentence.endswith("?")
    is_said = sentence[:1].isupper() and _is_ended(sentence) and not is_word
    return ended_min if is_said else SMALL_MIN


def _is_ended(text: str) -> bool:
    """Whether a text ends as a sentence does, and not with a shortened word."""
    return text.rstrip().endswith(_ENDED) and not _ENDS_SHORTENED.search(text.rstrip())


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Lines that go on in the next are joined; cells stand by themselves, and so does what follows a label."""
    held: list[str] = []
    for line in (each.strip() for each in (*lines, "")):
        cells = [line] if _REMARK.match(line) else _CELLS.split(line)
        if line and held and len(cells) == 1 and _goes_on(held[-1], line):
            held.append(line)
            continue
        if held:
            yield " ".join(held)
        held = []
        values = [cell if _REMARK.match(cell) else _without_label(cell) for cell in cells]
        if len(values) > 1:
            yield from values
        elif line:
            held = values


def _without_label(cell: str) -> str:
    """What a cell says behind its label; a few words say something only together with it."""
    label = _LABEL.match(cell)
    is_short = label is not None and len(cell[label.end() :].split()) <= SHORT_WORDS
    return cell if label is None or (is_short and _is_ended(cell)) else cell[label.end() :]


def _goes_on(above: str, line: str) -> bool:
    if _REMARK.fullmatch(above):
        return True
    if above.endswith((*_ENDED, ":")):
        return False
    return line[0].islower() or (len(above) >= LONG_LINE and not _LABEL.match(line))


@lru_cache(maxsize=TOKENS_KEPT)
def tokens(text: str, names: frozenset[str], words: frozenset[str]) -> Sequence[str]:
    """The words of a sentence in small letters, between its ends; a number is `#`, and a name `*`."""
    is_german, listed = _printed_words(text)
    found = [START]
    for word, plain in listed:
        is_name = word == "Xxx" or (plain in names and plain not in words)
        if not word[0].isalpha() or plain in _MONTHS:
            token = NUMBER
        elif is_name or (
            word[0].isupper() and not is_german and plain not in words and len(found) > 1
        ):
            token = NAME
        else:
            token = plain
        if token not in (NUMBER, NAME) or token != found[-1]:
            found.append(token)
    return (*found, END)


@lru_cache(maxsize=TOKENS_KEPT)
def _printed_words(text: str) -> tuple[bool, Sequence[tuple[str, str]]]:
    """Whether a sentence is German, and its words, each as printed and in small letters.

    The same for every kind of document that it is compared with, one after the other.
    """
    is_german = _GERMAN.search(text) is not None
    said = _ASIDE.sub(_aside, text) if _MAY_BE_ASIDE.search(text) else text
    return is_german, tuple(
        (word, word.casefold().replace("\u2019", "'")) for word in _TOKEN.findall(said)
    )


def _aside(found: re.Match[str]) -> str:
    """A name in place of an address or of what is quoted, unless that says something in words of small letters."""
    quoted = found[0]
    words = quoted.split()
    is_long = len(words) >= QUOTE_WORDS or (len(words) > 1 and quoted[1].islower())
    return quoted if quoted[0] in QUOTES and is_long and _SMALL.search(quoted) else " Xxx "


def _names(document: TextDocument, rules: ContractRules) -> frozenset[str]:
    """The words of names: those of providers, and those of lines and cells that have no word in small letters."""
    listed = (each for one in rules.providers for each in (one.name, *one.aliases))
    found = set(_words_of_names(tuple(listed)))
    for page in document.pages:
        for line in page.text.split("\n"):
            for cell in _CELLS.split(line):
                value = cell.partition(":")[2] or cell
                if not _SMALL.search(value) and not _is_ended(value):
                    found.update(word.casefold() for word in _CAPITAL.findall(value))
    return frozenset(found)


_BY_VERSION: dict[str, tuple[_Words, tuple[_Known, ...]]] = {}
VERSIONS_MAX = 8


@lru_cache(maxsize=VERSIONS_MAX)
def _words_of_names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for name in names for word in _TOKEN.findall(name))


def _load_known(rules: ContractRules) -> tuple[_Words, tuple[_Known, ...]]:
    """What documents ordinarily have, by kind and language, made once for each version of the rules."""
    if rules.version not in _BY_VERSION:
        if len(_BY_VERSION) >= VERSIONS_MAX:
            _BY_VERSION.clear()
        kinds = {(rule.of, rule.language): rule for rule in rules.ordinary}
        known = tuple(
            _known_of(rule, [each for each in rules.ordinary if (each.of, each.language) == kind])
            for kind, rule in kinds.items()
        )
        words = _Words(
            family(rules.telling_words),
            family(rules.pointing_words),
            family(rules.thing_words),
            family(rules.harmless_words),
            family(rules.open_words),
            re.compile(
                "|".join(f"(?:{each})" for each in rules.idle_forms) or "(?!)", re.IGNORECASE
            ),
            family(rules.denying_words) if rules.denying_words else _NOTHING,
            tuple(family([words]) for words in rules.subjects),
        )
        _BY_VERSION[rules.version] = (words, known)
    return _BY_VERSION[rules.version]


def _known_of(rule: OrdinaryRule, of_kind: Sequence[OrdinaryRule]) -> _Known:
    pairs: set[tuple[str, str]] = set()
    listed = [each for one in of_kind for each in one.sentences]
    whole = frozenset(_plain(each) for each in listed if each.startswith(WHOLE))
    sentences = [each for each in listed if not each.startswith(WHOLE)]
    said = frozenset(word.casefold() for each in sentences for word in _TOKEN.findall(each))
    for sentence in sentences:
        found = tokens(sentence, frozenset({"name"}), said - {"name"})
        pairs.update(pairwise(found))
    for line in (each for one in of_kind for each in one.pairs):
        first, _, following = line.partition(" ")
        pairs.update((first, second) for second in following.split())
    words = frozenset(word for pair in pairs for word in pair)
    duties = family(rule.duties) if rule.duties else None
    return _Known(rule, frozenset(pairs), words, whole, duties)


def _plain(text: str) -> str:
    """The words of a sentence that is known only as a whole. A day is any day, and an amount none."""
    said = _DAY.sub("#", text)
    return " ".join(_TOKEN.findall(said)).casefold()
