"""An engine whose outputs are searchable, for tests of the index and of the search over it."""

from collections.abc import Sequence

import msgspec

from stateward.app.search import Search, SearchResults
from stateward.core.model import Fields, Record
from stateward.core.query import parse_query
from stateward.definition.display import SearchableText
from stateward.engine.indexer import Indexer, Searchable
from stateward.storage.full_text import FullTextIndex
from stateward.storage.outputs import AttemptResult, Output
from stateward.testing.builders import a_machine
from stateward.testing.rig import Rig
from tests.engine.conftest import Opener

NOTE = a_machine()
MEMO = a_machine(machine="memo", prefix="MM")
REVIEWED = a_machine(
    machine="reviewed",
    prefix="RV",
    states={
        "new": "ready",
        "reading": "running",
        "read": "suspended",
        "kept": "terminal",
        "broken": "failed",
    },
    reviews={
        "approval": {
            "state": "read",
            "of": "read",
            "outcomes": {"approved": "kept", "rejected": "broken"},
            "timeout_s": 3600,
            "on_timeout": "broken",
        }
    },
)
REVIEWS = SearchableText(machine="reviewed", stage="read", fields=("text",), title="Lines")
NOTES = SearchableText(machine="note", stage="read", fields=("text",), title="Lines")
MEMOS = SearchableText(machine="memo", stage="read", fields=("text", "author"), where="at")
SCANS = SearchableText(
    machine="note", stage="read", fields=("ocr",), title="Scan", source_types=("scan",)
)


class Library:
    """An engine whose workers read documents line by line, with an index and a search over it."""

    def __init__(self, open_database: Opener, *declared: SearchableText) -> None:
        self.rig = Rig(open_database(), [NOTE, MEMO, REVIEWED])
        self.rig.worker()
        self.index = FullTextIndex(self.rig.database)
        self.ticks = 0.0
        self.indexer = self.new_indexer(*(declared or (NOTES, MEMOS, SCANS)))
        self.searches = Search(
            index=self.index,
            store=self.rig.store,
            registry=self.rig.registry,
            query=lambda text, now: parse_query(text, now=self.rig.clock() if now is None else now),
        )

    def new_indexer(self, *declared: SearchableText) -> Indexer:
        return Indexer(
            Searchable(declared),
            index=self.index,
            outputs=self.rig.outputs,
            ticks=lambda: self.ticks,
        )

    def read(
        self, *lines: str | Fields, machine: str = "note", chunks: int = 1, **labels: str
    ) -> Record:
        """A document whose stage made an item of each line."""
        record = self.rig.open(machine, labels=dict(labels))
        self.rig.settle()
        self.read_again(*lines, chunks=chunks)
        return record

    def read_again(self, *lines: str | Fields, chunks: int = 1) -> None:
        """The one stage that is assigned made an item of each line."""
        (work,) = self.rig.work()
        rows: list[Fields] = [{"text": each} if isinstance(each, str) else each for each in lines]
        result = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            worker=work.worker,
            at=self.rig.clock(),
            count=len(rows),
        )
        size = -(-len(rows) // chunks)
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        self.rig._end(work, Output(result, [(len(each), json_text(each)) for each in parts]))
        self.rig.settle()

    def all_indexed(self) -> None:
        while not self.indexer.is_done():
            self.indexer.step(is_busy=False)

    def find(self, text: str, machines: Sequence[str] = (), limit: int = 20) -> SearchResults:
        return self.searches.find(text, machines=machines, limit=limit)

    def texts(self, text: str, machines: Sequence[str] = ()) -> list[str]:
        """The snippets of what is found, in the order of the documents."""
        hits = sorted(self.find(text, machines).hits, key=lambda hit: (hit.record_id, hit.item))
        return ["".join(each.text for each in hit.snippet) for hit in hits]


def json_text(rows: Sequence[Fields]) -> str:
    return msgspec.json.encode(rows).decode()
