"""A settings file for one test."""

from pathlib import Path

import pytest


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "stateward.yaml"
