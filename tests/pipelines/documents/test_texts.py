"""Letters and notes are kept as texts that can be searched, and nothing that others know is taken from them."""

from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path

import pytest

from lab.documents.contracts.blocks import Block, Lines, docx
from stateward.app import App
from stateward.definition.plugin import Content
from stateward.pipelines.documents.detection import detect
from stateward.pipelines.documents.texts import text_lines
from stateward.pipelines.documents.unread import unread_lines

LETTER = [
    "Dear parents,",
    "swimming lessons begin on 12 October, and cost 4.50 a week.",
    "Please send a towel. Yours, Ann Lee",
]
NOTE = "sat 17 oct\n\n- ring plumber, he said about 180?\n- paint: was 38.00 now 29.50\n"


def written(lines: Sequence[str]) -> bytes:
    return "\r\n".join(lines).encode("cp1252")


def in_word(lines: Sequence[str]) -> bytes:
    blocks: list[Block] = [Lines([*lines])]
    return docx(blocks)


def in_two_bytes(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode("utf-16")


def in_rtf(lines: Sequence[str]) -> bytes:
    body = "\\par\n".join(lines).replace("ü", "\\'fc").replace("ß", "\\'df")
    return f"{{\\rtf1\\ansi\\ansicpg1252 {body}\\par}}".encode("ascii")


@pytest.mark.parametrize("write", [written, in_word, in_two_bytes, in_rtf])
def test_a_letter_ends_indexed_and_is_found_at_its_place(
    tmp_path: Path, write: Callable[[Sequence[str]], bytes]
) -> None:
    path = tmp_path / "letter"
    path.write_bytes(write([*LETTER, "Grüße"]))

    with App.embedded(tmp_path / "data") as app:
        best = app.plugins.candidates(path)[0]
        record = app.submit(path, machine=best.machine).record
        app.run_until_idle()

        assert (best.machine, best.source_type) == ("documents", "letter")
        assert app.record(record.id).status == "indexed"
        (page,) = app.items(record.id)
        assert page["text"] == "\n".join([*LETTER, "Grüße"])
        (hit,) = app.search.find("towel").hits
        assert hit.record_id == record.id
        assert hit.where == {"file": "ocr/text.txt", "start": 0, "end": len(str(page["text"]))}


def mailed(attached: int) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann <ann@example.org>", "bob@example.org", "Äpfel"
    mail["Message-ID"] = "<1@example.org>"
    mail.set_content("Dear Bob,\nbring the ladder on Saturday.\n", cte="base64")
    for number in range(attached):
        mail.add_attachment(
            b"%PDF-1.7", maintype="application", subtype="pdf", filename=f"{number}.pdf"
        )
    return mail.as_bytes()


@pytest.mark.parametrize("attached", [0, 2])
def test_a_mail_is_kept_as_a_text_that_says_what_was_not_read(
    tmp_path: Path, attached: int
) -> None:
    path = tmp_path / "Re.eml"
    path.write_bytes(mailed(attached))

    with App.embedded(tmp_path / "data") as app:
        best = app.plugins.candidates(path)[0]
        record = app.submit(path, machine=best.machine).record
        app.run_until_idle()

        assert (best.machine, best.source_type) == ("documents", "letter")
        (page,) = app.items(record.id)
        lines = ["From: Ann <ann@example.org>", "To: bob@example.org", "Subject: Äpfel"]
        assert page["text"] == "\n".join([*lines, "Dear Bob,", "bring the ladder on Saturday."])
        notes = app.records.view(app.record(record.id)).notes or []
    assert isinstance(notes, list)
    assert [str(note).split(":")[0] for note in notes] == ["ATTACHMENTS_NOT_READ"] * bool(attached)


def test_lines_tell_their_pages_and_places() -> None:
    text = "  One two\n\nthree\ffour\nfive"

    found = [
        (each["page"], each["line"], each["text"], each["where"]) for each in text_lines(text, "a")
    ]

    assert [(page, line, words) for page, line, words, _ in found] == [
        (1, 1, "One two"),
        (1, 2, "three"),
        (2, 1, "four"),
        (2, 2, "five"),
    ]
    places = [where for *_, where in found]
    assert [text[each["start"] : each["end"]] for each in places] == [  # type: ignore[index,call-overload]
        "One two", "three", "four", "five",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        (NOTE, True),
        ("Dear Ann, the lift is broken, as you know.\nPlease use the stairs.\n", True),
        ("Name,Town,Street\nAnn,Bath,Mill Lane\nBob,Hull,High Street\n", False),
        ("Account 4711\n03.02.2026 Baker 4,20\n04.02.2026 Rent 900,00\n05.02.2026 Salary 2100,00\n", False),
        ("Statement\n3 Feb 2026 Baker 4.20\n4 Feb 2026 Rent 900.00\n5 Feb 2026 Salary 2,100.00\n", False),
        ("Account Activity\nPrepared for Jane Example\nPayee,Memo,Date,Amount\nMarket,Food,03/03/2025,-23.50\n"
         "Employer,Pay for March,03/05/2025,1850.00\n", False),
        ("Extras de cont\nTitular: Popescu\nDescriere;Data;Sold\nMega;03/03/2025;1,50\nLeu;05/03/2025;2\n", False),
        ("Liebe Nachbarn,\nAnna isst Kuchen für 2,50 oder 3,20, gern.\nBob isst Brot für 1,50 oder 1,80, gern.\n"
         "Carl isst Eis für 4,50 oder 4,80, gern.\n", True),
        ("Dear Ann, these are the lifts:\n\n| Lift | State |\n|---|---|\n| north | broken |\n| south | fine |\n", True),
        ("\t\tAnn Example\n\t\tMill Lane\n\t\tBath\nDear Ann, the lift is broken.\n", True),
        ("12 14 15\n16 17 18\n", False),
        ("<p>Dear Ann, the lift is broken</p>", False),
        ("Salon Ann, from 1 January\n\nCut ............... 16,00\nColour ............ 24,00\nClosed Monday.\n", True),
    ],
)  # fmt: skip
def test_only_prose_is_taken_for_a_letter(tmp_path: Path, text: str, *, is_taken: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")

    assert (detect(Content.of(path)) is not None) is is_taken


def test_prose_in_a_file_that_is_called_a_table_is_no_letter(tmp_path: Path) -> None:
    path = tmp_path / "document"
    path.write_bytes(written([*LETTER, "Grüße"]))

    named = {name: detect(Content.of(path, name=name)) for name in ("a.csv", "a.sta", "a.txt", "a")}

    assert [name for name, found in named.items() if found] == ["a.txt", "a"]


@pytest.mark.parametrize(
    "rows",
    [
        ["Mar 3   Coffee house   -4.50", "Mar 4   Salary Acme   2,400.00", "Mar 9   Rent   -850.00"],
        ["Miete: 850 EUR am 3. März", "Gehalt: 2400 EUR am 5. März", "Rewe: 61 EUR am 9. März"],
        ["Coffee", "3 March 2024", "-£4.50", "Salary", "4 March 2024", "£2,400.00", "Rent", "9 March", "-£850.00"],
        ["Haemoglobin    152 g/L  (130 - 180)", "Platelet count  244 10*9/L (150 - 450)", "HDL 1.3 mmol/L"],
        ["Potassium is 5.9 mmol/L which is high", "Sodium is 140 mmol/L which is fine", "Urea is 6.1 mmol/L, fine"],
        ["HIV test: negative", "Hepatitis B surface antigen: negative", "Hepatitis C antibodies: positive"],
        ["Whole wheat bread 3.20 EUR", "Rye bread 2.90 EUR", "Croissant 1.40 EUR"],
        ["Hammer: $12", "Saw: $20", "Drill: $120"],
        ["Product: Hammer", "SKU: H1", "Price: 12.90", "Product: Saw", "SKU: 2", "Price: 20.00", "Nail", "Price: 9.00"],
    ],
)  # fmt: skip
def test_a_list_of_values_that_is_kept_as_a_text_says_that_nothing_was_read_of_it(
    rows: list[str],
) -> None:
    assert unread_lines(["Here is what you asked for, Ann", *rows, "Kind regards, Bob"])


@pytest.mark.parametrize(
    "lines",
    [
        LETTER,
        NOTE.splitlines(),
        ["The repair on 18.03.2026 has cost", "412.30 EUR. Of these we pay 330.00 EUR; by the clause on small repairs",
         "of your contract only 82.30 EUR are yours to pay now.", "Please pay by 30.04.2026, or call 0341 555 01 12."],
        ["Python 3.12", "Django 4.2", "Redis 7.0", "Chapter 1.2 Introduction", "vgl. Psalm 23,4", "Figure 1.1"],
        ["Meeting on 12.05.", "Meeting on 13.05.", "Meeting on 14.05.", "Limit 50 km/h", "Limit 70 km/h"],
        ["I am positive", "You are negative", "We are positive", "1 " * 79],
        ["Monday 8.00 - 18.00", "Tuesday 8.00 - 18.00", "Friday 8.00 - 12.30", "Sunday 10.30 Uhr"],
        ["200 g flour", "100 g butter", "3 apples", "bake for 40 minutes at 180 degrees"],
        ["Ann Lee +44 20 1234 5678", "Bob Lee +44 20 1234 5679", "Cy Lee +44 20 1234 5680"],
        ["Leipzig, 12.03.2024", "Hall, 13.03.2024", "Ulm, 14.03.2024", "1. Budget", "2. Release 2.3 ships on 20 March"],
    ],
)  # fmt: skip
def test_letters_hours_and_addresses_are_no_lists_of_values(lines: list[str]) -> None:
    assert unread_lines(lines) == []


def test_the_record_of_a_kept_list_says_where_it_begins(tmp_path: Path) -> None:
    text = "\n".join(
        [
            "Dear Ann,",
            "your results",
            "",
            *(f"Serum {name} 1.3 mmol/L" for name in ("a", "bb", "cc")),
        ]
    )
    with App.embedded(tmp_path / "data") as app:
        record = app.submit(text.encode(), machine="documents", name="a.txt").record
        app.run_until_idle()

        notes = app.records.view(app.record(record.id)).notes
    assert isinstance(notes, list)
    assert str(notes[0]).startswith("ROWS_KEPT_AS_TEXT: 3 lines from page 1, line 3 on")
