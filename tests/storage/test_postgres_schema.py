"""The schema is migrated once, by the first process that comes, or not at all."""

from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from lab.postgres import Server
from stateward.core.errors import StoreMismatch
from stateward.storage import postgres_server as server_checks
from stateward.storage.migrations import Migration, migrations
from stateward.storage.pgvector import FORGET, TRIGGERS
from stateward.storage.postgres import RUNNER_ROLE, PostgresDatabase, migrate
from stateward.storage.schema_check import TABLES, own_tables
from stateward.storage.sqlite import MEMORY, SqliteDatabase
from tests.storage.postgres_databases import applied, empty_database


def test_migrating_twice_changes_nothing(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        migrate(dsn)
        before = applied(dsn)

        migrate(dsn)

        assert applied(dsn) == before
        assert [row[:2] for row in before] == [(m.number, m.name) for m in migrations("postgres")]


def test_an_edited_migration_is_refused(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("UPDATE stateward.schema_migrations SET digest = 'x' WHERE number = 1")

    with pytest.raises(StoreMismatch, match=r"migration 1 \(engine\) is not the one that made"):
        PostgresDatabase(postgres_dsn)


def test_a_newer_schema_is_refused(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("INSERT INTO stateward.schema_migrations VALUES (999, 'future', 'x', 1)")

    with pytest.raises(StoreMismatch, match="newer Stateward"):
        PostgresDatabase(postgres_dsn)


def test_a_migration_that_fails_leaves_nothing(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Migration(number=len(migrations("postgres")) + 1, name="broken", sql="NONSENSE")
    steps = [*migrations("postgres"), broken]
    with empty_database(postgres_server) as dsn:
        with monkeypatch.context() as patch:
            patch.setattr(server_checks, "migrations", lambda _: steps)
            with pytest.raises(psycopg.errors.SyntaxError):
                migrate(dsn)

        with psycopg.connect(dsn) as connection:
            found = connection.execute("SELECT to_regnamespace('stateward')").fetchone()
        assert found == (None,)
        migrate(dsn)


def test_a_schema_of_another_program_is_left_alone(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE SCHEMA stateward; CREATE TABLE stateward.records (x int)")

        with pytest.raises(StoreMismatch, match="tables of another program"):
            migrate(dsn)


def test_an_empty_schema_that_an_administrator_made_is_used(postgres_server: Server) -> None:
    with empty_database(postgres_server) as dsn:
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE SCHEMA stateward")

        migrate(dsn)

        assert len(applied(dsn)) == len(migrations("postgres"))


def test_an_old_server_is_refused(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_checks, "VERSION_MIN", 990_000)

    with pytest.raises(StoreMismatch, match="needs 99 or newer"):
        PostgresDatabase(postgres_dsn)


def test_a_database_that_cannot_keep_every_text_is_refused(postgres_server: Server) -> None:
    name = f"stateward_{uuid4().hex[:16]}"
    with psycopg.connect(postgres_server.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
        )
    try:
        with pytest.raises(StoreMismatch, match="keeps text as SQL_ASCII"):
            PostgresDatabase(postgres_server.dsn(name))
    finally:
        postgres_server.drop_database(name)


# Full text: a column with an index here, a table of its own there.
FULL_TEXT = (("search_texts", "terms", True), ("search_texts_terms",))


def test_it_has_the_tables_and_indexes_of_the_other_engine(database: PostgresDatabase) -> None:
    columns = (
        "SELECT table_name::text, column_name::text, is_nullable = 'NO' "
        "FROM information_schema.columns "
        "WHERE table_schema = 'stateward' AND table_name NOT IN ('schema_migrations', 'log_end', 'current_epoch')"
    )
    indexes = "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'stateward'"
    with closing(SqliteDatabase(MEMORY)) as sqlite:
        tables = 'SELECT t.name, c.name, c."notnull" OR c.pk > 0 FROM pragma_table_list t, '
        theirs = sqlite.rows(
            tables
            + "pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
        )
        their_indexes = sqlite.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite%'"
        )

    mine = [row for row in database.rows(columns) if row not in FULL_TEXT]
    assert sorted(mine) == sorted(theirs)
    ours = [
        row
        for row in database.rows(indexes)
        if not str(row[0]).endswith("_pkey") and row not in FULL_TEXT
    ]
    assert sorted(ours) == sorted(their_indexes)


def test_it_tells_how_durable_it_is(database: PostgresDatabase) -> None:
    facts = database.check()

    assert facts["engine"].startswith("PostgreSQL ")
    assert facts["fsync"] in {"on", "off"}
    assert facts["synchronous_commit"] in {"on", "off", "local", "remote_write", "remote_apply"}
    assert facts["runner_role"] == RUNNER_ROLE


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("CREATE RULE planted AS ON INSERT TO transitions DO ALSO UPDATE records SET rank = 0", "rule planted"),
        ("ALTER TABLE records ENABLE ROW LEVEL SECURITY", "row security on records"),
        ("ALTER TABLE transitions DISABLE TRIGGER transitions_announced", "trigger transitions_announced of"),
        ("DROP TRIGGER lanes_epoch ON lanes", "trigger lanes_epoch of lanes is gone"),
        (
            "CREATE OR REPLACE FUNCTION announce_numbers() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RETURN NULL; END $$",
            "function announce_numbers",
        ),
        ("ALTER FUNCTION hold_epoch() SET search_path = elsewhere", "function hold_epoch"),
        ("DROP INDEX transitions_event", "index transitions_event of transitions is gone"),
        (
            "DROP INDEX transitions_event; CREATE UNIQUE INDEX transitions_event ON transitions (event_id, seq)",
            "index transitions_event of transitions is not as Stateward made it",
        ),
        ("CREATE INDEX ours ON records ((1 / (length(status) - 6)))", "index ours of records is not one of"),
        ("CREATE INDEX ours ON records (id) WHERE 1 / (length(status) - 6) > 0", "index ours of records is not one of"),
        (
            "CREATE OPERATOR CLASS public.ours FOR TYPE text USING btree AS OPERATOR 1 pg_catalog.<,"
            " OPERATOR 3 pg_catalog.=, FUNCTION 1 pg_catalog.bttextcmp(text, text);"
            " CREATE INDEX ours ON records (status public.ours)",
            "index ours of records is not one of",
        ),
        ("ALTER TABLE transitions ALTER actor TYPE varchar(500)", "column actor of transitions is not as"),
        ("ALTER TABLE transitions ALTER actor SET DEFAULT 'me'", "column actor of transitions is not as"),
        ("ALTER TABLE transitions ALTER actor DROP NOT NULL", "column actor of transitions is not as"),
        ("ALTER TABLE audit_log DROP COLUMN detail", "column detail of audit_log is gone"),
        (
            "ALTER TABLE transitions ADD seen text DEFAULT pg_backend_pid()",
            "column seen of transitions is not one of Stateward",
        ),
        ("ALTER TABLE records ADD CONSTRAINT ours CHECK (rank > -1)", "constraint ours of records is not one of"),
        (
            "ALTER TABLE outputs ADD CONSTRAINT ours FOREIGN KEY (record_id) REFERENCES records (id) ON DELETE CASCADE",
            "constraint ours of outputs is not one of",
        ),
        ("ALTER TABLE audit_head DROP CONSTRAINT audit_head_id_check", "constraint audit_head_id_check of"),
        ("CREATE TABLE more () INHERITS (transitions)", "transitions is not as Stateward made it, but table with"),
        ("ALTER TABLE transitions SET UNLOGGED", "table transitions is not as Stateward made it, but unlogged table"),
        ("DROP TABLE saved_views", "table saved_views is gone"),
        (
            "ALTER TABLE holds RENAME TO holds_kept; CREATE VIEW holds AS SELECT * FROM holds_kept",
            "view holds",
        ),
        (
            "CREATE OR REPLACE VIEW log_end AS SELECT coalesce((SELECT max(seq) FROM transitions"
            " WHERE seq < (SELECT complete_to())), 0) AS seq",
            "view log_end",
        ),
        (
            "CREATE OR REPLACE VIEW log_end AS SELECT coalesce((SELECT max(seq) FROM transitions"
            " WHERE (SELECT complete_to()) <= seq), 0) AS seq",
            "view log_end",
        ),
        ("ALTER VIEW log_end RENAME COLUMN seq TO at", "view log_end"),
        (
            "DROP TRIGGER records_deleted_names ON records;"
            " CREATE TRIGGER records_deleted_names AFTER DELETE ON records FOR EACH ROW WHEN (false)"
            " EXECUTE FUNCTION delete_search_names()",
            "trigger records_deleted_names of records is not as Stateward made it",
        ),
        (
            "DROP TRIGGER lanes_epoch ON lanes; CREATE TRIGGER lanes_epoch BEFORE INSERT ON lanes FOR EACH STATEMENT"
            " EXECUTE FUNCTION change_epoch()",
            "trigger lanes_epoch of lanes is not as Stateward made it",
        ),
        (
            "CREATE TRIGGER ours AFTER DELETE ON records FOR EACH ROW EXECUTE FUNCTION delete_search_names()",
            "trigger ours of records is not one of",
        ),
        ("ALTER FUNCTION complete_to() IMMUTABLE", "function complete_to() is not as Stateward made it"),
        ("ALTER FUNCTION complete_to() STRICT", "function complete_to() is not as Stateward made it"),
        (
            "CREATE FUNCTION hold_epoch(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1'",
            "function hold_epoch(bigint) is not one of",
        ),
        ("ALTER SEQUENCE transitions_numbers INCREMENT BY -1 MINVALUE -9", "sequence transitions_numbers is not as"),
        ("ALTER SEQUENCE transitions_numbers CACHE 50", "sequence transitions_numbers is not as"),
        (
            'CREATE SCHEMA other; CREATE COLLATION other."C" FROM "POSIX";'
            ' ALTER TABLE holds ALTER reason TYPE text COLLATE other."C"',
            "column reason of holds is not as",
        ),
        (
            "CREATE OPERATOR === (leftarg = text, rightarg = text, function = pg_catalog.starts_with)",
            "operator ===(text,text)",
        ),
        ('CREATE COLLATION "und" FROM "C"', "collation und"),
        ("CREATE DOMAIN text AS pg_catalog.text", "type text"),
    ],
)  # fmt: skip
def test_a_schema_that_is_not_ours_is_named(
    database: PostgresDatabase, postgres_dsn: str, edit: str, found: str
) -> None:
    assert database.damage() == []
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("SET search_path = stateward")
        connection.execute(edit)

    damage = database.damage()

    assert any(found in sentence for sentence in damage), damage
    assert (
        len(damage) <= 2
    )  # a view in the place of a table is one thing, and that the table is gone another


def test_a_login_whose_writes_no_trigger_sees_is_named(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET session_replication_role = replica")

    with closing(PostgresDatabase(postgres_dsn)) as database:
        (sentence,) = database.damage()

    assert "session_replication_role = replica" in sentence


def test_the_tables_that_a_verification_expects_are_those_that_the_migrations_make(
    database: PostgresDatabase, tmp_path: Path
) -> None:
    made = [tuple(map(str, row)) for row in database.rows(TABLES)]
    file = tmp_path / "postgres_tables.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in made))

    assert own_tables() == made, f"if it is meant, move {file} to src/stateward/storage/migrations"


def test_an_index_and_a_table_of_an_operator_are_no_damage(
    database: PostgresDatabase, postgres_dsn: str
) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE INDEX ours ON stateward.transitions (at)")
        connection.execute(
            "CREATE TABLE stateward.ours_too (id bigint GENERATED ALWAYS AS IDENTITY)"
        )

    assert database.damage() == []


def test_what_forgets_vectors_is_no_damage_and_other_triggers_beside_it_are(
    database: PostgresDatabase,
) -> None:
    database.run(FORGET)
    for each in TRIGGERS:
        database.run(each)
    assert database.damage() == []

    database.run(
        "CREATE TRIGGER ours AFTER DELETE ON search_vectors FOR EACH ROW EXECUTE FUNCTION delete_search_names()"
    )

    (sentence,) = database.damage()
    assert "trigger ours of search_vectors is not one of" in sentence
