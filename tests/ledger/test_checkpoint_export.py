"""Checkpoints leave this machine: a folder or an address has one, or it is said why not. Keys sign them."""

import base64
import hmac
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.core.errors import InvalidRequest
from stateward.ledger import (
    LedgerState,
    checkpoint_export,
    export_checkpoint,
    generate_key,
    parse_checkpoint,
    parse_signer,
    parse_verifier,
    verify,
)
from stateward.ledger.checkpoint_export import check_destination
from tests.ledger.builders import Clock, QuickDisk, a_ledger
from tests.ledger.receiver import receiving

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


def a_checkpoint(folder: Path) -> str:
    """A ledger, and a checkpoint of its only line."""
    with a_ledger(folder) as ledger:
        ledger.record("doc:1", LedgerState.PENDING)
        return ledger.checkpoint(write=False)


def export(checkpoint: str, place: object, *, secret: str | None = None) -> str:
    return export_checkpoint(checkpoint, str(place), secret=secret, clock=Clock(), disk=QuickDisk())


def test_a_folder_and_an_address_get_it_and_may_get_it_again(tmp_path: Path) -> None:
    made = a_checkpoint(tmp_path / "l")
    (tmp_path / "shelf").mkdir()
    with receiving() as receiver:
        places = (receiver.url + "/in?log=1", tmp_path / "shelf")
        said = [export(made, place) for place in places * 2]

    assert said == ["", "", "", ""]
    assert receiver.bodies == [made, made]
    assert {each.path for each in receiver.posts} == {"/in?log=1"}
    assert len({each.headers["webhook-id"] for each in receiver.posts}) == 1
    assert [path.read_text() for path in (tmp_path / "shelf").iterdir()] == [made]


@pytest.mark.parametrize("answer", [500, 404, 302, 410])
def test_an_address_that_does_not_confirm_has_not_got_it(tmp_path: Path, answer: int) -> None:
    made = a_checkpoint(tmp_path / "l")
    with receiving(answer) as receiver:
        why, then = export(made, receiver.url), export(made, receiver.url)

    assert f"it answered {answer}" in why
    assert then == ""
    assert "refused" in export(made, receiver.url)


def test_a_receiver_that_drips_is_cut_off(tmp_path: Path) -> None:
    made = a_checkpoint(tmp_path / "l")
    with receiving(drip_s=0.05) as receiver, patch.object(checkpoint_export, "POST_S_MAX", 0.4):
        assert export(made, receiver.url)


def test_a_share_that_is_not_mounted_is_no_empty_folder(tmp_path: Path) -> None:
    made = a_checkpoint(tmp_path / "l")

    assert "is it mounted?" in export(made, tmp_path / "share")
    assert not (tmp_path / "share").exists()


def test_posts_are_signed_as_standard_webhooks_says(tmp_path: Path) -> None:
    made = a_checkpoint(tmp_path / "l")
    with receiving() as receiver:
        export(made, receiver.url, secret=SECRET)

    (post,) = receiver.posts
    text = f"{post.headers['webhook-id']}.{post.headers['webhook-timestamp']}.{made}".encode()
    expected = base64.b64encode(hmac.new(b"k" * 32, text, sha256).digest()).decode()
    assert post.headers["webhook-signature"] == f"v1,{expected}"
    assert "." not in post.headers["webhook-id"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("http://", "is no address"),
        ("https://user:secret@example.org/", "without credentials"),
        ("http://example.org:99999999/", "is no address"),
        ("http://example.org:0/", "is no address"),
        ("ftp://example.org/x", "name a folder, or an http"),
        ("", "name a folder"),
        ("{ledger}/inside", "is inside the ledger"),
    ],
)
def test_what_cannot_be_a_place_is_refused(tmp_path: Path, place: str, words: str) -> None:
    folder = tmp_path / "l"

    with pytest.raises(InvalidRequest, match=words):
        check_destination(place.replace("{ledger}", str(folder)), folder)


def test_a_wrong_secret_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="whsec_") as refused:
        export(a_checkpoint(tmp_path / "l"), "http://example.org", secret="hunter2")

    assert "hunter2" not in str(refused.value)


def test_a_key_signs_and_its_public_half_verifies(tmp_path: Path) -> None:
    private, public = generate_key("example.org/ledger")
    signer, verifier = parse_signer(private), parse_verifier(public)
    with a_ledger(tmp_path / "l") as ledger:
        ledger.record("doc:1", LedgerState.PENDING)
        text = ledger.checkpoint(signer=signer)

    other = parse_verifier(generate_key("example.org/ledger")[1])
    assert verifier.has_signed(text)
    assert not other.has_signed(text)
    assert not verifier.has_signed(text.replace("\n1\n", "\n2\n"))
    assert not verifier.has_signed(text.rpartition(" ")[0] + " !!!\n")
    assert not verifier.has_signed(text.partition("\n\n")[0] + "\n")
    assert verify(tmp_path / "l", checkpoint=text).is_sound
    assert private not in repr(signer)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begins with PRIVATE"),
        ("PRIVATE+KEY+x", "three parts"),
        (
            "PRIVATE+KEY+x+00000000+" + base64.b64encode(b"\x01" + b"s" * 32).decode(),
            "does not fit",
        ),
        (
            "PRIVATE+KEY+x+00000000+" + base64.b64encode(b"\x02" + b"s" * 32).decode(),
            "only Ed25519",
        ),
        ("PRIVATE+KEY+x+00000000+%%%", "three parts"),
    ],
)
def test_what_is_no_key_is_refused_without_repeating_it(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        parse_signer(text)

    assert len(text) < 20 or text[12:] not in str(refused.value)


def test_the_wrong_half_of_a_key_is_not_taken_for_the_other() -> None:
    private, public = generate_key("example.org/ledger")

    with pytest.raises(InvalidRequest, match="private half"):
        parse_verifier(private)
    with pytest.raises(InvalidRequest, match="begins with"):
        parse_signer(public)
    with pytest.raises(InvalidRequest, match="does not fit"):
        parse_verifier(public.replace("example.org", "example.com"))
    with pytest.raises(InvalidRequest, match="one word"):
        generate_key("two words")


@pytest.mark.parametrize(
    "text",
    ["", "x\n", "x\n-1\nAAAA\n", "x\n01\nAAAA\n", "x\n1\n???\n", "x\n1\nAAAA\n", "x\n" + "9" * 5000 + "\nA\n"],
    ids=range(7),
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="no checkpoint"):
        parse_checkpoint(text)
