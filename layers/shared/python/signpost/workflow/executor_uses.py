"""Lists the executors of a definition: those of transitions and of the `onEnter` of states, and all fallbacks."""

from collections.abc import Iterator

from signpost.records import dataclass
from signpost.workflow.definition import Definition, ExecutorSpec, OnEnter, Pointer, Transition
from signpost.workflow.retry_policy import list_fallbacks


@dataclass(frozen=True, slots=True)
class ExecutorUse:
    """An executor, and the step that uses it."""

    state: str
    step: str
    """The name of the transition, or `onEnter`."""
    at: Pointer
    """Its place in the document of the definition."""
    executor: ExecutorSpec


def list_executors(definition: Definition) -> Iterator[ExecutorUse]:
    for state in definition.states.values():
        at: Pointer = ("states", state.name)
        if state.on_enter is not None:
            for place, executor in executors_of(state.on_enter):
                yield ExecutorUse(state.name, "onEnter", (*at, "onEnter", *place), executor)
        for name, transition in state.transitions.items():
            for place, executor in executors_of(transition):
                yield ExecutorUse(state.name, name, (*at, "transitions", name, *place), executor)


def executors_of(holder: Transition | OnEnter) -> Iterator[tuple[Pointer, ExecutorSpec]]:
    """Yield the executor of a step and its fallbacks, each with its place in the step."""
    if holder.executor is not None:
        yield ("executor",), holder.executor
    yield from list_fallbacks(holder.reliability, nested=holder.resolves_nested)


def function_of(executor: ExecutorSpec) -> str | None:
    """Return the id of the function that an executor calls; None if it calls none."""
    function = executor.settings.get("function")
    return function if executor.kind == "function" and isinstance(function, str) and function else None
