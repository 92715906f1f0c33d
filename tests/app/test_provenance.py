"""The history of a record as W3C PROV and as OpenLineage: all of it, nothing more, and the same every time."""

from typing import Any

from stateward.app.provenance import openlineage, prov
from tests.core.builders import Story, an_upload


def told(story: Story) -> tuple[Any, Any]:
    return prov(story.record, story.history), openlineage(story.record, story.history)


def test_every_state_was_generated_by_one_transition_and_used_the_one_before() -> None:
    document, _ = told(an_upload("normalized"))

    states = [name for name in document["entity"] if not name.endswith("/document")]
    assert [document["entity"][name]["sw:status"] for name in states] == [
        "queued_for_parse", "parsing", "parsed", "normalizing", "normalized",
    ]  # fmt: skip
    assert [each["prov:entity"] for each in document["wasGeneratedBy"].values()] == states
    before = [each["prov:entity"] for each in document["used"].values()]
    assert before == ["sw:UL_1/document", *states[:-1]]
    named = {each["prov:agent"] for each in document["wasAssociatedWith"].values()}
    assert named == set(document["agent"])
    assert document["agent"]["sw:agent/coordinator"] == {"prov:type": "prov:SoftwareAgent"}


def test_every_attempt_is_a_run_with_a_start_and_an_end() -> None:
    _, events = told(an_upload("normalized"))

    assert [(each["job"]["name"], each["eventType"]) for each in events] == [
        ("upload.parse", "START"), ("upload.parse", "COMPLETE"),
        ("upload.normalize", "START"), ("upload.normalize", "COMPLETE"),
    ]  # fmt: skip
    runs = [each["run"]["runId"] for each in events]
    assert runs[0] == runs[1] != runs[2] == runs[3]
    assert events[1]["outputs"] == [{"namespace": "stateward", "name": "upload/UL_1/parse"}]


def test_a_failed_attempt_ends_without_an_output() -> None:
    _, events = told(an_upload("error"))

    assert (events[-1]["eventType"], events[-1]["outputs"]) == ("FAIL", [])


def test_the_same_history_gives_the_same_documents() -> None:
    assert told(an_upload("normalized")) == told(an_upload("normalized"))
