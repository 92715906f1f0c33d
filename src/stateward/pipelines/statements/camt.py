"""CAMT.052, 053 and 054 of any version: XML of ISO 20022, by the local names of its elements.

An entry is a row, because it is one line of the account; the payments of a batch entry stay with it.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from lxml import etree

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.failures import CORRUPT_FILE, HOSTILE_FILE, recode
from stateward.pipelines.kit.xml import local_name, parse_xml
from stateward.pipelines.statements.model import (
    ReadingTerms,
    RowPlace,
    StatementProblem,
    StatementReading,
    StatementRow,
    StatementSection,
)
from stateward.pipelines.statements.source import Source
from stateward.pipelines.statements.successive import broken_successions

CODES = {CORRUPT_FILE: "XML_CORRUPT", HOSTILE_FILE: "XML_ENTITY"}
GROUPS = frozenset({"Stmt", "Rpt", "Ntfctn"})
OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)
INTERIM = "ITBD"
TERMS = ReadingTerms(
    date_order="ymd",
    decimal=".",
    sign="marks",
    why={
        "date_order": "ISO 20022 dates start with the year",
        "decimal": "ISO 20022 amounts use a point",
        "sign": "CdtDbtInd says credit or debit, for reversals too",
    },
)


def read(source: Source) -> StatementReading:
    """One section for each statement, report or notification."""
    with recode(CODES):
        root = parse_xml(source.raw())
    problems: list[StatementProblem] = []
    groups = [group for group in root.iter() if local_name(group) in GROUPS]
    sections = [_section(group, problems) for group in groups]
    if not sections:
        raise FatalFailure(
            "the file is XML, but contains no statement (Stmt), report (Rpt) or notification (Ntfctn)",
            code="NO_ROWS",
        )
    if all(local_name(group) == "Stmt" for group in groups):  # reports of one day may overlap
        problems += broken_successions(sections)
    decisions = [*source.decisions, f"CAMT with {len(sections)} statements"]
    return StatementReading(
        format="camt", sections=sections, problems=problems, decisions=decisions
    )


def _children(element: etree._Element, name: str) -> Iterator[etree._Element]:
    return (child for child in element if local_name(child) == name)


def _find(element: etree._Element | None, path: str) -> etree._Element | None:
    """The first element down a path of local names; `*` is any."""
    found = element
    for name in path.split("/"):
        if found is None:
            return None
        found = next(
            (child for child in found if (tag := local_name(child)) and name in (tag, "*")), None
        )
    return found


def _text(element: etree._Element | None, *paths: str) -> str:
    """The text at the first of these paths that has one."""
    for path in paths:
        found = _find(element, path)
        if found is not None and found.text and found.text.strip():
            return str(found.text.strip())
    return ""


def _section(group: etree._Element, problems: list[StatementProblem]) -> StatementSection:
    account = _find(group, "Acct")
    balances = {
        _text(each, "Tp/CdOrPrtry/Cd", "Tp/CdOrPrtry/Prtry", "Tp/Cd"): each
        for each in reversed(list(_children(group, "Bal")))
    }
    opening = next((balances[code] for code in OPENING if code in balances), None)
    closing = next((balances[code] for code in CLOSING if code in balances), None)
    currency = _text(account, "Ccy") or _currency(opening) or _currency(closing)
    rows = [row for entry in _children(group, "Ntry") if (row := _row(entry, problems))]
    if closing is None and opening is not None and INTERIM in balances:
        # A report may list some of the entries of a day only: its interim balance proves them, or says nothing.
        interim = balances[INTERIM]
        closing = interim if _value(opening) + _booked_amount(rows) == _value(interim) else None
    return StatementSection(
        account=_text(account, "Id/IBAN", "Id/Othr/Id", "Id/*", "Id"),
        account_name=_text(account, "Nm", "Ownr/Nm"),
        bank=_text(account, "Svcr/FinInstnId/Nm", "Svcr/FinInstnId/BICFI", "Svcr/FinInstnId/BIC"),
        currency=currency or next((row.currency for row in rows if row.currency), ""),
        opening=_balance(opening),
        opening_date=_text(opening, "Dt/Dt", "Dt/DtTm"),
        closing=_balance(closing),
        closing_date=_text(closing, "Dt/Dt", "Dt/DtTm"),
        period_from=_text(group, "FrToDt/FrDtTm", "FrToDt/FrDt"),
        period_to=_text(group, "FrToDt/ToDtTm", "FrToDt/ToDt"),
        totals=_totals(_find(group, "TxsSummry")),
        terms=TERMS,
        rows=rows,
    )


def _currency(balance: etree._Element | None) -> str:
    amount = _find(balance, "Amt")
    return "" if amount is None else str(amount.get("Ccy", ""))


def _value(balance: etree._Element) -> Decimal:
    return _signed_amount(_text(balance, "Amt"), _text(balance, "CdtDbtInd"))


def _booked_amount(rows: Sequence[StatementRow]) -> Decimal:
    booked = (row for row in rows if not row.more.get("status"))
    return sum((_signed_amount(row.amount, row.mark) for row in booked), Decimal(0))


def _signed_amount(text: str, mark: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")  # equal to nothing
    return -value if mark == "DBIT" else value


def _balance(balance: etree._Element | None) -> str:
    if balance is None:
        return ""
    return f"{_text(balance, 'CdtDbtInd')} {_text(balance, 'Amt')}".strip()


def _totals(summary: etree._Element | None) -> dict[str, str]:
    paths = {
        "count": "TtlNtries/NbOfNtries",
        "credits": "TtlCdtNtries/Sum",
        "credit_count": "TtlCdtNtries/NbOfNtries",
        "debits": "TtlDbtNtries/Sum",
        "debit_count": "TtlDbtNtries/NbOfNtries",
    }
    return {name: text for name, path in paths.items() if (text := _text(summary, path))}


def _row(entry: etree._Element, problems: list[StatementProblem]) -> StatementRow | None:
    place = RowPlace(line=int(entry.sourceline or 0))
    amount = _find(entry, "Amt")
    mark = _text(entry, "CdtDbtInd")
    booked = _text(entry, "BookgDt/Dt", "BookgDt/DtTm")
    value = _text(entry, "ValDt/Dt", "ValDt/DtTm")
    missing = [
        name
        for name, text in (
            ("Amt", _text(entry, "Amt")),
            ("CdtDbtInd", mark),
            ("date", booked or value),
        )
        if not text
    ]
    if missing or amount is None:
        raw = etree.tostring(entry, encoding="unicode")[:2000]
        message = f"an entry has no {' and no '.join(missing)}"
        problems.append(
            StatementProblem(code="ROW_UNREADABLE", message=message, place=place, raw=raw)
        )
        return None
    details = [tx for holder in _children(entry, "NtryDtls") for tx in _children(holder, "TxDtls")]
    first = details[0] if details else None
    return StatementRow(
        place=place,
        date=booked or value,
        value_date=value,
        description=_description(entry, details),
        amount=_text(entry, "Amt"),
        mark=mark,
        currency=str(amount.get("Ccy", "")),
        reference=_text(entry, "AcctSvcrRef", "NtryRef") or _text(first, "Refs/AcctSvcrRef"),
        counterparty=_counterparty(first, mark) if len(details) == 1 else "",
        more=_more(entry, details),
        note="" if booked else "there is no booking date: the value date was taken",
    )


def _description(entry: etree._Element, details: list[etree._Element]) -> str:
    """The remittance information of the payments, else the information of the bank about the entry."""
    lines = [
        text
        for tx in details
        for holder in _children(tx, "RmtInf")
        for each in (*_children(holder, "Ustrd"), *_structured_references(holder))
        if (text := (each.text or "").strip())
    ]
    if lines:
        return "\n".join(lines)
    first = details[0] if details else None
    return _text(entry, "AddtlNtryInf") or _text(first, "AddtlTxInf")


def _structured_references(holder: etree._Element) -> Iterator[etree._Element]:
    for strd in _children(holder, "Strd"):
        for path in ("CdtrRefInf/Ref", "CdtrRefInf/CdtrRef", "AddtlRmtInf", "RfrdDocInf/Nb"):
            found = _find(strd, path)
            if found is not None:
                yield found


def _counterparty(tx: etree._Element | None, mark: str) -> str:
    """The debtor of a credit, or the creditor of a debit."""
    sides = ("Dbtr", "UltmtDbtr") if mark == "CRDT" else ("Cdtr", "UltmtCdtr")
    paths = [f"RltdPties/{side}/{rest}" for side in sides for rest in ("Nm", "Pty/Nm")]
    return _text(tx, *paths)


def _more(entry: etree._Element, details: list[etree._Element]) -> dict[str, str]:
    first = details[0] if details else None
    facts = {
        "status": _text(entry, "Sts/Cd", "Sts"),
        "reversal": _text(entry, "RvslInd"),
        "bank_code": _code(_find(entry, "BkTxCd")),
        "entry_info": _text(entry, "AddtlNtryInf"),
        "end_to_end": _real_reference(_text(first, "Refs/EndToEndId")) if len(details) == 1 else "",
        "mandate": _text(first, "Refs/MndtId") if len(details) == 1 else "",
        "batch": _batch(details) if len(details) > 1 else "",
    }
    if facts["status"] == "BOOK":
        facts["status"] = ""
    return {name: text for name, text in facts.items() if text}


def _real_reference(reference: str) -> str:
    return "" if reference.upper() in ("NOTPROVIDED", "NONREF") else reference


def _code(code: etree._Element | None) -> str:
    domain = [
        _text(code, "Domn/Cd"), _text(code, "Domn/Fmly/Cd"), _text(code, "Domn/Fmly/SubFmlyCd")
    ]  # fmt: skip
    return "/".join(part for part in domain if part) or _text(code, "Prtry/Cd")


def _batch(details: list[etree._Element]) -> str:
    """The payments of a batch entry, one per line: amount, end-to-end id, name."""
    lines = []
    for tx in details:
        amount = _text(tx, "Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/InstdAmt/Amt")
        name = _text(
            tx,
            "RltdPties/Cdtr/Nm",
            "RltdPties/Dbtr/Nm",
            "RltdPties/Cdtr/Pty/Nm",
            "RltdPties/Dbtr/Pty/Nm",
        )
        lines.append(" ".join(p for p in (amount, _text(tx, "Refs/EndToEndId"), name) if p))
    return "\n".join(lines)
