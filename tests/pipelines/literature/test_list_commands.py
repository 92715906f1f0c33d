"""The commands, addresses and pages that add, follow, move and adopt papers."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stateward.app import App
from stateward.cli import cli
from stateward.console import console
from stateward.core.errors import InvalidRequest
from stateward.core.model import Fields
from stateward.ledger import Ledger, LedgerEntry, LedgerState
from stateward.pipelines.literature.papers import AddedPaper, StoredPapers
from stateward.server.http_server import Server
from tests import web
from tests.pipelines.literature.articles import PMC, TEXT
from tests.pipelines.literature.test_lists import BIBTEX
from tests.pipelines.literature.test_readers import SEVERAL
from tests.server.api_client import serving, settings_at


def run(data: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--data", str(data), "literature", *args])


def ids_of(result: Result) -> list[str]:
    return [each["id"] for each in json.loads(result.stdout)["papers"]]


def test_adding_a_list_makes_a_record_each_and_skips_what_is_known(tmp_path: Path) -> None:
    file, data = tmp_path / "library.bib", tmp_path / "data"
    file.write_text(BIBTEX)

    first = run(data, "add", str(file), "--json")
    again = run(data, "add", str(file), "10.5555/POTS", "--json")

    assert json.loads(first.stdout)["counts"] == {"added": 2, "refused": 1}
    assert first.exit_code == 1
    assert json.loads(again.stdout)["counts"] == {"known": 2, "refused": 1, "skipped": 1}
    last = json.loads(again.stdout)["papers"][-1]
    assert last["reason"] == f"the same paper is {ids_of(first)[0]}"
    with App.embedded(data) as app:
        moved = app.records.history(last["id"])[-1]
        assert (moved.source, moved.target) == ("pending", "skipped")
        assert moved.metadata["reason"] == last["reason"]


def test_a_record_of_an_identifier_is_listed_and_found_by_it(tmp_path: Path) -> None:
    named = ("31452104", "PMC3166277", "10.7554/eLife.38959", "arXiv:2101.00001v2", "NCT01234567")
    secret = "https://ann:pw@example.org/a/paper.pdf?signature=s3cret"
    added = run(tmp_path, "add", *named, secret, "--json")

    def listed(*query: str) -> list[str]:
        command = ["--data", str(tmp_path), "list", *query]
        lines = CliRunner().invoke(cli, command).stdout.splitlines()[1:]
        return [line.split()[-1] for line in lines]

    found = run(tmp_path, "add", *listed("machine:literature")[1:], "--json")
    assert listed("machine:literature") == [
        "https://example.org/a/paper.pdf",
        "NCT01234567",
        "arxiv:2101.00001v2",
        "10.7554/eLife.38959",
        "PMC3166277",
        "pmid:31452104",
    ]
    assert listed("38959") == listed("document:38959") == ["10.7554/eLife.38959"]
    assert json.loads(found.stdout)["counts"] == {"known": 5}, "what is listed can be added"
    assert set(ids_of(found)) < set(ids_of(added))


def test_a_doi_names_the_same_paper_however_it_is_written(tmp_path: Path) -> None:
    first = run(tmp_path, "add", "10.5555/SJ.2010.10", "--json")
    again = run(tmp_path, "add", "https://doi.org/10.5555/sj.2010.10", "--json")

    (skipped,) = json.loads(again.stdout)["papers"]
    assert skipped["outcome"] == "skipped"
    assert skipped["reason"] == f"the same paper is {ids_of(first)[0]}"


def test_papers_and_sets_of_pubmed_are_added_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/a.xml").write_text(PMC)
    (tmp_path / "papers/b.zip").write_bytes(b"PK\x03\x04")
    twice = SEVERAL.replace("99000002", "99000003", 1)
    (tmp_path / "set.xml").write_text(twice)

    result = run(
        tmp_path / "data", "add", str(tmp_path / "papers"), str(tmp_path / "set.xml"), "--json"
    )

    assert json.loads(result.stdout)["counts"] == {"added": 3, "refused": 1}
    with App.embedded(tmp_path / "data") as app:
        app.run_until_idle()
        states = {app.record(each).status for each in ids_of(result) if each}
    assert states == {"completed"}
    status = run(tmp_path / "data", "status")
    assert "3 of 3 papers ended" in status.stdout


def test_a_folder_holds_papers_lists_and_folders(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    (papers / "more").mkdir(parents=True)
    (papers / "a.xml").write_text(PMC)
    (papers / ".hidden").write_bytes(b"\x00")
    (papers / "more" / "library.txt").write_text(BIBTEX)
    (papers / "more" / "again").symlink_to(papers)

    result = run(tmp_path / "data", "add", str(papers), "--json")

    assert json.loads(result.stdout)["counts"] == {"added": 3, "refused": 1}


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    added = run(tmp_path / "data", "add", str(tmp_path / "tides.xml"), "99000002", "--json")

    refused, other = json.loads(added.stdout)["papers"]
    assert refused["reason"].endswith("and no address, and there is no such file")
    assert (added.exit_code, other["outcome"]) == (1, "added")


def test_a_list_that_is_submitted_as_a_paper_says_how_it_is_added(tmp_path: Path) -> None:
    path = tmp_path / "library.txt"
    path.write_text(BIBTEX)

    with App.embedded(tmp_path / "data") as app:
        assert app.plugins.candidates(path)[0].machine == "literature"
        record = app.submit(path, machine="literature").record
        app.run_until_idle()
        ended = app.record(record.id)

    assert (ended.status, ended.error_code) == ("failed", "SEVERAL_PAPERS")


def test_of_a_set_that_is_cut_off_what_is_whole_is_added_and_the_rest_is_told(
    tmp_path: Path,
) -> None:
    one, _, two = SEVERAL.replace("99000002", "99000003", 1).partition("</PubmedArticle>")
    (tmp_path / "set.xml").write_text(
        f"{one}</PubmedArticle>{two}".rpartition("</Pubmed")[0] + "<PubmedArt"
    )

    result = run(tmp_path / "data", "add", str(tmp_path / "set.xml"), "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["counts"] == {"added": 2, "refused": 1}
    assert "cut off after 2 citations" in json.loads(result.stdout)["papers"][-1]["reason"]


def test_a_set_is_added_in_batches_that_know_their_twins(tmp_path: Path) -> None:
    set_of = "<PubmedArticleSet>{}</PubmedArticleSet>"
    cut = (
        SEVERAL[SEVERAL.index("<PubmedArticle>") : SEVERAL.index("</PubmedArticle>")]
        + "</PubmedArticle>"
    )
    own = [cut.replace("99000002", str(1 + each % 130)) for each in range(160)]
    (tmp_path / "set.xml").write_text(set_of.format("".join(own)))

    result = run(tmp_path / "data", "add", str(tmp_path / "set.xml"), "--json")

    assert json.loads(result.stdout)["counts"] == {"added": 130, "known": 30}


def test_moves_follow_the_rules_of_the_machine(tmp_path: Path) -> None:
    (record_id,) = ids_of(run(tmp_path, "add", "99000001", "--json"))

    assert run(tmp_path, "complete", record_id).exit_code == 4
    skipped = run(tmp_path, "skip", record_id, "--reason", "not about soup")
    assert (skipped.exit_code, skipped.stdout) == (0, f"{record_id} is skipped\n")
    assert run(tmp_path, "skip", record_id).exit_code == 4
    assert run(tmp_path, "retry", record_id).exit_code == 4
    assert run(tmp_path, "adopt", record_id).exit_code == 4
    assert run(tmp_path, "skip", "LT_nothing").exit_code == 4
    status = json.loads(run(tmp_path, "status", "--json").stdout)
    assert (status["total"], status["ended"]) == (1, 1)
    assert status["adapters"] == {"pubmed": {"skipped": 1}}
    why = CliRunner().invoke(cli, ["--data", str(tmp_path), "explain", record_id]).stdout
    assert why == f"{record_id} finished: skipped; reason: not about soup\n"


def test_moves_are_made_over_http_by_the_same_rules(tmp_path: Path) -> None:
    first, second = ids_of(run(tmp_path, "add", "99000001", "99000002", "--json"))
    with Ledger.open(tmp_path / "old") as ledger:
        for name in ("pmid:99000001", "pmid:99000003"):
            ledger.record(name, LedgerState.PENDING)
        with ledger.importing(reason="a word of old") as importing:
            importing.record_many([LedgerEntry(doc_id="pmid:99000004", state=LedgerState.LEGACY)])
    with serving(settings_at(tmp_path)) as api:

        def far(*args: str) -> Result:
            return CliRunner().invoke(cli, ["--server", api.url, "literature", *args])

        seen = far("skip", first, "--dry-run", "--json")
        skipped = far("skip", first, "--reason", "not about soup")
        refused = far("skip", first, second, "LT_nothing", "--json")
        others = [
            far(*words) for words in (("complete", first), ("adopt", first), ("retry", first))
        ]
        adopting = far("adopt", str(tmp_path / "old"), "--json")

    assert adopting.exit_code == 0, adopting.stderr
    adopted = json.loads(adopting.stdout)
    assert json.loads(seen.stdout) == [{"id": first, "status": "pending", "is_allowed": True}]
    assert (skipped.exit_code, skipped.stdout) == (0, f"{first} is skipped\n")
    assert refused.exit_code == 4
    told = json.loads(refused.stdout)
    assert [sorted(each) for each in told] == [["error"], ["id", "status"], ["error"]]
    assert [each.exit_code for each in others] == [4, 4, 4]
    with App.embedded(tmp_path) as app:
        assert [app.record(each).status for each in (first, second)] == ["skipped", "skipped"]
        taken_up, unmapped = (app.records.history(each["id"])[0] for each in adopted["papers"][1:])
    assert adopted["counts"] == {"added": 2, "known": 1}
    assert (unmapped.target, unmapped.trigger) == ("legacy", "literature.imported")
    assert taken_up.metadata["reason"] == "adopted from old, where it was pending"


def test_papers_are_added_followed_and_cited_over_http_as_beside_the_database(
    tmp_path: Path,
) -> None:
    file, paper, library = tmp_path / "library.bib", tmp_path / "a.xml", tmp_path / "data"
    file.write_text(BIBTEX)
    paper.write_text(PMC)
    words = ("add", str(file), str(paper), "10.5555/POTS", "--json")
    settings = settings_at(library)
    with serving(settings) as api:
        url = ["--server", api.url, "literature"]
        (read_id,) = ids_of(CliRunner().invoke(cli, [*url, "add", str(paper), "--json"]))
        api.app.run_until_idle()
        first = CliRunner().invoke(cli, [*url, *words])
        again = CliRunner().invoke(cli, [*url, *words])
        papers = {"papers": [{"line": 1, "ids": {"pmid": "99000009"}}]}
        once = {"Idempotency-Key": "k"}
        twice = [api.post("/literature/papers", json=papers, headers=once) for _ in range(2)]
        other = api.post("/literature/papers", json={**papers, "reason": "x"}, headers=once)
        asked = (
            ("cite", read_id[:-2], "--format", "csl-json"), ("ir", read_id), ("status", "--json"),
            ("duplicates", "--jsonl"), ("cite", ids_of(first)[0]), ("ir", "LT_nothing"),
        )  # fmt: skip
        far = [CliRunner().invoke(cli, [*url, *each]) for each in asked]
    near = [run(library, *each) for each in asked]

    assert first.exit_code == 1, first.stderr  # an entry names no paper
    assert json.loads(first.stdout)["counts"] == {
        "added": 2,
        "known": 1,
        "refused": 1,
        "skipped": 1,
    }
    assert json.loads(again.stdout)["counts"] == {"known": 4, "refused": 1}
    assert [each.stdout for each in far] == [each.stdout for each in near]
    assert [each.exit_code for each in far] == [each.exit_code for each in near]
    assert [each.exit_code for each in far[:4]] == [0, 0, 0, 0]
    assert '"id": "' in far[0].stdout
    assert json.loads(far[1].stdout)["source"]["record_id"] == read_id
    assert twice[0].json() == twice[1].json(), "not that it is known by now"
    assert (other.status_code, other.json()["type"].rpartition(":")[2]) == (422, "key-reused")


def test_the_console_makes_every_move_by_the_rules_of_the_machine(tmp_path: Path) -> None:
    moves = {
        "document.skipped": ("pending", "skipped", "Move to skipped…"),
        "document.completed": ("ir_ready", "completed", "Move to completed…"),
        "document.adopted": ("legacy", "pending", "Move to pending…"),
    }
    names = [str(99000001 + at) for at in range(len(moves))]
    ids = dict(zip(moves, ids_of(run(tmp_path, "add", *names, "--json")), strict=True))
    settings = settings_at(tmp_path)
    with (
        Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server,
        App(settings) as app,
    ):
        for verb, (source, target, button) in moves.items():
            app.database.run(
                "UPDATE records SET status = :status WHERE id = :id", id=ids[verb], status=source
            )
            url = f"{server.url}/console/records/{ids[verb]}"
            shown, asked = web.get(url).text, web.get(f"{url}/ask/{verb}").text
            token = re.search(r'<meta name="csrf" content="([^"]+)"', shown)
            assert token, shown
            own = {"X-CSRF-Token": token[1]}
            done = web.post(f"{url}/act/{verb}", data={"reason": "as asked"}, headers=own)
            again = web.post(f"{url}/act/{verb}", data={"reason": "again"}, headers=own)

            assert button in shown, verb
            assert "reason" in asked, verb
            assert (done.status_code, again.status_code) == (200, 409), done.text
            moved = app.records.history(ids[verb])[-1]
            assert (app.record(ids[verb]).status, moved.source) == (target, source)
            assert moved.metadata["reason"] == "as asked"


def test_unfinished_documents_of_a_ledger_are_taken_up_once(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "old") as ledger:
        for name in ("pmid:99000001", "doc-7", "pmid:99000009"):
            metadata: Fields = {"doi": "10.5555/seven"} if name == "doc-7" else {}
            ledger.record(name, LedgerState.PENDING, metadata=metadata)
        ledger.record("pmid:99000009", LedgerState.SKIPPED)
        ledger.record("pmid:99000001", LedgerState.FETCHING)

    first = run(tmp_path / "data", "adopt", str(tmp_path / "old"), "--json")
    again = run(tmp_path / "data", "adopt", str(tmp_path / "old"), "--json")

    assert json.loads(first.stdout)["counts"] == {"added": 2}
    assert json.loads(again.stdout)["counts"] == {"known": 2}
    with App.embedded(tmp_path / "data") as app:
        reasons = {
            str(app.records.history(each)[0].metadata.get("reason")) for each in ids_of(first)
        }
    assert reasons == {
        "adopted from old, where it was fetching",
        "adopted from old, where it was pending",
    }


def test_documents_of_a_ledger_go_on_where_they_were_if_their_files_are_here(
    tmp_path: Path,
) -> None:
    files = tmp_path / "corpus"
    files.mkdir()
    (files / "pmid_99000001.xml").write_text(PMC)
    (files / "named.txt").write_text(TEXT)
    (tmp_path / "outside.txt").write_text(TEXT + "Not to be read.")
    to_validated = [str(each) for each in list(LedgerState)[:7]]
    documents: dict[str, tuple[list[str], Fields]] = {
        "pmid:99000001": (to_validated, {}),
        "doc-7": (to_validated[:4], {"path": "/a/corpus/named.txt"}),
        "pmid:99000002": (to_validated[:3], {"path": "../outside.txt"}),
        "pmid:99000003": (to_validated[:2], {}),
        "pmid:99000004": (["legacy"], {"file": "no path, but a text" * 300}),
        "pmid:99000005": (["pending", "skipped"], {}),
    }
    with (
        Ledger.open(tmp_path / "old") as ledger,
        ledger.importing(reason="a corpus") as importing,
    ):
        importing.record_many(
            [
                LedgerEntry(doc_id=name, state=LedgerState(state), metadata=metadata)
                for name, (states, metadata) in documents.items()
                for state in states
            ]
        )
    words = ("adopt", str(tmp_path / "old"), "--files", str(files), "--json")

    first = run(tmp_path / "data", *words)
    again = run(tmp_path / "data", *words)

    assert first.exit_code == 0, first.stderr
    told = {each["text"]: each["reason"] for each in json.loads(first.stdout)["papers"]}
    anew = "the step that was under way begins anew"
    fetched = "a ledger keeps no text, and no file of it is here, so that it is fetched again"
    made = "what came after is made anew from pmid_99000001.xml"
    assert told == {
        "pmid:99000001": f"it was validated and begins at fetched: {made}",
        "doc-7": f"it was parsing and begins at fetched: {anew}",
        "pmid:99000002": f"it was fetched and begins at pending: {fetched}",
        "pmid:99000003": f"it was fetching and begins at pending: {anew}",
        "pmid:99000004": "its old state could not be mapped: adopt it by its ID, or skip it",
    }
    assert json.loads(again.stdout)["counts"] == {"known": 5}
    ids = dict(zip(told, ids_of(first), strict=True))
    run(tmp_path / "data", "skip", ids["pmid:99000002"], ids["pmid:99000003"])
    with App.embedded(tmp_path / "data") as app:
        begun = {text: app.records.history(id_)[0] for text, id_ in ids.items()}
        app.run_until_idle()
        ended = {text: app.record(ids[text]).status for text in ("pmid:99000001", "doc-7")}
        found = app.admin.verify().findings
    assert [(each.target, each.trigger) for each in begun.values()] == [
        ("fetched", "literature.imported"),
        ("fetched", "literature.imported"),
        ("pending", "literature.created"),
        ("pending", "literature.created"),
        ("legacy", "literature.imported"),
    ]
    assert begun["doc-7"].metadata["reason"] == "adopted from old, where it was parsing"
    assert set(ended.values()) == {"completed"}
    assert found == ()
    adopted = run(tmp_path / "data", "adopt", ids["pmid:99000004"])
    assert (adopted.exit_code, adopted.stdout) == (0, f"{ids['pmid:99000004']} is pending\n")


def test_documents_are_adopted_once_over_http_too_and_none_that_a_person_must_see_begins_by_itself(
    tmp_path: Path,
) -> None:
    files = tmp_path / "corpus"
    files.mkdir()
    (files / "pmid_99000001.xml").write_text(PMC)
    (files / "pmid_99000002.txt").write_text(TEXT)
    (files / "pmid_99000003.txt").write_text(TEXT + "Of oats.")
    states = {"pmid:99000001": ["pending"], "pmid:99000002": ["legacy"]}
    states["pmid:99000003"] = [str(each) for each in list(LedgerState)[:7]]
    with Ledger.open(tmp_path / "old") as ledger, ledger.importing(reason="a corpus") as importing:
        importing.record_many(
            [
                LedgerEntry(doc_id=name, state=LedgerState(state))
                for name, own in states.items()
                for state in own
            ]
        )
    with serving(settings_at(tmp_path)) as api:
        words = ["--server", api.url, "literature", "adopt", str(tmp_path / "old"), "--json"]
        first = CliRunner().invoke(cli, [*words, "--files", str(files)])
        again = [CliRunner().invoke(cli, [*words, *more]) for more in ([], ["--files", str(files)])]
        begun = [api.app.records.history(each)[0] for each in ids_of(first)]
        legacy = api.app.record(ids_of(first)[1])
        kept = api.app.artifacts.path(legacy.artifact or "").read_text()

    assert [(each.target, each.trigger) for each in begun] == [
        ("pending", "literature.created"),
        ("legacy", "literature.imported"),
        ("fetched", "literature.imported"),
    ]
    assert begun[2].metadata["reason"] == "adopted from old, where it was validated"
    assert (kept, legacy.labels["pmid"]) == (TEXT, "99000002")
    assert "adopt it by its ID" in first.stdout
    assert "it was validated and begins at fetched" in first.stdout
    counts = [json.loads(each.stdout)["counts"] for each in again]
    assert counts == [{"known": 3}, {"known": 3}]


def test_what_is_adopted_is_known_however_its_identifier_is_written(tmp_path: Path) -> None:
    with App.embedded(tmp_path) as app:

        def adopt(text: bytes, **labels: str) -> AddedPaper:
            submission = app.submissions.prepare(
                app.artifacts.put([text], bytes_max=100),
                machine="literature",
                name="x.txt",
                labels=labels,
                priority=5,
                actor="person:anna",
                reason=None,
            )
            return StoredPapers(app, "person:anna").adopt(submission, begins="fetched")

        first = adopt(b"oats", doi="https://doi.org/10.5555/sj.2010.10")
        again = adopt(b"wheat", doi="10.5555/SJ.2010.10")
        assert app.record(first.id or "").labels["doi"] == "10.5555/sj.2010.10"
        with pytest.raises(InvalidRequest, match="is no pmid"):
            adopt(b"rye", pmid='"*"')

    assert (first.outcome, again.outcome, again.id) == ("added", "known", first.id)
