"""Parses workflow documents into definitions, or into the list of their faults."""

from collections.abc import Mapping, Sequence
from typing import cast

from signpost.model import OVERRIDE_PREFIX, Json, JsonObject, as_object
from signpost.schema.validation import SchemaRefusal, check_schema
from signpost.workflow.definition import (
    ACTORS,
    BY_GUARDS,
    DECISIONS,
    DEEPEST_CHAIN,
    MOST_HOPS,
    NESTED_VALUES,
    Actor,
    ApprovalDecision,
    Branch,
    Definition,
    DefinitionFault,
    ExecutorSpec,
    OnEnter,
    Pointer,
    State,
    Transition,
)
from signpost.workflow.guards import guard_of, guards_of

LARGEST_COUNT = 2**53 - 1
"""Times cannot be computed from larger numbers, and clients cannot read them."""


def parse_definition(
    definition_id: str, document: Json, *, is_published: bool = False
) -> Definition | Sequence[DefinitionFault]:
    """Return the definition, or all faults that keep the document from being one."""
    reader = _DefinitionReader(is_published=is_published)
    definition = reader.read_definition(definition_id, document)
    return reader.faults or definition


class InvalidDefinition(Exception):  # noqa: N818 - it names what happened
    """A stored document is not a valid definition; the message gives the reasons."""


def parse_published_definition(definition_id: str, document: Json) -> Definition:
    """Parse a document that was checked before it was published. Raises InvalidDefinition."""
    parsed = parse_definition(definition_id, document, is_published=True)
    if isinstance(parsed, Definition):
        return parsed
    raise InvalidDefinition("; ".join(f"{'.'.join(map(str, fault.at))} {fault.message}" for fault in parsed))


class _DefinitionReader:
    """Continues after a fault, so that an author gets all faults at once."""

    def __init__(self, *, is_published: bool) -> None:
        self.faults: list[DefinitionFault] = []
        self._is_published = is_published

    def read_definition(self, definition_id: str, document: Json) -> Definition:
        fields = self._read_object(document, ())
        states = self._read_states(fields)
        return Definition(
            id=definition_id,
            title=self._read_text(fields, "title", ()) or definition_id,
            description=self._read_text(fields, "description", ()) or "",
            initial_state=self._read_state_name(fields, "initialState", (), states),
            states=states,
            tags=self._read_texts(fields, "tags", ()),
            aliases=self._read_texts(fields, "aliases", ()),
            input_schema=self._read_schema(fields, ()),
            initial_context=self._read_object(fields.get("initialContext", {}), ("initialContext",)),
            timeout_ms=self._read_count(fields, "timeoutMs", ()),
            timeout_target=self._read_timeout_target(fields, (), states),
            most_hops=min(self._read_count(fields, "maxChainDepth", ()) or MOST_HOPS, DEEPEST_CHAIN),
            enabled=self._read_flag(fields, "enabled", (), default=True),
            readers=guards_of(fields.get("readers")),
            written_readers=fields.get("readers") or None,
        )

    def _read_states(self, fields: JsonObject) -> Mapping[str, State]:
        raw = self._read_object(fields.get("states"), ("states",))
        if "states" in fields and not raw:
            self._add_fault(("states",), "must have at least one state")
        by_guards = self._read_link_filter(fields, (), inherited=False)
        return {name: self._read_state(name, state, raw, by_guards=by_guards) for name, state in raw.items()}

    def _read_state(self, name: str, raw: Json, states: JsonObject, *, by_guards: bool) -> State:
        at: Pointer = ("states", name)
        fields = self._read_object(raw if raw is not None else {}, at)
        transitions = self._read_object(fields.get("transitions", {}), (*at, "transitions"))
        for transition_name in transitions:
            if transition_name.startswith(OVERRIDE_PREFIX):
                self._add_fault(
                    (*at, "transitions", transition_name),
                    f"begins with {OVERRIDE_PREFIX}, which is reserved for overrides such as $retry or $cancel",
                )
        return State(
            name=name,
            description=self._read_text(fields, "description", at),
            goal=self._read_text(fields, "goal", at),
            guidance=self._read_text(fields, "guidance", at),
            terminal=self._read_flag(fields, "terminal", at, default=False),
            on_enter=self._read_on_enter(fields["onEnter"], (*at, "onEnter")) if "onEnter" in fields else None,
            links_by_guards=self._read_link_filter(fields, at, inherited=by_guards),
            timeout_ms=self._read_count(fields, "timeoutMs", at),
            timeout_target=self._read_timeout_target(fields, at, states),
            transitions={
                transition_name: self._read_transition(
                    transition_name, transition, (*at, "transitions", transition_name), states
                )
                for transition_name, transition in transitions.items()
            },
        )

    def _read_timeout_target(self, fields: JsonObject, at: Pointer, states: Mapping[str, object]) -> str | None:
        at = (*at, "onTimeout")
        on_timeout = self._read_object(fields.get("onTimeout", {}), at)
        return self._read_state_name(on_timeout, "target", at, states) if on_timeout else None

    def _read_transition(self, name: str, raw: Json, at: Pointer, states: JsonObject) -> Transition:
        fields = self._read_object(raw if raw is not None else {}, at)
        written_guards, nested = fields.get("guards"), fields.get("values") == NESTED_VALUES
        executor = fields.get("executor")
        return Transition(
            name=name,
            target=self._read_state_name(fields, "target", at, states),
            title=self._read_text(fields, "title", at) or name,
            description=self._read_text(fields, "description", at),
            actor=self._read_actor(fields, at),
            decision=self._read_decision(fields, at),
            input_schema=self._read_schema(fields, at),
            guards=guards_of(written_guards),
            written_guards=tuple(written_guards) if isinstance(written_guards, list) else (),
            executor=self._read_executor(executor, (*at, "executor"), nested=nested) if executor else None,
            output=self._read_object(fields.get("output", {}), (*at, "output")),
            reliability=self._read_object(fields.get("reliability", {}), (*at, "reliability")),
            prefill=self._read_object(fields.get("prefill", {}), (*at, "prefill")),
            branches=self._read_branches(fields, at, states),
            resolves_nested=nested,
        )

    def _read_on_enter(self, raw: Json, at: Pointer) -> OnEnter | None:
        fields = self._read_object(raw, at)
        if not fields.get("executor"):
            return None  # without an executor it does nothing, and `signpost check` warns of it
        nested = fields.get("values") == NESTED_VALUES
        return OnEnter(
            executor=self._read_executor(fields["executor"], (*at, "executor"), nested=nested),
            guards=guards_of(fields.get("guards")),
            output=self._read_object(fields.get("output", {}), (*at, "output")),
            reliability=self._read_object(fields.get("reliability", {}), (*at, "reliability")),
            resolves_nested=nested,
        )

    def _read_branches(self, fields: JsonObject, at: Pointer, states: JsonObject) -> Sequence[Branch]:
        raw = fields.get("branches", [])
        if not isinstance(raw, list):
            self._add_fault((*at, "branches"), "must be a list of {when, target}")
            return ()
        branches: list[Branch] = []
        for index, entry in enumerate(raw):
            branch_at: Pointer = (*at, "branches", index)
            branch = self._read_object(entry, branch_at)
            target = self._read_state_name(branch, "target", branch_at, states)
            branches.append(Branch(guard_of(branch.get("when")), target))
        return tuple(branches)

    def _read_executor(self, raw: Json, at: Pointer, *, nested: bool) -> ExecutorSpec:
        fields = self._read_object(raw, at)
        kind = fields.get("kind")
        if not isinstance(kind, str) or not kind:
            self._add_fault(at, "has no `kind`")
            return ExecutorSpec("", fields)
        return ExecutorSpec(kind, fields, resolves_nested=nested)

    def _read_actor(self, fields: JsonObject, at: Pointer) -> Actor:
        actor = fields.get("actor", "agent")
        if actor not in ACTORS:
            self._add_fault((*at, "actor"), f"must be one of {', '.join(ACTORS)}")
            return "human"  # an unknown actor is read as the most restrictive one
        return cast("Actor", actor)

    def _read_decision(self, fields: JsonObject, at: Pointer) -> ApprovalDecision | None:
        decision = fields.get("decision")
        if decision is not None and decision not in DECISIONS:
            self._add_fault((*at, "decision"), f"must be one of {', '.join(DECISIONS)}")
            return None
        return cast("ApprovalDecision | None", decision)

    def _read_link_filter(self, fields: JsonObject, at: Pointer, *, inherited: bool) -> bool:
        if "linkFilter" not in fields:
            return inherited
        if fields["linkFilter"] not in ("all", BY_GUARDS):
            self._add_fault((*at, "linkFilter"), f"must be all or {BY_GUARDS}")
        return fields["linkFilter"] == BY_GUARDS

    def _read_state_name(self, fields: JsonObject, name: str, at: Pointer, states: Mapping[str, object]) -> str:
        target = fields.get(name)
        if not isinstance(target, str):
            self._add_fault(at, f"has no `{name}`" if target is None else f"`{name}` must be the name of a state")
            return ""
        if target not in states:
            self._add_fault((*at, name), f"there is no state {target!r}")
        return target

    def _read_schema(self, fields: JsonObject, at: Pointer) -> JsonObject | None:
        if fields.get("inputSchema") is None:
            return None
        schema = self._read_object(fields["inputSchema"], (*at, "inputSchema"))
        if self._is_published:
            # Checked when it was published, and again before it is used; hardly one of a thousand schemas is used now.
            return schema
        try:
            check_schema(schema)
        except SchemaRefusal as fault:
            self._add_fault((*at, "inputSchema"), f"is refused, because {fault}")
        return schema

    def _read_object(self, raw: Json, at: Pointer) -> JsonObject:
        if not isinstance(raw, Mapping):
            self._add_fault(at, "must be a mapping" if raw is not None else "is missing")
        return as_object(raw)

    def _read_text(self, fields: JsonObject, name: str, at: Pointer) -> str | None:
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            self._add_fault((*at, name), "must be a text")
            return None
        return value

    def _read_texts(self, fields: JsonObject, name: str, at: Pointer) -> Sequence[str]:
        value = fields.get(name, [])
        listed = value if isinstance(value, list) else [None]
        texts = tuple(text for text in listed if isinstance(text, str))
        if len(texts) != len(listed):
            self._add_fault((*at, name), "must be a list of texts")
        return texts

    def _read_count(self, fields: JsonObject, name: str, at: Pointer) -> int | None:
        value = fields.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_COUNT):
            return value
        self._add_fault((*at, name), f"must be a whole number from 1 to {LARGEST_COUNT}")
        return None

    def _read_flag(self, fields: JsonObject, name: str, at: Pointer, *, default: bool) -> bool:
        value = fields.get(name, default)
        if not isinstance(value, bool):
            self._add_fault((*at, name), "must be true or false")
        return value is True

    def _add_fault(self, at: Pointer, message: str) -> None:
        self.faults.append(DefinitionFault(at, message))
