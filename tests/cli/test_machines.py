"""`stateward machine`: no database is touched."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from stateward.app import load_settings
from stateward.app.machines import declared_machines
from stateward.cli.exit_codes import Exit
from stateward.definition.draw import machine_json, to_dot, to_mermaid, to_svg
from tests.cli.shell import Shell

GOOD = """
machine: letters
version: 1
prefix: LE
initial: queued
states:
  queued: {kind: ready}
  reading: {kind: running}
  read: {kind: terminal}
  error: {kind: failed}
stages:
  read: {from: queued, running: reading, outcomes: {done: read}, on_error: error}
"""


def test_the_machines_of_the_settings_are_listed(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "letters.yaml").write_text(GOOD)
    config = tmp_path / "own.yaml"
    config.write_text("pipelines: [letters.yaml]\n")

    names = [each["name"] for each in shell.json("--config", str(config), "machine", "list")]

    assert names[-1] == "letters"
    assert {"contract", "literature", "upload", "images"} <= set(names)
    assert "parse, normalize" in shell("machine", "list").stdout
    assert not shell.data.exists()


@pytest.mark.parametrize("name", ["upload", "contract", "literature"])
def test_a_machine_is_shown_as_the_core_draws_it(shell: Shell, name: str) -> None:
    (machine,) = [each for each in declared_machines(load_settings()) if each.name == name]

    answer = shell.json("machine", "show", name)

    assert answer == json.loads(json.dumps(machine_json(machine)))
    assert {"name", "version", "states", "transitions"} <= answer.keys()
    assert {"name", "kind"} <= answer["states"][0].keys()
    assert {"from", "to", "on"} <= answer["transitions"][0].keys()


def test_a_machine_is_shown_to_people(shell: Shell) -> None:
    text = shell("machine", "show", "upload").stdout

    assert "queued_for_parse (initial)" in text
    assert "parse.failed, parse.timed_out, cancel.requested" in text


def test_a_right_declaration_passes_and_says_which_runners_are_missing(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "letters.yaml"
    file.write_text(GOOD)

    done = shell("machine", "check", str(file))

    assert (done.exit_code, done.stdout) == (0, "")
    assert "letters, version 1: 4 states" in done.stderr
    assert "letters.read" in done.stderr


def test_every_fault_of_every_file_is_printed_with_its_line(shell: Shell, tmp_path: Path) -> None:
    bad, broken = tmp_path / "bad.yaml", tmp_path / "broken.yaml"
    bad.write_text(
        GOOD.replace("initial: queued", "initial: nowhere").replace(
            "on_error: error", "on_error: gone"
        )
    )
    broken.write_text("machine: [")

    done = shell("machine", "check", str(bad), str(broken), str(tmp_path / "missing.yaml"))
    answer = shell("machine", "check", str(bad), "--json")

    lines = done.stdout.splitlines()
    assert done.exit_code == Exit.FOUND_PROBLEMS
    assert any(line.startswith(f"{bad}:5: initial: ") for line in lines)
    assert any(line.startswith(f"{bad}:12: stages.read.on_error: ") for line in lines)
    assert any(line.startswith(f"{broken}:1") for line in lines)
    assert any("missing.yaml" in line for line in lines)
    assert answer.exit_code == Exit.FOUND_PROBLEMS
    assert json.loads(answer.stdout)["faults"][0]["line"] == 5


def test_a_python_file_is_checked_too(shell: Shell, tmp_path: Path) -> None:
    empty, raising = tmp_path / "empty_one.py", tmp_path / "raising_one.py"
    empty.write_text("x = 1\n")
    raising.write_text("raise ValueError('no')\n")

    quiet, loud = shell("machine", "check", str(empty)), shell("machine", "check", str(raising))

    assert (quiet.exit_code, loud.exit_code) == (0, Exit.FOUND_PROBLEMS)
    assert "declares no machine" in quiet.stderr
    assert "ValueError: no" in loud.stdout


def test_a_machine_is_drawn_in_three_ways(shell: Shell, tmp_path: Path) -> None:
    (machine,) = [each for each in declared_machines(load_settings()) if each.name == "contract"]
    out = tmp_path / "contract.svg"

    mermaid = shell("machine", "graph", "contract").stdout
    dot = shell("machine", "graph", "contract", "--format", "dot").stdout
    svg = shell("machine", "graph", "contract", "--format", "svg", "--out", str(out))

    assert mermaid.strip() == to_mermaid(machine).strip()
    assert dot.strip() == to_dot(machine).strip()
    assert svg.stdout == ""
    assert out.read_text() == to_svg(machine)
    assert ET.fromstring(out.read_text()).tag.endswith("svg")  # noqa: S314 - our own


def test_a_graph_is_a_document_for_programs(shell: Shell, tmp_path: Path) -> None:
    out = tmp_path / "x.dot"

    text = shell.json("machine", "graph", "upload", "--format", "dot")
    file = shell.json("machine", "graph", "upload", "--format", "dot", "--out", str(out))

    assert text["graph"] == out.read_text()
    assert file == {"machine": "upload", "format": "dot", "out": str(out)}
