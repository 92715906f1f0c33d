"""What a runner's process imports to find runners: modules by name, files by path, and the worker's own script.

It is foreign code, of which anything may fail: each failure is kept with its reason, for the jobs that need it.
"""

import importlib
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

from stateward.workers.child_protocol import Hello
from stateward.workers.failures import TRACEBACK_CHARS_MAX, describe
from stateward.workers.sdk import forget_runners, registered_runners

MAIN = "__mp_main__"  # as multiprocessing names a script that it imports again


def load_all(hello: Hello) -> dict[str, str]:
    """Import what registers runners; for each import that failed, its traceback."""
    faults: dict[str, str] = {}
    for target in hello.imports:
        _try(target, partial(load, target), faults)
    if hello.main_module or hello.main_path:
        name = hello.main_path or f"{hello.main_module}"
        _try(name, partial(load_main, hello.main_module, hello.main_path), faults)
    if hello.main_fault:
        faults["__main__"] = hello.main_fault
    return faults


def _try(target: str, load_it: Callable[[], None], faults: dict[str, str]) -> None:
    before = frozenset(registered_runners())
    try:
        load_it()
    except BaseException as error:  # noqa: BLE001 - foreign code; even sys.exit() at its top level
        # Names that a module did not get to define would fail later, in the middle of a document.
        forget_runners(registered_runners().keys() - before)
        text = "".join(traceback.format_exception(error))[-TRACEBACK_CHARS_MAX:]
        faults[target] = text or describe(error)


def load(target: str) -> None:
    """Import a module by name, or a Python file by path, which can then import files beside it."""
    path = Path(target)
    if path.suffix != ".py":
        importlib.import_module(target)
        return
    name = f"stateward_pipeline_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    # At the end of the path: a file beside it must not hide a library of the same name.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    # Before it runs: dataclasses and annotations look their module up there.
    sys.modules[name] = module
    spec.loader.exec_module(module)


def load_main(module: str | None, path: str | None) -> None:
    """Import the worker's own script again, under a name that its `if __name__ == "__main__"` does not match."""
    if module is not None:
        content = runpy.run_module(module, run_name=MAIN, alter_sys=True)
    else:
        content = runpy.run_path(f"{path}", run_name=MAIN)
    again = ModuleType(MAIN)
    again.__dict__.update(content)
    sys.modules["__main__"] = sys.modules[MAIN] = again
