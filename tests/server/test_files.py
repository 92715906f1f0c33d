"""Derived files over HTTP, through the client and the command line: listed, given out, and harmless to a browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from stateward.cli import cli
from stateward.client import ApiProblem, Client
from stateward.settings import Settings
from tests.server.api_client import ApiClient, problem, serving

PIPELINE = Path(__file__).parents[1] / "app" / "pictures.py"
SMALL = b"\x89PNG\r\n\x1a\nthe document"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApiClient, str]]:
    """A service with one record that has files; tests only look at it."""
    folder = tmp_path_factory.mktemp("pictures")
    config = folder / "config.yaml"
    config.write_text(f"data: {folder}/data\npipelines: ['{PIPELINE}']\n")
    settings = Settings.load(config, environ={})
    with serving(replace(settings, api=replace(settings.api, port=0))) as api:
        record = api.app.submit(b"the document", machine="pictures").record
        api.work()
        # From the first key on there is no access without one: all tests have one, in whatever order they run.
        keyed = api.with_key(role="viewer")
        yield keyed, record.id
        keyed.close()


def test_the_files_of_a_record_are_listed_and_part_of_it(pictures: tuple[ApiClient, str]) -> None:
    api, record_id = pictures

    listed = api.get(f"/records/{record_id}/files").json()
    record = api.get(f"/records/{record_id}").json()
    page = api.get("/records").json()

    assert [f"{each['stage']}/{each['name']}" for each in listed["items"]] == [
        "shrink/small.png",
        "shrink/page.html",
        "frame/framed.bin",
    ]
    assert record["files"] == listed["items"] == page["items"][0]["files"]


def test_a_picture_is_given_out_with_its_type_and_can_do_nothing(
    pictures: tuple[ApiClient, str],
) -> None:
    api, record_id = pictures
    record = api.get(f"/records/{record_id}").json()

    answer = api.get(record["files"][0]["url"])

    assert answer.content == SMALL
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-length"] == str(len(SMALL))
    assert answer.headers["content-disposition"] == 'inline; filename="small.png"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["etag"] == f'"{record["files"][0]["sha256"]}"'


def test_a_file_that_the_client_has_is_not_sent_again(pictures: tuple[ApiClient, str]) -> None:
    api, record_id = pictures
    path = f"/records/{record_id}/files/shrink/small.png"
    tag = api.get(path).headers["etag"]

    known = api.get(path, headers={"If-None-Match": tag})
    other = api.get(path, headers={"If-None-Match": '"0"'})

    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("path", "media_type"),
    [("shrink/page.html", "text/html"), ("frame/framed.bin", "application/octet-stream")],
)
def test_what_a_browser_must_not_show_is_saved(
    pictures: tuple[ApiClient, str], path: str, media_type: str
) -> None:
    api, record_id = pictures

    answer = api.get(f"/records/{record_id}/files/{path}")

    assert answer.headers["content-type"].partition(";")[0] == media_type
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["shrink/none.png", "none/small.png", "check/small.png", "shrink/..%2f..%2fa", "a/%00"]
)
def test_another_name_is_not_found(pictures: tuple[ApiClient, str], path: str) -> None:
    api, record_id = pictures

    answer = api.get(f"/records/{record_id}/files/{path}")

    assert answer.status_code in (404, 422)
    assert problem(answer) in ("not-found", "unknown-value")


def test_a_key_for_another_pipeline_sees_no_file(pictures: tuple[ApiClient, str]) -> None:
    api, record_id = pictures
    stranger = api.with_key(role="viewer", pipelines=("upload",))
    own = api.with_key(role="viewer", pipelines=("pictures",))
    path = f"/records/{record_id}/files"

    assert stranger.get(path).status_code == 404
    assert stranger.get(f"{path}/shrink/small.png").status_code == 404
    assert own.get(f"{path}/shrink/small.png").content == SMALL


def test_the_client_lists_and_fetches(pictures: tuple[ApiClient, str]) -> None:
    api, record_id = pictures
    _, key = api.app.admin.new_key("client", role="viewer")
    with Client(api.url, key=key) as client:
        assert [each.name for each in client.files(record_id)] == [
            "small.png",
            "page.html",
            "framed.bin",
        ]
        assert b"".join(client.file(record_id, "shrink", "small.png")) == SMALL
        assert client.record(record_id).files[0].stage == "shrink"
        with pytest.raises(ApiProblem, match="there is no file"):
            list(client.file(record_id, "shrink", "none.png"))


# The command line, beside the database and over HTTP


@pytest.fixture(params=["local", "server"])
def shell(
    request: pytest.FixtureRequest,
    pictures: tuple[ApiClient, str],
    monkeypatch: pytest.MonkeyPatch,
) -> list[str]:
    """The options of a command that reaches the record."""
    api, _ = pictures
    for name in ("CONFIG", "PROFILE", "DATA", "STORE_URL", "SERVER", "KEY"):
        monkeypatch.delenv(f"STATEWARD_{name}", raising=False)
    if request.param == "local":
        return ["--config", str(api.app.settings.data_path.parent / "config.yaml")]
    _, key = api.app.admin.new_key("shell", role="viewer")
    monkeypatch.setenv("STATEWARD_KEY", key)
    return ["--server", api.url]


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


def test_commands_list_files_and_write_one(
    shell: list[str], pictures: tuple[ApiClient, str], tmp_path: Path
) -> None:
    _, record_id = pictures
    out = tmp_path / "out.png"

    listed = run(*shell, "files", record_id)
    machine = run(*shell, "files", record_id, "--json")
    written = run(*shell, "file", record_id, "shrink/small.png", "--out", str(out))
    piped = run(*shell, "file", record_id, "shrink/small.png", "--out", "-")

    assert "shrink/small.png" in listed.stdout, listed.stderr
    assert json.loads(machine.stdout)[0]["name"] == "small.png"
    assert written.exit_code == 0, written.stderr
    assert out.read_bytes() == SMALL == piped.stdout_bytes
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


def test_a_file_that_is_not_there_is_an_unknown_name(
    shell: list[str], pictures: tuple[ApiClient, str], tmp_path: Path
) -> None:
    _, record_id = pictures

    done = run(*shell, "file", record_id, "shrink/none.png", "--out", str(tmp_path / "x"))
    shapeless = run(*shell, "file", record_id, "none.png", "--out", str(tmp_path / "x"))

    assert "there is no file 'shrink/none.png'" in done.stderr
    assert done.exit_code != 0
    assert shapeless.exit_code == 2
    assert list(tmp_path.iterdir()) == []
