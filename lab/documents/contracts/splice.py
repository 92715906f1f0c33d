"""`python -m lab.documents.contracts.splice`: ordinary contracts with one sentence put in that a person must see.

Each sentence of `spliced.yaml` is put into contracts that are approved without it, at places drawn by a seed: above
the first line, as a line by itself, at the end of a paragraph, and below the last line. What counts is the share of
them that is approved all the same. The sentences are no test of a word: a rule that is written for one of them is
worth nothing. `--folder` takes agreements of one's own (texts, PDF, DOCX) beside those that ship.
"""

import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import click
import msgspec

from lab.documents.contracts.drawn import draw
from lab.documents.contracts.hard import SETS, hard_contracts
from stateward.core.errors import StageFailure
from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.rules import ContractRules, default_rules
from stateward.pipelines.contracts.validation import ValidationResult, validate_extraction
from stateward.pipelines.kit.reader import read_document, text_document

Place = Literal["above", "line", "paragraph", "below"]
PLACES: tuple[Place, ...] = get_args(Place)
MAKERS = ("usual", "second")
GENERAL = "general"
LONG_LINE = 60  # a line with so many characters is part of a paragraph
SUFFIXES = frozenset({".txt", ".pdf", ".docx"})
_GERMAN = frozenset({"der", "die", "und", "ist", "wird", "nicht", "mit"})
_ENGLISH = frozenset({"the", "and", "is", "shall", "of", "with", "not"})


class Voice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sentences of one manner of speaking, and what they may be put into."""

    voice: str
    language: Literal["de", "en"]
    into: Literal["letters", "agreements", "all"]
    sentences: list[str]


class Base(NamedTuple):
    """The text of a contract that is approved as it is."""

    name: str
    vertical: str
    language: str
    text: str

    @property
    def is_agreement(self) -> bool:
        """Whether it is an agreement of two parties, and no letter to a customer."""
        return self.vertical == GENERAL


class Spliced(NamedTuple):
    """What became of a contract with a sentence in it."""

    voice: Voice
    sentence: str
    place: Place
    base: Base
    result: ValidationResult


def voices() -> list[Voice]:
    """All of them."""
    text = Path(__file__).with_name("spliced.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, list[Voice]])["voices"]


def shipped(count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Names, verticals and texts of ordinary contracts: drawn ones, and those of the sets that need no person."""
    with tempfile.TemporaryDirectory() as folder:
        for maker in MAKERS:
            for at in range(count):
                one = draw(seed + at, maker=maker)
                path = Path(folder) / one.name
                path.write_bytes(one.data)
                yield one.name, one.vertical, read_document(path).text
        for name in SETS:
            for each in hard_contracts(name):
                if not each.review:
                    path = Path(folder) / (each.name + each.suffix)
                    path.write_bytes(each.data)
                    yield each.name, each.vertical, read_document(path).text


def own(folder: Path) -> Iterator[tuple[str, str, str]]:
    """The agreements of a folder."""
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES:
            yield path.name, GENERAL, read_document(path).text


def approved(texts: Iterable[tuple[str, str, str]], rules: ContractRules) -> Iterator[Base]:
    """Those that are approved as they are."""
    for name, vertical, text in texts:
        if judge(text, vertical, rules).accepted:
            yield Base(name, vertical, _language(text), text)


def judge(text: str, vertical: str, rules: ContractRules) -> ValidationResult:
    """What the rules make of a text."""
    extraction = by_rules(text_document(text), rules.vertical(vertical), rules)
    return validate_extraction(extraction, rules)


def splice(text: str, sentence: str, place: Place, rng: random.Random) -> str:
    """The text with the sentence at such a place."""
    lines = text.split("\n")
    match place:
        case "above":
            return f"{sentence}\n{text}"
        case "below":
            return f"{text.rstrip()}\n\n{sentence}\n"
        case "line":
            ends = [at for at, line in enumerate(lines) if at and _is_end(line)]
            at = rng.choice(ends or [len(lines)])
            return "\n".join([*lines[: at + 1], "", sentence, "", *lines[at + 1 :]])
        case "paragraph":
            ends = [at for at, line in enumerate(lines) if len(line) >= LONG_LINE and _is_end(line)]
            at = rng.choice(ends or [len(lines) - 1])
            return "\n".join([*lines[:at], f"{lines[at].rstrip()} {sentence}", *lines[at + 1 :]])


def _is_end(line: str) -> bool:
    return line.rstrip().endswith((".", "!"))


def _language(text: str) -> str:
    words = Counter(text.lower().split())
    german, english = (sum(words[word] for word in each) for each in (_GERMAN, _ENGLISH))
    return "de" if german >= english else "en"


def spliced(
    bases: Sequence[Base], rules: ContractRules, *, times: int, seed: int
) -> Iterator[Spliced]:
    """Each sentence in so many contracts, at places in turn."""
    rng = random.Random(seed)
    for voice in voices():
        fitting = [
            base
            for base in bases
            if base.language == voice.language
            and voice.into in ("all", "agreements" if base.is_agreement else "letters")
        ]
        for at, sentence in enumerate(voice.sentences):
            for turn in range(times if fitting else 0):
                base = rng.choice(fitting)
                place = PLACES[(at + turn) % len(PLACES)]
                text = splice(base.text, sentence, place, rng)
                yield Spliced(voice, sentence, place, base, judge(text, base.vertical, rules))


def _share(of: Sequence[Spliced]) -> str:
    passed = sum(each.result.accepted for each in of)
    return f"{passed} of {len(of)} ({passed / max(1, len(of)):.1%})"


@click.command()
@click.option("--count", default=60, show_default=True, help="Contracts drawn of each maker.")
@click.option("--times", default=4, show_default=True, help="Contracts for each sentence.")
@click.option("--seed", default=1, show_default=True)
@click.option("--folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--details", is_flag=True, help="A line for each that was approved.")
def main(count: int, times: int, seed: int, folder: Path | None, details: bool) -> None:
    """Put sentences that a person must see into ordinary contracts, and count what is approved."""
    rules = default_rules()
    texts = [*shipped(count, seed), *(own(folder) if folder else ())]
    bases = list(approved(texts, rules))
    click.echo(f"{len(bases)} of {len(texts)} contracts are approved as they are")
    made = list(spliced(bases, rules, times=times, seed=seed))
    for each in made if details else ():
        if each.result.accepted:
            click.echo(f"{each.voice.voice} | {each.place} | {each.base.name} | {each.sentence}")
    click.echo(f"approved with a sentence that a person must see: {_share(made)}")
    for is_agreement, said in ((False, "letters to customers"), (True, "agreements")):
        for place in PLACES:
            some = [
                each
                for each in made
                if each.base.is_agreement is is_agreement and each.place == place
            ]
            click.echo(f"  {said}, {place}: {_share(some)}")
    for voice in voices():
        click.echo(f"  {voice.voice}: {_share([each for each in made if each.voice == voice])}")


if __name__ == "__main__":
    try:
        main()
    except StageFailure as error:
        raise SystemExit(str(error)) from error
