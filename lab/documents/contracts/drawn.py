"""One contract from a seed, and a folder of them with their truth."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import msgspec

from lab.documents.contracts import second, usual
from lab.documents.contracts.blocks import (
    Block,
    Break,
    Columns,
    Heading,
    Lines,
    Pairs,
    Prose,
    Table,
    docx,
    pdf,
    plain,
)
from lab.documents.contracts.facts import Facts, facts
from lab.documents.contracts.noise import noisy

MAKERS: dict[str, Callable[[random.Random, Facts], tuple[list[Block], dict[str, str]]]] = {
    "usual": usual.blocks,
    "second": second.blocks,
}
WRITERS = {"pdf": pdf, "docx": docx, "txt": plain}
NOISY_SHARE = 0.12
COUNT_MAX = 100_000


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """A drawn contract: its file, and what is true of it."""

    name: str
    data: bytes
    vertical: str
    language: str
    fields: dict[str, str]
    is_noisy: bool


def draw(seed: int, *, maker: str = "usual", vertical: str = "", language: str = "") -> Contract:
    """The contract of a seed; the same seed gives the same bytes."""
    rng = random.Random(f"{maker} {seed}")
    about = facts(rng, vertical=vertical, language=language)
    blocks, truth = MAKERS[maker](rng, about)
    form = rng.choice(["pdf", "pdf", "pdf", "docx", "txt"])
    is_noisy = rng.random() < NOISY_SHARE
    if is_noisy:
        blocks = _spoilt(rng, blocks)
    return Contract(
        name=f"{maker}-{about.vertical}-{about.language}-{seed:05}.{form}",
        data=WRITERS[form](blocks),
        vertical=about.vertical,
        language=about.language,
        fields=truth,
        is_noisy=is_noisy,
    )


def write_folder(folder: Path, *, count: int, seed: int = 1, maker: str = "usual") -> Path:
    """Write so many contracts and their truth; gives the file with the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    truth: dict[str, object] = {}
    for at in range(min(count, COUNT_MAX)):
        contract = draw(seed + at, maker=maker)
        (folder / contract.name).write_bytes(contract.data)
        truth[contract.name] = {
            "vertical": contract.vertical,
            "language": contract.language,
            "fields": contract.fields,
        }
    path = folder / "truth.json"
    path.write_text(json.dumps(truth, ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8")
    return path


def _spoilt(rng: random.Random, blocks: list[Block]) -> list[Block]:
    """Every text of a document, noisy."""
    share = rng.choice([0.03, 0.06, 0.1])

    def spoil(text: str) -> str:
        return noisy(rng, text, share=share)

    made: list[Block] = []
    for block in blocks:
        match block:
            case Break():
                made.append(block)
            case Heading(text):
                made.append(Heading(spoil(text)))
            case Prose(text):
                made.append(Prose(spoil(text)))
            case Lines(lines):
                made.append(Lines([spoil(line) for line in lines]))
            case Pairs(pairs, manner):
                made.append(Pairs([(spoil(label), spoil(value)) for label, value in pairs], manner))
            case Table(rows, has_head):
                made.append(Table([[spoil(cell) for cell in row] for row in rows], has_head))
            case Columns(left, right):
                sides = [
                    [(spoil(label), spoil(value)) for label, value in side]
                    for side in (left, right)
                ]
                made.append(Columns(*sides))
    return made
