"""Where webhooks may not be sent, however the address is written and whatever a name resolves to a moment later."""

import socket
import time
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest

from stateward.engine.system import wall_clock
from stateward.http_addresses import (
    AddressRefused,
    AllowedHosts,
    Target,
    check_target,
    is_public,
    look_up,
    parse_url,
    resolve,
)
from stateward.notifications.sending import Sender
from tests.notifications.receivers import receiving
from tests.waiting import WAIT_S_MAX

NOT_PUBLIC = """
127.0.0.1 127.1.2.3 127.255.255.254 0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254
169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.2.1 192.88.99.1
192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255
:: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 ::10.0.0.1 ::ffff:0:127.0.0.1
64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b::10.0.0.1 64:ff9b:1::1 64:ff9b:1::10.0.0.1
2002:7f00:1:: 2002:7f00:0001::1 2002:a9fe:a9fe:: 2002:0a00:0001::
2001:0:4136:e378:8000:63bf:80ff:fffe 2001:0::f5ff:fffe 2001::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1 5f00::1
100::1 fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff02::1 ff0e::1 4000::1 e000::1
""".split()  # noqa: SIM905 - easier to read

PUBLIC = """
1.1.1.1 8.8.8.8 93.184.215.14 172.32.0.1 100.128.0.1 192.167.255.255 198.20.0.1 223.255.255.254
2606:4700:4700::1111 2a00:1450:4001:82a::200e ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::
""".split()  # noqa: SIM905 - easier to read

# Ways to write addresses that some reader somewhere takes for 127.0.0.1 or the metadata service.
DISGUISED = """
https://2130706433/ https://017700000001/ https://0x7f000001/ https://0x7f.1/ https://127.1/ https://0/ https://0x0/
https://localhost/ https://localhost./ https://LOCALHOST/ https://[::1]/ https://[0:0:0:0:0:0:0:1]/
https://[::ffff:127.0.0.1]/ https://[::ffff:7f00:1]/ https://2852039166/ https://0xa9fea9fe/ https://0251.0376.0251.0376/
https://169.254.169.254/latest/meta-data/ https://[fd00:ec2::254]/ https://[64:ff9b::a9fe:a9fe]/ https://127.0.0.1/
https://127.000.000.001/ https://[::]/ https://0.0.0.0/ https://10.0.0.1/ https://192.168.1.1/ https://[fe80::1]/
""".split()  # noqa: SIM905 - easier to read

MALFORMED = [
    "", "https://", "https:///x", "https://?x", "//example.com/", "example.com", "javascript:alert(1)",
    "file:///etc/passwd", "gopher://example.com/", "ftp://example.com/", "unix:/run/x.sock",
    "https://example.com\\@127.0.0.1/", "https://example.com@127.0.0.1/", "https://user:pw@example.com/",
    "https://user@example.com/", "https://example.com:0/", "https://example.com:99999/", "https://example.com:x/",
    "https://example.com/\r\nHost: evil", "https://example.com/ HTTP/1.1", "https://exam ple.com/",
    "https://example.com/#x", "https://example.com#", "https://\uff11\uff12\uff17.0.0.1/", "https://\u24dbocalhost/",
    "https://example.com/\u00e9", "https://[::1/", "https://[::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[v1.x]/",
    "https://-example.com/", "https://example_.com/", "https://.example.com/", "https://exa$mple.com/",
    "https://example.com/\x00", "https://example.com/\t", "https://" + "a" * 3000 + ".com/", "https://%31%32%37.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_public_is_known_in_every_wrapping(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_one(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("url", MALFORMED)
def test_what_readers_could_read_differently_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_target(parse_url(url), AllowedHosts())


@pytest.mark.parametrize(
    "url", ["http://example.com/", "http://93.184.215.14/", "http://example.com:443/"]
)
def test_plain_http_needs_an_allowance(url: str) -> None:
    with pytest.raises(AddressRefused, match="by https only"):
        check_target(parse_url(url), AllowedHosts())

    check_target(parse_url(url), AllowedHosts((parse_url(url).host,)))


@pytest.fixture
def canary() -> Iterator[list[int]]:
    """Every connection to this machine that is made meanwhile, at the port of the numbers."""
    seen: list[int] = []
    listeners = [socket.create_server(("127.0.0.1", 0))]
    port = listeners[0].getsockname()[1]
    seen.append(port)
    yield seen
    for listener in listeners:
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
        listener.close()


@pytest.mark.parametrize("url", DISGUISED)
def test_a_disguised_address_is_never_connected_to(url: str, canary: list[int]) -> None:
    (port,) = canary
    parts = urlsplit(url)
    there = f"https://{parts.netloc}:{port}{parts.path}"
    own = Sender(
        allowed=AllowedHosts(ports=(port,)),
        timeout_s=WAIT_S_MAX,
        now=wall_clock,
        ticks=time.monotonic,
    )

    answer = own.post(there, b"{}", {})

    assert answer.status is None
    assert "not a public address" in answer.error or "looked up" in answer.error


def test_a_name_is_looked_up_once_and_the_connection_goes_to_what_was_checked() -> None:
    """The trick of rebinding: a public address for the check, loopback for the connection."""
    asked: list[str] = []

    def changing(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["203.0.113.7"] if len(asked) > 1 else ["127.0.0.1"]

    with receiving() as receiver:
        port = receiver.url.split(":")[2].split("/")[0]
        own = Sender(
            allowed=AllowedHosts(("rebound.example.com",)),
            timeout_s=WAIT_S_MAX,
            now=wall_clock,
            ticks=time.monotonic,
            lookup=changing,
        )
        answer = own.post(f"http://rebound.example.com:{port}/", b"{}", {})

    assert asked == ["rebound.example.com"]
    assert answer.is_success
    assert answer.address == "127.0.0.1"


@pytest.mark.parametrize(
    "bad", ["127.0.0.1", "::1", "169.254.169.254", "10.1.2.3", "::ffff:10.1.2.3"]
)
@pytest.mark.parametrize("place", [0, 1])
def test_one_address_that_is_not_public_spoils_the_whole_name(bad: str, place: int) -> None:
    found = ["93.184.215.14"]
    found.insert(place, bad)
    target = parse_url("https://mixed.example.com/")

    with pytest.raises(AddressRefused, match="not a public address"):
        resolve(target, AllowedHosts(), lambda *_: found)


def test_a_name_without_an_address_is_a_failure_that_may_pass() -> None:
    target = parse_url("https://unknown.invalid/")

    def fail(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(OSError, match=r"unknown\.invalid cannot be looked up"):
        resolve(target, AllowedHosts(), fail)
    with pytest.raises(OSError, match="has no address"):
        resolve(target, AllowedHosts(), lambda *_: [])


@pytest.mark.parametrize(
    ("listed", "url", "is_allowed"),
    [
        ("127.0.0.1", "http://127.0.0.1:9000/", True),
        ("127.0.0.0/8", "http://127.9.9.9/", True),
        ("::1", "http://[::1]:80/", True),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("internal-api", "http://internal-api:8080/", True),
        ("Internal-API.", "http://internal-api/", True),
        ("internal-api", "http://internal-api.evil.com/", False),
        ("*.corp.example", "http://a.b.corp.example/", True),
        ("*.corp.example", "http://corp.example/", False),
        ("*.corp.example", "http://evilcorp.example/", False),
        ("other", "http://example.com/", False),
        ("other", "https://example.com:8443/", True),
        ("other", "https://example.com:8080/", False),
    ],
)
def test_an_allowance_is_for_the_named_host_and_no_other(
    listed: str, url: str, *, is_allowed: bool
) -> None:
    allowed, target = AllowedHosts((listed,)), parse_url(url)

    if is_allowed:
        check_target(target, allowed)
    else:
        with pytest.raises(AddressRefused):
            check_target(target, allowed)


def test_an_allowed_network_allows_the_names_that_lie_in_it_by_https() -> None:
    target = parse_url("https://files.example.com/")

    assert resolve(target, AllowedHosts(("10.0.0.0/8",)), lambda *_: ["10.0.0.5"]) == ["10.0.0.5"]


def test_a_refusal_says_what_to_do() -> None:
    with pytest.raises(AddressRefused, match=r"add 10\.0\.0\.1 to notifications\.webhook_allow"):
        check_target(parse_url("http://10.0.0.1/"), AllowedHosts())


def test_a_url_without_a_port_has_that_of_its_scheme() -> None:
    assert parse_url("https://example.com?x=1") == Target(
        scheme="https", host="example.com", port=443
    )
    assert parse_url("http://[::1]:9/") == Target(scheme="http", host="::1", port=9)


def test_the_resolver_of_the_machine_gives_plain_addresses() -> None:
    assert "127.0.0.1" in look_up("127.0.0.1", 80)
