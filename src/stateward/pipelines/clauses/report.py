"""`stateward eval clauses`: how many clauses of contracts are found, and how many have the right type.

A clause of the truth is found if one with its number (and, where it is told, its heading) is. Of the answers of CUAD
those are compared that name a type of clause: where CUAD has found one, a clause must be of that type or speak of it
besides; and the text that it quotes for the governing law must be in such a clause.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.definition.plugin import EvaluationReport, EvaluationRequest, Table
from stateward.pipelines.clauses import RUNNERS
from stateward.pipelines.clauses.types import bare_text
from stateward.pipelines.kit.evaluation import StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping

SUFFIXES = frozenset({".pdf", ".docx", ".txt"})
SHOWN_MAX = 40
COLUMNS = (
    "folder",
    "contracts",
    "failed",
    "clauses",
    "true",
    "found",
    "heading",
    "type",
    "CUAD types",
    "not covered",
)
CUAD = {
    "Governing Law-Answer": "governing_law",
    "Non-Compete-Answer": "non_compete",
    "Exclusivity-Answer": "exclusivity",
    "No-Solicit Of Employees-Answer": "non_solicitation",
    "No-Solicit Of Customers-Answer": "non_solicitation",
    "Termination For Convenience-Answer": "termination",
    "Change Of Control-Answer": "change_of_control",
    "Anti-Assignment-Answer": "assignment",
    "License Grant-Answer": "license",
    "Ip Ownership Assignment-Answer": "intellectual_property",
    "Audit Rights-Answer": "audit",
    "Cap On Liability-Answer": "liability",
    "Liquidated Damages-Answer": "liquidated_damages",
    "Insurance-Answer": "insurance",
    "Minimum Commitment-Answer": "minimum_commitment",
    "Renewal Term-Answer": "renewal",
}
QUOTED = {"Governing Law": "governing_law"}


class Judged(msgspec.Struct, kw_only=True):
    """One contract, or several added up."""

    contracts: int = 0
    failed: int = 0
    clauses: int = 0
    true: int = 0
    found: int = 0
    headings: int = 0
    headings_right: int = 0
    types: int = 0
    types_right: int = 0
    cuad: int = 0
    cuad_right: int = 0
    uncovered: int = 0  # contracts whose parts do not cover their text exactly

    def add(self, other: "Judged") -> None:
        """Count another in."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def evaluation(request: EvaluationRequest) -> EvaluationReport:
    """How well the contracts of a folder are read as clauses."""
    import stateward.pipelines.clauses.runners  # noqa: F401 - registers them

    if not request.path.is_dir():
        raise InvalidRequest(f"{request.path} is no folder; name one that holds contracts")
    truths = TruthFiles(request.path)
    folders: dict[str, Judged] = {}
    sentences: list[str] = []
    for path in documents_in(request.path, SUFFIXES):
        name = path.relative_to(request.path).as_posix()
        request.progress(name)
        told = truths.of(path)
        truth = {} if told is None else mapping(told.value, told.source)
        run = run_stages(path, RUNNERS, now=request.clock)
        judged, said = judge(run, truth)
        folders.setdefault(path.parent.relative_to(request.path).as_posix(), Judged()).add(judged)
        sentences += [f"{name}: {each}" for each in said]
    total = Judged()
    for each in folders.values():
        total.add(each)
    rows = (*sorted(folders.items()), ("total", total))
    plain = msgspec.to_builtins
    return EvaluationReport(
        document={
            "total": plain(total),
            "folders": {name: plain(each) for name, each in folders.items()},
        },
        tables=(Table(columns=COLUMNS, rows=tuple(_row(name, each) for name, each in rows)),),
        sentences=tuple(sentences[:SHOWN_MAX]),
        is_well=not total.uncovered,
    )


def judge(run: StagesRun, truth: Mapping[str, object]) -> tuple[Judged, list[str]]:
    """The score of one contract, and what is wrong with it."""
    score = Judged(contracts=1)
    if run.failure is not None:
        score.failed = 1
        return score, [f"{run.failure.code}: {run.failure.message}"]
    parts, clauses = list(run.items("parse")), list(run.items("normalize"))
    score.clauses = len(clauses)
    said = [
        *_compare_clauses(score, clauses, truth.get("clauses")),
        *_compare_cuad(score, clauses, truth),
    ]
    if not covers(parts):
        score.uncovered = 1
        said.append("its parts do not cover its text")
    return score, said


def covers(parts: Sequence[Fields]) -> bool:
    """Whether the spans of all parts follow each other without a gap, and hold the texts of the parts."""
    spans = sorted(
        (int(span[0]), int(span[1]))  # type: ignore[index, arg-type]
        for part in parts
        for span in part["spans"]  # type: ignore[union-attr]
    )
    ends = [0, *(end for _, end in spans)]
    length = sum(len(str(part["text"])) for part in parts)
    return [start for start, _ in spans] == ends[:-1] and ends[-1] == length


def _compare_clauses(score: Judged, clauses: Sequence[Fields], truth: object) -> Iterator[str]:
    if not isinstance(truth, list):
        return
    waiting: dict[str, list[Fields]] = {}
    for clause in clauses:
        waiting.setdefault(_number(str(clause["number"])), []).append(clause)
    for each in truth:
        true = mapping(each, "a clause of the truth")
        score.true += 1
        same = waiting.get(_number(str(true.get("number", ""))), [])
        if not same:
            yield f"{true.get('number')} {true.get('heading', '')} is missing"
            continue
        clause = same.pop(0)
        score.found += 1
        if "heading" in true:
            score.headings += 1
            is_same = bare_text(str(true["heading"])) == bare_text(str(clause["heading"]))
            score.headings_right += is_same
            if not is_same:
                yield f"{clause['path']}: the heading is {clause['heading']!r}, not {true['heading']!r}"
        if "type" in true:
            score.types += 1
            score.types_right += true["type"] == clause["type"]
            if true["type"] != clause["type"]:
                yield f"{clause['path']}: the type is {clause['type']}, not {true['type']}"


def _compare_cuad(
    score: Judged, clauses: Sequence[Fields], truth: Mapping[str, object]
) -> Iterator[str]:
    types = {name for clause in clauses for name in _names(clause)}
    for question, type_ in CUAD.items():
        answer = str(truth.get(question, "")).strip()
        if answer in ("", "No", "[]"):
            continue
        score.cuad += 1
        score.cuad_right += type_ in types
        if type_ not in types:
            yield f"CUAD has {question.removesuffix('-Answer')}, but no clause is of type {type_}"
    for question, type_ in QUOTED.items():
        for quoted in _quotes(truth.get(question)):
            score.cuad += 1
            is_held = any(
                _letters(quoted) in _letters(str(clause["text"]))
                for clause in clauses
                if type_ in _names(clause)
            )
            score.cuad_right += is_held
            if not is_held:
                yield f"what CUAD quotes for {question} is in no clause of type {type_}: {quoted[:60]!r}"


def _names(clause: Fields) -> list[str]:
    """The type of a clause and the others that it speaks of."""
    return [str(clause["type"]), *map(str, clause["topics"])]  # type: ignore[arg-type]


def _quotes(value: object) -> list[str]:
    try:
        found = ast.literal_eval(str(value)) if value else []
    except (ValueError, SyntaxError):
        return []
    return [str(each) for each in found] if isinstance(found, list) else []


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text.casefold())


def _number(text: str) -> str:
    return text.strip().rstrip(".:").casefold().replace(" ", "")


def _row(name: str, score: Judged) -> tuple[object, ...]:
    def share(right: int, known: int) -> str:
        return f"{right}/{known}" if known else ""

    return (
        name,
        score.contracts,
        score.failed,
        score.clauses,
        score.true,
        share(score.found, score.true),
        share(score.headings_right, score.headings),
        share(score.types_right, score.types),
        share(score.cuad_right, score.cuad),
        score.uncovered,
    )
