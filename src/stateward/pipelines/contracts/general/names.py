"""Names of companies and persons: where a name ends in a text, and its canonical spelling.

A name is read word by word from its start: capitalised words, small words between them (`of`, `and`), and a legal form
behind a comma. What follows a name (`, a Delaware corporation`, `(the "Company")`) ends it.
"""

import re

import msgspec

from stateward.pipelines.contracts.general.word_lists import phrases, words

WORDS_MAX = 14
NAME_CHARS_MAX = 110
ANDS_MAX = 3  # in one name

# Legal forms that end a name, without punctuation, and their canonical spelling.
FORMS = {
    "inc": "Inc.", "incorporated": "Inc.", "ltd": "Ltd.", "limited": "Ltd.", "llc": "LLC", "lp": "LP", "llp": "LLP",
    "lllp": "LLLP", "pllc": "PLLC", "plc": "PLC", "pc": "P.C.", "pa": "P.A.", "na": "N.A.", "sa": "S.A.",
    "sarl": "S.à r.l.", "sas": "S.A.S.", "spa": "S.p.A.", "srl": "S.r.l.", "ag": "AG", "gmbh": "GmbH", "kg": "KG",
    "kgaa": "KGaA", "se": "SE", "bv": "B.V.", "nv": "N.V.", "as": "A/S", "asa": "ASA", "ab": "AB", "oy": "Oy",
    "oyj": "Oyj", "pty": "Pty", "kk": "K.K.", "corp": "Corp.", "co": "Co.", "ulc": "ULC", "lc": "L.C.",
    "ggmbh": "gGmbH", "mbh": "mbH", "eg": "eG", "ev": "e.V.", "ohg": "OHG", "gbr": "GbR", "ug": "UG",
    "mbb": "mbB", "dac": "DAC",
}  # fmt: skip
# Words that make a name that of an organisation, but need not end it.
KINDS = frozenset(words("kinds"))
_GENERIC = frozenset({"corporation", "company", "liability", "partnership", "general", "public"})
_PLACES = frozenset(
    place.casefold() for kind in ("states", "provinces", "countries") for place in phrases(kind)
)
FIRST_NAMES = frozenset(words("first_names"))
_SMALL = frozenset(
    {
        "of",
        "and",
        "the",
        "for",
        "de",
        "du",
        "la",
        "le",
        "von",
        "van",
        "der",
        "den",
        "&",
        "y",
        "e",
        "in",
        "at",
        "on",
    }
)
_AND = frozenset({"and", "&"})
_JOINED = frozenset(
    {"bank", "savings", "trust", "energy", "insurance"}
)  # kinds that `and` goes on from
_OPENING = frozenset(words("opening"))
_GENERATIONS = frozenset({"jr", "sr", "ii", "iii", "iv", "md", "phd", "esq", "cpa"})
# Behind the name of a person: no part of it.
_DEGREES = re.compile(r"(?:,?\s+(?:M\.\s?D\.?|Ph\.?\s?D\.?|Esq\.?|CPA|M\.?B\.?A\.?|J\.D\.?))+$")
_HONORIFICS = re.compile(r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Messrs)\.?\s+", re.IGNORECASE)
_TITLED = re.compile(
    r"(?:Dr|Prof)\.\s+(?=[A-ZÄÖÜ])"
)  # `Dr. Oetker KG`: a part of the name of a firm
# What contracts call parties instead of their names, and words that alone are no name.
OFFICES = frozenset(words("offices"))
ROLES = OFFICES | frozenset(words("roles"))
_REFUSED = re.compile(
    r"\b(?:agreement|exhibit|whereas|witnesseth|confidential(?:ity)?|disclosure|hereby|herein(?:after)?|amendment|ladies|gentlemen|"
    r"sincerely|truly|yours|dear|facsimile|letterhead|form\s+of|committee|act\s+of)\b|[\[\]_<>|=]|\d{5}",
    re.IGNORECASE,
)
# Words of addresses and offices, which only the name of a company may hold.
_DOUBTED = re.compile(
    r"\b(?:section|article|attention|telephone|street|avenue|suite|boulevard|floor|drive|road|officer|president|chairman|page|"
    r"copy|copies|signatures?|signed|subject|building|plaza)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\s*([\w&][\w&.'/@+!*-]*|\"[^\"]{2,60}\"|&)", re.UNICODE)
# `Merrill Lynch, Pierce, Fenner & Smith Incorporated`: commas within a name, if an `&` follows.
_FIRM = re.compile(
    r"(?:[A-Z][\w.']{1,30}\s?(?:[A-Z][\w.']{1,30})?,\s+){1,4}[A-Z][\w.']{1,30}\s+&\s+(?:[A-Z][\w.']{1,30}\s+){0,3}[A-Z][\w.']{1,30}"
    r"(?:,?\s+(?:Inc|INC|LLC|L\.L\.C|LLP|L\.L\.P|L\.P|LP|P\.C)\b\.?)?"
)
_SMALL_FIRM = re.compile(
    r"[a-z]\w+,?\s+(?:Inc|Ltd|LLC|AG|GmbH|Corp|N\.V|B\.V|S\.A|plc)\b"
)  # `msystems Ltd.`
# `Fonterra (USA) Inc.`: a bracket within a name, if a legal form follows.
_INNER_BRACKET = re.compile(r"\s*,?\s*\([A-Z][\w.&' -]{1,30}\)\s*,?\s*(?=[A-Z])")
# Two words that are one legal form, or a part of one: `Limited Partnership`, `Limited Liability Company`.
_LONG_FORMS = {"limited": ("partnership", "liability"), "liability": ("company", "partnership")}
_NUMBER = re.compile(r"\d{3,}\b")  # of a house or a year
# `2205925 Ontario Limited`: in Canada a company may be called by its number.
_NUMBERED = re.compile(r"\d{6,9}\s+(?=(?:Ontario|Alberta|Canada|Qu[eé]bec|B\.?C)\b)", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d",
    re.IGNORECASE,
)
# `6 February 2023 Parties`: a date, and no name begins with one.
_DATED = re.compile(
    r"\d{1,2}(?:st|nd|rd|th|\.)?\s+(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b",
    re.IGNORECASE,
)
_COMMA = re.compile(r"\s*,\s*")
# `Bexley GmbH & Co. KG`: a partnership whose partner is a company.
_WITH_PARTNER = re.compile(r"\s*&\s*Co\.?\s*(?:KGaA|KG|OHG)(?!\w)", re.IGNORECASE)
_PARTNERS = frozenset({"gmbh", "mbh", "ag", "se", "ug"})
_SMALL_FORMS = frozenset({"plc", "gmbh", "llc", "inc", "ltd", "mbH", "mbB", "e.V"})  # `QIWI plc`


class PartyName(msgspec.Struct, frozen=True, gc=False):
    """A name and its offsets."""

    start: int
    end: int
    text: str  # as printed, on one line
    is_company: bool
    is_person: bool

    def shifted(self, by: int) -> "PartyName":
        """The same name in a longer text."""
        return msgspec.structs.replace(self, start=self.start + by, end=self.end + by)

    @property
    def value(self) -> str:
        """The name in canonical spelling."""
        return canonical_name(self.text)

    @property
    def key(self) -> str:
        """Equal for different spellings of the same name."""
        return key(self.text)


def name_at(text: str, start: int) -> PartyName | None:
    """The name that starts at an offset; None if none does."""
    while start < len(text) and text[start] in " \t":
        start += 1
    if found := _HONORIFICS.match(text, start):
        whole = _name(text, start, _end(text, start)) if _TITLED.match(text, start) else None
        if whole is not None and whole.is_company:
            return whole
        start = found.end()
    if _NUMBER.match(text, start) and not _NUMBERED.match(text, start):
        return None
    if _DATED.match(text, start):
        return None
    firm = _FIRM.match(text, start)
    end = firm.end() if firm else _end(text, start)
    if end <= start:
        return None
    return _name(text, start, end)


def may_name(text: str) -> bool:
    """Whether a text has no words of titles, offices or addresses, and no date, so that it can be a name."""
    has_other_words = _REFUSED.search(text) or _DOUBTED.search(text) or _MONTH.search(text)
    return not has_other_words


def canonical_name(text: str) -> str:
    """A name with its legal form in canonical spelling, without commas and not in capitals."""
    joined = text if _WITH_PARTNER.search(text) else text.replace(" & ", " and ")
    parts = _DEGREES.sub("", joined).split()
    at = len(parts)
    while at > 1 and (form := FORMS.get(_letters(parts[at - 1]))):
        parts[at - 1] = form
        parts[at - 2] = parts[at - 2].rstrip(",")
        at -= 1
    if parts and text == text.upper():
        parts[:at] = [_lower_case(word) for word in parts[:at]]
        parts[0] = parts[0][:1].upper() + parts[0][1:]
    return " ".join(word.rstrip(",") for word in parts)


def key(text: str) -> str:
    """The letters and digits of a name in canonical spelling."""
    return letters_of(canonical_name(text))


def letters_of(text: str) -> str:
    """The letters and digits of a text."""
    return re.sub(r"[\W_]+", "", text.replace("&", "and").casefold())


def is_person(text: str) -> bool:
    """Whether a name looks like that of a person: two to four words, and a first name or an initial among them."""
    parts = [word for word in text.replace(",", " ").split() if _letters(word) not in _GENERATIONS]
    if not 2 <= len(parts) <= 5 or any(char.isdigit() or char in '&"' for char in text):
        return False
    bare = [_letters(word) for word in parts]
    if any(word in KINDS or word in FORMS for word in bare):
        return False
    has_initial = any(re.fullmatch(r"[A-Z]\.?", word) for word in parts[:-1])
    return has_initial or parts[0].split("-")[0].casefold().strip(".'") in FIRST_NAMES


def _end(text: str, start: int, depth: int = 0) -> int:
    """The end of the name that starts at `start`."""
    at = end = start
    last = ""
    for count in range(WORDS_MAX):
        token = _TOKEN.match(text, at)
        if token is None or end - start > NAME_CHARS_MAX:
            break
        word, bare = token[1], _letters(token[1])
        is_form = bare in FORMS or bare in _LONG_FORMS.get(last, ())
        is_over = last in FORMS and count > 1  # `PC Quote Inc.` begins with what may be a form
        if is_over and not (is_form or bare == "of" or bare in _GENERATIONS):
            break
        if bare.isdigit() and (last in KINDS or is_person(text[start:end])):
            break  # the number of a house
        if bare in _SMALL and end > start:
            if not _continues(text, start, end, token, depth):
                break
            at, last = token.end(), bare
            continue
        is_start = _is_capital(word) or (end == start and bool(_SMALL_FIRM.match(text, start)))
        is_start = is_start or (end > start and word.rstrip(".,") in _SMALL_FORMS)
        if not is_start or text[token.end() : token.end() + 1] == ":":
            break  # a small word, or a label such as `By:`
        at = end = token.end()
        last = bare
        if bare in _PARTNERS and (partner := _WITH_PARTNER.match(text, end)):
            return partner.end()
        if (inner := _INNER_BRACKET.match(text, at)) and _is_form_at(text, inner.end()):
            at = inner.end()
        elif comma := _COMMA.match(text, at):
            at = _behind_comma(text, comma)
            if at < 0:
                break
    return end


def _is_form_at(text: str, start: int) -> bool:
    token = _TOKEN.match(text, start)
    return token is not None and _letters(token[1]) in FORMS


def _behind_comma(text: str, comma: re.Match[str]) -> int:
    """Where a name continues behind a comma: only with a legal form or the like; -1 if it ends there."""
    token = _TOKEN.match(text, comma.end())
    if token is None:
        return -1
    bare = _letters(token[1])
    is_form = (bare in FORMS and _is_capital(token[1])) or bare in ("gmbh", "llc", "lp", "plc")
    if bare in ("as", "co", "pa", "se", "na") and "." not in token[1] and not token[1].isupper():
        is_form = bare == "co"
    return comma.end() if is_form or bare in _GENERATIONS else -1


def _continues(text: str, start: int, end: int, small: re.Match[str], depth: int) -> bool:
    """Whether a name continues behind a small word: `Sony Corporation of America`, not `Palm, Inc. and PalmSource`."""
    after = _TOKEN.match(text, small.end())
    bare = _letters(small[1])
    if after is not None and bare == "of" and _letters(after[1]) == "the":
        after = _TOKEN.match(text, after.end())
    if after is None or not _is_capital(after[1]) or bare in ("in", "at", "on"):
        return False
    if after[1][0].isdigit() and bare == "of":
        return False  # of an address
    if bare not in _AND:
        return True
    so_far = text[start:end]
    last = _letters(so_far.split()[-1]) if so_far.split() else ""
    if last in FORMS or last in ("corporation", "company") or is_person(so_far):
        return False
    if depth >= ANDS_MAX:
        return False
    if bare == "&":
        return True
    if last in KINDS and last not in _JOINED:
        return False
    # `and` joins two words of one name only if that one ends as a company does.
    rest = _end(text, small.end() + len(after[0]) - len(after[1]), depth + 1)
    ending = _letters(text[start:rest].split()[-1]) if rest > small.end() else ""
    between = text[small.end() : rest]
    return (ending in FORMS or ending in KINDS) and not is_person(between.strip())


def _name(text: str, start: int, end: int) -> PartyName | None:
    printed = " ".join(text[start:end].split()).strip(" ,;:'")
    parts = [_letters(word) for word in printed.split()]
    is_company = any(word in FORMS or word in KINDS for word in parts[1:])
    called = _NUMBERED.sub("", printed, count=1)
    if len(printed) < 3 or _REFUSED.search(called) or all(word in ROLES for word in parts):
        return None
    if not is_company and _DOUBTED.search(printed):
        return None
    if (parts[0] in OFFICES or parts[0] in _OPENING) and not any(word in FORMS for word in parts):
        return None
    if not any(char.isalpha() for char in printed) or _is_described(printed, parts):
        return None
    if (
        printed.endswith(".")
        and parts[-1] not in FORMS
        and not re.search(r"\b[A-Z]\.$|\b[JS]r\.$", printed)
    ):
        printed = printed[:-1]
        end = start + text[start:end].rstrip().rfind(".")
    return PartyName(start, end, printed, is_company, is_person(printed))


def _is_described(printed: str, parts: list[str]) -> bool:
    """`Delaware Limited Liability Company` says what a party is, not what it is called."""
    at = len(parts)
    while at and (parts[at - 1] in FORMS or parts[at - 1] in _GENERIC):
        at -= 1
    return 0 < at < len(parts) and " ".join(printed.split()[:at]).casefold() in _PLACES


def _letters(word: str) -> str:
    return re.sub(r"[^\w&]", "", word).casefold()


def _is_capital(word: str) -> bool:
    first = word.strip("\"'(")[:1]
    return (
        first.isupper() or first.isdigit() or word == "&" or bool(re.match(r"[a-z][A-Z0-9]", word))
    )


def _lower_case(word: str) -> str:
    """A word in capitals with only its first letter in upper case; abbreviations without a vowel stay."""
    letters = re.sub(r"[^A-Za-z]", "", word)
    if len(letters) <= 3 and not re.search(r"[AEIOUY]", letters):
        return word
    if word.count(".") > 1:
        return word
    if _letters(word) in _SMALL:
        return word.lower()
    return re.sub(r"[^\W\d_]+('[a-zA-Z]\b)?", lambda part: part[0][0] + part[0][1:].lower(), word)
