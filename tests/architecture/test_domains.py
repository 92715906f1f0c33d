"""No package outside `pipelines` names a domain: what a pipeline brings, it declares."""

import re
from pathlib import Path

from stateward.pipelines import literature, statements
from stateward.pipelines.literature import parse as literature_parse
from stateward.pipelines.statements import parse as statements_parse

PACKAGE = Path(__file__).parents[2] / "src" / "stateward"
SUFFIXES = {".py", ".yaml", ".html", ".js", ".mjs", ".css"}
DOMAINS = re.compile(
    r"contract|statement|\bbank|machine:upload|literature|lab_report|web_page|\bcatalogs\b|inspection"
    r"|--vertical|vertical=|\benergy\b|\btelco\b|insurance|\biban\b|--date-order|\bCW_",
    re.IGNORECASE,
)
# What every ledger on disk records as the name of its machine.
RECORDED = "machine: literature"
# Statements of SQL: in the packages that run them, and where a line says so.
SQL = re.compile(r"SQL|prepared|statementcachesize", re.IGNORECASE)
SQL_PLACES = ("storage/", "transport/")


def test_only_pipelines_name_a_domain() -> None:
    offenders = [
        f"{place}:{number}: {line.strip()[:100]}"
        for file in sorted(PACKAGE.rglob("*"))
        if file.suffix in SUFFIXES
        and not (place := file.relative_to(PACKAGE).as_posix()).startswith(
            ("pipelines/", *SQL_PLACES)
        )
        and "/vendor/" not in place
        and DOMAINS.search(text := file.read_text("utf-8"))
        for number, line in enumerate(text.splitlines(), start=1)
        if DOMAINS.search(line)
        and not SQL.search(line)
        and "_OURS = " not in line
        and line != RECORDED
    ]

    assert offenders == []


def test_the_version_of_a_reader_is_the_one_that_is_declared() -> None:
    """A plug-in declares it as a number of its own, because its reader is not imported before it reads."""
    assert statements.PLUGIN.readers == {"upload.parse": statements_parse.READER_VERSION}
    assert literature.PLUGIN.readers == {"literature.parse": literature_parse.READER_VERSION}
