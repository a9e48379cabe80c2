"""API keys of persons: a key counts as its owner where distinct persons are counted, and is never a person itself."""

from dataclasses import replace

import pytest

from signpost.identity.api_keys import ISSUER, principal_of
from signpost.identity.credentials import ApiKey
from signpost.model import Json, JsonObject, Principal, as_object
from signpost.workflow.instance import Claim, Job
from signpost.workflow.running.serialization import claim_of, claim_text
from tests.support.memory_workflows import TENANT, MemoryWorkflows

ADA, BOB = (Principal(name, TENANT, "issuer", human=True) for name in ("ada", "bob"))


def key_of(owner: str, key_id: str = "0123456789ab") -> Principal:
    return principal_of(ApiKey(TENANT, key_id, "a key", "", frozenset(), frozenset(), 0.0, owner=owner))


def define_purchase() -> JsonObject:
    enough: JsonObject = {
        "kind": "evidence",
        "requires": [{"kind": "human_approval", "count": 1, "distinct": True}],
    }
    approve: JsonObject = {
        "target": "asked",
        "actor": "human",
        "decision": "approve",
        "branches": [{"when": enough, "target": "bought"}],
    }
    ask: JsonObject = {"target": "asked", "executor": {"kind": "human"}}
    states: JsonObject = {
        "open": {"transitions": {"ask": ask}},
        "asked": {"transitions": {"approve": approve}},
        "bought": {"terminal": True},
    }
    return {"initialState": "open", "states": states}


def ask(by: Principal) -> tuple[MemoryWorkflows, str]:
    shop = MemoryWorkflows()
    shop.publish("demo", define_purchase())
    run = str(shop.start(by)["workflowId"])
    assert shop.submit(run, "ask", by)["state"] == "asked"
    return shop, run


def test_a_key_has_an_owner_and_is_no_person() -> None:
    key = key_of("ada")
    assert (key.subject, key.issuer, key.person, key.human) == ("api-key:0123456789ab", ISSUER, "ada", False)
    assert key_of("").person == "api-key:0123456789ab"
    assert ADA.person == "ada"


@pytest.mark.invariant(104)
def test_the_owner_of_a_key_does_not_approve_what_the_key_has_asked_for() -> None:
    shop, run = ask(key_of("ada"))
    own = shop.submit(run, "approve", ADA)
    assert own["state"] == "asked"
    assert (own["approval"]["askedBy"], own["approval"]["approvedBy"]) == ("ada", ["ada"])
    assert shop.submit(run, "approve", BOB)["state"] == "bought"


@pytest.mark.invariant(104)
@pytest.mark.parametrize("owner", ["", "carol"])
def test_the_key_of_another_person_and_a_key_without_owner_exclude_no_approver(owner: str) -> None:
    shop, run = ask(key_of(owner))
    assert shop.submit(run, "approve", ADA)["state"] == "bought"


@pytest.mark.invariant(104)
def test_a_key_never_approves_not_even_as_its_owner() -> None:
    shop, run = ask(BOB)
    assert shop.submit(run, "approve", key_of("ada"))["error"]["code"] == "ACTOR_MISMATCH"


def test_the_audit_names_the_key_and_not_its_owner() -> None:
    shop, run = ask(key_of("ada"))
    assert {event.subject for event in shop.instances.audit(TENANT, run)} == {"api-key:0123456789ab"}


def test_a_request_that_a_deadline_makes_is_that_of_the_owner_of_the_starting_key() -> None:
    definition: dict[str, Json] = {**define_purchase(), "timeoutMs": 1_000, "onTimeout": {"target": "asked"}}
    states = dict(as_object(definition["states"]))
    states["asked"] = {**as_object(states["asked"]), "onEnter": {"executor": {"kind": "human"}}}
    shop = MemoryWorkflows()
    shop.publish("demo", {**definition, "states": states})
    run = str(shop.start(key_of("ada"))["workflowId"])
    shop.clock.advance(2)
    assert shop.get(run, BOB)["approval"]["askedBy"] == "ada"
    assert shop.submit(run, "approve", ADA)["state"] == "asked"
    assert shop.submit(run, "approve", BOB)["state"] == "bought"


def test_a_claim_of_a_principal_without_owner_is_stored_as_earlier_releases_read_it() -> None:
    job = Job("go", {}, ADA)
    claim = Claim("token", "running", job, since=1.0, until=2.0)
    assert "owner" not in claim_text(claim)
    assert "claims" not in claim_text(claim)
    owned = replace(claim, job=replace(job, principal=key_of("ada")))
    assert claim_of(claim_text(owned), "{}") == owned


def test_the_claims_of_a_principal_stay_with_its_step() -> None:
    job = Job("go", {}, replace(ADA, claims={"department": "sales", "groups": ["red"]}))
    claim = Claim("token", "running", job, since=1.0, until=2.0)
    assert claim_of(claim_text(claim), "{}") == claim
