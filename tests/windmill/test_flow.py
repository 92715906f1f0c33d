"""The flow for Windmill: what ships is what the machine says, and Windmill's own validator takes it."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stateward.cli.machines import yaml_text
from stateward.core.errors import InvalidRequest
from stateward.definition.openflow import inline_scripts, to_openflow
from stateward.pipelines.contracts import PLUGIN
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.uploads.machine import UPLOAD
from tests.windmill.player import program

HERE = Path(__file__).parent
SHIPPED = HERE.parent.parent / "deploy" / "windmill" / "contract.flow"


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which Windmill's validator is installed, as the lock file says."""
    folder = tmp_path_factory.mktemp("windmill")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    subprocess.run(
        [program("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=300,
    )
    return folder


def faults(validator: Path, file: Path) -> list[Any]:
    command = [program("node"), str(HERE / "validate.cjs"), str(validator), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(done.stdout)
    assert found["parsed"]
    errors: list[Any] = found["errors"]
    return errors


@pytest.mark.long
@pytest.mark.timeout(400)
def test_windmills_own_validator_takes_the_flow(validator: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.yaml"
    whole.write_text(yaml_text(inline_scripts(*to_openflow(CONTRACT, *PLUGIN.flows))), "utf-8")
    broken = tmp_path / "broken.yaml"
    broken.write_text(
        whole.read_text("utf-8").replace("type: branchone", "type: branchsome"), "utf-8"
    )

    assert faults(validator, SHIPPED / "flow.yaml") == []
    assert faults(validator, whole) == []
    assert faults(validator, broken) != []


def test_what_ships_is_what_the_machine_says() -> None:
    flow, scripts = to_openflow(CONTRACT, *PLUGIN.flows)

    shipped = {path.name: path.read_text("utf-8") for path in SHIPPED.iterdir() if path.is_file()}
    told = "run: stateward machine graph contract --format openflow --out deploy/windmill/contract.flow"
    assert shipped == {"flow.yaml": yaml_text(flow), **scripts}, told


def test_the_steps_their_retries_and_the_question_are_those_of_the_machine() -> None:
    modules = yaml.safe_load((SHIPPED / "flow.yaml").read_text("utf-8"))["value"]["modules"]
    ingest, extract, gate, compare = modules
    ask, review, again = gate["value"]["branches"][0]["modules"]
    second = [each["id"] for each in again["value"]["branches"][0]["modules"]]

    assert [each["id"] for each in modules] == ["ingest", "extract", "gate", "compare"]
    assert "retry" not in ingest
    assert extract["retry"]["exponential"]["attempts"] == 3
    assert compare["retry"]["constant"]["attempts"] == 1
    assert gate["value"]["branches"][0]["expr"] == "results.extract.needsReview"
    assert (ask["id"], review["id"], second) == (
        "ask",
        "review",
        ["ask_again", "review_again"],
    )
    assert ask["suspend"]["timeout"] == 86_400
    assert ask["suspend"]["resume_form"]["schema"]["properties"]["action"]["enum"] == [
        "approve", "correct", "reject",
    ]  # fmt: skip
    assert "default" not in ask["suspend"]["resume_form"]["schema"]["properties"]["action"]


class InputSchema(msgspec.Struct):
    """The inputs of a flow."""

    properties: dict[str, dict[str, Any]]


def test_the_form_of_the_flow_has_a_file_picker_and_the_verticals_that_ship() -> None:
    flow, _ = to_openflow(CONTRACT, *PLUGIN.flows)
    given = msgspec.convert(flow["schema"], InputSchema).properties

    assert given["document"]["contentEncoding"] == "base64"
    assert given["vertical"]["enum"] == ["", *sorted(default_rules().verticals)]


def test_a_machine_without_gates_cannot_have_an_external_driver() -> None:
    with pytest.raises(InvalidRequest, match="upload has no external stages"):
        to_openflow(UPLOAD, None)
