"""The page on security names a test for each control, and each of these tests exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "security.md"
CONTROLS = 23


def test_each_control_names_tests_and_each_of_them_exists() -> None:
    rows = [
        (int(row[1]), re.findall(r"`(test_\w+\.py)::(test_\w+)`", row[0]))
        for row in re.finditer(r"^\| (\d+) \|.*$", PAGE.read_text("utf-8"), re.MULTILINE)
    ]

    assert [number for number, _ in rows] == list(range(1, CONTROLS + 1))
    assert [number for number, named in rows if not named] == []
    missing = [
        f"{file}::{name}" for _, named in rows for file, name in named if not has(file, name)
    ]
    assert missing == []


def has(file: str, name: str) -> bool:
    return any(f"def {name}(" in path.read_text("utf-8") for path in ROOT.glob(f"tests/**/{file}"))
