"""How well lab reports are read: every report of a folder that has a truth, through both stages, compared.

A result is exact when all that its truth tells of it is right. A report is wrong in silence when it is not exact and
nothing says so: no note, no problem with a result, no failure.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec

from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields, Micros
from stateward.pipelines.kit.evaluation import DocumentScore, StagesRun, run_stages
from stateward.pipelines.kit.ground_truth import TruthFiles, documents_in, mapping
from stateward.pipelines.labs import RUNNERS
from stateward.pipelines.labs.words import fold

SUFFIXES = frozenset({".pdf", ".csv", ".tsv", ".hl7", ".oru", ".json", ".ccda", ".xml", ".txt"})
TRUTH_SUFFIXES = (".truth.json", "EXPECT.json")
NOTES_MAX = 5
TOLERANCE = Decimal(
    "0.005"
)  # of a converted value: tables of molar masses differ in their last digits
UCUM_TESTS = "UcumFunctionalTests.xml"


class LabScore(DocumentScore, kw_only=True):
    """One report, or several added up."""

    results: int = 0
    found: int = 0
    rows_exact: int = 0
    values_exact: int = 0
    units_exact: int = 0
    ranges_exact: int = 0
    codes: int = 0
    codes_exact: int = 0
    flags_exact: int = 0
    extra: int = 0


class JudgedReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report."""

    file: str
    format: str
    score: LabScore
    code: str = ""  # of a failure
    notes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


class LabEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A whole folder."""

    judged: tuple[JudgedReport, ...]
    no_truth: tuple[
        tuple[str, int], ...
    ]  # a file, and how many results were read from it; -1 for a failure

    def formats(self) -> dict[str, LabScore]:
        """The score of each format."""
        scores: dict[str, LabScore] = {}
        for one in self.judged:
            scores.setdefault(one.format, LabScore()).add(one.score)
        return dict(sorted(scores.items()))

    def total(self) -> LabScore:
        """Everything added up."""
        score = LabScore()
        for one in self.judged:
            score.add(one.score)
        return score


def evaluate_reports(
    folder: Path, *, now: Callable[[], Micros], tell: Callable[[str], object] = lambda _: None
) -> LabEvaluation:
    """Judge every report under a folder."""
    judged: list[JudgedReport] = []
    no_truth: list[tuple[str, int]] = []
    files = TruthFiles(folder, exact=True)
    for path in documents_in(folder, SUFFIXES):
        if path.name.endswith(TRUTH_SUFFIXES) or path.name == UCUM_TESTS:
            continue
        name = path.relative_to(folder).as_posix()
        tell(name)
        told = files.of(path)
        if told is None:
            run = _run(path, now)
            no_truth.append(
                (name, -1 if run.failure is not None else len(list(run.items("normalize"))))
            )
        else:
            judged.append(judge_report(path, name, mapping(told.value, told.source), now=now))
    return LabEvaluation(judged=tuple(judged), no_truth=tuple(no_truth))


def _run(path: Path, now: Callable[[], Micros]) -> StagesRun:
    import stateward.pipelines.labs.runners  # noqa: F401 - registers them

    return run_stages(path, RUNNERS, now=now)


def judge_report(
    path: Path, name: str, truth: Mapping[str, Any], *, now: Callable[[], Micros]
) -> JudgedReport:
    """Put one report through both stages, and compare what comes out."""
    rows = truth.get("results")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidRequest(f"the truth of {name} needs a list `results` of objects")
    run = _run(path, now)
    if run.failure is not None:
        score = LabScore(documents=1, flagged=1, results=len(rows))
        return JudgedReport(
            file=name, format=path.suffix.strip("."), score=score, code=run.failure.code
        )
    found = list(run.items("normalize"))
    facts = [run.completed[stage].facts for stage in RUNNERS]
    notes = [str(note) for each in facts for note in _notes(each)]
    score, wrong = compare(found, rows, str(truth.get("collected") or ""))
    is_exact = score.rows_exact == len(rows) == len(found)
    score.add(
        LabScore(
            documents=1,
            exact=is_exact,
            flagged=bool(notes),
            wrong_in_silence=not is_exact and not notes,
        )
    )
    return JudgedReport(
        file=name,
        format=str(facts[0].get("format", "")),
        score=score,
        notes=tuple(notes[:NOTES_MAX]),
        wrong=tuple(wrong),
    )


def _notes(facts: Fields) -> list[object]:
    notes = facts.get("notes")
    return list(notes) if isinstance(notes, list) else []


def compare(
    found: Sequence[Fields], rows: Sequence[Mapping[str, Any]], collected: str
) -> tuple[LabScore, list[str]]:
    """The score of the results of one report, and what is wrong, by the names of tests.

    What a truth says with null is not told, as if it were not there.
    """
    rows = [{name: told for name, told in row.items() if told is not None} for row in rows]
    score = LabScore(results=len(rows), extra=max(0, len(found) - len(rows)))
    left = list(found)
    wrong: list[str] = []
    for row in rows:
        partner = _partner(row, left)
        if partner is None:
            wrong.append(f"{row.get('test')}: not found")
            continue
        left.remove(partner)
        score.found += 1
        faults = _faults(partner, row, collected)
        score.values_exact += "value" not in faults
        score.units_exact += "unit" not in faults
        score.ranges_exact += "range" not in faults
        score.flags_exact += "flag" not in faults
        if row.get("loinc"):
            score.codes += 1
            score.codes_exact += "code" not in faults
        score.rows_exact += not faults
        if faults:
            wrong.append(f"{row.get('test')}: {', '.join(faults)}")
    wrong += [f"{each.get('test')}: not in the report" for each in left]
    return score, wrong


def _partner(row: Mapping[str, Any], found: Sequence[Fields]) -> Fields | None:
    """The result that a true row is compared with: of the same name, the same value and date first."""
    name = fold(str(row.get("test", "")))
    same = [each for each in found if fold(str(each.get("test", ""))) == name]
    value, date = str(row.get("value_printed", "")), str(row.get("collected", ""))
    best = [
        each for each in same
        if _printed_value(each, "value") == _squeeze(value) and str(each.get("collected", "")).startswith(date)
    ]  # fmt: skip
    return next(iter(best or same), None)


def _faults(found: Fields, row: Mapping[str, Any], collected: str) -> list[str]:
    """What is wrong with a result: of all that its truth tells."""
    checks = {
        "value": _is_value(found, row),
        "unit": _is_unit(found, row),
        "range": "ref" not in row or _same_range(found, str(row["ref"])),
        "flag": "flag" not in row or _is_flag(found, str(row["flag"])),
        "code": not row.get("loinc") or found.get("code") == row["loinc"],
        "date": _is_date(
            str(found.get("collected", "")), str(row.get("collected") or ""), collected
        ),
    }
    return [name for name, is_right in checks.items() if not is_right]


def _is_flag(found: Fields, told: str) -> bool:
    """Whether the flag is right, which a truth tells as it is printed or as what it means.

    `↑` means H, and so does `*` beside a value above its range.
    """
    printed, meaning = _printed_value(found, "flag"), str(found.get("printed_flag") or "")
    if meaning == "A":
        meaning = str(found.get("flag") or "")
    return _squeeze(told) == printed or (bool(printed) and told == meaning)


def _is_date(found: str, of_row: str, of_report: str) -> bool:
    """Whether the date is right; that of the whole report need not be printed on it."""
    return found.startswith(of_row) if of_row else not found or found.startswith(of_report)


def _is_value(found: Fields, row: Mapping[str, Any]) -> bool:
    is_printed = "value_printed" not in row or _printed_value(found, "value") == _squeeze(
        str(row["value_printed"])
    )
    if row.get("canonical_value") is None:
        return is_printed
    try:
        ours, true = Decimal(str(found.get("value", ""))), Decimal(str(row["canonical_value"]))
    except InvalidOperation:
        return False
    is_near = abs(ours - true) <= TOLERANCE * abs(true)
    is_censored = str(row.get("censored") or "") == str(found.get("comparator", ""))
    return is_printed and is_near and is_censored


def _is_unit(found: Fields, row: Mapping[str, Any]) -> bool:
    printed = _printed_value(found, "unit")
    told = _squeeze(str(row.get("unit_printed", "")))
    is_printed = (
        "unit_printed" not in row
        or printed == told
        or (not printed and told in _printed_value(found, "range"))
        or (not told and printed in _squeeze(str(row.get("ref", ""))))  # it stands behind the range
    )
    return is_printed and (
        "canonical_unit" not in row or found.get("unit") == row["canonical_unit"]
    )


def _same_range(found: Fields, told: str) -> bool:
    # The unit behind a range is given as the unit, so that a truth may tell the range with it or without.
    unit = _printed_value(found, "unit")
    ours = (_printed_value(found, "range"), _squeeze(str(found.get("range_text", ""))))
    return _bare_range(_squeeze(told), unit) in [_bare_range(each, unit) for each in ours]


def _bare_range(text: str, unit: str) -> str:
    """A range without what a truth may tell or not: its unit, brackets around it, the ends of lines in its cell."""
    bare = text.replace(unit, "").replace(";", "")
    is_wrapped = (bare[:1], bare[-1:]) in (("(", ")"), ("[", "]"))
    return bare[1:-1] if is_wrapped else bare


def _printed_value(found: Fields, name: str) -> str:
    printed = found.get("printed")
    return _squeeze(str(printed.get(name, ""))) if isinstance(printed, dict) else ""


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)
