"""Which runner handles a stage of a document, where its source type selects another than the stage's own."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec


class RunnerRoute(msgspec.Struct, frozen=True, kw_only=True):
    """The runner that handles a stage of documents of one source type, instead of the stage's own."""

    runner: str
    network: bool = False
    programs: tuple[str, ...] = ()
    one_machine: bool = False


Routes: TypeAlias = Mapping[tuple[str, str, str], RunnerRoute]
"""(machine, stage, source type) to the runner."""


def route_of(
    routes: Routes, machine: str, stage: str, labels: Mapping[str, object]
) -> RunnerRoute | None:
    """The runner that a record's source type selects; None: the stage's own."""
    return routes.get((machine, stage, str(labels.get("source_type", "")))) if routes else None


def is_of_one_machine(
    routes: Routes, machine: str, stage: str, labels: Mapping[str, object]
) -> bool:
    """Whether workers of one machine at a time are given this work."""
    route = route_of(routes, machine, stage, labels)
    return route is not None and route.one_machine


def source_types_of_one_machine(routes: Routes, machine: str, stage: str) -> list[str]:
    """The source types of which workers of one machine at a time do this stage."""
    return [
        source_type
        for (of, name, source_type), route in routes.items()
        if (of, name) == (machine, stage) and route.one_machine
    ]
