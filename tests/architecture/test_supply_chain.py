"""The bill of materials is the lock, and what cannot be asked is not called fine."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
INDEX = "https://index.example/{name}/{version}/json"
FILE = ROOT / "tools" / "supply_chain" / "supply_chain.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply_chain", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bill_of_materials_names_every_locked_dependency_with_its_hashes(
    tool: ModuleType, tmp_path: Path
) -> None:
    lock = (ROOT / "requirements" / "run.txt").read_text("utf-8")

    assert tool.main(["sbom", str(tmp_path / "sbom.json")]) == 0
    found = json.loads((tmp_path / "sbom.json").read_text("utf-8"))

    named = {f"{each['name']}=={each['version']}" for each in found["components"]}
    assert named == set(re.findall(r"^[^\s=]+==[^\s;]+", lock, re.MULTILINE))
    assert {each["name"] for each in found["components"]} >= {"msgspec", "cryptography", "litestar"}
    assert all(each["hashes"] for each in found["components"])


def test_what_is_known_fails_the_check_and_what_cannot_be_asked_is_said(
    tool: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def known(url: str) -> bytes:
        faults = [{"id": "PYSEC-1", "fixed_in": ["9"]}] if "/msgspec/" in url else []
        return json.dumps({"vulnerabilities": faults}).encode()

    def away(_: str) -> bytes:
        raise OSError("no network")

    assert tool.main(["advisories"], index=INDEX, ask=known) == 1
    assert "PYSEC-1, fixed in 9" in capsys.readouterr().out
    assert tool.main(["advisories"], index=INDEX, ask=lambda _: b'{"vulnerabilities": []}') == 0
    assert "nothing is known" in capsys.readouterr().out
    assert tool.main(["advisories"]) == 0
    assert "NOT checked" in capsys.readouterr().out
    for ask in (away, lambda _: b""):
        assert tool.main(["advisories"], index=INDEX, ask=ask) == 0
        assert "NOT checked" in capsys.readouterr().out
