"""Attacks with links: stale, foreign, edited, expired, replayed and guessed ones, and with the tokens of starts."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from signpost.calling.runtime_settings import REFUSE, UNDECLARED_ARGUMENTS
from signpost.workflow.engine.actors import MAY_ACT_AS_SYSTEM
from tests.attacks.attack import Attack, Outcome, UnplayedError, held, succeeded
from tests.attacks.defence import Defence, Removal
from tests.attacks.target import Target
from tests.attacks.workflow_removals import (
    ACTORS,
    ADMISSION,
    ANSWERS,
    ARGUMENT_SCHEMAS,
    INSTANCE,
    KEYS,
    RUNS,
    SERVICE,
    STEPS,
    TENANTS,
)
from tests.attacks.workflow_runs import (
    ANY_OBJECT,
    DONE,
    INVALID,
    PAYMENT,
    REJECTED,
    STALE,
    VIOLATION,
    connect_workflows,
    count_payments,
    define_loop,
    expect_code,
    find_transition,
    follow,
    host_payments,
    make_name,
    make_person,
    read_code,
    read_position,
)
from tests.support.scripted_tenant import ScriptedTenant, define_one_step
from tests.support.waiting import wait_for

REPLAYS = 5
COUNTED: Mapping[str, Any] = {
    **define_loop(inputSchema=ANY_OBJECT, output={"n": "$.arguments.n"}),
    "inputSchema": ANY_OBJECT,
}
CLERK: Mapping[str, Any] = {"kind": "role", "role": "clerk"}
AMOUNT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1, "maximum": 100}},
    "required": ["amount"],
    "additionalProperties": False,
}
EXPIRES_MS = 6_000
"""Long enough for the attacker to get the link before it expires."""

VERSION_COMPARED = Defence(
    "expected-version",
    "the comparison of the expected version",
    (
        Removal(
            ADMISSION,
            "if submission.expected_version != instance.version:",
            "if submission.expected_version > instance.version:",
        ),
    ),
    STEPS,
)
GUARDS_ENFORCED = Defence(
    "guards-of-submissions",
    "the guards at the submission",
    (
        Removal(
            ADMISSION, 'if records and not records[-1].payload["passed"]:', "if records and not records[-1].payload:"
        ),
    ),
    TENANTS,
)
TENANT_IN_KEYS = Defence(
    "tenant-in-keys",
    "the tenant in the key of a run",
    (Removal(KEYS, 'return f"tenant#{tenant}#wf#{workflow_id}"', 'return f"tenant#every#wf#{workflow_id}"'),),
    TENANTS,
)


def follow_a_stale_link(target: Target) -> Outcome:
    there = connect_workflows(target)
    there.publish(workflows={"counting": COUNTED})
    link = find_transition(there.start("counting"), "go")
    expect_code(follow(there, link, arguments={"n": 1}), None)
    late = follow(there, link, arguments={"n": 666})
    _, version, context = read_position(there, link["args"]["workflowId"])
    if (version, context) != (2, {"n": 1}):
        return succeeded(f"a link of version 1 moved the run from version 2 to {version}: {context}")
    expect_code(late, STALE)
    return held(f"{STALE}; the run stays at version 2")


def replay_a_link(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there)
    there.publish(workflows={"paying": define_loop(executor=PAYMENT)})
    link = find_transition(there.start("paying"), "go")
    codes = Counter(read_code(follow(there, link)) for _ in range(REPLAYS))
    payments = count_payments(there)
    if payments > 1:
        return succeeded(f"one link was followed {REPLAYS} times and executed {payments} times")
    if codes != {None: 1, STALE: REPLAYS - 1}:
        raise UnplayedError(f"expected one execution, got {dict(codes)}")
    return held(f"1 execution; {REPLAYS - 1} replays were answered {STALE}")


def follow_links_of_another_tenant(target: Target) -> Outcome:
    """Both tenants have published the same workflow. The attacker has read an id of the other tenant somewhere."""
    there = connect_workflows(target)
    other = connect_workflows(target.on.new_target())
    for tenant in (there, other):
        tenant.publish(workflows={"counting": COUNTED})
    victim = other.start("counting")
    there.start("counting")
    link = find_transition(victim, "go")
    answers = [there.get(victim["workflowId"]), follow(there, link, arguments={"n": 666})]
    return _judge_foreign(other, victim["workflowId"], answers)


def follow_links_of_another_principal(target: Target) -> Outcome:
    there = connect_workflows(target)
    there.publish(workflows={"counting": {**COUNTED, "readers": [CLERK]}})
    clerk = target.make_key("clerk", roles=["clerk"])
    victim = there.call_tool("workflow.start", clerk, definitionId="counting", input={})
    expect_code(victim, None)
    link = find_transition(victim, "go")
    answers = [there.get(victim["workflowId"]), follow(there, link, arguments={"n": 666})]
    return _judge_foreign(there, victim["workflowId"], answers, clerk)


def _judge_foreign(owner: ScriptedTenant, workflow_id: str, answers: list[Any], key: str = "") -> Outcome:
    codes = [read_code(answer) for answer in answers]
    if codes == ["NOT_FOUND", "NOT_FOUND"]:
        _, version, context = read_position(owner, workflow_id, key)
        if (version, context) != (1, {}):
            return succeeded(f"the run is at version {version}: {context}")
        return held("NOT_FOUND, as for an id that does not exist")
    if None in codes:
        return succeeded(f"a run of another owner was read or moved: {codes}")
    raise UnplayedError(f"expected NOT_FOUND, got {answers}")


def edit_arguments_past_the_schema(target: Target) -> Outcome:
    edits = [
        {"amount": 1_000},
        {"amount": -1},
        {"amount": "10"},
        {"amount": 10, "approved": True},
        {"amount": 10.5},
        {},
    ]
    return _submit_edits(target, {"inputSchema": AMOUNT}, edits, VIOLATION)


def edit_arguments_past_a_guard(target: Target) -> Outcome:
    guards = [{"kind": "expr", "expr": "$.arguments.amount <= 10"}]
    return _submit_edits(target, {"inputSchema": AMOUNT, "guards": guards}, [{"amount": 11}, {"amount": 100}], REJECTED)


def _submit_edits(target: Target, transition: Mapping[str, Any], edits: list[dict[str, Any]], code: str) -> Outcome:
    """Follow the link of a payment with other arguments than those that it carries."""
    there = connect_workflows(target)
    host_payments(there)
    paying = define_one_step(executor=PAYMENT, prefill={"amount": 10}, **transition)
    there.publish(workflows={"paying": paying})
    link = find_transition(there.start("paying"), "go")
    answers = {str(edited): read_code(follow(there, link, arguments=edited)) for edited in edits}
    if count_payments(there):
        return succeeded(f"edited arguments reached the function; the answers: {answers}")
    if set(answers.values()) != {code}:
        raise UnplayedError(f"expected {code}, got {answers}")
    expect_code(follow(there, link), None)
    return held(f"{len(edits)} edits were answered {code}; the link as it was given was accepted after them")


def approve_after_the_expiry(target: Target) -> Outcome:
    """Links do not expire, but the request that a link answers does."""
    there = connect_workflows(target)
    ask = {"target": "asked", "executor": {"kind": "human", "expiresMs": EXPIRES_MS}}
    states = {
        "open": {"transitions": {"ask": ask}},
        "asked": {"transitions": {"approve": {"target": "done", "actor": "human", "decision": "approve"}}},
        "done": DONE,
    }
    there.publish(workflows={"asking": {"initialState": "open", "states": states}})
    person = make_person(target, "ada")
    asked = there.submit(there.start("asking"), "ask")
    link = find_transition(there.get(asked["workflowId"], person), "approve")
    wait_for(
        "the expiry of the request",
        lambda: there.get(asked["workflowId"]),
        lambda seen: seen.get("approval", {}).get("expired"),
    )
    late = follow(there, link, person)
    if late.get("state") == "done":
        return succeeded("a request was approved after its expiry")
    expect_code(late, REJECTED)
    return held(f"{REJECTED}: the request has expired")


def guess_a_transition_of_another_state(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there)
    states = {
        "open": {"transitions": {"hand_in": {"target": "checked", "guards": [CLERK]}}},
        "checked": {"transitions": {"pay": {"target": "done", "executor": PAYMENT}}},
        "done": DONE,
    }
    there.publish(workflows={"paying": {"initialState": "open", "linkFilter": "byGuards", "states": states}})
    at = there.start("paying")
    if at["links"]:
        raise UnplayedError(f"expected no link, got {at['links']}")
    guesses = {name: read_code(there.submit(at, name)) for name in ("pay", "done", "$settle", "on_enter", "hand_in")}
    if count_payments(there):
        return succeeded(f"a transition that was not offered was executed: {guesses}")
    refused = {INVALID, REJECTED}
    if not refused.issuperset(code for code in guesses.values() if code is not None) or None in guesses.values():
        raise UnplayedError(f"expected refusals, got {guesses}")
    return held(f"the guesses were answered {', '.join(sorted(refused))}; nothing was executed")


def take_a_move_of_another_actor(target: Target) -> Outcome:
    """Take by name, with an API key, a transition of a system and one that only the engine takes."""
    there = connect_workflows(target)
    host_payments(there)
    moves = {name: {"target": "done", "actor": name, "executor": PAYMENT} for name in ("system", "deterministic")}
    states = {"open": {"transitions": {"ask": {"target": "open"}, **moves}}, "done": DONE}
    there.publish(workflows={"paying": {"initialState": "open", "states": states}})
    at = there.start("paying")
    codes = {name: read_code(there.submit(at, name)) for name in moves}
    if count_payments(there):
        return succeeded(f"a caller took a move of another actor: {codes}")
    if set(codes.values()) != {"ACTOR_MISMATCH"}:
        raise UnplayedError(f"expected ACTOR_MISMATCH, got {codes}")
    expect_code(there.submit(at, "system", target.make_key("a system", permissions=[MAY_ACT_AS_SYSTEM])), None)
    return held("ACTOR_MISMATCH for both; a key with the permission of systems took that of a system")


def add_arguments_that_no_schema_declares(target: Target) -> Outcome:
    """A tenant refuses undeclared arguments. The attacker adds some to a transition without a schema, for its guard."""
    there = connect_workflows(target)
    host_payments(there)
    target.set_settings(**{UNDECLARED_ARGUMENTS: REFUSE})
    guards = [{"kind": "expr", "expr": "$.arguments.approved == true"}]
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT, guards=guards)})
    seen = there.submit(there.start("paying"), "go", approved=True)
    if count_payments(there):
        return succeeded("an argument that no schema declares let a guard pass")
    expect_code(seen, VIOLATION)
    return held(f"{VIOLATION}: a transition without a schema takes no arguments")


def reuse_a_client_token_with_another_input(target: Target) -> Outcome:
    there = connect_workflows(target)
    there.publish(workflows={"counting": COUNTED})
    token = make_name("token")
    first = there.call_tool("workflow.start", definitionId="counting", input={"amount": 1}, clientToken=token)
    expect_code(first, None)
    again = there.call_tool("workflow.start", definitionId="counting", input={"amount": 1_000}, clientToken=token)
    if read_code(again) is None:
        return succeeded("a start with another input was answered as done, with the run of the first input")
    expect_code(again, "ALREADY_STARTED")
    same = there.call_tool("workflow.start", definitionId="counting", input={"amount": 1}, clientToken=token)
    if same.get("workflowId") != first["workflowId"]:
        raise UnplayedError(f"expected the run of the first start, got {same}")
    return held("ALREADY_STARTED; the same start again gets its run")


def reuse_a_client_token_of_others(target: Target) -> Outcome:
    """The token that another caller of the tenant, and a caller of another tenant, have started with."""
    other = target.on.new_target()
    there, elsewhere = connect_workflows(target), connect_workflows(other)
    for tenant in (there, elsewhere):
        tenant.publish(workflows={"counting": COUNTED})
    request: dict[str, Any] = {"definitionId": "counting", "input": {}, "clientToken": make_name("token")}
    victims = {
        "tenant": elsewhere.call_tool("workflow.start", **request),
        "caller": there.call_tool("workflow.start", target.make_key("a colleague"), **request),
    }
    for victim in victims.values():
        expect_code(victim, None)
    own = there.call_tool("workflow.start", **request)
    expect_code(own, None)
    if found := [kind for kind, victim in victims.items() if victim["workflowId"] == own["workflowId"]]:
        return succeeded(f"the token of another {' and another '.join(found)} gave their run")
    return held("a run of its own, although the token is the same")


LINK_ATTACKS = (
    Attack("F7", "Follow a link after the run has moved on", follow_a_stale_link, (VERSION_COMPARED,)),
    Attack("F8", "Follow a link of another tenant", follow_links_of_another_tenant, (TENANT_IN_KEYS,)),
    Attack(
        "F8.1",
        "Follow a link of another principal of the tenant",
        follow_links_of_another_principal,
        (
            Defence(
                "readers",
                "the readers of a workflow",
                (
                    Removal(
                        ANSWERS,
                        "    return all(passes(guard, guard_input) for guard in guards)\n",
                        "    return all(passes(guard, guard_input) in (True, False) for guard in guards)\n",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F9",
        "Edit the arguments of a link past the schema",
        edit_arguments_past_the_schema,
        (
            Defence(
                "schema-of-arguments",
                "the schema of the arguments",
                (
                    Removal(
                        ADMISSION,
                        "if refusal := find_schema_refusal(validators, schema, transition.name, arguments):",
                        "if refusal := find_schema_refusal(validators, {}, transition.name, arguments):",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack("F9.1", "Edit the arguments of a link past a guard", edit_arguments_past_a_guard, (GUARDS_ENFORCED,)),
    Attack(
        "F9.2",
        "Add arguments that no schema declares, so that a guard passes, where the tenant refuses them",
        add_arguments_that_no_schema_declares,
        (
            Defence(
                "undeclared-arguments",
                "the schema of transitions that declare none",
                (Removal(ARGUMENT_SCHEMAS, "NO_ARGUMENTS if definition.refuses_undeclared else", "ANY_ARGUMENTS or"),),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F10",
        "Approve by a link after the request has expired",
        approve_after_the_expiry,
        (
            Defence(
                "expiry-of-requests",
                "the expiry of requests",
                (
                    Removal(
                        INSTANCE,
                        "return self.expires_at is not None and now >= self.expires_at",
                        "return self.expires_at is not None and now < 0",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack("F11", "Replay a link five times", replay_a_link, (VERSION_COMPARED,)),
    Attack(
        "F12",
        "Guess transitions that are not offered: of a later state, past a guard, of the system",
        guess_a_transition_of_another_state,
        (
            Defence(
                "transitions-of-the-state",
                "the search for transitions in the current state only",
                (
                    Removal(
                        ADMISSION,
                        ".transitions.get(name)",
                        ".transitions.get(name) or next((state.transitions[name] for state in "
                        "definition.states.values() if name in state.transitions), None)",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F12.1",
        "Take a transition of a system, and one of the engine, by its name",
        take_a_move_of_another_actor,
        (
            Defence(
                "actors-of-transitions",
                "the actors of transitions",
                (
                    Removal(ACTORS, 'case "system" if not is_system(principal):', 'case "system" if not name:'),
                    Removal(
                        ACTORS, 'case "deterministic" if not state.runs_by_itself:', 'case "deterministic" if not name:'
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F19",
        "Start with the token of an earlier start and another input",
        reuse_a_client_token_with_another_input,
        (
            Defence(
                "input-of-client-tokens",
                "the comparison of the input with that of the earlier start",
                (
                    Removal(
                        SERVICE,
                        "if request.client_token is None or is_same(complete, instance.input):",
                        "if request.client_token is None or complete is not None:",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F20",
        "Start with the token of another caller and of another tenant",
        reuse_a_client_token_of_others,
        (
            TENANT_IN_KEYS,
            Defence(
                "owner-of-client-tokens",
                "the owner in the id of a run",
                (
                    Removal(
                        SERVICE,
                        "json.dumps([principal.tenant, principal.issuer, principal.subject, request.client_token])",
                        "json.dumps([request.client_token])",
                    ),
                ),
                TENANTS,
            ),
        ),
    ),
)
