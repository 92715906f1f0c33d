"""The board: what is where, live, and the place to drop files."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, FilePayload, Page, Request, expect

from stateward.app import App
from stateward.console.board import look
from stateward.server.auth import Caller
from tests.archives import zipped
from tests.console.scene import BROKEN, SAMPLES, Scene, statement
from tests.server.api_client import settings_at


@pytest.mark.long
def test_a_dropped_statement_is_seen_to_its_end(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(699), name="earlier.csv"))
    page.goto(scene.page())
    done = page.locator("#chip-upload-normalized b")
    before = int((done.text_content() or "0").replace(",", ""))

    page.locator("[data-machine=upload] input[type=file]").set_input_files(
        [
            FilePayload(name=f"dropped-{n}.csv", mimeType="text/csv", buffer=statement(700 + n))
            for n in range(3)
        ]
    )

    expect(page.locator("#sending li", has_text="dropped-")).to_have_count(3)
    expect(page.locator("#sending li[data-state=sent]")).to_have_count(3)
    expect(done).to_have_text(str(before + 3))
    row = page.locator("#newest tr", has_text="dropped-0.csv")
    expect(row.locator(".pill")).to_have_text("normalized")
    expect(page.locator("#fresh")).to_contain_text("live")


@pytest.mark.long
def test_each_file_of_a_dropped_archive_is_a_document(scene: Scene, page: Page) -> None:
    page.goto(scene.page())
    year = zipped({"jan.csv": statement(720), "feb.csv": statement(721)})

    page.locator("[data-machine=upload] input[type=file]").set_input_files(
        {"name": "year.zip", "mimeType": "application/zip", "buffer": year}
    )

    expect(page.locator("#sending li", has_text="year.zip")).to_have_attribute("data-state", "sent")
    for name in ("jan.csv", "feb.csv"):
        row = page.locator("#newest tr", has_text=name)
        expect(row.locator(".pill")).to_have_text("normalized")


@pytest.mark.long
def test_the_same_file_again_is_said_to_be_here(scene: Scene, page: Page) -> None:
    record_id = scene.submit(statement(710), name="once.csv")
    page.goto(scene.page())

    page.locator("[data-machine=upload] input[type=file]").set_input_files(
        {"name": "twice.csv", "mimeType": "text/csv", "buffer": statement(710)}
    )

    line = page.locator("#sending li[data-state=known]")
    expect(line).to_contain_text("duplicate: already submitted")
    expect(line.get_by_role("link", name="open")).to_have_attribute(
        "href", f"/console/records/{record_id}"
    )


@pytest.mark.long
def test_what_cannot_be_a_statement_is_refused_with_a_sentence(scene: Scene, page: Page) -> None:
    page.goto(scene.page())

    page.locator("[data-machine=upload] input[type=file]").set_input_files(
        {"name": "movie.mkv", "mimeType": "video/x-matroska", "buffer": bytes(range(256)) * 8}
    )

    refused = page.locator("#refused li", has_text="movie.mkv")
    expect(refused.locator(".message")).not_to_be_empty()
    expect(page.locator(".toast.bad")).to_contain_text("movie.mkv")
    expect(page.locator("#sent-summary")).to_have_text("1 of 1 file uploaded: 1 refused")
    page.reload()
    expect(refused).to_be_visible()
    page.get_by_role("button", name="Dismiss movie.mkv").click()
    expect(refused).to_have_count(0)
    for number in range(12):
        name = f"{number}-{'long' * 20}.mkv"
        sent = page.request.post(
            f"{scene.url}/records",
            multipart={
                "pipeline": "upload",
                "file": {
                    "name": name,
                    "mimeType": "video/x-matroska",
                    "buffer": bytes(range(256)) * 8,
                },
            },
        )
        assert sent.status == 415, sent.text()
    page.set_viewport_size({"width": 360, "height": 700})
    page.reload()
    expect(page.locator("#refused li", has_text="longlong")).to_have_count(12)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.locator("#refused").bounding_box()
    assert box is not None
    assert box["height"] < 400, "many refused files do not push the board away"
    page.get_by_role("button", name="Dismiss all").click()
    expect(page.locator("#refused")).to_be_hidden()
    page.reload()
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")
    expect(page.locator("#sent-summary")).to_be_hidden()
    expect(refused).to_have_count(0)


@pytest.mark.long
def test_files_can_be_dropped_with_the_mouse(scene: Scene, page: Page) -> None:
    page.goto(scene.page())

    page.evaluate(
        """(text) => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], "by-mouse.csv", {type: "text/csv"}));
            document.querySelector("[data-machine=upload]")
              .dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true, cancelable: true}));
        }""",
        statement(730).decode(),
    )

    expect(page.locator("#sending li", has_text="by-mouse.csv")).to_have_attribute(
        "data-state", "sent"
    )


@pytest.mark.long
def test_what_others_do_comes_by_itself(scene: Scene, page: Page) -> None:
    page.goto(scene.page())
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")

    scene.submit(BROKEN + b"\n", name="elsewhere.csv")

    row = page.locator("#newest tr", has_text="elsewhere.csv")
    expect(row.locator(".pill")).to_have_text("error")
    expect(row.locator(".code")).to_have_text("UNKNOWN_FORMAT")


@pytest.mark.long
def test_a_page_that_is_hidden_rests(scene: Scene, page: Page) -> None:
    page.goto(scene.page())
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")
    hide = """(isHidden) => {
        Object.defineProperty(document, "hidden", {value: isHidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""

    page.evaluate(hide, True)
    expect(page.locator("#fresh")).to_have_text("paused")

    page.evaluate(hide, False)
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")


@pytest.mark.long
def test_more_windows_than_a_browser_has_connections_follow_one_stream(
    scene: Scene, page: Page
) -> None:
    streams: list[str] = []

    def look(asked: Request) -> None:
        streams.extend([asked.url] * ("/events/stream" in asked.url))

    page.context.on("request", look)
    windows = [page, *(page.context.new_page() for _ in range(7))]
    for each in windows:
        each.goto(scene.page())
        expect(each.locator("#fresh")).to_have_attribute("data-state", "live")
    assert len(streams) == 1

    windows.pop(0).close()  # it had the stream; another window goes on with one
    scene.submit(BROKEN + b"\n\n", name="seen-by-all.csv")

    for each in windows:
        row = each.locator("#newest tr", has_text="seen-by-all.csv")
        expect(row.locator(".pill")).to_have_text("error")
        expect(each.locator("#fresh")).to_have_attribute("data-state", "live")
    assert len(streams) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "denied",
    [
        "LockManager.prototype.request = () => Promise.reject(new DOMException('', 'SecurityError'))",
        "window.BroadcastChannel = class { constructor() { throw new DOMException('', 'SecurityError'); } }",
    ],
)
def test_a_window_that_may_not_know_of_others_has_a_stream_of_its_own(
    scene: Scene, page: Page, denied: str
) -> None:
    """As in a browser that blocks the data of sites."""
    page.add_init_script(denied)

    page.goto(scene.page())

    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")


@pytest.mark.long
def test_a_window_that_hangs_keeps_no_other_from_following(scene: Scene, page: Page) -> None:
    page.goto(scene.page())
    expect(page.locator("#fresh")).to_have_attribute("data-state", "live")
    other = page.context.new_page()
    other.goto(scene.page())
    expect(other.locator("#fresh")).to_have_attribute("data-state", "live")
    debugger = page.context.new_cdp_session(page)
    debugger.send("Debugger.enable")
    # As a dialog for printing does, it stops all that the window does.
    page.evaluate("setTimeout(() => { debugger; }, 50)")

    scene.submit(BROKEN + b"\n\n\n", name="beside-one-that-hangs.csv")
    expect(other.locator("#newest tr", has_text="beside-one-that-hangs.csv")).to_be_visible(
        timeout=60_000
    )
    debugger.send("Debugger.resume")
    debugger.send("Debugger.disable")
    scene.submit(BROKEN + b"\n\n\n\n", name="after-it.csv")

    for each in (page, other):
        expect(each.locator("#newest tr", has_text="after-it.csv")).to_be_visible(timeout=60_000)
        expect(each.locator("#fresh")).to_have_attribute("data-state", "live")


@pytest.mark.long
def test_chips_stand_in_the_order_of_the_machine_and_lead_to_the_records(
    scene: Scene, page: Page
) -> None:
    scene.rested(scene.sample("checking-2026-01.csv"))
    page.goto(scene.page())
    chips = page.locator("#card-upload .chip")

    shown = [each.get_attribute("data-status") for each in chips.all()]
    page.locator("#chip-upload-normalized").click()

    assert shown == [state.name for state in scene.app.registry.newest["upload"].states]
    expect(page).to_have_url(scene.page("/records?q=machine:upload+status:normalized"))
    expect(page.locator("#records tbody tr").first).to_be_visible()


@pytest.mark.long
def test_the_charts_are_drawn(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(777), name="charted.csv"))
    page.goto(scene.page())

    expect(page.locator("#spark-upload-ended canvas")).to_be_visible()
    expect(page.locator("#spark-upload-p95 canvas")).to_be_visible()
    page.locator("#spark-upload-ended .u-over").hover()
    expect(page.locator("#spark-upload-ended .tip")).to_contain_text("finished,")


@pytest.mark.long
def test_the_values_of_a_chart_are_read_by_keyboard(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(779), name="charted.csv"))
    page.goto(scene.page())
    chart = page.locator("#spark-upload-ended")
    expect(chart.locator("canvas")).to_be_visible()
    tip = chart.get_by_role("status")

    chart.focus()
    page.keyboard.press("End")
    last = tip.inner_text()
    page.keyboard.press("ArrowLeft")
    before = tip.inner_text()

    assert " finished, " in last
    assert " finished, " in before
    assert before[:5] != last[:5]
    chart.blur()
    expect(tip).to_be_hidden()


def test_what_rests_after_a_skipped_stage_is_not_in_progress(tmp_path: Path) -> None:
    ofx = (SAMPLES / "checking-2026-01.ofx").read_bytes()
    without_rows = re.sub(rb"<STMTTRN>.*</STMTTRN>", b"", ofx, flags=re.DOTALL)
    with App(settings_at(tmp_path)) as app:
        record = app.submit(without_rows, name="empty.ofx", labels={"source_type": "auto"}).record
        app.run_until_idle()
        app.submit(statement(780), name="queued.csv", labels={"source_type": "auto"})

        shown = look(app, Caller(key=None))

        assert app.record(record.id).status == "parsed"
    (card,) = (each for each in shown.cards if each.name == "upload")
    assert {chip.status: chip.count for chip in card.chips if chip.count} == {
        "queued_for_parse": 1,
        "parsed": 1,
    }
    assert card.live == 1


@pytest.mark.long
@pytest.mark.parametrize("language", ["en-GB", "en-US"])
def test_the_last_time_on_a_chart_has_room(scene: Scene, browser: Browser, language: str) -> None:
    scene.rested(scene.submit(statement(778), name="charted.csv"))
    context = browser.new_context(locale=language)
    page = context.new_page()
    page.goto(scene.page())

    chart = page.locator("#spark-upload-ended")
    expect(chart.locator("canvas")).to_be_visible()
    room, half_a_label = chart.evaluate(
        """chart => {
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = "12px system-ui, sans-serif";
            const label = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }).format(new Date());
            const [all, drawn] = [chart.querySelector("canvas"), chart.querySelector(".u-over")]
                .map(each => each.getBoundingClientRect());
            return [all.right - drawn.right, pen.measureText(label).width / 2];
        }"""
    )
    assert room >= half_a_label
    context.close()


@pytest.mark.long
def test_a_file_of_any_kind_is_recognised_and_sent_where_it_belongs(
    scene: Scene, page: Page
) -> None:
    page.goto(scene.page())
    page.locator("[data-detect] input[type=file]").set_input_files(
        [
            FilePayload(name="what-is-it.csv", mimeType="text/csv", buffer=statement(901)),
            FilePayload(name="noise.bin", mimeType="", buffer=bytes(range(256))),
        ]
    )

    known = page.locator("#detected li", has_text="what-is-it.csv")
    unknown = page.locator("#detected li", has_text="noise.bin")
    expect(known.locator("option:checked")).to_contain_text("Bank statement, CSV (upload)")
    expect(unknown).to_have_attribute("data-state", "unknown")
    expect(unknown.locator("[data-send]")).to_be_disabled()
    why = known.locator(".evidence")
    why.evaluate("(told) => { told.textContent = 'its parties, its notice, '.repeat(20); }")
    assert known.locator(".name").evaluate("(name) => name.clientWidth >= name.scrollWidth")
    known.locator("[data-send]").click()

    expect(page.locator("#sending li", has_text="what-is-it.csv")).to_have_attribute(
        "data-state", "sent"
    )
    row = page.locator("#newest tr", has_text="what-is-it.csv")
    expect(row).to_contain_text("normalized")
    unknown.locator("select").select_option(label="Bank statement, PDF (upload)")
    unknown.locator("[data-send]").click()
    expect(page.locator("#refused li", has_text="noise.bin")).to_be_visible()


@pytest.mark.long
def test_an_archive_is_offered_as_its_files_and_a_long_name_leaves_the_page_as_wide(
    scene: Scene, page: Page
) -> None:
    page.goto(scene.page())
    archive = zipped({"apr.csv": statement(921), "may.csv": statement(922)})
    name = f"{'x' * 180}.zip"
    page.locator("[data-detect] input[type=file]").set_input_files(
        FilePayload(name=name, mimeType="application/zip", buffer=archive)
    )

    line = page.locator("#detected li", has_text="xxx")
    expect(line.locator("option:checked")).to_have_text("Archive: each file in it")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.close(run_before_unload=True)  # what was chosen is not sent yet: the page stays
    expect(line).to_be_visible()
    assert asked == ["beforeunload"]

    line.locator("[data-send]").click()

    for member in ("apr.csv", "may.csv"):
        row = page.locator("#newest tr", has_text=member)
        expect(row.locator(".pill")).to_have_text("normalized")


@pytest.mark.long
def test_what_a_full_disk_did_not_take_is_sent_again_without_choosing_it_anew(
    scene: Scene, page: Page
) -> None:
    full = '{"detail": "the disk is full"}'
    for path in ("/detect", "/records"):
        page.route(
            scene.url + path,
            lambda route: route.fulfill(status=507, body=full, content_type="application/json"),
            times=1,
        )
    page.goto(scene.page())
    page.locator("[data-detect] input[type=file]").set_input_files(
        FilePayload(name="patient.csv", mimeType="text/csv", buffer=statement(905))
    )

    looked_at = page.locator("#detected li", has_text="patient.csv")
    expect(looked_at).to_contain_text("the disk is full")
    looked_at.get_by_role("button", name="Try again").click()
    looked_at.get_by_role("button", name="Send", exact=True).click()
    sent = page.locator("#sending li", has_text="patient.csv")
    expect(sent).to_contain_text("the disk is full")
    sent.get_by_role("button", name="Send again patient.csv").click()

    expect(sent).to_have_attribute("data-state", "sent")
    expect(page.locator("#sent-summary")).to_have_text("1 of 1 file uploaded: 1 submitted")


@pytest.mark.long
def test_pipelines_without_records_take_one_line(scene: Scene, page: Page) -> None:
    scene.rested(scene.submit(statement(990), name="the-only-one.csv"))
    page.goto(scene.page())

    expect(page.locator("#card-upload")).to_be_visible()
    expect(page.locator("#card-images")).to_have_count(0)
    page.locator("#idle").get_by_role("link", name="images").click()
    expect(page).to_have_url(scene.page("/records?q=machine:images"))
