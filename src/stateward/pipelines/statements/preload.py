"""Importing this reads a small statement of the samples, so that what both stages load and look up is there.

For the process that children are forked from (`Plugin.preload`), and for nothing else.
"""

from pathlib import Path

from stateward.pipelines.statements.normalize import normalize
from stateward.pipelines.statements.parse import parse
from stateward.workers.sdk import Completed, Job, Limits, Runner, run_runner

SAMPLE = Path(__file__).with_name("samples") / "checking-2026-01.csv"


def _read() -> None:
    chunks: dict[str, list[str]] = {}
    for stage, function in (("parse", parse), ("normalize", normalize)):
        job = Job(record_id="", stage=stage, path=SAMPLE, items=chunks)
        runner = Runner(f"upload.{stage}", function)
        result = run_runner(runner, job, limits=Limits(), sleep=lambda _: None, now=lambda: 0)
        assert isinstance(result, Completed), result  # noqa: S101 - a sample of our own
        chunks[stage] = [chunk.data for chunk in result.chunks]


_read()
