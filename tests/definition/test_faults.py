"""Every fault of a declaration names its file, its line and what must be true."""

import pytest

from tests.definition.letter import LETTER, SOURCE, faults_of


def a_letter(*changes: tuple[str, str]) -> str:
    """The text of a sound machine, with these pieces of it replaced."""
    text = LETTER
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            ("machine: letter", "machine: Email Box"),
            "1: machine: a machine is written in lower-case letters, digits and _, like 'parsed', "
            "not 'Email Box'",
        ),
        (("version: 2", "version: two"), "2: version: version must be a whole number, not 'two'"),
        (
            ("prefix: LR", "prefix: Lr"),
            "3: prefix: 'Lr' must be 1 to 8 capital letters, like UL",
        ),
        (
            ("initial: new", "initial: newer"),
            "5: initial: there is no state 'newer'; there are: new, reading, asking, filed, lost, "
            "broken",
        ),
        (
            ("initial: new", "initial: filed"),
            "5: initial: 'filed' is terminal, but must be ready or running",
        ),
        (
            ("  filed: terminal", "  filed: final"),
            "10: states.filed.kind: kind must be failed, ready, running, suspended or terminal, "
            "not 'final'",
        ),
        (
            ("    from: new", "    from: asking"),
            "15: stages.read.from: 'asking' is suspended, but must be ready",
        ),
        (
            ("    running: reading", "    running: broken"),
            "16: stages.read.running: 'broken' is failed, but must be running",
        ),
        (
            ("to: filed, when", "to: filled, when"),
            "19: stages.read.outcomes.done[0].to: there is no state 'filled'; there are: new, "
            "reading, asking, filed, lost, broken",
        ),
        (
            ("    on_error: broken", "    on_error: new"),
            "21: stages.read.on_error: 'new' is ready, but must be failed or terminal",
        ),
        (
            ("    timeout_s: 60\n", "    timeout_s: null\n"),
            "22: stages.read.timeout_s: 'reading' needs a timeout of more than 0 s and at most a "
            "year",
        ),
        (
            ("    state: asking", "    state: new"),
            "25: reviews.check.state: 'new' is ready, but must be suspended",
        ),
        (
            ("    on_timeout: lost", "    on_timeout: gone"),
            "28: reviews.check.on_timeout: there is no state 'gone'; there are: new, reading, "
            "asking, filed, lost, broken",
        ),
        (
            ("{from: new, to: lost", "{from: now, to: lost"),
            "30: moves[0].from: there is no state 'now'; there are: new, reading, asking, filed, "
            "lost, broken",
        ),
        (
            ("{max_retries: 2", "{max_retries: null"),
            "31: retry.max_retries: retries need a limit, from 0 to 1000 retries",
        ),
        (
            ("on_exhausted: lost", "on_exhausted: asking"),
            "32: on_exhausted: 'asking' is suspended, but must be failed or terminal",
        ),
        (
            ("  read_log_ref: reading", "  read_log_ref: readings"),
            "34: expose.read_log_ref: there is no state 'readings'; there are: new, reading, "
            "asking, filed, lost, broken",
        ),
        (
            ('  "1": {fresh: new}', '  "2": {fresh: new}'),
            "36: upgrades.2: must be an earlier version of this machine",
        ),
        (
            ('  "1": {fresh: new}', '  "1": {fresh: old}'),
            "36: upgrades.1.fresh: there is no state 'old'; there are: new, reading, asking, "
            "filed, lost, broken",
        ),
    ],
)
def test_a_fault_names_its_file_its_line_and_what_must_be_true(
    change: tuple[str, str], fault: str
) -> None:
    faults = faults_of(a_letter(change))

    assert f"{SOURCE}:{fault}" in faults


def test_all_faults_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = a_letter(
        ("prefix: LR", "prefix: letters"),
        ("initial: new", "initial: asking"),
        ("    on_error: broken", "    on_error: nowhere"),
        ("    timeout_s: 60\n", "    timeout_s: 0\n"),
        ("outcomes: {kept: filed}", "outcomes: {}"),
        ("jitter_s: 0.5", "jitter_s: -1"),
    )

    faults = faults_of(text)

    assert [fault.split(": ")[:2] for fault in faults] == [
        ["letter.yaml:3", "prefix"],
        ["letter.yaml:5", "initial"],
        ["letter.yaml:21", "stages.read.on_error"],
        ["letter.yaml:22", "stages.read.timeout_s"],
        ["letter.yaml:26", "reviews.check.outcomes"],
        ["letter.yaml:31", "retry.jitter_s"],
    ]


def test_what_cannot_be_read_at_all_is_refused_too() -> None:
    assert faults_of("- a list") == [
        "letter.yaml:1: the whole document must be a mapping, not a list of 1 item"
    ]
    assert faults_of(a_letter(("stages:\n  read:", "stages:\n  read: later\n  write:")))[0] == (
        "letter.yaml:14: stages.read: read must be a mapping, not 'later'"
    )
    assert faults_of("states: none\nstages: none")[-1].startswith("letter.yaml:2: stages: ")
