"""Importing this reads a small statement of the samples, so that what both stages load and look up is there.

For the process that children are forked from (`Plugin.preload`), and for nothing else.
"""

from pathlib import Path

from stateward.pipelines.kit.sample_run import run_sample
from stateward.pipelines.statements.normalize import normalize
from stateward.pipelines.statements.parse import parse

SAMPLE = Path(__file__).with_name("samples") / "checking-2026-01.csv"

run_sample(SAMPLE, {"parse": parse, "normalize": normalize})
