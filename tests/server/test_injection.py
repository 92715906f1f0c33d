"""Text from outside is never a piece of SQL: it is compared, and that is all, wherever a request can have it."""

from typing import Any

import pytest

from stateward.server.asgi import describe_api
from tests.server.api_client import ApiClient

# Each would end a literal, a comment or a pattern, and one of them the table.
HOSTILE = ("x' OR '1'='1", "x'; DROP TABLE records; --", 'x" OR "1"="1', "x\\' OR 1=1 --", "%", "_")
KEYS = ("id", "machine", "status", "source", "error", "message", "meta.client", "name", "")


def string_queries() -> list[tuple[str, str]]:
    """Every query of the API that takes any text, with its path."""
    return [
        (path, parameter["name"])
        for path, item in describe_api()["paths"].items()
        for parameter in item.get("get", {}).get("parameters", ())
        if parameter["in"] == "query" and is_text(parameter["schema"])
        if path != "/events/stream"
    ]


def is_text(schema: dict[str, Any]) -> bool:
    return any(
        each.get("type") == "string" and "enum" not in each
        for each in (schema, schema.get("items", {}), *schema.get("oneOf", ()))
    )


def test_text_in_any_query_changes_nothing_and_breaks_nothing(any_api: ApiClient) -> None:
    record_id = any_api.sent()
    before = any_api.get("/counts").json()

    asked = string_queries()
    failed = [
        (path, name, text)
        for path, name in asked
        for text in HOSTILE
        if any_api.get(path.replace("{", "").replace("}", ""), params={name: text}).status_code
        >= 500
    ]

    assert len(asked) > 20
    assert failed == []
    assert any_api.get("/counts").json() == before
    assert any_api.get(f"/records/{record_id}").status_code == 200


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_finds_what_has_it_and_nothing_else(any_api: ApiClient, text: str) -> None:
    fields: dict[str, Any] = {"label.client": text}
    own = any_api.sent(b"date;amount;text\n2026-01-02;-1,00;a\n", **fields)
    any_api.sent(b"date;amount;text\n2026-01-02;-2,00;b\n")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')

    found = any_api.get("/records", params={"q": f'meta.client="{quoted}"'}).json()

    assert [each["id"] for each in found["items"]] == [own]
    for key in KEYS:
        query = f'{key}:"{quoted}"' if key else f'"{quoted}"'
        answer = any_api.get("/records", params={"q": query})
        assert answer.status_code in (200, 400, 422), (key, answer.text)
        others = {each["id"] for each in answer.json().get("items", ())} - {own}
        assert others == set(), (key, text)


@pytest.mark.parametrize(("sign", "other"), [("_", "b"), ("%", "bb"), ("!", "b")])
def test_beside_a_star_the_wildcards_of_sql_are_plain_text(
    any_api: ApiClient, sign: str, other: str
) -> None:
    own = any_api.sent(b"date;amount;text\n2026-01-02;-1,00;a\n", name=f"a{sign}c-one.csv")
    any_api.sent(b"date;amount;text\n2026-01-02;-2,00;b\n", name=f"a{other}c-one.csv")

    found = any_api.get("/records", params={"q": f"document:a{sign}c*"}).json()

    assert [each["id"] for each in found["items"]] == [own]
