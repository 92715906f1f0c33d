"""`stateward eval web`: main texts compared with the truth, and every fact looked up at its place.

The score is that of the article extraction benchmark: runs of four words that are in both texts (right), only in ours
(wrong) or only in the truth (missed), as shares of each page, added up over all pages.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import FatalFailure, InvalidRequest
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.kit.ground_truth import TruthFiles
from stateward.pipelines.web.captures import CapturedPage, captured_pages
from stateward.pipelines.web.facts import FactFinder
from stateward.pipelines.web.main_text import PageText, read_page
from stateward.pipelines.web.options import WebOptions

RUN_WORDS = 4
LISTED = "ground-truth.json"
SUFFIXES = (".html", ".htm", ".html.gz", ".mhtml", ".mht", ".warc", ".warc.gz")
SHOWN_MAX = 40
COLUMNS = (
    "pages",
    "with truth",
    "precision",
    "recall",
    "F1",
    "facts",
    "grounded",
    "not read",
    "pages/s",
)
_WORDS = re.compile(r"\w+")


class PageScore(msgspec.Struct, frozen=True, kw_only=True):
    """One page; the three shares of its runs of words add up to 1."""

    file: str
    right: float = 0.0
    wrong: float = 0.0
    missed: float = 0.0
    has_truth: bool = False
    facts: int = 0
    grounded: int = 0
    failure: str = ""


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the pages of a folder are read."""
    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds pages")
    started = request.cpu_s()
    scores = [*_scores(request)]
    seconds = request.cpu_s() - started
    judged = [score for score in scores if score.has_truth]
    right, wrong, missed = (
        sum(getattr(each, name) for each in judged) for name in ("right", "wrong", "missed")
    )
    precision = right / (right + wrong) if right + wrong else 1.0
    recall = right / (right + missed) if right + missed else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    facts, grounded = sum(each.facts for each in scores), sum(each.grounded for each in scores)
    failed = [each for each in scores if each.failure]
    shown = tuple(f"{value:.3f}" if judged else "" for value in (precision, recall, f1))
    speed = f"{len(scores) / seconds:.1f}" if seconds else ""
    row = (len(scores), len(judged), *shown, facts, grounded, len(failed), speed)
    worst = sorted(judged, key=lambda each: each.right)[:5]
    sentences = [f"{each.file}: {each.failure}" for each in failed]
    sentences += [
        f"{each.file}: {each.right:.0%} of the words right, {each.wrong:.0%} wrong, {each.missed:.0%} missed"
        for each in worst
    ]
    return EvaluationReport(
        document={
            "pages": [msgspec.to_builtins(each) for each in scores],
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "facts": facts,
            "grounded": grounded,
        },
        tables=(Table(columns=COLUMNS, rows=(row,)),),
        sentences=tuple(sentences[:SHOWN_MAX]),
        is_well=facts == grounded,
    )


def _scores(request: EvaluationRequest) -> Iterator[PageScore]:
    listed = _listed_truth(request.path)
    truths = TruthFiles(request.path)
    for path in sorted(request.path.rglob("*")):
        if path.name.lower().endswith(SUFFIXES) and path.is_file():
            request.progress(path.name)
            truth = listed.get(path.name.partition(".")[0])
            told = truths.of(path) if truth is None else None
            if told is not None and isinstance(told.value, dict):
                truth = str(told.value.get("text") or told.value.get("articleBody") or "")
            yield judge(path, truth)


def _listed_truth(folder: Path) -> dict[str, str]:
    """The truth of many pages in one file, as the benchmark has it."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob(LISTED)):
        try:
            listed = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, object]])
        except msgspec.DecodeError as error:
            raise InvalidRequest(f"{path.name} is no truth of web pages: {error}") from error
        found |= {name: str(each.get("articleBody", "")) for name, each in listed.items()}
    return found


def judge(path: Path, truth: str | None) -> PageScore:
    """Read the first page of a file, and compare it with its truth if it has one."""
    options = WebOptions()
    try:
        data = path.read_bytes()
        found = captured_pages(data, page_bytes_max=options.page_bytes_max, pages_max=1)
        captured = next((each for each in found if isinstance(each, CapturedPage)), None)
        if captured is None:
            return PageScore(
                file=path.name, has_truth=truth is not None, missed=1.0, failure="NO_PAGE"
            )
        page = read_page(captured)
    except (FatalFailure, gzip.BadGzipFile) as error:
        return PageScore(
            file=path.name, has_truth=truth is not None, missed=1.0, failure=str(error)
        )
    right, wrong, missed = (0.0, 0.0, 0.0) if truth is None else shares(truth, page.text)
    facts, grounded = _count_grounded(page)
    return PageScore(
        file=path.name,
        right=right,
        wrong=wrong,
        missed=missed,
        has_truth=truth is not None,
        facts=facts,
        grounded=grounded,
    )


def shares(truth: str, found: str) -> tuple[float, float, float]:
    """Which shares of the runs of words are right, wrong and missed."""
    one, two = _runs(truth), _runs(found)
    counts = [sum(each.values()) for each in (one & two, two - one, one - two)]
    total = sum(counts)
    return (counts[0] / total, counts[1] / total, counts[2] / total) if total else (1.0, 0.0, 0.0)


def _runs(text: str) -> Counter[tuple[str, ...]]:
    words = _WORDS.findall(text)
    last = max(1, len(words) - RUN_WORDS + 1) if words else 0
    return Counter(tuple(words[at : at + RUN_WORDS]) for at in range(last))


def _count_grounded(page: PageText) -> tuple[int, int]:
    """How many facts there are, and how many stand where they say, with all their parts."""
    facts = [*FactFinder(page.text, language=page.language, file="parse/page.txt").facts()]
    grounded = sum(
        page.text[fact.where.start : fact.where.end] == fact.printed
        and all(
            page.text[start:end] == getattr(fact, name) for name, (start, end) in fact.spans.items()
        )
        for fact in facts
    )
    return len(facts), grounded
