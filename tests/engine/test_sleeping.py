"""The sleep of the loop: it watches what it is told to watch this time, not what it watched before."""

import os
from collections.abc import Iterator
from selectors import EVENT_READ, EVENT_WRITE

import pytest

from stateward.engine.node import Poll

Pipe = tuple[int, int]


@pytest.fixture
def pipes() -> Iterator[list[Pipe]]:
    made = [os.pipe(), os.pipe()]
    yield made
    for reader, writer in made:
        os.close(reader)
        os.close(writer)


def test_what_is_no_longer_watched_ends_no_sleep(pipes: list[Pipe]) -> None:
    (first, write_first), (second, write_second) = pipes
    poll = Poll()
    os.write(write_first, b"!")
    assert poll.wait([(first, EVENT_READ), (second, EVENT_READ)], 10.0) == {first}

    os.write(write_second, b"!")

    assert poll.wait([(second, EVENT_READ)], 10.0) == {second}


def test_what_is_watched_for_other_events_is_asked_for_those(pipes: list[Pipe]) -> None:
    (reader, writer), _ = pipes
    poll = Poll()
    assert poll.wait([(reader, EVENT_READ), (writer, EVENT_READ)], 0.0) == set()

    found = poll.wait([(reader, EVENT_READ), (writer, EVENT_READ | EVENT_WRITE)], 10.0)

    assert found == {writer}


def test_a_descriptor_that_was_closed_and_is_another_now_is_watched(pipes: list[Pipe]) -> None:
    (reader, _), (_, other_writer) = pipes
    poll = Poll()
    poll.wait([(reader, EVENT_READ)], 0.0)

    os.dup2(other_writer, reader)

    assert poll.wait([(reader, EVENT_WRITE)], 10.0) == {reader}


def test_a_descriptor_that_was_closed_need_not_be_watched_any_more(pipes: list[Pipe]) -> None:
    (reader, writer), _ = pipes
    poll = Poll()
    gone = os.dup(reader)
    poll.wait([(reader, EVENT_READ), (gone, EVENT_READ)], 0.0)

    os.close(gone)
    os.write(writer, b"!")

    assert poll.wait([(reader, EVENT_READ)], 10.0) == {reader}
