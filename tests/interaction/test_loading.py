"""Executors of other stacks are loaded, loaded again and unloaded at run time; or a code says why not, and everything
is as it was."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.reference import ALL_FUNCTIONS
from signpost.contract import BreakerState, Component, Executor, ExecutorVersion, HostedFunction
from signpost.schema.validation import Validators
from tests.support.loading import PLACE, SECRETS, TENANT, Loadable, lambda_function
from tests.support.memory_gateway import MemoryGateway

MAIL = f"{PLACE}team-mail"
FLAT = "/mcp/flat"
OPEN = BreakerState(opened_until=1e12, failures=3, last_failure="timed_out")


@pytest.fixture
def world() -> Loadable:
    """Nothing is loaded. The deployment ships core::wait; team-mail can be loaded."""
    world = Loadable()
    world.offer("core", "core::wait")
    world.placer.ship([f"{PLACE}core"])
    world.offer(
        "team-mail", HostedFunction("mail::send", permissions=frozenset({"smtp", "dns"})), "mail::list", version="1.2"
    )
    return world


def state(world: Loadable) -> object:
    """Everything that a load may change."""
    table = world.table
    kept = (table.placements, table.terms, table.revisions, table.breakers, table.load_events, world.account.secrets)
    return [json.dumps(repr(one)) for one in kept]


def test_s183_a_valid_executor_is_loaded_and_hosts_what_it_says_with_its_permissions(world: Loadable) -> None:
    answer = world.done("load", MAIL)
    assert answer == {
        "executor": MAIL,
        "version": "1.2",
        "functions": [
            {"id": "mail::list", "name": "list", "permissions": []},
            {"id": "mail::send", "name": "send", "permissions": ["dns", "smtp"]},
        ],
        "loaded": ["list", "send"],
        "reloaded": [],
        "unloaded": [],
    }
    (published,) = [one for one in ALL_FUNCTIONS if one.id == "skills::load"]
    assert Validators().find_violation(published.response, answer) is None
    assert world.placed(TENANT) == {MAIL: ["mail::list", "mail::send"]}
    assert world.hosted()[0].permissions == {"smtp", "dns"}
    assert world.has_its_keys(lambda_function("team-mail"))


def test_s184_without_permissions_it_has_none(world: Loadable) -> None:
    world.offer("team-bare", "bare::f")
    assert world.done("load", "team-bare")["functions"] == [{"id": "bare::f", "name": "f", "permissions": []}]
    assert world.hosted()[0].permissions == frozenset()


@pytest.mark.parametrize("function", ["skills::register", "prompts::mine", "iii::x", "state::get", "mcp::tools"])
def test_s185_an_id_in_an_internal_namespace_is_refused(world: Loadable, function: str) -> None:
    world.offer("team-mail", "mail::send", function)
    assert refused_without_a_trace(world, "load", MAIL) == "invalid_namespace"


NO_MANIFESTS: list[Any] = [
    {"statusCode": 200},
    {"signpost": 1, "manifest": {"functions": []}},
    {"signpost": 1, "manifest": {"functions": [{}]}},
    {"signpost": 1, "manifest": {"functions": [{"id": "a b"}]}},
    {"signpost": 1, "manifest": {"functions": [{"id": "f"}, {"id": "f"}]}},
    {"signpost": 1, "manifest": {"functions": [{"id": "a::f"}, {"id": "b::f"}]}},
    {"signpost": 1, "manifest": {"functions": [{"id": "f", "inputSchema": {"type": 1}}]}},
    {"signpost": 1, "manifest": {"functions": [{"id": "f", "description": "x" * 4001}]}},
    {"signpost": 1, "manifest": {"functions": [{"id": "f"}], "version": "one"}},
    {"signpost": 1, "manifest": {"functions": [{"id": "f"}], "version": 1}},
]


@pytest.mark.parametrize("manifest", NO_MANIFESTS, ids=str)
def test_s186_what_does_not_say_what_it_hosts_or_says_what_cannot_be_called_is_refused(
    world: Loadable, manifest: Any
) -> None:
    world.manifests[MAIL] = manifest
    assert refused_without_a_trace(world, "load", MAIL) == "invalid_manifest"


def test_an_executor_that_does_not_answer_is_not_loaded(world: Loadable) -> None:
    del world.links[MAIL]
    assert refused_without_a_trace(world, "load", MAIL) == "not_reached"


@pytest.mark.invariant(67)
@pytest.mark.parametrize(
    "executor",
    [
        f"{PLACE}core",
        f"{PLACE}single-sibling",
        f"{PLACE}single:alias",
        f"{PLACE}my-team-mail",
        MAIL.replace("us-east-1", "eu-west-1"),
        MAIL.replace("000000000000", "111111111111"),
        "singles",
    ],
)
def test_s188_s221_what_the_deployment_does_not_allow_is_refused_before_anything_is_asked_of_it(
    world: Loadable, executor: str
) -> None:
    """Also what has the name of an allowed one as its beginning, or is elsewhere."""
    asked: list[str] = []
    world.account.inspect = lambda lambda_function: asked.append(lambda_function) or "?"
    assert refused_without_a_trace(world, "load", executor) == "not_allowed"
    assert refused_without_a_trace(world, "reload", executor) == "not_allowed"
    assert asked == []


@pytest.mark.parametrize("executor", ["../team-mail", "", "a b", f"{PLACE}../team-mail", "x" * 300, None, 7])
def test_what_is_no_name_of_a_lambda_function_is_refused(world: Loadable, executor: Any) -> None:
    for operation in ("load", "reload", "unload"):
        assert refused_without_a_trace(world, operation, executor) == "invalid_payload"


def test_s189_a_lambda_function_that_does_not_exist(world: Loadable) -> None:
    assert refused_without_a_trace(world, "load", "team-nowhere") == "no_executor"


@pytest.mark.parametrize(
    "hosted", [HostedFunction("core::wait"), HostedFunction("mine::wait"), HostedFunction("mine::other", name="wait")]
)
def test_s190_an_id_or_a_name_of_the_core_is_refused(world: Loadable, hosted: HostedFunction) -> None:
    world.offer("team-mail", "mail::send", hosted)
    assert refused_without_a_trace(world, "load", MAIL) == "name_conflicts_with_core"


@pytest.mark.parametrize(
    "hosted", [HostedFunction("mail::send"), HostedFunction("sms::send"), HostedFunction("sms::other", name="send")]
)
def test_an_id_or_a_name_that_another_executor_has_is_refused_until_that_is_gone(
    world: Loadable, hosted: HostedFunction
) -> None:
    world.done("load", MAIL)
    world.offer("team-sms", hosted)
    assert refused_without_a_trace(world, "load", "team-sms") == "name_taken"
    world.done("load", "team-sms", "umbrella")
    world.done("unload", MAIL)
    world.done("load", "team-sms")


COMPONENTS: dict[str, tuple[HostedFunction, HostedFunction]] = {
    "prompt": (
        HostedFunction("mail::review", name="review", component=Component("prompt")),
        HostedFunction("sms::other", name="review", component=Component("prompt")),
    ),
    "prompt without a name": (
        HostedFunction("review", component=Component("prompt")),
        HostedFunction("sms::other", name="review", component=Component("prompt")),
    ),
    "resource": (
        HostedFunction("mail::rules", name="rules", component=Component("resource", "mail://rules")),
        HostedFunction("sms::other", name="other", component=Component("resource", "mail://rules")),
    ),
    "template": (
        HostedFunction("mail::box", name="box", component=Component("template", "mail://boxes/{box}")),
        HostedFunction("sms::other", name="other", component=Component("template", "mail://boxes/{box}")),
    ),
}
"""Two each that clients could not tell apart."""


@pytest.mark.parametrize("kind", COMPONENTS)
def test_what_clients_know_by_a_name_or_a_uri_of_the_core_is_refused(world: Loadable, kind: str) -> None:
    shipped, theirs = COMPONENTS[kind]
    world.offer("core", "core::wait", shipped)
    world.placer.ship([f"{PLACE}core"])
    world.offer("team-mail", "mail::send", theirs)
    assert refused_without_a_trace(world, "load", MAIL) == "name_conflicts_with_core"


@pytest.mark.parametrize("kind", COMPONENTS)
def test_what_clients_know_by_a_name_or_a_uri_of_another_executor_is_refused_until_that_is_gone(
    world: Loadable, kind: str
) -> None:
    first, second = COMPONENTS[kind]
    world.offer("team-mail", first, version="1")
    world.done("load", MAIL)
    world.offer("team-mail", first, version="2")
    world.done("load", MAIL)
    world.offer("team-sms", second)
    assert refused_without_a_trace(world, "load", "team-sms") == "name_taken"
    world.done("unload", MAIL)
    world.done("load", "team-sms")


@pytest.mark.parametrize("kind", COMPONENTS)
def test_an_executor_that_clients_would_know_two_functions_of_by_one_name_or_uri_is_refused(
    world: Loadable, kind: str
) -> None:
    world.offer("team-mail", *COMPONENTS[kind])
    assert refused_without_a_trace(world, "load", MAIL) == "invalid_manifest"


def test_a_prompt_may_be_called_like_a_skill_and_helpers_like_one_another(world: Loadable) -> None:
    helpers = [HostedFunction(f"{of}::complete", component=Component("helper")) for of in ("mail::a", "mail::b")]
    world.offer(
        "team-mail", "mail::send", HostedFunction("mail::p", name="send", component=Component("prompt")), *helpers
    )
    world.done("load", MAIL)


def test_s191_what_is_unloaded_is_unknown_afterwards(world: Loadable) -> None:
    world.done("load", MAIL)
    answer = world.done("unload", MAIL)
    assert answer == {
        "executor": MAIL, "version": None, "functions": [],
        "loaded": [], "reloaded": [], "unloaded": ["list", "send"],
    }  # fmt: skip
    assert (world.placed(TENANT), world.hosted()) == ({}, [])
    assert world.refused("unload", MAIL) == "not_found"


def test_an_executor_can_be_unloaded_when_it_is_allowed_or_there_no_more(world: Loadable) -> None:
    world.offer("placed-by-hand", "hand::f")
    world.placer.place(f"{PLACE}placed-by-hand", TENANT)
    world.done("load", MAIL)
    del world.links[MAIL], world.account.executors[MAIL]
    world.done("unload", "team-mail")
    world.done("unload", "placed-by-hand")
    assert world.placed(TENANT) == {}


def test_a_name_that_is_loaded_from_several_places_says_too_little_to_unload_it(world: Loadable) -> None:
    elsewhere = Executor(MAIL.replace("us-east-1", "eu-west-1"), f"{SECRETS}elsewhere", 1_000)
    world.deploy(elsewhere)
    world.placer.place_as(elsewhere, [HostedFunction("elsewhere::f")], TENANT)
    world.done("load", MAIL)
    assert refused_without_a_trace(world, "unload", "team-mail") == "not_found"
    world.done("unload", MAIL)


def test_s192_what_is_not_loaded_cannot_be_unloaded(world: Loadable) -> None:
    world.done("load", MAIL)
    assert refused_without_a_trace(world, "unload", "team-other") == "not_found"
    assert world.refused("unload", MAIL, "umbrella") == "not_found"


def test_s193_what_the_deployment_ships_cannot_be_unloaded(world: Loadable) -> None:
    assert refused_without_a_trace(world, "unload", "core") == "cannot_unload_core"
    assert refused_without_a_trace(world, "unload", f"{PLACE}core") == "cannot_unload_core"


def test_s194_after_a_reload_with_a_higher_version_what_it_says_now_counts(world: Loadable) -> None:
    world.done("load", MAIL)
    world.offer("team-mail", HostedFunction("mail::send", permissions=frozenset({"smtp"})), "mail::drop", version="1.3")
    answer = world.done("reload", "team-mail")
    assert (answer["version"], answer["loaded"], answer["reloaded"], answer["unloaded"]) == (
        "1.3", ["drop"], ["send"], ["list"],
    )  # fmt: skip
    assert {one.function: one.permissions for one in world.hosted()} == {"mail::send": {"smtp"}, "mail::drop": set()}


def test_a_reload_of_the_same_contract_needs_no_version(world: Loadable) -> None:
    """The code is another one, perhaps; or how long it may run."""
    world.done("load", MAIL)
    assert world.done("reload", MAIL)["reloaded"] == ["list", "send"]
    world.offer("team-bare", "bare::f")
    world.done("load", "team-bare")
    assert world.done("reload", "team-bare")["reloaded"] == ["f"]


def test_s195_what_is_not_loaded_cannot_be_loaded_again(world: Loadable) -> None:
    assert refused_without_a_trace(world, "reload", MAIL) == "not_found"


def test_s196_s197_s210_the_row_of_a_load_says_version_and_digest_and_is_gone_with_it(world: Loadable) -> None:
    world.done("load", MAIL)
    (row,) = [one for one in world.directory.list_placed() if one.tenant == TENANT]
    assert isinstance(row.terms, ExecutorVersion)
    assert (row.executor.arn, row.functions, row.terms.version) == (MAIL, ["mail::list", "mail::send"], "1.2")
    assert len(row.terms.digest) == 64
    world.done("unload", MAIL)
    assert [one for one in world.directory.list_placed() if one.tenant == TENANT] == []
    assert world.table.terms.keys() == {(None, f"{PLACE}core")}


def test_s213_each_skill_is_told_of_once_when_it_comes_stays_or_goes(world: Loadable) -> None:
    world.done("load", MAIL)
    world.offer("team-mail", "mail::send", HostedFunction("mail::all", name="mail.all"), version="2")
    world.done("load", MAIL)
    world.done("unload", MAIL)
    assert world.told() == [
        {"op": "load", "name": "list"}, {"op": "load", "name": "send"},
        {"op": "unload", "name": "list"}, {"op": "load", "name": "mail.all"}, {"op": "reload", "name": "send"},
        {"op": "unload", "name": "mail.all"}, {"op": "unload", "name": "send"},
    ]  # fmt: skip
    assert [event.sequence for event in world.table.load_events] == [1, 1, 2, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ("1.2", "1.2", "same_version"),
        ("1.2", "1.2.0", "same_version"),
        ("1.2", "1.1.9", "lower_version"),
        ("1.10", "1.9", "lower_version"),
        ("1.2", None, "no_version"),
        (None, None, "no_version"),
    ],
)
def test_s214_s215_what_is_loaded_is_loaded_over_in_a_higher_version_only(
    world: Loadable, before: str | None, now: str | None, code: str
) -> None:
    world.offer("team-mail", "mail::send", version=before)
    world.done("load", MAIL)
    world.offer("team-mail", "mail::send", "mail::more", version=now)
    assert refused_without_a_trace(world, "load", MAIL) == code
    answer = world.call("load", MAIL)
    assert isinstance(answer, RegistryRefusal)
    assert "reload" in answer.message or "higher" in answer.message or "unload" in answer.message


@pytest.mark.parametrize(("before", "now"), [("1.2", "1.2.1"), ("1.9", "1.10"), (None, "0.1"), ("9", "10.0")])
def test_s214_a_higher_version_is_loaded_over_it(world: Loadable, before: str | None, now: str) -> None:
    world.offer("team-mail", "mail::send", version=before)
    world.done("load", MAIL)
    world.offer("team-mail", "mail::other", version=now)
    assert world.done("load", MAIL)["version"] == now
    assert world.placed(TENANT) == {MAIL: ["mail::other"]}


CHANGES: dict[str, Callable[[], list[HostedFunction | str]]] = {
    "a function more": lambda: ["mail::send", "mail::more"],
    "one less": list,
    "another schema": lambda: [HostedFunction("mail::send", input_schema={"type": "object"})],
    "a permission more": lambda: [HostedFunction("mail::send", permissions=frozenset({"root"}))],
    "another description": lambda: [HostedFunction("mail::send", description="Deletes everything.")],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("before", "now"), [("1", "1"), (None, None)])
def test_s217_a_changed_contract_without_another_version_is_not_loaded_again(
    world: Loadable, change: str, before: str | None, now: str | None
) -> None:
    world.offer("team-mail", "mail::send", "mail::keep", version=before)
    world.done("load", MAIL)
    world.offer("team-mail", "mail::keep", *CHANGES[change](), version=now)
    assert refused_without_a_trace(world, "reload", MAIL) == "contract_changed"


@pytest.mark.parametrize(("now", "code"), [("1.1", "lower_version"), (None, "no_version")])
def test_who_said_a_version_goes_on_saying_one_that_is_not_lower(world: Loadable, now: str | None, code: str) -> None:
    world.done("load", MAIL)
    world.offer("team-mail", "mail::send", version=now)
    assert refused_without_a_trace(world, "reload", MAIL) == code


@pytest.mark.invariant(67)
def test_s219_to_judge_an_executor_nothing_of_it_is_run_but_what_says_what_it_hosts(world: Loadable) -> None:
    asked: list[Any] = []
    answer = world.links[MAIL]

    def listening(message: Any) -> Any:
        asked.append(message)
        return answer(message)

    world.links[MAIL] = listening
    world.done("load", MAIL)
    world.done("reload", MAIL)
    world.done("unload", MAIL)
    assert asked == [{"signpost": 1, "operation": "manifest"}] * 2


def test_an_executor_whose_secret_is_not_its_own_is_not_loaded(world: Loadable) -> None:
    world.account.untagged.add(lambda_function("team-mail").key_secret_arn)
    assert refused_without_a_trace(world, "load", MAIL) == "invalid_secret"


LONG = {"properties": {f"p{number}": {"description": "x" * 1000} for number in range(60)}}
TOO_MUCH: dict[str, list[HostedFunction | str]] = {
    "functions": [f"many::f{number}" for number in range(81)],
    "to be said": [HostedFunction(f"long::f{number}", input_schema=LONG) for number in range(20)],
}


@pytest.mark.parametrize("much", TOO_MUCH)
def test_what_is_too_much_for_one_change_is_refused_with_advice(world: Loadable, much: str) -> None:
    world.offer("team-mail", *TOO_MUCH[much], version="2")
    assert refused_without_a_trace(world, "load", MAIL) == "too_large"
    answer = world.call("load", MAIL)
    assert isinstance(answer, RegistryRefusal)
    assert "several executors" in answer.message


def test_of_many_functions_that_an_operator_placed_an_operator_takes_them_away(world: Loadable) -> None:
    world.offer("team-mail", *(f"many::f{n}" for n in range(81)))
    world.placer.place(MAIL, TENANT)
    assert refused_without_a_trace(world, "unload", MAIL) == "too_large"


def test_what_an_operator_placed_is_loaded_over_as_what_was_loaded(world: Loadable) -> None:
    world.placer.place(MAIL, TENANT)
    assert world.refused("load", MAIL) == "same_version"
    world.done("reload", MAIL)
    world.done("unload", MAIL)


def test_what_an_earlier_release_placed_has_no_terms_and_is_loaded_again(world: Loadable) -> None:
    world.placer.place(MAIL, TENANT)
    world.table.terms.clear()
    world.done("reload", MAIL)
    assert world.table.terms[TENANT, MAIL].version == "1.2"


def test_a_load_leaves_other_tenants_and_what_is_shipped_alone(world: Loadable) -> None:
    shipped = world.placed()
    world.done("load", MAIL, "umbrella")
    world.done("load", MAIL)
    world.done("unload", MAIL)
    assert (world.placed(), world.placed("umbrella")) == (shipped, {MAIL: ["mail::list", "mail::send"]})


def test_s256_unloading_removes_the_breakers_of_its_functions(world: Loadable) -> None:
    world.done("load", MAIL)
    open_breakers(world)
    world.done("unload", MAIL)
    assert world.breakers.of_tenant(TENANT).keys() == {"other::f"}
    assert world.breakers.of_tenant("umbrella").keys() == {"mail::send", "other::f"}


@pytest.mark.parametrize("operation", ["load", "reload"])
def test_s257_loading_resets_the_breakers_of_its_functions(world: Loadable, operation: str) -> None:
    world.done("load", MAIL)
    open_breakers(world)
    world.offer("team-mail", "mail::send", version="2")
    world.done(operation, MAIL)
    assert world.breakers.of_tenant(TENANT).keys() == {"other::f"}


def test_s258_without_a_breaker_nothing_is_reset(world: Loadable) -> None:
    world.done("load", MAIL)
    world.done("reload", MAIL)
    assert world.table.breakers == {}


@pytest.mark.invariant(68)
def test_s183_s191_s194_lists_follow_a_load_within_two_seconds_and_say_that_it_is_dynamic() -> None:
    gateway = MemoryGateway()
    key = str(gateway.make_key(TENANT))
    world = Loadable(gateway.functions)
    world.offer("team-mail", HostedFunction("mail::send", description="Sends."), version="1")

    def listed() -> list[Any]:
        gateway.clock.advance(REVALIDATION_INTERVAL)
        tools = gateway.ask("tools/list", credential=key, path=FLAT).json["result"]["tools"]
        return [(tool["name"], tool["description"]) for tool in tools if tool["name"].startswith("skill:")]

    assert listed() == []
    world.done("load", MAIL)
    assert listed() == [("skill:send", "Sends. [dynamic]")]
    world.offer("team-mail", HostedFunction("mail::post", description="Posts."), version="2")
    world.done("reload", MAIL)
    assert listed() == [("skill:post", "Posts. [dynamic]")]
    world.done("unload", MAIL)
    assert listed() == []


def open_breakers(world: Loadable) -> None:
    for tenant in (TENANT, "umbrella"):
        for function in ("mail::send", "other::f"):
            world.breakers.open(tenant, function, OPEN)


def refused_without_a_trace(world: Loadable, operation: str, executor: Any) -> str:
    before = state(world)
    code = world.refused(operation, executor)
    assert state(world) == before
    return code
