"""Running the stages of web pages by themselves: no database, no coordinator, no child."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stateward.pipelines.web.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    Result,
    SavedValues,
    registered,
    run_runner,
)

JsonRow = dict[str, Any]
LONG = (
    "The committee met again in the afternoon and talked about the matter until the evening came. "
)


def a_page(*sentences: str, language: str = "en", head: str = "") -> bytes:
    """A page whose main text is these sentences, between a menu and a footer."""
    paragraphs = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return (
        f"<!DOCTYPE html><html lang='{language}'><head><meta charset='utf-8'><title>A page</title>{head}</head><body>"
        f"<nav><a href='/'>Home</a> <a href='/login'>Log in</a></nav><article><h1>A page</h1>{paragraphs}</article>"
        "<footer>Imprint and cookies</footer></body></html>"
    ).encode()


class Read:
    """What became of one file."""

    def __init__(self, job: Job, parsed: Result, normalized: Result | None) -> None:
        self.job = job
        self.parsed = parsed
        self.normalized = normalized

    @property
    def error(self) -> Failed:
        for result in (self.parsed, self.normalized):
            if isinstance(result, Failed):
                return result
        raise AssertionError("nothing failed")

    @property
    def pages(self) -> list[JsonRow]:
        return [row for row in rows_of(self.parsed) if row["kind"] == "page"]

    @property
    def printed(self) -> list[JsonRow]:
        return [row for row in rows_of(self.parsed) if row["kind"] != "page"]

    @property
    def facts(self) -> list[JsonRow]:
        return [row for row in rows_of(self.normalized) if row["kind"] != "page"]

    @property
    def notes(self) -> list[str]:
        assert isinstance(self.normalized, Completed), self.normalized
        notes = self.normalized.facts.get("notes") or []
        assert isinstance(notes, list)
        return [str(note).partition(":")[0] for note in notes]

    def text(self, place: str = "parse/page.txt") -> str:
        stage, _, name = place.partition("/")
        return self.job.file(stage, name).read_text("utf-8")


def rows_of(result: Result | None) -> list[JsonRow]:
    assert isinstance(result, Completed), result
    return [row for chunk in result.chunks if chunk.count for row in json.loads(chunk.data)]


def read(
    folder: Path,
    data: bytes,
    *,
    options: Mapping[str, Json] | None = None,
    runner: str = "web.parse",
    saved: SavedValues | None = None,
) -> Read:
    """Both stages over some bytes."""
    path = folder / "page"
    path.write_bytes(data)
    job, parsed = _run(runner, "parse", path, options, saved=saved)
    if isinstance(parsed, Failed):
        return Read(job, parsed, None)
    chunks = [chunk.data for chunk in parsed.chunks]
    _, normalized = _run("web.normalize", "normalize", path, options, items={"parse": chunks})
    return Read(job, parsed, normalized)


def _run(
    runner: str,
    stage: str,
    path: Path,
    options: Mapping[str, Json] | None,
    items: Mapping[str, list[str]] | None = None,
    saved: SavedValues | None = None,
) -> tuple[Job, Result]:
    job = Job(
        record_id="UL_1",
        stage=stage,
        path=path,
        items=items,
        options=dict(options or {}),
        saved_values=saved,
    )
    limits = Limits(transient_attempts=1)
    return job, run_runner(
        registered()[runner], job, limits=limits, sleep=lambda _: None, now=lambda: 0
    )
