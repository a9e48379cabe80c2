"""Attacks on approvals: by the requester, without the role, by replay, and for other values than those shown."""

from collections.abc import Mapping
from typing import Any

from tests.attacks.attack import Attack, Outcome, UnplayedError, held, succeeded
from tests.attacks.defence import Defence, Removal
from tests.attacks.target import Target
from tests.attacks.workflow_removals import GUARDS, INSTANCE, MODEL, RUNS, STEPS, TENANTS
from tests.attacks.workflow_runs import (
    DONE,
    REJECTED,
    connect_workflows,
    expect_code,
    find_transition,
    follow,
    make_person,
)

FINANCE = "finance"
AMOUNT: Mapping[str, Any] = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
SETS_AMOUNT: Mapping[str, Any] = {"inputSchema": AMOUNT, "output": {"amount": "$.arguments.amount"}}


def define_purchase(**requirement: Any) -> Mapping[str, Any]:
    """Return a workflow that ends when there are enough approvals, and whose amount may be revised while it waits."""
    enough = {"kind": "evidence", "requires": [{"kind": "human_approval", **requirement}]}
    approve = {
        "target": "asked",
        "actor": "human",
        "decision": "approve",
        "guards": [{"kind": "role", "role": FINANCE}],
        "branches": [{"when": enough, "target": "bought"}],
    }
    states = {
        "open": {
            "transitions": {
                "ask": {"target": "asked", "executor": {"kind": "human", "shows": ["amount"]}, **SETS_AMOUNT}
            }
        },
        "asked": {"transitions": {"approve": approve, "revise": {"target": "asked", **SETS_AMOUNT}}},
        "bought": DONE,
    }
    return {"initialState": "open", "states": states}


def approve_an_own_request(target: Target) -> Outcome:
    """The requester also has the role of an approver."""
    there = connect_workflows(target)
    there.publish(workflows={"purchase": define_purchase(count=1, distinct=True)})
    ada, bob = make_person(target, "ada", FINANCE), make_person(target, "bob", FINANCE)
    at = there.call_tool("workflow.start", ada, definitionId="purchase", input={})
    asked = there.submit(at, "ask", ada, amount=1_000)
    own = there.submit(asked, "approve", ada)
    if own["state"] == "bought":
        return succeeded("the requester approved the own request")
    expect_code(own, None)
    second = there.submit(own, "approve", bob)
    expect_code(second, None)
    if second["state"] != "bought":
        raise UnplayedError(f"expected the approval of a second person to count, got {second}")
    return held("the requester's approval did not count; that of a second person did")


def approve_as_the_owner_of_the_key(target: Target) -> Outcome:
    """The requester asks with an API key of their own, and approves after a login."""
    there = connect_workflows(target)
    there.publish(workflows={"purchase": define_purchase(count=1, distinct=True)})
    key = target.make_key("key of ada", owner="ada")
    ada, bob = make_person(target, "ada", FINANCE), make_person(target, "bob", FINANCE)
    at = there.call_tool("workflow.start", key, definitionId="purchase", input={})
    asked = there.submit(at, "ask", key, amount=1_000)
    own = there.submit(asked, "approve", ada)
    if own["state"] == "bought":
        return succeeded("the owner of the key approved the request that the key had made")
    expect_code(own, None)
    second = there.submit(own, "approve", bob)
    expect_code(second, None)
    if second["state"] != "bought":
        raise UnplayedError(f"expected the approval of a second person to count, got {second}")
    return held("the approval of the key's owner did not count; that of a second person did")


def approve_after_losing_the_role(target: Target) -> Outcome:
    there = connect_workflows(target)
    there.publish(workflows={"purchase": define_purchase(count=1)})
    with_role, without = make_person(target, "bob", FINANCE), make_person(target, "bob")
    asked = there.submit(there.start("purchase"), "ask", amount=1_000)
    link = find_transition(there.get(asked["workflowId"], with_role), "approve")
    late = follow(there, link, without)
    if late["state"] == "bought":
        return succeeded("a person without the role approved")
    expect_code(late, REJECTED)
    return held(f"{REJECTED}: the role is asked for at the submission")


def replay_an_approval(target: Target) -> Outcome:
    """One person approves again at each new version, where two persons are needed."""
    there = connect_workflows(target)
    there.publish(workflows={"purchase": define_purchase(count=2)})
    bob = make_person(target, "bob", FINANCE)
    seen = there.submit(there.start("purchase"), "ask", amount=1_000)
    link = find_transition(there.get(seen["workflowId"], bob), "approve")
    for _ in range(3):
        replayed = follow(there, link, bob)
        seen = follow(there, link, bob, expectedVersion=replayed["version"])
        if "bought" in (replayed["state"], seen["state"]):
            return succeeded("one person's approval counted twice")
    if seen["approval"]["approvedBy"] != ["bob"]:
        return succeeded(f"the approvals are {seen['approval']}")
    return held("six approvals by one person count once")


def approve_other_values(target: Target) -> Outcome:
    """One person approves 10. Then the amount becomes 1,000, and a second person approves."""
    there = connect_workflows(target)
    there.publish(workflows={"purchase": define_purchase(count=2)})
    ada, bob = make_person(target, "ada", FINANCE), make_person(target, "bob", FINANCE)
    asked = there.submit(there.start("purchase"), "ask", amount=10)
    first = there.submit(asked, "approve", ada)
    expect_code(first, None)
    revised = there.submit(first, "revise", amount=1_000)
    expect_code(revised, None)
    second = there.submit(revised, "approve", bob)
    if second["state"] == "bought":
        return succeeded(f"approvals of 10 and of 1,000 were counted together: {second['context']}")
    return held("approvals count only for the values that were shown; the run waits on")


APPROVAL_ATTACKS = (
    Attack(
        "F18",
        "Approve the own request, with the role of an approver",
        approve_an_own_request,
        (
            Defence(
                "requester-is-no-approver",
                "the requester's exclusion from distinct approvers",
                (
                    Removal(
                        INSTANCE,
                        "Tally(len(self.approved_by), self.approved_by - self.askers)",
                        "Tally(len(self.approved_by), self.approved_by)",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F18.1",
        "Approve by a link after losing the role",
        approve_after_losing_the_role,
        (
            Defence(
                "roles-at-submissions",
                "the roles of the credential at the submission",
                (Removal(GUARDS, "return self.name in guard_input.principal.roles", "return bool(self.name)"),),
                TENANTS,
            ),
        ),
    ),
    Attack(
        "F18.2",
        "Replay an approval at later versions, where two persons are needed",
        replay_an_approval,
        (
            Defence(
                "persons-are-counted",
                "the count of persons instead of approvals",
                (
                    Removal(
                        INSTANCE,
                        "return {**self.evidence, HUMAN_APPROVAL: tally}",
                        "return {HUMAN_APPROVAL: tally, **self.evidence}",
                    ),
                ),
                RUNS,
            ),
        ),
    ),
    Attack(
        "F18.3",
        "Have an approval of one amount counted for another amount",
        approve_other_values,
        (
            Defence(
                "digest-of-approvals",
                "the digest of the values that were shown",
                (
                    Removal(
                        INSTANCE,
                        "return self.digest == digest_of(",
                        "return bool(self.digest) or self.digest == digest_of(",
                    ),
                ),
                STEPS,
            ),
        ),
    ),
    Attack(
        "F18.4",
        "Approve the own request after making it with a key of one's own",
        approve_as_the_owner_of_the_key,
        (
            Defence(
                "owners-of-keys",
                "the owner for whom an API key counts",
                (Removal(MODEL, "return self.owner or self.subject", "return self.subject or self.owner"),),
                TENANTS,
            ),
        ),
    ),
)
