"""The claims of tokens that a deployment names: functions get them, lists go by them, and no others pass."""

from collections.abc import Mapping
from typing import Any, override

import pytest

from signpost.adapters.memory.deployment_lists import MemoryDeploymentLists
from signpost.deployment_lists import SECONDS_KEPT, DeploymentLists
from signpost.errors import Unavailable
from signpost.identity.claims import LONGEST_CLAIM, MOST_CLAIM_VALUES
from signpost.model import Json, JsonObject
from tests.support.granting_gateway import TENANT, UNLOCK, GrantingGateway, gated_functions

NAMED = ("department", "groups", "level", "admin", "extra")
CLAIMS: Mapping[str, Json] = {"department": "sales", "groups": ["red", "blue"], "level": 3, "admin": False}


class CountedLists(MemoryDeploymentLists):
    def __init__(self, *claims: str) -> None:
        super().__init__(DeploymentLists(claims=claims))
        self.reads = 0
        self.fault: Exception | None = None

    @override
    def read(self) -> DeploymentLists:
        self.reads += 1
        if self.fault is not None:
            raise self.fault
        return super().read()


class ClaimsStage:
    def __init__(self, condition: JsonObject | None = None, **environment: str) -> None:
        functions = gated_functions(condition) if condition is not None else ()
        self.yard = GrantingGateway(*functions, **{"CLAIMS": "1", **environment})
        self.yard.gateway.deployment_lists = self.lists = CountedLists(*NAMED)

    def claims_of(self, **claims: Any) -> Any:
        """Return the claims that a function gets in a call with this token."""
        self.yard.request(
            "ann", "tools/call", {"name": "yard__unlock", "arguments": _NOTHING}, "/mcp/functions", **claims
        )
        return self.yard.principals[-1].get("claims", {})


_NOTHING: JsonObject = {"action": "has_grant", "fields": {"name": "x"}}


@pytest.mark.invariant(174)
def test_a_function_gets_the_claims_that_the_deployment_names_and_no_others() -> None:
    stage = ClaimsStage()
    assert stage.claims_of(**CLAIMS, email="ann@acme.test", nonce2="x") == CLAIMS


def test_a_deployment_that_names_no_claims_passes_none_and_reads_no_list() -> None:
    stage = ClaimsStage(CLAIMS="0")
    assert stage.claims_of(**CLAIMS) == {}
    assert stage.lists.reads == 0


@pytest.mark.parametrize(
    "claim",
    [
        {"nested": "object"},
        ["a", 1],
        ["a", ["b"]],
        None,
        "x" * (LONGEST_CLAIM + 1),
        ["x" * (LONGEST_CLAIM + 1)],
        ["x"] * (MOST_CLAIM_VALUES + 1),
    ],
    ids=lambda claim: str(claim)[:20],
)
def test_a_claim_of_another_form_or_too_long_is_left_out(claim: Any) -> None:
    stage = ClaimsStage()
    assert stage.claims_of(department="sales", extra=claim) == {"department": "sales"}


def test_lists_go_by_the_claims_of_this_request() -> None:
    stage = ClaimsStage({"claim": {"department": "sales", "groups": "blue"}})
    assert stage.yard.sees("ann", **CLAIMS)
    assert not stage.yard.sees("ann", department="sales", groups=["red"])
    assert not stage.yard.sees("ann", department="legal", groups=["blue"])
    assert not stage.yard.sees("ann")
    assert stage.yard.gateway.grants.reads == 0


def test_the_names_of_claims_are_read_once_in_ten_seconds() -> None:
    stage = ClaimsStage()
    stage.claims_of(**CLAIMS)
    stage.claims_of(**CLAIMS)
    assert stage.lists.reads == 1
    stage.lists.write(DeploymentLists(claims=("level",)))
    stage.yard.gateway.clock.advance(SECONDS_KEPT)
    assert stage.claims_of(**CLAIMS) == {"level": 3}
    assert stage.lists.reads == 2


def test_while_the_names_cannot_be_read_tokens_wait_and_api_keys_do_not() -> None:
    stage = ClaimsStage()
    stage.lists.fault = Unavailable("Overloaded.")
    gateway = stage.yard.gateway
    assert gateway.request("tools/list", credential=stage.yard.token("ann")).status == 503
    assert gateway.request("tools/list", credential=str(gateway.make_key(TENANT))).status == 200


def test_an_api_key_has_no_claims() -> None:
    stage = ClaimsStage({"claim": {"department": "sales"}})
    gateway = stage.yard.gateway
    called = {"name": "yard__unlock", "arguments": _NOTHING}
    gateway.request("tools/call", called, credential=str(gateway.make_key(TENANT)), path="/mcp/functions")
    assert "claims" not in stage.yard.principals[-1]
    assert stage.yard.calls == [UNLOCK.function]


@pytest.mark.invariant(174)
def test_no_argument_of_a_call_becomes_a_claim() -> None:
    stage = ClaimsStage()
    arguments: JsonObject = {**_NOTHING, "claims": {"department": "board"}, "principal": {"claims": CLAIMS}}
    stage.yard.request("ann", "tools/call", {"name": "yard__unlock", "arguments": arguments}, "/mcp/functions")
    assert "claims" not in stage.yard.principals[-1]
