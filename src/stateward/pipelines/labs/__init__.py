"""Lab reports: results with codes, canonical units and recomputed flags, and a machine on which a person approves them.

A report is a source type of the `upload` machine (observations, then canonicals), or a record of the machine `labs`
(validated, analyzed, approved by a person). Here is only what the pipeline declares.
"""

from stateward.definition.display import Column, ItemView, RecordView, SearchableText
from stateward.definition.plugin import Demonstration, Evaluation, Plugin, Sample, SourceType

MACHINE = "labs"
UPLOAD = "upload"
SOURCE_TYPE = "lab_report"
RUNNERS = {"parse": "labs.parse", "normalize": "labs.normalize"}

OBSERVATIONS = (
    Column("test"),
    Column("value", align="right"),
    Column("unit"),
    Column("range", title="reference range"),
    Column("flag", format="code"),
    Column("code", title="LOINC code", format="code"),
    Column("specimen"),
    Column("collected", format="time"),
    Column("section"),
    Column("problems", format="list"),
    Column("page", format="number", path=("where", "page")),
    Column("line", format="number", path=("where", "line")),
)
# What a person looks for first: the test, and what was measured against what.
MEASURED = (
    Column("test"),
    Column("comparator", title=""),
    Column("value", align="right"),
    Column("unit", format="code"),
    Column("low", format="number"),
    Column("high", format="number"),
    Column("range_text", title="range as text"),
    Column("flag", format="code"),
)
FINDINGS = (
    Column("finding"),
    Column("critical", format="code"),
    Column("previous"),
    Column("previous_at", format="time"),
    Column("previous_record", title="previous report", format="code"),
    Column("change_percent", title="change", format="percent"),
    Column("why"),
)
DETAILS = (
    Column("code", title="LOINC code", format="code"),
    Column("code_confidence", title="code confidence", format="percent"),
    Column("printed_flag", title="printed flag", format="code"),
    Column("printed_value", title="printed", path=("printed", "value")),
    Column("printed_unit", title="printed unit", path=("printed", "unit")),
    Column("specimen"),
    Column("collected", format="time"),
    Column("status"),
    Column("section"),
    Column("problems", format="list"),
)
RESULTS = (*MEASURED, *DETAILS)
ANALYZED = (*MEASURED, *FINDINGS, *DETAILS)
SEARCHED = ("test", "code_name", "section", "comment")

PLUGIN = Plugin(
    name="labs",
    package=__name__,
    doc="Lab reports become coded results in canonical units, which a person approves.",
    machines=("machine.yaml",),
    runners=("stateward.pipelines.labs.runners",),
    preload=("stateward.pipelines.labs.stages",),
    options="stateward.pipelines.labs.settings:LabSettings",
    configured="stateward.pipelines.labs.settings:ConfiguredLabs",
    source_types=(
        SourceType(
            name=SOURCE_TYPE,
            machine=UPLOAD,
            title="Lab report",
            doc="HL7 v2, FHIR (JSON), C-CDA, CSV, XLSX or text PDF",
            suffixes=(".hl7", ".oru", ".json", ".xml", ".ccda", ".csv", ".xlsx", ".pdf"),
            runners=RUNNERS,
        ),
    ),
    detect="stateward.pipelines.labs.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Lab reports",
            accepts="HL7, FHIR, C-CDA, CSV, XLSX, PDF",
            facts=("test_results_count",),
            result=("analyze", "sentence"),
        ),
    ),
    items=(
        ItemView(
            machine=UPLOAD,
            stage="parse",
            title="Observations",
            columns=OBSERVATIONS,
            source_types=(SOURCE_TYPE,),
        ),
        ItemView(
            machine=UPLOAD,
            stage="normalize",
            title="Results",
            columns=RESULTS,
            source_types=(SOURCE_TYPE,),
        ),
        ItemView(machine=MACHINE, stage="validate", title="Results", columns=RESULTS),
        ItemView(machine=MACHINE, stage="analyze", title="Analyzed results", columns=ANALYZED),
        ItemView(machine=MACHINE, stage="approval", title="Corrected results", columns=ANALYZED),
    ),
    searchable=(
        SearchableText(
            machine=UPLOAD, stage="normalize", fields=SEARCHED, source_types=(SOURCE_TYPE,)
        ),
        SearchableText(machine=MACHINE, stage="validate", fields=SEARCHED),
    ),
    demo=Demonstration(
        samples=(
            Sample(file="samples/oru-r01.hl7", machine=UPLOAD, labels={"source_type": SOURCE_TYPE}),
            Sample(file="samples/laborbefund.pdf", machine=MACHINE),
            Sample(file="samples/cumulative.csv", machine=MACHINE),
        )
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.labs.report:evaluation",
        doc="""Compare lab reports with their truth.

        Each report is read by both stages, as `submit` would have it read, but nothing is stored. The truth of NAME.pdf
        stands beside it as NAME.truth.json, with a list `results`: test, and where they are known loinc, value_printed,
        unit_printed, ref, flag, canonical_value, canonical_unit, censored (< or >) and collected. A result is exact if
        all that its truth tells is right; a converted value may differ by half a percent. HL7, FHIR and C-CDA files
        without a truth are only counted. A file of UCUM functional tests in the folder is run as well. It ends with 1
        if a report is wrong and nothing says so.
        """,
    ),
)
