"""The whole way of papers through a real service with default settings, and `stateward eval literature`."""

import json
from pathlib import Path

from click.testing import CliRunner

from stateward.app import App
from stateward.cli import cli
from tests.pipelines.literature.articles import PMC, SAMPLES


def test_papers_end_completed_with_their_intermediate_form(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        ids = [
            app.submit(path, machine="literature").record.id for path in sorted(SAMPLES.iterdir())
        ]
        app.run_until_idle()

        for record_id in ids:
            assert app.record(record_id).status == "completed"
            about = app.records.about(record_id, "build_ir")
            assert about["version"] == "stateward.paper/1"
            blocks = list(app.records.items(record_id, "build_ir"))
            assert blocks[0]["kind"] == "title"
        last = app.records.history(ids[0])[-1]
        assert (last.source, last.target, last.trigger) == (
            "ir_ready",
            "completed",
            "document.completed",
        )


def test_a_file_that_is_no_paper_fails_with_its_code_and_says_what_to_do(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:
        record = app.submit(b"<invoice/>", machine="literature").record
        app.run_until_idle()
        record = app.record(record.id)

    assert (record.status, record.error_code) == ("failed", "UNSUPPORTED_FORMAT")


def run_eval(folder: Path) -> dict[str, object]:
    result = CliRunner().invoke(cli, ["eval", "literature", str(folder), "--json"])
    answer: dict[str, object] = json.loads(result.stdout) | {"exit": result.exit_code}
    return answer


def test_the_truth_beside_a_paper_decides(tmp_path: Path) -> None:
    known = PMC.replace("&alpha;", "a").replace('<xref ref-type="fn" rid="n1">*</xref>', "")
    (tmp_path / "a.xml").write_text(known)
    (tmp_path / "b.xml").write_text(known)
    truth = {"title": "Salt & sugar in a-invented soups", "references": 3}
    (tmp_path / "b.xml.truth.json").write_text(json.dumps(truth))

    answer = run_eval(tmp_path)

    assert answer["fields"] == {
        "ids": [1, 1], "title": [2, 2], "authors": [1, 1], "abstract": [1, 1], "section_titles": [1, 1],
        "references": [1, 2],
    }  # fmt: skip
    assert answer["exit"] == 1
