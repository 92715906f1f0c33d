"""All sixteen transitions, driven from outside and from inside, give the same history."""

from pathlib import Path
from typing import Any

from stateward.pipelines.contracts.machine import CONTRACT
from tests.definition.test_graphs import CONTRACT_ROWS
from tests.server.api_client import ApiClient
from tests.server.contracts import DOUBTFUL, Player
from tests.server.driving import BUSY, Driver, driven, told


def walks(api: ApiClient, player: Player, way: str) -> dict[str, list[tuple[str | None, str, str]]]:
    """What happens to eight contracts, each another way, driven by calls or by the coordinator alone."""
    is_externally_driven = way == "outside"
    plans: dict[str, tuple[dict[str, list[Any]], str]] = {
        "through": ({}, ""),
        "approved": ({"validate": [DOUBTFUL]}, "approve"),
        "corrected": ({"validate": [DOUBTFUL]}, "correct"),
        "rejected": ({"validate": [DOUBTFUL]}, "reject"),
        "timed out": ({"validate": [DOUBTFUL]}, "timeout"),
        "failed once everywhere": (
            {"parse": [BUSY, {}], "extract": [BUSY, {}], "validate": [BUSY, *GOOD_ONCE]}, "",
        ),
        "compare failed": ({"compare": [BUSY, {}]}, ""),
        "given up": ({"extract": [BUSY]}, ""),
    }  # fmt: skip
    paths = {}
    for name, (script, action) in plans.items():
        told(player, **script)
        driver = Driver(api, f"{way} {name}")
        driver.ingest(params={"sequencing": way})
        if is_externally_driven:
            _drive(driver)
        _settle(api, driver, is_externally_driven=is_externally_driven)
        if action:
            _answer(api, driver, action, is_externally_driven=is_externally_driven)
            _settle(api, driver, is_externally_driven=is_externally_driven)
        paths[name] = driver.path()
    return paths


GOOD_ONCE: list[Any] = [{**DOUBTFUL, "final_confidence": 95}]


def _drive(driver: Driver) -> None:
    """Call what is possible until nothing is, or a person is asked."""
    for _ in range(20):
        state = driver.api.get(f"/workflows/{driver.id}").json()
        calls = [
            each for each in state["nextCalls"] if each not in ("review", "reprocess", "retry")
        ]
        if not calls:
            return
        answer = driver.ingest() if calls[0] == "ingest" else driver.call(calls[0])
        assert answer.status_code in (200, 503, 422), answer.text


def _settle(api: ApiClient, driver: Driver, *, is_externally_driven: bool) -> None:
    """Until it rests. Without a driver the waits of retries are cut short by asking for them."""
    for _ in range(40):
        record = api.app.records.wait(driver.id, timeout_s=0.3)
        machine = api.app.registry.of(record)
        if machine.kind[record.status] in ("terminal", "suspended"):
            return
        if is_externally_driven:
            _drive(driver)
        elif record.status == "failed" and not machine.is_exhausted(record):
            driver.call("retry")


def _answer(api: ApiClient, driver: Driver, action: str, *, is_externally_driven: bool) -> None:
    body: dict[str, Any] = {"action": action}
    if action == "correct":
        body["correctedData"] = {
            "tariff_name": "Easy", "monthly_rate": "56.90", "contract_start": "2026-03-01",
            "contract_end": "2027-02-28", "kwh_price": "0.312", "cancellation_period": "1 month",
        }  # fmt: skip
    if action in ("reject", "timeout"):
        body["notes"] = "no"
    if action == "timeout" and not is_externally_driven:
        api.app.database.run(
            "UPDATE records SET due_at = :now WHERE id = :id", id=driver.id, now=api.app.clock()
        )
        known = {"If-None-Match": f'"{api.app.record(driver.id).version}"'}
        api.get(f"/workflows/{driver.id}", params={"wait": "20s"}, headers=known)
        return
    answer = driver.call("review", json=body)
    assert answer.status_code == 200, answer.text


def test_all_sixteen_transitions_are_walked_both_ways_and_are_the_same(tmp_path: Path) -> None:
    walked = {}
    for way in ("outside", "auto"):
        with driven(tmp_path / way) as (api, player):
            walked[way] = walks(api, player, way)
            assert api.app.admin.verify().is_sound

    assert walked["outside"] == walked["auto"]
    pairs = {
        (source, to) for path in walked["outside"].values() for source, to, _ in path if source
    }
    rows = {
        (source, "(step that failed)" if source == "failed" and to != "rejected" else to)
        for source, to in pairs
    }
    assert rows == set(CONTRACT_ROWS)
    assert pairs == set(CONTRACT.pairs)
