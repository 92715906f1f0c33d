"""`make scale`: fill a store with finished records, and measure what people do with it.

    python -m lab.scale docs/explanation/scale.md --records 10000000 --folder /var/tmp/scale

Each step is the command that a person would give, in a process of its own: its time, its processor time and the most
memory that it held (the system counts what this process held when it started it, about 100 MiB, as the least). The
pages are whole answers of the console over loopback. A folder that holds such a store already is filled up; without
--folder one is made in the place for temporary files, and removed at the end.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import quote

import httpx2
from msgspec.structs import replace

from lab.bench.report import bullets, machine, markdown, number, write_between
from lab.scale.fill import DAYS, DOCUMENT_EACH, Plan, fill
from lab.scale.pipeline import LAST, MACHINE
from stateward.app import App
from stateward.console import console
from stateward.server.http_server import Server
from stateward.settings import Settings
from stateward.storage.sqlite import SqliteDatabase

ROOT = Path(__file__).parents[2]
RECORDS = 1_000_000
NAME = "millions"
KIB = 1024
ROUNDS = 5
NEW_SHARE = 0.01  # of the records, which come between two backups
OLD_SHARE = 0.01  # of the records, whose contents the rule of retention deletes
SAID_MAX = 160

Tell = Callable[[str], None]


class Step(NamedTuple):
    """What was done, and what it took; `said` is what the command said of itself."""

    what: str
    wall_s: float
    cpu_s: float | None = None
    mib: float | None = None
    said: str = ""


class Scene:
    """A store in a folder of its own, to be filled and measured."""

    def __init__(self, folder: Path, records: int) -> None:
        self.folder, self.records, self.asked = folder, records, records
        self.config = folder / "settings.yaml"
        folder.mkdir(parents=True, exist_ok=True)
        days = DAYS * (1 - OLD_SHARE)
        self.config.write_text(
            f"data: {folder / 'data'}\npipelines: [lab.scale.pipeline]\n"
            f"{MACHINE.name}_record: {{metrics: {{enabled: true}}}}\nretention:\n  rules:\n"
            f"    - {{pipeline: {MACHINE.name}, older_than_days: {days:g}, "
            "delete: [documents, items, logs, contents]}\n"
        )
        self.settings = Settings.load(self.config, environ={})

    def fill(self, tell: Tell) -> Step:
        """See to it that all records are there."""
        begin, cpu = time.perf_counter(), time.process_time()
        with App(self.settings) as app, ExitStack() as stack:
            database = SqliteDatabase(self._store, is_durable=False)
            stack.callback(database.close)
            there = sum(app.dashboard.counts().values())
            plan = Plan(self.records, app.clock())
            fill(plan, app, database, tell=lambda count: _count(tell, count))
        return Step(
            "fill",
            time.perf_counter() - begin,
            time.process_time() - cpu,
            said=f"{max(0, self.records - there):,} records",
        )

    def command(self, what: str, *words: str) -> Step:
        """What `stateward` with these words takes."""
        command = [sys.executable, "-m", "stateward", "--config", str(self.config), *words]
        said = self.folder / "said.txt"
        begin = time.perf_counter()
        with said.open("wb") as file:
            child = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
            _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        lines = said.read_text("utf-8", "replace").splitlines() or [""]
        if child.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(words)}: {lines[-1]}")
        return Step(
            what,
            time.perf_counter() - begin,
            used.ru_utime + used.ru_stime,
            used.ru_maxrss / KIB,
            "" if lines[-1].startswith("{") else lines[-1].replace(str(self.folder), "")[:SAID_MAX],
        )

    def pages(self) -> Iterator[Step]:
        """The console and the metrics, in a service on this store."""
        settings = replace(self.settings, api=replace(self.settings.api, port=0))
        with (
            Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server,
            httpx2.Client(base_url=server.url, timeout=600) as client,
        ):
            for what, path in PAGES:
                yield _asked(client, what, path)

    def opening(self) -> Step:
        """From nothing to an app that can be asked."""
        took = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            App(self.settings).close()
            took.append(time.perf_counter() - begin)
        return Step("open the store", median(took))

    @property
    def _store(self) -> Path:
        path = self.settings.store_path
        if path is None:
            raise SystemExit("the store is no file")
        return path

    @property
    def gib(self) -> float:
        """The size of the database."""
        return self._store.stat().st_size / KIB**3


PAGES = (
    ("page: board", "/console"),
    ("page: records", "/console/records"),
    ("page: records of a status", "/console/records?q=" + quote(f"status:{LAST}")),
    ("page: how many in a status", "/console/records/count?q=" + quote(f"status:{LAST}")),
    ("page: record by its number", "/console/records?q=SC_"),
    ("metrics", "/metrics"),
)


def measure(scene: Scene, *, tell: Tell) -> Iterator[Step]:
    """Every step, as it is measured. What deletes comes last."""
    backups, checkpoint = str(scene.folder / "backups"), str(scene.folder / "checkpoint")
    yield scene.fill(tell)
    yield scene.opening()
    yield from scene.pages()
    yield scene.command("list: the newest 50", "list", "--jsonl")
    yield scene.command("list: by file name", "list", "document:scale", "--limit", "50", "--jsonl")
    yield scene.command("counts", "counts")
    yield scene.command("doctor", "doctor")
    yield scene.command("backup: first", "backup", backups)
    yield scene.command("backup: second, nothing new", "backup", backups)
    scene.records += round(scene.records * NEW_SHARE)
    yield scene.fill(tell)
    yield scene.command("backup: third, a hundredth new", "backup", backups)
    yield scene.command("backup: check", "backup", backups, "--check")
    shutil.rmtree(backups)
    yield scene.command("retention: what it would delete", "retention")
    yield scene.command("retention: run", "retention", "--yes")
    yield scene.command("list: an age that no record has", "list", "age>1100d", "--jsonl")
    yield scene.command("verify", "verify", "--out", checkpoint)


def _asked(client: httpx2.Client, what: str, path: str) -> Step:
    """The median of some answers; the first time does not count, but is told."""
    took: list[float] = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        client.get(path).raise_for_status()
        took.append(time.perf_counter() - begin)
    return Step(what, median(took[1:]), said=f"the first time {took[0]:.2f} s")


def _count(tell: Tell, count: int) -> None:
    if count % 100_000 == 0:
        tell(f"{count:,} records")


def table(scene: Scene, steps: Sequence[Step]) -> str:
    """What was found, in Markdown."""
    about = [
        *machine(command=f"make scale RECORDS={scene.asked}"),
        f"SQLite, {scene.records:,} finished records of three transitions, {scene.gib:.1f} GiB; every "
        f"{DOCUMENT_EACH}th has a document",
    ]
    rows = [
        (
            each.what,
            f"{each.wall_s:,.2f}",
            number(each.cpu_s, "{:,.1f}"),
            number(each.mib, "{:,.0f}"),
            each.said,
        )
        for each in steps
    ]
    head = ("what", "seconds", "CPU s", "most MiB", "what it said")
    return f"{bullets(about)}\n\n{markdown(head, rows)}"


def main() -> None:
    """Measure, and put the table into a page."""
    parser = argparse.ArgumentParser(prog="python -m lab.scale")
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scene = Scene(folder, given.records)
        steps = []
        for step in measure(scene, tell=lambda text: print(text, flush=True)):
            print(step, flush=True)
            steps.append(step)
        text = table(scene, steps)
    if given.page is not None:
        write_between(given.page, NAME, text)
    print(text)


if __name__ == "__main__":
    main()
