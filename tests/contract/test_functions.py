"""Where functions run, what was set for them and which are left alone: the same on every engine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from signpost.contract import (
    BreakerState,
    Component,
    Executor,
    FunctionState,
    HostedFunction,
    PlacedExecutor,
    Placement,
)
from signpost.directory.ports import Directory
from tests.contract.conftest import Deployment, Functions

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


def hosting(*names: str) -> Sequence[HostedFunction]:
    return [HostedFunction(name) for name in names]


def many(count: int) -> Sequence[HostedFunction]:
    return hosting(*(f"many::function_{number}" for number in range(count)))


def hosts_of(functions: Functions, tenant: str, names: Sequence[str]) -> set[str]:
    """Those of the names that run somewhere for the tenant."""
    return {name for name in names if functions.states.read(tenant, name).own}


def test_of_an_unknown_function_nothing_is_known(functions: Functions, tenant: str) -> None:
    nothing = FunctionState(own=None, shipped=None, settings={}, tenant_settings={}, breaker=None)
    assert functions.states.read(tenant, MAIL) == nothing


def test_what_was_written_about_a_function_is_read_at_once(functions: Functions, tenant: str) -> None:
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
    assert functions.directory.place(None, shipped, hosting(name)) == []
    functions.settings.set(tenant, name, "tool_timeout_ms", 4_000)
    functions.settings.set(tenant, None, "breaker_failures", 5)
    functions.breakers.open(tenant, name, OPEN)
    assert functions.states.read(tenant, name) == FunctionState(
        own=Placement(declared, own),
        shipped=Placement(HostedFunction(name), shipped),
        settings={"tool_timeout_ms": 4_000},
        tenant_settings={"breaker_failures": 5},
        breaker=OPEN,
    )
    other = functions.states.read(f"{tenant}x", name)
    assert other == replace(other, own=None, settings={}, tenant_settings={}, breaker=None)
    assert other.shipped is not None
    functions.directory.remove(None, shipped.arn)


def test_a_placement_replaces_the_one_before(functions: Functions, tenant: str) -> None:
    mail = executor_of(tenant)
    functions.directory.place(tenant, mail, hosting("a", "b"))
    longer = replace(mail, timeout_ms=90_000)
    assert functions.directory.place(tenant, longer, [HostedFunction("b", timeout_ms=7), HostedFunction("c")]) == []
    assert hosts_of(functions, tenant, ["a", "b", "c"]) == {"b", "c"}
    assert functions.states.read(tenant, "b").own == Placement(HostedFunction("b", timeout_ms=7), longer)


def test_placing_again_changes_nothing(functions: Functions, tenant: str) -> None:
    for _ in range(3):
        assert functions.directory.place(tenant, executor_of(tenant), hosting("a", "b", "a")) == []
    assert hosts_of(functions, tenant, ["a", "b"]) == {"a", "b"}


def test_s210_what_another_executor_hosts_is_refused_by_name(functions: Functions, tenant: str) -> None:
    first, second = executor_of(tenant, "first"), executor_of(tenant, "second")
    functions.directory.place(tenant, first, hosting("a", "b", "c"))
    functions.directory.place(tenant, second, hosting("d"))
    assert list(functions.directory.place(tenant, second, hosting("c", "e", "a"))) == ["c", "a"]
    assert hosts_of(functions, tenant, ["a", "b", "c", "d", "e"]) == {"a", "b", "c", "d"}
    assert functions.states.read(tenant, "c").own == Placement(HostedFunction("c"), first)
    functions.directory.place(tenant, first, hosting("a"))
    assert functions.directory.place(tenant, second, hosting("c", "e")) == []


def test_tenants_and_what_is_shipped_take_no_ids_from_each_other(functions: Functions, tenant: str) -> None:
    name = f"{tenant}::send"
    for scope in (tenant, f"{tenant}x", None):
        assert functions.directory.place(scope, executor_of(tenant, f"for-{scope}"), hosting(name)) == []
    functions.directory.remove(None, executor_of(tenant, "for-None").arn)


@pytest.mark.parametrize("leaving", ["removed", "placed with nothing"])
def test_an_executor_that_leaves_leaves_nothing_behind(functions: Functions, tenant: str, leaving: str) -> None:
    mail = executor_of(tenant)
    functions.directory.place(tenant, mail, hosting("a", "b"))
    if leaving == "removed":
        assert functions.directory.remove(tenant, mail.arn)
    else:
        assert functions.directory.place(tenant, mail, ()) == []
    assert not functions.directory.remove(tenant, mail.arn)
    assert hosts_of(functions, tenant, ["a", "b"]) == set()
    assert mail not in executors_in(functions.directory)
    assert functions.directory.place(tenant, executor_of(tenant, "next"), hosting("a", "b")) == []


def test_what_is_placed_is_listed_by_tenant_and_executor(functions: Functions, tenant: str) -> None:
    mail = executor_of(tenant)
    functions.directory.place(tenant, mail, hosting("b", "a"))
    functions.directory.place(None, mail, hosting(f"{tenant}::shipped"))
    ours = [placed for placed in functions.directory.list_placed() if tenant in placed.executor.arn]
    assert ours == [PlacedExecutor(None, mail, [f"{tenant}::shipped"]), PlacedExecutor(tenant, mail, ["a", "b"])]


def test_an_executor_that_hosts_for_several_tenants_has_its_keys_once(functions: Functions, tenant: str) -> None:
    mail, other = executor_of(tenant), executor_of(tenant, "other")
    functions.directory.place(tenant, mail, hosting("a"))
    functions.directory.place(f"{tenant}x", mail, hosting("a"))
    functions.directory.place(tenant, other, hosting("b"))
    ours = [executor for executor in executors_in(functions.directory) if tenant in executor.arn]
    assert ours == [mail, other]
    functions.directory.remove(tenant, mail.arn)
    assert mail in executors_in(functions.directory)


def test_hundreds_of_functions_are_placed_and_then_fewer(functions: Functions, tenant: str) -> None:
    mail, all_of_them = executor_of(tenant), many(250)
    names = [hosted.function for hosted in all_of_them]
    assert functions.directory.place(tenant, mail, all_of_them) == []
    assert hosts_of(functions, tenant, names) == set(names)
    assert functions.directory.place(tenant, mail, all_of_them[:3]) == []
    assert hosts_of(functions, tenant, names) == set(names[:3])
    assert functions.directory.place(tenant, executor_of(tenant, "next"), all_of_them[3:]) == []


def test_of_two_placements_that_race_for_an_id_one_wins(functions: Functions, tenant: str) -> None:
    racing, start = [executor_of(tenant, f"racer-{number}") for number in range(4)], Barrier(4)

    def place(executor: Executor) -> Sequence[str]:
        start.wait()
        return functions.directory.place(tenant, executor, [*hosting("contested"), HostedFunction(executor.arn[-7:])])

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(place, racing))
    assert sorted(map(list, answers)) == [[], *[["contested"]] * 3]
    winner = racing[[list(answer) for answer in answers].index([])]
    assert functions.states.read(tenant, "contested").own == Placement(HostedFunction("contested"), winner)
    assert hosts_of(functions, tenant, [executor.arn[-7:] for executor in racing]) == {winner.arn[-7:]}


def test_executors_of_a_deployment_may_all_be_placed_at_once(functions: Functions, tenant: str) -> None:
    start = Barrier(4)

    def place(number: int) -> Sequence[str]:
        start.wait()
        return functions.directory.place(tenant, executor_of(tenant, str(number)), hosting(f"f{number}"))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(place, range(4))) == [[]] * 4
    assert hosts_of(functions, tenant, ["f0", "f1", "f2", "f3"]) == {"f0", "f1", "f2", "f3"}


def test_two_placements_of_one_executor_leave_the_functions_of_one(functions: Functions, tenant: str) -> None:
    mail, start = executor_of(tenant), Barrier(2)
    lists = [many(150), hosting("many::function_0", "other")]

    def place(hosted: Sequence[HostedFunction]) -> Sequence[str]:
        start.wait()
        return functions.directory.place(tenant, mail, hosted)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(place, lists)) == [[], []]
    names = [{hosted.function for hosted in hosted_list} for hosted_list in lists]
    assert hosts_of(functions, tenant, sorted(names[0] | names[1])) in names


def test_settings_are_set_changed_and_unset(functions: Functions, tenant: str) -> None:
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


def test_unsetting_what_was_never_set_is_no_error_and_makes_nothing(functions: Functions, tenant: str) -> None:
    functions.settings.unset(tenant, MAIL, "tool_timeout_ms")
    assert functions.settings.of_tenant(tenant) == {}


def test_a_breaker_comes_back_as_it_was_opened(functions: Functions, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, replace(OPEN, probing_until=NOW + 90))
    functions.breakers.open(f"{tenant}x", MAIL, OPEN)
    assert functions.breakers.of_tenant(tenant) == {MAIL: replace(OPEN, probing_until=NOW + 90)}
    functions.breakers.open(tenant, MAIL, replace(OPEN, failures=4))
    assert functions.breakers.of_tenant(tenant) == {MAIL: replace(OPEN, failures=4)}


def test_a_breaker_is_closed_once(functions: Functions, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    assert functions.breakers.close(tenant, MAIL)
    assert not functions.breakers.close(tenant, MAIL)
    assert functions.breakers.of_tenant(tenant) == {}


def test_a_probe_can_be_claimed_only_after_the_pause(functions: Functions, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    assert not functions.breakers.claim_probe(tenant, MAIL, NOW + 59.9, NOW + 90)
    assert functions.breakers.of_tenant(tenant) == {MAIL: OPEN}
    assert functions.breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90)
    assert functions.breakers.of_tenant(tenant) == {MAIL: replace(OPEN, probing_until=NOW + 90)}


def test_a_probe_that_never_came_back_can_be_claimed_again_when_its_time_is_up(
    functions: Functions, tenant: str
) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    assert functions.breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90)
    assert not functions.breakers.claim_probe(tenant, MAIL, NOW + 89.9, NOW + 120)
    assert functions.breakers.claim_probe(tenant, MAIL, NOW + 90, NOW + 120)


def test_of_a_closed_breaker_anybody_may_claim_the_probe_and_it_stays_closed(functions: Functions, tenant: str) -> None:
    assert functions.breakers.claim_probe(tenant, MAIL, NOW, NOW + 30)
    assert functions.breakers.claim_probe(tenant, MAIL, NOW, NOW + 30)
    assert functions.states.read(tenant, MAIL).breaker is None


def test_of_many_who_claim_a_probe_one_gets_it(functions: Functions, tenant: str) -> None:
    functions.breakers.open(tenant, MAIL, OPEN)
    start = Barrier(16)

    def claim(_caller: int) -> bool:
        start.wait()
        return functions.breakers.claim_probe(tenant, MAIL, NOW + 60, NOW + 90)

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(claim, range(16))).count(True) == 1


def test_what_is_placed_is_listed_with_all_that_tools_show(functions: Functions, tenant: str) -> None:
    told = HostedFunction("b", 5, frozenset({"x"}), False, "Sends.", {"properties": {}}, exposed=True)
    assert list(functions.placed.functions(tenant)) == []
    functions.directory.place(tenant, executor_of(tenant), [told, HostedFunction("a", input_schema={})])
    functions.directory.place(tenant, executor_of(tenant, "next"), hosting("c"))
    functions.directory.place(f"{tenant}x", executor_of(tenant, "x"), hosting("d"))
    assert list(functions.placed.functions(tenant)) == [HostedFunction("a", input_schema={}), told, HostedFunction("c")]
    functions.directory.remove(tenant, executor_of(tenant).arn)
    assert list(functions.placed.functions(tenant)) == [HostedFunction("c")]


def test_long_schemas_are_placed_however_many_there_are(functions: Functions, tenant: str) -> None:
    schema = {"description": "ß" * 30_000}
    hosted = [HostedFunction(f"f{number:02}", input_schema=schema) for number in range(60)]
    assert functions.directory.place(tenant, executor_of(tenant), hosted) == []
    assert list(functions.placed.functions(tenant)) == hosted


def test_whatever_is_placed_or_removed_moves_the_version_of_its_scope_only(functions: Functions, tenant: str) -> None:
    seen = [functions.revisions.read(tenant).placements]
    for hosted in (hosting("a"), hosting("a", "b"), hosting("b")):
        functions.directory.place(tenant, executor_of(tenant), hosted)
        seen.append(functions.revisions.read(tenant).placements)
    assert functions.directory.remove(tenant, executor_of(tenant).arn)
    seen.append(functions.revisions.read(tenant).placements)
    functions.directory.place(f"{tenant}x", executor_of(tenant), hosting("a"))
    assert seen == sorted(set(seen))
    assert functions.revisions.read(tenant).placements == seen[-1]
    shipped = functions.revisions.read(tenant).shipped_placements
    functions.directory.place(None, executor_of(tenant, "shipped"), hosting(f"{tenant}::f"))
    assert functions.revisions.read(tenant).shipped_placements > shipped
    functions.directory.remove(None, executor_of(tenant, "shipped").arn)


def test_the_versions_come_with_what_is_set_for_the_tenant(functions: Functions, tenant: str) -> None:
    assert functions.revisions.read(tenant).settings == {}
    functions.settings.set(tenant, None, "hidden_prefixes", "a::, ß")
    functions.settings.set(tenant, None, "require_expose", 1)
    functions.settings.set(tenant, "a", "tool_timeout_ms", 1)
    assert functions.revisions.read(tenant).settings == {"hidden_prefixes": "a::, ß", "require_expose": 1}


def test_what_the_deployment_sets_lies_under_what_the_tenant_sets(
    functions_of: Callable[[Deployment], Functions], tenant: str
) -> None:
    functions = functions_of({"require_expose": 1, "hidden_prefixes": "a::"})
    assert functions.states.read(tenant, MAIL).tenant_settings == {"require_expose": 1, "hidden_prefixes": "a::"}
    functions.settings.set(tenant, None, "hidden_prefixes", "")
    expected = {"require_expose": 1, "hidden_prefixes": ""}
    assert functions.states.read(tenant, MAIL).tenant_settings == expected
    assert functions.revisions.read(tenant).settings == expected
    assert functions.states.read(tenant, MAIL).settings == {}
    assert functions.settings.of_tenant(tenant) == {None: {"hidden_prefixes": ""}}
