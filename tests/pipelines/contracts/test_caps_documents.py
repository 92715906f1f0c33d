"""What a document says of itself in a sentence or a heading: it ended, changes another one, or is none at all."""

import pytest

from stateward.pipelines.contracts.validation import validate_extraction
from tests.pipelines.contracts.capped import (
    ENERGY,
    INSURANCE,
    NDA,
    RULES,
    extracted,
    flags,
    written,
)

PLAIN_NDA = NDA.format(
    date="This Agreement is made and entered into as of March 3, 2025",
    law="the State of Delaware",
)


def is_german(sentence: str) -> bool:
    words = "der die das dass den ist sind sie ihr ihre ihren wir uns ihnen bis ablage vertrag vertrags anlage"
    return bool(set(words.split()) & set(sentence.lower().replace(".", " ").split()))


def with_sentence(sentence: str) -> tuple[str, str]:
    if is_german(sentence):
        return written(ENERGY, letter=f"\n{sentence}\n"), "energy"
    return written(INSURANCE, letter=f"\n{sentence}\n"), "insurance"


@pytest.mark.parametrize(
    "sentence",
    [
        "You asked us to stop your service, and we have. These were the details of your contract.",
        "We are sorry to see you leave. Your service has now stopped.",
        "As requested, we have closed your account.",
        "Your cover has come to an end.",
        "You are leaving us. For your files, here is the contract you had.",
        "This policy lapsed, as we wrote to you.",
        "This contract is no longer in force.",
        "This letter was sent to you by mistake.",
        "We could not accept your application.",
        "This contract has been replaced by contract 4711.",
        "The parties signed a new agreement on January 12, 2026.",
        "Nothing on this page applies any longer.",
        "On 1 July 2026 all rights and obligations under this policy pass to Allianz Insurance plc.",
        "Alle Rechte und Pflichten gehen zum 1. Juli auf die Allianz über, und sie wird dann Ihr neuer Versicherer.",
        "We keep this for the archive only.",
        "Sie haben einen neuen Vertrag abgeschlossen.",
        "Wir bewahren dies nur für unser Archiv auf.",
        "Sie wollten nicht mehr von uns versorgt werden. Dies waren Ihre Vertragsdaten.",
        "Schade, dass Sie uns verlassen.",
        "Auf Ihren Wunsch haben wir die Belieferung eingestellt.",
        "Wir haben Ihren Wunsch, den Vertrag zu beenden, umgesetzt.",
        "Damit ist Ihr Vertrag bei uns erledigt.",
        "Der Vertrag besteht nicht mehr.",
        "Bitte betrachten Sie dieses Schreiben als gegenstandslos.",
        "Ihren Antrag konnten wir leider nicht annehmen.",
        "Dieser Vertrag wurde durch Vertrag 4711 ersetzt.",
        "Der Vertrag wird angefochten.",
    ],
)
def test_a_sentence_that_the_contract_ended_or_was_taken_back_keeps_it_from_approval(
    sentence: str,
) -> None:
    found = extracted(*with_sentence(sentence))

    assert "NOT_A_CONTRACT" in flags(found)
    assert not validate_extraction(found, RULES).accepted


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("Alle Namen und Zahlen sind frei erfunden, auch die Preise.", "NOT_A_CONTRACT"),
        ("Die Angaben sind Beispiele.", "NOT_A_CONTRACT"),
        ("All names and figures are fictitious.", "NOT_A_CONTRACT"),
        ("The figures shown are examples.", "NOT_A_CONTRACT"),
        ("Der Vertrag kommt mit Ihrer Annahme zustande.", "NOT_A_CONTRACT"),
        ("Bitte senden Sie uns dieses Dokument unterschrieben zurück.", "NOT_A_CONTRACT"),
        ("Please sign and return this document to accept.", "NOT_A_CONTRACT"),
        ("This price is held for you until further notice.", "NOT_A_CONTRACT"),
        ("Wir passen Ihre Preise an.", "NOT_A_CONTRACT"),
        ("We are writing to tell you about a change to your price.", "NOT_A_CONTRACT"),
        ("Dies ist eine Übersetzung, verbindlich ist der englische Text.", "NOT_A_CONTRACT"),
        ("This is a translation; the German text is binding.", "NOT_A_CONTRACT"),
        ("Sie haben diesen Vertrag von Frau Müller übernommen.", "OTHER_HOLDER"),
        ("Neuer Vertragsinhaber ist Herr Peter Schulz.", "OTHER_HOLDER"),
        ("The account holder is now Ms Jane Smith.", "OTHER_HOLDER"),
        ("You have taken over this contract from Mr Brown.", "OTHER_HOLDER"),
        ("Wir beliefern Sie, sobald Ihr bisheriger Lieferant Sie freigibt.", "NOT_FIXED"),
        ("Den endgültigen Lieferbeginn teilen wir Ihnen gesondert mit.", "NOT_FIXED"),
        ("Voraussetzung für den Start ist die Bestätigung des Netzbetreibers.", "NOT_FIXED"),
        ("Your supply will start once your current supplier releases you.", "NOT_FIXED"),
        ("This date is subject to your current provider letting you go.", "NOT_FIXED"),
        ("We will confirm the actual start date later.", "NOT_FIXED"),
    ],
)
def test_a_sentence_about_the_whole_document_is_flagged(sentence: str, code: str) -> None:
    assert code in flags(extracted(*with_sentence(sentence)))


@pytest.mark.parametrize(
    "sentence",
    [
        "Sie haben das Recht, binnen vierzehn Tagen diesen Vertrag zu widerrufen.",
        "Wenn der Vertrag beendet ist, rechnen wir ab.",
        "Ändern wir die Preise, haben Sie das Recht, den Vertrag zu kündigen.",
        "Der Vertrag kann jederzeit beendet werden.",
        "Wir haben Ihren Vertrag beim bisherigen Anbieter gekündigt.",
        "If your cover has ended, you are not insured.",
        "You may cancel once the policy has lapsed.",
        "Notice to cancel is given in writing.",
        "Die Versicherung gilt in ganz Europa.",
    ],
)
def test_a_right_or_a_condition_is_no_flag(sentence: str) -> None:
    assert flags(extracted(*with_sentence(sentence))) == []


@pytest.mark.parametrize(
    "heading",
    [
        "FIRST AMENDMENT TO NON-DISCLOSURE AGREEMENT",
        "Amendment No. 2",
        "SIDE LETTER",
        "NOVATION AGREEMENT",
        "Deed of Variation",
        "Letter of Renewal",
        "EXTENSION AGREEMENT",
        "Addendum to the Mutual Non-Disclosure Agreement",
    ],
)
def test_an_amendment_of_an_agreement_waits(heading: str) -> None:
    found = extracted(PLAIN_NDA.replace("MUTUAL NON-DISCLOSURE AGREEMENT", heading), "general")

    assert "AMENDMENT" in flags(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "This Agreement amends the Non-Disclosure Agreement between the parties of 2023.",
        "The existing agreement between the parties is renewed on the terms below.",
        "All other terms of the original agreement remain unchanged.",
        "The parties signed an agreement in 2021 and wish to extend it.",
    ],
)
def test_a_sentence_tells_an_amendment(sentence: str) -> None:
    text = PLAIN_NDA.replace("1. Term.", f"1. Background. {sentence}\n2. Term.")

    assert flags(extracted(PLAIN_NDA, "general")) == []
    assert "AMENDMENT" in flags(extracted(text, "general"))


@pytest.mark.parametrize(
    ("heading", "base", "vertical"),
    [
        ("1. Nachtrag", ENERGY, "energy"),
        ("Änderungsvereinbarung", ENERGY, "energy"),
        ("Vertragsverlängerung", ENERGY, "energy"),
        ("Zählerstandsmitteilung", ENERGY, "energy"),
        ("Letzte Mahnung", ENERGY, "energy"),
        ("Your renewal", INSURANCE, "insurance"),
        ("Endorsement to policy", INSURANCE, "insurance"),
        ("Changes to your contract", INSURANCE, "insurance"),
    ],
)
def test_a_heading_of_a_change_of_a_contract_waits(
    heading: str, base: dict[str, str], vertical: str
) -> None:
    company = base["head"].partition("\n")[0]
    found = extracted(written(base, head=f"{company}\n\n{heading}"), vertical)

    assert "AMENDMENT" in flags(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "Für Ihre Belieferung bieten wir Ihnen die folgenden Konditionen an.",
        "Wir bieten Ihnen den Tarif zu diesen Preisen an.",
        "Wir freuen uns, Ihnen den Stromtarif anbieten zu können.",
        "Gerne unterbreiten wir Ihnen die Werte für die Stromlieferung.",
        "Wir danken für Ihr Interesse an unserem Strom.",
        "Gern würden wir Sie als Kundin begrüßen.",
        "We are pleased to offer you the following cover.",
        "We propose to insure you at this premium.",
        "Thank you for your interest in our travel insurance.",
        "This is what you would pay.",
    ],
)
def test_a_soft_offer_is_no_contract(sentence: str) -> None:
    assert "NOT_A_CONTRACT" in flags(extracted(*with_sentence(sentence)))


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir bieten Ihnen auch einen Online-Service an.",
        "Sie haben Fragen, und wir sind gern für Sie da.",
        "We offer help to those who cannot pay.",
    ],
)
def test_what_a_company_offers_beside_the_contract_changes_nothing(sentence: str) -> None:
    assert flags(extracted(*with_sentence(sentence))) == []


@pytest.mark.parametrize(
    ("foot", "is_missing"),
    [
        ("Seite 1 von 3\nHinweise\nSeite 2 von 3", True),
        ("Page 1 of 2", True),
        ("Seite 1 von 2\nHinweise\nSeite 2 von 2", False),
        ("Seite 1 von 1\nHinweise\nSeite 1 von 1", False),
    ],
)
def test_a_contract_of_which_a_counted_page_is_missing_waits(
    foot: str, *, is_missing: bool
) -> None:
    found = extracted(written(ENERGY, letter=f"\n{foot}\n"), "energy")

    assert ("PAGES_MISSING" in flags(found)) == is_missing


@pytest.mark.parametrize(
    "line",
    [
        "Vers. 3 - comments of 11 February not yet reflected, for discussion with counterparty",
        "Version 2, mark-up by counsel",
    ],
)
def test_a_line_above_the_title_that_shows_a_draft_keeps_an_agreement_waiting(line: str) -> None:
    found = extracted(f"{line}\n\n{PLAIN_NDA}", "general")

    assert "NOT_A_CONTRACT" in flags(found)


@pytest.mark.parametrize(
    "notice", ["Cancellation period: 14 days", "Notice period for cancellation: 7 days"]
)
def test_a_period_of_notice_is_not_the_term_of_an_insurance(notice: str) -> None:
    found = extracted(written(INSURANCE, letter=f"\n{notice}\n"), "insurance")

    (end,) = [each for each in found.found if each.field == "contract_end"]
    assert "apart" not in str(end)
