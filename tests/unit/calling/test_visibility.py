"""Whether a principal meets the condition under which lists show a function."""

from typing import Any

import pytest

from signpost.calling.visibility import fault_of_condition, is_met, needs_grants
from signpost.model import JsonObject, Principal

ANN = Principal(
    "ann",
    "acme",
    "https://issuer.test",
    roles=frozenset({"editor"}),
    permissions=frozenset({"mail.send"}),
    claims={"department": "sales", "groups": ["red", "blue"], "level": 3, "active": True},
)
HELD = frozenset({"unlocked"})
MET: tuple[JsonObject, ...] = (
    {"grant": "unlocked"},
    {"permission": "mail.send"},
    {"role": "editor"},
    {"claim": {"department": "sales"}},
    {"claim": {"groups": "blue"}},
    {"claim": {"department": "sales", "groups": "red"}},
    {"any": [{"grant": "other"}, {"role": "editor"}]},
    {"all": [{"grant": "unlocked"}, {"role": "editor"}]},
    {"all": [{"any": [{"grant": "other"}, {"grant": "unlocked"}]}, {"permission": "mail.send"}]},
)
NOT_MET: tuple[JsonObject, ...] = (
    {"grant": "other"},
    {"grant": "Unlocked"},
    {"permission": "editor"},
    {"role": "mail.send"},
    {"claim": {"department": "sale"}},
    {"claim": {"groups": "green"}},
    {"claim": {"department": "sales", "groups": "green"}},
    {"claim": {"level": "3"}},
    {"claim": {"active": "True"}},
    {"claim": {"country": "fr"}},
    {"any": [{"grant": "other"}, {"role": "reader"}]},
    {"all": [{"grant": "unlocked"}, {"role": "reader"}]},
)


@pytest.mark.parametrize("condition", MET, ids=str)
def test_a_principal_meets_a_condition_about_what_it_has(condition: JsonObject) -> None:
    assert fault_of_condition(condition) is None
    assert is_met(condition, ANN, HELD)


@pytest.mark.parametrize("condition", NOT_MET, ids=str)
def test_a_principal_does_not_meet_a_condition_about_what_it_lacks(condition: JsonObject) -> None:
    assert fault_of_condition(condition) is None
    assert not is_met(condition, ANN, HELD)


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"weather": "fine"},
        {"any": []},
        {"all": []},
        {"claim": {}},
        {"all": [{"role": "editor"}, {"weather": "fine"}]},
        {"role": "editor", "grant": "unlocked"},
        ["role", "editor"],
        None,
    ],
    ids=str,
)
def test_a_condition_in_no_known_form_is_not_met(condition: Any) -> None:
    assert not is_met(condition, ANN, HELD)


@pytest.mark.parametrize(
    ("condition", "needed"),
    [
        ({"grant": "unlocked"}, True),
        ({"role": "editor"}, False),
        ({"any": [{"role": "editor"}, {"all": [{"role": "a"}, {"grant": "unlocked"}]}]}, True),
        ({"all": [{"role": "grant"}, {"claim": {"grant": "unlocked"}}]}, False),
    ],
    ids=str,
)
def test_only_a_condition_that_names_a_grant_needs_grants(condition: JsonObject, needed: bool) -> None:
    assert needs_grants(condition) is needed
