"""The reports of four files as PDFs."""

from pathlib import Path
from typing import Any

import msgspec

from lab.documents.statements.paper import A4, LETTER, Paper

LAYOUTS: dict[str, Any] = {
    name: told
    for file in ("layouts.yaml", "second.yaml", "third.yaml", "sixth.yaml")
    for name, told in msgspec.yaml.decode(Path(__file__).with_name(file).read_bytes()).items()
}
KEYS = ("test", "value_printed", "unit_printed", "ref", "flag", "loinc", "collected")


class DrawnReport(msgspec.Struct, frozen=True):
    """A report and what is true of it, in the form that `stateward eval labs` reads."""

    pdf: bytes
    truth: dict[str, Any]


def draw_report(name: str) -> DrawnReport:
    """One of the reports."""
    told = LAYOUTS[name]
    paper = Paper(LETTER if told["is_letter"] else A4)
    paper.page()
    for line in told["lines"]:
        if line == "page":
            paper.page()
            continue
        y, size, *texts = line
        for x, text in texts:
            if x < 0:
                paper.right(-x, y, text, size=size)
            else:
                paper.text(x, y, text, size=size)
    results = [
        {key: str(value) for key, value in zip(KEYS, row, strict=False)} for row in told["truth"]
    ]
    truth: dict[str, Any] = {"results": results}
    if told["collected"]:
        truth["collected"] = str(told["collected"])
    return DrawnReport(paper.pdf(), truth)
