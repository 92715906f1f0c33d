"""SQL over a ledger: DuckDB reads the files themselves; this says which, and as what. It never writes to them."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stateward.ledger import Ledger

COLUMNS = {
    "doc_id": "VARCHAR", "old_state": "VARCHAR", "new_state": "VARCHAR", "timestamp": "DOUBLE", "adapter": "VARCHAR",
    "error_type": "VARCHAR", "error_message": "VARCHAR", "traceback": "VARCHAR", "retry_count": "BIGINT",
    "max_retries": "BIGINT", "duration_seconds": "DOUBLE", "metadata": "JSON", "resume": "VARCHAR", "actor": "VARCHAR",
    "source": "VARCHAR", "source_seq": "BIGINT", "seq": "BIGINT", "n": "BIGINT", "h": "VARCHAR",
}  # fmt: skip
LINE_BYTES_MAX = 64 << 20
SQL_CHARS_MAX = 1 << 20
MISSING = (
    "`ledger query` needs DuckDB, which is an optional part: pip install 'stateward[query]'. Without it, the files are "
    "plain JSON lines: zcat -f ledger/delta-* | jq"
)


def ask(ledger: "Ledger", sql: str) -> tuple[list[str], list[tuple[Any, ...]], list[str]]:
    """The names of the columns, the rows, and what is to be said about the files."""
    from stateward.core.errors import InvalidRequest
    from stateward.ledger.record import check_text

    try:
        import duckdb
    except ImportError as error:
        raise InvalidRequest(MISSING) from error
    check_text(sql, what="the query", chars_max=SQL_CHARS_MAX)
    with tempfile.TemporaryDirectory(prefix="stateward-query-") as scratch:
        files, notes = _files(ledger, Path(scratch))
        try:
            with duckdb.connect(":memory:") as connection:
                connection.execute(_table(files))
                found = connection.execute(sql)
                columns = [str(each[0]) for each in found.description or ()]
                return columns, found.fetchall(), notes
        except duckdb.Error as error:
            raise InvalidRequest(f"DuckDB: {error}") from error


def _files(ledger: "Ledger", scratch: Path) -> tuple[list[Path], list[str]]:
    """The files of the log; of the one that is written to, a copy of its whole lines if there is more in it."""
    from stateward.ledger.delta import without_padding

    files, notes = [], []
    for path, end in ledger.files():
        if end is None:
            files.append(path)
            continue
        with path.open("rb") as file:
            file.seek(end)
            torn = without_padding(file.read())
        if torn:
            notes.append(f"{path.name}: {len(torn)} bytes after the last whole line were left out")
            whole = scratch / path.name
            with path.open("rb") as file:
                whole.write_bytes(file.read(end))
            files.append(whole)
        else:
            files.append(path)
    return files, notes


def _table(files: list[Path]) -> str:
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
    if not files:
        empty = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in COLUMNS.items())
        return f"CREATE VIEW ledger AS SELECT {empty}, CAST(NULL AS TIMESTAMP) AS happened_at WHERE false"
    names = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    files_as_table = (
        f"read_json([{names}], format = 'newline_delimited', columns = {{{columns}}}, "
        f"maximum_object_size = {LINE_BYTES_MAX})"
    )
    moment = "make_timestamp(CAST(round(timestamp * 1000000) AS BIGINT)) AS happened_at"
    return f"CREATE VIEW ledger AS SELECT *, {moment} FROM {files_as_table} WHERE doc_id <> ''"  # noqa: S608 - ours
