"""A small vertical, a small contract, and what a model may say of it: built, not read from files."""

from typing import Any

from stateward.pipelines.contracts.model import JobServices, ModelExtractor, ModelOptions
from stateward.pipelines.contracts.prompts import prompts_of
from stateward.pipelines.contracts.rules import ContractRules, rules_of
from stateward.pipelines.kit.documents import TextDocument
from stateward.pipelines.kit.reader import text_document

CONTRACT = """Gym membership

Provider: Muscle House GmbH
Plan: Gold
Monthly fee: 29,90 EUR
The contract starts on 01.03.2026 and can be ended with a notice of 3 months.
Members: Ann Ant and Ben Bee
"""
VERTICAL = """
vertical: gym
version: 1
fields:
  - {name: provider, kind: provider, labels: {en: [provider]}}
  - {name: plan_name, kind: text, labels: {en: [plan]}}
  - {name: monthly_fee, kind: money, per: month, unit: EUR, labels: {en: [monthly fee]}}
  - {name: contract_start, kind: date, labels: {en: [starts on]}}
  - {name: cancellation_period, kind: duration, labels: {en: [notice of]}}
  - {name: member, kind: party, required: false, labels: {en: [members]}}
"""
PROVIDERS = """
version: 1
providers:
  - {name: Muscle House, verticals: {gym: null}}
"""


def the_rules() -> ContractRules:
    return rules_of({"gym.yaml": VERTICAL, "providers.yaml": PROVIDERS})


def the_document(text: str = CONTRACT) -> TextDocument:
    return text_document(text)


def entry(value: str, quote: str) -> dict[str, str]:
    return {"value": value, "quote": quote}


def an_answer(**changes: object) -> dict[str, object]:
    """What a good model says of the contract."""
    good: dict[str, object] = {
        "provider": entry("Muscle House GmbH", "Provider: Muscle House GmbH"),
        "plan_name": entry("Gold", "Plan: Gold"),
        "monthly_fee": entry("29.90 EUR", "Monthly fee: 29,90 EUR"),
        "contract_start": entry("2026-03-01", "starts on 01.03.2026"),
        "cancellation_period": entry("3 months", "a notice of 3 months"),
        "member": [entry("Ann Ant", "Ann Ant"), entry("Ben Bee", "Ben Bee")],
    }
    return good | changes


class SavedValues:
    """What outlives attempts, and what was said in them."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self._now = 0.0

    def log(self, message: str, /, **facts: object) -> None:
        self.lines.append((message, facts))

    @property
    def services(self) -> JobServices:
        return JobServices(
            keep=self.kept.setdefault,  # type: ignore[arg-type]
            kept=self.kept.get,
            log=self.log,
            left_s=lambda: 100.0,
            clock_s=self._clock,
        )

    def _clock(self) -> float:
        """A clock on which a quarter of a second passes each time that it is looked at."""
        self._now += 0.25
        return self._now


def an_extractor(url: str, saved: SavedValues, **changes: object) -> ModelExtractor:
    options = {"base_url": url, "name": "stub", "key": "sk-secret", "retries": 0} | changes
    return ModelExtractor(
        ModelOptions(**options),  # type: ignore[arg-type]
        prompts_of({}),
        services=saved.services,
        provider="Muscle House",
    )
