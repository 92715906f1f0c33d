"""Whether the database has the tables, indexes and triggers that the migrations make.

Each can change what is written before it is sealed, or what is read behind the back of a verification: a trigger or a
rule acts by itself, a default fills in what was not written, a view in the place of a table shows one thing now and
another later, a partial index leaves rows out of lists, one over an expression refuses rows for which that fails, a
policy leaves them out for some logins, and without its unique index the same event counts twice.

What an operator added beside them, such as an index over columns for reports, is no fault: it can do none of these.
"""

import re
from functools import cache
from hashlib import sha256
from pathlib import Path

import apsw

from stateward.storage.database import Database
from stateward.storage.migrations import migrations
from stateward.storage.pgvector import FORGET

_LOOK = "look at it, and make it as it was, or restore a backup"
_PLANTED = (
    "{} is not one of Stateward: it may change what is written or read; look at it, and drop it"
)
_PLAIN_INDEX = re.compile(r"CREATEINDEX\w+\([\w,]+\)", re.IGNORECASE)  # without its blanks
_COLLATIONS = re.compile(r"COLLATE(BINARY|NOCASE|RTRIM)", re.IGNORECASE)
_SQLITE = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name"
_OF_NO_EXTENSION = "NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = {}.oid AND d.deptype = 'e')"
# None of these is ours. An operator or a type that fits a comparison better than PostgreSQL's would take its place.
_OTHERS = f"""
SELECT 'rule ' || rulename || ' on ' || tablename FROM pg_rules WHERE schemaname = 'stateward'
UNION ALL SELECT 'row security on ' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'stateward' AND c.relrowsecurity
UNION ALL SELECT 'operator ' || CAST(o.oid AS regoperator) FROM pg_operator o
JOIN pg_namespace n ON n.oid = o.oprnamespace WHERE n.nspname = 'stateward' AND {_OF_NO_EXTENSION.format("o")}
UNION ALL SELECT 'operator class ' || o.opcname FROM pg_opclass o JOIN pg_namespace n ON n.oid = o.opcnamespace
WHERE n.nspname = 'stateward' AND {_OF_NO_EXTENSION.format("o")}
UNION ALL SELECT 'collation ' || o.collname FROM pg_collation o JOIN pg_namespace n ON n.oid = o.collnamespace
WHERE n.nspname = 'stateward' AND {_OF_NO_EXTENSION.format("o")}
UNION ALL SELECT 'type ' || o.typname FROM pg_type o JOIN pg_namespace n ON n.oid = o.typnamespace
WHERE n.nspname = 'stateward' AND o.typtype <> 'c' AND o.typelem = 0 AND {_OF_NO_EXTENSION.format("o")} ORDER BY 1
"""
_VIEWS = f"""
SELECT c.relname::text, pg_get_viewdef(c.oid), (SELECT string_agg(a.attname, ' ') FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'stateward' AND c.relkind IN ('v', 'm', 'f') AND {_OF_NO_EXTENSION.format("c")} ORDER BY c.relname
"""
# What each table is made of: (table, what of it, its definition). Where a default, a check, a foreign key or a table
# that inherits from it is planted, rows are written, refused, deleted or shown without any trigger. Indexes of
# constraints are theirs; a NOT NULL is a property of its column, and in newer versions a constraint as well. Triggers
# of vectors are made with the extension; what they keep is derived from the rest. Functions and sequences are of no
# table: a volatile function that is called immutable is asked once and believed for ever, and a sequence that turns
# back or is drawn from in advance gives numbers that are not in the order of commits.
_IN_SCHEMA = """JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = 'stateward' AND t.relkind IN ('r', 'p')"""
TABLES = f"""
SELECT t.relname::text, '', CASE t.relpersistence WHEN 'p' THEN 'table' ELSE 'unlogged table' END
    || CASE WHEN EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = t.oid) THEN ' with heirs' ELSE '' END
FROM pg_class t {_IN_SCHEMA}
UNION ALL
SELECT t.relname::text, 'column ' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attcollation NOT IN (0, 100) THEN 'COLLATE ' || CASE c.collnamespace
        WHEN 'pg_catalog'::regnamespace THEN '' ELSE c.collnamespace::regnamespace || '.' END || c.collname END,
    CASE WHEN a.attnotnull THEN 'NOT NULL' END,
    CASE a.attidentity WHEN '' THEN NULL ELSE 'IDENTITY' END,
    CASE a.attgenerated WHEN '' THEN 'DEFAULT' ELSE 'GENERATED' END || ' ' || pg_get_expr(d.adbin, d.adrelid))
FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_collation c ON c.oid = a.attcollation
LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum {_IN_SCHEMA}
UNION ALL
SELECT t.relname::text, 'constraint ' || k.conname, pg_get_constraintdef(k.oid)
FROM pg_class t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype <> 'n' {_IN_SCHEMA}
UNION ALL
SELECT t.relname::text, 'index ' || c.relname,
    pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisvalid THEN '' ELSE ' (not valid)' END
FROM pg_class t JOIN pg_index i ON i.indrelid = t.oid AND (i.indisunique OR i.indexprs IS NOT NULL
    OR i.indpred IS NOT NULL OR EXISTS (SELECT FROM unnest(i.indclass) u (own) JOIN pg_opclass o ON o.oid = u.own
        WHERE o.opcnamespace <> 'pg_catalog'::regnamespace AND {_OF_NO_EXTENSION.format("o")}))
JOIN pg_class c ON c.oid = i.indexrelid
{_IN_SCHEMA} AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u'))
UNION ALL
SELECT t.relname::text, 'trigger ' || g.tgname,
    pg_get_triggerdef(g.oid) || CASE g.tgenabled WHEN 'O' THEN '' ELSE ' (' || g.tgenabled::text || ')' END
FROM pg_class t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
{_IN_SCHEMA}
AND (t.relname, g.tgfoid) IS DISTINCT FROM ('search_vectors', to_regproc('stateward.search_nearest_forget'))
UNION ALL
SELECT '', 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
    concat_ws(' ', pg_get_function_result(p.oid), l.lanname, p.provolatile, CASE WHEN p.proisstrict THEN 'strict' END,
    CASE WHEN p.prosecdef THEN 'with the rights of its owner' END, array_to_string(p.proconfig, ' '),
    encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
WHERE n.nspname = 'stateward' AND {_OF_NO_EXTENSION.format("p")}
UNION ALL
SELECT '', 'sequence ' || c.relname, format('%s to %s by %s, %s at once', q.seqmin, q.seqmax, q.seqincrement,
    q.seqcache) || CASE WHEN q.seqcycle THEN ', and again' ELSE '' END
FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'stateward'
ORDER BY 1, 2
"""
_OWN_VIEW = re.compile(r"CREATE VIEW (\w+) AS\s+([^;]+);")
_OWN_VIEWS_COLUMN = {"current_epoch": "epoch", "log_end": "seq"}
_FORGET = ("", "function search_nearest_forget()")
_NO_TRIGGERS = (
    "this login has session_replication_role = {}, so that triggers do not act on what it writes: take that setting"
    " away (ALTER ROLE … RESET session_replication_role)"
)
_OWN_TABLES = Path(__file__).parent / "migrations" / "postgres_tables.tsv"


def changed_in_sqlite(database: Database) -> list[str]:
    """A sentence for each table, index and trigger that is not as the migrations make it, and each that was planted."""
    own = _made_by_migrations()
    found = {
        (str(kind), str(name)): (str(table), _words(str(sql)))
        for kind, name, table, sql in database.rows(_SQLITE)
    }
    sentences = [
        f"{kind} {name} is {'not as Stateward made it' if (kind, name) in found else 'gone'}: {_LOOK}"
        for (kind, name), made in own.items()
        if found.get((kind, name)) != made
    ]
    tables = {name for kind, name in own if kind == "table"}
    return sentences + [
        _PLANTED.format(f"{kind} {name} on {table}")
        for (kind, name), (table, sql) in found.items()
        if (kind, name) not in own and _is_acting(kind, sql, is_ours=table in tables)
    ]


def _is_acting(kind: str, sql: str, *, is_ours: bool) -> bool:
    """Whether something planted in a file acts by itself: a trigger, or an index that may refuse rows of our tables.

    That is one that is unique, and one that computes something of a row, which may fail: only columns are sure.
    """
    sql = _COLLATIONS.sub("", sql)  # any other is code of someone else
    is_plain = _PLAIN_INDEX.fullmatch(sql) is not None and "COLLATE" not in sql.upper()
    return kind == "trigger" or (kind == "index" and is_ours and not is_plain)


@cache
def _made_by_migrations() -> dict[tuple[str, str], tuple[str, str]]:
    """What a new store has, made in memory: the texts alone say nothing of what later ones renamed."""
    connection = apsw.Connection(":memory:")
    try:
        for each in migrations("sqlite"):
            connection.execute(each.sql)
        return {
            (kind, name): (table, _words(sql))
            for kind, name, table, sql in connection.execute(_SQLITE)
        }
    finally:
        connection.close()


def _words(sql: str) -> str:
    """A definition without quotes and blanks, which versions of SQLite set otherwise when they rename."""
    return re.sub(r'[\s"]+', "", sql)


def changed_in_postgres(database: Database) -> list[str]:
    """A sentence for each thing of the schema that is not ours, was changed or is gone."""
    sentences = [_PLANTED.format(what) for (what,) in database.rows(_OTHERS)]
    text = "\n".join(each.sql for each in migrations("postgres"))
    views = {name: _says(sql) for name, sql in _OWN_VIEW.findall(text)}
    for name, sql, columns in database.rows(_VIEWS):
        if views.get(str(name)) != _says(str(sql)) or columns != _OWN_VIEWS_COLUMN.get(str(name)):
            sentences.append(_PLANTED.format(f"view {name!s}"))
    ((acts,),) = database.rows("SELECT current_setting('session_replication_role')")
    if acts != "origin":
        sentences.append(_NO_TRIGGERS.format(acts))
    return sentences + _changed_tables(database)


def _changed_tables(database: Database) -> list[str]:
    """A sentence for each part of a table, function or sequence that is not as it was made, is gone or was planted."""
    own = {(table, what): definition for table, what, definition in own_tables()}
    tables = {table for table, _ in own}
    sentences = []
    for table, what, definition in database.rows(TABLES):
        key = (str(table), str(what))
        if key == _FORGET and definition == _forget_definition():
            continue  # of pgvector, where it is
        if key not in own and _is_harmful(*key, tables):
            sentences.append(_PLANTED.format(_place_of(*key)))
        elif key in own and own.pop(key) != definition:
            sentences.append(
                f"{_place_of(*key)} is not as Stateward made it, but {definition!s}: {_LOOK}"
            )
    gone = [
        key for key in own if not key[1] or (key[0], "") not in own
    ]  # a table goes with its columns
    return sentences + [f"{_place_of(*key)} is gone: {_LOOK}" for key in gone]


def _is_harmful(table: str, what: str, tables: set[str]) -> bool:
    """Whether something planted may act: what an operator's own tables and sequences are made of does not."""
    return not what.startswith("sequence ") if table in tables else what.startswith("trigger ")


def _forget_definition() -> str:
    body = FORGET.split("$$")[1]
    return f"trigger plpgsql v {sha256(body.encode()).hexdigest()}"


def _place_of(table: str, what: str) -> str:
    if not table:
        return what
    return f"{what} of {table}" if what else f"table {table}"


def own_tables() -> list[tuple[str, str, str]]:
    """What the tables of a new store are made of, as PostgreSQL says it: (table, what of it, its definition)."""
    lines = _OWN_TABLES.read_text("utf-8").splitlines()
    return [(table, what, text) for table, what, text in (line.split("\t") for line in lines)]


def _says(sql: str) -> list[str]:
    """The words and signs of a view in their order.

    PostgreSQL writes it with more brackets, types and names of its own: of tables before columns, of columns after
    expressions. Those of the view itself are compared apart.
    """
    plain = re.sub(r"\b(stateward|transitions)\.|::bigint\b|\bas\s+\w+", "", sql.lower())
    return re.findall(r"\w+|[^\w\s()]+", plain.rstrip().rstrip(";"))
