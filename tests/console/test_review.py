"""Review: the document beside the form, decisions by keyboard, time to take one back, and never two at once."""

import re
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from stateward.console import console
from stateward.console.review import fields_of, flat, marks_of, row_marks
from stateward.core.model import Fields
from stateward.definition.display import ItemView
from stateward.engine.answers import DecisionRequest
from tests.console.conftest import UNDO_S
from tests.console.scene import Scene, contract_pdf, contract_text
from tests.server.api_client import serving, settings_at
from tests.waiting import wait_until

POOR = b"Stromliefervertrag\n\nAnbieter: Stadtwerke Musterhausen AG\nVertragsbeginn: 01.04.2026\nKunde: "


_rates = count(10)


@pytest.fixture
def service(scene: Scene) -> Scene:
    """The service with nothing in its queue."""
    for task in scene.app.reviews.pending():
        taken = task.pending or task.claim
        actor = "person:nobody" if taken is None else taken.actor
        scene.app.reviews.decide(
            DecisionRequest(
                record_id=task.record.id,
                action="reject",
                actor=actor,
                notes="of another test",
                is_administrator=True,  # one may wait for a second opinion
            )
        )
    return scene


def waiting(scene: Scene, *names: str) -> list[str]:
    """Contracts that wait for a person, each a little different."""
    ids = [
        scene.submit(contract_text(f"{next(_rates)},50"), name=name, machine="contract")
        for name in names
    ]
    for each in ids:
        assert scene.rested(each) == "review_required"
    return ids


def poor_one(scene: Scene, *, name: str = "poor.txt") -> str:
    """A contract in which little can be found."""
    record_id = scene.submit(POOR + b"%d" % next(_rates), name=name, machine="contract")
    assert scene.rested(record_id) == "review_required"
    return record_id


def takes_effect(scene: Scene, record_id: str) -> str:
    """Let the time in which a decision can be undone be over; the status after it."""
    scene.app.database.run("UPDATE pending_decisions SET effective_at = 0")
    wait_until(lambda: scene.app.record(record_id).status != "review_required")
    return scene.rested(record_id)


def look_again(page: Page) -> None:
    """Let that time be over on the page as well."""
    page.clock.fast_forward(int(UNDO_S + 2) * 1000)


@pytest.mark.long
def test_a_value_is_shown_with_its_place_its_sureness_and_its_problem(
    service: Scene, page: Page
) -> None:
    poor_one(service)
    page.goto(service.page("/review"))

    start = page.locator(".field[data-field=contract_start-0]")
    expect(start.locator("input")).to_have_value("2026-04-01")
    expect(start.locator(".sure")).to_have_text(re.compile(r"^[0-9]+ %$"))
    start.locator("input").focus()
    expect(page.locator(".spot.on")).to_have_text("01.04.2026")
    expect(page.locator(".field[data-field=tariff_name-0] .note.bad")).to_contain_text("not found")
    expect(page.locator(".queue-list")).to_contain_text("you, until")


def test_a_contract_is_corrected_by_keyboard_and_the_next_comes_at_once(
    service: Scene, page: Page
) -> None:
    page.clock.install()
    first, second = waiting(service, "one.txt", "two.txt")
    page.goto(service.page(f"/review/{first}"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", first)

    page.keyboard.press("e")
    expect(page.locator(".field input:focus")).to_have_count(1)
    page.locator(".field[data-field=monthly_rate-0] input").fill("77.10")
    page.keyboard.press("Control+Enter")

    expect(page.locator("article")).to_have_attribute("data-record", second)
    expect(page.locator(".toast[data-held]")).to_contain_text("one.txt: corrected, takes effect in")
    expect(page.locator(".toast[data-held]")).to_have_css("opacity", "1")
    assert service.app.record(first).status == "review_required"
    assert takes_effect(service, first) == "completed"
    look_again(page)
    expect(page.locator(".toast", has_text="one.txt is corrected.")).to_be_visible()
    (rate,) = [
        each for each in service.app.items(first, "review") if each["field"] == "monthly_rate"
    ]
    assert (rate["value"], rate["is_corrected"]) == ("77.10", True)


def test_a_decision_can_be_undone_and_nothing_typed_is_lost(service: Scene, page: Page) -> None:
    (record_id,) = waiting(service, "hasty.txt")
    page.goto(service.page("/review"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)

    page.locator(".field[data-field=monthly_rate-0] input").fill("77.20")
    page.locator("#notes").fill("as the customer says")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#nothing")).to_be_visible()
    page.locator(".toast[data-held] button").click()

    expect(page.locator("article")).to_have_attribute("data-record", record_id)
    expect(page.locator(".field[data-field=monthly_rate-0] input")).to_have_value("77.20")
    expect(page.locator("#notes")).to_have_value("as the customer says")
    assert service.app.reviews.task(record_id).pending is None
    assert service.app.record(record_id).status == "review_required"


@pytest.mark.long
def test_a_decision_can_be_undone_after_the_page_was_loaded_again(
    service: Scene, page: Page
) -> None:
    (record_id,) = waiting(service, "again.txt")
    page.goto(service.page("/review"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)
    page.keyboard.press("a")
    expect(page.locator("#nothing")).to_be_visible()

    page.goto(service.page("/review"))
    expect(page.locator(".toast[data-held]")).to_contain_text("again.txt: approved")
    page.keyboard.press("u")

    expect(page.locator("article")).to_have_attribute("data-record", record_id)
    assert service.app.reviews.task(record_id).pending is None


@pytest.mark.parametrize(("claim_s", "renew_ms"), [(900.0, "60000"), (30.0, "10000")])
def test_a_claim_is_renewed_before_it_ends(tmp_path: Path, claim_s: float, renew_ms: str) -> None:
    settings = settings_at(tmp_path)
    settings = replace(settings, reviews=replace(settings.reviews, claim_seconds=claim_s))
    with serving(settings, extra_routes=console()) as api:
        text = api.get("/console/review").text

    assert re.findall(r'data-renew-ms="(\d+)"', text) == [renew_ms]


@pytest.mark.long
def test_a_claim_is_renewed_while_its_page_is_open(service: Scene, page: Page) -> None:
    page.clock.install()
    (record_id,) = waiting(service, "renewed.txt")
    page.goto(service.page("/review"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)

    with page.expect_request(lambda asked: asked.url.endswith(f"/reviews/{record_id}/claim")):
        page.clock.run_for(60_000)


def test_a_note_alone_rejects_nothing(service: Scene, page: Page) -> None:
    (record_id,) = waiting(service, "noted.txt")
    page.goto(service.page(f"/review/{record_id}"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)

    page.locator("#notes").fill("I called the customer")
    page.keyboard.press("Control+Enter")

    expect(page.locator("#message")).to_contain_text("Change a field first")
    assert service.app.reviews.task(record_id).pending is None


@pytest.mark.long
def test_rejecting_wants_a_reason(service: Scene, page: Page) -> None:
    page.clock.install()
    (record_id,) = waiting(service, "no.txt")
    page.goto(service.page("/review"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)

    page.keyboard.press("r")
    expect(page.locator("#message")).to_contain_text("why it is rejected")
    expect(page.locator("#notes")).to_be_focused()
    page.keyboard.type("water is no energy")
    page.keyboard.press("Control+Enter")

    expect(page.locator(".toast[data-held]")).to_contain_text("no.txt: rejected")
    assert takes_effect(service, record_id) == "rejected"
    look_again(page)
    expect(page.locator(".toast", has_text="is rejected.")).to_be_visible()
    assert service.app.records.history(record_id)[-1].metadata["reason"] == "water is no energy"


def test_a_decision_outlives_the_page_and_the_browser(service: Scene, browser: Browser) -> None:
    """The window is closed without a word, as by a crash: what the page called decided is decided."""
    ids = waiting(service, "first.txt", "second.txt", "third.txt")
    for record_id in ids:
        with browser.new_context() as window:
            page = window.new_page()
            page.goto(service.page(f"/review/{record_id}"))
            expect(page.locator("#work")).to_have_attribute("data-claimed", record_id)
            page.keyboard.press("a")
            expect(page.locator(f".toast[data-held='{record_id}']")).to_be_visible()

    assert [takes_effect(service, record_id) for record_id in ids] == ["completed"] * 3


@pytest.mark.long
def test_other_people_see_who_decided_and_cannot_decide_again(service: Scene, page: Page) -> None:
    (record_id,) = waiting(service, "theirs.txt")
    service.app.reviews.hold(
        DecisionRequest(record_id=record_id, action="approve", actor="person:otto@elsewhere")
    )

    page.goto(service.page(f"/review/{record_id}"))

    expect(page.locator("#pending")).to_contain_text("otto decided it: approve")
    expect(page.locator("[data-decide]")).to_have_count(0)
    expect(page.locator(".queue-list")).to_contain_text("otto decided: approve")


@pytest.mark.long
def test_two_people_never_decide_the_same(service: Scene, page: Page) -> None:
    first, second = waiting(service, "mine.txt", "free.txt")
    service.app.reviews.claim(first, actor="person:otto@elsewhere")

    page.goto(service.page("/review"))
    expect(page.locator("article")).to_have_attribute("data-record", second)
    page.goto(service.page(f"/review/{first}"))

    expect(page.locator("#taken")).to_contain_text("otto has claimed this")
    expect(page.locator("#approve")).to_be_disabled()
    # The sentence of the service names the time as the page does.
    expect(page.locator("#message")).to_contain_text("otto has claimed this review until")
    expect(page.locator("#message")).not_to_contain_text(re.compile(r"\dT\d"))


@pytest.mark.long
def test_j_and_k_lead_through_the_queue(service: Scene, page: Page) -> None:
    waiting(service, "a.txt", "b.txt", "c.txt")
    page.goto(service.page("/review"))
    name = page.locator("#work-h")
    order = page.locator("[data-task] .doc").all_text_contents()
    expect(name).to_have_text(order[0])

    page.keyboard.press("j")
    expect(name).to_have_text(order[1])
    page.keyboard.press("j")
    expect(name).to_have_text(order[2])
    page.keyboard.press("k")
    expect(name).to_have_text(order[1])


@pytest.mark.long
def test_a_review_is_skipped_and_stays_in_the_queue(service: Scene, page: Page) -> None:
    first, second = waiting(service, "skip-1.txt", "skip-2.txt")
    page.goto(service.page(f"/review/{first}"))
    expect(page.locator(f"#work[data-claimed='{first}']")).to_be_visible()

    page.keyboard.press("s")

    expect(page.locator("article")).to_have_attribute("data-record", second)
    wait_until(lambda: service.app.reviews.task(first).claim is None)
    page.locator("#skip").click()
    expect(page.locator(".toast")).to_contain_text("All others were skipped or are claimed.")


@pytest.mark.long
def test_the_keys_of_a_page_are_listed(service: Scene, page: Page) -> None:
    waiting(service, "keys.txt")
    page.goto(service.page("/review"))

    page.keyboard.press("?")

    expect(page.locator("#shortcuts")).to_contain_text("edit the least certain field")
    expect(page.locator("#shortcuts")).to_contain_text("go to a page, a record or a search")
    page.keyboard.press("Escape")
    expect(page.locator("#dialog")).not_to_be_visible()


@pytest.mark.long
def test_a_shortcut_can_be_given_another_key(service: Scene, page: Page) -> None:
    record_id, other = waiting(service, "other-keys.txt", "next.txt")
    page.goto(service.page(f"/review/{record_id}"))
    expect(page.locator("article")).to_have_attribute("data-open", "yes")
    page.keyboard.press("?")

    page.get_by_label("Key for approve").fill("r")
    page.keyboard.press("Tab")
    expect(page.locator("#keys-message")).to_have_text("r is the key of another shortcut.")
    page.get_by_label("Key for approve").fill("y")
    page.keyboard.press("Tab")
    expect(page.locator("#keys-message")).to_have_text("y: approve")
    page.reload()
    expect(page.locator("article")).to_have_attribute("data-open", "yes")
    expect(page.locator("#approve kbd")).to_have_text("y")
    page.keyboard.press("a")
    page.keyboard.press("y")

    wait_until(lambda: service.app.reviews.task(record_id).pending is not None)
    page.goto(service.page(f"/review/{other}"))
    expect(page.locator("article")).to_have_attribute("data-open", "yes")
    page.keyboard.press("?")
    page.get_by_role("button", name="Default keys").click()
    expect(page.get_by_label("Key for approve")).to_have_value("a")


@pytest.mark.long
def test_the_most_uncertain_come_first(service: Scene, page: Page) -> None:
    waiting(service, "nearly.txt")
    poor_one(service)

    page.goto(service.page("/review"))

    expect(page.locator("[data-task] .doc")).to_have_text(["poor.txt", "nearly.txt"])


@pytest.mark.long
def test_the_place_of_a_value_is_marked_on_the_drawn_page(service: Scene, page: Page) -> None:
    record_id = service.submit(contract_pdf("88,10"), name="drawn.pdf", machine="contract")
    assert service.rested(record_id) == "review_required"
    page.goto(service.page("/review"))
    expect(page.locator(".sheet")).to_have_attribute("data-drawn", "yes")

    page.locator(".field[data-field=monthly_rate-0] input").focus()

    mark = page.locator(".mark[data-field=monthly_rate-0]")
    expect(mark).to_have_class("mark on")
    sheet, box = page.locator(".sheet").bounding_box(), mark.bounding_box()
    assert sheet is not None
    assert box is not None
    assert sheet["x"] < box["x"] < box["x"] + box["width"] < sheet["x"] + sheet["width"]
    dark = page.locator(".sheet canvas").evaluate(
        """(canvas, at) => {
            const scale = canvas.width / at.width;
            const box = [at.x, at.y, at.w, at.h].map((each) => each * scale);
            const pixels = canvas.getContext("2d").getImageData(...box).data;
            let dark = 0;
            for (let n = 0; n < pixels.length; n += 4) if (pixels[n] < 120) dark += 1;
            return dark;
        }""",
        {
            "width": sheet["width"], "x": box["x"] - sheet["x"], "y": box["y"] - sheet["y"],
            "w": box["width"], "h": box["height"],
        },
    )  # fmt: skip
    assert dark > 20


def test_a_correction_that_is_refused_stays_in_the_form(service: Scene, page: Page) -> None:
    poor = poor_one(service)
    page.goto(service.page("/review"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", poor)

    page.locator(".field[data-field=contract_start-0] input").fill("2026-05-01")
    page.keyboard.press("Control+Enter")

    expect(page.locator("#message")).to_contain_text("cannot be accepted like this")
    start = page.locator(".field[data-field=contract_start-0] input")
    expect(start).to_have_value("2026-05-01")
    assert service.app.reviews.task(poor).pending is None


def test_problems_are_found_in_verdicts_and_alone() -> None:
    nested: list[Fields] = [
        {"field": "rate", "problems": [{"field": "rate", "sentence": "too high"}]}
    ]
    alone: list[Fields] = [
        {"field": "rate", "sentence": "too high"},
        {"field": "end", "problems": []},
    ]

    assert flat(nested) == flat(alone) == [{"field": "rate", "sentence": "too high"}]


def test_a_field_that_was_not_found_can_be_filled_in() -> None:
    found: list[Fields] = [
        {"field": "party", "value": "A", "confidence": 90},
        {"field": "party", "value": "B"},
    ]

    fields = fields_of(found, [{"field": "law", "sentence": "it was not found"}])

    assert [(each.id, each.value, each.level) for each in fields] == [
        ("party-0", "A", "high"),
        ("party-1", "B", ""),
        ("law-0", "", "low"),
    ]


def test_marks_are_the_places_that_the_pipeline_declares() -> None:
    view = ItemView(machine="contract", stage="extract", where="place")
    boxed: Fields = {"field": "rate", "place": {"page": 2, "box": [1.0, 2.0, 3.0, 4.0]}}

    marks = marks_of([boxed, {"field": "law", "place": None}], view)

    assert marks == [{"field": "rate-0", "page": 2, "box": (1.0, 2.0, 3.0, 4.0)}]
    assert row_marks([{"where": {"line": 3}}, {}], None) == [{"field": "row-1", "line": 3}]


def test_several_are_picked_checked_decided_and_undone_as_one(service: Scene, page: Page) -> None:
    first, second, third = waiting(service, "one.txt", "two.txt", "three.txt")
    page.goto(service.page(f"/review/{third}"))
    for record_id in (first, second):
        page.locator(f"[data-pick-review='{record_id}']").check()

    page.locator("#decide-picked").click()
    page.locator("#several [value=reject]").check()
    page.locator("#several-notes").fill("not ours")
    page.locator("#several-check").click()
    expect(page.locator("#several-result")).to_contain_text("2 of 2 reviews would be rejected")
    page.locator("#several [value=approve]").check()
    expect(page.locator("#several-yes")).to_have_count(0)
    page.locator("#several-check").click()
    page.locator("#several-yes").click()

    expect(page.locator(".toast[data-batch]")).to_contain_text("2 reviews: approved, takes effect")
    pending = service.app.reviews.task(first).pending
    assert pending is not None
    assert (pending.action, pending.notes) == ("approve", "not ours")
    assert service.app.reviews.task(third).pending is None
    page.locator(".toast[data-batch] button").click()
    expect(page.locator(".toast", has_text="2 reviews: undone.")).to_be_visible()
    assert service.app.reviews.task(second).pending is None


@pytest.mark.long
def test_a_value_is_moved_and_another_person_is_asked(service: Scene, page: Page) -> None:
    first, second = waiting(service, "asked.txt", "other.txt")
    page.goto(service.page(f"/review/{first}"))
    expect(page.locator("#work")).to_have_attribute("data-claimed", first)
    rate = page.locator(".field[data-field=monthly_rate-0] input")
    found = rate.input_value()

    page.locator("select[data-move=monthly_rate]").select_option("tariff_name")
    expect(page.locator(".field[data-field=tariff_name-0] input")).to_have_value(found)
    expect(rate).to_have_value("")
    page.locator("#second-opinion").click()
    page.locator("#opinion-to").fill("bob")
    page.locator("#opinion-notes").fill("is this right?")
    page.keyboard.press("Enter")

    expect(page.locator("article")).to_have_attribute("data-record", second)
    task = service.app.reviews.task(first)
    assert task.people == frozenset({"bob"})
    (opinion,) = service.app.reviews.opinions(task.record, actor="person:bob")
    assert opinion.values["tariff_name"] == [found]


@pytest.mark.long
def test_a_review_is_retried_with_other_options(service: Scene, page: Page) -> None:
    (record_id,) = waiting(service, "options.txt")
    page.goto(service.page(f"/review/{record_id}"))
    page.get_by_role("link", name="Retry with other options…").click()

    page.get_by_label("vertical").select_option("telco")
    page.get_by_label("Reason kept").fill("it is about mobile phones")
    page.locator("#look").click()
    expect(page.locator("#outcome")).to_contain_text("Its review ends as rejected")
    page.locator("#accept").click()

    expect(page.locator("#facts")).to_contain_text("telco")
    page.goto(service.page(f"/records/{record_id}"))
    expect(page.locator("#actions")).to_contain_text("Read again…")
    expect(page.get_by_role("region", name="Other actions by people")).to_contain_text(
        "vertical: none → telco"
    )
    assert service.app.record(record_id).status == "rejected"
