"""Stateward keeps documents moving: one place that knows where each document is and can prove it.

    from stateward import App, declare, runner

Everything that a program outside needs can be imported from here. Names are looked up when they are first used, so
that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.core.declare import declare, from_yaml
    from stateward.core.errors import (
        ArtifactError,
        ConcurrentModification,
        DeclarationError,
        FatalFailure,
        Fault,
        InvalidRequest,
        InvalidTransition,
        StageFailure,
        StatewardError,
        StoreError,
        StoreFull,
        StoreMismatch,
        StoreUnreachable,
        TransientFailure,
        UnknownName,
    )
    from stateward.core.machine import Machine
    from stateward.core.model import Event, Record, Transition
    from stateward.runners.kit import Job, Outcome, runner
    from stateward.settings import Settings

_HOME = {
    "App": "stateward.app",
    "ArtifactError": "stateward.core.errors",
    "ConcurrentModification": "stateward.core.errors",
    "DeclarationError": "stateward.core.errors",
    "Event": "stateward.core.model",
    "FatalFailure": "stateward.core.errors",
    "Fault": "stateward.core.errors",
    "InvalidRequest": "stateward.core.errors",
    "InvalidTransition": "stateward.core.errors",
    "Job": "stateward.runners.kit",
    "Machine": "stateward.core.machine",
    "Outcome": "stateward.runners.kit",
    "Record": "stateward.core.model",
    "Settings": "stateward.settings",
    "StageFailure": "stateward.core.errors",
    "StatewardError": "stateward.core.errors",
    "StoreError": "stateward.core.errors",
    "StoreFull": "stateward.core.errors",
    "StoreMismatch": "stateward.core.errors",
    "StoreUnreachable": "stateward.core.errors",
    "Transition": "stateward.core.model",
    "TransientFailure": "stateward.core.errors",
    "UnknownName": "stateward.core.errors",
    "declare": "stateward.core.declare",
    "from_yaml": "stateward.core.declare",
    "runner": "stateward.runners.kit",
}

__all__ = [
    "App",
    "ArtifactError",
    "ConcurrentModification",
    "DeclarationError",
    "Event",
    "FatalFailure",
    "Fault",
    "InvalidRequest",
    "InvalidTransition",
    "Job",
    "Machine",
    "Outcome",
    "Record",
    "Settings",
    "StageFailure",
    "StatewardError",
    "StoreError",
    "StoreFull",
    "StoreMismatch",
    "StoreUnreachable",
    "Transition",
    "TransientFailure",
    "UnknownName",
    "__version__",
    "declare",
    "from_yaml",
    "runner",
]


def __getattr__(name: str) -> object:
    """A public name, from the room where it lives; from then on it is an ordinary attribute."""
    if name not in _HOME:
        raise AttributeError(f"module 'stateward' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What completion shows."""
    return sorted(__all__)
