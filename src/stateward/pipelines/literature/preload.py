"""Importing this reads a small paper of the samples, and loads what a request to a source needs.

For the process that children are forked from (`Plugin.preload`), and for nothing else. Each identifier is fetched by a
child that asks its source once or twice and ends: a sixth of its processor time went into loading the HTTP client.
"""

from contextlib import suppress
from pathlib import Path

from stateward.pipelines.kit.sample_run import run_sample

# The first holds the file whose locks all children share.
from stateward.pipelines.literature import politeness, sources  # noqa: F401
from stateward.pipelines.literature.stages import parse, validate

with suppress(ModuleNotFoundError):  # a bare install comes without it
    import httpx2  # noqa: F401 - the first request imports it

SAMPLE = Path(__file__).with_name("samples") / "rye-bread.xml"

run_sample(SAMPLE, {"parse": parse, "validate": validate})
