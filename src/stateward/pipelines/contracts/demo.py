"""The story that `stateward demo` tells of contracts: one fails for want of rules, gets them, and goes on."""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from stateward.definition.plugin import DemoApp

LACKING = "water.yaml"
SAMPLE = "samples/wasser-talheim.txt"


def add_missing_rules(app: DemoApp, data: Path) -> Iterable[str]:
    """Give the rules what the failed contract lacked, and have it tried again."""
    failed = app.record_of(SAMPLE)
    if failed.status != "failed":  # an earlier run has done it
        return
    folder = data / "contract-rules"
    folder.mkdir(parents=True, exist_ok=True)
    text = (files("stateward.pipelines.contracts") / "samples" / "rules" / LACKING).read_text(
        "utf-8"
    )
    (folder / LACKING).write_text(text, "utf-8")
    app.retry(SAMPLE, reason=f"{LACKING} was added")
    name = failed.labels.get("filename")
    yield f"{name} failed, got what it lacked, and went on at that step:"
    yield f"{failed.error_code}: {failed.error_message}"
