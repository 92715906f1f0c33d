"""Write the types of the clients for asyncio from the operations that define them: one stub beside each module.

Run `python tools/async_stub.py` after a change of a client; a test compares the files with what this makes.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1] / "src" / "stateward"
NOTE = "# Made by `python tools/async_stub.py` from the operations of the client; do not edit.\n\n"
LIFE = """    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = ...,
        tries: int = ...,
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def close(self) -> None: ...
"""


class Stub(NamedTuple):
    """A module of a client for asyncio, what it imports for its types, and which classes define its methods."""

    module: str
    imports: str
    heading: str
    sources: Sequence[tuple[str, str]]
    life: str = ""

    @property
    def path(self) -> Path:
        """Where the types are written to."""
        return ROOT / f"{self.module}.pyi"

    def text(self) -> str:
        """The types of every method, awaited."""
        methods = "".join(_line(each) for source in self.sources for each in _methods(*source))
        return f"{NOTE}{self.imports}\nclass {self.heading}:\n{self.life}{methods}"


STUBS = (
    Stub(
        module="async_client",
        imports="""from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Literal, Self

from stateward import schemas
from stateward.client import Source
from stateward.core.model import Fields
""",
        heading="AsyncClient",
        sources=(
            ("client/records.py", "RecordOperations"),
            ("client/reviews.py", "ReviewOperations"),
            ("client/administration.py", "AdministrationOperations"),
        ),
        life=LIFE,
    ),
    Stub(
        module="pipelines/contracts/async_client",
        imports="""from collections.abc import Mapping, Sequence
from typing import Literal

from stateward.async_client import AsyncClient
from stateward.client import Source
from stateward.pipelines.contracts.schemas import Sequencing, Workflow
""",
        heading="AsyncWorkflowClient(AsyncClient)",
        sources=(("pipelines/contracts/client.py", "WorkflowOperations"),),
    ),
    Stub(
        module="pipelines/experiments/async_client",
        imports="""from collections.abc import AsyncIterator

from stateward.async_client import AsyncClient
""",
        heading="AsyncExperimentClient(AsyncClient)",
        sources=(("pipelines/experiments/client.py", "ExperimentOperations"),),
    ),
    Stub(
        module="pipelines/literature/async_client",
        imports="""from collections.abc import Mapping, Sequence
from typing import Any, Literal

from stateward.async_client import AsyncClient
from stateward.client import Source
from stateward.pipelines.literature.lists import ListedPaper
from stateward.pipelines.literature.papers import AddedPaper, Citations, SamePaper
from stateward.pipelines.literature.progress import Progress
""",
        heading="AsyncLiteratureClient(AsyncClient)",
        sources=(("pipelines/literature/client.py", "LiteratureOperations"),),
    ),
)


def _methods(path: str, name: str) -> Iterator[ast.FunctionDef]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    for group in tree.body:
        if isinstance(group, ast.ClassDef) and group.name == name:
            for each in group.body:
                if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                    yield each


def _line(method: ast.FunctionDef) -> str:
    returns = ast.unparse(method.returns) if method.returns else "None"
    is_listing = returns.startswith("Iterator[")
    word = "def" if is_listing else "async def"
    answer = f"Async{returns}" if is_listing else returns
    return f"    {word} {method.name}({ast.unparse(method.args)}) -> {answer}: ...\n"


if __name__ == "__main__":
    for stub in STUBS:
        stub.path.write_text(stub.text(), "utf-8")
