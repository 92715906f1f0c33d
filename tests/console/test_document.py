"""The document beside the result, for a pipeline that the console knows nothing of: marks, derived files, pictures."""

import json
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from stateward.console.content import Content, Form, packed_files
from stateward.console.document import ShownFile
from stateward.core.model import Json
from stateward.definition.display import Where
from stateward.settings import Settings
from tests.archives import zipped
from tests.console.scene import BROKEN, Scene, contract_pdf, contract_text, staged

GALLERY = Path(__file__).with_name("gallery.py")


def png(width: int, height: int) -> bytes:
    """A white picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\x00" + b"\xff" * width for _ in range(height)))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A service with a stranger's pipeline."""
    folder = tmp_path_factory.mktemp("gallery")
    with staged(
        folder, settle=lambda settings: replace(settings, pipelines=(str(GALLERY),))
    ) as found:
        yield found


def shown(scene: Scene, content: bytes, *places: Json, name: str = "a.bin") -> str:
    """The id of a record whose items are at these places."""
    record_id = scene.submit(content, name=name, machine="gallery", places=json.dumps(places))
    assert scene.rested(record_id) == "asked"
    return record_id


@pytest.mark.long
def test_a_picture_is_shown_beside_its_items_and_boxes_are_marked_in_pixels(
    gallery: Scene, page: Page
) -> None:
    record_id = shown(gallery, png(400, 200), {"box": [100, 50, 200, 100]}, {"line": 9})
    page.goto(gallery.page(f"/records/{record_id}"))

    page.locator("#items [data-mark=row-1]").click()

    mark = page.locator("#document .mark[data-field=row-1]")
    expect(mark).to_have_class("mark on")
    expect(mark).to_have_attribute("style", "left: 25%; top: 25%; width: 25%; height: 25%;")
    expect(page.locator("#items tr.on")).to_have_count(1)
    document, made = page.locator("#document").bounding_box(), page.locator("#made").bounding_box()
    assert document is not None
    assert made is not None
    assert document["x"] + document["width"] <= made["x"]
    assert abs(document["y"] - made["y"]) < 2


@pytest.mark.long
def test_characters_lines_and_rows_of_a_text_are_marked(gallery: Scene, page: Page) -> None:
    text = 'a 🙂 b\r\n"two\nlines",2\r\nlast'
    record_id = shown(
        gallery, text.encode(), {"start": 4, "end": 5}, {"row": 2}, {"line": 4}, name="rows.csv"
    )
    page.goto(gallery.page(f"/records/{record_id}"))
    expect(page.locator(".spot")).to_have_count(3)

    found = [
        page.locator(f".spot[data-field=row-{number}]").evaluate("(each) => each.textContent")
        for number in (1, 2, 3)
    ]

    assert found == ["b", '"two\nlines",2', "last"]
    page.locator(".spot[data-field=row-2]").click()
    expect(page.locator("#items tr.on")).to_contain_text("2")


@pytest.mark.long
def test_values_of_one_line_share_its_mark(gallery: Scene, page: Page) -> None:
    record_id = shown(
        gallery, b"one line\nanother", {"line": 1}, {"line": 1}, {"start": 4, "end": 8}
    )
    page.goto(gallery.page(f"/records/{record_id}"))
    expect(page.locator(".spot")).to_have_count(1)

    page.locator("#items [data-mark=row-3]").click()

    expect(page.locator(".spot.on")).to_have_text("one line")


def test_a_place_is_told_with_and_without_its_file() -> None:
    inside = Where(file="ocr/searchable.pdf", page=3, line=12)

    assert (inside.spot, inside.text) == ("page 3, line 12", "ocr/searchable.pdf, page 3, line 12")
    assert (Where(file="a/b.png").spot, Where(file="a/b.png").text) == ("", "a/b.png")


@pytest.mark.long
def test_a_place_in_a_derived_file_opens_that_file(gallery: Scene, page: Page) -> None:
    record_id = shown(gallery, b"plain", {"file": "look/notes.txt", "line": 2}, {"line": 1})
    page.goto(gallery.page(f"/records/{record_id}"))
    expect(page.locator("#document-text .spot")).to_have_text("plain")
    place = page.locator("#items [data-mark=row-1]")
    expect(place).to_have_text("line 2")
    expect(place).to_have_attribute("title", "look/notes.txt, line 2")

    place.click()

    expect(page.locator(".spot.on")).to_have_text("second")
    expect(page.locator("[data-viewer]")).to_have_attribute("data-file", "look/notes.txt")
    page.locator("#items [data-mark=row-2]").click()
    expect(page.locator("#document-text .spot.on")).to_have_text("plain")


@pytest.mark.long
def test_derived_pictures_are_shown_and_other_files_are_linked(gallery: Scene, page: Page) -> None:
    record_id = shown(gallery, b"\x00\x01\x02 unknown", {"line": 1})
    page.goto(gallery.page(f"/records/{record_id}"))

    expect(page.locator(".derived img")).to_have_count(1)
    expect(page.locator("#items td img")).to_have_count(1)
    expect(page.locator("#facts img")).to_have_count(1)
    expect(page.locator("[data-viewer]")).to_contain_text("This cannot be shown here")
    page.locator("[data-derived='look/crop.svg'] button").click()
    picture = page.locator("[data-viewer] img")
    expect(picture).to_be_visible()
    assert picture.evaluate("(each) => each.decode().then(() => each.naturalWidth)") == 20
    with page.expect_download() as saved:
        page.locator("[data-derived='look/bundle.zip'] a").click()
    assert saved.value.path().read_bytes() == b"PK"


@pytest.mark.long
def test_a_link_from_elsewhere_leads_to_a_place(gallery: Scene, page: Page) -> None:
    record_id = shown(gallery, b"one\ntwo\nthree", {"line": 1})

    page.goto(gallery.page(f'/records/{record_id}#place={{"start":4,"end":7}}'))

    expect(page.locator(".spot.on")).to_have_text("two")


@pytest.mark.long
def test_rows_are_reviewed_beside_the_document(gallery: Scene, page: Page) -> None:
    record_id = shown(gallery, b"one\ntwo\nthree!", {"line": 2})
    page.goto(gallery.page(f"/review/{record_id}"))
    expect(page.locator("#checked tbody tr")).to_have_count(1)
    expect(page.locator(".notice", has_text="compare with the original")).to_be_visible()
    expect(page.locator("#correct")).to_have_count(0)

    page.locator("#checked tbody tr").click()

    expect(page.locator(".spot.on")).to_have_text("two")
    expect(page.locator("#approve")).to_be_enabled()


def test_a_document_is_saved_under_its_own_name(scene: Scene, page: Page) -> None:
    record_id = scene.submit(BROKEN + b"saved", name="Auszug März 2026.csv")
    page.goto(scene.page(f"/records/{record_id}"))

    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()

    assert saved.value.suggested_filename == "Auszug März 2026.csv"


def test_a_hostile_name_stays_one_name_in_the_header(scene: Scene) -> None:
    record_id = scene.submit(BROKEN + b"hostile", name='../x"; filename=evil.exe;\u202e.csv')

    answer = httpx2.get(scene.page(f"/records/{record_id}/content?save=true"))

    way, _, name = answer.headers["content-disposition"].partition("; filename*=UTF-8''")
    assert way == "attachment"
    assert re.fullmatch(r"[\w.%-]+", name)


def test_reads_and_exports_are_noted_and_a_pdf_is_never_opened_by_the_browser_itself(
    tmp_path: Path,
) -> None:
    def noting(settings: Settings) -> Settings:
        return replace(settings, api=replace(settings.api, audit_reads=True))

    with staged(tmp_path, settle=noting) as scene:
        record_id = scene.submit(contract_pdf("41,50"), name="a.pdf", machine="contract")
        scene.rested(record_id)
        answer = httpx2.get(scene.page(f"/records/{record_id}/content"))
        httpx2.get(scene.page(f"/records/{record_id}/export/csv"))
        httpx2.get(scene.page("/ledger/export"))

        entries = [each for each in scene.app.audit.entries() if "anonymous" in each.actor]

    assert answer.headers["content-disposition"].startswith("attachment")
    assert [(each.verb, each.record_id, each.detail) for each in reversed(entries)] == [
        ("document_read", record_id, {}),
        ("exported", record_id, {"what": "items", "form": "csv"}),
        ("exported", "", {"what": "history"}),
    ]


def test_a_text_that_is_shown_on_a_page_and_items_over_the_api_are_noted(tmp_path: Path) -> None:
    def noting(settings: Settings) -> Settings:
        return replace(settings, api=replace(settings.api, audit_reads=True))

    with staged(tmp_path, settle=noting) as scene:
        record_id = scene.submit(contract_text("43,50"), name="a.txt", machine="contract")
        assert scene.rested(record_id) == "review_required"
        httpx2.get(scene.page(f"/records/{record_id}/document"))
        httpx2.get(scene.page(f"/review/{record_id}"))
        httpx2.get(scene.page("/review-queue"))
        httpx2.get(f"{scene.url}/records/{record_id}/items?stage=extract")

        entries = [each for each in scene.app.audit.entries() if "anonymous" in each.actor]

    assert [(each.verb, each.record_id) for each in reversed(entries)] == [
        ("document_read", record_id),
        ("document_read", record_id),
        ("exported", record_id),
    ]


def test_an_archive_is_shown_as_the_files_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(
        zipped({"data/rows.csv": b"a;b\n1;2\n", "plot.png": png(2, 2), "long.txt": b"x" * 70_000})
    )

    rows, picture, long = packed_files(path)

    assert (rows.name, rows.size, rows.text, rows.is_cut) == (
        "data/rows.csv",
        8,
        "a;b\n1;2\n",
        False,
    )
    assert (picture.name, picture.text) == ("plot.png", None)
    assert (len(long.text or ""), long.is_cut) == (64 * 1024, True)


@pytest.mark.parametrize(
    "made",
    [
        b"PK",
        zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<w/>"}),
        zipped({f"{number:0200}": b"" for number in range(2000)}),
        zipped({"a.txt": b"a"}).replace(b"PK\x01\x02", b"PK\x01\x03"),
        zipped({"a.txt": b"a"})[:-30],
    ],
    ids=["no archive", "document", "long list", "damaged list", "cut"],
)
def test_a_document_of_another_kind_and_a_hostile_archive_are_only_saved(
    tmp_path: Path, made: bytes
) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(made)

    assert packed_files(path) == []


def test_a_locked_or_damaged_file_of_an_archive_is_listed_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    told = []
    for made in (
        zipped({"a.txt": b"a"}, password=True),
        zipped({"a.txt": b"abcabcabc"}).replace(b"a.txtK", b"a.txt\xff"),
    ):
        path.write_bytes(made)
        told += [(each.name, each.text) for each in packed_files(path)]

    assert told == [("a.txt", None), ("a.txt", None)]


def test_the_text_in_an_archive_stands_beside_its_values(scene: Scene) -> None:
    made = zipped({"rows.csv": b"<b>time</b> [s];mass [kg]\n", "plot.png": png(2, 2)})
    record_id = scene.submit(made, name="a.zip", machine="contract")

    page = httpx2.get(scene.page(f"/records/{record_id}/document")).text

    assert "&lt;b&gt;time&lt;/b&gt; [s];mass [kg]" in page
    assert "plot.png" in page


@pytest.mark.parametrize(
    ("name", "form", "media_type", "kind"),
    [
        ("a.pdf", "pdf", "application/pdf", "PDF"),
        ("a.svg", "image", "image/svg+xml", "SVG picture"),
        ("a.csv", "text", "text/plain", "text"),
        ("contract.docx", "other", "application/octet-stream", "DOCX file"),
        ("no-ending", "other", "application/octet-stream", "file"),
        ("odd.<b>", "other", "application/octet-stream", "file"),
    ],
)
def test_what_a_document_is_is_said_in_plain_words(
    tmp_path: Path, name: str, form: Form, media_type: str, kind: str
) -> None:
    content = Content(path=tmp_path / name, size=1, form=form, media_type=media_type)

    assert ShownFile(source="", save="", name=name, content=content).kind == kind
