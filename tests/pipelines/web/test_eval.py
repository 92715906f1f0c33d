"""`stateward eval web`: the score of the benchmark, and facts that are looked up at their places."""

import gzip
import json
from pathlib import Path

from click.testing import CliRunner

from stateward.cli import cli
from stateward.pipelines.web.evaluate import shares
from tests.pipelines.web.reading import LONG, a_page


def test_runs_of_four_words_are_right_wrong_or_missed() -> None:
    assert shares("a b c d", "a b c d") == (1.0, 0.0, 0.0)
    assert shares("a b c d e", "a b c d") == (0.5, 0.0, 0.5)
    assert shares("a b c d", "x y z w") == (0.0, 0.5, 0.5)
    assert shares("", "") == (1.0, 0.0, 0.0)


def test_pages_are_compared_with_the_list_of_the_benchmark_or_a_file_beside_them(
    tmp_path: Path,
) -> None:
    text = f"{LONG * 3}Apple acquired Beats for $3 billion."
    (tmp_path / "one.html.gz").write_bytes(gzip.compress(a_page(text)))
    (tmp_path / "two.html").write_bytes(a_page(text))
    (tmp_path / "three.html").write_bytes(b"no page")
    (tmp_path / "ground-truth.json").write_text(
        json.dumps({"one": {"articleBody": f"A page {text}"}})
    )
    (tmp_path / "two.truth.json").write_text(json.dumps({"text": f"A page {text}"}))

    result = CliRunner().invoke(cli, ["--json", "eval", "web", str(tmp_path)])

    document = json.loads(result.stdout)
    assert result.exit_code == 0, result.output
    assert document["f1"] > 0.95
    assert document["facts"] == document["grounded"] == 2
    assert [
        page["failure"].partition(":")[0] for page in document["pages"] if page["failure"]
    ] != []
