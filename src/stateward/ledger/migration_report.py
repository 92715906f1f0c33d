"""What a migration saw in an old ledger, counted line by line, and the report of it as text and as JSON.

Memory grows with documents, not with lines: of each document only the last word for its state is remembered.
"""

from collections import Counter
from pathlib import Path

import msgspec
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest
from stateward.ledger.legacy import (
    SECONDS_MAX,
    LegacyMapping,
    LegacyReader,
    iso_seconds,
)
from stateward.ledger.record import ADAPTER_CHARS_MAX, SHORT_ID_CHARS_MAX, LedgerEntry, OldRow
from stateward.ledger.states import DOCUMENT_MACHINE

LISTED_MAX = 1000
"""Lines listed of each kind; an old ledger may have millions of them. The counts are complete."""
WORDS_LISTED_MAX = 1000
"""The original project wrote 13 words; a file with a thousand needs a table of words first."""
OTHER = "(other)"
NOTHING = "(nothing)"
Word = tuple[str, bool, str]
"""The state that a word for one means, whether a table says so, and the word."""
_USUAL_MOVES = frozenset(pair for pair in DOCUMENT_MACHINE.pairs if pair[0] != pair[1])


class ReportedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the old ledger, and what is to be said about it."""

    line: int
    sentence: str


class MigrationReport(msgspec.Struct, kw_only=True):
    """What a migration saw and did, or would do. Lists are cut off at 1,000 lines; the counts are complete."""

    source: str = ""
    sha256: str = ""
    bytes: int = 0
    target: str = ""
    is_dry_run: bool = False
    is_done_already: bool = False
    backup: str | None = None
    resumed_after_line: int = 0
    expected_s: float | None = None
    """Of a dry run: how long the migration will take, about, on this machine."""
    lines: int = 0
    blank: int = 0
    broken: int = 0
    records: int = 0
    documents: int = 0
    words: dict[str, tuple[str, int]] = {}
    """Each word for a state in the old ledger: the state that it became, and how many lines have it."""
    unmapped: dict[str, int] = {}
    before: dict[str, int] = {}
    """Documents by the last word that the old ledger has for them."""
    after: dict[str, int] = {}
    """Documents by state in the new ledger."""
    begun_later: dict[str, int] = {}
    """Documents whose first line names another state than the machine's first: an import may begin anywhere."""
    impossible: int = 0
    impossible_moves: dict[str, int] = {}
    repeated: int = 0
    disagreeing: int = 0
    times_assumed: int = 0
    impossible_places: list[ReportedLine] = []
    disagreeing_places: list[ReportedLine] = []
    broken_places: list[ReportedLine] = []

    @property
    def is_usable(self) -> bool:
        """Whether the file is an old ledger at all: a line of it can be read."""
        return self.records > 0


class MigrationCounts:
    """Counts what the lines say, in the report itself, and remembers the last word for each document."""

    def __init__(self, mapping: LegacyMapping) -> None:
        self._mapping = mapping
        self.clear()

    def clear(self) -> None:
        """Start again from the first line."""
        self.found = MigrationReport()
        self._last: dict[str, Word] = {}
        self._words: Counter[str] = Counter()
        self._known: dict[str, Word] = {}
        self._begun: Counter[str] = Counter()
        self._moves: Counter[str] = Counter()

    @property
    def lines(self) -> int:
        return self.found.lines

    @property
    def documents(self) -> int:
        return len(self._last)

    def add(self, reader: LegacyReader, text: bytes, number: int) -> LedgerEntry | None:
        """Count a line; the entry to import, if it has one."""
        found = self.found
        found.lines = number
        if text.isspace():
            found.blank += 1
            return None
        try:
            old = reader.line(text, number)
        except InvalidRequest as error:
            found.broken += 1
            _list(found.broken_places, number, str(error))
            return None
        found.times_assumed += old.is_time_assumed
        now = self._count_word(reader, old.word)
        self._count(reader, old.entry, now, old.said_before, number)
        return old.entry

    def add_many(
        self, reader: LegacyReader, texts: list[bytes], number: int
    ) -> list[LedgerEntry | OldRow]:
        """Count consecutive lines, the first of which has this number; the entries to import."""
        found = reader.rows(texts)
        if found is None:
            each = (self.add(reader, text, at) for at, text in enumerate(texts, number))
            return [entry for entry in each if entry is not None]
        rows, shape = found
        known, words = self._known, list[str]()
        entries: list[LedgerEntry | OldRow] = []
        for at, row in enumerate(rows, number):
            word, doc_id = row.state, row.doc_id
            now = known.get(word)
            moment: str | float | None = row.timestamp
            seconds = iso_seconds(moment) if type(moment) is str and moment[4:5] == "-" else moment
            if (
                now is None
                or type(seconds) is not float
                or not 0.0 <= seconds < SECONDS_MAX
                or not doc_id.isascii()
                or not 0 < len(doc_id) < SHORT_ID_CHARS_MAX
                or len(row.adapter) > ADAPTER_CHARS_MAX
            ):
                entry = self.add(reader, texts[at - number], at)
                if entry is not None:
                    entries.append(entry)
                continue
            reader.last_at = row.timestamp = seconds
            for name, attribute in shape.loose:
                value = getattr(row, attribute)
                if value is not msgspec.UNSET:
                    row.metadata["legacy_" + name if name in row.metadata else name] = value
            row.state, row.source_seq = now[0], at
            if now[0] != word or not now[1]:
                row.metadata["legacy_state"] = word
            words.append(word)
            state = row.old_state
            self._count(reader, row, now, None if state is msgspec.UNSET else state, at)
            entries.append(row)
        self._words.update(words)
        self.found.lines = number + len(texts) - 1
        return entries

    def _count(
        self, reader: LegacyReader, entry: LedgerEntry | OldRow, now: Word, said: str | None, number: int
    ) -> None:  # fmt: skip
        """A usable line: its move, and whether it says that it left the state that its document was in."""
        doc_id = entry.doc_id
        before = self._last.get(doc_id)
        if said is not None:
            self._compare_old_state(reader, entry, said, before, number)
        if before is None or (before[0], now[0]) not in _USUAL_MOVES:
            self._count_move(doc_id, before and before[0], now[0], number)
        self._last[doc_id] = now
        self.found.records += 1

    def _compare_old_state(
        self, reader: LegacyReader, entry: LedgerEntry | OldRow, said: str, before: Word | None, number: int
    ) -> None:  # fmt: skip
        """Whether the line says of the state that it left what the lines before it say."""
        if before is None or reader.state(said)[0] != before[0]:
            self.found.disagreeing += 1
            entry.metadata["legacy_old_state"] = said
            was = f"but was in {before[2] if before else NOTHING}"
            sentence = f"{entry.doc_id} is said to leave {said}, {was}"
            _list(self.found.disagreeing_places, number, sentence)

    def _count_move(self, doc_id: str, left: str | None, new: str, number: int) -> None:
        """Moves that the machine does not have are reported and imported all the same: they did happen."""
        if left is None:
            self._begun[new] += new != DOCUMENT_MACHINE.initial
        elif left == new:
            self.found.repeated += 1
        elif (left, new) not in DOCUMENT_MACHINE.pairs:
            move = f"{left} → {new}"
            self.found.impossible += 1
            self._moves[move] += 1
            _list(self.found.impossible_places, number, f"{doc_id}: {move}")

    def _count_word(self, reader: LegacyReader, word: str) -> Word:
        """Words are listed one by one up to a limit: a file with an id in its state field has millions."""
        now = self._known.get(word)
        if now is None:
            now = (*reader.state(word), word)
            if len(self._known) >= WORDS_LISTED_MAX:
                self._words[OTHER] += 1
                return now
            self._known[word] = now
        self._words[word] += 1
        return now

    def state_of(self, doc_id: str) -> str:
        """The state that the document must have in the new ledger."""
        last = self._last.get(doc_id)
        return NOTHING if last is None else last[0]

    def state_counts(self) -> dict[str, int]:
        """Documents by state, as they must be in the new ledger."""
        return dict(sorted(Counter(state for state, _, _ in self._last.values()).items()))

    def report(self) -> MigrationReport:
        """The report of everything so far; which file it is about, the caller says."""
        unknown = (self._mapping.default, False)
        before = Counter(word for _, _, word in self._last.values()).most_common()
        listed = dict(before[:WORDS_LISTED_MAX])
        if len(before) > WORDS_LISTED_MAX:
            listed[OTHER] = sum(count for _, count in before[WORDS_LISTED_MAX:])
        words = [
            (word, *self._known.get(word, unknown)[:2], n) for word, n in self._words.most_common()
        ]
        return replace(
            self.found,
            documents=len(self._last),
            words={word: (state, count) for word, state, _, count in words},
            unmapped={word: count for word, _, is_mapped, count in words if not is_mapped},
            before=listed,
            after=self.state_counts(),
            begun_later={state: count for state, count in self._begun.most_common() if count},
            impossible_moves=dict(self._moves.most_common()),
        )


def _list(lines: list[ReportedLine], line: int, sentence: str) -> None:
    if len(lines) < LISTED_MAX:
        lines.append(ReportedLine(line=line, sentence=sentence))


def report_text(report: MigrationReport, *, places_max: int | None = None) -> str:
    """The report for people; `places_max` is how many lines of each kind it names."""
    verb = "would become" if report.is_dry_run else "became"
    done = " (made already; nothing was changed)" if report.is_done_already else ""
    lines = [
        f"old ledger      {report.source} ({report.bytes:,} bytes, sha256 {report.sha256})",
        f"new ledger      {report.target}{done}",
        f"backup          {report.backup or 'none; this was a dry run'}",
        f"lines           {report.lines:,}: {report.records:,} used, {report.blank:,} blank, {report.broken:,} broken",
        f"documents       {report.documents:,}",
        f"without a time  {report.times_assumed:,} (they got that of the line before)",
        "",
        f"words for states, and what they {verb}",
        *(f"  {word:<24} {state:<12} {n:>12,}" for word, (state, n) in report.words.items()),
        "",
        f"words that no table has: {len(report.unmapped)}",
        *_counts(report.unmapped),
        "",
        "documents before",
        *_counts(report.before),
        "documents after",
        *_counts(report.after),
        "",
        f"documents that begin at a later state: {sum(report.begun_later.values()):,}",
        *_counts(report.begun_later),
        f"moves that the machine does not have: {report.impossible:,} (they are imported as they are)",
        *_counts(report.impossible_moves),
        *_sentences(report.impossible_places, places_max),
        f"the same state once more: {report.repeated:,}",
        f"lines that name another state before than the ledger has: {report.disagreeing:,}",
        *_sentences(report.disagreeing_places, places_max),
        f"broken lines, which only the backup keeps: {report.broken:,}",
        *_sentences(report.broken_places, places_max),
    ]
    return "\n".join(lines) + "\n"


def _counts(counts: dict[str, int]) -> list[str]:
    return [f"  {name:<24} {count:>12,}" for name, count in counts.items()]


def _sentences(lines: list[ReportedLine], count_max: int | None = None) -> list[str]:
    named = [f"  line {each.line}: {each.sentence}" for each in lines[:count_max]]
    left = len(lines) - len(named)
    return [*named, f"  and {left:,} more: --report FILE has them"] if left else named


def write_report(report: MigrationReport, path: Path) -> tuple[Path, Path]:
    """The report as text and as JSON, side by side: one has the name that was given, the other a name beside it."""
    if path.suffix == ".json":
        text, data = path.with_suffix(".txt"), path
    else:
        text, data = path, path.with_name(path.name + ".json")
    text.write_text(report_text(report), "utf-8")
    data.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    return text, data
