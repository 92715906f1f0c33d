"""Statements of France, Belgium, Spain, Italy, Portugal and Brazil."""

from decimal import Decimal

from lab.documents.bank_pdfs.activity import account, period
from lab.documents.bank_pdfs.layouts import bank
from lab.documents.bank_pdfs.sheet import Cells, Column, Sheet

FR = {"thousands": " ", "point": ","}
SOUTH = {"thousands": ".", "point": ","}


def _front(s: Sheet, name: str, foot: str, *lines: str) -> None:
    s.on_page = lambda number: s.footer(foot, f"{number} / 4")
    s.page()
    s.say(name, is_bold=True, size=13)
    s.gap()
    s.say(*lines)
    s.gap()


def _sides(s: Sheet, amount: Decimal) -> dict[str, str]:
    """A balance in the column of its side."""
    return {"debit" if amount < 0 else "credit": s.num(amount)}


@bank("bnp-paribas", "FR", "EUR", "fr", "debit and credit, balances in the columns", **FR)
def bnp(s: Sheet) -> None:
    own = account(s.random, "fr", "EUR", period(s.random, is_whole_month=False))
    form = "{dd}.{mm}.{yyyy}"
    _front(s, "BNP PARIBAS", "BNP PARIBAS SA au capital de 2 499 597 122 euros - Siège social : 16 bd des Italiens, 75009 Paris - RCS Paris 662 042 449",
           "RELEVE DE COMPTE CHEQUES", f"du {s.day(own.start, '{d} {Month} {yyyy}')} au {s.day(own.end, '{d} {Month} {yyyy}')}", "RIB : 30004 00801 00000123456 61   Monnaie du compte : Euro")  # fmt: skip

    def word(amount: Decimal) -> str:
        return "CREDITEUR" if amount >= 0 else "DEBITEUR"

    rows: list[Cells] = (
        [
            {
                "text": f"SOLDE {word(own.opening)} AU {s.day(own.start, form)}",
                **_sides(s, own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd}.{mm}"),
            "text": e.lines,
            "value": s.day(e.value_day, "{dd}.{mm}"),
            **_sides(s, e.amount),
        }
        for e in own.entries
    ]
    rows.append(
        {"text": "TOTAL DES OPERATIONS", "debit": s.num(own.paid_out), "credit": s.num(own.paid_in)}
    )
    if s.style.has_balances:
        rows.append(
            {
                "text": f"SOLDE {word(own.closing)} AU {s.day(own.end, form)}",
                **_sides(s, own.closing),
            }
        )
    s.table([
        Column("date", "Date", 0.09, "date"), Column("text", "Nature des opérations", 0.5, "text"), Column("value", "Valeur", 0.1), Column("debit", "Débit", 0.155, "debit", "r"),
        Column("credit", "Crédit", 0.155, "credit", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank(
    "credit-agricole",
    "FR",
    "EUR",
    "fr",
    "debit and credit, marks between columns",
    **FR,
    fixed="separator",
)
def credit_agricole(s: Sheet) -> None:
    own = account(s.random, "fr", "EUR", period(s.random))
    _front(s, "CREDIT AGRICOLE ILE DE FRANCE", "Caisse Régionale de Crédit Agricole Mutuel de Paris - 26 quai de la Rapée 75012 Paris - IBAN FR76 1820 6000",
           "RELEVE DE COMPTES", f"Date d'arrêté : {s.day(own.end, '{d} {Month} {yyyy}')}", f"Compte de Dépôt n° {own.number}")  # fmt: skip
    rows: list[Cells] = (
        [
            {
                "text": f"Ancien solde {'créditeur' if own.opening >= 0 else 'débiteur'} au {s.day(own.start, '{dd}.{mm}.{yyyy}')}",
                **_sides(s, own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{dd}.{mm}"),
            "value": s.day(e.value_day, "{dd}.{mm}"),
            "text": e.lines,
            "mark": "þ" if s.random.random() < 0.2 else "¨",
            **_sides(s, e.amount),
        }
        for e in own.entries
    ]
    rows.append(
        {"text": "Total des opérations", "debit": s.num(own.paid_out), "credit": s.num(own.paid_in)}
    )
    if s.style.has_balances:
        rows.append(
            {
                "text": f"Nouveau solde {'créditeur' if own.closing >= 0 else 'débiteur'} au {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
                **_sides(s, own.closing),
            }
        )
    s.table([
        Column("date", "Date|opé.", 0.08, "date"), Column("value", "Date|valeur", 0.08), Column("text", "Libellé des opérations", 0.5, "text"), Column("mark", "þ", 0.03),
        Column("debit", "Débit", 0.155, "debit", "r"), Column("credit", "Crédit", 0.155, "credit", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank("belfius", "BE", "EUR", "fr", "sign before the amount, number of the row", **SOUTH)
def belfius(s: Sheet) -> None:
    own = account(s.random, "fr", "EUR", period(s.random))
    form = "{dd}-{mm}-{yyyy}"
    _front(s, "Belfius Banque SA", "Place Charles Rogier 11, B-1210 Bruxelles - RPM Bruxelles TVA BE 0403.201.185 - IBAN BE23 0529 0064 6991",
           f"Extrait de compte {own.end.year}/{s.random.randint(1, 40):03}", "COMPTE A VUE BE68 5390 0754 7034")  # fmt: skip
    s.pairs(
        (
            (
                f"Solde au {s.day(own.start, form)}",
                s.signed(own.opening, plus="+ ", minus="- ") + " EUR",
            ),
        ),
        to=1.0,
    )
    s.gap(0.5)
    s.table(
        [Column("number", "N°", 0.06), Column("date", "Date", 0.13, "date"), Column("text", "Communication", 0.45, "text"), Column("value", "Valeur", 0.14), Column("amount", "Montant en EUR", 0.22, "amount", "r")],
        [{"number": f"{at:04}", "date": s.day(e.day, form), "text": e.lines, "value": s.day(e.value_day, form), "amount": s.signed(e.amount, plus="+ ", minus="- ")} for at, e in enumerate(own.entries, 1)],
    )  # fmt: skip
    s.gap()
    s.pairs(
        (
            (
                f"Solde au {s.day(own.end, form)}",
                s.signed(own.closing, plus="+ ", minus="- ") + " EUR",
            ),
        ),
        to=1.0,
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank("santander-es", "ES", "EUR", "es", "running balance, trailing currency", **SOUTH)
def santander(s: Sheet) -> None:
    own = account(s.random, "es", "EUR", period(s.random))
    form = "{dd}-{mm}-{yyyy}"
    _front(s, "Santander", "Banco Santander S.A., Domicilio Social: Paseo de Pereda, 9-12. 39004 SANTANDER. R.M. de Cantabria, hoja 286, CIF A-39000013",
           "EXTRACTO MENSUAL", f"Período: {s.day(own.start, form)} a {s.day(own.end, form)}", "IBAN: ES91 2100 0418 4502 0005 1332   Divisa: EUR")  # fmt: skip
    rows: list[Cells] = (
        [{"text": "SALDO INICIAL", "balance": s.signed(own.opening)}]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, form),
            "value": s.day(e.value_day, form),
            "text": e.lines,
            "amount": s.signed(e.amount) + "€",
            "balance": s.signed(e.balance) + "€",
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append({"text": "SALDO FINAL", "balance": s.signed(own.closing)})
    s.table([
        Column("date", "Fecha|Operación", 0.13, "date"), Column("value", "Fecha|Valor", 0.13), Column("text", "|Concepto", 0.38, "text"), Column("amount", "|Importe", 0.18, "amount", "r"),
        Column("balance", "|Saldo", 0.18, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank(
    "caixabank",
    "ES",
    "EUR",
    "es",
    "monospaced, trailing minus",
    font="courier",
    bold="courier",
    text_size=7.2,
    **SOUTH,
    fixed="font",
)
def caixabank(s: Sheet) -> None:
    own = account(s.random, "es", "EUR", period(s.random, is_whole_month=False))
    _front(
        s,
        "CaixaBank",
        "CaixaBank, S.A. C/ Pintor Sorolla, 2-4 46002 Valencia NIF A08663619",
        "EXTRACTO DE CUENTA",
        f"DEL {s.day(own.start, '{dd}.{mm}.{yyyy}')} AL {s.day(own.end, '{dd}.{mm}.{yyyy}')}",
        "CUENTA 2100 0418 45 0200051332   EUROS",
    )
    rows: list[Cells] = (
        [{"text": "SALDO ANTERIOR", "balance": s.trailing(own.opening)}]
        if s.style.has_balances
        else []
    )
    for at, e in enumerate(own.entries):
        balance = {"balance": s.trailing(e.balance)} if own.last_of_day(at) else {}
        rows.append(
            {
                "date": s.day(e.day, "{dd}.{mm}"),
                "value": s.day(e.value_day, "{dd}.{mm}"),
                "text": e.lines,
                "amount": s.trailing(e.amount),
                **balance,
            }
        )
    s.table([
        Column("date", "F.OPER", 0.09, "date"), Column("value", "F.VALOR", 0.1), Column("text", "CONCEPTO", 0.45, "text"), Column("amount", "IMPORTE", 0.18, "amount", "r"), Column("balance", "SALDO", 0.18, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="day")
    s.framed(own)


@bank("intesa", "IT", "EUR", "it", "debit and credit, two dates", **SOUTH)
def intesa(s: Sheet) -> None:
    own = account(s.random, "it", "EUR", period(s.random))
    form = "{dd}.{mm}.{yyyy}"
    _front(s, "INTESA SANPAOLO", "Intesa Sanpaolo S.p.A. Sede Legale: Piazza San Carlo, 156 10121 Torino. Capitale Sociale Euro 10.368.870.930,08",
           "Estratto conto", f"al {s.day(own.end, form)}   N. {s.random.randint(1, 12)}/{own.end.year}", "Conto corrente 1000/00012345   IBAN IT60 X054 2811 1010 0000 0123 456")  # fmt: skip
    rows: list[Cells] = (
        [{"date": s.day(own.start, form), "text": "Saldo iniziale", **_sides(s, own.opening)}]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, form),
            "value": s.day(e.value_day, form),
            "text": e.lines,
            **_sides(s, e.amount),
        }
        for e in own.entries
    ]
    rows.append({"text": "Totali", "debit": s.num(own.paid_out), "credit": s.num(own.paid_in)})
    if s.style.has_balances:
        rows.append(
            {"date": s.day(own.end, form), "text": "Saldo finale", **_sides(s, own.closing)}
        )
    s.table([
        Column("date", "Data|operazione", 0.13, "date"), Column("value", "Data|valuta", 0.13), Column("text", "|Descrizione", 0.42, "text"), Column("debit", "|Addebiti", 0.16, "debit", "r"),
        Column("credit", "|Accrediti", 0.16, "credit", "r"),
    ], rows)  # fmt: skip
    s.gap()
    s.say(
        "Riassunto scalare: numeri debitori 0,00 - numeri creditori 123.456 - tasso 0,010 %   Imposta di bollo 34,20 annui"
    )
    s.booked(own, own.entries)
    s.framed(own)


@bank("itau", "BR", "BRL", "pt", "balance of the day as a row", **SOUTH)
def itau(s: Sheet) -> None:
    own = account(s.random, "pt", "BRL", period(s.random))
    _front(s, "Itaú Uniclass", "Itaú Unibanco S.A. CNPJ 60.701.190/0001-04. SAC 0800 728 0728. Ouvidoria 0800 570 0011. Limite da conta R$ 3.500,00",
           "extrato conta corrente", f"agência 0123   conta {own.number[:5]}-4", f"período de {s.day(own.start, '{dd}/{mm}/{yyyy}')} até {s.day(own.end, '{dd}/{mm}/{yyyy}')}")  # fmt: skip
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, "{dd}/{mm}/{yyyy}"),
                "text": "SALDO ANTERIOR",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    for at, e in enumerate(own.entries):
        rows.append(
            {
                "date": s.day(e.day, "{dd}/{mm}/{yyyy}"),
                "text": " ".join(e.lines),
                "amount": s.signed(e.amount),
            }
        )
        if s.style.has_balances and own.last_of_day(at):
            rows.append(
                {
                    "date": s.day(e.day, "{dd}/{mm}/{yyyy}"),
                    "text": "SALDO TOTAL DISPONÍVEL DIA",
                    "balance": s.signed(e.balance),
                }
            )
    s.table([
        Column("date", "data", 0.15, "date"), Column("text", "lançamentos", 0.49, "text"), Column("amount", "valor (R$)", 0.18, "amount", "r"), Column("balance", "saldo (R$)", 0.18, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries)
    s.framed(own)


@bank("bradesco", "BR", "BRL", "pt", "date once a day, running balance", **SOUTH)
def bradesco(s: Sheet) -> None:
    own = account(s.random, "pt", "BRL", period(s.random))
    form = "{dd}/{mm}/{yyyy}"
    _front(s, "Bradesco Celular", "Os dados acima têm como base a posição do dia anterior. Fone Fácil 4002 0022. Ouvidoria 0800 727 9933",
           f"Data: {s.day(own.end, form)} - 14h31", "Extrato Mensal / Por Período", f"Agência | Conta: 01234 | {own.number}   Movimentação entre: {s.day(own.start, form)} e {s.day(own.end, form)}")  # fmt: skip
    rows: list[Cells] = (
        [
            {
                "date": s.day(own.start, form),
                "text": "SALDO ANTERIOR",
                "balance": s.signed(own.opening),
            }
        ]
        if s.style.has_balances
        else []
    )
    before = None
    for e in own.entries:
        shown = {"date": s.day(e.day, form)} if e.day != before else {}
        before = e.day
        rows.append(
            {
                **shown,
                "text": e.lines,
                "number": str(s.random.randint(1000, 9999999)),
                "debit" if e.is_debit else "credit": s.num(e.amount)
                if not e.is_debit
                else "-" + s.num(e.amount),
                "balance": s.signed(e.balance),
            }
        )
    rows.append(
        {
            "text": "Total",
            "credit": s.num(own.paid_in),
            "debit": "-" + s.num(own.paid_out),
            "balance": s.signed(own.closing),
        }
    )
    s.table([
        Column("date", "Data", 0.13, "date"), Column("text", "Histórico", 0.3, "text"), Column("number", "Docto.", 0.12, "spare", "r"), Column("credit", "Crédito (R$)", 0.15, "credit", "r"),
        Column("debit", "Débito (R$)", 0.15, "debit", "r"), Column("balance", "Saldo (R$)", 0.15, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)


@bank("nubank-card", "BR", "BRL", "pt", "card, no headings", **SOUTH, fixed="swap unhead rename")
def nubank(s: Sheet) -> None:
    own = account(s.random, "pt", "BRL", period(s.random, is_whole_month=False), is_card=True)
    owed = own.opening - sum((e.amount for e in own.entries), Decimal(0))
    _front(s, "Nubank", "Nu Pagamentos S.A. CNPJ 18.236.120/0001-58. Em caso de atraso: multa de 2,00% e juros de 13,75% a.m.",
           "Olá, Joana. Esta é a sua fatura", f"FATURA {s.day(own.end, '{dd} {MON} {yyyy}')}   EMISSÃO E ENVIO {s.day(own.end, '{dd} {MON} {yyyy}')}")  # fmt: skip
    s.say("RESUMO DA FATURA ATUAL", is_bold=True)
    s.pairs(
        (
            ("Fatura anterior", "R$ " + s.num(own.opening)),
            ("Pagamento recebido", "-R$ " + s.num(own.paid_in)),
            ("Total de compras, outros lançamentos e IOF", "R$ " + s.num(own.paid_out)),
            ("Total a pagar", s.signed(owed, plus="R$ ", minus="-R$ ")),
        ),
        to=0.8,
    )
    s.gap()
    s.put(
        s.x(0),
        s.y,
        f"TRANSAÇÕES   DE {s.day(own.start, '{dd} {MON}')} A {s.day(own.end, '{dd} {MON}')}",
        is_bold=True,
    )
    s.gap(1.5)
    s.table(
        [Column("date", "", 0.14, "date"), Column("text", "", 0.62, "text"), Column("amount", "", 0.24, "amount", "r")],
        [{"date": s.day(e.day, "{dd} {MON}"), "text": " ".join(e.lines), "amount": s.signed(-e.amount, plus="R$ ", minus="-R$ ")} for e in own.entries],
    )  # fmt: skip
    s.booked(own, own.entries)


@bank(
    "millennium-bcp",
    "PT",
    "EUR",
    "pt",
    "two date columns without year",
    thousands=" ",
    point=".",
    fixed="separator",
)
def millennium(s: Sheet) -> None:
    own = account(s.random, "pt", "EUR", period(s.random, is_whole_month=False))
    _front(s, "Millennium bcp", "Banco Comercial Português, S.A., Sede: Praça D. João I, 28, 4000-295 Porto, Capital Social 3.000.000.000,00 Euros",
           "EXTRATO COMBINADO", f"DE {s.day(own.start, '{yyyy}/{mm}/{dd}')} A {s.day(own.end, '{yyyy}/{mm}/{dd}')}", f"CONTA SIMPLES N. {own.number}   MOEDA EUR")  # fmt: skip
    rows: list[Cells] = (
        [{"text": "SALDO INICIAL", "balance": s.signed(own.opening)}]
        if s.style.has_balances
        else []
    )
    rows += [
        {
            "date": s.day(e.day, "{m}.{dd}"),
            "value": s.day(e.value_day, "{m}.{dd}"),
            "text": e.lines,
            "debit" if e.is_debit else "credit": s.num(e.amount),
            "balance": s.signed(e.balance),
        }
        for e in own.entries
    ]
    if s.style.has_balances:
        rows.append({"text": "SALDO FINAL", "balance": s.signed(own.closing)})
    s.table([
        Column("date", "DATA|LANC.", 0.09, "date"), Column("value", "DATA|VALOR", 0.09), Column("text", "|DESCRITIVO", 0.37, "text"), Column("debit", "|DEBITO", 0.15, "debit", "r"),
        Column("credit", "|CREDITO", 0.15, "credit", "r"), Column("balance", "|SALDO", 0.15, "balance", "r"),
    ], rows)  # fmt: skip
    s.booked(own, own.entries, balances="row")
    s.framed(own)
