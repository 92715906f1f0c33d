"""Messages as they travel: their form is published, and what is in them survives the way."""

import json
from collections.abc import Mapping

import jsonschema_rs
import msgspec
import pytest

from stateward.core.model import SECOND, Loss, Work
from stateward.transport import messages
from stateward.transport.messages import (
    HEARTBEAT,
    RESULT,
    RETURNED,
    SAVED,
    WORK,
    HeartbeatMessage,
    ItemChunk,
    ResultMessage,
    ReturnedMessage,
    SavedMessage,
    WorkMessage,
    data_of,
    encode,
    from_bytes,
    json_schema,
    priority_class,
    to_bytes,
)


def work(*, rank: int = 0, created_at: int = 0) -> Work:
    return Work(
        record_id="rec_1", version=3, machine="letters", stage="read", running="reading",
        runner="letters.read", worker="relay-1", created_at=created_at, rank=rank, timeout_s=60.0,
        artifact="ab" * 32, labels={"name": "a.txt"}, inputs={"split": 1},
    )  # fmt: skip


EXAMPLES: Mapping[str, object] = {
    WORK: WorkMessage(
        work=work(), document=b"hello", items={"split": [msgspec.Raw(b'[{"word":"a"}]')]}, saved={"answer": b"42"}
    ),
    RESULT: ResultMessage(
        record_id="rec_1", version=3, delivery=1, assigned_to="relay-1", stage="read", worker="w-1", count=1,
        items=[ItemChunk(count=1, data=msgspec.Raw(b'[{"word":"a"}]'))],
    ),
    SAVED: SavedMessage(
        record_id="rec_1", version=3, delivery=1, assigned_to="relay-1", stage="read", name="answer", data=b"42"
    ),
    RETURNED: ReturnedMessage(
        record_id="rec_1", version=3, delivery=1, assigned_to="relay-1", stage="read",
        loss=Loss(worker="w-1", has_begun=True, cause="signal 9"),
    ),
    HEARTBEAT: HeartbeatMessage(worker="w-1", runners=["letters.read"], slots=2, holding=[("rec_1", 3, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("type_", EXAMPLES)
def test_every_message_has_the_published_form_and_comes_back_as_it_was(type_: str) -> None:
    envelope = encode(type_, EXAMPLES[type_], id_="1", source="/w", subject="rec_1", at=1, rank=-7)

    body = to_bytes(envelope)

    jsonschema_rs.validator_for(json_schema()).validate(json.loads(body))
    assert data_of(from_bytes(body), messages.DATA[type_]) == EXAMPLES[type_]


def test_a_message_that_is_nested_too_deeply_is_none() -> None:
    # Anything but a ValueError would end the consumer, and the message would come again.
    deep = b"[" * 100_000 + b"]" * 100_000

    with pytest.raises(ValueError, match="nested too deeply"):
        from_bytes(b'{"specversion":"1.0","data":' + deep + b"}")
    whole = encode(RESULT, EXAMPLES[RESULT], id_="1", source="/w", subject="rec_1", at=1)
    given = msgspec.structs.replace(whole, data=msgspec.Raw(b'{"facts":{"a":' + deep + b"}}"))
    with pytest.raises(ValueError, match="nested too deeply"):
        data_of(given, ResultMessage)


def test_a_message_of_another_form_is_refused_by_the_schema() -> None:
    envelope = encode(RESULT, {"record_id": "rec_1"}, id_="1", source="/w", subject="rec_1", at=1)

    assert not jsonschema_rs.validator_for(json_schema()).is_valid(json.loads(to_bytes(envelope)))


@pytest.mark.parametrize(
    ("priority", "expected"), [(9, "high"), (6, "high"), (5, "normal"), (4, "low"), (1, "low")]
)
def test_the_class_of_a_priority_is_read_from_the_rank(priority: int, expected: str) -> None:
    own = work(created_at=1000 * SECOND, rank=1000 * SECOND - priority * 60 * SECOND)

    assert priority_class(own, ageing_s=60.0, normal=5) == expected


def test_first_come_first_served_is_one_class() -> None:
    assert priority_class(work(created_at=7, rank=7), ageing_s=0.0, normal=5) == "normal"
