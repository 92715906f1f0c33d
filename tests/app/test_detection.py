"""What a document is, asked of all plug-ins: which machine it goes to when a person names none."""

from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from stateward.app import App
from stateward.core.errors import MissingLabels, StageFailure
from stateward.core.machine import Machine
from stateward.definition.declare import declare
from stateward.definition.plugin import AUTO, Content, Detected, Plugin, SourceType
from stateward.settings import Settings


def machine(name: str) -> Machine:
    return declare(
        {
            "machine": name,
            "version": 1,
            "prefix": name[:2].upper(),
            "initial": "received",
            "states": {
                "received": {"kind": "ready"},
                "reading": {"kind": "running"},
                "done": {"kind": "terminal"},
                "error": {"kind": "failed"},
            },
            "stages": {
                "read": {
                    "from": "received",
                    "running": "reading",
                    "outcomes": {"done": "done"},
                    "on_error": "error",
                    "timeout_s": 30,
                }
            },
        }
    )


def plugin(name: str, sign: bytes, confidence: int, **labels: str) -> Plugin:
    def detect(content: Content) -> Detected | None:
        is_ours = content.head.startswith(sign)
        return Detected(source_type=f"{name}_file", confidence=confidence) if is_ours else None

    return Plugin(
        name=name,
        machines=(machine(name),),
        source_types=(SourceType(name=f"{name}_file", machine=name, title=name, labels=labels),),
        detect=detect,
    )


class Given(NamedTuple):
    """An object that has a plug-in to offer."""

    plugin: Plugin


@pytest.fixture
def app(tmp_path: Path) -> App:
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path / "data")})
    plugins = [
        plugin("plates", b"!PLATE", 40),
        plugin("parts", b"!", 30, part_number="the number on the part"),
        plugin("pages", b"?PAGE", 10),
    ]
    return App(settings, pipelines=[Given(each) for each in plugins])  # type: ignore[misc]


def test_the_surest_pipeline_takes_a_document(app: App) -> None:
    with app:
        sent = app.submit(b"!PLATE 1", machine=AUTO, name="a").record

        assert (sent.machine, sent.labels["source_type"]) == ("plates", "plates_file")


def test_a_label_that_a_pipeline_needs_says_that_it_is_meant(app: App) -> None:
    with app:
        sent = app.submit(b"!PLATE 2", machine=AUTO, labels={"part_number": "7"}).record

        assert (sent.machine, sent.labels["part_number"]) == ("parts", "7")


def test_a_missing_label_is_asked_for(app: App) -> None:
    with app, pytest.raises(MissingLabels, match=r"part_number \(the number on the part\)"):
        app.submit(b"!PART", machine=AUTO)


def test_a_pipeline_that_is_hardly_sure_is_offered_and_not_chosen(app: App, tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"?PAGE")
    with app:
        offered = app.plugins.candidates(path)
        own, labels = app.submissions.destination(path, name="page", labels={})

    assert [(each.machine, each.is_likely) for each in offered if each.machine == "pages"] == [
        ("pages", False)
    ]
    assert (own, labels) == ("upload", {})


def test_a_source_type_that_was_given_decides(app: App) -> None:
    with app:
        sent = app.submit(b"!PLATE 3", machine=AUTO, labels={"source_type": "pages_file"}).record

        assert (sent.machine, sent.labels["source_type"]) == ("pages", "pages_file")


def test_a_caller_reaches_its_own_machines_alone(app: App, tmp_path: Path) -> None:
    path = tmp_path / "plate"
    path.write_bytes(b"!PLATE")
    with app:
        own, _ = app.submissions.destination(path, name="", labels={}, machines=("pages",))

    assert own == "pages"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"Date;Text;Amount\n2026-01-05;a;-1,00\n", "upload"),
        (b"OFXHEADER:100\nDATA:OFXSGML\n<OFX>", "upload"),
        (b"\x89PNG\r\n\x1a\n" + bytes(32), "images"),
        (bytes(range(256)), "upload"),
    ],
)
def test_the_pipelines_that_ship_find_their_own(
    app: App, tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "document"
    path.write_bytes(content)
    with app:
        own, _ = app.submissions.destination(path, name="document", labels={})

    assert own == expected


def test_json_that_nothing_reads_is_told_what_was_looked_for(app: App, tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(b'{"buoy": 3, "depths": [1, 2]}')
    with app:
        with pytest.raises(StageFailure) as refused:
            app.plugins.detect("upload", path, name="buoys.json")
        with pytest.raises(StageFailure) as unnamed:
            app.plugins.detect("upload", path, name="buoys")
        given = app.plugins.detect("upload", path, source_type="catalog", name="buoys.json")

    assert (
        "looked for catalog (Product catalogue), lab_report (Lab report)" in refused.value.message
    )
    assert refused.value.message.endswith("name the one that it is as its source type")
    assert "looked for" not in unnamed.value.message
    assert not any("statement" in each.value.message for each in (refused, unnamed))
    assert given is None  # and its reader says what is wrong with it


def test_a_plug_in_is_told_whether_others_are_asked_as_well(tmp_path: Path) -> None:
    asked: list[bool] = []

    def detect(content: Content) -> Detected:
        asked.append(content.is_compared)
        return Detected(source_type="plates_file")

    alone = replace(plugin("plates", b"!", 40), detect=detect)
    settings = Settings.load(environ={"STATEWARD_DATA": str(tmp_path / "data")})
    path = tmp_path / "plate"
    path.write_bytes(b"!PLATE")
    with App(settings, pipelines=[Given(alone)]) as app:  # type: ignore[list-item]
        app.plugins.detect("plates", path, source_type="plates_file")
        app.plugins.candidates(path)
    assert asked == [False, True]
