"""A service of papers as a person operates it, by its commands: stopped steps, old ledgers, sources that fail."""

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from stateward.cli import cli
from tests.notifications.smtp_server import mail_server
from tests.pipelines.literature.articles import PMC, TEXT
from tests.pipelines.literature.source_server import a_source_server


def configured(folder: Path, **sections: Any) -> Path:  # noqa: ANN401 - sections of the settings
    path = folder / "stateward.yaml"
    path.write_text(yaml.safe_dump({"data": str(folder / "data"), "api": {"port": 0}, **sections}))
    return path


def run(config: Path, *args: str) -> Result:
    return CliRunner().invoke(cli, ["--config", str(config), *args])


def ids_of(result: Result) -> list[str]:
    return [each["id"] for each in json.loads(result.stdout)["papers"]]


def status_of(config: Path, record_id: str) -> str:
    return str(json.loads(run(config, "status", record_id, "--json").stdout)["status"])


def test_a_paper_that_waits_for_a_stopped_step_is_completed_by_a_person_and_found(
    tmp_path: Path,
) -> None:
    embed = {"base_url": "https://models.example.com/v1", "endpoint_model": "m"}
    config = configured(tmp_path, literature={"embed": embed})
    (tmp_path / "soup.xml").write_text(PMC)
    assert run(config, "pause", "literature", "--stage", "embed").exit_code == 0
    (record_id,) = ids_of(run(config, "literature", "add", str(tmp_path / "soup.xml"), "--json"))
    run(config, "up", "--until-idle")
    assert status_of(config, record_id) == "ir_ready"

    seen = run(config, "literature", "complete", record_id, "--dry-run", "--json")
    done = run(config, "literature", "complete", record_id, "--reason", "words are enough")
    again = run(config, "literature", "complete", record_id)

    assert json.loads(seen.stdout)[0]["is_allowed"] is True
    assert (done.exit_code, done.stdout) == (0, f"{record_id} is completed\n")
    assert again.exit_code == 4
    last = json.loads(run(config, "history", record_id, "--json").stdout)[-1]
    assert (last["from"], last["to"]) == ("ir_ready", "completed")
    assert last["metadata"]["reason"] == "words are enough"
    found = json.loads(run(config, "search", "soup", "--pipeline", "literature", "--json").stdout)
    assert [each["record_id"] for each in found] == [record_id]


def test_an_old_free_form_ledger_is_migrated_and_its_unfinished_papers_are_taken_up(
    tmp_path: Path,
) -> None:
    """Four words that old pipelines wrote, and one that no table has."""
    config = configured(tmp_path)
    corpus, old, new = tmp_path / "corpus", tmp_path / "old.jsonl", tmp_path / "migrated"
    corpus.mkdir()
    (corpus / "pmid_99000001.xml").write_text(PMC)
    (corpus / "seven.txt").write_text(TEXT)
    lines: list[dict[str, Any]] = [
        {"doc_id": "pmid:99000001", "state": "pending", "timestamp": 1728043200.0},
        {"doc_id": "pmid:99000001", "old_state": "pending", "new_state": "DOWNLOADED"},
        {"id": "doc-7", "status": "mineru_inflight", "metadata": {"path": "/gone/seven.txt"}},
        {"doc_id": "pmid:99000002", "state": "auto_done", "timestamp": "2024-10-04T12:01:00Z"},
        {"doc_id": "pmid:99000003", "state": "fetching"},
        {"doc_id": "pmid:99000004", "state": "on hold"},
    ]
    old.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    migrated = run(config, "ledger", "migrate", str(old), "--output", str(new), "--yes")
    assert migrated.exit_code == 0, migrated.stderr

    words = ("literature", "adopt", str(new), "--files", str(corpus), "--json")
    adopted = run(config, *words)
    again = run(config, *words)

    assert adopted.exit_code == 0, adopted.stderr
    ids = {each["text"]: each["id"] for each in json.loads(adopted.stdout)["papers"]}
    begun = {text: status_of(config, each) for text, each in ids.items()}
    assert begun == {
        "pmid:99000001": "fetched",
        "doc-7": "fetched",
        "pmid:99000003": "pending",
        "pmid:99000004": "legacy",
    }
    assert json.loads(again.stdout)["counts"] == {"known": 4}
    assert run(config, "pause", "literature", "--stage", "fetch").exit_code == 0
    run(config, "up", "--until-idle")
    assert [status_of(config, ids[each]) for each in ("pmid:99000001", "doc-7")] == [
        "completed"
    ] * 2
    # What had ended is history: the ledger tells it, and no record is made of it.
    told = json.loads(run(config, "ledger", "history", str(new), "pmid:99000002", "--json").stdout)
    assert [each["new_state"] for each in told] == ["completed"]
    assert run(config, "verify").exit_code == 0


def test_a_source_of_which_ten_papers_fail_is_told_by_email_doctor_and_status(
    tmp_path: Path,
) -> None:
    with mail_server() as mails, a_source_server() as source:
        smtp = f"smtp://127.0.0.1:{mails.port}"
        notifications = {
            "admin_email": "admin@example.com",
            "smtp_url": smtp,
            "email_on": ["source"],
        }
        fetch = {"europepmc_url": f"{source.url}/epmc", "pause_seconds": 0, "allow": ["127.0.0.1"]}
        config = configured(tmp_path, notifications=notifications, literature={"fetch": fetch})
        dois = [f"10.5555/unknown.{number}" for number in range(10)]
        run(config, "literature", "add", *dois, "10.5555/SJ.2010.10")
        run(config, "up", "--until-idle")
        run(config, "up", "--until-idle")  # which looks at its sources when it begins

    (mail,) = mails.mails
    assert mail["Subject"] == "[Stateward] literature/europepmc source failing: NOT_FOUND"
    assert "europepmc" in mail.get_content()
    doctor = run(config, "doctor")
    assert "literature/europepmc: 10 failed within an hour, mostly NOT_FOUND" in doctor.stdout
    status = run(config, "literature", "status").stdout
    assert "europepmc: 10 failed lately, mostly NOT_FOUND" in status
    assert "11 of 11 papers ended" in status
