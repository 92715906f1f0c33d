"""Ways to look at the history of a record."""

from stateward.core.model import Record
from stateward.testing.rig import Rig


def statuses(rig: Rig, record: Record) -> list[str]:
    return [each.target for each in rig.store.history(record.id)]
