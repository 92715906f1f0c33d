"""YML, the feed of shops in Russia and Ukraine: what stands in an offer by numbers and in parts, in words.

An offer names its category by a number of the tree above, its currency by a code, and its title either as a whole or by
kind, vendor and model. Each further property is a `param` with a name.
"""

from typing import TYPE_CHECKING

from stateward.pipelines.catalogs.objects import PrintedCells, put_cell
from stateward.pipelines.kit.xml import local_name

if TYPE_CHECKING:
    from lxml.etree import _Element

ROOT = "yml_catalog"
DEPTH_MAX = 20
TITLE_PARTS = ("typePrefix", "vendor", "model")


class Offers:
    """The words for the offers of one document."""

    def __init__(self, root: "_Element") -> None:
        self._names: dict[str, tuple[str, str]] = {}
        for each in root.iter("category"):
            if number := str(each.get("id", "")):
                name = "".join(map(str, each.itertext())).strip()
                self._names.setdefault(number, (name, str(each.get("parentId", ""))))

    def completed(self, offer: "_Element", cells: PrintedCells) -> PrintedCells:
        """The cells of an offer with its title, category and properties by their names."""
        kept = {
            name: text
            for name, text in cells.items()
            if name != "type" and not name.startswith("param")
        }
        if path := self._path(cells.get("categoryId", "")):
            kept["category"] = path
        if not kept.get("name"):
            put_cell(kept, "name", " ".join(filter(None, map(cells.get, TITLE_PARTS))))
        for each in offer:
            if local_name(each) == "param" and (name := str(each.get("name", "")).strip()):
                put_cell(kept, name, "".join(map(str, each.itertext())).strip())
        return kept

    def _path(self, number: str) -> str:
        names: list[str] = []
        while number in self._names and len(names) < DEPTH_MAX:
            name, number = self._names[number]
            names.append(name)
        return " > ".join(reversed(names))
