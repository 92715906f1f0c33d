"""Triggers that someone put into the database: they could change what Stateward writes before it is sealed."""

import re

from stateward.storage.database import Database
from stateward.storage.migrations import migrations

_PLANTED = "trigger {} on {} is not one of Stateward: it may change what is written; look at it, and drop it"
_NAMED = re.compile(r"CREATE TRIGGER (\w+)")
_SQLITE = "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
# Those of vectors are made with the extension; what they keep is derived from the rest.
_POSTGRES = """
SELECT t.tgname::text, c.relname::text FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'stateward' AND NOT t.tgisinternal AND c.relname <> 'search_vectors' ORDER BY t.tgname
"""


def planted_in_sqlite(database: Database) -> list[str]:
    """A sentence for each trigger that no migration wrote like that."""
    own = "\n".join(each.sql for each in migrations("sqlite"))
    return [
        _PLANTED.format(name, table)
        for name, table, sql in database.rows(_SQLITE)
        if str(sql) not in own
    ]


def planted_in_postgres(database: Database) -> list[str]:
    """A sentence for each trigger of a name that no migration has."""
    own = {name for each in migrations("postgres") for name in _NAMED.findall(each.sql)}
    return [
        _PLANTED.format(name, table)
        for name, table in database.rows(_POSTGRES)
        if str(name) not in own
    ]
