"""A third set of layouts by another author, drawn before the reader was looked at: laboratories and hospital systems.

`LAST`, `FRESH` and `FINAL` were drawn one after the other, each after the reader had been mended for those before.
"""

from lab.documents.lab_pdfs.registry import FINAL, FRESH, LAST, UNSEEN, laboratory
from lab.documents.lab_pdfs.report import Report, Result
from lab.documents.statements.paper import LETTER

__all__ = ["FINAL", "FRESH", "LAST", "UNSEEN"]

SONIC = {"10^9/L": "x10^9/L", "10^12/L": "x10^12/L"}
INDIA = {"10^3/uL": "10^3/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µIU/mL"}
GERMAN = {"10^3/uL": "Tsd/µl", "10^6/uL": "Mio/µl", "mcg/dL": "µg/dl", "g/dL": "g/dl", "mg/dL": "mg/dl", "mIU/L": "mIU/l"}  # fmt: skip
FRENCH = {"10^9/L": "G/L", "10^12/L": "T/L", "umol/L": "µmol/L", "ug/L": "µg/L", "L/L": "L/L"}
METHODS = ("Spectrophotometry", "ISE direct", "CLIA", "Enzymatic colorimetric", "Impedance", "Hexokinase")  # fmt: skip


def plain_reference(r: Report, each: Result) -> str:
    return r.range(each, dash=" - ", below="<", above=">")


@laboratory("sonic-cumulative", "AU", "en", group="unseen", units=SONIC)
def sonic(r: Report) -> None:
    """A cumulative report: the three last requests side by side, the newest to the right."""
    r.has_titres = False
    r.line((45, "Douglass Example Pathology"), (400, "CUMULATIVE REPORT"), is_bold=True, size=12)
    r.line((45, "Patient: SAMPLE, Jane"), (250, "DOB 14/05/1971  Sex F"), (420, "UR 0047112"))
    r.line((45, "Referred by: Dr A Example, 12 Sample St, Sydney NSW 2000"))
    r.gap()
    days = [400, 90, 0]
    r.line((45, "Date"), *((-(250 + 70 * at), r.day("%d/%m/%y", back=back)) for at, back in enumerate(days)))  # fmt: skip
    r.line((45, "Time"), *((-(250 + 70 * at), t) for at, t in enumerate(("08:10", "09:45", "07:50"))))  # fmt: skip
    r.line((45, "Lab No."), *((-(250 + 70 * at), n) for at, n in enumerate(("33110021", "34881200", "35220417"))))  # fmt: skip
    r.line((-480, "Units"), (490, "Reference"))
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = f"({plain_reference(r, each)})"
            cells: list[tuple[float, str]] = [(50, each.name)]
            for at, back in enumerate(days):
                own = each if not back else r.measure(each.analyte)
                shown = f"{own.side} {own.value}" if own.side else own.value
                cells.append((-(250 + 70 * at), shown))
                r.told(own, value=own.value, unit=each.unit, ref=ref, flag=own.side, collected=str(r.before(back)))  # fmt: skip
            r.line(*cells, (430, each.unit), (490, ref))
    r.line((45, "All tests performed by NATA accredited laboratory 2178."), size=7)


@laboratory("bioscientia", "DE", "de", group="unseen", point=",", is_si=False, units=GERMAN)
def bioscientia(r: Report) -> None:
    """No flags (arrows are drawn, not set); the material in letters, accreditation in small type behind the name."""
    r.line((45, "Bioscientia Institut Beispiel"), (400, "Endbefund"), is_bold=True, size=12)
    r.line((45, "Muster, Hans geb. 03.04.1949 (M)"), (330, "Ihr Zeichen: 0815/25"))
    r.line((45, f"Entnahme: {r.day('%d.%m.%Y')} 07:45"), (330, f"Ausgang: {r.day('%d.%m.%Y', back=-1)} 16:02"))  # fmt: skip
    r.gap()

    def head() -> None:
        r.line((45, "Untersuchung"), (215, "Material"), (-330, "Ergebnis"), (355, "Einheit"), (430, "Referenzbereich"), is_bold=True)  # fmt: skip

    r.head = head
    head()
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="< ", above="> ")
            end = r.put(50, each.name)
            r.put(end + 2, "A", y=r.y - 3, size=5)
            material = "EB" if each.analyte.section == "blood" else "SE"
            r.line((215, material), (-330, value), (355, each.unit), (430, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag="")
    r.line((45, "A = akkreditiert nach DIN EN ISO 15189. EB = EDTA-Blut, SE = Serum."), size=7)
    r.line((45, "Dieser Befund wurde elektronisch erstellt und ist ohne Unterschrift gültig."), size=7)  # fmt: skip


@laboratory("srl", "IN", "en", group="unseen", is_si=False, units=INDIA)
def srl(r: Report) -> None:
    """The method stands below the name; some ranges are several lines of interpretation."""
    r.line((45, "SRL Example Ltd"), (430, "FINAL REPORT"), is_bold=True, size=12)
    r.line((45, "PATIENT NAME : MS. JANE SAMPLE"), (330, "PATIENT ID : SAMPF140571"))
    r.line((45, "ACCESSION NO : 0022UL004711"), (330, "AGE : 54 Years  SEX : Female"))
    r.line((45, f"DRAWN : {r.day('%d/%m/%Y')} 08:15"), (330, f"REPORTED : {r.day('%d/%m/%Y', back=-1)} 18:22"))  # fmt: skip
    r.gap()
    r.line((45, "Test Report Status"), (180, "Final"), (250, "Results"), (330, "Biological Reference Interval"), (500, "Units"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(4)
        r.gap(0.4)
        r.line((200, title.upper()), is_bold=True)
        for each in results:
            lipid = each.analyte.key in ("chol", "tg") and r.random.random() < 0.7
            ref = f"Desirable : < {each.high}" if lipid else r.range(each, dash=" - ", below="< ", above="> ")  # fmt: skip
            flag = {"H": "High", "L": "Low", "": ""}[each.side]
            r.ensure(4)
            r.line((50, each.name.upper()), (250, each.value), (290, flag), (330, ref), (500, each.unit))  # fmt: skip
            more = [f"Borderline : {each.high} - {int(each.high) + 39}", f"High : > or = {int(each.high) + 40}"] if lipid else []  # fmt: skip
            for text in more:
                r.line((330, text))
            r.told(each, name=each.name.upper(), value=each.value, unit=each.unit, ref="; ".join((ref, *more)), flag=flag)  # fmt: skip
            r.line((55, f"METHOD : {r.random.choice(METHODS).upper()}"), size=6.5)
    r.line((45, "**End Of Report**"))
    r.line((45, "Please visit www.example.in for related Test Information. Page 1 Of 2"), size=7)


@laboratory("metropolis", "IN", "en", group="unseen", is_si=False, units=INDIA, text_size=8.5)
def metropolis(r: Report) -> None:
    """An asterisk behind the value, specimen below the name in brackets, a colon in front of every value."""
    r.line((45, "METROPOLIS EXAMPLE"), is_bold=True, size=12)
    r.line((45, "Mr. SAMPLE KUMAR"), (300, f"Collected On : {r.day('%d-%b-%Y')} 07:30 AM"))
    r.line((45, "VID : 250114000471   Age : 44 Year(s)"), (300, "Reference : Dr. SELF"))
    r.gap()
    r.line((45, "Investigation"), (250, "Observed Value"), (345, "Unit"), (420, "Biological Reference Interval"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = "*" if each.side else ""
            ref = r.range(each, dash="-", below="Less than ", above="More than ")
            r.line((50, each.name), (242, ":"), (250, f"{each.value}{flag}"), (345, each.unit), (420, ref))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
            if r.random.random() < 0.5:
                r.line((55, f"({r.random.choice(('Serum', 'EDTA Whole Blood', 'Fluoride Plasma'))},{r.random.choice(METHODS)})"), size=6.5)  # fmt: skip


@laboratory("cerba-fr", "FR", "fr", group="unseen", point=",", units=FRENCH)
def cerba(r: Report) -> None:
    """Values with their unit behind them, ranges as "de … à …", earlier results with their date to the right."""
    r.line((45, "CERBALLIANCE EXEMPLE"), is_bold=True, size=12)
    r.line((45, "Madame DUPONT Anne"), (330, "Née le 12/05/1961"))
    r.line((45, f"Prélèvement du {r.day('%d/%m/%Y')} à 08h10"), (330, f"Edité le {r.day('%d/%m/%Y', back=-1)}"))  # fmt: skip
    r.gap()
    r.line((330, "Valeurs de référence"), (480, "Antériorités"), is_bold=True)
    r.line((480, r.day("%d/%m/%y", back=120)))
    for title, results in r.panel():
        r.ensure(3)
        r.line((200, title.upper()), is_bold=True)
        for each in results:
            value = r.num(each.value)
            words = f"{r.num(each.low)} à {r.num(each.high)}" if each.is_bounded else r.range(each, below="Inférieur à ", above="Supérieur à ")  # fmt: skip
            dots = "." * max(3, int((180 - 4 * len(each.name)) / 3))
            flag = "*" if each.side else ""
            r.line((50, f"{each.name} {dots}"), (228, flag), (-285, value), (292, each.unit), (345, words), (-510, r.num(r.measure(each.analyte).value) if r.random.random() < 0.5 else ""))  # fmt: skip
            r.told(each, value=value, unit=each.unit, ref=words, flag=flag)
    r.line((45, "Dossier validé par Dr. E. Exemple, biologiste médical"), size=8)


@laboratory("meditech", "US", "en", group="unseen", size=LETTER, is_si=False, font="courier", bold="courier", text_size=8.5)  # fmt: skip
def meditech(r: Report) -> None:
    """A printout of a hospital system: one typewriter line a test, with leaders, flag before the range."""
    r.line((40, "RUN DATE: " + r.day("%m/%d/%y", back=-1) + "        EXAMPLE COMMUNITY HOSPITAL LAB **LIVE**"))  # fmt: skip
    r.line((40, "RUN TIME: 0645                     SUMMARY DISCHARGE REPORT"))
    r.line((40, "PATIENT: SAMPLE,JANE        ACCT #: V00012345678  LOC: 3W     U #: M000123456"))
    r.line((40, f"SPEC #: 0114:C00412S   COLL: {r.day('%m/%d/%y')}-0815   STATUS: COMP"))
    r.gap()
    r.line((40, f"{'Test':<24}{'Result':>10}  {'Flag':<5}{'Reference':<18}{'Units'}"))
    for title, results in r.panel():
        r.ensure(3)
        r.line((40, f"----- {title.upper()} -----"))
        for each in results:
            flag = each.side
            ref = r.range(each, dash="-", below="<", above=">")
            name = each.name.upper()[:20]
            r.line((40, f"{name + ' ' + '.' * (22 - len(name)):<24}{each.value:>10}  {flag:<5}{ref:<18}{each.unit}"))  # fmt: skip
            r.told(each, name=name, value=each.value, unit=each.unit, ref=ref, flag=flag)
    r.line((40, "                            ** END OF REPORT **"))


@laboratory("lifelabs", "CA", "en", group="unseen", size=LETTER)
def lifelabs(r: Report) -> None:
    """The flag stands before the result; range and unit share a column."""
    r.line((45, "LifeLabs Example"), (420, "Final"), is_bold=True, size=12)
    r.line((45, "Patient: SAMPLE, JANE"), (300, "Health #: 9876 543 210"), (470, "Sex: F"))
    r.line((45, f"Collected on: {r.day('%d-%b-%Y')} 09:10"), (300, f"Reported on: {r.day('%d-%b-%Y', back=-1)}"))  # fmt: skip
    r.gap()
    r.line((45, "Test"), (250, "Flag"), (300, "Result"), (380, "Reference Range - Units"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "A", "L": "A", "": ""}[each.side]
            ref = f"{r.range(each, dash=' - ', below='<', above='>=')} {each.unit}".strip()
            r.line((55, each.name), (255, flag), (300, each.value), (380, ref))
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
        if r.random.random() < 0.4:
            r.line((55, "Effective March 1, 2025 the reference interval has changed to 2.5 - 7.8."), size=8)  # fmt: skip


@laboratory("emis-gp", "UK", "en", group="unseen", units={"10^9/L": "10*9/L", "U/L": "U/L", "mU/L": "mU/L"})  # fmt: skip
def emis(r: Report) -> None:
    """What a practice prints for its patients: no headings of columns, the range in square brackets behind the unit."""
    r.line((45, "The Example Medical Centre"), is_bold=True, size=12)
    r.line((45, "Ms Jane SAMPLE  Born 14-May-1971  NHS 943 476 5919"))
    r.line((45, f"Sample date {r.day('%d-%b-%Y')}   Received {r.day('%d-%b-%Y', back=-1)}"))
    r.gap()
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, f"{title} - (EXAMPLE) - Abnormal - Contact Patient"), is_bold=True)
        for each in results:
            flag = "!" if each.side else ""
            ref = f"[{r.range(each, dash=' - ', below='< ', above='> ')}]"
            side = {"H": "Above high reference limit", "L": "Below low reference limit", "": ""}[each.side]  # fmt: skip
            r.line((55, each.name), (220, f"{each.value} {each.unit}".strip()), (310, ref), (400, flag))  # fmt: skip
            is_worded = bool(side) and r.random.random() < 0.5  # the words say more than the sign
            r.told(
                each, value=each.value, unit=each.unit, ref=ref, flag=side if is_worded else flag
            )
            if is_worded:
                r.line((75, side), size=8)


@laboratory("pardini", "BR", "pt", group="unseen", point=",", is_si=False, units={"10^3/uL": "mil/mm3", "10^6/uL": "milhões/mm3", "mcg/dL": "µg/dL", "mIU/L": "mUI/L"})  # fmt: skip
def pardini(r: Report) -> None:
    """A block for each test: its name, then result and range on lines of their own."""
    r.line((45, "Laboratório Exemplo Pardini"), is_bold=True, size=12)
    r.line((45, "Paciente: MARIA EXEMPLO   Idade: 59 anos"), (360, f"Data de coleta: {r.day('%d/%m/%Y')}"))  # fmt: skip
    r.gap()
    for _, results in r.panel((6, 12)):
        for each in results:
            r.ensure(6)
            r.line((45, each.name.upper()), is_bold=True)
            value = r.num(each.value)
            ref = f"{r.num(each.low)} a {r.num(each.high)}" if each.is_bounded else r.range(each, below="Inferior a ", above="Superior a ")  # fmt: skip
            ref = f"{ref} {each.unit}".strip()
            r.line((60, "Resultado..........:"), (170, f"{value} {each.unit}".strip()))
            r.line((60, "Valor de referência:"), (170, ref))
            r.line((60, "Material: Soro   Método: Automatizado"), size=7)
            r.told(each, name=each.name.upper(), value=value, unit=each.unit, ref=ref, flag="")
            r.gap(0.5)


@laboratory("echevarne", "ES", "es", group="unseen", point=",", is_si=False, units={"10^3/uL": "x10^3/µL", "10^6/uL": "x10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "mUI/L"})  # fmt: skip
def echevarne(r: Report) -> None:
    """The asterisk of what is out of range stands before the name; the range is in square brackets."""
    r.line((45, "Laboratorio Ejemplo Echevarne"), is_bold=True, size=12)
    r.line((45, "Paciente: EJEMPLO LOPEZ, ANA"), (330, f"Fecha de extracción: {r.day('%d/%m/%Y')}"))
    r.gap()
    r.line((55, "Determinación"), (-300, "Resultado"), (310, "Unidades"), (400, "Intervalo de referencia"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = "*" if each.side else ""
            value, ref = r.num(each.value), f"[{r.range(each, dash=' - ', below='< ', above='> ')}]"
            r.line((45, flag), (55, each.name), (-300, value), (310, each.unit), (400, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("two-halves", "US", "en", group="unseen", size=LETTER, is_si=False, text_size=7.5)
def two_halves(r: Report) -> None:
    """A compact printout: two tables side by side, each with its headings."""
    r.line((40, "EXAMPLE REGIONAL MEDICAL CENTER - CLINICAL LABORATORY"), is_bold=True, size=11)
    r.line((40, f"SAMPLE, JANE  MRN 0012345  COLLECTED {r.day('%m/%d/%Y')} 06:00"))
    r.gap()
    results = [each for _, own in r.panel((12, 24)) for each in own]
    half = -(-len(results) // 2)
    for left in (40, 320):
        for x, text in ((0, "TEST"), (118, "RESULT"), (160, "FLAG"), (188, "UNITS"), (228, "RANGE")):  # fmt: skip
            r.put(left + x, text, is_bold=True)
    r.gap()
    top = r.y
    for at, each in enumerate(results):
        left = 40 if at < half else 320
        r.y = top + (at % half) * r.look.leading
        ref = r.range(each, dash="-", below="<", above=">")
        for x, text in ((0, each.name), (118, each.value), (162, each.side), (188, each.unit), (228, ref)):  # fmt: skip
            r.put(left + x, text)
        r.told(each, value=each.value, unit=each.unit, ref=ref, flag=each.side)
    r.y = top + half * r.look.leading
    r.line((40, "Reviewed by: A. Example MT(ASCP)"))


@laboratory("viollier", "CH", "de", group="unseen", units={"umol/L": "µmol/l", "10^9/L": "G/l", "10^12/L": "T/l", "ug/L": "µg/l", "U/L": "U/l", "mmol/L": "mmol/l"})  # fmt: skip
def viollier(r: Report) -> None:
    """The unit comes before the result, and a bar shows where it lies; pathological values are in bold."""
    r.line((45, "VIOLLIER BEISPIEL AG"), is_bold=True, size=12)
    r.line((45, "Muster Vreni, 1958, w"), (330, f"Entnahmedatum: {r.day('%d.%m.%Y')}"))
    r.gap()
    r.line((45, "Analyse"), (230, "Einheit"), (-350, "Resultat"), (375, "Referenz"), (470, "Beurteilung"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            flag = {"H": "zu hoch", "L": "zu tief", "": ""}[each.side]
            if each.side:
                r.put(350, each.value, is_bold=True, align="r")
            r.line((50, each.name), (230, each.unit), (-350, "" if each.side else each.value), (375, ref), (470, flag))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("cerner", "US", "en", group="unseen", size=LETTER, is_si=False)
def cerner(r: Report) -> None:
    """Names as the system abbreviates them, value with unit, and a word for what is normal too."""
    r.line((45, "Example Health System"), is_bold=True, size=12)
    r.line((45, "Patient: SAMPLE, JANE   FIN: 110022   Admit: " + r.day("%m/%d/%Y", back=2)))
    r.gap()
    r.line((45, "Procedure"), (210, f"{r.day('%m/%d/%Y')} 05:12"), (330, "Reference Range"), (460, "Interpretation"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "High", "L": "Low", "": "Normal"}[each.side]
            ref = f"({r.range(each, dash=' - ', below='<=', above='>=')})"
            r.line((55, each.name), (210, f"{each.value} {each.unit}".strip()), (330, ref), (460, flag))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("helix-no", "NO", "sv", group="last", point=",", units={"umol/L": "µmol/L", "10^9/L": "10^9/L", "ug/L": "µg/L"})  # fmt: skip
def helix(r: Report) -> None:
    """The range stands before the result, and the unit behind the name in brackets."""
    r.line((45, "Helix Laboratorium Exempel"), (420, "Slutsvar"), is_bold=True, size=12)
    r.line((45, "Svensson, Eva  19640812-1234"), (330, f"Provtagning: {r.day('%Y-%m-%d')} 08:05"))
    r.gap()
    r.line((45, "Analys"), (230, "Referensintervall"), (-390, "Resultat"), (400, "Enhet"), (470, "Flagga"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "H", "L": "L", "": ""}[each.side]
            value, ref = r.num(each.value), r.range(each, dash="-", below="<", above=">")
            r.line((50, each.name), (230, ref), (-390, value), (400, each.unit), (475, flag))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
    r.line((45, "Svar utfärdat av Helix, ackrediterat enligt ISO 15189."), size=7)


@laboratory("thyrocare", "IN", "en", group="last", is_si=False, units=INDIA, text_size=8.5)
def thyrocare(r: Report) -> None:
    """The technology of each test has a column, values come before units, and the range stands below the row."""
    r.line((45, "Thyrocare Example"), is_bold=True, size=12)
    r.line((45, "NAME : JANE SAMPLE(54Y/F)"), (330, f"Sample Collected on (SCT) : {r.day('%d %b %Y')} 07:10"))  # fmt: skip
    r.line((45, "REF. BY : SELF"), (330, "Sample Code : 47110815"))
    r.gap()
    for title, results in r.panel():
        r.ensure(5)
        r.line((200, title.upper()), is_bold=True)
        r.line((45, "TEST NAME"), (230, "TECHNOLOGY"), (320, "VALUE"), (390, "UNITS"), is_bold=True)
        for each in results:
            r.ensure(3)
            ref = r.range(each, dash="-", below="< ", above="> ")
            r.line((50, each.name.upper()), (230, r.random.choice(("PHOTOMETRY", "C.M.I.A", "CALCULATED", "I.S.E"))), (320, each.value), (390, each.unit))  # fmt: skip
            r.line((50, f"Bio. Ref. Interval. : {ref}"), size=7)
            r.told(each, name=each.name.upper(), value=each.value, unit=each.unit, ref=ref, flag="")
        r.gap(0.5)
    r.line((45, "Please correlate with clinical conditions."), size=7)


@laboratory("analiza", "ES", "es", group="last", point=",", is_si=False, units={"10^3/uL": "10^3/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µUI/mL"})  # fmt: skip
def analiza(r: Report) -> None:
    """Lower and upper limit have a column each; what is out of range stands farther right."""
    r.line((45, "Analiza Ejemplo"), is_bold=True, size=12)
    r.line((45, "Paciente: EJEMPLO PEREZ, LUIS"), (330, f"Fecha de toma: {r.day('%d/%m/%Y')}"))
    r.gap()
    r.line((45, "Prueba"), (-270, "Resultado"), (285, "Unidades"), (370, "V. Ref."), (480, "Alarma"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = {"H": "ALTO", "L": "BAJO", "": ""}[each.side]
            value = r.num(each.value)
            ref = f"( {r.range(each, dash=' - ', below='< ', above='> ')} )"
            r.line((50, each.name), (-270, value), (285, each.unit), (370, ref), (480, flag))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("sunquest", "US", "en", group="last", size=LETTER, is_si=False, font="courier", bold="courier", text_size=8.0)  # fmt: skip
def sunquest(r: Report) -> None:
    """Another typewriter printout: units before the reference, critical values called in, comments below."""
    r.line((40, "SUNQUEST EXAMPLE LABORATORY INFORMATION SYSTEM"))
    r.line((40, f"NAME: SAMPLE, JANE      HOSP NO: 0012345   COLLECTED: {r.day('%m/%d/%Y')} 06:12"))
    r.gap()
    for title, results in r.panel():
        r.ensure(4)
        r.line((40, title.upper()))
        r.line((40, f"{'TEST NAME':<26}{'RESULT':<10}{'FL':<4}{'UNITS':<12}{'REF RANGE'}"))
        for each in results:
            ref = r.range(each, dash="-", below="<", above=">")
            ref = f"[{ref}]"
            name = each.name[:24]
            r.line((40, f"{name:<26}{each.value:<10}{each.side:<4}{each.unit:<12}{ref}"))
            r.told(each, name=name, value=each.value, unit=each.unit, ref=ref, flag=each.side)
            if each.side and r.random.random() < 0.2:
                r.line((40, "    RESULT CALLED TO AND READ BACK BY RN A. EXAMPLE AT 0655"))
        r.gap(0.5)


@laboratory("medlab-nz", "NZ", "en", group="fresh", units={"10^9/L": "x 10e9/L", "10^12/L": "x 10e12/L"})  # fmt: skip
def medlab(r: Report) -> None:
    """Flag letters between name and value, ranges in brackets without blanks, a remark now and then."""
    r.line((45, "Medlab Example Ltd"), (400, "LABORATORY REPORT"), is_bold=True, size=12)
    r.line((45, "NHI: ABC1234  SAMPLE Jane  14/05/1971"), (330, f"Collected: {r.day('%d/%m/%Y')} 10:20"))  # fmt: skip
    r.gap()
    r.line(
        (45, "Test"), (-270, "Result"), (290, "Units"), (380, "Reference Interval"), is_bold=True
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            ref = f"({r.range(each, dash='-', below='<', above='>')})"
            r.line((50, each.name), (222, each.side), (-270, each.value), (290, each.unit), (380, ref))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=each.side)
        if r.random.random() < 0.3:
            r.line((50, "Please note: results between 5.6 and 6.9 mmol/L suggest impaired tolerance."), size=8)  # fmt: skip


@laboratory("kreislabor", "DE", "de", group="fresh", point=",", is_si=False, units=GERMAN)
def kreislabor(r: Report) -> None:
    """Everything in one line without headings of columns; the range after the word Ref."""
    r.line((45, "Kreiskrankenhaus Beispiel - Zentrallabor"), is_bold=True, size=12)
    r.line((45, "Muster, Eva *03.09.1958"), (330, f"Abnahme {r.day('%d.%m.%Y')} 06:30"))
    r.gap()
    r.line((45, "Analyt"), (-280, "Wert"), (290, ""), (300, "Einheit"), (370, "Ref.-Bereich"), (470, "Vorbefund"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()))
        for each in results:
            flag = {"H": "+", "L": "-", "": ""}[each.side]
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="bis ", above="ab ")
            before = r.num(r.measure(each.analyte).value) if r.random.random() < 0.4 else ""
            r.line((50, each.name), (-280, value), (285, flag), (300, each.unit), (370, ref), (470, before))  # fmt: skip
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("inovie", "FR", "fr", group="fresh", point=",", units=FRENCH)
def inovie(r: Report) -> None:
    """Name, result, unit, range in brackets; the method in italics below; the page is numbered in the middle."""
    r.line((45, "INOVIE EXEMPLE - Biologie médicale"), is_bold=True, size=12)
    r.line(
        (45, "M. MARTIN Paul, né le 02/11/1950"), (330, f"Prélevé le : {r.day('%d/%m/%Y')} 07:55")
    )
    r.gap()
    r.line((45, "Examens"), (-300, "Résultats"), (310, "Unités"), (380, "Intervalle de référence"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(4)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            r.ensure(2)
            flag = {"H": "*", "L": "*", "": ""}[each.side]
            value, ref = r.num(each.value), f"[{r.range(each, dash=' - ', below='<', above='>')}]"
            r.line((50, each.name), (-300, f"{value}"), (303, flag), (312, each.unit), (380, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
            if r.random.random() < 0.4:
                r.line((60, f"({r.random.choice(('Potentiométrie', 'Colorimétrie', 'Spectrophotométrie'))} - Alinity)"), size=6.5)  # fmt: skip
    r.line((280, "Page 1/1"), size=7)


@laboratory("athena-portal", "US", "en", group="fresh", size=LETTER, is_si=False)
def athena(r: Report) -> None:
    """A patient portal: each test in two lines, its name, and below it value, unit, flag word and range."""
    r.line((45, "Example Family Medicine"), is_bold=True, size=13)
    r.line((45, f"Lab Results   Collection date: {r.day('%m/%d/%Y')}   Patient ID: 4711"))
    r.gap()
    r.line((45, "Name"), (230, "Value"), (300, "Reference Range"), (440, "Status"), is_bold=True)
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "above high normal", "L": "below low normal", "": ""}[each.side]
            ref = f"{r.range(each, dash='-', below='< ', above='> ')} {each.unit}".strip()
            r.line((55, each.name), (230, each.value), (300, ref), (440, flag))
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("dasa", "BR", "pt", group="fresh", point=",", is_si=False, units={"10^3/uL": "10^3/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µUI/mL"})  # fmt: skip
def dasa(r: Report) -> None:
    """Dots lead to a value with its unit; the range at the right, with "a" for "to"."""
    r.line((45, "Dasa Exemplo Medicina Diagnóstica"), is_bold=True, size=12)
    r.line((45, "Cliente: MARIA EXEMPLO"), (330, f"Data da coleta: {r.day('%d/%m/%Y')}"))
    r.gap()
    r.line((45, "Exame"), (250, "Resultado"), (390, "Valores de referência"), is_bold=True)
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            value = r.num(each.value)
            ref = f"{r.num(each.low)} a {r.num(each.high)}" if each.is_bounded else r.range(each, below="até ", above="acima de ")  # fmt: skip
            ref = f"{ref} {each.unit}".strip()
            dots = "." * max(4, int((190 - 5 * len(each.name)) / 3))
            r.line((50, f"{each.name} {dots}:"), (250, f"{value} {each.unit}".strip()), (390, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag="")


@laboratory("lifebrain", "IT", "it", group="final", point=",", is_si=False, units={"10^3/uL": "10^3/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "mUI/L"})  # fmt: skip
def lifebrain(r: Report) -> None:
    """The asterisk has a column between result and unit; ranges in brackets."""
    r.line((45, "Lifebrain Esempio"), is_bold=True, size=12)
    r.line((45, "Paziente: ROSSI ANNA  nata il 12/05/1961"), (330, f"Data prelievo: {r.day('%d/%m/%Y')}"))  # fmt: skip
    r.gap()
    r.line((45, "Esame"), (-270, "Esito"), (300, "U.M."), (370, "Intervalli di riferimento"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = "*" if each.side else ""
            value, ref = r.num(each.value), f"[{r.range(each, dash=' - ', below='< ', above='> ')}]"
            r.line((50, each.name), (-270, value), (280, flag), (300, each.unit), (370, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("saltro", "NL", "nl", group="final", point=",", units={"umol/L": "µmol/l", "10^9/L": "10^9/l", "10^12/L": "10^12/l", "ug/L": "µg/l", "mmol/L": "mmol/l"})  # fmt: skip
def saltro(r: Report) -> None:
    """An exclamation mark before the value, earlier results of two dates to the right."""
    r.line((45, "Saltro Voorbeeld"), is_bold=True, size=12)
    r.line((45, "Jansen, A. 12-05-1961 V"), (330, f"Afnamedatum: {r.day('%d-%m-%Y')}"))
    r.gap()
    r.line((45, "Bepaling"), (-270, "Uitslag"), (285, "Eenheid"), (360, "Referentiewaarden"), (470, "Vorige uitslag"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = "!" if each.side else ""
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="< ", above="> ")
            before = r.num(r.measure(each.analyte).value) if r.random.random() < 0.5 else ""
            r.line((50, each.name), (222, flag), (-270, value), (285, each.unit), (360, ref), (470, before))  # fmt: skip
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("alab", "PL", "pl", group="final", point=",", is_si=False, units={"10^3/uL": "tys/µl", "10^6/uL": "mln/µl", "mcg/dL": "µg/dl", "mIU/L": "mIU/l"})  # fmt: skip
def alab(r: Report) -> None:
    """Unit before range, the flag as a letter in the last column; the ICD-9 code behind the name in brackets."""
    r.line((45, "ALAB przykład"), is_bold=True, size=12)
    r.line((45, "Pacjent: KOWALSKA ANNA"), (330, f"Data pobrania: {r.day('%Y-%m-%d')} 07:40"))
    r.gap()
    r.line((45, "Badanie"), (-280, "Wynik"), (295, "Jednostka"), (370, "Zakres referencyjny"), (500, "Flaga"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="< ", above="> ")
            r.line((50, each.name), (-280, value), (295, each.unit), (370, ref), (505, each.side))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=each.side)


@laboratory("kaiser", "US", "en", group="final", size=LETTER, is_si=False)
def kaiser(r: Report) -> None:
    """The flag in brackets behind the value; range and unit in columns of their own, the range first."""
    r.line((45, "Example Permanente - Test Results"), is_bold=True, size=13)
    r.line((45, f"Collected: {r.day('%m/%d/%Y')} 7:31 AM"), (330, "MRN: 4711"))
    r.gap()
    r.line((45, "Component"), (220, "Your Result"), (320, "Standard Range"), (430, "Units"), is_bold=True)  # fmt: skip
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = f"({each.side})" if each.side else ""
            ref = r.range(each, dash=" - ", below="<", above=">")
            r.line((55, each.name), (220, f"{each.value} {flag}".strip()), (320, ref), (430, each.unit))  # fmt: skip
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
    r.line((45, "General information: results outside the standard range may be normal for you."), size=7)  # fmt: skip
