"""Every request of every function is judged by the deployed policies, and so is every change to one of them.

Each function is made to do everything that it needs permissions for, once. The emulator records what it asks of AWS.
The rest is decided in memory, by `tests/support/policy_judge.py`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from signpost.adapters import keys
from tests.support.aws_requests import (
    KEYED_ACTIONS,
    LEADING_KEYS,
    Candidate,
    RequestClass,
    classify_request,
    list_candidates,
)
from tests.support.exercised_stack import ExercisedStack, deploy_exercised_stack
from tests.support.exercises_of_events import (
    exercise_change_fanout,
    exercise_content_relay,
    exercise_delivery,
    exercise_sweeper,
    exercise_worker,
    exercise_workflow_relay,
)
from tests.support.exercises_of_requests import (
    exercise_core,
    exercise_gateway,
    exercise_nested_calls,
    exercise_registry,
)
from tests.support.function_roles import FUNCTION_OUTPUTS, DeployedRoles, read_template_statements
from tests.support.iam_decisions import Decision
from tests.support.laptop import Laptop
from tests.support.line_output import ShowLine
from tests.support.permitted_requests import PERMITTED_REQUESTS
from tests.support.policy_judge import Request, Statement, judge
from tests.support.policy_mutants import PolicyMutant, generate_mutants
from tests.support.receiver import Receiver, ReceiverReply, start_receiver

pytestmark = pytest.mark.cloud


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with start_receiver(lambda _: ReceiverReply(200, b'{"results": []}')) as server:
        yield server


@pytest.fixture(scope="module")
def exercised_stack(laptop: Laptop, receiver: Receiver) -> ExercisedStack:
    return deploy_exercised_stack(laptop, receiver)


@pytest.fixture(scope="module")
def exercise_failures(exercised_stack: ExercisedStack, receiver: Receiver) -> Mapping[str, Exception]:
    """The exercises that failed, by function. All of them have run."""
    exercises: Mapping[str, Callable[[], None]] = {
        "Gateway": lambda: exercise_gateway(exercised_stack),
        "NestedCalls": lambda: exercise_nested_calls(exercised_stack),
        "Registry": lambda: exercise_registry(exercised_stack),
        "Relay": lambda: exercise_content_relay(exercised_stack),
        "Herald": lambda: exercise_workflow_relay(exercised_stack),
        "Worker": lambda: exercise_worker(exercised_stack),
        "Sweeper": lambda: exercise_sweeper(exercised_stack),
        "Subscriber": lambda: exercise_change_fanout(exercised_stack),
        "Delivery": lambda: exercise_delivery(exercised_stack, receiver),
        "ExecutorCore": lambda: exercise_core(exercised_stack),
    }
    assert exercises.keys() == FUNCTION_OUTPUTS.keys()
    failed: dict[str, Exception] = {}
    for function, exercise in exercises.items():
        try:
            exercise()
        except Exception as error:  # noqa: BLE001 - the test of this function raises it
            failed[function] = error
    return failed


@dataclass(frozen=True, slots=True)
class JudgedFunction:
    """One function: its statements, what it needs, and what it is not to have."""

    function: str
    statements: Sequence[Statement]
    decisions: Sequence[Decision]
    needed: Sequence[Request]
    """What it asked for, and what Lambda asks for in its role."""
    forbidden: Sequence[Candidate]
    spare: Collection[RequestClass]
    """What its role allows and it does not ask for."""

    @property
    def surplus(self) -> Collection[RequestClass]:
        """What its role allows, it does not ask for, and no review permits."""
        return [one for one in self.spare if not is_permitted(self.function, one)]

    def find_difference(self, mutant: PolicyMutant) -> str | None:
        """What is different with a mutant: something needed is denied, or something forbidden is allowed."""
        if mutant.kind == "removal":  # which allows nothing, as a loosening denies nothing
            denied = (one for one in self.needed if not judge(mutant.statements, one).is_allowed)
            return next((f"denies {one}" for one in denied), None)
        requests = [one.request for one in self.forbidden if mutant.may_allow(one.request)]
        allowed = (one for one in requests if judge(mutant.statements, one).is_allowed)
        return next((f"allows {one}" for one in allowed), None)


@pytest.fixture(scope="module")
def judged_functions(
    exercised_stack: ExercisedStack, exercise_failures: Mapping[str, Exception]
) -> Mapping[str, JudgedFunction]:
    assert exercise_failures == {}
    roles = DeployedRoles(exercised_stack)
    statements = {function: roles.read_statements(function) for function in FUNCTION_OUTPUTS}
    resources = roles.list_resources()
    actions = {action for all_of_one in statements.values() for one in all_of_one for action in one.actions}
    universe = list_candidates(actions, resources)
    names = {arn: name for name, arn in resources.items()}
    recorded = exercised_stack.laptop.read_decisions()

    def judge_function(function: str) -> JudgedFunction:
        decisions = [one for one in recorded if (one.role, one.session) == roles.find_session(function)]
        needed = [*(one.request for one in decisions), *roles.list_lambda_requests(function)]
        used = {one for request in needed for one in classify_request(request, names)}
        spare, forbidden = set[RequestClass](), list[Candidate]()
        for candidate in universe:
            unused = [one for one in candidate.classes if one not in used]
            if judge(statements[function], candidate.request).is_allowed:
                spare.update(unused)
            elif not all(is_permitted(function, one) for one in unused):
                forbidden.append(candidate)
        return JudgedFunction(function, statements[function], decisions, needed, forbidden, spare)

    return {function: judge_function(function) for function in FUNCTION_OUTPUTS}


def is_permitted(function: str, one: RequestClass) -> bool:
    return any(entry.covers(function, one) for entry in PERMITTED_REQUESTS)


@pytest.mark.parametrize("function", FUNCTION_OUTPUTS)
def test_a_function_works_with_its_permissions(exercise_failures: Mapping[str, Exception], function: str) -> None:
    if function in exercise_failures:
        raise exercise_failures[function]


MUTANTS = {
    (function, one.name): one.kind
    for function in FUNCTION_OUTPUTS
    for one in generate_mutants(read_template_statements(function))
}
"""Each single change to a policy of the template, by the function whose role it changes."""
EQUIVALENT = {
    ("Registry", "HandOutKeys on the siblings of resource 0"): (
        "Every secret of the account has an ARN that begins with `secret:`, so this allows what was allowed before."
    ),
}
"""Changes that permit nothing more, with the reason. They count as not noticed."""


def list_changes(kind: str) -> list[tuple[str, str]]:
    return [change for change, its_kind in MUTANTS.items() if its_kind == kind]


@pytest.fixture(scope="module")
def policy_differences(judged_functions: Mapping[str, JudgedFunction]) -> Mapping[tuple[str, str], str | None]:
    """What each change to a deployed role denies or allows."""
    return {
        (name, one.name): role.find_difference(one)
        for name, role in judged_functions.items()
        for one in generate_mutants(role.statements)
    }


@pytest.mark.invariant(16)
@pytest.mark.parametrize("change", list_changes("removal"), ids=" ".join)
def test_a_removed_permission_denies_a_needed_request(
    policy_differences: Mapping[tuple[str, str], str | None], change: tuple[str, str]
) -> None:
    assert str(policy_differences[change]).startswith("denies")


@pytest.mark.invariant(74)
@pytest.mark.parametrize("change", list_changes("loosening"), ids=" ".join)
def test_a_loosened_policy_allows_a_forbidden_request(
    policy_differences: Mapping[tuple[str, str], str | None], change: tuple[str, str]
) -> None:
    assert (policy_differences[change] is None) == (change in EQUIVALENT), policy_differences[change]


def test_at_least_95_percent_of_the_policy_changes_are_noticed(
    policy_differences: Mapping[tuple[str, str], str | None], show_line: ShowLine
) -> None:
    assert policy_differences.keys() == MUTANTS.keys()
    missed = [" ".join(change) for change, difference in policy_differences.items() if difference is None]
    show_line(
        f"{len(policy_differences) - len(missed)} of {len(policy_differences)} changes to policies are noticed, "
        f"all but: {', '.join(missed)}"
    )
    assert len(missed) <= 0.05 * len(policy_differences)


@pytest.mark.invariant(74)
@pytest.mark.parametrize("function", FUNCTION_OUTPUTS)
def test_every_request_of_a_function_is_allowed_and_the_emulator_decides_the_same(
    judged_functions: Mapping[str, JudgedFunction], function: str
) -> None:
    one = judged_functions[function]
    assert one.decisions
    assert [decision for decision in one.decisions if decision.decision != "Allow"] == []
    assert [request for request in one.needed if not judge(one.statements, request).is_allowed] == []


@pytest.mark.invariant(74)
@pytest.mark.parametrize("function", FUNCTION_OUTPUTS)
def test_a_role_allows_nothing_that_is_neither_used_nor_reviewed(
    judged_functions: Mapping[str, JudgedFunction], function: str
) -> None:
    assert sorted(judged_functions[function].surplus, key=str) == []


def test_every_reviewed_permission_is_granted_by_a_role(judged_functions: Mapping[str, JudgedFunction]) -> None:
    for entry in PERMITTED_REQUESTS:
        for function in entry.functions:
            assert any(entry.covers(function, one) for one in judged_functions[function].spare), (function, entry)


@pytest.mark.parametrize("function", FUNCTION_OUTPUTS)
def test_a_condition_on_keys_applies_only_to_actions_that_name_keys(
    judged_functions: Mapping[str, JudgedFunction], function: str
) -> None:
    """A request that names no keys, such as a scan, satisfies `ForAllValues`."""
    for statement in judged_functions[function].statements:
        if any(condition.key == LEADING_KEYS for condition in statement.conditions):
            assert set(statement.actions) <= KEYED_ACTIONS, statement.sid


@pytest.mark.invariant(75)
@pytest.mark.parametrize("function", FUNCTION_OUTPUTS)
def test_no_role_allows_to_write_an_api_key(
    exercised_stack: ExercisedStack, judged_functions: Mapping[str, JudgedFunction], function: str
) -> None:
    arn = exercised_stack.dynamodb.describe_table(TableName=exercised_stack.table)["Table"]["TableArn"]
    for action in ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem"):
        request = Request(f"dynamodb:{action}", arn, {LEADING_KEYS: [keys.api_keys_of("acme")]})
        assert not judge(judged_functions[function].statements, request).is_allowed, action


API_KEY, DEFINITION = keys.api_key("acme", "k"), keys.definition("acme", "d")
BREAKER, SKILL = keys.breaker("acme", "f"), keys.entry("tenant#acme#skills", "s")


@pytest.mark.invariant(75)
@pytest.mark.parametrize(
    ("function", "row", "another", "decision"),
    [
        ("Gateway", API_KEY, BREAKER, "ImplicitDeny"),
        ("Gateway", DEFINITION, BREAKER, "ImplicitDeny"),
        ("Registry", API_KEY, SKILL, "Deny"),
        ("Sweeper", API_KEY, SKILL, "Deny"),
        ("Sweeper", DEFINITION, SKILL, "Deny"),
    ],
)
def test_a_role_can_write_neither_an_api_key_nor_a_definition(
    exercised_stack: ExercisedStack, function: str, row: keys.RowKey, another: keys.RowKey, decision: str
) -> None:
    """By real calls, with the credentials of its role. Nor can the registry or the sweeper make a key."""
    session, roles, table = f"forger-{function}", DeployedRoles(exercised_stack), exercised_stack.table
    client = assume_role(exercised_stack, roles.find_role_arn(function), session)
    arn = exercised_stack.dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    for action in ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem"):
        exercised_stack.laptop.expect_denial(session, f"dynamodb:{action}", arn)
    put = {"TableName": table, "Item": row}
    # The permitted write shows that it is the key for which the others are denied. The gateway only updates rows.
    permitted: Any = {"Put": {**put, "Item": another}}
    if function == "Gateway":
        permitted = {"Update": {"TableName": table, "Key": another, "UpdateExpression": "REMOVE never_set"}}
    assert client.transact_write_items(TransactItems=[permitted])
    for write in (
        lambda: client.put_item(**put),
        lambda: client.update_item(TableName=table, Key=row),
        lambda: client.delete_item(TableName=table, Key=row),
        lambda: client.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": row}}]}),
        lambda: client.transact_write_items(TransactItems=[permitted, {"Put": put}]),
        lambda: client.transact_write_items(TransactItems=[{"Put": put}, permitted]),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            write()
    assert "Item" not in exercised_stack.dynamodb.get_item(TableName=table, Key=row)
    decided = [one for one in exercised_stack.laptop.read_decisions() if one.session == session]
    statements = roles.read_statements(function)
    assert [judge(statements, one.request).decision for one in decided] == [one.decision for one in decided]
    puts = [one for one in decided if one.request == Request("dynamodb:PutItem", arn, {LEADING_KEYS: [row["pk"]["S"]]})]
    assert [one.decision for one in puts] == [decision] * 3, "once alone, and in each of two transactions"


@pytest.mark.invariant(86)
@pytest.mark.parametrize("function", ["Subscriber", "Delivery", "Sweeper", "Relay", "Herald", "ExecutorCore"])
def test_a_role_that_judges_no_credentials_cannot_read_an_api_key(
    exercised_stack: ExercisedStack, function: str
) -> None:
    """By real calls, with the credentials of its role."""
    session, roles, table = f"reader-{function}", DeployedRoles(exercised_stack), exercised_stack.table
    client = assume_role(exercised_stack, roles.find_role_arn(function), session)
    arn = exercised_stack.dynamodb.describe_table(TableName=table)["Table"]["TableArn"]
    for action in ("BatchGetItem", "GetItem", "Query", "Scan"):
        exercised_stack.laptop.expect_denial(session, f"dynamodb:{action}", arn)
    of_tenant = {"ExpressionAttributeValues": {":pk": API_KEY["pk"]}, "KeyConditionExpression": "pk = :pk"}
    for read in (
        lambda: client.get_item(TableName=table, Key=API_KEY),
        lambda: client.query(TableName=table, **of_tenant),
        lambda: client.batch_get_item(RequestItems={table: {"Keys": [SKILL, API_KEY]}}),
        lambda: client.scan(TableName=table),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            read()


def assume_role(exercised: ExercisedStack, role: str, session: str) -> Any:
    """A client of DynamoDB with the credentials of a role."""
    assumed = exercised.laptop.client("sts").assume_role(RoleArn=role, RoleSessionName=session)["Credentials"]
    return boto3.client(
        "dynamodb",
        endpoint_url=exercised.laptop.emulator.url,
        region_name="us-east-1",
        aws_access_key_id=assumed["AccessKeyId"],
        aws_secret_access_key=assumed["SecretAccessKey"],
        aws_session_token=assumed["SessionToken"],
    )
