"""Who may do what: the whole matrix of routes and roles, scopes, expiry, limits, and that no secret is kept or said."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.core.errors import InvalidRequest, UnknownName
from stateward.server.asgi import describe_api
from stateward.server.executors import Call, Condition, Write
from stateward.server.listening import check_address, is_loopback, listening
from stateward.server.pages import operations
from stateward.server.problems import Refusal
from stateward.server.service import CALLERS_MAX, Rates
from stateward.storage.keys import RIGHTS, ROLES, key_parts
from tests.server.api_client import ApiClient, problem, serving, settings_at, statement
from tests.server.raw_http import ask

PUBLIC = {"/healthz", "/readyz"}


def routes() -> list[tuple[str, str, str]]:
    found = [
        (method, path, str(each["x-right"])) for path, method, each in operations(describe_api())
    ]
    return [*found, ("GET", "/openapi.json", "observe"), ("GET", "/docs", "observe")]


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - a fixture that yields
    """A service with a key of each role, and its clients by role; '' has none."""
    with serving(settings_at(tmp_path_factory.mktemp("keyed"), wait_seconds_max=1.0)) as api:
        clients = {role: api.with_key(name=role, role=role) for role in ROLES}
        yield {"": api, **clients}


def test_only_what_is_for_everybody_can_be_asked_without_a_right() -> None:
    assert {path for _, path, right in routes() if right == "anybody"} == PUBLIC


# One test for all routes: to have one for each, every process of a run would describe the whole API to collect them.
def test_each_route_lets_in_the_roles_that_have_its_right(keyed: dict[str, ApiClient]) -> None:
    wrong = {}
    for method, path, right in routes():
        may = {
            role: right == "anybody" or (role in ROLES and right in RIGHTS[role]) for role in keyed
        }
        let_in = {role: is_let_in(client, method, path) for role, client in keyed.items()}
        if let_in != may:
            wrong[f"{method} {path}"] = let_in

    assert wrong == {}
    assert set(keyed) == {"", *ROLES}


def is_let_in(client: ApiClient, method: str, path: str) -> bool:
    if path == "/events/stream":
        path += "?machine=nothing"  # a stream that begins would never end
    address = path.replace("{", "").replace("}", "")
    return client.http.request(method, address).status_code not in (401, 403)


def test_a_refusal_names_the_roles_that_may(keyed: dict[str, ApiClient]) -> None:
    refused = keyed["viewer"].http.get("/webhooks").json()

    assert refused["detail"].endswith("(observe); it needs the role operator or admin")


@pytest.mark.parametrize(
    "path",
    [
        "/healthz/x",
        "/x/healthz",
        "//healthz",
        "/healthz/",
        "/%2e/healthz",
        "/healthz;x",
        "/uploads/healthz",
        "/readyz/..",
    ],
)
def test_only_the_exact_paths_are_for_everybody(keyed: dict[str, ApiClient], path: str) -> None:
    # By hand: a client makes another path of some of these.
    said = ask(
        keyed[""], f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    )

    assert said.split(b" ", 2)[1] in (b"401", b"404")


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer sw_x_y",
        "Bearer sw__",
        "Basic c3dfeF95",
        "nonsense",
        "Bearer " + "x" * 1000,
        "Bearer sw_ünïcode_x",
    ],
)
def test_what_is_no_key_opens_nothing(keyed: dict[str, ApiClient], header: str) -> None:
    answer = keyed[""].get("/uploads", headers={"Authorization": header.encode()})

    assert (answer.status_code, problem(answer)) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_wrong_secret_opens_nothing(keyed: dict[str, ApiClient]) -> None:
    text = keyed["admin"].http.headers["authorization"].removeprefix("Bearer ")
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")

    assert (
        keyed[""].get("/uploads", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401
    )
    assert keyed[""].get("/uploads", headers={"Authorization": f"Bearer {text}"}).status_code == 200


def test_a_browser_can_show_its_key_where_only_eyes_look(keyed: dict[str, ApiClient]) -> None:
    text = keyed["operator"].http.headers["authorization"].removeprefix("Bearer ")

    seen = keyed[""].http.get("/docs", auth=("", text))
    not_taken = keyed[""].http.get("/uploads", auth=("", text))

    assert seen.status_code == 200
    assert not_taken.status_code == 401
    assert "Basic" in keyed[""].get("/docs").headers["www-authenticate"]


def test_revoking_and_expiry_hold_from_the_next_request_on(api: ApiClient) -> None:
    anna = api.with_key(name="anna", role="viewer")
    brief = api.with_key(name="brief", role="viewer", days=1e-11)
    later = api.with_key(name="later", role="viewer", days=1)
    assert (anna.get("/uploads").status_code, later.get("/uploads").status_code) == (200, 200)

    (key,) = [each for each in api.app.keys.all() if each.name == "anna"]
    assert api.app.keys.revoke(key.id, now=api.app.clock())

    assert anna.get("/uploads").status_code == 401
    assert brief.get("/uploads").status_code == 401
    assert api.get("/uploads").status_code == 401  # to take away every key opens nothing
    assert not api.app.keys.revoke(key.id, now=api.app.clock())
    with pytest.raises(UnknownName, match="there is no key 'nothing'"):
        api.app.keys.revoke("nothing", now=api.app.clock())


def counted_reads(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    asked: list[object] = []
    ask = api.service.quick.ask

    async def counted(act: Any) -> Any:  # noqa: ANN401 - whatever is asked
        asked.append(act)
        return await ask(act)

    monkeypatch.setattr(api.service.quick, "ask", counted)
    return asked


@pytest.mark.parametrize("has_key", [False, True])
def test_who_was_let_in_before_is_asked_for_again_where_a_document_is_written(
    any_api: ApiClient, monkeypatch: pytest.MonkeyPatch, *, has_key: bool
) -> None:
    client = any_api.with_key(name="hands", role="operator") if has_key else any_api
    client.sent(statement(1))
    asked = counted_reads(any_api, monkeypatch)
    client.sent(statement(2))
    asked_of_reader = len(asked)
    if has_key:
        any_api.app.keys.revoke(any_api.app.keys.all()[0].id, now=any_api.app.clock())
    else:
        any_api.with_key(name="first", role="viewer")

    refused = [client.send(statement(3)), client.send(statement(4), source_type="nothing")]

    assert asked_of_reader == 0
    assert [problem(each) for each in refused] == ["unauthenticated"] * 2
    assert sum(any_api.app.store.queries.counts().values()) == 2
    assert any_api.service.known_keys == {}


def test_a_wrong_form_of_who_is_not_let_in_any_more_is_told_nothing_of_the_service(
    api: ApiClient,
) -> None:
    client = api.with_key(name="hands", role="operator")
    client.sent(statement(1))
    api.app.keys.revoke(api.app.keys.all()[0].id, now=api.app.clock())

    refused = client.send(statement(2), source_type="nothing")

    assert problem(refused) == "unauthenticated"
    assert "bank_csv" not in refused.text


@pytest.mark.parametrize("name", ["x" * 256, "two words"])
def test_a_revoked_key_is_told_nothing_of_a_request_that_is_wrong(
    api: ApiClient, name: str
) -> None:
    client = api.with_key(name="hands", role="operator")
    client.sent(statement(1))
    named = {"Idempotency-Key": name}
    wrong = client.send(statement(2), headers=named)
    api.app.keys.revoke(api.app.keys.all()[0].id, now=api.app.clock())

    refused = client.send(statement(2), headers=named)

    assert [problem(wrong), problem(refused)] == ["invalid-request", "unauthenticated"]


def test_what_a_query_may_have_is_told_only_to_who_may_ask(api: ApiClient) -> None:
    viewer = api.with_key(name="eyes", role="viewer")
    wrong = {"Authorization": "Bearer sw_nobodysid_wrong"}

    for query in ("nonsense=1", "limit=some", "limit=1&limit=2"):
        assert problem(api.http.get(f"/audit?{query}")) == "unauthenticated"
        assert problem(api.http.get(f"/audit?{query}", headers=wrong)) == "unauthenticated"
        assert problem(viewer.get(f"/audit?{query}")) == "forbidden"
        assert problem(viewer.get(f"/records?{query}")) == "invalid-request"
    assert problem(api.http.get("/healthz?nonsense=1")) == "invalid-request"


def test_a_revoked_key_without_the_right_to_send_is_told_nothing_of_its_role(
    api: ApiClient,
) -> None:
    client = api.with_key(name="eyes", role="viewer")
    client.get("/uploads")
    api.service._used.clear()
    allowed = client.send(statement(1))
    used = set(api.service._used)
    api.service._used.clear()
    api.app.keys.revoke(api.app.keys.all()[0].id, now=api.app.clock())

    refused = client.send(statement(1))

    assert [problem(allowed), problem(refused)] == ["forbidden", "unauthenticated"]
    assert "viewer" not in refused.text
    assert (len(used), api.service._used) == (1, set())


def test_a_key_that_was_revoked_before_an_upload_is_not_noted_as_used(api: ApiClient) -> None:
    client = api.with_key(name="hands", role="operator")
    client.sent(statement(1))
    used = set(api.service._used)
    api.service._used.clear()
    api.app.keys.revoke(api.app.keys.all()[0].id, now=api.app.clock())

    client.send(statement(2))

    assert (len(used), api.service._used) == (1, set())


def test_a_refused_caller_takes_no_other_upload_of_the_same_commit_along(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(app: object) -> Any:  # noqa: ANN401 - what raises
        def check() -> None:
            raise Refusal("unauthenticated", "no")

        return check

    def write(condition: Condition | None) -> Write:
        return Write(
            intent=Call(lambda app: app.clock()), answer=lambda _, done: done, condition=condition
        )

    group = [write(None), write(Condition("gone", refuse))]
    told: list[Any] = []
    monkeypatch.setattr(api.service.writer, "_tell", told.extend)
    api.service.writer._commit_all(api.app, group)

    assert [type(error) for _, _, error in told] == [type(None), Refusal]


@pytest.mark.parametrize("has_key", [False, True])
def test_who_asks_and_what_is_asked_for_are_read_in_one_go(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, *, has_key: bool
) -> None:
    upload = api.sent()
    client = api.with_key(name="eyes", role="viewer") if has_key else api
    asked = counted_reads(api, monkeypatch)
    found = client.get(f"/uploads/{upload}")

    assert found.json()["upload_id"] == upload
    assert len(asked) == 1


def test_a_key_sees_its_own_pipelines_and_no_others(api: ApiClient) -> None:
    everything = api.with_key(name="all", role="operator")
    uploads = api.with_key(name="uploads", role="operator", pipelines=["upload"])
    contracts = api.with_key(name="contracts", role="operator", pipelines=["contract"])
    upload_id = everything.sent()
    contract_id = everything.send(statement(1), path="/records", pipeline="contract").json()[
        "record"
    ]["id"]

    for path in ("", "/history", "/items", "/logs/parse", "/explain"):
        assert uploads.get(f"/records/{upload_id}{path}").status_code == 200
        foreign = contracts.get(f"/records/{upload_id}{path}")
        unknown = contracts.get(f"/records/UL_nothing{path}")
        assert (foreign.status_code, problem(foreign)) == (404, "not-found")
        assert foreign.json()["detail"].replace(upload_id, "X") == unknown.json()["detail"].replace(
            "UL_nothing", "X"
        )
    assert contracts.post(f"/records/{upload_id}/cancel").status_code == 404
    assert contracts.get(f"/uploads/{upload_id}").status_code == 404
    assert contracts.get("/uploads").json()["items"] == []
    assert [each["id"] for each in contracts.get("/records").json()["items"]] == [contract_id]
    assert [each["id"] for each in contracts.get("/records?q=machine:upload").json()["items"]] == []
    assert {each["machine"] for each in contracts.get("/counts").json()["items"]} == {"contract"}
    assert [each["name"] for each in contracts.get("/machines").json()["items"]] == ["contract"]
    assert contracts.get("/machines/upload").status_code == 404
    assert contracts.send(statement(1), source_type="auto").status_code == 422
    refused = contracts.post("/batches", json={"action": "cancel", "ids": [upload_id]})
    assert refused.status_code == 404
    swept = contracts.post(
        "/batches", json={"action": "cancel", "query": "machine:upload", "dry_run": True}
    ).json()
    assert swept["matched"] == 0
    assert everything.get(f"/records/{upload_id}").json()["version"] == 0


def test_bulk_actions_of_others_are_not_seen(api: ApiClient) -> None:
    everything = api.with_key(name="all", role="admin")
    contracts = api.with_key(name="contracts", role="operator", pipelines=["contract"])
    everything.sent()
    batch = everything.post("/batches", json={"action": "cancel", "query": "machine:upload"}).json()

    assert contracts.get(f"/batches/{batch['id']}").status_code == 404
    assert contracts.post(f"/batches/{batch['id']}/abort").status_code == 404
    assert contracts.get("/batches").json()["items"] == []
    assert everything.get(f"/batches/{batch['id']}").status_code == 200

    # The beginning of an id is enough, for who may see what it is of.
    hook = everything.post(
        "/webhooks", json={"url": "https://example.org/a", "events": ["upload.normalized"]}
    ).json()
    key = everything.get("/keys").json()["items"][1]
    for path in (f"/batches/{batch['id'][:20]}", f"/webhooks/{hook['id'][:9]}"):
        assert everything.get(path).json()["id"] in (batch["id"], hook["id"])
        assert contracts.get(path).status_code == 404
    revoked = everything.http.delete(f"/keys/{key['id'][:6]}").json()
    assert revoked == {"id": key["id"], "was_open": True}


def test_a_rate_that_is_used_up_says_when_to_come_back(api: ApiClient) -> None:
    slow = api.with_key(name="slow", role="viewer", rate_per_minute=3)
    quick = api.with_key(name="quick", role="viewer")

    answers = [slow.get("/uploads") for _ in range(4)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert problem(answers[3]) == "too-many-requests"
    assert 1 <= int(answers[3].headers["retry-after"]) <= 21
    assert quick.get("/uploads").status_code == 200


def test_a_key_may_have_a_size_of_its_own(api: ApiClient) -> None:
    small = api.with_key(name="small", role="submitter", upload_bytes_max=50)

    answer = small.send(statement(1))

    assert (answer.status_code, problem(answer)) == (413, "too-large")
    assert answer.json()["limit"] == 50
    assert small.send(b"a;b\n1;2\n").status_code == 201


def test_no_secret_is_kept_or_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(settings_at(tmp_path / "data")) as api:
        anna = api.with_key(name="anna", role="operator")
        text = anna.http.headers["authorization"].removeprefix("Bearer ")
        parts = key_parts(text)
        assert parts is not None
        anna.sent()
        said = [
            api.get("/uploads", headers={"Authorization": f"Bearer {text}x"}).text,
            anna.get("/nowhere").text,
            anna.get("/uploads?q=state:x").text,
        ]
    files = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]

    assert files
    assert not any(parts[1].encode() in content for content in files)
    assert not any(parts[1] in each for each in said)
    heard = capfd.readouterr()
    assert parts[1] not in heard.out + heard.err
    assert len(parts[1]) == 52  # 256 bits, five a character


def test_when_a_key_was_used_is_known(tmp_path: Path) -> None:
    settings = settings_at(tmp_path / "data")
    with serving(settings) as api:
        anna = api.with_key(name="anna", role="viewer")
        api.with_key(name="bert", role="viewer")
        anna.get("/uploads")
    with serving(settings) as api:
        used = {each.name: each.used_at is not None for each in api.app.keys.all()}

    assert used == {"anna": True, "bert": False}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8420"}, 421),
        ({"Host": "localhost"}, 200),
        ({"Host": "127.0.0.1:1"}, 200),
        ({"Host": "[::1]:8420"}, 200),
        ({"Host": "stateward.example"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_a_page_of_the_web_is_not_let_in_at_loopback(
    named: ApiClient, headers: dict[str, str], status: int
) -> None:
    answer = named.get("/uploads", headers=headers)

    assert answer.status_code == status


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - a fixture that yields
    with serving(
        settings_at(tmp_path_factory.mktemp("named"), hosts=("stateward.example",))
    ) as api:
        yield api


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "::", "192.0.2.1"])  # noqa: S104
@pytest.mark.parametrize(("has_key", "tls"), list(product([False, True], ["none", "own", "proxy"])))
def test_no_unsafe_start(tmp_path: Path, host: str, *, has_key: bool, tls: str) -> None:
    settings = settings_at(tmp_path)
    settings = replace(
        settings,
        api=replace(
            settings.api,
            host=host,
            tls_certificate="cert.pem" if tls == "own" else None,
            tls_key="key.pem" if tls == "own" else None,
            behind_tls_proxy=tls == "proxy",
        ),
    )
    # A proxy at the same machine lets others in where loopback alone would not.
    is_safe = (is_loopback(host) and (has_key or tls != "proxy")) or (has_key and tls != "none")

    if is_safe:
        check_address(settings, has_key=has_key)
    else:
        with pytest.raises(InvalidRequest, match=r"stateward key create|api\.behind_tls_proxy"):
            check_address(settings, has_key=has_key)


def test_a_certificate_that_cannot_be_read_is_refused_before_anything_listens(
    tmp_path: Path,
) -> None:
    settings = settings_at(tmp_path)
    own = replace(settings.api, tls_certificate="no.pem", tls_key="no.key")

    with pytest.raises(InvalidRequest, match=r"certificate no\.pem .*No such file"):
        listening(replace(settings, api=own))


@pytest.mark.parametrize(
    ("name", "role", "pipelines"),
    [
        ("", "viewer", ()),
        ("a\nb", "viewer", ()),
        ("anna", "king", ()),
        ("anna", "viewer", ("nothing",)),
    ],
)
def test_a_key_that_cannot_be_made_is_refused(
    shared: ApiClient, name: str, role: str, pipelines: tuple[str, ...]
) -> None:
    with pytest.raises((InvalidRequest, UnknownName)):
        shared.app.admin.new_key(name, role=role, pipelines=pipelines)

    assert shared.app.keys.all() == []


def test_rates_of_callers_who_went_quiet_are_forgotten() -> None:
    now = 0.0
    rates = Rates(60, burst=1, ticks=lambda: now)
    for number in range(CALLERS_MAX):
        rates.take(f"caller {number}")

    now = 61.0
    waits = [rates.take("another"), rates.take("another")]

    assert waits == [0.0, 1.0]
    assert len(rates._left) == 1
