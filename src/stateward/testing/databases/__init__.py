"""The suite that every database engine passes.

Inherit `DatabaseSuite` in a test module and give it two fixtures, `open_database` and
`open_empty_database`, each an `Opener`: the first for a database that has our tables, the second for
one that has nothing. The suite knows the tables of the schema, but only to have something to write.
"""

from stateward.testing.databases.history import History
from stateward.testing.databases.schema import Schema
from stateward.testing.databases.transactions import Transactions
from stateward.testing.databases.values import Values
from stateward.testing.databases.verbs import Verbs
from stateward.testing.databases.wakeups import Wakeups


class DatabaseSuite(Transactions, Verbs, History, Values, Wakeups, Schema):
    """What the packages above may rely on."""
