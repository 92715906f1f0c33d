"""How attempts that ended at a worker without a database are told: as messages about their results.

Everything here makes messages; nothing is sent from this module.
"""

from collections.abc import Sequence

import msgspec

from stateward.blobs import ArtifactStore, pieces_of
from stateward.core.errors import ArtifactError
from stateward.core.files import DerivedFile
from stateward.core.model import Loss, Work
from stateward.core.redelivery import WORKER_LOST
from stateward.storage.outputs import Output
from stateward.transport.messages import FileReference, ItemChunk, ResultMessage, ReturnedMessage

TOO_LARGE = "RESULT_TOO_LARGE"


class ResultMessages:
    """Makes the messages of one worker. `shares_blobs`: coordinators reach its blob storage too."""

    def __init__(self, worker: str, artifacts: ArtifactStore, *, shares_blobs: bool) -> None:
        self._worker = worker
        self._artifacts = artifacts
        self._shares_blobs = shares_blobs

    def of(self, work: Work, output: Output | None) -> ResultMessage:
        """How an attempt ended, with all that it left."""
        if output is None:
            return self.failed(work, WORKER_LOST, "its result is gone")
        try:
            files = self._references(work.stage, output.files)
        except ArtifactError as error:
            return self.failed(work, TOO_LARGE, str(error), is_retryable=False)
        result = output.result
        return ResultMessage(
            record_id=work.record_id,
            version=work.version,
            delivery=work.delivery,
            assigned_to=work.worker,
            stage=work.stage,
            worker=result.worker,
            outcome=result.outcome,
            count=result.count,
            facts=result.facts,
            error_code=result.error_code,
            error_message=result.error_message,
            is_retryable=result.is_retryable,
            log=result.log,
            items=[
                ItemChunk(count=count, data=msgspec.Raw(data.encode()))
                for count, data in output.chunks
            ],
            files=files,
        )

    def _references(self, stage: str, files: Sequence[DerivedFile]) -> list[FileReference]:
        return [
            FileReference(
                name=each.name,
                media_type=each.media_type,
                size=each.size,
                sha256=each.sha256,
                stage=stage,
                data=None if self._shares_blobs else self._bytes(each.sha256),
            )
            for each in files
        ]

    def _bytes(self, digest: str) -> bytes:
        return b"".join(pieces_of(self._artifacts.path(digest)))

    def failed(
        self, work: Work, code: str, message: str, *, is_retryable: bool = True
    ) -> ResultMessage:
        """That an attempt failed at this worker, not by its runner's word."""
        return ResultMessage(
            record_id=work.record_id,
            version=work.version,
            delivery=work.delivery,
            assigned_to=work.worker,
            stage=work.stage,
            worker=self._worker,
            error_code=code,
            error_message=message,
            is_retryable=is_retryable,
        )

    def given_up(self, work: Work, *, times: int) -> ResultMessage:
        """That an attempt was delivered too often: it may be what ends its workers."""
        message = f"its worker was lost {times} times while it ran {work.stage}"
        return self.failed(work, WORKER_LOST, message)

    def returned(self, work: Work, loss: Loss | None) -> ReturnedMessage:
        """That the process of an attempt died, or the worker that had it before this one, and another is to take it."""
        return ReturnedMessage(
            record_id=work.record_id,
            version=work.version,
            delivery=work.delivery,
            assigned_to=work.worker,
            stage=work.stage,
            loss=loss,
        )
