"""Contracts that wait for a person, on a real engine whose time stands still."""

import json
from collections.abc import Sequence
from typing import Any

from stateward.core.model import (
    OUTSIDE,
    SEQUENCING,
    Fields,
    Record,
    Work,
)
from stateward.engine.answers import DecisionRequest
from stateward.engine.reviews import Reviews
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.storage.database import Database
from stateward.storage.outputs import AttemptResult, Output, result_event
from stateward.testing.rig import Rig

ADA, BOB, WINDMILL = "person:ada@k1", "person:bob@k2", "sequencer:windmill@k3"
SUBMITTER = "person:test"
FOUND: list[Fields] = [
    {"field": "provider", "value": "Vattenfall", "confidence": 95, "unit": ""},
    {"field": "monthly_rate", "value": "65.90", "confidence": 40, "unit": "EUR"},
    {"field": "tariff_name", "value": None, "confidence": 0, "unit": ""},
]
DOUBTFUL: Fields = {"final_confidence": 40, "valid": True}


class ReviewEngine:
    """One engine with a worker that finds what it is told to find, and its reviews."""

    def __init__(self, database: Database, **how: Any) -> None:  # noqa: ANN401 - the words of Reviews
        self.rig = Rig(database, [how.pop("machine", CONTRACT)])
        self.refuses: dict[str, str] = {}
        words: dict[str, Any] = {"claim_s": 900.0, "undo_s": 10.0, "self_approval": "auto", **how}
        self.reviews = Reviews(
            database=database,
            store=self.rig.store,
            outputs=self.rig.outputs,
            coordinator=words.pop("coordinator", lambda: self.rig.coordinator),
            registry=self.rig.registry,
            clock=self.rig.clock,
            has_keys=words.pop("has_keys", lambda: False),
            judge=self._judge,
            **words,
        )

    def _judge(
        self, record: Record, items: Sequence[Fields], named: Sequence[str]
    ) -> tuple[Sequence[Fields], Sequence[tuple[str, str]]]:
        return items, [(name, said) for name, said in self.refuses.items() if name in named]

    def contract(
        self,
        *,
        is_externally_driven: bool = False,
        found: Sequence[Fields] = FOUND,
        by: str = SUBMITTER,
    ) -> Record:
        """A contract that waits for a person."""
        labels: Fields = {SEQUENCING: OUTSIDE} if is_externally_driven else {}
        record = self.rig.open("contract", labels=labels, artifact="ab" * 32, actor=by)
        self.rig.worker()
        for stage, items, facts in (
            ("parse", [{"text": "x"}], {}),
            ("extract", found, {}),
            ("validate", [], DOUBTFUL),
        ):
            self.rig.settle()
            if is_externally_driven and stage != "validate":
                self.rig.ask(f"{stage}.requested", record)
            self.rig.settle()
            (work,) = [each for each in self.rig.work() if each.record_id == record.id]
            assert work.stage == stage
            self.end(work, items, facts)
        self.rig.settle()
        return self.rig.now(record)

    def end(self, work: Work, items: Sequence[Any], facts: Fields) -> None:
        """A worker ends an attempt well."""
        mark = AttemptResult(
            record_id=work.record_id,
            version=work.version,
            stage=work.stage,
            worker=work.worker,
            at=self.rig.clock(),
            count=len(items),
            facts=facts,
        )
        with self.rig.database.transaction():
            self.rig.bus.finish([work])
            chunks = ((len(items), json.dumps(list(items))),) if items else ()
            (seal,) = self.rig.outputs.write([Output(mark, chunks)])
            assert seal
            self.rig.bus.report([result_event(mark, seal)])

    def decides(self, record: Record, action: str, *, by: str = ADA, **parts: Any) -> Record:  # noqa: ANN401
        """A person answers, or the external driver for one."""
        return self.reviews.decide(
            DecisionRequest(record_id=record.id, action=action, actor=by, **parts)
        )
