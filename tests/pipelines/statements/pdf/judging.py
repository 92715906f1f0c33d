"""One PDF through both stages, held against its truth; and statements that are drawn by hand."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from lab.documents.statements import Paper, Statement
from lab.documents.statements.paper import A4, LETTER
from stateward.pipelines.statements.evaluate import Judged, judge
from stateward.pipelines.statements.ground_truth import TrueRow, Truth

BANKS: dict[str, Any] = msgspec.yaml.decode(Path(__file__).with_name("banks.yaml").read_bytes())

StatementRow = tuple[str, str, str]  # day, amount, description


def judged(folder: Path, pdf: bytes, truth: Truth) -> Judged:
    path = folder / "statement.pdf"
    path.write_bytes(pdf)
    return judge(path, path.name, truth, now=lambda: 0)


def drawn(folder: Path, statement: Statement) -> Judged:
    return judged(folder, statement.pdf, statement.known())


def bank(name: str) -> tuple[bytes, Truth]:
    """A statement of `banks.yaml`."""
    drawn = BANKS[name]
    paper = Paper(LETTER if drawn["is_letter"] else A4)
    paper.page()
    for y, size, *texts in drawn["lines"]:
        write(paper, y, texts, size=size)
    return paper.pdf(), known(*drawn["truth"])


def write(paper: Paper, y: float, texts: list[tuple[float, str]], *, size: float = 9) -> None:
    """Texts of one line: each begins at its place or, if that is negative, ends there."""
    for x, text in texts:
        if x < 0:
            paper.right(-x, y, text, size=size)
        else:
            paper.text(x, y, text, size=size)


def sheet(*lines: list[tuple[float, str]], y: float = 100, step: float = 14) -> Paper:
    """One page of lines, from the top."""
    paper = Paper(A4)
    paper.page()
    for at, texts in enumerate(lines):
        write(paper, y + at * step, texts)
    return paper


def known(*rows: StatementRow) -> Truth:
    true = tuple(TrueRow(date=d, amount=Decimal(a), description=text) for d, a, text in rows)
    return Truth(source="by hand", rows=true, count=len(true))
