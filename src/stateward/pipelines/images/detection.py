"""Whether a file is a picture, by its first bytes."""

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.pictures import picture_kind

# Below pipelines that know what a picture shows, such as a scanned page.
CONFIDENCE = 60


def detect(content: Content) -> Detected | None:
    """A picture of some format; None for everything else."""
    kind = picture_kind(content.head)
    return Detected(source_type="picture", format=kind, confidence=CONFIDENCE) if kind else None
