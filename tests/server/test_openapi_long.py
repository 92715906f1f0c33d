"""Every check of the tester of APIs is on, with many examples of every operation that fit its description or do not.

What is settled, and why:

- `positive_data_acceptance`: what fits is never refused as malformed (400). It may still mean nothing in this service:
  a link that is over (410), a version that has passed (412), a document that no pipeline reads (415), a query, a cursor
  or a choice of fields that cannot be meant so (422).
- `not_a_server_error`: 503 is the answer of a service that is not ready, or whose step takes longer than the call.
- `max_response_time`: far above what an answer takes, because this machine has other work as well.
- `negative_data_rejection` is not asked of forms that do not fit: their fields are text, so the tester's number where
  text is due arrives as text, and is rightly taken.

`-k "reviews or keys"` runs the operations whose path says so; `--junitxml` counts the cases of each.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks, max_response_time
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation

from stateward.server.asgi import described
from tests.server.api_client import ApiClient
from tests.server.test_openapi import STREAM, asked

__all__ = ["asked"]  # the fixture

EXAMPLES = 60
SECONDS_MAX = 30.0
FITS = [
    "2xx", "3xx", "401", "403", "404", "409", "410", "412", "415", "422", "429", "5xx",
]  # fmt: skip
CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {
            "max_response_time": SECONDS_MAX,
            "positive_data_acceptance": {"expected-statuses": FITS},
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
FORM, OF_FORMS = "multipart/form-data", "negative_data_rejection"
load_all_checks()
SCHEMA = schemathesis.openapi.from_dict(described(), config=CONFIG)
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
    answer = case.call(base_url=asked.url)

    counted.append(answer.status_code)
    left_out = {OF_FORMS} if is_other_form(case) else set()
    case.validate_response(answer, checks=[each for each in EVERY if each.__name__ not in left_out])


def is_other_form(case: schemathesis.Case[Any]) -> bool:
    """Whether a case is a form that does not fit its description."""
    body = None if case.meta is None else case.meta.components.get(ParameterLocation.BODY)
    return case.media_type == FORM and body is not None and body.mode.is_negative
