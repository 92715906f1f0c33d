"""Clauses of all contracts are found by their type, alone and with words, by every interface and on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateward.app import App
from stateward.core.errors import InvalidRequest, UnknownName
from tests.cli.shell import Shell
from tests.server.api_client import ApiClient, serving, settings_at

LEASE = """
RENTAL AGREEMENT

1. Limitation of Liability
Neither party is liable for damage that was caused by slight negligence.

2. Confidentiality
Each party shall keep secret what it learns of the negligence of others.

3. Governing Law
This agreement is governed by the laws of Ireland.
"""
OTHER = LEASE.replace("RENTAL", "SERVICE").replace("slight negligence", "gross negligence")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiClient]:
    url = str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else None
    with serving(settings_at(tmp_path / "data", store_url=url)) as found:
        filled(found.app)
        yield found


def filled(app: App) -> list[str]:
    """Two contracts of the machine, and the clauses of one more by the other pipeline."""
    labels = {"vertical": "general"}
    found = [
        app.submit(text.encode(), machine="contract", name=name, labels=labels).record.id
        for name, text in (("lease.txt", LEASE), ("service.txt", OTHER))
    ]
    third = OTHER.replace("Ireland", "Norway").encode()
    more = {"source_type": "contract_clauses"}
    found.append(app.submit(third, machine="upload", name="third.txt", labels=more).record.id)
    app.run_until_idle()
    return found


def texts(app: App, query: str) -> list[str]:
    hits = app.search.find(query, limit=50).hits
    return sorted("".join(piece.text for piece in hit.snippet) for hit in hits)


def test_a_type_chooses_clauses_of_all_contracts(api: ApiClient) -> None:
    app = api.app
    liability = texts(app, "negligence type:liability")

    assert len(liability) == len(texts(app, "type:liability")) == 3
    assert all("liable" in each for each in liability)
    assert len(texts(app, "type:liability machine:contract")) == 2
    assert len(texts(app, "type:liability,governing_law")) == 6
    assert texts(app, "ireland type:liability") == []
    without = app.search.find("negligence -type:liability", limit=50).hits
    # The pages that were read say it, too, and have no type.
    assert {(hit.stage, hit.kind) for hit in without} == {
        ("parse", ""),
        ("validate", "Clauses of contracts"),
        ("normalize", "Clauses"),
    }


def test_the_api_takes_types_as_parameters(api: ApiClient) -> None:
    alone = api.get("/search", params={"type": "liability"}).json()["items"]
    several = api.get("/search", params={"q": "law", "type": ["liability", "governing_law"]}).json()
    refused = api.get("/search", params={"q": "law", "type": "liabilty"})

    assert len(alone) == 3
    assert len(several["items"]) == 3
    assert refused.status_code == 422
    assert "type of passages" in refused.json()["detail"]


def test_the_command_line_takes_types(api: ApiClient, tmp_path: Path) -> None:
    shell = Shell(tmp_path / "shell")
    far = ("--server", api.url)

    found = shell.json(*far, "search", "gross negligence", "--type", "liability")
    alone = shell.json(*far, "search", "--type", "liability", "--type", "governing_law")
    wrong = shell(*far, "search", "--type", "liabilty")

    assert len(found) == 2
    assert len(alone) == 6
    assert wrong.exit_code != 0
    assert "liability" in wrong.stderr


def test_the_console_lists_the_types_and_keeps_the_one_that_was_chosen(tmp_path: Path) -> None:
    from stateward.console import console

    with serving(settings_at(tmp_path / "data"), extra_routes=console()) as api:
        filled(api.app)

        shown = api.get("/console/search", params={"type": "governing_law"}).text

    assert '<option value="governing_law" selected>' in shown
    assert "laws of" in shown
    assert "type=governing_law" not in shown.partition("</form>")[0]


def test_ranked_documents_have_no_types(tmp_path: Path) -> None:
    with App.embedded(tmp_path / "data") as app:
        with pytest.raises(InvalidRequest, match="ranked documents have no types"):
            app.search.find("tide type:liability", pipeline="literature")
        with pytest.raises(UnknownName):
            app.search.find("tide type:liabilty")
