"""Read drawn exports and statements as `submit` would, and count by layout what a person would have got.

Stricter than `stateward eval`: a wrong statement whose only note says that nothing proves it counts as silent, because
every export without balances carries that note. And so does one that another pipeline would take: `submit` asks all of
them what a file is.
"""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from lab.documents.bank_pdfs import __main__ as pdfs
from lab.documents.banks import __main__ as exports
from stateward.app import App
from stateward.settings import Settings

QUIET = {"NOT_CHECKED"}
STATEMENT = ("bank_", "auto")  # source types that are read as statements
KINDS = ("exact", "false alarm", "flagged rightly", "silent")
WRITERS: dict[str, Callable[..., None]] = {
    "exports": exports.write,
    "further-exports": partial(exports.write, layout_set="further"),
    "third-exports": partial(exports.write, layout_set="third"),
    "fourth-exports": partial(exports.write, layout_set="fourth"),
    "pdf": pdfs.write,
    "further-pdf": partial(pdfs.write, layout_set="further"),
    "third-pdf": partial(pdfs.write, layout_set="third"),
}
Counts = dict[str, Counter[str]]


@click.command()
@click.option("--count", default=324, show_default=True, help="How many files of each kind.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option(
    "--only", type=click.Choice(list(WRITERS)), help="Only one set of exports or of PDFs."
)
@click.option("--keep", type=click.Path(path_type=Path), help="Leave files and findings here.")
def main(*, count: int, seed: int, only: str | None, keep: Path | None) -> None:
    """Measure the reading of exports and of PDFs, as banks write them and mutated."""
    is_silent = False
    for form in [only] if only else WRITERS:
        for is_mutated in (False, True):
            title = f"{form} {'mutated' if is_mutated else 'as banks write them'}"
            with TemporaryDirectory() as place:
                folder = keep / title.replace(" ", "-") if keep else Path(place)
                WRITERS[form](folder, count=count, seed=seed, is_mutated=is_mutated)
                is_silent |= measure(folder, title)
    sys.exit(1 if is_silent else 0)


def measure(folder: Path, title: str) -> bool:
    """Tables of what came out; gives whether anything was wrong in silence."""
    found, cost = evaluated(folder)
    tell_strays(folder, found)
    (folder / "found.json").write_text(json.dumps(found, ensure_ascii=False, indent=1), "utf-8")
    truths = {each["file"]: truth_of(folder / each["file"]) for each in found}
    layout = counted(found, lambda each: [each["file"].rpartition("-")[0]])
    total: Counter[str] = sum(layout.values(), Counter())
    show(f"{title}: {total.total()} files of {len(layout)} layouts", layout)
    if any("family" in truth for truth in truths.values()):
        show("by family of layouts", counted(found, lambda each: [truths[each["file"]]["family"]]))
    show("by change", counted(found, lambda each: truths[each["file"]]["changes"]))
    show("by note", counted(found, noted), is_whole=True)
    print(cost_of(folder, cost))
    return bool(total["silent"])


def evaluated(folder: Path) -> tuple[list[dict[str, Any]], tuple[float, int]]:
    """Every statement with its score and notes, by the command that users have; its processor time and memory."""
    command = [sys.executable, "-m", "stateward", "eval", "statements", str(folder), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        told = process.stdout.read()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0  # it has been waited for; what it says is in its output
    found: list[dict[str, Any]] = json.loads(told)["statements"]
    return found, (usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def tell_strays(folder: Path, found: Sequence[dict[str, Any]]) -> None:
    """Mark what would not be read as a statement at all, and name it."""
    with TemporaryDirectory() as data, App(Settings.load(environ={"STATEWARD_DATA": data})) as app:
        for each in found:
            best = app.plugins.candidates(folder / each["file"])[0]
            each["is_stray"] = not best.source_type.startswith(STATEMENT)
            if each["is_stray"]:
                print(f"{each['file']} would be taken by {best.machine} as {best.source_type}")


def truth_of(file: Path) -> dict[str, Any]:
    """What is true of a file."""
    truth: dict[str, Any] = json.loads(file.with_suffix(".truth.json").read_text("utf-8"))
    return truth


def kind_of(statement: dict[str, Any]) -> str:
    """What a person got."""
    if statement["is_stray"]:
        return "silent"
    says_so = bool(set(noted(statement)) - QUIET - {"no note"})
    if statement["score"]["exact"]:
        return "false alarm" if says_so else "exact"
    return "flagged rightly" if says_so else "silent"


def noted(statement: dict[str, Any]) -> list[str]:
    """The codes of a statement's notes and failure."""
    codes = {note.partition(":")[0] for note in statement["notes"]} | {statement["code"] or ""}
    return sorted(codes - {""}) or ["no note"]


def counted(
    found: Iterable[dict[str, Any]], names: Callable[[dict[str, Any]], Iterable[str]]
) -> Counts:
    """What people got, by each of the names of a statement."""
    counts: Counts = defaultdict(Counter)
    for each in found:
        for name in names(each):
            counts[name][kind_of(each)] += 1
    return counts


def show(title: str, counts: Counts, *, is_whole: bool = False) -> None:
    """A line for each name that is not all exact (or for each at all), and one for all."""
    print(f"\n{title}\n{'':<56}{''.join(f'{kind:>16}' for kind in KINDS)}")
    rows = [
        each for each in sorted(counts.items()) if is_whole or each[1]["exact"] < each[1].total()
    ]
    total: Counter[str] = sum(counts.values(), Counter())
    for name, own in [*rows, ("all", total)]:
        print(f"{name:<56}{''.join(f'{own[kind]:>16}' for kind in KINDS)}")


def cost_of(folder: Path, cost: tuple[float, int]) -> str:
    """Processor time and memory of the whole command."""
    seconds, kilobytes = cost
    pages = sum(each.read_bytes().count(b"/Type /Page ") for each in folder.glob("*.pdf"))
    each = f", {seconds * 1000 / pages:.1f} ms a page of {pages}" if pages else ""
    return f"\nprocessor time {seconds:.1f} s{each}; peak memory {kilobytes // 1024} MB"


if __name__ == "__main__":
    main()
