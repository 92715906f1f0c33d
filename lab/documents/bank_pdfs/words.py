"""What stands in the rows, in the languages of the banks: payees called like totals, dates and amounts among them."""

# Each text is a list of lines, parted by a bar. {n} is a number, {d} a day and month, {t} a time, {a} an amount in
# the bank's way of writing, {p} a person.
OUT = {
    "en": (
        "TESCO STORES 3344|LONDON", "TRANSPORT FOR LONDON|TFL.GOV.UK/CP", "AMZN Mktp*2K4{n}", "NETFLIX.COM {n}",
        "REPORT MAGAZINE SUBSCRIPTION", "TOTAL WINE & MORE #{n}", "BALANCE YOGA STUDIO", "SHELL OIL {n}|PUMP 4",
        "DIRECT DEBIT OCTOPUS ENERGY|REF A-{n}", "Transfer to {p}|rent {d}", "CARD PURCHASE {d} STARBUCKS 0{n}",
        "POS W/D COSTCO WHSE {n}|USD {a} @ 1.2713", "CLOSING TIME BAR & GRILL", "PAYMENT TO COUNCIL TAX|{n}",
        "7-ELEVEN 33{n}", "1-800-FLOWERS.COM, INC.", "24 HOUR FITNESS {n}", "OPENING NIGHT THEATRE TICKETS",
    ),
    "de": (
        "REWE Markt GmbH|Kartenzahlung {d} {t}", "Lastschrift Stadtwerke|Abschlag {d} Vertrag {n}|Mandat M-{n}",
        "Deutsche Bahn AG|Ticket {n}", "Summe Moden Inh. {p}", "Dauerauftrag {p}|Miete", "Telekom Deutschland GmbH|RG {n} Betrag {a}",
        "Saldo Steuerberatung|Rechnung {n}", "PayPal Europe S.a.r.l.|PP.{n}.PP Ihr Einkauf bei H&M", "Bargeldauszahlung|GA NR{n} {d}",
        "EDEKA Haben & Soll|Filiale {n}", "ADAC Beitrag 2026", "Übertrag Verlag, Abo {n}",
    ),
    "nl": (
        "Albert Heijn 1521|BEA, Betaalpas {d} {t}|PAS042", "NS Groep iz NS Reizigers|Naam: NS|IBAN: NL12INGB0001234567",
        "Bol.com b.v.|Kenmerk: {n}", "Ziggo Services BV|Incasso algemeen doorlopend", "Tikkie {p}|{n}", "Saldo Interieur|{d}",
    ),
    "sv": ("ICA Maxi Örebro", "SJ AB {n}", "Telia Sverige AB", "Swish {p}", "Summa Summarum Bokhandel", "Kortköp {d} COOP"),
    "da": ("Netto Østerbro {n}", "DSB App", "Betalingsservice|YouSee {n}", "MobilePay {p}", "Saldo Cykler ApS"),
    "no": ("Rema 1000 Bjølsen|Varekjøp {d}", "Ruter App {n}", "Avtalegiro Telenor|KID {n}", "Vipps {p}", "Nettgiro {p}|Husleie"),
    "fr": (
        "CARTE {d} CARREFOUR|PARIS 15", "PRLV SEPA EDF CLIENTS|REF {n}|MANDAT MM{n}", "SNCF INTERNET {d}", "VIR SEPA LOYER {p}",
        "RETRAIT DAB {d} {t}|PARIS", "TOTAL ENERGIES STATION {n}", "CHEQUE {n}", "PAIEMENT CB {d}|USD {a} TX 1,0845",
        "REPORT PRESSE ABONNEMENT", "SOLDE & CO CHAUSSURES",
    ),
    "es": (
        "Compra Mercadona|Tarj. *{n}", "Recibo Endesa Energía|Nº {n}", "Renfe Viajeros|{d}", "Bizum a {p}", "Transferencia a {p}|alquiler",
        "Saldo Zapatos S.L.", "Comisión mantenimiento", "Disposición cajero {d} {t}", "TOTAL GAS Y ELECTRICIDAD|Factura {n}",
    ),
    "it": (
        "Pagamento POS|Esselunga Milano {d} {t} carta {n}", "Addebito SDD|Enel Energia mandato {n}", "Bonifico a {p}|affitto",
        "Prelievo Bancomat|{d} {t} Milano", "Saldo Calzature Srl", "Imposta di bollo", "Trenitalia spa {n}",
    ),
    "pt": (
        "Compra cartão|Padaria São João", "Pix enviado {p}", "Uber *Trip {n}", "Conta de luz Enel|{n}", "Saque 24h {d}",
        "Tarifa pacote serviços", "Total Farma|loja {n}", "Boleto pago|Saldo Imóveis Ltda",
    ),
    "pl": (
        "Zakup przy użyciu karty|Żabka Z{n} Warszawa", "Przelew do {p}|czynsz", "Orlen stacja {n}", "Blik zakup|Allegro {n}",
        "Opłata za kartę", "Suma Market sp. z o.o.|{d}",
    ),
    "ja": ("セブンイレブン", "電気料金", "家賃", "カード 7{n}", "東京ガス"),
    "cs": ("Platba kartou|Albert {n} Praha", "Trvalý příkaz {p}|nájem", "ČEZ Prodej|VS {n}", "Výběr z bankomatu {d}"),
    "fi": ("K-Market Kamppi|Ostopvm {d}", "VR Yhtymä {n}", "Elisa Oyj|viite {n}", "Siirto {p}"),
    "tr": ("Migros İstanbul {n}", "Elektrik faturası|{n}", "EFT {p}|kira", "ATM para çekme {d}"),
}  # fmt: skip
IN = {
    "en": ("ACME CORP PAYROLL|PPD ID: {n}", "Refund AMAZON {n}", "Zelle payment from {p}", "INTEREST PAYMENT", "FASTER PAYMENT {p}|{n}"),
    "de": ("Gehalt ACME GmbH|Lohn {d} Pers.Nr. {n}", "Gutschrift Finanzamt|Erstattung {n}", "Überweisung {p}|Danke"),
    "nl": ("Salaris ACME BV|Loon {n}", "Belastingdienst teruggave", "Overschrijving {p}"),
    "sv": ("Lön ACME AB", "Skatteverket {n}", "Swish {p}"), "da": ("Løn ACME A/S", "Overførsel {p}"),
    "no": ("Lønn ACME AS", "Overføring {p}|{n}"),
    "fr": ("VIR SEPA ACME SALAIRE|{n}", "VIR REMBOURSEMENT CPAM {d}", "REMISE CHEQUE {n}"),
    "es": ("Nómina ACME S.A.", "Devolución Zara|{n}", "Transferencia de {p}"), "it": ("Stipendio ACME Srl|{n}", "Bonifico da {p}"),
    "pt": ("Salário ACME", "Pix recebido {p}", "Estorno compra {n}"), "pl": ("Wynagrodzenie ACME|{n}", "Przelew od {p}"),
    "ja": ("給与振込", "返金"), "cs": ("Mzda ACME s.r.o.", "Platba od {p}"), "fi": ("Palkka ACME Oy", "Tilisiirto {p}"),
    "tr": ("Maaş ACME A.Ş.", "Havale {p}"),
}  # fmt: skip
# On a card: a payment of the customer, and a refund of a shop.
PAID = {
    "en": ("PAYMENT THANK YOU - WEB", "AMAZON.COM REFUND"),
    "de": ("Lastschrift Ihrer Abrechnung, Dank", "Gutschrift Zalando"),
    "pt": ("Pagamento recebido", "Estorno de compra Magalu"),
}
PEOPLE = (
    "J Miller",
    "Anna Berg",
    "M. Rossi",
    "L Novak",
    "S Patel",
    "Marie Dubois",
    "K Tanaka",
    "May 2 Ltd",
)
MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez", "es": "ENE FEB MAR ABR MAY JUN JUL AGO SEP OCT NOV DIC",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc", "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
}  # fmt: skip
LONG_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
# Other words that a bank might have printed over the same column.
SYNONYMS = {
    "en": {"text": ("Particulars", "Transaction details", "Details"), "debit": ("Debits", "Payments out", "Withdrawn"), "credit": ("Credits", "Receipts", "Paid in"),
           "amount": ("Amount", "Transaction amount"), "balance": ("Running balance", "Balance"), "date": ("Transaction date", "Posted", "Date")},
    "de": {"text": ("Verwendungszweck", "Umsatz", "Buchungstext"), "debit": ("Soll", "Belastung", "Ausgang"), "credit": ("Haben", "Gutschrift", "Eingang"),
           "amount": ("Betrag", "Umsatz in EUR"), "balance": ("Saldo", "Kontostand"), "date": ("Buchungstag", "Datum")},
    "fr": {"text": ("Libellé", "Opération"), "debit": ("Débit", "Débits"), "credit": ("Crédit", "Crédits"), "amount": ("Montant",), "balance": ("Solde",), "date": ("Date", "Date opération")},
    "es": {"text": ("Concepto", "Descripción"), "debit": ("Cargos", "Debe"), "credit": ("Abonos", "Haber"), "amount": ("Importe", "Monto"), "balance": ("Saldo",), "date": ("Fecha",)},
    "nl": {"text": ("Omschrijving",), "debit": ("Af", "Debet"), "credit": ("Bij", "Credit"), "amount": ("Bedrag",), "balance": ("Saldo",), "date": ("Datum", "Boekdatum")},
    "pt": {"text": ("Histórico", "Descrição"), "debit": ("Débito", "Saídas"), "credit": ("Crédito", "Entradas"), "amount": ("Valor",), "balance": ("Saldo",), "date": ("Data",)},
    "it": {"text": ("Descrizione", "Causale"), "debit": ("Addebiti", "Dare", "Uscite"), "credit": ("Accrediti", "Avere", "Entrate"), "amount": ("Importo",), "balance": ("Saldo",), "date": ("Data",)},
}  # fmt: skip
