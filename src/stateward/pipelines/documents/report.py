"""`stateward eval documents`: how much of the text of scans is found, and how often the fields of receipts are right.

A word is found if the text has it, as often as the truth has it, whatever its case. Words are runs of letters or
digits, as the search has them: where a blank stands beside punctuation does not matter. The total of a receipt is wrong
in silence if it is wrong and no flag says so.
"""

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.documents import SUFFIXES
from stateward.pipelines.documents.receipts import figure
from stateward.pipelines.kit.dates import read_date
from stateward.pipelines.kit.evaluation import StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping, read_text

RUNNERS = {"ocr": "documents.ocr", "index": "documents.index"}
TEXTS = (".gold.txt", ".txt")
BOXES = ".boxes.csv"
COORDINATES = 8  # of a line of boxes, before its text
FIELDS = ("merchant", "date", "total")
SHOWN_MAX = 40
COLUMNS = (
    "folder",
    "documents",
    "failed",
    "words",
    "found",
    "recall",
    *FIELDS,
    "wrong in silence",
    "CPU s a page",
)
_WORD = re.compile(r"[^\W_]+")


class Judged(msgspec.Struct, kw_only=True):
    """One document, or several added up."""

    documents: int = 0
    failed: int = 0
    words: int = 0
    found: int = 0
    known: dict[str, int] = msgspec.field(default_factory=dict)
    right: dict[str, int] = msgspec.field(default_factory=dict)
    wrong_in_silence: int = 0
    pages: int = 0
    cpu_s: float = 0.0

    @property
    def recall(self) -> float:
        """The share of words that were found."""
        return self.found / self.words if self.words else 1.0

    def add(self, other: "Judged") -> None:
        """Count another in."""
        for name in ("documents", "failed", "words", "found", "wrong_in_silence", "pages", "cpu_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, theirs in ((self.known, other.known), (self.right, other.right)):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the scans of a folder are read."""
    import stateward.pipelines.documents.runners  # noqa: F401 - registers them

    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds scans")
    folders: dict[str, Judged] = {}
    sentences: list[str] = []
    no_truth = 0
    truths = TruthFiles(request.path)
    for path in documents_in(request.path, SUFFIXES):
        text, told = true_text(path), truths.of(path)
        if text is None and told is None:
            no_truth += 1
            continue
        name = path.relative_to(request.path).as_posix()
        request.progress(name)
        fields = {} if told is None else mapping(told.value, told.source)
        started = request.cpu_s()
        run = run_stages(path, RUNNERS, now=request.clock, options=_options(request))
        judged, said = judge(run, text, fields)
        judged.cpu_s = request.cpu_s() - started
        folders.setdefault(path.parent.relative_to(request.path).as_posix(), Judged()).add(judged)
        sentences += [f"{name}: {each}" for each in said]
    total = Judged()
    for each in folders.values():
        total.add(each)
    rows = (*sorted(folders.items()), ("total", total))
    if no_truth:
        sentences.append(f"{no_truth} files have no truth to compare with")
    return EvaluationReport(
        document={
            "total": msgspec.to_builtins(total) | {"recall": round(total.recall, 4)},
            "folders": {name: msgspec.to_builtins(each) for name, each in folders.items()},
            "no_truth": no_truth,
        },
        tables=(Table(columns=COLUMNS, rows=tuple(_row(name, each) for name, each in rows)),),
        sentences=tuple(sentences[:SHOWN_MAX]),
        is_well=not total.wrong_in_silence,
    )


def judge(
    run: StagesRun, text: str | None, truth: Fields | dict[str, object]
) -> tuple[Judged, list[str]]:
    """The score of one document, and what is wrong with it."""
    score = Judged(documents=1)
    if run.failure is not None:
        score.failed = 1
        score.words = sum(words_of(text or "").values())
        return score, [f"{run.failure.code}: {run.failure.message}"]
    facts = run.completed["ocr"].facts
    score.pages = int(str(facts.get("page_count", 0)))
    items = list(run.items("index"))
    said: list[str] = []
    if text is not None:
        true = words_of(text)
        seen = words_of("\n".join(str(item["text"]) for item in items if item["kind"] == "page"))
        score.words, score.found = sum(true.values()), sum((true & seen).values())
        if missing := true - seen:
            said.append(f"not found: {' '.join(list(missing)[:12])}")
    found = {str(item["field"]): item for item in items if item["kind"] == "field"}
    for name in FIELDS:
        expected = str(
            truth.get(name) or (truth.get("company") if name == "merchant" else "") or ""
        )
        if not expected:
            continue
        value = found.get(name, {}).get("value")
        is_right = value is not None and _equal(name, str(value), expected)
        score.known[name] = 1
        score.right[name] = int(is_right)
        if not is_right:
            flags = found.get(name, {}).get("flags") or []
            said.append(f"{name} is {value}, not {expected}; flags: {flags or 'none'}")
            if name == "total" and value is not None and not flags:
                score.wrong_in_silence = 1
    return score, said


def true_text(path: Path) -> str | None:
    """The text of a document as it is written beside it."""
    for suffix in TEXTS:
        beside = path.with_name(path.stem + suffix)
        if beside.is_file():
            return read_text(beside)
    boxes = path.with_name(path.stem + BOXES)
    if not boxes.is_file():
        return None
    lines = (line.split(",", COORDINATES) for line in read_text(boxes).splitlines())
    return "\n".join(parts[COORDINATES] for parts in lines if len(parts) > COORDINATES)


def words_of(text: str) -> Counter[str]:
    """Words as they are compared."""
    return Counter(_WORD.findall(text.casefold()))


def _equal(name: str, value: str, expected: str) -> bool:
    if name == "total":
        return Decimal(value) == figure(expected)
    if name == "date":
        return any(
            str(day) == value
            for order in ("dmy", "mdy", "ymd")
            if (day := read_date(expected, order))
        )
    return _letters(value) == _letters(expected)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _options(request: EvaluationRequest) -> Fields:
    options: Fields = request.configured().job_options("documents.ocr")
    return options


def _row(name: str, score: Judged) -> tuple[object, ...]:
    fields = [
        f"{score.right.get(field, 0)}/{score.known[field]}" if field in score.known else ""
        for field in FIELDS
    ]
    return (
        name,
        score.documents,
        score.failed,
        score.words,
        score.found,
        f"{score.recall:.3f}",
        *fields,
        score.wrong_in_silence,
        f"{score.cpu_s / score.pages:.1f}" if score.pages else "",
    )
