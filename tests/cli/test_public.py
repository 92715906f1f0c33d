"""The public names of the package: exactly these, and nothing is imported before it is used."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import stateward
from stateward.core import errors

ROOT = Path(__file__).parents[2]


def test_all_is_exactly_the_public_names() -> None:
    assert sorted(stateward.__all__) == sorted([*stateward._MODULE_OF, "__version__"])
    assert dir(stateward) == sorted(stateward.__all__)


@pytest.mark.parametrize("name", stateward.__all__)
def test_a_public_name_is_there(name: str) -> None:
    value = getattr(stateward, name)

    assert value is not None
    assert getattr(value, "__name__", name) == name


def test_every_error_is_public() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.StatewardError)
    }

    assert raised <= set(stateward.__all__)


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = stateward.nothing  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert stateward.__version__ == project["version"]


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import stateward", ["msgspec", "click", "stateward.app"]),
        ("import stateward.cli", ["msgspec", "yaml", "rich", "structlog", "apsw", "stateward.app"]),
        (
            "import stateward.engine.node; from stateward.ledger import DOCUMENT_MACHINE",
            [
                "stateward.ledger.ledger",
                "stateward.ledger.writer",
                "stateward.ledger.checkpoint_export",
            ],
        ),
    ],
)
def test_importing_is_cheap(code: str, heavy: list[str]) -> None:
    script = f"import sys; {code}; print([name for name in {heavy} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
