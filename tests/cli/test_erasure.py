"""Erasing, holding and rules of retention from the command line."""

from pathlib import Path

import pytest

from stateward.blobs import Folder
from stateward.cli.exit_codes import Exit
from stateward.core.errors import ArtifactError
from tests.cli.shell import Shell


def test_a_person_is_erased_over_all_records(demo: Shell, tmp_path: Path) -> None:
    reason = ("--reason", "request 17")
    named = demo.json("status", demo.ids("status:normalized")[0])["labels"]["filename"]
    subject = ("--subject", f"filename={named}")

    made = demo.json("backup", str(tmp_path / "backups"))
    shown = demo("erase", *subject, *reason)
    done = demo.json("erase", *subject, *reason, "--yes")

    assert shown.exit_code == 0
    assert "would be erased; nothing was: add --yes" in shown.stderr
    assert (done["is_dry_run"], len(done["erased"])) == (False, 1)
    assert any("exports" in each for each in done["copies"])
    assert any(made["name"] in each for each in done["copies"])  # no setting names that backup
    assert demo("verify").exit_code == 0
    assert "1 record left out: what they held was erased" in demo("export", "items").stderr
    assert demo("erase", "--subject", "filename=*", *reason).stdout == ""
    assert demo("erase", *reason).exit_code == Exit.USAGE


def test_what_was_erased_is_not_said_to_be_yet_to_come(demo: Shell) -> None:
    record_id = demo.ids("status:normalized")[0]
    demo("erase", record_id, "--reason", "request 17", "--yes")

    for command in ("items", "logs", "files"):
        assert f"what {record_id} held was erased" in demo(command, record_id).stderr


def test_what_is_left_in_unused_parts_of_the_database_is_named_until_it_is_written_anew(
    demo: Shell, tmp_path: Path
) -> None:
    erase = ("--reason", "request 17", "--yes")
    first, second, third = demo.ids()[:3]
    (tmp_path / "demo" / "stateward.db.before-schema-9").touch()

    early = demo.json("erase", first, *erase, "--no-compact")
    named = "free pages may still hold erased data" in demo("doctor").stdout
    again = demo("erase", "--subject", "customer=nobody", *erase)  # what a killed one left is done
    assert (named, again.exit_code) == (True, Exit.OK)
    assert "free pages" not in demo("doctor").stdout
    assert any("before-schema" in each for each in early["copies"])

    demo("erase", second, *erase, "--no-compact")
    assert demo("erase", "--compact").exit_code == Exit.OK
    assert "free pages" not in demo("doctor").stdout
    assert demo("erase", third, "--yes").exit_code == Exit.USAGE
    assert demo("erase", third, "--compact").exit_code == Exit.USAGE


def test_a_file_that_cannot_be_deleted_is_told(
    demo: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Folder, digest: str) -> bool:
        raise ArtifactError(f"{digest[:8]} is locked")

    monkeypatch.setattr(Folder, "remove", refuse)
    config = tmp_path / "settings.yaml"
    config.write_text(
        "retention:\n  rules:\n    - {pipeline: upload, older_than_days: 0.0000001, delete: [documents]}\n"
    )
    first, *others = demo.ids()

    erased = demo("erase", first, "--reason", "request 17", "--yes")
    applied = demo("--config", str(config), "retention", "--yes")

    assert (erased.exit_code, applied.exit_code) == (Exit.FOUND_PROBLEMS, Exit.FOUND_PROBLEMS)
    assert f"a file is not deleted yet: {first}" in erased.stdout
    assert f"of {len(others)} records a file could not be deleted" in applied.stderr
    assert "is locked" in applied.stderr


def test_what_is_held_is_refused_until_it_is_released(demo: Shell) -> None:
    record_id = demo.ids("status:normalized")[0]
    assert demo("hold", record_id, "--reason", "case 12").exit_code == 0

    refused = demo("erase", record_id, "--reason", "request 17", "--yes")
    listed = demo.json("hold", "--list")
    released = demo("hold", record_id, "--release", "--reason", "closed")

    assert refused.exit_code == Exit.REFUSED
    assert "case 12" in refused.stdout
    assert [each["record_id"] for each in listed] == [record_id]
    assert released.exit_code == 0
    assert demo("erase", record_id, "--reason", "request 17", "--yes").exit_code == 0


def test_rules_of_retention_are_shown_before_they_are_applied(demo: Shell, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(
        "retention:\n  rules:\n    - {pipeline: upload, older_than_days: 0.0000001, delete: [logs]}\n"
    )
    own = ("--config", str(config))

    shown = demo.json(*own, "retention")
    done = demo(*own, "retention", "--yes")

    assert shown["is_dry_run"]
    assert shown["rules"][0]["records"] > 0
    assert f"deleted of {shown['rules'][0]['records']} records; the proof stays" in done.stderr
    assert demo("verify").exit_code == 0
    assert "there are no rules" in demo("retention").stderr


def test_a_mirrored_ledger_with_an_erasure_is_sound(demo: Shell, tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(f"ledger: {{mirror: '{tmp_path}/ledger'}}\n")
    record_id = demo.ids("status:normalized")[0]
    demo("erase", record_id, "--reason", "request 17", "--yes")
    demo("--config", str(config), "up", "--until-idle")

    done = demo("--config", str(config), "verify", str(tmp_path / "ledger"))

    assert done.exit_code == 0, done.stdout
    assert demo("verify", "--ledger", str(tmp_path / "ledger")).exit_code == 0
