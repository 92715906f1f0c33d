"""What is said about the code is so: the walk names what exists and stays short, the tables hold its layers."""

import re
import tomllib

import pytest

from tests.docs.pages import DOCS, ROOT

STEP = re.compile(
    r"^\d+\. \*\*`(?P<path>[^`]+)`\*\*: (?P<text>.*?)(?=^\d+\. |^\S|\Z)", re.MULTILINE | re.DOTALL
)
FILES_MAX = 8


def test_the_walk_follows_one_upload_through_at_most_eight_files() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text("utf-8")
    steps = [(match["path"], match["text"]) for match in STEP.finditer(page)]

    sources = "\n".join((ROOT / path).read_text("utf-8") for path, _ in steps)
    assert 0 < len(steps) <= FILES_MAX
    missing = [
        f"{path}: {name}"
        for path, text in steps
        for name in re.findall(r"`([A-Za-z_.]+)`", text.partition("\n\n")[0])
        if not all(re.search(rf"\b{part}\b", sources) for part in name.split("."))
    ]
    assert missing == []


@pytest.mark.parametrize("page", ["docs/explanation/architecture.md", "CONTRIBUTING.md"])
def test_the_table_of_packages_is_that_of_the_import_rules(page: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    layers = [set(re.findall(r"\w+", layer)) for layer in contracts[0]["layers"]]

    table = [
        set(re.findall(r"`(\w+)`", row))
        for row in re.findall(
            r"^\| ([^|]*) \|.*\|$", (ROOT / page).read_text("utf-8"), re.MULTILINE
        )
    ]

    assert [row for row in table if row and not row - set().union(*layers)] == layers
