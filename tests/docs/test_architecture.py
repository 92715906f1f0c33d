"""The walk through the code names files and names that exist, and stays short."""

import re

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
