"""Which Lambda functions may be loaded is what a policy with the same words would match."""

import pytest

from signpost.directory.allow_list import AllowList
from signpost.directory.model import PlacementRefusal

ARN_PREFIX = "arn:aws:lambda:us-east-1:000000000000:function:"
OTHER_REGION_PREFIX = "arn:aws:lambda:eu-west-1:000000000000:function:"


@pytest.mark.parametrize(
    ("patterns", "executor", "arn"),
    [
        ([f"{ARN_PREFIX}mail"], "mail", f"{ARN_PREFIX}mail"),
        ([f"{ARN_PREFIX}mail"], f"{ARN_PREFIX}mail", f"{ARN_PREFIX}mail"),
        ([f"{ARN_PREFIX}team-*"], "team-mail", f"{ARN_PREFIX}team-mail"),
        ([f"{ARN_PREFIX}team-?"], "team-a", f"{ARN_PREFIX}team-a"),
        ([f"{ARN_PREFIX}*", f"{ARN_PREFIX}mail"], "mail", f"{ARN_PREFIX}mail"),
        (["arn:aws:lambda:*:*:function:mail"], f"{OTHER_REGION_PREFIX}mail", f"{OTHER_REGION_PREFIX}mail"),
        ([f"{ARN_PREFIX}mail:*"], f"{ARN_PREFIX}mail:live", f"{ARN_PREFIX}mail:live"),
        (["*"], f"{ARN_PREFIX}any", f"{ARN_PREFIX}any"),
    ],
)
def test_an_allowed_executor_is_found_by_its_arn_or_its_name(patterns: list[str], executor: str, arn: str) -> None:
    assert AllowList(patterns).arn_of(executor) == arn


@pytest.mark.parametrize(
    ("patterns", "executor"),
    [
        ([], "mail"),
        ([], f"{ARN_PREFIX}mail"),
        ([f"{ARN_PREFIX}mail"], f"{ARN_PREFIX}mailer"),
        ([f"{ARN_PREFIX}mail"], f"{ARN_PREFIX}mail:live"),
        ([f"{ARN_PREFIX}mail"], f"{ARN_PREFIX}mail\n"),
        ([f"{ARN_PREFIX}m[ab]il"], f"{ARN_PREFIX}mail"),
        ([f"{ARN_PREFIX}m.il"], "mail"),
        ([f"{ARN_PREFIX}team-?"], "team-ab"),
        (["arn:aws:lambda:*:*:function:mail"], "mail"),
        (["*"], "mail"),
    ],
)
def test_any_other_executor_is_refused(patterns: list[str], executor: str) -> None:
    refused = AllowList(patterns).arn_of(executor)
    assert isinstance(refused, PlacementRefusal)
    assert refused.code == "not_allowed"


def test_an_ambiguous_name_is_refused() -> None:
    refused = AllowList([f"{ARN_PREFIX}mail", f"{OTHER_REGION_PREFIX}mail"]).arn_of("mail")
    assert isinstance(refused, PlacementRefusal)
    assert (
        refused.message
        == f"mail matches several allowed Lambda functions: {OTHER_REGION_PREFIX}mail, {ARN_PREFIX}mail. "
        "Name one by its ARN."
    )
