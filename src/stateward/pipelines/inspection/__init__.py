"""Pictures of parts: the `inspection` machine, from a picture to a verdict. Here is only what the pipeline declares.

`scan` lays a picture over the template of its part number and finds what differs; `analyze` judges that by the
thresholds of the part, and draws an overlay. A picture that cannot be judged ends in `error`, never in `passed`.
"""

from stateward.definition.display import Column, ItemView, RecordView
from stateward.definition.plugin import (
    Demonstration,
    Evaluation,
    Hint,
    Plugin,
    Sample,
    SourceType,
)

MACHINE = "inspection"
PART_NUMBER = "part_number"  # the label that names the template
REGION = (
    Column("kind"),
    Column("score", format="percent"),
    Column("area", title="area in pixels", format="number"),
    Column("contrast", format="number"),
    Column("box", format="list"),
)

PLUGIN = Plugin(
    name="inspection",
    package=__name__,
    doc="Pictures of parts are compared with their template; they pass, or fail with their defects.",
    machines=("machine.yaml",),
    runners=("stateward.pipelines.inspection.runners",),
    options="stateward.pipelines.inspection.settings:InspectionSettings",
    source_types=(
        SourceType(
            name="part_picture",
            machine=MACHINE,
            title="Picture of a part",
            doc="with the label part_number",
            suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"),
            labels={PART_NUMBER: "the part number, which names the template"},
        ),
    ),
    detect="stateward.pipelines.inspection.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Inspections",
            accepts="pictures, with the label part_number",
            result=("analyze", "sentence"),
        ),
    ),
    items=(
        ItemView(machine=MACHINE, stage="scan", title="Differences", columns=REGION),
        ItemView(machine=MACHINE, stage="analyze", title="Defects", columns=REGION),
    ),
    hints=(Hint(name=PART_NUMBER, doc="The part number, which names the template."),),
    demo=Demonstration(
        samples=(Sample(file="samples/*", machine=MACHINE, labels={PART_NUMBER: "demo-board"}),)
    ),
    evaluation=Evaluation(
        run="stateward.pipelines.inspection.evaluate:evaluation",
        doc="""Compare verdicts and defects with their truth.

        PATH holds pairs NAME_template.png and NAME_test.jpg (or NAME_temp.jpg, as DeepPCB calls them). The truth stands
        in truth.json by NAME: `verdict` (passed or failed) and `defects`, each [left, top, right, bottom, kind]; or
        beside the pair as NAME.txt with a line of five numbers for each defect. A defect is found if a box overlaps
        it. It ends with 1 if a part passed that should not have.
        """,
    ),
)
