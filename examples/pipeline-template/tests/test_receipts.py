"""The pipeline on its sample, as Stateward runs it."""

from pathlib import Path

from receipts import receipts

from stateward import App

SAMPLE = Path(__file__).parents[1] / "src" / "receipts" / "samples" / "receipt.txt"


def test_a_receipt_becomes_its_total(tmp_path: Path) -> None:
    with App.embedded(tmp_path, pipelines=[receipts]) as app:
        record = app.submit(SAMPLE, machine="receipts").record
        app.run_until_idle()

        assert list(app.items(record.id)) == [{"articles": 3, "total_cents": 754}]
