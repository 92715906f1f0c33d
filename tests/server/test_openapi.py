"""The OpenAPI document is whole: whatever is asked, no answer is missing from it and none is a fault of ours."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import one_of

from stateward.server.asgi import describe_api
from stateward.server.pages import operations, reference
from tests.server.api_client import ApiClient, serving, settings_at, statement

if TYPE_CHECKING:  # every worker of a run collects this file, and one of them runs it
    from schemathesis import Case
    from schemathesis.schemas import APIOperation

DOCS = Path(__file__).parents[2] / "docs" / "reference"
EXAMPLES = 2  # of each operation; test_openapi_long.py asks for many
# A query or a cursor that fits its pattern may still be none, a document may be no statement: that is no fault.
LEFT_OUT = {"positive_data_acceptance", "ensure_resource_availability", "max_response_time"}

STREAM = "streamEvents"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    """A service with something in it, that waits for nothing."""
    own = settings_at(
        tmp_path_factory.mktemp("asked"),
        wait_seconds_max=0.1,
        step_seconds_max=0.05,
        rate_per_minute=1_000_000,
        burst=100_000,
    )
    with serving(own) as api:
        for number in range(3):
            api.sent(statement(number))
        yield api


# One test for all operations, which draws the cases itself: every worker of a run collects every file, and a test for
# each operation would have each of them build the application and its schema.
def test_no_answer_is_undocumented_and_none_is_a_fault(asked: ApiClient) -> None:
    import schemathesis
    from schemathesis.checks import CHECKS, load_all_checks
    from schemathesis.core.result import Ok

    load_all_checks()
    checked: list[Any] = [check for check in CHECKS.get_all() if check.__name__ not in LEFT_OUT]
    schema = schemathesis.openapi.from_dict(describe_api()).exclude(operation_id=STREAM)
    count = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        judge(found.ok(), asked, checked)
        count += 1
    assert count == len([*operations(describe_api())]) - 1


def test_no_operation_takes_a_query_that_it_does_not_know(asked: ApiClient) -> None:
    taken = {}
    for path, method, operation in operations(describe_api()):
        place = re.sub(r"\{\w+\}", "none", path)
        answer = asked.http.request(method.upper(), f"{place}?unknown=1")
        if answer.status_code != 400:
            taken[operation["operationId"]] = answer.status_code

    assert taken == {}


def judge(
    operation: "APIOperation[Any, Any, Any, Any]", asked: ApiClient, checked: list[Any]
) -> None:
    """Ask for what fits the description of an operation and for what does not, and judge the answers."""
    from schemathesis.generation import GenerationMode

    # No worker runs here: a step of a workflow is not done in time, and that is 503.
    is_unwell = operation.path == "/readyz" or operation.path.startswith("/workflows")
    own = [each for each in checked if not (is_unwell and each.__name__ == "not_a_server_error")]

    fits = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    fits_not = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
    )
    @given(case=one_of(fits, fits_not))
    def draw(case: "Case[Any]") -> None:
        answer = case.call(base_url=asked.url)

        assert answer.status_code < 500 or (is_unwell and answer.status_code == 503), operation
        case.validate_response(answer, checks=own)

    draw()


def test_every_operation_is_described_whole() -> None:
    for path, method, each in operations(describe_api()):
        place = f"{method} {path}"
        assert each["operationId"], place
        assert each["summary"], place
        assert each["x-right"], place
        for parameter in each.get("parameters", ()):
            assert parameter["in"] == "path" or parameter.get("description"), (
                f"{place} {parameter['name']}"
            )
        for status, answer in each["responses"].items():
            is_problem = int(status) >= 400 and not (path == "/readyz" and status == "503")
            types = list(answer.get("content", {}))
            assert not is_problem or types == ["application/problem+json"], f"{place} {status}"
        if method == "POST":
            names = {parameter["name"] for parameter in each.get("parameters", ())}
            assert "Idempotency-Key" in names, place


def test_every_body_in_json_refuses_what_it_does_not_know() -> None:
    schemas = describe_api()["components"]["schemas"]
    lax = []
    for path, method, each in operations(describe_api()):
        body = each.get("requestBody", {}).get("content", {}).get("application/json")
        schema = body and body["schema"]
        for choice in (schema.get("oneOf") or [schema]) if schema else ():
            found = schemas[choice["$ref"].rsplit("/", 1)[1]] if "$ref" in choice else choice
            if found.get("type") == "object" and found.get("additionalProperties") is not False:
                lax.append(f"{method} {path}")
    assert lax == []


def test_the_document_is_the_same_over_http(asked: ApiClient) -> None:
    assert asked.get("/openapi.json").json() == json.loads(json.dumps(describe_api()))
    assert describe_api()["openapi"].startswith("3.1")


def test_the_page_for_people_loads_nothing_from_elsewhere(asked: ApiClient) -> None:
    page = asked.get("/docs")
    short = asked.get("/llms.txt")
    assert short.headers["content-type"].startswith("text/plain")
    for path, method, each in operations(describe_api()):
        assert f"- [{method} {path}](/docs#{each['operationId']})" in short.text
        assert f'<a href="#{each["operationId"]}">' in page.text
        assert f'<h2 id="{each["operationId"]}">' in page.text
    assert "curl -X POST &quot;$STATEWARD_SERVER/batches&quot;" in page.text
    assert "curl -X GET &quot;$STATEWARD_SERVER/records/$RECORD_ID&quot;" in page.text
    assert '<h2 id="schema-Record">' in page.text
    assert '<a href="#schema-Record"><code>Record</code></a>' in page.text
    assert "`" not in re.sub(r"<script>.*?</script>", "", page.text, flags=re.DOTALL)

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    loading = re.sub(r'<pre.*?</pre>|data-sample="[^"]*"', "", page.text, flags=re.DOTALL)
    assert not re.search(r"src=|@import|url\(|https?://", loading)
    assert page.text.count("<script") == 1
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'; connect-src 'self'" in policy
    for _, _, each in operations(describe_api()):
        assert f'id="{each["operationId"]}"' in page.text


def test_the_reference_page_says_what_the_document_says() -> None:
    written = (DOCS / "api.md").read_text("utf-8")

    assert written == reference(describe_api()), (
        "run: python -m stateward.server.reference docs/reference"
    )
