"""What a child sends is checked: a lie, junk or a cut-off message is a failure of that job alone."""

import pytest

from stateward.workers.sdk import Failed, Limits
from tests.workers.children import ChildSlot, only_item, wait_until_dead


@pytest.mark.parametrize("junk", ["6a756e6b", "00000000", "ffffffff", "000000017b"])
def test_junk_on_every_descriptor_breaks_the_protocol(slot: ChildSlot, junk: str) -> None:
    result = slot.fails("bad.junk", labels={"bytes": junk})

    assert result.code == "RUNNER_BROKE_PROTOCOL"
    assert "it sent what is not a message" in result.message


def a_chunk(count: int, items: str) -> str:
    return f'{{"type":"items","number":0,"count":{count},"items":{items}}}'


def the_end(outcome: str = "done", *, facts: str = "{}", count: int = 0) -> str:
    return f'{{"type":"done","number":0,"outcome":"{outcome}","facts":{facts},"count":{count}}}'


def a_fault(*, number: int, code: str) -> str:
    return f'{{"type":"fault","number":{number},"code":"{code}","message":"","is_retryable":true}}'


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (['{"type":"ready","layers":[]}'], "it said twice that it was ready"),
        (['{"type":"nonsense"}'], "not a message"),
        (["[" * 100_000], "not a message"),
        ([a_chunk(2, "[{}]")], "it sent 1 items as 2"),
        ([a_chunk(0, "[]")], "it sent a chunk that is too large"),
        ([a_chunk(501, "[]")], "it sent a chunk that is too large"),
        ([a_chunk(1, "[1]")], "not JSON objects"),
        ([a_chunk(1, '[{"a":1e999}]')], "not JSON objects"),
        ([a_chunk(1, '[{"a":"\\ud800 "}]')], "it sent"),
        ([a_chunk(1, '[{"a":"\\u0000"}]')], "text with NUL"),
        ([a_chunk(1, '[{"a":' + "[" * 50_000 + "]" * 50_000 + "}]")], "it sent"),
        ([a_chunk(1, "[{}]")] * 11, "more items than the limits allow"),
        ([a_chunk(1, '[{"a":"' + "x" * 1500 + '"}]')] * 3, "more items than the limits allow"),
        ([the_end(count=3)], "it counted 3 items and sent 0"),
        ([the_end("")], "an outcome that the SDK never sends"),
        ([the_end("a\\u0000")], "an outcome that the SDK never sends"),
        ([the_end(facts='{"b":"\\u0000"}')], "facts that the SDK never sends"),
        ([a_fault(number=9, code="A")], "another job"),
    ],
)
def test_a_lie_is_not_believed(slot: ChildSlot, messages: list[str], message: str) -> None:
    slot.limits = Limits(items_max=10, items_bytes_max=4000)

    result = slot.fails("bad.forge", labels={"messages": messages})

    assert result.code == "RUNNER_BROKE_PROTOCOL"
    assert message in result.message


def test_what_is_no_log_line_is_a_breach_even_beside_a_good_answer(slot: ChildSlot) -> None:
    result = slot.fails("bad.junk_in_the_log")

    assert (result.code, result.message) == (
        "RUNNER_BROKE_PROTOCOL",
        "it wrote what is not a line to its log",
    )


def test_a_message_that_is_cut_off_by_death_does_not_hide_how_it_died(slot: ChildSlot) -> None:
    result = slot.fails("bad.half_a_message")

    assert result.code == "RUNNER_EXITED"


def test_a_forged_failure_is_only_its_own(slot: ChildSlot) -> None:
    messages = [a_fault(number=0, code="\\u0000")]

    result = slot.run("bad.forge", labels={"messages": messages})

    assert isinstance(result, Failed)
    assert (result.code, result.message) == ("\ufffd", "")


def test_a_child_that_speaks_between_jobs_is_not_used_again(slot: ChildSlot) -> None:
    slot.run("bad.speak_later")

    wait_until_dead(slot.spawned[0])
    slot.works()


def test_closed_output_does_no_harm(slot: ChildSlot) -> None:
    assert only_item(slot.completes("bad.close_output")) == {"ok": True}
