"""Which deaths are a document's own: only several of processes that had begun it."""

from hypothesis import given
from hypothesis import strategies as st

from stateward.core.model import Loss
from stateward.core.redelivery import (
    RedeliveryLimits,
    loss_line,
    stop_reason,
    workers_to_avoid,
)

LOSSES = st.lists(
    st.builds(
        Loss,
        worker=st.sampled_from(["w1", "w2", "w3"]),
        has_begun=st.booleans(),
        cause=st.just("the worker was lost"),
    ),
    max_size=16,
)
# However busy the machine is.
LIMITS = st.builds(
    RedeliveryLimits,
    deliveries_max=st.integers(1, 6),
    redeliveries_max=st.integers(1, 12),
)


@given(LOSSES, LIMITS)
def test_work_stops_by_evidence_or_at_the_bound_and_not_before(
    losses: list[Loss], limits: RedeliveryLimits
) -> None:
    begun = sum(loss.has_begun for loss in losses)

    is_stopped = stop_reason(losses, limits) is not None

    assert is_stopped == (begun >= limits.deliveries_max or len(losses) >= limits.losses_max)


@given(LOSSES, LIMITS)
def test_what_died_before_it_began_the_document_never_counts_as_evidence(
    losses: list[Loss], limits: RedeliveryLimits
) -> None:
    unbegun = [loss for loss in losses if not loss.has_begun][: limits.losses_max - 1]

    assert stop_reason(unbegun, limits) is None


@given(LOSSES, LIMITS)
def test_one_more_loss_never_lets_stopped_work_go_on(
    losses: list[Loss], limits: RedeliveryLimits
) -> None:
    if stop_reason(losses[:-1], limits) is not None:
        assert stop_reason(losses, limits) is not None


@given(LOSSES)
def test_every_worker_that_was_lost_with_it_is_avoided(losses: list[Loss]) -> None:
    assert workers_to_avoid(losses) == {loss.worker for loss in losses}


def test_the_sentences_say_what_died_where_and_when() -> None:
    begun = Loss(worker="w1", has_begun=True, cause="killed by SIGKILL")
    queued = Loss(worker="w2", has_begun=False, cause="the worker was lost")

    assert loss_line(begun, 1) == (
        "delivery 1 was lost on worker w1, after it had begun this document: killed by SIGKILL"
    )
    assert loss_line(queued, 2) == (
        "delivery 2 was lost on worker w2, before it began this document: the worker was lost"
    )
    assert stop_reason([begun] * 2 + [replace_worker(begun)], RedeliveryLimits()) == (
        "3 processes died after they had begun this document, on 2 workers (worker.deliveries_max)"
    )
    assert stop_reason([queued] * 11, RedeliveryLimits()) == (
        "11 processes died, 0 of them after they had begun this document (worker.redeliveries_max)"
    )


def replace_worker(loss: Loss) -> Loss:
    return Loss(worker="w3", has_begun=loss.has_begun, cause=loss.cause)
