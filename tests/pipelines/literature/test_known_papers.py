"""Which papers are known when a list names them: by other lists, and by what was read."""

import json
from pathlib import Path

from stateward.app import App
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
