"""A second set of layouts, drawn after the reader had been mended for the first: what a new laboratory would meet."""

from lab.documents.lab_pdfs.registry import FURTHER, laboratory
from lab.documents.lab_pdfs.report import Report
from lab.documents.statements.paper import LETTER

__all__ = ["FURTHER"]
WORDS = {
    "H": {"de": "erhöht", "es": "Alto", "en": "High", "pt": "Alto", "fr": "Haut"},
    "L": {"de": "erniedrigt", "es": "Bajo", "en": "Low", "pt": "Baixo", "fr": "Bas"},
}


@laboratory(
    "epic-mychart",
    "US",
    "en",
    group="further",
    size=LETTER,
    is_si=False,
    units={"10^3/uL": "K/uL", "10^6/uL": "M/uL", "mcg/dL": "ug/dL", "mIU/L": "uIU/mL"},
)
def epic(r: Report) -> None:
    r.line((45, "Lab Results - Example Health"), is_bold=True, size=13)
    r.line((45, "Patient: Jane Sample   MRN: 00998877   DOB: 5/14/1971"))
    r.line(
        (45, f"Collected on {r.day('%m/%d/%Y')} 8:15 AM"),
        (330, f"Resulted on {r.day('%m/%d/%Y')} 3:40 PM"),
    )
    r.gap()
    for title, results in r.panel():
        r.ensure(4)
        r.line((45, title), is_bold=True, size=11)
        r.line(
            (45, "Component"),
            (220, "Your Value"),
            (340, "Standard Range"),
            (480, "Flag"),
            is_bold=True,
        )
        for each in results:
            ref = f"{r.range(each, below='<=', above='>=')} {each.unit}".strip()
            flag = WORDS[each.side]["en"] if each.side else ""
            value = f"{each.value} {each.unit}".strip()
            r.line((45, each.name), (220, value), (340, ref), (480, flag))
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
        r.gap(0.6)


@laboratory(
    "imd-de",
    "DE",
    "de",
    group="further",
    point=",",
    is_si=False,
    units={"10^3/uL": "Tsd./µl", "10^6/uL": "Mio./µl", "mcg/dL": "µg/dl", "mIU/L": "µU/ml"},
)
def imd(r: Report) -> None:
    r.line((45, "IMD Labor Beispiel MVZ GbR"), is_bold=True, size=12)
    r.line((45, "Patient: Muster, Eva   geb. 03.09.1958 (w)"), (330, "Tgb.-Nr. 250811-0042"))
    r.line(
        (45, f"Probenentnahme {r.day('%d.%m.%Y')} 08:00"),
        (330, f"Befund vom {r.day('%d.%m.%Y', back=-2)}"),
    )
    r.gap()
    r.line(
        (45, "Analyse"),
        (220, "Material"),
        (-330, "Messwert"),
        (345, "Einheit"),
        (415, "Normalbereich"),
        (500, "Bewertung"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = WORDS[each.side]["de"] if each.side else ""
            material = "EDTA-Blut" if each.analyte.section == "blood" else "Serum"
            value, ref = r.num(each.value), r.range(each, below="bis ", above="über ")
            r.line(
                (50, each.name),
                (220, material),
                (-330, value),
                (345, each.unit),
                (415, ref),
                (500, flag),
            )
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory(
    "germano",
    "PT",
    "pt",
    group="further",
    point=",",
    is_si=False,
    units={"10^3/uL": "x10^3/µL", "10^6/uL": "x10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µUI/mL"},
)
def germano(r: Report) -> None:
    r.line((45, "Laboratório Exemplo de Sousa"), is_bold=True, size=12)
    r.line(
        (45, "Nome: Maria Exemplo   Data de nascimento: 02/03/1966"),
        (360, f"Data da colheita: {r.day('%d/%m/%Y')}"),
    )
    r.gap()
    r.line(
        (45, "Exame"),
        (240, "Resultado"),
        (310, "Unidades"),
        (390, "Valores de referência"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="< ", above="> ")
            flag = "*" if each.side else ""
            r.line((50, each.name), (228, flag), (240, value), (310, each.unit), (390, ref))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory(
    "chopo",
    "MX",
    "es",
    group="further",
    size=LETTER,
    is_si=False,
    units={"10^3/uL": "10^3/µL", "10^6/uL": "10^6/µL", "mcg/dL": "µg/dL", "mIU/L": "µUI/mL"},
)
def chopo(r: Report) -> None:
    r.line((45, "Laboratorio Médico del Ejemplo"), is_bold=True, size=12)
    r.line((45, "PACIENTE: EJEMPLO LOPEZ ANA"), (330, f"FECHA DE TOMA: {r.day('%d/%m/%Y')}"))
    r.gap()
    r.line(
        (45, "ESTUDIO"),
        (230, "RESULTADO"),
        (320, "UNIDADES"),
        (410, "VALORES DE REFERENCIA"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            flag = WORDS[each.side]["es"].upper() if each.side else ""
            ref = r.range(each, dash=" - ", below="Menor de ", above="Mayor de ")
            r.line(
                (50, each.name.upper()),
                (230, each.value),
                (275, flag),
                (320, each.unit),
                (410, ref),
            )
            r.told(
                each, name=each.name.upper(), value=each.value, unit=each.unit, ref=ref, flag=flag
            )


@laboratory(
    "cerba-be",
    "BE",
    "fr",
    group="further",
    point=",",
    is_si=False,
    units={"10^3/uL": "10^3/mm³", "10^6/uL": "10^6/mm³", "mcg/dL": "µg/dL", "mIU/L": "mU/L"},
)
def cerba(r: Report) -> None:
    r.line((45, "Laboratoire d'analyses Exemple, Bruxelles"), is_bold=True, size=12)
    r.line(
        (45, "Mme DUPONT Anne   F   12/05/1961"),
        (330, f"Date de prélèvement : {r.day('%d/%m/%Y')}"),
    )
    r.gap()
    r.line(
        (45, "Analyse"),
        (-260, "Résultat"),
        (300, "Valeurs de référence"),
        (420, "Unités"),
        (490, "Antérieur"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "+", "L": "-", "": ""}[each.side]
            value, ref = r.num(each.value), r.range(each, dash=" - ", below="< ", above="> ")
            before = r.num(each.value.lstrip("<")) if r.random.random() < 0.4 else ""
            r.line(
                (50, each.name),
                (-260, value),
                (268, flag),
                (300, ref),
                (420, each.unit),
                (490, before),
            )
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)
            if r.random.random() < 0.15:
                r.line((60, "Attention : nouvelle technique à partir du 01/02/2025"), size=7)


@laboratory(
    "labors-at",
    "AT",
    "de",
    group="further",
    point=",",
    is_si=False,
    text_size=8.5,
    units={"10^3/uL": "G/L", "10^6/uL": "T/L", "mcg/dL": "µg/dL", "mIU/L": "mU/L"},
)
def labors_at(r: Report) -> None:
    r.line((45, "labors.example  Gruppenpraxis für Labordiagnostik, Wien"), is_bold=True, size=12)
    r.line(
        (45, "PatientIn: Beispiel Karl"),
        (200, "SVNR: 0000 010150"),
        (360, f"Abnahmedatum: {r.day('%d.%m.%Y')}"),
    )
    r.gap()
    r.line(
        (45, "Untersuchung"),
        (240, "Ergebnis"),
        (330, "Referenzwert"),
        (430, "Einheit"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title), is_bold=True)
        for each in results:
            flag = {"H": "H", "L": "L", "": ""}[each.side]
            value, ref = r.num(each.value), r.range(each, dash="-", below="<", above=">")
            r.line((55, each.name), (240, value), (285, flag), (330, ref), (430, each.unit))
            r.told(each, value=value, unit=each.unit, ref=ref, flag=flag)


@laboratory(
    "dynacare",
    "CA",
    "en",
    group="further",
    size=LETTER,
    units={"10^9/L": "x 10E9/L", "10^12/L": "x 10E12/L"},
)
def dynacare(r: Report) -> None:
    r.line((45, "Dynacare Example"), (430, "Final Report"), is_bold=True, size=12)
    r.line(
        (45, "SAMPLE, JANE  F  1971-05-14"), (330, f"Collection Date: {r.day('%Y-%m-%d')} 09:10")
    )
    r.gap()
    r.line(
        (45, "TEST"),
        (230, "IN RANGE"),
        (310, "ABNORMAL"),
        (390, "REFERENCE RANGE"),
        (500, "UNITS"),
        is_bold=True,
    )
    for title, results in r.panel():
        r.ensure(3)
        r.line((45, title.upper()), is_bold=True)
        for each in results:
            ref = r.range(each, dash=" - ", below="< ", above="> ")
            flag = {"H": "HI", "L": "LO", "": ""}[each.side]
            shown = f"{each.value} {flag}" if flag else each.value
            r.line((50, each.name), (310 if flag else 230, shown), (390, ref), (500, each.unit))
            r.told(each, value=each.value, unit=each.unit, ref=ref, flag=flag)
