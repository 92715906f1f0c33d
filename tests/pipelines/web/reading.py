"""Running the stages of web pages by themselves: no database, no coordinator, no child."""

from collections.abc import Mapping
from pathlib import Path

import stateward.pipelines.web.runners  # noqa: F401 - registers them
from stateward.core.model import Json
from stateward.workers.sdk import Failed, Job, Result, SavedValues
from tests.pipelines import two_stages
from tests.pipelines.two_stages import JsonRow, a_job, rows_of, run

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


class Read(two_stages.Read):
    """What became of one file."""

    def __init__(self, job: Job, parsed: Result, normalized: Result | None) -> None:
        super().__init__(parsed, normalized)
        self.job = job

    @property
    def pages(self) -> list[JsonRow]:
        return [row for row in rows_of(self.parsed) if row["kind"] == "page"]

    @property
    def printed(self) -> list[JsonRow]:
        return [row for row in rows_of(self.parsed) if row["kind"] != "page"]

    @property
    def facts(self) -> list[JsonRow]:
        return [row for row in rows_of(self.normalized) if row["kind"] != "page"]

    def text(self, place: str = "parse/page.txt") -> str:
        stage, _, name = place.partition("/")
        return self.job.file(stage, name).read_text("utf-8")


def read(
    folder: Path,
    data: bytes,
    *,
    options: Mapping[str, Json] | None = None,
    runner: str = "web.parse",
    saved: SavedValues | None = None,
    retry_count: int = 0,
) -> Read:
    """Both stages over some bytes."""
    path = folder / "page"
    path.write_bytes(data)
    job = a_job("parse", path, options=options, saved=saved, retry_count=retry_count)
    parsed = run(runner, job)
    if isinstance(parsed, Failed):
        return Read(job, parsed, None)
    after = a_job("normalize", path, options=options, parsed=parsed)
    return Read(job, parsed, run("web.normalize", after))
