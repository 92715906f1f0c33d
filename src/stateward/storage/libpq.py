"""One connection to PostgreSQL at the level of libpq, and batches of rows as text.

psycopg opens the connection and converts rows; statements go to its libpq wrapper directly, prepared once, because a
cursor costs 30 µs more CPU per statement. Only `storage.postgres` uses this module. It knows nothing of transactions,
schemas or our errors, except that it refuses text which PostgreSQL would cut.
"""

import re
import select
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple, NoReturn, TypeAlias, cast

import psycopg
from psycopg import errors, pq
from psycopg.adapt import Loader, Transformer
from psycopg.pq.abc import PGresult
from psycopg.types.string import TextLoader

from stateward.core.errors import StoreError
from stateward.storage.database import Cell, ColumnType, Row

PREPARED_MAX = 500  # statements per connection; the server keeps the plan of each in memory
# Of what the server sends unasked: a flood of it must not keep a caller from its statement.
READS_MAX = 8

# Statements that wait for the next one with a result; each holds the rows of one insert.
QUEUE_MAX = 16

Param: TypeAlias = bytes | None


class Queued(NamedTuple):
    """A statement whose result is not waited for. `params` None: a command, which is not worth preparing."""

    sql: str
    params: Sequence[Param] | None = None
    types: tuple[int, ...] = ()
    take: "Callable[[list[Row]], None] | None" = None
    """Called with the rows, of a statement that has some."""
    joins: "Joining | None" = None
    """How it is written as a part of the statement that commits; None if it must be one of its own."""


class Joining(NamedTuple):
    """A statement as a part of another one, which takes its parameters too.

    `table` is the one that it changes. `is_checked`: the last parameter is how many rows it must return.
    """

    table: str
    sql: str
    width: int
    is_checked: bool = False


# Goes before what follows on what was sent ahead: had that failed before its BEGIN, the rest would be a transaction by
# itself. What is sent ahead locks or writes, so that the transaction has a number.
GOES_ON = Queued("SELECT 1 / (pg_current_xact_id_if_assigned() IS NOT NULL)::int", ())


class Session:
    """Sends statements and receives results; used by one thread at a time.

    It waits with poll and not inside libpq, so that other threads run meanwhile and Ctrl-C works.
    """

    def __init__(self, conninfo: str) -> None:
        self._connection = psycopg.connect(conninfo, autocommit=True)
        self._connection.adapters.register_loader(
            "json", TextLoader
        )  # as text: what was hashed must come back byte for byte
        self._connection.adapters.register_loader("numeric", NumberLoader)
        self._connection.add_notice_handler(self._on_notice)
        self._is_terminating = False
        self._pgconn = self._connection.pgconn
        self._loader = Transformer(self._connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._queue: list[Queued] = []
        self._ahead: tuple[Queued, ...] = ()  # sent, and not answered
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
        """The character encoding of the database."""
        return (self._pgconn.parameter_status(b"server_encoding") or b"").decode()

    @property
    def is_lost(self) -> bool:
        """Whether the server has closed the connection, or announced that it will."""
        return self._is_terminating or self._pgconn.status != pq.ConnStatus.OK

    @property
    def has_failed(self) -> bool:
        """Whether a statement of the transaction failed, so that it cannot be committed."""
        status = self._pgconn.transaction_status
        return not self._ahead and status != pq.TransactionStatus.INTRANS

    def is_idle(self) -> bool:
        """Whether a statement may be sent: no transaction is open, and the server is still there."""
        return self._pgconn.transaction_status == pq.TransactionStatus.IDLE and self.drain()

    def drain(self) -> bool:
        """Read what the server sent without being asked; False if the connection is lost."""
        return self.drain_notifications() is not None

    def drain_notifications(self) -> set[str] | None:
        """Read what the server sent without being asked: the notified channels, or None if the connection is lost."""
        channels: set[str] = set()
        try:
            for _ in range(READS_MAX):
                if not self._readable.poll(0):
                    break
                self._pgconn.consume_input()
                while (notified := self._pgconn.notifies()) is not None:
                    channels.add(notified.relname.decode())
        except psycopg.OperationalError:
            return None
        return None if self.is_lost else channels

    def _on_notice(self, message: errors.Diagnostic) -> None:
        # A server that shuts down says so some time before it closes the connection. Acting on that message saves a
        # statement that would otherwise fail.
        self._is_terminating |= message.severity_nonlocalized in ("FATAL", "PANIC")

    # Statements whose result is not waited for are queued and travel with the next one that has a result, in the
    # pipeline mode of libpq: they cost the server as much, but no round trip and no wake-up of either process.

    @property
    def queued(self) -> "tuple[Queued, ...]":
        """What was queued and not sent yet."""
        return tuple(self._queue)

    def put(self, queued: "Queued") -> bool:
        """Queue a statement, unless it is time to send what is queued."""
        if len(self._queue) >= QUEUE_MAX - 1:
            return False
        self._queue.append(queued)
        return True

    def later(self, *queued: "Queued") -> None:
        """Queue statements; a failure of one is raised by the statement that they travel with."""
        self._queue += queued
        if len(self._queue) >= QUEUE_MAX:
            self.flush()

    def now(self, *queued: "Queued") -> None:
        """Execute statements, after what is queued."""
        self._queue += queued
        self.flush()

    def take_joining(self) -> "list[Queued]":
        """Take the last statements out of the queue, as far as they can be parts of another one.

        Of each table one: parts of a statement do not see what the others write, and have no order.
        """
        start = len(self._queue)
        tables: set[str] = set()
        while start and (part := self._queue[start - 1].joins) and part.table not in tables:
            tables.add(part.table)
            start -= 1
        taken, self._queue = self._queue[start:], self._queue[:start]
        return taken

    def forget(self) -> None:
        """Drop what is queued."""
        self._queue.clear()

    def push(self) -> None:
        """Send what is queued and go on: the server begins with it. It is answered with the next statement.

        Something of it must lock or write a row, inside a transaction.
        """
        if self._queue and not self._ahead:
            sent = tuple(self._queue)
            used = (GOES_ON, *sent)
            _, *names = self._known_names_of(used) or self._names_of(used)
            self._pgconn.enter_pipeline_mode()
            self._send(sent, names)
            # The server counts as idle only after it: a process that is stopped now must not hold its locks for ever.
            self._pgconn.pipeline_sync()
            self._push()
            self._ahead = sent
            self._queue.clear()

    def flush(self) -> None:
        """Send what is queued, and wait until it is done."""
        if self._queue or self._ahead:
            self._pipeline(self._queue)

    def command(self, sql: str) -> None:
        """Execute statements without parameters, separated by semicolons."""
        self.flush()
        self._pgconn.send_query(sql.encode())
        self._result()

    def statement(
        self, sql: str, params: Sequence[Param] = (), types: tuple[int, ...] = ()
    ) -> PGresult:
        """Execute one statement, prepared once."""
        if self._queue or self._ahead:
            return self._pipeline([*self._queue, Queued(sql, params, types)])
        name = self._names.get((sql, types))
        if name is None:
            self._limit_prepared({(sql, types)})
            name = self._name(sql, types)
        self._pgconn.send_query_prepared(name, params)
        return self._result()

    def _pipeline(self, queued: "Sequence[Queued]") -> PGresult:
        """Send several statements at once; the result of the last one, or the first failure."""
        sent = tuple(queued)  # the queue itself is emptied below
        if self._ahead and sent:
            sent = (GOES_ON, *sent)
        names = self._known_names_of(sent)
        if names is None:
            if self._ahead:
                self._answers(())  # nothing is prepared in a pipeline
            names = self._names_of(sent)
        if not self._ahead:
            self._pgconn.enter_pipeline_mode()
        return self._answers(sent, names)

    def _known_names_of(self, sent: "Sequence[Queued]") -> list[bytes | None] | None:
        """The names of prepared statements; None if one of them is not prepared yet."""
        known = self._names
        try:
            return [None if each.params is None else known[each.sql, each.types] for each in sent]
        except KeyError:
            return None

    def _names_of(self, sent: "Sequence[Queued]") -> list[bytes | None]:
        """The names of prepared statements."""
        # Not in the pipeline: if it is aborted, what was to be prepared in it is not.
        self._limit_prepared({(each.sql, each.types) for each in sent if each.params is not None})
        return [None if each.params is None else self._name(each.sql, each.types) for each in sent]

    def _send(self, sent: "Sequence[Queued]", names: Sequence[bytes | None]) -> None:
        for each, name in zip(sent, names, strict=True):
            if name is None or each.params is None:
                self._pgconn.send_query_params(each.sql.encode(), None)
            else:
                self._pgconn.send_query_prepared(name, each.params)

    def _answers(self, more: "tuple[Queued, ...]", names: Sequence[bytes | None] = ()) -> PGresult:
        """Send the last statements of a pipeline and end it; the result of the last one, or the first failure."""
        ahead, self._ahead = self._ahead, ()
        results: list[PGresult] = []
        try:
            self._send(more, names)
            if more:
                self._pgconn.pipeline_sync()
            self._push()
            for part in (ahead, more):
                if part:
                    results += self._piped_results(len(part))
        finally:
            if more:
                self._queue.clear()
            with suppress(psycopg.Error):  # of a connection that was lost
                self._pgconn.exit_pipeline_mode()
        for result in results:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise errors.error_from_result(result)
        for each, result in zip((*ahead, *more), results, strict=True):
            if each.take is not None:
                each.take(self.load(result))
        return results[-1]

    def _piped_results(self, count: int) -> list[PGresult]:
        """The results of so many statements and of the synchronisation after them, but for that one.

        `_next_result` in a loop of its own: there are two for each statement, on the path of every record.
        """
        is_busy, get_result = self._pgconn.is_busy, self._pgconn.get_result
        results: list[PGresult] = []
        for number in range(2 * count + 1):
            while is_busy():
                self._readable.poll()
                self._pgconn.consume_input()
            result = get_result()
            # After each result comes its end, which is none.
            if number < 2 * count and number % 2 == 0:
                if result is None:
                    raise psycopg.OperationalError("the server sent no answer")
                results.append(result)
        return results

    def _name(self, sql: str, types: tuple[int, ...]) -> bytes:
        """The name under which a statement is prepared."""
        return self._names.get((sql, types)) or self._prepare(sql, types)

    def _limit_prepared(self, wanted: AbstractSet[tuple[str, tuple[int, ...]]]) -> None:
        """Forget all prepared statements where those that are wanted together would be too many with them.

        Before the first of them is named: a name that is given anew means another statement.
        """
        # One by one: a difference of both would look at all that are prepared.
        new = sum([each not in self._names for each in wanted])
        if new and len(self._names) + new > PREPARED_MAX:
            self._pgconn.send_query(b"DEALLOCATE ALL")
            self._result()
            self._names.clear()

    def _prepare(self, sql: str, types: tuple[int, ...]) -> bytes:
        name = b"stateward_%d" % len(self._names)
        self._pgconn.send_prepare(name, sql.encode(), types)
        self._result()
        self._names[sql, types] = name
        return name

    def copy(self, sql: str, data: bytes) -> None:
        """COPY lines of text into a table."""
        self.flush()  # a pipeline takes no COPY
        self._pgconn.send_query(sql.encode())
        self._result()
        self._pgconn.put_copy_data(data)
        self._pgconn.put_copy_end()
        self._result()

    def load(self, result: PGresult) -> list[Row]:
        """The rows of a result as Python values."""
        self._loader.set_pgresult(result)
        return cast("list[Row]", self._loader.load_rows(0, result.ntuples, tuple))

    def query(self, sql: str) -> list[Row]:
        """The rows of a query without parameters."""
        return self.load(self.statement(sql))

    def _result(self) -> PGresult:
        """The last result of what was sent; the first failure among them is raised."""
        self._push()
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

    def _push(self) -> None:
        """Send all that libpq has been given."""
        while self._pgconn.flush():
            # Wait for either direction: the server may read on only after we have read what it sent.
            either = select.poll()
            either.register(self.socket, select.POLLIN | select.POLLOUT)
            either.poll()
            self._pgconn.consume_input()

    def _next_result(self) -> PGresult | None:
        # get_result alone would wait as well, but with the GIL held.
        while self._pgconn.is_busy():
            self._readable.poll()
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def undo(self) -> bool:
        """Roll back; False if the connection cannot be used after that."""
        status = pq.TransactionStatus
        self.forget()
        with suppress(psycopg.Error):
            self.flush()  # what was sent ahead
        with suppress(psycopg.Error):
            if self._pgconn.transaction_status in (status.INTRANS, status.INERROR):
                self.command("ROLLBACK")
        return self._pgconn.transaction_status == status.IDLE

    def close(self) -> None:
        """Close the connection; the server rolls back what is open."""
        self._connection.close()


class NumberLoader(Loader):
    """`numeric`, which sum() and avg() return for whole numbers: an int if it is whole, else a float."""

    def load(self, data: bytes | bytearray | memoryview) -> int | float:
        """Convert the text of a number."""
        text = bytes(data)
        return int(text) if text.lstrip(b"-").isdigit() else float(text)


# Parameters of a statement

TOKENS = re.compile(
    r"""
    [eE]'(?:[^'\\]|''|\\.)*' | '(?:[^']|'')*' | "(?:[^"]|"")*"   # quoted text stays as it is
    | --[^\n]* | /\*.*?\*/ | (?P<tag>\$\w*\$).*?(?P=tag)
    | ::                                                         # a cast is not a parameter
    | \b(?P<not>NOT\s+)?IN\s*\(\s*(?P<list>:\w+(?:\s*,\s*:\w+)*)\s*\)
    | (?<!\w):(?P<name>[A-Za-z_]\w*)                             # nor is the slice a[1:n]
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
# Type OIDs from pg_type. For 0 the server derives the type from the statement.
UNKNOWN, BOOL, BYTEA, INT8, FLOAT8, TEXT_ARRAY, INT8_ARRAY = 0, 16, 17, 20, 701, 1009, 1016
NULL: tuple[int, Param] = (UNKNOWN, None)


def number_params(sql: str, params: dict[str, object]) -> tuple[str, list[Param], tuple[int, ...]]:
    """A statement with `:names` in the form that libpq needs: its text, the parameters, their types."""
    text, places = number_names(sql)
    values: list[Param] = []
    types: list[int] = []
    for place in places:
        value = params[place] if isinstance(place, str) else [params[name] for name in place]
        # What nearly all are is told apart here, without a call: there are dozens of them for one record.
        if type(value) is str and "\0" not in value:
            types.append(UNKNOWN)
            values.append(value.encode())
        elif type(value) is int:
            types.append(INT8)
            values.append(b"%d" % value)
        else:
            type_, dumped = _dump(value)
            types.append(type_)
            values.append(dumped)
    return text, values, tuple(types)


@lru_cache(maxsize=1024)
def number_names(sql: str) -> tuple[str, tuple[str | tuple[str, ...], ...]]:
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


def _dump(value: object) -> tuple[int, Param]:
    """The type of a parameter (for text and NULL the statement decides) and its text form."""
    if value is None:
        return NULL
    if isinstance(value, str):
        return UNKNOWN, check_text(value).encode()
    if isinstance(value, bool):
        return BOOL, b"t" if value else b"f"
    if isinstance(value, int):
        return INT8, b"%d" % value
    if isinstance(value, float):
        return FLOAT8, repr(value).encode()
    if isinstance(value, bytes):
        return BYTEA, b"\\x" + value.hex().encode()
    if isinstance(value, Sequence):
        values: Row = tuple(value)
        if not values:
            return UNKNOWN, b"{}"
        if isinstance(values[0], int):
            return INT8_ARRAY, _number_array(values).encode()
        return TEXT_ARRAY, _text_array(values).encode()
    raise TypeError(f"a {type(value).__name__} cannot be a parameter of a statement")


def check_text(text: str) -> str:
    """The same text; refused if it contains a NUL, where libpq would cut it silently."""
    if "\0" in text:
        refuse_nul()
    return text


def refuse_nul() -> NoReturn:
    """Say why a statement is not executed."""
    raise StoreError("PostgreSQL cannot store the character NUL in text; remove it first")


# A batch of rows is written column by column: characters that need escaping are searched for in all cells of a column
# at once, and replaced in one pass of C code, with the cells joined by a NUL, which none of them may contain.

ARRAY_ESCAPES = (("\\", "\\\\"), ('"', '\\"'))
LINE_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def to_cells(cells: Iterable[Cell]) -> list[Param]:
    """Cells as text, one by one."""
    # What nearly all cells are, without a call and without the type that `_dump` finds as well: one record alone has
    # 150 of them. A NUL is searched for in all at once; in what `_dump` makes there is none.
    params = [
        None
        if cell is None
        else cell.encode()
        if type(cell) is str
        else b"%d" % cell
        if type(cell) is int  # and no boolean
        else _dump(cell)[1]
        for cell in cells
    ]
    if b"\0" in b"".join(filter(None, params)):
        refuse_nul()
    return params


def to_arrays(types: Iterable[ColumnType], rows: Sequence[Row]) -> list[Param]:
    """For each column, its cells as the text form of an array."""
    columns = zip(types, zip(*rows, strict=True), strict=True)
    return [ARRAYS[type_](cells).encode() for type_, cells in columns]


def copy_lines(types: Iterable[ColumnType], rows: Sequence[Row]) -> bytes:
    """The rows as lines for COPY."""
    columns = zip(types, zip(*rows, strict=True), strict=True)
    written = [LINES[type_](cells) for type_, cells in columns]
    return ("\n".join(map("\t".join, zip(*written, strict=True))) + "\n").encode()


def _text_array(cells: Row) -> str:
    texts = _escape(_present(cells), ARRAY_ESCAPES)
    if not texts:
        return "{" + "NULL," * (len(cells) - 1) + "NULL}"
    if len(texts) == len(cells):
        return '{"' + '","'.join(texts) + '"}'
    rest = iter(texts)
    return "{" + ",".join(["NULL" if cell is None else f'"{next(rest)}"' for cell in cells]) + "}"


def _text_lines(cells: Row) -> Sequence[str]:
    texts = _escape(_present(cells), LINE_ESCAPES)
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


def _present(cells: Row) -> Sequence[str]:
    present: Sequence[Cell] = cells
    if None in cells:  # a column is often NULL in every row
        is_empty = cells.count(None) == len(cells)
        present = () if is_empty else [cell for cell in cells if cell is not None]
    return cast("Sequence[str]", present)


def _escape(texts: Sequence[str], escapes: Sequence[tuple[str, str]]) -> Sequence[str]:
    if not texts:
        return texts
    everything = check_text("".join(texts))
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
