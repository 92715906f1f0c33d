"""What a document says of its own state, in wordings of many families; and what ordinary letters and agreements say."""

import pytest

from stateward.pipelines.contracts.ordinary import ordinary_flags
from stateward.pipelines.contracts.remarks import remark_flags
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.contracts.states import (
    family,
    in_lower_case,
    small_family,
    state_flags,
)
from stateward.pipelines.kit.reader import text_document
from tests.pipelines.contracts.capped import extracted, flags

RULES = default_rules()
LETTER = """LichtBlick SE
Klostertor 1, 20097 Hamburg

{head}
Vertragsbestätigung

Tarif: ÖkoStrom Basis 12
Lieferbeginn: 01.05.2026
Monatlicher Abschlag: 106,00 Euro

Die Preise sind Bruttopreise. Vielen Dank für Ihr Vertrauen.

Herzliche Grüße
Ihr LichtBlick-Team

{tail}
"""
AGREEMENT = """{head}
NON-DISCLOSURE AGREEMENT

This Agreement is entered into as of March 3, 2025 by and between Halden Robotics, Inc., a Delaware corporation, and
Brightwater Analytics LLC, a Texas limited liability company, and may be terminated, withdrawn, void or pending.

2. Any waiver is void, and this Agreement is terminated upon notice by either of the parties to it, in which case all
the information that was disclosed by the other party shall be returned without delay and no copies of it shall be kept.

By: /s/ Maria Hald
{tail}
"""


def codes(text: str, vertical: str) -> list[object]:
    document, made = text_document(text), RULES.verticals[vertical]
    flags = [*state_flags(document, made, RULES)] or [*ordinary_flags(document, made, RULES)]
    return [flag["code"] for flag in flags if isinstance(flag, dict)]


@pytest.mark.parametrize(
    "line",
    [
        "Vorabversion - noch nicht verbindlich",
        "Testdatensatz - bitte nicht verarbeiten",
        "Entwurfsfassung",
        "Exemplar zur Gegenzeichnung",
        "Fassung 3 mit Anmerkungen der Rechtsabteilung",
        "Fehldruck",
        "Historisch",
        "Vertragsvorschlag",
        "Training copy",
        "Not a contract",
        "Order summary - not placed",
        "Former agreement",
        "Freibleibend",
        "Gesprächsnotiz",
        "What you would get",
    ],
)
def test_a_line_by_itself_names_the_state(line: str) -> None:
    assert "NOT_A_CONTRACT" in codes(LETTER.format(head=line, tail=""), "energy")


@pytest.mark.parametrize(
    "sentence",
    [
        "Handschriftlicher Vermerk: Kunde ist vom Vertrag zurückgetreten.",
        "Widerruf eingegangen am 03.03.2026",
        "Die Bonitätsprüfung steht noch aus.",
        "Stand: Verhandlung, Preise noch offen.",
        "Unter dem Vorbehalt der Zustimmung des Aufsichtsrats.",
        "Bitte senden Sie uns Ihre Änderungswünsche bis Freitag zu.",
        "Customer cancelled within the cooling-off period.",
        "Order declined by credit check.",
        "This document is for information and does not constitute an agreement.",
        "Your application is being reviewed; we will let you know whether we can accept it.",
        "Agreement status: awaiting activation",
        "Seit Ihrem Wechsel im Oktober telefonieren Sie zu den Bedingungen des neuen Tarifs.",
        "Bitte vernichten Sie dieses Schreiben.",
        "Please disregard this letter, it went out too soon.",
        "Mittlerweile beziehen Sie Strom in einem anderen Tarif.",
        "Since your move in October you have been on another plan.",
        "You have since switched to a new tariff.",
    ],
)
def test_a_sentence_says_that_it_is_not_in_force(sentence: str) -> None:
    assert "NOT_A_CONTRACT" in codes(LETTER.format(head="", tail=sentence), "energy")


@pytest.mark.parametrize(
    "sentence",
    [
        "Sie haben uns verraten, dass Sie lieber verzichten.",
        "Ein Vertragsschluss ist damit nicht verbunden.",
    ],
)
def test_what_is_not_understood_waits(sentence: str) -> None:
    assert "NOT_UNDERSTOOD" in codes(LETTER.format(head="", tail=sentence), "energy")


def test_a_line_for_the_signature_of_the_customer_is_empty() -> None:
    line = "Unterschrift Kunde: ______________    Datum: ______________"
    assert codes(LETTER.format(head="", tail=line), "energy") == ["NOT_SIGNED"]
    assert codes(LETTER.format(head="", tail="______________\nLichtBlick SE"), "energy") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir haben Ihren Auftrag angenommen.",
        "Ihr Anschluss wird am 19.03.2026 geschaltet.",
        "Wir haben Ihren bisherigen Anbieter informiert, Ihr alter Vertrag ist gekündigt.",
        "Wird der Vertrag nicht gekündigt, verlängert er sich, sofern nichts anderes vereinbart ist.",
        "Bitte unterschreiben Sie das SEPA-Lastschriftmandat und senden Sie es an uns.",
        "Muster-Widerrufsformular",
        "Willkommen in Ihrem neuen Tarif!",
        "Thank you for choosing a new tariff.",
        "We may record calls for training.",
        "If the contract is cancelled, you can claim a refund.",
        "Thank you for switching to us. Please keep this letter somewhere safe.",
    ],
)
def test_ordinary_sentences_of_letters_pass(sentence: str) -> None:
    assert codes(LETTER.format(head="", tail=sentence), "energy") == []


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("Discussion version of 4 February 2025", ""),
        ("EXHIBIT A: FORM OF NDA", ""),
        ("Halden's comments of 2/20/25 are marked; Brightwater to revert.", ""),
        ("Working copy - not for execution", ""),
        ("[Open point: term to be discussed]", ""),
        ("", "This Agreement has not been signed by Brightwater."),
        ("", "Signature of Brightwater pending."),
        ("", "The parties intend to sign this Agreement once the board has approved it."),
        ("", "Mutually rescinded, see letter of July 8, 2025."),
    ],
)
def test_of_an_agreement_what_stands_above_and_below_is_read(head: str, tail: str) -> None:
    assert codes(AGREEMENT.format(head=head, tail=tail), "general") == ["NOT_A_CONTRACT"]


def test_the_clauses_of_an_agreement_may_speak_of_every_state() -> None:
    assert codes(AGREEMENT.format(head="", tail="Name: Maria Hald"), "general") == []


def remarks(below: str) -> list[object]:
    """The codes of remarks in an agreement with these lines below its last signature."""
    document = text_document(AGREEMENT.format(head="", tail=below))
    found = remark_flags(document, RULES.verticals["general"], RULES)
    return [flag["code"] for flag in found if isinstance(flag, dict)]


@pytest.mark.parametrize(
    "below",
    [
        "Jessop's lawyers are looking at clause 1. Circulated so that both sides can see where we have got to.",
        "\nThe other side wants five years here, and we have told them why we think three will do.",
        "Name: Maria Hald\nTitle: CEO\nSigned copies are with the lawyers of the buyer.",
        "Halden Robotics, Inc.\n\nMaria rang on Monday and is no more sure about the whole thing.",
        "Die Kollegen aus dem Einkauf sehen sich das noch einmal an.",
        "Gez. M. Hald\n\nSo hat es uns die Gegenseite geschickt, wir warten auf den Anruf.",
    ],
)
def test_a_remark_below_the_signatures_waits(below: str) -> None:
    assert remarks(below) == ["NOT_UNDERSTOOD"]


@pytest.mark.parametrize(
    "below",
    [
        "",
        "Name: Maria Hald\nTitle: President and Chief Executive Officer\nDate: March 3, 2025\n\n- 4 -",
        "Signed for and on behalf of Brightwater Analytics LLC\n\n[Signature Page to Non-Disclosure Agreement]",
        "Name: Hald\n500 North 3d Street, Suite 12\nFairfield, IA 52556\nAttn: General Counsel",
        "Name: Hald\nIn the presence of the witness who is named here: Jo Byrne",
        "Ort, Datum: Bremen, den 3. März 2025\nMaria Hald, Geschäftsführerin der Halden Robotics GmbH",
        "Name: Hald\n\nSCHEDULE 1\nThe information that is disclosed concerns the pumps of the buyer.",
        "Name: Hald\n\nAnlage 1: Projekt\nDie Pumpen werden in der Halle geprüft und dann wieder abgebaut.",
    ],
)
def test_names_addresses_and_schedules_are_no_remark(below: str) -> None:
    assert remarks(below) == []


def test_a_letter_has_no_signatures_to_stand_below() -> None:
    text = AGREEMENT.format(head="", tail="Maria rang on Monday and is no more sure about it.")
    assert not list(remark_flags(text_document(text), RULES.verticals["energy"], RULES))


def test_a_remark_below_the_signatures_is_a_flag_of_the_document() -> None:
    text = AGREEMENT.format(head="", tail="Maria rang on Monday and sounds less sure about it.")
    assert flags(extracted(text, "general")) == ["NOT_UNDERSTOOD"]


@pytest.mark.parametrize(
    "sentence",
    [
        "The customer exercises the right to cancel.",
        "You exercised your right of withdrawal on 3 May.",
        "Der Kunde übt sein Widerrufsrecht aus.",
        "Kunde macht vom Widerrufsrecht Gebrauch.",
        "Please check the price.",
        "Bitte Preis prüfen.",
        "Zustand: beendet.",
        "Type: trial.",
    ],
)
def test_a_used_right_a_price_in_doubt_and_a_state_behind_a_label_wait(sentence: str) -> None:
    assert codes(LETTER.format(head="", tail=sentence), "energy") != []


@pytest.mark.parametrize(
    "sentence",
    [
        "If you exercise your right to cancel, we refund all payments.",
        "Wenn der Kunde sein Widerrufsrecht ausübt, erstatten wir alle Zahlungen.",
        "Bitte prüfen Sie Ihre Angaben.",
    ],
)
def test_a_right_that_may_be_used_is_ordinary(sentence: str) -> None:
    assert codes(LETTER.format(head="", tail=sentence), "energy") == []


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("ENTWURF", True),
        ("Vorabzug des Vertragsentwurfs", True),
        ("In Klärung", True),
        ("IN KLÄRUNG", True),
        ("\N{LATIN SMALL LETTER DOTLESS I}n Klärung", True),  # as poor scans have it
        ("İN KLÄRUNG", True),
        ("in Klärungen", False),
        ("Straßenentwürfe", False),
        ("zur Durch\N{LATIN SMALL LETTER LONG S}icht", True),
        ("Bestätigung", False),
    ],
)
def test_words_are_found_in_lower_case_as_without_regard_to_case(text: str, is_one: bool) -> None:
    words = ["*entwurf*", "in {klärung|Prüfung}", "zur {ansicht|durchsicht}"]

    assert bool(family(words).search(text)) is is_one
    assert bool(small_family(words).search(in_lower_case(text))) is is_one
