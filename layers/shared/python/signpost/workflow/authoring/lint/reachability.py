"""Check the graph of a definition: unreachable states, dead ends, traps, and loops without an end."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from signpost.model import JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.authoring.lint.approval_bypass import check_approval_bypasses
from signpost.workflow.authoring.lint.dataflow import output_names_of
from signpost.workflow.authoring.lint.graph import (
    Edge,
    ReachableStates,
    StateGraph,
    build_graph,
    has_timeout,
)
from signpost.workflow.authoring.lint.guard_solver import leaves_of, paths_of
from signpost.workflow.authoring.problems import LintFinding
from signpost.workflow.definition import Definition, State, Transition
from signpost.workflow.engine.steps import NOOP_KIND
from signpost.workflow.guards import Evidence, Guard

SHORTEST_ROUND_MS = 60_000
"""A cycle of timeouts that takes fewer milliseconds is a finding: a run without callers would write step after step."""


@dataclass(frozen=True, slots=True)
class AnalysedDefinition:
    definition: Definition
    document: JsonObject
    graph: StateGraph
    reachable: ReachableStates


def analyse_definition(definition: Definition, document: JsonObject) -> AnalysedDefinition:
    graph = build_graph(definition)
    return AnalysedDefinition(definition, document, graph, graph.find_reachable(definition.initial_state))


def check_reachability(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    for check in (
        _check_unreachable_states,
        _check_ends,
        _check_traps,
        _check_on_enter,
        _check_timeouts,
        _check_timeout_loops,
        _check_mixed_actors,
        _check_loops,
    ):
        yield from check(analysed)
    yield from check_approval_bypasses(analysed.graph, analysed.reachable)


def _check_unreachable_states(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    for name in analysed.definition.states:
        if name not in analysed.reachable:
            yield LintFinding(
                ("states", name), f"{name!r} is unreachable: no path leads to it from {analysed.graph.initial!r}"
            )


def _check_ends(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    for state in analysed.definition.states.values():
        at = ("states", state.name)
        if state.terminal and state.transitions:
            message = f"{state.name!r} is terminal: its transitions are never taken; remove them, or `terminal: true`"
            yield LintFinding((*at, "transitions"), message)
        if _is_dead_end(analysed, state):
            message = f"{state.name!r} is a dead end: give it a transition, or `terminal: true`"
            yield LintFinding(at, message, analysed.reachable.path(state.name))


def _is_dead_end(analysed: AnalysedDefinition, state: State) -> bool:
    leads_on = state.terminal or state.transitions or any(map(has_timeout, (analysed.definition, state)))
    return not leads_on and state.name in analysed.reachable


def _check_traps(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    """Find the edges into states that lead on, but to no terminal state, although the initial state leads to one."""
    ends = [state.name for state in analysed.definition.states.values() if state.terminal]
    can_end = analysed.graph.find_states_reaching(ends)
    if analysed.graph.initial not in can_end:
        return
    for edge in analysed.graph.all_edges:
        state = analysed.definition.states[edge.target]
        if (
            edge.source in analysed.reachable
            and edge.source in can_end
            and edge.target not in can_end
            and state.transitions
        ):
            path = (*analysed.reachable.path(edge.source), edge.target)
            message = f"no terminal state can be reached from {edge.target!r}, so the workflow cannot end"
            yield LintFinding(edge.at, message, path)


def _check_on_enter(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    for name, state in as_object(analysed.document["states"]).items():
        on_enter = as_object(state).get("onEnter")
        if on_enter is not None and not as_object(on_enter).get("executor"):
            yield LintFinding(("states", name, "onEnter"), "this `onEnter` does nothing: it has no `executor`")


def _check_timeouts(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    parts = [(("states", state.name), state) for state in analysed.definition.states.values()]
    for at, part in [((), analysed.definition), *parts]:
        if part.timeout_ms is not None and part.timeout_target is None:
            message = "`timeoutMs` has no effect without a target: add `onTimeout: {target: …}`"
            yield LintFinding((*at, "timeoutMs"), message)
        if part.timeout_target is not None and part.timeout_ms is None:
            yield LintFinding((*at, "onTimeout"), "`onTimeout` has no effect without a time: add `timeoutMs`")
    for at, state in parts:
        if state.terminal and has_timeout(state):
            yield LintFinding((*at, "onTimeout"), f"{state.name!r} is terminal: its timeout never happens; remove it")


def _check_timeout_loops(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    """Find cycles of timeouts that take less than SHORTEST_ROUND_MS."""
    seen = set[str]()
    for name in analysed.definition.states:
        path = _follow_timeouts(analysed.definition, name)
        if path[-1] != name or len(path) == 1 or name in seen:
            continue
        seen |= set(path)
        round_ms = sum(analysed.definition.states[state].timeout_ms or 0 for state in path[:-1])
        if round_ms < SHORTEST_ROUND_MS:
            problem = f"timeouts lead back to {name!r} within {round_ms / 1000:g} seconds, again and again"
            message = f"{problem}: make one longer, or lead to a state without one"
            yield LintFinding(("states", name, "timeoutMs"), message, path)


def _follow_timeouts(definition: Definition, start: str) -> tuple[str, ...]:
    """Return the states that follow by their timeouts, up to the first that has none or was there before."""
    path = [start]
    while (target := _find_timeout_target(definition.states[path[-1]])) is not None:
        is_again = target in path
        path.append(target)
        if is_again:
            break
    return tuple(path)


def _find_timeout_target(state: State) -> str | None:
    return state.timeout_target if state.timeout_ms is not None else None


def _check_mixed_actors(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    for state in analysed.definition.states.values():
        if state.runs_by_itself or state.terminal:
            continue
        for transition in state.transitions.values():
            if transition.actor == "deterministic":
                reason = f"only the engine takes it, and {state.name!r} waits for a decision"
                message = f"{transition.name!r} is never taken: {reason}"
                yield LintFinding(("states", state.name, "transitions", transition.name), message)


def _check_loops(analysed: AnalysedDefinition) -> Iterator[LintFinding]:
    states = analysed.definition.states
    automatic = {name for name, state in states.items() if state.runs_by_itself and name in analysed.reachable}

    def is_inside(edge: Edge) -> bool:
        return edge.transition is not None and edge.source in automatic and edge.target in automatic

    looping = set[str]()
    for name in states:
        if name in automatic and name not in looping:
            loop = _find_loop(analysed.graph, name, is_inside)
            if loop:
                looping |= set(loop.states)
                yield from _check_loop_exits(analysed, loop)


@dataclass(frozen=True, slots=True)
class _AutomaticLoop:
    """A cycle of states that follow each other without a decision."""

    states: frozenset[str]
    """All states that can be entered again."""
    path: tuple[str, ...]
    """The states of a shortest round."""
    exits: list[Edge] = field(default_factory=list[Edge])


def _find_loop(graph: StateGraph, name: str, is_inside: Callable[[Edge], bool]) -> _AutomaticLoop | None:
    reachable = graph.find_reachable(name, is_inside)
    closing_edges = [
        edge for edge in graph.all_edges if edge.target == name and edge.source in reachable and is_inside(edge)
    ]
    if not closing_edges:
        return None
    path = min(((*reachable.path(edge.source), name) for edge in closing_edges), key=len)
    states = frozenset(state for state in reachable.entry_edges if name in graph.find_reachable(state, is_inside))
    exits = [
        edge
        for state in states
        for edge in graph.edges[state]
        if edge.transition is not None and edge.target not in states
    ]
    return _AutomaticLoop(states, path, exits)


def _check_loop_exits(analysed: AnalysedDefinition, loop: _AutomaticLoop) -> Iterator[LintFinding]:
    states = [analysed.definition.states[name] for name in loop.states]
    if any(_may_lead_out(edge, states) for edge in loop.exits):
        return
    reason = "nothing in it changes the values that its exits test" if loop.exits else "no transition leaves it"
    message = f"the automatic transitions from {loop.path[0]!r} form an endless loop: {reason}"
    yield LintFinding(("states", loop.path[0]), message, loop.path)


def _may_lead_out(edge: Edge, loop_states: Iterable[State]) -> bool:
    """Check whether an edge has no conditions, or conditions that may change their result while the loop runs."""
    conditions = _conditions_of(edge.transition) if edge.transition else []
    if not conditions:
        return True
    states = list(loop_states)
    written_names = {name for state in states for name in output_names_of(state)}
    if any(path.scope == "context" and path.steps[0] in written_names for path in paths_of(conditions)):
        return True
    return any(isinstance(leaf, Evidence) for condition in conditions for leaf in leaves_of(condition)) and any(
        map(_may_run_executor, states)
    )


def _conditions_of(transition: Transition) -> list[Guard]:
    return [*transition.guards, *(branch.when for branch in transition.branches)]


def _may_run_executor(state: State) -> bool:
    """Check whether the state may run an executor, which may give evidence."""
    executors = [holder.executor for holder in (state.on_enter, *state.transitions.values()) if holder is not None]
    return any(executor is not None and executor.kind != NOOP_KIND for executor in executors)
