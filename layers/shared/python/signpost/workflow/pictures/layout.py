"""Lay out the drawing of a graph: boxes in rows, the labels of their arrows in rows between them, and lines.

Rows of nodes and rows of labels alternate. An arrow to the next row goes down through its label. Any other arrow goes
around the rows, on the left if it skips rows and on the right if it leads back, in a lane that it shares with all
arrows to the same node. So in every graph no two boxes or labels overlap, and no line crosses a box or a label.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass

type Point = tuple[float, float]
type Route = Sequence[Point]
"""The corners of a line. Where two corners differ in both directions, a curve that is vertical at its ends connects
them."""

SWEEPS = 8
BOX_GAP = 22
"""The distance between two boxes of a row."""
MARGIN = 20
TRACK_HEIGHT, LANE_WIDTH = 9, 10
ABOVE_A_NODE, BELOW_A_ROW = 30, 12
CURVE_HEIGHT = 24
MAX_STEEPNESS, MAX_SLANT_ROOM = 12, 60
"""A gap that lines cross at a slant is higher the further they go sideways, up to a limit."""


@dataclass(frozen=True, slots=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def right(self) -> float:
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class LayoutLink:
    source: str
    target: str
    label: Size


@dataclass(frozen=True, slots=True)
class Layout:
    width: float
    height: float
    nodes: Mapping[str, Box]
    labels: Sequence[Box]
    """In the order of the links."""
    routes: Sequence[tuple[Route, Route]]
    """For each link the route to its label and the route from its label."""
    entry: Point
    """The middle of the dot above the first node that marks the start."""


def build_layout(first: str, nodes: Mapping[str, Size], links: Sequence[LayoutLink], *, top: float = 0) -> Layout:
    """Lay out nodes and links, with `top` kept free above them. No link may lead from a node to itself."""
    rows = _Rows(nodes, links, rank_nodes(first, list(nodes), [(link.source, link.target) for link in links]))
    rows.put_in_order()
    rows.put_in_place()
    return _LineRouter(first, rows).route_lines(top)


def rank_nodes(first: str, names: Sequence[str], arrows: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """Return the row of each node: below all nodes with an arrow to it, except arrows that lead back."""
    targets_of: dict[str, list[str]] = {name: [] for name in names}
    for source, target in arrows:
        targets_of[source].append(target)
    finished, back_arrows = _walk_depth_first([first, *names], targets_of)
    ranks = dict.fromkeys(names, 0)
    has_source = {first}
    for name in reversed(finished):
        for target in targets_of[name]:
            if (name, target) not in back_arrows:
                ranks[target] = max(ranks[target], ranks[name] + 1)
                has_source.add(target)
    for name in names:
        target_ranks = [ranks[target] for target in targets_of[name] if (name, target) not in back_arrows]
        if name not in has_source and target_ranks:
            ranks[name] = min(target_ranks) - 1  # directly above its targets
    return ranks


def _walk_depth_first(
    names: Iterable[str], targets_of: Mapping[str, Sequence[str]]
) -> tuple[Sequence[str], frozenset[tuple[str, str]]]:
    """Return the names in the order in which the walk leaves them, and the arrows back to a node not yet left."""
    finished, entered, done, back_arrows = list[str](), set[str](), set[str](), set[tuple[str, str]]()
    for start in names:
        if start in entered:
            continue
        entered.add(start)
        stack = [(start, iter(targets_of[start]))]
        while stack:
            name, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                stack.pop()
                done.add(name)
                finished.append(name)
            elif target not in entered:
                entered.add(target)
                stack.append((target, iter(targets_of[target])))
            elif target not in done:
                back_arrows.add((name, target))
    return finished, frozenset(back_arrows)


@dataclass(slots=True)
class _RowItem:
    """A node or the label of a link in a row."""

    size: Size
    middle: float = 0
    above: list["_RowItem"] = field(default_factory=list["_RowItem"])
    below: list["_RowItem"] = field(default_factory=list["_RowItem"])


class _Rows:
    """The items of all rows, their order in the row and their horizontal positions."""

    def __init__(self, nodes: Mapping[str, Size], links: Sequence[LayoutLink], rank: Mapping[str, int]) -> None:
        self.links = links
        self.rank = rank
        self.nodes = {name: _RowItem(size) for name, size in nodes.items()}
        self.labels = [_RowItem(link.label) for link in links]
        self.rows: list[list[_RowItem]] = [[] for _ in range(2 * (max(rank.values()) + 1))]
        for name, item in self.nodes.items():
            self.rows[2 * rank[name]].append(item)
        for link, label in zip(links, self.labels, strict=True):
            source, target = self.nodes[link.source], self.nodes[link.target]
            self.rows[2 * rank[link.source] + 1].append(label)
            label.above.append(source)
            source.below.append(label)
            if self.is_direct(link):
                label.below.append(target)
                target.above.append(label)

    def is_direct(self, link: LayoutLink) -> bool:
        return self.rank[link.target] == self.rank[link.source] + 1

    def put_in_order(self) -> None:
        for row in self.rows:
            _pack(row)
        for sweep in range(SWEEPS):
            is_downwards = sweep % 2 == 0
            for row in self.rows if is_downwards else reversed(self.rows):
                row.sort(key=lambda item: _mean(item.above if is_downwards else item.below, item.middle))
                _pack(row)

    def put_in_place(self) -> None:
        for sweep in range(SWEEPS):
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                desired = [_mean([*item.above, *item.below], item.middle) for item in row]
                for item, middle in zip(row, _spread_apart(desired, [item.size.width for item in row]), strict=True):
                    item.middle = middle


def _mean(items: Sequence[_RowItem], otherwise: float) -> float:
    return sum(item.middle for item in items) / len(items) if items else otherwise


def _pack(row: Sequence[_RowItem]) -> None:
    x = -(sum(item.size.width + BOX_GAP for item in row) - BOX_GAP) / 2
    for item in row:
        item.middle = x + item.size.width / 2
        x += item.size.width + BOX_GAP


def _spread_apart(desired: Sequence[float], widths: Sequence[float]) -> Sequence[float]:
    """Return the positions nearest to the desired ones at which no items overlap, in the same order.

    Items that would overlap are placed side by side around the average of their desired positions.
    """
    offsets, offset = list[float](), 0.0
    for index, width in enumerate(widths):
        offset += (widths[index - 1] + width) / 2 + BOX_GAP if index else 0.0
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []
    for middle, offset in zip(desired, offsets, strict=True):
        total, count = middle - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            before, others = blocks.pop()
            total, count = total + before, count + others
        blocks.append((total, count))
    starts = [total / count for total, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


@dataclass(frozen=True, slots=True)
class _Detour:
    """The lane of all lines that go around the rows to a node on one side."""

    target: str
    is_left: bool


@dataclass(slots=True)
class _LineRouter:
    """Routes lines between placed items. Gap `k` is above the nodes of row `k`, and below the labels before them."""

    first: str
    rows: _Rows
    top_ports: dict[tuple[str, object], float] = field(default_factory=dict[tuple[str, object], float])
    bottom_ports: dict[int, float] = field(default_factory=dict[int, float])
    lanes: dict[_Detour, float] = field(default_factory=dict[_Detour, float])
    tracks: dict[tuple[int, _Detour], int] = field(default_factory=dict[tuple[int, _Detour], int])
    track_counts: dict[int, int] = field(default_factory=dict[int, int])
    gap_tops: list[float] = field(default_factory=list[float])
    node_tops: list[float] = field(default_factory=list[float])
    label_tops: list[float] = field(default_factory=list[float])

    def route_lines(self, top: float) -> Layout:
        self._choose_ports()
        self._choose_tracks()
        height = self._choose_heights(MARGIN + top)
        self._choose_lanes()
        nodes = {name: self._node_box(name) for name in self.rows.nodes}
        labels = [self._label_box(index) for index in range(len(self.rows.links))]
        routes = [(self._route_to_label(index), self._route_from_label(index)) for index in range(len(self.rows.links))]
        x = self.top_ports[self.first, self.first]
        return _shift_layout(height + MARGIN, nodes, labels, routes, (x, nodes[self.first].y - ABOVE_A_NODE * 0.7))

    def _detour_of(self, link: LayoutLink) -> _Detour | None:
        if self.rows.is_direct(link):
            return None
        return _Detour(link.target, is_left=self.rows.rank[link.target] > self.rows.rank[link.source])

    def _exit_gap(self, link: LayoutLink) -> int:
        return self.rows.rank[link.source] + 1

    def _choose_ports(self) -> None:
        """Choose the points at which lines meet a node, in the order of the lines, so that they do not cross there."""
        outgoing: dict[str, list[tuple[float, int]]] = {}
        incoming: dict[str, dict[object, float]] = {self.first: {self.first: self.rows.nodes[self.first].middle}}
        for index, link in enumerate(self.rows.links):
            middle = self.rows.labels[index].middle
            outgoing.setdefault(link.source, []).append((middle, index))
            detour = self._detour_of(link)
            x = middle if detour is None else float("-inf") if detour.is_left else float("inf")
            incoming.setdefault(link.target, {})[index if detour is None else detour] = x
        for name, lines in outgoing.items():
            ports = self._spread_ports(name, [middle for middle, _ in sorted(lines)])
            self.bottom_ports |= {index: port for (_, index), port in zip(sorted(lines), ports, strict=True)}
        for name, ends in incoming.items():
            order = sorted(ends.items(), key=lambda end: end[1])
            ports = self._spread_ports(name, [x for _, x in order])
            self.top_ports |= {(name, end): port for (end, _), port in zip(order, ports, strict=True)}

    def _spread_ports(self, name: str, desired: Sequence[float]) -> Sequence[float]:
        item = self.rows.nodes[name]
        left, width = item.middle - item.size.width / 2, item.size.width
        if len(desired) == 1:
            return [min(max(desired[0], left + 10), left + width - 10)]
        return [left + width * (index + 1) / (len(desired) + 1) for index in range(len(desired))]

    def _choose_tracks(self) -> None:
        """Choose a height of its own in a gap for each line that goes across the gap and would meet another line."""
        spans: dict[int, dict[_Detour, list[float]]] = {}
        for index, link in enumerate(self.rows.links):
            if (detour := self._detour_of(link)) is None:
                continue
            side = float("-inf") if detour.is_left else float("inf")
            exit_gap, entry_gap = self._exit_gap(link), self.rows.rank[link.target]
            spans.setdefault(exit_gap, {}).setdefault(detour, [side]).append(self.rows.labels[index].middle)
            spans.setdefault(entry_gap, {}).setdefault(detour, [side]).append(self.top_ports[link.target, detour])
        for gap, gap_spans in spans.items():
            intervals = [(min(xs), max(xs), detour) for detour, xs in gap_spans.items()]
            chosen = _assign_lines(
                sorted(intervals, key=lambda interval: (interval[0], interval[1], interval[2].target))
            )
            self.tracks |= {(gap, detour): track for detour, track in chosen.items()}
            self.track_counts[gap] = max(chosen.values()) + 1

    def _choose_heights(self, y: float) -> float:
        for rank in range(len(self.rows.rows) // 2):
            nodes, labels = self.rows.rows[2 * rank], self.rows.rows[2 * rank + 1]
            y = self._open_gap(rank, y)
            self.node_tops.append(y)
            y += max((item.size.height for item in nodes), default=0)
            if labels:
                slants = (
                    abs(self.bottom_ports[index] - self.rows.labels[index].middle)
                    for index, link in enumerate(self.rows.links)
                    if self.rows.rank[link.source] == rank
                )
                y += CURVE_HEIGHT + _slant_room(max(slants))
            self.label_tops.append(y)
            y += max((item.size.height for item in labels), default=0)
        self.gap_tops.append(y)
        return y + self._tracks_height(len(self.gap_tops) - 1)

    def _open_gap(self, gap: int, y: float) -> float:
        self.gap_tops.append(y)
        slants = [
            abs(self.top_ports[link.target, index] - self.rows.labels[index].middle)
            for index, link in enumerate(self.rows.links)
            if self.rows.is_direct(link) and self.rows.rank[link.target] == gap
        ]
        return y + self._tracks_height(gap) + ABOVE_A_NODE + _slant_room(max(slants, default=0))

    def _tracks_height(self, gap: int) -> float:
        count = self.track_counts.get(gap, 0)
        return BELOW_A_ROW + TRACK_HEIGHT * count if count else 0

    def _track_y(self, gap: int, detour: _Detour) -> float:
        return self.gap_tops[gap] + BELOW_A_ROW + TRACK_HEIGHT * self.tracks[gap, detour]

    def _choose_lanes(self) -> None:
        """Choose the lanes: short ones next to the nodes, long ones further out."""
        for is_left in (True, False):
            spans: dict[_Detour, list[float]] = {}
            for gap, detour in self.tracks:
                if detour.is_left == is_left:
                    spans.setdefault(detour, []).append(self._track_y(gap, detour))
            intervals = [(min(ys), max(ys), detour) for detour, ys in spans.items()]
            chosen = _assign_lines(
                sorted(intervals, key=lambda interval: (interval[1] - interval[0], interval[0], interval[2].target))
            )
            edge = self._edge(is_left=is_left)
            for detour, lane in chosen.items():
                self.lanes[detour] = edge + (-1 if is_left else 1) * (2 + lane) * LANE_WIDTH

    def _edge(self, *, is_left: bool) -> float:
        items = [item for row in self.rows.rows for item in row]
        if is_left:
            return min(item.middle - item.size.width / 2 for item in items)
        return max(item.middle + item.size.width / 2 for item in items)

    def _node_box(self, name: str) -> Box:
        return _box_of(self.rows.nodes[name], self.node_tops[self.rows.rank[name]])

    def _label_box(self, index: int) -> Box:
        return _box_of(self.rows.labels[index], self.label_tops[self.rows.rank[self.rows.links[index].source]])

    def _row_bottom(self, row: int, top: float) -> float:
        return top + max(item.size.height for item in self.rows.rows[row])

    def _route_to_label(self, index: int) -> Route:
        source = self.rows.links[index].source
        rank, port = self.rows.rank[source], self.bottom_ports[index]
        bottom = self._row_bottom(2 * rank, self.node_tops[rank])
        label = self._label_box(index)
        return _drop_repeats([(port, self._node_box(source).bottom), (port, bottom), (label.middle, label.y)])

    def _route_from_label(self, index: int) -> Route:
        link, label = self.rows.links[index], self._label_box(index)
        rank, end = self.rows.rank[link.source], self._node_box(link.target).y
        detour = self._detour_of(link)
        port = self.top_ports[link.target, index if detour is None else detour]
        if detour is None:
            bottom = self._row_bottom(2 * rank + 1, self.label_tops[rank])
            return _drop_repeats([(label.middle, label.bottom), (label.middle, bottom), (port, end)])
        exit_y, entry_y = self._track_y(rank + 1, detour), self._track_y(self.rows.rank[link.target], detour)
        lane = self.lanes[detour]
        return [
            (label.middle, label.bottom),
            (label.middle, exit_y),
            (lane, exit_y),
            (lane, entry_y),
            (port, entry_y),
            (port, end),
        ]


def _assign_lines[K](intervals: Sequence[tuple[float, float, K]]) -> Mapping[K, int]:
    """Return for each interval the first line on which it overlaps no other interval."""
    lines: list[list[tuple[float, float]]] = []
    line_of: dict[K, int] = {}
    for start, end, key in intervals:
        free = (number for number, line in enumerate(lines) if all(b < start or end < a for a, b in line))
        number = next(free, len(lines))
        if number == len(lines):
            lines.append([])
        lines[number].append((start, end))
        line_of[key] = number
    return line_of


def _slant_room(slant: float) -> float:
    return min(slant / MAX_STEEPNESS, MAX_SLANT_ROOM)


def _box_of(item: _RowItem, y: float) -> Box:
    return Box(item.middle - item.size.width / 2, y, item.size.width, item.size.height)


def _drop_repeats(points: Sequence[Point]) -> Route:
    return [point for index, point in enumerate(points) if index == 0 or point != points[index - 1]]


def _shift_layout(
    height: float,
    nodes: Mapping[str, Box],
    labels: Sequence[Box],
    routes: Sequence[tuple[Route, Route]],
    entry: Point,
) -> Layout:
    """Move all parts sideways, so that they begin at the left margin."""
    boxes = [*nodes.values(), *labels]
    xs = [x for pair in routes for route in pair for x, _ in route]
    left = min([box.x for box in boxes] + xs) - MARGIN
    right = max([box.right for box in boxes] + xs) + MARGIN

    def shift_box(box: Box) -> Box:
        return Box(box.x - left, box.y, box.width, box.height)

    def shift_route(route: Route) -> Route:
        return [(x - left, y) for x, y in route]

    return Layout(
        width=right - left,
        height=height,
        nodes={name: shift_box(box) for name, box in nodes.items()},
        labels=[shift_box(label) for label in labels],
        routes=[(shift_route(to_label), shift_route(from_label)) for to_label, from_label in routes],
        entry=(entry[0] - left, entry[1]),
    )
