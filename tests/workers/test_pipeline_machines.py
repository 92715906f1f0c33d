"""A pipeline in Python compiles to the machine that the same graph in YAML gives."""

from collections.abc import Iterable, Iterator

import msgspec
import pytest
from msgspec.structs import replace

from stateward import Job, Outcome, Pipeline, Retry, at_least, is_true
from stateward.core.machine import Machine
from stateward.engine.registry import graph_digest
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.uploads.machine import UPLOAD
from stateward.workers import sdk


class Page(msgspec.Struct):
    text: str


class Term(msgspec.Struct):
    field: str
    value: str


@pytest.fixture(autouse=True)
def _own_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runners of the shipped machines stay those of the shipped pipelines."""
    monkeypatch.setattr(sdk, "_RUNNERS", {})


def without_docs(machine: Machine) -> Machine:
    states = tuple(replace(state, doc="") for state in machine.states)
    return replace(machine, doc="", states=states)


def test_the_shipped_upload_machine_can_be_written_in_python() -> None:
    upload = Pipeline("upload", prefix="UL", failed="error", expose=["upload_log_ref"])

    @upload.stage(status=("queued_for_parse", "parsing"), produces="observations")
    def parse(job: Job) -> Iterator[dict[str, object]]:
        yield {}

    @upload.stage(
        after=parse,
        status=("parsed", "normalizing"),
        produces="canonicals",
        log_field="normalizer_log_ref",
    )
    def normalize(job: Job) -> Iterator[dict[str, object]]:
        yield {}

    upload.end("normalized", after=normalize)

    assert without_docs(upload.machine) == without_docs(UPLOAD)
    assert graph_digest(upload.machine) == graph_digest(UPLOAD)


def test_the_shipped_contract_machine_can_be_written_in_python() -> None:
    contract = Pipeline(
        "contract", prefix="CW", retry=Retry(backoff_s=(10, 60, 300), fatal_after_s=86_400)
    )

    @contract.stage(
        status=("pending", "parsing_pdf"),
        resume="running",
        external=True,
        timeout_s=300,
        cancellable=False,
    )
    def parse(job: Job) -> Iterator[Page]:
        yield Page("")

    @contract.stage(
        after=parse,
        status="extracting",
        external=True,
        network=True,
        timeout_s=600,
        expose=["vertical", "provider"],
    )
    def extract(job: Job, pages: Iterable[Page]) -> Iterator[Term]:
        yield Term("", "")

    @contract.stage(after=extract, status="validating", timeout_s=120, expose=["final_confidence"])
    def validate(job: Job, terms: Iterable[Term]) -> Outcome:
        return Outcome(facts={"final_confidence": 90, "valid": True})

    review = contract.review(after=validate, of=extract, timeout_s=86_400)
    is_sure = validate.when(at_least("final_confidence", 80), is_true("valid"))

    @contract.stage(
        after=[is_sure, review],
        status=("validated", "comparing"),
        resume="running",
        external=True,
        timeout_s=300,
        cancellable=False,
    )
    def compare(job: Job, terms: Iterable[Term]) -> None: ...

    contract.end("rejected", after=[review.rejected, contract.exhausted])

    assert without_docs(contract.machine) == without_docs(CONTRACT)
    assert graph_digest(contract.machine) == graph_digest(CONTRACT)
