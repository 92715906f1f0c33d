"""The documentation as the tests read it: links, and blocks that are carried out as they are printed.

A comment on the line before a fence says what a block is for; readers do not see it.

    <!-- run -->              carry out this `sh` block in the folder of the page; it must end with 0
    <!-- run exit=4 -->       the same, and it must end with 4
    <!-- file: name -->       write this block to that file
    <!-- prints -->           what the block before it printed, as a person saw it

A comment that begins with `setup` holds commands that make the page's beginning, and is not shown at all.

What differs from run to run is not compared: ids (but a page that shows an id may use it in its later commands),
times, hashes, workers, users, and the width of gaps. In a `prints` block `…` stands for any text, and a line of its
own for any lines.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from lab.brokers import free_port
from tests.waiting import WAIT_S_MAX

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOME = "/home/ann"  # what the pages call the folder that they run in
# A page starts its service at a port of its own. Another run on this machine may be at the same page.
PORT = re.compile(r"(?<!\d)84[2-4]\d(?!\d)")

MARKED = re.compile(
    r"<!-- setup\n(?P<setup>.*?)-->"
    r"|<!-- (?P<kind>run|file|prints)(?:[: ]+(?P<argument>\S+))? -->\n```\w*\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
RECORD_ID = re.compile(r"\b[A-Z]{1,8}_[0-9a-v]{32,36}\b")
CHANGING = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?"), "<time>"),
    (re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{32})\b|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}="), "<hash>"),
    (re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)"), "<date>"),
    (re.compile(r"\bprocess \d+ on [\w.-]+"), "process <number> on <host>"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s)(?= *( |$))", re.MULTILINE), "<time>"),
    (re.compile(r"\b[\w.-]*-\d+-\d{4,}\b"), "<worker>"),
    (re.compile(r"\bpid \d+"), "pid <number>"),
    (re.compile(r"\bperson:[\w.-]+"), "person:<name>"),
    (re.compile(r"\bafter [\d.]+ (ms|s)\b"), "after <time>"),
    (re.compile(r"\bin \d+\.\d+s\b"), "in <time>"),
    (re.compile(r"[ \t]+"), " "),
)


class Block(NamedTuple):
    """A marked block of a page."""

    kind: str
    argument: str
    body: str
    line: int


def pages(*folders: str) -> list[Path]:
    """The pages in these folders of the documentation."""
    return sorted(page for folder in folders for page in (DOCS / folder).glob("*.md"))


def blocks(text: str) -> Iterator[Block]:
    """The marked blocks of a page, in order."""
    for found in MARKED.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["setup"] is not None:
            yield Block("run", "", found["setup"], line)
        else:
            yield Block(found["kind"], found["argument"] or "", found["body"], line)


def fenced(text: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def links(text: str) -> Iterator[str]:
    """Where a page points to inside the repository; what stands in a fence is no link."""
    for target in LINK.findall(FENCED.sub("", text)):
        if "://" not in target and not target.startswith("mailto:"):
            yield target


def anchors(text: str) -> set[str]:
    """The names that the headings of a page can be linked to by."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Session:
    """A person at a shell in an empty folder, working through one page. What is left running ends with it."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder / "here"
        self.folder.mkdir()
        self.ids: dict[str, str] = {}  # as the page has it → as it really is
        self._ports: dict[str, str] = {}  # the same
        self._exports = folder / "exports"
        self._output = folder / "output"  # a file: a pipe would wait for what stays running
        self._environment = environment(folder / "bin") | variables
        self._shells: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for shell in self._shells:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()  # one that was given up on would be a warning in whichever test comes next

    def write(self, name: str, body: str) -> None:
        """A block that is a file."""
        (self.folder / name).write_text(self._here(body), "utf-8")

    def run(self, script: str) -> tuple[int, str]:
        """A block of commands: how it ended, and what it printed. What it exports holds from then on."""
        lines = (
            f"if [ -f '{self._exports}' ]; then . '{self._exports}'; fi",
            f"trap \"export -p > '{self._exports}'\" EXIT",
            "set -e",
            self._here(script),
        )
        with self._output.open("wb") as output:
            shell = subprocess.Popen(
                ["/bin/sh", "-c", "\n".join(lines)],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._shells.append(shell)
            code = shell.wait(WAIT_S_MAX)
        printed = self._output.read_text("utf-8").replace(str(self.folder), HOME)
        for shown, real in self._ports.items():
            printed = printed.replace(f":{real}", f":{shown}")
        return code, printed

    def is_printed(self, shown: str, printed: str) -> bool:
        """Whether this is what the page shows; ids that it shows for the first time are learnt."""
        pattern, groups = self._pattern(shown)
        found = re.fullmatch(pattern, _steady(printed))
        if found is not None:
            self.ids |= {written: found[group] for written, group in groups.items()}
        return found is not None

    def _here(self, text: str) -> str:
        text = RECORD_ID.sub(lambda found: self.ids.get(found[0], found[0]), text)
        text = PORT.sub(lambda found: self._port(found[0]), text)
        return text.replace(HOME, str(self.folder))

    def _port(self, shown: str) -> str:
        if shown not in self._ports:
            self._ports[shown] = str(free_port())
        return self._ports[shown]

    def _pattern(self, shown: str) -> tuple[str, dict[str, str]]:
        groups: dict[str, str] = {}

        def of_id(found: re.Match[str]) -> str:
            written = found[0]
            if written in self.ids:
                return self.ids[written]
            if written in groups:
                return f"(?P={groups[written]})"
            groups[written] = f"id{len(groups)}"
            return f"(?P<{groups[written]}>{RECORD_ID.pattern})"

        lines = []
        for line in _steady(shown).splitlines():
            if line.strip() == "…":
                lines.append(r"(?:.*\n)*?")
            else:
                escaped = re.escape(line).replace("…", ".*")
                lines.append(RECORD_ID.sub(of_id, escaped) + r"\n")
        return "".join(lines), groups


def environment(bin_folder: Path) -> dict[str, str]:
    """Variables of a shell that finds `stateward` and `python`, both of this interpreter, and no settings."""
    bin_folder.mkdir()
    for name, start in (("stateward", "-m stateward "), ("python", "")):
        script = bin_folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {start}"$@"\n')
        script.chmod(0o755)
    others = ("STATEWARD_", "PYTEST_")
    kept = {name: each for name, each in os.environ.items() if not name.startswith(others)}
    return kept | {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONUNBUFFERED": "1",  # so that what goes to stdout and to stderr keeps its order
    }


def _steady(text: str) -> str:
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
