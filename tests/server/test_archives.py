"""Zip archives over HTTP: each file is a document, or is named with the reason why it is none."""

import pytest

from tests.archives import zipped
from tests.server.api_client import PNG, STATEMENT, ApiClient

OTHER = STATEMENT.replace(b"2026", b"2025", 1)


def test_each_file_of_an_archive_is_a_document(any_api: ApiClient) -> None:
    files = {
        "2026/a.csv": STATEMENT,
        "b.csv": OTHER,
        "c.csv": STATEMENT,
        "__MACOSX/a.csv": b"x",
        "d.csv": b"",
    }

    answer = any_api.send(zipped(files), name="year.zip")

    assert answer.status_code == 201, answer.text
    members = answer.json()["members"]
    ids = [each["record_id"] for each in members]
    assert [each["name"] for each in members] == ["a.csv", "b.csv", "c.csv", "d.csv"]
    assert [each["is_duplicate"] for each in members] == [False, False, True, False]
    assert (ids[0], ids[3], members[3]["problem"]) == (ids[2], None, "it is empty")
    assert answer.json()["upload_id"] == ids[0]
    labels = any_api.get(f"/records/{ids[1]}").json()["labels"]
    assert (labels["archive"], labels["filename"]) == ("year.zip", "b.csv")
    assert [each["name"] for each in any_api.get("/refused-uploads").json()["items"]] == ["d.csv"]

    any_api.work()

    assert any_api.get(f"/records/{ids[1]}").json()["status"] == "normalized"
    again = any_api.send(zipped({"a.csv": STATEMENT}), name="again.zip", path="/records")
    assert again.status_code == 409


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped({"a.csv": bytes(20 << 20)}), "bomb"),
        (zipped({"a.csv": b"x"}, password=True), "encrypted"),
        (
            zipped({"a.csv": STATEMENT, "b.csv": OTHER * 9}).replace(b"b.csv", b"b.cs!", 1),
            "damaged",
        ),
        (zipped({"a.bin": PNG}), "no file of the archive can be taken"),
    ],
    ids=["a bomb", "locked", "damaged in its middle", "nothing that is read"],
)
def test_a_hostile_archive_is_refused_and_nothing_of_it_is_taken(
    api: ApiClient, data: bytes, said: str
) -> None:
    answer = api.send(data, name="bad.zip")

    assert answer.status_code in (400, 415, 422)
    assert said in answer.json()["detail"]
    assert api.get("/records").json()["items"] == []
