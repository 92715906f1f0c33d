"""Who submitted which record, for workers that give each owner a process."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from stateward.core.model import Work
from stateward.storage.database import Asked
from stateward.storage.store import Store, submitters_of

OWNERS_MAX = 10_000  # records whose submitter is remembered


class RecordOwners:
    """The submitters of records. Unless they are wanted, none is asked for: it costs a query for each batch."""

    def __init__(self, store: Store, *, are_wanted: bool) -> None:
        self._store = store
        self._known: dict[str, str] = {}
        self.are_wanted = are_wanted

    def ask(self, record_ids: Iterable[str]) -> Asked | None:
        """Ask who submitted records that may be sent on, as far as it is not known; None if there is nothing to ask."""
        unknown = sorted({*record_ids} - self._known.keys()) if self.are_wanted else []
        return self._store.ask_submitters(unknown) if unknown else None

    def name_in(self, sent: list[Work], asked: Asked | None = None) -> None:
        """Say in the work who submitted its record; `asked` is what `ask` has asked for in the same transaction."""
        apart = [work.record_id for work in sent if self.is_needed(work)]
        if not apart:
            return
        if asked is not None:
            self.learn(submitters_of(asked))
        # Who submitted a record never changes, and mostly its stages follow each other here.
        known = self._known
        owners = {each: known[each] for each in apart if each in known}
        if len(owners) < len(apart):
            found = self._store.submitters([each for each in apart if each not in owners])
            self.learn(found)
            owners |= found
        sent[:] = [replace(work, owner=owners.get(work.record_id, "")) for work in sent]

    def learn(self, owners: Mapping[str, str]) -> None:
        """Remember who submitted records, so that it is not asked when they go on to their next stage."""
        if len(self._known) > OWNERS_MAX:
            self._known = {}  # another one: a thread that submits may come between the questions of a turn
        self._known.update(owners)

    def is_needed(self, work: Work) -> bool:
        """Inline work runs in no process of its own, so that its owner does not matter."""
        return self.are_wanted and not work.is_inline
