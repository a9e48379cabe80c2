"""Find approval bypasses: paths past the approval of a person that other callers can take without it.

A guarded path past an approval is intended, for example for small expenses that need no approval. Only paths that are
open to any caller are reported.
"""

import re
from collections.abc import Iterator

from signpost.records import dataclass
from signpost.workflow.authoring.lint.graph import Edge, ReachableStates, StateGraph
from signpost.workflow.authoring.lint.guard_solver import paths_of
from signpost.workflow.authoring.problems import LintFinding
from signpost.workflow.definition import Pointer

_REFUSAL_WORDS = re.compile(
    r"reject|refus|declin|den(y|ied)|disapprov|veto|cancel|withdraw|abort|back|return|rework|revis"
)
"""If a transition declares no `decision`, these words in its name or target show that it refuses the approval."""


def check_approval_bypasses(graph: StateGraph, reachable: ReachableStates) -> Iterator[LintFinding]:
    found = dict[Pointer, LintFinding]()
    for approval in graph.all_edges:
        if approval.source in reachable and _is_approval(graph, approval):
            for finding in _find_bypasses(graph, approval):
                found.setdefault(finding.at, finding)
    yield from found.values()


def _is_approval(graph: StateGraph, edge: Edge) -> bool:
    if edge.transition is None or not edge.is_by_a_person or edge.transition.decision == "reject":
        return False
    names = f"{edge.transition.name} {edge.target}".lower()
    if edge.transition.decision is None and _REFUSAL_WORDS.search(names):
        return False
    # A state that every path to the approval passes through does not need the approval.
    return edge.target not in (graph.initial, edge.source) and edge.source in _find_reachable_without(
        graph, edge.target
    )


def _find_reachable_without(graph: StateGraph, state: str) -> ReachableStates:
    return graph.find_reachable(graph.initial, lambda edge: edge.target != state)


def _find_bypasses(graph: StateGraph, approval: Edge) -> Iterator[LintFinding]:
    name = approval.transition.name if approval.transition else ""
    for state in _states_after(graph, approval.target):
        if state == graph.initial:
            return
        search = _BypassSearch(graph, approval.source, state)
        for edge in search.entering_edges:
            message = f"{state!r} can be reached without the approval {name!r} of {approval.source!r}"
            yield LintFinding(edge.at, message, search.path(edge))
        if search.entering_edges:
            return


def _states_after(graph: StateGraph, state: str) -> Iterator[str]:
    """Yield a state and the states that have to follow it."""
    seen = list[str]()
    while state not in seen:
        seen.append(state)
        yield state
        edges = [edge for edge in graph.edges[state] if edge.transition is not None]
        targets = {edge.target for edge in edges}
        # A transition that a person takes is an approval of its own.
        if len(targets) == 1 and not any(edge.is_by_a_person for edge in edges):
            (state,) = targets


@dataclass(slots=True, init=False)
class _BypassSearch:
    """Finds the paths to a state past an approval.

    No person takes them, and no guard restricts them after the last state from which the approval is still ahead.
    """

    graph: StateGraph
    reachable_without_person: ReachableStates
    """The states that can be reached without a person."""
    bypass_edges: dict[str, Edge | None]
    """The states reached without a guard, each with the edge that enters it; None where the approval is still ahead."""
    entering_edges: list[Edge]

    def __init__(self, graph: StateGraph, approval_state: str, state: str) -> None:
        self.graph = graph
        self.reachable_without_person = graph.find_reachable(
            graph.initial, lambda edge: not edge.is_by_a_person and edge.target != state
        )
        ahead = graph.find_states_reaching([approval_state], without=state)
        self.bypass_edges = {name: None for name in self.reachable_without_person.entry_edges if name in ahead}
        waiting = list(self.bypass_edges)
        self.entering_edges = []
        for source in waiting:
            for edge in graph.edges[source]:
                if edge.is_by_a_person or _is_guarded(edge):
                    continue
                if edge.target == state:
                    self.entering_edges.append(edge)
                elif edge.target not in self.bypass_edges:
                    self.bypass_edges[edge.target] = edge
                    waiting.append(edge.target)

    def path(self, entering_edge: Edge) -> tuple[str, ...]:
        path = [entering_edge.target, entering_edge.source]
        while (edge := self.bypass_edges[path[-1]]) is not None:
            path.append(edge.source)
        return (*self.reachable_without_person.path(path[-1]), *reversed(path[:-1]))


def _is_guarded(edge: Edge) -> bool:
    """Check whether the edge has conditions that a caller cannot meet by choosing the arguments."""
    if edge.transition is None:
        return False
    conditions = [*edge.transition.guards, *(branch.when for branch in edge.transition.branches)]
    return bool(conditions) and not any(path.scope == "arguments" for path in paths_of(conditions))
