"""The OpenAPI document for people: `/docs`, and the reference page of the documentation.

Nothing is loaded from elsewhere.
"""

import base64
import html
import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from stateward.server.description import HEADERS, Document
from stateward.server.problems import KINDS
from stateward.storage.keys import RIGHTS, ROLES

NOTICE = "<!-- Made by `python -m stateward.server.reference docs/reference`; do not edit. -->"
CODE = re.compile(r"`([^`]+)`")
PARAMETER = re.compile(r"\{(\w+)\}")
LETTER = r"Dear Anna,\n\nthe meeting is on Monday at ten.\n"
# Values by the names of fields and parameters, with which an example means something.
SAMPLES: dict[str, Any] = {
    "q": "coffee", "source_type": "auto", "name": "upload", "stage": "parse", "event": "retry", "action": "retry",
    "url": "https://example.org/hook", "events": ["*"], "reason": "tried out", "to": "anna",
    "person": "anna@example.org", "role": "viewer", "pdfBase64": "JVBERi0xLjcK",
}  # fmt: skip
METHODS = ("get", "post", "put", "patch", "delete")
STYLE = (
    ":root{color-scheme:light dark;--line:#ccd3df;--raised:#f3f5f8;--link:#0b5f55;--ink:#1c2430;--ground:#fff}"
    "@media(prefers-color-scheme:dark){:root{--line:#2a3541;--raised:#1d2631;--link:#4fd1bd;--ink:#e6ebf1;"
    "--ground:#0e1319}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);"
    "background:var(--ground);overflow-wrap:anywhere}a{color:var(--link)}nav ul{list-style:none;padding:0}"
    "h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}code,pre{font:14px/1.45 ui-monospace,monospace}"
    "pre{background:var(--raised);padding:.75rem;white-space:pre-wrap}table{border-collapse:collapse;width:100%}"
    "td,th{border-top:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}"
    ".m{display:inline-block;min-width:4rem;font-weight:600}"
    "label{display:block;margin:.4rem 0}label input,label textarea{display:block;width:100%;box-sizing:border-box;"
    "font:inherit;padding:.3rem}summary{cursor:pointer}"
)
SCRIPT = (files(__package__) / "try_out.js").read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


# The page runs this one script and asks this service alone.
POLICY = (
    f"default-src 'none'; style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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
        "400 is a request that does not fit its description in `/openapi.json`: mend the program that made it. 422 is "
        "one that fits, and cannot be meant so here: a query that names no status, a cursor of another list, a stage "
        "that the machine has not. 404 is an id of nothing, or of what the key does not cover.",
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
                (status, ", ".join(f"`{name}`" for name in each.get("headers", {})), _meaning(each))
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
    text = str(answer.get("description", ""))
    for media_type, each in answer.get("content", {}).items():
        if media_type != "application/problem+json":
            return f"{_type(each.get('schema', {}))} (`{media_type}`)"
    return text


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
        f"<main><h1>Stateward: the HTTP API</h1><p>{_prose(document['info']['description'])}</p>"
        '<p>The same as an OpenAPI 3.1 document: <a href="/openapi.json">/openapi.json</a>; in short, for language '
        'models: <a href="/llms.txt">/llms.txt</a></p>'
        '<label>API key, to try operations out; it stays on this page<input id="key" type="password" '
        'autocomplete="off"></label>'
        + _html_variables(document)
        + _html_index(document)
        + "".join(_html_section(*each, document) for each in operations(document))
        + "<h1>Documents</h1>"
        + "".join(
            _html_schema(name, each, document) for name, each in sorted(_schemas(document).items())
        )
        + f"</main><script>{SCRIPT}</script></body></html>"
    )


def _schemas(document: Document) -> Document:
    found: Document = document.get("components", {}).get("schemas", {})
    return found


def _html_index(document: Document) -> str:
    """Every operation with a link, by what it is about."""
    by_tag: dict[str, list[str]] = {}
    for path, method, each in operations(document):
        line = (
            f'<li><code><span class="m">{method}</span></code> <a href="#{_text(each["operationId"])}">'
            f"<code>{_text(path)}</code></a> {_text(each['summary'])}</li>"
        )
        by_tag.setdefault(str((each.get("tags") or ["service"])[0]), []).append(line)
    parts = (f"<h3>{_text(tag)}</h3><ul>{''.join(by_tag[tag])}</ul>" for tag in sorted(by_tag))
    return f"<nav>{''.join(parts)}</nav>"


def _html_schema(name: str, schema: Document, document: Document) -> str:
    needed = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{_text(field)}</code></td><td>{_link(_type(each), document)}</td>"
        f"<td>{'always' if field in needed else ''}</td><td>{_prose(each.get('description', ''))}</td></tr>"
        for field, each in schema.get("properties", {}).items()
    )
    text = _prose(" ".join(str(schema.get("description", "")).split()))
    return f'<h2 id="schema-{_text(name)}"><code>{_text(name)}</code></h2><p>{text}</p><table>{rows}</table>'


def curl(path: str, method: str, operation: Document, document: Document) -> str:
    """The operation as a command that works when it is pasted after `variables`."""
    place = PARAMETER.sub(lambda found: "$" + found[1].upper(), path)
    needed = [
        each["name"]
        for each in operation.get("parameters", ())
        if each["in"] == "query" and each.get("required")
    ]
    query = "?" + "&".join(f"{name}={SAMPLES.get(name, 1)}" for name in needed) if needed else ""
    lines = [f'curl -X {method} "$STATEWARD_SERVER{place}{query}"']
    lines.append('-H "Authorization: Bearer $STATEWARD_KEY"')
    content = operation.get("requestBody", {}).get("content", {})
    if form := content.get("multipart/form-data"):
        others = [name for name in form["schema"].get("required", ()) if name != "file"]
        lines += [f"-F {name}={SAMPLES[name]}" for name in others]
        lines.append("-F 'file=@-;filename=letter.txt'")
        return f"printf '{LETTER}' | " + " \\\n  ".join(lines)
    if found := content.get("application/json"):
        body = _sample(found["schema"], document)
        lines.append(f"-H 'Content-Type: application/json' -d '{body}'")
    return " \\\n  ".join(lines)


def variables(document: Document) -> list[str]:
    """What stands for the ids and names in paths, each with a value that `try_out.js` makes a real one."""
    names = {name for path, _, _ in operations(document) for name in PARAMETER.findall(path)}
    return sorted(name.upper() for name in names)


def _html_variables(document: Document) -> str:
    lines = ["export STATEWARD_SERVER=http://127.0.0.1:8000", "export STATEWARD_KEY=sw_…"]
    lines += [f"export {name}={SAMPLES.get(name.lower(), 'x')}" for name in variables(document)]
    text = (
        "The examples below work when they are pasted after these lines. With a key above, this page puts real ids "
        "into them."
    )
    shell = _text("\n".join(lines))
    return f'<h2 id="variables">Variables</h2><p>{text}</p><pre id="shell">{shell}</pre>'


def _sample(schema: Document, document: Document) -> str:
    """A body with the fields that it must have, each with a value that its schema allows."""
    return json.dumps(_value(schema, document), ensure_ascii=False)


def _value(schema: Document, document: Document) -> Any:  # noqa: ANN401 - whatever the schema allows
    for key in ("allOf", "oneOf", "anyOf"):
        schema = next((each for each in schema.get(key, ()) if each.get("type") != "null"), schema)
    if "$ref" in schema:
        schema = _schemas(document).get(schema["$ref"].rpartition("/")[2], {})
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = (
        next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    )
    match kind:
        case "object":
            known = schema.get("properties", {})
            return {
                name: SAMPLES[name]
                if name in SAMPLES and "enum" not in known[name]
                else _value(known[name], document)
                for name in schema.get("required", ())
            }
        case "array":
            items = schema.get("items", {})
            return [_value(items, document)] if schema.get("minItems") else []
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
    return "x"


def llms(document: Document) -> str:
    """`/llms.txt`: what the service is and what can be asked of it, for language models."""
    lines = [
        "# Stateward",
        "",
        "> Durable state machines for document pipelines: submit a document, and it moves through the stages of its "
        "pipeline with retries, human review and a tamper-evident history.",
        "",
        " ".join(document["info"]["description"].split()),
        "",
        "## API",
        "",
        "- [OpenAPI 3.1 document](/openapi.json): every operation with its parameters, answers and problems",
        "- [The same as a page](/docs)",
        "",
        "## Operations",
        "",
        *(
            f"- [{method} {path}](/docs#{each['operationId']}): {each['summary']} (right: {each['x-right']})"
            for path, method, each in operations(document)
        ),
    ]
    return "\n".join(lines) + "\n"


def _html_section(path: str, method: str, operation: Document, document: Document) -> str:
    parameters = "".join(
        f"<tr><td><code>{_text(each['name'])}</code></td><td>{_text(each['in'])}</td>"
        f"<td>{_prose(each.get('description', ''))}</td></tr>"
        for each in operation.get("parameters", ())
    )
    answers = "".join(
        f"<tr><td>{_text(status)}</td><td>{_link(_meaning(each), document)}</td></tr>"
        for status, each in sorted(operation["responses"].items())
    )
    return (
        f'<h2 id="{_text(operation["operationId"])}"><code><span class="m">{method}</span> {_text(path)}</code></h2>'
        f"<p>{_text(operation['summary'])}. {_prose(operation.get('description', ''))}</p>"
        f"<p>Right: {_text(operation['x-right'])}</p>"
        + (f"<table>{parameters}</table>" if parameters else "")
        + f"<table>{answers}</table><pre>{_text(curl(path, method, operation, document))}</pre>"
        + f'<details data-try="{_text(operation["operationId"])}"'
        f' data-sample="{_text(_body_sample(operation, document))}"><summary>Try it out</summary></details>'
    )


def _body_sample(operation: Document, document: Document) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    found = content.get("application/json")
    return "" if found is None else _sample(found["schema"], document)


def _prose(value: Any) -> str:  # noqa: ANN401 - whatever the document holds
    """Text with what stands between backticks as code."""
    return CODE.sub(r"<code>\1</code>", _text(value))


def _link(said: str, document: Document) -> str:
    """The same, with the names of documents as links to them."""
    known = _schemas(document)

    def shown(found: re.Match[str]) -> str:
        code = f"<code>{found[1]}</code>"
        return f'<a href="#schema-{found[1]}">{code}</a>' if found[1] in known else code

    return CODE.sub(shown, _text(said))


def _text(value: Any) -> str:  # noqa: ANN401 - whatever the document holds
    return html.escape(str(value))
