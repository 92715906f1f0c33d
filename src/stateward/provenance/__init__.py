"""What happened, as proof: `history` replays, checks and exports it, `mirror` keeps it in a ledger as well.

Nothing here changes a record or the history; the mirror writes to a ledger of its own.
"""

from stateward.provenance.history import (
    Progress,
    Verdict,
    export,
    record_line,
    transition_line,
    verify,
)
from stateward.provenance.mirror import Comparison, Mirror, MirrorState, compare, mirror_state

__all__ = [
    "Comparison",
    "Mirror",
    "MirrorState",
    "Progress",
    "Verdict",
    "compare",
    "export",
    "mirror_state",
    "record_line",
    "transition_line",
    "verify",
]
