"""Where functions run, what was set for them and which are left alone: the same on every engine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from signpost.contract import (
    MOST_STOPPED_PRINCIPALS,
    BreakerState,
    Component,
    Executor,
    FunctionState,
    HostedFunction,
    OpenBreakers,
    PlacedExecutor,
    Placement,
)
from signpost.directory.ports import Directory
from tests.contract.conftest import Deployment, FunctionPorts

NOW = 1_800_000_000.25
MAIL = "email::send"
OPEN = BreakerState(opened_until=NOW + 60, failures=3, last_failure="timed_out")


def executor_of(tenant: str, name: str = "mail") -> Executor:
    arn = f"arn:aws:lambda:us-east-1:000000000000:function:{tenant}-{name}"
    return Executor(arn, f"arn:aws:secretsmanager:us-east-1:000000000000:secret:{tenant}-{name}", 60_000)


def executors_in(directory: Directory) -> list[Executor]:
    """Those that host something for anybody, each once."""
    by_arn = {placed.executor.arn: placed.executor for placed in directory.list_placed()}
    return [by_arn[arn] for arn in sorted(by_arn)]


def hosted_functions(*names: str) -> Sequence[HostedFunction]:
    return [HostedFunction(name) for name in names]


def many_functions(count: int) -> Sequence[HostedFunction]:
    return hosted_functions(*(f"many::function_{number}" for number in range(count)))


def placed_names(functions: FunctionPorts, tenant: str, names: Sequence[str]) -> set[str]:
    """Those of the names that run somewhere for the tenant."""
    return {name for name in names if functions.states.read(tenant, name).own}


def test_an_unknown_function_has_an_empty_state(functions: FunctionPorts, tenant: str) -> None:
    nothing = FunctionState(own=None, shipped=None, settings={}, tenant_settings={}, breakers=OpenBreakers())
    assert functions.states.read(tenant, MAIL) == nothing


def test_a_function_state_is_read_as_written_at_once(functions: FunctionPorts, tenant: str) -> None:
    own, shipped = executor_of(tenant, "own"), executor_of(tenant, "shipped")
    name = f"{tenant}::send"  # what is shipped has no tenant that keeps tests apart
    declared = HostedFunction(
        name,
        timeout_ms=5_000,
        permissions=frozenset({"mail.send", "übersetzen"}),
        readable=False,
        description="Sends “mail”.",
        input_schema={"properties": {"straße": {"type": "string"}, "ok": True}, "x": [1, 0.5, None]},
        exposed=True,
        name="Brief.senden",
        title="Brief",
        category="Post",
        output_schema={},
        annotations={"readOnlyHint": False},
        icons=({"src": "https://a.test/ß.png"},),
        meta={"a": [1, 0.5, None]},
        hidden=True,
        idempotent=True,
        doc="mail/send",
        component=Component(
            "template",
            "post://{straße}",
            "text/plain",
            annotations={"priority": 0.5},
            complete={"straße": ("Elm",), "nr": None},
            enumerates=True,
        ),
    )
    assert functions.directory.place(tenant, own, [declared]) == []
    assert functions.directory.place(None, shipped, hosted_functions(name)) == []
    functions.settings.set(tenant, name, "tool_timeout_ms", 4_000)
    functions.settings.set(tenant, None, "breaker_failures", 5)
    functions.breakers.open(tenant, name, OPEN)
    assert functions.states.read(tenant, name) == FunctionState(
        own=Placement(declared, own),
        shipped=Placement(HostedFunction(name), shipped),
        settings={"tool_timeout_ms": 4_000},
        tenant_settings={"breaker_failures": 5},
        breakers=OpenBreakers(OPEN),
    )
    other = functions.states.read(f"{tenant}x", name)
    assert other == replace(other, own=None, settings={}, tenant_settings={}, breakers=OpenBreakers())
    assert other.shipped is not None
    functions.directory.remove(None, shipped.arn)


def test_a_placement_replaces_the_one_before(functions: FunctionPorts, tenant: str) -> None:
    mail = executor_of(tenant)
    functions.directory.place(tenant, mail, hosted_functions("a", "b"))
    longer = replace(mail, timeout_ms=90_000)
    assert functions.directory.place(tenant, longer, [HostedFunction("b", timeout_ms=7), HostedFunction("c")]) == []
    assert placed_names(functions, tenant, ["a", "b", "c"]) == {"b", "c"}
    assert functions.states.read(tenant, "b").own == Placement(HostedFunction("b", timeout_ms=7), longer)


def test_placing_again_changes_nothing(functions: FunctionPorts, tenant: str) -> None:
    for _ in range(3):
        assert functions.directory.place(tenant, executor_of(tenant), hosted_functions("a", "b", "a")) == []
    assert placed_names(functions, tenant, ["a", "b"]) == {"a", "b"}


def test_s210_functions_of_another_executor_are_refused_by_name(functions: FunctionPorts, tenant: str) -> None:
    first, second = executor_of(tenant, "first"), executor_of(tenant, "second")
    functions.directory.place(tenant, first, hosted_functions("a", "b", "c"))
    functions.directory.place(tenant, second, hosted_functions("d"))
    assert list(functions.directory.place(tenant, second, hosted_functions("c", "e", "a"))) == ["c", "a"]
    assert placed_names(functions, tenant, ["a", "b", "c", "d", "e"]) == {"a", "b", "c", "d"}
    assert functions.states.read(tenant, "c").own == Placement(HostedFunction("c"), first)
    functions.directory.place(tenant, first, hosted_functions("a"))
    assert functions.directory.place(tenant, second, hosted_functions("c", "e")) == []


def test_an_id_can_be_placed_for_each_tenant_and_as_shipped(functions: FunctionPorts, tenant: str) -> None:
    name = f"{tenant}::send"
    for scope in (tenant, f"{tenant}x", None):
        assert functions.directory.place(scope, executor_of(tenant, f"for-{scope}"), hosted_functions(name)) == []
    functions.directory.remove(None, executor_of(tenant, "for-None").arn)


@pytest.mark.parametrize("leaving", ["removed", "placed with nothing"])
def test_a_removed_executor_leaves_no_placements(functions: FunctionPorts, tenant: str, leaving: str) -> None:
    mail = executor_of(tenant)
    functions.directory.place(tenant, mail, hosted_functions("a", "b"))
    if leaving == "removed":
        assert functions.directory.remove(tenant, mail.arn)
    else:
        assert functions.directory.place(tenant, mail, ()) == []
    assert not functions.directory.remove(tenant, mail.arn)
    assert placed_names(functions, tenant, ["a", "b"]) == set()
    assert mail not in executors_in(functions.directory)
    assert functions.directory.place(tenant, executor_of(tenant, "next"), hosted_functions("a", "b")) == []


def test_placed_executors_are_listed_by_tenant_and_executor(functions: FunctionPorts, tenant: str) -> None:
    mail = executor_of(tenant)
    functions.directory.place(tenant, mail, hosted_functions("b", "a"))
    functions.directory.place(None, mail, hosted_functions(f"{tenant}::shipped"))
    ours = [placed for placed in functions.directory.list_placed() if tenant in placed.executor.arn]
    assert ours == [PlacedExecutor(None, mail, [f"{tenant}::shipped"]), PlacedExecutor(tenant, mail, ["a", "b"])]


def test_an_executor_of_several_tenants_is_listed_until_its_last_removal(functions: FunctionPorts, tenant: str) -> None:
    mail, other = executor_of(tenant), executor_of(tenant, "other")
    functions.directory.place(tenant, mail, hosted_functions("a"))
    functions.directory.place(f"{tenant}x", mail, hosted_functions("a"))
    functions.directory.place(tenant, other, hosted_functions("b"))
    ours = [executor for executor in executors_in(functions.directory) if tenant in executor.arn]
    assert ours == [mail, other]
    functions.directory.remove(tenant, mail.arn)
    assert mail in executors_in(functions.directory)


def test_hundreds_of_functions_are_placed_and_then_fewer(functions: FunctionPorts, tenant: str) -> None:
    mail, all_of_them = executor_of(tenant), many_functions(250)
    names = [hosted.function for hosted in all_of_them]
    assert functions.directory.place(tenant, mail, all_of_them) == []
    assert placed_names(functions, tenant, names) == set(names)
    assert functions.directory.place(tenant, mail, all_of_them[:3]) == []
    assert placed_names(functions, tenant, names) == set(names[:3])
    assert functions.directory.place(tenant, executor_of(tenant, "next"), all_of_them[3:]) == []


def test_one_of_concurrent_placements_wins_a_contested_id(functions: FunctionPorts, tenant: str) -> None:
    racing, start = [executor_of(tenant, f"racer-{number}") for number in range(4)], Barrier(4)

    def place(executor: Executor) -> Sequence[str]:
        start.wait()
        return functions.directory.place(
            tenant, executor, [*hosted_functions("contested"), HostedFunction(executor.arn[-7:])]
        )

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(place, racing))
    assert sorted(map(list, answers)) == [[], *[["contested"]] * 3]
    winner = racing[[list(answer) for answer in answers].index([])]
    assert functions.states.read(tenant, "contested").own == Placement(HostedFunction("contested"), winner)
    assert placed_names(functions, tenant, [executor.arn[-7:] for executor in racing]) == {winner.arn[-7:]}


def test_different_executors_can_be_placed_concurrently(functions: FunctionPorts, tenant: str) -> None:
    start = Barrier(4)

    def place(number: int) -> Sequence[str]:
        start.wait()
        return functions.directory.place(tenant, executor_of(tenant, str(number)), hosted_functions(f"f{number}"))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(place, range(4))) == [[]] * 4
    assert placed_names(functions, tenant, ["f0", "f1", "f2", "f3"]) == {"f0", "f1", "f2", "f3"}


def test_concurrent_placements_of_one_executor_leave_the_functions_of_one(
    functions: FunctionPorts, tenant: str
) -> None:
    mail, start = executor_of(tenant), Barrier(2)
    lists = [many_functions(150), hosted_functions("many::function_0", "other")]

    def place(hosted: Sequence[HostedFunction]) -> Sequence[str]:
        start.wait()
        return functions.directory.place(tenant, mail, hosted)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(place, lists)) == [[], []]
    names = [{hosted.function for hosted in hosted_list} for hosted_list in lists]
    assert placed_names(functions, tenant, sorted(names[0] | names[1])) in names


def test_settings_are_set_changed_and_unset(functions: FunctionPorts, tenant: str) -> None:
    settings = functions.settings
    assert settings.of_tenant(tenant) == {}
    settings.set(tenant, MAIL, "tool_timeout_ms", 5_000)
    settings.set(tenant, MAIL, "breaker_failures", 0)
    settings.set(tenant, MAIL, "tool_timeout_ms", 6_000)
    settings.set(tenant, None, "tool_timeout_ms", 7_000)
    settings.set(f"{tenant}x", MAIL, "tool_timeout_ms", 1)
    assert settings.of_tenant(tenant) == {
        MAIL: {"breaker_failures": 0, "tool_timeout_ms": 6_000},
        None: {"tool_timeout_ms": 7_000},
    }
    settings.unset(tenant, MAIL, "tool_timeout_ms")
    settings.unset(tenant, None, "tool_timeout_ms")
    assert settings.of_tenant(tenant) == {MAIL: {"breaker_failures": 0}}
    assert functions.states.read(tenant, MAIL).settings == {"breaker_failures": 0}
    assert functions.states.read(tenant, MAIL).tenant_settings == {}


def test_unsetting_an_unset_setting_changes_nothing(functions: FunctionPorts, tenant: str) -> None:
    functions.settings.unset(tenant, MAIL, "tool_timeout_ms")
    assert functions.settings.of_tenant(tenant) == {}


def test_a_breaker_is_read_as_it_was_opened(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, replace(OPEN, probing_until=NOW + 90))
    functions.breakers.open(f"{tenant}x", MAIL, OPEN)
    assert functions.breakers.of_tenant(tenant) == {MAIL: OpenBreakers(replace(OPEN, probing_until=NOW + 90))}
    functions.breakers.open(tenant, MAIL, replace(OPEN, failures=4))
    assert functions.breakers.of_tenant(tenant) == {MAIL: OpenBreakers(replace(OPEN, failures=4))}


def test_a_breaker_is_closed_once(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    assert functions.breakers.close(tenant, MAIL)
    assert not functions.breakers.close(tenant, MAIL)
    assert functions.breakers.of_tenant(tenant) == {}


def test_a_probe_can_be_claimed_only_after_the_pause(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    assert not functions.breakers.claim_probe(tenant, MAIL, NOW + 59.9, NOW + 90)
    assert functions.breakers.of_tenant(tenant) == {MAIL: OpenBreakers(OPEN)}
    assert functions.breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90)
    assert functions.breakers.of_tenant(tenant) == {MAIL: OpenBreakers(replace(OPEN, probing_until=NOW + 90))}


def test_an_unfinished_probe_can_be_claimed_again_after_its_deadline(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    assert functions.breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90)
    assert not functions.breakers.claim_probe(tenant, MAIL, NOW + 89.9, NOW + 120)
    assert functions.breakers.claim_probe(tenant, MAIL, NOW + 90, NOW + 120)


def test_a_probe_of_a_closed_breaker_is_always_granted(functions: FunctionPorts, tenant: str) -> None:
    assert functions.breakers.claim_probe(tenant, MAIL, NOW, NOW + 30)
    assert functions.breakers.claim_probe(tenant, MAIL, NOW, NOW + 30)
    assert functions.states.read(tenant, MAIL).breakers == OpenBreakers()


def test_one_of_concurrent_probe_claims_succeeds(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    start = Barrier(16)

    def claim(_caller: int) -> bool:
        start.wait()
        return functions.breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90)

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(claim, range(16))).count(True) == 1


STOPPED = replace(OPEN, subject="Ada “key 1”")


def test_breakers_of_principals_are_kept_beside_that_for_all(functions: FunctionPorts, tenant: str) -> None:
    breakers = functions.breakers
    assert breakers.open(tenant, MAIL, STOPPED, "a1") == OpenBreakers(None, {"a1": STOPPED})
    assert breakers.open(tenant, MAIL, replace(STOPPED, probing_until=NOW), "b2").for_all is None
    assert breakers.open(tenant, MAIL, OPEN) == OpenBreakers(
        OPEN, {"a1": STOPPED, "b2": replace(STOPPED, probing_until=NOW)}
    )
    breakers.close_for(tenant, MAIL, "b2")
    kept = OpenBreakers(OPEN, {"a1": STOPPED})
    assert breakers.of_tenant(tenant) == {MAIL: kept}
    assert functions.states.read(tenant, MAIL).breakers == kept
    assert breakers.close(tenant, MAIL)
    assert breakers.of_tenant(tenant) == {}


def test_the_last_closed_breaker_of_a_principal_leaves_nothing(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, STOPPED, "a1")
    for _ in range(2):
        functions.breakers.close_for(tenant, MAIL, "a1")
        assert functions.breakers.of_tenant(tenant) == {}
    assert not functions.breakers.close(tenant, MAIL)


def test_each_breaker_of_a_function_has_a_probe_of_its_own(functions: FunctionPorts, tenant: str) -> None:
    breakers = functions.breakers
    breakers.open(tenant, MAIL, OPEN)
    for digest in ("a1", "b2"):
        breakers.open(tenant, MAIL, STOPPED, digest)
    assert not breakers.claim_probe(tenant, MAIL, NOW + 59, NOW + 90, "a1")
    for digest in ("a1", None):
        assert breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90, digest)
        assert not breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90, digest)
    assert breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90, "b2")
    for digest in ("a1", None):
        breakers.release_probe(tenant, MAIL, NOW + 90, digest)
    assert breakers.of_tenant(tenant) == {
        MAIL: OpenBreakers(OPEN, {"a1": STOPPED, "b2": replace(STOPPED, probing_until=NOW + 90)})
    }
    assert breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90, "a1")


def test_a_closed_breaker_grants_every_probe_and_needs_no_release(functions: FunctionPorts, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, STOPPED, "a1")
    for digest in ("b2", None):
        assert functions.breakers.claim_probe(tenant, MAIL, NOW, NOW + 30, digest)
        assert functions.breakers.claim_probe(tenant, MAIL, NOW, NOW + 30, digest)
        functions.breakers.release_probe(tenant, MAIL, NOW + 30, digest)
    functions.breakers.release_probe(tenant, "never::opened", NOW + 30)
    assert functions.breakers.of_tenant(tenant) == {MAIL: OpenBreakers(None, {"a1": STOPPED})}


@pytest.mark.parametrize("digest", [None, "a1"])
def test_a_probe_does_not_release_the_claim_of_a_later_one(
    functions: FunctionPorts, tenant: str, digest: str | None
) -> None:
    breakers, first, second = functions.breakers, NOW + 90.125, NOW + 120.375
    breakers.open(tenant, MAIL, OPEN, digest)
    assert breakers.claim_probe(tenant, MAIL, NOW + 60, first, digest)
    assert breakers.claim_probe(tenant, MAIL, first, second, digest)
    breakers.release_probe(tenant, MAIL, first, digest)
    assert not breakers.claim_probe(tenant, MAIL, first + 1, NOW + 200, digest)
    breakers.release_probe(tenant, MAIL, second, digest)
    assert breakers.claim_probe(tenant, MAIL, first + 1, NOW + 200, digest)


def test_a_bounded_number_of_stopped_principals_is_kept(functions: FunctionPorts, tenant: str) -> None:
    for number in range(MOST_STOPPED_PRINCIPALS + 3):
        functions.breakers.open(tenant, MAIL, replace(STOPPED, opened_until=NOW + number), f"p{number}")
    kept = functions.breakers.of_tenant(tenant)[MAIL].by_principal
    assert set(kept) == {f"p{number}" for number in range(3, MOST_STOPPED_PRINCIPALS + 3)}


def test_placed_functions_are_listed_with_their_tool_details(functions: FunctionPorts, tenant: str) -> None:
    told = HostedFunction("b", 5, frozenset({"x"}), False, "Sends.", {"properties": {}}, exposed=True)
    assert list(functions.placed_functions.functions(tenant)) == []
    functions.directory.place(tenant, executor_of(tenant), [told, HostedFunction("a", input_schema={})])
    functions.directory.place(tenant, executor_of(tenant, "next"), hosted_functions("c"))
    functions.directory.place(f"{tenant}x", executor_of(tenant, "x"), hosted_functions("d"))
    assert list(functions.placed_functions.functions(tenant)) == [
        HostedFunction("a", input_schema={}),
        told,
        HostedFunction("c"),
    ]
    functions.directory.remove(tenant, executor_of(tenant).arn)
    assert list(functions.placed_functions.functions(tenant)) == [HostedFunction("c")]


def test_many_functions_with_long_schemas_are_placed(functions: FunctionPorts, tenant: str) -> None:
    schema = {"description": "ß" * 30_000}
    hosted = [HostedFunction(f"f{number:02}", input_schema=schema) for number in range(60)]
    assert functions.directory.place(tenant, executor_of(tenant), hosted) == []
    assert list(functions.placed_functions.functions(tenant)) == hosted


def test_placements_and_removals_raise_the_revision_of_their_scope_only(functions: FunctionPorts, tenant: str) -> None:
    seen = [functions.revisions.read(tenant).placements]
    for hosted in (hosted_functions("a"), hosted_functions("a", "b"), hosted_functions("b")):
        functions.directory.place(tenant, executor_of(tenant), hosted)
        seen.append(functions.revisions.read(tenant).placements)
    assert functions.directory.remove(tenant, executor_of(tenant).arn)
    seen.append(functions.revisions.read(tenant).placements)
    functions.directory.place(f"{tenant}x", executor_of(tenant), hosted_functions("a"))
    assert seen == sorted(set(seen))
    assert functions.revisions.read(tenant).placements == seen[-1]
    shipped = functions.revisions.read(tenant).shipped_placements
    functions.directory.place(None, executor_of(tenant, "shipped"), hosted_functions(f"{tenant}::f"))
    assert functions.revisions.read(tenant).shipped_placements > shipped
    functions.directory.remove(None, executor_of(tenant, "shipped").arn)


def test_list_revisions_include_the_settings_of_the_tenant(functions: FunctionPorts, tenant: str) -> None:
    assert functions.revisions.read(tenant).settings == {}
    functions.settings.set(tenant, None, "hidden_prefixes", "a::, ß")
    functions.settings.set(tenant, None, "require_expose", 1)
    functions.settings.set(tenant, "a", "tool_timeout_ms", 1)
    assert functions.revisions.read(tenant).settings == {"hidden_prefixes": "a::, ß", "require_expose": 1}


def test_settings_of_all_tenants_lie_between_those_of_the_deployment_and_of_a_tenant(
    make_functions: Callable[[Deployment], FunctionPorts], tenant: str
) -> None:
    functions = make_functions({"server_title": "Deployed", "require_expose": 1})
    functions.settings.set(None, None, "server_title", "Acme")
    functions.settings.set(None, None, "server_name", "acme")
    functions.settings.set(tenant, None, "server_name", "mine")
    try:
        read = functions.revisions.read(tenant)
        assert read.settings == {"server_title": "Acme", "require_expose": 1, "server_name": "mine"}
        assert read.own_settings == {"server_name": "mine"}
        assert read.deployment_settings == {"server_title": "Acme", "require_expose": 1, "server_name": "acme"}
        assert functions.settings.of_tenant(None) == {None: {"server_title": "Acme", "server_name": "acme"}}
    finally:
        for name in ("server_title", "server_name"):
            functions.settings.unset(None, None, name)
    assert functions.settings.of_tenant(None) == {}
    assert functions.revisions.read(tenant).settings["server_title"] == "Deployed"


def test_deployment_settings_lie_under_tenant_settings(
    make_functions: Callable[[Deployment], FunctionPorts], tenant: str
) -> None:
    functions = make_functions({"require_expose": 1, "hidden_prefixes": "a::"})
    assert functions.states.read(tenant, MAIL).tenant_settings == {"require_expose": 1, "hidden_prefixes": "a::"}
    functions.settings.set(tenant, None, "hidden_prefixes", "")
    expected = {"require_expose": 1, "hidden_prefixes": ""}
    assert functions.states.read(tenant, MAIL).tenant_settings == expected
    assert functions.revisions.read(tenant).settings == expected
    assert functions.states.read(tenant, MAIL).settings == {}
    assert functions.settings.of_tenant(tenant) == {None: {"hidden_prefixes": ""}}
