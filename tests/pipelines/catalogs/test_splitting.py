"""Records of one line are split by another way than the C reader: both give the same rows."""

import csv
import random
from io import StringIO

import pytest

from stateward.pipelines.catalogs.delimited import _Splitter
from stateward.pipelines.catalogs.model import CatalogReading
from stateward.pipelines.kit.delimited import Dialect

PIECES = (
    "a",
    " b",
    "1,5",
    "",
    '"x;y"',
    '"two\nlines"',
    '"she said ""no"""',
    "\t",
    "5 in",
    '5" pipe',
    '""',
    "é\u2028",
)


def splitter(delimiter: str, *, skips_blanks: bool) -> _Splitter:
    dialect = Dialect(delimiter=delimiter, skips_blanks=skips_blanks, skipped_lines=0, why="")
    return _Splitter(dialect, CatalogReading("csv"))


@pytest.mark.parametrize("skips_blanks", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_rows_and_their_lines_are_those_of_the_c_reader(ending: str, *, skips_blanks: bool) -> None:
    chance = random.Random(f"{ending}{skips_blanks}")
    for _ in range(200):
        records = [
            ";".join(chance.choices(PIECES, k=chance.randint(0, 4))) + ending
            for _ in range(chance.randint(1, 6))
        ]
        given = StringIO("".join(records), newline="").readlines()

        rows, starts = splitter(";", skips_blanks=skips_blanks)._split_regular(given)

        reader = csv.reader(given, delimiter=";", skipinitialspace=skips_blanks, strict=True)
        expected = [(0, next(reader))]
        before = reader.line_num
        for cells in reader:
            expected.append((before, cells))
            before = reader.line_num
        assert list(zip(starts, rows, strict=True)) == expected


def test_a_cell_that_is_too_long_is_an_error_with_and_without_quotes() -> None:
    long = "x" * (csv.field_size_limit() + 1)

    for line in (f"a;{long}\n", f'a;"{long}"\n'):
        with pytest.raises(csv.Error, match="field larger than field limit"):
            splitter(";", skips_blanks=False)._split_regular([line])
