"""The statements that ship for the demo."""

from pathlib import Path

from lab.documents.statements.samples import main, samples, structured
from tests.pipelines.statements.reading import read_file

FOLDER = Path(__file__).parents[3] / "src/stateward/pipelines/statements/samples"
BROKEN = {"renamed-spreadsheet.csv": "SHEET_CORRUPT", "torn-statement.pdf": "PDF_CORRUPT"}


def test_the_script_makes_what_ships() -> None:
    for name, data in structured().items():
        assert (FOLDER / name).read_bytes() == data, f"{name}: write the samples anew"
    assert {path.name for path in FOLDER.iterdir()} == set(samples())


def test_every_sample_is_read_and_two_are_broken() -> None:
    for path in sorted(FOLDER.iterdir()):
        read = read_file(path)
        if path.name in BROKEN:
            assert read.error.code == BROKEN[path.name]
        else:
            assert len(read.canonicals) == len(read.observations) >= 12
            assert set(read.notes) <= {"NOT_CHECKED"}


def test_the_script_writes_into_a_folder(tmp_path: Path) -> None:
    main(tmp_path / "out")

    assert len(list((tmp_path / "out").iterdir())) == len(samples())
