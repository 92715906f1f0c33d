"""The graph of a state machine as Mermaid, DOT, SVG and JSON.

No text is trusted here: docs and names of events come from declarations, and are escaped or, where a format has no
escape, replaced. The SVG needs no other program.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import count, pairwise
from math import copysign, hypot

from stateward.core.machine import KINDS, Edge, Machine
from stateward.core.model import Json
from stateward.definition.graph_layout import (
    ARROW,
    GAP,
    LABEL_CHAR,
    LINE_HEIGHT,
    MARGIN,
    Box,
    Drawing,
    EdgeLine,
    Point,
    label_lines,
    layout,
)

PATH_MAX = 1000
CORNER = 9
BAR_NAME_EVERY = 420
RING = 4.5
LEGEND = {"sw-fault": "attempt fails", "sw-again": "retry", "sw-taken": "path taken"}
BOX_SAMPLE = '<rect class="sw-box" width="20" height="12" rx="3"/>'
LINE_SAMPLE = '<path class="sw-line" d="M0 6H16"/><path class="sw-head" d="M22 6L14 2L14 10Z"/>'


def machine_json(machine: Machine) -> dict[str, Json]:
    """The machine as plain data; one transition for each pair of states that it joins."""
    return {
        "name": machine.name,
        "version": machine.version,
        "prefix": machine.prefix,
        "initial": machine.initial,
        "states": [
            {"name": state.name, "kind": state.kind, "doc": state.doc} for state in machine.states
        ],
        "transitions": [
            {"from": edge.source, "to": edge.to, "on": " | ".join(edge.on)}
            for edge in machine.edges
        ],
    }


# Mermaid and DOT

FLAT_COLOURS = {
    "ready": ("#dfeaff", "#2f62c9"),
    "running": ("#fff0cc", "#a86a0a"),
    "suspended": ("#efe4ff", "#7443c4"),
    "failed": ("#ffe1dd", "#c22f2f"),
    "terminal": ("#e6e9ee", "#4b5563"),
}

# Keywords of Mermaid that its parser (tried: 11.x) does not accept as the name of a state.
MERMAID_WORDS = frozenset({
    "accdescr", "acctitle", "class", "classdef", "click", "default", "href", "note", "root_end",
    "root_start", "scale", "state", "statediagram", "style",
})  # fmt: skip


def to_mermaid(machine: Machine) -> str:
    """A Mermaid state diagram, as GitHub and many wikis show it."""
    name = {state.name: _mermaid_name(state.name) for state in machine.states}
    reserved = sorted(MERMAID_WORDS & name.keys())
    ends = [state.name for state in machine.states if state.kind == "terminal"]
    lines = [
        "stateDiagram-v2",
        *(f'state "{word}" as {name[word]}' for word in reserved),
        f"[*] --> {name[machine.initial]}",
        *(f"{name[e.source]} --> {name[e.to]}: {_mermaid_text(e.on)}" for e in machine.edges),
        *(f"{name[end]} --> [*]" for end in ends),
    ]
    for kind, names in _by_kind(machine):
        fill, rim = FLAT_COLOURS[kind]
        lines.append(f"classDef {kind} fill:{fill},stroke:{rim},color:#111827")
        lines.append(f"class {','.join(name[each] for each in names)} {kind}")
    return "\n    ".join(lines) + "\n"


def _mermaid_name(name: str) -> str:
    """Declared names begin with a lower-case letter, so an S_ prefix cannot clash with another state."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"S_{plain}" if plain in MERMAID_WORDS else plain


def _mermaid_text(events: Sequence[str]) -> str:
    """Mermaid cannot quote labels; characters that could end one become '_'."""
    text = " | ".join(events)
    return "".join(char if char.isalnum() or char in " ._-|" else "_" for char in text)


def _by_kind(machine: Machine) -> list[tuple[str, list[str]]]:
    found = ((kind, [s.name for s in machine.states if s.kind == kind]) for kind in KINDS)
    return [(kind, names) for kind, names in found if names]


def to_dot(machine: Machine) -> str:
    """A graph for Graphviz; the docs are its tooltips."""
    lines = [
        f"digraph {_dot_quote(machine.name)} {{",
        "    rankdir=TB;",
        '    node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        '    edge [fontname="monospace", fontsize=9];',
        '    "" [shape=point];',
    ]
    for state in machine.states:
        fill, rim = FLAT_COLOURS[state.kind]
        ends = ", peripheries=2" if state.kind == "terminal" else ""
        look = f"fillcolor={_dot_quote(fill)}, color={_dot_quote(rim)}{ends}"
        lines.append(f"    {_dot_quote(state.name)} [{look}, tooltip={_dot_quote(state.doc)}];")
    lines.append(f'    "" -> {_dot_quote(machine.initial)};')
    for edge in machine.edges:
        ends = f"{_dot_quote(edge.source)} -> {_dot_quote(edge.to)}"
        lines.append(f"    {ends} [label={_dot_quote(chr(10).join(edge.on))}];")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_quote(text: str) -> str:
    safe = _printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + safe.replace("\n", "\\n") + '"'


# The picture

LIGHT = {
    "page": "#ffffff", "ink": "#111827", "faint": "#4b5563", "line": "#64748b",
    "fault": "#b42318", "again": "#1d4ed8", "taken": "#0f766e",
    "ready": "#e3edff", "running": "#fff1cf", "suspended": "#f1e7ff", "failed": "#ffe4e0",
    "terminal": "#e8ebf0",
    "ready-rim": "#2f62c9", "running-rim": "#a86a0a", "suspended-rim": "#7443c4",
    "failed-rim": "#c22f2f", "terminal-rim": "#4b5563",
}  # fmt: skip
DARK = {
    "page": "#0f141b", "ink": "#f3f4f6", "faint": "#b6bfcc", "line": "#8492a6",
    "fault": "#ff8a80", "again": "#8fb4ff", "taken": "#4fd1c0",
    "ready": "#16274a", "running": "#3d2c07", "suspended": "#2e1d52", "failed": "#4a1613",
    "terminal": "#262d38",
    "ready-rim": "#6f9bff", "running-rim": "#e0a63a", "suspended-rim": "#b08cff",
    "failed-rim": "#ff7b72", "terminal-rim": "#9aa5b5",
}  # fmt: skip


def _colours(theme: Mapping[str, str], within: str = "") -> str:
    rules = [
        f".sw-machine .sw-page,.sw-machine .sw-halo{{fill:{theme['page']}}}",
        f".sw-machine text{{fill:{theme['ink']}}}",
        f".sw-machine .sw-label,.sw-machine .sw-kind{{fill:{theme['faint']}}}",
        f".sw-machine .sw-dot{{fill:{theme['ink']}}}",
        f".sw-machine .sw-ring{{stroke:{theme['taken']}}}",
    ]
    for name, colour in (
        ("edge", "line"),
        ("fault", "fault"),
        ("again", "again"),
        ("taken", "taken"),
    ):
        rules.append(f".sw-machine .sw-{name} .sw-line{{stroke:{theme[colour]}}}")
        rules.append(f".sw-machine .sw-{name} .sw-head{{fill:{theme[colour]}}}")
    rules += [
        f".sw-machine .sw-{kind} .sw-box{{fill:{theme[kind]};stroke:{theme[kind + '-rim']}}}"
        for kind in KINDS
    ]
    rules.append(f".sw-machine .sw-next .sw-box{{stroke:{theme['taken']}}}")
    return "".join(_within(within, rule) for rule in rules)


def _within(selector: str, rule: str) -> str:
    """A rule that holds only inside of a selector."""
    if not selector:
        return rule
    names, brace, body = rule.partition("{")
    return ",".join(f"{selector} {name}" for name in names.split(",")) + brace + body


_SHAPES = (
    ".sw-machine text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
    "'Liberation Mono',monospace;font-size:13px;text-anchor:middle}"
    ".sw-machine .sw-label{font-size:11px}.sw-machine .sw-kind{font-size:10px}"
    ".sw-machine .sw-start{text-anchor:start}"
    ".sw-machine .sw-line{fill:none;stroke-width:1.4}"
    ".sw-machine .sw-box{stroke-width:1.4}.sw-machine .sw-terminal .sw-box{stroke-width:3}"
    ".sw-machine .sw-suspended .sw-box{stroke-dasharray:6 3}"
    ".sw-machine .sw-again .sw-line{stroke-dasharray:5 4}"
    ".sw-machine .sw-taken .sw-line{stroke-width:3;stroke-dasharray:none}"
    ".sw-machine .sw-visited .sw-box{stroke-width:3}"
    ".sw-machine .sw-ring{fill:none;stroke-width:3}"
    ".sw-machine .sw-present .sw-name{font-weight:bold}"
    ".sw-machine .sw-next .sw-box{stroke-width:2;stroke-dasharray:2 3}"
)
STYLE = _SHAPES + _colours(LIGHT) + "@media (prefers-color-scheme:dark){" + _colours(DARK) + "}"


def stylesheet(*, dark_within: str) -> str:
    """`STYLE` for a page that sets its theme itself: dark inside of this selector."""
    return _SHAPES + _colours(LIGHT) + _colours(DARK, dark_within)


def to_svg(
    machine: Machine,
    *,
    path: Sequence[str] = (),
    present: str | None = None,
    following: Collection[str] = (),
    is_styled: bool = True,
) -> str:
    """The machine as a picture that follows the reader's light or dark theme; no script in it.

    Args:
        machine: What to draw.
        path: The statuses that a record went through, in order; these edges are drawn heavier.
        present: The status it has now.
        following: The statuses that may come next.
        is_styled: Whether `STYLE` is inside. A page whose content policy forbids that puts `STYLE`
            into its own sheet instead.
    """
    drawing = layout(machine)
    visited = set(path[-PATH_MAX:])
    taken = set(pairwise(path[-PATH_MAX:]))
    looks = dict.fromkeys(following, "sw-next")
    for name in visited:
        looks[name] = f"sw-visited {looks.get(name, '')}".strip()
    if present is not None:
        looks[present] = "sw-visited sw-present" if present in visited else "sw-present"
    legend, legend_height = _legend(machine, drawing, has_path=bool(path))
    size = f"{drawing.width:g}", f"{drawing.height + legend_height:g}"
    title = _text(f"{machine.name}, version {machine.version}. {machine.doc}")
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sw-machine" role="group" '
            f'width="{size[0]}" height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}">\n',
            f"<title>{title}</title>\n",
            f"<style>{STYLE}</style>\n" if is_styled else "",
            f'<rect class="sw-page" width="{size[0]}" height="{size[1]}"/>\n',
            *(
                _edge(machine, line, is_taken=(line.edge.source, line.edge.to) in taken)
                for line in drawing.lines
            ),
            _start_marker(drawing.boxes[machine.initial]),
            *(
                _state(machine, name, box, look=looks.get(name, ""), is_present=name == present)
                for name, box in drawing.boxes.items()
            ),
            legend,
            "</svg>\n",
        ]
    )


def _edge(machine: Machine, line: EdgeLine, *, is_taken: bool) -> str:
    edge, label = line.edge, line.label
    look = ["sw-edge", *_edge_classes(machine, edge)]
    if is_taken:
        look.append("sw-taken")
    ys = (label.y + LINE_HEIGHT * (at + 0.75) for at in count())
    rows = "".join(
        f'<tspan x="{label.middle:g}" y="{y:g}">{_text(text)}</tspan>'
        for y, text in zip(ys, label_lines(edge), strict=False)
    )
    title = f"{edge.source} to {edge.to}, on {', '.join(edge.on)}"
    return (
        f'<g class="{" ".join(look)}" role="img"><title>{_text(title)}</title>'
        f'<path class="sw-line" d="{_rounded_path(line.points)}"/>'
        f'<path class="sw-head" d="{_arrow(*line.points[-2:])}"/>'
        f'<rect class="sw-halo" x="{label.x - 2:g}" y="{label.y:g}" '
        f'width="{label.width + 4:g}" height="{label.height:g}"/>'
        f'<text class="sw-label">{rows}</text></g>\n'
    )


def _edge_classes(machine: Machine, edge: Edge) -> list[str]:
    """The classes of an edge that is a failure or a retry."""
    source, to = machine.kind[edge.source], machine.kind[edge.to]
    if to == "failed" and source != "terminal":
        return ["sw-fault"]
    return ["sw-again"] if source == "failed" and to != "terminal" else []


def _rounded_path(points: Sequence[Point]) -> str:
    """A path through the points with its corners rounded off."""
    parts = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(CORNER, _distance(before, corner) / 2, _distance(corner, after) / 2)
        near, far = _towards(corner, before, radius), _towards(corner, after, radius)
        parts.append(f"L{near[0]:g} {near[1]:g}")
        parts.append(f"Q{corner[0]:g} {corner[1]:g} {far[0]:g} {far[1]:g}")
    end = _towards(points[-1], points[-2], ARROW / 2)
    return " ".join([*parts, f"L{end[0]:g} {end[1]:g}"])


def _arrow(before: Point, tip: Point) -> str:
    """An arrow head along the last segment of the line, which is horizontal or vertical."""
    (x, y), (foot_x, foot_y) = tip, _towards(tip, before, ARROW)
    half = ARROW / 2
    if foot_y == y:
        return f"M{x:g} {y:g}L{foot_x:g} {y - half:g}L{foot_x:g} {y + half:g}Z"
    return f"M{x:g} {y:g}L{x - half:g} {foot_y:g}L{x + half:g} {foot_y:g}Z"


def _distance(one: Point, other: Point) -> float:
    return hypot(other[0] - one[0], other[1] - one[1])


def _towards(start: Point, end: Point, step: float) -> Point:
    """The point at distance `step` from the start on the horizontal or vertical line to the end."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    if abs(dx) > abs(dy):
        return round(start[0] + copysign(step, dx), 2), start[1]
    return start[0], round(start[1] + copysign(step, dy), 2)


def _start_marker(box: Box) -> str:
    """The dot before the initial state."""
    x, y = box.middle, box.y - GAP + ARROW
    return (
        f'<g class="sw-edge" role="img"><title>Records begin here</title>'
        f'<circle class="sw-dot" cx="{x:g}" cy="{y:g}" r="4.5"/>'
        f'<path class="sw-line" d="M{x:g} {y:g}L{x:g} {box.y - 4:g}"/>'
        f'<path class="sw-head" d="{_arrow((x, y), (x, box.y))}"/></g>\n'
    )


def _state(machine: Machine, name: str, box: Box, *, look: str, is_present: bool) -> str:
    state = machine.state[name]
    look = f"sw-state sw-{state.kind} {look}".strip()
    now = ", where the record is now" if is_present else ""
    title = f"{name} ({state.kind}{now}){': ' if state.doc else ''}{state.doc}"
    names = "".join(
        f'<text class="sw-name" x="{box.middle:g}" y="{y:g}">{_text(name)}</text>'
        f'<text class="sw-kind" x="{box.middle:g}" y="{y + 14:g}">{state.kind}</text>'
        for y in _name_places(box)
    )
    ring = (
        f'<rect class="sw-ring" x="{box.x + RING:g}" y="{box.y + RING:g}" '
        f'width="{box.width - 2 * RING:g}" height="{box.height - 2 * RING:g}" rx="5"/>'
    )
    return (
        f'<g class="{look}" role="img"><title>{_text(title)}</title>'
        f'<rect class="sw-box" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" '
        f'height="{box.height:g}" rx="9"/>{ring if is_present else ""}{names}</g>\n'
    )


def _name_places(box: Box) -> list[float]:
    """The name once in the middle; along a bar as long as a page, repeatedly."""
    times = max(1, round(box.height / BAR_NAME_EVERY))
    return [box.y + box.height * (2 * at + 1) / (2 * times) - 2 for at in range(times)]


def _legend(machine: Machine, drawing: Drawing, *, has_path: bool) -> tuple[str, float]:
    """The legend of colours and lines, and its height."""
    samples = [(kind, f"sw-{kind}", BOX_SAMPLE) for kind, _ in _by_kind(machine)]
    meanings = {name for edge in machine.edges for name in _edge_classes(machine, edge)}
    meanings |= {"sw-taken"} if has_path else set()
    samples += [
        (words, f"sw-edge {look}", LINE_SAMPLE)
        for look, words in LEGEND.items()
        if look in meanings
    ]
    items: list[str] = []
    x, y = float(MARGIN), drawing.height
    for words, look, sample in samples:
        width = len(words) * LABEL_CHAR + 46
        if x + width > drawing.width and x > MARGIN:
            x, y = float(MARGIN), y + 22
        items.append(
            f'<g class="{look}" transform="translate({x:g} {y:g})">{sample}'
            f'<text class="sw-label sw-start" x="28" y="10">{words}</text></g>\n'
        )
        x += width
    return "".join(items), y - drawing.height + 14 + MARGIN


def _text(text: str) -> str:
    return escape(_printable(text), quote=True)


def _printable(text: str) -> str:
    """The text without what XML cannot contain: control characters and lone surrogates."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
