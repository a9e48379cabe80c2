"""Executors of other stacks are loaded, loaded again and unloaded at run time; or a code says why not, and everything
is as it was."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from signpost.adapters.alarm import alarm
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.reference import ALL_FUNCTIONS
from signpost.contract import BreakerState, Component, Executor, ExecutorVersion, HostedFunction
from signpost.model import JsonObject
from signpost.schema.validation import Validators
from tests.support.loadable_executors import (
    LAMBDA_ARN_PREFIX,
    SECRET_ARN_PREFIX,
    TENANT,
    LoadableExecutors,
    build_loadable_executor,
)
from tests.support.memory_gateway import MemoryGateway

MAIL = f"{LAMBDA_ARN_PREFIX}team-mail"
FLAT = "/mcp/flat"
OPEN = BreakerState(opened_until=1e12, failures=3, last_failure="timed_out")


@pytest.fixture
def stage() -> LoadableExecutors:
    """Nothing is loaded. The deployment ships core::wait; team-mail can be loaded."""
    stage = LoadableExecutors()
    stage.offer("core", "core::wait")
    stage.placer.ship([f"{LAMBDA_ARN_PREFIX}core"])
    stage.offer(
        "team-mail", HostedFunction("mail::send", permissions=frozenset({"smtp", "dns"})), "mail::list", version="1.2"
    )
    return stage


def state(world: LoadableExecutors) -> object:
    """Everything that a load may change."""
    table = world.table
    kept = (table.placements, table.terms, table.revisions, table.breakers, table.load_events, world.account.secrets)
    return [json.dumps(repr(one)) for one in kept]


def test_s183_a_valid_executor_is_loaded_with_its_functions_and_permissions(stage: LoadableExecutors) -> None:
    answer = stage.expect_success("load", MAIL)
    assert answer == {
        "executor": MAIL,
        "version": "1.2",
        "functions": [
            {"id": "mail::list", "name": "list", "permissions": [], "calls": []},
            {"id": "mail::send", "name": "send", "permissions": ["dns", "smtp"], "calls": []},
        ],
        "loaded": ["list", "send"],
        "reloaded": [],
        "unloaded": [],
    }
    (published,) = [one for one in ALL_FUNCTIONS if one.id == "skills::load"]
    assert Validators(alarm).find_violation(published.response, answer) is None
    assert stage.list_placed(TENANT) == {MAIL: ["mail::list", "mail::send"]}
    assert stage.list_hosted()[0].permissions == {"smtp", "dns"}
    assert stage.has_executor_keys(build_loadable_executor("team-mail"))


def test_s184_a_function_without_declared_permissions_has_none(stage: LoadableExecutors) -> None:
    stage.offer("team-bare", "bare::f")
    assert stage.expect_success("load", "team-bare")["functions"] == [
        {"id": "bare::f", "name": "f", "permissions": [], "calls": []}
    ]
    assert stage.list_hosted()[0].permissions == frozenset()


@pytest.mark.parametrize("function", ["skills::register", "prompts::mine", "iii::x", "state::get", "mcp::tools"])
def test_s185_an_id_in_an_internal_namespace_is_refused(stage: LoadableExecutors, function: str) -> None:
    stage.offer("team-mail", "mail::send", function)
    assert refusal_without_changes(stage, "load", MAIL) == "invalid_namespace"


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
def test_s186_an_invalid_executor_manifest_is_refused(stage: LoadableExecutors, manifest: Any) -> None:
    stage.manifests[MAIL] = manifest
    assert refusal_without_changes(stage, "load", MAIL) == "invalid_manifest"


def test_an_executor_that_does_not_answer_is_not_loaded(stage: LoadableExecutors) -> None:
    del stage.handlers[MAIL]
    assert refusal_without_changes(stage, "load", MAIL) == "not_reached"


@pytest.mark.invariant(85)
def test_an_executor_is_loaded_only_for_tenants_that_its_tag_names(stage: LoadableExecutors) -> None:
    stage.tag("team-mail", "umbrella initech")
    for operation in ("load", "reload"):
        assert refusal_without_changes(stage, operation, MAIL) == "not_allowed"
    assert stage.expect_refusal("load", MAIL, "hooli") == "not_allowed"
    assert stage.list_placed("hooli") == {}
    stage.expect_success("load", MAIL, "umbrella")


@pytest.mark.invariant(85)
def test_an_executor_without_a_tag_is_loaded_for_the_operators_tenant_only(stage: LoadableExecutors) -> None:
    assert stage.expect_refusal("load", MAIL, "umbrella") == "not_allowed"
    assert stage.list_placed("umbrella") == {}
    stage.expect_success("load", MAIL, TENANT)


@pytest.mark.invariant(85)
def test_an_executor_of_another_tenant_is_not_called(stage: LoadableExecutors) -> None:
    called: list[JsonObject] = []
    stage.handlers[MAIL] = lambda message: called.append(message) or {}
    assert stage.expect_refusal("load", "team-mail", "umbrella") == "not_allowed"
    assert called == []


@pytest.mark.invariant(85)
def test_a_qualified_arn_does_not_evade_the_tag(stage: LoadableExecutors) -> None:
    stage.tag("team-mail", "umbrella")
    assert stage.expect_refusal("load", f"{MAIL}:live") == "not_allowed"


def test_a_tag_may_name_all_tenants(stage: LoadableExecutors) -> None:
    stage.tag("team-mail", "@all")
    stage.expect_success("load", MAIL, "umbrella")
    stage.expect_success("load", MAIL, TENANT)


def test_an_executor_that_an_operator_has_placed_is_reloaded_without_a_tag(stage: LoadableExecutors) -> None:
    stage.placer.place(MAIL, "umbrella")
    stage.expect_success("reload", MAIL, "umbrella")
    stage.tag("team-mail", TENANT)
    assert stage.expect_refusal("reload", MAIL, "umbrella") == "not_allowed"
    stage.expect_success("unload", MAIL, "umbrella")


def test_the_refusal_of_a_foreign_executor_names_the_tag(stage: LoadableExecutors) -> None:
    answer = stage.call("load", MAIL, "umbrella")
    assert isinstance(answer, RegistryRefusal)
    assert "umbrella to the tag signpost:tenants" in answer.message


@pytest.mark.invariant(67)
@pytest.mark.parametrize(
    "executor",
    [
        f"{LAMBDA_ARN_PREFIX}core",
        f"{LAMBDA_ARN_PREFIX}single-sibling",
        f"{LAMBDA_ARN_PREFIX}single:alias",
        f"{LAMBDA_ARN_PREFIX}my-team-mail",
        MAIL.replace("us-east-1", "eu-west-1"),
        MAIL.replace("000000000000", "111111111111"),
        "singles",
    ],
)
def test_s188_s221_an_executor_outside_the_allow_list_is_refused_uninspected(
    stage: LoadableExecutors, executor: str
) -> None:
    """Also what has the name of an allowed one as its beginning, or is elsewhere."""
    asked: list[str] = []
    stage.account.inspect = lambda lambda_function: asked.append(lambda_function) or "?"
    assert refusal_without_changes(stage, "load", executor) == "not_allowed"
    assert refusal_without_changes(stage, "reload", executor) == "not_allowed"
    assert asked == []


@pytest.mark.parametrize(
    "executor",
    [
        "../team-mail",
        "",
        "a b",
        f"{LAMBDA_ARN_PREFIX}../team-mail",
        f"arn:aws:lambda:eu-west-1:{'\u0661' * 12}:function:team-mail",
        "x" * 300,
        None,
        7,
    ],
)
def test_an_invalid_name_of_a_lambda_function_is_refused(stage: LoadableExecutors, executor: Any) -> None:
    for operation in ("load", "reload", "unload"):
        assert refusal_without_changes(stage, operation, executor) == "invalid_payload"


def test_s189_a_missing_lambda_function_is_not_loaded(stage: LoadableExecutors) -> None:
    assert refusal_without_changes(stage, "load", "team-nowhere") == "no_executor"


@pytest.mark.parametrize(
    "hosted", [HostedFunction("core::wait"), HostedFunction("mine::wait"), HostedFunction("mine::other", name="wait")]
)
def test_s190_an_id_or_a_name_of_the_core_is_refused(stage: LoadableExecutors, hosted: HostedFunction) -> None:
    stage.offer("team-mail", "mail::send", hosted)
    assert refusal_without_changes(stage, "load", MAIL) == "name_conflicts_with_core"


@pytest.mark.parametrize(
    "hosted", [HostedFunction("mail::send"), HostedFunction("sms::send"), HostedFunction("sms::other", name="send")]
)
def test_an_id_or_a_name_of_another_executor_is_refused_until_it_is_unloaded(
    stage: LoadableExecutors, hosted: HostedFunction
) -> None:
    stage.expect_success("load", MAIL)
    stage.offer("team-sms", hosted)
    assert refusal_without_changes(stage, "load", "team-sms") == "name_taken"
    stage.tag("team-sms", f"umbrella {TENANT}")
    stage.expect_success("load", "team-sms", "umbrella")
    stage.expect_success("unload", MAIL)
    stage.expect_success("load", "team-sms")


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
def test_a_component_with_a_name_or_uri_of_the_core_is_refused(stage: LoadableExecutors, kind: str) -> None:
    shipped, theirs = COMPONENTS[kind]
    stage.offer("core", "core::wait", shipped)
    stage.placer.ship([f"{LAMBDA_ARN_PREFIX}core"])
    stage.offer("team-mail", "mail::send", theirs)
    assert refusal_without_changes(stage, "load", MAIL) == "name_conflicts_with_core"


@pytest.mark.parametrize("kind", COMPONENTS)
def test_a_component_with_a_name_or_uri_of_another_executor_is_refused(stage: LoadableExecutors, kind: str) -> None:
    first, second = COMPONENTS[kind]
    stage.offer("team-mail", first, version="1")
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", first, version="2")
    stage.expect_success("load", MAIL)
    stage.offer("team-sms", second)
    assert refusal_without_changes(stage, "load", "team-sms") == "name_taken"
    stage.expect_success("unload", MAIL)
    stage.expect_success("load", "team-sms")


@pytest.mark.parametrize("kind", COMPONENTS)
def test_an_executor_with_two_components_of_one_name_or_uri_is_refused(stage: LoadableExecutors, kind: str) -> None:
    stage.offer("team-mail", *COMPONENTS[kind])
    assert refusal_without_changes(stage, "load", MAIL) == "invalid_manifest"


def test_a_prompt_can_share_the_name_of_a_skill_and_helpers_of_each_other(stage: LoadableExecutors) -> None:
    helpers = [HostedFunction(f"{of}::complete", component=Component("helper")) for of in ("mail::a", "mail::b")]
    stage.offer(
        "team-mail", "mail::send", HostedFunction("mail::p", name="send", component=Component("prompt")), *helpers
    )
    stage.expect_success("load", MAIL)


def test_s191_an_unloaded_executor_is_unknown(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    answer = stage.expect_success("unload", MAIL)
    assert answer == {
        "executor": MAIL, "version": None, "functions": [],
        "loaded": [], "reloaded": [], "unloaded": ["list", "send"],
    }  # fmt: skip
    assert (stage.list_placed(TENANT), stage.list_hosted()) == ({}, [])
    assert stage.expect_refusal("unload", MAIL) == "not_found"


def test_an_executor_no_longer_allowed_or_existing_can_be_unloaded(stage: LoadableExecutors) -> None:
    stage.offer("placed-by-hand", "hand::f")
    stage.placer.place(f"{LAMBDA_ARN_PREFIX}placed-by-hand", TENANT)
    stage.expect_success("load", MAIL)
    del stage.handlers[MAIL], stage.account.executors[MAIL]
    stage.expect_success("unload", "team-mail")
    stage.expect_success("unload", "placed-by-hand")
    assert stage.list_placed(TENANT) == {}


def test_unloading_by_an_ambiguous_name_is_refused(stage: LoadableExecutors) -> None:
    elsewhere = Executor(MAIL.replace("us-east-1", "eu-west-1"), f"{SECRET_ARN_PREFIX}elsewhere", 1_000)
    stage.deploy(elsewhere)
    stage.placer.place_as(elsewhere, [HostedFunction("elsewhere::f")], TENANT)
    stage.expect_success("load", MAIL)
    assert refusal_without_changes(stage, "unload", "team-mail") == "not_found"
    stage.expect_success("unload", MAIL)


def test_s192_an_executor_that_is_not_loaded_cannot_be_unloaded(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    assert refusal_without_changes(stage, "unload", "team-other") == "not_found"
    assert stage.expect_refusal("unload", MAIL, "umbrella") == "not_found"


def test_s193_a_shipped_executor_cannot_be_unloaded(stage: LoadableExecutors) -> None:
    assert refusal_without_changes(stage, "unload", "core") == "cannot_unload_core"
    assert refusal_without_changes(stage, "unload", f"{LAMBDA_ARN_PREFIX}core") == "cannot_unload_core"


def test_s194_a_reload_with_a_higher_version_places_the_new_manifest(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", HostedFunction("mail::send", permissions=frozenset({"smtp"})), "mail::drop", version="1.3")
    answer = stage.expect_success("reload", "team-mail")
    assert (answer["version"], answer["loaded"], answer["reloaded"], answer["unloaded"]) == (
        "1.3", ["drop"], ["send"], ["list"],
    )  # fmt: skip
    assert {one.function: one.permissions for one in stage.list_hosted()} == {
        "mail::send": {"smtp"},
        "mail::drop": set(),
    }


def test_a_reload_of_an_unchanged_contract_needs_no_higher_version(stage: LoadableExecutors) -> None:
    """The code is another one, perhaps; or how long it may run."""
    stage.expect_success("load", MAIL)
    assert stage.expect_success("reload", MAIL)["reloaded"] == ["list", "send"]
    stage.offer("team-bare", "bare::f")
    stage.expect_success("load", "team-bare")
    assert stage.expect_success("reload", "team-bare")["reloaded"] == ["f"]


def test_s195_an_executor_that_is_not_loaded_cannot_be_reloaded(stage: LoadableExecutors) -> None:
    assert refusal_without_changes(stage, "reload", MAIL) == "not_found"


def test_s196_s197_s210_the_row_of_a_load_has_version_and_digest_until_unload(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    (row,) = [one for one in stage.directory.list_placed() if one.tenant == TENANT]
    assert isinstance(row.terms, ExecutorVersion)
    assert (row.executor.arn, row.functions, row.terms.version) == (MAIL, ["mail::list", "mail::send"], "1.2")
    assert len(row.terms.digest) == 64
    stage.expect_success("unload", MAIL)
    assert [one for one in stage.directory.list_placed() if one.tenant == TENANT] == []
    assert stage.table.terms.keys() == {(None, f"{LAMBDA_ARN_PREFIX}core")}


def test_s213_each_loaded_reloaded_or_unloaded_skill_has_one_load_notice(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", "mail::send", HostedFunction("mail::all", name="mail.all"), version="2")
    stage.expect_success("load", MAIL)
    stage.expect_success("unload", MAIL)
    assert stage.list_load_events() == [
        {"op": "load", "name": "list"}, {"op": "load", "name": "send"},
        {"op": "unload", "name": "list"}, {"op": "load", "name": "mail.all"}, {"op": "reload", "name": "send"},
        {"op": "unload", "name": "mail.all"}, {"op": "unload", "name": "send"},
    ]  # fmt: skip
    assert [event.sequence for event in stage.table.load_events] == [1, 1, 2, 2, 2, 3, 3]


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
def test_s214_s215_a_load_over_a_loaded_executor_needs_a_higher_version(
    stage: LoadableExecutors, before: str | None, now: str | None, code: str
) -> None:
    stage.offer("team-mail", "mail::send", version=before)
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", "mail::send", "mail::more", version=now)
    assert refusal_without_changes(stage, "load", MAIL) == code
    answer = stage.call("load", MAIL)
    assert isinstance(answer, RegistryRefusal)
    assert "reload" in answer.message or "higher" in answer.message or "unload" in answer.message


@pytest.mark.parametrize(("before", "now"), [("1.2", "1.2.1"), ("1.9", "1.10"), (None, "0.1"), ("9", "10.0")])
def test_s214_a_higher_version_replaces_the_loaded_executor(
    stage: LoadableExecutors, before: str | None, now: str
) -> None:
    stage.offer("team-mail", "mail::send", version=before)
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", "mail::other", version=now)
    assert stage.expect_success("load", MAIL)["version"] == now
    assert stage.list_placed(TENANT) == {MAIL: ["mail::other"]}


CHANGES: dict[str, Callable[[], list[HostedFunction | str]]] = {
    "a function more": lambda: ["mail::send", "mail::more"],
    "one less": list,
    "another schema": lambda: [HostedFunction("mail::send", input_schema={"type": "object"})],
    "a permission more": lambda: [HostedFunction("mail::send", permissions=frozenset({"root"}))],
    "another description": lambda: [HostedFunction("mail::send", description="Deletes everything.")],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("before", "now"), [("1", "1"), (None, None)])
def test_s217_a_changed_contract_with_the_same_version_is_not_reloaded(
    stage: LoadableExecutors, change: str, before: str | None, now: str | None
) -> None:
    stage.offer("team-mail", "mail::send", "mail::keep", version=before)
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", "mail::keep", *CHANGES[change](), version=now)
    assert refusal_without_changes(stage, "reload", MAIL) == "contract_changed"


@pytest.mark.parametrize(("now", "code"), [("1.1", "lower_version"), (None, "no_version")])
def test_a_reload_with_a_lower_or_missing_version_is_refused(
    stage: LoadableExecutors, now: str | None, code: str
) -> None:
    stage.expect_success("load", MAIL)
    stage.offer("team-mail", "mail::send", version=now)
    assert refusal_without_changes(stage, "reload", MAIL) == code


@pytest.mark.invariant(67)
def test_s219_only_the_manifest_of_an_executor_is_requested(stage: LoadableExecutors) -> None:
    asked: list[Any] = []
    answer = stage.handlers[MAIL]

    def listening(message: Any) -> Any:
        asked.append(message)
        return answer(message)

    stage.handlers[MAIL] = listening
    stage.expect_success("load", MAIL)
    stage.expect_success("reload", MAIL)
    stage.expect_success("unload", MAIL)
    assert asked == [{"signpost": 1, "operation": "manifest"}] * 2


def test_an_executor_with_a_secret_not_its_own_is_not_loaded(stage: LoadableExecutors) -> None:
    stage.account.untagged.add(build_loadable_executor("team-mail").key_secret_arn)
    assert refusal_without_changes(stage, "load", MAIL) == "invalid_secret"


LONG = {"properties": {f"p{number}": {"description": "x" * 1000} for number in range(60)}}
TOO_MUCH: dict[str, list[HostedFunction | str]] = {
    "functions": [f"many::f{number}" for number in range(81)],
    "to be said": [HostedFunction(f"long::f{number}", input_schema=LONG) for number in range(20)],
}


@pytest.mark.parametrize("much", TOO_MUCH)
def test_an_executor_too_large_for_one_directory_change_is_refused(stage: LoadableExecutors, much: str) -> None:
    stage.offer("team-mail", *TOO_MUCH[much], version="2")
    assert refusal_without_changes(stage, "load", MAIL) == "too_large"
    answer = stage.call("load", MAIL)
    assert isinstance(answer, RegistryRefusal)
    assert "several executors" in answer.message


def test_an_operator_placed_executor_too_large_to_unload_is_refused(stage: LoadableExecutors) -> None:
    stage.offer("team-mail", *(f"many::f{n}" for n in range(81)))
    stage.placer.place(MAIL, TENANT)
    assert refusal_without_changes(stage, "unload", MAIL) == "too_large"


def test_an_operator_placed_executor_can_be_reloaded_and_unloaded(stage: LoadableExecutors) -> None:
    stage.placer.place(MAIL, TENANT)
    assert stage.expect_refusal("load", MAIL) == "same_version"
    stage.expect_success("reload", MAIL)
    stage.expect_success("unload", MAIL)


def test_an_executor_placed_without_a_version_can_be_reloaded(stage: LoadableExecutors) -> None:
    stage.placer.place(MAIL, TENANT)
    stage.table.terms.clear()
    stage.expect_success("reload", MAIL)
    assert stage.table.terms[TENANT, MAIL].version == "1.2"


def test_a_load_leaves_other_tenants_and_shipped_executors_unchanged(stage: LoadableExecutors) -> None:
    shipped = stage.list_placed()
    stage.tag("team-mail", "acme umbrella")
    stage.expect_success("load", MAIL, "umbrella")
    stage.expect_success("load", MAIL)
    stage.expect_success("unload", MAIL)
    assert (stage.list_placed(), stage.list_placed("umbrella")) == (shipped, {MAIL: ["mail::list", "mail::send"]})


def test_s256_unloading_removes_the_breakers_of_its_functions(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    open_breakers(stage)
    stage.expect_success("unload", MAIL)
    assert stage.breakers.of_tenant(TENANT).keys() == {"other::f"}
    assert stage.breakers.of_tenant("umbrella").keys() == {"mail::send", "other::f"}


@pytest.mark.parametrize("operation", ["load", "reload"])
def test_s257_loading_resets_the_breakers_of_its_functions(stage: LoadableExecutors, operation: str) -> None:
    stage.expect_success("load", MAIL)
    open_breakers(stage)
    stage.offer("team-mail", "mail::send", version="2")
    stage.expect_success(operation, MAIL)
    assert stage.breakers.of_tenant(TENANT).keys() == {"other::f"}


def test_s258_a_reload_without_breakers_writes_no_breaker(stage: LoadableExecutors) -> None:
    stage.expect_success("load", MAIL)
    stage.expect_success("reload", MAIL)
    assert stage.table.breakers == {}


@pytest.mark.invariant(68)
def test_s183_s191_s194_lists_show_a_load_as_dynamic_within_two_seconds() -> None:
    gateway = MemoryGateway()
    key = str(gateway.make_key(TENANT))
    world = LoadableExecutors(gateway.functions)
    world.offer("team-mail", HostedFunction("mail::send", description="Sends."), version="1")

    def listed() -> list[Any]:
        gateway.clock.advance(REVALIDATION_INTERVAL)
        tools = gateway.request("tools/list", credential=key, path=FLAT).json["result"]["tools"]
        return [(tool["name"], tool["description"]) for tool in tools if tool["name"].startswith("skill:")]

    assert listed() == []
    world.expect_success("load", MAIL)
    assert listed() == [("skill:send", "Sends. [dynamic]")]
    world.offer("team-mail", HostedFunction("mail::post", description="Posts."), version="2")
    world.expect_success("reload", MAIL)
    assert listed() == [("skill:post", "Posts. [dynamic]")]
    world.expect_success("unload", MAIL)
    assert listed() == []


def open_breakers(world: LoadableExecutors) -> None:
    for tenant in (TENANT, "umbrella"):
        for function in ("mail::send", "other::f"):
            world.breakers.open(tenant, function, OPEN)


def refusal_without_changes(world: LoadableExecutors, operation: str, executor: Any) -> str:
    before = state(world)
    code = world.expect_refusal(operation, executor)
    assert state(world) == before
    return code
