"""Results in running text: `GOT 17 U/l, Kreatinin 0,9 mg/dl` in a letter, `WBC 7.6 (H) K/uL (4.0 - 11.0)` elsewhere.

Without a sign between name and value the name must be known. With one, `Natris: 137 mmol/L [Norma: 135 - 145]`, no word
has to be: several statements of one form on a page show what they are.
"""

import re
from collections.abc import Iterator, Sequence

from stateward.pipelines.kit.pdf.lines import PdfLine
from stateward.pipelines.labs.analytes import is_name
from stateward.pipelines.labs.pdf.cells import (
    Parts,
    cells,
    is_flag,
    parts_in_any_order,
    split_value,
)
from stateward.pipelines.labs.pdf.headings import headings_of
from stateward.pipelines.labs.pdf.row import Row, is_administrative
from stateward.pipelines.labs.ranges import read_range
from stateward.pipelines.labs.units import is_known_unit
from stateward.pipelines.labs.values import read_value
from stateward.pipelines.labs.words import column_of, is_category, is_earlier, ordinal_of

NAME_WORDS_MAX = 6
STATEMENTS_MIN = 3  # of one page that have a range, or a known name and a unit
WORDS_MAX = 3  # of a value that is no number
BULLETS = "•·▪●◦‣∙* "  # before the statements of a list
SAME_PLACE = 2.0  # points
_STATEMENT = re.compile(r"(?P<name>[^:=]*[^\W\d][^:=]*?)\s*[:=]\s*(?P<rest>\S.*)")
_LIMITS_BEHIND = re.compile(
    r"(?P<head>.*?)\s*(?:(?P<wrapped>[(\[][^()\[\]]*[)\]])"
    r"|[-–—|,;]\s*(?P<label>[^\W\d][^\d:=<>≤≥]*[:=])\s*(?P<tail>[^:=]+))"
)
_FLAG_AFTER_DASH = re.compile(r"(?P<head>.*\S)\s+[—–-]\s+(?P<flag>[^\W\d].*)")
_NEXT = re.compile(r";\s[^:=]*[:=]")
_LABEL = re.compile(r"(?P<label>[^\W\d][^\d:=<>≤≥]{0,40}[:=])\s*(?P<text>.+)")
_WORDED_LIMIT = re.compile(r"[(\[]?[^\W\d_]{2,}\.?(?: [^\W\d_]+\.?)? [0-9][0-9.,]*(?: \S+)?[)\]]?")

Told = tuple[str, Parts]  # a name, and what follows it


def behind_label(text: str) -> tuple[str, str]:
    """A label and what stands behind it: `Norma:` and `135 - 145`; "" and the text, where there is none."""
    found = _LABEL.fullmatch(text.strip())
    return (found["label"], found["text"]) if found is not None else ("", text.strip())


def is_limit(text: str, *, is_two_sided: bool = False) -> bool:
    """Whether a text is a range, or a word and a number, which may be one."""
    told = read_range(text)
    if is_two_sided:
        return told.kind == "interval" and None not in (told.low, told.high)
    is_worded = _WORDED_LIMIT.fullmatch(text) is not None or bool(ordinal_of(text.strip("()[]")))
    return told.kind in ("interval", "titre") or is_worded


def is_measured_number(text: str) -> bool:
    """Whether a text is a number with a unit that is known."""
    parts = split_value(text)
    return read_value(parts.value).kind == "quantity" and is_known_unit(parts.unit)


def statement_rows(lines: Sequence[PdfLine]) -> tuple[list[Row], list[PdfLine]]:
    """The results of lines that are nothing but statements, where a page has several; and the other lines."""
    has_headings = any(headings_of(line) for line in lines)
    told = {
        at: found
        for at, line in enumerate(lines)
        if (found := _statements(line) or ([] if has_headings else _measured_statement(line)))
    }
    sure = [
        at
        for at, found in told.items()
        for name, parts in found
        if is_limit(parts.range)
        or any(map(str.isdigit, parts.range))
        or (parts.unit and is_name(name))
    ]
    if len(sure) < STATEMENTS_MIN:
        return [], list(lines)
    first, last = sure[0], sure[-1]
    while first - 1 in told:  # right before and behind those that have a unit or a range
        first -= 1
    while last + 1 in told:
        last += 1
    told = {at: found for at, found in told.items() if first <= at <= last}
    left = lines[first].x0
    for at in range(max(first - 1, 0), min(last + 2, len(lines))) if not has_headings else ():
        if at not in told and abs(lines[at].x0 - left) < SAME_PLACE:
            told.update({at: found} if (found := _unmeasured_statement(lines[at])) else {})
    _strip_label([parts for found in told.values() for _, parts in found if parts.range])
    rows = [_row(lines[at], *each) for at, found in sorted(told.items()) for each in found]
    return rows, [line for at, line in enumerate(lines) if at not in told]


def _statements(line: PdfLine) -> list[Told]:
    """What a line states; nothing if a part of it is no statement."""
    found = [told for text in _statement_cells(line) for told in _statements_of(text)]
    return [] if None in found else [each for each in found if each is not None]


def _statement_cells(line: PdfLine) -> list[str]:
    """The cells of a line; brackets and flags behind a gap belong to the statement before them."""
    found: list[str] = []
    for cell in cells(line.words):
        text = " ".join(word.text for word in cell)
        is_inside = text[:1] in "([" and text[-1:] in ")]"
        if found and (is_inside or is_flag(text)) and _STATEMENT.fullmatch(found[-1]):
            found[-1] = f"{found[-1]} {text}"
        else:
            found.append(text)
    return found


def _measured_statement(line: PdfLine) -> list[Told]:
    """`B-Hb 184 g/l korkea   (viitearvo 130 - 170)`: a name and its measured value in one cell, then only its range."""
    first, *others = (" ".join(word.text for word in cell) for cell in cells(line.words))
    words = first.split()
    for at in range(1, len(words)):
        parts = split_value(" ".join(words[at:]))
        is_measured = read_value(parts.value).kind == "quantity" and is_known_unit(parts.unit)
        if not is_measured or not any(map(str.isalpha, "".join(words[:at]))):
            continue
        if any(word.endswith(";") for word in words[:at]):  # one of several in a line
            return []
        parts.range = parts.range or " ".join(others)
        is_whole = not others or (len(others) == 1 and is_bracketed(others[0]))
        return [(" ".join(words[:at]).rstrip(" :="), parts)] if is_whole else []
    return []


def _unmeasured_statement(line: PdfLine) -> list[Told]:
    """The same without a unit, among others that have one: `pH 6,8   (viitearvo 5,0 - 7,5)`, `HBsAg negativ`."""
    first, *others = (" ".join(word.text for word in cell) for cell in cells(line.words))
    if len(others) > 1 or (others and not is_bracketed(others[0])):
        return []
    words = first.split()
    for at in range(1, len(words)):
        parts = split_value(" ".join(words[at:]))
        name = " ".join(words[:at]).rstrip(" :=")
        if is_administrative(name) or ":" in parts.value:  # the age; a label of two words
            continue
        kind = read_value(parts.value).kind
        is_value = kind in ("quantity", "titre", "ordinal") and not parts.unit
        # A word is a value behind a known name, or where its range says the same word.
        is_word = kind == "text" and len(words) - at <= WORDS_MAX and is_name(name)
        is_expected = "".join(others).rstrip(")]").endswith(f" {parts.value}")
        if is_value or is_word or is_expected:
            parts.range = parts.range or " ".join(others)
            return [(name, parts)]
    return []


def is_bracketed(text: str) -> bool:
    """Whether brackets stand around the whole of a text."""
    return (text[:1], text[-1:]) in (("(", ")"), ("[", "]"))


def _strip_label(told: Sequence[Parts]) -> None:
    """Take the word off ranges that stands before all of them: `viitearvo 130 - 170`, `viitearvo alle 5,0`."""
    inner = [parts.range[1:-1] if is_bracketed(parts.range) else parts.range for parts in told]
    labels = {text.partition(" ")[0] for text in inner}
    rests = [text.partition(" ")[2].strip() for text in inner]
    is_word = len(labels) == 1 and all(map(str.isalpha, labels))
    limits = sum(map(is_limit, rests))
    if is_word and limits >= STATEMENTS_MIN and all(rests):
        for parts, rest in zip(told, rests, strict=True):
            parts.range = rest


def _statements_of(text: str) -> list[Told | None]:
    text = text.strip(" .;,")
    whole = _statement(text)
    if whole is not None:
        return [whole]
    pieces = [piece for each in re.split(r";(?=\s|$)", text) if (piece := each.strip(" .;,"))]
    if len(pieces) == 1:
        pieces = [piece for each in re.split(r",(?=\s|$)", text) if (piece := each.strip(" .;,"))]
    return [_statement(piece) for piece in pieces]


def _statement(piece: str) -> Told | None:
    """A name, a colon and a value with its unit, flag and range."""
    found = _STATEMENT.fullmatch(piece)
    if found is None:
        return None
    name = found["name"].lstrip(BULLETS).strip()
    if _NEXT.search(found["rest"]):
        return None  # two of them
    is_other = column_of(name) or is_category(name) or is_administrative(name)
    if is_other or len(name.split()) > NAME_WORDS_MAX:
        return None
    parts = _value_and_range(found["rest"])
    return None if parts is None else (name, parts)


def _value_and_range(text: str) -> Parts | None:
    text, flag = _flag_behind(text)
    head, range_ = text, ""
    if (found := _LIMITS_BEHIND.fullmatch(text)) and found["head"]:
        inside = found["tail"] or found["wrapped"][1:-1]
        label, bare = (found["label"], inside) if found["tail"] else behind_label(inside)
        is_word = bare == found["head"] or (label and not any(map(str.isdigit, bare)))
        if is_limit(bare) or is_word:
            # The brackets are those of the range, unless a label stands in them, too.
            head, range_ = found["head"], bare if label else found["wrapped"]
    if found := _FLAG_AFTER_DASH.fullmatch(head):  # `5.6 mmol/L — High (3.5 - 5.1)`
        head, flag = (found["head"], found["flag"]) if is_flag(found["flag"]) else (head, flag)
    parts = split_value(head) if range_ else parts_in_any_order(head.split()) or split_value(head)
    parts.range, parts.flag = range_ or parts.range, parts.flag or flag
    kind = read_value(parts.value).kind
    is_word = kind in ("ordinal", "text") and len(parts.value.split()) <= WORDS_MAX
    is_number = kind in ("quantity", "titre") and (not parts.unit or is_known_unit(parts.unit))
    has_rest = kind == "text" and any(map(str.isdigit, parts.value))
    return parts if (is_number or is_word) and not has_rest and not is_flag(parts.value) else None


def _flag_behind(text: str) -> tuple[str, str]:
    """A text without the flag behind its range in brackets, and the flag: `95 mg/dL (Ref: 70-99) [NORMAL]`."""
    at = max(text.rfind(") "), text.rfind("] ")) + 1
    rest = text[at:].strip()
    return (text[:at], rest) if at and is_flag(rest) else (text, "")


def _row(line: PdfLine, name: str, parts: Parts) -> Row:
    row = Row(
        name,
        line.page,
        line.base,
        line.height,
        line.x0,
        list(line.words),
        {"unit": parts.unit, "range": parts.range, "labels": line.text},  # which are no part of it
        [(parts.value, "")],
    )
    row.flag, row.start = parts.flag, line.base
    return row


def has_sentence(text: str) -> bool:
    """Whether a text lists results, maybe among other words."""
    return any(map(_result, _pieces(text)))


def without_earlier(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """The lines without those that list results of earlier reports in running text, behind a label that says so."""
    kept: list[PdfLine] = []
    is_inside = False
    for line in lines:
        label, colon, rest = line.text.partition(": ")
        is_label = bool(colon) and is_earlier(label)
        is_listed = is_label and any(map(_result, _pieces(rest)))
        # A list that ends open goes on in the next line.
        is_inside = is_listed or (is_inside and has_sentence(line.text))
        if not is_inside:
            kept.append(line)
        is_inside = is_inside and line.text.rstrip().endswith((",", ";"))
    return kept


def sentence_rows(line: PdfLine) -> Iterator[Row]:
    """The results of a line that lists some and says nothing else; none of any other line."""
    found = [_result(piece) for piece in _pieces(line.text)]
    if not found or not all(found):
        return
    for each in found:
        if each is None:
            continue
        name, parts = each
        yield _row(line, name, parts)


def _pieces(text: str) -> Sequence[str]:
    text = text.strip(" .;,")
    if _result(text):  # `Bilirubin, Total 0.5 mg/dL` is one
        return [text]
    # A comma may stand in a name: `Calcium, Total 8.9 mg/dL; Urea 30 mg/dL`.
    pieces = _split_at(";", text)
    return pieces if len(pieces) > 1 and all(map(_result, pieces)) else _split_at("[;,]", text)


def _split_at(sign: str, text: str) -> list[str]:
    return [piece for each in re.split(rf"{sign}(?=\s|$)", text) if (piece := each.strip(" .;,"))]


def _result(piece: str) -> Told | None:
    """A known name and what follows it, if that is a value with its unit or range and nothing else."""
    _, _, after = piece.rpartition(": ")
    for text in dict.fromkeys((piece, after)):
        words = text.split()
        for count in range(min(NAME_WORDS_MAX, len(words) - 1), 0, -1):
            name = " ".join(words[:count]).rstrip(":=")
            if re.match(r"[<>≤≥]?[0-9]", words[count]) and is_name(name):
                parts = parts_in_any_order(words[count:])
                if parts is not None:  # `ALT (SGPT) 46 U/L (10 -` is no name of 49
                    return name, parts
    return None
