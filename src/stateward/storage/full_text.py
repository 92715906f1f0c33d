"""The full-text index: passages of text, the words in them, and how far the history was indexed.

One interface over SQLite (FTS5) and PostgreSQL (`tsvector` with a GIN index). The words are made and folded in
`core.text_search`; the databases only store and compare them, so that both find the same for the same query and no
query can be a syntax error: what reaches them are words of letters and digits, in quotes.

A passage disappears with its record, by a trigger of the database. A writer holds the lock of the cursor, so that
any number of processes may index side by side. Nothing here knows what pipelines declare.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import msgspec

from stateward.core.model import Fields
from stateward.core.text_search import Phrase, TextQuery, words
from stateward.storage.database import Database, Row, Table, log_end

# PostgreSQL has to read everything that matches before it can sort it. So the newest passages are looked through in
# their order first, where a common word is found often enough; of a word that is rarer than that, all matches are read
# through the index of words.
NEWEST = 5000
DELETED_AT_ONCE = 2000

TEXTS = Table(
    "search_texts",
    {
        "id": "bigint", "record_id": "text", "stage": "text", "item": "bigint", "title": "text", "place": "text",
        "text": "text",
    },
    key=("id",),
)  # fmt: skip
# COPY reads the text form of a tsvector; SQLite has the words in a table of their own.
TEXTS_WITH_TERMS = Table(
    "search_texts", {**TEXTS.columns, "terms": "text"}, key=("id",), is_copied=True
)
TERMS = Table("search_index", {"rowid": "bigint", "terms": "text"}, key=("rowid",))

_FOUND = "t.id, t.record_id, t.stage, t.item, t.title, t.place, t.text"
_FIND = {
    "fts5": (
        f"SELECT {_FOUND} FROM search_index i JOIN search_texts t ON t.id = i.rowid"
        " WHERE i.terms MATCH :match AND i.rowid < :below AND i.rowid >= :floor AND {condition}"
        " ORDER BY i.rowid DESC LIMIT :limit"
    ),
    "tsvector": (
        f"SELECT {_FOUND} FROM search_texts t"
        " WHERE t.terms @@ CAST(:match AS tsquery) AND t.id < :below AND t.id >= :floor AND {condition}"
        " ORDER BY t.id DESC LIMIT :limit"
    ),
}
# MATERIALIZED, and a sum that no index is of: words first, then the rest, whatever the statistics suggest.
_FIND_RARE = (
    f"WITH t AS MATERIALIZED (SELECT {_FOUND} FROM search_texts t"
    " WHERE t.terms @@ CAST(:match AS tsquery) AND t.id + 0 < :below AND t.id + 0 >= :floor)"
    f" SELECT {_FOUND} FROM t WHERE {{condition}} ORDER BY t.id DESC LIMIT :limit"
)
# Each transition of some machines with the output that it applied, if that was a success. The limit is taken before the
# joins: with statistics from when the tables were empty PostgreSQL otherwise joins the whole rest of the history first.
_FRESH = """
SELECT t.seq, t.record_id, t.machine, o.stage, o.version, r.labels
FROM (
    SELECT seq, record_id, machine, version FROM transitions
    WHERE seq > :after AND seq <= :until AND {condition} ORDER BY seq LIMIT :limit
) AS t
LEFT JOIN outputs o ON o.record_id = t.record_id AND o.version = t.version - 1 AND o.error_code IS NULL
LEFT JOIN records r ON r.id = t.record_id
ORDER BY t.seq
"""

_decode_labels = msgspec.json.Decoder(Fields).decode


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of text to be found: of which item of which stage, under which title, at which place (JSON or '')."""

    record_id: str
    stage: str
    item: int
    title: str
    place: str
    text: str
    tags: tuple[str, ...] = ()


class FoundPassage(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that matches; a higher `id` was indexed later."""

    id: int
    record_id: str
    stage: str
    item: int
    title: str
    place: str
    text: str


class IndexCursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far the history was indexed, and which output is half indexed (`record_id` '': none)."""

    seq: int
    record_id: str = ""
    stage: str = ""
    version: int = 0
    chunk: int = 0
    item: int = 0
    declared: str = ""


class IndexedTransition(msgspec.Struct, frozen=True, kw_only=True):
    """A transition, and the output of a stage that it applied; `stage` '' where there was none."""

    seq: int
    record_id: str
    machine: str
    stage: str
    version: int
    labels: Fields


_CURSOR_COLUMNS = IndexCursor.__struct_fields__


class FullTextIndex:
    def __init__(self, database: Database) -> None:
        self._database = database

    def transaction(self) -> AbstractContextManager[None]:
        """One transaction; see `Database.transaction`."""
        return self._database.transaction()

    # Where the indexer is

    def cursor(self) -> IndexCursor:
        """How far the history was indexed."""
        (found,) = self._cursors("")
        return found

    def lock(self, *, is_patient: bool = False) -> IndexCursor | None:
        """The same, and no other process indexes until this transaction ends; None if one does, unless it waits."""
        database = self._database
        found = self._cursors(database.for_update if is_patient else database.skip_locked)
        return found[0] if found else None

    def _cursors(self, suffix: str) -> list[IndexCursor]:
        found = self._database.rows(
            f"SELECT {', '.join(_CURSOR_COLUMNS)} FROM search_cursor WHERE one = 1{suffix}"
        )
        return [IndexCursor(**dict(zip(_CURSOR_COLUMNS, row, strict=True))) for row in found]  # type: ignore[arg-type]

    def move(self, cursor: IndexCursor) -> None:
        """Note how far the history was indexed."""
        given = ", ".join(f"{name} = :{name}" for name in _CURSOR_COLUMNS)
        self._database.run(
            f"UPDATE search_cursor SET {given} WHERE one = 1", **msgspec.structs.asdict(cursor)
        )

    def last_transition(self) -> int:
        """The number of the newest transition."""
        return log_end(self._database)

    def transitions(
        self, machines: Sequence[str], *, after: int, until: int, limit: int
    ) -> list[IndexedTransition]:
        """What happened to records of these machines after this number and up to that one, in order."""
        condition, params = self._database.among("machine", machines)
        return [
            IndexedTransition(
                seq=int(seq or 0),
                record_id=str(record_id),
                machine=str(machine),
                stage=str(stage or ""),
                version=int(version or 0),
                labels={} if labels is None else _decode_labels(str(labels)),
            )
            for seq, record_id, machine, stage, version, labels in self._database.rows(
                _FRESH.format(condition=condition),
                after=after,
                until=until,
                limit=limit,
                **params,
            )
        ]

    def output(self, record_id: str, version: int, stage: str) -> IndexedTransition | None:
        """An output whose indexing was begun, with what its record is; None if the record is gone."""
        found = self._database.rows(
            "SELECT machine, labels FROM records WHERE id = :record_id", record_id=record_id
        )
        for machine, labels in found:
            return IndexedTransition(
                seq=0,
                record_id=record_id,
                machine=str(machine),
                stage=stage,
                version=version,
                labels=_decode_labels(str(labels)),
            )
        return None

    # Writing

    def add(self, passages: Sequence[Passage]) -> None:
        """Store passages; the caller holds the lock of the cursor."""
        if not passages:
            return
        ((last,),) = self._database.rows("SELECT max(id) FROM search_texts")
        ids = range(int(last or 0) + 1, int(last or 0) + 1 + len(passages))
        rows: list[Row] = [
            (id_, each.record_id, each.stage, each.item, each.title, each.place, each.text)
            for id_, each in zip(ids, passages, strict=True)
        ]
        terms = [[*each.tags, *words(each.text)] for each in passages]
        if self._database.text_index == "tsvector":
            with_terms = [(*row, _vector(each)) for row, each in zip(rows, terms, strict=True)]
            self._database.insert(TEXTS_WITH_TERMS, with_terms)
        else:
            self._database.insert(TEXTS, rows)
            self._database.insert(
                TERMS, [(id_, " ".join(each)) for id_, each in zip(ids, terms, strict=True)]
            )

    def remove(self, record_id: str, stage: str) -> int:
        """Delete the passages of one stage of a record; how many there were."""
        return self._database.run(
            "DELETE FROM search_texts WHERE record_id = :record_id AND stage = :stage",
            record_id=record_id,
            stage=stage,
        )

    def remove_all(self, outputs: Iterable[tuple[str, str]]) -> None:
        """Delete the passages of many, each (record, stage)."""
        by_stage: dict[str, set[str]] = {}
        for record_id, stage in outputs:
            by_stage.setdefault(stage, set()).add(record_id)
        for stage, record_ids in by_stage.items():
            condition, params = self._database.among("record_id", sorted(record_ids))
            self._database.run(
                f"DELETE FROM search_texts WHERE {condition} AND stage = :stage",
                stage=stage,
                **params,
            )

    def clear_some(self) -> int:
        """Delete some passages; 0 when none is left. In steps, because one transaction for all would block others."""
        return self._database.run(
            "DELETE FROM search_texts WHERE id IN"
            f" (SELECT id FROM search_texts ORDER BY id LIMIT {DELETED_AT_ONCE})"
        )

    def count(self) -> int:
        ((count,),) = self._database.rows("SELECT count(*) FROM search_texts")
        return int(count or 0)

    # Searching

    def find(
        self,
        query: TextQuery,
        *,
        tags: Sequence[Sequence[str]] = (),
        condition: str = "TRUE",
        params: dict[str, object] | None = None,
        below: int | None = None,
        limit: int,
    ) -> list[FoundPassage]:
        """Passages that match, those that were indexed last first; with an id below `below`.

        Of each group of `tags` the passage has one. `condition` is over `records`, with its `params`.
        """
        write = _tsquery if self._database.text_index == "tsvector" else _fts5
        given = {**(params or {}), "match": write(query, tags)}
        exists = f"EXISTS (SELECT 1 FROM records WHERE records.id = t.record_id AND ({condition}))"
        found: list[FoundPassage] = []
        for number, (low, high) in enumerate(self._blocks(below)):
            sql = _FIND_RARE if number else _FIND[self._database.text_index]
            rows = self._database.rows(
                sql.format(condition=exists),
                **given,
                below=high,
                floor=low,
                limit=limit - len(found),
            )
            found += [_passage(row) for row in rows]
            if len(found) >= limit:
                break
        return found

    def _blocks(self, below: int | None) -> list[tuple[int, int]]:
        """Ranges of ids to search one after the other; FTS5 walks its matches in order and needs only one."""
        if below is None:
            ((last,),) = self._database.rows("SELECT max(id) FROM search_texts")
            below = int(last or 0) + 1
        newest = below - NEWEST
        if self._database.text_index == "fts5" or newest <= 0:
            return [(0, below)]
        return [(newest, below), (0, newest)]


def _passage(row: Row) -> FoundPassage:
    id_, record_id, stage, item, title, place, text = row
    return FoundPassage(
        id=int(id_ or 0),
        record_id=str(record_id),
        stage=str(stage),
        item=int(item or 0),
        title=str(title),
        place=str(place),
        text=str(text),
    )


# The two spellings of words and queries. Words have letters and digits only, so quoting them is all there is to do.


def _vector(terms: Sequence[str]) -> str:
    places: dict[str, list[str]] = {}
    for place, word in enumerate(terms, 1):
        places.setdefault(word, []).append(str(place))
    # PostgreSQL stores at most 256 places of a word.
    return " ".join(f"'{word}':{','.join(at[:256])}" for word, at in places.items())


def _tsquery(query: TextQuery, tags: Sequence[Sequence[str]]) -> str:
    def phrase(each: Phrase) -> str:
        parts = [f"'{word}'" for word in each.words]
        if each.is_prefix:
            parts[-1] += ":*"
        return f"({' <-> '.join(parts)})"

    wanted = [phrase(each) for each in query.wanted]
    tagged = [f"({' | '.join(map(repr, group))})" for group in tags]
    unwanted = [f"!{phrase(each)}" for each in query.unwanted]
    return " & ".join([*wanted, *tagged, *unwanted])


def _fts5(query: TextQuery, tags: Sequence[Sequence[str]]) -> str:
    def phrase(each: Phrase) -> str:
        return f'"{" ".join(each.words)}"' + (" *" if each.is_prefix else "")

    wanted = [phrase(each) for each in query.wanted]
    tagged = ["(" + " OR ".join(f'"{word}"' for word in group) + ")" for group in tags]
    match = f"({' AND '.join([*wanted, *tagged])})"
    for each in query.unwanted:
        match = f"({match} NOT {phrase(each)})"
    return match
