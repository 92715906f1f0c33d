"""What the ledger's tests build with: a clock that stands still, documents on their way, plain models."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from stateward.ledger import Ledger, LedgerState
from stateward.ledger.disk import Disk
from stateward.ledger.states import DOCUMENT_MACHINE

START = 1_759_536_000.0  # 2025-10-04T00:00:00Z
DAY_S = 86_400.0


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def tick(self, seconds: float = 1.0) -> None:
        self.now += seconds


@contextmanager
def in_layers(share: float = 1) -> Iterator[None]:
    """Small ledgers get snapshots above others too; the upper one may be 1 / `share` of the lower one."""
    with (
        patch("stateward.ledger.layers.LAYER_BYTES_MIN", 0),
        patch("stateward.ledger.layers.LAYER_SHARE", share),
    ):
        yield


class QuickDisk(Disk):
    """The real calls without the syncs, for tests that are not about power cuts."""

    def fdatasync(self, fd: int) -> None:
        pass

    def fsync(self, fd: int) -> None:
        pass

    def sync_dir(self, path: Path) -> None:
        pass


def a_ledger(path: Path, *, clock: Clock | None = None, disk: Disk | None = None) -> Ledger:
    return Ledger.open(path, clock=clock or Clock(), disk=disk or QuickDisk())


def walk(rng: random.Random, doc_id: str, states: dict[str, str]) -> LedgerState | None:
    """A state that the document may go to by itself; None when its way has ended."""
    if doc_id not in states:
        return LedgerState.PENDING
    now = states[doc_id]
    if DOCUMENT_MACHINE.kind[now] in ("terminal", "failed"):
        return None
    return LedgerState(rng.choice(DOCUMENT_MACHINE.allowed_from(now)))


def moves(
    rng: random.Random, documents: int, states: dict[str, str]
) -> Iterator[tuple[str, LedgerState]]:
    """Endless legal moves; `states` is kept up to date by the caller."""
    while True:
        doc_id = f"doc:{rng.randrange(documents)}"
        state = walk(rng, doc_id, states)
        if state is not None:
            yield doc_id, state
        elif all(walk(rng, f"doc:{each}", states) is None for each in range(documents)):
            return


def states_of(ledger: Ledger) -> dict[str, str]:
    """Every document's state, by walking through all of them."""
    return {each.doc_id: str(each.state) for each in ledger.documents()}
