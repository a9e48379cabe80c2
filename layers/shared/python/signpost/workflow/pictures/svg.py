"""Render a picture as SVG without external resources, legible on light and dark pages and without colours."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from signpost.records import dataclass
from signpost.workflow.pictures.layout import Box, Layout, LayoutLink, Point, Route, Size, build_layout
from signpost.workflow.pictures.model import KIND_WORDS, Arrow, Label, Node, Picture, format_hop_numbers

WIDE, BROAD, USUAL, NARROW = 1.05, 0.9, 0.58, 0.4
"""The widths of letters, in parts of their height. They are estimates without a font, and rather too large."""
BOLD = 1.08
NAME_SIZE, WORDS_SIZE, LABEL_SIZE, CONDITION_SIZE = 14, 11, 12, 10.5
LINE_HEIGHT = 15
LONGEST_NAME, LONGEST_LABEL, LONGEST_CONDITION = 220, 170, 190
MIN_BOX_WIDTH = 96
BOX_PADDING = 12
SIGN_WIDTH = 18
TITLE_HEIGHT = 30
MAX_CONDITION_LINES = 2
"""The maximum number of lines of a condition."""
MAX_TRANSITION_LINES = 6
"""The maximum number of transitions that are shown between the same two states, or from a state to itself."""

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
class _TransitionLine:
    """A transition in the drawing, with its texts cut to the width that is available."""

    label: Label
    name: str
    conditions: Sequence[str]

    @property
    def width(self) -> float:
        name_width = text_width(self.name, LABEL_SIZE) + SIGN_WIDTH * (self.label.actor != "agent")
        return max([name_width, *(text_width(condition, CONDITION_SIZE) for condition in self.conditions)])

    @property
    def height(self) -> float:
        return LINE_HEIGHT + (LINE_HEIGHT - 2) * len(self.conditions)


@dataclass(frozen=True, slots=True)
class _StateBox:
    node: Node
    name: str
    words: str
    loops: Sequence[_TransitionLine]
    """The transitions that lead back to the same state."""
    omitted: int

    @property
    def size(self) -> Size:
        lines = [line.width + SIGN_WIDTH for line in self.loops]
        widest = max([text_width(self.name, NAME_SIZE) * BOLD, text_width(self.words, WORDS_SIZE) + SIGN_WIDTH, *lines])
        height = 16 + 20 + (LINE_HEIGHT if self.words else 0) + sum(line.height for line in self.loops)
        return Size(max(MIN_BOX_WIDTH, widest + 2 * BOX_PADDING + 8), height + (LINE_HEIGHT if self.omitted else 0))


@dataclass(frozen=True, slots=True)
class _ArrowLabel:
    arrow: Arrow
    lines: Sequence[_TransitionLine]
    omitted: int

    @property
    def size(self) -> Size:
        widest = max([line.width for line in self.lines] + [text_width(_omission_text(self.omitted), CONDITION_SIZE)])
        height = sum(line.height for line in self.lines) + (LINE_HEIGHT if self.omitted else 0)
        return Size(widest + 8, height + 4)


def render_svg(picture: Picture) -> str:
    """Render a picture. The same picture always gives the same bytes."""
    loops = {arrow.source: arrow for arrow in picture.arrows if arrow.source == arrow.target}
    states = {node.id: _build_state_box(node, loops.get(node.id)) for node in picture.nodes}
    arrow_labels = [_build_arrow_label(arrow) for arrow in picture.arrows if arrow.source != arrow.target]
    links = [
        LayoutLink(arrow_label.arrow.source, arrow_label.arrow.target, arrow_label.size) for arrow_label in arrow_labels
    ]
    first = next(node.id for node in picture.nodes if node.is_initial)
    sizes = {name: state.size for name, state in states.items()}
    layout = build_layout(first, sizes, links, top=TITLE_HEIGHT)
    return "\n".join(_render_document(picture, states, arrow_labels, layout)) + "\n"


def text_width(text: str, size: float) -> float:
    return sum(_letter_width(letter) for letter in text) * size


def fit_text(text: str, size: float, max_width: float) -> str:
    """Cut a text to a width, with an ellipsis."""
    if text_width(text, size) <= max_width:
        return text
    while text and text_width(f"{text}…", size) > max_width:
        text = text[: -1 - len(text) // 64]
    return f"{text.rstrip()}…"


def wrap_text(text: str, size: float, max_width: float, max_lines: int) -> Sequence[str]:
    """Break a text into at most `max_lines` lines, and cut those that are still too wide."""
    lines = [""] if text else []
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if len(lines) == max_lines or not lines[-1] or text_width(longer, size) <= max_width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [fit_text(line, size, max_width) for line in lines if line]


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0
    if letter in "MWmw@%…":
        return BROAD
    if letter in "fijlrtI.,:;'|!()[] ":
        return NARROW
    return WIDE if unicodedata.east_asian_width(letter) in "WF" else USUAL


def _build_line(label: Label) -> _TransitionLine:
    number = f"{format_hop_numbers(label.hop_numbers)} · " if label.hop_numbers else ""
    name = fit_text(number + label.name, LABEL_SIZE, LONGEST_LABEL)
    return _TransitionLine(
        label, name, wrap_text(label.condition, CONDITION_SIZE, LONGEST_CONDITION, MAX_CONDITION_LINES)
    )


def _build_lines(labels: Sequence[Label]) -> tuple[Sequence[_TransitionLine], int]:
    """Build the lines that are shown, and count those that are omitted.

    If there are too many, transitions that the trail took are shown before others.
    """
    if len(labels) <= MAX_TRANSITION_LINES:
        return [_build_line(label) for label in labels], 0
    shown = sorted(labels, key=lambda label: not label.hop_numbers)[: MAX_TRANSITION_LINES - 1]
    lines = [_build_line(label) for label in labels if label in shown][: MAX_TRANSITION_LINES - 1]
    return lines, len(labels) - MAX_TRANSITION_LINES + 1


def _omission_text(omitted: int) -> str:
    return f"and {omitted} more" if omitted else ""


def _build_state_box(node: Node, loop: Arrow | None) -> _StateBox:
    loops, omitted = _build_lines(loop.labels) if loop else ((), 0)
    words = ", ".join(filter(None, (node.status, KIND_WORDS[node.kind])))
    return _StateBox(node, fit_text(node.name, NAME_SIZE, LONGEST_NAME), words, loops, omitted)


def _build_arrow_label(arrow: Arrow) -> _ArrowLabel:
    lines, omitted = _build_lines(arrow.labels)
    return _ArrowLabel(arrow, lines, omitted)


def _render_document(
    picture: Picture, states: Mapping[str, _StateBox], arrow_labels: Sequence[_ArrowLabel], layout: Layout
) -> Iterator[str]:
    title = fit_text(picture.title, NAME_SIZE, max(LONGEST_NAME, layout.width - 40))
    width, height = max(layout.width, text_width(title, NAME_SIZE) + 40), layout.height
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{px(width)}" height="{px(height)}" '
        f'viewBox="0 0 {px(width)} {px(height)}">'
    )
    yield f"<title>{escape(picture.title)}</title>"
    yield f"<style>{_render_style()}</style>"
    yield f'<rect class="page" width="{px(width)}" height="{px(height)}"/>'
    yield _render_text(title, 20, 28, "title")
    # Arrows that the trail took are drawn last, so that no other arrow covers them.
    for arrow_label, routes in sorted(
        zip(arrow_labels, layout.routes, strict=True), key=lambda pair: pair[0].arrow.is_taken
    ):
        yield from _render_arrow(arrow_label, routes)
    for arrow_label, box in zip(arrow_labels, layout.labels, strict=True):
        yield from _render_label(arrow_label, box)
    yield from _render_entry(layout.entry)
    for name, state in states.items():
        yield from _render_state(state, layout.nodes[name])
    yield "</svg>"


def px(number: float) -> str:
    return f"{round(number, 1):g}" if abs(number) < 100_000 else str(round(number))


def _render_style() -> str:
    dark = _render_colours(_DARK)
    return f"{_SHAPE_STYLES}{_render_colours(_LIGHT)}@media (prefers-color-scheme:dark){{{dark}}}"


_SHAPE_STYLES = (
    f"text{{font-family:system-ui,sans-serif;font-size:{LABEL_SIZE}px}}"
    f".title,.name{{font-size:{NAME_SIZE}px;font-weight:600}}"
    f".words{{font-size:{WORDS_SIZE}px}}.condition{{font-size:{CONDITION_SIZE}px;font-style:italic}}"
    ".line{fill:none;stroke-width:1.3}.line.taken{stroke-width:3.2}"
    ".box{stroke-width:1.3}.automatic{stroke-dasharray:6 3}.deadline{stroke-dasharray:2 3}"
    ".sign{fill:none;stroke-width:1.4;stroke-dasharray:none}"
    ".visited{stroke-width:3}.current{stroke-width:5}"
)


def _render_colours(colours: Mapping[str, str]) -> str:
    kinds = "".join(f".{kind}{{fill:{colours[kind]}}}" for kind in ("agent", "person", "automatic", "terminal"))
    return (
        f".page,.deadline{{fill:{colours['page']}}}text,.dot{{fill:{colours['ink']}}}"
        f".words,.condition{{fill:{colours['faint']}}}.line,.box{{stroke:{colours['faint']}}}{kinds}"
        f".head{{fill:{colours['faint']}}}.sign{{fill:none;stroke:{colours['ink']}}}"
        f".line.taken,.visited,.current{{stroke:{colours['taken']}}}.head.taken,.pointer{{fill:{colours['taken']}}}"
    )


def _render_text(text: str, x: float, y: float, kind: str = "", anchor: str = "") -> str:
    class_attribute = f' class="{kind}"' if kind else ""
    anchor_attribute = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{px(x)}" y="{px(y)}"{class_attribute}{anchor_attribute}>{escape(text)}</text>'


def _render_arrow(arrow_label: _ArrowLabel, routes: tuple[Route, Route]) -> Iterator[str]:
    taken = " taken" if arrow_label.arrow.is_taken else ""
    for route in routes:
        yield f'<path class="line{taken}" d="{_path_data(route)}"/>'
    x, y = routes[1][-1]
    yield f'<path class="head{taken}" d="M{px(x)} {px(y)}l-4.5 -9h9z"/>'


def _path_data(route: Route) -> str:
    (x, y), parts = route[0], list[str]()
    parts.append(f"M{px(x)} {px(y)}")
    for index, (to_x, to_y) in enumerate(route[1:], 1):
        if x != to_x and y != to_y:
            half = (y + to_y) / 2
            parts.append(f"C{px(x)} {px(half)} {px(to_x)} {px(half)} {px(to_x)} {px(to_y)}")
        elif index + 1 < len(route) and _is_corner((x, y), (to_x, to_y), route[index + 1]):
            parts.append(_round_corner((x, y), (to_x, to_y), route[index + 1]))
        else:
            parts.append(f"L{px(to_x)} {px(to_y)}")
        x, y = to_x, to_y
    return "".join(parts)


def _is_corner(before: Point, corner: Point, after: Point) -> bool:
    return (before[0] == corner[0]) != (corner[0] == after[0]) and (corner[0] == after[0] or corner[1] == after[1])


def _round_corner(before: Point, corner: Point, after: Point) -> str:
    start, end = _point_towards(corner, before), _point_towards(corner, after)
    return f"L{px(start[0])} {px(start[1])}Q{px(corner[0])} {px(corner[1])} {px(end[0])} {px(end[1])}"


def _point_towards(corner: Point, other: Point, radius: float = 6) -> Point:
    def move(start: float, end: float) -> float:
        return start + max(-radius, min(radius, (end - start) / 2))

    return move(corner[0], other[0]), move(corner[1], other[1])


def _render_label(arrow_label: _ArrowLabel, box: Box) -> Iterator[str]:
    yield f"<g><title>{escape(_tooltip_of(arrow_label.arrow.labels))}</title>"
    y = box.y + 2
    for line in arrow_label.lines:
        yield from _render_transition(line, box.middle, y)
        y += line.height
    if arrow_label.omitted:
        yield _render_text(_omission_text(arrow_label.omitted), box.middle, y + 11, "condition", "middle")
    yield "</g>"


def _tooltip_of(labels: Sequence[Label]) -> str:
    """Return the uncut names and conditions, which are shown on hovering."""
    return "; ".join(f"{label.name} if {label.condition}" if label.condition else label.name for label in labels)


def _render_transition(line: _TransitionLine, middle: float, y: float) -> Iterator[str]:
    has_sign = line.label.actor != "agent"
    if has_sign:
        left = middle - (text_width(line.name, LABEL_SIZE) + SIGN_WIDTH) / 2
        yield _SIGNS[line.label.actor].format(x=px(left + 6), y=px(y + 8))
    yield _render_text(line.name, middle + SIGN_WIDTH / 2 * has_sign, y + 12, anchor="middle")
    for index, condition in enumerate(line.conditions, 1):
        yield _render_text(condition, middle, y + LINE_HEIGHT - 3 + (LINE_HEIGHT - 2) * index, "condition", "middle")


_PERSON_SIGN = (
    '<path class="sign" transform="translate({x} {y})" d="M-4.5 5.5a4.5 4.5 0 0 1 9 0zM0 -5.5a2.6 2.6 0 1 1 -.01 0z"/>'
)
_AUTOMATIC_SIGN = '<path class="sign" transform="translate({x} {y})" d="M-4.5 -4l4 4l-4 4M.5 -4l4 4l-4 4"/>'
_SYSTEM_SIGN = '<path class="sign" transform="translate({x} {y})" d="M-4.5 -4.5h9v9h-9zM-1.5 -1.5h3v3h-3z"/>'
_CLOCK_SIGN = '<path class="sign" transform="translate({x} {y})" d="M0 -5.5a5.5 5.5 0 1 1 -.01 0zM0 -3v3h2.5"/>'
_LOOP_SIGN = '<path class="sign" transform="translate({x} {y})" d="M4 -2.5a4.5 4.5 0 1 0 .6 3M4.6 -5.5v3.2h-3.2"/>'
_SIGNS: Mapping[str, str] = {"human": _PERSON_SIGN, "deterministic": _AUTOMATIC_SIGN, "system": _SYSTEM_SIGN}
_KIND_SIGNS: Mapping[str, str] = {"person": _PERSON_SIGN, "automatic": _AUTOMATIC_SIGN, "deadline": _CLOCK_SIGN}


def _render_entry(dot: Point) -> Iterator[str]:
    x, y = dot
    yield f'<circle class="dot" cx="{px(x)}" cy="{px(y)}" r="5"/>'
    yield f'<path class="line" d="M{px(x)} {px(y)}v20"/><path class="head" d="M{px(x)} {px(y + 21)}l-4.5 -9h9z"/>'


def _render_state(state: _StateBox, box: Box) -> Iterator[str]:
    node = state.node
    mark = " current" if node.is_current else " visited" if node.is_visited else ""
    radius = box.height / 2 if node.kind in ("terminal", "deadline") else 7
    yield f"<g><title>{escape(', '.join(filter(None, (node.name, state.words))))}</title>"
    yield _render_rectangle(f"box {node.kind}{mark}", box, radius)
    if node.kind == "terminal":
        inner = Box(box.x + 4, box.y + 4, box.width - 8, box.height - 8)
        yield _render_rectangle("box terminal", inner, radius - 4)
    if node.is_current:
        yield f'<path class="pointer" d="M{px(box.x + 6)} {px(box.y + 15)}l9 6l-9 6z"/>'
    yield _render_text(state.name, box.middle, box.y + 23, "name", "middle")
    y = box.y + 23
    if state.words:
        y += LINE_HEIGHT
        yield from _render_kind_words(state, box.middle, y)
    yield from _render_loops(state, box.middle, y + 6)
    yield "</g>"


def _render_rectangle(kind: str, box: Box, radius: float) -> str:
    return (
        f'<rect class="{kind}" x="{px(box.x)}" y="{px(box.y)}" width="{px(box.width)}" height="{px(box.height)}" '
        f'rx="{px(radius)}"/>'
    )


def _render_kind_words(state: _StateBox, middle: float, y: float) -> Iterator[str]:
    sign = _KIND_SIGNS.get(state.node.kind)
    if sign is not None:
        yield sign.format(x=px(middle - (text_width(state.words, WORDS_SIZE) + SIGN_WIDTH) / 2 + 6), y=px(y - 4))
    yield _render_text(state.words, middle + SIGN_WIDTH / 2 * (sign is not None), y, "words", "middle")


def _render_loops(state: _StateBox, middle: float, y: float) -> Iterator[str]:
    for line in state.loops:
        yield _LOOP_SIGN.format(x=px(middle - line.width / 2 - SIGN_WIDTH / 2 + 6), y=px(y + 8))
        yield from _render_transition(line, middle + SIGN_WIDTH / 2, y)
        y += line.height
    if state.omitted:
        yield _render_text(_omission_text(state.omitted), middle, y + 11, "condition", "middle")
