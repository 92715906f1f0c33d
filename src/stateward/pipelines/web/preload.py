"""Importing this reads a page of the samples, so that what finds the main text and the facts of a page is loaded.

For the process that children are forked from (`Plugin.preload`), and for nothing else.
"""

from pathlib import Path

from stateward.pipelines.kit.sample_run import run_sample
from stateward.pipelines.web.normalize import normalize
from stateward.pipelines.web.parse import parse

SAMPLE = Path(__file__).with_name("samples") / "funding-round.html"

run_sample(SAMPLE, {"parse": parse, "normalize": normalize})
