"""Where everything in a drawing of a graph is: boxes in rows, their arrows' labels in rows between them, and lines.

Rows of nodes and rows of labels take turns. An arrow to the next row goes down through its label; every other one
goes round, on the left if it skips rows and on the right if it leads back, and shares its lane with all that lead to
the same node. So no two boxes or labels overlap and no line crosses one, whatever the graph.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass

type Point = tuple[float, float]
type Route = Sequence[Point]
"""From corner to corner. Where two corners differ in both directions a curve leads from one to the other, upright at
its ends."""

SWEEPS = 8
BESIDE = 22
"""Between two boxes of a row."""
MARGIN = 20
TRACK, LANE = 9, 10
ABOVE_A_NODE, BELOW_A_ROW = 30, 12
CURVE = 24
STEEPEST, MOST_ROOM = 12, 60
"""A gap that lines cross slantwise is higher the further they go, to a limit."""


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
class Link:
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
    """Of each link: to its label, and on from there."""
    entry: Point
    """Where one comes into the graph: the middle of a dot above the first node."""


def laid_out(first: str, nodes: Mapping[str, Size], links: Sequence[Link], *, top: float = 0) -> Layout:
    """`top` is kept free above everything. No link leads from a node to itself."""
    rows = _Rows(nodes, links, ranks(first, list(nodes), [(link.source, link.target) for link in links]))
    rows.put_in_order()
    rows.put_in_place()
    return _Routing(first, rows).layout(top)


def ranks(first: str, names: Sequence[str], arrows: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """The row of each node: below everything that leads to it, but for what leads back."""
    after: dict[str, list[str]] = {name: [] for name in names}
    for source, target in arrows:
        after[source].append(target)
    finished, back = _depth_first([first, *names], after)
    found = dict.fromkeys(names, 0)
    has_source = {first}
    for name in reversed(finished):
        for target in after[name]:
            if (name, target) not in back:
                found[target] = max(found[target], found[name] + 1)
                has_source.add(target)
    for name in names:
        below = [found[target] for target in after[name] if (name, target) not in back]
        if name not in has_source and below:
            found[name] = min(below) - 1  # close to where it leads
    return found


def _depth_first(
    names: Iterable[str], after: Mapping[str, Sequence[str]]
) -> tuple[Sequence[str], frozenset[tuple[str, str]]]:
    """In the order in which they are finished, and the arrows that lead back to where the walk still is."""
    finished, entered, done, back = list[str](), set[str](), set[str](), set[tuple[str, str]]()
    for start in names:
        if start in entered:
            continue
        entered.add(start)
        stack = [(start, iter(after[start]))]
        while stack:
            name, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                stack.pop()
                done.add(name)
                finished.append(name)
            elif target not in entered:
                entered.add(target)
                stack.append((target, iter(after[target])))
            elif target not in done:
                back.add((name, target))
    return finished, frozenset(back)


@dataclass(slots=True)
class _Item:
    """What stands in a row: a node, or the label of a link."""

    size: Size
    middle: float = 0
    above: list["_Item"] = field(default_factory=list["_Item"])
    below: list["_Item"] = field(default_factory=list["_Item"])


class _Rows:
    """What is in which row, in which order, and how far to the right."""

    def __init__(self, nodes: Mapping[str, Size], links: Sequence[Link], rank: Mapping[str, int]) -> None:
        self.links = links
        self.rank = rank
        self.nodes = {name: _Item(size) for name, size in nodes.items()}
        self.labels = [_Item(link.label) for link in links]
        self.rows: list[list[_Item]] = [[] for _ in range(2 * (max(rank.values()) + 1))]
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

    def is_direct(self, link: Link) -> bool:
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
                wanted = [_mean([*item.above, *item.below], item.middle) for item in row]
                for item, middle in zip(row, _apart(wanted, [item.size.width for item in row]), strict=True):
                    item.middle = middle


def _mean(items: Sequence[_Item], otherwise: float) -> float:
    return sum(item.middle for item in items) / len(items) if items else otherwise


def _pack(row: Sequence[_Item]) -> None:
    x = -(sum(item.size.width + BESIDE for item in row) - BESIDE) / 2
    for item in row:
        item.middle = x + item.size.width / 2
        x += item.size.width + BESIDE


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> Sequence[float]:
    """As near to where they want to be as can be without overlapping, in the same order. Those that meet stand
    together where they want to be on average."""
    offsets, offset = list[float](), 0.0
    for place, width in enumerate(widths):
        offset += (widths[place - 1] + width) / 2 + BESIDE if place else 0.0
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []
    for middle, offset in zip(wanted, offsets, strict=True):
        total, count = middle - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            before, others = blocks.pop()
            total, count = total + before, count + others
        blocks.append((total, count))
    starts = [total / count for total, count in blocks for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


@dataclass(frozen=True, slots=True)
class _Detour:
    """The lane of everything that goes round to a node on one side."""

    target: str
    is_left: bool


@dataclass(slots=True)
class _Routing:
    """Makes lines of what is in place. Gap `k` is above the nodes of row `k`, and below the labels before them."""

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

    def layout(self, top: float) -> Layout:
        self._choose_ports()
        self._choose_tracks()
        height = self._choose_heights(MARGIN + top)
        self._choose_lanes()
        nodes = {name: self._node_box(name) for name in self.rows.nodes}
        labels = [self._label_box(place) for place in range(len(self.rows.links))]
        routes = [(self._to_label(place), self._from_label(place)) for place in range(len(self.rows.links))]
        x = self.top_ports[self.first, self.first]
        return _shifted(height + MARGIN, nodes, labels, routes, (x, nodes[self.first].y - ABOVE_A_NODE * 0.7))

    def _detour(self, link: Link) -> _Detour | None:
        if self.rows.is_direct(link):
            return None
        return _Detour(link.target, is_left=self.rows.rank[link.target] > self.rows.rank[link.source])

    def _exit_gap(self, link: Link) -> int:
        return self.rows.rank[link.source] + 1

    def _choose_ports(self) -> None:
        """Where lines meet a node: in the order in which they come, so that they do not cross there."""
        leaving: dict[str, list[tuple[float, int]]] = {}
        coming: dict[str, dict[object, float]] = {self.first: {self.first: self.rows.nodes[self.first].middle}}
        for place, link in enumerate(self.rows.links):
            middle = self.rows.labels[place].middle
            leaving.setdefault(link.source, []).append((middle, place))
            detour = self._detour(link)
            at = middle if detour is None else float("-inf") if detour.is_left else float("inf")
            coming.setdefault(link.target, {})[place if detour is None else detour] = at
        for name, lines in leaving.items():
            ports = self._ports(name, [middle for middle, _ in sorted(lines)])
            self.bottom_ports |= {place: port for (_, place), port in zip(sorted(lines), ports, strict=True)}
        for name, ends in coming.items():
            order = sorted(ends.items(), key=lambda end: end[1])
            ports = self._ports(name, [at for _, at in order])
            self.top_ports |= {(name, end): port for (end, _), port in zip(order, ports, strict=True)}

    def _ports(self, name: str, wanted: Sequence[float]) -> Sequence[float]:
        item = self.rows.nodes[name]
        left, width = item.middle - item.size.width / 2, item.size.width
        if len(wanted) == 1:
            return [min(max(wanted[0], left + 10), left + width - 10)]
        return [left + width * (place + 1) / (len(wanted) + 1) for place in range(len(wanted))]

    def _choose_tracks(self) -> None:
        """A height of its own in a gap for every line that goes across it and would meet another."""
        spans: dict[int, dict[_Detour, list[float]]] = {}
        for place, link in enumerate(self.rows.links):
            if (detour := self._detour(link)) is None:
                continue
            side = float("-inf") if detour.is_left else float("inf")
            leaving, coming = self._exit_gap(link), self.rows.rank[link.target]
            spans.setdefault(leaving, {}).setdefault(detour, [side]).append(self.rows.labels[place].middle)
            spans.setdefault(coming, {}).setdefault(detour, [side]).append(self.top_ports[link.target, detour])
        for gap, within in spans.items():
            intervals = [(min(xs), max(xs), detour) for detour, xs in within.items()]
            chosen = _stacked(sorted(intervals, key=lambda one: (one[0], one[1], one[2].target)))
            self.tracks |= {(gap, detour): track for detour, track in chosen.items()}
            self.track_counts[gap] = max(chosen.values()) + 1

    def _choose_heights(self, y: float) -> float:
        for rank in range(len(self.rows.rows) // 2):
            nodes, labels = self.rows.rows[2 * rank], self.rows.rows[2 * rank + 1]
            y = self._gap(rank, y)
            self.node_tops.append(y)
            y += max((item.size.height for item in nodes), default=0)
            if labels:
                slants = (
                    abs(self.bottom_ports[place] - self.rows.labels[place].middle)
                    for place, link in enumerate(self.rows.links)
                    if self.rows.rank[link.source] == rank
                )
                y += CURVE + _room(max(slants))
            self.label_tops.append(y)
            y += max((item.size.height for item in labels), default=0)
        self.gap_tops.append(y)
        return y + self._tracks_height(len(self.gap_tops) - 1)

    def _gap(self, gap: int, y: float) -> float:
        self.gap_tops.append(y)
        slants = [
            abs(self.top_ports[link.target, place] - self.rows.labels[place].middle)
            for place, link in enumerate(self.rows.links)
            if self.rows.is_direct(link) and self.rows.rank[link.target] == gap
        ]
        return y + self._tracks_height(gap) + ABOVE_A_NODE + _room(max(slants, default=0))

    def _tracks_height(self, gap: int) -> float:
        count = self.track_counts.get(gap, 0)
        return BELOW_A_ROW + TRACK * count if count else 0

    def _track_y(self, gap: int, detour: _Detour) -> float:
        return self.gap_tops[gap] + BELOW_A_ROW + TRACK * self.tracks[gap, detour]

    def _choose_lanes(self) -> None:
        """Short ones next to the nodes, long ones outside."""
        for is_left in (True, False):
            spans: dict[_Detour, list[float]] = {}
            for gap, detour in self.tracks:
                if detour.is_left == is_left:
                    spans.setdefault(detour, []).append(self._track_y(gap, detour))
            intervals = [(min(ys), max(ys), detour) for detour, ys in spans.items()]
            chosen = _stacked(sorted(intervals, key=lambda one: (one[1] - one[0], one[0], one[2].target)))
            edge = self._edge(is_left=is_left)
            for detour, lane in chosen.items():
                self.lanes[detour] = edge + (-1 if is_left else 1) * (2 + lane) * LANE

    def _edge(self, *, is_left: bool) -> float:
        items = [item for row in self.rows.rows for item in row]
        if is_left:
            return min(item.middle - item.size.width / 2 for item in items)
        return max(item.middle + item.size.width / 2 for item in items)

    def _node_box(self, name: str) -> Box:
        return _box(self.rows.nodes[name], self.node_tops[self.rows.rank[name]])

    def _label_box(self, place: int) -> Box:
        return _box(self.rows.labels[place], self.label_tops[self.rows.rank[self.rows.links[place].source]])

    def _row_bottom(self, row: int, top: float) -> float:
        return top + max(item.size.height for item in self.rows.rows[row])

    def _to_label(self, place: int) -> Route:
        source = self.rows.links[place].source
        rank, port = self.rows.rank[source], self.bottom_ports[place]
        bottom = self._row_bottom(2 * rank, self.node_tops[rank])
        label = self._label_box(place)
        return _without_repeats([(port, self._node_box(source).bottom), (port, bottom), (label.middle, label.y)])

    def _from_label(self, place: int) -> Route:
        link, label = self.rows.links[place], self._label_box(place)
        rank, end = self.rows.rank[link.source], self._node_box(link.target).y
        detour = self._detour(link)
        port = self.top_ports[link.target, place if detour is None else detour]
        if detour is None:
            bottom = self._row_bottom(2 * rank + 1, self.label_tops[rank])
            return _without_repeats([(label.middle, label.bottom), (label.middle, bottom), (port, end)])
        out, into = self._track_y(rank + 1, detour), self._track_y(self.rows.rank[link.target], detour)
        lane = self.lanes[detour]
        return [(label.middle, label.bottom), (label.middle, out), (lane, out), (lane, into), (port, into), (port, end)]


def _stacked[K](intervals: Sequence[tuple[float, float, K]]) -> Mapping[K, int]:
    """For each the first line on which it meets no other."""
    lines: list[list[tuple[float, float]]] = []
    found: dict[K, int] = {}
    for start, end, key in intervals:
        free = (number for number, line in enumerate(lines) if all(b < start or end < a for a, b in line))
        number = next(free, len(lines))
        if number == len(lines):
            lines.append([])
        lines[number].append((start, end))
        found[key] = number
    return found


def _room(slant: float) -> float:
    return min(slant / STEEPEST, MOST_ROOM)


def _box(item: _Item, y: float) -> Box:
    return Box(item.middle - item.size.width / 2, y, item.size.width, item.size.height)


def _without_repeats(points: Sequence[Point]) -> Route:
    return [point for place, point in enumerate(points) if place == 0 or point != points[place - 1]]


def _shifted(
    height: float,
    nodes: Mapping[str, Box],
    labels: Sequence[Box],
    routes: Sequence[tuple[Route, Route]],
    entry: Point,
) -> Layout:
    """To begin at the left margin."""
    boxes = [*nodes.values(), *labels]
    xs = [x for both in routes for route in both for x, _ in route]
    left = min([box.x for box in boxes] + xs) - MARGIN
    right = max([box.right for box in boxes] + xs) + MARGIN

    def moved(box: Box) -> Box:
        return Box(box.x - left, box.y, box.width, box.height)

    def moved_route(route: Route) -> Route:
        return [(x - left, y) for x, y in route]

    return Layout(
        width=right - left,
        height=height,
        nodes={name: moved(box) for name, box in nodes.items()},
        labels=[moved(label) for label in labels],
        routes=[(moved_route(to), moved_route(on)) for to, on in routes],
        entry=(entry[0] - left, entry[1]),
    )
