"""Every check of the tester of APIs is on, with many examples of every operation that fit its description or do not.

What is settled, and why:

- `positive_data_acceptance`: what fits is never refused as malformed (400). It may still mean nothing in this service:
  a link that is over (410), a version that has passed (412), a document that no pipeline reads (415), a query, a cursor
  or a choice of fields that cannot be meant so (422).
- `negative_data_rejection`: a text beyond its limit may also be too large for a request (413).
- `not_a_server_error`: 503 is the answer of a service that is not ready, or whose step takes longer than the call.
- `max_response_time`: far above what an answer takes, because this machine has other work as well.
- `negative_data_rejection` is not asked of forms that do not fit: their fields are text, so the tester's number where
  text is due arrives as text, and is rightly taken.
- An empty `If-Match` is what the tester takes for one that fits, against its `pattern`; it is rightly refused.

`-k "reviews or keys"` runs the operations whose path says so; `--junitxml` counts the cases of each.
"""

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks, max_response_time
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation

from stateward.server.asgi import describe_api
from stateward.server.pages import SAMPLES, curl, operations, variables
from tests.server.api_client import ApiClient
from tests.server.test_openapi import STREAM, asked

__all__ = ["asked"]  # the fixture
pytest_plugins = [
    "schemathesis.pytest.plugin"
]  # `-p no:schemathesis` in pyproject.toml keeps it from all others

EXAMPLES = 60
SECONDS_MAX = 30.0
FITS = [
    "2xx", "3xx", "401", "403", "404", "409", "410", "412", "415", "422", "429", "5xx",
]  # fmt: skip
REFUSED = [
    "400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx",
]  # fmt: skip
CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {
            "max_response_time": SECONDS_MAX,
            "positive_data_acceptance": {"expected-statuses": FITS},
            "negative_data_rejection": {"expected-statuses": REFUSED},
        },
        "operations": [
            {
                "include-path-regex": "^/(readyz$|workflows)",
                "checks": {
                    "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "503"]}
                },
            }
        ],
    }
)
WITH = "-s -o /dev/null -w '%{http_code}'"
FORM, OF_FORMS = "multipart/form-data", "negative_data_rejection"
OF_WHAT_FITS = "positive_data_acceptance"
load_all_checks()
SCHEMA = schemathesis.openapi.from_dict(describe_api(), config=CONFIG)
EVERY: list[Any] = [*CHECKS.get_all(), max_response_time]


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """A place for the statuses of all answers, whose number stands in the report."""
    answered: list[int] = []
    yield answered
    request.node.user_properties.append(("cases", len(answered)))


@pytest.mark.long
@pytest.mark.timeout(1800)
@SCHEMA.exclude(operation_id=STREAM).parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)
def test_every_check_of_the_tester_finds_nothing(
    case: schemathesis.Case[Any], asked: ApiClient, counted: list[int]
) -> None:
    answer = case.call(base_url=asked.url, timeout=SECONDS_MAX)

    counted.append(answer.status_code)
    left_out = {OF_FORMS} if is_other_form(case) else set()
    if case.headers and case.headers.get("If-Match") == "":
        left_out.add(OF_WHAT_FITS)
    case.validate_response(answer, checks=[each for each in EVERY if each.__name__ not in left_out])


def is_other_form(case: schemathesis.Case[Any]) -> bool:
    """Whether a case is a form that does not fit its description."""
    body = None if case.meta is None else case.meta.components.get(ParameterLocation.BODY)
    return case.media_type == FORM and body is not None and body.mode.is_negative


@pytest.mark.long
def test_every_example_works_when_it_is_pasted(asked: ApiClient) -> None:
    document = describe_api()
    record_id = asked.get("/records?limit=1").json()["items"][0]["id"]
    names = {name: SAMPLES.get(name.lower(), record_id) for name in variables(document)}
    values = {**os.environ, "STATEWARD_SERVER": asked.url, "STATEWARD_KEY": "", **names}
    found = {}
    for path, method, operation in operations(document):
        if operation["operationId"] == STREAM:
            continue
        example = curl(path, method, operation, document).replace("curl ", f"curl {WITH} ", 1)
        example = example.replace('-H "Authorization: Bearer $STATEWARD_KEY"', "")  # none is needed
        said = subprocess.run(
            ["/bin/bash", "-c", example], env=values, capture_output=True, text=True, check=False
        )
        found[operation["operationId"]] = (said.returncode, said.stdout)

    wrong = {
        name: told for name, told in found.items() if told[0] or told[1] in ("400", "405", "500")
    }
    assert wrong == {}
