"""Checkpoints leave this machine: each place gets each of them, at least once, whatever happens in between."""

import base64
import hmac
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

from stateward.core.errors import InvalidRequest
from stateward.ledger import (
    CheckpointOutbox,
    LedgerState,
    checkpoint_export,
    generate_key,
    parse_checkpoint,
    parse_signer,
    parse_verifier,
    verify,
)
from tests.ledger.builders import Clock, QuickDisk, a_ledger
from tests.ledger.receiver import receiving

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


def checkpoints(folder: Path, count: int) -> list[str]:
    """A ledger, and its checkpoints after 1, 2, 3 … lines."""
    with a_ledger(folder) as ledger:
        made = []
        for number in range(count):
            ledger.record(f"doc:{number}", LedgerState.PENDING)
            made.append(ledger.checkpoint(write=False))
        return made


def an_outbox(
    folder: Path, *places: str, clock: Clock | None = None, secret: str | None = None
) -> CheckpointOutbox:
    return CheckpointOutbox(folder, places, clock=clock or Clock(), disk=QuickDisk(), secret=secret)


def test_every_place_gets_every_checkpoint_in_order(tmp_path: Path) -> None:
    made = checkpoints(tmp_path / "l", 3)
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with receiving() as receiver:
        outbox = an_outbox(tmp_path / "l", receiver.url + "/in?log=1", str(shelf))
        for each in made:
            outbox.add(each)
        done = outbox.deliver()
        again = outbox.deliver()

    assert [(each.handed, each.waiting, each.error) for each in done] == [(3, 0, ""), (3, 0, "")]
    assert [each.handed for each in again] == [0, 0]
    assert receiver.bodies == made
    assert {each.path for each in receiver.posts} == {"/in?log=1"}
    assert sorted(path.read_text() for path in shelf.iterdir()) == sorted(made)
    assert sorted(path.name for path in (tmp_path / "l" / "handover").glob("*.txt")) == [
        "00000003.txt"
    ]


def test_a_checkpoint_that_was_handed_over_is_not_queued_again(tmp_path: Path) -> None:
    (made,) = checkpoints(tmp_path / "l", 1)
    with receiving() as receiver:
        outbox = an_outbox(tmp_path / "l", receiver.url)
        for _ in range(3):
            outbox.add(made)
            outbox.deliver()

    assert receiver.bodies == [made]


@pytest.mark.parametrize("answer", [500, 404, 302, 410])
def test_what_is_not_taken_waits_and_is_tried_again_later_each_time(
    tmp_path: Path, answer: int
) -> None:
    made = checkpoints(tmp_path / "l", 2)
    clock = Clock()
    with receiving(answer, answer) as receiver:
        outbox = an_outbox(tmp_path / "l", receiver.url, clock=clock)
        for each in made:
            outbox.add(each)
        (first,) = outbox.deliver()
        (too_soon,) = outbox.deliver()
        clock.tick(61)
        (second,) = an_outbox(tmp_path / "l", receiver.url, clock=clock).deliver()
        waits_s = (outbox.next_attempt_at or 0) - clock()
        clock.tick(121)
        (third,) = outbox.deliver()

    assert (first.handed, first.waiting) == (0, 2)
    assert f"it answered {answer}" in first.error
    assert (too_soon.waiting, second.waiting, waits_s) == (2, 2, 120)
    assert (third.handed, third.waiting, third.error) == (2, 0, "")
    assert receiver.bodies == [made[0], made[0], *made]
    assert len({each.headers["webhook-id"] for each in receiver.posts[:3]}) == 1


def test_a_missing_receiver_is_a_failure_too_and_force_does_not_wait(tmp_path: Path) -> None:
    (made,) = checkpoints(tmp_path / "l", 1)
    with receiving() as receiver:
        url = receiver.url
    outbox = an_outbox(tmp_path / "l", url)
    outbox.add(made)

    (done,) = outbox.deliver()
    (forced,) = outbox.deliver(is_forced=True)

    assert "refused" in done.error
    assert "refused" in forced.error


def test_a_receiver_that_drips_is_cut_off(tmp_path: Path) -> None:
    (made,) = checkpoints(tmp_path / "l", 1)
    with receiving(drip_s=0.05) as receiver, patch.object(checkpoint_export, "POST_S_MAX", 0.4):
        outbox = an_outbox(tmp_path / "l", receiver.url)
        outbox.add(made)
        (done,) = outbox.deliver()

    assert done.waiting == 1
    assert done.error


def test_one_place_does_not_hold_up_another(tmp_path: Path) -> None:
    (made,) = checkpoints(tmp_path / "l", 1)
    with receiving(503) as bad, receiving() as good:
        outbox = an_outbox(tmp_path / "l", bad.url, good.url)
        outbox.add(made)
        done = outbox.deliver()

    assert [each.is_done for each in done] == [False, True]
    assert good.bodies == [made]


def test_handing_over_to_one_place_takes_nothing_from_another_that_waits(tmp_path: Path) -> None:
    made = checkpoints(tmp_path / "l", 2)
    with receiving(503) as slow, receiving() as quick:
        outbox = an_outbox(tmp_path / "l", slow.url)
        outbox.add(made[0])
        outbox.deliver()
        other = an_outbox(tmp_path / "l", quick.url)
        other.add(made[1])
        other.deliver()
        outbox.deliver(is_forced=True)

    assert quick.bodies == made
    assert slow.bodies == [made[0], *made]


def test_a_share_that_is_not_mounted_is_no_empty_folder(tmp_path: Path) -> None:
    (made,) = checkpoints(tmp_path / "l", 1)
    outbox = an_outbox(tmp_path / "l", str(tmp_path / "share"))
    outbox.add(made)

    (done,) = outbox.deliver()

    assert "is it mounted?" in done.error
    assert not (tmp_path / "share").exists()


def test_posts_are_signed_as_standard_webhooks_says(tmp_path: Path) -> None:
    (made,) = checkpoints(tmp_path / "l", 1)
    with receiving() as receiver:
        outbox = an_outbox(tmp_path / "l", receiver.url, secret=SECRET)
        outbox.add(made)
        outbox.deliver()

    (post,) = receiver.posts
    text = f"{post.headers['webhook-id']}.{post.headers['webhook-timestamp']}.{made}".encode()
    expected = base64.b64encode(hmac.new(b"k" * 32, text, sha256).digest()).decode()
    assert post.headers["webhook-signature"] == f"v1,{expected}"
    assert "." not in post.headers["webhook-id"]


def test_a_lost_list_of_places_hands_over_again_and_a_damaged_checkpoint_is_left_out(
    tmp_path: Path,
) -> None:
    made = checkpoints(tmp_path / "l", 3)
    with receiving(500) as receiver:
        outbox = an_outbox(tmp_path / "l", receiver.url)
        for each in made:
            outbox.add(each)
        outbox.deliver()
        (tmp_path / "l" / "handover" / "PLACES.json").write_bytes(b"\xff{")
        (tmp_path / "l" / "handover" / "00000002.txt").write_bytes(b"\xffrubbish")
        (done,) = outbox.deliver()

    assert done.is_done
    assert receiver.bodies == [made[0], made[0], made[2]]


def test_when_too_many_wait_the_oldest_go_for_newer_ones_cover_them(tmp_path: Path) -> None:
    made = checkpoints(tmp_path / "l", 5)
    with patch("stateward.ledger.checkpoint_export.WAITING_MAX", 3), receiving() as receiver:
        outbox = an_outbox(tmp_path / "l", receiver.url)
        for each in made:
            outbox.add(each)
        outbox.deliver()

    assert receiver.bodies == made[2:]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("http://", "is no address"),
        ("https://user:secret@example.org/", "without credentials"),
        ("http://example.org:99999999/", "is no address"),
        ("ftp://example.org/x", "name a folder, or an http"),
        ("", "name a folder"),
        ("{ledger}/inside", "is inside the ledger"),
    ],
)
def test_what_cannot_be_a_place_is_refused(tmp_path: Path, place: str, words: str) -> None:
    folder = tmp_path / "l"
    a_ledger(folder).close()

    with pytest.raises(InvalidRequest, match=words):
        an_outbox(folder, place.replace("{ledger}", str(folder)))


def test_a_wrong_secret_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="whsec_") as refused:
        an_outbox(tmp_path, "http://example.org", secret="hunter2")

    assert "hunter2" not in str(refused.value)


@pytest.mark.chaos
def test_killed_at_any_moment_nothing_is_handed_over_less_than_once(tmp_path: Path) -> None:
    made = checkpoints(tmp_path / "l", 4)
    with receiving() as receiver:
        for turn, each in enumerate(made):
            an_outbox(tmp_path / "l", receiver.url).add(each)
            child = subprocess.Popen(
                [sys.executable, "-c", DELIVERING, str(tmp_path / "l"), receiver.url],
                stdout=subprocess.PIPE,
            )
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.004 * turn)
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
        an_outbox(tmp_path / "l", receiver.url, clock=Clock(time.time())).deliver(is_forced=True)

    seen = list(dict.fromkeys(receiver.bodies))
    assert seen == made


DELIVERING = """
import sys, time
from pathlib import Path
from stateward.ledger import Outbox
outbox = Outbox(Path(sys.argv[1]), [sys.argv[2]], clock=time.time)
print("ready", flush=True)
while True:
    outbox.deliver(is_forced=True)
"""


# Keys


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
