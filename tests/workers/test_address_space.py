"""How a child knows how much address space it has taken."""

import mmap
import os
import resource

from stateward.workers.child_limits import AddressSpace


def test_it_is_what_the_kernel_counts_and_grows_with_what_is_taken() -> None:
    space = AddressSpace()
    before = space.bytes()

    # Not a bytearray, which may get memory that an earlier test gave back.
    with mmap.mmap(-1, 64 * 1024 * 1024) as taken:
        assert before % resource.getpagesize() == 0
        assert space.bytes() >= before + len(taken)


def test_a_runner_that_closes_its_descriptor_changes_nothing() -> None:
    space = AddressSpace()
    before = space.bytes()
    os.close(space._fd)

    with mmap.mmap(-1, 64 * 1024 * 1024) as taken:
        assert space.bytes() >= before + len(taken)


def test_a_runner_that_replaces_its_descriptor_learns_nothing_and_ends_nothing() -> None:
    space = AddressSpace()
    with open(os.devnull, "rb") as other:  # noqa: PTH123 - its descriptor is wanted
        os.dup2(other.fileno(), space._fd)

    assert space.bytes() == 0
