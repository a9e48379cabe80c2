"""Workflow definitions: what a document says, as values; and everything that keeps it from being one."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, cast, get_args

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.validation import SchemaRefused, check
from signpost.workflow.guards import Guard, guard_of, guards_of

type Actor = Literal["agent", "human", "system", "deterministic"]
type Decision = Literal["approve", "reject"]
type Pointer = tuple[str | int, ...]
"""Where in a document something is: the keys and places that lead there."""

ACTORS: Sequence[str] = get_args(Actor.__value__)
DECISIONS: Sequence[str] = get_args(Decision.__value__)
DEEPEST_CHAIN = 500
"""Of `maxChainDepth`: all of a chain is saved by one step."""
MOST_HOPS = 50
"""Of a chain, where the definition does not say."""
LARGEST_COUNT = 2**53 - 1
"""Beyond that times cannot be reckoned with, and clients cannot read the number."""
BY_GUARDS = "byGuards"
ORDER = "$"
"""What is submitted like a transition and is none begins so."""


@dataclass(frozen=True, slots=True)
class Fault:
    at: Pointer
    message: str


@dataclass(frozen=True, slots=True)
class Executor:
    kind: str
    settings: JsonObject
    """Everything that the author wrote about it."""


@dataclass(frozen=True, slots=True)
class Branch:
    when: Guard
    target: str


@dataclass(frozen=True, slots=True)
class OnEnter:
    executor: Executor
    guards: Sequence[Guard] = ()
    """Of the capability that it names. They count here as anywhere."""
    output: JsonObject = field(default_factory=dict[str, Json])
    reliability: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Transition:
    name: str
    target: str
    title: str
    description: str | None = None
    actor: Actor = "agent"
    decision: Decision | None = None
    """What a person says by taking it to what people were asked."""
    input_schema: JsonObject | None = None
    guards: Sequence[Guard] = ()
    written_guards: Sequence[Json] = ()
    """As their author wrote them, for whoever wants them explained."""
    executor: Executor | None = None
    output: JsonObject = field(default_factory=dict[str, Json])
    reliability: JsonObject = field(default_factory=dict[str, Json])
    prefill: JsonObject = field(default_factory=dict[str, Json])
    branches: Sequence[Branch] = ()
    is_denied: bool = False
    """To whoever asks. What is under way of it goes on, and they cannot have it executed."""


@dataclass(frozen=True, slots=True)
class State:
    name: str
    description: str | None = None
    goal: str | None = None
    guidance: str | None = None
    terminal: bool = False
    on_enter: OnEnter | None = None
    by_guards: bool = False
    """Whether only those transitions are linked whose guards pass."""
    transitions: Mapping[str, Transition] = field(default_factory=dict[str, Transition])

    @property
    def runs_by_itself(self) -> bool:
        """Whether nobody has to decide anything here."""
        offered = self.transitions.values()
        return bool(offered) and not self.terminal and all(one.actor == "deterministic" for one in offered)


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
    """Who may see instances, where not everybody of the tenant may."""


def read(definition_id: str, document: Json, *, is_published: bool = False) -> Definition | Sequence[Fault]:
    """The definition, or everything that keeps the document from being one."""
    reader = _Reader(is_published=is_published)
    definition = reader.definition(definition_id, document)
    return reader.faults or definition


class NotADefinition(Exception):  # noqa: N818 - it names what happened
    """Something is kept as a definition that is none; the message says why."""


def published(definition_id: str, document: Json) -> Definition:
    """What was checked before it was published. Raises NotADefinition."""
    found = read(definition_id, document, is_published=True)
    if isinstance(found, Definition):
        return found
    raise NotADefinition("; ".join(f"{'.'.join(map(str, fault.at))} {fault.message}" for fault in found))


class _Reader:
    """Reads on after a fault, so that an author hears of all of them at once."""

    def __init__(self, *, is_published: bool) -> None:
        self.faults: list[Fault] = []
        self._is_published = is_published

    def definition(self, definition_id: str, document: Json) -> Definition:
        fields = self._object(document, ())
        states = self._states(fields)
        on_timeout = self._object(fields.get("onTimeout", {}), ("onTimeout",))
        return Definition(
            id=definition_id,
            title=self._text(fields, "title", ()) or definition_id,
            description=self._text(fields, "description", ()) or "",
            initial_state=self._state_named(fields, "initialState", (), states),
            states=states,
            tags=self._texts(fields, "tags", ()),
            aliases=self._texts(fields, "aliases", ()),
            input_schema=self._schema(fields, ()),
            initial_context=self._object(fields.get("initialContext", {}), ("initialContext",)),
            timeout_ms=self._count(fields, "timeoutMs", ()),
            timeout_target=self._state_named(on_timeout, "target", ("onTimeout",), states) if on_timeout else None,
            most_hops=min(self._count(fields, "maxChainDepth", ()) or MOST_HOPS, DEEPEST_CHAIN),
            enabled=self._flag(fields, "enabled", (), default=True),
            readers=guards_of(fields.get("readers")),
        )

    def _states(self, fields: JsonObject) -> Mapping[str, State]:
        written = self._object(fields.get("states"), ("states",))
        if "states" in fields and not written:
            self._say(("states",), "there is no state")
        by_guards = self._by_guards(fields, (), inherited=False)
        return {name: self._state(name, state, written, by_guards=by_guards) for name, state in written.items()}

    def _state(self, name: str, written: Json, states: JsonObject, *, by_guards: bool) -> State:
        at: Pointer = ("states", name)
        fields = self._object(written if written is not None else {}, at)
        transitions = self._object(fields.get("transitions", {}), (*at, "transitions"))
        for called in transitions:
            if called.startswith(ORDER):
                self._say((*at, "transitions", called), f"begins with {ORDER}, as only orders to the engine do")
        return State(
            name=name,
            description=self._text(fields, "description", at),
            goal=self._text(fields, "goal", at),
            guidance=self._text(fields, "guidance", at),
            terminal=self._flag(fields, "terminal", at, default=False),
            on_enter=self._on_enter(fields["onEnter"], (*at, "onEnter")) if "onEnter" in fields else None,
            by_guards=self._by_guards(fields, at, inherited=by_guards),
            transitions={
                called: self._transition(called, transition, (*at, "transitions", called), states)
                for called, transition in transitions.items()
            },
        )

    def _transition(self, name: str, written: Json, at: Pointer, states: JsonObject) -> Transition:
        fields = self._object(written if written is not None else {}, at)
        written_guards = fields.get("guards")
        return Transition(
            name=name,
            target=self._state_named(fields, "target", at, states),
            title=self._text(fields, "title", at) or name,
            description=self._text(fields, "description", at),
            actor=self._actor(fields, at),
            decision=self._decision(fields, at),
            input_schema=self._schema(fields, at),
            guards=guards_of(written_guards),
            written_guards=tuple(written_guards) if isinstance(written_guards, list) else (),
            executor=self._executor(fields["executor"], (*at, "executor")) if fields.get("executor") else None,
            output=self._object(fields.get("output", {}), (*at, "output")),
            reliability=self._object(fields.get("reliability", {}), (*at, "reliability")),
            prefill=self._object(fields.get("prefill", {}), (*at, "prefill")),
            branches=self._branches(fields, at, states),
        )

    def _on_enter(self, written: Json, at: Pointer) -> OnEnter | None:
        fields = self._object(written, at)
        if not fields.get("executor"):
            return None  # it does nothing, of which the check warns
        return OnEnter(
            executor=self._executor(fields["executor"], (*at, "executor")),
            guards=guards_of(fields.get("guards")),
            output=self._object(fields.get("output", {}), (*at, "output")),
            reliability=self._object(fields.get("reliability", {}), (*at, "reliability")),
        )

    def _branches(self, fields: JsonObject, at: Pointer, states: JsonObject) -> Sequence[Branch]:
        written = fields.get("branches", [])
        if not isinstance(written, list):
            self._say((*at, "branches"), "must be a list of {when, target}")
            return ()
        branches: list[Branch] = []
        for place, entry in enumerate(written):
            here: Pointer = (*at, "branches", place)
            branch = self._object(entry, here)
            target = self._state_named(branch, "target", here, states)
            branches.append(Branch(guard_of(branch.get("when")), target))
        return tuple(branches)

    def _executor(self, written: Json, at: Pointer) -> Executor:
        fields = self._object(written, at)
        kind = fields.get("kind")
        if not isinstance(kind, str) or not kind:
            self._say(at, "has no `kind`")
            return Executor("", fields)
        return Executor(kind, fields)

    def _actor(self, fields: JsonObject, at: Pointer) -> Actor:
        actor = fields.get("actor", "agent")
        if actor not in ACTORS:
            self._say((*at, "actor"), f"is one of {', '.join(ACTORS)}")
            return "human"  # whoever it may be, hardly anybody
        return cast("Actor", actor)

    def _decision(self, fields: JsonObject, at: Pointer) -> Decision | None:
        decision = fields.get("decision")
        if decision is not None and decision not in DECISIONS:
            self._say((*at, "decision"), f"is one of {', '.join(DECISIONS)}")
            return None
        return cast("Decision | None", decision)

    def _by_guards(self, fields: JsonObject, at: Pointer, *, inherited: bool) -> bool:
        if "linkFilter" not in fields:
            return inherited
        if fields["linkFilter"] not in ("all", BY_GUARDS):
            self._say((*at, "linkFilter"), f"is all or {BY_GUARDS}")
        return fields["linkFilter"] == BY_GUARDS

    def _state_named(self, fields: JsonObject, name: str, at: Pointer, states: Mapping[str, object]) -> str:
        target = fields.get(name)
        if not isinstance(target, str):
            self._say(at, f"has no `{name}`" if target is None else f"`{name}` must be the name of a state")
            return ""
        if target not in states:
            self._say((*at, name), f"there is no state {target!r}")
        return target

    def _schema(self, fields: JsonObject, at: Pointer) -> JsonObject | None:
        if fields.get("inputSchema") is None:
            return None
        schema = self._object(fields["inputSchema"], (*at, "inputSchema"))
        if self._is_published:
            return schema  # it was checked then, and is again before it is used; of a thousand, hardly one is used now
        try:
            check(schema)
        except SchemaRefused as fault:
            self._say((*at, "inputSchema"), f"is refused, because {fault}")
        return schema

    def _object(self, written: Json, at: Pointer) -> JsonObject:
        if not isinstance(written, Mapping):
            self._say(at, "must be a mapping" if written is not None else "is missing")
        return as_object(written)

    def _text(self, fields: JsonObject, name: str, at: Pointer) -> str | None:
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            self._say((*at, name), "must be a text")
            return None
        return value

    def _texts(self, fields: JsonObject, name: str, at: Pointer) -> Sequence[str]:
        value = fields.get(name, [])
        listed = value if isinstance(value, list) else [None]
        texts = tuple(text for text in listed if isinstance(text, str))
        if len(texts) != len(listed):
            self._say((*at, name), "must be a list of texts")
        return texts

    def _count(self, fields: JsonObject, name: str, at: Pointer) -> int | None:
        value = fields.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_COUNT):
            return value
        self._say((*at, name), f"must be a whole number from 1 to {LARGEST_COUNT}")
        return None

    def _flag(self, fields: JsonObject, name: str, at: Pointer, *, default: bool) -> bool:
        value = fields.get(name, default)
        if not isinstance(value, bool):
            self._say((*at, name), "must be true or false")
        return value is True

    def _say(self, at: Pointer, message: str) -> None:
        self.faults.append(Fault(at, message))
