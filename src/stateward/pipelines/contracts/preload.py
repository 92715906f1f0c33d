"""Importing this reads a small contract of the samples, so that the rules are loaded and their patterns compiled.

For the process that children are forked from (`Plugin.preload`), and for nothing else. A child that does it by itself
takes a second of processor time for it, and a contract of one page a hundredth of that.
"""

from pathlib import Path

from stateward.pipelines.contracts.stages import compare_offers, extract, parse, validate
from stateward.pipelines.kit.sample_run import run_sample

SAMPLE = Path(__file__).with_name("samples") / "wasser-talheim.txt"

run_sample(
    SAMPLE,
    {"parse": parse, "extract": extract, "validate": validate, "compare": compare_offers},
    {"compare": {"today": "2026-11-15"}},
)
