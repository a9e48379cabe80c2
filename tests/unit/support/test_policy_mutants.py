"""Which single changes are made to the statements of a role."""

from tests.support.policy_judge import Condition, Request, Statement
from tests.support.policy_mutants import PolicyMutant, generate_mutants

TABLE, QUEUE = "arn:aws:dynamodb:us-east-1:0:table/registry", "arn:aws:sqs:us-east-1:0:queue"
KEYS = Condition("ForAllValues:StringEquals", "dynamodb:leadingkeys", ("a", "b"))
READ = Statement("Read", "Allow", ("dynamodb:GetItem", "dynamodb:Query"), (TABLE,), (KEYS,))
OBJECTS = ("arn:aws:s3:::bucket/content/*", "arn:aws:s3:::bucket/values/*")
KEEP = Statement("Keep", "Allow", ("s3:GetObject",), OBJECTS)
DENY = Statement("Never", "Deny", ("dynamodb:PutItem", "dynamodb:DeleteItem"), (TABLE,))


def of_kind(kind: str, *statements: Statement) -> dict[str, PolicyMutant]:
    return {one.name: one for one in generate_mutants(statements) if one.kind == kind}


def test_each_action_each_of_several_resources_and_each_statement_is_removed() -> None:
    assert {name: list(one.statements) for name, one in of_kind("removal", READ).items()} == {
        "Read removed": [],
        "Read without dynamodb:GetItem": [Statement("Read", "Allow", ("dynamodb:Query",), (TABLE,), (KEYS,))],
        "Read without dynamodb:Query": [Statement("Read", "Allow", ("dynamodb:GetItem",), (TABLE,), (KEYS,))],
    }
    assert {name: list(one.statements) for name, one in of_kind("removal", KEEP).items()} == {
        "Keep removed": [],
        "Keep without resource 0": [Statement("Keep", "Allow", KEEP.actions, OBJECTS[1:])],
        "Keep without resource 1": [Statement("Keep", "Allow", KEEP.actions, OBJECTS[:1])],
    }


def test_each_action_resource_and_condition_is_loosened() -> None:
    def changed(name: str) -> Statement:
        (statement,) = of_kind("loosening", READ)[name].statements
        return statement

    assert changed("Read with dynamodb:* for dynamodb:Query").actions == ("dynamodb:GetItem", "dynamodb:*")
    assert changed("Read on every resource").resources == ("*",)
    assert changed("Read on the siblings of resource 0").resources == ("arn:aws:dynamodb:us-east-1:0:table/*",)
    assert changed("Read without ForAllValues:StringEquals dynamodb:leadingkeys").conditions == []
    wider = Condition("ForAllValues:StringLike", "dynamodb:leadingkeys", ("b", "*"))
    assert changed("Read with any dynamodb:leadingkeys for a").conditions == (wider,)
    assert len(of_kind("loosening", READ)) == 7


def test_a_neighbouring_resource_is_of_the_same_kind() -> None:
    beside = {
        "arn:aws:s3:::bucket/content/*": "arn:aws:s3:::bucket/*",
        "arn:aws:s3:::bucket": "arn:aws:s3:::*",
        QUEUE: "arn:aws:sqs:us-east-1:0:*",
        "arn:aws:lambda:us-east-1:0:function:f": "arn:aws:lambda:us-east-1:0:function:*",
        "arn:aws:logs:us-east-1:0:log-group:/a/b:*": "arn:aws:logs:us-east-1:0:log-group:/a/*",
        f"{TABLE}/stream/2026-11-19T12:00:00.000": f"{TABLE}/stream/*",
    }
    for resource, expected in beside.items():
        one = of_kind("loosening", Statement("S", "Allow", ("a:B",), (resource,)))["S on the siblings of resource 0"]
        assert one.statements[0].resources == (expected,)


def test_a_denial_is_loosened_by_removal_and_by_narrowing() -> None:
    assert of_kind("removal", DENY) == {}
    assert {name: list(one.statements) for name, one in of_kind("loosening", DENY).items()} == {
        "Never removed": [],
        "Never without dynamodb:PutItem": [Statement("Never", "Deny", ("dynamodb:DeleteItem",), (TABLE,))],
        "Never without dynamodb:DeleteItem": [Statement("Never", "Deny", ("dynamodb:PutItem",), (TABLE,))],
        "Never on another resource": [Statement("Never", "Deny", DENY.actions, (f"{TABLE}-2",))],
    }
    keys = Condition("ForAnyValue:StringLike", "dynamodb:leadingkeys", ("tenant#*#keys", "c"))
    some = Statement("Some", "Deny", ("dynamodb:PutItem",), (TABLE,), (keys,))
    (narrower,) = of_kind("loosening", some)["Some only where dynamodb:leadingkeys is tenant#narrowed*#keys"].statements
    assert narrower.conditions == (Condition(keys.operator, keys.key, ("c", "tenant#narrowed*#keys")),)


def test_a_loosened_permission_applies_to_its_actions_and_a_loosened_denial_to_all() -> None:
    read, scan, send = (Request(action, TABLE) for action in ("dynamodb:GetItem", "dynamodb:Scan", "sqs:SendMessage"))
    every = of_kind("loosening", READ)["Read with dynamodb:* for dynamodb:Query"]
    assert [every.may_allow(one) for one in (read, scan, send)] == [True, True, False]
    assert all(one.may_allow(send) for one in of_kind("loosening", DENY).values())


def test_the_other_statements_and_their_order_are_unchanged() -> None:
    (gone,) = [one for one in generate_mutants([READ, KEEP, DENY]) if one.name == "Keep removed"]
    assert list(gone.statements) == [READ, DENY]
