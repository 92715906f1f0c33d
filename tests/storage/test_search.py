"""Queries as SQL: each engine finds exactly the records that a plain reading of the query finds."""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import apsw
import msgspec
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.postgres import Server
from stateward.core.model import SECOND, Record, from_iso
from stateward.core.query import (
    CLAIMS,
    Query,
    Term,
    parse_query,
)
from stateward.storage.migrations import migrations
from stateward.storage.search import where

NOW = from_iso("2026-03-01T12:00:00Z")
HOUR = 3600 * SECOND
KINDS = {
    "upload": {
        "queued": "ready", "parsing": "running", "parsed": "ready", "done": "terminal",
        "error": "failed",
    },
    "contract": {"extracting": "running", "review": "suspended", "error": "terminal"},
}  # fmt: skip
RUNNING = {"upload": {"parse": "parsing"}, "contract": {"extract": "extracting"}}
COLUMNS = Record.__struct_fields__
INSERT = f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({{}})"  # noqa: S608
FOLDED = re.IGNORECASE | re.ASCII
Find: TypeAlias = Callable[[list[Record], Query], set[str]]


def a_record(id_: str = "UL_1", **changes: object) -> Record:
    known: dict[str, object] = {
        "machine": "upload", "machine_version": 1, "status": "parsing", "version": 1,
        "created_at": NOW - HOUR, "entered_at": NOW - HOUR,
    }  # fmt: skip
    return msgspec.convert({"id": id_, **known, **changes}, Record)


# The engines: each finds the ids of those of the given records that a query matches.


class Sqlite:
    def __init__(self) -> None:
        self.connection = apsw.Connection(":memory:")
        for step in migrations("sqlite"):
            self.connection.execute(step.sql)

    def find(self, records: list[Record], query: Query) -> set[str]:
        select, params = statement(query)
        self.connection.execute("DELETE FROM records")
        self.connection.executemany(INSERT.format(", ".join("?" * len(COLUMNS))), rows(records))
        return {str(id_) for (id_,) in self.connection.execute(select, params)}

    def plan(self, query: Query) -> str:
        select, params = statement(query)
        steps = self.connection.execute(f"EXPLAIN QUERY PLAN {select}", params)
        return "\n".join(str(step[3]) for step in steps)


class Postgres:
    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection
        connection.execute("SET search_path = stateward")

    def find(self, records: list[Record], query: Query) -> set[str]:
        select, params = statement(query)
        named = re.sub(r":(q\d+)", r"%(\1)s", select)
        insert = INSERT.format(", ".join(["%s"] * len(COLUMNS)))
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM records")
            cursor.executemany(insert.encode(), rows(records))
            return {str(id_) for (id_,) in cursor.execute(named.encode(), params)}


def statement(query: Query) -> tuple[str, dict[str, Any]]:
    condition, params = where(query, kinds=KINDS, running=RUNNING)
    return f"SELECT id FROM records WHERE {condition}", params  # noqa: S608 - it is under test


def rows(records: list[Record]) -> list[tuple[Any, ...]]:
    return [tuple(cell(getattr(record, column)) for column in COLUMNS) for record in records]


def cell(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def sqlite() -> Sqlite:
    return Sqlite()


@pytest.fixture(scope="module")
def postgres(postgres_server: Server, postgres_template: str) -> Iterator[Postgres]:
    name = postgres_server.create_database(postgres_template)
    with psycopg.connect(postgres_server.dsn(name), autocommit=True) as connection:
        yield Postgres(connection)
    postgres_server.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.service)])
def find(request: pytest.FixtureRequest) -> Find:
    engine: Sqlite | Postgres = request.getfixturevalue(request.param)
    return engine.find


def asked(text: str) -> Query:
    return parse_query(text, now=NOW)


# The plain reading, which SQL must agree with.


def matches(query: Query, record: Record) -> bool:
    return all(holds(query, term, record) is not term.is_negated for term in query.terms)


def holds(query: Query, term: Term, record: Record) -> bool:
    if term.op != ":":
        return compares(term, record)
    known = record.machine in (query.machines or KINDS)
    match term.key:
        case "status":
            return known and record.status in term.values
        case "machine" | "rest" | "worker" | "replaces" | "priority":
            return getattr(record, term.key) in term.values
        case "retries":
            return record.retry_count in term.values
        case "stage":
            runs = RUNNING.get(record.machine, {})
            is_there = any(runs.get(stage) == record.status for stage in term.texts)
            return known and (record.waiting in term.values or is_there)
        case "is":
            return any(is_so(query, claim, record) for claim in term.texts)
        case "id":
            return any(
                record.id.startswith(text[:-1]) if text.endswith("*") else record.id == text
                for text in term.texts
            )
        case "error":
            return known and any(is_like(record.error_code, text) for text in term.texts)
        case "message":
            return any(is_within(text, record.error_message) for text in term.texts)
        case "artifact":
            return any((record.artifact or "").startswith(text) for text in term.texts)
        case "":
            name = record.labels.get("filename")
            return any(record.id.startswith(text) or is_within(text, name) for text in term.texts)
    return is_label(term, record.labels.get(term.key.removeprefix("meta.")))


def compares(term: Term, record: Record) -> bool:
    columns = {"retries": "retry_count", "created": "created_at", "entered": "entered_at"}
    found: int = getattr(record, columns.get(term.key, term.key))
    value = term.values[0]
    assert isinstance(value, int)
    return {
        ">": found > value,
        ">=": found >= value,
        "<": found < value,
        "<=": found <= value,
    }[term.op]


def is_so(query: Query, claim: str, record: Record) -> bool:
    machines = query.machines or tuple(KINDS)
    states = KINDS.get(record.machine, {}) if record.machine in machines else {}
    kind = states.get(record.status)
    match claim:
        case "waiting":
            return record.waiting is not None or (kind == "ready" and record.rest is None)
        case "running":
            is_resting = record.rest is not None and record.due_at is None
            return kind == "running" and record.waiting is None and not is_resting
        case "skipped":
            return record.rest == "skipped"
        case "held":
            return record.rest == "held" and record.waiting is None and record.due_at is None
        case "overdue":
            return record.due_at is not None and record.due_at < query.now
        case "ended":
            return kind == "terminal"
    return kind == claim


def is_label(term: Term, value: object) -> bool:
    if isinstance(value, bool):
        return str(value).lower() in term.values
    return value is not None and str(value) in term.values


def is_like(text: str | None, glob: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in glob.split("*"))
    return text is not None and re.fullmatch(pattern, text, FOLDED | re.DOTALL) is not None


def is_within(part: str, text: object) -> bool:
    if "*" in part:
        return is_like(None if text is None else str(text), part)
    return text is not None and re.search(re.escape(part), str(text), FOLDED) is not None


# Random records and random queries

TEXTS = st.text(st.sampled_from("aAbB_%!*\\'\":é😀 "), min_size=1, max_size=4)
IDS = st.sampled_from(["UL_1", "UL_12", "UL_2", "UL", "ul_1", "CW_1", "U_L", "UL-1", "UL~"])
MACHINES = st.sampled_from(["upload", "contract", "gone"])
STATUSES = st.sampled_from(
    ["queued", "parsing", "parsed", "done", "error", "extracting", "review", "old"]
)
CODES = st.sampled_from(["PDF_BROKEN", "pdf_empty", "PDFX", "TIMEOUT", "A%B", "A!_B"])
LABELS = st.dictionaries(
    st.sampled_from(["source_type", "client", "a.b", "1", "k-1"]),
    TEXTS | st.sampled_from([42, -1, 1.5, True, False, None, "42", "true", "1", ""]),
    max_size=3,
)
MOMENTS = st.integers(0, 5).map(lambda hours: NOW - hours * HOUR)
HASHES = st.sampled_from(["abcd" + "0" * 60, "abce" + "f" * 60, "9999" + "f" * 60])
RECORDS = st.builds(
    Record,
    id=IDS,
    machine=MACHINES,
    machine_version=st.just(1),
    status=STATUSES,
    version=st.just(0),
    created_at=MOMENTS,
    entered_at=MOMENTS,
    priority=st.integers(1, 10),
    waiting=st.sampled_from([None, None, "parse", "extract"]),
    due_at=st.none() | st.sampled_from([NOW - 1, NOW, NOW + 1]),
    worker=st.sampled_from([None, "w1", "W1"]),
    retry_count=st.integers(0, 4),
    error_code=st.none() | CODES,
    error_message=st.none() | TEXTS,
    rest=st.sampled_from([None, None, "skipped", "held", "other"]),
    artifact=st.none() | HASHES,
    replaces=st.none() | IDS,
    labels=st.builds(
        lambda labels, name: labels | ({} if name is None else {"filename": name}),
        LABELS,
        st.none() | TEXTS | st.just(7),
    ),
)
ARCHIVES = st.lists(RECORDS, max_size=6, unique_by=lambda record: record.id)


def some(key: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quoted = values.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return st.lists(quoted, min_size=1, max_size=3).map(lambda parts: key + ",".join(parts))


def compared(key: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda op, value: key + op + value, st.sampled_from([">", "<", ">=", "<="]), values
    )


TERM = st.one_of(
    some("status:", STATUSES),
    some("machine:", MACHINES),
    some("stage:", st.sampled_from(["parse", "extract", "none"])),
    some("id:", IDS | IDS.map(lambda text: text + "*")),
    some("error:", CODES | st.sampled_from(["PDF*", "*_*", "*", "a!_*", "*x", "p*e*y"])),
    some("message:", TEXTS),
    some("source:", TEXTS),
    some("meta.client=", TEXTS | st.sampled_from(["42", "-1", "1.5", "true", "false", "1", ""])),
    some("meta.a.b:", TEXTS | st.just("42")),
    some("meta.1:", TEXTS | st.just("42")),
    some("meta.k-1:", TEXTS | st.just("true")),
    some("rest:", st.sampled_from(["skipped", "held", "other"])),
    some("worker:", st.sampled_from(["w1", "W1"])),
    some("replaces:", IDS),
    some("artifact:", st.sampled_from(["abcd", "abce", "9999", "99990"])),
    some("is:", st.sampled_from(CLAIMS)),
    some("", TEXTS | IDS),
    some("priority:", st.integers(1, 10).map(str)),
    some("retries:", st.integers(0, 4).map(str)),
    compared("priority", st.integers(1, 10).map(str)),
    compared("retries", st.integers(0, 4).map(str)),
    compared("age", st.sampled_from(["0s", "60m", "2h", "0.5d"])),
    compared("idle", st.sampled_from(["1h", "3h"])),
    compared("created", st.sampled_from(["2026-03-01", "2026-03-01T10:00:00Z"])),
)
QUERIES = st.lists(
    st.builds(lambda sign, term: sign + term, st.sampled_from(["", "", "-"]), TERM), max_size=3
).map(" ".join)


@given(records=ARCHIVES, text=QUERIES)
def test_sqlite_finds_what_a_plain_reading_finds(
    sqlite: Sqlite, records: list[Record], text: str
) -> None:
    query = asked(text)

    found = sqlite.find(records, query)

    assert found == {record.id for record in records if matches(query, record)}


@pytest.mark.service
@given(records=ARCHIVES, text=QUERIES)
def test_postgres_finds_what_a_plain_reading_finds(
    postgres: Postgres, records: list[Record], text: str
) -> None:
    query = asked(text)

    found = postgres.find(records, query)

    assert found == {record.id for record in records if matches(query, record)}


# What to expect, told plainly


def test_an_empty_query_finds_everything(find: Find) -> None:
    records = [a_record("UL_1"), a_record("CW_1", machine="contract", status="review")]

    assert find(records, asked("")) == {"UL_1", "CW_1"}
    assert where(asked(""), kinds=KINDS) == ("TRUE", {})


def test_an_absent_value_is_not_equal_and_so_its_opposite_holds(find: Find) -> None:
    records = [a_record("UL_1"), a_record("UL_2", error_code="PDF_BROKEN", labels={"a": "b"})]

    assert find(records, asked("-error:PDF_*")) == {"UL_1"}
    assert find(records, asked("-meta.a:b")) == {"UL_1"}
    assert find(records, asked("-worker:w1")) == {"UL_1", "UL_2"}


def test_a_star_stands_for_any_characters_of_a_name_or_a_message(find: Find) -> None:
    records = [
        a_record("UL_1", labels={"filename": "torn.pdf"}),
        a_record("UL_2", labels={"filename": "half-torn.pdf"}, error_message="a page is torn"),
    ]

    assert find(records, asked("document:torn")) == {"UL_1", "UL_2"}
    assert find(records, asked("document:torn*")) == {"UL_1"}
    assert find(records, asked("document:*torn.PDF")) == {"UL_1", "UL_2"}
    assert find(records, asked("torn*")) == {"UL_1"}
    assert find(records, asked("message:*torn")) == {"UL_2"}
    assert find(records, asked("message:torn*")) == set()


def test_the_signs_of_like_mean_themselves(find: Find) -> None:
    records = [
        a_record("UL_1", error_message="100% done"),
        a_record("UL_2", error_message="100 done"),
        a_record("UL_3", error_message="a_b!"),
        a_record("UL_4", error_message="axb!"),
    ]

    assert find(records, asked('message:"100%"')) == {"UL_1"}
    assert find(records, asked("message:A_B!")) == {"UL_3"}


def test_a_number_in_a_label_is_found_by_its_text_and_true_is_not_one(find: Find) -> None:
    records = [
        a_record("UL_1", labels={"client": 42}),
        a_record("UL_2", labels={"client": "42"}),
        a_record("UL_3", labels={"client": True}),
    ]

    assert find(records, asked("meta.client=42")) == {"UL_1", "UL_2"}
    assert find(records, asked("meta.client=1")) == set()
    assert find(records, asked("meta.client=true")) == {"UL_3"}


def test_a_record_that_waits_in_a_running_state_is_waiting(find: Find) -> None:
    here = {"machine": "contract", "status": "extracting"}
    records = [a_record("CW_1", waiting="extract", **here), a_record("CW_2", **here)]

    assert find(records, asked("is:waiting")) == {"CW_1"}
    assert find(records, asked("is:running")) == {"CW_2"}
    assert find(records, asked("stage:extract")) == {"CW_1", "CW_2"}


def test_a_record_at_rest_waits_for_nothing(find: Find) -> None:
    records = [a_record("UL_1", status="parsed", rest="skipped")]

    assert find(records, asked("is:waiting")) == set()
    assert find(records, asked("is:skipped")) == {"UL_1"}


@pytest.mark.parametrize("last", ["a", "~", "é", "\ud7ff", "\U0010ffff"])
def test_any_character_can_end_the_beginning_of_an_id(find: Find, last: str) -> None:
    records = [a_record(f"x{last}"), a_record(f"x{last}1"), a_record("x"), a_record("y")]

    assert find(records, asked(f"id:x{last}*")) == {f"x{last}", f"x{last}1"}


@pytest.mark.parametrize("text", ["'; DROP TABLE records; --", "a' OR '1'='1", ":q0", "%(x)s", "?"])
def test_hostile_text_is_only_a_value(find: Find, text: str) -> None:
    records = [a_record("UL_1"), a_record("UL_2", labels={"filename": f"x{text}x"})]

    assert find(records, asked(f'"{text}"')) == {"UL_2"}
    assert find(records, asked(f'status:"{text}" worker:"{text}" error:"{text}"')) == set()


def test_values_never_stand_in_the_text() -> None:
    text = (
        "secret1 status:secret1 machine:secret1 id:secret1* error:secret1* message:secret1 "
        "meta.secret1=secret1 stage:secret1 worker:secret1 rest:secret1 replaces:secret1"
    )

    condition, params = where(asked(text), kinds=KINDS, running=RUNNING)

    assert "secret1" not in condition
    assert all(f":{name}" in condition for name in params)


def test_without_known_machines_only_claims_about_kinds_find_nothing() -> None:
    assert where(asked("status:a"), kinds={})[0] == "(status IN (:q0))"
    assert where(asked("is:failed"), kinds={})[0].startswith("(((FALSE) AND ")


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("status:parsing", "records_status (machine=? AND status=?"),
        ("machine:upload status:parsing", "records_status (machine=? AND status=?"),
        ("is:failed", "records_status (machine=? AND status=?"),
        ("is:failed,suspended", "records_status (machine=? AND status=?"),
        ("error:PDF_*", "records_errors (machine=?"),
        ("stage:parse", "records_waiting (machine=? AND waiting=?"),
        ("is:overdue", "records_due (due_at<?"),
        ("id:UL_1,UL_2", "PRIMARY KEY (id=?"),
        ("id:UL_*", "PRIMARY KEY (id>? AND id<?"),
    ],
)
def test_an_index_serves_the_usual_questions(sqlite: Sqlite, text: str, index: str) -> None:
    plan = sqlite.plan(asked(text))

    assert index in plan
    assert "SCAN records\n" not in f"{plan}\n"
