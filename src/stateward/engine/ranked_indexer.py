"""Documents of machines that declare a ranking, put into the ranked index by the indexer in its transactions."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from stateward import telemetry
from stateward.core.ranking import Ranking
from stateward.definition.plugin import resolve
from stateward.definition.search import RankedDocument, RankedText
from stateward.storage.outputs import Outputs
from stateward.storage.ranked import DocumentToIndex, RankedIndex
from stateward.storage.vectors import ItemVector, Vectors

_LOG = telemetry.log("indexer")


class OutputPlace(Protocol):
    """Which output of which record."""

    @property
    def record_id(self) -> str: ...

    @property
    def stage(self) -> str: ...

    @property
    def version(self) -> int: ...


class RankedIndexer:
    """Makes documents of outputs as their pipelines declare, and adds them to the index."""

    def __init__(
        self,
        declared: Iterable[RankedText],
        *,
        index: RankedIndex,
        vectors: Vectors,
        outputs: Outputs,
    ) -> None:
        self._declared = {(each.machine, each.stage): each for each in declared}
        self._vector_stages = {
            (each.machine, each.vectors) for each in self._declared.values() if each.vectors
        }
        self._index = index
        self._vectors = vectors
        self._outputs = outputs

    @property
    def declared(self) -> list[bytes]:
        """What is indexed, as texts that change with it."""
        return [f"{each.machine} {each.stage} {each.version}".encode() for each in self._declared.values()]  # fmt: skip

    def has_vectors(self, machine: str, stage: str) -> bool:
        return (machine, stage) in self._vector_stages

    def add(self, outputs: Sequence[tuple[str, OutputPlace]]) -> None:
        """Index (machine, output); what declares no ranking is left out."""
        found: dict[tuple[str, str], list[DocumentToIndex]] = {}
        for machine, output in outputs:
            if self.has_vectors(machine, output.stage):
                self._add_vectors(machine, output)
            ranked = self._declared.get((machine, output.stage))
            document = None if ranked is None else self._document(ranked, output)
            if document is not None:
                found.setdefault((machine, output.stage), []).append(document)
        for key, documents in found.items():
            ranking: Ranking = resolve(self._declared[key].ranking)
            self._index.add(key[0], documents, ranking)

    def _document(self, ranked: RankedText, output: OutputPlace) -> DocumentToIndex | None:
        """An output as a document; None, and a line in the log, where its pipeline cannot read it any more."""
        try:
            made = read_document(ranked, self._outputs, output)
        except (LookupError, TypeError, ValueError, msgspec.MsgspecError) as error:
            _LOG.warning(
                f"{output.record_id} is not in the ranked index: its pipeline cannot read its items of {output.stage}",
                record_id=output.record_id,
                stage=output.stage,
                error=f"{type(error).__name__}: {error}"[:500],
            )
            return None
        return DocumentToIndex(
            record_id=output.record_id,
            stage=output.stage,
            title=made.title,
            facts=made.facts,
            texts=made.texts,
            names=made.names,
        )

    def _add_vectors(self, machine: str, output: OutputPlace) -> None:
        model = str(self._outputs.about(output.record_id, output.version).get("model", ""))
        found = [
            ItemVector(
                record_id=output.record_id,
                item=int(str(item.get("item", 0))),
                model=model,
                vector=str(item.get("vector", "")),
            )
            for item in self._outputs.items(output.record_id, output.version)
        ]
        self._vectors.replace(machine, output.record_id, output.stage, found)

    def clear_some(self) -> int:
        """Delete some of the index; 0 when nothing is left."""
        return self._index.clear_some() or self._vectors.clear_some()


def read_document(ranked: RankedText, outputs: Outputs, output: OutputPlace) -> RankedDocument:
    about = outputs.about(output.record_id, output.version)
    items = outputs.items(output.record_id, output.version)
    made: RankedDocument = resolve(ranked.document)(about, items)
    return made
