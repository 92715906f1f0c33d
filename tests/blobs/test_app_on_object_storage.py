"""A whole Stateward whose documents are in object storage: work, outages, verification, backup, downloads."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any
from unittest.mock import patch

import httpx2
import pytest
from msgspec.structs import replace

from lab.s3 import ENVIRONMENT, S3Fault, S3Server
from stateward.app import App
from stateward.app.backup import Backup
from stateward.app.backup_places import FolderPlace
from stateward.app.doctor import Check, checks
from stateward.app.restore import restore
from stateward.blobs.objects import ObjectStorage
from stateward.client import Client
from stateward.console import console
from stateward.core.errors import ArtifactsUnreachable, DeclarationError
from stateward.core.machine import Machine
from stateward.definition.declare import declare
from stateward.server.http_server import Server
from stateward.settings import Settings
from stateward.workers import fetching
from stateward.workers.sdk import Job, runner
from tests.blobs.stores import BUCKET
from tests.server.api_client import problem, serving

DOCUMENT = b"the document"
MANY = 10_000


def sizes() -> Machine:
    """A machine whose only stage runs in the worker's own process: there is no child to start."""
    return declare(
        {
            "machine": "sizes",
            "version": 1,
            "prefix": "SZ",
            "initial": "received",
            "states": {
                "received": {"kind": "ready"},
                "measuring": {"kind": "running"},
                "done": {"kind": "terminal"},
                "error": {"kind": "failed"},
            },
            "stages": {
                "measure": {
                    "from": "received",
                    "running": "measuring",
                    "outcomes": {"done": "done"},
                    "on_error": "error",
                    "timeout_s": 300,
                    "isolation": "inline",
                },
            },
            "retry": {"max_retries": 0, "backoff_s": [1]},
        }
    )


@runner("sizes.measure")
def measure(job: Job) -> dict[str, Any]:
    """How long a document is."""
    return {"size": len(job.bytes())}


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with S3Server(BUCKET) as server, patch.dict(os.environ, ENVIRONMENT):
        yield server


def settings_of(s3: S3Server, data: Path, *, text: str = "", more: str = "") -> Settings:
    data.mkdir(parents=True, exist_ok=True)
    config = data / "stateward.yaml"
    section = f"{{url: 's3://{BUCKET}/{data.name}', endpoint: '{s3.endpoint}', timeout_seconds: 1"
    config.write_text(f"data: {data}\nartifacts: {section}{text}}}\n{more}")
    settings = Settings.load(config, environ={})
    return replace(settings, api=replace(settings.api, port=0))


@pytest.fixture
def app(s3: S3Server, tmp_path: Path) -> Iterator[App]:
    with App(settings_of(s3, tmp_path / "data"), machines=[sizes()]) as own:
        yield own


def found(app: App) -> Check:
    return next(check for check in checks(app) if check.name == "artifacts")


@pytest.mark.long
def test_documents_and_derived_files_go_through_the_bucket(s3: S3Server, tmp_path: Path) -> None:
    pictures = Path(__file__).parents[1] / "app" / "pictures.py"
    settings = settings_of(
        s3, tmp_path / "data", text=", link_seconds: 60", more=f"pipelines: ['{pictures}']\n"
    )
    with App(settings) as first:
        record = first.submit(DOCUMENT, machine="pictures").record
    rmtree(tmp_path / "data" / "artifacts-cache")  # as on another machine

    with App(settings) as app:
        app.run_until_idle()

        assert app.record(record.id).status == "done"
        assert len(s3.objects[BUCKET]) == 4
        assert not (tmp_path / "data" / "artifacts").exists()
        assert app.admin.verify_documents() == []

    # What is saved comes from the bucket where links are wanted; what is shown comes through the service.
    with (
        Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server,
        httpx2.Client(base_url=server.url) as http,
    ):
        saved = [
            http.get(f"/records/{record.id}/files/frame/framed.bin"),
            http.get(f"/console/records/{record.id}/content?save=true"),
        ]
        shown = http.get(f"/console/records/{record.id}/content")
        with Client(server.url) as client:
            content = b"".join(client.file(record.id, "frame", "framed.bin"))

    for answer in saved:
        assert answer.status_code == 307
        assert answer.headers["location"].startswith(f"{s3.endpoint}/{BUCKET}/data/")
        assert answer.headers["cache-control"] == "no-store"
    assert (shown.status_code, shown.content) == (200, DOCUMENT)
    assert content.endswith(DOCUMENT)


def test_an_object_that_was_changed_is_an_error_and_never_a_result(
    s3: S3Server, app: App, tmp_path: Path
) -> None:
    record = app.submit(DOCUMENT, machine="sizes").record
    rmtree(tmp_path / "data" / "artifacts-cache")
    (key,) = s3.objects[BUCKET]
    s3.objects[BUCKET][key] = b"the d0cument"

    app.run_until_idle()

    ended = app.record(record.id)
    assert (ended.status, ended.error_code, ended.outputs) == ("error", "ARTIFACT_CHANGED", {})


def test_an_outage_costs_a_document_no_attempt(
    s3: S3Server, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FETCH_PAUSE_S", 0.01)
    record = app.submit(DOCUMENT, machine="sizes").record
    rmtree(tmp_path / "data" / "artifacts-cache")
    s3.faults = [S3Fault(kind="fail", times=MANY)]
    with app.node() as node:
        while not [each for each in s3.requests if each[0] == "GET"]:
            node.turn()
        while not app.bus.waits_for_worker(record.id, app.record(record.id).version):
            node.turn()  # it is returned, so that its time does not run
        during = app.record(record.id)
        s3.faults = []
        while app.record(record.id).status != "done":
            node.turn()

    ended = app.record(record.id)
    assert (during.status, during.error_code) == ("measuring", None)
    assert (ended.status, ended.retry_count, ended.version) == ("done", 0, during.version + 1)


def test_the_loop_goes_on_while_a_document_is_fetched(
    s3: S3Server, app: App, tmp_path: Path
) -> None:
    """The slow one is answered when the test says so: until then the other one must have ended."""
    slow, quick = (app.submit(each, machine="sizes").record for each in (b"slow", b"quick"))
    rmtree(tmp_path / "data" / "artifacts-cache" / str(slow.artifact)[:2])
    s3.faults = [S3Fault(kind="held")]
    with app.node() as node:
        while app.record(quick.id).status != "done":
            node.turn()
        during = app.record(slow.id).status
        s3.release.set()
        node.run(until_idle=True)

    assert during == "measuring"
    assert app.record(slow.id).status == "done"


def test_a_document_that_cannot_be_sent_leaves_no_record(s3: S3Server, app: App) -> None:
    s3.faults = [S3Fault(kind="fail", method="PUT", times=MANY)]

    with pytest.raises(ArtifactsUnreachable):
        app.submit(DOCUMENT, machine="sizes")

    assert not app.records.count(app.records.query(""))
    assert not s3.objects[BUCKET]


def test_verification_reads_the_bucket_and_not_the_copies(s3: S3Server, app: App) -> None:
    gone, changed, well = (app.submit(each, machine="sizes").record for each in (b"1", b"2", b"3"))
    names = {key.rpartition("/")[2]: key for key in s3.objects[BUCKET]}
    del s3.objects[BUCKET][names[str(gone.artifact)]]
    s3.objects[BUCKET][names[str(changed.artifact)]] = b"9"

    faults = {each.where: each.sentence for each in app.admin.verify_documents()}

    assert set(faults) == {gone.id, changed.id}
    assert "was removed" in faults[gone.id]
    assert "another SHA-256" in faults[changed.id]
    assert well.id not in faults
    s3.faults = [S3Fault(kind="fail", times=MANY)]
    with pytest.raises(ArtifactsUnreachable):  # it says nothing about documents that it cannot see
        app.admin.verify_documents()


def test_a_backup_brings_the_objects_and_a_restore_puts_them_back(
    s3: S3Server, app: App, tmp_path: Path
) -> None:
    record = app.submit(DOCUMENT, machine="sizes").record
    app.run_until_idle()
    sets = tmp_path / "sets-of-us"
    backup = Backup(
        app.settings, FolderPlace(sets), database=app.database, config=None, clock=app.clock
    )
    made = backup.make()
    elsewhere = settings_of(s3, tmp_path / "elsewhere")

    back = restore(sets / "sets" / made.name, elsewhere)

    assert (made.documents, made.missing, back.missing) == (1, (), ())
    with App(elsewhere, machines=[sizes()]) as other:
        assert other.admin.verify_documents() == []
        assert other.record(record.id) == app.record(record.id)
    assert len([key for key in s3.objects[BUCKET] if key.startswith("elsewhere/")]) == 1


def test_the_doctor_says_what_is_wrong_with_the_bucket(s3: S3Server, app: App) -> None:
    assert found(app).is_well
    left = app.settings.data_path / "artifacts" / "ab" / "cd"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"from before")
    assert "still holds documents" in found(app).sentence
    s3.objects.clear()
    assert "no such bucket" in found(app).sentence
    assert not found(app).is_well


def test_an_upload_during_an_outage_is_told_to_come_again(s3: S3Server, tmp_path: Path) -> None:
    with serving(settings_of(s3, tmp_path / "data")) as api:
        s3.faults = [S3Fault(kind="drop", method="PUT", times=MANY)]
        answer = api.post(
            "/records", files={"file": ("a.csv", b"Date;Text;Amount\n2026-01-05;B;-1,00\n")}
        )

        assert answer.status_code == 503
        assert problem(answer) == "unavailable"
        assert "document storage" in answer.json()["detail"]
        assert int(answer.headers["retry-after"]) > 0
        assert not api.app.records.count(api.app.records.query(""))


def test_the_short_form_names_the_bucket_alone(tmp_path: Path) -> None:
    config = tmp_path / "stateward.yaml"
    config.write_text("artifacts: s3://bucket/prefix\n")

    settings = Settings.load(config, environ={})
    other = Settings.load(config, environ={"STATEWARD_ARTIFACTS_URL": "gs://b"})

    assert settings.artifacts.url == "s3://bucket/prefix"
    assert other.artifacts.url == "gs://b"
    assert sha256(b"").hexdigest() not in str(settings)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("artifacts: ftp://b", "url must be folder:, s3://bucket/prefix"),
        ("artifacts: 's3://'", "url must be folder:, s3://bucket/prefix"),
        ("artifacts: s3://key:secret@bucket/x", "credentials come elsewhere"),
        ("artifacts: {url: 's3://b', endpoint: nowhere}", "endpoint must be http or https"),
        ("artifacts: 3", "artifacts must be a mapping"),
    ],
)
def test_an_impossible_place_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    config = tmp_path / "stateward.yaml"
    config.write_text(f"{text}\n")

    with pytest.raises(DeclarationError, match=fault):
        Settings.load(config, environ={})


def test_other_vendors_are_reached_by_their_urls(tmp_path: Path) -> None:
    """No server of theirs runs here: what is shown is that their URLs are understood, and failures said."""
    from stateward.blobs.objects import ObjectOptions

    for url in ("gs://bucket/prefix", "az://container/prefix"):
        options = ObjectOptions(url=url, endpoint=None, timeout_s=0.1)
        environ = {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": "eA=="}
        with patch.dict(os.environ, environ):
            store = ObjectStorage(options, tmp_path)
            assert url.startswith(
                {"GCSStore": "gs", "AzureStore": "az"}[type(store._store).__name__]
            )
