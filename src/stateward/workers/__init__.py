"""Runners: the author's kit, the children that foreign code runs in, the worker that feeds them.

Authors need `stateward.workers.sdk` (whose names stand here too) and nothing else. A runner never
sees a status, a store or a secret: it gets a `Job` and gives items, an `Outcome` or an error.
"""

from stateward.workers.sdk import (
    Chunk,
    Completed,
    Failed,
    Job,
    Limits,
    Outcome,
    Result,
    Runner,
    registered,
    run_runner,
    runner,
)

__all__ = [
    "Chunk",
    "Completed",
    "Failed",
    "Job",
    "Limits",
    "Outcome",
    "Result",
    "Runner",
    "registered",
    "run_runner",
    "runner",
]
