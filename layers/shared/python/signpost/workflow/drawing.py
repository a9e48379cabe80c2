"""A picture as SVG, without anything that is not in it: it is read on light and dark pages, and without colours."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from signpost.records import dataclass
from signpost.workflow.layout import Box, Layout, Link, Point, Route, Size, laid_out
from signpost.workflow.picture import KIND_WORDS, Arrow, Label, Node, Picture, numbers

WIDE, BROAD, USUAL, NARROW = 1.05, 0.9, 0.58, 0.4
"""Of a letter, in parts of its height: no font is at hand, so that it is rather too much."""
BOLD = 1.08
NAME, WORDS, LABEL, CONDITION = 14, 11, 12, 10.5
LINE = 15
LONGEST_NAME, LONGEST_LABEL, LONGEST_CONDITION = 220, 170, 190
NARROWEST = 96
INSIDE = 12
SIGN = 18
TITLE = 30
MOST_WRAPPED = 2
"""Lines of a condition."""
MOST_LINES = 6
"""Of transitions between the same two states, or from a state to itself."""

_LIGHT: Mapping[str, str] = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "faint": "#59636e",
    "agent": "#f6f8fa",
    "person": "#fff8c5",
    "automatic": "#ddf4ff",
    "terminal": "#dafbe1",
    "taken": "#6639ba",
}
_DARK: Mapping[str, str] = {
    "page": "#0d1117",
    "ink": "#f0f6fc",
    "faint": "#9198a1",
    "agent": "#212830",
    "person": "#3b2e06",
    "automatic": "#0c2d5a",
    "terminal": "#0b3a1a",
    "taken": "#bc9cff",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """A transition in the drawing, cut to what there is room for."""

    label: Label
    name: str
    conditions: Sequence[str]

    @property
    def width(self) -> float:
        own = width(self.name, LABEL) + SIGN * (self.label.actor != "agent")
        return max([own, *(width(one, CONDITION) for one in self.conditions)])

    @property
    def height(self) -> float:
        return LINE + (LINE - 2) * len(self.conditions)


@dataclass(frozen=True, slots=True)
class _State:
    node: Node
    name: str
    words: str
    own: Sequence[_Line]
    """What leads back to where it came from."""
    more: int

    @property
    def size(self) -> Size:
        lines = [line.width + SIGN for line in self.own]
        widest = max([width(self.name, NAME) * BOLD, width(self.words, WORDS) + SIGN, *lines])
        height = 16 + 20 + (LINE if self.words else 0) + sum(line.height for line in self.own)
        return Size(max(NARROWEST, widest + 2 * INSIDE + 8), height + (LINE if self.more else 0))


@dataclass(frozen=True, slots=True)
class _Way:
    arrow: Arrow
    lines: Sequence[_Line]
    more: int

    @property
    def size(self) -> Size:
        widest = max([line.width for line in self.lines] + [width(_others(self.more), CONDITION)])
        height = sum(line.height for line in self.lines) + (LINE if self.more else 0)
        return Size(widest + 8, height + 4)


def drawn(picture: Picture) -> str:
    """The same for the same picture, to the byte."""
    loops = {arrow.source: arrow for arrow in picture.arrows if arrow.source == arrow.target}
    states = {node.id: _state(node, loops.get(node.id)) for node in picture.nodes}
    ways = [_way(arrow) for arrow in picture.arrows if arrow.source != arrow.target]
    links = [Link(way.arrow.source, way.arrow.target, way.size) for way in ways]
    first = next(node.id for node in picture.nodes if node.is_initial)
    sizes = {name: state.size for name, state in states.items()}
    layout = laid_out(first, sizes, links, top=TITLE)
    return "\n".join(_document(picture, states, ways, layout)) + "\n"


def width(text: str, size: float) -> float:
    return sum(_letter(one) for one in text) * size


def fitting(text: str, size: float, longest: float) -> str:
    """As much as there is room for."""
    if width(text, size) <= longest:
        return text
    while text and width(f"{text}…", size) > longest:
        text = text[: -1 - len(text) // 64]
    return f"{text.rstrip()}…"


def wrapped(text: str, size: float, longest: float, most: int) -> Sequence[str]:
    """On so many lines at most, the last of which may be cut."""
    lines = [""] if text else []
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if len(lines) == most or not lines[-1] or width(longer, size) <= longest:
            lines[-1] = longer
        else:
            lines.append(word)
    return [fitting(line, size, longest) for line in lines if line]


def _letter(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0
    if letter in "MWmw@%…":
        return BROAD
    if letter in "fijlrtI.,:;'|!()[] ":
        return NARROW
    return WIDE if unicodedata.east_asian_width(letter) in "WF" else USUAL


def _line(label: Label) -> _Line:
    number = f"{numbers(label.taken)} · " if label.taken else ""
    name = fitting(number + label.name, LABEL, LONGEST_LABEL)
    return _Line(label, name, wrapped(label.condition, CONDITION, LONGEST_CONDITION, MOST_WRAPPED))


def _lines(labels: Sequence[Label]) -> tuple[Sequence[_Line], int]:
    """Those that were taken are shown before others, where not all can be."""
    if len(labels) <= MOST_LINES:
        return [_line(label) for label in labels], 0
    shown = sorted(labels, key=lambda label: not label.taken)[: MOST_LINES - 1]
    return [_line(label) for label in labels if label in shown][: MOST_LINES - 1], len(labels) - MOST_LINES + 1


def _others(more: int) -> str:
    return f"and {more} more" if more else ""


def _state(node: Node, loop: Arrow | None) -> _State:
    own, more = _lines(loop.labels) if loop else ((), 0)
    words = ", ".join(filter(None, (node.now, KIND_WORDS[node.kind])))
    return _State(node, fitting(node.name, NAME, LONGEST_NAME), words, own, more)


def _way(arrow: Arrow) -> _Way:
    lines, more = _lines(arrow.labels)
    return _Way(arrow, lines, more)


def _document(picture: Picture, states: Mapping[str, _State], ways: Sequence[_Way], layout: Layout) -> Iterator[str]:
    title = fitting(picture.title, NAME, max(LONGEST_NAME, layout.width - 40))
    wide, high = max(layout.width, width(title, NAME) + 40), layout.height
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{px(wide)}" height="{px(high)}" '
        f'viewBox="0 0 {px(wide)} {px(high)}">'
    )
    yield f"<title>{escape(picture.title)}</title>"
    yield f"<style>{_style()}</style>"
    yield f'<rect class="page" width="{px(wide)}" height="{px(high)}"/>'
    yield _text(title, 20, 28, "title")
    # What was taken comes last, so that nothing else is drawn over it.
    for way, routes in sorted(zip(ways, layout.routes, strict=True), key=lambda one: one[0].arrow.is_taken):
        yield from _arrow(way, routes)
    for way, box in zip(ways, layout.labels, strict=True):
        yield from _label(way, box)
    yield from _beginning(layout.entry)
    for name, state in states.items():
        yield from _box(state, layout.nodes[name])
    yield "</svg>"


def px(number: float) -> str:
    return f"{round(number, 1):g}" if abs(number) < 100_000 else str(round(number))


def _style() -> str:
    dark = _colours(_DARK)
    return f"{_FORMS}{_colours(_LIGHT)}@media (prefers-color-scheme:dark){{{dark}}}"


_FORMS = (
    f"text{{font-family:system-ui,sans-serif;font-size:{LABEL}px}}"
    f".title,.name{{font-size:{NAME}px;font-weight:600}}"
    f".words{{font-size:{WORDS}px}}.condition{{font-size:{CONDITION}px;font-style:italic}}"
    ".line{fill:none;stroke-width:1.3}.line.taken{stroke-width:3.2}"
    ".box{stroke-width:1.3}.automatic{stroke-dasharray:6 3}.deadline{stroke-dasharray:2 3}"
    ".sign{fill:none;stroke-width:1.4;stroke-dasharray:none}"
    ".visited{stroke-width:3}.current{stroke-width:5}"
)


def _colours(colours: Mapping[str, str]) -> str:
    kinds = "".join(f".{kind}{{fill:{colours[kind]}}}" for kind in ("agent", "person", "automatic", "terminal"))
    return (
        f".page,.deadline{{fill:{colours['page']}}}text,.dot{{fill:{colours['ink']}}}"
        f".words,.condition{{fill:{colours['faint']}}}.line,.box{{stroke:{colours['faint']}}}{kinds}"
        f".head{{fill:{colours['faint']}}}.sign{{fill:none;stroke:{colours['ink']}}}"
        f".line.taken,.visited,.current{{stroke:{colours['taken']}}}.head.taken,.pointer{{fill:{colours['taken']}}}"
    )


def _text(text: str, x: float, y: float, kind: str = "", anchor: str = "") -> str:
    classed = f' class="{kind}"' if kind else ""
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{px(x)}" y="{px(y)}"{classed}{anchored}>{escape(text)}</text>'


def _arrow(way: _Way, routes: tuple[Route, Route]) -> Iterator[str]:
    taken = " taken" if way.arrow.is_taken else ""
    for route in routes:
        yield f'<path class="line{taken}" d="{_path(route)}"/>'
    x, y = routes[1][-1]
    yield f'<path class="head{taken}" d="M{px(x)} {px(y)}l-4.5 -9h9z"/>'


def _path(route: Route) -> str:
    (x, y), parts = route[0], list[str]()
    parts.append(f"M{px(x)} {px(y)}")
    for place, (to_x, to_y) in enumerate(route[1:], 1):
        if x != to_x and y != to_y:
            half = (y + to_y) / 2
            parts.append(f"C{px(x)} {px(half)} {px(to_x)} {px(half)} {px(to_x)} {px(to_y)}")
        elif place + 1 < len(route) and _is_corner((x, y), (to_x, to_y), route[place + 1]):
            parts.append(_rounded((x, y), (to_x, to_y), route[place + 1]))
        else:
            parts.append(f"L{px(to_x)} {px(to_y)}")
        x, y = to_x, to_y
    return "".join(parts)


def _is_corner(before: Point, corner: Point, after: Point) -> bool:
    return (before[0] == corner[0]) != (corner[0] == after[0]) and (corner[0] == after[0] or corner[1] == after[1])


def _rounded(before: Point, corner: Point, after: Point) -> str:
    start, end = _towards(corner, before), _towards(corner, after)
    return f"L{px(start[0])} {px(start[1])}Q{px(corner[0])} {px(corner[1])} {px(end[0])} {px(end[1])}"


def _towards(corner: Point, other: Point, radius: float = 6) -> Point:
    def moved(start: float, end: float) -> float:
        return start + max(-radius, min(radius, (end - start) / 2))

    return moved(corner[0], other[0]), moved(corner[1], other[1])


def _label(way: _Way, box: Box) -> Iterator[str]:
    yield f"<g><title>{escape(_told(way.arrow.labels))}</title>"
    y = box.y + 2
    for line in way.lines:
        yield from _transition(line, box.middle, y)
        y += line.height
    if way.more:
        yield _text(_others(way.more), box.middle, y + 11, "condition", "middle")
    yield "</g>"


def _told(labels: Sequence[Label]) -> str:
    """All of it, for whoever points at it."""
    return "; ".join(f"{one.name} if {one.condition}" if one.condition else one.name for one in labels)


def _transition(line: _Line, middle: float, y: float) -> Iterator[str]:
    has_sign = line.label.actor != "agent"
    if has_sign:
        left = middle - (width(line.name, LABEL) + SIGN) / 2
        yield _SIGNS[line.label.actor].format(x=px(left + 6), y=px(y + 8))
    yield _text(line.name, middle + SIGN / 2 * has_sign, y + 12, anchor="middle")
    for place, condition in enumerate(line.conditions, 1):
        yield _text(condition, middle, y + LINE - 3 + (LINE - 2) * place, "condition", "middle")


_PERSON = (
    '<path class="sign" transform="translate({x} {y})" d="M-4.5 5.5a4.5 4.5 0 0 1 9 0zM0 -5.5a2.6 2.6 0 1 1 -.01 0z"/>'
)
_ONWARDS = '<path class="sign" transform="translate({x} {y})" d="M-4.5 -4l4 4l-4 4M.5 -4l4 4l-4 4"/>'
_SYSTEM = '<path class="sign" transform="translate({x} {y})" d="M-4.5 -4.5h9v9h-9zM-1.5 -1.5h3v3h-3z"/>'
_CLOCK = '<path class="sign" transform="translate({x} {y})" d="M0 -5.5a5.5 5.5 0 1 1 -.01 0zM0 -3v3h2.5"/>'
_AGAIN = '<path class="sign" transform="translate({x} {y})" d="M4 -2.5a4.5 4.5 0 1 0 .6 3M4.6 -5.5v3.2h-3.2"/>'
_SIGNS: Mapping[str, str] = {"human": _PERSON, "deterministic": _ONWARDS, "system": _SYSTEM}
_KIND_SIGNS: Mapping[str, str] = {"person": _PERSON, "automatic": _ONWARDS, "deadline": _CLOCK}


def _beginning(dot: Point) -> Iterator[str]:
    x, y = dot
    yield f'<circle class="dot" cx="{px(x)}" cy="{px(y)}" r="5"/>'
    yield f'<path class="line" d="M{px(x)} {px(y)}v20"/><path class="head" d="M{px(x)} {px(y + 21)}l-4.5 -9h9z"/>'


def _box(state: _State, box: Box) -> Iterator[str]:
    node = state.node
    mark = " current" if node.is_current else " visited" if node.is_visited else ""
    round_by = box.height / 2 if node.kind in ("terminal", "deadline") else 7
    yield f"<g><title>{escape(', '.join(filter(None, (node.name, state.words))))}</title>"
    yield _rectangle(f"box {node.kind}{mark}", box, round_by)
    if node.kind == "terminal":
        inner = Box(box.x + 4, box.y + 4, box.width - 8, box.height - 8)
        yield _rectangle("box terminal", inner, round_by - 4)
    if node.is_current:
        yield f'<path class="pointer" d="M{px(box.x + 6)} {px(box.y + 15)}l9 6l-9 6z"/>'
    yield _text(state.name, box.middle, box.y + 23, "name", "middle")
    y = box.y + 23
    if state.words:
        y += LINE
        yield from _kind_words(state, box.middle, y)
    yield from _loops(state, box.middle, y + 6)
    yield "</g>"


def _rectangle(kind: str, box: Box, round_by: float) -> str:
    return (
        f'<rect class="{kind}" x="{px(box.x)}" y="{px(box.y)}" width="{px(box.width)}" height="{px(box.height)}" '
        f'rx="{px(round_by)}"/>'
    )


def _kind_words(state: _State, middle: float, y: float) -> Iterator[str]:
    sign = _KIND_SIGNS.get(state.node.kind)
    if sign is not None:
        yield sign.format(x=px(middle - (width(state.words, WORDS) + SIGN) / 2 + 6), y=px(y - 4))
    yield _text(state.words, middle + SIGN / 2 * (sign is not None), y, "words", "middle")


def _loops(state: _State, middle: float, y: float) -> Iterator[str]:
    for line in state.own:
        yield _AGAIN.format(x=px(middle - line.width / 2 - SIGN / 2 + 6), y=px(y + 8))
        yield from _transition(line, middle + SIGN / 2, y)
        y += line.height
    if state.more:
        yield _text(_others(state.more), middle, y + 11, "condition", "middle")
