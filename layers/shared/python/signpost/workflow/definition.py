"""The definition of a workflow: states, transitions, executors, and the faults that keep a document from being one."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, get_args

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.workflow.guards import Guard

type Actor = Literal["agent", "human", "system", "deterministic"]
type ApprovalDecision = Literal["approve", "reject"]
type Pointer = tuple[str | int, ...]
"""A place in a document: the keys and list indexes that lead to it."""

ACTORS: Sequence[str] = get_args(Actor.__value__)
DECISIONS: Sequence[str] = get_args(ApprovalDecision.__value__)
DEEPEST_CHAIN = 500
"""The largest effective `maxChainDepth`: one step saves all hops of a chain."""
MOST_HOPS = 50
"""Hops that a chain may have if the definition sets no `maxChainDepth`."""
BY_GUARDS = "byGuards"
NESTED_VALUES = "nested"
"""The member `values` of a compiled transition or `onEnter` whose mappings are resolved in depth. Definitions of older
releases do not have it: there, values inside of lists and objects are literal."""


@dataclass(frozen=True, slots=True)
class DefinitionFault:
    at: Pointer
    message: str


@dataclass(frozen=True, slots=True)
class ExecutorSpec:
    kind: str
    settings: JsonObject
    """All members of the executor as the author wrote them, `kind` included."""
    resolves_nested: bool = False
    """Whether its mappings are resolved inside of lists and objects too."""


@dataclass(frozen=True, slots=True)
class Branch:
    when: Guard
    target: str


@dataclass(frozen=True, slots=True)
class OnEnter:
    executor: ExecutorSpec
    guards: Sequence[Guard] = ()
    """The guards of the capability that it names. They apply here as in any transition."""
    output: JsonObject = field(default_factory=dict[str, Json])
    reliability: JsonObject = field(default_factory=dict[str, Json])
    resolves_nested: bool = False
    """Whether its mappings are resolved inside of lists and objects too."""


@dataclass(frozen=True, slots=True)
class Transition:
    name: str
    target: str
    title: str
    description: str | None = None
    actor: Actor = "agent"
    decision: ApprovalDecision | None = None
    """The answer to the open approval request that a person gives by taking this transition."""
    input_schema: JsonObject | None = None
    guards: Sequence[Guard] = ()
    written_guards: Sequence[Json] = ()
    """The guards as their author wrote them, for explanations."""
    executor: ExecutorSpec | None = None
    output: JsonObject = field(default_factory=dict[str, Json])
    reliability: JsonObject = field(default_factory=dict[str, Json])
    prefill: JsonObject = field(default_factory=dict[str, Json])
    branches: Sequence[Branch] = ()
    resolves_nested: bool = False
    """Whether its mappings are resolved inside of lists and objects too."""
    is_denied: bool = False
    """Whether policy denies it to the requesting principal. If it is under way it continues, but this principal cannot
    have it executed."""


@dataclass(frozen=True, slots=True)
class State:
    name: str
    description: str | None = None
    goal: str | None = None
    guidance: str | None = None
    terminal: bool = False
    on_enter: OnEnter | None = None
    links_by_guards: bool = False
    """Whether a transition is linked only if its guards pass."""
    timeout_ms: int | None = None
    timeout_target: str | None = None
    """The state that an instance goes to if it stays here for `timeout_ms`."""
    transitions: Mapping[str, Transition] = field(default_factory=dict[str, Transition])

    @property
    def runs_by_itself(self) -> bool:
        """Whether all transitions are deterministic, so that no caller has to decide anything here."""
        actors = [transition.actor for transition in self.transitions.values()]
        return bool(actors) and not self.terminal and all(actor == "deterministic" for actor in actors)


@dataclass(frozen=True, slots=True)
class Definition:
    id: str
    title: str
    description: str
    initial_state: str
    states: Mapping[str, State]
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    input_schema: JsonObject | None = None
    initial_context: JsonObject = field(default_factory=dict[str, Json])
    timeout_ms: int | None = None
    timeout_target: str | None = None
    most_hops: int = MOST_HOPS
    enabled: bool = True
    readers: Sequence[Guard] = ()
    """Guards that a principal must pass to see instances; empty if every principal of the tenant may see them."""
    written_readers: Json = None
    """These guards as their author wrote them, which each instance keeps."""
    refuses_undeclared: bool = False
    """Whether its transitions and starts without a schema take an empty object only, by a setting of the tenant."""
