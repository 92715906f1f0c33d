"""A stranger's pipeline: one stage that finds what its labels say and derives a few files. A person approves it."""

import json
from typing import Any

from stateward.definition.declare import declare
from stateward.definition.display import Column, ItemView
from stateward.definition.plugin import Plugin
from stateward.workers.sdk import Job, Outcome, runner

MACHINE = declare(
    {
        "machine": "gallery",
        "version": 1,
        "prefix": "GA",
        "initial": "received",
        "states": {
            "received": {"kind": "ready"},
            "looking": {"kind": "running"},
            "asked": {"kind": "suspended"},
            "approved": {"kind": "terminal"},
            "error": {"kind": "failed"},
        },
        "stages": {
            "look": {
                "from": "received",
                "running": "looking",
                "outcomes": {"done": "asked"},
                "on_error": "error",
                "timeout_s": 30,
                "produces": "finds",
            }
        },
        "reviews": {
            "approval": {
                "state": "asked",
                "of": "look",
                "outcomes": {"approved": "approved", "corrected": "approved", "rejected": "error"},
                "timeout_s": 3600,
                "on_timeout": "error",
            }
        },
        "expose": {"crop_ref": "asked"},
    }
)

PLUGIN = Plugin(
    name="gallery",
    machines=(MACHINE,),
    items=(
        ItemView(
            machine="gallery",
            stage="look",
            columns=(Column("number", format="number"), Column("crop", format="picture")),
        ),
    ),
)

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><script>alert(1)</script></svg>'


@runner("gallery.look")
def look(job: Job) -> Outcome[Any]:
    """Items at the places that the label names."""
    crop = job.save_file("crop.svg", SVG, media_type="image/svg+xml")
    job.save_file("notes.txt", b"first\nsecond\nthird", media_type="text/plain")
    job.save_file("bundle.zip", b"PK", media_type="application/zip")
    places = json.loads(str(job.labels["places"]))
    items = [
        {"number": number, "crop": crop, "where": where}
        for number, where in enumerate(places, start=1)
    ]
    return Outcome(facts={"crop_ref": crop, "notes": ["compare with the original"]}, items=items)
