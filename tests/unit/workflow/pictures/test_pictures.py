"""Pictures of workflows: as Mermaid, and drawn."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import dist
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost.model import OVERRIDE_PREFIX, JsonObject
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.guards import KINDS, GuardInput, NotUnderstood, guard_of
from signpost.workflow.instance import Hop
from signpost.workflow.pictures.layout import Box, Layout, LayoutLink, Size, build_layout
from signpost.workflow.pictures.mermaid import render_mermaid
from signpost.workflow.pictures.model import Trail, build_picture, describe_targets
from signpost.workflow.pictures.svg import fit_text, render_svg, text_width, wrap_text
from tests.support.effort import count_examples

SVG = "{http://www.w3.org/2000/svg}"
ROUNDING = 1e-6
SECONDS = 20
"""For the largest of all: ten times what it takes on a machine with nothing else to do."""
REVIEW: JsonObject = {
    "title": "Review",
    "initialState": "draft",
    "timeoutMs": 7_200_000,
    "onTimeout": {"target": "late"},
    "states": {
        "draft": {"transitions": {"save": {"target": "draft"}, "ask": {"target": "sorting"}}},
        "sorting": {
            "transitions": {
                "small": {
                    "actor": "deterministic",
                    "target": "done",
                    "guards": [{"kind": "expr", "expr": "$.context.size < 5"}],
                },
                "large": {
                    "actor": "deterministic",
                    "target": "review",
                    "guards": [{"kind": "expr", "expr": "$.context.size >= 5"}],
                },
            }
        },
        "review": {
            "transitions": {
                "approve": {
                    "actor": "human",
                    "target": "review",
                    "guards": [{"kind": "role", "role": "editor"}],
                    "branches": [
                        {
                            "when": {"kind": "evidence", "requires": [{"kind": "human_approval", "count": 2}]},
                            "target": "done",
                        }
                    ],
                },
                "send_back": {"actor": "human", "target": "draft"},
            }
        },
        "done": {"terminal": True, "transitions": {"never": {"target": "draft"}}},
        "late": {"terminal": True},
    },
}
TRAIL = Trail(
    "draft",
    (
        Hop("draft", "save", "draft", 2),
        Hop("draft", "ask", "sorting", 3),
        Hop("sorting", "large", "review", 4),
        Hop("review", "send_back", "draft", 5),
    ),
)


def review(**fields: Any) -> Definition:
    return parse_published_definition("review", {**REVIEW, **fields})


def root(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - it was made here


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in root(svg).iter(f"{SVG}text")]


def boxes(svg: str) -> Mapping[str, str]:
    """The classes of each state's box by what its group is called."""
    groups = [group for group in root(svg).iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
    return {str(group.findtext(f"{SVG}title")): group.find(f"{SVG}rect").get("class", "") for group in groups}  # pyright: ignore[reportOptionalMemberAccess] - asked for above


# A grammar of what is written here, narrower than Mermaid's own: whatever it takes, Mermaid takes.
_TEXT = r"(?:[^\"#;:{}<>\[\]%*`\\|&$~^@]|#\d+;)+"
_STATEMENTS = (
    rf'state "{_TEXT}" as (?:s\d+|late)',
    r"\[\*\] --> s\d+",
    r"s\d+ --> \[\*\]",
    rf"(?:s\d+|late) --> s\d+ : {_TEXT}",
    r"classDef [a-z]+ (?:[a-z-]+:[#\w ]+,?)+",
    r"class (?:s\d+|late)(?:,(?:s\d+|late))* [a-z]+",
)


def is_mermaid(text: str) -> bool:
    first, *lines = text.removesuffix("\n").split("\n")
    return first == "stateDiagram-v2" and all(
        any(re.fullmatch(f"    {statement}", line) for statement in _STATEMENTS)
        and not re.search(r"direction\s", line, re.IGNORECASE)
        for line in lines
    )


def test_mermaid_shows_states_transitions_conditions_and_actors() -> None:
    assert render_mermaid(build_picture(review())).split("\n    classDef")[0].splitlines() == [
        "stateDiagram-v2",
        '    state "draft" as s1',
        '    state "sorting, automatic" as s2',
        '    state "review, a person decides" as s3',
        '    state "done, end" as s4',
        '    state "late, end" as s5',
        '    state "after 2 h, from any state" as late',
        "    [*] --> s1",
        "    s1 --> s1 : save",
        "    s1 --> s2 : ask",
        "    s2 --> s4 : small, automatic (size #60; 5)",
        "    s2 --> s3 : large, automatic (size #62;= 5)",
        "    s3 --> s4 : approve, a person (is editor, 2 human_approval)",
        "    s3 --> s3 : approve, a person (is editor, else)",
        "    s3 --> s1 : send_back, a person",
        "    late --> s5 : timeout, automatic",
        "    s4 --> [*]",
        "    s5 --> [*]",
    ]


def test_mermaid_marks_the_state_and_the_hops_of_an_instance() -> None:
    lines = render_mermaid(build_picture(review(), TRAIL)).splitlines()
    assert '    state "draft, now" as s1' in lines
    assert "    s1 --> s1 : ✓ 1, save" in lines
    assert "    s1 --> s2 : ✓ 2, ask" in lines
    assert "    s2 --> s3 : ✓ 3, large, automatic (size #62;= 5)" in lines
    assert "    s2 --> s4 : small, automatic (size #60; 5)" in lines
    assert "    class s1 current" in lines
    assert "    class s2,s3 visited" in lines


@pytest.mark.invariant(48)
def test_mermaid_escapes_the_texts_of_authors() -> None:
    evil = 'Direction LR a: b; "c" <script> %%{init}%% [[fork]] --> x #1;\nend note'
    written = render_mermaid(
        build_picture(parse_published_definition("d", {"initialState": evil, "states": {evil: {"terminal": True}}}))
    )
    assert is_mermaid(written)
    assert len(written.splitlines()) == 6
    shown = re.sub(r"#(\d+);", lambda found: chr(int(found[1])), written)
    assert 'Direction LR a: b; "c" <script> %%{init}%% [[fork]] --> x' in shown


def test_a_hop_by_timeout_is_marked_at_the_deadline() -> None:
    trail = Trail("late", (Hop("draft", "ask", "sorting", 2), Hop("sorting", "timeout", "late", 3)))
    picture = build_picture(review(), trail)
    assert [arrow.source for arrow in picture.arrows if arrow.is_taken] == ["s1", "late"]
    assert "2 · timeout" in texts(render_svg(picture))


def test_kinds_of_states_differ_by_more_than_their_colour() -> None:
    svg = render_svg(build_picture(review()))
    assert boxes(svg) == {
        "draft": "box agent",
        "sorting, automatic": "box automatic",
        "review, a person decides": "box person",
        "done, end": "box terminal",
        "late, end": "box terminal",
        "after 2 h, from any state": "box deadline",
    }
    for words in ("automatic", "a person decides", "end", "from any state"):
        assert words in texts(svg)
    style = str(root(svg).findtext(f"{SVG}style"))
    assert ".automatic{stroke-dasharray" in style
    assert "@media (prefers-color-scheme:dark)" in style


def test_current_state_and_hops_are_marked_by_more_than_their_colour() -> None:
    svg = render_svg(build_picture(review(), TRAIL))
    assert boxes(svg)["draft, now"] == "box agent current"
    assert boxes(svg)["review, a person decides"] == "box person visited"
    assert boxes(svg)["done, end"] == "box terminal"
    assert {"1 · save", "2 · ask", "3 · large", "4 · send_back", "small"} <= set(texts(svg))
    pointers = [path for path in root(svg).iter(f"{SVG}path") if path.get("class") == "pointer"]
    taken = [path for path in root(svg).iter(f"{SVG}path") if path.get("class") == "line taken"]
    assert (len(pointers), len(taken)) == (1, 2 * 3)


@pytest.mark.invariant(48)
def test_the_texts_of_authors_are_only_text_in_an_svg() -> None:
    evil = "</text><script>alert(1)</script>&amp;\x00\x1b\u202e\ud800\ufffe"
    states: JsonObject = {
        "a": {"transitions": {evil: {"target": evil, "guards": [{"kind": "role", "role": evil}]}}},
        evil: {"terminal": True},
    }
    svg = render_svg(
        build_picture(parse_published_definition("d", {"title": evil, "initialState": "a", "states": states}))
    )
    assert {element.tag for element in root(svg).iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "style", "rect", "text", "path", "circle", "g")
    }
    assert any(text.startswith("</text><script>") for text in texts(svg))
    assert "\u202e" not in svg


def test_long_labels_are_cut_and_complete_in_their_tooltips() -> None:
    name, transition = "state " * 40, "transition_" * 40
    states: JsonObject = {"a": {"transitions": {transition: {"target": name}}}, name: {"terminal": True}}
    svg = render_svg(build_picture(parse_published_definition("d", {"initialState": "a", "states": states})))
    assert float(root(svg).get("width", "")) < 600
    assert max(map(len, texts(svg))) < 60
    assert any(title.text == transition for title in root(svg).iter(f"{SVG}title"))


def test_taken_transitions_are_shown_among_many_between_two_states() -> None:
    transitions: JsonObject = {f"t{number}": {"target": "b"} for number in range(60)}
    document: JsonObject = {
        "initialState": "a",
        "states": {"a": {"transitions": transitions}, "b": {"transitions": {"back": {"target": "a"}}}},
    }
    svg = render_svg(build_picture(parse_published_definition("d", document), Trail("b", (Hop("a", "t57", "b", 2),))))
    assert {"1 · t57", "t0", "and 55 more"} <= set(texts(svg))
    assert "t56" not in texts(svg)


@given(st.text(max_size=200), st.floats(20, 300))
def test_fitted_text_fits_and_wrapped_text_is_complete(text: str, longest: float) -> None:
    assert text_width(fit_text(text, 12, longest), 12) <= longest
    assert all(text_width(line, 12) <= longest for line in wrap_text(text, 12, longest, 2))
    if all(text_width(word, 12) <= longest for word in text.split()):
        assert " ".join(wrap_text(text, 12, longest, 1000)) == " ".join(text.split())


# Any definition whatsoever.

_NAMES = st.text(min_size=0, max_size=12)
_TRANSITION_NAMES = _NAMES.filter(lambda name: not name.startswith(OVERRIDE_PREFIX))
_GUARDS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.fixed_dictionaries({"kind": st.just("role"), "role": _NAMES}),
        st.fixed_dictionaries({"kind": st.just("expr"), "expr": st.text(max_size=40)}),
        st.just({"kind": "evidence", "requires": [{"kind": "x", "count": 3, "distinct": True}]}),
        st.just({"kind": "nothing"}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"kind": st.just("any_of"), "guards": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"kind": st.just("not"), "guard": inner}),
    ),
    max_leaves=4,
)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    names = draw(st.lists(_NAMES, min_size=1, max_size=7, unique=True))
    targets = st.sampled_from(names)
    transitions: st.SearchStrategy[Any] = st.fixed_dictionaries(
        {"target": targets},
        optional={
            "actor": st.sampled_from(["agent", "human", "system", "deterministic"]),
            "guards": st.lists(_GUARDS, max_size=2),
            "branches": st.lists(st.fixed_dictionaries({"when": _GUARDS, "target": targets}), max_size=2),
        },
    )
    states: Any = {
        name: draw(
            st.fixed_dictionaries(
                {"transitions": st.dictionaries(_TRANSITION_NAMES, transitions, max_size=4)},
                optional={"terminal": st.booleans()},
            )
        )
        for name in names
    }
    document = {"title": draw(_NAMES), "initialState": draw(targets), "states": states}
    if draw(st.booleans()):
        document |= {"timeoutMs": draw(st.integers(1, 10**10)), "onTimeout": {"target": draw(targets)}}
    return parse_published_definition("any", document)


@pytest.mark.invariant(48)
@given(definitions(), st.data())
@settings(max_examples=count_examples(150))
def test_any_definition_has_one_reproducible_picture(definition: Definition, data: st.DataObject) -> None:
    hops = [
        Hop(state.name, transition.name, transition.target, 2)
        for state in definition.states.values()
        for transition in state.transitions.values()
    ]
    taken = data.draw(st.lists(st.sampled_from(hops), max_size=4)) if hops else []
    trail = data.draw(st.sampled_from([None, Trail(definition.initial_state, taken)]))
    picture = build_picture(definition, trail)
    svg = render_svg(picture)
    assert len([*root(svg).iter(f"{SVG}rect")]) >= len(definition.states) + 1
    assert svg == render_svg(build_picture(definition, trail))
    assert is_mermaid(render_mermaid(picture))
    assert render_mermaid(picture) == render_mermaid(build_picture(definition, trail))


# The layout.


def inside(box: Box, x: float, y: float) -> bool:
    return box.x + ROUNDING < x < box.right - ROUNDING and box.y + ROUNDING < y < box.bottom - ROUNDING


def overlap(one: Box, other: Box) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom


def points(route: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """All along a line; a curve that is upright at both ends stays between its ends, and near enough to these."""
    for (x1, y1), (x2, y2) in pairwise(route):
        for step in range(25):
            part = step / 24
            if x1 != x2 and y1 != y2:
                across = 3 * part**2 - 2 * part**3
                down = 1.5 * part * (1 - part) ** 2 + 1.5 * part**2 * (1 - part) + part**3
                yield x1 + (x2 - x1) * across, y1 + (y2 - y1) * down
            else:
                yield x1 + (x2 - x1) * part, y1 + (y2 - y1) * part


def layout_faults(layout: Layout, links: Sequence[LayoutLink]) -> Iterator[str]:
    boxes = [*layout.nodes.items(), *((f"label {place}", box) for place, box in enumerate(layout.labels))]
    for (name, box), (other, another) in combinations(boxes, 2):
        if overlap(box, another):
            yield f"{name} and {other} overlap"
    for name, box in boxes:
        if box.x < 0 or box.y < 0 or box.right > layout.width or box.bottom > layout.height:
            yield f"{name} is outside"
    for link, (to_label, on) in zip(links, layout.routes, strict=True):
        for x, y in (*points(to_label), *points(on)):
            if not (0 <= x <= layout.width and 0 <= y <= layout.height):
                yield f"{link} is outside"
            yield from (f"{link} crosses {name}" for name, box in boxes if inside(box, x, y))


def disconnected_links(layout: Layout, links: Sequence[LayoutLink]) -> Iterator[str]:
    """Lines that do not lead from their source by their label to their target."""
    for link, label, (to_label, on) in zip(links, layout.labels, layout.routes, strict=True):
        source, target = layout.nodes[link.source], layout.nodes[link.target]
        meets = [
            dist(to_label[0], (to_label[0][0], source.bottom)) < ROUNDING,
            dist(to_label[-1], (label.middle, label.y)) < ROUNDING,
            dist(on[0], (label.middle, label.bottom)) < ROUNDING,
            dist(on[-1], (on[-1][0], target.y)) < ROUNDING,
            source.x < to_label[0][0] < source.right,
            target.x < on[-1][0] < target.right,
        ]
        if not all(meets):
            yield f"{link} does not meet what it connects"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Mapping[str, Size], Sequence[LayoutLink]]:
    sizes = st.builds(Size, st.floats(60, 250), st.floats(30, 120))
    names = [f"n{number}" for number in range(draw(st.integers(1, 8)))]
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), unique=True, max_size=20))
    links = [LayoutLink(a, b, draw(st.builds(Size, st.floats(10, 200), st.floats(15, 60)))) for a, b in pairs if a != b]
    return {name: draw(sizes) for name in names}, links


@given(graphs())
@settings(max_examples=count_examples(200))
def test_boxes_do_not_overlap_and_no_line_crosses_a_box_or_a_label(
    graph: tuple[Mapping[str, Size], Sequence[LayoutLink]],
) -> None:
    nodes, links = graph
    layout = build_layout("n0", nodes, links)
    assert not list(layout_faults(layout, links))
    assert not list(disconnected_links(layout, links))


def test_forward_links_lead_down() -> None:
    size = Size(100, 40)
    nodes = dict.fromkeys("abcd", size)
    links = [LayoutLink(source, target, size) for source, target in ("ab", "bc", "cd", "ad", "da", "cb")]
    layout = build_layout("a", nodes, links)
    tops = [layout.nodes[name].y for name in "abcd"]
    assert tops == sorted(set(tops))


@pytest.mark.parametrize(
    ("states", "transitions"),
    [(1, 60), (200, 1), (200, 60)],
    ids=["one state with sixty", "a chain of two hundred", "two hundred with sixty each"],
)
def test_large_definitions_are_drawn_in_time(states: int, transitions: int) -> None:
    names = [f"state_{number}" for number in range(states)]
    document: JsonObject = {
        "initialState": names[0],
        "states": {
            name: {
                "transitions": {
                    f"to_{step}": {"target": names[(place + step * step) % states]}
                    for step in range(1, transitions + 1)
                }
            }
            for place, name in enumerate(names)
        },
    }
    definition = parse_published_definition("large", document)
    before = time.process_time()
    svg = render_svg(build_picture(definition))
    assert time.process_time() - before < SECONDS
    assert len(boxes(svg)) == states
    assert is_mermaid(render_mermaid(build_picture(definition)))


class UnknownGuard:
    """A kind of guard that no picture has words for."""

    def verdict(self, guard_input: GuardInput) -> bool | None:
        del guard_input
        return True


def test_a_guard_of_an_unknown_kind_is_an_error_and_not_drawn_as_never() -> None:
    transition = parse_published_definition("review", REVIEW).states["sorting"].transitions["small"]
    assert describe_targets(transition) == {"done": "size < 5"}
    with pytest.raises(TypeError, match="UnknownGuard"):
        describe_targets(replace(transition, guards=(UnknownGuard(),)))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_guard_has_a_description(kind: str) -> None:
    inner = {"kind": "role", "role": "r"}
    members = {"permission": "p", "role": "r", "expr": "$.context.a == 1", "requires": ["ok"], "guard": inner}
    guard = guard_of({"kind": kind, "guards": [inner], **members})
    assert not isinstance(guard, NotUnderstood)
    transition = parse_published_definition("review", REVIEW).states["sorting"].transitions["small"]
    assert describe_targets(replace(transition, guards=(guard,)))["done"]
