"""Find values of mappings that are always null, or that are no paths although they look like one: of `output`,
`prefill`, the `arguments` of executors, the `input` of child workflows, and the names that approvers see."""

from collections.abc import Iterator, Mapping

from signpost.model import PROXY_WORKFLOW, as_object
from signpost.workflow.authoring.lint.dataflow import (
    ANY_ARGUMENTS,
    ArgumentsSchema,
    Dataflow,
    arguments_of,
    build_dataflow,
)
from signpost.workflow.authoring.lint.templates import MappingSource, check_mapping
from signpost.workflow.authoring.problems import LintFinding, suggestion_for
from signpost.workflow.definition import Definition, ExecutorSpec, OnEnter, Pointer, State, Transition
from signpost.workflow.engine.steps import CHILD_WORKFLOW_KIND, HUMAN_KIND, NOOP_KIND
from signpost.workflow.executor_uses import executors_of
from signpost.workflow.paths import Path

BEFORE_EXECUTOR = "no executor has run yet when it is resolved"


def check_mappings(definition: Definition) -> Iterator[LintFinding]:
    """Check all mappings. Of capabilities only those of executors: the others are written by the compiler."""
    flow = build_dataflow(definition)
    for state in definition.states.values():
        for at, step in _steps_of(state):
            yield from _check_executors(step, flow, at)
            if definition.id != PROXY_WORKFLOW:
                yield from _check_output(step, flow, at)
                if isinstance(step, Transition):
                    yield from _check_prefill(step, flow, at)
                    yield from _check_shown_names(step.executor, flow, (*at, "executor", "shows"))


def _steps_of(state: State) -> Iterator[tuple[Pointer, Transition | OnEnter]]:
    if state.on_enter:
        yield ("states", state.name, "onEnter"), state.on_enter
    for name, transition in state.transitions.items():
        yield ("states", state.name, "transitions", name), transition


def _check_output(step: Transition | OnEnter, flow: Dataflow, at: Pointer) -> Iterator[LintFinding]:
    source = MappingSource(flow, arguments_of(step), _reason_for_no_output(step))
    yield from check_mapping(step.output, source, (*at, "output"))


def _check_executors(step: Transition | OnEnter, flow: Dataflow, at: Pointer) -> Iterator[LintFinding]:
    source = MappingSource(flow, arguments_of(step), BEFORE_EXECUTOR, is_before_executor=True)
    for place, executor in executors_of(step):
        name = "input" if executor.kind == CHILD_WORKFLOW_KIND else "arguments"
        mapping, mapping_at = executor.settings.get(name), (*at, *place, name)
        if mapping is not None and not isinstance(mapping, Mapping):
            message = f"`{name}` must be a mapping of names to values: as it is, the executor gets an empty object"
            yield LintFinding(mapping_at, message, code="impossible_value")
        yield from check_mapping(as_object(mapping), source, mapping_at)


def _check_shown_names(executor: ExecutorSpec | None, flow: Dataflow, at: Pointer) -> Iterator[LintFinding]:
    shows = executor.settings.get("shows") if executor and executor.kind == HUMAN_KIND else None
    for index, name in enumerate(shows if isinstance(shows, list) else ()):
        if isinstance(name, str) and (reason := flow.reason_for_null(Path("context", (name,)), ANY_ARGUMENTS)):
            yield LintFinding((*at, index), f"the approver sees no value for {name!r}: {reason}")


def _reason_for_no_output(step: Transition | OnEnter) -> str | None:
    is_run = step.executor is not None and step.executor.kind != NOOP_KIND
    return None if is_run else "no executor gives an output here"


def _check_prefill(transition: Transition, flow: Dataflow, at: Pointer) -> Iterator[LintFinding]:
    source = MappingSource(
        flow, ArgumentsSchema(are_none=True), "no executor has run yet when links are built", is_before_executor=True
    )
    yield from check_mapping(transition.prefill, source, (*at, "prefill"))
    yield from _check_prefilled_names(transition, (*at, "prefill"))


def _check_prefilled_names(transition: Transition, at: Pointer) -> Iterator[LintFinding]:
    schema = transition.input_schema
    if schema is None or schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        return
    properties = as_object(schema.get("properties"))
    if any(keyword in schema for keyword in ("$ref", "allOf", "anyOf", "oneOf", "if")) or not (
        "properties" in schema or "additionalProperties" in schema
    ):
        return
    for name in transition.prefill:
        if name not in properties:
            message = f"the inputSchema of {transition.name!r} has no {name!r}{suggestion_for(name, list(properties))}"
            yield LintFinding((*at, name), message)
