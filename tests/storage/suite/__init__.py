"""The suite that every database engine passes.

Inherit `DatabaseSuite` in a test module and give it two fixtures, `open_database` and
`open_empty_database`, each an `Opener`: the first for a database that has our tables, the second for
one that has nothing. The suite knows the tables of the schema, but only to have something to write.
"""

from tests.storage.suite.history import History
from tests.storage.suite.schema import Schema
from tests.storage.suite.transactions import Transactions
from tests.storage.suite.values import Values
from tests.storage.suite.verbs import Verbs
from tests.storage.suite.wakeups import Wakeups


class DatabaseSuite(Transactions, Verbs, History, Values, Wakeups, Schema):
    """What the packages above may rely on."""
