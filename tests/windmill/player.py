"""Plays a Windmill flow as Windmill would: its modules in order, its expressions in JavaScript, its scripts in Python.

It knows what the flows of `definition.openflow` use: scripts, `branchone`, `skip_if`, `retry` with `retry_if`, and
`suspend` with `continue_on_disapprove_timeout`. It does not wait between retries.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

EVALUATE = """
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [expression, names] = JSON.parse(line);
  const value = new Function(...Object.keys(names), `return (${expression})`)(...Object.values(names));
  process.stdout.write(JSON.stringify(value === undefined ? null : value) + "\\n");
});
"""
TIMED_OUT = {"error": {"message": "Timed out waiting to be resumed", "name": "SuspendedTimedOut"}}
APPROVER = "ann@example.com"
DISAPPROVED = {"error": {"message": "Disapproved by ann", "name": "SuspendedDisapproved"}}

Person = Callable[[dict[str, Any]], dict[str, Any] | None]


class Player:
    """One run of a flow. `person` is asked at a suspended step with what it shows; None is silence."""

    def __init__(self, folder: Path, flow_input: dict[str, Any], *, person: Person) -> None:
        self._folder = folder
        self._flow = yaml.safe_load((folder / "flow.yaml").read_text("utf-8"))
        self._input = flow_input
        self._person = person
        self._resume: Any = None
        self.results: dict[str, Any] = {}
        self.calls: list[str] = []

    def play(self) -> dict[str, Any]:
        """All of it; the results of its steps."""
        with Node() as self._javascript:
            self._play(self._flow["value"]["modules"])
        return self.results

    def _play(self, modules: list[dict[str, Any]]) -> Any:  # noqa: ANN401
        result = None
        for module in modules:
            if "skip_if" in module and self._evaluate(module["skip_if"]["expr"]):
                continue
            result = self._step(module)
            self.results[module["id"]] = result
            if "suspend" in module:
                said = self._person(result)
                self._resume = TIMED_OUT if said is None else said
        return result

    def _step(self, module: dict[str, Any]) -> Any:  # noqa: ANN401
        value = module["value"]
        if value["type"] == "branchone":
            taken = (each for each in value["branches"] if self._evaluate(each["expr"]))
            return self._play(next(taken, {"modules": value["default"]})["modules"])
        inputs = {
            name: self._evaluate(each["expr"]) for name, each in value["input_transforms"].items()
        }
        main = self._script(value["content"].removeprefix("!inline "))
        return self._patiently(module, lambda: main(**inputs))

    def _patiently(self, module: dict[str, Any], act: Callable[[], Any]) -> Any:  # noqa: ANN401
        rule = module.get("retry", {})
        attempts = sum(each.get("attempts", 0) for each in rule.values())
        while True:
            self.calls.append(module["id"])
            try:
                return act()
            except Exception as error:
                named = {"error": {"name": type(error).__name__, "message": str(error)}}
                if not attempts or not self._evaluate(rule["retry_if"]["expr"], **named):
                    raise
                attempts -= 1

    def _evaluate(self, expression: str, **more: object) -> Any:  # noqa: ANN401
        names = {
            "flow_input": self._input,
            "results": self.results,
            "resume": self._resume,
            "approvers": [APPROVER],
            **more,
        }
        return self._javascript(json.dumps([expression, names]))

    def _script(self, file: str) -> Callable[..., Any]:
        spec = spec_from_file_location(file.partition(".")[0], self._folder / file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules["wmill"] = _wmill()
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules["wmill"]
        main: Callable[..., Any] = module.main
        return main


class Node:
    """A process of Node.js that answers each line with the value of the expression on it."""

    def __enter__(self) -> "Node":
        self._process = subprocess.Popen(
            [program("node"), "-e", EVALUATE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def __call__(self, line: str) -> Any:  # noqa: ANN401
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def program(name: str) -> str:
    """Where a program of Node.js is."""
    found = shutil.which(name)
    assert found is not None, f"{name} is missing: install Node.js with npm (Debian: nodejs, npm)"
    return found


def _wmill() -> ModuleType:
    """The one function of Windmill's library that the scripts use."""
    module = ModuleType("wmill")
    urls = {
        "resume": "https://windmill.example/resume",
        "cancel": "https://windmill.example/cancel",
    }
    module.get_resume_urls = lambda: urls  # type: ignore[attr-defined]
    return module
