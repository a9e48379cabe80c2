"""Guards and branches that decide nothing, and steps that follow by themselves where none may or where several may."""

from collections.abc import Iterator, Sequence

from signpost.workflow.deciding import (
    All,
    Likely,
    Point,
    is_understood,
    leaves,
    paths_of,
    points,
    shown,
    spelled,
    verdict,
)
from signpost.workflow.definition import Definition, OnEnter, Pointer, State, Transition
from signpost.workflow.flow import ANY_ARGUMENTS, Arguments, Flow, arguments_of, flow_of
from signpost.workflow.guards import Evidence, Guard
from signpost.workflow.instance import HUMAN_APPROVAL
from signpost.workflow.problems import Doubt


def doubts(definition: Definition) -> Iterator[Doubt]:
    flow = flow_of(definition)
    for state in definition.states.values():
        at: Pointer = ("states", state.name)
        if state.on_enter:
            yield from _each(flow, state.on_enter, (*at, "onEnter"), ANY_ARGUMENTS)
        for transition in state.transitions.values():
            here: Pointer = (*at, "transitions", transition.name)
            arguments = arguments_of(transition)
            yield from _each(flow, transition, here, arguments)
            yield from _together(flow, transition, here, arguments)
            yield from _branches(flow, transition, here, arguments)
            if state.by_guards:
                yield from _unlinked(transition, here)
        if state.runs_by_itself:
            yield from _following(flow, state, at)
    yield from _approvals(definition)


def _each(flow: Flow, holder: Transition | OnEnter, at: Pointer, arguments: Arguments) -> Iterator[Doubt]:
    for place, guard in enumerate(holder.guards):
        yield from _constant(flow, guard, (*at, "guards", place), arguments)


def _constant(flow: Flow, guard: Guard, at: Pointer, arguments: Arguments) -> Iterator[Doubt]:
    always = _always(flow, [guard], arguments)
    missing = [(path, why) for path in paths_of([guard]) if (why := flow.why_nothing(path, arguments))]
    if always is None and not missing:
        return
    outcome = {None: "", True: "this always passes, because ", False: "this never passes, because "}[always]
    if missing:
        path, why = missing[0]
        yield Doubt(at, f"{outcome}{spelled(path)} is always null: {why}")
        return
    asked = points([guard], All(), flow.values_of(arguments)) or ()
    reason = shown(asked[0], "is always") if len(asked) == 1 else ""
    yield Doubt(at, outcome + (reason or "no value makes a difference"))


def _always(flow: Flow, guards: Sequence[Guard], arguments: Arguments) -> bool | None:
    """Whether they always pass, or never; None if that depends, or cannot be said."""
    if not all(map(is_understood, guards)):
        return None
    asked = points(guards, All(), flow.values_of(arguments))
    verdicts = {verdict(guards, point) for point in asked} if asked else {None}
    return verdicts.pop() if len(verdicts) == 1 else None


def _together(flow: Flow, transition: Transition, at: Pointer, arguments: Arguments) -> Iterator[Doubt]:
    never = [one for one in transition.guards if _always(flow, [one], arguments) is False]
    if len(transition.guards) > 1 and not never and _always(flow, transition.guards, arguments) is False:
        yield Doubt((*at, "guards"), f"the guards of {transition.name!r} contradict each other: they never all pass")


def _branches(flow: Flow, transition: Transition, at: Pointer, arguments: Arguments) -> Iterator[Doubt]:
    conditions = [branch.when for branch in transition.branches]
    for place, condition in enumerate(conditions):
        here: Pointer = (*at, "branches", place)
        said = list(_constant(flow, condition, (*here, "when"), arguments))
        yield from said
        if not said and _is_covered(flow, conditions[: place + 1], arguments):
            yield Doubt((*here, "when"), "this branch is never taken: those before it take everything that it would")


def _is_covered(flow: Flow, conditions: Sequence[Guard], arguments: Arguments) -> bool:
    if len(conditions) < 2 or not all(map(is_understood, conditions)):
        return False
    asked = points(conditions, All(), flow.values_of(arguments))
    return bool(asked) and not any(_takes(conditions, point) for point in asked or ())


def _takes(conditions: Sequence[Guard], point: Point) -> bool:
    """Whether the last of them may be the first to pass there."""
    *before, last = conditions
    return verdict([last], point) is not False and not any(verdict([one], point) is True for one in before)


def _unlinked(transition: Transition, at: Pointer) -> Iterator[Doubt]:
    for place, guard in enumerate(transition.guards):
        if transition.actor != "deterministic" and any(path.scope == "arguments" for path in paths_of([guard])):
            message = "links by guards are made before there are arguments, and this guard asks for them"
            yield Doubt((*at, "guards", place), f"{message}: {transition.name!r} is legal where it is not linked")


def _approvals(definition: Definition) -> Iterator[Doubt]:
    """Decisions that are nobody's, and approvals that nobody gives."""
    transitions: list[tuple[Transition, Pointer]] = [
        (transition, ("states", state.name, "transitions", transition.name))
        for state in definition.states.values()
        for transition in state.transitions.values()
    ]
    for transition, at in transitions:
        if transition.decision is not None and transition.actor != "human":
            yield Doubt((*at, "decision"), "only what a person takes (`actor: human`) decides anything")
    if not any(transition.decision == "approve" for transition, _ in transitions):
        message = f"nobody gives {HUMAN_APPROVAL}: no transition of a person says `decision: approve`"
        asked = (one for transition, at in transitions for one in _asked(transition, at))
        yield from (Doubt(here, message) for here, guard in asked if _asks_for_approval(guard))


def _asked(transition: Transition, at: Pointer) -> Iterator[tuple[Pointer, Guard]]:
    for place, guard in enumerate(transition.guards):
        yield (*at, "guards", place), guard
    for place, branch in enumerate(transition.branches):
        yield (*at, "branches", place, "when"), branch.when


def _asks_for_approval(guard: Guard) -> bool:
    asked = (leaf.requires for leaf in leaves(guard) if isinstance(leaf, Evidence))
    return any(one.kind == HUMAN_APPROVAL for requires in asked for one in requires)


def _following(flow: Flow, state: State, at: Pointer) -> Iterator[Doubt]:
    candidates = list(state.transitions.values())
    guards = [guard for one in candidates for guard in one.guards]
    if not all(map(is_understood, guards)):
        return
    asked = points(guards, Likely(), flow.values_of(Arguments(are_none=True)))
    passing = [(point, [(one, verdict(one.guards, point)) for one in candidates]) for point in asked or ()]
    overlaps = ((point, [one for one, passes in found if passes is True]) for point, found in passing)
    for point, both in (found for found in overlaps if len(found[1]) > 1):
        first, second = both[:2]
        message = f"{first.name!r} and {second.name!r} both follow{_where(point)}, and then neither does"
        yield Doubt((*at, "transitions", second.name), message)
        break
    gaps = (point for point, found in passing if all(passes is False for _, passes in found))
    for point in gaps:
        yield Doubt(at, f"nothing follows {state.name!r}{_where(point)}, and nobody can decide there")
        break


def _where(point: Point) -> str:
    return f" where {shown(point)}" if point else ""
