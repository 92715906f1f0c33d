"""Runners: the author's kit, the children that foreign code runs in, the worker that feeds them.

Authors need `stateward.workers.sdk` (whose names stand here too) and nothing else. A runner never sees a status, a
store or a secret: it gets a `Job` and gives items, an `Outcome` or an error.

A name is looked up when it is first used: most commands import something below and need no kit.
"""

from typing import TYPE_CHECKING

from stateward.lazy_names import look_up_in

if TYPE_CHECKING:
    from stateward.workers.sdk import (
        Chunk,
        Completed,
        Failed,
        Job,
        Limits,
        Outcome,
        Result,
        Runner,
        registered_runners,
        run_runner,
        runner,
    )

__all__ = [
    "Chunk", "Completed", "Failed", "Job", "Limits", "Outcome", "Result", "Runner", "registered_runners", "run_runner",
    "runner",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take every name for one that exists
    __getattr__ = look_up_in(__name__, {"stateward.workers.sdk": __all__})
