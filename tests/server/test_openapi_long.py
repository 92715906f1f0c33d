"""Every check of the tester of APIs, with many examples of every operation."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS, load_all_checks

from stateward.server.asgi import described
from tests.server.api_client import ApiClient
from tests.server.test_openapi import STREAM, asked

__all__ = ["asked"]  # the fixture
# Not faults of the service: a query or a document that fits its pattern and means nothing is refused with a reason, and
# the tester's own limit of time is for machines that do nothing else.
NO_FAULTS = {"positive_data_acceptance", "max_response_time"}
UNWELL = {"not_a_server_error"}
# The fields of a form are text: the tester's number where text is due arrives as text, and is rightly taken.
FORM, OF_FORMS = "multipart/form-data", {"negative_data_rejection"}
load_all_checks()
SCHEMA = schemathesis.openapi.from_dict(described())
EVERY: list[Any] = [each for each in CHECKS.get_all() if each.__name__ not in NO_FAULTS]


@pytest.mark.long
@SCHEMA.exclude(operation_id=STREAM).parametrize()
@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)
def test_every_check_of_the_tester_finds_nothing(
    case: schemathesis.Case[Any], asked: ApiClient
) -> None:
    answer = case.call(base_url=asked.url)

    is_unwell = answer.status_code == 503 and case.operation.path.startswith(
        ("/readyz", "/workflows")
    )
    left_out = (UNWELL if is_unwell else set()) | (OF_FORMS if case.media_type == FORM else set())
    checks = [each for each in EVERY if each.__name__ not in left_out]
    case.validate_response(answer, checks=checks)
