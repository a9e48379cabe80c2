"""The states of a definition and what leads from one to the next, as a graph."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from signpost.records import dataclass
from signpost.workflow.definition import Definition, Pointer, State, Transition


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    transition: Transition | None
    """None for a timeout."""
    at: Pointer
    """Where the target is named."""

    @property
    def is_by_a_person(self) -> bool:
        return self.transition is not None and self.transition.actor == "human"


@dataclass(frozen=True, slots=True)
class Reached:
    """Where one gets from somewhere, each by a shortest way."""

    came_by: Mapping[str, Edge | None]

    def __contains__(self, state: str) -> bool:
        return state in self.came_by

    def path(self, state: str) -> Sequence[str]:
        """The states that one comes through."""
        path = [state]
        while (edge := self.came_by[path[-1]]) is not None:
            path.append(edge.source)
        return tuple(reversed(path))


@dataclass(frozen=True, slots=True)
class Graph:
    initial: str
    edges: Mapping[str, Sequence[Edge]]
    """By the state that they lead from."""

    def reached(self, start: str, follows: Callable[[Edge], bool] | None = None) -> "Reached":
        came_by: dict[str, Edge | None] = {start: None}
        waiting = deque([start])
        while waiting:
            for edge in self.edges[waiting.popleft()]:
                if edge.target not in came_by and (follows is None or follows(edge)):
                    came_by[edge.target] = edge
                    waiting.append(edge.target)
        return Reached(came_by)

    def reaching(self, goals: Iterable[str], without: str | None = None) -> frozenset[str]:
        """From where one of them can be reached, itself included, and not by way of a state."""
        sources: dict[str, list[str]] = {}
        for edge in self.all:
            if without not in (edge.source, edge.target):
                sources.setdefault(edge.target, []).append(edge.source)
        found = set(goals)
        waiting = list(found)
        while waiting:
            for source in sources.get(waiting.pop(), ()):
                if source not in found:
                    found.add(source)
                    waiting.append(source)
        return frozenset(found)

    @property
    def all(self) -> Iterator[Edge]:
        for edges in self.edges.values():
            yield from edges


def graph_of(definition: Definition) -> Graph:
    edges = {name: tuple(_edges(definition, state)) for name, state in definition.states.items()}
    return Graph(definition.initial_state, edges)


def times_out(definition: Definition) -> bool:
    return definition.timeout_ms is not None and definition.timeout_target is not None


def _edges(definition: Definition, state: State) -> Iterator[Edge]:
    if state.terminal:
        return  # nothing leads out of it, whatever is written there
    for transition in state.transitions.values():
        at: Pointer = ("states", state.name, "transitions", transition.name)
        for place, branch in enumerate(transition.branches):
            yield Edge(state.name, branch.target, transition, (*at, "branches", place, "target"))
        yield Edge(state.name, transition.target, transition, (*at, "target"))
    if definition.timeout_ms is not None and definition.timeout_target is not None:
        yield Edge(state.name, definition.timeout_target, None, ("onTimeout", "target"))
