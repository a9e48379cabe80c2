"""Ways past an approval: what a person has to agree to, and somebody else can do without.

A rule that leads around one is meant so: a small expense that nobody has to approve is why there is a guard. What is
looked for is a way that is open to whoever takes it.
"""

import re
from collections.abc import Iterator

from signpost.records import dataclass
from signpost.workflow.deciding import paths_of
from signpost.workflow.definition import Pointer
from signpost.workflow.graph import Edge, Graph, Reached
from signpost.workflow.problems import Doubt

_REFUSES = re.compile(r"reject|refus|declin|den(y|ied)|disapprov|veto|cancel|withdraw|abort|back|return|rework|revis")
"""Where no `decision` says it, the name does: who says no approves of nothing."""


def bypasses(graph: Graph, reached: Reached) -> Iterator[Doubt]:
    found = dict[Pointer, Doubt]()
    for approval in graph.all:
        if approval.source in reached and _is_approval(graph, approval):
            for doubt in _around(graph, approval):
                found.setdefault(doubt.at, doubt)
    yield from found.values()


def _is_approval(graph: Graph, edge: Edge) -> bool:
    if edge.transition is None or not edge.is_by_a_person or edge.transition.decision == "reject":
        return False
    names = f"{edge.transition.name} {edge.target}".lower()
    if edge.transition.decision is None and _REFUSES.search(names):
        return False
    # What leads back to where everybody came from leads past nothing.
    return edge.target not in (graph.initial, edge.source) and edge.source in _without(graph, edge.target)


def _without(graph: Graph, state: str) -> Reached:
    return graph.reached(graph.initial, lambda edge: edge.target != state)


def _around(graph: Graph, approval: Edge) -> Iterator[Doubt]:
    name = approval.transition.name if approval.transition else ""
    for state in _past(graph, approval.target):
        if state == graph.initial:
            return
        ways = _Ways(graph, approval.source, state)
        for edge in ways.into_it:
            message = f"{state!r} is reached past the approval {name!r} of {approval.source!r}"
            yield Doubt(edge.at, message, ways.path(edge))
        if ways.into_it:
            return


def _past(graph: Graph, state: str) -> Iterator[str]:
    """A state, and those that have to follow it."""
    seen = list[str]()
    while state not in seen:
        seen.append(state)
        yield state
        on = [edge for edge in graph.edges[state] if edge.transition is not None]
        targets = {edge.target for edge in on}
        if len(targets) == 1 and not any(edge.is_by_a_person for edge in on):  # that one is an approval itself
            (state,) = targets


@dataclass(slots=True, init=False)
class _Ways:
    """Into a state, without a person, and from where the approval was still ahead without a rule."""

    graph: Graph
    before: Reached
    """Where one comes without a person."""
    after: dict[str, Edge | None]
    """Where one comes from there by edges that nothing rules; None for those where the approval was ahead."""
    into_it: list[Edge]

    def __init__(self, graph: Graph, asked_in: str, state: str) -> None:
        self.graph = graph
        self.before = graph.reached(graph.initial, lambda edge: not edge.is_by_a_person and edge.target != state)
        ahead = graph.reaching([asked_in], without=state)
        self.after = {one: None for one in self.before.came_by if one in ahead}
        waiting = list(self.after)
        self.into_it = []
        for source in waiting:
            for edge in graph.edges[source]:
                if edge.is_by_a_person or _is_ruled(edge):
                    continue
                if edge.target == state:
                    self.into_it.append(edge)
                elif edge.target not in self.after:
                    self.after[edge.target] = edge
                    waiting.append(edge.target)

    def path(self, into_it: Edge) -> tuple[str, ...]:
        path = [into_it.target, into_it.source]
        while (edge := self.after[path[-1]]) is not None:
            path.append(edge.source)
        return (*self.before.path(path[-1]), *reversed(path[:-1]))


def _is_ruled(edge: Edge) -> bool:
    """Whether more than the caller's will decides that it is taken."""
    if edge.transition is None:
        return False
    asked = [*edge.transition.guards, *(branch.when for branch in edge.transition.branches)]
    return bool(asked) and not any(path.scope == "arguments" for path in paths_of(asked))
