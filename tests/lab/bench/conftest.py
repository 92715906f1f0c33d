"""The command line, on a folder that measuring must leave alone."""

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The command line on a data folder that is not there."""
    return Shell(tmp_path / "data")
