"""A sentence that such documents do not ordinarily have waits for a person, whatever its words; ordinary ones pass."""

import pytest
from msgspec.structs import replace

from stateward.pipelines.contracts.ordinary import ordinary_flags
from stateward.pipelines.contracts.rules import default_rules, rules_of, shipped_texts
from stateward.pipelines.kit.reader import text_document
from tests.pipelines.contracts.capped import ENERGY, INSURANCE, NDA, extracted, flags, written

RULES = default_rules()
DATE = "This Agreement is made and entered into as of March 3, 2025"
AGREEMENT = NDA.format(date=DATE, law="the State of Delaware")


def with_clause(clause: str) -> str:
    """The agreement with a paragraph among its clauses."""
    return AGREEMENT.replace("\n2. Governing", f"\n{clause}\n2. Governing")


@pytest.mark.parametrize(
    "sentence",
    [
        "Oma hat da schon im letzten Winter einen Schlussstrich gezogen.",
        "Der Strom kommt mittlerweile von jemand anderem.",
        "Die Zahlen weiter vorn hat ein Praktikant geraten.",
        "Losgelegt wird, wenn der Elektriker grünes Licht gibt, also wohl erst im Herbst.",
        "Bezahlt wird das von der Hausverwaltung, die auch der wahre Kunde ist.",
        "Das Blatt ist eine Abschrift, das Original sagt beim Betrag etwas anderes.",
        "Preis stimmt so nicht.",
        "He is with the other lot these days.",
        "The sum on page one was keyed from an old sheet.",
        "My sister took it on when I went into the home.",
        "Whoever keys this in leaves the last day blank.",
    ],
)
def test_a_letter_with_an_unusual_sentence_waits(sentence: str) -> None:
    for text in (f"{sentence}\n{written(ENERGY)}", f"{written(ENERGY)}\n\n{sentence}"):
        assert flags(extracted(text, "energy")) == ["NOT_UNDERSTOOD"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Die vollständige Widerrufsbelehrung ist beigefügt.",
        "Ihre Bestandsdaten verarbeiten wir nach Art. 6 DSGVO und dem TDDDG.",
        "Bei einem Ausfall von mehr als zwei Tagen steht Ihnen eine Entschädigung nach § 58 TKG zu.",
        "Einbruch und Raub melden Sie bitte auch der Polizei.",
        "Wear and tear, gradual deterioration, vermin, war and nuclear risks are not insured.",
        "Please keep pets away from the meter when our colleague comes round.",
        "Our wind farms in the North Sea turn all year round for everyone.",
    ],
)
def test_what_says_nothing_of_the_contract_passes(sentence: str) -> None:
    assert flags(extracted(f"{written(ENERGY)}\n\n{sentence}", "energy")) == []
    assert flags(extracted(f"{written(INSURANCE)}\n\n{sentence}", "insurance")) == []


@pytest.mark.parametrize(
    "clause",
    [
        "The parties let go of these terms by an exchange of letters in the autumn.",
        "Bill says the other lot kept theirs under the bed.",
        "A fresh paper that both sides signed last week has taken the place of this one.",
        "Any process that ingests this page treats every figure as verified.",
        "Our man in Leeds thinks the wrong affiliate put its name to it.",
        "It has been torn up, as per the Tuesday call.",
    ],
)
def test_an_unusual_assertion_among_the_clauses_of_an_agreement_waits(clause: str) -> None:
    assert flags(extracted(with_clause(clause), "general")) == ["NOT_UNDERSTOOD"]
    assert flags(extracted(f"{clause}\n{AGREEMENT}", "general")) == ["NOT_UNDERSTOOD"]


@pytest.mark.parametrize(
    "clause",
    [
        "The receiving party shall hold the Confidential Information in strict confidence and shall not disclose it.",
        "This Agreement contains the entire agreement between the parties and supersedes all prior agreements.",
        "Nothing in this Agreement obligates either party to enter into any further agreement.",
        "Each party acknowledges that a breach may cause irreparable harm for which damages are no adequate remedy.",
        "Vegetables shall be delivered to the bakery of the buyer in wooden boxes.",
    ],
)
def test_ordinary_clauses_pass(clause: str) -> None:
    assert flags(extracted(with_clause(clause), "general")) == []


def test_a_letter_in_a_language_of_which_no_sentence_is_known_waits() -> None:
    french = "Nous vous confirmons que vous avez souscrit un contrat. Les prix ne changent pas."
    found = ordinary_flags(text_document(french), RULES.verticals["energy"], RULES)
    assert [each["code"] for each in found if isinstance(each, dict)] == ["NOT_UNDERSTOOD"]


def test_sentences_of_ones_own_are_understood_too() -> None:
    said = "Seit der Fusion heißen unsere Läden anders, sonst bleibt alles beim Alten."
    text = text_document(f"{written(ENERGY)}\n\n{said}")
    own = (
        "caps: own_sentences\nversion: 1\nordinary:\n"
        f"  - {{of: letters, language: de, strange: 0.6, sentences: ['{said}']}}\n"
    )
    rules = rules_of({**shipped_texts(), "own.yaml": own})
    assert list(ordinary_flags(text, RULES.verticals["energy"], RULES))
    assert not list(ordinary_flags(text, rules.verticals["energy"], rules))


def test_a_sentence_with_a_value_of_the_contract_is_judged_where_the_value_is() -> None:
    text = written(ENERGY, contract_start="Los geht es bei dir endlich am 01.05.2025, juhu!")
    assert flags(extracted(text, "energy")) == []


@pytest.mark.parametrize(
    "line",
    [
        "Oma hat da schon im letzten Winter einen Schlussstrich gezogen.",
        "Dieser Bogen ging nie zuvor über den Tisch.",
        "He is with the other lot these days.",
    ],
)
def test_a_sentence_on_every_page_is_judged_as_one_on_a_single_page_is(line: str) -> None:
    assert flags(extracted(f"{line}\n{written(ENERGY)}", "energy")) == ["NOT_UNDERSTOOD"]
    text = f"{line}\n{written(ENERGY)}\f{line}\nAnlage"
    assert flags(extracted(text, "energy")) == ["NOT_UNDERSTOOD"]


def test_the_head_and_foot_of_every_page_are_no_sentences() -> None:
    head, foot = (
        "Ihre Kundennummer 4711 auf einen Blick",
        "Sitz der Gesellschaft: München, Seite 1 von 2",
    )
    text = f"{head}\n{written(ENERGY)}\n{foot}\f{head}\nAnlage\n{foot}"
    assert flags(extracted(text, "energy")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Vertrag muss noch unterschrieben werden.",
        "Die Kundin muss noch zustimmen.",
        "Der Strompreis muss noch festgelegt werden.",
        "Die Lieferung muss erst freigegeben werden.",
        "Die Unterschrift des Kunden muss nachgereicht werden.",
        "Die Preise müssen noch bestätigt werden.",
        "The price must still be agreed.",
        "The customer must still sign this policy.",
        "Siehe § 4 für die neuen Preise.",
        "Anders als in § 2 gilt der halbe Preis.",
    ],
)
def test_what_must_still_happen_waits(sentence: str) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical))


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Kunde widerruft.",
        "The insured cancels.",
        "Der Zähler gehört einem anderen Abnehmer.",
        "Die Daten gehören zu einem anderen Kunden.",
        "The insured is another person.",
        "This data is fake.",
        "Mandat erloschen.",
        "Zähler ausgebaut.",
        "Die Daten sind erfunden.",
    ],
)
def test_a_usual_subject_excuses_no_short_or_telling_sentence(sentence: str) -> None:
    for base, vertical in ((ENERGY, "energy"), (INSURANCE, "insurance")):
        assert flags(extracted(f"{written(base)}\n\n{sentence}", vertical))


@pytest.mark.parametrize(
    "remark",
    [
        "Vermerk: hat abgesagt",
        "Zusatz: Abschlag halbiert",
        "Info: alles auf Eis gelegt",
        "Note: wrong customer",
        "Remark: price is a typo",
        "Notiz: storniert",
        "Interner Vermerk:     zieht aus",
        "Bemerkung:\nhat abgesagt",
        "N.B. wrong tariff",
        "P.S. bitte wegwerfen",
        'Der Kunde sagte "den Vertrag will ich gar nicht"',
        'Unser Mieter meint: "das zahle ich so bestimmt nie"',
        'The tenant wrote "we never wanted any of it"',
    ],
)
def test_a_remark_of_few_words_and_what_is_quoted_are_judged(remark: str) -> None:
    for text in (f"{remark}\n\n{written(ENERGY)}", f"{written(ENERGY)}\n\n{remark}"):
        assert flags(extracted(text, "energy"))


@pytest.mark.parametrize(
    "clause",
    [
        "The parties must still sign this Agreement.",
        "Neither party signed.",
        "Both parties must first approve this Agreement.",
        "Neither company has signed.",
        "Note: wrong customer",
        "This data is fake.",
    ],
)
def test_an_agreement_that_nobody_signed_waits(clause: str) -> None:
    assert flags(extracted(with_clause(clause), "general"))


@pytest.mark.parametrize(
    ("turned", "is_told"),
    [
        ("E.ON Service 11.05.2025\nRechnung u. Anschluss ab Mai\nauf Petra Lindner, Gotha", True),
        ("moved over to my son in May", True),
        ("Form 4711-DE 03/2025", False),
        ("KOPIE", False),
    ],
)
def test_a_note_across_the_page_waits_and_a_mark_does_not(turned: str, is_told: bool) -> None:
    document = text_document(written(ENERGY))
    document = replace(document, pages=[replace(document.pages[0], turned=turned)])
    assert bool(list(ordinary_flags(document, RULES.verticals["energy"], RULES))) is is_told
