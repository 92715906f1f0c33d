"""What the page of a review offers to whom; without a browser."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from stateward.console.review import fields_of
from stateward.engine.answers import OpinionRequest
from tests import web
from tests.console.test_approvals_long import GROUP, ruled
from tests.server.api_client import ApiClient
from tests.server.contracts import waiting

BUTTONS = ("approve", "reject", "second-opinion", "link")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service whose reviews are decided by the group legal, which are ada and eva."""
    rules = GROUP.replace("[ada]", "[ada, eva]")
    with ruled(tmp_path_factory.mktemp("group"), rules) as found:
        yield found


def seen(api: ApiClient, record_id: str, *, by: str) -> str:
    """The page of a review, as a reviewer of this name gets it."""
    _, text = api.app.admin.new_key(by, role="reviewer")
    headers = {"Authorization": f"Bearer {text}"}
    answer = web.get(f"{api.url}/console/review/{record_id}/work", headers=headers)
    assert answer.status_code == 200
    return answer.text


def disabled(page: str, *buttons: str) -> set[str]:
    """Those of these buttons that cannot be pressed."""
    return {each for each in buttons if re.search(rf"<button[^>]* id=\"{each}\" disabled", page)}


def test_who_may_not_decide_cannot_press_a_button_and_reads_why(api: ApiClient) -> None:
    record_id = waiting(api.app).id

    of_ada, of_bob = (seen(api, record_id, by=name) for name in ("ada", "bob"))

    assert 'id="refusal"' not in of_ada
    assert "decided by the group legal, and bob is not in it" in of_bob
    assert 'data-actions=""' in of_bob  # by which the keys go
    assert not disabled(of_ada, *BUTTONS)
    assert disabled(of_bob, *BUTTONS) == set(BUTTONS)


def test_who_asked_for_a_second_opinion_can_take_it_back_and_decide_nothing(api: ApiClient) -> None:
    record_id = waiting(api.app).id
    api.app.reviews.refer(OpinionRequest(record_id=record_id, to="eva", actor="person:ada"))

    of_ada, of_eva = (seen(api, record_id, by=name) for name in ("ada", "eva"))

    assert disabled(of_ada, *BUTTONS) == {"approve", "reject", "link"}
    assert not disabled(of_eva, *BUTTONS)


def test_who_submitted_a_document_may_reject_it_alone(api: ApiClient) -> None:
    record_id = waiting(api.app, actor="person:ada").id

    of_ada = seen(api, record_id, by="ada")

    assert disabled(of_ada, *BUTTONS) == {"approve", "link"}
    assert "who submits a document may not accept it" in of_ada
    assert 'data-actions="reject"' in of_ada


def test_keys_of_a_form_are_listed_where_a_review_has_one(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_id = waiting(api.app).id

    def listed(*items: dict[str, Any]) -> set[str]:
        found = fields_of(items, [])
        monkeypatch.setattr("stateward.console.review.fields_of", lambda *_: found)
        return set(re.findall('data-shortcut="([^"]+)"', seen(api, record_id, by="ada")))

    without, with_form = listed(), listed({"field": "provider", "value": "E.ON"})

    assert with_form - without == {"e", "Ctrl ↵", "Esc"}
    assert "a" in without
