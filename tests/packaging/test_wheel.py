"""`pip install stateward` into an empty environment: small, complete, and clear about what is missing."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Environment

# The first of them builds a wheel and installs it: most of a minute on a free machine, far more on a busy one.
pytestmark = pytest.mark.timeout(1200)

DIRECT_MAX = 8


def first_python_block(page: str) -> str:
    """The first Python example of a page."""
    found = re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_at_most_eight_packages_are_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert len(project["dependencies"]) <= DIRECT_MAX


def test_every_extra_is_part_of_all() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]

    everything = extras.pop("all")

    named = [name for one in everything for name in one[len("stateward[") : -1].split(",")]
    assert named == [*extras]


def test_the_wheel_holds_the_package_and_nothing_of_the_lab(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.partition("/")[0] for name in names}
    assert tops == {"stateward", f"{wheel.name.partition('-py3')[0]}.dist-info"}


@pytest.mark.long
def test_the_first_example_of_the_readme_runs_with_no_extra(
    bare: Environment, tmp_path: Path
) -> None:
    example = first_python_block((ROOT / "README.md").read_text("utf-8"))
    (tmp_path / "example.py").write_text(example, "utf-8")

    printed = bare.run("example.py", folder=tmp_path)

    assert printed.strip()


def test_the_command_line_works_with_no_extra(bare: Environment, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))

    assert bare.command("--help").returncode == 0
    assert bare.command(*data, "list", folder=tmp_path).returncode == 0
    assert bare.command(*data, "verify", folder=tmp_path).returncode == 4  # there is nothing yet
    assert bare.command(*data, "doctor", folder=tmp_path).returncode in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("up",), "server"),
        (("--server", "http://127.0.0.1:9", "list"), "client"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    bare: Environment, tmp_path: Path, arguments: tuple[str, ...], extra: str
) -> None:
    done = bare.command("--data", str(tmp_path / "data"), *arguments, folder=tmp_path)

    assert done.returncode == 4, done.stdout + done.stderr
    assert f"pip install 'stateward[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert (
        "http://" not in done.stdout + done.stderr
    )  # no address is announced that will not answer


def test_a_postgres_store_without_its_driver_says_what_to_install(
    bare: Environment, tmp_path: Path
) -> None:
    config = tmp_path / "stateward.yaml"
    config.write_text("store: {url: 'postgresql:///nowhere'}\n")

    done = bare.command("--config", str(config), "list", folder=tmp_path)

    assert done.returncode == 4, done.stdout + done.stderr
    assert "pip install 'stateward[postgres]'" in done.stderr


def test_a_document_whose_reader_is_not_installed_says_so(
    bare: Environment, tmp_path: Path
) -> None:
    sample = ROOT / "src/stateward/pipelines/statements/samples/statement-2026-01.pdf"

    done = bare.command(
        "--data", str(tmp_path / "data"), "submit", str(sample), "--wait", folder=tmp_path
    )

    assert done.returncode == 1, done.stdout + done.stderr
    assert "pip install 'stateward[" in done.stdout + done.stderr
