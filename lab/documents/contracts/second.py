"""The second maker: contracts after real order confirmations, contract summaries, price sheets and certificates.

It shares no label and no layout with the usual maker on purpose. The extractor's rules are not tuned on its
sentences one by one: it stands for contracts that were never seen.
"""

import random
from collections.abc import Callable
from decimal import Decimal

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

Made = tuple[list[Block], dict[str, str]]
Template = Callable[[random.Random, Facts, Printer], list[Block]]


def blocks(rng: random.Random, facts: Facts) -> Made:
    """A contract in blocks, and what is true of it."""
    printer = Printer(rng, facts.language)
    template = rng.choice(TEMPLATES[facts.vertical, facts.language])
    made = template(rng, facts, printer)
    if rng.random() < 0.5:
        made += _small_print(rng, facts)
    return made, dict(facts.fields)


def _price_net(facts: Facts) -> str:
    return str((Decimal(facts.fields["kwh_price"]) / Decimal("1.19")).quantize(Decimal("0.0001")))


def _confirmation_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An order confirmation of an energy supplier, with a table of net and gross prices."""
    fields, day, money = facts.fields, printer.date, printer.amount
    price = Decimal(fields["kwh_price"]) * 100
    net = Decimal(_price_net(facts)) * 100
    period = printer.period(fields["cancellation_period"])
    return [
        Lines([facts.printed_provider, "Kundenservice · Postfach 60 12 34 · 20354 Hamburg", "Telefon 0800 123 45 67"]),
        Lines([facts.customer, "Am Markt 5", "20095 Hamburg"]),
        Lines([f"Hamburg, {day(facts.printed)}"]),
        Heading(rng.choice(["Bestätigung Ihres Stromvertrags", "Ihre Vertragsbestätigung", "Willkommen! Ihr Energieliefervertrag"])),
        Prose(f"Guten Tag, wir freuen uns über Ihren Auftrag vom {day(facts.signed)}. Den Wechsel von {facts.other_provider} übernehmen wir gern für Sie."),
        Heading("Ihre Vertragsdaten im Überblick"),
        Pairs([
            ("Vertragskonto", facts.number),
            (rng.choice(["Ihr Produkt", "Vereinbartes Produkt", "Stromprodukt"]), fields["tariff_name"]),
            (rng.choice(["Belieferungsbeginn", "Start der Belieferung", "Vertragslaufzeit ab"]), day(fields["contract_start"])),
            (rng.choice(["Erstlaufzeit bis", "Vertragslaufzeit bis", "Mindestlaufzeit bis zum"]), day(fields["contract_end"])),
            (rng.choice(["Kündigungsfrist", "Ordentliche Kündigung", "Kündigungsfrist vor Ablauf"]), period),
            ("Angenommener Jahresverbrauch", f"{printer.figure(Decimal(facts.consumption), places=0)} kWh"),
        ], rng.choice(["gap", "colon"])),
        Heading("Ihre Preise"),
        Table([
            ["", "netto", "brutto"],
            ["Arbeitspreis in ct/kWh", printer.figure(net), printer.figure(price)],
        ]),
        Prose(rng.choice([
            f"Ihr monatlicher Abschlag beträgt {money(fields['monthly_rate'])}. Wir buchen ihn jeweils zum 1. eines Monats ab, erstmals am {day(fields['contract_start'])}.",
            f"Als Abschlag haben wir {money(fields['monthly_rate'])} pro Monat für Sie festgelegt.",
        ])),
        Prose(f"Nach zwölf Monaten Belieferung erhalten Sie einen Bonus in Höhe von {money(facts.bonus)}."),
        Lines(["Freundliche Grüße", f"Ihr Team von {facts.printed_provider}"]),
    ]  # fmt: skip


def _welcome_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """A welcome letter in prose."""
    fields, day, money = facts.fields, printer.date, printer.amount
    period = printer.period(fields["cancellation_period"], is_dative=True)
    return [
        Lines([facts.printed_provider]),
        Lines([facts.customer, "Ringstraße 44", "80331 München", "", f"München, {day(facts.printed)}"]),
        Heading(f"Herzlich willkommen bei {facts.printed_provider}"),
        Prose(
            f"Guten Tag {facts.customer}, ab dem {day(fields['contract_start'])} liefern wir Ihnen Energie im Tarif {fields['tariff_name']}. "
            f"Ihr Vertrag ist fest abgeschlossen bis zum {day(fields['contract_end'])} und lässt sich mit einer Frist von {period} zum Laufzeitende kündigen. "
            f"Pro Kilowattstunde berechnen wir Ihnen {printer.price(fields['kwh_price'])}. Der Abschlag liegt bei {money(fields['monthly_rate'])} im Monat."
        ),
        Prose(f"Bei Ihrem bisherigen Versorger {facts.other_provider} haben Sie zuletzt {money(facts.old_rate)} monatlich gezahlt. Diesen Vertrag kündigen wir für Sie."),
        Prose(f"Sie haben diesen Vertrag am {day(facts.signed)} geschlossen und können ihn innerhalb von 14 Tagen widerrufen."),
    ]  # fmt: skip


def _sheet_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """A product information sheet with numbered items."""
    fields, day, money = facts.fields, printer.date, printer.amount
    return [
        Heading("Produktinformationsblatt"),
        Lines([
            f"1. Energielieferant: {facts.printed_provider}, Friedrichstraße 1, 10117 Berlin",
            f"2. Produkt: {fields['tariff_name']}",
            f"3. Arbeitspreis (inkl. 19 % USt.): {printer.price(fields['kwh_price'])}",
            f"4. Abschlagszahlung: {money(fields['monthly_rate'])} monatlich, fällig zum 15.",
            f"5. Vertragsdauer: {day(fields['contract_start'])} bis {day(fields['contract_end'])}",
            f"6. Kündigung: mit einer Frist von {printer.period(fields['cancellation_period'], is_dative=True)} zum Ende der Vertragsdauer",
            "7. Verlängerung: auf unbestimmte Zeit, dann monatlich mit einer Frist von einem Monat kündbar" if rng.random() < 0.3 else "7. Netzbetreiber: Verteilnetz Mitte GmbH",
            f"8. Einmalige Kosten: {money(facts.fee)} für die Zählersetzung",
        ]),
        Lines([f"Erstellt am {day(facts.printed)}"]),
    ]  # fmt: skip


def _plan_en(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An English plan of an energy supplier."""
    fields, day, money = facts.fields, printer.date, printer.amount
    return [
        Lines([facts.printed_provider, "Customer Care, PO Box 77"]),
        Lines([facts.customer, "3 Garden Way", "50667 Cologne"]),
        Lines([f"Date: {day(facts.printed)}"]),
        Heading(rng.choice(["Your new energy plan", "Welcome to your energy contract"])),
        Prose(f"Dear {facts.customer}, thank you for your order of {day(facts.signed)}. We will take care of the switch from {facts.other_provider}."),
        Table([
            ["Energy plan", fields["tariff_name"]],
            [rng.choice(["Supply start date", "Contract commencement", "Your contract begins"]), day(fields["contract_start"])],
            [rng.choice(["Fixed until", "Fixed term ends on", "Contract expires"]), day(fields["contract_end"])],
            [rng.choice(["Unit rate (incl. VAT)", "Electricity unit price", "Price for each kWh"]), printer.price(fields["kwh_price"])],
            [rng.choice(["Your monthly instalment", "Monthly direct debit", "Regular monthly payment"]), money(fields["monthly_rate"])],
            [rng.choice(["Notice to terminate", "Notice required", "Cancellation notice"]), printer.period(fields["cancellation_period"])],
            ["Sign-up bonus", money(facts.bonus)],
        ]),
        Lines(["Kind regards", f"The {facts.printed_provider} team"]),
    ]  # fmt: skip


def _agreement_en(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An English agreement in clauses."""
    fields, day, money = facts.fields, printer.date, printer.amount
    last = {
        "energy": f"3. Prices. The customer pays {printer.price(fields.get('kwh_price', '0.3'))} for the energy consumed and a monthly instalment of {money(fields.get('monthly_rate', '1'))}.",
        "telco": f"3. Charges and allowance. The recurring charge for the plan amounts to {money(fields.get('monthly_rate', '1'))} a month and includes {printer.volume(fields.get('data_volume', '5 GB'))} of data.",
    }[facts.vertical]  # fmt: skip
    name = fields.get("tariff_name") or fields["plan_name"]
    kind = "energy supply tariff" if facts.vertical == "energy" else "mobile plan"
    return [
        Heading("Service Agreement"),
        Prose(f"This Agreement is entered into between {facts.printed_provider} (the \"Provider\") and {facts.customer} (the \"Customer\") and was signed on {day(facts.signed)}."),
        Prose(f"1. Services. The Provider delivers its services under the {kind} \"{name}\"."),
        Prose(f"2. Term. This Agreement shall commence on {day(fields['contract_start'])} and shall remain in force until {day(fields['contract_end'])}. It may be terminated by either party upon {printer.period(fields['cancellation_period'])} written notice."),
        Prose(last),
        Prose(f"4. Fees. A one-time connection fee of {money(facts.fee)} is due with the first invoice."),
    ]  # fmt: skip


def _summary_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """The contract summary that German telecommunications law asks for."""
    fields, day, money = facts.fields, printer.date, printer.amount
    period = printer.period(fields["cancellation_period"], is_dative=True)
    return [
        Heading("Vertragszusammenfassung"),
        Lines([facts.printed_provider, "Postanschrift: 53113 Bonn, Kontakt: 0800 33 01000"]),
        Lines([f"Datum: {day(facts.printed)}"]),
        Heading("Dienste und Geräte"),
        Prose(f"Mobilfunkdienst im Tarif {fields['plan_name']} mit Telefonie- und SMS-Flat in alle deutschen Netze. "
              f"Inklusive {printer.volume(fields['data_volume']) if fields['data_volume'] != 'unlimited' else 'unbegrenztem'} Highspeed-Datenvolumen pro Monat."),
        Heading("Geschwindigkeiten des Internetdienstes und Abhilfen bei Problemen"),
        Prose("Geschätzte maximale Geschwindigkeit im Download 300 Mbit/s und im Upload 50 Mbit/s (LTE/5G)."),
        Heading("Preis"),
        Table([
            ["Leistung", "Preis"],
            [rng.choice(["Monatlicher Grundpreis", "Monatlich wiederkehrender Preis", "Mtl. Paketpreis"]), money(fields["monthly_rate"])],
            ["Einmaliger Bereitstellungspreis", money(facts.fee)],
        ]),
        Heading("Laufzeit, Verlängerung und Kündigung"),
        Prose(f"Der Vertrag beginnt am {day(fields['contract_start'])} und hat eine Mindestlaufzeit bis zum {day(fields['contract_end'])}. "
              f"Er kann mit einer Frist von {period} zum Ende der Mindestlaufzeit gekündigt werden. Danach verlängert er sich auf unbestimmte Zeit."),
    ]  # fmt: skip


def _order_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An order confirmation with a table of items."""
    fields, day = facts.fields, printer.date
    return [
        Lines([facts.printed_provider, "Kundenservice, 53171 Bonn"]),
        Columns(
            [("Kundennummer", facts.number), ("Auftragsdatum", day(facts.signed))],
            [("Rufnummer", "0171 555 0123"), ("Ihr Ansprechpartner", "Team Neukunden")],
        ),
        Heading("Auftragsbestätigung"),
        Prose(f"vielen Dank für Ihre Bestellung. Ihr neuer Tarif {fields['plan_name']} wird zum {day(fields['contract_start'])} aktiv."),
        Table([
            ["Leistung", "Monatlich", "Einmalig"],
            [fields["plan_name"], printer.amount(fields["monthly_rate"]), "-"],
            ["Aktivierung", "-", printer.amount(facts.fee)],
        ]),
        Pairs([
            ("Enthaltenes Datenvolumen", printer.volume(fields["data_volume"])),
            ("Vertragsbeginn", day(fields["contract_start"])),
            ("Vertragsbindung bis", day(fields["contract_end"])),
            ("Kündbar mit einer Frist von", printer.period(fields["cancellation_period"], is_dative=True)),
        ], rng.choice(["gap", "colon", "dots"])),
    ]  # fmt: skip


def _mail_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """A short mail in prose."""
    fields, day, money = facts.fields, printer.date, printer.amount
    volume = (
        "unbegrenztes Datenvolumen"
        if fields["data_volume"] == "unlimited"
        else f"{printer.volume(fields['data_volume'])} Datenvolumen"
    )
    return [
        Lines([f"Von: service@{''.join(filter(str.isalnum, facts.fields['provider'].lower()))}.example", f"Gesendet: {day(facts.printed)}", "Betreff: Ihr Mobilfunkvertrag"]),
        Prose(
            f"Hallo, schön, dass Sie bei {facts.printed_provider} sind! Sie surfen und telefonieren jetzt mit {fields['plan_name']}: {volume}, Allnet-Flat und EU-Roaming für {money(fields['monthly_rate'])} im Monat. "
            f"Los geht es am {day(fields['contract_start'])}, die Mindestvertragslaufzeit endet am {day(fields['contract_end'])}. Kündigen können Sie mit {printer.period(fields['cancellation_period'], is_dative=True)} Frist."
        ),
        Prose(f"Ihre alte Nummer nehmen wir von {facts.other_provider} mit. Einmalig berechnen wir {money(facts.fee)} Anschlusspreis."),
    ]  # fmt: skip


def _key_facts_en(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """Key contract information of an English mobile provider."""
    fields, day, money = facts.fields, printer.date, printer.amount
    return [
        Lines([facts.printed_provider]),
        Heading("Contract summary"),
        Pairs([
            ("Service", "Pay monthly mobile"),
            (rng.choice(["Your price plan", "Mobile plan", "Chosen package"]), fields["plan_name"]),
            (rng.choice(["Mobile data", "Data included per month", "Inclusive data"]), printer.volume(fields["data_volume"])),
            ("Minutes and texts", "Unlimited minutes"),
            (rng.choice(["Recurring monthly price", "Plan charge per month", "Monthly subscription"]), money(fields["monthly_rate"])),
            ("Upfront cost", money(facts.fee)),
            (rng.choice(["Service begins", "Contract starts", "Agreement start"]), day(fields["contract_start"])),
            (rng.choice(["Minimum term ends", "Contract ends", "Agreement expires on"]), day(fields["contract_end"])),
            (rng.choice(["Notice you must give", "Notice period to cancel", "Cancellation terms"]), printer.period(fields["cancellation_period"])),
        ], rng.choice(["gap", "under", "colon"])),
        Lines([f"Generated on {day(facts.printed)}"]),
    ]  # fmt: skip


def _certificate_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """A German certificate of insurance."""
    fields, day, money = facts.fields, printer.date, printer.amount
    excess = (
        "ohne Selbstbeteiligung"
        if fields["deductible"] == "0.00"
        else f"mit {money(fields['deductible'], is_short=True)} Selbstbeteiligung je Schadenfall"
    )
    rows = [
        ("Versicherungsnehmer", facts.customer),
        ("Versicherungsschein-Nr.", facts.number),
        (rng.choice(["Versicherter Vertrag", "Versicherungszweig", "Produktlinie"]), fields["policy_type"]),
        (rng.choice(["Beginn des Vertrags", "Versicherungsbeginn", "Beginn"]), f"{day(fields['contract_start'])}, 0 Uhr"),
        (rng.choice(["Ablauf des Vertrags", "Versicherungsablauf", "Ablauf"]), f"{day(fields['contract_end'])}, 24 Uhr"),
        (rng.choice(["Versicherungssumme pauschal", "Deckungssumme für Personen-, Sach- und Vermögensschäden", "Vereinbarte Versicherungssumme"]), printer.sum(fields["coverage_amount"])),
        (rng.choice(["Beitrag gemäß Zahlungsweise", "Zu zahlender Beitrag", "Beitrag inkl. Versicherungsteuer"]), f"{money(fields['monthly_premium'])} monatlich"),
    ]  # fmt: skip
    return [
        Lines([facts.printed_provider, "Direktion, 80802 München"]),
        Heading(f"Versicherungsschein zur {fields['policy_type']}"),
        Pairs(rows, rng.choice(["gap", "colon", "dots"])),
        Prose(f"Der Vertrag gilt {excess} als vereinbart. Ihr Antrag vom {day(facts.signed)} liegt diesem Schein zugrunde."),
        Lines([f"München, {day(facts.printed)}", "Der Vorstand"]),
    ]  # fmt: skip


def _policy_letter_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """A letter of an insurer in prose."""
    fields, day, money = facts.fields, printer.date, printer.amount
    return [
        Lines([facts.printed_provider]),
        Lines([facts.customer, "Hauptstraße 9", "04109 Leipzig", "", f"Leipzig, {day(facts.printed)}"]),
        Heading(f"Ihre {fields['policy_type']} – Bestätigung"),
        Prose(
            f"Sehr geehrte Damen und Herren, gern bestätigen wir Ihnen Ihren Versicherungsschutz. Er besteht vom {day(fields['contract_start'])} bis {day(fields['contract_end'])}. "
            f"Versichert sind Schäden bis zu einer Höhe von {printer.sum(fields['coverage_amount'])}. Im Schadenfall tragen Sie {money(fields['deductible'])} selbst. "
            f"Der Beitrag dafür beträgt {money(fields['monthly_premium'])} je Monat."
        ),
        Prose(f"Ihr Vertrag bei {facts.other_provider} wurde von Ihnen gekündigt. Vermittler: Finanzhaus Beck GmbH."),
    ]  # fmt: skip


def _overview_de(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An overview in tables with heads."""
    fields, day, money = facts.fields, printer.date, printer.amount
    return [
        Heading("Vertragsspiegel"),
        Lines([f"Versicherer: {facts.printed_provider}", "Betreuer: Agentur Lang, Tel. 0341 123456"]),
        Table([
            ["Versicherungsart", "Vertragsbeginn", "Vertragsablauf"],
            [fields["policy_type"], day(fields["contract_start"]), day(fields["contract_end"])],
        ]),
        Table([
            ["Versicherungssumme", "Selbstbehalt", "Beitrag mtl."],
            [printer.sum(fields["coverage_amount"]), money(fields["deductible"], is_short=True), money(fields["monthly_premium"])],
        ]),
        Prose(f"Der Jahresbeitrag beläuft sich auf {money(facts.yearly)}. Stand {day(facts.printed)}."),
    ]  # fmt: skip


def _schedule_en(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An English policy schedule."""
    fields, day, money = facts.fields, printer.date, printer.amount
    excess = (
        "Nil"
        if fields["deductible"] == "0.00" and rng.random() < 0.5
        else money(fields["deductible"], is_short=True)
    )
    return [
        Heading("Policy Schedule"),
        Pairs([
            ("Insured", facts.customer),
            ("Policy no.", facts.number),
            (rng.choice(["Insurer", "Underwriter", "Insurance carrier"]), facts.printed_provider),
            (rng.choice(["Class of business", "Cover type", "Insurance product"]), fields["policy_type"]),
            (rng.choice(["Period of insurance", "Policy period", "Period of cover"]), f"{day(fields['contract_start'])} to {day(fields['contract_end'])}"),
            (rng.choice(["Total sum insured", "Limit of liability", "Maximum cover"]), printer.sum(fields["coverage_amount"])),
            (rng.choice(["Excess per claim", "Compulsory excess", "Deductible (each loss)"]), excess),
            (rng.choice(["Premium payable monthly", "Monthly instalment", "Premium per month incl. tax"]), money(fields["monthly_premium"])),
            ("Intermediary", "Brown & Partners Ltd"),
        ], rng.choice(["gap", "colon", "under"])),
        Lines([f"Issued on {day(facts.printed)}"]),
    ]  # fmt: skip


def _cover_note_en(rng: random.Random, facts: Facts, printer: Printer) -> list[Block]:
    """An English letter of cover in prose."""
    fields, day, money = facts.fields, printer.date, printer.amount
    return [
        Lines([facts.printed_provider]),
        Lines([facts.customer, "9 High Street", "Leipzig", "", day(facts.printed)]),
        Heading(f"Confirmation of your {fields['policy_type']}"),
        Prose(
            f"Dear {facts.customer}, we are pleased to confirm that you are covered from {day(fields['contract_start'])} until {day(fields['contract_end'])}. "
            f"Your cover is limited to a maximum of {printer.sum(fields['coverage_amount'])}, and you will have to pay the first {money(fields['deductible'])} of any claim. "
            f"The premium is {money(fields['monthly_premium'])} each month, which makes {money(facts.yearly)} a year."
        ),
        Prose(f"Your application was signed on {day(facts.signed)}. Your policy with {facts.other_provider} ends when ours begins."),
    ]  # fmt: skip


def _small_print(rng: random.Random, facts: Facts) -> list[Block]:
    if facts.language == "de":
        return [
            Break(),
            Heading(rng.choice(["Auszug aus den Allgemeinen Bedingungen", "Allgemeine Versicherungsbedingungen (AVB)" if facts.vertical == "insurance" else "Unsere Allgemeinen Geschäftsbedingungen (AGB)"])),
            Prose("1.1 Der Vertrag kommt mit unserer Bestätigung zustande. 1.2 Für Rücklastschriften berechnen wir 4,50 €. 1.3 Mitteilungen gehen drei Tage nach Absendung als zu. "
                  "2.1 Eine Preisanpassung kündigen wir einen Monat vorher an. 2.2 Das Recht zur außerordentlichen Kündigung bleibt unberührt; es besteht zwei Wochen ab Kenntnis. "
                  "3. Zuständige Schlichtungsstelle ist die Schlichtungsstelle Energie e.V., Berlin. Fassung vom 01.07.2022."),
        ]  # fmt: skip
    return [
        Break(),
        Heading(rng.choice(["General conditions", "Terms & Conditions"])),
        Prose("1.1 The contract is concluded with our confirmation. 1.2 Returned debits cost EUR 4.50. 1.3 Notices are deemed received three days after dispatch. "
              "2.1 Price adjustments are announced one month in advance. 2.2 The right of extraordinary termination within two weeks of knowledge remains unaffected. Edition of 1 July 2022."),
    ]  # fmt: skip


TEMPLATES: dict[tuple[str, str], list[Template]] = {
    ("energy", "de"): [_confirmation_de, _welcome_de, _sheet_de],
    ("energy", "en"): [_plan_en, _agreement_en],
    ("telco", "de"): [_summary_de, _order_de, _mail_de],
    ("telco", "en"): [_key_facts_en, _agreement_en],
    ("insurance", "de"): [_certificate_de, _policy_letter_de, _overview_de],
    ("insurance", "en"): [_schedule_en, _cover_note_en],
}
