"""The JSON documents of the HTTP API: what the server answers, the client decodes and commands print; and requests.

Names are snake_case, times are RFC 3339 in UTC. A field that does not apply is absent, not null (`UNSET`). How an
answer is made from the engine's values is in `app.views`.

The modules are imported when a name of theirs is first used: a command that lists records needs two of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stateward.schemas.base import *
    from stateward.schemas.batches import *
    from stateward.schemas.feed import *
    from stateward.schemas.health import *
    from stateward.schemas.keys import *
    from stateward.schemas.machines import *
    from stateward.schemas.records import *
    from stateward.schemas.retention import *
    from stateward.schemas.reviews import *
    from stateward.schemas.search import *
    from stateward.schemas.webhooks import *

# In the order in which a name is looked for: what short commands need stands first.
_MODULES = (
    "base", "records", "machines", "reviews", "search", "health", "keys", "batches", "retention", "webhooks", "feed",
)  # fmt: skip


if not TYPE_CHECKING:  # a type checker would take every name for one that exists

    def __getattr__(name: str) -> object:
        """A document, from the module that declares it; from then on an ordinary attribute."""
        for module in () if name.startswith("_") else _MODULES:
            found = vars(import_module(f"{__name__}.{module}")).get(name)
            if found is not None:
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
