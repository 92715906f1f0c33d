"""In which order waiting records are dispatched."""

from stateward.core.decide import rank_of
from stateward.core.model import SECOND
from stateward.testing.builders import NOW
from tests.core.builders import an_upload


def test_a_higher_priority_goes_first_and_then_the_oldest() -> None:
    queue = [(1, 5, "normal"), (2, 10, "vip"), (3, 5, "late"), (0, 1, "batch"), (4, 7, "filing")]

    ranked = sorted(
        (rank_of(created_at=NOW + age * SECOND, priority=priority, ageing_s=600), name)
        for age, priority, name in queue
    )

    assert [name for _, name in ranked] == ["vip", "filing", "normal", "late", "batch"]


def test_no_class_starves() -> None:
    old = rank_of(created_at=NOW, priority=1, ageing_s=60)
    new = rank_of(created_at=NOW + (9 * 60 + 1) * SECOND, priority=10, ageing_s=60)

    assert old < new, "nine points of priority are worth nine minutes of waiting, no more"


def test_without_ageing_the_oldest_goes_first() -> None:
    assert rank_of(created_at=NOW, priority=1, ageing_s=0) < rank_of(
        created_at=NOW + 1, priority=10, ageing_s=0
    )


def test_a_record_keeps_its_place_from_its_birth_on() -> None:
    story = an_upload(priority=10, ageing_s=60.0)
    rank = story.record.rank

    story.tries(count=1)

    assert rank == NOW - 600 * SECOND
    assert story.record.rank == rank
