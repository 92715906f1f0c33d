"""Records of delimited text: the delimiter by score, broken quotes repaired and reported."""

from pathlib import Path

import pytest

from stateward.pipelines.kit.delimited import Record, Rows, find_dialect, read_records


def score(rows: Rows) -> tuple[int]:
    return (sum(any(cell.isdigit() for cell in row) for row in rows),)


def records(folder: Path, text: str) -> tuple[list[Record], list[tuple[int, str]]]:
    path = folder / "a.csv"
    path.write_bytes(text.encode())
    dialect = find_dialect(path, encoding="utf-8", score=score)
    assert dialect is not None
    reports: list[tuple[int, str]] = []
    found = read_records(
        path,
        dialect,
        encoding="utf-8",
        looks_like_record=lambda line: line.count(",") == 1,
        report=lambda line, message: reports.append((line, message)),
    )
    return list(found), reports


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_that_explains_the_rows_is_found(tmp_path: Path, delimiter: str) -> None:
    found, reports = records(tmp_path, f"a{delimiter}1\nb{delimiter}2\n")

    assert found == [(1, ["a", "1"]), (2, ["b", "2"])]
    assert reports == []


def test_a_first_line_for_excel_says_the_delimiter(tmp_path: Path) -> None:
    assert records(tmp_path, "sep=^\na^1,5\n")[0] == [(2, ["a", "1,5"])]


def test_a_text_without_delimiters_has_no_dialect(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")

    assert find_dialect(path, encoding="utf-8", score=score) is None


def test_a_quoted_record_may_have_several_lines(tmp_path: Path) -> None:
    assert records(tmp_path, 'a,1\n"b\nc",2\nd,3\n')[0][1:] == [(2, ["b\nc", "2"]), (4, ["d", "3"])]


def test_a_quote_that_is_never_closed_swallows_nothing(tmp_path: Path) -> None:
    found, reports = records(tmp_path, 'a,1\n"b,2\nc,3\n')

    assert [cells for _, cells in found] == [["a", "1"], ["b", "2"], ["c", "3"]]
    assert [line for line, _ in reports] == [2]


def test_a_quote_that_is_open_to_the_end_of_the_file_swallows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,a\n1,"2\n2,3\n3,4\n')
    dialect = find_dialect(path, encoding="utf-8", score=score)
    assert dialect is not None
    reports: list[int] = []

    found = read_records(
        path, dialect, encoding="utf-8", looks_like_record=lambda _: False,
        report=lambda line, _: reports.append(line),
    )  # fmt: skip

    assert [cells for _, cells in found] == [["id", "a"], ["1", "2"], ["2", "3"], ["3", "4"]]
    assert reports == [2]


def test_what_no_other_delimiter_can_beat_is_not_compared_with_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("day;sum\n1,5;2,5\n")
    scored: list[Rows] = []

    def score(rows: Rows) -> tuple[int, ...]:
        scored.append(rows)
        return (len(rows),)

    found = find_dialect(
        path, encoding="utf-8", score=score, is_unbeatable=lambda _, each, __: each == ";"
    )

    assert found is not None
    assert found.delimiter == ";"
    assert scored == [[["day", "sum"], ["1,5", "2,5"]]]
