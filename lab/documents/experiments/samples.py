"""The data that `stateward demo --only experiments` shows: a data package, and a table with a few faults.

    python -m lab.documents.experiments.samples src/stateward/pipelines/experiments/samples

writes them anew. The measurements are made up.
"""

import io
import json
import sys
import zipfile
from pathlib import Path
from random import Random

PLOTS = ("north", "south", "east")


def growth_rows(seed: int = 4) -> list[str]:
    """Heights of bean plants, day by day; some were not measured."""
    rng = Random(seed)
    rows = []
    for plot in PLOTS:
        for day in range(1, 16):
            height = 12 + 21 * day + rng.randrange(-40, 41)
            measured = "NA" if rng.randrange(15) == 0 else f"{height / 10:.1f}"
            rows.append(f"{plot},2026-05-{day:02d},{measured},{3 + day // 3 + rng.randrange(2)}")
    return rows


def growth_package() -> bytes:
    """A data package with a schema; the same bytes every time."""
    table = "plot,day,height,leaves\n" + "\n".join(growth_rows()) + "\n"
    fields = [
        {"name": "plot", "type": "string", "constraints": {"enum": list(PLOTS), "required": True}},
        {"name": "day", "type": "date", "constraints": {"required": True}},
        {"name": "height", "type": "number", "unit": "cm", "constraints": {"minimum": 0}},
        {"name": "leaves", "type": "integer", "constraints": {"minimum": 0, "maximum": 40}},
    ]
    package = {
        "name": "bean-growth",
        "title": "Growth of bean plants on three plots",
        "licenses": [{"name": "CC0-1.0"}],
        "contributors": [{"title": "Example Institute of Botany", "role": "author"}],
        "resources": [
            {
                "name": "growth",
                "path": "data/growth.csv",
                "schema": {
                    "fields": fields, "missingValues": ["", "NA"], "primaryKey": ["plot", "day"],
                },
            }
        ],
    }  # fmt: skip
    return archive({"datapackage.json": json.dumps(package, indent=1), "data/growth.csv": table})


def pendulum_table() -> bytes:
    """A table without a schema, with units in its headings and two rows that cannot be right."""
    rng = Random(9)
    rows = ["run;length [m];period [s]"]
    for run in range(1, 25):
        length = rng.randrange(20, 200) / 100
        period = 2.006 * length**0.5 + rng.randrange(-20, 21) / 1000
        rows.append(f"{run};{length:.2f};{period:.3f}".replace(".", ","))
    rows[7] = rows[7].rpartition(";")[0] + ";stopped too late"
    rows[15] += ";?"
    return ("\r\n".join(rows) + "\r\n").encode()


def archive(files: dict[str, str | bytes]) -> bytes:
    """A ZIP file without times."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


def samples() -> dict[str, bytes]:
    """All of them by name."""
    return {"bean-growth.zip": growth_package(), "pendulum.csv": pendulum_table()}


def main(folder: Path) -> None:
    """Write them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in samples().items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
