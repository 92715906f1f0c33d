"""The OpenAPI document for people: `/docs`, and the reference page of the documentation.

Nothing is loaded from elsewhere.
"""

import base64
import html
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from stateward.server.description import HEADERS, Document
from stateward.server.problems import KINDS
from stateward.storage.keys import RIGHTS, ROLES

NOTICE = "<!-- Made by `python -m stateward.server.reference docs/reference`; do not edit. -->"
METHODS = ("get", "post", "put", "patch", "delete")
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2430}"
    "h2{margin-top:2.5rem;border-bottom:1px solid #ccd}code,pre{font:14px/1.45 ui-monospace,monospace}"
    "pre{background:#f3f5f8;padding:.75rem;overflow:auto}table{border-collapse:collapse;width:100%}"
    "td,th{border-top:1px solid #dde;padding:.3rem .5rem;text-align:left;vertical-align:top}"
    ".m{display:inline-block;min-width:4rem;font-weight:600}"
)
STYLE_HASH = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Path, method and description of each operation."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method.upper(), methods[method]


# Markdown


def reference(document: Document) -> str:
    """The reference page."""
    parts = [
        "# The HTTP API",
        NOTICE,
        " ".join(document["info"]["description"].split()),
        "The whole of it as an OpenAPI 3.1 document is at `/openapi.json` of a running service, and a page for people "
        "at `/docs`. How to make keys: [keys and roles](../how-to/keys-and-roles.md).",
        _rights_table(),
        "## Operations",
        _operations_table(document),
        *(_section(path, method, each) for path, method, each in operations(document)),
        "## Headers",
        _table(("header", "meaning"), [(f"`{name}`", text) for name, (text, _) in HEADERS.items()]),
        "## Problems",
        "Every answer of 400 and above is `application/problem+json` with `type`, `title`, `status` and `detail`. "
        "`type` is `urn:stateward:problem:` and the word below; it never changes its meaning.",
        _table(
            ("type", "status", "when"),
            [(f"`{kind.slug}`", str(kind.status), kind.when) for kind in KINDS.values()],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _rights_table() -> str:
    rights = sorted({right for held in RIGHTS.values() for right in held})
    rows = [
        (f"`{role}`", *("yes" if right in RIGHTS[role] else "" for right in rights))
        for role in ROLES
    ]
    return "## Roles\n\n" + _table(("role", *rights), rows)


def _operations_table(document: Document) -> str:
    rows = [
        (f"`{method} {path}`", each["summary"], each["x-right"])
        for path, method, each in operations(document)
    ]
    return _table(("operation", "what it does", "right"), rows)


def _section(path: str, method: str, operation: Document) -> str:
    parts = [
        f"### {method} {path}",
        " ".join(str(operation.get("description", "")).split()),
        _parameters(operation),
        _body(operation),
        _table(
            ("answer", "headers", "meaning"),
            [
                (status, _named(each.get("headers", {})), _meaning(each))
                for status, each in sorted(operation["responses"].items())
            ],
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def _parameters(operation: Document) -> str:
    rows = [
        (
            f"`{each['name']}`",
            each["in"],
            _type(each.get("schema", {})),
            str(each.get("description", "")),
        )
        for each in operation.get("parameters", ())
    ]
    return _table(("parameter", "in", "type", "meaning"), rows) if rows else ""


def _body(operation: Document) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    for media_type, each in content.items():
        schema = each["schema"]
        if "properties" not in schema:
            return f"Body: `{media_type}`, {_type(schema)}."
        needed = schema.get("required", ())
        rows = [
            (f"`{name}`", "yes" if name in needed else "", str(value.get("description", "")))
            for name, value in schema["properties"].items()
        ]
        rows += [(f"`{name}`", "", "A label.") for name in ("label.<name>",)]
        return f"Body: `{media_type}`.\n\n" + _table(("field", "needed", "meaning"), rows)
    return ""


def _meaning(answer: Document) -> str:
    said = str(answer.get("description", ""))
    for media_type, each in answer.get("content", {}).items():
        if media_type != "application/problem+json":
            return f"{_type(each.get('schema', {}))} (`{media_type}`)"
    return said


def _type(schema: Document) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    for key in ("oneOf", "anyOf"):
        if key in schema:
            shown = [_type(each) for each in schema[key] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(shown))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    kind = schema.get("type", "object")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(each for each in kinds if each != "null")


def _named(headers: Document) -> str:
    return ", ".join(f"`{name}`" for name in headers)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


# HTML


def docs(document: Document) -> str:
    """The page at `/docs`."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stateward: the HTTP API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>Stateward: the HTTP API</h1><p>{_text(document['info']['description'])}</p>"
        '<p>The same as an OpenAPI 3.1 document: <a href="/openapi.json">/openapi.json</a></p>'
        + "".join(_html_section(*each) for each in operations(document))
        + "</body></html>"
    )


def _html_section(path: str, method: str, operation: Document) -> str:
    parameters = "".join(
        f"<tr><td><code>{_text(each['name'])}</code></td><td>{_text(each['in'])}</td>"
        f"<td>{_text(each.get('description', ''))}</td></tr>"
        for each in operation.get("parameters", ())
    )
    answers = "".join(
        f"<tr><td>{_text(status)}</td><td>{_text(each.get('description', ''))}</td></tr>"
        for status, each in sorted(operation["responses"].items())
    )
    return (
        f'<h2 id="{_text(operation["operationId"])}"><code><span class="m">{method}</span> {_text(path)}</code></h2>'
        f"<p>{_text(operation['summary'])}. {_text(operation.get('description', ''))}</p>"
        f"<p>Right: {_text(operation['x-right'])}</p>"
        + (f"<table>{parameters}</table>" if parameters else "")
        + f"<table>{answers}</table>"
    )


def _text(value: Any) -> str:  # noqa: ANN401 - whatever the document holds
    return html.escape(str(value))
