"""The section `experiments` of the settings: what counts as missing, and limits."""

from typing import Annotated

from msgspec import Meta

from stateward.definition.section import MIB, Bytes, Count, Section


class ExperimentSettings(Section, frozen=True, kw_only=True):
    """How research data are read."""

    missing_values: Annotated[
        tuple[str, ...],
        Meta(description="Cells that hold no value, where the schema does not name its own."),
    ] = (
        "",
        "NA",
        "N/A",
        "n/a",
        "NaN",
        "nan",
        "null",
        "NULL",
        "None",
        ".",
        "-",
        "--",
        "---",
        "#N/A",
        "n.a.",
        "n.d.",
        "n/d",
        "N/D",
        "ND",
        "nd",
        "k.A.",
        "k. A.",
        "n.b.",
        "n. b.",
        "NR",
        "missing",
        "not measured",
        "Undetermined",
        "undetermined",
        "No Ct",
        "No Cq",
    )
    rows_max: Annotated[Count, Meta(description="The most rows of all tables together.")] = 500_000
    columns_max: Annotated[Count, Meta(description="The most columns of a table.")] = 500
    inflated_bytes_max: Annotated[
        Bytes, Meta(description="The largest uncompressed size of a ZIP file.")
    ] = 256 * MIB
    plots_max: Annotated[
        int, Meta(ge=0, le=150, description="The most histograms that are drawn.")
    ] = 30
    bins_max: Annotated[int, Meta(ge=1, le=200, description="The most bars of a histogram.")] = 30
