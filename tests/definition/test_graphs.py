"""The three machines that ship have exactly the graphs of their seeds: no more, no less."""

import pytest

from stateward.core.machine import Machine
from stateward.ledger import LedgerState
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.literature.machine import DOCUMENT_MACHINE
from stateward.pipelines.uploads.machine import UPLOAD
from tests.core.builders import MACHINES

Graph = dict[str, set[str]]

# ADR-0002, "Allowed Transitions (v1)".
UPLOAD_GRAPH: Graph = {
    "queued_for_parse": {"parsing", "error"},
    "parsing": {"parsed", "error"},
    "parsed": {"normalizing", "error"},
    "normalizing": {"normalized", "error"},
    "normalized": set(),
    "error": {"queued_for_parse", "parsed"},
}

# ADR-003, "State Transitions": 16 rows; "(step that failed)" is any of the four steps.
STEPS = ["parsing_pdf", "extracting", "validating", "comparing"]
CONTRACT_ROWS: list[tuple[str, str]] = [
    ("pending", "parsing_pdf"),
    ("parsing_pdf", "extracting"),
    ("parsing_pdf", "failed"),
    ("extracting", "validating"),
    ("extracting", "failed"),
    ("validating", "validated"),
    ("validating", "review_required"),
    ("validating", "failed"),
    ("review_required", "validated"),
    ("review_required", "rejected"),
    ("review_required", "timed_out"),
    ("validated", "comparing"),
    ("comparing", "completed"),
    ("comparing", "failed"),
    ("failed", "(step that failed)"),
    ("failed", "rejected"),
]

# Requirement L2, with "the running state of the step that failed" written out.
LITERATURE_GRAPH: Graph = {
    "pending": {"fetching", "skipped"},
    "fetching": {"fetched", "failed", "retrying"},
    "fetched": {"parsing", "failed"},
    "parsing": {"parsed", "failed", "retrying"},
    "parsed": {"validating", "failed"},
    "validating": {"validated", "failed", "retrying"},
    "validated": {"ir_building", "failed"},
    "ir_building": {"ir_ready", "failed", "retrying"},
    "ir_ready": {"embedding", "completed", "failed"},
    "embedding": {"indexed", "failed", "retrying"},
    "indexed": {"completed", "failed"},
    "completed": set(),
    "failed": {"retrying"},
    "retrying": {"fetching", "parsing", "validating", "ir_building", "embedding", "failed"},
    "skipped": set(),
    "legacy": {"pending", "skipped"},
}


def graph_of(machine: Machine) -> Graph:
    return {state.name: set(machine.allowed_from(state.name)) for state in machine.states}


def names_of(machine: Machine, kind: str) -> set[str]:
    return {state.name for state in machine.states if state.kind == kind}


def events_between(machine: Machine, source: str, to: str) -> set[str]:
    (edge,) = [each for each in machine.edges if (each.source, each.to) == (source, to)]
    return set(edge.on)


# The tables


def test_upload_has_exactly_the_graph_of_adr_0002() -> None:
    assert graph_of(UPLOAD) == UPLOAD_GRAPH
    assert len(UPLOAD.edges) == 10


def test_contract_has_exactly_the_sixteen_rows_of_adr_003() -> None:
    rows = set(CONTRACT_ROWS) - {("failed", "(step that failed)")}
    rows |= {("failed", step) for step in STEPS}

    assert len(CONTRACT_ROWS) == 16
    assert set(CONTRACT.pairs) == rows
    assert len(CONTRACT.edges) == 15 + len(STEPS)


def test_literature_has_exactly_the_graph_of_the_ledger() -> None:
    assert graph_of(DOCUMENT_MACHINE) == LITERATURE_GRAPH
    assert len(DOCUMENT_MACHINE.edges) == sum(map(len, LITERATURE_GRAPH.values()))


# The states


def test_upload_has_the_six_states_of_adr_0002() -> None:
    assert [state.name for state in UPLOAD.states] == list(UPLOAD_GRAPH)
    assert UPLOAD.initial == "queued_for_parse"
    assert names_of(UPLOAD, "terminal") == {"normalized"}
    assert names_of(UPLOAD, "failed") == {"error"}


def test_contract_has_the_eleven_states_of_adr_003() -> None:
    assert len(CONTRACT.states) == 11
    assert CONTRACT.initial == "pending"
    assert names_of(CONTRACT, "suspended") == {"review_required"}
    assert names_of(CONTRACT, "failed") == {"failed"}
    assert names_of(CONTRACT, "terminal") == {"completed", "rejected", "timed_out"}


def test_literature_has_the_sixteen_states_of_the_enum() -> None:
    assert [state.name for state in DOCUMENT_MACHINE.states] == [
        state.value for state in LedgerState
    ]
    assert len(DOCUMENT_MACHINE.states) == 16
    assert DOCUMENT_MACHINE.initial == "pending"
    assert names_of(DOCUMENT_MACHINE, "terminal") == {"completed", "failed", "skipped"}
    assert [state.name for state in DOCUMENT_MACHINE.states if state.is_imported] == ["legacy"]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_state_says_what_it_means(machine: Machine) -> None:
    assert all(state.doc for state in machine.states)


# What causes a move


@pytest.mark.parametrize(
    ("machine", "source", "to", "events"),
    [
        (UPLOAD, "queued_for_parse", "parsing", {"parse.started"}),
        (UPLOAD, "queued_for_parse", "error", {"cancel.requested"}),
        (UPLOAD, "parsing", "error", {"parse.failed", "parse.timed_out", "cancel.requested"}),
        (UPLOAD, "error", "parsed", {"retry.requested", "retry.due"}),
        (CONTRACT, "review_required", "validated", {"review.approved", "review.corrected"}),
        (CONTRACT, "review_required", "timed_out", {"review.timed_out"}),
        (CONTRACT, "failed", "rejected", {"retries.exhausted"}),
        (DOCUMENT_MACHINE, "fetching", "retrying", {"fetch.failed", "fetch.timed_out"}),
        (DOCUMENT_MACHINE, "failed", "retrying", {"retry.requested"}),
        (DOCUMENT_MACHINE, "retrying", "failed", {"retries.exhausted", "cancel.requested"}),
        (DOCUMENT_MACHINE, "ir_ready", "completed", {"document.completed"}),
    ],
)
def test_a_move_has_these_causes_and_no_others(
    machine: Machine, source: str, to: str, events: set[str]
) -> None:
    assert events_between(machine, source, to) == events


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_what_may_follow_is_listed_in_the_order_of_the_declaration(machine: Machine) -> None:
    places = [
        [machine.order[to] for to in machine.allowed_from(state.name)] for state in machine.states
    ]

    assert all(each == sorted(each) for each in places)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_status_belongs_to_the_stage_that_waits_or_runs_in_it(machine: Machine) -> None:
    for stage in machine.stages:
        assert machine.stage_of(stage.from_state) == stage
        assert machine.stage_of(stage.running) == stage
    for state in machine.states:
        if state.kind in ("suspended", "failed", "terminal"):
            assert machine.stage_of(state.name) is None


# Waits: what a profile may change


def test_a_profile_changes_waits_and_retries_but_never_the_graph() -> None:
    retry = UPLOAD.retry.__class__(max_retries=5, backoff_s=(10.0,))

    tuned = UPLOAD.tuned(retry=retry, timeouts_s={"parsing": 120.0})

    assert tuned.edges == UPLOAD.edges
    assert tuned.retry == retry
    assert tuned.stage["parse"].timeout_s == 120
    assert tuned.stage["normalize"].timeout_s == UPLOAD.stage["normalize"].timeout_s == 3600


def test_a_profile_that_says_nothing_changes_nothing() -> None:
    assert UPLOAD.tuned() == UPLOAD


def test_a_profile_can_change_the_deadline_of_a_review() -> None:
    tuned = CONTRACT.tuned(timeouts_s={"review_required": 60.0})

    assert CONTRACT.reviews[0].timeout_s == 24 * 3600
    assert tuned.reviews[0].timeout_s == 60
