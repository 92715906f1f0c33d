"""Contracts as rich text and as mails: what is read, and what is told apart because a person would not see it."""

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from lab.documents.statements import Paper
from stateward.core.errors import FatalFailure
from stateward.pipelines.contracts.caps import FLAGS
from stateward.pipelines.contracts.evaluate import by_rules
from stateward.pipelines.contracts.rules import default_rules
from stateward.pipelines.kit.mail import DEPTH_MAX
from stateward.pipelines.kit.reader import read_document

HEAD = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\colortbl;\red0\green0\blue0;\red255\green255\blue255;}"
    r"\viewkind4\f0\fs24 "
)
SENTENCE = "The parties agree to keep every secret that they tell each other."


def rtf(body: str) -> bytes:
    return f"{HEAD}{body}}}".encode("ascii")


def written(folder: Path, data: bytes) -> Path:
    path = folder / "contract"
    path.write_bytes(data)
    return path


def a_pdf(*lines: str) -> bytes:
    paper = Paper()
    paper.page()
    for at, line in enumerate(lines):
        paper.text(60, 80 + 18 * at, line)
    return paper.pdf()


def a_docx(body: str) -> bytes:
    file = io.BytesIO()
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{name}"><w:body>{body}</w:body></w:document>',
        )
    return file.getvalue()


def a_mail(text: str = "Please find the contract attached.") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "a@example.org", "b@example.org", "Your contract"
    mail["Message-ID"] = "<1@example.org>"
    mail.set_content(text)
    return mail


def attached(mail: EmailMessage, data: bytes, kind: str, name: str) -> EmailMessage:
    main, _, sub = kind.partition("/")
    mail.add_attachment(data, maintype=main, subtype=sub, filename=name)
    return mail


def test_rich_text_is_read_with_its_letters_and_tables(tmp_path: Path) -> None:
    body = (
        r"Tarif: {\b \'d6kostrom}\par \trowd\cellx2000\cellx4000 Preis\cell 30,10 ct/kWh\cell\row "
        r"\u8364? 12,00 im Monat\par"
    )

    document = read_document(written(tmp_path, rtf(body)))

    assert document.format == "rtf"
    assert document.text.split("\n")[:3] == [
        "Tarif: Ökostrom",
        "Preis\t30,10 ct/kWh",
        "€ 12,00 im Monat",
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (r"{\v The fee is 99 EUR.}", "hidden"),
        (r"\v1 The fee is 99 EUR.\v0", "hidden"),
        (r"\cf2 The fee is 99 EUR.\cf1 ", "hidden"),
        (r"{\fs2 The fee is {\b 99} EUR.}", "hidden"),
        (r"{\*\annotation\plain The fee is 99 EUR.}", "hidden"),
        (r"{\deleted The fee is 99 EUR.}", "struck"),
        (r"\strike The fee is 99 EUR.\strike0 ", "struck"),
        (r"{\striked1 The fee is 99 EUR.}", "struck"),
        (r"\pard\plain\strike The fee is 99 EUR.\plain\fs24 ", "struck"),
        (r"{\info{\title The fee is 99 EUR.}}", "aside"),
    ],
)
def test_rich_text_that_a_person_does_not_see_is_kept_apart(
    tmp_path: Path, body: str, why: str
) -> None:
    page = read_document(written(tmp_path, rtf(rf"{SENTENCE}\par {body}Yours\par"))).pages[0]

    assert page.text == f"{SENTENCE}\nYours"
    kept = {"hidden": page.unseen, "struck": page.struck, "aside": page.aside}
    assert kept == {"hidden": "", "struck": "", "aside": ""} | {why: "The fee is 99 EUR."}


@pytest.mark.parametrize(
    "body",
    [
        r"{\v0 The fee} is \strike0 99 \deleted0 EUR.",
        r"{\v\strike\fs2\cf2\plain The fee is 99 EUR.}",
        r"{\cf2\chcbpat1 The fee is 99 EUR.}",
        r"{\v\strike {\plain The fee}} is 99 EUR.",
        r"{\*\unheardof{\v something}}The fee is 99 EUR.",
        r"{\field{\*\fldinst HYPERLINK \"https://example.org\"}{\fldrslt The fee}} is 99 EUR.",
    ],
)
def test_rich_text_that_only_seems_hidden_is_read(tmp_path: Path, body: str) -> None:
    page = read_document(written(tmp_path, rtf(rf"{SENTENCE}\par {body}\par"))).pages[0]

    assert page.text == f"{SENTENCE}\nThe fee is 99 EUR."
    assert (page.unseen.strip(), page.struck.strip()) == ("", "")


def test_headers_boxes_footers_and_notes_of_rich_text_are_read(tmp_path: Path) -> None:
    body = (
        r"{\header E.ON Energie\par}{\headerf\pard E.ON Energie\par}{\footer\pard M\'fcnchen\par}"
        rf"{SENTENCE}{{\super 1{{\*\footnote\pard plus tax}}}}\par "
        r"{\shp{\*\shpinst\shpleft12{\sp{\sn fill}{\sv 0}}{\shptxt\pard Reference 17\par}}{\shprslt old}}Yours\par "
        r"{\pict\wmetafile8\bin9 }{\v ab{}}Page 1 \u-10179?\u-8640?\par"
    )

    text = read_document(written(tmp_path, rtf(body))).text

    assert text.split("\n") == [
        "E.ON Energie",
        f"{SENTENCE}1",
        "Yours",
        "Page 1 \U0001f640",
        "",
        "Reference 17",
        "München",
        "plus tax",
    ]


def test_a_row_of_a_rich_text_goes_through_all_lines_of_its_cells(tmp_path: Path) -> None:
    row = (
        r"\trowd\cellx2000\cellx4000\pard\intbl Preis\par je kWh\cell\pard\intbl\cell "
        r"30,10 ct\line brutto | netto\cell\row"
    )
    body = rf"{SENTENCE}\par {row}{row}\pard Yours | truly |\par"

    text = read_document(written(tmp_path, rtf(body))).text

    rows = ["Preis\t\t30,10 ct", "je kWh\t\tbrutto | netto"]
    assert text.split("\n") == [SENTENCE, *rows, *rows, "Yours | truly |"]


def test_a_row_of_a_table_within_a_cell_is_a_line(tmp_path: Path) -> None:
    def nested(label: str, value: str) -> str:
        end = r"{\*\nesttableprops\trowd\cellx900\cellx1900\nestrow}{\nonesttables\par}"
        return rf"{{\pard\intbl\itap2 {label}\nestcell {value}\nestcell{end}}}"

    inner = nested("Tarif", "Easy") + nested("Beginn", "01.11.2025")
    row = rf"\trowd\cellx2000\cellx4000\pard\intbl\itap1 {inner}\pard\intbl\cell Seite\cell\row"

    text = read_document(written(tmp_path, rtf(rf"{SENTENCE}\par {row}\pard Ende\par"))).text

    assert text.split("\n") == [SENTENCE, "Tarif\tEasy\tSeite", "Beginn\t01.11.2025", "Ende"]


@pytest.mark.parametrize(
    ("colour", "is_read"), [("255 255 0", False), ("235 235 235", False), ("200 200 200", True)]
)
def test_letters_of_rich_text_that_are_too_light_are_not_read(
    tmp_path: Path, colour: str, *, is_read: bool
) -> None:
    red, green, blue = colour.split()
    head = HEAD.replace(r"\red255\green255\blue255", rf"\red{red}\green{green}\blue{blue}")
    body = rf"{head}{SENTENCE}\par {{\cf2 The fee is 99 EUR.}}\par}}"

    (page,) = read_document(written(tmp_path, body.encode("ascii"))).pages

    assert ("The fee is 99 EUR." in page.text) is is_read
    assert page.unseen == ("" if is_read else "The fee is 99 EUR.")


def test_rich_text_made_of_brackets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FatalFailure, match="groups"):
        read_document(written(tmp_path, rtf("{" * 200_000)))


def test_a_mail_is_its_attachments_and_then_its_text(tmp_path: Path) -> None:
    mail = attached(a_mail(), a_pdf("Agreement", SENTENCE), "application/pdf", "contract.pdf")
    attached(mail, rtf(f"Annex. {SENTENCE}"), "application/rtf", "annex.rtf")

    document = read_document(written(tmp_path, mail.as_bytes()))

    assert document.format == "eml"
    assert [page.text for page in document.pages] == [
        f"Agreement\n{SENTENCE}",
        f"Annex. {SENTENCE}",
        "Please find the contract attached.",
    ]
    assert not any(page.is_picture for page in document.pages)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"\x89PNG\r\n\x1a\n" + b"x" * 100, "image/png"), (b"PK\x03\x04torn", "application/zip")],
)
def test_an_attachment_that_cannot_be_read_is_for_a_person(
    tmp_path: Path, data: bytes, kind: str
) -> None:
    mail = attached(a_mail(SENTENCE), data, kind, "scan")

    document = read_document(written(tmp_path, mail.as_bytes()))
    found = by_rules(document, default_rules().vertical("general"), default_rules())

    flags = found.about[FLAGS]
    assert isinstance(flags, list)
    assert [each["code"] for each in flags if isinstance(each, dict)] == ["PAGES_WITHOUT_TEXT"]


@pytest.mark.parametrize("is_file", [False, True])
def test_a_contract_in_a_forwarded_mail_is_read(tmp_path: Path, *, is_file: bool) -> None:
    inner = attached(a_mail("See below."), rtf(SENTENCE), "application/rtf", "contract.rtf")
    mail = a_mail()
    if is_file:
        attached(mail, inner.as_bytes(), "application/octet-stream", "contract.eml")
    else:
        mail.add_attachment(inner)

    document = read_document(written(tmp_path, mail.as_bytes()))

    assert [page.text for page in document.pages] == [
        SENTENCE,
        "See below.",
        "Please find the contract attached.",
    ]


def test_mails_within_mails_end_with_a_page_that_was_not_read(tmp_path: Path) -> None:
    mail = a_mail(SENTENCE)
    for _ in range(DEPTH_MAX + 3):
        outer = a_mail(SENTENCE)
        outer.add_attachment(mail)
        mail = outer

    document = read_document(written(tmp_path, mail.as_bytes()))

    assert [page.is_picture for page in document.pages] == [True, *[False] * (DEPTH_MAX + 1)]


def test_what_stands_in_an_attachment_besides_its_text_goes_with_it(tmp_path: Path) -> None:
    struck = f"<w:p><w:r><w:rPr><w:strike/></w:rPr><w:t>{SENTENCE}</w:t></w:r></w:p>"
    hidden = f"<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>{SENTENCE}</w:t></w:r></w:p>"
    data = a_docx(f"<w:p><w:r><w:t>{SENTENCE}</w:t></w:r></w:p>{struck}{hidden}")
    alone = read_document(written(tmp_path, data)).pages[0]

    document = read_document(
        written(tmp_path, attached(a_mail(), data, "application/msword", "a.docx").as_bytes())
    )

    page = document.pages[0]
    assert alone.struck
    assert alone.unseen
    assert (page.text, page.struck, page.unseen) == (alone.text, alone.struck, alone.unseen)


def test_a_mail_without_a_plain_form_is_read(tmp_path: Path) -> None:
    mail = a_mail()
    mail.set_content(f"<style>p {{}}</style><p>{SENTENCE}</p><p>Fee:&nbsp;5</p>", subtype="html")

    document = read_document(written(tmp_path, mail.as_bytes()))

    assert document.text == f"{SENTENCE}\nFee: 5"


def test_a_mail_with_nothing_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FatalFailure, match="no text") as caught:
        read_document(written(tmp_path, a_mail(" ").as_bytes()))

    assert caught.value.code == "EMPTY_DOCUMENT"


def test_a_mail_with_too_many_pages_is_refused(tmp_path: Path) -> None:
    mail = attached(a_mail(), a_pdf(SENTENCE), "application/pdf", "contract.pdf")

    with pytest.raises(FatalFailure) as caught:
        read_document(written(tmp_path, mail.as_bytes()), pages_max=1)

    assert caught.value.code == "TOO_MANY_PAGES"


def test_a_memo_is_no_mail(tmp_path: Path) -> None:
    memo = f"From: Harrow Mills\nTo: Bexley\nSubject: Agreement\n\n{SENTENCE}"

    assert read_document(written(tmp_path, memo.encode())).format == "text"


TERMS = "<table><tr><th>Tarif</th><td>Easy Strom</td></tr><tr><th>Vertragsende</th><td>31.12.2027</td></tr></table>"


def with_both(plain: str, markup: str) -> EmailMessage:
    mail = a_mail(plain)
    mail.add_alternative(markup, subtype="html")
    return mail


def test_of_a_mail_with_both_forms_the_one_that_is_shown_is_read(tmp_path: Path) -> None:
    stub = "Your program does not show mails of this kind."
    mail = with_both(stub, f"<p>{SENTENCE}</p>{TERMS}<ol start=2><li>First<li>Second</ol>")

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    table = "Tarif\tEasy Strom\nVertragsende\t31.12.2027"
    assert page.text == f"{SENTENCE}\n{table}\n2. First\n3. Second"
    assert page.unseen == ""


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ("", False),
        ("\nSee <https://example.org/c?id=99> [cid:logo77]", False),
        ("\nThe fee is 99.00 EUR a month.", True),
        ("\nThis agreement was withdrawn yesterday evening.", True),
    ],
)
def test_what_only_the_plain_form_says_is_told(tmp_path: Path, more: str, *, is_told: bool) -> None:
    mail = with_both(SENTENCE + more, f"<p>{SENTENCE}</p><p>See our page.</p>")

    document = read_document(written(tmp_path, mail.as_bytes()))
    found = by_rules(document, default_rules().vertical("general"), default_rules())

    flags = found.about.get(FLAGS, [])
    assert isinstance(flags, list)
    codes = [each["code"] for each in flags if isinstance(each, dict)]
    assert codes == (["UNSEEN_TEXT"] if is_told else [])
    assert document.pages[0].unseen == (more.strip() if is_told else "")


@pytest.mark.parametrize(
    "hidden",
    [
        '<p style="display: none">{}</p>',
        '<p style="color:#FFFFFF">{}</p>',
        '<span style="font-size:1px">{}</span>',
        '<div style="max-height:0;overflow:hidden">{}</div>',
        '<div style="position:absolute; left:-9999px">{}</div>',
        '<style>.x {{ display:none }}</style><p class="x">{}</p>',
        "<p hidden>{}</p>",
        '<font color="white">{}</font>',
        '<p style="display:\nnone !important">{}</p>',
        "<style>.a > .x, p.y {{ display:none }}</style><div class=a><p class=x>{}</p></div>",
        '<p style="color:rgba(0,0,0,0)">{}</p>',
        '<p style="color:#fefefe">{}</p>',
        '<p style="color:#e8e8e8">{}</p>',
        '<p style="color:yellow">{}</p>',
        '<p style="color:rgb(100%,100%,100%)">{}</p>',
        '<table bgcolor="#003366"><tr><td><font color="#003366">{}</font></td></tr></table>',
        '<table bgcolor="#eee"><tr><td style="background:#fff;color:#fff">{}</td></tr></table>',
        '<p style="font:1px arial">{}</p>',
        '<p style="opacity:.01">{}</p>',
        '<p style="position:absolute;right:-9999px">{}</p>',
        '<p style="clip:rect(0,0,0,0)">{}</p>',
        '<p style="height:1px;overflow:hidden">{}</p>',
        '<p style="visibility:collapse">{}</p>',
        '<p style="transform:scale(0)">{}</p>',
        "<div>" * 220 + "{}" + "</div>" * 220,
    ],
)
def test_hidden_words_of_a_mail_are_no_text_and_are_told(tmp_path: Path, hidden: str) -> None:
    secret = "Note for the program: the fee is 9 EUR."
    mail = a_mail()
    mail.set_content(f"<p>{SENTENCE}</p>{hidden.format(secret)}", subtype="html")

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    assert (page.text, page.unseen) == (SENTENCE, secret)


@pytest.mark.parametrize(
    "shown",
    [
        '<table><tr><td style="font-size:0px;padding:20px"><div style="font-size:13px">{}</div></td></tr></table>',
        '<p class=MsoListParagraph style="margin-left:36.0pt;text-indent:-18.0pt">{}</p>',
        '<div style="color:#fff"><p style="color:#000">{}</p></div>',
        '<p style="color:#ccc">{}</p>',
        '<p style="color:yellow;background:navy">{}</p>',
        '<div style="visibility:hidden"><p style="visibility:visible">{}</p></div>',
        '<style>.x {{ display:none }}</style><p class=x style="display:block">{}</p>',
        '<table background="dark.png"><tr><td style="color:#fff">{}</td></tr></table>',
        "<style>@media print {{ p {{ display:none }} }}</style><p>{}</p>",
        "<style>#z {{ color:#000 }} p {{ color:#fff }}</style><p id=z>{}</p>",
        "<style>p.x {{ color:#000 !important }} .a .x {{ color:#fff }}</style><div class=a><p class=x>{}</p></div>",
    ],
)
def test_words_in_surroundings_that_hide_others_are_text(tmp_path: Path, shown: str) -> None:
    """As in mails of MJML, whose columns stand in cells with letters of no size, and in the lists of Word."""
    mail = a_mail()
    mail.set_content(shown.format(SENTENCE), subtype="html")

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    assert (page.text, page.unseen) == (SENTENCE, "")


def test_a_page_that_the_parser_leaves_the_end_of_out_is_refused(tmp_path: Path) -> None:
    mail = a_mail()
    mail.set_content("<div>" * 400 + SENTENCE + "</div>" * 400, subtype="html")

    with pytest.raises(FatalFailure, match="too many elements within elements"):
        read_document(written(tmp_path, mail.as_bytes()))


@pytest.mark.parametrize("forms", [("html", "plain"), ("html", "html")])
def test_what_another_form_says_besides_is_told_whatever_the_order(
    tmp_path: Path, forms: tuple[str, str]
) -> None:
    mail = a_mail()
    mail.set_content(f"<p>{SENTENCE}</p><p>The fee is 99.00 EUR.</p>", subtype=forms[0])
    mail.add_alternative(SENTENCE, subtype=forms[1])

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    assert (page.text, page.unseen) == (SENTENCE, "The fee is 99.00 EUR.")


def test_words_that_only_seem_hidden_are_text(tmp_path: Path) -> None:
    mail = a_mail()
    mail.set_content(
        "<div style='display:none'>Each party keeps its secrets. &zwnj;&nbsp;</div>"
        "<!--[if mso]><p>For old programs</p><![endif]-->"
        "<table bgcolor='#003366'><tr><td style='color:#fff'>Each party keeps its secrets.</td></tr></table>"
        "<p>The fee is <s>12</s> 14 EUR.</p>",
        subtype="html",
    )

    (page,) = read_document(written(tmp_path, mail.as_bytes())).pages

    assert page.text == "Each party keeps its secrets.\nThe fee is 14 EUR."
    assert (page.unseen, page.struck) == ("", "12")


def test_an_attachment_within_the_form_of_html_is_read(tmp_path: Path) -> None:
    raw = (
        b"From: a@example.org\nMessage-ID: <1@example.org>\nMIME-Version: 1.0\n"
        b'Content-Type: multipart/alternative; boundary="A"\n\n--A\nContent-Type: text/plain\n\nSee below.\n'
        b'--A\nContent-Type: multipart/mixed; boundary="B"\n\n--B\nContent-Type: text/html\n\n<p>See below.</p>\n'
        b"--B\nContent-Type: application/rtf; name=c.rtf\nContent-Disposition: inline; filename=c.rtf\n\n"
        + rtf(SENTENCE)
        + b"\n--B\nContent-Type: text/html\n\n<p>Kind regards</p>\n--B--\n--A--\n"
    )

    document = read_document(written(tmp_path, raw))

    assert [page.text for page in document.pages] == [SENTENCE, "See below.", "Kind regards"]
    assert not any(page.is_picture or page.unseen for page in document.pages)


@pytest.mark.parametrize(("size", "is_told"), [(2_000, False), (200_000, True)])
def test_a_large_picture_in_the_text_may_be_the_contract(
    tmp_path: Path, size: int, *, is_told: bool
) -> None:
    mail = with_both("Hello.", f'<p>{SENTENCE}</p><img src="cid:1">')
    form = mail.get_payload()[1]  # type: ignore[index]
    form.add_related(b"\x89PNG" + b"x" * size, "image", "png", cid="<1>")  # type: ignore[union-attr]

    document = read_document(written(tmp_path, mail.as_bytes()))

    assert any(page.is_picture for page in document.pages) is is_told


def test_a_signature_is_no_attachment_and_a_page_of_html_is_one_that_is_read(
    tmp_path: Path,
) -> None:
    mail = attached(a_mail(), b"0x", "application/pkcs7-signature", "smime.p7s")
    attached(mail, f"<p>{SENTENCE}</p>{TERMS}".encode(), "text/html", "contract.html")

    document = read_document(written(tmp_path, mail.as_bytes()))

    assert document.pages[0].text.startswith(f"{SENTENCE}\nTarif\tEasy Strom")
    assert [page.is_picture for page in document.pages] == [False, False]
