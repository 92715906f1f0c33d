"""Layouts by the author of the reader, to find out what it does with structures that the other sets do not have.

Limits of three columns, two systems of units in one row, a column a test and a row a date, results in running text,
headings in languages that no table of words has, flags in words of a laboratory's own.
"""

from lab.documents.lab_pdfs.registry import VARIED, laboratory
from lab.documents.lab_pdfs.report import Report
from lab.documents.statements.paper import LETTER

__all__ = ["VARIED"]

TURKISH = {"10^9/L": "10^9/L", "umol/L": "µmol/L"}
HUNGARIAN = {"10^9/L": "Giga/L", "10^12/L": "Tera/L", "umol/L": "µmol/L"}
GERMAN = {"10^3/uL": "/nl", "10^6/uL": "/pl", "mcg/dL": "µg/dl", "mIU/L": "mU/l", "mg/dL": "mg/dl", "g/dL": "g/dl", "U/L": "U/l", "ng/mL": "ng/ml", "pg/mL": "pg/ml", "ng/dL": "ng/dl", "mmol/L": "mmol/l"}  # fmt: skip


def _head(r: Report, title: str, collected: str) -> None:
    r.line((45, title), is_bold=True, size=12)
    r.line((45, "Patient: EXAMPLE, Alex"), (330, collected))
    r.gap()


@laboratory("three-way", "US", "en", group="varied", size=LETTER, is_si=False)
def three_way(r: Report) -> None:
    """A value stands under Low, Normal or High, as it is."""
    r.has_titres = False
    _head(r, "Example Functional Medicine Laboratory", f"Collected: {r.day('%m/%d/%Y')}")
    r.line((45, "Test Name"), (220, "Low"), (285, "Normal"), (350, "High"), (410, "Reference Range"), (510, "Units"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash="-", below="<", above=">")
            x = {"L": 220, "": 285, "H": 350}[each.side]
            r.line((55, each.name), (x, each.value), (410, ref), (510, each.unit))
            flag = {"L": "Low", "": "", "H": "High"}[each.side]
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("mychart", "US", "en", group="varied", size=LETTER, is_si=False)
def mychart(r: Report) -> None:
    """Cards of a portal: the name, below it the normal range, below that the value with its flag."""
    r.has_titres = False
    _head(r, "MyExample Portal", f"Collected on {r.day('%b %d, %Y')} 7:12 AM")
    for title, results in r.panel((5, 14)):
        r.ensure(5)
        r.line((45, title), is_bold=True, size=12)
        for each in results:
            r.ensure(4)
            ref = r.range(each, dash=" - ", below="<=", above=">=")
            flag = {"L": "Low", "": "", "H": "High"}[each.side]
            r.line((45, each.name), is_bold=True)
            r.line((45, f"Normal range: {ref} {each.unit}"), size=8)
            r.line((60, each.value), (120, flag), is_bold=True)
            r.gap(0.6)
            r.told(each, value=each.value, unit=each.unit, ref=f"{ref} {each.unit}", flag=flag)


@laboratory("tetkik", "TR", "en", group="varied", point=",", units=TURKISH)
def tetkik(r: Report) -> None:
    """Headings in a language that no table of words has; the flag is a word of its own."""
    r.has_titres = False
    _head(r, "Örnek Laboratuvari", f"Numune alma: {r.day('%d.%m.%Y')}")
    r.line((45, "Tetkik Adi"), (220, "Sonuç"), (300, "Birimi"), (380, "Referans Araligi"), (500, "Durum"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            flag = {"L": "Düsük", "": "", "H": "Yüksek"}[each.side]
            value = r.num(each.value)
            r.line((50, each.name), (220, value), (300, each.unit), (380, ref), (500, flag))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("rezultat", "RO", "it", group="varied", point=".", is_si=False)
def rezultat(r: Report) -> None:
    """Value and unit in one cell, the range after it in brackets; a column for the method."""
    r.has_titres = False
    _head(r, "Laborator Exemplu", f"Recoltare: {r.day('%d.%m.%Y')}")
    r.line((45, "Denumire analiza"), (230, "Rezultate"), (350, "Interval biologic de referinta"), (490, "Metoda"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            r.line((50, each.name), (220, each.side), (230, f"{each.value} {each.unit}"), (350, f"[{ref}]"), (490, "Spectrofotometrie"))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=f"[{ref}]", flag=each.side)


@laboratory("two-systems", "CH", "en", group="varied")
def two_systems(r: Report) -> None:
    """Each result twice: in the units of the laboratory, and at the right in those of another country."""
    r.has_titres = False
    _head(r, "Example Cross Border Laboratory", f"Collected: {r.day('%d %b %Y')}")
    r.line((230, "Conventional"), (400, "SI"), is_bold=True)
    r.line((45, "Test"), (190, "Result"), (240, "Unit"), (290, "Reference"), (380, "Result"), (430, "Unit"), (485, "Reference"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash="-", below="<", above=">")
            unit, low, high, _ = each.analyte.us
            other = f"{low}-{high}" if low and high else f"<{high}" if high else f">{low}"
            r.look.is_si = False
            second = r.measure(each.analyte).value
            r.look.is_si = True
            r.line((50, each.name), (190, each.value), (240, each.unit), (290, ref), (380, second), (430, unit), (485, other))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag="")
            r.told(each, value=second, unit=unit, ref=other, flag="")


@laboratory("flowsheet", "US", "en", group="varied", size=LETTER, is_si=False)
def flowsheet(r: Report) -> None:
    """A column a test and a row a date."""
    r.has_titres = False
    _head(r, "Example Hospital - Flowsheet", "Unit: 4 West")
    tests = [each for _, found in r.panel((9, 12)) for each in found][:6]
    places = [130 + 75 * at for at in range(len(tests))]
    r.line((45, "Date/Time"), *((x, each.name[:12]) for x, each in zip(places, tests, strict=True)), is_bold=True)  # fmt: skip
    r.line((45, "Units"), *((x, each.unit) for x, each in zip(places, tests, strict=True)))
    r.line((45, "Ref"), *((x, r.range(each, dash="-", below="<", above=">")) for x, each in zip(places, tests, strict=True)))  # fmt: skip
    for back in (0, 1, 2, 3):
        row = [r.measure(each.analyte) for each in tests]
        r.line((45, f"{r.day('%m/%d/%Y', back=back)} 06:00"), *((x, each.value) for x, each in zip(places, row, strict=True)))  # fmt: skip
        for each in row:
            r.told(each, name=each.name[:12], value=each.value, unit=each.unit, ref=r.range(each, dash="-", below="<", above=">"), flag="", collected=str(r.before(back)))  # fmt: skip


@laboratory("letter", "DE", "de", group="varied", point=",", is_si=False, units=GERMAN)
def letter(r: Report) -> None:
    """A doctor's letter: some results in a table, the others in running text."""
    r.has_titres = False
    _head(r, "Klinikum Beispiel - Entlassbrief", f"Entnahme: {r.day('%d.%m.%Y')}")
    r.line((45, "Wir berichten über den stationären Aufenthalt des oben genannten Patienten."))
    tests = [each for _, found in r.panel((10, 16)) for each in found]
    r.line((45, "Parameter"), (220, "Wert"), (280, "Einheit"), (360, "Normbereich"), is_bold=True)
    for each in tests[:5]:
        ref = r.range(each, dash=" - ", below="< ", above="> ")
        r.line((45, each.name), (220, r.num(each.value)), (280, each.unit), (360, ref))
        r.told(each, value=r.num(each.value), unit=each.unit, ref=ref, flag="")
    r.gap()
    r.line((45, "Weiteres Labor:"))
    for at in range(5, len(tests), 3):
        some = tests[at : at + 3]
        r.line((45, ", ".join(f"{each.name} {r.num(each.value)} {each.unit}" for each in some) + ","))  # fmt: skip
        for each in some:
            r.told(each, value=r.num(each.value), unit=each.unit, ref="", flag="")


@laboratory(
    "own-words", "UK", "en", group="varied", units={"10^9/L": "10*9/L", "10^12/L": "10*12/L"}
)
def own_words(r: Report) -> None:
    """The column of flags has words of the laboratory's own, and a stripe of text for what is normal."""
    r.has_titres = False
    _head(r, "Example Private Pathology", f"Date Collected: {r.day('%d/%m/%Y')}")
    r.line((45, "Test"), (210, "Result"), (280, "Units"), (350, "Reference Range"), (470, "Comment"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" to ", below="less than ", above="more than ")
            flag = {"L": "Below", "": "", "H": "Above"}[each.side]
            r.line((50, each.name), (210, each.value), (280, each.unit), (350, ref), (470, flag))
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("differential", "ES", "es", group="varied", point=",", is_si=False)
def differential(r: Report) -> None:
    """A blood count with a per cent and an absolute column, each with its range."""
    r.has_titres = False
    _head(r, "Laboratorio Ejemplo", f"Fecha de toma: {r.day('%d/%m/%Y')}")
    r.line((45, "Parámetro"), (180, "%"), (230, "Ref. %"), (310, "10^3/µL"), (380, "Ref. abs."), is_bold=True)  # fmt: skip
    for name, low, high in (("Neutrófilos", 40, 75), ("Linfocitos", 20, 45), ("Monocitos", 2, 10), ("Eosinófilos", 1, 6)):  # fmt: skip
        share, count = str(r.random.randint(low, high)), r.num(f"{r.random.uniform(0.2, 6):.1f}")
        r.line((50, name), (180, share), (230, f"{low}-{high}"), (310, count), (380, "0,2-7,5"))
        for value, unit, ref in ((share, "%", f"{low}-{high}"), (count, "10^3/µL", "0,2-7,5")):
            r.results.append({"test": name, "value_printed": value, "unit_printed": unit, "ref": ref, "flag": ""})  # fmt: skip
    r.gap()
    r.line((45, "Prueba"), (220, "Resultado"), (300, "Unidades"), (390, "Valores de referencia"), is_bold=True)  # fmt: skip
    for _, results in r.panel((4, 9)):
        for each in results:
            ref = r.range(each)
            value = r.num(each.value)
            flag = "*" if each.side else ""
            r.line((50, each.name), (205, flag), (220, value), (300, each.unit), (390, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("stacked", "HU", "en", group="varied", point=",", units=HUNGARIAN)
def stacked(r: Report) -> None:
    """Unit and range on a second line of the row, the flag as an arrow in words before the value."""
    r.has_titres = False
    _head(r, "Pelda Labor", f"Collection: {r.day('%Y-%m-%d')}")
    r.line((45, "Examination"), (300, "Result"), (380, "Evaluation"), is_bold=True)
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            r.ensure(3)
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            flag = {"L": "low", "": "normal", "H": "high"}[each.side]
            r.line((50, each.name), (300, r.num(each.value)), (380, flag))
            r.line((60, f"{each.unit}   ({ref})"), size=7)
            r.gap(0.3)
            r.told(each, value=r.num(each.value), unit=each.unit, ref=f"({ref})", flag=flag)


@laboratory("antibiogram", "US", "en", group="varied", size=LETTER, is_si=False)
def antibiogram(r: Report) -> None:
    """A culture with its antibiotics, next to a panel."""
    r.has_titres = False
    _head(r, "Example Microbiology", f"Collected: {r.day('%m/%d/%Y')}")
    r.line((45, "Test"), (220, "Result"), (290, "Flag"), (340, "Units"), (420, "Reference Range"), is_bold=True)  # fmt: skip
    for _, results in r.panel((4, 9)):
        for each in results:
            ref = r.range(each, dash=" - ", below="<", above=">")
            r.line((50, each.name), (220, each.value), (290, each.side), (340, each.unit), (420, ref))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=each.side)
    r.gap()
    r.line((45, "CULTURE, URINE"), is_bold=True)
    r.line((45, "Organism: Escherichia coli, >100,000 CFU/mL"))
    r.line((45, "Antibiotic"), (220, "MIC"), (290, "Interpretation"), is_bold=True)
    for name in ("Ampicillin", "Ciprofloxacin", "Nitrofurantoin", "Gentamicin"):
        value, flag = r.random.choice((("<=2", "S"), ("8", "I"), (">=32", "R")))
        r.line((50, name), (220, value), (290, flag))
        r.results.append({"test": name, "value_printed": value, "unit_printed": "", "ref": "", "flag": flag})  # fmt: skip


@laboratory("numbered", "IN", "en", group="varied", is_si=False)
def numbered(r: Report) -> None:
    """Rows are counted, no headings; letters for what is abnormal stand between value and unit."""
    r.has_titres = False
    _head(r, "Example Diagnostics Centre", f"Collected On : {r.day('%d/%m/%Y')}")
    count = 0
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            count += 1
            ref = r.range(each, dash=" - ", below="Upto ", above=">/= ")
            r.line((45, f"{count}."), (65, each.name), (240, each.value), (285, each.side), (310, each.unit), (400, ref))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=each.side)


@laboratory("by-date", "AU", "en", group="varied")
def by_date(r: Report) -> None:
    """A column a date, with unit and range before them and the flag glued to the value."""
    r.has_titres = False
    _head(r, "Example Pathology - Cumulative", "Ward: 3B")
    r.line((45, "Test"), (170, "Units"), (230, "Reference"), *((330 + 75 * at, r.day("%d/%m/%Y", back=back)) for at, back in enumerate((0, 40, 90))), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash="-", below="<", above=">")
            row = [(back, r.measure(each.analyte)) for back in (0, 40, 90) if back == 0 or r.random.random() < 0.7]  # fmt: skip
            places = {0: 330, 40: 405, 90: 480}
            r.line((50, each.name), (170, each.unit), (230, ref), *((places[back], one.value + one.side) for back, one in row))  # fmt: skip
            for back, one in row:
                r.told(one, value=one.value, unit=each.unit, ref=ref, flag=one.side, collected=str(r.before(back)))  # fmt: skip


@laboratory("limits", "PT", "pt", group="varied", point=",", is_si=False)
def limits(r: Report) -> None:
    """The limits have a column each, in words that stand above them in two lines."""
    r.has_titres = False
    _head(r, "Laboratório Exemplo", f"Data da coleta: {r.day('%d/%m/%Y')}")
    r.line((45, "Exame"), (210, "Resultado"), (290, "Unidade"), (380, "Min"), (430, "Max"), (480, "Alerta"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            low, high = r.num(each.low), r.num(each.high)
            flag = {"L": "Abaixo", "": "", "H": "Acima"}[each.side]
            value = r.num(each.value)
            r.line((50, each.name), (210, value), (290, each.unit), (380, low), (430, high), (480, flag))  # fmt: skip
            ref = f"{low} - {high}" if low and high else f"<= {high}" if high else f">= {low}"
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("inline", "US", "en", group="varied", size=LETTER, is_si=False)
def inline(r: Report) -> None:
    """An export of a record as text: one blank between all parts of a line."""
    r.has_titres = False
    _head(r, "Example Health - Lab Results", f"Collected: {r.day('%m/%d/%Y')}")
    for title, results in r.panel():
        r.line((45, f"{title}:"), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" - ", below="<", above=">")
            flag = f" ({each.side})" if each.side else ""
            r.line((55, f"{each.name} {each.value}{flag} {each.unit} ({ref})"))
            r.told(each, value=each.value, unit=each.unit, ref=f"({ref})", flag=flag.strip())


@laboratory("labelled", "US", "en", group="varied", size=LETTER, is_si=False)
def labelled(r: Report) -> None:
    """A label before every part: name on a line of its own, then result, flag, range and status with labels."""
    r.has_titres = False
    _head(r, "Example Reference Laboratory", f"Collected: {r.day('%m/%d/%Y')}")
    for _, results in r.panel((5, 14)):
        for each in results:
            r.ensure(4)
            ref = r.range(each, dash=" - ", below="<", above=">")
            flag = {"L": "Low", "": "", "H": "High"}[each.side]
            r.line((45, f"Test: {each.name}"), is_bold=True)
            r.line((60, f"Result: {each.value} {each.unit}"), (220, f"Flag: {flag}" if flag else ""), (330, f"Reference Range: {ref}"), (480, "Status: Final"))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("bar", "DE", "de", group="varied", point=",", is_si=False, units=GERMAN)
def bar(r: Report) -> None:
    """The limits stand at both ends of a drawn bar, without a heading for either."""
    r.has_titres = False
    _head(r, "Labor Beispiel MVZ", f"Entnahme: {r.day('%d.%m.%Y')}")
    r.line((45, "Untersuchung"), (220, "Ergebnis"), (290, "Einheit"), (370, "Grafische Darstellung"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.line((45, title), is_bold=True)
        for each in results:
            low, high = r.num(each.low), r.num(each.high)
            mark = {"L": "*|.....|", "": "|..*..|", "H": "|.....|*"}[each.side]
            value = r.num(each.value)
            r.line((50, each.name), (220, value), (290, each.unit), (-390, low), (400, mark), (450, high))  # fmt: skip
            r.told(each, value=value, unit=each.unit, ref=f"{low} - {high}" if low and high else f"<= {high}" if high else f">= {low}", flag="")  # fmt: skip
