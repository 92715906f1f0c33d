"""The reference page of the HTTP API, made from its own description, so that it cannot drift.

    python -m stateward.server.reference docs/reference

writes `api.md` there; a test compares what is there with what would be written.
"""

import sys
from pathlib import Path

from stateward.server import described
from stateward.server.pages import reference


def main(folder: Path) -> None:
    """Write the page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api.md").write_text(reference(described()), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
