"""PostgreSQL's own check of its indexes, the extension `amcheck`, where an administrator has installed it."""

import psycopg

from stateward.core.errors import StoreError
from stateward.storage.database import Database

# The owner of a table may not yet check it: the functions must be granted as well.
_FUNCTION = """
SELECT n.nspname, has_function_privilege(p.oid, 'EXECUTE') FROM pg_extension e
JOIN pg_namespace n ON n.oid = e.extnamespace
JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'bt_index_check' AND p.pronargs = 1
WHERE e.extname = 'amcheck'
"""
_INDEXES = """
SELECT c.oid::bigint, c.relname::text FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam
WHERE n.nspname = 'stateward' AND c.relkind = 'i' AND a.amname = 'btree' ORDER BY c.relname
"""


def amcheck_schema(database: Database) -> str | None:
    """Where the functions of the extension are; None if it is not installed, or this login may not use it."""
    found = database.rows(_FUNCTION)
    return str(found[0][0]) if found and found[0][1] else None


def index_damage(database: Database, schema: str) -> list[str]:
    """What is wrong with the indexes of our schema, a sentence for each that is."""
    found: list[str] = []
    for oid, name in [(each[0], str(each[1])) for each in database.rows(_INDEXES)]:
        try:
            database.rows(f'SELECT "{schema}".bt_index_check(CAST(:oid AS oid))', oid=oid)
        except (StoreError, psycopg.Error) as error:
            found.append(f"index {name}: {' '.join(str(error).split())}")
    return found
