"""Whether a file is a picture; that it shows a part, only its label can say."""

from stateward.definition.plugin import Content, Detected
from stateward.pipelines.kit.pictures import picture_kind

CONFIDENCE = 30


def detect(content: Content) -> Detected | None:
    """A picture of some format; None for everything else."""
    kind = picture_kind(content.head)
    found = Detected(source_type="part_picture", format=kind, confidence=CONFIDENCE)
    return found if kind else None
