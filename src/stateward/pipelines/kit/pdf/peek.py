"""Words of a PDF without a parser: the bounded starts of its first streams, for `detect`, which may not parse.

Each font has its own map to letters. Text in a font that has none is not found, and neither is anything in an encrypted
file: no words then say nothing about the document, unless all that it shows was seen and is next to nothing.
"""

import re
import zlib
from base64 import a85decode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

BYTES_MAX = 4 * 1024 * 1024  # of the file
STREAMS_MAX = 120
GLYPHS_MAX = 2000  # streams that draw one letter, of fonts made of such (Type 3): they show no text
STREAM_BYTES_MAX = 64 * 1024  # of a stream, inflated
DRAWN_BYTES_MAX = 4 * 1024 * 1024  # of a stream, inflated, that draws before any text
DRAWN_MAX = 2  # such streams of a file
TEXT_BYTES_MAX = 96 * 1024
MAPS_MAX = 40  # a file with more fonts is read with the first ones
GUESSES_MAX = 4  # where a page does not say which font holds
TOKEN_CHARS = 14  # on average
SPACE_KERN = -160  # thousandths: a gap that is wider is a blank

_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_DICTIONARY_BYTES_MAX = 600
_END, _END_BYTES_MAX = b"%%EOF", 2048  # a file that was cut off lacks it
# Streams that show no text, whatever they hold: pictures, and programs of fonts, which are large.
_NO_TEXT = re.compile(
    rb"/Subtype\s*/(?:Image|Type1C|CIDFontType0C|OpenType|XML)\b|/(?:DCT|CCITTFax|JBIG2|JPX)Decode\b|/Length1\b"
)
_IS_GLYPH = re.compile(rb"\s*(?:-?[\d.]{1,20}\s+){2}(?:d0|(?:-?[\d.]{1,20}\s+){4}d1)\s")
_SHOWN = re.compile(
    rb"\[((?:[^\[\]\\]|\\.)*)\]\s*TJ|(\((?:[^()\\]|\\.)*\)|<[0-9A-Fa-f\s]*>)\s*(?:Tj|'|\")"
    rb"|/([^\s/<>\[\]()]{1,60})\s+-?([\d.]{1,12})\s+Tf\b|\b(BT)\b|(?<![\d.])(\d{1,5}(?:\.\d{0,12})?)\s+0\s+Td\b",
    re.DOTALL,
)
_OBJECT = re.compile(rb"(?<!\d)(\d{1,9})\s+\d{1,5}\s+obj\b")
_OBJECT_BYTES_MAX, _PACKED_OBJECTS_MAX = 3000, 4000
_IS_FONT = re.compile(rb"/Type\s*/Font\b")
_TO_UNICODE = re.compile(rb"/ToUnicode\s+(\d{1,9})\s+\d{1,5}\s+R\b")
_NAMED_OBJECT = re.compile(rb"/([^\s/<>\[\]()]{1,60})\s+(\d{1,9})\s+\d{1,5}\s+R\b")
_IS_PACKED = re.compile(rb"/Type\s*/ObjStm\b")
_PIECE = re.compile(rb"\(((?:[^()\\]|\\.)*)\)|<([0-9A-Fa-f\s]*)>|(-?\d+(?:\.\d+)?)", re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_CONTROLS = {
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"b": b"\b",
    b"f": b"\f",
}  # glyphs have such numbers, too
_BLOCK = re.compile(rb"beginbf(char|range)(.*?)endbf", re.DOTALL)
_PAIR = re.compile(rb"<([0-9A-Fa-f]{2,4})>\s*<([0-9A-Fa-f]{4})[0-9A-Fa-f]*>")
_RANGE = re.compile(
    rb"<([0-9A-Fa-f]{2,4})>\s*<([0-9A-Fa-f]{2,4})>\s*(?:<([0-9A-Fa-f]{4})>|\[([^\]]*)\])"
)
_IS_UNICODE = re.compile(rb"/Encoding\s*/Uni\w+-(?:UCS2|UTF16)-[HV]\b")
_LETTER = re.compile(rb"<([0-9A-Fa-f]{4})[0-9A-Fa-f]*>")
RANGE_MAX = 256
_AMOUNT = re.compile(
    r"(?<![\d.,])\d[\d.,' \u00a0]{0,14}[.,]\d\d(?!\d|[./-]\d)|[¥￥₩]\s?\d|\d\s?[円元원]"
)
THIN_CHARS = 140  # to an amount, at least, where they stand in prose: a table has one in a hundred letters, or more
LETTER_WIDTH_MAX, LETTERS_WIDTH_MAX = (
    0.45,
    0.6,
)  # of the size of a font: how far letters reach, at most
LETTERS_MIN = 3  # of what is shown at once, on average; fewer is text that is set letter by letter

GlyphMap = Mapping[int, str]


Fonts = Mapping[bytes, GlyphMap]  # by the names under which a page knows them


class Peek(NamedTuple):
    """The text of the first streams; where the fonts of a page are not found, once for each map of glyphs to letters.

    `is_whole` if no stream was left out that could show more.
    """

    texts: list[str]
    is_whole: bool


def is_glued(text: str) -> bool:
    """Whether blanks are lost, as where letters are set one by one: its words are longer than those of a language."""
    tokens = [token for token in text.split() if any(map(str.isalpha, token))]
    return sum(map(len, tokens)) > TOKEN_CHARS * len(tokens)


def amounts_of(text: str) -> list[str]:
    """What may be amounts of money."""
    return _AMOUNT.findall(text)


def is_thin(text: str) -> bool:
    """Whether amounts are as few as in a letter or a contract, and not those of the rows of an account."""
    return len(amounts_of(text)) * THIN_CHARS < len(text)


def peeked_texts(path: Path) -> list[str]:
    """The texts of a peek."""
    return peek(path).texts


def peek(path: Path) -> Peek:
    """What a PDF shows."""
    seen = path.stat()
    return _peek(path, (seen.st_ino, seen.st_mtime_ns, seen.st_size))


@lru_cache(maxsize=2)  # several pipelines look at one file, one after the other
def _peek(path: Path, _version: tuple[int, int, int]) -> Peek:
    with path.open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    contents: list[bytes] = []
    maps: dict[int, GlyphMap] = {}
    objects = _objects(data)
    size = 0
    is_ended = len(data) <= BYTES_MAX and _END in data[-_END_BYTES_MAX:]
    is_whole = is_ended and b"/Encrypt" not in data
    for number, dictionary, stream in _streams(data):
        if stream is None:
            is_whole = False
        elif b"beginbfchar" in stream or b"beginbfrange" in stream:
            maps |= {number: _glyph_map(stream)} if len(maps) < MAPS_MAX else {}
        elif _IS_PACKED.search(dictionary):
            objects |= _unpack(stream)
        elif size < TEXT_BYTES_MAX and _shows_text(stream):
            contents.append(stream)
            size += len(stream)
    is_whole = is_whole and size < TEXT_BYTES_MAX
    fonts = _fonts(objects, maps)
    used = {shown[2] for content in contents for shown in _SHOWN.findall(content)} - {b""}
    if maps and used and used <= fonts[0].keys():
        texts = [_text(contents, each, {}) for each in fonts]
    else:
        plain = _unicode() if _IS_UNICODE.search(data) else {}
        texts = [_text(contents, {}, each) for each in [*maps.values()][:GUESSES_MAX] or [plain]]
    return Peek(texts, is_whole)


def _objects(data: bytes) -> dict[int, bytes]:
    """The starts of the objects that are not packed, by number; of the streams only their dictionaries."""
    found = [*_OBJECT.finditer(data)]
    ends = [*(each.start() for each in found[1:]), len(data)]
    return {
        int(each[1]): data[each.end() : min(end, each.end() + _OBJECT_BYTES_MAX)].split(b"stream")[
            0
        ]
        for each, end in zip(found, ends, strict=False)
    }


def _unpack(stream: bytes) -> dict[int, bytes]:
    """The objects of a stream of objects, which begins with the number and the place of each."""
    head = re.match(rb"[\s\d]*", stream)
    numbers = [int(each) for each in head[0].split()[: 2 * _PACKED_OBJECTS_MAX]] if head else []
    pairs = [*zip(numbers[::2], numbers[1::2], strict=False)]
    first = len(head[0]) if head else 0
    ends = [*(place for _, place in pairs[1:]), len(stream)]
    return {
        number: stream[first + place : first + min(end, place + _OBJECT_BYTES_MAX)]
        for (number, place), end in zip(pairs, ends, strict=False)
    }


def _fonts(objects: Mapping[int, bytes], maps: Mapping[int, GlyphMap]) -> list[Fonts]:
    """The fonts by name: as the first pages know them, and as the last ones do if that is different."""
    letters: dict[int, GlyphMap] = {}
    for number, told in objects.items():
        if _IS_FONT.search(told):
            link = _TO_UNICODE.search(told)
            letters[number] = maps.get(int(link[1]), {}) if link else {}
    named = [
        (name, letters[int(number)])
        for told in objects.values()
        for name, number in _NAMED_OBJECT.findall(told)
        if int(number) in letters
    ]
    first, last = dict(reversed(named)), dict(named)
    return [first] if first == last else [first, last]


@lru_cache(maxsize=1)
def _unicode() -> GlyphMap:
    """The map of a font whose codes are letters already, as those of Chinese, Japanese and Korean often are."""
    return {code: chr(code) for code in (*range(0x20, 0xD800), *range(0xF900, 0xFFF0))}


def _streams(data: bytes) -> Iterator[tuple[int, bytes, bytes | None]]:
    """The starts of the first streams that may show text, each with its number and dictionary.

    None instead of what cannot be unpacked, or is left out.
    """
    seen = drawn = glyphs = 0
    for found in _STREAM.finditer(data):
        before = data[max(0, found.start() - _DICTIONARY_BYTES_MAX) : found.start()]
        dictionary = before.rpartition(b"obj")[2]
        if _NO_TEXT.search(dictionary):
            continue
        seen += 1
        numbers = _OBJECT.findall(before)
        number = int(numbers[-1]) if numbers else -seen
        if seen > STREAMS_MAX:
            yield number, dictionary, None
            return
        # What inflates to so many bytes is hardly longer itself.
        stored = data[found.end() : found.end() + STREAM_BYTES_MAX]
        for decode in (_inflate, _inflate_ascii85):
            try:
                shown = decode(stored)
            except (zlib.error, ValueError):
                continue
            if glyphs < GLYPHS_MAX and _IS_GLYPH.match(shown):
                glyphs += 1
                seen -= 1
                break
            is_drawn = decode is _inflate and _begins_with_drawing(dictionary, shown)
            drawn += is_drawn
            if is_drawn and drawn <= DRAWN_MAX:
                yield number, dictionary, _inflate_drawn(data[found.end() :])
            else:
                yield number, dictionary, shown
            break
        else:
            is_packed = b"/Filter" in dictionary
            yield number, dictionary, None if is_packed else stored.partition(b"endstream")[0]


def _inflate(stored: bytes) -> bytes:
    return zlib.decompressobj().decompress(stored, STREAM_BYTES_MAX)


def _shows_text(stream: bytes) -> bool:
    return b"Tj" in stream or b"TJ" in stream


def _begins_with_drawing(dictionary: bytes, shown: bytes) -> bool:
    """Whether the start of a stream is not all of it, shows no text, and is neither objects nor the map of a font."""
    is_other = _IS_PACKED.search(dictionary) is not None or b"beginbf" in shown
    return len(shown) >= STREAM_BYTES_MAX and not (is_other or _shows_text(shown))


def _inflate_drawn(stored: bytes) -> bytes | None:
    """What follows the drawing at the start of a stream: its first text; None if none comes soon."""
    unpacker = zlib.decompressobj()
    for _ in range(DRAWN_BYTES_MAX // STREAM_BYTES_MAX):
        try:
            shown = unpacker.decompress(stored, STREAM_BYTES_MAX)
        except zlib.error:
            return None
        if _shows_text(shown) or unpacker.eof:
            return shown
        if not shown:
            return None
        stored = unpacker.unconsumed_tail
    return None


def _inflate_ascii85(stored: bytes) -> bytes:
    """A stream that is packed and then written in letters, as some generators do. Raises if it is none."""
    end = stored.index(b"~>")
    return _inflate(a85decode(stored[:end].removeprefix(b"<~")))


def _glyph_map(stream: bytes) -> GlyphMap:
    made: dict[int, str] = {}
    for kind, block in _BLOCK.findall(stream):
        if kind == b"char":
            made |= {int(glyph, 16): chr(int(letter, 16)) for glyph, letter in _PAIR.findall(block)}
        else:
            made.update(_ranges(block))
    return made


def _ranges(block: bytes) -> Iterator[tuple[int, str]]:
    for first, last, letter, listed in _RANGE.findall(block):
        start, end = int(first, 16), int(last, 16)
        if listed:
            codes = [int(each, 16) for each in _LETTER.findall(listed)[:RANGE_MAX]]
        else:
            codes = [
                (int(letter, 16) + at) & 0xFFFF for at in range(min(end - start + 1, RANGE_MAX))
            ]
        yield from ((start + at, chr(code)) for at, code in enumerate(codes))


def _text(contents: list[bytes], fonts: Fonts, letters: GlyphMap) -> str:
    """What is shown, by the letters of the font that holds at each place; of one that is not known, by `letters`.

    What is set letter by letter is joined within its text objects (`BT` to `ET`): a browser makes one of each run of
    words, so that the cells of a table stay apart. Where those are single letters too, everything is joined.
    Words that are set in parts, because letters of them stand closer together, are joined anywhere.
    """
    objects: list[list[str]] = [[]]
    whole: list[str] = []  # the same pieces, without the gaps inside words
    for content in contents:
        held, size, step = letters, 0.0, 0.0
        for array, single, font, points, begin, moved in _SHOWN.findall(content):
            if font:
                held, size = fonts.get(font, letters), _number(points)
            elif begin:
                objects.append([])
            elif moved:
                step = _number(moved)
                continue
            else:
                text = "".join(_pieces(array or single, held))
                last = objects[-1][-1] if objects[-1] else ""
                if step and _goes_on(last, text, step=step, size=size):
                    whole[-1] += text
                else:
                    whole.append(text)
                objects[-1].append(text)
            step = 0.0
    if not _is_by_letter([piece for pieces in objects for piece in pieces]):
        return "\n".join(whole)
    runs = ["".join(pieces) for pieces in objects if pieces]
    return ("" if _is_by_letter(runs) else "\n").join(runs)


def _goes_on(last: str, text: str, *, step: float, size: float) -> bool:
    """Whether a text begins where the one before it ends, on its line. Figures are of one width, and letters not."""
    if not (last and text):
        return False
    is_figure = last[-1].isdigit() or text[0].isdigit()
    slack = 0.0 if is_figure else LETTER_WIDTH_MAX
    return step <= size * (LETTERS_WIDTH_MAX * len(last) + slack)


def _number(digits: bytes) -> float:
    return float(digits) if digits.count(b".") <= 1 and digits != b"." else 0.0


def _is_by_letter(shown: list[str]) -> bool:
    return sum(map(len, shown)) < LETTERS_MIN * len(shown)


def _pieces(array: bytes, letters: GlyphMap) -> Iterator[str]:
    for literal, glyphs, kern in _PIECE.findall(array):
        if kern:
            yield " " if float(kern) < SPACE_KERN else ""
        elif glyphs:
            yield _decode(
                bytes.fromhex(
                    glyphs.translate(None, b" \t\r\n\f").decode()[: 2 * (len(glyphs) // 2)]
                ),
                letters,
            )
        else:
            yield _decode(_ESCAPE.sub(_unescape, literal), letters)


def _unescape(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if code[:1].isdigit() else _CONTROLS.get(code, code)


def _decode(text: bytes, letters: GlyphMap) -> str:
    if not letters:
        return text.decode("cp1252", "replace")
    wide = [int.from_bytes(text[at : at + 2]) for at in range(0, len(text) - 1, 2)]
    if wide and sum(each in letters for each in wide) * 2 >= len(wide):
        return "".join(letters.get(each, "") for each in wide)
    return "".join(letters.get(each) or chr(each) for each in text)
