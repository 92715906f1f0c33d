"""What is kept of the YAML of packages is what the YAML says, and whatever is doubtful is read anew."""

import os
import sys
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from stateward.definition import compiled, yaml_text
from stateward.definition.compiled import document_file, machine_file
from stateward.definition.declare import from_yaml
from stateward.definition.discovery import installed_plugins
from tests.definition.letter import LETTER

SHIPPED = [
    (each.plugin.package, file)
    for each in installed_plugins()
    for file in each.plugin.machines
    if isinstance(file, str) and file.endswith(".yaml")
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty package `compiled_sample`, and a Python that writes compiled files."""
    folder = tmp_path / "compiled_sample"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delitem(sys.modules, "compiled_sample", raising=False)
    invalidate_caches()
    import_module("compiled_sample")
    return folder


def kept(package: Path) -> list[Path]:
    return sorted(package.glob("__pycache__/*.json"))


@pytest.mark.parametrize(("name", "file"), SHIPPED)
def test_a_shipped_machine_is_the_same_compiled(name: str, file: str) -> None:
    text = (Path(str(import_module(name).__file__)).parent / file).read_text("utf-8")

    first, again = (machine_file(name, file, source=file) for _ in range(2))

    assert first == again == from_yaml(text, source=file)


def test_the_second_time_no_yaml_is_read(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package / "a.yaml").write_text(LETTER)
    (package / "b.yaml").write_text("data: here\nlist:\n- 1\n")
    made = machine_file("compiled_sample", "a.yaml", source="a")
    read = document_file("compiled_sample", "b.yaml", source="b")
    assert [each.name.partition(".")[0] for each in kept(package)] == ["a", "b"]
    monkeypatch.delattr(yaml_text, "read_yaml")

    assert machine_file("compiled_sample", "a.yaml", source="a") == made
    assert document_file("compiled_sample", "b.yaml", source="b") == read
    assert read is not None
    assert read.line("list", 0) == 3
    assert document_file("compiled_sample", "c.yaml", source="c") is None


def test_another_text_another_code_and_damage_are_read_anew(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = package / "a.yaml"
    file.write_text("data: 1\n")

    def value() -> object:
        found = document_file("compiled_sample", "a.yaml", source="a")
        return None if found is None else found.value

    assert value() == {"data": 1}
    stamp = file.stat()
    file.write_text("data: 2\n")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # the text counts, not its time
    assert value() == {"data": 2}
    (place,) = kept(package)
    place.write_bytes(place.read_bytes()[:-9])
    assert value() == {"data": 2}
    place.write_bytes(place.read_bytes().replace(b'{"data":2}', b'{"data":3}'))
    assert value() == {"data": 3}  # that it is read at all
    monkeypatch.setattr(compiled, "_code", lambda: "newer")
    assert value() == {"data": 2}


def test_where_nothing_may_be_written_nothing_is(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "a.yaml").write_text("data: 1\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    document_file("compiled_sample", "a.yaml", source="a")
    assert kept(package) == []

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (package / "__pycache__").rename(package / "elsewhere")
    (package / "__pycache__").write_text("a file, where a folder is wanted")
    found = document_file("compiled_sample", "a.yaml", source="a")

    assert found is not None
    assert found.value == {"data": 1}
