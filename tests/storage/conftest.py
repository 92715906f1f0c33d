"""Lets the suite's assertions say what they saw, as those of test modules do."""

import pytest

pytest.register_assert_rewrite("stateward.testing.databases")
