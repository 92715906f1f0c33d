"""Secrets at rest: sealed for one purpose, opened with the key file alone, and moved to a new key."""

import sys
from pathlib import Path

import pytest

from stateward.core.errors import SecretUnreadable
from stateward.storage.sealing import SecretKeys, is_sealed, open_url


@pytest.fixture
def keys(tmp_path: Path) -> SecretKeys:
    return SecretKeys(tmp_path / "secret.keys")


def test_a_sealed_secret_is_opened_for_its_own_purpose_only(keys: SecretKeys) -> None:
    sealed = keys.seal("whsec_abc", purpose="webhook 1")

    assert is_sealed(sealed)
    assert "whsec" not in sealed
    assert keys.open(sealed, purpose="webhook 1") == "whsec_abc"
    assert keys.seal("whsec_abc", purpose="webhook 1") != sealed
    with pytest.raises(SecretUnreadable, match="belongs to another place"):
        keys.open(sealed, purpose="webhook 2")


def test_the_key_file_is_private_and_other_keys_open_nothing(
    keys: SecretKeys, tmp_path: Path
) -> None:
    sealed = keys.seal("x", purpose="p")

    assert keys.path.stat().st_mode & 0o777 == 0o600
    assert SecretKeys(keys.path).open(sealed, purpose="p") == "x"
    stranger = SecretKeys(tmp_path / "other.keys")
    stranger.seal("y", purpose="p")
    with pytest.raises(SecretUnreadable, match=r"which .*other\.keys does not have"):
        stranger.open(sealed, purpose="p")


def test_after_a_rotation_old_and_new_are_opened_also_by_a_process_that_runs(
    keys: SecretKeys,
) -> None:
    running = SecretKeys(keys.path)
    sealed = running.seal("x", purpose="p")

    newest = keys.rotate()
    moved = keys.rewrap(sealed)

    assert moved.split(".")[2] == newest != sealed.split(".")[2]
    assert [running.open(each, purpose="p") for each in (sealed, moved)] == ["x", "x"]
    assert keys.ids()[0] == newest
    assert len(keys.ids()) == 2


def test_where_secrets_were_sealed_before_no_new_key_is_made(tmp_path: Path) -> None:
    keys = SecretKeys(tmp_path / "secret.keys", is_new=lambda: False)

    with pytest.raises(SecretUnreadable, match="is not here"):
        keys.seal("x", purpose="p")

    assert not keys.path.exists()


@pytest.mark.parametrize("change", ["x", "sealed.v1.a.b", "sealed.v1.{id}.AAAA.AAAA"])
def test_what_was_changed_is_not_opened(keys: SecretKeys, change: str) -> None:
    keys.seal("x", purpose="p")
    text = change.format(id=keys.ids()[0])

    if not is_sealed(text):
        assert keys.open(text, purpose="p") == text  # stored before secrets were sealed
        return
    with pytest.raises(SecretUnreadable):
        keys.open(text, purpose="p")


@pytest.mark.parametrize("content", ["", "no key", "abc AAAA\n", "é"])
def test_a_damaged_key_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret.keys"
    path.write_text(content, "utf-8")

    with pytest.raises(SecretUnreadable, match=r"secret\.keys"):
        SecretKeys(path).seal("x", purpose="p")


def test_where_nothing_can_open_a_secret_the_extra_is_named(
    keys: SecretKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = keys.seal("x", purpose="p")
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    with pytest.raises(SecretUnreadable, match=r"install stateward\[server\]"):
        keys.open(sealed, purpose="p")


def test_a_sealed_password_stands_in_a_url(keys: SecretKeys) -> None:
    sealed = keys.seal("p@ss:word/", purpose="settings")

    def opened(text: str) -> str:
        return keys.open(text, purpose="settings")

    assert (
        open_url(f"smtp://ann:{sealed}@mail:587", opened) == "smtp://ann:p%40ss%3Aword%2F@mail:587"
    )
    assert open_url("smtp://ann:plain@mail:587", opened) == "smtp://ann:plain@mail:587"
    assert open_url("smtp://mail:587", opened) == "smtp://mail:587"
