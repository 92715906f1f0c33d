"""Lines that go to the disk together, as columns: one list of ids, one of texts, one of what each line says.

Documents that make the same move at the same moment differ in their ids and numbers alone. So what they have in
common is worked out, checked and encoded once, and `line` is one object for all of them: its `doc_id`, `seq` and
`n` are those of the first. Whoever needs the line of one document reads it from the log.

Nothing here touches a disk.
"""

from collections.abc import Sequence
from hashlib import sha256

from stateward.ledger.chain import DIGITS
from stateward.ledger.record import IDS_SHORT_MAX, Line

START = '{"doc_id":"'
PLAIN = bytes(char for char in range(32, 127) if char not in b'"\\')
"""What JSON says with the same byte."""


class Group:
    """Lines in order, not written yet. `seq` and `chain` are those after the last one."""

    __slots__ = ("chain", "ids", "lines", "seq", "texts")

    def __init__(self, seq: int, chain: str) -> None:
        self.seq = seq
        self.chain = chain
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.lines: list[Line] = []

    def add(self, line: Line, body: str) -> None:
        """One more line; `body` is its JSON object without the closing brace, its seq is the next one."""
        self.chain = sha256((self.chain + body).encode()).hexdigest()[:DIGITS]
        self.ids.append(line.doc_id)
        self.texts.append(f'{body},"h":"{self.chain}"}}\n')
        self.lines.append(line)
        self.seq += 1

    def take_back(self) -> str | None:
        """Drop the last line; the head of the chain before it, or None if there is no other."""
        for column in (self.ids, self.texts, self.lines):
            column.pop()
        return self.texts[-1][-DIGITS - 3 : -3] if self.texts else None

    def extend(self, other: "Group") -> None:
        """All lines of `other`, which begins where this one ends."""
        self.ids += other.ids
        self.texts += other.texts
        self.lines += other.lines
        self.seq, self.chain = other.seq, other.chain

    def after(self, seq: int) -> "Group":
        """The lines with a greater seq."""
        rest = Group(self.seq, self.chain)
        first = max(0, seq - (self.seq - len(self.ids)))
        rest.ids, rest.texts, rest.lines = self.ids[first:], self.texts[first:], self.lines[first:]
        return rest

    def sizes(self) -> list[int]:
        """The bytes of each line."""
        if all(map(str.isascii, self.texts)):
            return list(map(len, self.texts))
        return [len(text.encode()) for text in self.texts]


def are_plain(ids: Sequence[object]) -> bool:
    """Whether all of these are ids that stand in a file as they are, between two quotes."""
    if set(map(type, ids)) != {str}:
        return False
    texts: Sequence[str] = ids  # type: ignore[assignment]
    lengths = set(map(len, texts))
    if 0 in lengths or max(lengths) >= IDS_SHORT_MAX:
        return False
    return not "".join(texts).encode("utf-8", "surrogatepass").translate(None, PLAIN)
