"""What the settings say to the stages: read again when a file changes, refused when it is wrong at the start."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stateward.core.errors import DeclarationError
from stateward.core.model import SECOND, Fields
from stateward.definition.plugin import Host
from stateward.pipelines.contracts import PLUGIN
from stateward.pipelines.contracts.machine import CONTRACT
from stateward.pipelines.contracts.options import ConfiguredContracts
from stateward.pipelines.contracts.settings import ContractSettings
from stateward.settings import Settings
from stateward.testing.builders import a_record
from tests.pipelines.contracts.builders import VERTICAL

NOON = 1_794_571_200 * SECOND  # 2026-11-13
PROMPT = "version: {0}\nvertical: energy\nsystem: Read.\ninstructions: Give $fields\n"
MODEL = "extractor: both, model: {base_url: 'http://127.0.0.1:1/v1', name: m, key_file: key}"


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def make(tmp_path: Path, warnings: list[str]) -> Callable[[str], ConfiguredContracts]:
    def make(text: str) -> ConfiguredContracts:
        config = tmp_path / "stateward.yaml"
        config.write_text(f"contracts: {{{text}}}\n")
        own = Settings.load(config, environ={}).options_of(PLUGIN)
        assert isinstance(own, ContractSettings)
        return ConfiguredContracts(own, Host(clock=lambda: NOON, warn=warnings.append))

    return make


def write(path: Path, text: str, *, tick: int) -> None:
    """Write a file with a time of its own: two writes may fall into one tick of the clock."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, (tick, tick))


def test_without_a_word_everything_is_what_ships(
    make: Callable[[str], ConfiguredContracts],
) -> None:
    options = make("")

    assert options.extract() == {"extractor": "offline", "rules": {}}
    assert options.validate() == {"rules": {}}
    compare = options.compare()
    assert (compare["today"], compare["offers"], compare["saving_min"]) == ("2026-11-13", {}, "0.0")
    assert "energy" in options.rules.verticals


def test_an_edited_prompt_holds_from_the_next_job_on(
    tmp_path: Path, make: Callable[[str], ConfiguredContracts], warnings: list[str]
) -> None:
    file = tmp_path / "prompts" / "energy.yaml"
    write(tmp_path / "key", "sk-one\n", tick=1)
    write(file, PROMPT.format(1), tick=1)
    options = make(f"prompts: prompts, {MODEL}")

    first = options.extract()
    write(file, PROMPT.format(2), tick=2)
    second = options.extract()
    write(file, "version: 3\n", tick=3)
    third = options.extract()
    fourth = options.extract()

    assert prompt_in(first) == {str(file): PROMPT.format(1)}
    assert (
        prompt_in(second) == prompt_in(third) == prompt_in(fourth) == {str(file): PROMPT.format(2)}
    )
    assert len(warnings) == 1
    assert warnings[0].endswith("what was read before stays in use")


def prompt_in(options: Fields) -> object:
    return options["prompts"]


def test_a_new_file_and_a_new_key_are_seen(
    tmp_path: Path, make: Callable[[str], ConfiguredContracts]
) -> None:
    write(tmp_path / "key", "sk-one\n", tick=1)
    (tmp_path / "rules").mkdir()
    options = make(f"rules: rules, {MODEL}")
    assert key_in(options) == "sk-one"
    assert "gym" not in options.rules.verticals

    write(tmp_path / "rules" / "gym.yaml", VERTICAL, tick=2)
    write(tmp_path / "key", "sk-two\n", tick=2)

    assert key_in(options) == "sk-two"
    assert "gym" in options.rules.verticals


def key_in(options: ConfiguredContracts) -> object:
    model = options.extract()["model"]
    assert isinstance(model, dict)
    return model["key"]


def test_the_key_goes_to_the_stage_that_needs_it_and_to_no_other(
    tmp_path: Path, make: Callable[[str], ConfiguredContracts]
) -> None:
    write(tmp_path / "key", "sk-one\n", tick=1)
    options = make(MODEL)
    runners = [stage.runner for stage in CONTRACT.stages]

    holders = [name for name in runners if "sk-one" in str(options.job_options(name))]

    assert holders == ["contract.extract"]
    assert len(runners) == 4


@pytest.mark.parametrize(
    ("text", "name", "body", "said"),
    [
        ("rules: rules", "rules/x.yaml", "vertical: x", "version is missing"),
        ("prompts: prompts", "prompts/x.yaml", "version: 1", "system is missing"),
        ("offers: offers.csv", "offers.csv", "vertical\nenergy\n", "offer is missing"),
        ("comparison: c.yaml", "c.yaml", "version: 1\nverticals: {a: {}}", "monthly is missing"),
        (MODEL, "key", "two words", "must hold the key alone"),
    ],
)
def test_a_file_that_is_wrong_at_the_start_is_refused(
    tmp_path: Path,
    make: Callable[[str], ConfiguredContracts],
    text: str,
    name: str,
    body: str,
    said: str,
) -> None:
    write(tmp_path / name, body, tick=1)

    with pytest.raises(DeclarationError) as refused:
        make(text)

    assert said in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)
    assert "two words" not in str(refused.value)


def test_a_folder_that_is_not_there_is_refused(make: Callable[[str], ConfiguredContracts]) -> None:
    with pytest.raises(DeclarationError, match="cannot be read: No such file or directory"):
        make("rules: nowhere")


def test_a_file_that_is_no_text_is_refused(
    tmp_path: Path, make: Callable[[str], ConfiguredContracts]
) -> None:
    (tmp_path / "offers.csv").write_bytes(b"vertical\xff\xfe")

    with pytest.raises(DeclarationError, match="is not UTF-8"):
        make("offers: offers.csv")


def test_assumptions_of_the_settings_are_exact(make: Callable[[str], ConfiguredContracts]) -> None:
    options = make("consumption: {energy: 3500.10}, saving_min: 0.1, currency: CHF").compare()

    assert options["consumption"] == {"energy": "3500.1"}
    assert (options["saving_min"], options["currency"]) == ("0.1", "CHF")


def test_an_approval_does_not_pass_over_a_required_field_without_a_value(
    make: Callable[[str], ConfiguredContracts],
) -> None:
    problems: list[Fields] = [
        {"field": "contract_end", "code": "MISSING", "sentence": "contract_end was not found"},
        {"field": "kwh_price", "code": "LOW_CONFIDENCE", "sentence": "kwh_price is 0.3"},
    ]

    faults = make("").check_approval(a_record(), problems)

    assert [field for field, _ in faults] == ["contract_end"]
