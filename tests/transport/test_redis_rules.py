"""The rule that the pages give for the user of a worker in Redis is enough for it, and for no more."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
import redis

from stateward.core.errors import TransportUnreachable
from stateward.transport.connect import connect
from stateward.transport.engine import Parcel
from tests.transport.brokers import server_of

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "workers-without-a-database.md"


def test_a_worker_with_the_documented_rule_can_work_and_listen() -> None:
    (rule,) = re.findall(r"`ACL SETUSER ocr on >… (.*?)`", PAGE.read_text())
    with server_of("redis") as url:
        admin: Any = redis.Redis.from_url(url)
        work, control = "stateward.work.papers.extract.normal", "stateward.control"
        user, secret = f"u{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        admin.execute_command("ACL", "SETUSER", user, "on", f">{secret}", *rule.split())
        one = connect(url.replace("redis://", f"redis://{user}:{secret}@"), consumer="w", lease_s=9)
        try:
            connect(url, consumer="c", lease_s=9).publish(
                work, [Parcel("", b"a"), Parcel("", b"b")]
            )
            found = one.receive([work], limit=2, wait_s=1.0)
            one.extend(found)
            one.publish("stateward.results", [Parcel("", b"1"), Parcel("", b"2")])
            one.ack(found[:1])
            one.release(found[1:])
            one.bury("stateward.dead", Parcel("", b"c"))
            assert one.broadcasts(control) == []
            with pytest.raises(TransportUnreachable, match="no permissions"):
                one.receive(["stateward.work.papers.other.normal"], limit=1, wait_s=0.0)
        finally:
            one.close()
            admin.delete(work, "stateward.results", "stateward.dead")
            admin.execute_command("ACL", "DELUSER", user)
            admin.close()
