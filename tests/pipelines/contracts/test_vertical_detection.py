"""Which kind of contract a text is: the letterhead of a provider counts without any other word, a street does not."""

import pytest

from stateward.pipelines.contracts.offline.vertical_detection import detect
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.kit.reader import text_document


@pytest.mark.parametrize(
    ("text", "vertical"),
    [
        ("Telekom Deutschland GmbH, 53171 Bonn\n\nIhre Auftragsbestätigung\n\nvielen Dank.", "telco"),
        ("Vodafone GmbH, Ratingen\n\nDeine Vertragsunterlagen\n\nRouter: eigenes Gerät", "telco"),
        ("Dienstleistungsvertrag\n\nClara GmbH, Nürnberger Straße 4\n\nAuftragnehmer\n\nVersicherung", "general"),
        ("Services Agreement\n\nThe provider cleans the offices.", "general"),
        ("Nürnberger, 3. März 2025\n\nGuten Tag", ""),
        ("Wochenmarkt in Musterstadt\n\nNürnberger Straße 4", ""),
    ],
)  # fmt: skip
def test_a_letterhead_tells_the_kind_of_a_contract_and_a_street_does_not(
    text: str, vertical: str
) -> None:
    assert detect(text_document(text), default_rules())[0] == vertical
