"""The four stages, each by itself, with a model and without."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.documents.statements import Paper
from stateward.core.model import OUTSIDE, SEQUENCING, Fields, Json
from stateward.engine.corrections import corrected_items
from stateward.pipelines.contracts import runners  # noqa: F401 - registers them
from stateward.pipelines.contracts.extraction import FoundValue
from stateward.pipelines.contracts.stages import pages_of, pieces_of
from stateward.pipelines.kit.reader import text_document
from stateward.workers.sdk import (
    Completed,
    Failed,
    Job,
    Limits,
    Result,
    registered_runners,
    run_runner,
)
from tests.pipelines.contracts.endpoint import (
    Endpoint,
    Handler,
    Reply,
    gives,
    refuses,
    says,
    serving,
)
from tests.pipelines.contracts.example import LEASE, SAID, STROM, TODAY

SAMPLE_NOTE = (
    "SAMPLE_OFFERS: sample offers: they are invented; name a list of real ones in the setting "
    "contracts.offers"
)


class Line:
    """One contract on its way through the stages, without an engine."""

    def __init__(self, text: str, path: Path, labels: Fields | None = None) -> None:
        self._path = path
        path.write_text(text, "utf-8")
        self._labels = labels or {}
        self.retry_count = 0
        self._items: dict[str, list[str]] = {}

    def run(self, stage: str, **options: Json) -> Result:
        job = Job(
            record_id="CW_1",
            stage=stage,
            labels=self._labels,
            path=self._path,
            items=self._items,
            options=options,
            retry_count=self.retry_count,
        )
        runner = registered_runners()[f"contract.{stage}"]
        result = run_runner(
            runner, job, limits=Limits(), sleep=lambda _: None, now=lambda: 1_800_000_000_000_000
        )
        if isinstance(result, Completed):
            self._items[stage] = [chunk.data for chunk in result.chunks]
        return result

    def done(self, stage: str, **options: Json) -> Completed:
        result = self.run(stage, **options)
        assert isinstance(result, Completed), result
        return result

    def corrected(self, values: Mapping[str, str | None]) -> None:
        """As a reviewer's correction is kept."""
        chunks = [each for each in self._items["extract"] if each.startswith("[")]
        items = [item for chunk in chunks for item in msgspec.json.decode(chunk)]
        self._items["review"] = [msgspec.json.encode(corrected_items(items, values)).decode()]

    def found(self) -> dict[str, FoundValue]:
        chunks = [each for each in self._items["extract"] if each.startswith("[")]
        found = [
            one for chunk in chunks for one in msgspec.json.decode(chunk, type=list[FoundValue])
        ]
        return {each.field: each for each in found}


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(STROM, tmp_path / "contract.txt")


# By themselves


def test_a_plain_contract_is_read_extracted_judged_and_compared(line: Line) -> None:
    parsed = line.done("parse")
    extracted = line.done("extract")
    judged = line.done("validate")
    compared = line.done("compare", **TODAY)

    assert parsed.facts == {"format": "text", "pages": 1}
    assert extracted.facts["vertical"] == "energy"
    assert extracted.facts["provider"] == "Vattenfall"
    assert line.found()["kwh_price"].value == "0.3527"
    assert judged.facts["valid"] is True
    assert judged.facts["final_confidence"] >= 80  # type: ignore[operator]
    assert compared.facts == {
        "answer": "better",
        "best_offer": "talstrom-klar-24",
        "saving": "315.70",
        "sample_offers": True,
        "notes": [SAMPLE_NOTE],
    }
    assert compared.count == 14


def test_a_damaged_file_is_tried_again_and_then_read_with_a_note(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateward.core.errors import FatalFailure
    from stateward.pipelines.kit import reader

    whole = reader.read_document

    def damaged(path: Path, *, is_lenient: bool, **options: object) -> object:
        if not is_lenient:
            raise FatalFailure("a part is damaged", code="CORRUPT_FILE")
        return msgspec.structs.replace(whole(path), damage="a part is damaged")

    monkeypatch.setattr(reader, "read_document", damaged)

    first = line.run("parse")
    line.retry_count = 1
    line.done("parse")
    line.done("extract")
    judged = line.done("validate")

    assert isinstance(first, Failed)
    assert (first.code, first.is_retryable) == ("CORRUPT_FILE", True)
    assert judged.facts["valid"] is False
    assert "DAMAGED_FILE" in str(judged.facts["notes"])


@pytest.mark.parametrize("retries", [0, 1])
def test_a_damaged_file_that_an_external_driver_sent_is_read_or_given_up_without_a_retry(
    tmp_path: Path, retries: int
) -> None:
    path = tmp_path / "contract.pdf"
    line = Line("", path, {SEQUENCING: OUTSIDE})
    line.retry_count = retries
    path.write_bytes(damaged_pdf(pages=1))
    hopeless = line.run("parse")
    path.write_bytes(damaged_pdf(pages=2))

    parsed = line.done("parse")
    line.done("extract")
    judged = line.done("validate")

    assert isinstance(hopeless, Failed)
    assert (hopeless.code, hopeless.is_retryable) == ("CORRUPT_FILE", False)
    assert parsed.facts["format"] == "pdf"
    assert "DAMAGED_FILE" in str(judged.facts["notes"])


def damaged_pdf(*, pages: int) -> bytes:
    """The contract on each page; nothing can be read of the last one."""
    paper = Paper()
    for _ in range(pages):
        paper.page()
        for at, each in enumerate(STROM.splitlines()):
            paper.text(60, 80 + 18 * at, each)
    data = bytearray(paper.pdf())
    place = data.rfind(b"stream\n", 0, data.rfind(b"endstream")) + 40
    data[place : place + 8] = bytes(8)
    return bytes(data)


def test_what_each_stage_says_of_its_items_is_enough_to_follow_it(line: Line) -> None:
    abouts = {}
    for stage, options in (("parse", {}), ("extract", {}), ("validate", {}), ("compare", TODAY)):
        chunks = line.done(stage, **options).chunks
        abouts[stage] = next(
            msgspec.json.decode(chunk.data) for chunk in chunks if chunk.data.startswith("{")
        )

    assert abouts["parse"] == {"format": "text", "pages": 1, "chars": 324}
    assert {"vertical", "provider", "extractor", "rules"} <= set(abouts["extract"])
    assert {"final_confidence", "problems", "threshold", "rules"} <= set(abouts["validate"])
    comparison = abouts["compare"]
    assert comparison["switch"]["on"] == "2027-01-01"
    assert comparison["switch"]["notice_by"] == "2026-11-30"
    assert comparison["present"]["first_year"] == "1140.00"
    assert comparison["assumptions"][0] == "consumption: 2900 kWh a year, as the contract says"
    assert comparison["catalogue"].startswith("the sample catalogue")


def test_the_same_job_gives_the_same_items(tmp_path: Path) -> None:
    first, second = (Line(STROM, tmp_path / f"{name}.txt") for name in "ab")

    for stage in ("parse", "extract", "validate", "compare"):
        options = TODAY if stage == "compare" else {}
        assert first.done(stage, **options).chunks == second.done(stage, **options).chunks


def test_the_label_says_the_vertical_and_a_wrong_one_is_seen(tmp_path: Path) -> None:
    line = Line(STROM, tmp_path / "c.txt", {"vertical": "insurance"})
    line.done("parse")

    extracted = line.done("extract")
    judged = line.done("validate")

    assert extracted.facts["vertical"] == "insurance"
    assert judged.facts["valid"] is False
    assert any(str(note).startswith("WRONG_VERTICAL") for note in notes_of(judged))


def items_of(result: Completed) -> list[Fields]:
    chunks = [chunk.data for chunk in result.chunks if chunk.data.startswith("[")]
    return [item for chunk in chunks for item in msgspec.json.decode(chunk)]


def test_the_clauses_of_a_contract_are_items_with_type_and_place(tmp_path: Path) -> None:
    line = Line(LEASE, tmp_path / "c.txt", {"vertical": "general"})
    line.done("parse")
    line.done("extract")

    judged = line.done("validate")

    clauses = [item for item in items_of(judged) if "type" in item]
    assert [(each["path"], each["type"]) for each in clauses] == [
        ("1.", "fees"),
        ("2.", "confidentiality"),
        ("2. 2.1", "confidentiality"),
        ("3.", "governing_law"),
    ]
    where = clauses[1]["where"]
    assert isinstance(where, dict)
    assert LEASE.strip()[int(str(where["start"])) :].startswith("2. Confidentiality")
    about = next(json.loads(chunk.data) for chunk in judged.chunks if chunk.data.startswith("{"))
    assert about["clauses"] == 4


def test_problems_come_before_clauses_and_have_their_values(tmp_path: Path) -> None:
    line = Line(LEASE, tmp_path / "c.txt", {"vertical": "general"})
    line.done("parse")
    line.done("extract")

    items = items_of(line.done("validate"))

    problems = [item for item in items if "sentence" in item]
    assert problems == items[: len(problems)]
    assert {"MISSING"} <= {str(each["code"]) for each in problems}


def test_a_contract_without_numbers_and_headings_has_no_clauses(line: Line) -> None:
    line.done("parse")
    line.done("extract")

    assert not [item for item in items_of(line.done("validate")) if "type" in item]


def notes_of(result: Completed) -> list[Json]:
    notes = result.facts["notes"]
    assert isinstance(notes, list)
    return notes


def test_an_unknown_vertical_fails_and_lists_what_there_is(tmp_path: Path) -> None:
    line = Line(STROM, tmp_path / "c.txt", {"vertical": "gas"})
    line.done("parse")

    failed = line.run("extract")

    assert isinstance(failed, Failed)
    assert (failed.code, failed.is_retryable) == ("UNKNOWN_VERTICAL", False)
    assert "energy" in failed.message


def test_a_provider_that_is_not_listed_is_for_a_person(tmp_path: Path) -> None:
    line = Line(STROM.replace("Vattenfall Europe Sales", "Kellerlicht"), tmp_path / "c.txt")
    line.done("parse")
    line.done("extract")

    judged = line.done("validate")

    assert judged.facts["valid"] is False
    assert "UNKNOWN_PROVIDER" in str(judged.facts["notes"])


def test_a_vertical_may_ask_for_more_than_the_machine_does(line: Line) -> None:
    rules: dict[str, Json] = {
        "mine.yaml": "version: 1\nproviders:\n  - {name: Vattenfall, aliases: [Vattenfall Europe Sales], "
        "verticals: {energy: {threshold: 100}}}\n"
    }  # fmt: skip
    line.done("parse", rules=rules)
    line.done("extract", rules=rules)

    judged = line.done("validate", rules=rules)

    assert judged.facts["final_confidence"] >= 80  # type: ignore[operator]
    assert judged.facts["valid"] is False


def test_what_a_person_corrected_is_compared(line: Line) -> None:
    line.done("parse")
    line.done("extract")
    line.corrected({"monthly_rate": "9.00", "kwh_price": "0.20", "contract_end": None})

    compared = line.done("compare", **TODAY)

    assert compared.facts == {
        "answer": "nothing_better",
        "sample_offers": True,
        "notes": [SAMPLE_NOTE],
    }
    (about,) = (msgspec.json.decode(each.data) for each in compared.chunks if each.data[0] == "{")
    assert about["sample_offers"]
    assert "sample offers: they are invented" in about["sentence"]
    assert about["present"]["first_year"] == "688.00"  # 12 months of 9 and 2900 kWh at 0.20
    assert about["switch"]["on"] == "2026-12-15"


def test_a_consumption_that_is_no_number_is_refused(tmp_path: Path) -> None:
    line = Line(STROM, tmp_path / "c.txt", {"consumption": "much"})
    line.done("parse")
    line.done("extract")

    failed = line.run("compare", **TODAY)

    assert isinstance(failed, Failed)
    assert failed.code == "BAD_LABEL"


def test_ones_own_offers_and_assumptions_are_used(tmp_path: Path) -> None:
    line = Line(STROM.replace("Jahresverbrauch: 2.900 kWh\n", ""), tmp_path / "c.txt")
    line.done("parse")
    line.done("extract")
    line.corrected({"monthly_rate": "10.00"})
    offers = "vertical;offer;provider;name;monthly;unit_price\nenergy;mine;Mine;Mine;8;0,3\n"

    compared = line.done(
        "compare", **TODAY, offers={"mine.csv": offers}, consumption={"energy": "1000"}
    )

    assert compared.facts == {"answer": "better", "best_offer": "mine", "saving": "76.70"}


def test_a_page_that_is_larger_than_an_item_is_put_together_again(tmp_path: Path) -> None:
    filler = "Über diese Zeile sagt niemand etwas aus.\n" * 30_000
    text = f"{filler}\n{STROM}"
    document = text_document(text)

    line = Line(text, tmp_path / "long.txt")
    parsed = line.done("parse")
    pieces = [piece for page in document.pages for piece in pieces_of(page)]

    assert parsed.count == len(pieces) > 1
    assert pages_of(pieces) == document.pages


def test_pages_that_fit_stay_as_they_are() -> None:
    document = text_document(f"{STROM}\f{STROM}\f")

    assert pages_of(piece for page in document.pages for piece in pieces_of(page)) == document.pages


# With a model


def asking(endpoint: Endpoint, extractor: str = "both") -> dict[str, Json]:
    return {
        "extractor": extractor,
        "model": {"base_url": endpoint.url, "name": "stub", "key": "sk-x", "retries": 0},
    }


def test_two_readings_that_agree_are_sure(line: Line) -> None:
    line.done("parse")
    with serving(gives(**SAID)) as endpoint:
        extracted = line.done("extract", **asking(endpoint))

    assert {each.source for each in line.found().values()} == {"both"}
    assert {each.confidence for each in line.found().values()} == {95}
    assert extracted.facts["extractor"] == "rules/1+model/1"
    assert line.done("validate").facts == {"final_confidence": 95, "valid": True}
    assert "sk-x" not in extracted.log


def test_two_readings_that_differ_are_for_a_person(line: Line) -> None:
    line.done("parse")
    other = {**SAID, "kwh_price": ("2.900 EUR", "Jahresverbrauch: 2.900 kWh")}
    with serving(gives(**other)) as endpoint:
        line.done("extract", **asking(endpoint))

    judged = line.done("validate")

    assert line.found()["kwh_price"].value == "0.3527"
    assert judged.facts["final_confidence"] == 40
    (note,) = map(str, notes_of(judged))
    assert note.startswith("LOW_CONFIDENCE: kwh_price is 0.3527 with a confidence of only 40: ")
    assert "the rules and the model differ" in note


def test_a_model_alone_never_goes_past_a_person(line: Line) -> None:
    line.done("parse")
    with serving(gives(**SAID)) as endpoint:
        line.done("extract", **asking(endpoint, "model"))

    assert line.done("validate").facts["final_confidence"] == 70


@pytest.mark.parametrize(
    ("reply", "code", "is_retryable"),
    [
        (says("no"), "MODEL_ANSWER_INVALID", True),
        (refuses(401), "MODEL_KEY_REFUSED", False),
        (refuses(503), "MODEL_UNAVAILABLE", True),
        (refuses(429), "MODEL_BUSY", True),
    ],
)
def test_a_model_that_gives_no_answer_fails_the_stage(
    line: Line, reply: Reply, code: str, is_retryable: bool
) -> None:
    line.done("parse")
    with serving(reply) as endpoint:
        failed = line.run("extract", **asking(endpoint))

    assert isinstance(failed, Failed)
    assert (failed.code, failed.is_retryable) == (code, is_retryable)
    assert "sk-x" not in failed.log + failed.message


# Through the application


def test_the_clauses_of_a_contract_have_the_types_that_a_model_gave(tmp_path: Path) -> None:
    text = (
        f"{LEASE}\n4. Lockers\nA locker is opened by the staff where it is left shut over night.\n"
    )
    lease = Line(text, tmp_path / "contract.txt", {"vertical": "general"})
    lease.done("parse")

    def types(handler: Handler, body: dict[str, Any]) -> None:
        schema = body["response_format"]["json_schema"]["schema"]
        is_of_clauses = body["response_format"]["json_schema"]["name"] == "clauses"
        reply = says(dict.fromkeys(schema["properties"], "liability")) if is_of_clauses else gives()
        reply(handler, body)

    with serving(types) as endpoint:
        model: Json = {"base_url": endpoint.url, "name": "stub", "clause_types": True}
        lease.done("extract", extractor="both", model=model)
    judged = lease.done("validate")

    chunks = [chunk.data for chunk in judged.chunks if chunk.data.startswith("[")]
    items = [item for chunk in chunks for item in json.loads(chunk)]
    by_model = {item["heading"]: item["type"] for item in items if item.get("by") == "model"}
    assert by_model == {"Lockers": "liability"}
