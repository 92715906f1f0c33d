"""What the rounds found, as a table, and between two marks of a page of the documentation."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from lab.chaos.rounds import DEATH_CODES, Outcome

BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"
HEAD = "| fault | store | rounds | violations | records | refused submits | recovery p50 | max | bound |"


def line(outcome: Outcome) -> str:
    """A round on one line, and a line more for each violation."""
    took = "-" if outcome.recovery_s is None else f"{outcome.recovery_s:.1f} s"
    first = (
        f"{'ok ' if outcome.is_well else 'BAD'} {outcome.kind:18} {outcome.store:8} seed {outcome.seed}: "
        f"{outcome.records} records, {outcome.affected} hit, recovery {took} of {outcome.bound_s:g} "
        f"({outcome.what}; {outcome.took_s:.0f} s)"
    )
    kept = [f"     kept in {outcome.folder}"] if outcome.folder else []
    return "\n".join([first, *(f"     {violation}" for violation in outcome.violations), *kept])


def table(outcomes: Sequence[Outcome]) -> str:
    """One row for each fault on each store."""
    pairs = list(dict.fromkeys((outcome.kind, outcome.store) for outcome in outcomes))
    rows = [
        _row(kind, store, [each for each in outcomes if (each.kind, each.store) == (kind, store)])
        for kind, store in sorted(pairs)
    ]
    return "\n".join([HEAD, "|" + "---|" * HEAD.count(" |"), *rows])


def _row(kind: str, store: str, outcomes: Sequence[Outcome]) -> str:
    times = [each.recovery_s for each in outcomes if each.recovery_s is not None]
    cells = (
        kind,
        store,
        str(len(outcomes)),
        str(sum(len(each.violations) for each in outcomes)),
        f"{sum(each.records for each in outcomes):,}",
        f"{sum(each.refusals for each in outcomes):,}",
        f"{median(times):.1f} s" if times else "-",
        f"{max(times):.1f} s" if times else "-",
        f"{max(each.bound_s for each in outcomes):g} s",
    )
    return f"| {' | '.join(cells)} |"


def page(path: Path, outcomes: Sequence[Outcome], *, command: str) -> None:
    """Put the results between the marks of a page; the rest of it stays as it is."""
    text = path.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(
        "\n".join([before + BEGIN, "", *_words(outcomes, command), "", END]) + after, "utf-8"
    )


def _words(outcomes: Sequence[Outcome], command: str) -> list[str]:
    found = sum(len(outcome.violations) for outcome in outcomes)
    hours = sum(outcome.took_s for outcome in outcomes) / 60
    return [
        f"`{command}` on {datetime.now(UTC):%Y-%m-%d}: **{len(outcomes)} rounds, {found} violations**, "
        f"{sum(outcome.records for outcome in outcomes):,} records and "
        f"{sum(outcome.transitions for outcome in outcomes):,} transitions checked, in {hours:.0f} minutes on "
        f"{machine()}. {sum(outcome.deaths for outcome in outcomes):,} of the records rest with "
        f"{', '.join(f'`{code}`' for code in DEATH_CODES[:-1])} or `{DEATH_CODES[-1]}`.",
        "",
        table(outcomes),
    ]


def machine() -> str:
    """The machine in a few words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores ({platform.machine()}, {memory:.0f} GiB), {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )
