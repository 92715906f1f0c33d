"""A stage that may open connections, and what it keeps beyond its attempts."""

import socket
import threading
from pathlib import Path

from tests.app.conftest import Maker

PAYING = Path(__file__).with_name("paying.py")


def test_what_was_paid_for_is_not_asked_for_again_by_the_attempt_after_a_kill(
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
        app.ask("retry", record.id, actor="person:ann", reason="it died")
        app.run_until_idle()
        seller.shutdown(socket.SHUT_RDWR)

    died, went_on = app.attempts(record.id)
    assert died.error_code == "RUNNER_DIED"
    assert went_on.error_code is None
    assert app.record(record.id).status == "done"
    assert list(app.items(record.id)) == [{"answer": "answer 1"}]
    assert len(sold) == 1
