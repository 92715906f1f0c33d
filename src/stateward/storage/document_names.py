"""By which names ranked documents are known, and which of them are the same document.

A name is `scheme:value`: an identifier, or a title with its year. Documents that share an identifier are the same.
Documents that only share a weak name (`WEAK`) are the same unless identifiers say that it is the name of several, as
the title of a yearly report is. The one that was indexed first is the canonical one.

A writer holds the lock of the full-text cursor.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from stateward.storage.database import Database, Table

WEAK = "title:"
NAMES_MAX = 20
HOPS_MAX = 4  # from a document to those that are the same as one that is the same
NAMES_AT_ONCE = 1000

NAMES = Table(
    "search_names",
    {"machine": "text", "name": "text", "record_id": "text", "stage": "text"},
    key=("machine", "name", "record_id", "stage"),
)


class DocumentNames:
    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, machine: str, record_id: str, stage: str, names: Iterable[str]) -> None:
        """Store the names of a document; those that it had are gone."""
        self.remove(record_id, stage)
        rows = [
            (machine, name, record_id, stage) for name in list(dict.fromkeys(names))[:NAMES_MAX]
        ]
        if rows:
            self._database.insert(NAMES, rows)

    def remove(self, record_id: str, stage: str) -> None:
        self._database.run(
            "DELETE FROM search_names WHERE record_id = :record_id AND stage = :stage",
            record_id=record_id,
            stage=stage,
        )

    def having(self, machine: str, names: Iterable[str]) -> dict[str, list[str]]:
        """The records whose document has one of these names, by name; of each, the one indexed first comes first."""
        wanted = sorted(set(names))
        found: dict[str, list[str]] = {}
        for start in range(0, len(wanted), NAMES_AT_ONCE):
            among, params = self._database.among("name", wanted[start : start + NAMES_AT_ONCE])
            for name, record_id in self._database.rows(
                f"SELECT name, record_id FROM search_names WHERE machine = :machine AND {among}"
                " ORDER BY name, record_id",
                machine=machine,
                **params,
            ):
                found.setdefault(str(name), []).append(str(record_id))
        return {
            name: self._in_order(machine, ids) if len(ids) > 1 else ids
            for name, ids in found.items()
        }

    def same_as(self, machine: str, record_id: str) -> list[str]:
        """All records whose document is that of a record, itself among them; the canonical one first."""
        found, fresh = {record_id}, [record_id]
        for _ in range(HOPS_MAX):
            fresh = [each for each in self._next_to(machine, fresh) if each not in found]
            if not fresh:
                break
            found.update(fresh)
        return self._in_order(machine, found) if len(found) > 1 else [record_id]

    def shared(self, machine: str) -> list[list[str]]:
        """All groups of records whose documents are the same; in each, the canonical one first."""
        rows = self._database.rows(
            "SELECT DISTINCT record_id FROM search_names WHERE machine = :machine AND name IN"
            " (SELECT name FROM search_names WHERE machine = :machine GROUP BY name"
            " HAVING count(DISTINCT record_id) > 1) ORDER BY record_id",
            machine=machine,
        )
        seen: set[str] = set()
        groups: list[list[str]] = []
        for (record_id,) in rows:
            if str(record_id) not in seen:
                group = self.same_as(machine, str(record_id))
                seen.update(group)
                groups += [group] if len(group) > 1 else []
        return groups

    def _next_to(self, machine: str, record_ids: Sequence[str]) -> list[str]:
        """Records that share a name with one of these."""
        among, params = self._database.among("a.record_id", record_ids)
        rows = self._database.rows(
            "SELECT DISTINCT b.record_id, a.name FROM search_names a JOIN search_names b"
            " ON b.machine = a.machine AND b.name = a.name AND b.record_id <> a.record_id"
            f" WHERE a.machine = :machine AND {among} ORDER BY 1, 2 LIMIT {NAMES_AT_ONCE}",
            machine=machine,
            **params,
        )
        found = [(str(other), str(name)) for other, name in rows]
        weak = sorted({name for _, name in found if name.startswith(WEAK)})
        doubtful = {name for name in weak if self._is_of_several(machine, name)}
        return list(dict.fromkeys(other for other, name in found if name not in doubtful))

    def _is_of_several(self, machine: str, name: str) -> bool:
        """Whether a weak name is that of different documents, as the identifiers of those that have it say."""
        rows = self._database.rows(
            "SELECT record_id FROM search_names WHERE machine = :machine AND name = :name"
            f" ORDER BY record_id LIMIT {NAMES_AT_ONCE}",
            machine=machine,
            name=name,
        )
        names = list(self._names(machine, [str(record_id) for (record_id,) in rows]).values())
        schemes = {scheme for each in names for scheme in each} - {WEAK.rstrip(":")}
        return any(
            _differ([each[scheme] for each in names if scheme in each]) for scheme in schemes
        )

    def _names(self, machine: str, record_ids: Sequence[str]) -> dict[str, dict[str, set[str]]]:
        among, params = self._database.among("record_id", record_ids)
        found: dict[str, dict[str, set[str]]] = {}
        for record_id, name in self._database.rows(
            f"SELECT record_id, name FROM search_names WHERE machine = :machine AND {among}",
            machine=machine,
            **params,
        ):
            scheme, _, value = str(name).partition(":")
            found.setdefault(str(record_id), {}).setdefault(scheme, set()).add(value)
        return found

    def _in_order(self, machine: str, record_ids: Iterable[str]) -> list[str]:
        among, params = self._database.among("record_id", sorted(record_ids))
        rows = self._database.rows(
            f"SELECT record_id FROM search_documents WHERE machine = :machine AND {among} ORDER BY number",
            machine=machine,
            **params,
        )
        return list(dict.fromkeys(str(record_id) for (record_id,) in rows))


def _differ(values: Sequence[set[str]]) -> bool:
    """Whether two of these have nothing in common."""
    return any(own.isdisjoint(other) for own, other in pairwise(sorted(values, key=min)))
