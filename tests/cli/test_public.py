"""The public names of the package: exactly these, and nothing is imported before it is used."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import stateward
from stateward.cli import cli
from stateward.core import errors

ROOT = Path(__file__).parents[2]


def test_all_is_exactly_the_public_names() -> None:
    named = [name for names in stateward._MODULES.values() for name in names]

    assert sorted(stateward.__all__) == sorted([*named, "__version__"])
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
    assert imported(code, heavy) == []


# What each command does without. PyYAML alone is a tenth of the time of `list`.
NEVER = ["rich", "structlog", "litestar", "uvicorn", "httpx", "yaml", "tempfile", "socket", "json"]
NEVER += ["importlib.metadata", "importlib.resources", "zipfile", "difflib", "csv", "random"]
NEVER += ["stateward.server", "stateward.console", "stateward.workers.sdk", "stateward.client"]
NEVER += ["hmac", "stateward.app.key_file", "stateward.storage.keys", "stateward.storage.sessions"]
NEVER += ["stateward.definition.declare", "stateward.engine.coordinator", "stateward.app.actions"]


def test_help_imports_no_command_and_no_store() -> None:
    heavy = [*NEVER, "apsw", "hashlib", "stateward.app", "stateward.settings", "stateward.schemas"]
    heavy += [f"stateward.cli.{each}" for each in ("records", "submit", "review", "ledger", "up")]
    heavy.remove("random")  # which click's own help brings

    assert imported(command("--help"), heavy) == []


def test_a_list_imports_what_a_list_needs(tmp_path: Path) -> None:
    code = command("--data", str(tmp_path), "list")
    imported(code, [])  # migrates the store and compiles state machines, where that was not done

    assert imported(code, NEVER) == []


def test_the_help_says_of_a_command_what_its_own_help_says_first() -> None:
    with cli.make_context("stateward", ["list"]) as context:
        found = {
            name: (doc, own.get_short_help_str(1000))
            for _, section in cli.sections
            for name, (_, doc) in section.items()
            if (own := cli.get_command(context, name)) is not None
        }

    assert {name: doc for name, (doc, _) in found.items()} == {
        name: doc for name, (_, doc) in found.items()
    }
    assert len(found) == sum(len(section) for _, section in cli.sections)


def command(*words: str) -> str:
    start = "from contextlib import suppress; from stateward.cli import cli"
    return f"{start}\nwith suppress(SystemExit): cli.main({words})"


def imported(code: str, heavy: list[str]) -> list[str]:
    """Those of the modules that are there after this code."""
    script = f"import sys; {code}\nprint([name for name in {heavy} if name in sys.modules])"
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=variables
    )

    found: list[str] = ast.literal_eval(done.stdout.splitlines()[-1])
    return found
