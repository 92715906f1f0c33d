"""Failures of the kit keep their code or get that of a pipeline."""

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE, NO_TEXT, recode


@pytest.mark.parametrize(("code", "given"), [(CORRUPT_FILE, "PDF_CORRUPT"), (NO_TEXT, NO_TEXT)])
def test_a_pipeline_may_give_failures_its_own_codes(code: str, given: str) -> None:
    with pytest.raises(FatalFailure, match="damaged") as caught, recode({CORRUPT_FILE: given}):
        raise FatalFailure("it is damaged", code=code)

    assert caught.value.code == given
