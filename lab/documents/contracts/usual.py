"""The usual maker: forms, letters, tables and prose with many synonyms, other things among them."""

import random

from lab.documents.contracts.blocks import (
    Block,
    Break,
    Columns,
    Heading,
    Lines,
    Pairs,
    Prose,
    Table,
)
from lab.documents.contracts.facts import Facts
from lab.documents.contracts.printing import Printer

LABELS = {
    "de": {
        "provider": ["Anbieter", "Vertragspartner", "Lieferant", "Versorger", "Ihr Anbieter"],
        "insurer": ["Versicherer", "Versicherungsgesellschaft", "Ihr Versicherer", "Risikoträger", "Anbieter"],
        "tariff_name": ["Tarif", "Tarifname", "Ihr Tarif", "Produkt", "Tarifbezeichnung", "Gewählter Tarif"],
        "plan_name": ["Tarif", "Tarifname", "Ihr Tarif", "Mobilfunktarif", "Produkt", "Gebuchter Tarif"],
        "policy_type": ["Versicherungsart", "Sparte", "Art der Versicherung", "Produkt", "Versicherungssparte"],
        "energy_rate": ["Monatlicher Abschlag", "Abschlag", "Monatliche Rate", "Monatsbetrag", "Abschlagszahlung monatlich", "Monatliche Kosten"],
        "telco_rate": ["Monatlicher Grundpreis", "Monatspreis", "Grundgebühr", "Monatliche Kosten", "Preis pro Monat", "Monatliches Entgelt"],
        "monthly_premium": ["Monatsbeitrag", "Monatlicher Beitrag", "Beitrag monatlich", "Monatsprämie", "Monatliche Prämie", "Beitrag pro Monat"],
        "contract_start": ["Vertragsbeginn", "Beginn", "Laufzeitbeginn", "Vertragsstart", "Startdatum", "Gültig ab", "Beginn der Laufzeit"],
        "contract_end": ["Vertragsende", "Ende", "Laufzeitende", "Ablauf", "Enddatum", "Gültig bis", "Ende der Laufzeit"],
        "insured_from": ["Versicherungsbeginn", "Beginn", "Beginn der Versicherung", "Vertragsbeginn", "Versicherungsschutz ab"],
        "insured_to": ["Versicherungsende", "Ablauf", "Ende der Versicherung", "Vertragsende", "Versicherungsschutz bis"],
        "kwh_price": ["Arbeitspreis", "Verbrauchspreis", "Preis pro kWh", "Arbeitspreis (brutto)", "Energiepreis", "Arbeitspreis je kWh"],
        "cancellation_period": ["Kündigungsfrist", "Frist zur Kündigung", "Kündigungsfrist zum Vertragsende", "Kündigung"],
        "data_volume": ["Datenvolumen", "Inklusivvolumen", "Highspeed-Volumen", "Monatliches Datenvolumen", "Datenvolumen pro Monat"],
        "coverage_amount": ["Versicherungssumme", "Deckungssumme", "Deckungshöhe", "Versicherte Summe", "Höchstentschädigung"],
        "deductible": ["Selbstbeteiligung", "Selbstbehalt", "Selbstbeteiligung je Schadenfall", "Eigenanteil"],
    },
    "en": {
        "provider": ["Provider", "Supplier", "Your provider", "Contracting party", "Service provider"],
        "insurer": ["Insurer", "Insurance company", "Underwritten by", "Provider"],
        "tariff_name": ["Tariff", "Tariff name", "Your tariff", "Product", "Plan"],
        "plan_name": ["Plan", "Plan name", "Tariff", "Your plan", "Price plan", "Package"],
        "policy_type": ["Policy type", "Type of insurance", "Type of cover", "Class of insurance", "Product"],
        "energy_rate": ["Monthly payment", "Monthly instalment", "Monthly rate", "Monthly amount", "Direct debit amount"],
        "telco_rate": ["Monthly charge", "Monthly fee", "Monthly price", "Monthly rate", "Price per month", "Line rental"],
        "monthly_premium": ["Monthly premium", "Premium per month", "Your monthly premium", "Premium (monthly)"],
        "contract_start": ["Contract start", "Start date", "Commencement date", "Start of contract", "Effective date", "Valid from"],
        "contract_end": ["Contract end", "End date", "Expiry date", "End of contract", "Contract end date", "Valid until"],
        "insured_from": ["Policy start", "Inception date", "Cover starts", "Commencement date", "Start date"],
        "insured_to": ["Policy end", "Expiry date", "Cover ends", "End date", "End of cover"],
        "kwh_price": ["Unit rate", "Unit price", "Energy price", "Price per kWh", "Energy charge"],
        "cancellation_period": ["Notice period", "Cancellation period", "Period of notice", "Termination notice"],
        "data_volume": ["Data allowance", "Included data", "Data volume", "Monthly data", "High-speed data"],
        "coverage_amount": ["Sum insured", "Coverage amount", "Limit of indemnity", "Amount insured", "Cover limit"],
        "deductible": ["Deductible", "Excess", "Policy excess", "Deductible per claim"],
    },
}  # fmt: skip
ROLES = {
    ("insurance", "provider"): "insurer", ("energy", "monthly_rate"): "energy_rate", ("telco", "monthly_rate"): "telco_rate",
    ("insurance", "contract_start"): "insured_from", ("insurance", "contract_end"): "insured_to",
}  # fmt: skip
ORDER = {
    "energy": ["provider", "tariff_name", "contract_start", "contract_end", "monthly_rate", "kwh_price", "cancellation_period"],
    "telco": ["provider", "plan_name", "contract_start", "contract_end", "monthly_rate", "data_volume", "cancellation_period"],
    "insurance": ["provider", "policy_type", "contract_start", "contract_end", "monthly_premium", "coverage_amount", "deductible"],
}  # fmt: skip
TITLES = {
    "de": {"energy": ["Stromliefervertrag", "Auftragsbestätigung Energielieferung", "Vertragsübersicht Strom"],
           "telco": ["Mobilfunkvertrag", "Auftragsbestätigung Mobilfunk", "Vertragsübersicht"],
           "insurance": ["Versicherungsschein", "Police", "Versicherungsbestätigung"]},
    "en": {"energy": ["Electricity Supply Agreement", "Energy Contract Summary"], "telco": ["Mobile Service Agreement", "Contract Summary"],
           "insurance": ["Policy Schedule", "Certificate of Insurance"]},
}  # fmt: skip
TERMS = {
    "de": [
        "§ 1 Vertragsgegenstand. Diese Bedingungen gelten für alle Verträge, die der Anbieter mit Verbrauchern schließt.",
        "§ 2 Preisänderungen. Der Anbieter teilt Preisänderungen mindestens sechs Wochen vor ihrem Wirksamwerden in Textform mit.",
        "§ 3 Zahlung. Rechnungen sind 14 Tage nach Zugang fällig. Für jede Mahnung werden 2,50 € berechnet.",
        "§ 4 Verlängerung. Der Vertrag verlängert sich jeweils um {renewal}, wenn er nicht rechtzeitig gekündigt wird.",
        "§ 5 Haftung. Bei einfacher Fahrlässigkeit ist die Haftung auf 5.000 Euro je Schadensfall begrenzt.",
        "§ 6 Widerruf. Sie können Ihre Vertragserklärung innerhalb von 14 Tagen ohne Angabe von Gründen widerrufen.",
        "Stand der Bedingungen: 01.01.2020",
    ],
    "en": [
        "1. Scope. These terms apply to every contract which the provider makes with a consumer.",
        "2. Price changes. The provider announces changes of prices at least six weeks before they take effect.",
        "3. Payment. Bills are due 14 days after receipt. A fee of EUR 2.50 is charged for each reminder.",
        "4. Renewal. The contract renews for {renewal} unless it is terminated in time.",
        "5. Liability. In cases of slight negligence liability is limited to EUR 5,000 per event.",
        "6. Withdrawal. You may withdraw from the contract within 14 days without giving any reason.",
        "Version of these terms: 2020-01-01",
    ],
}  # fmt: skip


def blocks(rng: random.Random, facts: Facts) -> tuple[list[Block], dict[str, str]]:
    """A contract in blocks, and what is true of it (a field that is not printed is not in the truth)."""
    printer = Printer(rng, facts.language)
    truth = dict(facts.fields)
    if rng.random() < 0.06:
        truth.pop(rng.choice(sorted(set(truth) - {"provider", "contract_start"})))
    maker = rng.choice([_form, _form, _table, _letter, _letter, _columns, _prose, _under])
    made = maker(rng, facts, printer, truth)
    if rng.random() < 0.6:
        renewal = printer.period(
            f"{facts.renewal_months} months" if facts.renewal_months > 1 else "1 month"
        )
        heading = {
            "de": ["Allgemeine Geschäftsbedingungen", "Allgemeine Vertragsbedingungen"],
            "en": ["General Terms and Conditions", "Terms and Conditions"],
        }
        made += [
            *([Break()] if rng.random() < 0.7 else []),
            Heading(rng.choice(heading[facts.language])),
        ]
        made += [Prose(text.format(renewal=renewal)) for text in TERMS[facts.language]]
    return made, truth


def pairs(
    rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]
) -> list[tuple[str, str]]:
    """Labels and printed values of all fields that are true, in their order, with other things among them."""
    found = [
        (
            rng.choice(LABELS[facts.language][ROLES.get((facts.vertical, name), name)]),
            printed(facts, printer, name, truth[name]),
        )
        for name in ORDER[facts.vertical]
        if name in truth
    ]
    for other in others(rng, facts, printer):
        found.insert(rng.randint(1, len(found)), other)
    return found


def printed(facts: Facts, printer: Printer, name: str, value: str) -> str:
    """A value as this contract prints it."""
    is_german = facts.language == "de"
    match name:
        case "provider":
            return facts.printed_provider
        case "contract_start" | "contract_end":
            return printer.date(value)
        case "monthly_rate" | "monthly_premium":
            tail = printer.rng.choice(
                ["", "", " / Monat", " monatlich", " (brutto)"]
                if is_german
                else ["", "", " per month", " monthly", " incl. VAT"]
            )
            return printer.amount(value) + tail
        case "kwh_price":
            return printer.price(value)
        case "cancellation_period":
            tail = printer.rng.choice(
                ["", "", " zum Vertragsende", " zum Monatsende"]
                if is_german
                else ["", "", " to the end of the term"]
            )
            return printer.period(value) + tail
        case "data_volume":
            return printer.volume(value)
        case "coverage_amount":
            return printer.sum(value)
        case "deductible" if value == "0.00" and printer.rng.random() < 0.5:
            return "keine" if is_german else "none"
        case "deductible":
            return printer.amount(value, is_short=printer.rng.random() < 0.6)
        case _:
            return value


def others(rng: random.Random, facts: Facts, printer: Printer) -> list[tuple[str, str]]:
    """Labels and values of other things."""
    money, day = printer.amount, printer.date
    if facts.language == "de":
        found = [
            ("Kundennummer", facts.number), ("Vertragsnummer", f"V-{facts.number}"), ("Druckdatum", day(facts.printed)),
            ("Antragsdatum", day(facts.signed)), ("Vertragsabschluss", day(facts.signed)), ("Bearbeitungsgebühr (einmalig)", money(facts.fee)),
        ]  # fmt: skip
        special = {
            "energy": [("Bisheriger Lieferant", facts.other_provider), ("Netzbetreiber", "Stromnetz Nord GmbH"), ("Neukundenbonus", money(facts.bonus)),
                       ("Voraussichtlicher Jahresverbrauch", f"{facts.consumption} kWh"), ("Bisheriger Abschlag", money(facts.old_rate)), ("Vertragslaufzeit", printer.period(f"{facts.term_months} months"))],
            "telco": [("Bisheriger Anbieter", facts.other_provider), ("Bereitstellungspreis (einmalig)", money(facts.fee)), ("Rufnummer", "0151 23456789"),
                      ("EU-Roaming-Volumen", "7 GB"), ("Mindestvertragslaufzeit", printer.period(f"{facts.term_months} months"))],
            "insurance": [("Vorversicherer", facts.other_provider), ("Jahresbeitrag", money(facts.yearly)), ("Vermittler", "Makler Schulze GmbH"),
                          ("Versicherungsscheinnummer", facts.number), ("Laufzeit", printer.period(f"{facts.term_months} months"))],
        }  # fmt: skip
    else:
        found = [
            ("Customer number", facts.number), ("Contract number", f"C-{facts.number}"), ("Print date", day(facts.printed)),
            ("Date of signature", day(facts.signed)), ("Order date", day(facts.signed)), ("Setup fee (one-off)", money(facts.fee)),
        ]  # fmt: skip
        special = {
            "energy": [("Previous supplier", facts.other_provider), ("Network operator", "Northern Grid Ltd"), ("Welcome bonus", money(facts.bonus)),
                       ("Estimated annual consumption", f"{facts.consumption} kWh"), ("Minimum term", printer.period(f"{facts.term_months} months"))],
            "telco": [("Previous provider", facts.other_provider), ("Activation fee", money(facts.fee)), ("Mobile number", "+49 151 2345678"),
                      ("EU roaming data", "7 GB"), ("Minimum term", printer.period(f"{facts.term_months} months"))],
            "insurance": [("Previous insurer", facts.other_provider), ("Annual premium", money(facts.yearly)), ("Broker", "Smith Brokers Ltd"),
                          ("Policy number", facts.number), ("Term", printer.period(f"{facts.term_months} months"))],
        }  # fmt: skip
    return rng.sample(found, rng.randint(1, 3)) + rng.sample(
        special[facts.vertical], rng.randint(1, 3)
    )


def _head(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    address = [
        "Lindenallee 12, 10115 Berlin"
        if facts.language == "de"
        else "12 Linden Avenue, 10115 Berlin"
    ]
    greeting = [facts.customer, "Gartenweg 3", "50667 Köln"]
    made: list[Block] = [Lines([facts.printed_provider, *address]), Lines(greeting)]
    if rng.random() < 0.7:
        made.append(
            Lines(
                [
                    ("Berlin, den " if facts.language == "de" else "Berlin, ")
                    + printer.date(facts.printed)
                ]
            )
        )
    return made


def _title(rng: random.Random, facts: Facts) -> Heading:
    return Heading(rng.choice(TITLES[facts.language][facts.vertical]))


def _form(rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]) -> list[Block]:
    manner = rng.choice(["colon", "gap", "gap", "dots"])
    head = _head(rng, facts, printer) if rng.random() < 0.5 else []
    return [*head, _title(rng, facts), Pairs(pairs(rng, facts, printer, truth), manner)]


def _under(
    rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]
) -> list[Block]:
    return [_title(rng, facts), Pairs(pairs(rng, facts, printer, truth), "under")]


def _columns(
    rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]
) -> list[Block]:
    found = pairs(rng, facts, printer, truth)
    middle = (len(found) + 1) // 2
    return [
        *_head(rng, facts, printer),
        _title(rng, facts),
        Columns(found[:middle], found[middle:]),
    ]


def _table(
    rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]
) -> list[Block]:
    found = pairs(rng, facts, printer, truth)
    head = ["Angabe", "Wert"] if facts.language == "de" else ["Item", "Value"]
    if rng.random() < 0.5:
        return [_title(rng, facts), Table([head, *([label, value] for label, value in found)])]
    parts = [found[at : at + 3] for at in range(0, len(found), 3)]
    tables: list[Block] = [
        Table([[label for label, _ in part], [value for _, value in part]]) for part in parts
    ]
    return [*_head(rng, facts, printer), _title(rng, facts), *tables]


def _letter(
    rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]
) -> list[Block]:
    closing = (
        ["Mit freundlichen Grüßen", facts.printed_provider]
        if facts.language == "de"
        else ["Yours sincerely", facts.printed_provider]
    )
    opening = (
        "Sehr geehrte Damen und Herren, vielen Dank für Ihr Vertrauen. Nachfolgend bestätigen wir Ihnen die Daten Ihres Vertrags."
        if facts.language == "de"
        else "Dear customer, thank you for choosing us. Please find the details of your contract below."
    )
    found = [
        pair for pair in pairs(rng, facts, printer, truth) if pair[1] != facts.printed_provider
    ]
    return [
        *_head(rng, facts, printer),
        _title(rng, facts),
        Prose(opening),
        Pairs(found, rng.choice(["colon", "gap"])),
        Lines(closing),
    ]


def _prose(
    rng: random.Random, facts: Facts, printer: Printer, truth: dict[str, str]
) -> list[Block]:
    text = [_SENTENCES[facts.language][name] for name in ORDER[facts.vertical] if name in truth]
    values = {name: printed(facts, printer, name, truth[name]) for name in truth}
    if "cancellation_period" in truth:
        values["cancellation_period"] = printer.period(truth["cancellation_period"], is_dative=True)
    if "deductible" in truth:
        values["deductible"] = printer.amount(truth["deductible"])
    sentences = " ".join(rng.choice(each).format(**values) for each in text)
    extra = {"de": f"Einmalig fallen {printer.amount(facts.fee)} Bearbeitungsgebühr an. Der Vertrag wurde am {printer.date(facts.signed)} unterzeichnet.",
             "en": f"A one-off setup fee of {printer.amount(facts.fee)} applies. The contract was signed on {printer.date(facts.signed)}."}  # fmt: skip
    return [_title(rng, facts), Prose(f"{sentences} {extra[facts.language]}")]


_SENTENCES = {
    "de": {
        "provider": ["Dieser Vertrag wird zwischen der {provider} und dem Kunden geschlossen.", "Ihr Vertragspartner ist die {provider}."],
        "tariff_name": ["Sie werden im Tarif „{tariff_name}“ beliefert.", "Vereinbart ist der Tarif {tariff_name}."],
        "plan_name": ["Sie haben sich für den Tarif „{plan_name}“ entschieden.", "Gebucht ist der Tarif {plan_name}."],
        "policy_type": ["Gegenstand des Vertrags ist eine {policy_type}.", "Versichert wird im Rahmen der Sparte {policy_type}."],
        "contract_start": ["Der Vertrag beginnt am {contract_start}.", "Vertragsbeginn ist der {contract_start}.", "Die Laufzeit beginnt am {contract_start}."],
        "contract_end": ["Er endet am {contract_end}.", "Der Vertrag läuft bis zum {contract_end}.", "Vertragsende ist der {contract_end}."],
        "monthly_rate": ["Die monatlichen Kosten betragen {monthly_rate}.", "Sie zahlen monatlich {monthly_rate}."],
        "monthly_premium": ["Der monatliche Beitrag beträgt {monthly_premium}.", "Der Monatsbeitrag beläuft sich auf {monthly_premium}."],
        "kwh_price": ["Der Arbeitspreis beträgt {kwh_price}.", "Für jede Kilowattstunde gilt ein Arbeitspreis von {kwh_price}."],
        "cancellation_period": ["Der Vertrag ist mit einer Frist von {cancellation_period} kündbar.", "Die Kündigungsfrist beträgt {cancellation_period}."],
        "data_volume": ["Das monatliche Datenvolumen beträgt {data_volume}.", "Enthalten ist ein Datenvolumen von {data_volume}."],
        "coverage_amount": ["Die Versicherungssumme beträgt {coverage_amount}.", "Es gilt eine Deckungssumme von {coverage_amount}."],
        "deductible": ["Die Selbstbeteiligung beträgt {deductible}.", "Vereinbart ist ein Selbstbehalt von {deductible}."],
    },
    "en": {
        "provider": ["This agreement is made between {provider} and the customer.", "Your provider is {provider}."],
        "tariff_name": ["You are supplied on the tariff \"{tariff_name}\".", "The agreed tariff is {tariff_name}."],
        "plan_name": ["You have chosen the plan \"{plan_name}\".", "Your plan is {plan_name}."],
        "policy_type": ["The type of insurance is {policy_type}.", "This policy provides {policy_type}."],
        "contract_start": ["The contract starts on {contract_start}.", "The contract commences on {contract_start}."],
        "contract_end": ["It ends on {contract_end}.", "The contract expires on {contract_end}.", "The contract runs until {contract_end}."],
        "monthly_rate": ["The monthly charge is {monthly_rate}.", "You pay a monthly rate of {monthly_rate}."],
        "monthly_premium": ["The monthly premium is {monthly_premium}.", "A monthly premium of {monthly_premium} is payable."],
        "kwh_price": ["The unit rate is {kwh_price}.", "Each kilowatt hour is charged at a unit price of {kwh_price}."],
        "cancellation_period": ["Either party may terminate the contract with a notice period of {cancellation_period}.", "The notice period is {cancellation_period}."],
        "data_volume": ["The data allowance is {data_volume}.", "The plan includes a monthly data volume of {data_volume}."],
        "coverage_amount": ["The sum insured is {coverage_amount}.", "Cover is provided up to a limit of indemnity of {coverage_amount}."],
        "deductible": ["A deductible of {deductible} applies.", "The excess is {deductible}."],
    },
}  # fmt: skip
