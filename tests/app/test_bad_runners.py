"""Whatever a runner does, its record ends with a clear sentence, and the worker goes on."""

from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest

from stateward import telemetry
from stateward.core.errors import InvalidRequest
from tests.apps import Maker, on_postgres_if_long

HOSTILE = Path(__file__).with_name("hostile.py")


@on_postgres_if_long
@pytest.mark.parametrize(
    ("deed", "status", "code"),
    [
        ("print", "done", None),
        ("fork", "done", None),
        ("exit", "error", "RUNNER_EXITED"),
        ("die", "error", "RUNNER_EXITED"),
        ("allocate", "error", "MEMORY_LIMIT"),
        ("sleep", "error", "TIMEOUT"),
        ("million", "error", "TOO_MANY_ITEMS"),
        ("raise", "error", "EXCEPTION"),
    ],
)
def test_a_bad_runner_harms_only_its_own_record(
    make_app: Maker, deed: str, status: str, code: str | None
) -> None:
    # Only the one that sleeps may be met by its time limit, however busy the machine is.
    limit_s = 3 if deed == "sleep" else 200
    app = make_app(
        f"pipelines: ['{HOSTILE}']\nworker: {{items_max: 20000}}\n"
        f"hostile_record: {{timeout_monitoring: {{running_timeout_seconds: {limit_s}}}}}\n"
    )
    bad = app.submit(deed.encode(), machine="hostile").record
    good = app.submit(b"behave", machine="hostile").record

    app.run_until_idle()

    ended = app.record(bad.id)
    assert (ended.status, ended.error_code) == (status, code)
    assert app.record(good.id).status == "done"
    assert bool(ended.error_message) == (code is not None)
    assert app.admin.verify().is_sound
    (attempt,) = app.records.attempts(bad.id)
    assert attempt.error_code == code


@pytest.mark.long
def test_who_waits_behind_a_long_job_is_given_back_and_done_all_the_same(make_app: Maker) -> None:
    app = make_app(f"pipelines: ['{HOSTILE}']\nworker: {{processes: 1, prefetch: 4}}\n")
    slow = app.submit(b"sleep", machine="hostile").record
    quick = [app.submit(f"behave {n}".encode(), machine="hostile").record for n in range(4)]

    app.run_until_idle()

    assert app.record(slow.id).error_code == "TIMEOUT"
    assert [app.record(each.id).status for each in quick] == ["done"] * 4
    assert [len(app.records.attempts(each.id)) for each in quick] == [1] * 4
    assert app.admin.verify().is_sound


@on_postgres_if_long
@pytest.mark.parametrize(
    ("recycle", "is_shared_by_one", "is_shared_by_all"),
    [("owner", True, False), ("always", False, False), ("jobs", True, True)],
)
def test_documents_of_two_owners_share_no_process(
    make_app: Maker, recycle: str, *, is_shared_by_one: bool, is_shared_by_all: bool
) -> None:
    app = make_app(f"pipelines: ['{HOSTILE}']\nworker: {{processes: 1, recycle: {recycle}}}\n")

    owners = ("ann", "ann", "bob")
    records = [
        app.submit(f"{n}".encode(), machine="hostile", actor=f"person:{owner}").record
        for n, owner in enumerate(owners)
    ]

    app.run_until_idle()

    first, second, third = (next(iter(app.items(each.id)))["process"] for each in records)
    assert (first == second) == is_shared_by_one
    assert (second == third) == is_shared_by_all


@on_postgres_if_long
def test_a_kernel_that_protects_nothing_is_said_when_a_worker_starts(
    make_app: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stateward.app.runtime.missing_protection", lambda: "nothing is hidden")
    app = make_app()
    stream = StringIO()
    telemetry.set_up(level="warning", stream=stream)

    with app.node(is_coordinator=False, is_worker=True, is_notifier=False):
        pass
    telemetry.set_up(level="warning")

    assert "nothing is hidden" in stream.getvalue()


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ("profile: enterprise\n", True),
        ("profile: enterprise\nworker:\n  confinement: available\n", False),
        ("worker:\n  confinement: required\n", True),
        ("profile: business\n", False),
    ],
)
def test_no_worker_starts_without_the_protection_that_the_settings_require(
    make_app: Maker, monkeypatch: pytest.MonkeyPatch, settings: str, *, is_refused: bool
) -> None:
    monkeypatch.setattr("stateward.app.runtime.missing_protection", lambda: "nothing is hidden")
    app = make_app(settings)

    with (
        pytest.raises(InvalidRequest, match=r"nothing is hidden.*worker\.confinement")
        if is_refused
        else nullcontext(),
        app.node(is_coordinator=False, is_worker=True, is_notifier=False),
    ):
        pass
