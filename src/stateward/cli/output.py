"""What a command writes: text that is safe on a terminal, JSON that is one document, tables, times.

File names, labels and messages come from strangers. Whatever of them could move a cursor, colour a
screen, forge a line or turn text round is written as an escape. Nothing here knows a record.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stateward.core.model import Micros

CELL_CHARS_MAX = 120
GAP = "  "
# C0, DEL and C1 controls, line and paragraph separators, marks that reorder text, half characters.
HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def safe(text: object) -> str:
    """A text on one line that cannot do anything to a terminal."""
    return HOSTILE.sub(_escape, str(text))


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def write(text: object = "") -> None:
    """A line of data on stdout. Commands never print by themselves, so nothing goes out unescaped."""
    print(safe(text))


def write_text(text: str) -> None:
    """A text of several lines on stdout."""
    for line in text.splitlines():
        write(line)


def json_text(value: object, *, is_pretty: bool) -> str:
    """One JSON document. What is hostile in its texts is escaped, which to JSON is the same text."""
    import msgspec

    raw = msgspec.json.encode(value)
    text = (msgspec.json.format(raw, indent=2) if is_pretty else raw).decode()
    lines = (HOSTILE.sub(_json_escape, line) for line in text.split("\n"))
    return "\n".join(lines)


def _json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def write_json(value: object) -> None:
    """One document on stdout, always in UTF-8, spread over lines only for a person to read."""
    _write_line(json_text(value, is_pretty=sys.stdout.isatty()))


def write_json_lines(values: Iterable[object]) -> None:
    """One document a line."""
    for value in values:
        _write_line(json_text(value, is_pretty=False))


def write_lines(lines: Iterable[str]) -> None:
    """Lines of a file in a foreign format, in UTF-8 and with their own ends; made safe only where a person looks."""
    is_seen = sys.stdout.isatty()
    sys.stdout.flush()
    for line in lines:
        text = safe(line.rstrip("\r\n")) + "\n" if is_seen else line
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def write_bytes(pieces: Iterable[bytes]) -> None:
    """A file on stdout, as it is; a person who asks for it at a terminal gets it there."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file that takes its name only when it is whole: what fails leaves the file of that name as it was.

    A new one is for its owner alone, since exports hold documents; one that was there is read by who could read it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        yield path  # a pipe or a device, such as /dev/stdout, is written to and never replaced
        return
    made = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        made.touch(mode=0o600)  # from the first byte on
        if path.exists():
            made.chmod(S_IMODE(path.stat().st_mode))
        yield made
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    made.replace(path)


def write_file(name: str, lines: Iterable[bytes]) -> int:
    """All lines under a name, or nothing; `-` is stdout. How many there were."""
    counter = count()
    counted = (line for line, _ in zip(lines, counter, strict=False))
    if name == "-":
        write_bytes(counted)
    else:
        with replacing(Path(name)) as made, made.open("wb") as file:
            file.writelines(counted)
    return next(counter)


def _write_line(text: str) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode() + b"\n")


def hand_over() -> None:
    """Let a reader have what was written so far; for commands that stay."""
    sys.stdout.flush()


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table: drawn for a terminal, in plain columns for a pipe."""
    cells = [[safe("" if cell is None else cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(columns, cells)
    else:
        _align(columns, cells)


def _draw(columns: Sequence[str], rows: list[list[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "id")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout, emoji=False, markup=False, highlight=False).print(table)


def _align(columns: Sequence[str], rows: list[list[str]]) -> None:
    lines = [list(columns), *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        padded = GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print(padded.rstrip())


def cut(text: str, *, chars_max: int = CELL_CHARS_MAX) -> str:
    """A text short enough for a cell."""
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"


def moment(at: "Micros | str") -> str:
    """An instant, in microseconds or as RFC 3339 in UTC, for people: to the second, and always with its zone."""
    from stateward.core.model import to_iso

    text = at if isinstance(at, str) else to_iso(at)
    return text[:19].replace("T", " ") + "Z"


def span(micros: int) -> str:
    """How long something took, as people say it."""
    seconds = micros / 1_000_000
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, days = minutes // 60, minutes // 1440
    if not hours:
        return f"{minutes} min {rest} s"
    return f"{days} d {hours % 24} h" if days else f"{hours} h {minutes % 60} min"


def plural(count: int, noun: str) -> str:
    from stateward.core import model

    return model.plural(count, noun)


def count_text(field: str, count: object) -> str:
    """A count that a record exposes, in words: `page_count` 3 is "3 pages", `canonicals_count` 1 "1 canonical"."""
    noun = field.removesuffix("_count").removesuffix("s").replace("_", " ")
    return plural(count, noun) if isinstance(count, int) else f"{count} {noun}s"
