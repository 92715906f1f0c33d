"""What an attempt is given and what is stored of it: the job of its runner, and its output."""

from collections.abc import Callable, Mapping
from pathlib import Path

from stateward.core.errors import ArtifactError
from stateward.core.model import Micros, Work, timeout_message
from stateward.core.redelivery import loss_line
from stateward.storage.outputs import Output, Outputs
from stateward.workers.attempt_data import (
    Artifacts,
    Inputs,
    RecentItems,
    StageFiles,
    StageSavedValues,
    output_of,
)
from stateward.workers.attempt_log import AttemptLog
from stateward.workers.child_attempt import JobOrder
from stateward.workers.failures import missing_runner, unusable_document
from stateward.workers.fetching import Fetcher
from stateward.workers.results import Result
from stateward.workers.sandbox import ChildJob
from stateward.workers.sdk import Job, Runner, run_runner
from stateward.workers.worker_config import WorkerConfig, options_of


class Attempts:
    """Makes the jobs of a worker, and its outputs from their results."""

    def __init__(
        self,
        worker: str,
        config: WorkerConfig,
        *,
        runners: Mapping[str, Runner],
        outputs: Outputs,
        artifacts: Artifacts,
        fetcher: Fetcher,
        clock: Callable[[], Micros],
        sleep: Callable[[float], object],
    ) -> None:
        self._worker = worker
        self._config = config
        self._runners = runners
        self._outputs = outputs
        self._artifacts = artifacts
        self._fetcher = fetcher
        self._clock = clock
        self._sleep = sleep
        self.recent = RecentItems()

    def run_here(self, work: Work) -> Result:
        """Run inline work in this thread."""
        runner = self._runners.get(work.runner)
        if runner is None:
            return missing_runner(work)
        try:
            job = Job(
                record_id=work.record_id,
                stage=work.stage,
                attempt=work.version,
                retry_count=work.retry_count,
                labels=work.labels,
                path=self._artifact(work),
                items=Inputs(self._outputs, work, self.recent),
                options=options_of(self._config.options, work.runner),
                saved_values=self._saved_values(work),
                files=self.files(work),
                earlier=work.earlier,
            )
        except ArtifactError as error:
            return unusable_document(error)
        return run_runner(
            runner, job, limits=self._config.limits, sleep=self._sleep, now=self._clock
        )

    def order(self, work: Work) -> JobOrder:
        """What a child process is told about its work."""
        return JobOrder(
            runner=work.runner,
            record_id=work.record_id,
            stage=work.stage,
            attempt=work.version,
            retry_count=work.retry_count,
            labels=work.labels,
            artifact_path=None if work.artifact is None else str(self._artifact(work)),
            items=Inputs(self._outputs, work, self.recent).read(),
            timeout_s=work.timeout_s,
            timeout_message=timeout_message(work.running, work.timeout_s),
            options=options_of(self._config.options, work.runner),
            earlier=work.earlier,
        )

    def child_job(self, work: Work, order: JobOrder) -> ChildJob:
        """Work for a child process, with what it may save while it runs."""
        return ChildJob(order, self._saved_values(work), self.files(work))

    def files(self, work: Work) -> StageFiles:
        """The derived files of a record."""
        return StageFiles(self._outputs, self._artifacts, work.record_id, work.inputs, self._clock)

    def _saved_values(self, work: Work) -> StageSavedValues:
        return StageSavedValues(self._outputs, work.record_id, work.stage, self._clock)

    def _artifact(self, work: Work) -> Path | None:
        """The document of this work, whose bytes are those that the record was made of."""
        if work.artifact is None:
            return None
        return self._fetcher.take(work.artifact)

    def output(self, work: Work, result: Result) -> Output:
        """What is stored of an attempt that ended."""
        log = self._log_of(work, result.log)
        return output_of(work, result, worker=self._worker, at=self._clock(), log=log)

    def _log_of(self, work: Work, log: str) -> str:
        """The log of an attempt, after what is known of its lost deliveries."""
        if not work.losses:
            return log
        lines = AttemptLog(bytes_max=self._config.limits.log_bytes_max, now=self._clock)
        for number, loss in enumerate(work.losses, 1):
            lines.write("warning", loss_line(loss, number), {})
        return lines.text() + log
