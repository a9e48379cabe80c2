"""Find guards and branches that decide nothing, and automatic states where no transition passes, or more than one."""

from collections.abc import Iterator, Sequence

from signpost.workflow.authoring.lint.dataflow import (
    ANY_ARGUMENTS,
    ArgumentsSchema,
    Dataflow,
    arguments_of,
    build_dataflow,
)
from signpost.workflow.authoring.lint.guard_solver import (
    AllValues,
    Assignment,
    LikelyValues,
    describe_assignment,
    evaluate_guards,
    find_assignments,
    is_understood,
    leaves_of,
    paths_of,
    spell_path,
)
from signpost.workflow.authoring.problems import LintFinding
from signpost.workflow.definition import Definition, OnEnter, Pointer, State, Transition
from signpost.workflow.guards import Evidence, Guard
from signpost.workflow.instance import HUMAN_APPROVAL


def check_guards(definition: Definition) -> Iterator[LintFinding]:
    flow = build_dataflow(definition)
    for state in definition.states.values():
        state_at: Pointer = ("states", state.name)
        if state.on_enter:
            yield from _check_each_guard(flow, state.on_enter, (*state_at, "onEnter"), ANY_ARGUMENTS)
        for transition in state.transitions.values():
            transition_at: Pointer = (*state_at, "transitions", transition.name)
            arguments = arguments_of(transition)
            yield from _check_each_guard(flow, transition, transition_at, arguments)
            yield from _check_contradiction(flow, transition, transition_at, arguments)
            yield from _check_branches(flow, transition, transition_at, arguments)
            if state.links_by_guards:
                yield from _check_link_filter(transition, transition_at)
        if state.runs_by_itself:
            yield from _check_automatic_transitions(flow, state, state_at)
    yield from _check_approvals(definition)


def _check_each_guard(
    flow: Dataflow, holder: Transition | OnEnter, at: Pointer, arguments: ArgumentsSchema
) -> Iterator[LintFinding]:
    for index, guard in enumerate(holder.guards):
        yield from _check_constant(flow, guard, (*at, "guards", index), arguments)


def _check_constant(flow: Dataflow, guard: Guard, at: Pointer, arguments: ArgumentsSchema) -> Iterator[LintFinding]:
    verdict = _constant_verdict(flow, [guard], arguments)
    null_paths = [(path, reason) for path in paths_of([guard]) if (reason := flow.reason_for_null(path, arguments))]
    if verdict is None and not null_paths:
        return
    outcome = {
        None: "",
        True: "this guard always passes, because ",
        False: "this guard never passes, because ",
    }[verdict]
    if null_paths:
        path, reason = null_paths[0]
        yield LintFinding(at, f"{outcome}{spell_path(path)} is always null: {reason}")
        return
    assignments = find_assignments([guard], AllValues(), flow.values_of(arguments)) or ()
    explanation = describe_assignment(assignments[0], "is always") if len(assignments) == 1 else ""
    yield LintFinding(at, outcome + (explanation or "its result is the same for every value"))


def _constant_verdict(flow: Dataflow, guards: Sequence[Guard], arguments: ArgumentsSchema) -> bool | None:
    """Return the verdict that the guards have at all assignments; None if it varies or cannot be determined."""
    if not all(map(is_understood, guards)):
        return None
    assignments = find_assignments(guards, AllValues(), flow.values_of(arguments))
    verdicts = {evaluate_guards(guards, assignment) for assignment in assignments} if assignments else {None}
    return verdicts.pop() if len(verdicts) == 1 else None


def _check_contradiction(
    flow: Dataflow, transition: Transition, at: Pointer, arguments: ArgumentsSchema
) -> Iterator[LintFinding]:
    never = [guard for guard in transition.guards if _constant_verdict(flow, [guard], arguments) is False]
    if len(transition.guards) > 1 and not never and _constant_verdict(flow, transition.guards, arguments) is False:
        yield LintFinding(
            (*at, "guards"), f"the guards of {transition.name!r} contradict each other: it is never possible"
        )


def _check_branches(
    flow: Dataflow, transition: Transition, at: Pointer, arguments: ArgumentsSchema
) -> Iterator[LintFinding]:
    conditions = [branch.when for branch in transition.branches]
    for index, condition in enumerate(conditions):
        branch_at: Pointer = (*at, "branches", index)
        findings = list(_check_constant(flow, condition, (*branch_at, "when"), arguments))
        yield from findings
        if not findings and _is_covered(flow, conditions[: index + 1], arguments):
            message = "this branch is never taken: the branches before it cover every value for which it passes"
            yield LintFinding((*branch_at, "when"), message)


def _is_covered(flow: Dataflow, conditions: Sequence[Guard], arguments: ArgumentsSchema) -> bool:
    if len(conditions) < 2 or not all(map(is_understood, conditions)):
        return False
    assignments = find_assignments(conditions, AllValues(), flow.values_of(arguments))
    return bool(assignments) and not any(_may_take_last(conditions, assignment) for assignment in assignments or ())


def _may_take_last(conditions: Sequence[Guard], assignment: Assignment) -> bool:
    """Check whether the last condition may be the first one to pass at an assignment."""
    *earlier, last = conditions
    return evaluate_guards([last], assignment) is not False and not any(
        evaluate_guards([condition], assignment) is True for condition in earlier
    )


def _check_link_filter(transition: Transition, at: Pointer) -> Iterator[LintFinding]:
    for index, guard in enumerate(transition.guards):
        if transition.actor != "deterministic" and any(path.scope == "arguments" for path in paths_of([guard])):
            message = "links are built without arguments, but this guard reads arguments: with `linkFilter: byGuards`"
            yield LintFinding((*at, "guards", index), f"{message} {transition.name!r} may be possible without a link")


def _check_approvals(definition: Definition) -> Iterator[LintFinding]:
    """Find decisions on transitions that no person takes, and guards on an approval that no transition gives."""
    transitions: list[tuple[Transition, Pointer]] = [
        (transition, ("states", state.name, "transitions", transition.name))
        for state in definition.states.values()
        for transition in state.transitions.values()
    ]
    for transition, at in transitions:
        if transition.decision is not None and transition.actor != "human":
            message = "`decision` has no effect here: set `actor: human`, or remove `decision`"
            yield LintFinding((*at, "decision"), message)
    if not any(transition.decision == "approve" for transition, _ in transitions):
        message = f"no transition gives {HUMAN_APPROVAL}: add one with `actor: human` and `decision: approve`"
        guards = (located for transition, at in transitions for located in _guards_of(transition, at))
        yield from (LintFinding(guard_at, message) for guard_at, guard in guards if _asks_for_approval(guard))


def _guards_of(transition: Transition, at: Pointer) -> Iterator[tuple[Pointer, Guard]]:
    for index, guard in enumerate(transition.guards):
        yield (*at, "guards", index), guard
    for index, branch in enumerate(transition.branches):
        yield (*at, "branches", index, "when"), branch.when


def _asks_for_approval(guard: Guard) -> bool:
    requirements = (leaf.requires for leaf in leaves_of(guard) if isinstance(leaf, Evidence))
    return any(requirement.kind == HUMAN_APPROVAL for required in requirements for requirement in required)


def _check_automatic_transitions(flow: Dataflow, state: State, at: Pointer) -> Iterator[LintFinding]:
    transitions = list(state.transitions.values())
    guards = [guard for transition in transitions for guard in transition.guards]
    if not all(map(is_understood, guards)):
        return
    assignments = find_assignments(guards, LikelyValues(), flow.values_of(ArgumentsSchema(are_none=True)))
    verdicts = [
        (assignment, [(transition, evaluate_guards(transition.guards, assignment)) for transition in transitions])
        for assignment in assignments or ()
    ]
    overlaps = (
        (assignment, [transition for transition, verdict in found if verdict is True]) for assignment, found in verdicts
    )
    for assignment, passing in (found for found in overlaps if len(found[1]) > 1):
        first, second = passing[:2]
        both = f"{first.name!r} and {second.name!r} are both possible{_where_clause(assignment)}"
        message = f"{both}, so neither is taken: make their guards exclude each other"
        yield LintFinding((*at, "transitions", second.name), message)
        break
    gaps = (assignment for assignment, found in verdicts if all(verdict is False for _, verdict in found))
    for assignment in gaps:
        message = f"no transition of {state.name!r} is possible{_where_clause(assignment)}: the workflow stops there"
        yield LintFinding(at, message)
        break


def _where_clause(assignment: Assignment) -> str:
    return f" where {describe_assignment(assignment)}" if assignment else ""
