"""Uploads: the `upload` machine that documents of many source types share, and its path `/uploads` in the API.

A document becomes observations (what it says) and those become canonicals (what it means). What that is for a kind of
document, the plug-ins say that offer its source types; this one brings no code of its own.
"""

from stateward.definition.plugin import Plugin, Resource

MACHINE = "upload"

PLUGIN = Plugin(
    name="uploads",
    package=__name__,
    doc="Documents of many source types become observations and then canonicals.",
    machines=("machine.yaml",),
    profiles="profiles",
    default_machine=MACHINE,
    resources=(
        Resource(
            path="/uploads",
            machine=MACHINE,
            noun="upload",
            id_field="upload_id",
            fields=(
                "upload_log_ref",
                "parse_log_ref",
                "observations_count",
                "normalizer_log_ref",
                "canonicals_count",
            ),
            required=("file", "source_type"),
        ),
    ),
)
