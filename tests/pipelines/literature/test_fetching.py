"""Fetching: each source as it answers, every way in which it fails, and nothing fetched twice."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from stateward.app import App, load_settings
from stateward.cli import cli
from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import SECOND, Fields, to_iso
from stateward.pipelines.literature import politeness
from stateward.pipelines.literature.politeness import pause, paused_until
from stateward.pipelines.literature.sources import download, request_document
from stateward.pipelines.literature.web import without_keys
from stateward.workers.sdk import Job, Outcome
from tests.pipelines.literature.articles import PAGE
from tests.pipelines.literature.source_server import SourceServer, a_source_server
from tests.server.api_client import serving


@pytest.fixture
def server() -> Iterator[SourceServer]:
    """One of its own for each test: another port is another host, whose pauses no worker of before has kept."""
    with a_source_server() as server:
        yield server


def options(server: SourceServer, **more: object) -> Fields:
    fetch: Fields = {
        "pubmed_url": f"{server.url}/eutils",
        "europepmc_url": f"{server.url}/epmc",
        "arxiv_url": f"{server.url}/arxiv",
        "clinicaltrials_url": f"{server.url}/trials",
        "contact": "librarian@example.org",
        "api_key": "top-secret",
        "pause_seconds": 0.0,
        "arxiv_pause_seconds": 0.0,
        "allow": ["127.0.0.1"],
    }
    return {"fetch": {**fetch, **more}}  # type: ignore[dict-item]


def a_job(server: SourceServer, scheme: str, value: str, **more: object) -> Job:
    return Job.for_test(request_document(scheme, value), options=options(server, **more))


def requests_of(outcome: Outcome) -> list[Fields]:
    return msgspec.convert(outcome.about["requests"], list[Fields])


def fetched(job: Job) -> tuple[bytes, Outcome]:
    outcome = download(job)
    return job.file(job.stage, "document").read_bytes(), outcome


@pytest.mark.parametrize(
    ("scheme", "value", "beginning"),
    [
        ("pmid", "99000002", b"<?xml"),
        ("pmcid", "PMC9900010", b"<pmc-articleset>"),
        ("doi", "10.5555/sj.2010.10", b"<!DOCTYPE article"),
        ("doi", "10.5555/stateward.rye.2", b"<?xml"),
        ("doi", "10.5555/read", b"<?xml"),  # it can be read there, and is not given away
        ("arxiv", "2101.00001", b"<?xml"),
        ("nct", "NCT01234567", b'{"protocolSection"'),
    ],
)
def test_each_source_is_asked_in_its_own_way(
    server: SourceServer, scheme: str, value: str, beginning: bytes
) -> None:
    body, outcome = fetched(a_job(server, scheme, value))

    assert body.startswith(beginning)
    last = requests_of(outcome)[-1]
    assert last["status"] == 200
    assert str(last["at"]).endswith("Z")
    assert last["size"] == len(body)


def test_a_source_learns_who_asks_and_the_key_is_kept_nowhere(server: SourceServer) -> None:
    _, outcome = fetched(a_job(server, "pmid", "99000002"))

    assert server.queries[-1]["email"] == ["librarian@example.org"]
    assert server.queries[-1]["api_key"] == ["top-secret"]
    assert "mailto:librarian@example.org" in server.headers["user-agent"]
    assert "top-secret" not in str(outcome)
    assert without_keys("https://x/?a=1&api_key=k&b=2") == "https://x/?a=1&api_key=***&b=2"


def test_what_was_received_is_not_fetched_again(server: SourceServer) -> None:
    job = a_job(server, "doi", "10.5555/SJ.2010.10")
    first, _ = fetched(job)
    job._drop_files()

    second, outcome = fetched(job)

    assert second == first
    assert server.asked == {"/epmc/search": 1, "/epmc/PMC9900010/fullTextXML": 1}
    assert '"one"' in str(requests_of(outcome)[-1]["headers"])


@pytest.mark.parametrize(
    ("scheme", "value", "code", "sentence"),
    [
        ("pmid", "404", "NOT_FOUND", "PubMed has no paper with the PMID 404"),
        ("pmcid", "PMC404", "NOT_FOUND", "PMC gives no text of PMC404"),
        (
            "doi",
            "10.5555/nowhere",
            "NOT_FOUND",
            "Europe PMC knows no paper with the DOI 10.5555/nowhere",
        ),
        ("arxiv", "9999.00001", "NOT_FOUND", "arXiv has no paper 9999.00001"),
        ("nct", "NCT00000404", "NOT_FOUND", "answered 404: there is no such paper at this source"),
        ("url", "{}/missing", "NOT_FOUND", "answered 404: there is no such paper at this source"),
        ("url", "{}/forbidden", "SOURCE_REFUSED", "answered 403: it refuses the request"),
        ("url", "{}/for-ever", "TOO_MANY_REDIRECTS", "leads to ever further addresses"),
        ("url", "{}/moved-away", "ADDRESS_REFUSED", "192.168.0.1/secret is not fetched"),
        ("url", "{}/large", "TOO_LARGE", "more than the limit; raise literature.fetch.bytes_max"),
        ("url", "{}/bomb", "TOO_LARGE", "the unpacked answer is larger than the limit"),
        ("url", "http://10.0.0.1/", "ADDRESS_REFUSED", "is not fetched"),
        ("url", "http://[::1]/", "ADDRESS_REFUSED", "is not fetched"),
        ("url", "http://169.254.169.254/latest/meta-data", "ADDRESS_REFUSED", "is not fetched"),
        ("url", "https://user:pw@example.org/", "ADDRESS_REFUSED", "is not fetched"),
    ],
)
def test_what_no_retry_can_mend_is_fatal(
    server: SourceServer, scheme: str, value: str, code: str, sentence: str
) -> None:
    with pytest.raises(FatalFailure) as failed:
        download(a_job(server, scheme, value.format(server.url), bytes_max=200_000))

    assert failed.value.code == code
    assert sentence in str(failed.value)


@pytest.mark.parametrize(
    ("path", "code", "sentence"),
    [
        ("truncated", "TRUNCATED", "was cut off"),
        ("half-packed", "TRUNCATED", "the packed answer is cut off"),
        (
            "busy-for-long",
            "SOURCE_BUSY",
            "answered 429 and asks to wait 3600 s; it is asked again later",
        ),
        ("broken", "SOURCE_ERROR", "answered 500; it is asked again later"),
        ("accepted", "SOURCE_ERROR", "answered 202; it is asked again later"),
        ("nowhere", "SOURCE_ERROR", "answered 301; it is asked again later"),
        ("brotli", "WRONG_CONTENT", "packed in a way that was not asked for (br)"),
    ],
)
def test_what_may_pass_is_tried_again_later(
    server: SourceServer, path: str, code: str, sentence: str
) -> None:
    with pytest.raises(StageFailure) as failed:
        download(a_job(server, "url", f"{server.url}/{path}"))

    assert failed.value.code == code
    assert sentence in str(failed.value)
    assert not isinstance(failed.value, FatalFailure)


@pytest.mark.parametrize(("number", "code"), [("503", "WRONG_CONTENT"), ("504", "SOURCE_ERROR")])
def test_what_entrez_says_while_it_cannot_answer_is_no_missing_paper(
    server: SourceServer, number: str, code: str
) -> None:
    with pytest.raises(StageFailure) as failed:
        download(a_job(server, "pmid", number))

    assert failed.value.code == code
    assert not isinstance(failed.value, FatalFailure)


def test_all_members_of_a_packed_answer_are_unpacked(server: SourceServer) -> None:
    body, _ = fetched(a_job(server, "url", f"{server.url}/two-members"))

    assert body == PAGE.encode()


def test_a_source_is_not_asked_again_before_the_time_that_it_named(server: SourceServer) -> None:
    job = a_job(server, "url", f"{server.url}/busy-for-long")
    for words in ("asks to wait 3600 s", "asked to wait until .* and is not asked before"):
        with pytest.raises(StageFailure, match=words) as failed:
            download(job)
        assert failed.value.code == "SOURCE_BUSY"
        assert failed.value.retry_after_s == pytest.approx(3600, abs=60)

    assert server.asked["/busy-for-long"] == 1


def test_a_server_that_asks_to_wait_long_is_not_asked_for_other_papers(
    server: SourceServer,
) -> None:
    with pytest.raises(StageFailure, match="asks to wait 3600 s"):
        download(a_job(server, "url", f"{server.url}/busy-for-long"))
    with pytest.raises(StageFailure, match="is not asked before") as failed:
        download(a_job(server, "url", f"{server.url}/page.html"))

    assert (failed.value.code, server.asked["/page.html"]) == ("SOURCE_BUSY", 0)
    assert failed.value.retry_after_s == pytest.approx(3600, abs=60)


def test_another_process_is_told_of_the_pause(server: SourceServer) -> None:
    host = urlsplit(server.url).netloc
    pause(host, 8_000_000_000)
    asked = f"from {pause.__module__} import paused_until as p; print(p({host!r}, now_s=10), p('b', now_s=10))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    pause(host, 0)

    assert done.stdout.split() == ["8000000000", "0"]


def test_a_pause_outlives_the_process_that_was_told_of_it() -> None:
    """Processes of runners come and go; the one that they are forked from stays as long as its worker."""
    pid = os.fork()
    if pid == 0:
        pause("told.example", 8_000_000_000)
        os._exit(0)
    os.waitpid(pid, 0)

    assert paused_until("told.example", now_s=10) == 8_000_000_000
    pause("told.example", 0)


def test_without_locks_of_bytes_a_process_keeps_to_what_it_was_told_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = os.open(tmp_path, os.O_RDONLY)
    os.close(closed)
    monkeypatch.setattr(politeness, "_HOLDING", closed)
    monkeypatch.setattr(politeness, "_asking", lambda: closed)

    pause("a.example", 8_000_000_000)

    assert paused_until("a.example", now_s=10) == 8_000_000_000
    assert paused_until("b.example", now_s=10) == 0


def test_a_page_of_words_is_no_answer_of_an_api(server: SourceServer) -> None:
    job = a_job(server, "pmid", "1", pubmed_url=f"{server.url}/page.html?")
    with pytest.raises(StageFailure, match="something else than XML"):
        download(job)


def test_a_source_that_is_gone_is_named(server: SourceServer) -> None:
    with pytest.raises(StageFailure, match="cannot be reached"):
        download(a_job(server, "url", "http://127.0.0.1:8080/"))


def test_a_busy_source_is_asked_again_and_a_moved_page_is_followed(server: SourceServer) -> None:
    for path in ("busy", "moved"):
        body, _ = fetched(a_job(server, "url", f"{server.url}/{path}"))
        assert b"Ladles" in body
    assert server.asked["/busy"] == 2


def test_what_has_not_changed_is_not_sent_again(server: SourceServer) -> None:
    job = Job.for_test(
        request_document("url", f"{server.url}/page.html"),
        labels={"if_none_match": '"v1"'},
        options=options(server),
    )
    with pytest.raises(FatalFailure) as failed:
        download(job)

    assert failed.value.code == "NOT_MODIFIED"


def test_identifiers_become_papers(server: SourceServer, tmp_path: Path) -> None:
    fetch = options(server)["fetch"]
    config = tmp_path / "settings.yaml"
    config.write_text(yaml.safe_dump({"api": {"port": 0}, "literature": {"fetch": fetch}}))
    wanted = [("pmid", "99000002"), ("pmcid", "PMC9900010"), ("arxiv", "2101.00001"), ("nct", "NCT01234567"),
              ("doi", "10.5555/SJ.2010.10"), ("url", f"{server.url}/page.html"), ("pmid", "404")]  # fmt: skip
    adapters = {"pmid": "pubmed", "pmcid": "pmc", "nct": "clinicaltrials", "doi": "europepmc"}

    with App(load_settings(config, data=str(tmp_path / "data"))) as app:
        ids = [
            app.submit(
                request_document(scheme, value),
                machine="literature",
                labels={"source_type": adapters.get(scheme, scheme)},
            ).record.id
            for scheme, value in wanted
        ]
        app.run_until_idle()
        records = [app.record(each) for each in ids]
        with a_source_server() as other:  # which no other paper waits for
            busy = app.submit(
                request_document("url", f"{other.url}/busy-for-long"),
                machine="literature",
                labels={"source_type": "url"},
            ).record.id
            app.run_until_idle()
        waiting, why = app.record(busy), app.records.explain(busy)
        waits_s = ((waiting.due_at or 0) - waiting.entered_at) // SECOND

        assert (waiting.status, waiting.error_code, waits_s) == ("retrying", "SOURCE_BUSY", 3600)
        assert (why.code, why.until) == ("asked_to_wait", to_iso(waiting.due_at or 0))

        assert [each.status for each in records] == ["completed"] * 6 + ["failed"]
        assert records[-1].error_code == "NOT_FOUND"
        titles = [app.records.about(each, "build_ir")["metadata"]["title"] for each in ids[:-1]]  # type: ignore[index, call-overload]
        assert titles[2:4] == ["Ladles in flat space", "Soup for all"]
        assert [each.path for each in app.records.files(records[0])] == ["fetch/document"]

    # The source is asked again: nothing where nothing changed, a new edition where the paper was retracted.
    def literature(*words: str) -> str:
        common = ["--config", str(config), "--data", str(tmp_path / "data"), "literature"]
        return CliRunner().invoke(cli, [*common, *words]).stdout

    def refresh(*what: str) -> list[Fields]:
        answer: list[Fields] = json.loads(literature("refresh", *what, "--json"))
        return answer

    server.asked.clear()
    (same,) = refresh(ids[4])
    assert server.headers["if-none-match"] == '"one"'
    server.is_retracted = True
    changed, failed = refresh(ids[4], ids[-1])
    told = json.loads(literature("ir", ids[4]))
    with serving(load_settings(config, data=str(tmp_path / "data"))) as api:
        far = CliRunner().invoke(
            cli, ["--server", api.url, "literature", "refresh", ids[4], ids[2], "--json"]
        )

    assert (same["outcome"], same["is_stored"], same["retraction"]) == ("unchanged", False, [])
    assert (changed["outcome"], changed["is_stored"]) == ("changed", True)
    assert changed["retraction"] == ["RETRACTED"]
    assert told["metadata"]["retraction"] == "retracted", (
        "the form says what its newest edition says"
    )
    assert [each["outcome"] for each in json.loads(far.stdout)] == ["unchanged", "unchanged"]
    assert (failed["outcome"], server.asked["/epmc/PMC9900010/fullTextXML"]) == ("refused", 3)
    with App(load_settings(config, data=str(tmp_path / "data"))) as app:
        paper = app.record(ids[4])
        found = app.search.find("soup", pipeline="literature", filters=["retraction=retracted"])
        (file,) = app.records.files(paper)
        assert [each.record_id for each in found.hits] == [paper.id]
        assert b"retraction-forward" in app.artifacts.path(file.file.sha256).read_bytes()
        assert (paper.version, app.admin.verify().is_sound) == (records[4].version, True)
