"""A stranger's plug-in: its source type shares a machine of another's, with runners, options and columns of its own."""

from pathlib import Path

from tests.apps import Maker, on_postgres_if_long

NOTES = """
from stateward.definition.display import Column, ItemView
from stateward.definition.plugin import Content, Detected, Plugin, SourceType
from stateward.definition.section import Section
from stateward.workers.sdk import runner


class NoteOptions(Section, frozen=True, kw_only=True):
    mark: str = "*"


def detect(content: Content) -> Detected | None:
    return Detected(source_type="note", confidence=99) if content.head.startswith(b"NOTE") else None


@runner("notes.parse")
def parse(job):
    for line in job.text().splitlines()[1:]:
        yield {"text": f"{job.options['mark']} {line}"}


@runner("notes.normalize")
def normalize(job):
    yield from job.items()


PLUGIN = Plugin(
    name="notes",
    options=NoteOptions,
    detect=detect,
    source_types=(
        SourceType(
            name="note",
            machine="upload",
            runners={"parse": "notes.parse", "normalize": "notes.normalize"},
        ),
    ),
    items=(
        ItemView(
            machine="upload", stage="normalize", columns=(Column("text"),), source_types=("note",)
        ),
    ),
)
"""


@on_postgres_if_long
def test_a_document_goes_to_the_runners_of_the_plug_in_that_knows_its_content(
    make_app: Maker, tmp_path: Path
) -> None:
    file = tmp_path / "own_notes.py"
    file.write_text(NOTES)
    app = make_app(f"pipelines: ['{file}']\nnotes: {{mark: '-'}}\n")

    note = app.submit(b"NOTE\nmilk\n").record
    statement = app.submit(b"Date,Description,Amount\n2026-01-05,Coffee,-3.50\n").record
    app.run_until_idle()

    assert app.record(note.id).labels["source_type"] == "note"
    assert list(app.items(note.id)) == [{"text": "- milk"}]
    assert "source_type" not in app.record(statement.id).labels
    assert [item["description"] for item in app.items(statement.id)] == ["Coffee"]
    view = app.plugins.item_view(app.record(note.id), "normalize")
    assert view is not None
    assert [column.name for column in view.columns] == ["text"]
    assert "note" in app.plugins.source_types("upload")
