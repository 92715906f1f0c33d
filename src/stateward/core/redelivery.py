"""Whether work whose process died is delivered again, or its document has shown that it kills what runs it. Pure.

A worker, a service or a child process that dies is not a failure of the document that it had. Only evidence makes it
one: several processes died after each had begun this document. What died before it began the document (it was still
queued, or the child was still loading) proves nothing, and is bounded only so that nothing goes on for ever.
"""

from collections.abc import Sequence

import msgspec

from stateward.core.model import Loss

WORKER_LOST = "WORKER_LOST"
"""The code of an attempt that is not delivered again."""


class RedeliveryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`deliveries_max`: deaths after the document was begun. `redeliveries_max`: deliveries after the first, in all."""

    deliveries_max: int = 3
    redeliveries_max: int = 10

    @property
    def losses_max(self) -> int:
        """How many losses there can be, begun or not, before the attempt has failed."""
        return max(self.deliveries_max, self.redeliveries_max + 1)


def stop_reason(losses: Sequence[Loss], limits: RedeliveryLimits) -> str | None:
    """Why work with these losses is not delivered again; None if it is."""
    begun = [loss for loss in losses if loss.has_begun]
    if len(begun) >= limits.deliveries_max:
        workers = len({loss.worker for loss in begun})
        return (
            f"{_times(len(begun), 'process')} died after {_they(begun)} had begun this document,"
            f" on {_times(workers, 'worker')} (worker.deliveries_max)"
        )
    if len(losses) >= limits.losses_max:
        return (
            f"{_times(len(losses), 'process')} died, {len(begun)} of them after they had begun this document"
            " (worker.redeliveries_max)"
        )
    return None


def workers_to_avoid(losses: Sequence[Loss]) -> frozenset[str]:
    """The workers that another one is preferred to, so that the fault of a machine is told from one of the document."""
    return frozenset(loss.worker for loss in losses)


def loss_line(loss: Loss, number: int) -> str:
    """A loss in a sentence, for the log of the attempt and for `explain`."""
    when = "after it had begun this document" if loss.has_begun else "before it began this document"
    return f"delivery {number} was lost on worker {loss.worker}, {when}: {loss.cause}"


def _they(some: Sequence[object]) -> str:
    return "it" if len(some) == 1 else "they"


def _times(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"
