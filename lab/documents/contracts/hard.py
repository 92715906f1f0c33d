"""`python -m lab.documents.contracts.hard`: forty hard contracts, written by hand (`hard.yaml`), judged as a user would.

They are no test: their author knew what contracts look like, not how the rules read them. What counts is how many are
approved although a value is wrong, or although a person must look. The first figures, from before any rule was changed
with them at hand, are in docs/explanation/contract-confidence.md; any later ones are no check.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import click
import msgspec
import yaml

from lab.documents.statements.paper import Paper
from stateward.pipelines.contracts.evaluate import by_rules, is_same
from stateward.pipelines.contracts.rules import ACCEPTED_MIN, ContractRules, shipped
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.kit.reader import read_document

LEFT, TOP, STEP = 50.0, 60.0, 14.0


class HardContract(msgspec.Struct, frozen=True, kw_only=True):
    """One of them. `unseen` is white text of a PDF; `review`: a person must look whatever the values are."""

    name: str
    vertical: str
    why: str
    fields: dict[str, str]
    text: str
    review: bool = False
    pdf: bool = False
    unseen: str = ""

    @property
    def suffix(self) -> str:
        """The ending of its file."""
        return ".pdf" if self.pdf else ".txt"

    @property
    def data(self) -> bytes:
        """The file."""
        text = dedent(self.text)
        return _pdf(text, self.unseen) if self.pdf else text.encode()


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


def hard_contracts() -> list[HardContract]:
    """All of them."""
    text = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    return msgspec.convert(yaml.safe_load(text), list[HardContract])


def judged(rules: ContractRules) -> Iterator[Outcome]:
    """What the offline extractor and the rules make of each."""
    with tempfile.TemporaryDirectory() as folder:
        for each in hard_contracts():
            path = Path(folder) / (each.name + each.suffix)
            path.write_bytes(each.data)
            yield _judge(each, path, rules)


def _judge(contract: HardContract, path: Path, rules: ContractRules) -> Outcome:
    vertical = rules.vertical(contract.vertical)
    extraction = by_rules(read_document(path), vertical, rules)
    result = validate_extraction(extraction, rules)
    best = {each.field: each for each in sorted(extraction.found, key=lambda one: one.confidence)}
    sure, wrong_sure, wrong = 0, [], []
    for rule in vertical.fields:
        found, true = best.get(rule.name), contract.fields.get(rule.name)
        value = found.value if found else None
        is_sure = bool(found and value and found.confidence >= ACCEPTED_MIN)
        sure += is_sure
        if value and true and is_same(rule, true, value, rules):
            continue
        said = f"{rule.name} {value} for {true}"
        if is_sure:
            wrong_sure.append(said)
        if rule.required and (value or true):
            wrong.append(said)
    return Outcome(
        contract=contract,
        is_approved=result.accepted,
        sure=sure,
        wrong_sure=wrong_sure,
        wrong=wrong,
        codes=sorted({f"{each.code} {each.field}".strip() for each in result.problems}),
    )


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
@click.option("--details", is_flag=True, help="A line for each contract.")
def main(details: bool) -> None:
    """Judge the forty hard contracts."""
    outcomes = list(judged(shipped()))
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
