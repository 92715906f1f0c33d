"""Signing in, what each role sees, and that no other page can act here."""

import stat
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect

from stateward.app import App
from stateward.console import console
from stateward.console.layout import local_secret
from stateward.core.model import SECOND
from stateward.server.http_server import Server
from tests import web
from tests.cli.shell import Shell
from tests.console.scene import BROKEN, Scene, contract_text, statement
from tests.server.api_client import settings_at


def sign_in(scene: Scene, page: Page, *, role: str, name: str = "anna") -> str:
    key, text = scene.app.admin.new_key(name, role=role)
    page.goto(scene.page("/login"))
    page.get_by_label("Key", exact=True).fill(text)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".user")).to_contain_text(name)
    return key.id


@pytest.mark.long
def test_a_stranger_is_led_to_the_login_and_back(locked: Scene, page: Page) -> None:
    _, text = locked.app.admin.new_key("otto", role="operator")
    page.goto(locked.page("/records?q=is:failed"))
    expect(page).to_have_url(locked.page("/login?next=%2Fconsole%2Frecords%3Fq%3Dis%3Afailed"))

    page.get_by_label("Key", exact=True).fill("sw_wrong_key")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown")
    page.get_by_label("Key", exact=True).fill(text)
    page.get_by_role("button", name="Sign in").click()

    expect(page).to_have_url(locked.page("/records?q=is:failed"))
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


@pytest.mark.long
def test_a_key_that_was_revoked_is_noticed_by_every_window(locked: Scene, page: Page) -> None:
    key_id = sign_in(locked, page, role="viewer", name="gone")
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")
    other = page.context.new_page()
    other.goto(locked.page())
    expect(other.locator("#fresh")).to_have_attribute("data-state", "live")
    # The window that has the stream for both of them stays as it is.
    page.route("**/board/live", lambda route: route.abort())

    locked.app.admin.revoke_key(key_id, actor="person:root")

    expect(other.get_by_label("Key", exact=True)).to_be_visible()


@pytest.mark.long
def test_signing_out_ends_the_session_for_good(locked: Scene, page: Page) -> None:
    sign_in(locked, page, role="viewer")
    (cookie,) = page.context.cookies()

    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_label("Key", exact=True)).to_be_visible()
    answer = web.get(
        f"{locked.url}/records", headers={"Cookie": f"{cookie['name']}={cookie['value']}"}
    )
    assert answer.status_code == 401
    assert locked.app.audit.entries()[0].verb == "sign_out"


@pytest.mark.long
def test_a_revoked_key_ends_its_sessions(locked: Scene, page: Page) -> None:
    key_id = sign_in(locked, page, role="operator")

    locked.app.keys.revoke(key_id, now=locked.app.clock())
    page.goto(locked.page("/records"))

    expect(page.get_by_label("Key", exact=True)).to_be_visible()


@pytest.mark.long
def test_a_link_signs_in_once(locked: Scene, page: Page) -> None:
    key, _ = locked.app.admin.new_key("linda", role="operator")
    now = locked.app.clock()
    locked.app.sessions.add_link("one-two-three", key_id=key.id, now=now, until=now + 60 * SECOND)

    page.goto(locked.page("/enter/one-two-three"))
    page.get_by_role("button", name="Sign in to the console").click()
    expect(page.locator(".user")).to_contain_text("linda")

    page.context.clear_cookies()
    page.goto(locked.page("/enter/one-two-three"))
    page.get_by_role("button", name="Sign in to the console").click()
    expect(page.get_by_role("alert")).to_contain_text("used already")


def test_the_command_line_makes_such_links(locked: Scene) -> None:
    key, _ = locked.app.admin.new_key("lisa", role="viewer")
    shell = Shell(locked.settings.data_path)

    made = shell.json("key", "link", key.id, "--minutes", "5")
    unknown = shell("key", "link", "nobody")

    token = made["url"].rpartition("/")[2]
    answer = web.post(locked.page(f"/enter/{token}"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert "stateward_session=" in answer.headers["set-cookie"]
    assert unknown.exit_code == 3
    assert "there is no key" in unknown.stderr


def test_a_link_whose_time_is_up_opens_nothing(locked: Scene) -> None:
    key, _ = locked.app.admin.new_key("late", role="admin")
    now = locked.app.clock()
    locked.app.sessions.add_link("too-late", key_id=key.id, now=now - 2, until=now - 1)

    answer = web.post(locked.page("/enter/too-late"))
    wrong = [web.post(locked.page("/login"), data={"key": "sw_late_no"}) for _ in range(2)]

    assert [each.status_code for each in (answer, *wrong)] == [401] * 3
    assert "set-cookie" not in answer.headers
    noted = [each for each in locked.app.audit.entries() if each.verb == "sign_in_failed"]
    assert [each.detail.get("by", each.detail.get("key_id")) for each in noted[:3]] == [
        "late", "late", "link",
    ]  # fmt: skip
    assert all(each.detail["address"] for each in noted)


@pytest.mark.long
def test_who_may_only_read_sees_nothing_to_press(locked: Scene, page: Page) -> None:
    record_id = locked.submit(BROKEN, name="seen.csv")
    locked.rested(record_id)
    sign_in(locked, page, role="viewer")

    page.goto(locked.page())
    expect(page.locator("[data-drop]")).to_have_count(0)
    page.goto(locked.page(f"/records/{record_id}"))
    expect(page.locator("#why")).to_be_visible()
    expect(page.locator("#actions")).to_have_count(0)
    page.goto(locked.page("/records"))
    expect(page.locator("#act-on")).to_have_count(0)
    page.goto(locked.page("/errors"))
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)


def test_who_may_not_correct_is_told_no_key_for_it(locked: Scene) -> None:
    text = "date,amount\n01/02/2026,-12.50\n03/04/2026,20.00\n"
    record_id = locked.submit(text.encode(), name="of-the-reviewer.csv")
    locked.rested(record_id)
    keys: dict[str, str] = {}
    for role in ("reviewer", "operator"):
        _, key = locked.app.admin.new_key(f"{role}-of-flags", role=role)
        shown = httpx2.get(
            locked.page(f"/flags/{record_id}"), headers={"Authorization": f"Bearer {key}"}
        )
        assert shown.status_code == 200
        keys[role] = shown.text

    assert ['data-shortcut="e"' in keys[role] for role in ("reviewer", "operator")] == [False, True]
    assert 'data-shortcut="a"' in keys["reviewer"]


@pytest.mark.parametrize(
    "path", ["/records/bulk", "/records/bulk/begin", "/records/x/act/retry", "/errors/acknowledge"]
)
def test_what_a_page_hides_the_service_refuses_too(locked: Scene, path: str) -> None:
    _, text = locked.app.admin.new_key("viewer", role="viewer")

    answer = web.post(locked.page(path), headers={"Authorization": f"Bearer {text}"})

    assert answer.status_code == 403


@pytest.mark.long
def test_a_key_for_one_machine_sees_no_other(locked: Scene, page: Page) -> None:
    record_id = locked.submit(statement(950), name="not-yours.csv")
    _, text = locked.app.admin.new_key("paula", role="operator", pipelines=["literature"])
    page.goto(locked.page("/login"))
    page.get_by_label("Key", exact=True).fill(text)
    page.get_by_role("button", name="Sign in").click()

    expect(page.locator("#card-upload")).to_have_count(0)
    answer = page.goto(locked.page(f"/records/{record_id}"))
    assert answer is not None
    assert answer.status == 404


@pytest.mark.long
def test_a_cookie_alone_changes_nothing(locked: Scene, page: Page) -> None:
    sign_in(locked, page, role="admin")
    (cookie,) = page.context.cookies()
    headers = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    record_id = locked.submit(BROKEN + b"csrf", name="csrf.csv")
    locked.rested(record_id)

    read = web.get(f"{locked.url}/records/{record_id}", headers=headers)
    by_api = web.post(f"{locked.url}/records/{record_id}/retry", headers=headers)
    by_page = web.post(locked.page(f"/records/{record_id}/act/retry"), headers=headers)

    assert (read.status_code, by_api.status_code, by_page.status_code) == (200, 403, 403)


def test_without_keys_a_page_of_another_site_changes_nothing(scene: Scene) -> None:
    record_id = scene.submit(BROKEN + b"foreign", name="foreign.csv")
    scene.rested(record_id)
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}

    with_origin = web.post(scene.page(f"/records/{record_id}/act/retry"), headers=foreign)
    without_token = web.post(scene.page(f"/records/{record_id}/act/retry"))

    assert (with_origin.status_code, without_token.status_code) == (403, 403)


def test_the_audit_log_is_shown_to_administrators_only(locked: Scene) -> None:
    for role, is_shown in (("admin", True), ("operator", False), ("viewer", False)):
        _, text = locked.app.admin.new_key(f"asks-{role}", role=role)
        answer = web.get(locked.page("/ledger"), headers={"Authorization": f"Bearer {text}"})

        assert answer.status_code == 200
        assert ("Other actions" in answer.text) == is_shown


def test_a_login_never_redirects_to_another_site(locked: Scene) -> None:
    _, text = locked.app.admin.new_key("careful", role="viewer")

    answer = web.post(locked.page("/login"), data={"key": text, "next": "//evil.example/console/"})

    assert answer.headers["location"] == "/console"


def test_attempts_to_guess_keys_are_limited(tmp_path: Path) -> None:
    settings = settings_at(tmp_path)
    with Server(settings, open_app=lambda: App(settings), extra_routes=console()) as server:
        address = f"{server.url}/console/login"
        with httpx2.Client() as client:
            data = {"key": "sw_no_no"}
            answers = [client.post(address, data=data).status_code for _ in range(40)]

    assert answers[0] == 401
    assert answers[-1] == 429


@pytest.mark.long
def test_a_page_that_stays_open_leads_to_the_login_when_its_session_ends(
    locked: Scene, page: Page
) -> None:
    key_id = sign_in(locked, page, role="operator", name="olga")
    page.goto(locked.page())
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")

    locked.app.keys.revoke(key_id, now=locked.app.clock())
    locked.submit(statement(960), name="after-the-end.csv")

    expect(page.get_by_label("Key", exact=True)).to_be_visible()


@pytest.mark.long
def test_what_a_reviewer_typed_is_there_again_after_the_session_has_ended(
    locked: Scene, page: Page
) -> None:
    _, text = locked.app.admin.new_key("rita", role="reviewer")
    record_id = locked.submit(contract_text("61,70"), name="typed.txt", machine="contract")
    assert locked.rested(record_id) == "review_required"
    page.goto(locked.page(f"/review/{record_id}"))
    page.get_by_label("Key", exact=True).fill(text)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)
    page.locator(".field[data-field=monthly_rate-0] input").fill("77.10")
    page.locator("#notes").fill("as on paper")

    page.context.clear_cookies()
    page.keyboard.press("Control+Enter")

    page.get_by_label("Key", exact=True).fill(text)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(locked.page(f"/review/{record_id}"))
    rate = page.locator(".field[data-field=monthly_rate-0] input")
    expect(rate).to_have_value("77.10")
    expect(page.locator("#notes")).to_have_value("as on paper")
    expect(page.locator("#correct")).to_be_enabled()


def test_open_pages_work_after_a_restart_of_the_service(tmp_path: Path) -> None:
    first, second = local_secret(tmp_path), local_secret(tmp_path)

    assert first == second
    assert stat.S_IMODE((tmp_path / "console.key").stat().st_mode) == 0o600
    assert local_secret(tmp_path / "missing") != local_secret(tmp_path / "missing")


def test_the_page_of_the_api_is_refused_with_a_page(locked: Scene) -> None:
    browser = {"Accept": "text/html,*/*;q=0.8"}
    _, text = locked.app.admin.new_key("looks", role="viewer")

    refused = web.get(f"{locked.url}/docs", headers=browser)
    forbidden = web.get(
        f"{locked.url}/docs", headers={**browser, "Authorization": f"Bearer {text}"}
    )
    to_program = web.get(f"{locked.url}/docs")

    assert (refused.status_code, "Basic" in refused.headers["www-authenticate"]) == (401, True)
    assert refused.headers["content-type"].startswith("text/html")
    assert "<h1>No valid key</h1>" in refused.text
    assert (forbidden.status_code, "<h1>Forbidden</h1>" in forbidden.text) == (403, True)
    assert to_program.headers["content-type"] == "application/problem+json"
