"""Rare ways out of the sandbox, as root and as a plain user: each is refused, and nothing stays behind."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until
from tests.workers.children import only_item
from tests.workers.test_prying import Place, as_user, both_users, needs_landlock, needs_seccomp

ROAMING = str(Path(__file__).parent / "roaming.py")
needs_numbers = pytest.mark.skipif(os.uname().machine != "x86_64", reason="other numbers of calls")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.imports = [ROAMING]
    return made


@needs_landlock
@needs_seccomp
@needs_numbers
@both_users
@pytest.mark.parametrize("runner", ["roam.kernel", "roam.files", "roam.attributes"])
def test_a_rare_way_out_is_refused(
    place: Place, tmp_path: Path, runner: str, *, is_root: bool
) -> None:
    def act() -> dict[str, Any]:
        other = str(place.secrets[1])
        return only_item(place.run(runner, worker=os.getpid(), file=other))

    assert as_user(is_root, act, tmp_path) == {"worked": []}


@both_users
def test_folders_that_are_shut_are_removed_with_the_rest(
    place: Place, tmp_path: Path, *, is_root: bool
) -> None:
    def act() -> dict[str, Any]:
        return only_item(place.run("roam.folders"))

    assert as_user(is_root, act, tmp_path) == {}
    wait_until(
        lambda: {each.name for each in (place.data / "scratch").iterdir()} == {"child-other"}
    )
