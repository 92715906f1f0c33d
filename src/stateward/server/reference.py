"""The reference page of the HTTP API, made from its own description, so that it cannot drift.

    python -m stateward.server.reference docs/reference

writes `api.md` and `schemas/` there; a test compares what is there with what would be written.
"""

import json
import sys
from pathlib import Path

from stateward.definition import discovery
from stateward.server.asgi import describe_api
from stateward.server.pages import reference
from stateward.server.record_schemas import record_schemas


def main(folder: Path) -> None:
    """Write the page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api.md").write_text(reference(describe_api()), "utf-8")
    schemas = folder / "schemas"
    schemas.mkdir(exist_ok=True)
    plugins = [each.plugin for each in discovery.installed_plugins()]
    for name, schema in record_schemas(plugins).items():
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        (schemas / f"{name}.schema.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
