"""The fidelity of links: what is linked is accepted, and what would be accepted is linked. Through the tools."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from signpost.adapters.source_files import read_values
from signpost.mcp.names import simplify_name
from signpost.model import PROXY_WORKFLOW, Principal
from signpost.workflow.audit_events import STATE_TIMED_OUT
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.source_tree import build_source_node as as_written
from signpost.workflow.engine.actors import MAY_ACT_AS_SYSTEM
from signpost.workflow.engine.argument_schemas import ANY_ARGUMENTS, NO_ARGUMENTS
from signpost.workflow.engine.permissions import ANSWER, CANCEL, MAY_CANCEL
from signpost.workflow.engine.questions import build_answer_schema
from signpost.workflow.engine.steps import ON_ENTER, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.ports import Deferral, StepAttempt, StepExecutor
from signpost.workflow.step_questions import StepQuestions
from tests.support.asking_steps import PAGE, form
from tests.support.effort import count_examples
from tests.support.example_workflows import EXAMPLES, ROLES
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.line_output import ShowLine
from tests.support.link_tally import LinkTally
from tests.support.played_executors import PlayedExecutor
from tests.support.random_definitions import PERMISSION, ROLE, generate_definition
from tests.support.scheduled_gateway import ScheduledGateway
from tests.support.schema_values import generate_arguments

pytestmark = pytest.mark.no_cover

ALL_ROLES = frozenset({ROLE, *ROLES})
CALLERS: Mapping[str, Principal] = {
    "agent": Principal("agent-1", TENANT, "t", roles=frozenset({"on_call"})),
    "writer": Principal("walt", TENANT, "t", permissions=frozenset({PERMISSION})),
    "guest": Principal("gus", TENANT, "t", human=True),
    "alice": Principal("alice", TENANT, "t", ALL_ROLES, frozenset({PERMISSION}), human=True),
    "bob": Principal("bob", TENANT, "t", ALL_ROLES, human=True),
    "robot": Principal("robot-1", TENANT, "t", permissions=frozenset({MAY_ACT_AS_SYSTEM, MAY_CANCEL})),
}
CANCELLERS = frozenset({"agent", "robot"})
"""The caller that starts every instance, and the one with the permission to cancel it."""
BLOCKS, DEFINITIONS, WALKS, STEPS = 4, count_examples(16), 2, 6
"""Of the generated set: so many tests, of so many definitions each."""
LEAST = 25
"""Links that are followed, and moves that are possible, for each definition on average at least."""
EXAMPLE_WALKS, EXAMPLE_STEPS = count_examples(8), 14
WAITS = (0, 0, 0, 40_000)
"""Seconds between two steps. Three long ones bring a generated definition to its deadline, if it has one."""
EXPIRING = (0, 40, 70)
"""Around what generated requests to people last."""
NOON, HOUR = datetime(2026, 6, 1, 12, tzinfo=UTC), 3600
HOURLY: Mapping[str, Any] = {"cron": "0 * * * *", "input": {"k": 2}}


def run_scan(errand: StepAttempt) -> ExecutorOutcome:
    """It always finds something."""
    by = errand.principal.subject
    return ExecutorOutcome({"by": by}, [EvidenceItem("scan", by)])


def run_asking(attempt: StepAttempt) -> ExecutorOutcome | Deferral:
    """It asks before it does anything."""
    if attempt.claim.questions is not None:
        return ExecutorOutcome({"by": attempt.principal.subject})
    return Deferral(attempt.claim.since, "answers", questions=StepQuestions(attempt.claim.token, QUESTIONS))


QUESTIONS: Mapping[str, Any] = {
    "size": form(size={"type": "integer", "minimum": 1}, colour={"type": "string", "enum": ["red", "blue"]}),
    "sign": PAGE,
}
ANSWER_SCHEMA: Mapping[str, Any] = {**build_answer_schema(StepQuestions("", QUESTIONS)), "required": [*QUESTIONS]}
EXECUTORS: Mapping[str, StepExecutor] = {"scan": PlayedExecutor(run_scan), "ask": PlayedExecutor(run_asking)}


@dataclass(frozen=True)
class Attempt:
    caller: str
    transition: str
    arguments: Mapping[str, Any]
    link: Mapping[str, Any] | None
    answer: Mapping[str, Any]
    moved: bool


class Walk:
    """One instance, led on at random. Wherever it comes, every caller tries everything."""

    def __init__(
        self,
        world: GatewayWorkflows,
        name: str,
        document: Any,
        random: Random,
        tally: LinkTally,
        undeclared: Mapping[str, Any] = ANY_ARGUMENTS,
        cancellers: Collection[str] = CANCELLERS,
    ) -> None:
        """`undeclared` is what a transition without a schema takes. `cancellers` may cancel the instance."""
        self._world, self._name, self._document, self._random, self._tally = world, name, document, random, tally
        self._undeclared, self._cancellers = undeclared, cancellers
        self._listed = {simplify_name(name): name for name in world.list_tools("agent")}
        """The tools as the host of the clients lists them, by their portable names."""

    def go(self, steps: int, *, waits: Sequence[float] = ()) -> None:
        made = generate_arguments(self._document.get("inputSchema", {"type": "object"}), {}, self._random)
        assert made is not None
        args = {"definitionId": self._name, "input": made.value}
        started = self._world.call(self._listed["workflow_start"], args, "agent")
        if "workflowId" not in started:
            self._tally.outside["its first state could not be entered"] += 1
            return
        self._judge_start(started)
        self.lead(started["workflowId"], steps, waits=waits)

    def lead(self, workflow_id: str, steps: int, *, waits: Sequence[float] = ()) -> None:
        """Lead on an instance that is there."""
        for _ in range(steps):
            if waits:
                self._world.clock.advance(self._random.choice(waits))
            attempts = [attempt for caller in CALLERS for attempt in self._attempts(workflow_id, caller)]
            possible = [attempt for attempt in attempts if attempt.moved and attempt.transition != CANCEL]
            if not possible:
                return
            self._take(workflow_id, self._random.choice(possible))

    def find_by_links(self, workflow_id: str) -> None:
        """Look for the instance as callers do that know no id: by the links of `gateway.home` to runs and requests."""
        for caller in CALLERS:
            self._find_in_list("runs", workflow_id, caller, is_there=True)
            self._find_in_list("requests", workflow_id, caller, is_there=self._may_decide(workflow_id, caller))

    def _may_decide(self, workflow_id: str, caller: str) -> bool:
        """Return whether links with which a person answers a request are promised to this caller."""
        stand = self._world.call(self._listed["workflow_get"], {"workflowId": workflow_id}, caller)
        state = self._document["states"][stand["state"]]
        by_guards = state.get("linkFilter", self._document.get("linkFilter")) == "byGuards"
        is_asked = by_guards and CALLERS[caller].human and "approval" in stand
        return is_asked and any("decision" in link for link in stand["links"])

    def _find_in_list(self, rel: str, workflow_id: str, caller: str, *, is_there: bool) -> None:
        home = self._world.call(self._listed["gateway_home"], {}, caller)
        self._judge_methods(home)
        (listing,) = [link for link in home["links"] if link["rel"] == rel]
        items = [found["item"] for found in self._world.call(listing["method"], listing["args"], caller)["results"]]
        links = [link for item in items if workflow_id in item.values() for link in item["links"]]
        self._tally.possible += is_there
        self._tally.linked += is_there and [link["rel"] for link in links] == ["self"]
        if is_there and not links:
            self._tally.violations.append(f"{caller} finds {workflow_id} by none of the {rel}")
        self._tally.besides[f"found by the list of {rel}"] += bool(links)
        for link in links:
            self._tally.followed += 1
            read = self._world.call(link["method"], link["args"], caller)
            self._tally.accepted += read.get("workflowId") == workflow_id

    def _attempts(self, workflow_id: str, caller: str) -> Iterator[Attempt]:
        stand = self._world.call(self._listed["workflow_get"], {"workflowId": workflow_id}, caller)
        self._judge_methods(stand)
        state = self._document["states"][stand["state"]]
        links = {link["args"]["transition"]: link for link in stand["links"] if link["rel"] == "transition"}
        offered: Mapping[str, Any] = {} if state.get("terminal") else state.get("transitions", {})
        if stand.get("entering"):
            assert links.keys() - {CANCEL} == {ON_ENTER}
            offered = {**offered, ON_ENTER: {}}
        if is_parked(stand):
            offered = {**offered, ANSWER: {"inputSchema": ANSWER_SCHEMA}}
        offered = {**offered, CANCEL: {}}
        assert links.keys() <= offered.keys()
        assert list(links) == [name for name in offered if name in links], "links are not in declared order"
        kept = self._world.copy_instances()
        for transition, written in offered.items():
            link = links.get(transition)
            if link is not None and link["inputSchema"] == NO_ARGUMENTS:
                self._check_surplus(stand, caller, link)
            attempt = self._attempt(stand, caller, transition, written, link)
            self._world.restore_instances(kept)
            if attempt is not None and is_parked(stand) and transition != CANCEL:
                self._judge_while_parked(attempt, stand)
                yield attempt
            elif attempt is not None:
                self._judge(attempt, stand, state, written)
                yield attempt

    def _attempt(
        self, stand: Any, caller: str, transition: str, written: Any, link: Mapping[str, Any] | None
    ) -> Attempt | None:
        """What a link says is all that whoever follows it goes by."""
        schema = written.get("inputSchema", self._undeclared) if link is None else link["inputSchema"]
        prefill: Mapping[str, Any] = {} if link is None else link["args"]["arguments"]
        made = generate_arguments(schema, prefill, self._random)
        if made is None:
            assert schema.get("not") == {}, schema  # else it is the maker of values that has found nothing
            self._tally.outside["with a schema that nothing satisfies"] += 1
            return None
        if made.rejected_prefills and link is not None:
            self._tally.besides["with a prefill that its schema does not take, and that was overruled"] += 1
        args: Mapping[str, Any] = {
            "workflowId": stand["workflowId"],
            "expectedVersion": stand["version"],
            "transition": transition,
            **(link["args"] if link else {}),
            "arguments": made.value,
        }
        submit = self._listed["workflow_submit"] if link is None else link["method"]
        answer = self._world.call(submit, args, caller)
        self._judge_methods(answer)
        moved = answer.get("version", 0) > stand["version"] or (is_parked(answer) and not is_parked(stand))
        return Attempt(caller, transition, made.value, link, answer, moved)

    def _check_surplus(self, stand: Any, caller: str, link: Mapping[str, Any]) -> None:
        """A transition takes nothing if its link says so. Guards on the caller may refuse it before."""
        if link["actor"] == "human" and not CALLERS[caller].human:
            return
        answer = self._world.call("workflow.submit", {**link["args"], "arguments": {"undeclared": 1}}, caller)
        if answer.get("error", {}).get("code") not in ("INPUT_SCHEMA_VIOLATION", "GUARD_REJECTED"):
            self._tally.violations.append(f"took arguments although its link has none: {stand['state']}, {link}")
        self._tally.besides["refused arguments that its link does not have"] += 1

    def _judge_start(self, started: Any) -> None:
        """The answer to a start has the links of the author. The gateway's own come with the `self` link."""
        kinds = [link["args"].get("transition", link["rel"]) for link in started["links"]]
        if ("self" in kinds) != (CANCEL in kinds):
            self._tally.violations.append(f"an answer to a start has the links {kinds}")

    def _judge_methods(self, answer: Any) -> None:
        """Every link names a tool as the list of the caller's host names it."""
        for link in answer["links"]:
            self._tally.besides["links that name a tool as the list does"] += 1
            if link["method"] not in self._listed.values():
                self._tally.violations.append(f"a link names {link['method']}, the list {list(self._listed.values())}")

    def _judge(self, attempt: Attempt, stand: Any, state: Any, written: Any) -> None:
        code = attempt.answer.get("error", {}).get("code")
        if attempt.transition == CANCEL:
            self._judge_cancellation(attempt, stand, code)
            return
        reads_arguments = "$.arguments" in json.dumps(written.get("guards", []))
        if attempt.link is not None and self._is_promised(attempt, state):
            self._judge_soundness(attempt, stand, code, reads_arguments=reads_arguments)
        actor = written.get("actor", "agent")
        if attempt.link is None and not is_actor(CALLERS[attempt.caller], actor, state):
            self._tally.besides["refused because the caller is not its actor"] += 1
            if code != ("INVALID_TRANSITION" if stand.get("entering") else "ACTOR_MISMATCH"):
                self._tally.violations.append(f"taken by another actor: {self._told(attempt, stand)}")
            return
        if attempt.moved:
            if reads_arguments:
                self._tally.outside["could be made, and its guards read arguments"] += 1
                return
            self._tally.possible += 1
            self._tally.linked += attempt.link is not None
            if attempt.link is None:
                self._tally.violations.append(f"not linked, but accepted: {self._told(attempt, stand)}")

    def _judge_while_parked(self, attempt: Attempt, stand: Any) -> None:
        """Answering is linked if and only if it is accepted. Nothing else is taken before the answers."""
        code = attempt.answer.get("error", {}).get("code")
        if attempt.link is not None:
            self._judge_soundness(attempt, stand, code, reads_arguments=False)
            self._tally.besides["answers to the questions of a step"] += attempt.moved
        if attempt.moved:
            self._tally.possible += 1
            self._tally.linked += attempt.link is not None
        elif attempt.link is None:
            self._tally.besides["refused while a step waits for answers, and not linked"] += 1
        if attempt.moved and (attempt.link is None or attempt.transition != ANSWER):
            self._tally.violations.append(f"taken while a step waits for answers: {self._told(attempt, stand)}")
        if attempt.link is None and code != (
            "GUARD_REJECTED" if attempt.transition == ANSWER else "INVALID_TRANSITION"
        ):
            self._tally.violations.append(f"refused with {code} before the answers: {self._told(attempt, stand)}")

    def _judge_cancellation(self, attempt: Attempt, stand: Any, code: str | None) -> None:
        """Cancelling is linked if and only if it is accepted, for all guards and actors that the author has chosen."""
        is_possible = attempt.caller in self._cancellers and not stand.get("terminal")
        if attempt.moved != is_possible:
            self._tally.violations.append(f"cancelled or not against the rule ({code}): {self._told(attempt, stand)}")
        if attempt.link is not None:
            self._judge_soundness(attempt, stand, code, reads_arguments=False)
            self._tally.cancelled += attempt.moved
        elif not attempt.moved:
            self._tally.besides["refused to cancel, and not linked"] += 1
        if attempt.moved:
            self._tally.possible += 1
            self._tally.linked += attempt.link is not None
            if attempt.link is None:
                self._tally.violations.append(f"not linked, but cancelled: {self._told(attempt, stand)}")

    def _is_promised(self, attempt: Attempt, state: Any) -> bool:
        assert attempt.link is not None
        if attempt.link["actor"] == "human" and not CALLERS[attempt.caller].human:
            self._tally.outside["for a person, and linked to somebody else"] += 1
            return False
        if state.get("linkFilter", self._document.get("linkFilter")) != "byGuards":
            self._tally.outside["linked whatever its guards say"] += 1
            return False
        return True

    def _judge_soundness(self, attempt: Attempt, stand: Any, code: str | None, *, reads_arguments: bool) -> None:
        if code == "EXECUTOR_FAILED":
            self._tally.outside["accepted, and what it runs failed"] += 1
            return
        if code == "GUARD_REJECTED" and reads_arguments:
            self._tally.outside["refused by a guard that reads arguments"] += 1
            return
        if code == "CHAIN_FAILED":
            self._tally.besides["accepted, and what follows by itself stopped"] += 1
        self._tally.followed += 1
        self._tally.accepted += attempt.moved
        if not attempt.moved:
            self._tally.violations.append(f"linked, but refused: {self._told(attempt, stand)}")

    def _told(self, attempt: Attempt, stand: Any) -> str:
        return json.dumps(
            {
                "definition": self._name,
                "state": stand["state"],
                "context": stand["context"],
                "caller": attempt.caller,
                "transition": attempt.transition,
                "written": self._document["states"][stand["state"]].get("transitions", {}).get(attempt.transition),
                "arguments": attempt.arguments,
                "answer": attempt.answer.get("error"),
            },
            ensure_ascii=False,
        )

    def _take(self, workflow_id: str, attempt: Attempt) -> None:
        version = self._world.call("workflow.get", {"workflowId": workflow_id}, attempt.caller)["version"]
        args = {
            "workflowId": workflow_id,
            "expectedVersion": version,
            "transition": attempt.transition,
            "arguments": attempt.arguments,
        }
        self._world.call("workflow.submit", args, attempt.caller)


def is_parked(answer: Any) -> bool:
    return answer.get("waitingFor") == "answers"


def is_actor(caller: Principal, actor: str, state: Any) -> bool:
    match actor:
        case "human":
            return caller.human
        case "system":
            return MAY_ACT_AS_SYSTEM in caller.permissions and not caller.human
        case "deterministic":
            return all(other.get("actor") == "deterministic" for other in state["transitions"].values())
        case _:
            return True


def explore(
    block: int,
    *,
    requests_expire: bool = False,
    waits: Sequence[float] = (),
    refuses_undeclared: bool = False,
    portable_names: bool = False,
) -> LinkTally:
    random, tally = Random(block), LinkTally()  # noqa: S311 - for a test to be the same every time
    for number in range(DEFINITIONS // (2 if refuses_undeclared or portable_names else 1)):
        world = GatewayWorkflows(CALLERS, EXECUTORS, portable_names=portable_names)
        name, document = f"d{block}_{number}", generate_definition(random, requests_expire=requests_expire)
        world.publish(name, document)
        if refuses_undeclared:
            world.set_for_tenant("undeclared_arguments", "refuse")
        undeclared = NO_ARGUMENTS if refuses_undeclared else ANY_ARGUMENTS
        for _ in range(WALKS):
            Walk(world, name, document, random, tally, undeclared).go(STEPS, waits=waits)
    return tally


@pytest.mark.invariant(92)
@pytest.mark.invariant(93)
@pytest.mark.invariant(47)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_links_of_generated_definitions_are_sound_and_complete(block: int, show_line: ShowLine) -> None:
    tally = explore(block, waits=WAITS)
    show_line(f"generated definitions, block {block}: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.followed > LEAST * DEFINITIONS
    assert tally.possible > LEAST * DEFINITIONS
    assert tally.cancelled > DEFINITIONS


@pytest.mark.invariant(92)
@pytest.mark.invariant(93)
def test_links_and_submissions_agree_where_undeclared_arguments_are_refused(show_line: ShowLine) -> None:
    tally = explore(BLOCKS + 1, refuses_undeclared=True)
    show_line(f"undeclared arguments are refused: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.besides["refused arguments that its link does not have"] > 100


def explore_timed(*, portable_names: bool) -> LinkTally:
    """Explore runs that a schedule has started, of definitions whose states have timeouts."""
    random, tally = Random(BLOCKS + 3), LinkTally()  # noqa: S311 - for a test to be the same every time
    for number in range(DEFINITIONS // 2):
        timed = ScheduledGateway(NOON)
        world = GatewayWorkflows(CALLERS, EXECUTORS, portable_names=portable_names, gateway=timed.gateway)
        name, document = f"timed_{number}", generate_definition(random, states_expire=True)
        timed.publish(workflows={name: document}, schedules={"hourly": {**HOURLY, "workflow": name}})
        timed.sweep_and_work()
        timed.clock.advance(HOUR)
        timed.sweep_and_work()
        if not timed.runs:
            tally.outside["its first state could not be entered"] += 1
            continue
        walk = Walk(world, name, document, random, tally, cancellers={"robot"})
        (run,) = timed.runs
        tally.besides["runs that a schedule has started"] += 1
        for _ in range(STEPS):
            walk.find_by_links(run.id)
            walk.lead(run.id, 1, waits=WAITS)
        tally.besides["states that a timeout has left"] += count_timeouts(timed, run.id)
    return tally


def count_timeouts(timed: ScheduledGateway, workflow_id: str) -> int:
    return [event.record.type for event in timed.instances.audit(TENANT, workflow_id)].count(STATE_TIMED_OUT)


@pytest.mark.invariant(119)
@pytest.mark.invariant(47)
@pytest.mark.parametrize("portable_names", [False, True], ids=["as named", "portable"])
def test_links_of_runs_that_a_schedule_starts_are_sound_and_complete(portable_names: bool, show_line: ShowLine) -> None:
    tally = explore_timed(portable_names=portable_names)
    show_line(f"started by schedules, with timeouts of states: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.followed > LEAST * DEFINITIONS // 2
    assert tally.besides["runs that a schedule has started"] > DEFINITIONS // 4
    assert tally.besides["states that a timeout has left"] > 0
    assert tally.besides["found by the list of requests"] > 0


@pytest.mark.invariant(119)
@pytest.mark.invariant(47)
def test_links_with_portable_names_are_sound_and_complete(show_line: ShowLine) -> None:
    tally = explore(BLOCKS + 2, portable_names=True)
    show_line(f"portable names: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.followed > LEAST * DEFINITIONS // 2
    assert tally.besides["links that name a tool as the list does"] > tally.followed


@pytest.mark.invariant(47)
def test_an_expired_approval_request_is_not_linked() -> None:
    tally = explore(BLOCKS, requests_expire=True, waits=EXPIRING)
    assert tally.is_whole, "\n".join(tally.violations[:5])


@pytest.mark.invariant(47)
@pytest.mark.parametrize("name", EXAMPLES)
def test_links_of_the_examples_are_sound_and_complete(name: str, show_line: ShowLine) -> None:
    random, tally = Random(name), LinkTally()  # noqa: S311 - for a test to be the same every time
    for definition_id, document in read_values(EXAMPLES[name] / "manifest.yaml")["workflows"].items():
        world = GatewayWorkflows(CALLERS)
        world.publish(definition_id, document)
        for _ in range(EXAMPLE_WALKS):
            Walk(world, definition_id, document, random, tally).go(EXAMPLE_STEPS)
    show_line(f"{name}: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.followed > 100


EXPOSED: Any = {
    "version": 1,
    "capabilities": {"locked": {"executor": {"kind": "noop"}, "guards": [{"kind": "role", "role": ROLE}]}},
    "proxy": {
        "expose": [
            {"name": "open", "executor": {"kind": "noop"}},
            {"name": "asked", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}},
            {"capability": "locked"},
        ]
    },
}


def test_every_exposure_that_can_be_called_is_linked(show_line: ShowLine) -> None:
    found = compile_manifest(as_written(EXPOSED))
    assert isinstance(found, CompiledManifest)
    random, tally, world = Random(PROXY_WORKFLOW), LinkTally(), GatewayWorkflows(CALLERS)  # noqa: S311 - as above
    world.publish(PROXY_WORKFLOW, found.workflows[PROXY_WORKFLOW])
    Walk(world, PROXY_WORKFLOW, found.workflows[PROXY_WORKFLOW], random, tally).go(EXAMPLE_STEPS)
    show_line(f"{PROXY_WORKFLOW}: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.possible == EXAMPLE_STEPS * (2 * len(CALLERS) + 2 + len(CANCELLERS))
