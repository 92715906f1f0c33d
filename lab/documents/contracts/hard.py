"""`python -m lab.documents.contracts.hard`: hard contracts, written by hand, judged as a user would.

There are seven sets (`--of`): forty in `hard.yaml`, thirty-three in `outside.yaml`, sixteen in `later.yaml`, sixty in
`fresh.yaml`, forty in `sealed.yaml`, fifty-five in `layouts.yaml` and thirty in `trapped.yaml`. They are no test: their
authors knew what contracts look like, not how the rules read them. What counts is how many are approved although a value is wrong, or although a person must look. The first
figures, from before any rule was changed with them at hand, are in docs/explanation/contract-confidence.md; any later
ones are no check.
"""

import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Literal

import click
import msgspec

from lab.documents.contracts.blocks import Block, Heading, Lines, Prose, Table, docx, pdf, plain
from lab.documents.statements.paper import Paper
from stateward.pipelines.contracts.evaluate import by_rules, is_same
from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.rules import (
    ACCEPTED_MIN,
    ContractRules,
    FieldRule,
    default_rules,
)
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import read_document

LEFT, TOP, STEP = 50.0, 60.0, 14.0
PROSE_MIN = 90  # a line that is longer is a paragraph
SETS = ("hard", "outside", "later", "fresh", "sealed", "layouts", "trapped")
_WRITERS = {"pdf": pdf, "docx": docx, "txt": plain}


class HardContract(msgspec.Struct, frozen=True, kw_only=True):
    """One of them. `unseen` is white text of a PDF; `review`: a person must look whatever the values are."""

    name: str
    vertical: str
    why: str
    fields: dict[str, str | list[str]]
    text: str
    review: bool = False
    format: Literal["pdf", "docx", "txt", ""] = ""  # else the text as it is, or lines on a page
    pdf: bool = False
    unseen: str = ""

    @property
    def suffix(self) -> str:
        """The ending of its file."""
        return "." + (self.format or ("pdf" if self.pdf else "txt"))

    @property
    def data(self) -> bytes:
        """The file."""
        text = dedent(self.text)
        if self.format:
            return _WRITERS[self.format](_blocks(text))
        return _pdf(text, self.unseen) if self.pdf else text.encode()

    def true(self, field: str) -> list[str]:
        """What a careful person would say of a field."""
        value = self.fields.get(field, [])
        return [value] if isinstance(value, str) else value


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one: whether it was approved, and what is wrong with it."""

    contract: HardContract
    is_approved: bool
    sure: int
    wrong_sure: list[str]
    wrong: list[str]
    codes: list[str]

    @property
    def is_wrongly_approved(self) -> bool:
        """Whether no person would see it although one must, or although a required value is wrong."""
        return self.is_approved and (self.contract.review or bool(self.wrong))


def hard_contracts(name: str = "hard") -> list[HardContract]:
    """All of a set."""
    text = Path(__file__).with_name(f"{name}.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=list[HardContract])


def judged(rules: ContractRules, contracts: Sequence[HardContract]) -> Iterator[Outcome]:
    """What the offline extractor and the rules make of each."""
    with tempfile.TemporaryDirectory() as folder:
        for each in contracts:
            path = Path(folder) / (each.name + each.suffix)
            path.write_bytes(each.data)
            yield _judge(each, path, rules)


def _judge(contract: HardContract, path: Path, rules: ContractRules) -> Outcome:
    vertical = rules.vertical(contract.vertical)
    extraction = by_rules(read_document(path), vertical, rules)
    result = validate_extraction(extraction, rules)
    sure, wrong_sure, wrong = 0, [], []
    for rule in vertical.fields:
        found = _values(rule, extraction.found)
        is_sure = bool(found) and all(each.confidence >= ACCEPTED_MIN for each in found)
        sure += is_sure
        values, true = [each.value or "" for each in found], contract.true(rule.name)
        if _agree(rule, true, values, rules):
            continue
        said = f"{rule.name} {', '.join(values) or None} for {', '.join(true) or None}"
        if is_sure:
            wrong_sure.append(said)
        if rule.required:
            wrong.append(said)
    return Outcome(
        contract=contract,
        is_approved=result.accepted,
        sure=sure,
        wrong_sure=wrong_sure,
        wrong=wrong,
        codes=sorted({f"{each.code} {each.field}".strip() for each in result.problems}),
    )


def _values(rule: FieldRule, found: Sequence[FoundValue]) -> list[FoundValue]:
    """Every party, and of any other field the surest value."""
    values = sorted(
        (each for each in found if each.field == rule.name and each.value),
        key=lambda one: -one.confidence,
    )
    return values if rule.kind == "party" else values[:1]


def _agree(rule: FieldRule, true: list[str], values: list[str], rules: ContractRules) -> bool:
    return len(true) == len(values) and all(
        any(is_same(rule, one, value, rules) for value in values) for one in true
    )


def _blocks(text: str) -> list[Block]:
    """A text with headings (`# `) and rows of tables (` | `) as the parts of a document."""
    blocks: list[Block] = []
    for kind, lines in groupby(text.splitlines(), key=_kind):
        group = list(lines)
        if kind == "heading":
            blocks += [Heading(line[2:]) for line in group]
        elif kind == "row":
            rows = [[cell.strip() for cell in line.split(" | ")] for line in group]
            blocks.append(Table(rows, has_head=False))
        elif kind == "prose":
            blocks += [Prose(line) for line in group]
        elif kind == "line":
            blocks.append(Lines(group))
    return blocks


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if line.startswith("# "):
        return "heading"
    if " | " in line:
        return "row"
    return "prose" if len(line) >= PROSE_MIN else "line"


def _pdf(text: str, unseen: str) -> bytes:
    """Lines on a page; the unseen one is white and stands below them."""
    paper = Paper()
    paper.page()
    y = TOP
    for line in text.splitlines():
        paper.text(LEFT, y, line)
        y += STEP
    if unseen:
        paper.text(LEFT, y, unseen, colour="1 g")
    return paper.pdf()


@click.command()
@click.option("--of", "name", type=click.Choice(SETS), default="hard", show_default=True)
@click.option("--details", is_flag=True, help="A line for each contract.")
@click.option(
    "--write", type=click.Path(file_okay=False, path_type=Path), help="Also write them here."
)
def main(name: str, details: bool, write: Path | None) -> None:
    """Judge a set of hard contracts."""
    contracts = hard_contracts(name)
    if write:
        write.mkdir(parents=True, exist_ok=True)
        for one in contracts:
            (write / (one.name + one.suffix)).write_bytes(one.data)
    outcomes = list(judged(default_rules(), contracts))
    for each in outcomes if details else ():
        fate = "WRONG " if each.is_wrongly_approved else "passed" if each.is_approved else "review"
        told = "; ".join(
            [*each.wrong_sure, *(one for one in each.wrong if one not in each.wrong_sure)]
        )
        click.echo(f"{fate} {each.contract.name} [{', '.join(each.codes)}] {told}")
    approved = [each for each in outcomes if each.is_approved]
    wrongly = sum(each.is_wrongly_approved for each in approved)
    free = sum(not each.contract.review for each in outcomes)
    sure = sum(each.sure for each in outcomes)
    wrong_sure = sum(len(each.wrong_sure) for each in outcomes)
    click.echo(f"{len(outcomes)} contracts, {free} of which need no person")
    click.echo(f"approved {len(approved)}, {len(approved) - wrongly} of them rightly")
    click.echo(f"values of {ACCEPTED_MIN} or more: {sure}, {sure - wrong_sure} of them right")


if __name__ == "__main__":
    main()
