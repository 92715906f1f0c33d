"""What makes documents searchable: the indexes, what fills and searches them, and what confirms that a search works."""

import time
from collections.abc import Callable, Iterator
from functools import cached_property

from stateward.app.plugins import Plugins
from stateward.app.ranked_search import RankedSearch
from stateward.app.search import Search
from stateward.app.search_probe import SearchProbe
from stateward.app.vectors import VectorSearch
from stateward.core.model import Micros
from stateward.core.query import Query
from stateward.definition.search import RankedText
from stateward.engine.indexer import Indexer, Searchable
from stateward.engine.ranked_indexer import RankedIndexer
from stateward.engine.registry import MachineRegistry
from stateward.engine.search_confirmation import SearchConfirmation
from stateward.settings import Settings
from stateward.storage.database import Database
from stateward.storage.full_text import FullTextIndex
from stateward.storage.outputs import Outputs
from stateward.storage.ranked import RankedIndex
from stateward.storage.store import Store
from stateward.storage.vectors import Vectors
from stateward.transport import Bus


class SearchParts:
    """Each part is made when it is first asked for."""

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        store: Store,
        outputs: Outputs,
        bus: Bus,
        plugins: Plugins,
        registry: MachineRegistry,
        query: Callable[[str, Micros | None], Query],
        clock: Callable[[], Micros],
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._outputs = outputs
        self._bus = bus
        self._plugins = plugins
        self._registry = registry
        self._query = query
        self._clock = clock
        self._full_text = FullTextIndex(database)

    @cached_property
    def search(self) -> Search:
        """What documents say."""
        return Search(
            index=self._full_text,
            store=self._store,
            registry=self._registry,
            query=self._query,
            ranked=self._ranked,
            types=self._plugins.passage_types,
        )

    @cached_property
    def _ranked(self) -> RankedSearch:
        return RankedSearch(
            self._ranked_declared(),
            index=RankedIndex(self._database),
            outputs=self._outputs,
            store=self._store,
            vectors=VectorSearch(
                self._settings.data_path.absolute() / "search",
                Vectors(self._database),
                embed=self._plugins.embed_query,
                database=self._database,
            ),
        )

    @cached_property
    def indexer(self) -> Indexer:
        """What puts the text of completed stages into the full-text index."""
        ranked = RankedIndexer(
            self._ranked_declared(),
            index=RankedIndex(self._database),
            vectors=Vectors(self._database),
            outputs=self._outputs,
        )
        searchable = (each for plugin in self._plugins for each in plugin.searchable)
        return Indexer(
            Searchable(searchable, ranked=ranked.declared),
            index=self._full_text,
            outputs=self._outputs,
            ticks=time.monotonic,
            ranked=ranked,
        )

    @cached_property
    def confirmation(self) -> SearchConfirmation:
        """What completes the stages that ask whether a search finds the document."""
        return SearchConfirmation(
            self._plugins.engine_stages,
            store=self._store,
            index=self._full_text,
            bus=self._bus,
            probe=SearchProbe(
                self._ranked_declared(),
                search=self._ranked,
                outputs=self._outputs,
            ),
            clock=self._clock,
            ticks=time.monotonic,
        )

    def _ranked_declared(self) -> Iterator[RankedText]:
        return (each for plugin in self._plugins for each in plugin.ranked)
