"""A document of a person, to be erased."""

from stateward.app import App
from stateward.core.model import Record

NAME, LABEL, NOTE, CELL = "quastenflosser", "sonnenblume", "nachtigall", "pustekuchen"
ANNA = "person:anna"


def submitted(app: App, number: int = 1, **labels: str) -> Record:
    """A document that was read to its end, with words of a person in every place that has text."""
    text = f"date;amount;text\n2026-01-0{number};12,50;{CELL}\n".encode()
    given = {"who": LABEL, **labels}
    done = app.submit(
        text, machine="upload", name=f"{NAME}.csv", labels=given, actor=ANNA, reason=NOTE
    )
    app.run_until_idle()
    return app.record(done.record.id)
