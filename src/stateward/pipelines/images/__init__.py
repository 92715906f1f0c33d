"""Pictures: the `images` machine, from an upload to derived pictures and a thumbnail. Only what the pipeline declares.

`resize` makes a picture of each size that the settings name, `thumbnail` the small one that lists show. Both turn the
picture upright, convert its colours, and leave its metadata behind.
"""

from stateward.definition.display import Column, ItemView, RecordView
from stateward.definition.plugin import Demonstration, Evaluation, Plugin, Sample, SourceType

MACHINE = "images"
DERIVED = (
    Column("name"),
    Column("ref", title="picture", format="picture"),
    Column("file"),
    Column("width", format="number"),
    Column("height", format="number"),
    Column("bytes", format="number"),
    Column("media_type", title="type", format="code"),
)

PLUGIN = Plugin(
    name="images",
    package=__name__,
    doc="Pictures are resized, turned upright and stripped of metadata; each gets a thumbnail.",
    machines=("machine.yaml",),
    runners=("stateward.pipelines.images.runners",),
    preload=("stateward.pipelines.images.stages",),
    options="stateward.pipelines.images.settings:ImageSettings",
    source_types=(
        SourceType(
            name="picture",
            machine=MACHINE,
            title="Picture",
            doc="JPEG, PNG, GIF, WebP, AVIF, TIFF, BMP or JPEG 2000",
            suffixes=(
                ".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".tif", ".tiff", ".bmp", ".jp2",
            ),
        ),
    ),
    detect="stateward.pipelines.images.detection:detect",
    records=(
        RecordView(
            machine=MACHINE,
            title="Pictures",
            accepts="JPEG, PNG, GIF, WebP, AVIF, TIFF, BMP",
            result=("thumbnail", "sentence"),
        ),
    ),
    items=(
        ItemView(machine=MACHINE, stage="resize", title="Derived pictures", columns=DERIVED),
        ItemView(machine=MACHINE, stage="thumbnail", title="Thumbnail", columns=DERIVED),
    ),
    demo=Demonstration(samples=(Sample(file="samples/*", machine=MACHINE),)),
    evaluation=Evaluation(
        run="stateward.pipelines.images.evaluate:evaluation",
        doc="""Check what is made of the pictures of a folder.

        Each goes through both stages under the settings, and nothing is stored. The truth stands in truth.json by file
        name: `size` as stored, `display_size` where the picture is to be turned, `frames` or `pages`, `color` (the mean
        red, green and blue of the derived picture), or `expect` with the codes that are right, such as "error
        IMAGE_TRUNCATED, or partial flagged". It ends with 1 if a picture is wrong and nothing says so.
        """,
    ),
)  # fmt: skip
