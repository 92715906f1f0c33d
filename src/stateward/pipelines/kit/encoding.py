"""The encoding of a text file: by its byte order mark, by its bytes, or by the words that its letters make."""

import codecs
import re
from pathlib import Path
from typing import NamedTuple

from stateward.core.errors import FatalFailure

HEAD_BYTES = 64 * 1024
CHUNK_BYTES = 1 << 20
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WIDE_SAMPLES_BYTES = (400, 4096)  # a short heading may be of another script than the text below it
WIDE_SHARE = 0.8  # of the bytes on one side are zero where the letters are Latin
# Other characters than letters that Western texts contain beyond ASCII.
WESTERN_SIGNS = frozenset("€£§°–—‘’“”„«»·…®©´`\u00a0\u00ad")
MICRO = "µ"  # a letter by Unicode, and of no language: a unit
# Where several give the same text, the first is named: the most common first.
CODE_PAGES = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257", "mac_roman", "cp852", "cp850", "iso8859-2", "cp866",
    "koi8-r",
)  # fmt: skip
# Letters beyond ASCII that a language writes: a text whose letters all belong to one language is decoded rightly.
ALPHABETS = tuple(
    frozenset(letters)
    for letters in (
        "äöüß", "àâæçèéêëîïôœùûüÿ", "áéíóúüñ", "àáâãçéêíóôõúü", "àèéìíîòóùú", "áàâäéèêëïíóöôúüç", "åäöéüø",
        "æøåéöäü", "áðéíóúýþæö", "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîșțşţ",
        "čćđšž", "äõöüšž", "ąčęėįšųūž", "āčēģīķļņšūž", "çğıöşüâîû", "êëç", "àèéíïòóúüç",
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "абвгдђежзијклљмнњопрстћуфхцчџш",
        "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",
    )
)  # fmt: skip
WESTERN = frozenset(
    "àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿß"
)  # of several languages, as names of shops are mixed
USUAL = frozenset(
    "äöüßåøæéèàçñáíóúêâô"
)  # letters so common in the West that a text with no others is Western
WINDOWS = frozenset({"cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1257"})
# Encodings of two bytes a character, each with the lead bytes of its everyday characters; rarer ones follow them.
WIDE_CODE_PAGES = {
    "cp932": frozenset({0x81, 0x82, 0x83, *range(0x88, 0x98)}),
    "gb18030": frozenset({0xA1, 0xA3, *range(0xB0, 0xD8)}),
    "big5": frozenset({0xA1, *range(0xA4, 0xC7)}),
    "euc_kr": frozenset({0xA1, 0xA3, *range(0xB0, 0xC9)}),
}
HIGH_TRAIL = frozenset({"gb18030", "euc_kr"})  # whose everyday characters have two high bytes
KOREAN = 0.97
EVERYDAY = 0.75  # the least share of everyday characters in a text that is decoded rightly
_GLUED_SIGN = re.compile(r"[^\W\d_][\u00a3\u00a7\u2026\u00b4\u00b7\u00ae\u00a9][^\W\d_]|£[^\W\d_]")
# Words in Windows bytes: in Arabic, the bytes of accented Latin letters are left out.
_HEBREW = re.compile(rb"(?<![\xc0-\xff])[\xe0-\xfa]{2,}(?![\xc0-\xff])")
_ARABIC = re.compile(rb"[\xc1-\xd6\xd8-\xdf\xe1\xe3-\xe6\xec\xed\xf0-\xf3\xf5\xf6\xf8\xfa]{3,}")
SEMITIC = 0.95  # of the bytes beyond ASCII are letters of such words
SEMITIC_BYTES_MIN, SEMITIC_BYTES_SURE = 20, 60
# Thai: vowels and tones above and below a letter stand behind it, some vowels before one; three in ten bytes are such.
_THAI_BYTES = re.compile(rb"[\xa1-\xda\xdf-\xfb]+")
_THAI_ORDER = re.compile(
    rb"(?:[\xe0-\xe4]?[\xa1-\xce][\xd1\xd4-\xda\xe7-\xee]{0,3}|[\xcf\xd0\xd2\xd3\xdf\xe5\xe6\xef-\xfb])+"
)
_THAI_SIGNS = re.compile(rb"[\xd0-\xda\xe0-\xe4\xe7-\xee]")
THAI_SIGNS_MIN = 0.2  # of the bytes beyond ASCII
_INSIDE_WORD = re.compile(rb"(?<=[A-Za-z])[\x80-\xff]{1,4}(?=[a-z])")
_WORDS = re.compile(r"[^\W\d_]{2,}")


class Encoding(NamedTuple):
    """The name of a codec, why it was chosen, and whether another one would make as much sense."""

    name: str
    why: str
    is_sure: bool = True
    rivals: tuple[str, ...] = ()  # those that would


def find_encoding(path: Path, *, hint: str = "", head: bytes | None = None) -> Encoding:
    """The encoding of a file; `hint` is used where there is no byte order mark.

    `head` are its first HEAD_BYTES, if the caller has read them.
    """
    if head is None:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    for mark, name in BOMS:
        if head.startswith(mark):
            return Encoding(name, "its byte order mark says so")
    if hint:
        return Encoding(_readable_codec(hint, head), "the source type says so")
    if name := _utf16_without_mark(head):
        return Encoding(name, "every second byte is zero")
    sample = None if _is_all_utf8(head) else _first_invalid_utf8(path)
    if sample is None:
        return Encoding("utf-8", "all of it is valid")
    if _is_mostly_utf8(sample):
        return Encoding("utf-8", "nearly all of it is valid; invalid bytes are shown as \ufffd")
    return _code_page(sample)


def _readable_codec(name: str, head: bytes) -> str:
    """The codec of a hint; refused if these bytes cannot be in it, such as UTF-16 without its mark."""
    codec = _codec(name)
    try:
        codecs.getincrementaldecoder(codec)("replace").decode(head)
    except UnicodeError as error:
        message = f"the file is not in {name}: {error}; correct the encoding"
        raise FatalFailure(message, code="BAD_HINT") from error
    return codec


def _codec(name: str) -> str:
    try:
        b"a".decode(name, "replace")  # also refuses what is no encoding of text
        return codecs.lookup(name).name
    except LookupError as error:
        raise FatalFailure(
            f"unknown encoding {name!r}; correct the source type in the settings", code="BAD_HINT"
        ) from error


def _utf16_without_mark(head: bytes) -> str:
    """UTF-16 of Latin text, in which nearly every second byte is zero; "" if it is none."""
    for size in WIDE_SAMPLES_BYTES:
        sample = head[:size]
        half = max(1, len(sample) // 2)
        even, odd = sample[0::2].count(0) / half, sample[1::2].count(0) / half
        if odd > WIDE_SHARE and even < 1 - WIDE_SHARE:
            return "utf-16-le"
        if even > WIDE_SHARE and odd < 1 - WIDE_SHARE:
            return "utf-16-be"
    return ""


def _is_all_utf8(head: bytes) -> bool:
    """Whether these bytes are UTF-8 and, being fewer than a head has, the whole file."""
    if len(head) >= HEAD_BYTES:
        return False
    try:
        head.decode()
    except UnicodeDecodeError:
        return False
    return True


def _first_invalid_utf8(path: Path) -> bytes | None:
    """The part of a file around the first bytes that are not UTF-8; None if all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                return chunk[max(0, error.start - HEAD_BYTES) : error.start + HEAD_BYTES]
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            return bytes(error.object)
    return None


def _is_mostly_utf8(sample: bytes) -> bool:
    """Whether a text is UTF-8 with a few damaged bytes: no code page makes that many valid pairs by chance."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return sum(c >= "\x80" for c in text) - bad > 3 * bad


def _code_page(sample: bytes) -> Encoding:
    """A code page: the one whose letters make words of one language, else what a statistical detector finds."""
    if _is_thai(sample):
        return Encoding("cp874", "its bytes are Thai letters in the order of Thai words")
    if found := _semitic_code_page(sample):
        return found
    texts = {name: sample.decode(name, "replace") for name in CODE_PAGES}
    faults = {name: _faults(text) for name, text in texts.items()}
    best = min(CODE_PAGES, key=lambda name: faults[name])
    if faults[best] <= 1:
        rivals = [name for name in CODE_PAGES if faults[name] == faults[best]]
        others = tuple(name for name in rivals if _is_doubtful(sample, best, name, texts))
        doubt = f", and so they do in {others[0]}" if others else ""
        return Encoding(best, f"its letters make words so{doubt}", not others, others)
    if not _is_within_words(sample) and (wide := _wide_code_page(sample)):
        return Encoding(wide, "nearly all of its characters are everyday ones so")
    from charset_normalizer import from_bytes  # rarely needed, and slow to import

    detected = from_bytes(sample).best()
    if detected is not None and faults.get(detected.encoding, faults[best]) < faults[best]:
        best = detected.encoding
    return Encoding(best, "its letters make the most sense so", is_sure=False)


def _semitic_code_page(sample: bytes) -> Encoding | None:
    """Hebrew or Arabic, where nearly all bytes beyond ASCII are letters of it that stand in words; else None.

    Hebrew in Windows bytes is also Russian without a capital and without its last five letters, which only a short
    text can be.
    """
    high = sum(byte >= 0xC0 for byte in sample)
    if high < SEMITIC_BYTES_MIN:
        return None
    for name, words in (("cp1255", _HEBREW), ("cp1256", _ARABIC)):
        letters = sum(map(len, words.findall(sample)))
        if letters >= SEMITIC * high:
            is_sure = name == "cp1256" or high >= SEMITIC_BYTES_SURE
            rivals = () if is_sure else ("cp1251",)
            return Encoding(name, "its letters make words so", is_sure, rivals)
    return None


def _is_thai(sample: bytes) -> bool:
    """Whether all bytes beyond ASCII are Thai words; pairs of bytes of Chinese would break the order of signs."""
    words = _THAI_BYTES.findall(sample)
    count = sum(map(len, words))
    if count < SEMITIC_BYTES_MIN or count < sum(byte >= 0x80 for byte in sample):
        return False
    signs = sum(len(_THAI_SIGNS.findall(word)) for word in words)
    return signs >= THAI_SIGNS_MIN * count and all(map(_THAI_ORDER.fullmatch, words))


def _is_doubtful(sample: bytes, name: str, rival: str, texts: dict[str, str]) -> bool:
    """Whether a rival is as likely as the first. Letters of Windows code pages lie above 0xBF, of older ones below."""
    if texts[name] == texts[rival]:
        return False
    present = {c for c in texts[name].lower() if c >= "\x80" and c.isalpha()}
    if name == "cp1252" and present <= USUAL and rival in WINDOWS:
        return False
    if name in WINDOWS and rival not in WINDOWS:
        letters = [byte for byte in sample if byte >= 0x80]
        return sum(byte < 0xA0 for byte in letters) * 2 > len(letters)
    return {name, rival} != {
        "cp1251",
        "cp1253",
    }  # Russian is also made of Greek letters, not of words


def _faults(text: str) -> int:
    """How much of a text looks wrong: signs among letters, words of two scripts, letters of no one language."""
    count = sum(1 for c in text if c >= "\x80" and not c.isalpha() and c not in WESTERN_SIGNS)
    count += len(_GLUED_SIGN.findall(text))
    for word in _WORDS.findall(text):
        scripts = {"latin" if c < "\u0250" else "other" for c in word}
        count += len(scripts) > 1 or _has_inner_capital(word)
    letters = {c for c in text.lower() if c >= "\x80" and c.isalpha()} - {MICRO}
    strange = min(len(letters - alphabet) for alphabet in ALPHABETS)
    return count + (min(strange, 1) if letters <= WESTERN else strange)


def _has_inner_capital(word: str) -> bool:
    """Whether a capital beyond ASCII stands inside a word of small letters, as where a code page is wrong."""
    return not word.isupper() and any(c >= "\x80" and c.isupper() for c in word[1:])


def _is_within_words(sample: bytes) -> bool:
    """Whether most bytes beyond ASCII stand inside of words of it, as accents do and no character of Chinese."""
    inside = sum(map(len, _INSIDE_WORD.findall(sample)))
    return 2 * inside > sum(byte >= 0x80 for byte in sample)


def _wide_code_page(sample: bytes) -> str:
    """An encoding of two bytes a character in which nearly all of a text is everyday characters; "" if none is."""
    shares = {name: _everyday_share(sample, name) for name in WIDE_CODE_PAGES}
    if (
        shares["euc_kr"] > KOREAN
    ):  # whose characters are all everyday ones in GB 18030 too, but not the reverse
        return "euc_kr"
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] >= EVERYDAY else ""


def _everyday_share(sample: bytes, name: str) -> float:
    """The share of everyday characters among those beyond ASCII; 0 where the bytes are not of this encoding."""
    whole = sample[: sample.rfind(b"\n") + 1] or sample  # the last character may be cut in two
    try:
        text = whole.decode(name)
    except UnicodeDecodeError:
        return 0.0
    strange = [c for c in text if c >= "\x80"]
    everyday = WIDE_CODE_PAGES[name]
    count = 0
    for c in strange:
        pair = c.encode(name)
        is_high = name not in HIGH_TRAIL or pair[-1] >= 0xA1
        count += len(pair) == 2 and pair[0] in everyday and is_high
    return count / len(strange) if strange else 0.0
