"""Several statements of one account in one file: each opens with what the one before closed with."""

from pathlib import Path

import pytest

from tests.pipelines.statements.reading import read_bytes


def swift(day: int, opening: str, closing: str, *, account: str = "NL91ABNA0417164300") -> str:
    before, after = (text.replace(".", ",") for text in (opening, closing))
    amount = f"{float(closing) - float(opening):.2f}".replace(".", ",")
    return (
        f":20:REF\n:25:{account}\n:28C:{day}/1\n:60F:C2609{day:02d}EUR{before}\n"
        f":61:2609{day:02d}C{amount}N196NONREF\n:86:KLANT\n:62F:C2609{day:02d}EUR{after}\n-\n"
    )


def camt(*statements: tuple[int, str, str]) -> str:
    def balance(code: str, amount: str, day: int) -> str:
        return (
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy='EUR'>{amount}</Amt>"
            f"<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-09-{day:02d}</Dt></Dt></Bal>"
        )

    parts = [
        "<Stmt><Acct><Id><IBAN>FI2112345600000785</IBAN></Id></Acct>"
        f"{balance('OPBD', opening, day)}{balance('CLBD', closing, day)}"
        f"<Ntry><Amt Ccy='EUR'>{float(closing) - float(opening):.2f}</Amt><CdtDbtInd>CRDT</CdtDbtInd>"
        f"<Sts>BOOK</Sts><BookgDt><Dt>2026-09-{day:02d}</Dt></BookgDt></Ntry></Stmt>"
        for day, opening, closing in statements
    ]
    space = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"
    return f"<Document xmlns='{space}'><BkToCstmrStmt>{''.join(parts)}</BkToCstmrStmt></Document>"


FIRST, SECOND, THIRD = (1, "100.00", "180.00"), (2, "180.00", "200.00"), (4, "200.00", "230.00")


@pytest.mark.parametrize(
    ("statements", "is_broken"),
    [
        ((FIRST, SECOND, THIRD), False),
        ((THIRD, SECOND, FIRST), False),
        ((SECOND, FIRST, THIRD), False),
        ((FIRST, THIRD), True),
        ((THIRD, FIRST), True),
    ],
)
def test_a_statement_that_is_missing_between_two_is_told(
    tmp_path: Path, statements: tuple[tuple[int, str, str], ...], is_broken: bool
) -> None:
    expected = ["CONTROL_DIFFERS"] if is_broken else []

    assert read_bytes(tmp_path, "".join(swift(*each) for each in statements)).flags == expected
    assert read_bytes(tmp_path, camt(*statements)).flags == expected


def test_statements_of_two_accounts_do_not_follow_from_one_another(tmp_path: Path) -> None:
    text = swift(*FIRST) + swift(*THIRD, account="NL20INGB0001234567")

    assert read_bytes(tmp_path, text).flags == []


def test_an_empty_statement_from_zero_to_zero_tells_nothing(tmp_path: Path) -> None:
    empty = ":20:REF\n:25:NL91ABNA0417164300\n:60M:C260903EUR0,\n:62F:C260903EUR0,\n-\n"

    assert read_bytes(tmp_path, swift(*FIRST) + empty).flags == []
