"""Time stamps of RFC 3161: an authority signs that a checkpoint existed at a certain time.

A signature of our own key says who made a checkpoint, not when: the owner of the key could sign a rewritten history
today and date it back. A token of an authority cannot be dated back. It is checked when it arrives, and again by anyone
who doubts: `stateward verify --checkpoint FILE --timestamp FILE`, or `openssl ts -verify`.
"""

from datetime import datetime
from pathlib import Path

from stateward import http_client
from stateward.core.errors import InvalidRequest
from stateward.extras import missing_extra

try:
    from cryptography.x509 import load_pem_x509_certificates
    from rfc3161_client import (
        HashAlgorithm,
        TimestampRequestBuilder,
        VerificationError,
        VerifierBuilder,
        decode_timestamp_response,
    )
except ImportError as error:
    raise (missing_extra(error) or error) from error

TOKEN_BYTES_MAX = 256 << 10  # a token with its chain of certificates is 5 to 10 kB
ANSWER_S_MAX = 15.0
OK = 200


def obtain_timestamp(data: bytes, url: str, roots: Path) -> bytes:
    """The token of an authority for these bytes, checked. Raises `OSError` if it gives none that is good."""
    query = TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256)
    request = query.nonce(nonce=True).cert_request(cert_request=True).build()
    try:
        reply = http_client.post(
            url,
            request.as_bytes(),
            {"Content-Type": "application/timestamp-query", "User-Agent": "stateward"},
            timeout_s=ANSWER_S_MAX,
            body_bytes_max=TOKEN_BYTES_MAX,
        )
    except TimeoutError:
        raise OSError(f"it did not answer within {ANSWER_S_MAX:g} s") from None
    if reply.status != OK or reply.body_end != "complete":
        raise OSError(f"it answered {reply.status}, without a whole time stamp")
    try:
        # The nonce shows that the answer was made for this request and is not one of long ago.
        _check(reply.body, data, VerifierBuilder.from_request(request), roots)
    except InvalidRequest as error:
        raise OSError(f"its answer is no good time stamp: {error}") from None
    return reply.body


def timestamp_of(token: bytes, data: bytes, roots: Path) -> datetime:
    """When an authority that one of the roots vouches for saw these bytes; `InvalidRequest` if none did."""
    return _check(token, data, VerifierBuilder(), roots)


def _check(token: bytes, data: bytes, builder: VerifierBuilder, roots: Path) -> datetime:
    try:
        certificates = load_pem_x509_certificates(roots.read_bytes())
    except ValueError:
        raise InvalidRequest(f"{roots} holds no certificates in PEM") from None
    for each in certificates:
        builder = builder.add_root_certificate(each)
    try:
        response = decode_timestamp_response(token)
    except ValueError:
        raise InvalidRequest("it is not in the form of RFC 3161") from None
    try:
        builder.build().verify_message(response, data)
    except (VerificationError, ValueError) as error:
        # What follows is the stack of the library below.
        reason = str(error).partition(": ErrorStack")[0]
        raise InvalidRequest(f"it does not prove this: {reason}") from None
    return response.tst_info.gen_time
