"""Executors go into the directory and get their keys, or a sentence says why not and nothing has changed."""

import json
from collections.abc import Callable, Sequence
from typing import override

import pytest

from signpost.adapters.memory import FunctionTable, MemoryDirectory
from signpost.contract import Executor, ExecutorVersion, HostedFunction
from signpost.directory.keys import keys_of
from signpost.directory.placement import PlacementError
from signpost.errors import Unavailable
from signpost.model import JsonObject, MasterKeys
from tests.support.placing import STACK_KEYS, Placing, RotatedOnceRead, executor

CORE, SHELF, OTHER, THEIRS = executor("core"), executor("shelf"), executor("other"), executor("theirs")
ROTATED = MasterKeys("c" * 64, STACK_KEYS.current)


@pytest.fixture
def world() -> Placing:
    """Two executors that the stack ships, another one that it shipped by hand, and one of a tenant."""
    world = Placing(CORE, SHELF, OTHER, THEIRS)
    world.hosts(CORE, "core::wait", "core::moving")
    world.hosts(SHELF, "shelf::list", "shelf::moving")
    world.hosts(OTHER, "other::thing")
    world.hosts(THEIRS, "core::wait", "their::own")
    world.placer.ship([CORE.arn, SHELF.arn])
    world.placer.place(OTHER.arn, None)
    world.placer.place(THEIRS.arn, "acme")
    return world


def test_a_placed_executor_hosts_what_it_says_and_has_keys_of_its_own(world: Placing) -> None:
    assert world.placed() == {
        CORE.arn: ["core::moving", "core::wait"],
        SHELF.arn: ["shelf::list", "shelf::moving"],
        OTHER.arn: ["other::thing"],
    }
    assert world.placed("acme") == {THEIRS.arn: ["core::wait", "their::own"]}
    assert all(world.has_its_keys(one) for one in (CORE, SHELF, OTHER, THEIRS))
    assert len({keys.current for keys in world.account.secrets.values()}) == 4


def newcomer(world: Placing, secret: str = "secret:new", name: str = "new") -> Executor:
    one = Executor(f"arn:{name}", secret, 1_000)
    world.deploy(one)
    world.hosts(one, f"{name}::thing")
    return one


WAYS: Sequence[Callable[[Placing], object]] = [
    lambda world: world.placer.place("arn:new", "acme"),
    lambda world: world.placer.place("arn:new", None),
    lambda world: world.placer.ship(["arn:new"]),
    lambda world: world.placer.place_as(world.account.executors["arn:new"], [HostedFunction("new::thing")], "acme"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("secret", "says"),
    [
        ("secret:stack", "arn:new: its secret secret:stack has no tag."),
        ("secret:none", "arn:new: there is no secret secret:none."),
        (
            SHELF.key_secret_arn,
            "arn:new: its secret holds the keys of arn:shelf. Give this executor a secret of its own.",
        ),
        (
            THEIRS.key_secret_arn,
            "arn:new: its secret holds the keys of arn:theirs. Give this executor a secret of its own.",
        ),
    ],
)
def test_a_secret_that_is_not_the_executors_own_is_never_written(
    world: Placing, secret: str, says: str, way: Callable[[Placing], object]
) -> None:
    """Which one is its own, is the executor's word."""
    newcomer(world, secret)
    world.account.untagged.add("secret:stack")
    world.account.secrets.pop("secret:none", None)
    secrets, placements = dict(world.account.secrets), dict(world.table.placements)
    with pytest.raises(PlacementError) as refused:
        way(world)
    assert str(refused.value) == says
    assert (world.account.secrets, world.table.placements) == (secrets, placements)


def test_a_secret_that_goes_away_after_it_was_checked_refuses_the_executor(
    world: Placing, monkeypatch: pytest.MonkeyPatch
) -> None:
    placements = dict(world.table.placements)

    def vanish(secret: str) -> None:
        del world.account.secrets[secret]

    monkeypatch.setattr(world.account, "problem_with", vanish)
    with pytest.raises(PlacementError, match="arn:core: there is no secret secret:core"):
        world.placer.place(CORE.arn, None)
    assert world.table.placements == placements


def test_two_newcomers_cannot_share_a_secret(world: Placing) -> None:
    one, two = (newcomer(world, "secret:shared", name) for name in ("one", "two"))
    with pytest.raises(PlacementError, match="arn:two: its secret holds the keys of arn:one"):
        world.placer.ship([one.arn, two.arn])
    assert world.has_its_keys(one)
    assert two.arn not in world.placed()


def test_an_executor_may_be_placed_again_and_by_several_tenants_with_its_one_secret(world: Placing) -> None:
    world.placer.place(THEIRS.arn, "acme")
    world.placer.place(THEIRS.arn, "umbrella")
    assert world.placed("acme") == world.placed("umbrella") == {THEIRS.arn: ["core::wait", "their::own"]}


BOTH_ORDERS = pytest.mark.parametrize("shipped", [[CORE.arn, SHELF.arn], [SHELF.arn, CORE.arn]])
"""A function arrives before it has left, or after."""


def rest_of(world: Placing) -> object:
    """What belongs to neither of the two that functions move between."""
    placements = world.table.placements.items()
    return {key: placed for key, placed in placements if placed.executor.arn not in (CORE.arn, SHELF.arn)}


@BOTH_ORDERS
@pytest.mark.parametrize(
    ("core", "shelf"),
    [
        (["core::wait"], ["core::moving", "shelf::list", "shelf::moving"]),
        (["core::moving", "core::wait", "shelf::moving"], ["shelf::list"]),
        (["core::wait", "shelf::moving"], ["core::moving", "shelf::list"]),
        (["shelf::list", "shelf::moving"], ["core::moving", "core::wait"]),
        (["core::moving"], ["core::wait", "shelf::list", "shelf::moving", "shelf::new"]),
    ],
    ids=["one moves", "one moves back", "they swap one", "they swap all", "one moves and one is new"],
)
def test_functions_move_between_shipped_executors(
    world: Placing, shipped: Sequence[str], core: Sequence[str], shelf: Sequence[str]
) -> None:
    rest, secrets = rest_of(world), dict(world.account.secrets)
    world.hosts(CORE, *core)
    world.hosts(SHELF, *shelf)
    world.placer.ship(shipped)
    assert world.placed() == {CORE.arn: core, SHELF.arn: shelf, OTHER.arn: ["other::thing"]}
    assert rest_of(world) == rest
    assert world.account.secrets == secrets


@BOTH_ORDERS
def test_an_executor_that_gives_all_it_has_to_another_hosts_nothing(world: Placing, shipped: Sequence[str]) -> None:
    world.hosts(CORE)
    world.hosts(SHELF, "core::moving", "core::wait")
    world.placer.ship(shipped)
    assert world.placed() == {SHELF.arn: ["core::moving", "core::wait"], OTHER.arn: ["other::thing"]}


@BOTH_ORDERS
def test_what_a_tenant_has_already_does_not_stop_it_from_moving(world: Placing, shipped: Sequence[str]) -> None:
    world.hosts(CORE, "core::wait")
    world.hosts(SHELF, "core::moving", "shelf::list")
    world.placer.place(SHELF.arn, "umbrella")
    world.placer.ship(shipped)
    assert world.placed()[SHELF.arn] == world.placed("umbrella")[SHELF.arn] == ["core::moving", "shelf::list"]


def test_functions_move_from_an_executor_that_the_stack_ships_no_more(world: Placing) -> None:
    world.hosts(SHELF, "core::moving", "core::wait", "shelf::list")
    world.placer.ship([SHELF.arn], instead_of=[CORE.arn, SHELF.arn])
    assert world.placed() == {SHELF.arn: ["core::moving", "core::wait", "shelf::list"], OTHER.arn: ["other::thing"]}


def test_an_executor_that_replaces_another_takes_over_its_functions_and_its_secret(world: Placing) -> None:
    """As when an update gives a Lambda function another name."""
    successor = Executor("arn:core-2", CORE.key_secret_arn, CORE.timeout_ms)
    world.deploy(successor)
    world.hosts(successor, "core::wait", "core::moving")
    world.placer.ship([successor.arn, SHELF.arn], instead_of=[CORE.arn, SHELF.arn])
    assert CORE.arn not in world.placed()
    assert world.placed()[successor.arn] == ["core::moving", "core::wait"]
    assert world.has_its_keys(successor)


def test_what_cannot_be_asked_takes_nothing_away(world: Placing) -> None:
    placed = world.placed()
    del world.links[SHELF.arn]
    with pytest.raises(PlacementError):
        world.placer.ship([SHELF.arn], instead_of=[CORE.arn])
    assert world.placed() == placed


@BOTH_ORDERS
def test_what_an_executor_outside_the_list_hosts_is_not_taken_from_it(world: Placing, shipped: Sequence[str]) -> None:
    rest = rest_of(world)
    world.hosts(SHELF, "shelf::list", "other::thing")
    with pytest.raises(PlacementError) as refused:
        world.placer.ship(shipped)
    assert str(refused.value) == "arn:shelf: another executor hosts other::thing already."
    assert rest_of(world) == rest
    assert world.placed()[SHELF.arn] == ["shelf::list", "shelf::moving"]


def test_two_shipped_executors_cannot_both_host_a_function(world: Placing) -> None:
    world.hosts(SHELF, "shelf::list", "core::wait")
    with pytest.raises(PlacementError, match="arn:shelf: another executor hosts core::wait already"):
        world.placer.ship([SHELF.arn, CORE.arn])
    assert "core::wait" in world.placed()[CORE.arn]


def test_a_tenants_placement_leaves_what_is_shipped_alone(world: Placing) -> None:
    shipped = world.placed()
    world.hosts(THEIRS, "core::wait", "shelf::list", "other::thing")
    world.placer.place(THEIRS.arn, "acme")
    world.placer.place(CORE.arn, "umbrella")
    assert world.placed() == shipped
    assert world.placed("acme") == {THEIRS.arn: ["core::wait", "other::thing", "shelf::list"]}
    world.hosts(CORE, "core::wait")
    world.placer.ship([CORE.arn, SHELF.arn])
    assert world.placed("umbrella") == {CORE.arn: ["core::moving", "core::wait"]}


class Interrupted(MemoryDirectory):
    """Somebody else acts just before an executor is in the directory."""

    def __init__(self, table: FunctionTable, meanwhile: Callable[[], None]) -> None:
        super().__init__(table)
        self._meanwhile = meanwhile

    @override
    def place(
        self,
        tenant: str | None,
        executor: Executor,
        hosted: Sequence[HostedFunction],
        terms: ExecutorVersion | None = None,
    ) -> Sequence[str]:
        self._meanwhile()
        return super().place(tenant, executor, hosted, terms)


def test_keys_that_are_rotated_meanwhile_end_up_in_the_secret(world: Placing) -> None:
    arriving = newcomer(world)

    def rotate() -> None:
        assert world.placer.hand_out(ROTATED) == []
        world.stack_keys.write(ROTATED)
        assert world.has_its_keys(arriving, STACK_KEYS)  # nobody knew of it

    world.placing_into(Interrupted(world.table, rotate)).place(arriving.arn, None)
    assert all(world.has_its_keys(one, ROTATED) for one in (arriving, CORE, SHELF, OTHER, THEIRS))


@pytest.mark.parametrize("fault", [None, Unavailable("The table does not answer.")], ids=["refused", "unavailable"])
def test_keys_that_are_rotated_before_a_placement_that_fails_are_those_of_what_is_placed(
    world: Placing, fault: Exception | None
) -> None:
    """The stack signs with the new ones already, and calls what it hosted before."""
    hosted = world.placed("acme")[THEIRS.arn]
    rival = newcomer(world)

    def stop() -> None:
        if fault is not None:
            raise fault
        world.placer.place(rival.arn, "acme")

    world.stack_keys = RotatedOnceRead(STACK_KEYS, ROTATED, world.placer)
    world.hosts(THEIRS, "new::thing")
    with pytest.raises(PlacementError if fault is None else Unavailable):
        world.placing_into(Interrupted(world.table, stop)).place(THEIRS.arn, "acme")
    assert world.placed("acme")[THEIRS.arn] == hosted
    assert world.has_its_keys(THEIRS, ROTATED)


def test_who_has_no_secret_any_more_is_named_and_the_others_get_their_keys(world: Placing) -> None:
    del world.account.secrets[SHELF.key_secret_arn]
    assert world.placer.hand_out(ROTATED) == [SHELF.arn]
    assert world.account.secrets == {one.key_secret_arn: keys_of(one.arn, ROTATED) for one in (CORE, OTHER, THEIRS)}


def test_an_executor_gets_its_keys_wherever_it_is_known_to_keep_them(world: Placing) -> None:
    """It changed its secret, and only one tenant placed it again."""
    world.placer.place(THEIRS.arn, "umbrella")
    moved = Executor(THEIRS.arn, "secret:moved", THEIRS.timeout_ms)
    world.deploy(moved)
    world.placer.place(THEIRS.arn, "acme")
    world.placer.hand_out(ROTATED)
    assert world.has_its_keys(moved, ROTATED)
    assert world.has_its_keys(THEIRS, ROTATED)


NO_MANIFESTS: Sequence[tuple[JsonObject, str]] = [
    ({"statusCode": 200}, "is not an executor: its answer is not a valid manifest (signpost is not 1)."),
    (
        {"signpost": True, "manifest": {"functions": []}},
        "is not an executor: its answer is not a valid manifest (signpost is not 1).",
    ),
    ({"signpost": 1}, "is not an executor: its answer is not a valid manifest (manifest is not an object)."),
    (
        {"signpost": 1, "manifest": {"functions": {}}},
        "is not an executor: its answer is not a valid manifest (manifest.functions is not a list).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{}]}},
        "is not an executor: its answer is not a valid manifest (id is not a text).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "timeoutMs": 0.5}]}},
        "is not an executor: its answer is not a valid manifest (timeoutMs is less than 1).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "timeoutMs": float("nan")}]}},
        "is not an executor: its answer is not a valid manifest (it is not JSON).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "permissions": "all"}]}},
        "is not an executor: its answer is not a valid manifest (permissions is not a list of texts).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "a/b"}, {"id": "f"}, {"id": ""}]}},
        "hosts functions with invalid ids: 'a/b', ''. An id has 1 to 256 letters, digits and _.:- only.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "description": 5}]}},
        "is not an executor: its answer is not a valid manifest (description is not a text).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "inputSchema": True}]}},
        "is not an executor: its answer is not a valid manifest (inputSchema is not an object).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "metadata": ["mcp.expose"]}]}},
        "is not an executor: its answer is not a valid manifest (metadata is not an object).",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "description": "x" * 4_001}]}},
        "hosts f, whose description is not a text of at most 4000 characters.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "inputSchema": {"pattern": "(a+)+"}}]}},
        "hosts f, whose input_schema is refused, because '(a+)+' has a repetition inside a repetition.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "outputSchema": {"pattern": "(a+)+"}}]}},
        "hosts f, whose output_schema is refused, because '(a+)+' has a repetition inside a repetition.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "name": "a\nb"}]}},
        "hosts f, whose name is not a text of 1 to 128 printable characters.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "annotations": {"readOnlyHint": "yes"}}]}},
        "hosts f, whose annotations has a readOnlyHint of the wrong type.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "icons": [{"src": "javascript:alert(1)"}]}]}},
        "hosts f, whose icons is not a list of objects with a `src` that begins with https:// or data:.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "meta": {"a": json.loads("[" * 90 + "]" * 90)}}]}},
        "hosts f, whose meta is nested too deeply.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "meta": {"a": "x" * 8_000}}]}},
        "hosts f, whose meta has more than 8000 characters.",
    ),
    (
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "component": {"kind": "app"}}]}},
        "hosts f, whose component has a kind that is not one of prompt, resource, template, helper.",
    ),
    (
        {
            "signpost": 1,
            "manifest": {"functions": [{"id": "f", "component": {"kind": "resource", "uri": "iii://skills"}}]},
        },
        "hosts f, whose component has a URI that begins with iii:, which is reserved for the registry.",
    ),
]


@pytest.mark.parametrize(
    ("metadata", "exposed"),
    [
        ({"mcp.expose": True}, True),
        ({"mcp": {"expose": True}}, True),
        ({"mcp": {"expose": True}, "mcp.expose": False}, True),
        ({"mcp.expose": "true"}, False),
        ({"mcp": True}, False),
        ({}, False),
        (None, False),
    ],
)
def test_what_tools_show_comes_from_the_manifest(world: Placing, metadata: JsonObject | None, exposed: bool) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    offered = {"id": "f", "description": "Sends.", "inputSchema": schema, "metadata": metadata}
    world.manifests[CORE.arn] = {"signpost": 1, "manifest": {"functions": [offered]}}
    (hosted,) = world.placer.place(CORE.arn, None)
    assert hosted == HostedFunction("f", description="Sends.", input_schema=schema, exposed=exposed)


@pytest.mark.parametrize(("manifest", "says"), NO_MANIFESTS)
def test_a_manifest_that_is_none_is_refused_with_what_is_wrong_in_it(
    world: Placing, manifest: JsonObject, says: str
) -> None:
    secrets, placements = dict(world.account.secrets), dict(world.table.placements)
    world.manifests[CORE.arn] = manifest
    with pytest.raises(PlacementError) as refused:
        world.placer.ship([SHELF.arn, CORE.arn])
    assert str(refused.value) == f"arn:core {says}"
    assert (world.account.secrets, world.table.placements) == (secrets, placements)


def test_an_executor_that_does_not_answer_is_refused_with_the_reason(world: Placing) -> None:
    del world.links[CORE.arn]
    with pytest.raises(PlacementError) as refused:
        world.placer.place(CORE.arn, None)
    assert str(refused.value) == "The executor of arn:core does not exist any more."


def test_what_is_no_executor_is_refused_in_the_words_of_who_looked(world: Placing) -> None:
    with pytest.raises(PlacementError, match="There is no Lambda function arn:nowhere"):
        world.placer.place("arn:nowhere", None)


def test_a_shipment_that_cannot_be_had_whole_takes_nothing_from_anybody(world: Placing) -> None:
    before = world.placed()
    world.hosts(CORE, "core::wait")
    world.hosts(SHELF, "shelf::list", "shelf::moving", "core::moving", "other::thing")
    with pytest.raises(PlacementError, match="other::thing already"):
        world.placer.ship([CORE.arn, SHELF.arn])
    assert world.placed() == before
