"""Which papers are known when a list names them: by other lists, and by what was read."""

import json
from pathlib import Path

from click.testing import CliRunner

from stateward.app import App
from stateward.cli import cli
from stateward.transport import WorkerInfo
from tests.pipelines.literature.articles import PMC
from tests.pipelines.literature.test_list_commands import ids_of, run
from tests.pipelines.literature.test_readers import SEVERAL

CLOSED = "</PubmedArticle></PubmedArticleSet>"


def test_papers_that_report_one_trial_are_several(tmp_path: Path) -> None:
    two = "".join(f"PMID- {n}\nSI  - ClinicalTrials.gov/NCT01234567\n\n" for n in (11, 12))
    (tmp_path / "trial.nbib").write_text(two)

    added = run(tmp_path / "data", "add", str(tmp_path / "trial.nbib"), "NCT01234567", "--json")
    again = run(tmp_path / "data", "add", "NCT01234567", "--json")

    assert json.loads(added.stdout)["counts"] == {"added": 3}
    assert json.loads(again.stdout)["counts"] == {"known": 1}


def test_an_identifier_that_a_read_paper_says_of_itself_is_not_fetched(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "a.xml").write_text(PMC)
    (tmp_path / "b.xml").write_text(SEVERAL.partition("</PubmedArticle>")[0] + CLOSED)
    ids = ids_of(run(data, "add", str(tmp_path / "a.xml"), str(tmp_path / "b.xml"), "--json"))
    with App.embedded(data) as app:
        app.run_until_idle()

    added = run(data, "add", "99000010", "PMC9900010", "99000002", "--json")
    fuller = run(data, "add", "10.5555/stateward.rye.2", "--json")

    outcomes = [(each["outcome"], each["reason"]) for each in json.loads(added.stdout)["papers"]]
    assert outcomes == [("skipped", f"the same paper is {ids[at]}") for at in (0, 0, 1)]
    assert json.loads(fuller.stdout)["counts"] == {"added": 1}, "a DOI may lead to the full text"


def test_a_known_paper_and_an_unwanted_one_are_skipped_while_a_worker_is_free(
    tmp_path: Path,
) -> None:
    config = tmp_path / "stateward.yaml"
    config.write_text("literature: {lists: {skip_types: [editorial]}}\n")
    (tmp_path / "tides.bib").write_text(
        "@article{a, title={Tides}, type={Editorial}, doi={10.5555/tide.1}}\n"
        "@article{b, title={More tides}, doi={10.5555/tide.2}, pmid={77}}\n@misc{c, doi={10.5555/tide.2}}\n"
    )
    command = ["--config", str(config), "--data", str(tmp_path / "data")]
    with App.embedded(tmp_path / "data") as app:
        at = app.clock()
        stages = app.registry.named("literature").stages
        app.bus.heartbeat(
            WorkerInfo(
                id="w1", host="here", pid=1, life="", runners=tuple(each.runner for each in stages), slots=9,
                inline_slots=9, started_at=at, seen_at=at,
            )
        )  # fmt: skip

        words = [*command, "literature", "add", str(tmp_path / "tides.bib"), "--json"]
        added = json.loads(CliRunner().invoke(cli, words).stdout)["papers"]

        assert [each["outcome"] for each in added] == ["skipped", "added", "skipped"]
        told = [[each.target for each in app.records.history(one["id"])] for one in added]
        assert told == [["pending", "skipped"], ["pending", "fetching"], ["pending", "skipped"]]
        assert len(app.bus.assigned_work("w1", limit=10)) == 1
