"""Whether a definition leads somewhere: what its states and transitions look like as a graph."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from signpost.model import JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.bypasses import bypasses
from signpost.workflow.deciding import leaves, paths_of
from signpost.workflow.definition import Definition, State, Transition
from signpost.workflow.flow import written_in
from signpost.workflow.graph import Edge, Graph, Reached, graph_of, times_out
from signpost.workflow.guards import Evidence, Guard
from signpost.workflow.problems import Doubt
from signpost.workflow.steps import NOTHING_TO_RUN


@dataclass(frozen=True, slots=True)
class Shape:
    definition: Definition
    document: JsonObject
    graph: Graph
    reached: Reached


def shape_of(definition: Definition, document: JsonObject) -> Shape:
    graph = graph_of(definition)
    return Shape(definition, document, graph, graph.reached(definition.initial_state))


def doubts(shape: Shape) -> Iterator[Doubt]:
    for check in (_unreachable, _ends, _traps, _entering, _timeouts, _mixed, _loops):
        yield from check(shape)
    yield from bypasses(shape.graph, shape.reached)


def _unreachable(shape: Shape) -> Iterator[Doubt]:
    for name in shape.definition.states:
        if name not in shape.reached:
            yield Doubt(("states", name), f"{name!r} is unreachable: nothing leads there from {shape.graph.initial!r}")


def _ends(shape: Shape) -> Iterator[Doubt]:
    for state in shape.definition.states.values():
        at = ("states", state.name)
        if state.terminal and state.transitions:
            message = f"{state.name!r} is terminal: its transitions are never offered, and none of them is taken"
            yield Doubt((*at, "transitions"), message)
        if _is_dead_end(shape, state):
            message = f"{state.name!r} is a dead end: give it a transition, or `terminal: true`"
            yield Doubt(at, message, shape.reached.path(state.name))


def _is_dead_end(shape: Shape, state: State) -> bool:
    leads_on = state.terminal or state.transitions or times_out(shape.definition)
    return not leads_on and state.name in shape.reached


def _traps(shape: Shape) -> Iterator[Doubt]:
    """Where one comes in, of states that lead on for ever and to no end, although there is one."""
    ends = [state.name for state in shape.definition.states.values() if state.terminal]
    ending = shape.graph.reaching(ends)
    if shape.graph.initial not in ending:
        return
    for edge in shape.graph.all:
        state = shape.definition.states[edge.target]
        if edge.source in shape.reached and edge.source in ending and edge.target not in ending and state.transitions:
            path = (*shape.reached.path(edge.source), edge.target)
            message = f"from {edge.target!r} no terminal state can be reached any more"
            yield Doubt(edge.at, message, path)


def _entering(shape: Shape) -> Iterator[Doubt]:
    for name, state in as_object(shape.document["states"]).items():
        entering = as_object(state).get("onEnter")
        if entering is not None and not as_object(entering).get("executor"):
            yield Doubt(("states", name, "onEnter"), "this `onEnter` does nothing: it has no `executor`")


def _timeouts(shape: Shape) -> Iterator[Doubt]:
    definition = shape.definition
    if definition.timeout_ms is not None and definition.timeout_target is None:
        yield Doubt(("timeoutMs",), "nothing happens then: say where it leads by `onTimeout: {target: …}`")
    if definition.timeout_target is not None and definition.timeout_ms is None:
        yield Doubt(("onTimeout",), "this never happens: say when by `timeoutMs`")


def _mixed(shape: Shape) -> Iterator[Doubt]:
    for state in shape.definition.states.values():
        if state.runs_by_itself or state.terminal:
            continue
        for transition in state.transitions.values():
            if transition.actor == "deterministic":
                message = f"{transition.name!r} never follows by itself, because {state.name!r} waits for a decision"
                yield Doubt(("states", state.name, "transitions", transition.name), message)


def _loops(shape: Shape) -> Iterator[Doubt]:
    states = shape.definition.states
    automatic = {name for name, state in states.items() if state.runs_by_itself and name in shape.reached}

    def inside(edge: Edge) -> bool:
        return edge.transition is not None and edge.source in automatic and edge.target in automatic

    looping = set[str]()
    for name in states:
        if name in automatic and name not in looping:
            circle = _circle(shape.graph, name, inside)
            if circle:
                looping |= set(circle.states)
                yield from _unbounded(shape, circle)


@dataclass(frozen=True, slots=True)
class _Circle:
    states: frozenset[str]
    """All that can come round again."""
    path: tuple[str, ...]
    """Once round, by the shortest way."""
    exits: list[Edge] = field(default_factory=list[Edge])


def _circle(graph: Graph, name: str, inside: Callable[[Edge], bool]) -> _Circle | None:
    ahead = graph.reached(name, inside)
    closing = [edge for edge in graph.all if edge.target == name and edge.source in ahead and inside(edge)]
    if not closing:
        return None
    path = min(((*ahead.path(edge.source), name) for edge in closing), key=len)
    states = frozenset(one for one in ahead.came_by if name in graph.reached(one, inside))
    exits = [
        edge for one in states for edge in graph.edges[one] if edge.transition is not None and edge.target not in states
    ]
    return _Circle(states, path, exits)


def _unbounded(shape: Shape, circle: _Circle) -> Iterator[Doubt]:
    within = [shape.definition.states[name] for name in circle.states]
    if any(_may_lead_out(edge, within) for edge in circle.exits):
        return
    what = "nothing on the way changes what leads out of it" if circle.exits else "nothing leads out of it"
    message = f"what follows by itself from {circle.path[0]!r} goes round without a bound: {what}"
    yield Doubt(("states", circle.path[0]), message, circle.path)


def _may_lead_out(edge: Edge, within: Iterable[State]) -> bool:
    """Whether it is open, or by what happens on the way round may come to be."""
    asked = _conditions(edge.transition) if edge.transition else []
    if not asked:
        return True
    states = list(within)
    written = {name for state in states for name in written_in(state)}
    if any(path.scope == "context" and path.steps[0] in written for path in paths_of(asked)):
        return True
    return any(isinstance(leaf, Evidence) for one in asked for leaf in leaves(one)) and any(map(_runs, states))


def _conditions(transition: Transition) -> list[Guard]:
    return [*transition.guards, *(branch.when for branch in transition.branches)]


def _runs(state: State) -> bool:
    """Whether an executor may give evidence there."""
    executors = [one.executor for one in (state.on_enter, *state.transitions.values()) if one is not None]
    return any(executor is not None and executor.kind != NOTHING_TO_RUN for executor in executors)
