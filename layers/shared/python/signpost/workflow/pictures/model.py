"""A definition as a picture, independent of how it is rendered.

With a trail it is the picture of one instance: its state, and the hops that it took to that state.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from signpost.records import dataclass
from signpost.workflow.definition import Actor, Definition, State, Transition
from signpost.workflow.engine.steps import TIMEOUT_MOVE
from signpost.workflow.guards import (
    AllOf,
    AnyOf,
    Evidence,
    EvidenceRequirement,
    Expression,
    Guard,
    Not,
    NotUnderstood,
    Permission,
    Role,
)
from signpost.workflow.instance import Claim, Hop, Instance

type NodeKind = Literal["agent", "person", "automatic", "terminal", "deadline"]

KIND_WORDS: Mapping[NodeKind, str] = {
    "agent": "",
    "person": "a person decides",
    "automatic": "automatic",
    "terminal": "end",
    "deadline": "from any state",
}
MAX_HOP_NUMBERS = 4
"""The maximum number of hops that a label lists."""
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


@dataclass(frozen=True, slots=True)
class Trail:
    """The state of an instance and the hops that it took to that state."""

    state: str
    hops: Sequence[Hop] = ()
    status: str = "now"
    """The status of the instance, in a few words."""


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    name: str
    kind: NodeKind = "agent"
    is_initial: bool = False
    status: str = ""
    """The status of the trail's instance, if it is in this state; otherwise empty."""
    is_visited: bool = False

    @property
    def is_current(self) -> bool:
        return bool(self.status)


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    actor: Actor = "agent"
    condition: str = ""
    hop_numbers: Sequence[int] = ()
    """The numbers of the trail's hops that took this transition, counted from one."""


@dataclass(frozen=True, slots=True)
class Arrow:
    source: str
    target: str
    labels: Sequence[Label]

    @property
    def is_taken(self) -> bool:
        return any(label.hop_numbers for label in self.labels)


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    nodes: Sequence[Node]
    arrows: Sequence[Arrow]
    """At most one from a node to another, with a label for each transition."""


@dataclass(frozen=True, slots=True)
class _LabelledEdge:
    source: str
    target: str
    label: Label


def build_picture(definition: Definition, trail: Trail | None = None) -> Picture:
    ids = {name: f"s{number}" for number, name in enumerate(definition.states, 1)}
    visited = {state for hop in trail.hops for state in (hop.from_state, hop.to_state)} if trail else set[str]()
    nodes = [
        Node(
            ids[state.name],
            _display_name(state.name),
            _kind_of(state),
            is_initial=state.name == definition.initial_state,
            status=trail.status if trail is not None and trail.state == state.name else "",
            is_visited=state.name in visited,
        )
        for state in definition.states.values()
    ]
    deadline_nodes, deadline_edges = _build_deadline(definition, ids, trail)
    edges = [
        *(edge for state in definition.states.values() for edge in _labelled_edges(state, ids, _number_hops(trail))),
        *deadline_edges,
    ]
    return Picture(make_legible(definition.title), [*nodes, *deadline_nodes], _merge_arrows(edges))


def trail_of(instance: Instance, hops: Sequence[Hop], now: float) -> Trail:
    claim = instance.claim
    if instance.cancelled is not None:
        return Trail(instance.state, hops, "cancelled")
    if claim is not None:
        return Trail(instance.state, hops, f"now, {_describe_claim(claim, now)}")
    return Trail(instance.state, hops, "now, not entered yet" if instance.entering else "now")


def _describe_claim(claim: Claim, now: float) -> str:
    if claim.is_parked:
        return "waiting for answers"
    return "in doubt" if claim.is_in_doubt(now) else "under way"


def make_legible(text: str) -> str:
    """Put a text on one line, and replace characters that are invisible or not allowed in XML."""
    return "".join(map(_visible_character, text))


def _display_name(text: str) -> str:
    return make_legible(text).strip() or "(no name)"


def format_hop_numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:MAX_HOP_NUMBERS]))
    return f"{shown}, …" if len(numbers) > MAX_HOP_NUMBERS else shown


_JOINERS = ("\u200c", "\u200d")
"""Joiners have no width, but some scripts and most pictograms are wrong without them."""


def _visible_character(character: str) -> str:
    if character.isspace():
        return " "
    if character in _JOINERS or not unicodedata.category(character).startswith("C"):
        return character
    return "\ufffd"


def _kind_of(state: State) -> NodeKind:
    if state.terminal:
        return "terminal"
    if state.runs_by_itself:
        return "automatic"
    return "person" if any(transition.actor == "human" for transition in state.transitions.values()) else "agent"


def _build_deadline(
    definition: Definition, ids: Mapping[str, str], trail: Trail | None
) -> tuple[Sequence[Node], Sequence[_LabelledEdge]]:
    """Build one node and one arrow for the timeout of all states. An arrow from each state would hide the others."""
    target = definition.timeout_target
    if target is None or definition.timeout_ms is None:
        return (), ()
    hops = enumerate(trail.hops if trail else (), 1)
    hop_numbers = tuple(number for number, hop in hops if _is_timeout_hop(definition, hop))
    node = Node("late", f"after {format_duration(definition.timeout_ms)}", "deadline", is_visited=bool(hop_numbers))
    return (node,), (
        _LabelledEdge(node.id, ids[target], Label(TIMEOUT_MOVE, "deterministic", hop_numbers=hop_numbers)),
    )


def _is_timeout_hop(definition: Definition, hop: Hop) -> bool:
    """Tell whether the hop was the timeout of the workflow, and neither that of a state nor a transition."""
    state = definition.states.get(hop.from_state)
    is_other = state is not None and (TIMEOUT_MOVE in state.transitions or state.timeout_target == hop.to_state)
    return hop.transition == TIMEOUT_MOVE and not is_other


def format_duration(milliseconds: int) -> str:
    size, unit = next((size, unit) for size, unit in _UNITS if milliseconds >= size and milliseconds % size == 0)
    return f"{milliseconds // size} {unit}"


type _HopNumbers = Mapping[tuple[str, str, str], Sequence[int]]


def _number_hops(trail: Trail | None) -> _HopNumbers:
    found: dict[tuple[str, str, str], list[int]] = {}
    for number, hop in enumerate(trail.hops if trail else (), 1):
        found.setdefault((hop.from_state, hop.transition, hop.to_state), []).append(number)
    return found


def _labelled_edges(state: State, ids: Mapping[str, str], hop_numbers: _HopNumbers) -> Iterator[_LabelledEdge]:
    """Yield the edges of each transition: to the target of each branch, and to its own target if no branch holds."""
    if state.terminal:
        return  # never left, even if transitions are declared
    for transition in state.transitions.values():
        for target, condition in describe_targets(transition).items():
            label = Label(
                _display_name(transition.name),
                transition.actor,
                make_legible(condition),
                tuple(hop_numbers.get((state.name, transition.name, target), ())),
            )
            yield _LabelledEdge(ids[state.name], ids[target], label)
    if state.timeout_ms is not None and state.timeout_target is not None:
        taken = hop_numbers.get((state.name, TIMEOUT_MOVE, state.timeout_target), ())
        label = Label(TIMEOUT_MOVE, "deterministic", f"after {format_duration(state.timeout_ms)}", tuple(taken))
        yield _LabelledEdge(ids[state.name], ids[state.timeout_target], label)


def describe_targets(transition: Transition) -> Mapping[str, str]:
    """Return the targets of a transition, each with the condition that has to hold for it."""
    guard_words = (
        _join_guards(transition.guards, "and")
        if len(transition.guards) > 1
        else _describe_single_guard(*transition.guards)
    )
    found: dict[str, list[str]] = {}
    for branch in transition.branches:
        found.setdefault(branch.target, []).append(_describe_guard(branch.when))
    found.setdefault(transition.target, []).append("else" if transition.branches else "")
    branch_words = {target: " or ".join(filter(None, conditions)) for target, conditions in found.items()}
    return {target: ", ".join(filter(None, (guard_words, condition))) for target, condition in branch_words.items()}


def _merge_arrows(edges: Sequence[_LabelledEdge]) -> Sequence[Arrow]:
    labels: dict[tuple[str, str], list[Label]] = {}
    for edge in edges:
        labels.setdefault((edge.source, edge.target), []).append(edge.label)
    return [Arrow(source, target, tuple(found)) for (source, target), found in labels.items()]


def _describe_guard(guard: Guard) -> str:
    match guard:
        case AllOf(guards):
            words = f"({_join_guards(guards, 'and')})" if guards else "always"
        case AnyOf(guards):
            words = f"({_join_guards(guards, 'or')})" if guards else "never"
        case Not(negated):
            words = f"not {_describe_guard(negated)}"
        case NotUnderstood():
            words = "never"
        case _:
            words = _describe_condition(guard)
    return words


def _describe_condition(guard: Guard) -> str:
    match guard:
        case Expression(text):
            return re.sub(r"\$\.(context\.|workflow\.(?=input))?", "", text)
        case Permission(name):
            return f"may {name}"
        case Role(name):
            return f"is {name}"
        case Evidence(requires):
            return " and ".join(map(_describe_evidence, requires))
        case _:
            raise TypeError(f"no words for a guard of the class {type(guard).__name__}")


def _describe_single_guard(guard: Guard | None = None) -> str:
    """Describe the only guard of a transition, without the brackets that it needs beside another guard."""
    match guard:
        case None:
            return ""
        case AllOf(guards) | AnyOf(guards) if guards:
            return _describe_guard(guard)[1:-1]
        case _:
            return _describe_guard(guard)


def _join_guards(guards: Sequence[Guard], word: str) -> str:
    return f" {word} ".join(map(_describe_guard, guards))


def _describe_evidence(required: EvidenceRequirement) -> str:
    count = f"{required.count} " if required.count > 1 else ""
    return f"{count}{'distinct ' if required.distinct else ''}{required.kind}"
