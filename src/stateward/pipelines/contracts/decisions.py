"""People's decisions as ground truth: lines of `stateward review export --gold`, read anew by an extractor."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from stateward.core.errors import ArtifactError, InvalidRequest
from stateward.pipelines.contracts.evaluate import Evaluation, Extract, measure
from stateward.pipelines.contracts.ground_truth import Truth
from stateward.pipelines.contracts.rules import ContractRules

LINE_BYTES_MAX = 4 << 20
LINES_MAX = 1_000_000


class DecidedContract(msgspec.Struct, frozen=True, kw_only=True):
    """What a line says of one contract. `values` are right; a rejected one has none."""

    document: str | None
    record: str
    values: dict[str, list[str]] | None
    vertical: str | None = None
    filename: str | None = None


def read_decisions(path: Path) -> Iterator[DecidedContract]:
    """The lines of a file; a line that is none is refused with its number."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number > LINES_MAX or len(line) > LINE_BYTES_MAX:
                    raise InvalidRequest(f"{path}:{number}: there is more here than gold data has")
                if line.strip():
                    yield _decision(path, number, line)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}") from error


def _decision(path: Path, number: int, line: bytes) -> DecidedContract:
    try:
        return msgspec.json.decode(line, type=DecidedContract)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path}:{number}: this is no line of gold data: {error}") from error


def measure_decisions(
    decisions: Iterable[DecidedContract],
    *,
    path_of: Callable[[str], Path],
    rules: ContractRules,
    extract: Extract,
    cpu_s: Callable[[], float],
    tell: Callable[[str], object] = lambda _: None,
) -> Evaluation:
    """How an extractor reads the documents now; those that are not here count as without truth."""
    cases: list[tuple[str, Path, Truth | None]] = []
    for each in decisions:
        path = _document_path(each, path_of)
        is_known = each.values is not None and each.vertical in rules.verticals
        truth = Truth(vertical=each.vertical or "", fields=each.values or {}) if is_known else None
        cases.append(
            (each.filename or each.record, path or Path(), None if path is None else truth)
        )
    return measure(cases, rules=rules, cpu_s=cpu_s, extract=extract, tell=tell)


def _document_path(decided: DecidedContract, path_of: Callable[[str], Path]) -> Path | None:
    """Where its document lies, if it is here."""
    try:
        return None if decided.document is None else path_of(decided.document)
    except ArtifactError:
        return None
