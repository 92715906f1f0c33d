"""`stateward eval catalogs`: a partition is exact, or every difference is told."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from stateward.cli import cli

CATALOG = "SKU,Name,Price,Currency\nA,Lamp,5,EUR\n,Lamp,5,EUR\nC,Lamp,free,EUR\n"
TRUTH = {"total": 3, "valid": 1, "errors": {"1": "missing_sku", "2": "unparseable_price"}}


def run(folder: Path, truth: object = None, *args: str) -> Result:
    (folder / "a.csv").write_text(CATALOG)
    if truth is not None:
        (folder / "a.truth.json").write_text(json.dumps(truth))
    return CliRunner().invoke(cli, ["eval", "catalogs", str(folder), *args])


def test_an_exact_partition_is_well(tmp_path: Path) -> None:
    result = run(tmp_path, TRUTH)

    assert result.exit_code == 0
    assert "1 of 1 catalogues with a truth are exact" in result.output


def test_every_difference_is_told(tmp_path: Path) -> None:
    result = run(
        tmp_path, {"total": 3, "valid": 2, "errors": {"0": "missing_sku", "2": "negative_price"}}
    )

    assert result.exit_code == 1
    for sentence in (
        "1 products instead of 2",
        "row 0 is valid and should be missing_sku",
        "row 1 is MISSING_SKU and should be valid",
        "row 2 is UNPARSEABLE_PRICE and should be negative_price",
    ):
        assert sentence in result.output


def test_a_catalogue_without_truth_is_measured_and_not_judged(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("no catalogue at all")

    result = run(tmp_path)

    assert result.exit_code == 0
    assert "0 of 0 catalogues" in result.output
    assert "NO_CATALOG" in result.output


def test_a_truth_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, {"rows": 3}).exit_code != 0
