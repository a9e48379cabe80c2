"""The states of a definition as the nodes of a graph, and its transitions, branches and timeout as the edges."""

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
    """The pointer to the name of the target in the document."""

    @property
    def is_by_a_person(self) -> bool:
        return self.transition is not None and self.transition.actor == "human"


@dataclass(frozen=True, slots=True)
class ReachableStates:
    """The states that can be reached from a state, each with the last edge of a shortest path."""

    entry_edges: Mapping[str, Edge | None]

    def __contains__(self, state: str) -> bool:
        return state in self.entry_edges

    def path(self, state: str) -> tuple[str, ...]:
        """Return the states of a shortest path, from the start to this state."""
        path = [state]
        while (edge := self.entry_edges[path[-1]]) is not None:
            path.append(edge.source)
        return tuple(reversed(path))


@dataclass(frozen=True, slots=True)
class StateGraph:
    initial: str
    edges: Mapping[str, Sequence[Edge]]
    """The edges by the state that they lead from."""

    def find_reachable(self, start: str, follows: Callable[[Edge], bool] | None = None) -> "ReachableStates":
        """Find the states that can be reached over the edges that `follows` accepts; over all edges if it is None."""
        entry_edges: dict[str, Edge | None] = {start: None}
        waiting = deque([start])
        while waiting:
            for edge in self.edges[waiting.popleft()]:
                if edge.target not in entry_edges and (follows is None or follows(edge)):
                    entry_edges[edge.target] = edge
                    waiting.append(edge.target)
        return ReachableStates(entry_edges)

    def find_states_reaching(self, goals: Iterable[str], without: str | None = None) -> frozenset[str]:
        """Find the states from which a path leads to a goal, and the goals. The path avoids the state `without`."""
        sources: dict[str, list[str]] = {}
        for edge in self.all_edges:
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
    def all_edges(self) -> Iterator[Edge]:
        for edges in self.edges.values():
            yield from edges


def build_graph(definition: Definition) -> StateGraph:
    edges = {name: tuple(_edges_from(definition, state)) for name, state in definition.states.items()}
    return StateGraph(definition.initial_state, edges)


def has_timeout(part: Definition | State) -> bool:
    return part.timeout_ms is not None and part.timeout_target is not None


def _edges_from(definition: Definition, state: State) -> Iterator[Edge]:
    if state.terminal:
        return  # never left, even if transitions are declared
    for transition in state.transitions.values():
        if transition.actor == "deterministic" and not state.runs_by_itself:
            continue  # nothing ever takes it
        at: Pointer = ("states", state.name, "transitions", transition.name)
        for index, branch in enumerate(transition.branches):
            yield Edge(state.name, branch.target, transition, (*at, "branches", index, "target"))
        yield Edge(state.name, transition.target, transition, (*at, "target"))
    if state.timeout_ms is not None and state.timeout_target is not None:
        yield Edge(state.name, state.timeout_target, None, ("states", state.name, "onTimeout", "target"))
    if definition.timeout_ms is not None and definition.timeout_target is not None:
        yield Edge(state.name, definition.timeout_target, None, ("onTimeout", "target"))
