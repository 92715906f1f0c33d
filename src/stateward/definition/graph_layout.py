"""The layout of a state graph: coordinates of states, edges and labels. `definition.draw` makes the picture of it.

The layout is made for this kind of graph. The intended path of records (the *spine*) runs down the middle; states off
that path are in a column to its left (*aside*); the one or two states that half of the machine leads to or from become
*bars* along the sides, so that each such transition is a short straight line. Every state has a row of its own, so that
a line that leaves a box sideways meets no other box. Labels have zones of their own beside the boxes, and vertical
lines stay out of those. Therefore boxes and labels never overlap, whatever the machine; only lines may cross lines.

Coordinates only: this module must never write markup.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from stateward.core.machine import Edge, Machine

Side: TypeAlias = Literal["left", "right"]
Point: TypeAlias = tuple[float, float]

SIDES: tuple[Side, ...] = ("left", "right")

# The font is monospaced, so that the space a text needs is known without measuring it. All sizes are in pixels.
NAME_CHAR, LABEL_CHAR = 7.9, 6.7
LABEL_CHARS_MAX, LABEL_LINES_MAX = 40, 6
LINE_HEIGHT, SLOT_PADDING, LINE_GAP = 14, 10, 7
BOX_WIDTH_MIN, BOX_HEIGHT, BOX_PADDING = 128, 46, 16
GAP, MARGIN, BAR_GAP, ZONE_PADDING = 30, 24, 26, 20
TRACK, PORT, PORTS_MAX = 14, 16, 4
ARROW = 8
BAR_NEIGHBOURS_MIN = 3  # fewer neighbours than this are easier to follow as ordinary lines
# Every placement is laid out and costed, which a very large machine cannot afford.
PLACEMENTS_MAX = 400

# How much a state of each kind adds to a path's claim to be the spine, and how hard each shape of line is to follow.
WORTH = {"ready": 2, "running": 2, "terminal": 1, "suspended": -1, "failed": -4}
CORNERS = {"straight": 0, "bend": 1, "detour": 4}


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A rectangle: a state, or the place of a label."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower side."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class EdgeLine(msgspec.Struct, frozen=True, kw_only=True):
    """An edge: the corners it turns at, and the place of its label."""

    edge: Edge
    points: tuple[Point, ...]
    label: Box


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """The finished layout. Boxes and labels never overlap; lines run through neither."""

    width: float
    height: float
    boxes: dict[str, Box]
    lines: tuple[EdgeLine, ...]


def layout(machine: Machine) -> Drawing:
    """Find a place for every state and every edge."""
    plan = _plan(machine)
    return _Geometry(plan, _edge_paths(machine, plan)).drawing()


class _Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The role of each state; `rows` holds spine and side column, from top to bottom."""

    spine: tuple[str, ...]
    left: str | None
    right: str | None
    rows: tuple[str, ...]

    @cached_property
    def row(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.rows)}

    @cached_property
    def aside(self) -> tuple[str, ...]:
        """The side column."""
        return tuple(name for name in self.rows if name not in self.spine)

    def bar(self, name: str) -> Side | None:
        """The edge of the picture along which the state is a bar."""
        if name == self.left:
            return "left"
        return "right" if name == self.right else None

    def span(self, edge: Edge) -> tuple[int, int]:
        """The rows that the edge joins, the upper one first."""
        ends = self.row[edge.source], self.row[edge.to]
        return min(ends), max(ends)

    def is_clear(self, edge: Edge, column: Sequence[str]) -> bool:
        """Whether no state of that column stands in a row between the ends of the edge."""
        low, high = self.span(edge)
        return not any(name in column for name in self.rows[low + 1 : high])


def _plan(machine: Machine) -> _Plan:
    spine = _spine(machine)
    left, right = _bars(machine, spine)
    rows = _by_rank(machine, spine, {left, right})
    plan = _Plan(spine=spine, left=left, right=right, rows=rows)
    if len(plan.aside) * len(rows) > PLACEMENTS_MAX:
        return plan
    for name in plan.aside:
        plan = min(_placements(plan, name), key=lambda plan: _cost(machine, plan))
    return plan


def _spine(machine: Machine) -> tuple[str, ...]:
    """The path forward from the initial state that scores best: long, through work, not through failures."""
    best: dict[str, tuple[int, tuple[str, ...]]] = {}
    # States are declared in the order in which records meet them: going backwards, all that follows is scored already.
    for state in reversed(machine.states):
        ahead = [best[to] for to in machine.allowed_from(state.name) if to in best]
        worth, path = max(ahead, key=lambda found: found[0], default=(0, ()))
        if worth <= 0:
            worth, path = 0, ()
        best[state.name] = (WORTH[state.kind] + worth, (state.name, *path))
    return best[machine.initial][1]


def _bars(machine: Machine, spine: Sequence[str]) -> tuple[str | None, str | None]:
    """Left, what has many neighbours on the spine; right, the failed state that has most."""
    count = {
        state.name: len(_neighbours(machine, state.name) & set(spine))
        for state in machine.states
        if state.name not in spine and (state.name, state.name) not in machine.pairs
    }
    failed = [name for name in count if machine.kind[name] == "failed" and count[name]]
    right = max(failed, key=count.__getitem__, default=None)
    crowded = [name for name in count if name != right and count[name] >= BAR_NEIGHBOURS_MIN]
    return max(crowded, key=count.__getitem__, default=None), right


def _neighbours(machine: Machine, name: str) -> set[str]:
    after = {to for source, to in machine.pairs if source == name}
    return after | {source for source, to in machine.pairs if to == name}


def _by_rank(
    machine: Machine, spine: Sequence[str], bars: Container[str | None]
) -> tuple[str, ...]:
    """States by the longest path forward that leads to them; imported ones come before the first."""
    states = sorted(machine.states, key=lambda state: not state.is_imported)
    names = [state.name for state in states if state.name not in bars]
    place = {name: at for at, name in enumerate(names)}
    rank = dict.fromkeys(names, 0)
    for name in names:
        for to in machine.allowed_from(name):
            if place.get(to, -1) > place[name]:
                rank[to] = max(rank[to], rank[name] + 1)
    return tuple(sorted(names, key=lambda name: (rank[name], name not in spine, place[name])))


def _placements(plan: _Plan, name: str) -> Iterator[_Plan]:
    """The plan as it is, then with one state of the side column in every row."""
    yield plan
    others = [other for other in plan.rows if other != name]
    for at in range(len(plan.rows)):
        yield replace(plan, rows=(*others[:at], name, *others[at:]))


def _cost(machine: Machine, plan: _Plan) -> int:
    """How hard the picture is to read: length of lines, corners, crossings, and lines that go up the page."""
    paths = _edge_paths(machine, plan)
    lanes = [
        plan.row.get(path.edge.source, plan.row.get(path.edge.to, 0))
        for path in paths
        if path.shape == "across" and path.side == "left"
    ]
    cost = 0
    for path in (path for path in paths if path.shape not in ("across", "under")):
        low, high = plan.span(path.edge)
        is_beside = path.edge.source in plan.aside or path.edge.to in plan.aside
        crossed = sum(low < lane < high for lane in lanes) if is_beside else 0
        is_upward = plan.row[path.edge.source] > plan.row[path.edge.to]
        cost += high - low + 2 * (CORNERS[path.shape] + crossed + is_upward)
    return cost


# The shape of each edge


class _EdgePath(msgspec.Struct, frozen=True, kw_only=True):
    """The shape of the line of an edge.

    straight: down its column. across: from a box to a bar. under: from bar to bar. bend: between
    spine and side column, with one corner. detour: out to a vertical track, and back.
    """

    edge: Edge
    shape: Literal["straight", "across", "under", "bend", "detour"]
    side: Side = "left"
    port: int = 0


def _edge_paths(machine: Machine, plan: _Plan) -> list[_EdgePath]:
    paths = _with_ports(plan, [_edge_path(plan, edge) for edge in machine.edges])
    return [_to_the_freer_side(plan, path, paths) for path in paths]


def _edge_path(plan: _Plan, edge: Edge) -> _EdgePath:
    bars = [side for name in (edge.source, edge.to) if (side := plan.bar(name))]
    if bars:
        return _EdgePath(edge=edge, shape="across" if len(bars) == 1 else "under", side=bars[0])
    if (edge.source in plan.spine) != (edge.to in plan.spine):
        is_clear = plan.is_clear(edge, plan.aside)
        return _EdgePath(edge=edge, shape="bend" if is_clear else "detour")
    column = plan.spine if edge.source in plan.spine else plan.aside
    is_down = plan.row[edge.source] < plan.row[edge.to]
    is_clear = is_down and plan.is_clear(edge, column)
    return _EdgePath(edge=edge, shape="straight" if is_clear else "detour")


def _with_ports(plan: _Plan, paths: Sequence[_EdgePath]) -> list[_EdgePath]:
    """Lines that pass the same rows of the side column get a port (an x offset) each; if none is free, they detour."""
    taken = [
        (*plan.span(path.edge), 0)
        for path in paths
        if path.shape == "straight" and path.edge.source in plan.aside
    ]
    ported: dict[Edge, _EdgePath] = {}
    bends = [path for path in paths if path.shape == "bend"]
    # The longest first: they conflict with most others, and the first port is the one that needs no offset.
    for path in sorted(bends, key=lambda path: _length(plan, path), reverse=True):
        low, high = plan.span(path.edge)
        used = {port for start, end, port in taken if max(low, start) < min(high, end)}
        free = next((port for port in range(PORTS_MAX) if port not in used), None)
        if free is None:
            ported[path.edge] = replace(path, shape="detour")
        else:
            ported[path.edge] = replace(path, port=free)
            taken.append((low, high, free))
    return [ported.get(path.edge, path) for path in paths]


def _length(plan: _Plan, path: _EdgePath) -> int:
    low, high = plan.span(path.edge)
    return high - low


def _to_the_freer_side(plan: _Plan, path: _EdgePath, paths: Iterable[_EdgePath]) -> _EdgePath:
    ends = {path.edge.source, path.edge.to}
    if path.shape != "detour" or not ends <= set(plan.spine):
        return path
    busy = {"left": 0, "right": 0}
    for other in paths:
        if other.shape in ("across", "bend") and ends & {other.edge.source, other.edge.to}:
            busy[other.side] += 1
    return replace(path, side="left" if busy["left"] < busy["right"] else "right")


# Places on the sides of boxes


class _Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A place on the side of a box where an edge leaves or enters; one of them has the label."""

    edge: Edge
    box: str
    side: Side
    order: tuple[int, int] = (0, 0)
    is_labelled: bool = True

    @property
    def height(self) -> float:
        return _label_size(self.edge)[1] + SLOT_PADDING if self.is_labelled else LINE_HEIGHT


def _slots(plan: _Plan, paths: Iterable[_EdgePath]) -> Iterator[_Slot]:
    for path in paths:
        edge, side = path.edge, path.side
        if path.shape == "across":
            box = edge.source if plan.bar(edge.to) else edge.to
            yield _Slot(edge=edge, box=box, side=side)
        elif path.shape == "bend":
            box, far = (edge.source, edge.to)[:: 1 if edge.source in plan.spine else -1]
            yield _Slot(edge=edge, box=box, side=side, order=_order(plan, box, far))
        elif path.shape == "detour":
            out, back = _order(plan, edge.source, edge.to), _order(plan, edge.to, edge.source)
            yield _Slot(edge=edge, box=edge.source, side=side, order=out)
            yield _Slot(edge=edge, box=edge.to, side=side, order=back, is_labelled=False)


def _order(plan: _Plan, box: str, far: str) -> tuple[int, int]:
    """From the top: edges that go up, short ones first; level ones; the others, long first."""
    rise = plan.row[box] - plan.row[far]
    return (rise < 0) - (rise > 0), rise


def _tracks(plan: _Plan, paths: Iterable[_EdgePath], side: Side) -> dict[Edge, int]:
    """The vertical track of each detour; those that share a row have different ones."""
    detours = [path for path in paths if path.shape == "detour" and path.side == side]
    tracks: dict[Edge, int] = {}
    for path in sorted(detours, key=lambda path: _length(plan, path)):
        low, high = plan.span(path.edge)
        used = {
            track
            for edge, track in tracks.items()
            if max(low, plan.span(edge)[0]) <= min(high, plan.span(edge)[1])
        }
        tracks[path.edge] = min(set(range(len(used) + 1)) - used)
    return tracks


# Coordinates


class _Geometry:
    """Turns shapes into coordinates: rows and their slots give y, bands side by side give x."""

    def __init__(self, plan: _Plan, paths: Sequence[_EdgePath]) -> None:
        self._plan = plan
        self._edge_paths = paths
        self._slots = list(_slots(plan, paths))
        self._tracks: dict[Side, dict[Edge, int]] = {
            "left": _tracks(plan, paths, "left"),
            "right": _tracks(plan, paths, "right"),
        }
        self._y: dict[tuple[Edge, bool], float] = {}
        rows, bottom = self._rows()
        self._bands = self._columns()
        self._boxes = {name: self._box(name, *rows[name]) for name in plan.rows}
        self._level_unders(bottom)
        for side, name in (("left", plan.left), ("right", plan.right)):
            if name is not None:
                self._boxes[name] = self._bar(name, self._bands[f"{side} bar"])

    def drawing(self) -> Drawing:
        lines = tuple(self._line(path) for path in self._edge_paths)
        width = max(band.right for band in self._bands.values()) + MARGIN
        height = max(box.bottom for box in self._boxes.values()) + MARGIN
        return Drawing(width=width, height=height, boxes=self._boxes, lines=lines)

    # Down the page

    def _rows(self) -> tuple[dict[str, tuple[float, float]], float]:
        """The top and the height of each box, and where the rows end."""
        rows: dict[str, tuple[float, float]] = {}
        y = float(MARGIN + GAP)
        for names in self._shared_rows():
            height = max(self._box_height(name) for name in names)
            for name in names:
                own = self._box_height(name)
                rows[name] = y + (height - own) / 2, own
                for side in SIDES:
                    self._stack(self._beside(name, side), middle=y + height / 2)
            y += height + max(self._gap_below(name) for name in names)
        return rows, y

    def _shared_rows(self) -> list[list[str]]:
        """Two neighbours share a row if nothing has to pass between them."""
        rows: list[list[str]] = []
        for name in self._plan.rows:
            if rows and len(rows[-1]) == 1 and self._may_share(rows[-1][0], name):
                rows[-1].append(name)
            else:
                rows.append([name])
        return rows

    def _may_share(self, one: str, other: str) -> bool:
        aside, spine = (one, other) if other in self._plan.spine else (other, one)
        is_one_of_each = aside in self._plan.aside and spine in self._plan.spine
        return is_one_of_each and not (self._beside(aside, "right") or self._beside(spine, "left"))

    def _beside(self, name: str, side: Side) -> list[_Slot]:
        return [slot for slot in self._slots if (slot.box, slot.side) == (name, side)]

    def _box_height(self, name: str) -> float:
        stacks = [sum(slot.height for slot in self._beside(name, side)) for side in SIDES]
        return max(BOX_HEIGHT, *stacks)

    def _stack(self, slots: Sequence[_Slot], *, middle: float) -> None:
        y = middle - sum(slot.height for slot in slots) / 2
        for slot in sorted(slots, key=lambda slot: slot.order):
            self._y[slot.edge, slot.is_labelled] = y + slot.height / 2
            y += slot.height

    def _gap_below(self, name: str) -> float:
        """Space for the label of the line that goes straight down from here."""
        labels = [_label_size(edge)[1] for edge in self._straights([name])]
        return max([GAP, *(height + 2 * ARROW for height in labels)])

    def _straights(self, names: Sequence[str]) -> list[Edge]:
        return [
            path.edge
            for path in self._edge_paths
            if path.shape == "straight" and path.edge.source in names
        ]

    def _level_unders(self, y: float) -> None:
        for path in self._edge_paths:
            if path.shape == "under":
                height = _label_size(path.edge)[1] + SLOT_PADDING
                self._y[path.edge, True] = y + height / 2
                y += height

    # Across the page

    def _columns(self) -> dict[str, Box]:
        """Bands from left to right; a band that nothing needs has no width."""
        plan = self._plan
        spine, aside = _box_width(plan.spine), _box_width(plan.aside)
        outer = [*self._label_widths(plan.aside, "left"), *self._overhang(plan.aside, aside)]
        middle = [*self._label_widths(plan.spine, "left"), *self._label_widths(plan.aside, "right")]
        right = [*self._label_widths(plan.spine, "right"), *self._overhang(plan.spine, spine)]
        widths = {
            "left bar": _box_width([plan.left] if plan.left else []),
            "left gap": BAR_GAP if plan.left else 0,
            "left tracks": self._track_width("left"),
            "outer zone": max([*outer, 2 * ARROW if self._tracks["left"] else 0]),
            "aside": aside,
            "middle zone": max([*middle, 2 * ZONE_PADDING if aside else 0]),
            "spine": spine,
            "right zone": max([*right, 0]),
            "right tracks": self._track_width("right"),
            "right gap": BAR_GAP if plan.right else 0,
            "right bar": _box_width([plan.right] if plan.right else []),
        }
        starts = accumulate(widths.values(), initial=float(MARGIN))
        return {
            name: Box(x=x, y=0, width=width, height=0)
            for (name, width), x in zip(widths.items(), starts, strict=False)
        }

    def _label_widths(self, column: Sequence[str], side: Side) -> list[float]:
        """The widths of the labels on this side of the column."""
        return [
            _label_size(slot.edge)[0] + 2 * ZONE_PADDING
            for slot in self._slots
            if slot.box in column and slot.side == side and slot.is_labelled
        ]

    def _overhang(self, names: Sequence[str], width: float) -> list[float]:
        """How far labels beside straight lines reach out of their column."""
        labels = [_label_size(edge)[0] for edge in self._straights(names)]
        return [label + LINE_GAP + ZONE_PADDING - width / 2 for label in labels]

    def _track_width(self, side: Side) -> float:
        return TRACK * (max(self._tracks[side].values(), default=-1) + 1)

    # Boxes and lines

    def _box(self, name: str, y: float, height: float) -> Box:
        band = self._bands["spine" if name in self._plan.spine else "aside"]
        return Box(x=band.x, y=y, width=band.width, height=height)

    def _bar(self, name: str, band: Box) -> Box:
        ys = [
            self._y[path.edge, True]
            for path in self._edge_paths
            if name in (path.edge.source, path.edge.to) and (path.edge, True) in self._y
        ]
        top, bottom = min(ys) - BOX_HEIGHT / 2, max(ys) + BOX_HEIGHT / 2
        return Box(x=band.x, y=top, width=band.width, height=bottom - top)

    def _line(self, path: _EdgePath) -> EdgeLine:
        points = {
            "straight": self._straight,
            "across": self._level,
            "under": self._level,
            "bend": self._bend,
            "detour": self._detour,
        }[path.shape](path)
        return EdgeLine(edge=path.edge, points=tuple(points), label=self._label(path, points))

    def _straight(self, path: _EdgePath) -> list[Point]:
        source, to = self._boxes[path.edge.source], self._boxes[path.edge.to]
        return [(source.middle, source.bottom), (to.middle, to.y)]

    def _level(self, path: _EdgePath) -> list[Point]:
        source, to = self._boxes[path.edge.source], self._boxes[path.edge.to]
        y = self._y[path.edge, True]
        if source.x < to.x:
            return [(source.right, y), (to.x, y)]
        return [(source.x, y), (to.right, y)]

    def _bend(self, path: _EdgePath) -> list[Point]:
        is_out = path.edge.source in self._plan.spine
        spine = self._boxes[path.edge.source if is_out else path.edge.to]
        aside = self._boxes[path.edge.to if is_out else path.edge.source]
        x, y = aside.middle + PORT * path.port, self._y[path.edge, True]
        points = [(spine.x, y), (x, y), (x, aside.bottom if aside.y < y else aside.y)]
        return points if is_out else points[::-1]

    def _detour(self, path: _EdgePath) -> list[Point]:
        source, to = self._boxes[path.edge.source], self._boxes[path.edge.to]
        out, back = self._y[path.edge, True], self._y[path.edge, False]
        offset = TRACK * (self._tracks[path.side][path.edge] + 0.5)
        if path.side == "left":
            x = self._bands["left tracks"].right - offset
            return [(source.x, out), (x, out), (x, back), (to.x, back)]
        x = self._bands["right tracks"].x + offset
        return [(source.right, out), (x, out), (x, back), (to.right, back)]

    def _label(self, path: _EdgePath, points: Sequence[Point]) -> Box:
        width, height = _label_size(path.edge)
        if path.shape == "straight":
            ((x, y), _) = points
            is_spine = path.edge.source in self._plan.spine
            left = x + LINE_GAP if is_spine else x - LINE_GAP - width
            return Box(x=left, y=y + ARROW - 2, width=width, height=height)
        middle = self._bands["spine" if path.shape == "under" else self._zone(path)].middle
        y = self._y[path.edge, True]
        return Box(x=middle - width / 2, y=y - height / 2, width=width, height=height)

    def _zone(self, path: _EdgePath) -> str:
        slot = next(slot for slot in self._slots if slot.edge == path.edge and slot.is_labelled)
        if slot.box in self._plan.spine:
            return "middle zone" if slot.side == "left" else "right zone"
        return "outer zone" if slot.side == "left" else "middle zone"


def _box_width(names: Sequence[str]) -> float:
    if not names:
        return 0
    return max(BOX_WIDTH_MIN, *(len(name) * NAME_CHAR + 2 * BOX_PADDING for name in names))


def _label_size(edge: Edge) -> tuple[float, float]:
    lines = label_lines(edge)
    return max(len(line) for line in lines) * LABEL_CHAR, len(lines) * LINE_HEIGHT


def label_lines(edge: Edge) -> list[str]:
    """One event a line, cut to what a picture can hold; the title of the edge has all of it."""
    events = [" ".join(event.split()) for event in edge.on]
    lines = [e if len(e) <= LABEL_CHARS_MAX else e[: LABEL_CHARS_MAX - 1] + "…" for e in events]
    if len(lines) <= LABEL_LINES_MAX:
        return lines
    return [*lines[: LABEL_LINES_MAX - 1], f"and {len(lines) - LABEL_LINES_MAX + 1} more"]
