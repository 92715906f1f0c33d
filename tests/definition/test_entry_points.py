"""Entry points are found as `importlib.metadata` finds them, in folders and in archives."""

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from stateward.definition.entry_points import EntryPoint, entry_points

GROUPS = ("console_scripts", "pytest11", "stateward.pipelines", "no.such.group")


def install(folder: Path, name: str, text: str) -> None:
    info = folder / name
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(text, "utf-8")


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_installed_here_is_what_the_standard_library_finds(group: str) -> None:
    expected = {
        (p.name, p.module, p.attr or "") for p in importlib.metadata.entry_points(group=group)
    }
    found = entry_points(group)
    assert {(p.name, p.module, p.attribute) for p in found} == expected


def test_our_own_are_there_with_name_and_version() -> None:
    found = {each.name: each for each in entry_points("stateward.pipelines")}
    assert found["statements"].origin == f"stateward {importlib.metadata.version('stateward')}"
    assert found["statements"].load() is sys.modules["stateward.pipelines.statements"].PLUGIN


def test_comments_spaces_extras_and_other_groups_are_understood(tmp_path: Path) -> None:
    text = "# made\n[console_scripts]\nx = y:z\n\n[ group ]\n; no\nfirst=a.b:c.d [extra]\nsecond = m\n[z]\nq = w:e\n"
    install(tmp_path, "My_Tool-1.2.dist-info", text)
    assert entry_points("group", [str(tmp_path)]) == [
        EntryPoint("first", "a.b", "c.d", "My_Tool 1.2"),
        EntryPoint("second", "m", "", "My_Tool 1.2"),
    ]


def test_of_two_distributions_of_one_name_the_first_on_the_path_counts(tmp_path: Path) -> None:
    install(tmp_path / "a", "my_tool-2.dist-info", "[group]\nx = new:X\n")
    install(tmp_path / "b", "My.Tool-1.egg-info", "[group]\nx = old:X\n")
    missing = str(tmp_path / "none")
    found = entry_points("group", [missing, str(tmp_path / "a"), str(tmp_path / "b")])
    assert [each.module for each in found] == ["new"]


def test_an_archive_on_the_path_is_looked_into(tmp_path: Path) -> None:
    archive = tmp_path / "tool.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(
            "tool-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1\n"
        )
        made.writestr("tool-1.dist-info/entry_points.txt", "[group]\nx = tool:X\n")
    assert entry_points("group", [str(archive)]) == [EntryPoint("x", "tool", "X", "tool 1")]


def test_a_line_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    install(tmp_path, "tool-1.dist-info", "[group]\njust words\n")
    (found,) = entry_points("group", [str(tmp_path)])
    with pytest.raises(ImportError):
        found.load()
