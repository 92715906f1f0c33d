"""Results that came over a transport, checked before anything of them is stored.

A worker in another network, or in another language, is believed nothing: its items go through the same collector as
those of a runner here, with the limits of the settings and the item type of the pipeline, and its files must have the
hash that it says. What does not pass is a failed attempt with a code, never an error of the coordinator.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from stateward.blobs import ArtifactStore
from stateward.core.errors import (
    ArtifactError,
    ArtifactsUnreachable,
    FatalFailure,
    InvalidRequest,
    StoreError,
)
from stateward.core.files import DerivedFile, file_fault
from stateward.core.model import Fields, Micros, Work, clean_text
from stateward.core.redelivery import WORKER_LOST
from stateward.core.retry import retry_after_s
from stateward.storage.outputs import Output, Outputs
from stateward.transport.messages import FileReference, ResultMessage
from stateward.workers.attempt_data import output_of
from stateward.workers.results import Failed, Limits, Outcome, Result
from stateward.workers.routes import Routes, route_of
from stateward.workers.sdk import Job, Runner, run_runner

BAD_RESULT = "BAD_RESULT"
CODE_CHARS_MAX = 200


class ResultChecker:
    """Turns a message about work into what is stored of the attempt."""

    def __init__(
        self,
        *,
        limits: Limits,
        runners: Mapping[str, Runner],
        routes: Routes,
        artifacts: ArtifactStore,
        clock: Callable[[], Micros],
        outputs: Outputs,
    ) -> None:
        self._outputs = outputs
        self._limits = limits
        self._runners = runners
        self._routes = routes
        self._artifacts = artifacts
        self._clock = clock

    def output(self, work: Work, message: ResultMessage) -> Output:
        """What is stored: the result as it came, or a failed attempt that says what is wrong with it."""
        result = self._check(work, message)
        worker = clean_text(message.worker, chars_max=CODE_CHARS_MAX)
        log = clean_text(message.log, chars_max=self._limits.log_bytes_max)
        return output_of(work, result, worker=worker, at=self._clock(), log=log)

    def lost(self, work: Work, relay: str, *, times: int, reason: str) -> Output:
        """What is stored of an attempt that was published several times and never answered; `reason`: the last time."""
        why = (
            f"it was published {times} times and no worker answered, the last time because {reason}"
        )
        failed = Failed(code=WORKER_LOST, message=why)
        return output_of(work, failed, worker=relay, at=self._clock(), log="")

    def _check(self, work: Work, message: ResultMessage) -> Result:
        if message.error_code is not None:
            return self._failure(message)
        try:
            files = self._files(work, message)
        except ArtifactsUnreachable:
            raise  # no fault of the result: it is checked when they can be read
        except (FatalFailure, ArtifactError, InvalidRequest, StoreError) as error:
            return self._bad(f"its files cannot be used: {error}")
        claimed = message.count
        result = run_runner(
            self._replay(work, message),
            Job(
                record_id=work.record_id,
                stage=work.stage,
                attempt=work.version,
                retry_count=work.retry_count,
                labels={},
                path=None,
                items={},
                options={},
            ),
            limits=msgspec.structs.replace(self._limits, transient_attempts=1),
            sleep=lambda _: None,
            now=self._clock,
        )
        if isinstance(result, Failed):
            return self._bad(f"{result.code}: {result.message}")
        if result.count != claimed:
            return self._bad(f"it counted {claimed} items and sent {result.count}")
        return msgspec.structs.replace(result, files=files)

    def _replay(self, work: Work, message: ResultMessage) -> Runner:
        """A runner that gives what the message holds, with the declared types of the one that made it."""
        route = route_of(self._routes, work.machine, work.stage, work.labels)
        name = work.runner if route is None else route.runner
        known = self._runners.get(name)

        def give(_: Job) -> Outcome[Fields]:
            about: Fields = {}
            for chunk in message.items:
                if chunk.count == 0:
                    about = msgspec.json.decode(chunk.data, type=dict)
            return Outcome(message.outcome, items=_items(message), facts=message.facts, about=about)

        if known is None:  # a worker in another language has runners that none here knows
            return Runner(name, give)
        return Runner(name, give, known.produces, None, known.outcomes)

    def _files(self, work: Work, message: ResultMessage) -> tuple[DerivedFile, ...]:
        limits = self._limits
        if len(message.files) > limits.files_max:
            raise FatalFailure(f"more than {limits.files_max} files", code=BAD_RESULT)
        if sum(each.size for each in message.files) > limits.files_bytes_max:
            raise FatalFailure(f"more than {limits.files_bytes_max} bytes", code=BAD_RESULT)
        if message.files:
            self._outputs.announce_files(
                work.record_id, [each.sha256 for each in message.files], at=self._clock()
            )
        return tuple(self._file(each) for each in message.files)

    def _file(self, given: FileReference) -> DerivedFile:
        file = DerivedFile(
            name=given.name, media_type=given.media_type, size=given.size, sha256=given.sha256
        )
        if fault := file_fault(file):
            raise FatalFailure(fault, code=BAD_RESULT)
        if given.data is not None:
            stored = self._artifacts.put_as(
                file.sha256, [given.data], bytes_max=self._limits.files_bytes_max
            )
            is_same = stored is not None and stored.size == file.size
        else:
            path: Path = self._artifacts.path(file.sha256)
            is_same = path.stat().st_size == file.size and self._artifacts.verify(file.sha256)
        if not is_same:
            raise FatalFailure(
                f"{file.name} has not the size and hash that it says", code=BAD_RESULT
            )
        return file

    def _failure(self, message: ResultMessage) -> Failed:
        return Failed(
            code=clean_text(message.error_code or "", chars_max=CODE_CHARS_MAX) or BAD_RESULT,
            message=clean_text(
                message.error_message or "", chars_max=self._limits.message_chars_max
            ),
            is_retryable=message.is_retryable,
            log="",
            retry_after_s=retry_after_s(message.facts),
        )

    def _bad(self, why: str) -> Failed:
        # Another worker may do better, so it is worth another try, as often as the stage allows.
        text = clean_text(
            f"the result was refused: {why}", chars_max=self._limits.message_chars_max
        )
        return Failed(code=BAD_RESULT, message=text, is_retryable=True, log="")


def _items(message: ResultMessage) -> Iterator[Fields]:
    """All items; what is no array of objects is refused by the collector, or here."""
    for chunk in message.items:
        if chunk.count:
            yield from msgspec.json.decode(chunk.data, type=list[Fields])
