"""The moves of papers that succeed: by command, by command over HTTP, and by HTTP alone."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stateward.app import App
from stateward.cli import cli
from tests.pipelines.literature.test_list_commands import ids_of, run
from tests.server.api_client import serving, settings_at

MOVES = [
    ("skip", "pending", "skipped"),
    ("complete", "ir_ready", "completed"),
    ("adopt", "legacy", "pending"),
]


@pytest.mark.parametrize(("verb", "source", "target"), MOVES)
def test_a_move_is_made_once_in_each_way(
    tmp_path: Path, verb: str, source: str, target: str
) -> None:
    ids = ids_of(run(tmp_path, "add", "99000001", "99000002", "99000003", "--json"))
    here, far, bare = ids
    with App.embedded(tmp_path) as app:
        app.database.run("UPDATE records SET status = :status", status=source)
    event = f"document.{target if target != 'pending' else 'adopted'}"

    own = run(tmp_path, verb, here, "--reason", "as asked")
    with serving(settings_at(tmp_path)) as api:
        words = ["--server", api.url, "literature", verb, far, "--reason", "as asked"]
        remote = CliRunner().invoke(cli, words)
        plain = api.post(f"/records/{bare}/moves/{event}", json={"reason": "as asked"})
        again = api.post(f"/records/{bare}/moves/{event}", json={"reason": "again"})

    assert [each.stdout for each in (own, remote)] == [
        f"{each} is {target}\n" for each in (here, far)
    ]
    assert (plain.status_code, plain.json()["status"], again.status_code) == (200, target, 409)
    with App.embedded(tmp_path) as app:
        moved = [app.records.history(each)[-1] for each in ids]
        assert [(each.source, each.target) for each in moved] == [(source, target)] * 3
        assert {each.metadata["reason"] for each in moved} == {"as asked"}
