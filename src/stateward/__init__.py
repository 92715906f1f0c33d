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
    from stateward.core.errors import (
        ArtifactError,
        ConcurrentModification,
        DeclarationError,
        FatalFailure,
        Fault,
        InvalidCorrection,
        InvalidRequest,
        InvalidTransition,
        LedgerDamaged,
        LedgerError,
        LedgerLocked,
        LedgerMismatch,
        LedgerPoisoned,
        MissingExtra,
        ReviewRefused,
        ReviewTaken,
        StageFailure,
        StatewardError,
        StoreBroken,
        StoreError,
        StoreFull,
        StoreMismatch,
        StoreUnreachable,
        TransientFailure,
        UnknownName,
    )
    from stateward.core.machine import Machine
    from stateward.core.model import Event, Record, Transition
    from stateward.definition.declare import declare, from_yaml
    from stateward.settings import Settings
    from stateward.workers.sdk import Job, Outcome, runner

_ROOMS = {
    "stateward.app": ("App",),
    "stateward.definition.declare": ("declare", "from_yaml"),
    "stateward.core.errors": (
        "ArtifactError", "ConcurrentModification", "DeclarationError", "FatalFailure", "Fault",
        "InvalidCorrection", "InvalidRequest", "InvalidTransition", "LedgerDamaged", "LedgerError", "LedgerLocked",
        "LedgerMismatch", "LedgerPoisoned", "MissingExtra", "ReviewRefused", "ReviewTaken", "StageFailure",
        "StatewardError", "StoreBroken", "StoreError", "StoreFull",
        "StoreMismatch", "StoreUnreachable", "TransientFailure", "UnknownName",
    ),
    "stateward.core.machine": ("Machine",),
    "stateward.core.model": ("Event", "Record", "Transition"),
    "stateward.workers.sdk": ("Job", "Outcome", "runner"),
    "stateward.settings": ("Settings",),
}  # fmt: skip
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "App",
    "ArtifactError",
    "ConcurrentModification",
    "DeclarationError",
    "Event",
    "FatalFailure",
    "Fault",
    "InvalidCorrection",
    "InvalidRequest",
    "InvalidTransition",
    "Job",
    "LedgerDamaged",
    "LedgerError",
    "LedgerLocked",
    "LedgerMismatch",
    "LedgerPoisoned",
    "Machine",
    "MissingExtra",
    "Outcome",
    "Record",
    "ReviewRefused",
    "ReviewTaken",
    "Settings",
    "StageFailure",
    "StatewardError",
    "StoreBroken",
    "StoreError",
    "StoreFull",
    "StoreMismatch",
    "StoreUnreachable",
    "TransientFailure",
    "Transition",
    "UnknownName",
    "__version__",
    "declare",
    "from_yaml",
    "runner",
]


if not TYPE_CHECKING:  # a type checker would believe that there is every name

    def __getattr__(name: str) -> object:
        """A public name, from the room where it lives; from then on an ordinary attribute."""
        if name not in _HOME:
            raise AttributeError(f"module 'stateward' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What completion shows."""
    return sorted(__all__)
