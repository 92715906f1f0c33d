"""What the fork server of the tests has loaded before it forks: the reader of statements, which most tests use.

A child of a test reads one small document and ends. Where it loads the reader by itself, as it does where no test runs,
that takes two thirds of its processor time. Runners are still imported by each child.
"""

import tempfile
from pathlib import Path

import rapidfuzz.distance
import rapidfuzz.process  # noqa: F401

import stateward.pipelines.statements.normalize
import stateward.pipelines.statements.parse  # noqa: F401
from stateward.pipelines.statements.readers import read_statement
from stateward.pipelines.statements.source import Bounds, Hints, Source

# What a reader loads with its first document, such as the profiles of banks.
with tempfile.TemporaryDirectory() as _folder:
    _path = Path(_folder) / "statement"
    _path.write_text("date;amount;text\n2026-01-01;12,50;shop\n")
    read_statement(Source(_path, Hints(), Bounds()))
