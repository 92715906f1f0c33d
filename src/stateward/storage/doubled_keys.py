"""JSON texts that name a key twice, which nothing here writes: one reader takes the first value, another the last.

Hashes are of the values that were read, which is the last one of a key; `->>` of SQLite, which lists and counts use,
takes the first. So such a text would show one thing and prove another.
"""

from collections.abc import Iterator

import msgspec

from stateward.core.json_keys import names_a_key_twice
from stateward.core.model import Fields
from stateward.storage.database import UNDECODABLE, Cell, Database

# By table: its key, how findings name a row, and the columns whose values are hashed, not their texts.
_TEXTS = {
    "records": ("id", "{}", ("labels", "fields", "outputs")),
    "transitions": ("seq", "entry {}", ("metadata",)),
}
_CHUNK = 2000
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(Fields).decode


def doubled_keys(database: Database) -> Iterator[tuple[str, str]]:
    """(row, column) of each such text of records and transitions."""
    for table, (key, where, columns) in _TEXTS.items():
        after: Cell = -1 if key == "seq" else ""
        while found := database.rows(
            f"SELECT {key}, {', '.join(columns)} FROM {table} WHERE {key} > :after ORDER BY {key} LIMIT {_CHUNK}",
            after=after,
        ):
            for name, *texts in found:
                for column, text in zip(columns, texts, strict=True):
                    if text != "{}" and _is_doubled(str(text)):
                        yield where.format(name), column
            after = found[-1][0]


def _is_doubled(text: str) -> bool:
    try:
        if _encode(_decode(text)).decode() == text:
            return False  # as it was written; a former version may have written it in another order
        return names_a_key_twice(text)
    except UNDECODABLE:
        return False  # it cannot be read at all, which its reader says
