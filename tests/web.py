"""Plain HTTP requests of tests, with the patience that a busy machine needs."""

from typing import Any

import httpx2

from stateward.client.steps import tls_context

WAIT_S_MAX = 120.0


def get(url: str, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
    return httpx2.get(url, **{"timeout": WAIT_S_MAX, "verify": tls_context(url), **how})


def post(url: str, **how: Any) -> httpx2.Response:  # noqa: ANN401 - httpx's own words
    return httpx2.post(url, **{"timeout": WAIT_S_MAX, "verify": tls_context(url), **how})
