"""Write the types of `stateward.async_client` from those of `stateward.client`: the definition of both is `Operations`.

Run `python tools/async_stub.py` after a change of the client; a test compares the file with what this makes.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "stateward"
STUB = ROOT / "async_client.pyi"
HEAD = """# Made by `python tools/async_stub.py` from the methods of Operations; do not edit.

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Literal, Self

from stateward import schemas
from stateward.client import Source
from stateward.core.model import Fields

class AsyncClient:
    def __init__(
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


def stub() -> str:
    """The types of every method, awaited."""
    tree = ast.parse((ROOT / "client.py").read_text("utf-8"))
    (client,) = [
        each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Operations"
    ]
    methods = [
        each
        for each in client.body
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")
    ]
    return HEAD + "".join(_line(each) for each in methods)


def _line(method: ast.FunctionDef) -> str:
    returns = ast.unparse(method.returns) if method.returns else "None"
    is_listing = returns.startswith("Iterator[")
    word = "def" if is_listing else "async def"
    answer = f"Async{returns}" if is_listing else returns
    return f"    {word} {method.name}({ast.unparse(method.args)}) -> {answer}: ...\n"


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
