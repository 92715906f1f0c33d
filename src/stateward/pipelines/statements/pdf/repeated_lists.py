"""Lists that repeat rows of another table, as banks print of the cheques that were paid."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from stateward.pipelines.statements.pdf import vocabulary as vocab
from stateward.pipelines.statements.pdf.rows import DraftRow

_WORD = re.compile(r"[^\W_]{3,}")
Key = tuple[str, str]  # the day, and the figures of the amount


def repeated_rows(sections: Iterable[Sequence[DraftRow]]) -> tuple[set[int], int]:
    """The ids of rows of tables without balances, of which each stands in a table with balances, too.

    What follows from the balance before it is booked where it stands; a list in which every row has the day, the
    amount and a number of such a one, and says nothing else, books nothing again. And how many rows of other lists
    have them: those may be booked twice. Without a number, it is another booking: a transfer stands in two accounts.
    """
    groups: dict[tuple[int, int], list[DraftRow]] = defaultdict(list)
    for number, rows in enumerate(sections):
        for entry in rows:
            groups[number, entry.group].append(entry)
    led = [rows for rows in groups.values() if any(vocab.BALANCE in e.money for e in rows)]
    bare = [rows for rows in groups.values() if not any(vocab.BALANCE in e.money for e in rows)]
    booked: dict[Key, list[set[str]]] = defaultdict(list)
    for entry in (entry for rows in led for entry in rows):
        booked[_key(entry)].append(_words(entry))
    repeated: set[int] = set()
    doubted = 0
    for rows in bare if booked else ():
        listed = [entry for entry in rows if not _is_sum_of(entry, rows)]
        if listed and _count_repeated(listed, booked, set.issubset) == len(listed):
            repeated |= set(map(id, rows))
        else:
            doubted += _count_repeated(rows, booked, set.intersection)
    return repeated, doubted


def _count_repeated(
    rows: Sequence[DraftRow],
    booked: Mapping[Key, Sequence[set[str]]],
    is_alike: Callable[[set[str], set[str]], object],
) -> int:
    left = {key: list(words) for key, words in booked.items()}
    count = 0
    for entry in rows:
        own = _words(entry)
        numbers = {word for word in own if any(map(str.isdigit, word))}
        texts = left.get(_key(entry), [])
        same = next((words for words in texts if numbers & words and is_alike(own, words)), None)
        if same is not None:
            texts.remove(same)
            count += 1
    return count


def _is_sum_of(entry: DraftRow, rows: Sequence[DraftRow]) -> bool:
    """Whether a row without a date of its own has the sum of the others of its list: `2 drafts 497.50`."""
    others = [_figures(other) for other in rows if other is not entry]
    return (
        not entry.is_dated
        and len(others) > 1
        and sum(map(_whole, others)) == _whole(_figures(entry))
    )


def _whole(figures: str) -> int:
    return int(figures or 0)


def _key(entry: DraftRow) -> Key:
    return entry.date, _figures(entry)


def _figures(entry: DraftRow) -> str:
    amount = next((text for role, text in entry.money.items() if role != vocab.BALANCE), "")
    return "".join(filter(str.isdigit, amount))


def _words(entry: DraftRow) -> set[str]:
    text = " ".join([*entry.texts, *entry.references, *entry.parties, *entry.more.values()])
    return {word.casefold() for word in _WORD.findall(text)}
