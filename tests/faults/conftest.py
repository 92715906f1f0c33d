"""The disk fails while a store is made, too: nothing is copied here."""

import pytest


@pytest.fixture(autouse=True)
def every_store_is_migrated(no_copies: None) -> None:
    """Its writes count."""
