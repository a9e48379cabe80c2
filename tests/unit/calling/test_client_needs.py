"""The capabilities that questions and functions need, compared with those that clients declare."""

import pytest

from signpost.calling.client_needs import declare, find_missing_capabilities, is_declared, needs_of
from signpost.directory.listing import NEEDS
from signpost.model import JsonObject


@pytest.mark.parametrize(
    ("request_", "needs"),
    [
        ({"method": "elicitation/create", "params": {}}, ["elicitation.form"]),
        ({"method": "elicitation/create", "params": {"mode": "form"}}, ["elicitation.form"]),
        ({"method": "elicitation/create", "params": {"mode": "url"}}, ["elicitation.url"]),
        ({"method": "sampling/createMessage", "params": {"includeContext": "none"}}, ["sampling"]),
        ({"method": "sampling/createMessage", "params": {"tools": []}}, ["sampling", "sampling.tools"]),
        (
            {"method": "sampling/createMessage", "params": {"tools": [], "includeContext": "thisServer"}},
            ["sampling", "sampling.tools", "sampling.context"],
        ),
        ({"method": "roots/list"}, ["roots"]),
    ],
)
def test_each_question_needs_its_capability(request_: JsonObject, needs: list[str]) -> None:
    assert list(needs_of(request_)) == needs


@pytest.mark.parametrize(
    ("needs", "declared", "missing"),
    [
        (["elicitation"], {}, {"elicitation": {}}),
        (["elicitation"], {"elicitation": {}}, {}),
        (["elicitation.form"], {"elicitation": {"form": {}}}, {}),
        (["elicitation"], {"elicitation": {"url": {}}}, {"elicitation": {}}),
        (["elicitation.url"], {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (["elicitation", "elicitation.url"], {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (["sampling", "sampling.tools"], {"sampling": True}, {"sampling": {"tools": {}}}),
        (["sampling"], {"sampling": {"tools": {}}}, {}),
        (["roots", "sampling"], {"elicitation": {}}, {"roots": {}, "sampling": {}}),
    ],
)
def test_missing_capabilities_have_the_form_in_which_clients_declare_them(
    needs: list[str], declared: JsonObject, missing: JsonObject
) -> None:
    assert find_missing_capabilities(needs, declared) == missing


@pytest.mark.parametrize("need", NEEDS)
def test_a_client_that_declares_a_need_has_it(need: str) -> None:
    assert is_declared(need, declare([need]))
    assert find_missing_capabilities(NEEDS, declare(NEEDS)) == {}
    assert not is_declared(need, {})
