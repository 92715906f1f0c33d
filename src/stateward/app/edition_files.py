"""The derived files of a stage that runs again: it reads what the stages before it made, now or then."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stateward.blobs import ArtifactStore
from stateward.core.files import DerivedFile
from stateward.core.model import Micros
from stateward.storage.outputs import Outputs
from stateward.workers.attempt_data import StageFiles


class EditionFiles(StageFiles):
    """Derived files for a stage that runs again: those made just now, else of the newest edition that has any."""

    def __init__(
        self,
        outputs: Outputs,
        artifacts: ArtifactStore,
        record_id: str,
        inputs: Mapping[str, int],
        clock: Callable[[], Micros],
        *,
        former: Mapping[str, int],
        made: Mapping[str, Sequence[DerivedFile]],
    ) -> None:
        super().__init__(outputs, artifacts, record_id, inputs, clock)
        self._attempts = StageFiles(outputs, artifacts, record_id, former, clock)
        self._store = artifacts
        self._made = made

    def find(self, stage: str, name: str) -> Path | None:
        """The file that an earlier stage saved under a name, or None."""
        for each in self._made.get(stage, ()):
            if each.name == name:
                return self._store.path(each.sha256)
        return super().find(stage, name) or self._attempts.find(stage, name)
