"""Verify, export, doctor, settings: what is sound is said to be, and what is not is found."""

import json
from pathlib import Path

import apsw
import pytest
import yaml

from stateward.cli.exit_codes import Exit
from tests.cli.shell import Shell


def test_a_sound_history_is_said_to_be_sound(demo: Shell) -> None:
    done, verdict = demo("verify"), demo.json("verify")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "3 records and 13 transitions are sound" in done.stderr
    assert (verdict["is_sound"], verdict["transitions"], verdict["findings"]) == (True, 13, [])


def test_a_planted_change_is_found(demo: Shell) -> None:
    record_id = demo.ids("status:error")[0]
    with apsw.Connection(str(demo.data / "stateward.db")) as connection:
        connection.execute("UPDATE records SET status = 'normalized' WHERE id = ?", (record_id,))

    done, answer = demo("verify"), demo("verify", "--json")

    assert (done.exit_code, answer.exit_code) == (Exit.FOUND_PROBLEMS, Exit.FOUND_PROBLEMS)
    assert record_id in done.stdout
    assert json.loads(answer.stdout)["findings"]


def test_an_export_is_five_files_and_counts(demo: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "out"

    answer = demo.json("export", "history", "--out", str(folder))

    names = {"transitions.jsonl", "records.jsonl", "dispositions.jsonl", "dead_letters.jsonl"}
    assert {path.name for path in folder.iterdir()} == names | {"anchor.json"}
    assert answer["counts"]["transitions.jsonl"] == 13
    for name in names:
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        assert len(lines) == answer["counts"][name]
    assert json.loads((folder / "anchor.json").read_text())["count"] == 13


def test_an_export_never_overwrites(demo: Shell, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    done = demo("export", "history", "--out", str(tmp_path))

    assert done.exit_code == Exit.REFUSED
    assert "not an empty folder" in done.stderr


def test_an_export_tells_people_how_many_lines(demo: Shell, tmp_path: Path) -> None:
    done = demo("export", "history", "--out", str(tmp_path / "out"))

    assert "transitions.jsonl   13" in done.stdout
    assert "written to" in done.stderr


def test_a_doctor_is_content_with_an_idle_personal_installation(demo: Shell) -> None:
    done = demo("doctor")

    assert done.exit_code == 0, done.stdout
    assert "well      workers: 0 alive, and no record needs one" in done.stdout
    assert "well      dead letters: everything could be read" in done.stdout


def test_a_doctor_says_that_enterprise_wants_postgresql(demo: Shell) -> None:
    done = demo("doctor", "--profile", "enterprise")

    assert done.exit_code == Exit.FOUND_PROBLEMS
    assert "NOT WELL  database" in done.stdout
    assert "meant for PostgreSQL" in done.stdout


def test_a_doctor_finds_that_no_worker_runs(demo: Shell, tmp_path: Path) -> None:
    waiting = tmp_path / "waiting.csv"
    waiting.write_bytes(b"date;amount;text\n2026-01-02;-12,50;Coffee\n")
    demo("submit", str(waiting))

    done, answer = demo("doctor"), demo("doctor", "--json")

    assert (done.exit_code, answer.exit_code) == (Exit.FOUND_PROBLEMS, Exit.FOUND_PROBLEMS)
    assert "NOT WELL  workers: 0 alive" in done.stdout
    assert "what to do: nothing is processed until one runs" in done.stdout
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


def test_the_reference_of_settings_is_a_page(shell: Shell) -> None:
    page = shell("settings", "reference").stdout
    knobs = shell.json("settings", "reference")

    assert page.startswith("# Settings\n")
    assert all(knob["description"] for knob in knobs)
    assert {"path", "type", "default", "description"} == knobs[0].keys()
