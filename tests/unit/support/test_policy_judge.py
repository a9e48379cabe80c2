"""The judge of policies decides as AWS documents it.

The rules are those of the IAM User Guide: policy evaluation logic, the elements of a JSON policy, condition operators,
and keys with several values.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.policy_judge import Request, Statement, UnknownPolicyError, Verdict, judge, read_policy

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/registry"
KEYS = "dynamodb:leadingkeys"


def policy(*statements: Mapping[str, Any]) -> list[Statement]:
    filled = [{"Sid": "S", "Effect": "Allow", "Action": "*", "Resource": "*", **one} for one in statements]
    return list(read_policy({"Version": "2012-10-17", "Statement": filled}))


def is_allowed(statement: Mapping[str, Any], request: Request) -> bool:
    return judge(policy(statement), request).is_allowed


def holds(operator: str, expected: Any, *values: str, key: str = KEYS) -> bool:
    """Whether a request whose key has these values satisfies a condition; without values the key is absent."""
    context = {KEYS: values} if values else {}
    return is_allowed({"Condition": {operator: {key: expected}}}, Request("dynamodb:GetItem", TABLE, context))


def test_a_request_that_no_statement_allows_is_denied_by_default() -> None:
    assert judge([], Request("s3:GetObject", "arn:aws:s3:::bucket/key")) == Verdict("ImplicitDeny")
    assert not is_allowed({"Action": "s3:GetObject"}, Request("s3:PutObject", "arn:aws:s3:::bucket/key"))


def test_an_allowed_request_names_its_statement() -> None:
    statements = policy({"Sid": "Reads", "Action": "dynamodb:GetItem"}, {"Sid": "Writes", "Action": "dynamodb:PutItem"})
    assert judge(statements, Request("dynamodb:PutItem", TABLE)) == Verdict("Allow", "Writes")


@pytest.mark.parametrize("is_first", [True, False])
def test_an_explicit_denial_wins_wherever_it_stands(*, is_first: bool) -> None:
    deny, allow = {"Sid": "Never", "Effect": "Deny", "Action": "s3:*"}, {"Sid": "All"}
    statements = policy(*([deny, allow] if is_first else [allow, deny]))
    assert judge(statements, Request("s3:GetObject", "arn:aws:s3:::bucket/key")) == Verdict("Deny", "Never")
    assert judge(statements, Request("sqs:SendMessage", "arn:aws:sqs:us-east-1:0:q")) == Verdict("Allow", "All")


def test_a_denial_with_an_unmet_condition_denies_nothing() -> None:
    deny = {"Effect": "Deny", "Condition": {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": "tenant#*#api-keys"}}}
    statements = policy({}, deny)
    assert judge(statements, Request("dynamodb:PutItem", TABLE, {KEYS: ["tenant#a#breakers"]})).is_allowed
    assert judge(statements, Request("dynamodb:PutItem", TABLE, {KEYS: ["tenant#a#api-keys"]})).decision == "Deny"
    assert judge(statements, Request("dynamodb:PutItem", TABLE)).is_allowed


@pytest.mark.parametrize(
    ("pattern", "action", "is_match"),
    [
        ("s3:GetObject", "s3:GetObject", True),
        ("S3:getobject", "s3:GetObject", True),
        ("s3:getobject", "S3:GETOBJECT", True),
        ("s3:Get*", "s3:GetObjectVersion", True),
        ("s3:*", "s3:GetObject", True),
        ("s3:*", "s3express:GetObject", False),
        ("*", "iam:CreateUser", True),
        ("s3:GetObjec?", "s3:GetObject", True),
        ("s3:GetObject?", "s3:GetObject", False),
        ("s3:Get", "s3:GetObject", False),
        ("s3.GetObject", "s3:GetObject", False),
    ],
)
def test_an_action_matches_in_any_case_and_by_wildcards(pattern: str, action: str, *, is_match: bool) -> None:
    assert is_allowed({"Action": pattern}, Request(action, "*")) == is_match


@pytest.mark.parametrize(
    ("pattern", "resource", "is_match"),
    [
        (TABLE, TABLE, True),
        (TABLE, TABLE.upper(), False),
        (TABLE, f"{TABLE}/index/due", False),
        (f"{TABLE}/*", f"{TABLE}/index/due", True),
        ("arn:aws:s3:::bucket/*", "arn:aws:s3:::bucket/a/b", True),
        ("arn:aws:s3:::bucket/*", "arn:aws:s3:::bucket", False),
        ("arn:aws:s3:::bucket/?", "arn:aws:s3:::bucket/ab", False),
        ("arn:aws:s3:::buc*/values", "arn:aws:s3:::bucket/x/values", True),
        ("arn:aws:s3:::bucket/[ab]", "arn:aws:s3:::bucket/a", False),
        ("*", TABLE, True),
    ],
)
def test_a_resource_matches_in_its_case_and_by_wildcards(pattern: str, resource: str, *, is_match: bool) -> None:
    assert is_allowed({"Resource": [pattern]}, Request("any:Thing", resource)) == is_match


@pytest.mark.parametrize(
    ("operator", "expected", "values", "is_met"),
    [
        ("StringEquals", "a", ["a"], True),
        ("StringEquals", ["b", "a"], ["a"], True),
        ("StringEquals", "A", ["a"], False),
        ("StringEquals", "a*", ["ab"], False),
        ("StringLike", "a*", ["ab"], True),
        ("StringLike", "A*", ["ab"], False),
        ("StringLike", "tenant#*#breakers", ["tenant#a#api-keys"], False),
        ("ForAllValues:StringLike", ["a*", "b*"], ["a1", "b1"], True),
        ("ForAllValues:StringLike", ["a*"], ["a1", "b1"], False),
        ("ForAnyValue:StringLike", ["a*"], ["a1", "b1"], True),
        ("ForAnyValue:StringLike", ["c*"], ["a1", "b1"], False),
        ("StringEqualsIfExists", "a", ["b"], False),
        ("ForAllValues:StringEqualsIfExists", "a", ["b"], False),
        ("ArnLike", "arn:aws:sqs:*:*:q", ["arn:aws:sqs:us-east-1:1:q"], True),
        ("ArnLike", "arn:aws:*:q", ["arn:aws:sqs:us-east-1:1:q"], False),
        ("ArnEquals", "arn:aws:sqs:us-east-1:1:q", ["arn:aws:sqs:us-east-1:2:q"], False),
        ("Bool", True, ["true"], True),
        ("Bool", "false", ["true"], False),
        ("Null", "false", ["a"], True),
        ("Null", "true", ["a"], False),
    ],
)
def test_a_key_of_the_request_is_compared(operator: str, expected: Any, values: list[str], *, is_met: bool) -> None:
    assert holds(operator, expected, *values) == is_met


@pytest.mark.parametrize(
    ("operator", "is_met"),
    [
        ("StringEquals", False),
        ("StringLike", False),
        ("ArnLike", False),
        ("Bool", False),
        ("ForAllValues:StringEquals", True),
        ("ForAllValues:StringLike", True),
        ("ForAnyValue:StringEquals", False),
        ("ForAnyValue:StringLike", False),
        ("StringEqualsIfExists", True),
        ("StringLikeIfExists", True),
        ("ForAnyValue:StringLikeIfExists", True),
    ],
)
def test_an_absent_key_is_judged_by_the_operator(operator: str, *, is_met: bool) -> None:
    assert holds(operator, "*") == is_met


def test_null_checks_whether_a_key_is_present() -> None:
    assert holds("Null", "true")
    assert not holds("Null", "false")
    assert holds("Null", False, "a")


def test_all_conditions_of_a_statement_have_to_hold() -> None:
    both = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "a*"}, "Null": {"dynamodb:LeadingKeys": "false"}}
    assert is_allowed({"Condition": both}, Request("dynamodb:GetItem", TABLE, {KEYS: ["ab"]}))
    assert not is_allowed({"Condition": both}, Request("dynamodb:GetItem", TABLE, {KEYS: ["b"]}))
    assert not is_allowed({"Condition": both}, Request("dynamodb:Scan", TABLE))


def test_the_case_of_a_condition_key_does_not_count_and_a_tag_is_one() -> None:
    tagged = Request("secretsmanager:PutSecretValue", "arn:s", {"aws:resourcetag/signpost:executor-keys": ["core"]})
    condition = {"StringLike": {"aws:ResourceTag/signpost:executor-keys": "*"}}
    assert is_allowed({"Condition": condition}, tagged)
    assert not is_allowed({"Condition": condition}, Request(tagged.action, tagged.resource))
    assert holds("StringEquals", "a", "a", key="DYNAMODB:LEADINGKEYS")


@pytest.mark.parametrize(
    "statement",
    [
        {"NotAction": "iam:*"},
        {"NotResource": "*"},
        {"Principal": "*"},
        {"Effect": "allow"},
        {"Resource": "arn:aws:s3:::bucket/${aws:username}/*"},
        {"Condition": {"StringNotEquals": {"a:b": "c"}}},
        {"Condition": {"ForSomeValues:StringEquals": {"a:b": "c"}}},
        {"Condition": {"NullIfExists": {"a:b": "true"}}},
        {"Condition": {"StringLike": {"a:b": "${aws:username}"}}},
    ],
)
def test_an_unsupported_statement_is_refused(statement: Mapping[str, Any]) -> None:
    with pytest.raises(UnknownPolicyError):
        policy(statement)
