"""Lists in BibTeX and BibLaTeX, as reference managers write them: nothing is expanded but what identifiers need."""

import re
from collections.abc import Iterator

from stateward.pipelines.literature.paper import squeeze

NESTED_MAX = 50  # braces in each other in a value; with more, one of them is never closed
UNCLOSED_CHARS_MAX = 1000  # of a value whose brace is never closed
# EndNote writes entries without a key, and Scopus keys with blanks: those of authors such as `De La Cruz`. Behind such
# a key a field must follow, as no sentence with an address in it has one.
_ENTRY = re.compile(
    r"@\s*([A-Za-z]+)\s*[{(]\s*"
    r"(?:[^,\s]{0,300}\s*,|(?=[A-Za-z][\w-]*\s*=)|[^,\n={}\"]{1,300},(?=\s*[A-Za-z][\w-]*\s*=))"
)
# Blanks of one line alone: with line ends, a text of empty lines would be searched once for each of them.
_BEGINNING = re.compile(r"^[ \t]*@\s*[A-Za-z]+\s*[{(]", re.MULTILINE)
_SURE = re.compile(
    r"^[ \t]*@\s*[A-Za-z]{4,20}\s*\{\s*(?:[^,\s{}]{0,300}\s*,\s*)?[A-Za-z][\w-]*\s*=\s*[{\"0-9]",
    re.MULTILINE,
)
_FIELD = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*")
_BRACES = re.compile(r"[{}]")
_QUOTES = re.compile(r'["{}]')
_BARE = re.compile(r"[^,}#\n]*")
_ESCAPED = re.compile(r"\\([_%&#$~])")  # as BibTeX writes signs that mean something to TeX
_ANGLE = re.compile(r"\\text(less|greater)\b\s*|\$([<>])\$")
_ADDRESS = re.compile(r"\\url\s*\{([^{}]*)\}")
_JOINED = re.compile(r"\s*#\s*")
_BETWEEN = re.compile(r"\s*,|(?=\s*[A-Za-z][\w-]*\s*=)")  # a forgotten comma loses no field
_NO_ENTRIES = ("string", "comment", "preamble")
_PRINTS = {"pubmed": "pmid", "pmid": "pmid", "pmcid": "pmcid", "doi": "doi"}


def is_bibtex(text: str, *, is_sure: bool = False) -> bool:
    """Whether a text has an entry; `is_sure` asks for one with a field, which code and style sheets do not have."""
    return (_SURE if is_sure else _BEGINNING).search(text) is not None


def bibtex_entries(text: str) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Each entry with its line: its kind as `type`, and its fields, one of which may name a type as well."""
    at, line, counted = 0, 1, 0
    while (found := _ENTRY.search(text, at)) is not None:
        kind, at = found[1].lower(), found.end()
        if kind in _NO_ENTRIES:
            continue
        line, counted = line + text.count("\n", counted, found.start()), found.start()
        fields, end = _fields(text, at)
        at = at if end >= len(text) else end  # what is never closed must not hide what follows
        pairs = [("type", kind), *fields.items()]
        if fields.get("eprint"):
            of = fields.get("archiveprefix", fields.get("eprinttype", "arxiv")).lower()
            pairs.append(("arxiv" if "arxiv" in of else _PRINTS.get(of, ""), fields["eprint"]))
        yield line, pairs


def _fields(text: str, at: int) -> tuple[dict[str, str], int]:
    """The fields of an entry, and where they end: braces may hold braces, and a value may be a bare word."""
    fields: dict[str, str] = {}
    while (found := _FIELD.match(text, at)) is not None:
        value, at = _value(text, found.end())
        while (joined := _JOINED.match(text, at)) is not None:
            more, at = _value(text, joined.end())
            value += more
        fields[found[1].lower()] = _plain(value)
        between = _BETWEEN.match(text, at)
        if between is None:
            break
        at = between.end()
    return fields, at


def _plain(value: str) -> str:
    value = _ADDRESS.sub(r"\1", value)
    value = _ANGLE.sub(lambda sign: sign[2] or {"less": "<", "greater": ">"}[sign[1]], value)
    return squeeze(_BRACES.sub("", _ESCAPED.sub(r"\1", value)))


def _value(text: str, at: int) -> tuple[str, int]:
    opening = text[at : at + 1]
    if opening == "{":
        depth = 0
        for brace in _BRACES.finditer(text, at):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                return text[at + 1 : brace.start()], brace.end()
            if depth > NESTED_MAX:
                break
        return text[at + 1 : at + 1 + UNCLOSED_CHARS_MAX].partition("\n")[0], len(text)
    if opening == '"':
        end = _quote_end(text, at + 1)
        return text[at + 1 : end], end + 1
    found = _BARE.match(text, at)
    return (found[0], found.end()) if found else ("", at)


def _quote_end(text: str, at: int) -> int:
    """The quotation mark that ends a value: one in braces is part of it, unless a brace is never closed."""
    depth = 0
    for sign in _QUOTES.finditer(text, at):
        if sign[0] == '"' and depth <= 0:
            return sign.start()
        depth += {"{": 1, "}": -1, '"': 0}[sign[0]]
        if depth < 0 or depth > NESTED_MAX:
            break
    end = text.find('"', at)
    return len(text) if end < 0 else end
