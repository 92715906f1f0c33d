"""What is measured: names in the languages of the laboratories, units and ranges as they print them."""

from dataclasses import dataclass

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "sv")


@dataclass(frozen=True)
class Analyte:
    """One test. `us` and `si`: unit, low, high and decimals; an empty bound is one that is not there."""

    key: str
    loinc: str
    section: str
    names: tuple[str, ...]
    us: tuple[str, str, str, int]
    si: tuple[str, str, str, int]

    def name(self, language: str) -> str:
        return self.names[LANGUAGES.index(language)]


def _of(text: str) -> Analyte:
    key, loinc, section, names, us, si = (part.strip() for part in text.split("|"))
    return Analyte(
        key,
        loinc,
        section,
        tuple(each.strip() for each in names.split(";")),
        _measure(us),
        _measure(si or us),
    )


def _measure(text: str) -> tuple[str, str, str, int]:
    unit, low, high, places = text.split()
    return unit.replace("_", " ").replace("none", ""), low.strip("-"), high.strip("-"), int(places)


# key | LOINC | section | names: en; de; fr; es; it; nl; pl; pt; sv | US: unit low high decimals | SI
TABLE = """
wbc | 6690-2 | blood | WBC; Leukozyten; Leucocytes; Leucocitos; Leucociti; Leukocyten; Leukocyty; Leucócitos; Leukocyter | 10^3/uL 4.0 11.0 1 | 10^9/L 4.0 10.0 1
rbc | 789-8 | blood | RBC; Erythrozyten; Hématies; Hematíes; Eritrociti; Erytrocyten; Erytrocyty; Hemácias; Erytrocyter | 10^6/uL 4.20 5.80 2 | 10^12/L 4.30 5.75 2
hgb | 718-7 | blood | Hemoglobin; Hämoglobin; Hémoglobine; Hemoglobina; Emoglobina; Hemoglobine; Hemoglobina; Hemoglobina; Hemoglobin | g/dL 13.2 17.1 1 | g/L 134 170 0
hct | 4544-3 | blood | Hematocrit; Hämatokrit; Hématocrite; Hematocrito; Ematocrito; Hematocriet; Hematokryt; Hematócrito; Hematokrit | % 38.5 50.0 1 | L/L 0.40 0.50 2
mcv | 787-2 | blood | MCV; MCV; VGM; VCM; MCV; MCV; MCV; VCM; MCV | fL 80.0 100.0 1 | fL 82 98 0
mch | 785-6 | blood | MCH; MCH (HbE); TCMH; HCM; MCH; MCH; MCH; HCM; MCH | pg 27.0 33.0 1 | pg 27 33 0
plt | 777-3 | blood | Platelet Count; Thrombozyten; Plaquettes; Plaquetas; Piastrine; Trombocyten; Płytki krwi; Plaquetas; Trombocyter | 10^3/uL 140 400 0 | 10^9/L 145 348 0
glu | 2345-7 | chemistry | Glucose; Glukose; Glucose; Glucosa; Glucosio; Glucose; Glukoza; Glicose; Glukos | mg/dL 65 99 0 | mmol/L 4.0 6.0 1
crea | 2160-0 | chemistry | Creatinine; Kreatinin; Créatinine; Creatinina; Creatinina; Kreatinine; Kreatynina; Creatinina; Kreatinin | mg/dL 0.70 1.30 2 | umol/L 60 105 0
na | 2951-2 | chemistry | Sodium; Natrium; Sodium; Sodio; Sodio; Natrium; Sód; Sódio; Natrium | mmol/L 135 146 0 |
k | 2823-3 | chemistry | Potassium; Kalium; Potassium; Potasio; Potassio; Kalium; Potas; Potássio; Kalium | mmol/L 3.5 5.3 1 |
ca | 17861-6 | chemistry | Calcium; Calcium; Calcium; Calcio; Calcio; Calcium; Wapń całkowity; Cálcio; Calcium | mg/dL 8.6 10.3 1 | mmol/L 2.15 2.50 2
ast | 1920-8 | chemistry | AST; GOT (AST); ASAT (TGO); GOT (AST); AST (GOT); ASAT; AST; TGO (AST); ASAT | U/L 10 35 0 | U/L - 35 0
alt | 1742-6 | chemistry | ALT; GPT (ALT); ALAT (TGP); GPT (ALT); ALT (GPT); ALAT; ALT; TGP (ALT); ALAT | U/L 9 46 0 | U/L - 45 0
ggt | 2324-2 | chemistry | GGT; Gamma-GT; Gamma GT; GGT; Gamma GT; Gamma-GT; GGTP; Gama GT; GT | U/L 3 70 0 | U/L - 55 0
alp | 6768-6 | chemistry | Alkaline Phosphatase; Alkalische Phosphatase; Phosphatases alcalines; Fosfatasa alcalina; Fosfatasi alcalina; Alkalische fosfatase; Fosfataza zasadowa; Fosfatase alcalina; ALP | U/L 35 144 0 | U/L 40 130 0
bili | 1975-2 | chemistry | Bilirubin, Total; Bilirubin gesamt; Bilirubine totale; Bilirrubina total; Bilirubina totale; Bilirubine totaal; Bilirubina całkowita; Bilirrubina total; Bilirubin | mg/dL 0.2 1.2 1 | umol/L - 21 0
alb | 1751-7 | chemistry | Albumin; Albumin; Albumine; Albúmina; Albumina; Albumine; Albumina; Albumina; Albumin | g/dL 3.6 5.1 1 | g/L 35 50 0
uric | 3084-1 | chemistry | Uric Acid; Harnsäure; Acide urique; Ácido úrico; Acido urico; Urinezuur; Kwas moczowy; Ácido úrico; Urat | mg/dL 4.0 8.0 1 | umol/L 200 420 0
chol | 2093-3 | lipids | Cholesterol, Total; Cholesterin; Cholestérol total; Colesterol total; Colesterolo totale; Cholesterol; Cholesterol całkowity; Colesterol total; Kolesterol | mg/dL - 200 0 | mmol/L - 5.0 1
hdl | 2085-9 | lipids | HDL Cholesterol; HDL-Cholesterin; Cholestérol HDL; Colesterol HDL; Colesterolo HDL; HDL-cholesterol; Cholesterol HDL; Colesterol HDL; HDL-kolesterol | mg/dL 40 - 0 | mmol/L 1.0 - 1
tg | 2571-8 | lipids | Triglycerides; Triglyceride; Triglycérides; Triglicéridos; Trigliceridi; Triglyceriden; Triglicerydy; Triglicérides; Triglycerider | mg/dL - 150 0 | mmol/L - 1.7 1
crp | 1988-5 | chemistry | C-Reactive Protein; C-reaktives Protein; Protéine C réactive; Proteína C reactiva; Proteina C reattiva; CRP; Białko C-reaktywne; Proteína C reativa; CRP | mg/L - 8.0 1 | mg/L - 5.0 1
ferr | 2276-4 | chemistry | Ferritin; Ferritin; Ferritine; Ferritina; Ferritina; Ferritine; Ferrytyna; Ferritina; Ferritin | ng/mL 38 380 0 | ug/L 30 400 0
iron | 2498-4 | chemistry | Iron, Total; Eisen; Fer sérique; Hierro; Sideremia; IJzer; Żelazo; Ferro sérico; Järn | mcg/dL 50 180 0 | umol/L 9 34 0
b12 | 2132-9 | chemistry | Vitamin B12; Vitamin B12; Vitamine B12; Vitamina B12; Vitamina B12; Vitamine B12; Witamina B12; Vitamina B12; Vitamin B12 | pg/mL 200 1100 0 | pmol/L 145 569 0
tsh | 3016-3 | thyroid | TSH; TSH basal; TSH; TSH; TSH; TSH; TSH; TSH; TSH | mIU/L 0.40 4.50 2 | mU/L 0.27 4.20 2
ft4 | 3024-7 | thyroid | T4, Free; fT4; T4 libre; T4 libre; FT4; Vrij T4; FT4; T4 livre; Fritt T4 | ng/dL 0.8 1.8 1 | pmol/L 12.0 22.0 1
mg | 19123-9 | chemistry | Magnesium; Magnesium; Magnésium; Magnesio; Magnesio; Magnesium; Magnez; Magnésio; Magnesium | mg/dL 1.5 2.5 1 | mmol/L 0.70 1.00 2
prot | 2885-2 | chemistry | Protein, Total; Gesamteiweiß; Protéines totales; Proteínas totales; Proteine totali; Totaal eiwit; Białko całkowite; Proteínas totais; Totalprotein | g/dL 6.1 8.1 1 | g/L 64 83 0
"""
ANALYTES = tuple(_of(line) for line in TABLE.strip().splitlines())
# A titre has no unit, and no LOINC code that every laboratory would agree on.
TITRE = Analyte(
    "ana", "", "serology", ("ANA Titer", "ANA-Titer", "Anticorps antinucléaires", "Anticuerpos antinucleares", "Anticorpi antinucleo", "ANA titer", "Przeciwciała ANA", "Fator antinuclear", "ANA"),
    ("", "", "1:80", 0), ("", "", "1:80", 0),
)  # fmt: skip
SECTIONS = {
    "serology": ("Serology", "Autoimmundiagnostik", "Auto-immunité", "Autoinmunidad", "Autoimmunità", "Serologie", "Serologia", "Imunologia", "Immunologi"),
    "blood": ("CBC", "Hämatologie", "Hématologie", "Hematología", "Ematologia", "Hematologie", "Morfologia krwi", "Hemograma", "Hematologi"),
    "chemistry": ("Chemistry", "Klinische Chemie", "Biochimie", "Bioquímica", "Chimica clinica", "Klinische chemie", "Biochemia", "Bioquímica", "Klinisk kemi"),
    "lipids": ("Lipid Panel", "Lipidstatus", "Bilan lipidique", "Perfil lipídico", "Assetto lipidico", "Lipiden", "Lipidogram", "Perfil lipídico", "Lipider"),
    "thyroid": ("Thyroid", "Schilddrüse", "Thyroïde", "Tiroides", "Tiroide", "Schildklier", "Tarczyca", "Tireoide", "Tyreoidea"),
}  # fmt: skip


def section(key: str, language: str) -> str:
    return SECTIONS[key][LANGUAGES.index(language)]
