"""A stage that may open connections, and what it keeps beyond its attempts."""

import os
import socket
import threading
from pathlib import Path

import pytest

from stateward.app import App
from stateward.app.plugins import Plugins
from stateward.workers import confinement
from tests.apps import Maker, on_postgres_if_long

PAYING = Path(__file__).with_name("paying.py")


def test_what_was_paid_for_is_not_asked_for_again_after_a_kill(
    make_app: Maker,
) -> None:
    app = make_app(f"pipelines: ['{PAYING}']\n")
    with socket.create_server(("127.0.0.1", 0)) as seller:
        sold: list[int] = []

        def sell() -> None:
            while True:
                try:
                    buyer, _ = seller.accept()
                except OSError:
                    return
                with buyer:
                    sold.append(1)
                    buyer.sendall(b"answer %d" % len(sold))

        threading.Thread(target=sell, daemon=True).start()
        record = app.submit(str(seller.getsockname()[1]).encode(), machine="paying").record
        app.run_until_idle()
        seller.shutdown(socket.SHUT_RDWR)

    (attempt,) = app.records.attempts(record.id)
    assert attempt.error_code is None
    assert app.record(record.id).status == "done"
    assert app.record(record.id).retry_count == 0, "a death that no evidence explains costs nothing"
    assert list(app.items(record.id)) == [{"answer": "answer 1"}]
    assert len(sold) == 1


@pytest.mark.skipif(
    confinement.landlock_abi() < confinement.ABI_NETWORK
    and os.uname().machine not in confinement.CALLS,
    reason="this kernel confines no network",
)
@on_postgres_if_long
def test_a_runner_that_is_declared_offline_may_not_connect_either(make_app: Maker) -> None:
    class Offline(Plugins):
        offline_runners = ("paying.ask",)

    settings = make_app(f"pipelines: ['{PAYING}']\n").settings
    with socket.create_server(("127.0.0.1", 0)) as seller, App(settings) as app:
        app.plugins = Offline(settings, clock=app.clock)
        record = app.submit(str(seller.getsockname()[1]).encode(), machine="paying").record
        app.run_until_idle()

        assert app.record(record.id).error_code == "EXCEPTION"
        assert "PermissionError" in str(app.record(record.id).error_message)


@on_postgres_if_long
def test_contracts_are_read_without_a_network_unless_there_is_a_model(make_app: Maker) -> None:
    model = "model: {base_url: 'http://127.0.0.1:1/v1', name: any}"

    assert "contract.extract" in make_app().plugins.offline_runners
    asking = make_app(f"contracts: {{extractor: both, {model}}}\n").plugins
    assert "contract.extract" not in asking.offline_runners
