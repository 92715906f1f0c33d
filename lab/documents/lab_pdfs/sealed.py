"""A fifth set by another author, drawn before the reader was looked at: rows that real reports have and drawn ones lacked.

Differential counts in per cent and per volume, urine strips, ranges by sex, names as a hospital's code list has them,
the range on a line of its own, and the earlier result with its date between result and unit.
"""

from lab.documents.lab_pdfs.analytes import Analyte
from lab.documents.lab_pdfs.registry import SEALED, laboratory
from lab.documents.lab_pdfs.report import Report, Result
from lab.documents.statements.paper import LETTER

__all__ = ["SEALED"]

LABCORP = {"10^3/uL": "x10E3/uL", "10^6/uL": "x10E6/uL", "mcg/dL": "ug/dL", "mIU/L": "uIU/mL"}
AAROGYAM = {"10^3/uL": "X 10³ / µL", "10^6/uL": "X 10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µIU/mL"}
SWISS = {"10^9/L": "G/l", "10^12/L": "T/l", "umol/L": "µmol/l", "ug/L": "µg/l", "mmol/L": "mmol/l", "L/L": "l/l", "mU/L": "mU/l", "g/L": "g/l", "U/L": "U/l", "pmol/L": "pmol/l"}  # fmt: skip
ITALIAN = {"10^3/uL": "10³/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µUI/mL"}
BRAZIL = {"10^3/uL": "mil/mm³", "10^6/uL": "milhões/mm³", "mcg/dL": "mcg/dL", "mIU/L": "µUI/mL"}
# As the code list of general practice has them.
PRACTICE = {
    "wbc": "Total white blood count", "rbc": "Red blood cell count", "hgb": "Haemoglobin concentration",
    "hct": "Haematocrit", "mcv": "Mean cell volume", "mch": "Mean cell haemoglobin", "plt": "Platelet count",
    "glu": "Serum glucose level", "crea": "Serum creatinine level", "na": "Serum sodium level",
    "k": "Serum potassium level", "ca": "Serum calcium level", "ast": "Serum AST level", "alt": "Serum ALT level",
    "ggt": "Serum gamma GT level", "alp": "Serum alkaline phosphatase level", "bili": "Serum total bilirubin level",
    "alb": "Serum albumin level", "uric": "Serum urate level", "chol": "Serum cholesterol level",
    "hdl": "Serum HDL cholesterol level", "tg": "Serum triglyceride level", "crp": "Serum C reactive protein level",
    "ferr": "Serum ferritin level", "iron": "Serum iron level", "b12": "Serum vitamin B12 level",
    "tsh": "Serum TSH level", "ft4": "Serum free T4 level", "mg": "Serum magnesium level", "prot": "Serum total protein level",
}  # fmt: skip
FRACTIONS = (("Neutrophils", 40, 74), ("Lymphs", 14, 46), ("Monocytes", 4, 12), ("Eos", 0, 5), ("Basos", 0, 3))  # fmt: skip
FRACOES = (
    ("Bastonetes", 0, 5), ("Segmentados", 45, 70), ("Eosinófilos", 1, 5), ("Basófilos", 0, 2), ("Linfócitos", 20, 45), ("Monócitos", 2, 10),
)  # fmt: skip
STRIP = (
    ("Color", "", ("Yellow", "Yellow", "Amber"), "Yellow"), ("Specific Gravity", "", ("1.012", "1.021"), "1.005 - 1.030"),
    ("pH", "", ("5.5", "6.0", "7.0"), "5.0 - 8.0"), ("Protein", "", ("Negative", "Trace", "1+"), "Negative"),
    ("Glucose", "", ("Negative", "Negative", "2+"), "Negative"), ("Ketones", "", ("Negative", "Trace"), "Negative"),
    ("Nitrite", "", ("Negative", "Positive"), "Negative"),
)  # fmt: skip


def _other(name: str, value: str) -> Result:
    return Result(Analyte("other", "", "other", (name,), ("", "", "", 0), ("", "", "", 0)), name, value, "", "", "", "")  # fmt: skip


@laboratory("labcorp-link", "US", "en", group="sealed", size=LETTER, is_si=False, units=LABCORP, text_size=8.5)  # fmt: skip
def labcorp_link(r: Report) -> None:
    """The present form of a large laboratory: the earlier result with its date stands between result and unit."""
    r.has_titres = False
    r.line((40, "labcorp example"), (420, "Final Report"), is_bold=True, size=13)
    r.line((40, "Patient ID: 4711-22"), (200, "Age: 54"), (280, "Sex: Male"), (400, "Specimen ID: 041-204-0311-0"))  # fmt: skip
    r.line((40, f"Date Collected: {r.day('%m/%d/%Y')}"), (200, f"Date Received: {r.day('%m/%d/%Y')}"), (400, f"Date Reported: {r.day('%m/%d/%Y', back=-1)}"))  # fmt: skip
    r.gap()

    def head() -> None:
        r.line((45, "Test"), (190, "Current Result and Flag"), (310, "Previous Result and Date"), (430, "Units"), (500, "Reference Interval"), is_bold=True, size=7.5)  # fmt: skip

    for title, results in r.panel():
        r.ensure(4)
        r.line((40, title), is_bold=True, size=10)
        head()
        for each in results:
            flag = {"H": "High", "L": "Low", "": ""}[each.side]
            ref = r.range(each, dash="-", below="<", above=">")
            earlier = r.random.random() < 0.6
            r.ensure(2)
            end = r.put(45, each.name)
            r.put(end + 1, "01", y=r.y - 3, size=5)
            r.put(190, each.value, is_bold=bool(flag))
            r.put(235, flag, is_bold=True)
            old = r.measure(each.analyte).value
            r.line((310, old if earlier else ""), (355, r.day("%m/%d/%Y", back=200) if earlier else ""), (430, each.unit), (500, ref))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
        if any(each.analyte.section == "blood" for each in results):
            for name, _, _ in FRACTIONS:
                value = str(r.random.randint(1, 60))
                r.line((45, name), (190, value), (430, "%"), (500, "Not Estab."))
                r.told(_other(name, value), value=value, unit="%", ref="Not Estab.", flag="")
        r.gap(0.5)
    r.line((40, "01: BN Labcorp Example Burlington, 1447 York Court, Burlington, NC"), size=7)


@laboratory("aarogyam", "IN", "en", group="sealed", is_si=False, units=AAROGYAM)
def aarogyam(r: Report) -> None:
    """The technology stands between name and value, the range on a line of its own below, on one page a section."""
    r.has_titres = False
    for title, results in r.panel():
        r.line((45, "Example Aarogyam"), is_bold=True, size=13)
        r.line((45, "NAME : SAMPLE KUMAR (44Y/M)"), (330, "TEST ASKED : AAROGYAM C"))
        r.line(
            (45, f"SAMPLE COLLECTED ON : {r.day('%d %b %Y')} 07:05"), (330, "SAMPLE TYPE : SERUM")
        )
        r.gap()
        r.line((200, title.upper()), is_bold=True)
        r.line(
            (45, "TEST NAME"), (230, "TECHNOLOGY"), (-400, "VALUE"), (430, "UNITS"), is_bold=True
        )
        for each in results:
            r.ensure(4)
            name = each.name.upper()
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            technology = r.random.choice(("PHOTOMETRY", "C.L.I.A", "I.S.E", "FLOW CYTOMETRY"))
            r.line((45, name), (230, technology), (-400, each.value), (430, each.unit))
            r.line((45, "Bio. Ref. Interval. :"), is_bold=True, size=8)
            r.line((45, ref), size=8)
            r.gap(0.3)
            r.told(each, name=name, value=each.value, unit=each.unit, ref=ref, flag="")
        r.line((45, "Please correlate with clinical conditions."), size=8)
        r.y = r.look.size[1]
        r.ensure(1)


@laboratory("ice", "UK", "en", group="sealed", units={"10^9/L": "10*9/L", "10^12/L": "10*12/L", "L/L": "l/l"})  # fmt: skip
def ice(r: Report) -> None:
    """A hospital's order system: names from the code list, asterisk before the value, one block a specimen."""
    r.has_titres = False
    r.line((45, "ICE Example NHS Foundation Trust"), is_bold=True, size=12)
    r.line((45, "SAMPLE, Jane (Miss)"), (250, "NHS No: 943 476 5919"), (420, "DoB: 14-May-1971"))
    for title, results in r.panel():
        r.ensure(5)
        r.gap(0.6)
        r.line((45, f"Sample: B,25.{r.random.randint(1000000, 9999999)}.X ({title})"), (330, f"Collected {r.day('%d %b %Y')} 08:12"), is_bold=True)  # fmt: skip
        r.line((45, "Clinical details: TATT, ?anaemia"))
        for each in results:
            name = PRACTICE[each.analyte.key]
            flag = "*" if each.side else ""
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            r.line((50, name), (252, flag), (262, each.value), (310, each.unit), (390, ref))
            r.told(each, name=name, value=each.value, unit=each.unit, ref=ref, flag=flag)
            if each.analyte.key == "crea":
                value = str(r.random.randint(45, 89))
                unit = "mL/min/1.73m*2"
                r.line((50, "eGFR (CKD-EPI)"), (262, value), (310, unit), (390, ""))
                r.told(_other("eGFR (CKD-EPI)", value), value=value, unit=unit, ref="", flag="")
                r.line((50, "eGFR is not valid in pregnancy or acute kidney injury."), size=8)
    r.line((45, "Authorised by: Auto-authorised"), size=8)


@laboratory("risch", "CH", "de", group="sealed", units=SWISS)
def risch(r: Report) -> None:
    """Plus and minus before the value, a long dash in ranges, the earlier result last with its date in the heading."""
    r.line((45, "Risch Beispiel AG"), (400, "Schlussbericht"), is_bold=True, size=12)
    r.line((45, "Frau Muster Anna, 03.04.1949"), (330, f"Entnahme: {r.day('%d.%m.%Y')}  08.00"))
    r.gap()

    def head() -> None:
        r.line((45, "Analyse"), (-285, "Resultat"), (300, "Referenz"), (390, "Einheit"), (-530, f"Vorwert {r.day('%d.%m.%y', back=150)}"), is_bold=True)  # fmt: skip

    r.head = head
    head()
    for title, results in r.panel():
        r.ensure(3)
        r.gap(0.3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "+", "L": "-", "": ""}[each.side]
            ref = r.range(each, dash="–", below="<", above=">")
            earlier = r.measure(each.analyte).value if r.random.random() < 0.5 else ""
            r.line((50, each.name), (240, flag), (-285, each.value), (300, ref), (390, each.unit), (-530, earlier))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
    r.line((45, "Validiert durch: Dr. B. Beispiel, FAMH"), size=8)


@laboratory("sabin", "BR", "pt", group="sealed", point=",", is_si=False, units=BRAZIL)
def sabin(r: Report) -> None:
    """Dots and a colon lead to the value; the differential count has a per cent and an absolute value in one row."""
    r.has_titres = False
    r.line((45, "Sabin Exemplo Diagnóstico"), is_bold=True, size=12)
    r.line((45, "Paciente: JOAO EXEMPLO"), (330, f"Coleta: {r.day('%d/%m/%Y')} 07:20"))
    for title, results in r.panel():
        r.ensure(4)
        r.gap(0.5)
        r.line((45, title.upper()), (390, "Valores de Referência"), is_bold=True)
        for each in results:
            value = r.num(each.value)
            ref = f"{r.num(each.low)} a {r.num(each.high)} {each.unit}" if each.is_bounded else r.range(each, below="Até ", above="Acima de ") + f" {each.unit}"  # fmt: skip
            ref = ref.strip()
            name = each.name
            r.line((50, f"{name}{'.' * max(3, 34 - len(name))}:"), (-290, value), (300, each.unit), (390, ref))  # fmt: skip
            r.told(each, value=value, unit=each.unit, ref=ref, flag="")
        if any(each.analyte.section == "blood" for each in results):
            _fractions(r)
    r.line((45, "Liberado eletronicamente por: Dra. Exemplo CRBM 0000"), size=8)


def _fractions(r: Report) -> None:
    leukocytes = r.random.randint(45, 95) * 100
    r.line((-250, "%"), (-320, "/mm³"), (390, "%"), (460, "/mm³"), size=8)
    for name, low, high in FRACOES:
        share = r.random.randint(low, high)
        count = f"{leukocytes * share // 100:,}".replace(",", ".")
        low_count, high_count = (f"{part * 60:,}".replace(",", ".") for part in (low, high))
        ref, ref_count = f"{low} a {high}", f"{low_count} a {high_count}"
        r.line((50, f"{name}{'.' * max(3, 34 - len(name))}:"), (-250, str(share)), (-320, count), (390, ref), (460, ref_count))  # fmt: skip
        r.told(_other(name, str(share)), value=str(share), unit="%", ref=ref, flag="")
        r.told(_other(name, count), value=count, unit="/mm³", ref=ref_count, flag="")


@laboratory("ospedale", "IT", "it", group="sealed", point=",", is_si=False, units=ITALIAN)
def ospedale(r: Report) -> None:
    """The system in letters before the name, ranges by sex for some, the method in a line below."""
    r.has_titres = False
    r.line((45, "AZIENDA OSPEDALIERA ESEMPIO - Laboratorio Analisi"), is_bold=True, size=11)
    r.line((45, "Sig. ROSSI MARIO  nato il 12/05/1961"), (330, f"Prelievo del {r.day('%d/%m/%Y')} ore 07:35"))  # fmt: skip
    r.gap()
    r.line((45, "ESAME"), (250, "RISULTATO"), (320, "U.M."), (400, "VALORI DI RIFERIMENTO"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, f"** {title.upper()} **"), is_bold=True)
        for each in results:
            r.ensure(3)
            system = "Sg" if each.analyte.section == "blood" else "S"
            name = f"{system}-{each.name}"
            flag = "*" if each.side else ""
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="< ", above="> ")
            sexed = each.analyte.key in ("hgb", "ferr", "uric", "crea") and each.is_bounded
            lower = r.num(f"{float(each.low or 0) * 0.9:.{len(each.low.partition('.')[2])}f}")
            full = f"M: {ref}  F: {lower} - {r.num(each.high)}" if sexed else ref
            r.line((50, name), (250, value), (300, flag), (320, each.unit), (400, full))
            r.told(each, name=name, value=value, unit=each.unit, ref=full, flag=flag)
            if r.random.random() < 0.3:
                r.line((60, f"Metodo: {r.random.choice(('Potenziometria indiretta', 'Spettrofotometria', 'Immunoturbidimetria'))}"), size=6.5)  # fmt: skip
    r.line((45, "Referto firmato digitalmente ai sensi del D.Lgs. 82/2005"), size=7)


@laboratory("urgent-care", "US", "en", group="sealed", size=LETTER, is_si=False)
def urgent_care(r: Report) -> None:
    """An urine strip and a panel on one page: words as values, and words as ranges."""
    r.has_titres = False
    r.line((45, "Example Urgent Care - In House Laboratory"), is_bold=True, size=12)
    r.line((45, f"Collected: {r.day('%m/%d/%Y')} 2:41 PM"), (330, "DOB: 05/14/1971"))
    r.gap()
    r.line((45, "Analyte"), (220, "Result"), (300, "Abnormal"), (370, "Units"), (440, "Expected"), is_bold=True)  # fmt: skip
    r.line((45, "URINALYSIS, DIPSTICK"), is_bold=True)
    for name, unit, values, ref in STRIP:
        value = r.random.choice(values)
        flag = "A" if (value not in ref and not value[0].isdigit()) or value in ("1+", "2+") else ""
        r.line((55, name), (220, value), (310, flag), (370, unit), (440, ref))
        r.told(_other(name, value), value=value, unit=unit, ref=ref, flag=flag)
    for title, results in r.panel((5, 12)):
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" - ", below="<", above=">")
            r.line((55, each.name), (220, each.value), (310, each.side), (370, each.unit), (440, ref))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=each.side)
