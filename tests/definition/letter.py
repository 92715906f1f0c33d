"""A small machine to declare, and short ways to write declarations with one thing changed."""

from typing import Any

import pytest

from stateward.core.errors import DeclarationError
from stateward.definition.declare import declare, from_yaml
from stateward.testing.builders import a_declaration

SOURCE = "letter.yaml"
LETTER = """\
machine: letter
version: 2
prefix: LR
doc: A letter is read, checked by a person if need be, and filed.
initial: new
states:
  new: ready
  reading: {kind: running, doc: "Somebody reads it"}
  asking: suspended
  filed: terminal
  lost: terminal
  broken: failed
stages:
  read:
    from: new
    running: reading
    outcomes:
      done:
        - {to: filed, when: {at_least: [clarity, 0.5]}}
        - {to: asking}
    on_error: broken
    timeout_s: 60
reviews:
  check:
    state: asking
    outcomes: {kept: filed}
    timeout_s: 3600
    on_timeout: lost
moves:
  - {from: new, to: lost, on: letter.dropped}
retry: {max_retries: 2, backoff_s: [1, 2], jitter_s: 0.5}
on_exhausted: lost
expose:
  read_log_ref: reading
upgrades:
  "1": {fresh: new}
"""


def faults_of(text: str, *, runners: list[str] | None = None) -> list[str]:
    with pytest.raises(DeclarationError) as refused:
        from_yaml(text, source=SOURCE, runners=runners)
    return str(refused.value).splitlines()


def sentences_of(**changes: object) -> list[str]:
    """What is wrong with the smallest machine once these keys are changed."""
    with pytest.raises(DeclarationError) as refused:
        declare(a_declaration(**changes))
    return [f"{fault.path}: {fault.sentence}" for fault in refused.value.faults]


def a_stage(**changes: object) -> dict[str, Any]:
    """The only stage of the smallest machine, changed."""
    return {"read": {**a_declaration()["stages"]["read"], **changes}}
