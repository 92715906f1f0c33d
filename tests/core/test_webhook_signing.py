"""Signatures are those of Standard Webhooks, byte for byte, as the independent library has them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook as Verifier

from stateward.core.errors import InvalidRequest
from stateward.core.webhook_signing import (
    is_signed,
    key_of,
    secret_of,
    signed_headers,
)

SECRET = secret_of(bytes(range(32)))
SECOND = 1_800_000_000

keys = st.binary(min_size=24, max_size=64)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@given(key=keys, body=texts, second=st.integers(0, 4_000_000_000))
def test_we_sign_as_the_library_does(key: bytes, body: str, second: int) -> None:
    secret = secret_of(key)

    headers = signed_headers("msg_1", second=second, body=body.encode(), secrets=[secret])

    at = datetime.fromtimestamp(second, UTC)
    assert headers["webhook-signature"] == Verifier(secret).sign("msg_1", at, body)
    assert is_signed(headers, body.encode(), secret=secret, now_s=second)


def test_two_secrets_make_two_signatures() -> None:
    other = secret_of(bytes(32))

    headers = signed_headers("msg_1", second=SECOND, body=b"{}", secrets=[SECRET, other])

    assert len(headers["webhook-signature"].split()) == 2
    assert is_signed(headers, b"{}", secret=SECRET, now_s=SECOND)
    assert is_signed(headers, b"{}", secret=other, now_s=SECOND)


@pytest.mark.parametrize(
    ("change", "now_s"),
    [
        ({"webhook-id": "msg_2"}, SECOND),
        ({"webhook-timestamp": str(SECOND + 1)}, SECOND),
        ({"webhook-timestamp": "soon"}, SECOND),
        ({"webhook-timestamp": ""}, SECOND),
        ({"webhook-signature": "v1,AAAA"}, SECOND),
        ({"webhook-signature": ""}, SECOND),
        ({}, SECOND + 301),
        ({}, SECOND - 301),
    ],
)
def test_a_forged_or_stale_message_is_not_believed(change: dict[str, str], now_s: int) -> None:
    headers = signed_headers("msg_1", second=SECOND, body=b"{}", secrets=[SECRET]) | change

    assert not is_signed(headers, b"{}", secret=SECRET, now_s=now_s)


def test_a_signature_is_for_one_body_and_of_one_secret() -> None:
    headers = signed_headers("msg_1", second=SECOND, body=b"{}", secrets=[SECRET])

    assert is_signed(headers, b"{}", secret=SECRET, now_s=SECOND)
    assert not is_signed(headers, b"{ }", secret=SECRET, now_s=SECOND)
    assert not is_signed(headers, b"{}", secret=secret_of(bytes(32)), now_s=SECOND)


@pytest.mark.parametrize(
    "text", ["", "whsec_", "whsec_AAAA", "AAAA" * 8, "whsec_" + "A" * 31, "whsec_" + "é" * 40, "whsec_" + "AAAA" * 30]
)  # fmt: skip
def test_what_is_no_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        key_of(text)

    assert not text or text == "whsec_" or text not in str(refusal.value)
