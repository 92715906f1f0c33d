"""Statements as blocks of labelled lines, one block for each transaction: they become the rows of a table.

`Date: 21/08/2024`, `Description: …`, `Amount: -199.60`, and so on, then again. The labels of all blocks become the
headings; what stands above the first block is kept above the table. `table` finds out what the columns mean.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from stateward.pipelines.kit.delimited import Record
from stateward.pipelines.statements import headings
from stateward.pipelines.statements.source import Source

BLOCKS_WHY = "each transaction is a block of labelled lines"
BLOCKS_MIN = 2
LINES_SEEN = 200
LABELS_MAX = 20
DATE_ROLES = frozenset({"date", "date_plain", "value_date"})
MONEY_ROLES = frozenset({"amount", "debit", "credit"})
_LABELLED = re.compile(r"\s*(?P<label>[^\W\d][^:;,\t|]{0,40}?)\s*:(?!//)\s*(?P<value>.*?)\s*")


def block_records(source: Source) -> Callable[[], Iterator[Record]] | None:
    """What gives the records of such a file from its top; None if it is none."""
    if isinstance(source.content, bytes) and b":" not in source.content:
        return None  # no label in any encoding
    with source.path.open(encoding=source.encoding, errors="replace") as file:
        sample = [line.rstrip("\n") for line in islice(file, LINES_SEEN)]
    labels = _labels(sample)
    if labels is None:
        return None

    def records() -> Iterator[Record]:
        with source.path.open(encoding=source.encoding, errors="replace") as file:
            yield from _records((line.rstrip("\n") for line in file), labels)

    return records


def _labels(lines: list[str]) -> list[str] | None:
    """The labels of a block, in their order: a date comes first, and an amount is among them, again and again."""
    found = [hit["label"] for line in lines if (hit := _LABELLED.fullmatch(line))]
    filled = sum(bool(line.strip("\ufeff\xa0 ")) for line in lines)
    counts = Counter(found)
    repeated = [label for label in dict.fromkeys(found) if counts[label] >= BLOCKS_MIN]
    if not repeated or len(repeated) > LABELS_MAX or len(found) * 2 < filled:
        return None
    roles = {headings.role_of(label) for label in repeated}
    is_dated = headings.role_of(repeated[0]) in DATE_ROLES
    return repeated if is_dated and roles & MONEY_ROLES else None


def _records(lines: Iterator[str], labels: list[str]) -> Iterator[Record]:
    block: dict[str, str] = {}
    begun, last = 0, ""
    for number, line in enumerate(lines, start=1):
        text = line.strip("\ufeff\xa0 ")
        hit = _LABELLED.fullmatch(text)
        label = hit["label"] if hit and hit["label"] in labels else ""
        if label and (label == labels[0] or label in block):
            if begun:
                yield begun, [block.get(each, "") for each in labels]
            else:
                yield number, [*labels]
            block, begun = {}, number
        if hit and label and begun:
            block[label] = hit["value"].strip("\xa0 ")
            last = label
        elif text and begun and last:  # a text that goes on, or what is no label of a block
            block[last] = f"{block[last]} {text}".strip()
        elif text and hit:
            yield number, [hit["label"] + ":", hit["value"]]
        elif text:
            yield number, [text]
    if begun:
        yield begun, [block.get(each, "") for each in labels]
