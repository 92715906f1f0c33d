"""What pages load: ours, or vendored as it was published; nothing inline, nothing from elsewhere."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

import stateward.console
from stateward.console.content import as_text, shown_as
from stateward.console.layout import duration_text, environment, size
from tests import web
from tests.console.scene import Scene

FOLDER = Path(stateward.console.__file__).parent
VENDOR = FOLDER / "static" / "vendor"
SUMS = VENDOR / "SHA256SUMS"
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))
PAGES = ("", "/records", "/errors", "/login")
INPUT = re.compile(r"<input\b(?:\{\{.*?\}\}|\{%.*?%\}|[^>{])*>")
SENT = re.compile(r'\b(?:value|data-found)="((?:\{\{.*?\}\}|[^"{])*)"')


def listed() -> dict[str, str]:
    lines = (line.split("  ", 1) for line in SUMS.read_text().splitlines())
    return {name: digest for digest, name in lines}


def test_what_others_wrote_is_as_they_published_it() -> None:
    found = {
        str(path.relative_to(VENDOR)): sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path != SUMS
    }

    assert found == listed()


def test_each_vendored_project_comes_with_its_licence() -> None:
    licences = [name for name in listed() if "LICENSE" in name]

    assert len(licences) >= 5
    assert all((VENDOR / name).stat().st_size > 200 for name in licences)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_holds_script_or_style_of_its_own(template: Path) -> None:
    text = template.read_text()

    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    assert "|safe" not in text.replace(" ", "")


@pytest.mark.parametrize("path", PAGES)
def test_every_page_forbids_what_it_does_not_need(scene: Scene, path: str) -> None:
    answer = web.get(scene.page(path))

    policy = answer.headers["content-security-policy"]
    assert answer.status_code == 200
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_static_files_may_be_kept_for_ever_because_their_address_changes(scene: Scene) -> None:
    text = web.get(scene.page()).text
    (address,) = re.findall(r'href="([^"]+/console\.css)"', text)

    answer = web.get(scene.url + address)
    other = web.get(scene.url + re.sub(r"/static/[0-9a-f]+/", "/static/0123/", address))

    assert "immutable" in answer.headers["cache-control"]
    assert other.headers["cache-control"] == "no-cache"
    assert web.get(f"{scene.page()}/static/x/../../pages.py").status_code == 404


def test_the_address_of_the_service_leads_to_the_console(scene: Scene) -> None:
    answer = web.get(scene.url + "/")

    assert (answer.status_code, answer.headers["location"]) == (303, "/console")


def test_pages_are_no_part_of_the_api(scene: Scene) -> None:
    paths = web.get(f"{scene.url}/openapi.json").json()["paths"]

    assert paths
    assert not [path for path in paths if path.startswith("/console")]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0004, "0 ms"), (0.34, "340 ms"), (4.25, "4.2 s"), (42.4, "42 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"),
        (273_600, "3 d 4 h"),
    ],
)  # fmt: skip
def test_spans_are_said_in_two_units_at_most(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


def test_sizes_are_said_as_people_say_them() -> None:
    assert [size(each) for each in (12, 2_867, 1_500_000)] == ["12 B", "2.8 KiB", "1.4 MiB"]


def test_bytes_are_shown_as_what_they_are(tmp_path: Path) -> None:
    samples = {
        b"%PDF-1.7\n": "pdf",
        b"\x89PNG\r\n\x1a\n" + bytes(9): "image",
        b"<svg onload=alert(1)>": "text",
        b"a;b\n\xe4;\xfc\n": "text",
        bytes(range(256)) * 4: "other",
        b"RIFF1234WEBPVP8 ": "image",
    }
    path = tmp_path / "document"

    found = {}
    for content in samples:
        path.write_bytes(content)
        found[content] = shown_as(path).form

    assert found == samples


def test_text_that_is_cut_in_a_character_is_still_text() -> None:
    assert as_text("größe".encode()[:3]) == "gr"
    assert as_text("größe".encode("utf-16")) == "größe"


def test_a_name_cannot_show_another_ending_than_it_has() -> None:
    template = environment().from_string("{{ name }} {{ text | verbatim }}")

    shown = template.render(name="invoice\u202efdp.exe", text="as it\u202e is")

    # A viewer counts the characters of a document, so there they stay.
    assert shown == "invoice\\u202efdp.exe as it\u202e is"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_what_a_form_sends_back_is_what_is_stored(path: Path) -> None:
    """A mark that is shown as \\u2067 in a field would be stored as six characters when another one is corrected."""
    inputs = INPUT.findall(path.read_text())

    changed = [
        each
        for tag in inputs
        if 'type="number"' not in tag
        for value in SENT.findall(tag)
        for each in re.findall(r"\{\{.*?\}\}", value)
        if not each.endswith("| verbatim }}")
    ]

    assert changed == []
