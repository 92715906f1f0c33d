"""The state machines of an installation: loaded from its pipelines, with the timeouts and retries of its settings."""

from collections.abc import Iterator

from stateward.app.plugins import Plugins
from stateward.core.errors import DeclarationError, Fault, StatewardError
from stateward.core.machine import Machine
from stateward.definition import discovery
from stateward.engine.system import steady_clock
from stateward.settings import Settings


def declared_machines(settings: Settings) -> list[Machine]:
    """The machines that these settings load, with their timeouts and retries; no database is opened."""
    plugins = Plugins(settings, clock=steady_clock)
    return tune(settings, plugins)


def faults_of_machines(settings: Settings | None) -> tuple[Fault, ...]:
    """What settings, of which other parts cannot be read, say of machines and states that there are not."""
    try:
        if settings is not None:
            declared_machines(settings)
    except DeclarationError as error:
        return error.faults
    except StatewardError:  # a pipeline that cannot be loaded is told when the rest is right
        return ()
    return ()


def read_machines(name: str) -> tuple[list[Machine], list[str]]:
    """The machines of one file or module, and the runners that they name but that are not loaded."""
    from stateward.workers.sdk import (
        registered_runners,  # which a command that runs nothing need not wait for
    )

    found = discovery.load_plugins(name)
    discovery.load_runners(found)
    machines = [machine for each in found for machine in discovery.machines(each.plugin)]
    named = {stage.runner for machine in machines for stage in machine.stages}
    return machines, sorted(named - registered_runners().keys())


def tune(settings: Settings, plugins: Plugins) -> list[Machine]:
    """The machines with what the settings say of timeouts, retries and reviews; a name of nothing is a fault."""
    faults: list[Fault] = []
    tuned: dict[str, Machine] = {}
    for machine in plugins.machines.values():
        own = settings.machine(machine.name)
        faults += _unknown_source_types(settings, machine.name, plugins)
        faults += settings.check_states(machine.name, machine.kind)
        tuned[machine.name] = machine.tuned(
            retry=own.retry_rule(machine.retry),
            retry_by_source_type=own.retry_by_source_type,
            timeouts_s=own.timeouts_s,
            review=own.review,
        )
    for name in settings.records.keys() - tuned.keys():
        known = ", ".join(sorted(f"{each}_record" for each in tuned))
        faults.append(
            settings.fault((f"{name}_record",), f"there is no machine {name!r}; there are: {known}")
        )
    if faults:
        raise DeclarationError(faults)
    return list(tuned.values())


def _unknown_source_types(settings: Settings, machine: str, plugins: Plugins) -> Iterator[Fault]:
    """Retries of source types that the machine does not have: the rule would never hold, and nothing would tell."""
    named = settings.machine(machine).retry_by_source_type
    known = plugins.source_types(machine) if named else {}  # which takes time to find out
    for name in named if known else ():
        if name not in known:
            yield settings.fault(
                (f"{machine}_record", "retry", "source_types"),
                f"there is no source type {name!r}; there are: {', '.join(sorted(known))}",
            )
