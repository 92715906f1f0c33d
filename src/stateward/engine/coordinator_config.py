"""The limits of a coordinator and of its dispatcher."""

from collections.abc import Mapping

import msgspec

from stateward.core.redelivery import RedeliveryLimits
from stateward.definition.plugin import AutomaticMove
from stateward.workers.routes import Routes


class CoordinatorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a coordinator.

    `batch_max` bounds one transaction. Commits on the same lanes take turns, so throughput comes from
    many records per commit (docs/decisions/0024); the bound keeps that turn, and the memory of a batch, small.
    `lease_s` is three heartbeats: one that is lost must not cost a job. `redelivery` ends work that takes its
    worker down each time, which would otherwise go from worker to worker for ever. `ageing_s`, by machine: the wait
    that counts as one point of priority; 0 for first come, first served. `automatic_moves`, by machine and status:
    moves that records make in the transaction that brings them there. `tells_owners`: work says who submitted its
    record, for workers that give each owner a process; it costs a query for each batch. `hands_over`: a submission
    dispatches its records itself where nothing waits before them (docs/decisions/0035). `engine_stages`, (machine,
    stage): no worker is given them, because the engine does them itself (docs/decisions/0041). `routes` say which work
    the workers of one machine at a time are given (docs/decisions/0049).
    """

    batch_max: int = 512
    lease_s: float = 15.0
    redelivery: RedeliveryLimits = RedeliveryLimits()
    ageing_s: Mapping[str, float] = {}
    automatic_moves: Mapping[tuple[str, str], AutomaticMove] = {}
    tells_owners: bool = False
    hands_over: bool = True
    engine_stages: frozenset[tuple[str, str]] = frozenset()
    routes: Routes = {}
