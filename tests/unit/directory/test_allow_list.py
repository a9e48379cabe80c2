"""Which Lambda functions may be loaded is what a policy with the same words would match."""

import pytest

from signpost.directory.allow_list import AllowList
from signpost.directory.model import PlacementRefusal

PLACE = "arn:aws:lambda:us-east-1:000000000000:function:"
ELSEWHERE = "arn:aws:lambda:eu-west-1:000000000000:function:"


@pytest.mark.parametrize(
    ("patterns", "executor", "arn"),
    [
        ([f"{PLACE}mail"], "mail", f"{PLACE}mail"),
        ([f"{PLACE}mail"], f"{PLACE}mail", f"{PLACE}mail"),
        ([f"{PLACE}team-*"], "team-mail", f"{PLACE}team-mail"),
        ([f"{PLACE}team-?"], "team-a", f"{PLACE}team-a"),
        ([f"{PLACE}*", f"{PLACE}mail"], "mail", f"{PLACE}mail"),
        (["arn:aws:lambda:*:*:function:mail"], f"{ELSEWHERE}mail", f"{ELSEWHERE}mail"),
        ([f"{PLACE}mail:*"], f"{PLACE}mail:live", f"{PLACE}mail:live"),
        (["*"], f"{PLACE}any", f"{PLACE}any"),
    ],
)
def test_what_is_allowed_is_found_by_its_arn_or_its_name(patterns: list[str], executor: str, arn: str) -> None:
    assert AllowList(patterns).arn_of(executor) == arn


@pytest.mark.parametrize(
    ("patterns", "executor"),
    [
        ([], "mail"),
        ([], f"{PLACE}mail"),
        ([f"{PLACE}mail"], f"{PLACE}mailer"),
        ([f"{PLACE}mail"], f"{PLACE}mail:live"),
        ([f"{PLACE}mail"], f"{PLACE}mail\n"),
        ([f"{PLACE}m[ab]il"], f"{PLACE}mail"),
        ([f"{PLACE}m.il"], "mail"),
        ([f"{PLACE}team-?"], "team-ab"),
        (["arn:aws:lambda:*:*:function:mail"], "mail"),
        (["*"], "mail"),
    ],
)
def test_anything_else_is_not(patterns: list[str], executor: str) -> None:
    refused = AllowList(patterns).arn_of(executor)
    assert isinstance(refused, PlacementRefusal)
    assert refused.code == "not_allowed"


def test_a_name_that_may_stand_for_several_says_too_little() -> None:
    refused = AllowList([f"{PLACE}mail", f"{ELSEWHERE}mail"]).arn_of("mail")
    assert isinstance(refused, PlacementRefusal)
    assert (
        refused.message
        == f"mail matches several allowed Lambda functions: {ELSEWHERE}mail, {PLACE}mail. Name one by its ARN."
    )
