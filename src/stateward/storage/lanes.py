"""The rows of lanes."""

from stateward.storage.database import Table

LANES = Table(
    "lanes",
    {"lane": "bigint", "count": "bigint", "head": "text", "epoch": "bigint", "since": "bigint"},
    key=("lane",),
)
LANES_GONE = "lanes of the history are missing or were changed; restore the database from a backup"
