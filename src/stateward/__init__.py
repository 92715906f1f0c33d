"""Durable state machines for document pipelines.

    from stateward import App, Job, Pipeline, Retry

Every public name can be imported from here. A name is looked up when it is first used, so that importing the package
costs nothing.
"""

from typing import TYPE_CHECKING

from stateward.lazy_names import look_up_in

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from stateward.app import App
    from stateward.core.errors import (
        ArtifactChanged,
        ArtifactError,
        ArtifactsUnreachable,
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
        MissingLabels,
        ReviewRefused,
        ReviewTaken,
        SecretUnreadable,
        StageFailure,
        StatewardError,
        StoreBroken,
        StoreError,
        StoreFull,
        StoreMismatch,
        StoreOutdated,
        StoreOvertaken,
        StoreUnreachable,
        TransientFailure,
        TransportError,
        TransportFull,
        TransportUnreachable,
        UnknownName,
    )
    from stateward.core.machine import Guard, Machine, all_of, at_least, equals, is_true
    from stateward.core.model import Event, Record, Transition
    from stateward.core.retry import Retry
    from stateward.definition.declare import declare, from_yaml
    from stateward.settings import Settings
    from stateward.workers.pipeline import Pipeline
    from stateward.workers.sdk import Job, Outcome, runner

_MODULES = {
    "stateward.app": ("App",),
    "stateward.definition.declare": ("declare", "from_yaml"),
    "stateward.core.errors": (
        "ArtifactChanged", "ArtifactError", "ArtifactsUnreachable", "ConcurrentModification", "DeclarationError",
        "FatalFailure", "Fault",
        "InvalidCorrection", "InvalidRequest", "InvalidTransition", "LedgerDamaged", "LedgerError", "LedgerLocked",
        "LedgerMismatch", "LedgerPoisoned", "MissingExtra", "MissingLabels", "ReviewRefused", "ReviewTaken",
        "SecretUnreadable", "StageFailure",
        "StatewardError", "StoreBroken", "StoreError", "StoreFull",
        "StoreMismatch", "StoreOutdated", "StoreOvertaken", "StoreUnreachable", "TransientFailure", "TransportError",
        "TransportFull", "TransportUnreachable", "UnknownName",
    ),
    "stateward.core.machine": ("Guard", "Machine", "all_of", "at_least", "equals", "is_true"),
    "stateward.core.retry": ("Retry",),
    "stateward.core.model": ("Event", "Record", "Transition"),
    "stateward.workers.pipeline": ("Pipeline",),
    "stateward.workers.sdk": ("Job", "Outcome", "runner"),
    "stateward.settings": ("Settings",),
}  # fmt: skip

__all__ = [
    "App", "ArtifactChanged", "ArtifactError", "ArtifactsUnreachable", "ConcurrentModification", "DeclarationError",
    "Event", "FatalFailure", "Fault", "Guard", "InvalidCorrection", "InvalidRequest", "InvalidTransition", "Job",
    "LedgerDamaged", "LedgerError", "LedgerLocked", "LedgerMismatch", "LedgerPoisoned", "Machine", "MissingExtra",
    "MissingLabels", "Outcome", "Pipeline", "Record", "Retry", "ReviewRefused", "ReviewTaken", "SecretUnreadable",
    "Settings", "StageFailure", "StatewardError", "StoreBroken", "StoreError", "StoreFull", "StoreMismatch",
    "StoreOutdated", "StoreOvertaken", "StoreUnreachable", "TransientFailure", "Transition", "TransportError",
    "TransportFull", "TransportUnreachable", "UnknownName", "__version__", "all_of", "at_least", "declare", "equals",
    "from_yaml", "is_true", "runner",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker would take every name for one that exists
    __getattr__ = look_up_in(__name__, _MODULES)


def __dir__() -> list[str]:
    """What completion shows."""
    return sorted(__all__)
