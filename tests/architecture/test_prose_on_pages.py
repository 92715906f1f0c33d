"""Prose of the documentation is on its pages: what measures something writes figures between markers, and no text."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHARS_MAX = 600
WORDS_SHARE = 0.6
"""Of a text in sentences, more words than these are letters alone; documents that are drawn and tables have fewer."""
SOURCES = [
    path
    for folder in (ROOT / "lab", ROOT / "tools", ROOT / "tests" / "ledger" / "proof")
    for path in sorted(folder.rglob("*.py"))
    if (ROOT / "lab" / "documents") not in path.parents
]


def prose(source: str) -> Iterator[int]:
    """The lines at which long texts begin that are no docstrings."""
    tree = ast.parse(source)
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split()
            is_long = len(node.value) > CHARS_MAX and id(node) not in statements
            if is_long and sum(map(str.isalpha, words)) > WORDS_SHARE * len(words):
                yield node.lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_is_not_kept_in_code(path: Path) -> None:
    assert list(prose(path.read_text("utf-8"))) == []


def test_a_page_in_code_is_found() -> None:
    text = "A sentence that belongs on a page of the documentation. " * 20

    assert list(prose(f'"""A module.\n\n{text}"""\n\nPAGE = """{text}"""\n')) == [5]
