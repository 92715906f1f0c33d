"""Exports as real banks lay them out (made up, with nothing real in them): what each must give."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes

Expected = tuple[str, list[tuple[str, str, str]], list[str]]

BANKS: dict[str, Expected] = {
    "bofa": (
        "Description,,Summary Amt.\n"
        'Beginning balance as of 01/01/2023,,"1,000.00"\n'
        'Total credits,,"500.00"\n'
        'Total debits,,"-200.00"\n'
        'Ending balance as of 01/31/2023,,"1,300.00"\n'
        "\n"
        "Date,Description,Amount,Running Bal.\n"
        '01/01/2023,Beginning balance as of 01/01/2023,,"1,000.00"\n'
        '01/15/2023,"PAYROLL","500.00","1,500.00"\n'
        '01/20/2023,"RENT","-200.00","1,300.00"\n',
        [
            ("2023-01-15", "500.00", "PAYROLL"),
            ("2023-01-20", "-200.00", "RENT"),
        ],
        [],
    ),
    "ca": (
        "Téléchargement du 01/02/2023;\n"
        "\n"
        "M. DUPONT\n"
        "Compte de Dépôt carte n° 12345678901;\n"
        "Solde au 31/01/2023 1 234,56 €\n"
        "\n"
        "Date;Libellé;Débit euros;Crédit euros;\n"
        '31/01/2023;"PAIEMENT PAR CARTE\n'
        'CARREFOUR";45,10;;\n'
        '15/01/2023;"VIREMENT RECU";;500,00;\n',
        [
            ("2023-01-31", "-45.10", "PAIEMENT PAR CARTE CARREFOUR"),
            ("2023-01-15", "500.00", "VIREMENT RECU"),
        ],
        ["NOT_CHECKED"],
    ),
    "capitalone": (
        "Transaction Date,Posted Date,Card No.,Description,Category,Debit,Credit\n"
        "2023-01-15,2023-01-16,1234,UBER,Travel,25.00,\n"
        "2023-01-10,2023-01-11,1234,PAYMENT,Payment,,100.00\n",
        [
            ("2023-01-16", "-25.00", "UBER"),
            ("2023-01-11", "100.00", "PAYMENT"),
        ],
        ["NOT_CHECKED"],
    ),
    "chase": (
        "Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #\n"
        'DEBIT,01/13/2023,"STARBUCKS 123",-4.50,DEBIT_CARD,995.50,,\n'
        'CREDIT,01/12/2023,"PAYROLL",500.00,ACH_CREDIT,1000.00,,\n',
        [
            ("2023-01-13", "-4.50", "STARBUCKS 123"),
            ("2023-01-12", "500.00", "PAYROLL"),
        ],
        [],
    ),
    "chase_card": (
        "Transaction Date,Post Date,Description,Category,Type,Amount,Memo\n"
        "01/13/2023,01/15/2023,AMAZON,Shopping,Sale,-25.00,\n"
        "01/10/2023,01/11/2023,Payment Thank You,,Payment,100.00,\n",
        [
            ("2023-01-15", "-25.00", "AMAZON"),
            ("2023-01-11", "100.00", "Payment Thank You"),
        ],
        ["NOT_CHECKED"],
    ),
    "comdirect": (
        ";\n"
        '"Umsätze Girokonto";"Zeitraum: 31 Tage";\n'
        '"Neuer Kontostand";"1.234,00 EUR";\n'
        "\n"
        '"Buchungstag";"Wertstellung (Valuta)";"Vorgang";"Buchungstext";"Umsatz in EUR";\n'
        '"31.01.2023";"31.01.2023";"Lastschrift / Belastung";"Auftraggeber: Telekom Buchungstext: Rechnun'
        'g";"-39,95";\n'
        '"30.01.2023";"30.01.2023";"Übertrag / Überweisung";"Empfänger: Max";"-10,00";\n'
        "\n"
        '"Alter Kontostand";"1.283,95 EUR";\n',
        [
            ("2023-01-31", "-39.95", "Auftraggeber: Telekom Buchungstext: Rechnung"),
            ("2023-01-30", "-10.00", "Empfänger: Max"),
        ],
        [],
    ),
    "commbank": (
        '15/01/2023,"-25.00","WOOLWORTHS","+975.00"\n14/01/2023,"+1000.00","SALARY","+1000.00"\n',
        [
            ("2023-01-15", "-25.00", "WOOLWORTHS"),
            ("2023-01-14", "1000.00", "SALARY"),
        ],
        [],
    ),
    "dkb": (
        '"Kontonummer:";"DE12 / Girokonto";\n'
        '"Von:";"01.01.2023";\n'
        '"Bis:";"31.01.2023";\n'
        '"Kontostand vom 31.01.2023:";"1.234,56 EUR";\n'
        "\n"
        '"Buchungstag";"Wertstellung";"Buchungstext";"Auftraggeber / Begünstigter";"Verwendungszweck";"Ko'
        'ntonummer";"BLZ";"Betrag (EUR)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz";\n'
        '"15.01.2023";"15.01.2023";"Lastschrift";"Stadtwerke";"Abschlag";"DE44";"XYZ";"-50,00";"DE1";"M1";"";\n'
        '"02.01.2023";"02.01.2023";"Gutschrift";"Chef";"Lohn";"DE55";"XYZ";"1.500,00";"";"";"";\n',
        [
            ("2023-01-15", "-50.00", "Abschlag"),
            ("2023-01-02", "1500.00", "Lohn"),
        ],
        ["NOT_CHECKED"],
    ),
    "fineco": (
        "Data_Operazione;Data_Valuta;Entrate;Uscite;Descrizione;Descrizione_Completa;Stato\n"
        "15/01/2023;15/01/2023;;-25,00;Pagamento Visa;ESSELUNGA;Contabilizzato\n"
        "10/01/2023;10/01/2023;1.000,00;;Bonifico;STIPENDIO;Contabilizzato\n",
        [
            ("2023-01-15", "-25.00", "Pagamento Visa ESSELUNGA"),
            ("2023-01-10", "1000.00", "Bonifico STIPENDIO"),
        ],
        ["NOT_CHECKED"],
    ),
    "handelsbanken": (
        "Reskontradatum;Transaktionsdatum;Text;Belopp;Saldo\n"
        "2023-01-15;2023-01-14;ICA;-125,50;874,50\n"
        "2023-01-10;2023-01-10;Lön;1 000,00;1 000,00\n",
        [
            ("2023-01-15", "-125.50", "ICA"),
            ("2023-01-10", "1000.00", "Lön"),
        ],
        [],
    ),
    "hdfc": (
        "Date,Narration,Chq./Ref.No.,Value Dt,Withdrawal Amt.,Deposit Amt.,Closing Balance\n"
        '01/01/23,UPI-SWIGGY,0000123,01/01/23,250.00,,"9,750.00"\n'
        '15/01/23,NEFT CR,0000124,15/01/23,,"1,00,000.00","1,09,750.00"\n',
        [
            ("2023-01-01", "-250.00", "UPI-SWIGGY"),
            ("2023-01-15", "100000.00", "NEFT CR"),
        ],
        [],
    ),
    "ing_nl": (
        '"Datum";"Naam / Omschrijving";"Rekening";"Tegenrekening";"Code";"Af Bij";"Bedrag (EUR)";"Mutatie'
        'soort";"Mededelingen";"Saldo na mutatie";"Tag"\n'
        '"20230115";"Albert Heijn";"NL01INGB0001234567";"";"BA";"Af";"25,50";"Betaalautomaat";"Pasvolgnr:'
        ' 001";"974,50";""\n'
        '"20230114";"Salaris";"NL01INGB0001234567";"NL02";"OV";"Bij";"500,00";"Overschrijving";"Loon";"10'
        '00,00";""\n',
        [
            ("2023-01-15", "-25.50", "Albert Heijn"),
            ("2023-01-14", "500.00", "Salaris"),
        ],
        [],
    ),
    "mbank": (
        "Data operacji;Data księgowania;Opis operacji;Tytuł;Nadawca/Odbiorca;Numer konta;Kwota;Saldo po o"
        "peracji;\n"
        "2023-01-15;2023-01-16;ZAKUP;BIEDRONKA;;'';-45,50;954,50;\n"
        "2023-01-10;2023-01-10;PRZELEW;WYPŁATA;PRACODAWCA;'12';1 000,00;1 000,00;\n",
        [
            ("2023-01-16", "-45.50", "ZAKUP BIEDRONKA"),
            ("2023-01-10", "1000.00", "PRZELEW WYPŁATA"),
        ],
        [],
    ),
    "monzo": (
        "Transaction ID,Date,Time,Type,Name,Emoji,Category,Amount,Currency,Local amount,Local currency,No"
        "tes and #tags,Address,Receipt,Description,Category split,Money Out,Money In\n"
        "tx_1,15/01/2023,10:00:00,Card payment,Tesco,,Groceries,-10.50,GBP,-10.50,GBP,,,,TESCO STORES 1,,"
        "-10.50,\n"
        "tx_2,16/01/2023,10:00:00,Faster payment,Employer,,Income,500.00,GBP,500.00,GBP,,,,SALARY,,,500.00\n",
        [
            ("2023-01-15", "-10.50", "TESCO STORES 1"),
            ("2023-01-16", "500.00", "SALARY"),
        ],
        ["NOT_CHECKED"],
    ),
    "n26": (
        '"Date","Payee","Account number","Transaction type","Payment reference","Amount (EUR)","Amount (F'
        'oreign Currency)","Type Foreign Currency","Exchange Rate"\n'
        '"2023-01-15","REWE","","MasterCard Payment","","-12.34","-12.34","EUR","1.0"\n'
        '"2023-01-16","Employer","DE89","Income","Salary","1000.0","","",""\n',
        [
            ("2023-01-15", "-12.34", "REWE"),
            ("2023-01-16", "1000.00", "Salary"),
        ],
        ["NOT_CHECKED"],
    ),
    "nubank": (
        "Data,Valor,Identificador,Descrição\n"
        "01/01/2023,-50.00,63a1,Compra no débito\n"
        "15/01/2023,1000.00,63a2,Transferência recebida\n",
        [
            ("2023-01-01", "-50.00", "Compra no débito"),
            ("2023-01-15", "1000.00", "Transferência recebida"),
        ],
        ["NOT_CHECKED"],
    ),
    "paypal": (
        '"Date","Time","TimeZone","Name","Type","Status","Currency","Gross","Fee","Net","From Email Addre'
        'ss","To Email Address","Transaction ID","Balance"\n'
        '"15/01/2023","10:00:00","CET","Shop","Express Checkout Payment","Completed","EUR","-20,00","0,00'
        '","-20,00","a","b","T1","80,00"\n'
        '"16/01/2023","10:00:00","CET","Customer","Payment","Completed","EUR","10,00","-0,50","9,50","a",'
        '"b","T2","89,50"\n',
        [
            ("2023-01-15", "-20.00", "Shop"),
            ("2023-01-16", "9.50", "Customer"),
        ],
        [],
    ),
    "revolut": (
        "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
        "CARD_PAYMENT,Current,2023-01-01 10:00:00,2023-01-02 11:00:00,Tesco,-10.50,0.00,GBP,COMPLETED,89.50\n"
        "TOPUP,Current,2023-01-03 10:00:00,2023-01-03 10:00:01,Top-Up,50.00,0.00,GBP,COMPLETED,139.50\n"
        "CARD_PAYMENT,Current,2023-01-04 10:00:00,,Pending shop,-5.00,0.00,GBP,PENDING,\n",
        [
            ("2023-01-02", "-10.50", "Tesco"),
            ("2023-01-03", "50.00", "Top-Up"),
            ("2023-01-04", "-5.00", "Pending shop"),
        ],
        [],
    ),
    "santander_es": (
        "Fecha Operación;Fecha Valor;Concepto;Importe;Divisa;Saldo\n"
        "31/01/2023;31/01/2023;Compra Mercadona;-25,30;EUR;974,70\n"
        "30/01/2023;30/01/2023;Nómina;1.000,00;EUR;1.000,00\n",
        [
            ("2023-01-31", "-25.30", "Compra Mercadona"),
            ("2023-01-30", "1000.00", "Nómina"),
        ],
        [],
    ),
    "sbi": (
        "Account Number  :\t_00000012345678901\n"
        "Start Date  :\t1 Jan 2023\n"
        "End Date  :\t31 Jan 2023\n"
        "\n"
        "Txn Date\tValue Date\tDescription\tRef No./Cheque No.\t        Debit\tCredit\tBalance\n"
        "1 Jan 2023\t1 Jan 2023\tBY TRANSFER\tREF1\t \t5,000.00\t15,000.00\n"
        "5 Jan 2023\t5 Jan 2023\tTO ATM\tREF2\t2,000.00\t \t13,000.00\n",
        [
            ("2023-01-01", "5000.00", "BY TRANSFER"),
            ("2023-01-05", "-2000.00", "TO ATM"),
        ],
        [],
    ),
    "sparkasse": (
        '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Glaeubiger ID";"M'
        'andatsreferenz";"Kundenreferenz (End-to-End)";"Sammlerreferenz";"Lastschrift Ursprungsbetrag";"A'
        'uslagenersatz Ruecklastschrift";"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWI'
        'FT-Code)";"Betrag";"Waehrung";"Info"\n'
        '"DE99";"31.01.23";"31.01.23";"ENTGELTABSCHLUSS";"Entgelt";"";"";"";"";"";"";"";"0";"";"-4,95";"E'
        'UR";"Umsatz gebucht"\n'
        '"DE99";"30.01.23";"30.01.23";"FOLGELASTSCHRIFT";"Strom";"DE1";"M";"E";"";"";"";"Stadtwerke";"DE4'
        '4";"BIC";"-60,00";"EUR";"Umsatz gebucht"\n',
        [
            ("2023-01-31", "-4.95", "Entgelt"),
            ("2023-01-30", "-60.00", "Strom"),
        ],
        ["NOT_CHECKED"],
    ),
    "td_ca": (
        "01/15/2023,TIM HORTONS,4.50,,995.50\n01/20/2023,PAYROLL,,500.00,1495.50\n",
        [
            ("2023-01-15", "-4.50", "TIM HORTONS"),
            ("2023-01-20", "500.00", "PAYROLL"),
        ],
        [],
    ),
    "ubs": (
        "Kontonummer:;0235 00123456.01;\n"
        "IBAN:;CH00;\n"
        "Von:;2023-01-01;\n"
        "Bis:;2023-01-31;\n"
        "Anfangssaldo:;1000.00;\n"
        "Schlusssaldo:;950.00;\n"
        "Bewertet in:;CHF;\n"
        "Anzahl Transaktionen in diesem Zeitraum:;1;\n"
        "\n"
        "Abschlussdatum;Abschlusszeit;Buchungsdatum;Valutadatum;Währung;Belastung;Gutschrift;Einzelbetrag"
        ";Saldo;Transaktions-Nr.;Beschreibung1;Beschreibung2;Beschreibung3;Fussnoten\n"
        "2023-01-15;;2023-01-15;2023-01-15;CHF;-50.00;;;950.00;123;Migros;Kauf;;\n",
        [
            ("2023-01-15", "-50.00", "Migros Kauf"),
        ],
        [],
    ),
    "wells": (
        '"01/15/2023","-25.00","*","","PURCHASE STARBUCKS"\n'
        '"01/10/2023","500.00","*","","PAYROLL"\n',
        [
            ("2023-01-15", "-25.00", "PURCHASE STARBUCKS"),
            ("2023-01-10", "500.00", "PAYROLL"),
        ],
        ["NOT_CHECKED"],
    ),
    "wise": (
        '"TransferWise ID",Date,Amount,Currency,Description,"Payment Reference","Running Balance","Exchan'
        'ge From","Exchange To","Exchange Rate","Payer Name","Payee Name","Payee Account Number",Merchant'
        ',"Card Last Four Digits","Card Holder Full Name",Attachment,Note,"Total fees"\n'
        'CARD-1,15-01-2023,-10.00,EUR,"Card transaction",,90.00,,,,,,,Lidl,1234,"J D",,,0.00\n'
        'TRANSFER-2,14-01-2023,100.00,EUR,"Received money",,100.00,,,,X,,,,,,,,0.00\n',
        [
            ("2023-01-15", "-10.00", "Card transaction"),
            ("2023-01-14", "100.00", "Received money"),
        ],
        [],
    ),
}


@pytest.mark.parametrize("name", BANKS)
def test_the_export_of_a_bank_is_read(name: str, tmp_path: Path) -> None:
    text, rows, notes = BANKS[name]

    read = read_bytes(tmp_path, text)

    found = [(row["date"], row["amount"], row.get("description", "")) for row in read.canonicals]
    assert found == rows
    assert read.notes == notes


def test_a_card_whose_charges_are_positive_is_known_by_its_headings(tmp_path: Path) -> None:
    rows = "".join(f"01/{day}/2023,UBER,JOHN DOE,-12345,{day}.00\n" for day in range(13, 20))
    text = f"Date,Description,Card Member,Account #,Amount\n{rows}01/20/2023,ONLINE PAYMENT,JOHN DOE,-12345,-100.00\n"

    read = read_bytes(tmp_path, text)

    assert (read.amounts[0], read.amounts[-1]) == ("-13.00", "100.00")
    assert read.notes == ["NOT_CHECKED"]


def test_of_gross_and_net_the_one_that_the_balances_follow_is_the_amount(tmp_path: Path) -> None:
    text, rows, _ = BANKS["paypal"]

    assert [row["amount"] for row in read_bytes(tmp_path, text).canonicals] == [
        each[1] for each in rows
    ]


def test_the_account_of_the_others_is_not_ones_own(tmp_path: Path) -> None:
    text, _, _ = BANKS["dkb"]

    assert {row["account"] for row in read_bytes(tmp_path, text).canonicals} == {"DE12 / Girokonto"}


def test_what_is_pending_takes_the_only_date_it_has_and_is_not_added_up(tmp_path: Path) -> None:
    text, _, _ = BANKS["revolut"]

    pending = read_bytes(tmp_path, text).canonicals[-1]

    assert pending["is_pending"]
    assert "Started Date" in pending["note"]
