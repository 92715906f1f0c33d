"""Verify, export, doctor, settings: what is sound is said to be, and what is not is found."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
import yaml

from lab.chaos.faults import no_mounts, small_disk
from lab.s3 import ENVIRONMENT, S3Server
from stateward.app import databases
from stateward.cli.exit_codes import Exit
from stateward.core.errors import StoreFull
from stateward.proofs.checkpoints import generate_key
from stateward.storage.sqlite import SqliteDatabase
from stateward.workers.layers import missing_protection
from tests.cli.shell import Shell


def test_a_sound_history_is_said_to_be_sound(demo: Shell) -> None:
    done, verdict = demo("verify"), demo.json("verify")

    assert done.exit_code == 0
    assert done.stdout == verdict["checkpoint"]
    assert "3 records and 13 transitions are sound" in done.stderr
    assert (verdict["is_sound"], verdict["transitions"], verdict["findings"]) == (True, 13, [])


def test_a_checkpoint_accepts_what_has_grown_and_nothing_else(demo: Shell, tmp_path: Path) -> None:
    kept, changed = tmp_path / "kept.txt", tmp_path / "changed.txt"
    assert demo("verify", "--out", str(kept)).exit_code == 0
    changed.write_text(kept.read_text().replace("\n13\n", "\n12\n"))
    demo("retry", demo.ids("status:error")[0])
    newer, proof = tmp_path / "newer.txt", tmp_path / "proof.json"
    demo("verify", "--out", str(newer))
    pair = ("verify", "--consistency", str(kept), str(newer))
    assert demo(*pair, "--out", str(proof)).exit_code == 0

    grown, refused = (demo("verify", "--checkpoint", str(each)) for each in (kept, changed))
    with apsw.Connection(str(demo.data / "stateward.db")) as connection:
        connection.execute("DELETE FROM transitions")
        connection.execute("DELETE FROM records")
        connection.execute("UPDATE lanes SET count = 0, head = printf('%064d', 0)")
    emptied, alone = demo("verify", "--checkpoint", str(kept)), demo("verify")

    assert (grown.exit_code, refused.exit_code) == (0, Exit.REFUSED)
    assert "they are the 13 transitions of the checkpoint, grown" in grown.stderr
    assert "its lanes do not give its root" in refused.stderr
    assert {emptied.exit_code, alone.exit_code} == {Exit.FOUND_PROBLEMS}
    assert "the checkpoint counts 13" in emptied.stdout
    assert "order: no entry has this number any more" in alone.stdout
    stranger = demo(*pair, "--proof", str(proof))
    assert (stranger.exit_code, demo(*pair).exit_code) == (0, Exit.FOUND_PROBLEMS)
    assert (
        "14 transitions of the newer checkpoint have grown from 13 of the older one"
        in stranger.stderr
    )
    backwards = demo(*pair[:2], str(newer), str(kept), "--proof", str(proof))
    assert backwards.exit_code == Exit.FOUND_PROBLEMS
    assert demo("verify", "--proof", str(proof)).exit_code == Exit.USAGE


def test_documents_without_records_are_told_of(demo: Shell, tmp_path: Path) -> None:
    shutil.copytree(demo.data / "artifacts", tmp_path / "other" / "artifacts")
    demo("--data", str(tmp_path / "other"), "counts")

    found = demo("--data", str(tmp_path / "other"), "verify")

    assert found.exit_code == 0
    assert "there are documents that no record has" in found.stderr
    advice = demo("--data", str(tmp_path / "other"), "doctor")
    assert advice.exit_code == Exit.FOUND_PROBLEMS
    assert "FAILED  history: the history is empty although documents are stored" in advice.stdout


def test_a_folder_that_is_not_there_is_not_called_sound(tmp_path: Path) -> None:
    told = Shell(tmp_path / "mistyped")("verify")

    assert (told.exit_code, "there is no store at" in told.stderr) == (Exit.REFUSED, True)
    assert not (tmp_path / "mistyped").exists()


def test_a_checkpoint_is_read_from_the_bucket_that_it_was_handed_to(
    demo: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    config, kept = tmp_path / "settings.yaml", tmp_path / "kept.txt"
    assert demo("verify", "--out", str(kept)).exit_code == 0
    with S3Server("proofs") as s3:
        config.write_text(f"artifacts: {{url: 's3://proofs/of', endpoint: '{s3.endpoint}'}}\n")
        s3.objects["proofs"] |= {
            "of/us/kept.txt": kept.read_bytes(),
            "of/us/wrong.txt": kept.read_bytes().replace(b"\n13\n", b"\n12\n"),
        }
        own = ("--config", str(config))
        good, wrong, none = (
            demo("verify", "--checkpoint", f"s3://proofs/of/us/{each}", *own)
            for each in ("kept.txt", "wrong.txt", "none.txt")
        )
        at = "s3://proofs/of/us/kept.txt"
        pair = demo("verify", "--consistency", at, str(kept), *own)

    assert (good.exit_code, wrong.exit_code) == (0, Exit.REFUSED)
    assert "they are the 13 transitions of the checkpoint" in good.stderr
    assert (none.exit_code, pair.exit_code) == (Exit.STORE, 0)
    assert "there is no none.txt in s3://proofs/of/us" in none.stderr


def test_a_checkpoint_is_signed_with_the_key_of_the_settings(demo: Shell, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    private, public = generate_key("example.org/history")
    _, other = generate_key("example.org/history")
    config, kept = tmp_path / "settings.yaml", tmp_path / "kept.txt"
    config.write_text("ledger: {signing_key: key}\n")
    (tmp_path / "key").write_text(private)
    own = ("--config", str(config))
    demo(*own, "verify", "--out", str(kept))

    (tmp_path / "key.pub").write_text(f"{public}\n")
    named = str(tmp_path / "key.pub")

    good, by_file, forged = (
        demo("verify", "--checkpoint", str(kept), "--signed-by", each)
        for each in (public, named, other)
    )

    assert (good.exit_code, by_file.exit_code, forged.exit_code) == (0, 0, Exit.REFUSED)
    assert "carries no good signature of example.org/history" in forged.stderr
    assert demo("verify", "--signed-by", public).exit_code == Exit.USAGE
    too_long = demo("verify", "--checkpoint", str(kept), "--signed-by", "k" * 300)
    assert (too_long.exit_code, "name too long" in too_long.stderr) == (Exit.REFUSED, False)
    answer = demo.json(*own, "export", "history", "--out", str(tmp_path / "out"))
    assert answer["counts"]["checkpoints.jsonl"] == 1


def test_a_copy_is_verified_without_writing_anything(demo: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(demo.data / "stateward.db", copy)
    before = [(each.name, each.stat().st_mtime_ns) for each in copy.iterdir()]

    done = demo("verify", str(copy), "--read-only")

    assert done.exit_code == 0
    assert "3 records and 13 transitions are sound" in done.stderr
    assert [(each.name, each.stat().st_mtime_ns) for each in copy.iterdir()] == before


def test_a_store_on_a_full_disk_is_verified_by_reading_alone(
    demo: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_unless_read(path: Path | str, *, is_read_only: bool = False) -> SqliteDatabase:
        if not is_read_only:
            raise StoreFull("the disk is full")
        return SqliteDatabase(path, is_read_only=True)

    monkeypatch.setattr(databases, "SqliteDatabase", full_unless_read)

    done = demo("verify")

    assert done.exit_code == 0
    assert "the disk is full; it is only read" in done.stderr
    assert "3 records and 13 transitions are sound" in done.stderr
    assert demo("list").exit_code == Exit.OK  # as all that only reads
    assert demo("cancel", demo.ids()[0]).exit_code == Exit.DISK_FULL
    advice = demo("doctor")
    assert advice.exit_code == Exit.FOUND_PROBLEMS
    assert "FAILED  database: the disk is full; the store is only read" in advice.stdout
    assert "ok      dead letters: none" in advice.stdout
    assert advice.stdout.count("database:") == 1


@pytest.mark.skipif(bool(no_mounts()), reason=no_mounts())
def test_what_only_reads_works_on_a_disk_that_has_no_byte_left(demo: Shell, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        shutil.copytree(demo.data, disk / "data", ignore=shutil.ignore_patterns("*-wake"))
        with suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        full = Shell(disk / "data")
        record = demo.ids()[0]

        for command in (
            ("list",), ("status", record), ("history", record), ("items", record), ("logs", record), ("counts",),
            ("explain", record), ("errors",), ("audit", "list"), ("review", "list"), ("dead-letters",),
            ("search", "coffee"), ("verify", "--documents"), ("export", "history", "--out", str(tmp_path / "history")),
        ):  # fmt: skip
            done = full(*command)
            assert (done.exit_code, "it is only read" in done.stderr) == (Exit.OK, True), done
        refused = full("cancel", record)

    assert refused.exit_code == Exit.DISK_FULL
    assert full("verify", str(tmp_path / "history")).exit_code == Exit.OK


@pytest.mark.skipif(bool(no_mounts()), reason=no_mounts())
def test_a_store_that_was_begun_on_a_full_disk_is_called_that(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        (disk / "data").mkdir()
        with suppress(OSError), (disk / "fill").open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        full = Shell(disk / "data")

        begun = full("submit", __file__)
        asked = [full(*each) for each in (("doctor",), ("list",), ("verify",))]

    assert begun.exit_code == Exit.DISK_FULL
    assert [each.exit_code for each in asked] == [Exit.STORE] * 3
    for each in asked:
        assert "holds no store yet: it was begun" in each.stderr


def test_documents_that_changed_or_are_gone_are_found(demo: Shell) -> None:
    gone, changed, *_ = sorted((demo.data / "artifacts").glob("??/*"))
    assert demo("verify", "--documents").exit_code == 0
    gone.unlink()
    changed.chmod(0o600)
    changed.write_bytes(b"other")

    done, alone = demo("verify", "--documents"), demo("verify")

    assert (done.exit_code, alone.exit_code) == (Exit.FOUND_PROBLEMS, 0)
    assert f"no artifact {gone.name}" in done.stdout
    assert f"artifact {changed.name} was changed" in done.stdout


def test_a_planted_change_is_found(demo: Shell) -> None:
    record_id = demo.ids("status:error")[0]
    with apsw.Connection(str(demo.data / "stateward.db")) as connection:
        connection.execute("UPDATE records SET status = 'normalized' WHERE id = ?", (record_id,))

    done, answer = demo("verify"), demo("verify", "--json")

    assert (done.exit_code, answer.exit_code) == (Exit.FOUND_PROBLEMS, Exit.FOUND_PROBLEMS)
    assert record_id in done.stdout
    assert json.loads(answer.stdout)["findings"]


def test_an_export_is_six_files_and_counts(demo: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "out"

    answer = demo.json("export", "history", "--out", str(folder))

    names = {
        "transitions.jsonl", "records.jsonl", "dispositions.jsonl", "dead_letters.jsonl", "audit.jsonl",
        "checkpoints.jsonl",
    }  # fmt: skip
    assert {path.name for path in folder.iterdir()} == names | {"anchor.json"}
    assert answer["counts"]["transitions.jsonl"] == 13
    for name in names:
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        assert len(lines) == answer["counts"][name]
    (lane,) = json.loads((folder / "anchor.json").read_text())["lanes"]
    assert lane["count"] == 13


def test_an_export_is_verified_without_a_store(demo: Shell, tmp_path: Path) -> None:
    folder, kept = tmp_path / "out", tmp_path / "checkpoint.txt"
    demo("verify", "--out", str(kept))
    demo("export", "history", "--out", str(folder))
    nowhere = ("--data", str(tmp_path / "nowhere"))

    done = demo(*nowhere, "verify", str(folder), "--checkpoint", str(kept))
    answer = demo.json(*nowhere, "verify", str(folder))
    refused = demo("verify", str(folder), "--documents")
    records = folder / "records.jsonl"
    records.write_text(records.read_text().replace('"status":"normalized"', '"status":"parsed"'))
    changed = demo("verify", str(folder))

    assert done.exit_code == Exit.OK
    assert "13 transitions are sound" in done.stderr
    assert "they are the 13 transitions of the checkpoint, grown" in done.stderr
    assert answer["is_sound"] is True
    assert refused.exit_code == Exit.USAGE
    assert changed.exit_code == Exit.FOUND_PROBLEMS
    assert "records.jsonl" in changed.stdout


def test_an_export_never_overwrites(demo: Shell, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    done = demo("export", "history", "--out", str(tmp_path))

    assert done.exit_code == Exit.REFUSED
    assert "not an empty folder" in done.stderr


def test_an_export_tells_people_how_many_lines(demo: Shell, tmp_path: Path) -> None:
    done = demo("export", "history", "--out", str(tmp_path / "out"))

    assert "transitions.jsonl   13" in done.stdout
    assert "written to" in done.stderr


@pytest.mark.skipif(missing_protection() is not None, reason="it complains of this kernel")
def test_a_doctor_is_content_with_an_idle_personal_installation(demo: Shell) -> None:
    done = demo("doctor")

    assert done.exit_code == 0, done.stdout
    assert "ok      workers: 0 alive, and no record needs one" in done.stdout
    assert "ok      dead letters: none" in done.stdout


def test_a_doctor_says_that_enterprise_wants_postgresql(demo: Shell) -> None:
    done = demo("doctor", "--profile", "enterprise")

    assert done.exit_code == Exit.FOUND_PROBLEMS
    assert "FAILED  database" in done.stdout
    assert "meant for PostgreSQL" in done.stdout


def test_a_doctor_finds_that_no_worker_runs(demo: Shell, tmp_path: Path) -> None:
    waiting = tmp_path / "waiting.csv"
    waiting.write_bytes(b"date;amount;text\n2026-01-02;-12,50;Coffee\n")
    demo("submit", str(waiting))

    done, answer = demo("doctor"), demo("doctor", "--json")

    assert (done.exit_code, answer.exit_code) == (Exit.FOUND_PROBLEMS, Exit.FOUND_PROBLEMS)
    assert "FAILED  workers: 0 alive" in done.stdout
    assert "what to do: nothing is processed until a worker runs" in done.stdout
    checks = {each["name"]: each["is_well"] for each in json.loads(answer.stdout)["checks"]}
    assert checks["database"]
    assert checks["disk"]
    assert not checks["workers"]


def test_settings_are_shown_as_a_settings_file_without_passwords(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STATEWARD_STORE_URL", "postgresql://me:geheim@db/x")

    done = shell("--profile", "enterprise", "settings", "show")

    shown = yaml.safe_load(done.stdout)
    assert done.exit_code == 0
    assert "geheim" not in done.output
    assert shown["profile"] == "enterprise"
    assert shown["store"]["url"] == "postgresql://me:***@db/x"
    again = tmp_path / "again.yaml"
    again.write_text(done.stdout)
    monkeypatch.delenv("STATEWARD_STORE_URL")
    assert shell.json("--config", str(again), "settings", "show")["worker"] == shown["worker"]


def test_names_of_machines_and_states_are_told_with_what_cannot_be_read(
    shell: Shell, tmp_path: Path
) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(
        "api: {port: -1}\n"
        "upload_record: {timeout_monitoring: {dreaming_timeout_seconds: 4}}\n"
        "nope_record: {retry: {max_retries: 1}}\n"
    )

    done = shell("--config", str(config), "list")

    assert done.exit_code == Exit.REFUSED
    told = [line.split("settings.yaml:")[1].split(": ")[:2] for line in done.stderr.splitlines()]
    assert told == [
        ["1", "api.port"],
        ["2", "upload_record.timeout_monitoring.dreaming_timeout_seconds"],
        ["3", "nope_record"],
    ]


def test_the_reference_of_settings_is_a_page(shell: Shell) -> None:
    page = shell("settings", "reference").stdout
    knobs = shell.json("settings", "reference")

    assert page.startswith("# Settings\n")
    assert all(knob["description"] for knob in knobs)
    assert {"path", "type", "default", "description"} == knobs[0].keys()
