"""Running the stages of a pipeline on a sample of its own, in the process that children are forked from.

For modules that `Plugin.preload` names, and for nothing else: half or more of what the first job of a child takes is
words, rules and patterns that are looked up or compiled while it reads.
"""

from pathlib import Path

from stateward.core.model import Fields
from stateward.workers.sdk import Completed, Job, Limits, Runner, RunnerFunction, run_runner


def run_sample(
    path: Path, stages: dict[str, RunnerFunction], options: dict[str, Fields] | None = None
) -> None:
    """Run stages on a document one after the other; AssertionError unless each completes."""
    chunks: dict[str, list[str]] = {}
    for name, function in stages.items():
        job = Job(
            record_id="", stage=name, path=path, items=chunks, options=(options or {}).get(name, {})
        )
        # The plain form of items will do, as nothing reads them.
        runner = Runner(f"sample.{name}", function)
        result = run_runner(runner, job, limits=Limits(), sleep=lambda _: None, now=lambda: 0)
        assert isinstance(result, Completed), result  # noqa: S101 - a sample of our own
        chunks[name] = [chunk.data for chunk in result.chunks]
