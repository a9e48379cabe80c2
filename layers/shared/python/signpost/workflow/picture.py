"""A definition as a picture: what is shown of it, however it is drawn; and the same as Mermaid text.

With a trail it is the picture of one instance: where it stands, and which way it came.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from signpost.records import dataclass
from signpost.workflow.definition import Actor, Definition, State, Transition
from signpost.workflow.guards import AllOf, AnyOf, Evidence, Expression, Guard, Not, Permission, Required, Role
from signpost.workflow.instance import Hop, Instance
from signpost.workflow.steps import BY_DEADLINE

type Kind = Literal["agent", "person", "automatic", "terminal", "deadline"]

KIND_WORDS: Mapping[Kind, str] = {
    "agent": "",
    "person": "a person decides",
    "automatic": "goes on by itself",
    "terminal": "end",
    "deadline": "from anywhere",
}
ACTOR_WORDS: Mapping[Actor, str] = {
    "agent": "",
    "human": "a person",
    "system": "a system",
    "deterministic": "by itself",
}
LONGEST = 60
"""Of a label as text. What is drawn to scale is cut to its own measure."""
MOST_NUMBERS = 4
"""Of the times that an arrow was taken."""
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


@dataclass(frozen=True, slots=True)
class Trail:
    """Where an instance stands, and all that it took to come there."""

    state: str
    hops: Sequence[Hop] = ()
    stands: str = "now"
    """How it stands there, in a word or two."""


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    name: str
    kind: Kind = "agent"
    is_initial: bool = False
    now: str = ""
    """How the trail's instance stands there, if it does."""
    is_visited: bool = False

    @property
    def is_current(self) -> bool:
        return bool(self.now)


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    actor: Actor = "agent"
    condition: str = ""
    taken: Sequence[int] = ()
    """Which of the trail's hops it was, counted from one."""


@dataclass(frozen=True, slots=True)
class Arrow:
    source: str
    target: str
    labels: Sequence[Label]

    @property
    def is_taken(self) -> bool:
        return any(label.taken for label in self.labels)


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    nodes: Sequence[Node]
    arrows: Sequence[Arrow]
    """One from a node to another, however many transitions it stands for."""


@dataclass(frozen=True, slots=True)
class _Way:
    source: str
    target: str
    label: Label


def pictured(definition: Definition, trail: Trail | None = None) -> Picture:
    ids = {name: f"s{number}" for number, name in enumerate(definition.states, 1)}
    visited = {state for hop in trail.hops for state in (hop.from_state, hop.to_state)} if trail else set[str]()
    nodes = [
        Node(
            ids[state.name],
            _name(state.name),
            _kind(state),
            is_initial=state.name == definition.initial_state,
            now=trail.stands if trail is not None and trail.state == state.name else "",
            is_visited=state.name in visited,
        )
        for state in definition.states.values()
    ]
    deadline, late = _deadline(definition, ids, trail)
    ways = [*(way for state in definition.states.values() for way in _ways(state, ids, _taken(trail))), *late]
    return Picture(legible(definition.title), [*nodes, *deadline], _arrows(ways))


def trail_of(instance: Instance, hops: Sequence[Hop], now: float) -> Trail:
    claim = instance.claim
    if instance.cancelled is not None:
        return Trail(instance.state, hops, "cancelled")
    if claim is not None:
        return Trail(instance.state, hops, "now, in doubt" if claim.is_in_doubt(now) else "now, under way")
    return Trail(instance.state, hops, "now, not entered yet" if instance.entering else "now")


def mermaid(picture: Picture) -> str:
    """A state diagram. What names and titles hold is written so that it can only be text."""
    lines = ["stateDiagram-v2", *(f"    {line}" for line in _statements(picture))]
    return "\n".join(lines) + "\n"


def legible(text: str) -> str:
    """On one line, and without characters that nobody can see or no XML can hold."""
    return "".join(map(_visible, text))


def _name(text: str) -> str:
    return legible(text).strip() or "(no name)"


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def numbers(taken: Sequence[int]) -> str:
    shown = ", ".join(map(str, taken[:MOST_NUMBERS]))
    return f"{shown}, …" if len(taken) > MOST_NUMBERS else shown


_JOINERS = ("\u200c", "\u200d")
"""They have no width, but some scripts and most pictograms are wrong without them."""


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    if character in _JOINERS or not unicodedata.category(character).startswith("C"):
        return character
    return "\ufffd"


def _kind(state: State) -> Kind:
    if state.terminal:
        return "terminal"
    if state.runs_by_itself:
        return "automatic"
    return "person" if any(one.actor == "human" for one in state.transitions.values()) else "agent"


def _deadline(
    definition: Definition, ids: Mapping[str, str], trail: Trail | None
) -> tuple[Sequence[Node], Sequence[_Way]]:
    """One for all states: an arrow from each of them would hide the others."""
    target = definition.timeout_target
    if target is None or definition.timeout_ms is None:
        return (), ()
    hops = enumerate(trail.hops if trail else (), 1)
    taken = tuple(number for number, hop in hops if _was_late(definition, hop))
    node = Node("late", f"after {duration(definition.timeout_ms)}", "deadline", is_visited=bool(taken))
    return (node,), (_Way(node.id, ids[target], Label(BY_DEADLINE, "deterministic", taken=taken)),)


def _was_late(definition: Definition, hop: Hop) -> bool:
    state = definition.states.get(hop.from_state)
    return hop.transition == BY_DEADLINE and (state is None or hop.transition not in state.transitions)


def duration(milliseconds: int) -> str:
    size, unit = next((size, unit) for size, unit in _UNITS if milliseconds >= size and milliseconds % size == 0)
    return f"{milliseconds // size} {unit}"


type _Taken = Mapping[tuple[str, str, str], Sequence[int]]


def _taken(trail: Trail | None) -> _Taken:
    found: dict[tuple[str, str, str], list[int]] = {}
    for number, hop in enumerate(trail.hops if trail else (), 1):
        found.setdefault((hop.from_state, hop.transition, hop.to_state), []).append(number)
    return found


def _ways(state: State, ids: Mapping[str, str], taken: _Taken) -> Iterator[_Way]:
    """A transition leads to the target of each of its branches, and to its own if none of them holds."""
    if state.terminal:
        return  # nothing leads out of it, whatever is written there
    for transition in state.transitions.values():
        for target, condition in targets(transition).items():
            label = Label(
                _name(transition.name),
                transition.actor,
                legible(condition),
                tuple(taken.get((state.name, transition.name, target), ())),
            )
            yield _Way(ids[state.name], ids[target], label)


def targets(transition: Transition) -> Mapping[str, str]:
    """With what has to hold for each."""
    needed = _joined(transition.guards, "and") if len(transition.guards) > 1 else _alone(*transition.guards)
    found: dict[str, list[str]] = {}
    for branch in transition.branches:
        found.setdefault(branch.target, []).append(_worded(branch.when))
    found.setdefault(transition.target, []).append("else" if transition.branches else "")
    words = {target: " or ".join(filter(None, conditions)) for target, conditions in found.items()}
    return {target: ", ".join(filter(None, (needed, condition))) for target, condition in words.items()}


def _arrows(ways: Sequence[_Way]) -> Sequence[Arrow]:
    labels: dict[tuple[str, str], list[Label]] = {}
    for way in ways:
        labels.setdefault((way.source, way.target), []).append(way.label)
    return [Arrow(source, target, tuple(found)) for (source, target), found in labels.items()]


def _worded(guard: Guard) -> str:
    match guard:
        case Expression(text):
            words = re.sub(r"\$\.(context\.|workflow\.(?=input))?", "", text)
        case Permission(name):
            words = f"may {name}"
        case Role(name):
            words = f"is {name}"
        case Evidence(requires):
            words = " and ".join(map(_required, requires))
        case AllOf(guards):
            words = f"({_joined(guards, 'and')})" if guards else "always"
        case AnyOf(guards):
            words = f"({_joined(guards, 'or')})" if guards else "never"
        case Not(negated):
            words = f"not {_worded(negated)}"
        case _:
            words = "never"
    return words


def _alone(guard: Guard | None = None) -> str:
    """Without the brackets that it needs beside another one."""
    match guard:
        case None:
            return ""
        case AllOf(guards) | AnyOf(guards) if guards:
            return _worded(guard)[1:-1]
        case _:
            return _worded(guard)


def _joined(guards: Sequence[Guard], word: str) -> str:
    return f" {word} ".join(map(_worded, guards))


def _required(required: Required) -> str:
    count = f"{required.count} " if required.count > 1 else ""
    return f"{count}{'distinct ' if required.distinct else ''}{required.kind}"


def _statements(picture: Picture) -> Iterator[str]:
    for node in picture.nodes:
        yield f'state "{_as_text(_described(node))}" as {node.id}'
    for node in picture.nodes:
        if node.is_initial:
            yield f"[*] --> {node.id}"
    for arrow in picture.arrows:
        for label in arrow.labels:
            yield f"{arrow.source} --> {arrow.target} : {_as_text(_written(label))}"
    for node in picture.nodes:
        if node.kind == "terminal":
            yield f"{node.id} --> [*]"
    yield from _classes(picture)


def _described(node: Node) -> str:
    words = [cut(node.name, LONGEST), KIND_WORDS[node.kind], node.now]
    return ", ".join(filter(None, words))


def _written(label: Label) -> str:
    number = f"✓ {numbers(label.taken)}, " if label.taken else ""
    words = [cut(label.name, LONGEST), ACTOR_WORDS[label.actor]]
    condition = f" ({cut(label.condition, LONGEST)})" if label.condition else ""
    return number + ", ".join(filter(None, words)) + condition


_STYLES: Mapping[str, str] = {
    "agent": "fill:#f6f8fa,color:#1f2328,stroke:#59636e",
    "person": "fill:#fff8c5,color:#1f2328,stroke:#7d4e00",
    "automatic": "fill:#ddf4ff,color:#1f2328,stroke:#0550ae,stroke-dasharray:5 3",
    "terminal": "fill:#dafbe1,color:#1f2328,stroke:#116329,stroke-width:3px",
    "deadline": "fill:#ffffff,color:#1f2328,stroke:#59636e,stroke-dasharray:2 3",
    "visited": "stroke:#6639ba,stroke-width:3px",
    "current": "stroke:#6639ba,stroke-width:6px",
}
"""Each with its own ink, so that they can be read on a dark page as well."""


def _classes(picture: Picture) -> Iterator[str]:
    members: dict[str, list[str]] = {}
    for node in picture.nodes:
        members.setdefault(node.kind, []).append(node.id)
        if node.is_current or node.is_visited:
            members.setdefault("current" if node.is_current else "visited", []).append(node.id)
    for name, style in _STYLES.items():
        if name in members:
            yield f"classDef {name} {style}"
            yield f"class {','.join(members[name])} {name}"


_PLAIN = re.compile(r"[^\W_]|[ ,()=!?/✓…]|(?<=[^\W_])[-._'](?=[^\W_])|(?<=[^\W_])\.(?=$)")
_WORDS_THAT_COMMAND = re.compile(r"direction(?=\s)", re.IGNORECASE)
"""Mermaid takes a line for a command that holds this anywhere."""


def _as_text(text: str) -> str:
    """Everything that might mean something to Mermaid, or to the page that it is on, by its number."""
    plain = {found.start() for found in _PLAIN.finditer(text)}
    plain -= {found.start() for found in _WORDS_THAT_COMMAND.finditer(text)}
    return "".join(one if place in plain else f"#{ord(one)};" for place, one in enumerate(text))
