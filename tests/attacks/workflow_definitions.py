"""Attacks on definitions and rules: hidden items by name, changes in the middle of a run, chains, lookalike names."""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from signpost.adapters.dynamodb import DynamoApiKeys
from signpost.identity.api_keys import LOOKUP_LIFETIME, parse_api_key
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import JsonObject
from stage.crashes import MORTAL_VARIABLE, PASSED_STEPS, PROCESS
from tests.attacks.attack import Attack, Outcome, UnplayedError, held, succeeded
from tests.attacks.defence import Defence, Removal
from tests.attacks.target import Target
from tests.attacks.workflow_links import CLERK
from tests.attacks.workflow_races import FOR_WORKER_MS, build_wake_record
from tests.attacks.workflow_removals import (
    ADMISSION,
    ATTEMPTS,
    DEFINITION,
    DEFINITION_SOURCE,
    ENGINE,
    RUNS,
    SERVICE,
    STEPS,
)
from tests.attacks.workflow_runs import (
    DONE,
    INVALID,
    PAYMENT,
    REJECTED,
    connect_workflows,
    count_payments,
    expect_code,
    find_transition,
    follow,
    host_payments,
    read_code,
    wait_until_known,
)
from tests.support.scripted_tenant import define_one_step, list_link_names

GUEST = "guest"
DENIED: JsonObject = {
    "kind": "deny",
    "who": [f"role:{GUEST}"],
    "what": ["vault.pay", "workflow:vault_opening"],
}
VISIBLE: Mapping[str, Any] = {"name": "yard.look"}
CAPABILITIES: Mapping[str, Any] = {"expose": [{"name": "vault.pay", "executor": PAYMENT}, VISIBLE]}
MANIFEST: Mapping[str, Any] = {"proxy": CAPABILITIES, "workflows": {"vault_opening": define_one_step()}}
WITHOUT_HIDDEN: Mapping[str, Any] = {"proxy": {"expose": [VISIBLE]}}
NAMED = (
    ("workflow.start", "definitionId"),
    ("workflow.explain", "definitionId"),
    ("gateway.describe", "id"),
)
SPELLINGS = ("vault_opening", "vault_opennig")
"""The name of a hidden workflow, and one that is nearly it, which advice would correct."""
LOOKALIKES = (
    "\uff41pprove",  # a full-width letter
    "\u0430pprove",  # a Cyrillic letter
    "APPROVE",
    " approve",
    "approve\u200b",  # a blank without width
    "approve\u0000",
    "appro\u0301ve",  # an accent of its own
    "\u202eevorppa",  # written from right to left
)
NOTHING: Mapping[str, Any] = {}
LONGEST_CHAIN, ASKED_CHAIN = 500, 1_000_000


def deny_guests(target: Target) -> None:
    answer = target.call_registry("manifest::publish", {"policies": {"no-vault": DENIED}})
    if not isinstance(answer, Mapping) or "error" in answer:
        raise UnplayedError(f"expected the rules to be published, got {answer}")


def take_a_hidden_capability_by_name(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there)
    there.publish(**MANIFEST)
    deny_guests(target)
    guest = target.make_key(GUEST, roles=[GUEST])
    run = there.call_tool("workflow.start", guest, definitionId="proxy_default", input={})
    expect_code(run, None)
    answers = {
        "start": read_code(
            there.call_tool("workflow.start", guest, definitionId="proxy_default", input={"capability": "vault.pay"})
        ),
        "submit": read_code(there.submit(run, "vault.pay", guest)),
        "start of a workflow": read_code(
            there.call_tool("workflow.start", guest, definitionId="vault_opening", input={})
        ),
    }
    if count_payments(there) or None in answers.values():
        return succeeded(f"a hidden item was used by its name: {answers}, links {list_link_names(run)}")
    if answers != {"start": "NOT_FOUND", "submit": INVALID, "start of a workflow": "NOT_FOUND"}:
        raise UnplayedError(f"expected refusals, got {answers}")
    expect_code(there.submit(there.start("proxy_default"), "vault.pay"), None)
    return held(f"answered {answers}, as for names that do not exist; a caller without the rule may take it")


def compare_hidden_with_unknown(target: Target) -> Outcome:
    """Compare the answers to the byte, and the work behind them by the calls to AWS that the gateway made."""
    there = connect_workflows(target)
    host_payments(there)
    there.publish(**MANIFEST)
    deny_guests(target)
    guest = target.make_key(GUEST, roles=[GUEST])
    foreign = _start_run_of_another_tenant(target)
    bare_guest = _make_guest_of_nothing_hidden(target)
    with _separate_processes(target):
        pairs = [
            *((tool, argument, name, "q" * len(name)) for tool, argument in NAMED for name in SPELLINGS),
            ("workflow.get", "workflowId", foreign, f"wf_{'0' * (len(foreign) - 3)}"),
        ]
        differences = [
            *(_find_difference(target, guest, *pair) for pair in pairs),
            *(_find_difference_of_search(target, (guest, bare_guest), name) for name in SPELLINGS),
        ]
    if found := [difference for difference in differences if difference]:
        return succeeded("; ".join(found))
    return held(f"{len(differences)} pairs of requests: the same status, the same text, the same calls to AWS")


def compare_hidden_run_with_missing(target: Target) -> Outcome:
    """Compare a run that `readers` hide with one that does not exist. Its input is so long that it is kept apart."""
    there = connect_workflows(target)
    there.publish(workflows={"counting": {**define_one_step(), "readers": [CLERK]}})
    clerk, guest = target.make_key("clerk", roles=["clerk"]), target.make_key(GUEST, roles=[GUEST])
    run = there.call_tool("workflow.start", clerk, definitionId="counting", input={"text": "x" * 40_000})
    expect_code(run, None)
    hidden = run["workflowId"]
    unknown = f"wf_{'0' * (len(hidden) - 3)}"
    move = {"transition": "go", "expectedVersion": 1}
    ways: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("workflow.get", {}),
        ("workflow.submit", move),
        ("workflow.submit", {**move, "transition": "$cancel"}),
    )
    with _separate_processes(target):
        found = [_find_difference(target, guest, tool, "workflowId", hidden, unknown, more) for tool, more in ways]
    if differences := [difference for difference in found if difference]:
        return succeeded("; ".join(differences))
    expect_code(there.get(hidden, clerk), None)
    return held(f"{len(ways)} pairs of requests: the same status, the same text, the same calls to AWS")


def _start_run_of_another_tenant(target: Target) -> str:
    other = connect_workflows(target.on.new_target())
    other.publish(**MANIFEST)
    run = other.start("vault_opening")
    expect_code(run, None)
    return run["workflowId"]


def _make_guest_of_nothing_hidden(target: Target) -> str:
    """Return the key of a guest of another tenant, which has the visible items only."""
    bare = target.on.new_target()
    there = connect_workflows(bare)
    host_payments(there)
    there.publish(**WITHOUT_HIDDEN)
    deny_guests(bare)
    return bare.make_key(GUEST, roles=[GUEST])


@contextmanager
def _separate_processes(target: Target) -> Generator[None]:
    """Handle each request in a process that remembers nothing of the ones before, and reports its calls to AWS."""
    target.on.functions.configure("Gateway", **{MORTAL_VARIABLE: PROCESS})
    try:
        yield
    finally:
        target.on.functions.configure("Gateway", **{MORTAL_VARIABLE: None})


def _find_difference(
    target: Target, guest: str, tool: str, argument: str, hidden: str, unknown: str, more: Mapping[str, Any] = NOTHING
) -> str | None:
    """Ask by the name of a hidden thing and by one that does not exist, and say by what the answers differ."""
    traces = [_trace(target, guest, tool, {argument: name, **more}, name) for name in (hidden, unknown)]
    return _compare(f"{tool} of {hidden}", traces)


def _find_difference_of_search(target: Target, guests: Sequence[str], name: str) -> str | None:
    """Search for the name of a hidden item where it is hidden and where there is none. Two words in one tenant cannot
    be compared: a word may occur in visible items."""
    traces = [_trace(target, guest, "gateway.search", {"query": name}, name) for guest in guests]
    return _compare(f"gateway.search of {name}", traces)


def _compare(request: str, traces: Sequence[tuple[int, str, str]]) -> str | None:
    kinds = ("status", "text", "calls to AWS")
    if not traces[0][2]:
        raise UnplayedError(f"{request} reported no calls to AWS")
    differing = [kind for kind, *values in zip(kinds, *traces, strict=True) if values[0] != values[1]]
    return f"{request} differs in {' and '.join(differing)}" if differing else None


def _trace(target: Target, guest: str, tool: str, arguments: Mapping[str, Any], name: str) -> tuple[int, str, str]:
    """Return status, text and calls to AWS of a request, without the name that it asks for."""
    answer = target.call_tool(tool, arguments, credential=guest, path="/mcp")
    return answer.status, answer.text.replace(name, "(name)"), answer.headers.get(PASSED_STEPS, "")


def change_the_definition_of_a_run(target: Target) -> Outcome:
    """The author publishes the workflow again, without its guard, while a run waits before it."""
    there = connect_workflows(target)
    host_payments(there)
    guarded, free = (define_one_step(executor=PAYMENT, guards=guards) for guards in ([CLERK], []))
    there.publish(workflows={"paying": guarded})
    at = there.start("paying")
    there.publish(workflows={"paying": free})
    seen = there.submit(at, "go")
    if count_payments(there):
        return succeeded("a run followed a definition that was published after its start")
    expect_code(seen, REJECTED)
    expect_code(there.submit(there.start("paying"), "go"), None)
    return held(f"{REJECTED}: the run keeps its definition; a run started now has the new one")


def submit_after_a_rule_was_added(target: Target) -> Outcome:
    there = connect_workflows(target)
    host_payments(there)
    there.publish(**MANIFEST)
    guest = target.make_key(GUEST, roles=[GUEST])
    described = there.call_tool("workflow.start", guest, definitionId="proxy_default", input={})
    link = find_transition(described, "vault.pay")
    deny_guests(target)
    time.sleep(REVALIDATION_INTERVAL)  # rules apply to runs after this time
    late = follow(there, link, guest)
    if count_payments(there):
        return succeeded("a link that was given before the rule was executed after it")
    expect_code(late, INVALID)
    return held(f"{INVALID}: rules are asked at each submission")


def go_on_with_a_revoked_key(target: Target) -> Outcome:
    """The step of a caller waits for the worker. Meanwhile its key is revoked."""
    there = connect_workflows(target)
    host_payments(there, timeout_ms=FOR_WORKER_MS)
    there.publish(workflows={"paying": define_one_step(executor=PAYMENT)})
    stolen = target.make_key("stolen")
    at = there.start("paying")
    record = build_wake_record(target, at["workflowId"])
    with target.on.functions.disable_event_sources("Worker"):
        expect_code(there.submit(at, "go", stolen), None)
        _revoke(target, stolen)
        time.sleep(LOOKUP_LIFETIME)  # a worker may have looked the key up before
        target.on.functions.invoke("Worker", {"Records": [record]})
    seen = wait_until_known(there, at["workflowId"])
    if count_payments(there):
        return succeeded("a step was executed in the name of a key that had been revoked before")
    if seen["state"] != "open" or "revoked" not in seen.get("fault", {}).get("message", ""):
        raise UnplayedError(f"expected a fault that names the revoked key, got {seen}")
    return held(f"nothing was executed: {seen['fault']['message']}")


def _revoke(target: Target, credential: str) -> None:
    presented = parse_api_key(credential)
    table = target.stack.deployed.outputs["RegistryTableName"]
    if presented is None or not DynamoApiKeys(target.on.dynamodb, table).revoke(
        presented.tenant, presented.key_id, time.time()
    ):
        raise UnplayedError("the key cannot be revoked")


def follow_an_endless_chain(target: Target) -> Outcome:
    there = connect_workflows(target)
    hop = {"actor": "deterministic", "output": {"n": {"add": ["$.context.n", 1]}}}
    states = {
        name: {"transitions": {"on": {"target": target_name, **hop}}} for name, target_name in (("a", "b"), ("b", "a"))
    }
    there.publish(workflows={"endless": {"initialState": "a", "states": states, "maxChainDepth": ASKED_CHAIN}})
    began = time.monotonic()
    answer = there.send("workflow.start", definitionId="endless", input={})
    if answer.status != 200:
        return succeeded(f"the chain took {time.monotonic() - began:.0f} s and ended with {answer.status}")
    seen = answer.json["result"]["structuredContent"]
    hops = len(seen.get("chain", []))
    if hops > LONGEST_CHAIN:
        return succeeded(f"one call took {hops} steps")
    if hops != LONGEST_CHAIN:
        raise UnplayedError(f"expected {LONGEST_CHAIN} steps, got {hops}: {answer.text[:300]}")
    return held(f"the chain stopped after {hops} steps, and the next one is linked: {list_link_names(seen)}")


def submit_lookalike_names(target: Target) -> Outcome:
    """A client's own list of forbidden names, or a rule, knows `approve`; the attacker names a lookalike."""
    there = connect_workflows(target)
    paying = {
        "initialState": "open",
        "states": {"open": {"transitions": {"approve": {"target": "done"}}}, "done": DONE},
    }
    there.publish(workflows={"paying": paying})
    at = there.start("paying")
    moves = {name: read_code(there.submit(at, name)) for name in LOOKALIKES}
    starts = [
        read_code(there.call_tool("workflow.start", definitionId=name, input={})) for name in ("\uff50aying", "PAYING")
    ]
    taken = [ascii(name) for name, code in moves.items() if code is None]
    if taken or None in starts:
        return succeeded(f"taken for the real name: {', '.join(taken)}; starts {starts}")
    if not {INVALID, "NOT_FOUND", "INPUT_SCHEMA_VIOLATION"}.issuperset(map(str, moves.values())):
        raise UnplayedError(f"expected refusals, got {moves}")
    expect_code(there.submit(at, "approve"), None)
    return held(f"{len(moves)} lookalikes of a transition and {len(starts)} of a workflow are unknown names")


DEFINITION_ATTACKS = (
    Attack(
        "F13",
        "Take a capability, and start a workflow, by a name that rules hide",
        take_a_hidden_capability_by_name,
        (
            Defence(
                "rules-for-capabilities",
                "the rules for capabilities",
                (
                    Removal(
                        DEFINITION_SOURCE,
                        "if definition.id != PROXY_WORKFLOW:",
                        "if definition.id:",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F14",
        "Tell hidden from unknown items by status, text, advice and the work behind the answer",
        compare_hidden_with_unknown,
        (
            Defence(
                "advice-from-offered-names",
                "advice that names offered items only",
                (
                    Removal(
                        SERVICE,
                        "self._definitions.list_offered_ids(principal)",
                        "self._definitions.list_ids(principal.tenant)",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F14.1",
        "Tell a run that `readers` hide from one that does not exist, by the work behind the answer",
        compare_hidden_run_with_missing,
        (
            Defence(
                "readers-in-the-head",
                "the readers that the head of a run keeps",
                (Removal(ENGINE, "            readers=definition.written_readers,\n", ""),),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F16",
        "Publish a definition without its guard while a run waits before it",
        change_the_definition_of_a_run,
        (
            Defence(
                "pinned-definitions",
                "the definition that a run is pinned to",
                (
                    Removal(
                        SERVICE,
                        "        definition = self._definitions.load_pinned(principal.tenant, instance.definition_id, "
                        "instance.digest)\n",
                        "        current = self._definitions.find_current(principal.tenant, instance.definition_id)\n"
                        "        definition = current.definition if current else self._definitions.load_pinned("
                        "principal.tenant, instance.definition_id, instance.digest)\n",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F17",
        "Follow a link after a rule was added that denies it",
        submit_after_a_rule_was_added,
        (
            Defence(
                "rules-at-submissions",
                "the rules at each submission",
                (
                    Removal(
                        SERVICE,
                        "permitted = self._definitions.remove_denied_capabilities(\n            principal, "
                        "PublishedDefinition(definition, instance.digest), under_way\n        )",
                        "permitted = definition if under_way else definition",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F17.1",
        "Have a step that waits for the worker executed in the name of a key that was revoked meanwhile",
        go_on_with_a_revoked_key,
        (
            Defence(
                "rights-before-attempts",
                "the rights of the principal before each attempt of the worker",
                (Removal(ATTEMPTS, "if loss is None:", "if loss is None or job.principal:"),),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F23",
        f"Publish a chain of automatic steps without an end, with a `maxChainDepth` of {ASKED_CHAIN:,}",
        follow_an_endless_chain,
        (
            Defence(
                "longest-chain",
                "the largest length of a chain",
                (Removal(DEFINITION, "DEEPEST_CHAIN = 500\n", "DEEPEST_CHAIN = 800\n"),),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F25",
        "Name transitions and workflows by lookalikes of their names",
        submit_lookalike_names,
        (
            Defence(
                "exact-names",
                "the exact comparison of names",
                (
                    Removal(
                        ADMISSION,
                        ".transitions.get(name)",
                        '.transitions.get(__import__("unicodedata").normalize("NFKC", name).strip().casefold())',
                    ),
                ),
                RUNS,
            ),
        ),
    ),
)
