"""A mirrored ledger is compared with the history that it is of."""

import json
from pathlib import Path

import pytest

from stateward.cli.exit_codes import Exit
from stateward.ledger.chain import GENESIS, SEAL_BYTES, seal
from tests.cli.shell import Shell


@pytest.mark.parametrize("key", ['"actor":"person:eve",', '"a\\u0063tor":"person:eve",'])
def test_a_mirror_that_names_a_key_twice_is_not_that_of_the_history(
    demo: Shell, tmp_path: Path, key: str
) -> None:
    """Sealed anew from there on: the value that counts here is the true one, and another reader takes the first."""
    config = tmp_path / "settings.yaml"
    config.write_text("ledger: {mirror: mirrored}\n")
    mirrored = tmp_path / "mirrored"
    demo("--config", str(config), "up", "--until-idle")
    (delta,) = mirrored.glob("delta-*.jsonl")
    lines: list[bytes] = []
    head = GENESIS
    for line in delta.read_bytes().splitlines(keepends=True):
        body = line[:-SEAL_BYTES]
        if not lines:
            body = b"{" + key.encode() + body[1:]
        sealed, head = seal(body, head)
        lines.append(sealed)
    delta.write_bytes(b"".join(lines))
    (mirrored / "HEAD").unlink()
    demo("ledger", "repair", str(mirrored), "--yes", "--accept-loss")

    done = demo("verify", "--ledger", str(mirrored))

    assert done.exit_code == Exit.FOUND_PROBLEMS
    assert "line 1 of the ledger names a key twice" in done.stdout


def test_history_and_ledger_are_compared(demo: Shell, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text("ledger: {mirror: mirrored}\n")
    mirrored = tmp_path / "mirrored"
    demo("--config", str(config), "up", "--until-idle")

    same = demo.json("verify", "--ledger", str(mirrored))
    replayed = demo("ledger", "verify", str(mirrored))
    stuck = demo("ledger", "stuck", str(mirrored), "--older-than", "0s", "--json")
    (delta,) = mirrored.glob("delta-*.jsonl")
    delta.write_bytes(delta.read_bytes().replace(b"person:", b"parson:", 1))
    other = demo("verify", "--ledger", str(mirrored))

    assert (replayed.exit_code, replayed.stdout) == (Exit.OK, "")
    assert all(each["state"] != "normalized" for each in json.loads(stuck.stdout))
    assert (same["is_sound"], same["ledger"]["behind"]) == (True, 0)
    assert same["ledger"]["compared"] == same["transitions"] > 10
    assert (other.exit_code, "first difference" in other.stdout) == (Exit.FOUND_PROBLEMS, True)
