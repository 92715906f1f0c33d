"""Search by meaning: records whose texts have vectors near to that of a query.

The rows to compare come from a file that is mapped into memory (`app.vector_file`), or from the database itself where
it can compare vectors (`storage.pgvector`).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from stateward.app.vector_file import NearRows, VectorFile
from stateward.core.errors import InvalidRequest
from stateward.storage.database import Database
from stateward.storage.pgvector import PgVectors, has_pgvector
from stateward.storage.vectors import Vectors, unpacked_vector

ROWS_FOUND = 1000
# Of the first answer, among which a query that is moved towards its best is asked again: comparing all rows twice would
# take twice as long, and what a moved query finds is near to what it found before.
ROWS_NEAR = 3000
ROWS_FETCHED = 1000
ROWS_LOOKED_UP = 250
RECORDS_FOUND = 200
FEEDBACK_SHARE = 0.6
ALIKE_MIN = 0.99  # of a vector with itself: rounding makes it no less


class VectorIndex(Protocol):
    """Where the rows of a machine are that are near to a vector."""

    def near(self, asked: Sequence[float], *, limit: int) -> NearRows:
        """The rows that are most alike."""


class DatabaseVectors:
    """Those that the database finds itself."""

    def __init__(self, vectors: PgVectors) -> None:
        self._vectors = vectors

    def near(self, asked: Sequence[float], *, limit: int) -> NearRows:
        """The rows that are most alike; fewer, because each comes from the server."""
        import numpy as np

        found = sorted(self._vectors.nearest(asked, limit=min(limit, ROWS_FETCHED)))
        rows = np.zeros((len(found), len(asked)), np.float32)
        for place, (_, vector) in enumerate(found):
            rows[place] = unpacked_vector(vector)
        return NearRows(np.array([number for number, _ in found], np.intp), rows)


EmbedQuery: TypeAlias = "Callable[[str, str], tuple[str, Sequence[float]] | None]"
"""(machine, text) to the name of a model and the vector of the text; None where no embedder is set."""


class VectorSearch:
    """Records whose texts are alike in meaning."""

    def __init__(
        self,
        folder: Path,
        vectors: Vectors,
        *,
        embed: EmbedQuery,
        database: Database | None = None,
    ) -> None:
        self._folder = folder
        self._database = database
        self._vectors = vectors
        self._embed = embed
        self._indexes: dict[str, VectorIndex] = {}

    def query(self, machine: str, text: str) -> "MeaningQuery":
        """One search in the documents of a machine."""
        made = self._embed(machine, text)
        if made is None:
            raise InvalidRequest(
                "no embedder is set, so that meanings cannot be compared; search without --hybrid, or see the"
                " documentation of the pipeline"
            )
        model, asked = made
        return MeaningQuery(
            asked,
            near=self._index(machine).near(asked, limit=ROWS_NEAR),
            records=lambda rows: self._vectors.records(machine, rows, model=model),
        )

    def missing(self, machine: str, record_id: str, vectors: Sequence[str], *, model: str) -> str:
        """Why these vectors of a record are not found; "" if all have a row, and a search for the first finds it."""
        rows = self._vectors.of_record(machine, record_id, model=model)
        if not vectors or any(each not in rows for each in vectors):
            return f"{len(rows)} of its {len(vectors)} vectors by {model} are in the index"
        vector = unpacked_vector(vectors[0]).tolist()
        numbers, scores = self._index(machine).near(vector, limit=ROWS_NEAR).best(vector)
        alike = numbers[scores > ALIKE_MIN].tolist()
        # More documents than are looked at may have the very same vector; then it need not be among them.
        is_found = rows[vectors[0]] in alike or len(alike) >= ROWS_FETCHED
        return "" if is_found else "a search for its own vector does not find it"

    def _index(self, machine: str) -> VectorIndex:
        if machine not in self._indexes:
            database = self._database
            self._indexes[machine] = (
                VectorFile(self._folder, machine, self._vectors)
                if database is None or not has_pgvector(database)
                else DatabaseVectors(PgVectors(database, machine, self._vectors))
            )
        return self._indexes[machine]


class MeaningQuery:
    """One search by meaning, which can be moved towards documents that it found."""

    def __init__(
        self,
        asked: Sequence[float],
        *,
        near: NearRows,
        records: Callable[[Sequence[int]], Mapping[int, str]],
    ) -> None:
        self._asked = asked
        self._near = near
        self._records = records
        self._best: dict[str, int] = {}
        self._known: dict[int, str | None] = {}

    def find(self) -> dict[str, float]:
        """The records that are most alike, with how alike their best piece is (-1 to 1)."""
        found, scores = self._near.best(self._asked)
        alike: dict[str, float] = {}
        for start in range(0, min(ROWS_FOUND, len(found)), ROWS_LOOKED_UP):
            rows: list[int] = found[start : start + ROWS_LOOKED_UP].tolist()
            known = self._look_up(rows)
            for row, score in zip(
                rows, scores[start : start + ROWS_LOOKED_UP].tolist(), strict=True
            ):
                record_id = known[row]
                if record_id is not None and len(alike) < RECORDS_FOUND:
                    alike.setdefault(record_id, score)
                    self._best.setdefault(record_id, row)
            if len(alike) == RECORDS_FOUND:
                break
        return alike

    def _look_up(self, rows: Sequence[int]) -> Mapping[int, str | None]:
        """The records of rows; the second look mostly finds those of the first."""
        unknown = [row for row in rows if row not in self._known]
        if unknown:
            self._known |= dict.fromkeys(unknown) | dict(self._records(unknown))
        return self._known

    def towards(self, record_ids: Sequence[str]) -> dict[str, float]:
        """The same for a query that is moved towards these records, of those that were found."""
        rows = [self._best[each] for each in record_ids if each in self._best]
        self._asked = self._near.moved(self._asked, rows, share=FEEDBACK_SHARE)
        return self.find()
