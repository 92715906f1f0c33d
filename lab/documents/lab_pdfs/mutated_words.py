"""The words of mutated layouts: tests, headings and labels in languages of which the reader knows some and others not."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Test:
    """What is measured, by its name: a number between limits, or a word."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    places: int = 0

    @property
    def is_word(self) -> bool:
        return self.low is None and self.high is None


@dataclass(frozen=True)
class Language:
    """What a laboratory prints."""

    key: str
    point: str
    laboratory: str
    patient: str
    collected: str
    printed: str
    bounds: tuple[str, str]  # before the only limit of a range
    words: tuple[str, str]  # negative and positive
    headings: dict[str, str]
    sections: tuple[str, ...]
    closings: tuple[str, ...]
    tests: tuple[Test, ...] = field(default=())


# unit, low, high and decimals of what the languages name, in their order
_MEASURED = (
    ("g/L", 120, 160, 0), ("10^9/L", 4.0, 10.0, 1), ("10^12/L", 3.9, 5.3, 2), ("10^9/L", 150, 400, 0),
    ("mmol/L", 3.9, 5.8, 1), ("µmol/L", 50, 100, 0), ("mmol/L", 135, 145, 0), ("mmol/L", 3.5, 5.1, 1),
    ("mmol/L", None, 5.0, 1), ("µmol/L", None, 21, 0), ("µg/L", 15, 150, 0), ("mm/h", None, 20, 0),
)  # fmt: skip
# key | point | laboratory | patient | collected | printed | upper, lower | negative, positive
# headings: name, value, unit, ref, flag, previous, low, high, method, code
# sections | closings | haemoglobin, leucocytes, erythrocytes, platelets, glucose, creatinine, sodium, potassium,
# cholesterol, bilirubin, ferritin, sedimentation; then a word test
_TABLE = """
en|.|Example Laboratory|Patient|Collected|Printed|up to ,over |negative,positive|Test,Result,Unit,Reference range,Flag,Previous,Low,High,Method,Code|Blood count,Chemistry,Other tests|Reviewed by a physician. This report is for your doctor only.|Haemoglobin,White cells,Red cells,Platelets,Glucose (fasting),Creatinine,Sodium,Potassium,Total cholesterol,Bilirubin,Ferritin,Sedimentation rate,Urine nitrite
de|,|Labor Beispiel|Patient|Entnahme|Druck|bis ,über |negativ,positiv|Analyse,Ergebnis,Einheit,Referenzbereich,Bewertung,Vorwert,von,bis,Methode,Nr.|Hämatologie,Klinische Chemie,Sonstiges|Medizinisch validiert. Dieser Befund ist ohne Unterschrift gültig.|Hämoglobin,Leukozyten,Erythrozyten,Thrombozyten,Glukose,Kreatinin,Natrium,Kalium,Cholesterin gesamt,Bilirubin gesamt,Ferritin,Blutsenkung 1 h,Nitrit im Urin
fr|,|Laboratoire Exemple|Patient|Prélèvement|Édité le|inf. à ,sup. à |négatif,positif|Analyse,Résultat,Unité,Valeurs de référence,Alerte,Antériorité,Min,Max,Technique,Code|Hématologie,Biochimie,Divers|Validé par le biologiste médical. Le compte rendu est complet.|Hémoglobine,Leucocytes,Hématies,Plaquettes,Glycémie à jeun,Créatinine,Sodium,Potassium,Cholestérol total,Bilirubine totale,Ferritine,Vitesse de sédimentation,Nitrites
es|,|Laboratorio Ejemplo|Paciente|Fecha de toma|Impreso|hasta ,mayor de |negativo,positivo|Prueba,Resultado,Unidades,Valores de referencia,Alerta,Anterior,Mín,Máx,Método,Código|Hematología,Bioquímica,Otros|Validado por el facultativo. Este informe no sustituye la consulta.|Hemoglobina,Leucocitos,Hematíes,Plaquetas,Glucosa basal,Creatinina,Sodio,Potasio,Colesterol total,Bilirrubina total,Ferritina,Velocidad de sedimentación,Nitritos en orina
pt|,|Laboratório Exemplo|Paciente|Data da coleta|Impresso|até ,acima de |negativo,positivo|Exame,Resultado,Unidade,Valores de referência,Alerta,Anterior,Mín,Máx,Método,Código|Hemograma,Bioquímica,Outros|Liberado eletronicamente. A interpretação cabe ao médico.|Hemoglobina,Leucócitos,Hemácias,Plaquetas,Glicose em jejum,Creatinina,Sódio,Potássio,Colesterol total,Bilirrubina total,Ferritina,VHS 1ª hora,Nitrito
pl|,|Laboratorium Przykład|Pacjent|Data pobrania|Wydruk|do ,powyżej |ujemny,dodatni|Badanie,Wynik,Jednostka,Zakres referencyjny,Flaga,Poprzedni,Min,Maks,Metoda,Kod|Morfologia,Biochemia,Inne|Wynik autoryzowany elektronicznie. Nie wymaga podpisu.|Hemoglobina,Leukocyty,Erytrocyty,Płytki krwi,Glukoza,Kreatynina,Sód,Potas,Cholesterol całkowity,Bilirubina całkowita,Ferrytyna,OB po 1 godz.,Azotyny
fi|,|Esimerkki Laboratoriot|Potilas|Näytteenotto|Tulostettu|alle ,yli |negatiivinen,positiivinen|Tutkimus,Tulos,Yksikkö,Viiteväli,Poikkeama,Edellinen,Alaraja,Yläraja,Menetelmä,Numero|Verenkuva,Kemia,Muut|Vastauksen on hyväksynyt laboratorio. Kysy lisää hoitavalta taholta.|Hemoglobiini,Leukosyytit,Erytrosyytit,Trombosyytit,Paastoverensokeri,Kreatiniini,Natriumin määrä,Kaliumin määrä,Kokonaiskolesteroli,Kokonaisbilirubiini,Ferritiini,Senkka,Virtsan nitriitti
hr|,|Laboratorij Primjer|Bolesnik|Datum uzorkovanja|Ispisano|do ,iznad |neg.,poz.|Pretraga,Nalaz,Jedinica,Raspon,Ocjena,Prošli nalaz,Od,Do,Postupak,Šifra|Krvna slika,Biokemija,Ostalo|Nalaz je ovjeren elektronički i vrijedi bez potpisa.|Hemoglobin u krvi,Broj leukocita,Broj eritrocita,Broj trombocita,Glukoza natašte,Kreatinin u serumu,Natrij,Kalij,Ukupni kolesterol,Ukupni bilirubin,Feritin,Sedimentacija,Nitriti u mokraći
tr|,|Örnek Tıp Laboratuvarı|Hasta|Numune alma|Basım|en çok ,en az |negatif,pozitif|Tetkik,Sonuç,Birim,Referans aralığı,Durum,Önceki,Alt sınır,Üst sınır,Yöntem,Kod|Hemogram,Biyokimya,Diğer|Sonuçlar uzman tarafından onaylanmıştır.|Hemoglobin düzeyi,Lökosit sayısı,Eritrosit sayısı,Trombosit sayısı,Açlık kan şekeri,Kreatinin düzeyi,Sodyum,Potasyum,Toplam kolesterol,Toplam bilirubin,Ferritin düzeyi,Sedimantasyon hızı,İdrarda nitrit
ro|,|Laborator Exemplu|Pacient|Data recoltării|Tipărit|până la ,peste |absent,prezent|Analiza,Rezultat,UM,Interval de referință,Stare,Rezultat anterior,Limita inf.,Limita sup.,Metoda,Cod|Hemoleucogramă,Biochimie,Altele|Rezultatele se referă numai la proba analizată.|Hemoglobină,Leucocite,Eritrocite,Trombocite,Glicemie,Creatinină serică,Sodiu seric,Potasiu seric,Colesterol total,Bilirubină totală,Feritină,VSH la 1 oră,Nitriți urinari
hu|,|Példa Laboratórium|Páciens|Mintavétel|Nyomtatva|legfeljebb ,legalább |negatív,pozitív|Vizsgálat,Eredmény,Mértékegység,Referencia,Jelzés,Korábbi,Alsó,Felső,Módszer,Kód|Vérkép,Kémia,Egyéb|A leletet a laboratórium orvosa ellenőrizte.|Hemoglobin szint,Fehérvérsejtszám,Vörösvértestszám,Vérlemezkeszám,Vércukor,Kreatinin szint,Nátrium,Kálium,Összkoleszterin,Összbilirubin,Ferritin szint,Vérsejtsüllyedés,Vizelet nitrit
el|,|Εργαστήριο Παράδειγμα|Ασθενής|Λήψη|Εκτύπωση|έως ,άνω |αρνητικό,θετικό|Εξέταση,Αποτέλεσμα,Μονάδα,Τιμές αναφοράς,Ένδειξη,Προηγούμενο,Κάτω,Άνω,Μέθοδος,Κωδικός|Αιματολογικά,Βιοχημικά,Άλλα|Τα αποτελέσματα αξιολογούνται από τον ιατρό σας.|Αιμοσφαιρίνη,Λευκά αιμοσφαίρια,Ερυθρά αιμοσφαίρια,Αιμοπετάλια,Σάκχαρο,Κρεατινίνη,Νάτριο,Κάλιο,Ολική χοληστερόλη,Ολική χολερυθρίνη,Φερριτίνη,Ταχύτητα καθίζησης,Νιτρώδη ούρων
lt|,|Pavyzdinė Laboratorija|Pacientas|Paėmimo data|Spausdinta|iki ,virš |neigiamas,teigiamas|Tyrimas,Rezultatas,Matas,Norma,Žyma,Ankstesnis,Nuo,Iki,Metodas,Kodas|Kraujo tyrimas,Biochemija,Kiti|Tyrimų atsakymą patvirtino laboratorijos gydytojas.|Hemoglobinas,Leukocitai,Eritrocitai,Trombocitai,Gliukozė,Kreatininas,Natris,Kalis,Bendras cholesterolis,Bendras bilirubinas,Feritinas,Eritrocitų nusėdimo greitis,Nitritai šlapime
id|,|Laboratorium Contoh|Nama pasien|Waktu sampel|Dicetak|hingga ,di atas |negatif,positif|Pemeriksaan,Hasil,Satuan,Nilai rujukan,Ket.,Hasil lalu,Bawah,Atas,Metode,No.|Hematologi,Kimia klinik,Lainnya|Hasil ini hanya untuk sampel yang diperiksa.|Hemoglobin darah,Jumlah leukosit,Jumlah eritrosit,Jumlah trombosit,Gula darah puasa,Kreatinin darah,Natrium darah,Kalium darah,Kolesterol total,Bilirubin jumlah,Feritin darah,Laju endap darah,Nitrit urin
"""
# Low and high, by language.
SIDES = {
    "en": ("Low", "High"), "de": ("niedrig", "hoch"), "fr": ("bas", "élevé"), "es": ("Bajo", "Alto"),
    "pt": ("baixo", "alto"), "pl": ("niski", "wysoki"), "fi": ("matala", "korkea"), "hr": ("snižen", "povišen"),
    "tr": ("Düşük", "Yüksek"), "ro": ("scăzut", "crescut"), "hu": ("alacsony", "magas"), "el": ("χαμηλό", "υψηλό"),
    "lt": ("mažas", "didelis"), "id": ("rendah", "tinggi"),
}  # fmt: skip
# What every laboratory names alike: numbers in names, units that are rare, results without a unit.
COMMON = (
    Test("Vitamin B12", "pmol/L", 145, 569, 0), Test("25-OH Vitamin D", "nmol/L", 50, 125, 0),
    Test("CA 19-9", "kU/L", None, 37, 1), Test("FT4", "pmol/L", 12, 22, 1), Test("CK-MB", "U/L", None, 24, 0),
    Test("INR", "", 0.9, 1.2, 2), Test("pH", "", 5.0, 7.5, 1), Test("Anti-TPO", "IU/mL", None, 34, 0),
    Test("HbA1c", "%", 4.0, 6.0, 1), Test("TSH", "mIU/L", 0.27, 4.2, 2), Test("CYFRA 21-1", "ng/mL", None, 3.3, 2),
    Test("Apo A1/B", "", 0.3, 1.0, 2), Test("IgG4", "g/L", 0.03, 2.01, 2), Test("PTH 1-84", "ng/L", 15, 65, 0),
    Test("Factor VIII", "%", 70, 150, 0), Test("C3c", "g/L", 0.9, 1.8, 2), Test("NSE", "µg/L", None, 16.3, 1),
    Test("eGFR", "mL/min/1,73m²", 60, None, 0), Test("Holo-TC", "pmol/L", 37, None, 0),
    Test("HBsAg"), Test("Anti-HCV"),
)  # fmt: skip
_COLUMNS = ("name", "value", "unit", "ref", "flag", "previous", "low", "high", "method", "code")


def _language(line: str) -> Language:
    key, point, laboratory, patient, collected, printed, bounds, words, headings, sections, closings, names = line.split("|")  # fmt: skip
    *measured, last = names.split(",")
    below, above = bounds.split(",")
    negative, positive = words.split(",")
    tests = tuple(
        Test(name, *told) for name, told in zip(measured, _MEASURED, strict=True)
    )  # fmt: skip
    return Language(
        key, point, laboratory, patient, collected, printed, (below, above), (negative, positive),
        dict(zip(_COLUMNS, headings.split(","), strict=True)), tuple(sections.split(",")), (closings,), (*tests, Test(last)),
    )  # fmt: skip


LANGUAGES = tuple(map(_language, _TABLE.strip().splitlines()))
