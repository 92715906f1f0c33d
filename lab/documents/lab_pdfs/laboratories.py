"""The layouts: fourteen laboratories of twelve countries, as their reports look; people and values are invented."""

from lab.documents.lab_pdfs.registry import LABORATORIES, Laboratory, draw, laboratory
from lab.documents.lab_pdfs.report import Report
from lab.documents.statements.paper import LETTER

__all__ = ["LABORATORIES", "Laboratory", "draw"]

US_UNITS = {"10^3/uL": "Thousand/uL", "10^6/uL": "Million/uL"}
LABCORP_UNITS = {"10^3/uL": "x10E3/uL", "10^6/uL": "x10E6/uL", "mcg/dL": "ug/dL"}
DE_UNITS = {
    "10^3/uL": "/nl",
    "10^6/uL": "/pl",
    "U/L": "U/l",
    "g/dL": "g/dl",
    "mg/dL": "mg/dl",
    "mmol/L": "mmol/l",
    "mg/L": "mg/l",
    "fL": "fl",
    "ng/mL": "ng/ml",
    "mcg/dL": "µg/dl",
    "pg/mL": "pg/ml",
    "mIU/L": "mU/l",
    "ng/dL": "ng/dl",
}
FR_UNITS = {
    "10^9/L": "Giga/L",
    "10^12/L": "Tera/L",
    "umol/L": "µmol/L",
    "ug/L": "µg/L",
    "mU/L": "mUI/L",
    "U/L": "UI/L",
}
ES_UNITS = {"10^3/uL": "10^3/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µUI/mL"}
IT_UNITS = {
    "10^3/uL": "10^3/µL",
    "10^6/uL": "10^6/µL",
    "mcg/dL": "µg/dl",
    "mIU/L": "mUI/L",
    "g/dL": "g/dl",
    "mg/dL": "mg/dl",
}
NL_UNITS = {
    "10^9/L": "/nl",
    "10^12/L": "/pl",
    "umol/L": "µmol/l",
    "ug/L": "µg/l",
    "mmol/L": "mmol/l",
    "mg/L": "mg/l",
    "fL": "fl",
    "mU/L": "mU/l",
    "pmol/L": "pmol/l",
    "L/L": "l/l",
    "g/L": "g/l",
    "U/L": "U/l",
}
PL_UNITS = {"10^3/uL": "tys/µl", "10^6/uL": "mln/µl", "mcg/dL": "µg/dl", "mIU/L": "µIU/ml"}
UK_UNITS = {"10^9/L": "10*9/L", "10^12/L": "10*12/L", "U/L": "iu/L", "mU/L": "miu/L"}
IN_UNITS = {"10^3/uL": "thou/mm3", "10^6/uL": "mill/mm3", "mcg/dL": "µg/dL", "mIU/L": "µIU/mL"}


@laboratory("quest", "US", "en", size=LETTER, is_si=False, units=US_UNITS)
def quest(r: Report) -> None:
    r.line((45, "Quest Diagnostics"), (420, "FINAL REPORT"), is_bold=True, size=12)
    r.line((45, "PATIENT: SAMPLE, JANE"), (250, "SPECIMEN: WX123456C"), (420, "Client #: 12345678"))
    r.line((45, "DOB: 05/14/1971   AGE: 54"), (250, f"COLLECTED: {r.day('%m/%d/%Y')} 08:15 ET"))
    r.line(
        (45, "GENDER: F  FASTING: Y"),
        (250, f"RECEIVED: {r.day('%m/%d/%Y')} 20:02 ET"),
        (420, f"REPORTED: {r.day('%m/%d/%Y', back=-1)}"),
    )
    r.gap()

    def head() -> None:
        r.line(
            (45, "Test Name"),
            (230, "In Range"),
            (310, "Out Of Range"),
            (410, "Reference Range"),
            (550, "Lab"),
            is_bold=True,
        )

    r.head = head
    head()
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            where = 310 if each.side else 230
            value = each.value
            ref = f"{r.range(each, dash='-', below='< OR = ', above='> OR = ')} {each.unit}".strip()
            shown = f"{value} {each.side}" if each.side else value
            r.line((55, each.name.upper()), (where, shown), (410, ref), (555, "AMD"))
            r.told(
                each, name=each.name.upper(), value=value, unit=each.unit, ref=ref, flag=each.side
            )
            if each.analyte.key == "glu":
                r.line((85, "Fasting reference interval"), size=7.5)
            if each.analyte.key == "tg" and r.random.random() < 0.5:
                r.line(
                    (85, "If a non-fasting specimen was collected, consider repeat testing"),
                    size=7.5,
                )
                r.line((85, "if the value is above 400 mg/dL (see note of 03/01/2024)."), size=7.5)
    r.gap()
    r.line(
        (
            45,
            "PERFORMING SITE: AMD QUEST DIAGNOSTICS, 14225 NEWBROOK DRIVE, CHANTILLY, VA 20151  CLIA: 49D0221801",
        ),
        size=7,
    )


@laboratory("labcorp", "US", "en", size=LETTER, is_si=False, units=LABCORP_UNITS, text_size=8.0)
def labcorp(r: Report) -> None:
    r.line((45, "labcorp"), (400, "Patient Report"), is_bold=True, size=13)
    r.line(
        (45, "Patient ID: 00112233"), (230, "Specimen ID: 092-345-6789-0"), (430, "DOB: 05/14/1971")
    )
    r.line(
        (45, "Age: 54  Sex: Female"),
        (230, f"Date Collected: {r.day('%m/%d/%Y')}"),
        (430, f"Date Reported: {r.day('%m/%d/%Y', back=-2)}"),
    )
    r.gap()
    for title, results in r.panel():
        r.ensure(4)
        r.line((45, title), is_bold=True, size=10)
        r.line(
            (45, "Test"),
            (205, "Current Result and Flag"),
            (325, "Previous Result"),
            (430, "Units"),
            (500, "Reference Interval"),
            is_bold=True,
            size=7,
        )
        for each in results:
            flag = {"H": "High", "L": "Low", "": ""}[each.side]
            sup = " 01" if r.random.random() < 0.7 else ""
            ref = (
                r.range(each, dash="-", below="<", above=">")
                if r.random.random() > 0.08
                else "Not Estab."
            )
            end = r.put(45, each.name)
            if sup:
                r.put(end + 1, sup.strip(), y=r.y - 3, size=5)
            flag = flag if ref != "Not Estab." else ""
            r.line(
                (205, each.value),
                (260, flag),
                (330, each.value.lstrip("<") if r.random.random() < 0.4 else ""),
                (430, each.unit),
                (500, ref),
            )
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
        r.gap(0.5)
    r.line(
        (
            45,
            "Disclaimer: the Previous Result is listed for the most recent test performed by Labcorp.",
        ),
        size=7,
    )


@laboratory("synlab-de", "DE", "de", point=",", is_si=False, units=DE_UNITS)
def synlab_de(r: Report) -> None:
    r.line((45, "synlab MVZ Beispielstadt"), is_bold=True, size=12)
    r.line((45, "Muster, Erika"), (250, "geb. 12.08.1964"), (400, "Auftrag 4711 0815"))
    r.line(
        (45, f"Abnahme: {r.day('%d.%m.%Y')}"),
        (250, f"Eingang: {r.day('%d.%m.%Y')}"),
        (400, f"Druck: {r.day('%d.%m.%Y', back=-1)}"),
    )
    r.gap()
    r.line(
        (45, "Untersuchung"),
        (-285, "Ergebnis"),
        (310, "Einheit"),
        (380, "Referenzbereich"),
        (485, "Grafik"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": r.random.choice(("+", "+", "++")), "L": "-", "": ""}[each.side]
            value = r.num(each.value).replace("<", "< ")
            ref = r.range(each)
            r.line(
                (50, each.name),
                (-285, value),
                (290, flag),
                (310, each.unit),
                (380, ref),
                (485, "[    *    ]" if not each.side else "[*        ]"),
            )
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
        if title == "Klinische Chemie" and r.random.random() < 0.6:
            r.line(
                (
                    60,
                    "Bitte beachten Sie die geänderten Referenzbereiche ab 01.03.2024 (Umstellung der Methode).",
                ),
                size=8,
            )
    r.gap()
    r.line(
        (
            45,
            "++ stark erhöht, + erhöht, - erniedrigt. Mit freundlichen kollegialen Grüßen, Dr. med. A. Beispiel",
        ),
        size=7,
    )


@laboratory(
    "labor-berlin",
    "DE",
    "de",
    point=",",
    is_si=True,
    units={"umol/L": "µmol/l", "10^9/L": "/nl", "10^12/L": "/pl", "ug/L": "µg/l", "L/L": "l/l"},
)
def labor_berlin(r: Report) -> None:
    r.line((45, "Labor Berlin - Musterklinik GmbH"), is_bold=True, size=12)
    r.line(
        (45, "Pat.: Muster, Max  *01.02.1950  m"), (330, f"Entnahmedatum {r.day('%d.%m.%y')} 07:30")
    )
    r.gap()
    r.line(
        (45, "Parameter"),
        (230, ""),
        (-290, "Wert"),
        (300, "Einheit"),
        (380, "Normbereich"),
        (-530, "Vorwert"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.gap(0.4)
        r.line((45, f"--- {title} ---"))
        for each in results:
            flag = {"H": "H", "L": "L", "": ""}[each.side]
            value = r.num(each.value)
            ref = f"[{r.range(each, dash=' - ', below='<', above='>')}]"
            before = r.num(each.value.lstrip("<")) if r.random.random() < 0.5 else ""
            r.line(
                (45, each.name),
                (232, flag),
                (-290, value),
                (300, each.unit),
                (380, ref),
                (-530, before),
            )
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory("nhs", "UK", "en", units=UK_UNITS)
def nhs(r: Report) -> None:
    r.line((45, "NHS Pathology - Leeds Teaching Hospitals"), is_bold=True, size=12)
    r.line((45, "Name: SAMPLE, Jane"), (300, "NHS No: 943 476 5919"))
    r.line(
        (45, f"Collected: {r.day('%d/%m/%Y')} 09:30"),
        (300, f"Reported: {r.day('%d/%m/%Y', back=-1)} 14:05"),
    )
    r.gap()
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = "*" if each.side else ""
            value = each.value
            ref = f"({r.range(each, dash=' - ', below='< ', above='> ')})"
            r.line((55, each.name), (225, flag), (-290, value), (300, each.unit), (370, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
        if r.random.random() < 0.4:
            r.line(
                (
                    70,
                    "Comment: sample slightly haemolysed, interpret potassium with care. Repeat if > 6.0 mmol/L.",
                ),
                size=8,
            )
    r.line((45, "* outside the reference range.  End of report"), size=8)


@laboratory("biogroup", "FR", "fr", point=",", units=FR_UNITS)
def biogroup(r: Report) -> None:
    r.line((45, "BIOGROUP - Laboratoire de biologie médicale"), is_bold=True, size=12)
    r.line(
        (45, "Mme EXEMPLE Marie, née le 03/04/1968"),
        (320, f"Prélèvement du {r.day('%d/%m/%Y')} à 08h10"),
    )
    r.gap()
    r.line(
        (-330, "Résultat"),
        (340, "Unité"),
        (400, "Valeurs de référence"),
        (520, "Antériorité"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(4)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            value = r.num(each.value).replace("<", "< ")
            ref = r.range(each, dash=" à ", below="Inf. à ", above="Sup. à ")
            dots = "." * max(3, 46 - len(each.name))
            flag = "*" if each.side else ""
            r.line(
                (50, f"{each.name} {dots}"),
                (-326, value),
                (330, flag),
                (340, each.unit),
                (400, f"({ref})"),
                (525, r.num(each.value.lstrip("<")) if r.random.random() < 0.3 else ""),
            )
            r.told(each, value=value, unit=each.unit, ref=f"({ref})", flag=flag)
            if r.random.random() < 0.25:
                r.line((60, "(Colorimétrie - Cobas Roche)"), size=6.5)
    r.line(
        (
            45,
            "Validé par Dr A. Biologiste. Accréditation COFRAC n° 8-1234, portée disponible sur www.cofrac.fr",
        ),
        size=7,
    )


@laboratory("eurofins-es", "ES", "es", point=",", is_si=False, units=ES_UNITS)
def eurofins(r: Report) -> None:
    r.line((45, "Eurofins Megalab"), is_bold=True, size=12)
    r.line(
        (45, "Paciente: EJEMPLO GARCIA, ANA"), (320, f"Fecha de extracción: {r.day('%d/%m/%Y')}")
    )
    r.line((45, "Edad: 45   Sexo: Mujer"), (320, "Nº Petición: 123456789"))
    r.gap()
    r.line(
        (45, "Prueba"),
        (-290, "Resultado"),
        (310, "Unidades"),
        (390, "Valores de referencia"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = "*" if each.side else ""
            value = r.num(each.value)
            ref = f"[ {r.range(each, dash=' - ', below='< ', above='> ')} ]"
            r.line((50, each.name), (240, flag), (-290, value), (310, each.unit), (390, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
    r.line((45, "Los resultados marcados con * están fuera del intervalo de referencia."), size=7)


@laboratory("cdi-it", "IT", "it", point=",", is_si=False, units=IT_UNITS)
def cdi(r: Report) -> None:
    r.line((45, "CDI Centro Diagnostico Esempio"), is_bold=True, size=12)
    r.line(
        (45, "Sig.ra ROSSI MARIA"),
        (250, "Nata il 01/01/1970"),
        (400, f"Data prelievo {r.day('%d/%m/%Y')}"),
    )
    r.gap()
    r.line(
        (45, "ESAME"),
        (-290, "RISULTATO"),
        (320, "U.M."),
        (400, "VALORI DI RIFERIMENTO"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.gap(0.3)
        r.line((120, title.upper()), is_bold=True)
        for each in results:
            flag = "*" if each.side else ""
            value = r.num(each.value)
            ref = r.range(each, dash=" - ", below="fino a ", above="superiore a ")
            r.line((50, each.name), (-290, value), (296, flag), (320, each.unit), (400, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
            if r.random.random() < 0.2:
                r.line((60, "Metodo: spettrofotometria"), size=7)
    r.line(
        (
            45,
            "Gli esami contrassegnati con * sono fuori dai limiti di riferimento. Il Direttore Dr. B. Bianchi",
        ),
        size=7,
    )


@laboratory("star-shl", "NL", "nl", point=",", units=NL_UNITS)
def star(r: Report) -> None:
    r.line((45, "Star-shl medisch diagnostisch centrum"), is_bold=True, size=12)
    r.line((45, "Patiënt: Voorbeeld, J."), (300, f"Afnamedatum: {r.day('%d-%m-%Y')}"))
    r.gap()
    r.line(
        (45, "Bepaling"),
        (220, "Uitslag"),
        (290, "Eenheid"),
        (370, "Referentiewaarden"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            value = r.num(each.value)
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            r.line((50, each.name), (205, each.side), (220, value), (290, each.unit), (370, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=each.side)


@laboratory("diagnostyka", "PL", "pl", point=",", is_si=False, units=PL_UNITS)
def diagnostyka(r: Report) -> None:
    r.line((45, "DIAGNOSTYKA S.A. Laboratorium w Krakowie"), is_bold=True, size=12)
    r.line(
        (45, "Pacjent: PRZYKŁADOWA ANNA"), (300, f"Data/godz. pobrania: {r.day('%Y-%m-%d')} 07:40")
    )
    r.gap()
    r.line(
        (45, "Badanie"),
        (-300, "Wynik"),
        (310, "Jedn."),
        (380, "Zakres ref."),
        (500, "Flaga"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            value = r.num(each.value)
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            flag = {"H": "H", "L": "L", "": ""}[each.side]
            r.line((55, each.name), (-300, value), (310, each.unit), (380, ref), (505, flag))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
            if r.random.random() < 0.2:
                r.line((70, "Metoda: spektrofotometryczna, aparat Cobas 8000"), size=7)


@laboratory(
    "fleury",
    "BR",
    "pt",
    point=",",
    is_si=False,
    units={"10^3/uL": "mil/mm3", "10^6/uL": "milhões/mm3", "mIU/L": "mUI/L", "mcg/dL": "µg/dL"},
)
def fleury(r: Report) -> None:
    r.line((45, "Fleury Medicina e Saúde"), is_bold=True, size=12)
    r.line((45, "Cliente: ANA EXEMPLO"), (300, f"Data da coleta: {r.day('%d/%m/%Y')}"))
    r.gap()
    for _, results in r.panel((5, 12)):
        for each in results:
            r.ensure(5)
            value = r.num(each.value)
            ref = f"{r.range(each, dash=' a ', below='inferior a ', above='superior a ')} {each.unit}".strip()
            r.line((45, each.name.upper()), is_bold=True)
            r.line((60, "Resultado:"), (150, value), (210, each.unit))
            r.line((60, "Valor de referência:"), (170, ref), size=8)
            r.line((60, "Material: sangue. Método: automatizado."), size=7)
            r.gap(0.5)
            r.told(each, name=each.name.upper(), value=value, unit=each.unit, ref=ref, flag="")


@laboratory(
    "unilabs-ch",
    "CH",
    "de",
    point=".",
    units={"10^9/L": "G/l", "10^12/L": "T/l", "umol/L": "µmol/l", "ug/L": "µg/l"},
    text_size=7.5,
)
def unilabs(r: Report) -> None:
    r.line((45, "Unilabs St. Gallen"), is_bold=True, size=12)
    r.line((45, "Beispiel Anna, 04.05.1972, F"), (300, f"Entnahme {r.day('%d.%m.%Y')} 10:00"))
    r.gap()
    top = r.y
    panel = [each for _, results in r.panel((8, 24)) for each in results]
    half = -(-len(panel) // 2)
    for column, part in enumerate((panel[:half], panel[half:])):
        r.y = top
        left = 45 + column * 260
        if part:
            r.line(
                (left, "Analyse"),
                (-(left + 125), "Resultat"),
                (left + 140, "Einheit"),
                (left + 180, "Referenz"),
                is_bold=True,
            )
        for each in part:
            flag = {"H": "H", "L": "L", "": ""}[each.side]
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            r.line(
                (left, each.name),
                (-(left + 125), each.value),
                (left + 129, flag),
                (left + 140, each.unit),
                (left + 180, ref),
            )
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)


@laboratory("laverty", "AU", "en", units={"10^9/L": "x10^9/L", "10^12/L": "x10^12/L"})
def laverty(r: Report) -> None:
    r.line((45, "Laverty Pathology - Cumulative Report"), is_bold=True, size=12)
    r.line((45, "Patient: SAMPLE, Jane   DOB 14/05/1971   Sex F"), (330, "Dr A Referrer"))
    r.gap()
    r.has_titres = False
    days = (180, 90, 0)
    r.line(
        (45, "Date"),
        *((-(230 + 70 * at), r.day("%d/%m/%y", back=back)) for at, back in enumerate(days)),
        is_bold=True,
    )
    r.line((45, "Time"), *((-(230 + 70 * at), "0915") for at in range(3)))
    r.line((400, "Units"), (460, "Reference"), is_bold=True)
    for _, results in r.panel():
        for each in results:
            shown = [r.measure(each.analyte) for _ in days]
            ref = r.range(each, dash="-", below="<", above=">")
            ref = f"({ref})"
            r.line(
                (45, each.name),
                *(
                    (-(230 + 70 * at), one.value + (" " + one.side if one.side else ""))
                    for at, one in enumerate(shown)
                ),
                (400, each.unit),
                (460, ref),
            )
            for one, back in zip(shown, days, strict=True):
                r.told(
                    one,
                    value=one.value,
                    unit=each.unit,
                    ref=ref,
                    flag=one.side,
                    collected=r.day("%Y-%m-%d", back=back),
                )


@laboratory("lalpath", "IN", "en", is_si=False, units=IN_UNITS)
def lalpath(r: Report) -> None:
    r.line((45, "Dr Lal PathLabs"), is_bold=True, size=12)
    r.line((45, "Name : Ms. JANE SAMPLE"), (330, f"Collected : {r.day('%d/%m/%Y')} 8:15:00AM"))
    r.line(
        (45, "Lab No. : 123456789   Age: 54 Years   Gender: Female"),
        (330, f"Reported : {r.day('%d/%m/%Y')} 6:12:44PM"),
    )
    r.gap()
    r.line(
        (45, "Test Name"),
        (260, "Results"),
        (350, "Units"),
        (440, "Bio. Ref. Interval"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(4)
        r.line((45, f"{title.upper()}; COMPLETE"), is_bold=True)
        for each in results:
            value = each.value
            ref = r.range(each, dash=" - ", below="<", above=">")
            r.line((50, each.name), (260, value), (350, each.unit), (440, ref))
            if r.random.random() < 0.5:
                r.line((50, "(Spectrophotometry)"), size=7)
            r.told(each, value=value, unit=each.unit, ref=ref, flag="")
    r.line((250, "*** End Of Report ***"))


@laboratory(
    "karolinska",
    "SE",
    "sv",
    point=",",
    units={
        "10^9/L": "x10(9)/L",
        "10^12/L": "x10(12)/L",
        "umol/L": "µmol/L",
        "ug/L": "µg/L",
        "U/L": "U/L",
    },
)
def karolinska(r: Report) -> None:
    r.line((45, "Karolinska Universitetslaboratoriet"), is_bold=True, size=12)
    r.line(
        (45, "Exempel, Anna   19710514-0000"), (330, f"Provtagningsdatum {r.day('%Y-%m-%d')} 08:05")
    )
    r.gap()
    r.line((45, "Analys"), (220, "Resultat"), (300, "Enhet"), (380, "Ref.intervall"), is_bold=True)
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            value = r.num(each.value)
            ref = r.range(each, dash="-", below="<", above=">")
            flag = "*" if each.side else ""
            prefix = r.random.choice(("P-", "S-")) if each.analyte.section != "blood" else "B-"
            r.line(
                (50, prefix + each.name), (212, flag), (220, value), (300, each.unit), (380, ref)
            )
            r.told(each, name=prefix + each.name, value=value, unit=each.unit, ref=ref, flag=flag)
