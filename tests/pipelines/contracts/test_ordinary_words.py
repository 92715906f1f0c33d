"""What names a paragraph, a month, a remark or a usual subject is judged by what it says, not by the word alone."""

import pytest

from stateward.pipelines.contracts.offline.vertical_detection import detect
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.kit.reader import text_document
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, NDA, extracted, flags, written

DATE = "This Agreement is made and entered into as of March 3, 2025"
AGREEMENT = NDA.format(date=DATE, law="the State of Delaware")


def with_clause(clause: str) -> str:
    return AGREEMENT.replace("\n2. Gov", f"\n{clause}\n2. Gov")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "sentence",
    [
        "Anders als in § 2 gilt der halbe Preis, also 20 EUR.",
        "Siehe § 4 für die neuen Preise der E.ON Energie Deutschland GmbH.",
        "Nach § 5 zahlt der Nachbar statt der Muster AG.",
        "§ 4 gilt nicht für die Muster GmbH.",
        "Der richtige Preis nach § 3 ist 40 EUR.",
        "The premium doubles in May.",
        "From May on the price doubles.",
        "Since 4 May the neighbour pays.",
        "On 4 May all of this ended.",
        "Vermerk: STORNIERT",
        "Notiz: Kündigung",
        "Vermerk (intern): storniert",
        "Vermerk vom 03.04.2026: storniert",
        "Kommentar: storniert",
        "Memo: storniert",
        "Status: abgelehnt",
        "Anm.: abgelehnt",
        "Note to file: wrong customer",
        "Bitte vernichten.",
        "Wird nachgereicht.",
        "Der Vertrag kann so nicht gelten.",
        "Bei uns ist niemand mit diesem Namen Kunde.",
        'Der Kunde meint "zahle ich nie".',
        "The meter belongs to the flat upstairs.",
        "We can keep all of this for you until 5 March.",
        "Kundenhinweis: storniert",
        "Fußnote: storniert",
        "Randnote: abgelehnt",
        "Zusatzinfo: storniert",
        "Kurzinfo: abgelehnt",
        "Prüfhinweis: falsch",
        "Footnote: void",
        "Sidenote: wrong insured",
        "Endnote: rejected",
        "Vertragsstatus: gekündigt",
        "Status\tgekündigt",
        "Vermerk - abgelehnt",
        "Vermerk von Frau Meier: storniert",
        "Anmerkung des Sachbearbeiters: gilt nicht",
        "Stempel: storniert",
        "Freigabe: nein",
        "Unterschrieben: nein",
        "Unterschrift: fehlt",
        "Signed: no",
        "In force: no",
        "Decision: declined",
        "Status: nicht aktiv",
        "Falscher Kunde.",
        "Falscher Preis!",
        "Alles Quatsch.",
        "Nur Spaß.",
        "Vermerk: falscher Kunde",
        "Kommentar: neuer Preis",
        "Ihre Daten sind falsch.",
        "Ihre Daten sind nicht sicher.",
        "Sie müssen nichts zahlen.",
        "Der Abschlag bleibt frei.",
        "Der Preis bleibt frei.",
        "Vermerk: 3 Monate frei",
        "Your data is wrong.",
        "Your data is invented.",
        "Premiums must be paid twice.",
        "Premiums must be paid by the tenant.",
        "Premiums must be paid in Swiss francs.",
        "Premiums must be waived.",
        "This page is wrong.",
        "Der Widerruf liegt uns vor.",
        "Wir bestätigen den Widerruf.",
        "We withdraw.",
        "We withdraw this.",
        "Bitte Daten korrigieren.",
        "Wir buchen den Zähler um.",
    ],
)
def test_a_letter_with_such_a_sentence_waits(sentence: str) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical))


@pytest.mark.parametrize(
    "sentence",
    [
        "Bei einem Ausfall steht Ihnen eine Entschädigung nach § 58 Abs. 3 TKG zu.",
        "Ihre Daten behandeln wir vertraulich.",
        "Wir lesen den Zähler ab.",
        "Störungen beheben wir sofort.",
        "Bitte Zählerstand mitteilen.",
        "Your data is safe.",
        "Report a loss immediately.",
        "Sie müssen nichts weiter tun.",
        "Premiums must be paid in advance.",
        "Produktinfo: Strom aus erneuerbaren Quellen",
        "Fortsetzung auf der nächsten Seite",
        "This page is left blank intentionally.",
        "Status: aktiv",
        "Alles Gute!",
        "Vielen Dank!",
    ],
)
def test_a_letter_with_an_ordinary_one_does_not(sentence: str) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical)) == []


@pytest.mark.parametrize(
    "clause",
    [
        "Nobody signed.",
        "No party has signed this.",
        "Neither Harrow nor Bexley signed.",
        "The parties must sign this Agreement first.",
        "Bexley has never signed this.",
        "The parties must first sign online.",
        "Bexley must first sign and register it.",
        "Harrow must still sign through its employee.",
        "A third party must first approve this Agreement.",
        "The employees of Bexley must first approve this Agreement.",
    ],
)
def test_an_agreement_that_was_not_signed_waits(clause: str) -> None:
    assert flags(extracted(with_clause(clause), "general")) == ["NOT_A_CONTRACT"]


@pytest.mark.parametrize(
    "clause",
    [
        "Any assignee must first agree in writing to be bound by this Agreement.",
        "Employees must first agree in writing to obligations of confidentiality.",
        "IN WITNESS WHEREOF, the parties have signed this Agreement as of the date first above written.",
        "Signed by the parties on the date first above written.",
        "This Agreement is effective when first signed by both parties.",
        "Neither party is bound by any amendment that is not in writing and signed by both parties.",
        "Neither this Agreement nor any of its terms is modified except by a writing signed by both parties.",
        "The Recipient must first obtain a signed undertaking from its advisers.",
    ],
)
def test_a_usual_clause_of_signing_is_no_missing_signature(clause: str) -> None:
    assert flags(extracted(with_clause(clause), "general")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Kooperationsvertrag\nWeserkai Marketing GmbH\tLumen Design GmbH\nDie Parteien richten ein Fest aus. Die "
        "Parteien teilen die Kosten. Die Parteien halten eine Versicherung mit einer Deckungssumme von 5 Mio. EUR.",
        "Services agreement between Larkhill Water Services plc and Ironbridge Consulting Limited. The consultant "
        "keeps indemnity insurance, reads each meter and looks after the network and the supply.",
    ],
)
def test_an_agreement_of_two_companies_is_none_of_insurance_or_energy(text: str) -> None:
    assert detect(text_document(text), default_rules())[0] == "general"


def test_a_policy_that_names_two_companies_stays_one_of_insurance() -> None:
    text = f"{written(INSURANCE)}\nThe insurer and the reinsurer Alpha Re plc are parties to no other policy."
    assert detect(text_document(text), default_rules())[0] == "insurance"
