"""Drawings: all of the machine is in them, nothing covers anything, and no text becomes markup."""

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.core.machine import (
    KINDS,
    Machine,
    Move,
    State,
)
from stateward.definition.declare import from_yaml
from stateward.definition.draw import (
    DARK,
    LIGHT,
    MERMAID_WORDS,
    STYLE,
    machine_json,
    to_dot,
    to_mermaid,
    to_svg,
)
from stateward.definition.graph_layout import (
    LABEL_LINES_MAX,
    Box,
    Drawing,
    EdgeLine,
    layout,
)

PACKAGE = Path(__file__).parents[2] / "src" / "stateward"
DECLARATIONS = {
    "upload": PACKAGE / "pipelines" / "uploads" / "machine.yaml",
    "contract": PACKAGE / "pipelines" / "contracts" / "machine.yaml",
    "literature": PACKAGE / "ledger" / "document.yaml",
}
SLACK = 0.6  # a line is one wide, and its half may touch what it leads to
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    '</title><script>alert("1")</script>\n"];} [*] --> x <![CDATA[ \x00\x1b\ud800 & \\" %%{init}%%'
)

UPLOAD_MERMAID = """\
stateDiagram-v2
    [*] --> queued_for_parse
    queued_for_parse --> parsing: parse.started
    queued_for_parse --> error: cancel.requested
    parsing --> parsed: parse.completed
    parsing --> error: parse.failed | parse.timed_out | cancel.requested
    parsed --> normalizing: normalize.started
    parsed --> error: cancel.requested
    normalizing --> normalized: normalize.completed
    normalizing --> error: normalize.failed | normalize.timed_out | cancel.requested
    error --> queued_for_parse: retry.requested | retry.due
    error --> parsed: retry.requested | retry.due
    normalized --> [*]
    classDef ready fill:#dfeaff,stroke:#2f62c9,color:#111827
    class queued_for_parse,parsed ready
    classDef running fill:#fff0cc,stroke:#a86a0a,color:#111827
    class parsing,normalizing running
    classDef failed fill:#ffe1dd,stroke:#c22f2f,color:#111827
    class error failed
    classDef terminal fill:#e6e9ee,stroke:#4b5563,color:#111827
    class normalized terminal
"""


def a_declared(name: str) -> Machine:
    path = DECLARATIONS[name]
    return from_yaml(path.read_text(encoding="utf-8"), source=str(path))


@pytest.fixture(params=list(DECLARATIONS))
def machine(request: pytest.FixtureRequest) -> Machine:
    return a_declared(request.param)


def a_machine(kinds: dict[str, str], moves: list[tuple[str, str, str]]) -> Machine:
    """A graph of moves alone, made by hand: nothing of it has been checked."""
    return Machine(
        name="drawn",
        version=1,
        prefix="DR",
        initial=next(iter(kinds)),
        states=tuple(State(name=name, kind=kind) for name, kind in kinds.items()),  # type: ignore[arg-type]
        stages=(),
        on_exhausted=None,
        moves=tuple(Move(source=source, to=to, on=on) for source, to, on in moves),
    )


# Plain data


def test_the_data_has_every_state_in_order(machine: Machine) -> None:
    data = machine_json(machine)

    assert data["states"] == [
        {"name": state.name, "kind": state.kind, "doc": state.doc} for state in machine.states
    ]
    assert (data["name"], data["version"]) == (machine.name, machine.version)
    assert (data["prefix"], data["initial"]) == (machine.prefix, machine.initial)


def test_the_data_has_one_transition_for_each_pair() -> None:
    data = machine_json(a_declared("upload"))

    transitions = data["transitions"]
    assert isinstance(transitions, list)
    assert len(transitions) == len(a_declared("upload").pairs)
    assert {
        "from": "parsing",
        "to": "error",
        "on": "parse.failed | parse.timed_out | cancel.requested",
    } in transitions


# Mermaid and DOT


def test_the_mermaid_of_the_upload_machine_is_this() -> None:
    assert to_mermaid(a_declared("upload")) == UPLOAD_MERMAID


def test_every_state_and_edge_is_in_the_mermaid(machine: Machine) -> None:
    text = to_mermaid(machine)

    drawn = set(re.findall(r"^    (\w+) --> (\w+): ", text, re.MULTILINE))
    assert drawn == machine.pairs
    classes = re.findall(r"^    class ([\w,]+) (\w+)$", text, re.MULTILINE)
    kinds = {name: kind for names, kind in classes for name in names.split(",")}
    assert kinds == machine.kind


def test_states_that_mermaid_takes_for_its_own_words_get_other_names() -> None:
    names = [*sorted(MERMAID_WORDS), "noted"]
    machine = a_machine(
        dict.fromkeys(names, "ready"), [(one, other, "go") for one, other in pairwise(names)]
    )

    lines = to_mermaid(machine).splitlines()

    assert '    state "note" as S_note' in lines
    assert "    S_style --> noted: go" in lines


def test_every_state_and_edge_is_in_the_dot(machine: Machine) -> None:
    text = to_dot(machine)

    drawn = set(re.findall(r'^    "(\w+)" -> "(\w+)" \[label="', text, re.MULTILINE))
    assert drawn == machine.pairs
    assert re.findall(r'^    "(\w+)" \[fillcolor', text, re.MULTILINE) == list(machine.state)
    assert text.count("{") == text.count("}") == 1


# The picture


def test_every_state_and_edge_is_in_the_picture(machine: Machine) -> None:
    root = ET.fromstring(to_svg(machine))  # noqa: S314 - our own text

    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    for state in machine.states:
        assert f"{state.name} ({state.kind}): {state.doc}" in titles
    for edge in machine.edges:
        assert f"{edge.source} to {edge.to}, on {', '.join(edge.on)}" in titles
    assert len(titles) == 1 + len(machine.states) + len(machine.edges) + 1
    texts = {span.text for span in root.iter(f"{SVG}tspan")}
    assert texts == {event for edge in machine.edges for event in edge.on}


def test_nothing_in_the_picture_runs_or_is_fetched(machine: Machine) -> None:
    text = to_svg(machine)

    assert text.count("http") == 1  # the name of the format
    assert not re.search(r"<script|<foreignObject|<image|<use|@import|url\(| on\w+=|href=", text)
    ids = re.findall(r'\bid="', text)
    assert ids == []  # two pictures in one page cannot get into each other's way


def test_a_page_may_bring_the_style_itself(machine: Machine) -> None:
    assert f"<style>{STYLE}</style>" in to_svg(machine)
    assert "<style" not in to_svg(machine, is_styled=False)
    assert "style=" not in to_svg(machine, is_styled=False)


def test_the_picture_follows_the_theme_of_the_reader() -> None:
    light, _, dark = STYLE.partition("@media (prefers-color-scheme:dark)")

    assert all(colour in light for colour in LIGHT.values())
    assert all(colour in dark for colour in DARK.values())
    assert light.count("{") == light.count("}")
    assert dark.count("{") == dark.count("}")


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_stand_out_from_what_is_behind_them(theme: dict[str, str]) -> None:
    for behind in ("page", *KINDS):
        assert contrast(theme["ink"], theme[behind]) >= 7
        assert contrast(theme["faint"], theme[behind]) >= 4.5
    for line in ("line", "fault", "again", "taken", *(f"{kind}-rim" for kind in KINDS)):
        assert contrast(theme[line], theme["page"]) >= 3


def contrast(one: str, other: str) -> float:
    """As the web's accessibility guidelines reckon it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_way_taken_and_the_present_state_are_marked() -> None:
    path = ["queued_for_parse", "parsing", "error", "unheard_of"]

    root = ET.fromstring(to_svg(a_declared("upload"), path=path, present="error"))  # noqa: S314

    assert titles_of(root, "sw-visited") == {"queued_for_parse", "parsing", "error"}
    assert titles_of(root, "sw-present") == {"error"}
    assert titles_of(root, "sw-taken") == {"queued_for_parse", "parsing"}
    assert "path taken" in {text.text for text in root.iter(f"{SVG}text")}


def test_without_a_path_nothing_is_marked() -> None:
    root = ET.fromstring(to_svg(a_declared("upload")))  # noqa: S314

    for look in ("sw-visited", "sw-present", "sw-taken"):
        assert titles_of(root, look) == set()


def titles_of(root: ET.Element, look: str) -> set[str]:
    """The first words of the titles of everything that has this look."""
    groups = [g for g in root.iter(f"{SVG}g") if look in g.get("class", "").split()]
    titles = [title.text or "" for g in groups for title in g.iter(f"{SVG}title")]
    return {title.split()[0] for title in titles}


# Hostile text


def test_hostile_docs_are_inert() -> None:
    upload = a_declared("upload")
    states = tuple(replace(state, doc=HOSTILE) for state in upload.states)
    machine = replace(upload, states=states, doc=HOSTILE)

    root = ET.fromstring(to_svg(machine))  # noqa: S314
    assert {element.tag for element in root.iter()} == {
        SVG + tag
        for tag in ("svg", "title", "style", "rect", "g", "path", "text", "tspan", "circle")
    }
    assert to_mermaid(machine) == UPLOAD_MERMAID
    unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', "", to_dot(machine))
    assert "script" not in unquoted
    assert unquoted.count("\n") == to_dot(upload).count("\n")


def test_hostile_events_are_inert() -> None:
    machine = a_machine({"a": "ready", "b": "terminal"}, [("a", "b", HOSTILE)])

    root = ET.fromstring(to_svg(machine))  # noqa: S314
    assert f"{SVG}script" not in {element.tag for element in root.iter()}
    arrows = [line for line in to_mermaid(machine).splitlines() if "-->" in line]
    assert len(arrows) == 3
    assert arrows[1].startswith("    a --> b: __title__script_alert__1____script__")
    unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', "", to_dot(machine))
    assert "script" not in unquoted


def test_long_labels_are_cut_but_their_title_is_whole() -> None:
    machine = a_machine(
        {"a": "ready", "b": "terminal"}, [("a", "b", f"event{n}." + "x" * 80) for n in range(9)]
    )

    root = ET.fromstring(to_svg(machine))  # noqa: S314

    shown = [span.text or "" for span in root.iter(f"{SVG}tspan")]
    assert len(shown) == LABEL_LINES_MAX
    assert shown[-1] == "and 4 more"
    assert shown[0].endswith("…")
    assert any("event8." + "x" * 80 in (title.text or "") for title in root.iter(f"{SVG}title"))


# Nothing covers anything


def faults(drawing: Drawing) -> Iterator[str]:
    """Everything that a person would call ugly, in words."""
    boxes = list(drawing.boxes.items())
    for (one, box), (other, another) in combinations(boxes, 2):
        if overlap(box, another):
            yield f"{one} covers {other}"
    for line in drawing.lines:
        what = f"{line.edge.source}->{line.edge.to}"
        yield from (f"the label of {what} covers {n}" for n, b in boxes if overlap(line.label, b))
        yield from (f"{what} runs through {n}" for n, b in boxes if runs_through(line, b))
        if not is_inside(drawing, line):
            yield f"{what} leaves the page"
    for line, other_line in combinations(drawing.lines, 2):
        what = f"{line.edge} and {other_line.edge}"
        if overlap(line.label, other_line.label):
            yield f"the labels of {what} cover each other"
        if runs_through(line, other_line.label) or runs_through(other_line, line.label):
            yield f"a line and a label of {what} meet"
        if share_a_way(line, other_line):
            yield f"{what} run on top of each other"


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.right - SLACK
        and other.x < one.right - SLACK
        and one.y < other.bottom - SLACK
        and other.y < one.bottom - SLACK
    )


def runs_through(line: EdgeLine, box: Box) -> bool:
    return any(overlap(piece, box) for piece in pieces(line))


def pieces(line: EdgeLine) -> Iterator[Box]:
    for (x, y), (to_x, to_y) in pairwise(line.points):
        left, top = min(x, to_x) - 0.5, min(y, to_y) - 0.5
        yield Box(x=left, y=top, width=abs(to_x - x) + 1, height=abs(to_y - y) + 1)


def share_a_way(one: EdgeLine, other: EdgeLine) -> bool:
    """Lines may cross, but no piece of one may lie along a piece of the other."""
    return any(
        overlap(piece, another) and (piece.width == 1) == (another.width == 1)
        for piece in pieces(one)
        for another in pieces(other)
    )


def is_inside(drawing: Drawing, line: EdgeLine) -> bool:
    corners = [*line.points, (line.label.x, line.label.y), (line.label.right, line.label.bottom)]
    return all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in corners)


def touches(point: tuple[float, float], box: Box) -> bool:
    x, y = point
    is_on_side = x in (box.x, box.right) and box.y <= y <= box.bottom
    return is_on_side or (y in (box.y, box.bottom) and box.x <= x <= box.right)


def test_nothing_covers_anything_in_our_own_machines(machine: Machine) -> None:
    assert list(faults(layout(machine))) == []


NAMES = [f"s{n}" for n in range(12)]
GRAPHS = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.lists(st.sampled_from(KINDS), min_size=size, max_size=size),
        st.lists(
            st.tuples(
                st.sampled_from(NAMES[:size]),
                st.sampled_from(NAMES[:size]),
                st.sampled_from(["go", "stage.completed", "a.very.long.name.of.an.event"]),
            ),
            max_size=30,
        ),
    )
)


@given(GRAPHS)
@example((["ready", "suspended", "ready", "ready"], [("s0", "s1", "go"), ("s2", "s1", "go")]))
def test_nothing_covers_anything_in_any_machine(
    graph: tuple[list[str], list[tuple[str, str, str]]],
) -> None:
    kinds, moves = graph
    machine = a_machine(dict(zip(NAMES, kinds, strict=False)), moves)

    drawing = layout(machine)

    assert list(faults(drawing)) == []
    assert set(drawing.boxes) == set(machine.state)
    assert {(line.edge.source, line.edge.to) for line in drawing.lines} == machine.pairs
    for line in drawing.lines:
        assert touches(line.points[0], drawing.boxes[line.edge.source])
        assert touches(line.points[-1], drawing.boxes[line.edge.to])


def test_a_machine_of_many_states_is_drawn_without_search() -> None:
    names = [f"state_{n}" for n in range(64)]
    spread = [(names[n], names[(n * 7 + 3) % 64], "go") for n in range(64)]
    machine = a_machine(dict.fromkeys(names, "ready"), spread)

    assert list(faults(layout(machine))) == []


def test_where_too_many_lines_meet_some_go_round() -> None:
    line = [f"step_{n}" for n in range(8)]
    aside = ["held", "asked"]
    moves = [(one, other, "step.completed") for one, other in pairwise(line)]
    moves += [(step, state, f"{state}.requested") for step in line for state in aside]
    machine = a_machine(dict.fromkeys(line, "ready") | dict.fromkeys(aside, "suspended"), moves)

    assert list(faults(layout(machine))) == []


def test_the_way_that_records_should_go_is_a_straight_line_down() -> None:
    drawing = layout(a_declared("contract"))

    way = [
        "pending",
        "parsing_pdf",
        "extracting",
        "validating",
        "validated",
        "comparing",
        "completed",
    ]
    assert len({drawing.boxes[name].middle for name in way}) == 1
    assert sorted(way, key=lambda name: drawing.boxes[name].y) == way
    assert drawing.boxes["review_required"].right < drawing.boxes["validated"].x
