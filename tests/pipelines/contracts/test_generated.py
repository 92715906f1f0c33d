"""Generated contracts: the same from the same seed, in every format, and read well."""

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.documents.contracts import Contract, draw, write_folder
from lab.documents.contracts.__main__ import main
from lab.documents.contracts.noise import noisy
from stateward.pipelines.contracts.offline import OfflineExtractor, detect
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.contracts.validation import validate_extraction
from stateward.pipelines.contracts.values import same
from stateward.pipelines.kit.reader import read_document

RULES = default_rules()
COUNT = 40


def read(contract: Contract, folder: Path) -> tuple[int, int, int, bool, bool]:
    """Fields that are right, fields in all, sure ones that are wrong; whether accepted, and all right."""
    path = folder / contract.name
    path.write_bytes(contract.data)
    document = read_document(path)
    vertical = RULES.vertical(contract.vertical)
    extraction = OfflineExtractor().extract(document, vertical, RULES)
    found = {each.field: each for each in extraction.found}
    right = wrong_and_sure = 0
    is_whole = detect(document, RULES)[0] == contract.vertical
    for rule in vertical.fields:
        truth, held = contract.fields.get(rule.name), found.get(rule.name)
        value = held.value if held else None
        is_right = same(rule, value or "", truth or "", RULES)
        right += is_right and truth is not None
        is_whole = is_whole and is_right
        wrong_and_sure += bool(held and value and held.confidence >= 80 and not is_right)
    return (
        right,
        len(contract.fields),
        wrong_and_sure,
        validate_extraction(extraction, RULES).accepted,
        is_whole,
    )


@pytest.mark.long
@pytest.mark.parametrize(("maker", "share"), [("usual", 0.5), ("second", 0.3)])
def test_generated_contracts_are_read_and_none_is_accepted_wrongly(
    maker: str, share: float, tmp_path: Path
) -> None:
    results = [read(draw(seed, maker=maker), tmp_path) for seed in range(9000, 9000 + COUNT)]

    right, fields, sure_and_wrong = (sum(each[at] for each in results) for at in range(3))
    accepted = [is_whole for *_, is_accepted, is_whole in results if is_accepted]
    assert right >= 0.96 * fields
    assert sure_and_wrong <= 0.005 * fields
    assert all(accepted)
    assert len(accepted) >= share * COUNT  # the second maker's prose has words that no rule knows


def test_the_same_seed_gives_the_same_contract() -> None:
    for maker in ("usual", "second"):
        for seed in range(20):
            assert draw(seed, maker=maker) == draw(seed, maker=maker)
    assert draw(1).data != draw(2).data


def test_contracts_come_in_all_formats_languages_and_verticals() -> None:
    drawn = [draw(seed) for seed in range(80)]

    assert {each.name.rpartition(".")[2] for each in drawn} == {"pdf", "docx", "txt"}
    assert {each.language for each in drawn} == {"de", "en"}
    assert {each.vertical for each in drawn} == {"energy", "telco", "insurance"}
    assert any(each.is_noisy for each in drawn)


def test_a_vertical_and_a_language_can_be_asked_for() -> None:
    contract = draw(5, vertical="telco", language="en")

    assert (contract.vertical, contract.language) == ("telco", "en")


def test_a_folder_has_every_file_of_its_truth(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "made", count=5, seed=3)

    truth = json.loads(path.read_text("utf-8"))
    assert sorted(truth) == sorted(each.name for each in path.parent.iterdir() if each != path)
    assert all({"vertical", "fields"} <= set(about) for about in truth.values())


def test_the_command_writes_a_folder(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [str(tmp_path / "made"), "--count", "2", "--maker", "second"])

    assert result.exit_code == 0, result.output
    assert "2 contracts" in result.output


def test_noise_spoils_words_and_keeps_what_figures_mean() -> None:
    text = "Vertragsbeginn am 01.10.2021 für 101,10 Euro " * 20

    spoilt = noisy(random.Random(1), text, share=0.5)

    meant = spoilt.translate(str.maketrans("Ol", "01")).split()
    assert meant.count("01.10.2021") == meant.count("101,10") == 20
    assert spoilt.split().count("01.10.2021") < 20
    assert spoilt.split().count("Vertragsbeginn") < 20
