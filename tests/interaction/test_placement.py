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
from tests.support.executor_placement import STACK_KEYS, ExecutorPlacement, KeysRotatedOnRead, build_executor

CORE, SHELF, OTHER, THEIRS = (
    build_executor("core"),
    build_executor("shelf"),
    build_executor("other"),
    build_executor("theirs"),
)
ROTATED = MasterKeys("c" * 64, STACK_KEYS.current)


@pytest.fixture
def stage() -> ExecutorPlacement:
    """Two executors that the stack ships, another one that it shipped by hand, and one of a tenant."""
    stage = ExecutorPlacement(CORE, SHELF, OTHER, THEIRS)
    stage.set_manifest(CORE, "core::wait", "core::moving")
    stage.set_manifest(SHELF, "shelf::list", "shelf::moving")
    stage.set_manifest(OTHER, "other::thing")
    stage.set_manifest(THEIRS, "core::wait", "their::own")
    stage.placer.ship([CORE.arn, SHELF.arn])
    stage.placer.place(OTHER.arn, None)
    stage.placer.place(THEIRS.arn, "acme")
    return stage


def test_a_placed_executor_hosts_its_functions_and_has_its_own_keys(stage: ExecutorPlacement) -> None:
    assert stage.list_placed() == {
        CORE.arn: ["core::moving", "core::wait"],
        SHELF.arn: ["shelf::list", "shelf::moving"],
        OTHER.arn: ["other::thing"],
    }
    assert stage.list_placed("acme") == {THEIRS.arn: ["core::wait", "their::own"]}
    assert all(stage.has_executor_keys(one) for one in (CORE, SHELF, OTHER, THEIRS))
    assert len({keys.current for keys in stage.account.secrets.values()}) == 4


def deploy_newcomer(world: ExecutorPlacement, secret: str = "secret:new", name: str = "new") -> Executor:
    one = Executor(f"arn:{name}", secret, 1_000)
    world.deploy(one)
    world.set_manifest(one, f"{name}::thing")
    return one


WAYS: Sequence[Callable[[ExecutorPlacement], object]] = [
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
def test_a_secret_that_does_not_belong_to_the_executor_is_never_written(
    stage: ExecutorPlacement, secret: str, says: str, way: Callable[[ExecutorPlacement], object]
) -> None:
    """Which one is its own, is the executor's word."""
    deploy_newcomer(stage, secret)
    stage.account.untagged.add("secret:stack")
    stage.account.secrets.pop("secret:none", None)
    secrets, placements = dict(stage.account.secrets), dict(stage.table.placements)
    with pytest.raises(PlacementError) as refused:
        way(stage)
    assert str(refused.value) == says
    assert (stage.account.secrets, stage.table.placements) == (secrets, placements)


def test_a_secret_deleted_after_its_check_refuses_the_executor(
    stage: ExecutorPlacement, monkeypatch: pytest.MonkeyPatch
) -> None:
    placements = dict(stage.table.placements)

    def vanish(secret: str) -> None:
        del stage.account.secrets[secret]

    monkeypatch.setattr(stage.account, "problem_with", vanish)
    with pytest.raises(PlacementError, match="arn:core: there is no secret secret:core"):
        stage.placer.place(CORE.arn, None)
    assert stage.table.placements == placements


def test_two_newcomers_cannot_share_a_secret(stage: ExecutorPlacement) -> None:
    one, two = (deploy_newcomer(stage, "secret:shared", name) for name in ("one", "two"))
    with pytest.raises(PlacementError, match="arn:two: its secret holds the keys of arn:one"):
        stage.placer.ship([one.arn, two.arn])
    assert stage.has_executor_keys(one)
    assert two.arn not in stage.list_placed()


def test_an_executor_can_be_placed_by_several_tenants_with_one_secret(stage: ExecutorPlacement) -> None:
    stage.placer.place(THEIRS.arn, "acme")
    stage.placer.place(THEIRS.arn, "umbrella")
    assert stage.list_placed("acme") == stage.list_placed("umbrella") == {THEIRS.arn: ["core::wait", "their::own"]}


BOTH_ORDERS = pytest.mark.parametrize("shipped", [[CORE.arn, SHELF.arn], [SHELF.arn, CORE.arn]])
"""A function arrives before it has left, or after."""


def other_placements(world: ExecutorPlacement) -> object:
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
    stage: ExecutorPlacement, shipped: Sequence[str], core: Sequence[str], shelf: Sequence[str]
) -> None:
    rest, secrets = other_placements(stage), dict(stage.account.secrets)
    stage.set_manifest(CORE, *core)
    stage.set_manifest(SHELF, *shelf)
    stage.placer.ship(shipped)
    assert stage.list_placed() == {CORE.arn: core, SHELF.arn: shelf, OTHER.arn: ["other::thing"]}
    assert other_placements(stage) == rest
    assert stage.account.secrets == secrets


@BOTH_ORDERS
def test_an_executor_that_gives_all_functions_away_is_removed(stage: ExecutorPlacement, shipped: Sequence[str]) -> None:
    stage.set_manifest(CORE)
    stage.set_manifest(SHELF, "core::moving", "core::wait")
    stage.placer.ship(shipped)
    assert stage.list_placed() == {SHELF.arn: ["core::moving", "core::wait"], OTHER.arn: ["other::thing"]}


@BOTH_ORDERS
def test_a_function_placed_by_a_tenant_can_move_between_shipped_executors(
    stage: ExecutorPlacement, shipped: Sequence[str]
) -> None:
    stage.set_manifest(CORE, "core::wait")
    stage.set_manifest(SHELF, "core::moving", "shelf::list")
    stage.placer.place(SHELF.arn, "umbrella")
    stage.placer.ship(shipped)
    assert stage.list_placed()[SHELF.arn] == stage.list_placed("umbrella")[SHELF.arn] == ["core::moving", "shelf::list"]


def test_functions_move_from_an_executor_that_is_no_longer_shipped(stage: ExecutorPlacement) -> None:
    stage.set_manifest(SHELF, "core::moving", "core::wait", "shelf::list")
    stage.placer.ship([SHELF.arn], instead_of=[CORE.arn, SHELF.arn])
    assert stage.list_placed() == {
        SHELF.arn: ["core::moving", "core::wait", "shelf::list"],
        OTHER.arn: ["other::thing"],
    }


def test_a_replacing_executor_takes_over_functions_and_secret(stage: ExecutorPlacement) -> None:
    """As when an update gives a Lambda function another name."""
    successor = Executor("arn:core-2", CORE.key_secret_arn, CORE.timeout_ms)
    stage.deploy(successor)
    stage.set_manifest(successor, "core::wait", "core::moving")
    stage.placer.ship([successor.arn, SHELF.arn], instead_of=[CORE.arn, SHELF.arn])
    assert CORE.arn not in stage.list_placed()
    assert stage.list_placed()[successor.arn] == ["core::moving", "core::wait"]
    assert stage.has_executor_keys(successor)


def test_a_shipment_with_an_unreachable_executor_removes_no_function(stage: ExecutorPlacement) -> None:
    placed = stage.list_placed()
    del stage.handlers[SHELF.arn]
    with pytest.raises(PlacementError):
        stage.placer.ship([SHELF.arn], instead_of=[CORE.arn])
    assert stage.list_placed() == placed


@BOTH_ORDERS
def test_a_function_of_an_unlisted_executor_is_not_taken_over(stage: ExecutorPlacement, shipped: Sequence[str]) -> None:
    rest = other_placements(stage)
    stage.set_manifest(SHELF, "shelf::list", "other::thing")
    with pytest.raises(PlacementError) as refused:
        stage.placer.ship(shipped)
    assert str(refused.value) == "arn:shelf: another executor hosts other::thing already."
    assert other_placements(stage) == rest
    assert stage.list_placed()[SHELF.arn] == ["shelf::list", "shelf::moving"]


def test_two_shipped_executors_cannot_both_host_a_function(stage: ExecutorPlacement) -> None:
    stage.set_manifest(SHELF, "shelf::list", "core::wait")
    with pytest.raises(PlacementError, match="arn:shelf: another executor hosts core::wait already"):
        stage.placer.ship([SHELF.arn, CORE.arn])
    assert "core::wait" in stage.list_placed()[CORE.arn]


def test_a_placement_of_a_tenant_leaves_shipped_functions_unchanged(stage: ExecutorPlacement) -> None:
    shipped = stage.list_placed()
    stage.set_manifest(THEIRS, "core::wait", "shelf::list", "other::thing")
    stage.placer.place(THEIRS.arn, "acme")
    stage.placer.place(CORE.arn, "umbrella")
    assert stage.list_placed() == shipped
    assert stage.list_placed("acme") == {THEIRS.arn: ["core::wait", "other::thing", "shelf::list"]}
    stage.set_manifest(CORE, "core::wait")
    stage.placer.ship([CORE.arn, SHELF.arn])
    assert stage.list_placed("umbrella") == {CORE.arn: ["core::moving", "core::wait"]}


class InterruptedDirectory(MemoryDirectory):
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


def test_keys_rotated_during_a_placement_reach_the_secret(stage: ExecutorPlacement) -> None:
    arriving = deploy_newcomer(stage)

    def rotate() -> None:
        assert stage.placer.hand_out(ROTATED) == []
        stage.stack_keys.write(ROTATED)
        assert stage.has_executor_keys(arriving, STACK_KEYS)  # nobody knew of it

    stage.build_placer(InterruptedDirectory(stage.table, rotate)).place(arriving.arn, None)
    assert all(stage.has_executor_keys(one, ROTATED) for one in (arriving, CORE, SHELF, OTHER, THEIRS))


@pytest.mark.parametrize("fault", [None, Unavailable("The table does not answer.")], ids=["refused", "unavailable"])
def test_keys_rotated_during_a_failed_placement_reach_the_placed_executor(
    stage: ExecutorPlacement, fault: Exception | None
) -> None:
    """The stack signs with the new ones already, and calls what it hosted before."""
    hosted = stage.list_placed("acme")[THEIRS.arn]
    rival = deploy_newcomer(stage)

    def stop() -> None:
        if fault is not None:
            raise fault
        stage.placer.place(rival.arn, "acme")

    stage.stack_keys = KeysRotatedOnRead(STACK_KEYS, ROTATED, stage.placer)
    stage.set_manifest(THEIRS, "new::thing")
    with pytest.raises(PlacementError if fault is None else Unavailable):
        stage.build_placer(InterruptedDirectory(stage.table, stop)).place(THEIRS.arn, "acme")
    assert stage.list_placed("acme")[THEIRS.arn] == hosted
    assert stage.has_executor_keys(THEIRS, ROTATED)


def test_a_rotation_names_executors_without_a_secret_and_updates_the_others(stage: ExecutorPlacement) -> None:
    del stage.account.secrets[SHELF.key_secret_arn]
    assert stage.placer.hand_out(ROTATED) == [SHELF.arn]
    assert stage.account.secrets == {one.key_secret_arn: keys_of(one.arn, ROTATED) for one in (CORE, OTHER, THEIRS)}


def test_an_executor_with_two_known_secrets_gets_its_keys_in_both(stage: ExecutorPlacement) -> None:
    """It changed its secret, and only one tenant placed it again."""
    stage.placer.place(THEIRS.arn, "umbrella")
    moved = Executor(THEIRS.arn, "secret:moved", THEIRS.timeout_ms)
    stage.deploy(moved)
    stage.placer.place(THEIRS.arn, "acme")
    stage.placer.hand_out(ROTATED)
    assert stage.has_executor_keys(moved, ROTATED)
    assert stage.has_executor_keys(THEIRS, ROTATED)


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
        {"signpost": 1, "manifest": {"functions": [{"id": "f", "name": "$cancel"}]}},
        "hosts f, whose name begins with $, which is reserved for overrides of runs.",
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
        "hosts f, whose component has a URI that begins with iii:, which is reserved for the gateway.",
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
def test_description_schema_and_exposure_come_from_the_manifest(
    stage: ExecutorPlacement, metadata: JsonObject | None, exposed: bool
) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    offered = {"id": "f", "description": "Sends.", "inputSchema": schema, "metadata": metadata}
    stage.manifests[CORE.arn] = {"signpost": 1, "manifest": {"functions": [offered]}}
    (hosted,) = stage.placer.place(CORE.arn, None)
    assert hosted == HostedFunction("f", description="Sends.", input_schema=schema, exposed=exposed)


@pytest.mark.parametrize(("manifest", "says"), NO_MANIFESTS)
def test_an_invalid_executor_manifest_is_refused_with_the_reason(
    stage: ExecutorPlacement, manifest: JsonObject, says: str
) -> None:
    secrets, placements = dict(stage.account.secrets), dict(stage.table.placements)
    stage.manifests[CORE.arn] = manifest
    with pytest.raises(PlacementError) as refused:
        stage.placer.ship([SHELF.arn, CORE.arn])
    assert str(refused.value) == f"arn:core {says}"
    assert (stage.account.secrets, stage.table.placements) == (secrets, placements)


def test_an_executor_that_does_not_answer_is_refused_with_the_reason(stage: ExecutorPlacement) -> None:
    del stage.handlers[CORE.arn]
    with pytest.raises(PlacementError) as refused:
        stage.placer.place(CORE.arn, None)
    assert str(refused.value) == "The executor of arn:core does not exist any more."


def test_a_missing_lambda_function_is_refused_with_the_reason(stage: ExecutorPlacement) -> None:
    with pytest.raises(PlacementError, match="There is no Lambda function arn:nowhere"):
        stage.placer.place("arn:nowhere", None)


def test_a_refused_shipment_changes_no_placement(stage: ExecutorPlacement) -> None:
    before = stage.list_placed()
    stage.set_manifest(CORE, "core::wait")
    stage.set_manifest(SHELF, "shelf::list", "shelf::moving", "core::moving", "other::thing")
    with pytest.raises(PlacementError, match="other::thing already"):
        stage.placer.ship([CORE.arn, SHELF.arn])
    assert stage.list_placed() == before
