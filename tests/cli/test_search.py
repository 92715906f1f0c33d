"""`stateward search`: for people, for programs, over HTTP, and the index made anew."""

import json

import apsw

from tests.cli.shell import Shell
from tests.server.api_client import serving, settings_at


def test_results_for_people_mark_what_matches(demo: Shell) -> None:
    done = demo("search", "backerei")

    assert done.exit_code == 0
    assert "girokonto-2026-01.csv" in done.stdout
    assert "Müller [Bäckerei]" in done.stdout
    assert "upload, normalized" in done.stdout
    assert "line 2" in done.stdout


def test_results_for_programs_are_those_of_the_api(demo: Shell) -> None:
    (hit,) = demo.json("search", '"bahn fahrkarte" machine:upload')

    assert [each["text"] for each in hit["snippet"] if each["is_match"]] == ["Bahn Fahrkarte"]
    assert hit["where"] == {"line": 3}
    assert len(demo.json("search", "shop", "--limit", "2")) == 2


def test_nothing_found_and_nothing_asked_are_told_apart(demo: Shell) -> None:
    assert demo("search", "xylophone").exit_code == 0
    assert "nothing matches" in demo("search", "xylophone").stderr
    assert demo("search").exit_code == 2
    refused = demo("search", "--", "-shop")
    assert refused.exit_code == 4
    assert "at least one word" in refused.stderr


def test_a_rebuilt_index_finds_the_same(demo: Shell) -> None:
    before = demo.json("search", "shop", "--limit", "50")
    with_damage = apsw.Connection(str(demo.data / "stateward.db"))
    with_damage.execute("DELETE FROM search_texts")
    with_damage.close()
    assert demo.json("search", "shop") == []

    done = demo("search", "--rebuild")

    assert done.exit_code == 0
    assert "10 passages" in done.stderr
    after = demo.json("search", "shop", "--limit", "50")
    assert sorted(before, key=json.dumps) == sorted(after, key=json.dumps)


def test_over_http_it_is_the_same(demo: Shell) -> None:
    with serving(settings_at(demo.data)) as api:
        far = json.loads(demo("--server", api.url, "search", "shop", "--json").stdout)

    assert far == demo.json("search", "shop")
