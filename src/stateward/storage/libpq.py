"""One connection to PostgreSQL as libpq has it, and batches of rows as one text.

psycopg opens the connection and loads the rows; statements go to its libpq wrapper directly, prepared
once, because a cursor costs 30 µs of CPU a statement more. Only `database.postgres` uses this module. It
knows nothing of units, schemas or our errors, except that text which PostgreSQL would cut is refused.
"""

import re
import select
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias, cast

import psycopg
from psycopg import errors, pq
from psycopg.adapt import Loader, Transformer
from psycopg.pq.abc import PGresult
from psycopg.types.string import TextLoader

from stateward.core.errors import StoreError
from stateward.storage.database import Cell, ColumnType, Row

PREPARED_MAX = 500
READS_MAX = 8

Param: TypeAlias = bytes | None


class Session:
    """Statements in, results out; its owner alone may use it.

    It waits with poll, so that other threads run meanwhile and Ctrl-C is heard.
    """

    def __init__(self, conninfo: str) -> None:
        self._connection = psycopg.connect(conninfo, autocommit=True)
        self._connection.adapters.register_loader("json", TextLoader)  # unchanged, not parsed
        self._connection.adapters.register_loader("numeric", NumberLoader)
        self._connection.add_notice_handler(self._hear)
        self._is_dismissed = False
        self._pgconn = self._connection.pgconn
        self._loader = Transformer(self._connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._readable = select.poll()
        self._readable.register(self.socket, select.POLLIN)

    @property
    def socket(self) -> int:
        """The descriptor of the connection."""
        return self._pgconn.socket

    @property
    def version(self) -> int:
        """The server's version: 130002 is 13.2."""
        return self._pgconn.server_version

    @property
    def encoding(self) -> str:
        """How the database keeps text."""
        return (self._pgconn.parameter_status(b"server_encoding") or b"").decode()

    @property
    def is_lost(self) -> bool:
        """Whether the server has hung up, or said that it will."""
        return self._is_dismissed or self._pgconn.status != pq.ConnStatus.OK

    @property
    def has_failed(self) -> bool:
        """Whether there is no transaction that could be committed, for a statement of it failed."""
        return self._pgconn.transaction_status != pq.TransactionStatus.INTRANS

    def is_idle(self) -> bool:
        """Whether a statement may be sent: in no transaction, and the server is still there."""
        return self._pgconn.transaction_status == pq.TransactionStatus.IDLE and self.drain()

    def drain(self) -> bool:
        """Take in what the server sent without being asked; False if the connection is lost."""
        try:
            for _ in range(READS_MAX):
                if not self._readable.poll(0):
                    break
                self._pgconn.consume_input()
                while self._pgconn.notifies() is not None:
                    pass
        except psycopg.OperationalError:
            return False
        return not self.is_lost

    def _hear(self, message: errors.Diagnostic) -> None:
        # Last words come some time before the end of the connection.
        self._is_dismissed |= message.severity_nonlocalized in ("FATAL", "PANIC")

    def command(self, sql: str) -> None:
        """Carry out statements without parameters, separated by semicolons."""
        self._pgconn.send_query(sql.encode())
        self._result()

    def statement(
        self, sql: str, params: Sequence[Param] = (), types: tuple[int, ...] = ()
    ) -> PGresult:
        """Carry out one statement, prepared once."""
        name = self._names.get((sql, types)) or self._prepare(sql, types)
        self._pgconn.send_query_prepared(name, params)
        return self._result()

    def _prepare(self, sql: str, types: tuple[int, ...]) -> bytes:
        if len(self._names) >= PREPARED_MAX:
            self.command("DEALLOCATE ALL")
            self._names.clear()
        name = b"stateward_%d" % len(self._names)
        self._pgconn.send_prepare(name, sql.encode(), types)
        self._result()
        self._names[sql, types] = name
        return name

    def copy(self, sql: str, data: bytes) -> None:
        """COPY lines of text into a table."""
        self._pgconn.send_query(sql.encode())
        self._result()
        self._pgconn.put_copy_data(data)
        self._pgconn.put_copy_end()
        self._result()

    def loaded(self, result: PGresult) -> list[Row]:
        """The rows of a result as Python values."""
        self._loader.set_pgresult(result)
        return cast("list[Row]", self._loader.load_rows(0, result.ntuples, tuple))

    def query(self, sql: str) -> list[Row]:
        """The rows of a query without parameters."""
        return self.loaded(self.statement(sql))

    def _result(self) -> PGresult:
        """The last result of what was sent; the first failure among them is raised."""
        pgconn = self._pgconn
        while pgconn.flush():
            self._wait_to_send()
        last: PGresult | None = None
        while (result := self._next_result()) is not None:
            if last is None or last.status != pq.ExecStatus.FATAL_ERROR:
                last = result
            if result.status == pq.ExecStatus.COPY_IN:
                break
        if last is None:
            raise psycopg.OperationalError("the server sent no answer")
        if last.status == pq.ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(last)
        return last

    def _next_result(self) -> PGresult | None:
        # get_result alone would wait as well, but with Python's lock in its hand.
        while self._pgconn.is_busy():
            self._readable.poll()
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _wait_to_send(self) -> None:
        # The server may have to be heard before it reads on.
        either = select.poll()
        either.register(self.socket, select.POLLIN | select.POLLOUT)
        either.poll()
        self._pgconn.consume_input()

    def undo(self) -> bool:
        """Roll back what is open; False if the connection is of no use after that."""
        status = pq.TransactionStatus
        with suppress(psycopg.Error):
            if self._pgconn.transaction_status in (status.INTRANS, status.INERROR):
                self.command("ROLLBACK")
        return self._pgconn.transaction_status == status.IDLE

    def close(self) -> None:
        """Hang up; the server undoes what is open."""
        self._connection.close()


class NumberLoader(Loader):
    """`numeric`, which sum() and avg() make of whole numbers: an int where whole, else a float."""

    def load(self, data: bytes | bytearray | memoryview) -> int | float:
        """The number that the text stands for."""
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


# Parameters of a statement

TOKENS = re.compile(
    r"""
    [eE]'(?:[^'\\]|''|\\.)*' | '(?:[^']|'')*' | "(?:[^"]|"")*"   # what is quoted stays as it is
    | --[^\n]* | /\*.*?\*/ | (?P<tag>\$\w*\$).*?(?P=tag)
    | ::                                                         # a cast is no parameter
    | \b(?P<not>NOT\s+)?IN\s*\(\s*(?P<list>:\w+(?:\s*,\s*:\w+)*)\s*\)
    | (?<!\w):(?P<name>[A-Za-z_]\w*)                             # nor is the slice a[1:n]
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
UNKNOWN, BOOL, BYTEA, INT8, FLOAT8, TEXT_ARRAY, INT8_ARRAY = 0, 16, 17, 20, 701, 1009, 1016


def bound(sql: str, params: dict[str, object]) -> tuple[str, list[Param], tuple[int, ...]]:
    """A statement with `:names` as libpq wants it: its text, the parameters, their types."""
    text, places = numbered(sql)
    pairs = [
        _dumped(params[place] if isinstance(place, str) else [params[name] for name in place])
        for place in places
    ]
    return text, [value for _, value in pairs], tuple([type_ for type_, _ in pairs])


@lru_cache(maxsize=1024)
def numbered(sql: str) -> tuple[str, tuple[str | tuple[str, ...], ...]]:
    """The statement with `$1` for the first name, and the names in that order.

    `IN (:a, :b, …)` becomes one array, so that lists of every length share a prepared statement.
    """
    numbers: dict[str | tuple[str, ...], int] = {}

    def number(token: re.Match[str]) -> str:
        if token["list"] is not None:
            names = tuple(name.strip(" \t\r\n:") for name in token["list"].split(","))
            place = numbers.setdefault(names, len(numbers) + 1)
            return f"<> ALL(${place})" if token["not"] else f"= ANY(${place})"
        if token["name"] is not None:
            return f"${numbers.setdefault(token['name'], len(numbers) + 1)}"
        return token[0]

    return TOKENS.sub(number, sql), tuple(numbers)


def _dumped(value: object) -> tuple[int, Param]:
    """A parameter's type (for text and NULL the statement decides) and its text form."""
    if value is None:
        return UNKNOWN, None
    if isinstance(value, str):
        return UNKNOWN, whole(value).encode()
    if isinstance(value, bool):
        return BOOL, b"t" if value else b"f"
    if isinstance(value, int):
        return INT8, b"%d" % value
    if isinstance(value, float):
        return FLOAT8, repr(value).encode()
    if isinstance(value, bytes):
        return BYTEA, b"\\x" + value.hex().encode()
    if isinstance(value, Sequence):
        return _dumped_array(tuple(value))
    raise TypeError(f"a {type(value).__name__} cannot be a parameter of a statement")


def _dumped_array(values: Row) -> tuple[int, Param]:
    if not values:
        return UNKNOWN, b"{}"
    if isinstance(values[0], int):
        return INT8_ARRAY, _number_array(values).encode()
    return TEXT_ARRAY, _text_array(values).encode()


def whole(text: str) -> str:
    """The same text; refused if it holds a NUL, where libpq would cut it without a word."""
    if "\0" in text:
        raise StoreError("PostgreSQL cannot keep the character NUL in a text; clean it first")
    return text


# A batch of rows, column by column: what a form forbids is looked for in all cells of a column at once,
# and escaped in one pass of C code, the cells joined by the NUL that none of them may hold.

ARRAY_ESCAPES = (("\\", "\\\\"), ('"', '\\"'))
LINE_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def arrays(types: Iterable[ColumnType], rows: Sequence[Row]) -> list[Param]:
    """For each column the text form of an array with its cells."""
    columns = zip(types, zip(*rows, strict=True), strict=True)
    return [ARRAYS[type_](cells).encode() for type_, cells in columns]


def lines(types: Iterable[ColumnType], rows: Sequence[Row]) -> bytes:
    """The rows as lines for COPY."""
    columns = zip(types, zip(*rows, strict=True), strict=True)
    written = [LINES[type_](cells) for type_, cells in columns]
    return ("\n".join(map("\t".join, zip(*written, strict=True))) + "\n").encode()


def _text_array(cells: Row) -> str:
    texts = _escaped(_texts(cells), ARRAY_ESCAPES)
    if not texts:
        return "{" + "NULL," * (len(cells) - 1) + "NULL}"
    if len(texts) == len(cells):
        return '{"' + '","'.join(texts) + '"}'
    rest = iter(texts)
    return "{" + ",".join(["NULL" if cell is None else f'"{next(rest)}"' for cell in cells]) + "}"


def _text_lines(cells: Row) -> Sequence[str]:
    texts = _escaped(_texts(cells), LINE_ESCAPES)
    if not texts:
        return ["\\N"] * len(cells)
    if len(texts) == len(cells):
        return texts
    rest = iter(texts)
    return ["\\N" if cell is None else next(rest) for cell in cells]


def _number_array(cells: Row) -> str:
    return "{" + repr(list(cells))[1:-1].replace("None", "NULL") + "}"


def _number_lines(cells: Row) -> Sequence[str]:
    return ["\\N" if cell is None else repr(cell) for cell in cells]


def _texts(cells: Row) -> Sequence[str]:
    present: Sequence[Cell] = cells
    if None in cells:  # a column is often empty from top to bottom
        is_empty = cells.count(None) == len(cells)
        present = () if is_empty else [cell for cell in cells if cell is not None]
    return cast("Sequence[str]", present)


def _escaped(texts: Sequence[str], escapes: Sequence[tuple[str, str]]) -> Sequence[str]:
    if not texts:
        return texts
    everything = whole("".join(texts))
    found = [escape for escape in escapes if escape[0] in everything]
    if not found:
        return texts
    joined = "\0".join(texts)
    for character, written in found:
        joined = joined.replace(character, written)
    return joined.split("\0")


ARRAYS: dict[ColumnType, Callable[[Row], str]] = {
    "text": _text_array,
    "json": _text_array,
    "bigint": _number_array,
    "double precision": _number_array,
    "boolean": _number_array,
}
LINES: dict[ColumnType, Callable[[Row], Sequence[str]]] = {
    "text": _text_lines,
    "json": _text_lines,
    "bigint": _number_lines,
    "double precision": _number_lines,
    "boolean": _number_lines,
}
