"""Handles: state of a caller between calls, under an id that the caller passes on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from signpost.calling.handles import (
    CREATE,
    DELETE,
    HANDLE_ID,
    LARGEST_VALUE,
    LIST,
    LONGEST_SECONDS,
    MOST_LISTED,
    READ,
    WRITE,
)
from signpost.contract import CallReply, Executor, Failure, Result
from signpost.model import Json, Principal
from signpost.toolkit import Context, Function, Handle, HandleKind, ToolError, Toolkit
from tests.support.function_host import host_callable
from tests.support.stateful_functions import ANN, DESK, StatefulFunctions
from tests.support.toolkits import ServedToolkits

CART = HandleKind("cart", expires_in=100, made_by="desk.open_cart")
BOB = Principal("bob", "default", "signpost:test")
type Action = Callable[[Context, Any], object]


def describe(handle: Handle) -> Any:
    return {"id": handle.id, "version": handle.version, "value": handle.value, "expires": handle.expires_at}


def create(ctx: Context, args: Any) -> object:
    return describe(ctx.handles.create(CART, args.get("value", {"items": []})))


def get(ctx: Context, args: Any) -> object:
    return describe(ctx.handles.get(args["id"], CART))


def put(ctx: Context, args: Any) -> object:
    handle = ctx.handles.get(args["id"], CART)
    return describe(ctx.handles.put(handle, args["value"], version=args.get("version")))


def delete(ctx: Context, args: Any) -> None:
    ctx.handles.delete(args["id"])


def list_carts(ctx: Context, _args: Any) -> object:
    return [[entry.id, entry.version] for entry in ctx.handles.list(CART)]


ACTIONS: dict[str, Action] = {"create": create, "get": get, "put": put, "delete": delete, "list": list_carts}


class Shop:
    """Functions of the namespace `desk`, each of which does one thing with handles."""

    def __init__(self, **more: Action) -> None:
        self.functions = StatefulFunctions(*(self._build(name, action) for name, action in {**ACTIONS, **more}.items()))

    @staticmethod
    def _build(name: str, action: Action, namespace: str = "desk") -> Function:
        def run(args: Any, ctx: Context) -> object:
            return action(ctx, args)

        return Function(f"{namespace}::{name}", run)

    @property
    def clock(self) -> Any:
        return self.functions.clock

    def add(self, name: str, action: Action, *, namespace: str, executor: Executor) -> StatefulFunctions:
        """Host another function, on an executor of its own."""
        function = self._build(name, action, namespace)
        return StatefulFunctions(function, gateway=self.functions.gateway, executor=executor)

    def call(self, name: str, principal: Principal = ANN, namespace: str = "desk", **arguments: Any) -> Any:
        return read_value(self.functions.call(f"{namespace}::{name}", arguments, principal=principal))

    def refuse(self, name: str, principal: Principal = ANN, namespace: str = "desk", **arguments: Any) -> Failure:
        reply = self.functions.call(f"{namespace}::{name}", arguments, principal=principal)
        assert isinstance(reply, Failure), reply
        return reply


def read_value(reply: CallReply) -> Any:
    assert isinstance(reply, Result), reply
    return reply.value


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_a148_a_handle_keeps_its_value_between_calls(shop: Shop) -> None:
    made = shop.call("create", value={"items": ["tea"], "ü": None})
    assert made["version"] == 1
    assert shop.call("get", id=made["id"]) == made
    assert made["value"] == {"items": ["tea"], "ü": None}


def test_the_id_of_a_handle_has_128_random_bits(shop: Shop) -> None:
    ids = {shop.call("create")["id"] for _ in range(20)}
    assert len(ids) == 20
    assert all(HANDLE_ID.fullmatch(name) and name.startswith("cart_") for name in ids)
    assert {len(name.removeprefix("cart_")) for name in ids} == {26}  # of five bits each, the last of three


def test_a_write_replaces_the_version_that_was_read(shop: Shop) -> None:
    made = shop.call("create")
    written = shop.call("put", id=made["id"], value=[1])
    assert (written["version"], written["value"]) == (2, [1])
    assert shop.call("get", id=made["id"]) == written


@pytest.mark.invariant(158)
def test_a_write_over_a_changed_handle_is_refused(shop: Shop) -> None:
    made = shop.call("create")
    shop.call("put", id=made["id"], value=[1])
    failed = shop.refuse("put", id=made["id"], value=[2], version=1)
    assert (failed.kind, failed.outcome, failed.counts) == ("transient_error", "none", False)
    assert failed.message == (
        f"The cart {made['id']} was changed meanwhile: it has version 2, not 1. Read it again, and repeat the change."
    )
    assert shop.call("get", id=made["id"])["value"] == [1]


def test_a_deleted_handle_is_missing(shop: Shop) -> None:
    made = shop.call("create")
    for _ in range(2):
        assert shop.call("delete", id=made["id"]) is None
    assert "You have no cart" in shop.refuse("get", id=made["id"]).message


def test_a_caller_lists_the_handles_of_a_kind(shop: Shop) -> None:
    ids = sorted(shop.call("create")["id"] for _ in range(3))
    shop.call("create", principal=BOB)
    shop.call("put", id=ids[1], value=0)
    assert shop.call("list") == [[ids[0], 1], [ids[1], 2], [ids[2], 1]]
    shop.clock.advance(100)
    assert shop.call("list") == []


def test_a_list_has_a_hundred_handles_at_most() -> None:
    def fill(ctx: Context, _args: Any) -> int:
        for _ in range(MOST_LISTED + 1):
            ctx.handles.create("cart", 0)
        return len(ctx.handles.list("cart"))

    assert Shop(fill=fill).call("fill") == MOST_LISTED


@pytest.mark.invariant(157)
def test_foreign_unknown_expired_and_other_handles_have_one_answer(shop: Shop) -> None:
    def create_order(ctx: Context, _args: Any) -> object:
        return ctx.handles.create("order", 0).id

    others = Shop(order=create_order)
    order = others.call("order")
    foreign, expired = shop.call("create", principal=BOB)["id"], shop.call("create")["id"]
    deleted = shop.call("create", value=1)["id"]
    shop.call("delete", id=deleted)
    shop.clock.advance(100)
    shop.call("create", principal=BOB)
    unknown = f"cart_{'a' * 26}"
    answers = {
        shop.refuse("get", id=name).message.replace(repr(name), "…")
        for name in (foreign, expired, deleted, unknown, order, "", "cart_1", "x" * 60)
    }
    (answer,) = answers
    assert answer == (
        "You have no cart …: it does not exist, or it has expired. Call `desk.open_cart` to make a new one, and "
        "use its id from now on."
    )


@pytest.mark.parametrize("odd", [None, 7, [], {"id": "x"}, "x" * 10_000, "\ud800"])
def test_an_id_that_is_none_is_missing(shop: Shop, odd: Any) -> None:
    failed = shop.refuse("get", id=odd)
    assert failed.code == "reported"
    assert len(failed.message) < 300


def test_without_a_named_tool_the_sentence_says_what_to_make() -> None:
    shop = Shop(read=lambda ctx, _: ctx.handles.get("cart_1", "cart"))
    message = shop.refuse("read").message
    assert message.endswith("Make a new cart, and use its id from now on.")


def test_a144_a_write_to_an_expired_handle_makes_no_new_one() -> None:
    def write_late(ctx: Context, _args: Any) -> object:
        handle = ctx.handles.create(CART, 1, expires_in=10)
        shop.clock.advance(10)
        return ctx.handles.put(handle, 2)

    shop = Shop(late=write_late)
    assert "You have no cart" in shop.refuse("late").message
    assert shop.call("list") == []


@pytest.mark.invariant(157)
def test_the_owner_is_the_principal_of_each_call(shop: Shop) -> None:
    made = shop.call("create")
    others = [replace(ANN, subject="bob"), replace(ANN, issuer="another")]
    for other in others:
        assert "You have no cart" in shop.refuse("get", principal=other, id=made["id"]).message
        assert "You have no cart" in shop.refuse("put", principal=other, id=made["id"], value=0).message
        shop.call("delete", principal=other, id=made["id"])
        assert shop.call("list", principal=other) == []
    renamed = replace(ANN, roles=frozenset({"r"}), permissions=frozenset())
    assert shop.call("get", principal=renamed, id=made["id"]) == made


@pytest.mark.invariant(157)
@pytest.mark.parametrize(
    ("namespace", "arn"), [("till", "arn:till"), ("desk", "arn:stranger"), ("desk::inner", "arn:inner")]
)
def test_functions_of_another_namespace_or_executor_reach_no_handle(shop: Shop, namespace: str, arn: str) -> None:
    made = shop.call("create")
    shop.add("steal", get, namespace=namespace, executor=replace(DESK, arn=arn))
    assert "You have no cart" in shop.refuse("steal", namespace=namespace, id=made["id"]).message
    shop.add("show", list_carts, namespace=namespace, executor=replace(DESK, arn=f"{arn}2"))
    assert shop.call("show", namespace=namespace) == []


class TestExpiry:
    def test_a_handle_lasts_for_its_time(self, shop: Shop) -> None:
        made = shop.call("create")
        assert made["expires"] == pytest.approx(shop.clock.now() + 100, abs=1)
        shop.clock.advance(99)
        assert shop.call("get", id=made["id"]) == made
        shop.call("put", id=made["id"], value=1)
        shop.clock.advance(1)
        assert "You have no cart" in shop.refuse("get", id=made["id"]).message

    def test_a_creation_may_have_a_time_of_its_own(self) -> None:
        shop = Shop(short=lambda ctx, _: ctx.handles.create(CART, 0, expires_in=5).expires_at)
        assert shop.call("short") == pytest.approx(shop.clock.now() + 5, abs=1)

    @pytest.mark.parametrize("seconds", [0, 0.5, -1, LONGEST_SECONDS + 1, float("nan")])
    def test_a_time_that_is_not_possible_is_a_fault_of_the_author(self, seconds: float) -> None:
        shop = Shop(odd=lambda ctx, _: ctx.handles.create("cart", 0, expires_in=seconds).id)
        assert shop.refuse("odd").code == "exception"

    def test_a140_each_use_of_a_sliding_handle_begins_its_time_anew(self) -> None:
        sliding = replace(CART, sliding=True)
        shop = Shop(
            open=lambda ctx, _: ctx.handles.create(sliding, 0).id,
            look=lambda ctx, args: ctx.handles.get(args["id"], sliding).version,
        )
        name = shop.call("open")
        for _ in range(5):
            shop.clock.advance(99)
            assert shop.call("look", id=name) == 1
        shop.clock.advance(100)
        assert "You have no cart" in shop.refuse("look", id=name).message

    def test_a_use_soon_after_another_writes_nothing(self) -> None:
        sliding = replace(CART, sliding=True)
        shop = Shop(
            open=lambda ctx, _: ctx.handles.create(sliding, 0).id,
            look=lambda ctx, args: ctx.handles.get(args["id"], sliding).expires_at,
        )
        name = shop.call("open")
        first = shop.call("look", id=name)
        shop.clock.advance(9)
        assert shop.call("look", id=name) == first
        shop.clock.advance(1)
        assert shop.call("look", id=name) == first + 10


def open_rebuilding_shop(rebuild: Callable[[str, Context], object]) -> Shop:
    kind = replace(CART, rebuild=rebuild)
    return Shop(look=lambda ctx, args: describe(ctx.handles.get(args["id"], kind)))


def test_a138_a139_a142_a_rebuilt_handle_keeps_its_id() -> None:
    shop = open_rebuilding_shop(lambda name, ctx: {"for": ctx.principal.subject, "was": name})
    made = shop.call("create")
    shop.clock.advance(100)
    rebuilt = shop.call("look", id=made["id"])
    assert (rebuilt["id"], rebuilt["value"]) == (made["id"], {"for": "ann", "was": made["id"]})
    assert shop.call("get", id=made["id"]) == rebuilt


@pytest.mark.invariant(158)
def test_a_writer_of_the_former_handle_does_not_write_the_rebuilt_one() -> None:
    shop = open_rebuilding_shop(lambda _name, _ctx: "rebuilt")
    made = shop.call("create")
    shop.clock.advance(100)
    shop.call("look", id=made["id"])
    assert "was changed meanwhile" in shop.refuse("put", id=made["id"], value=0, version=made["version"]).message


def test_a_hook_may_replace_the_handle() -> None:
    shop = open_rebuilding_shop(lambda _name, ctx: ctx.handles.create(CART, "new"))
    replaced = shop.call("look", id=f"cart_{'a' * 26}")
    assert replaced["value"] == "new"
    assert replaced["id"] != f"cart_{'a' * 26}"


def test_a141_a143_a_hook_may_refuse_in_its_own_words() -> None:
    def refuse(_name: str, _ctx: Context) -> object:
        raise ToolError("The shop is closed.")

    assert open_rebuilding_shop(refuse).refuse("look", id=f"cart_{'a' * 26}").message == "The shop is closed."


def test_a_hook_without_an_answer_refuses() -> None:
    shop = open_rebuilding_shop(lambda _name, _ctx: None)
    assert "You have no cart" in shop.refuse("look", id=f"cart_{'a' * 26}").message


@pytest.mark.parametrize("odd", ["", "cart_1", f"order_{'a' * 26}", None])
def test_an_id_that_no_handle_of_the_kind_can_have_is_not_rebuilt(odd: Any) -> None:
    shop = open_rebuilding_shop(lambda _name, _ctx: "rebuilt")
    assert "You have no cart" in shop.refuse("look", id=odd).message


def test_a_foreign_handle_is_not_rebuilt_from_its_owner() -> None:
    shop = open_rebuilding_shop(lambda _name, _ctx: "bob's own")
    made = shop.call("create", value="ann's")
    assert shop.call("look", principal=BOB, id=made["id"])["value"] == "bob's own"
    assert shop.call("get", id=made["id"]) == made


def test_a_concurrent_rebuilding_wins_once() -> None:
    values = iter(["first", "second"])
    nested: list[Any] = []

    def rebuild(name: str, _ctx: Context) -> object:
        value = next(values)
        if value == "first":
            nested.append(shop.call("look", id=name))
        return value

    shop = open_rebuilding_shop(rebuild)
    assert shop.call("look", id=f"cart_{'a' * 26}") == nested[0]
    assert nested[0]["value"] == "second"


def upgrade(value: Json, schema: int) -> Json:
    return {"items": value, "was": schema}


class TestVersionsOfAForm:
    """A release of the author reads the values of earlier ones."""

    OLD = replace(CART, schema=1)
    NEW = replace(CART, schema=3, upgrade=upgrade)

    def open_shop(self, reader: HandleKind) -> Shop:
        def rewrite(ctx: Context, args: Any) -> object:
            handle = ctx.handles.get(args["id"], reader)
            return describe(ctx.handles.put(handle, handle.value))

        return Shop(
            old=lambda ctx, _: ctx.handles.create(self.OLD, ["tea"]).id,
            look=lambda ctx, args: describe(ctx.handles.get(args["id"], reader)),
            rewrite=rewrite,
        )

    def test_a145_a147_a_value_of_an_earlier_form_is_upgraded(self) -> None:
        shop = self.open_shop(self.NEW)
        name = shop.call("old")
        assert shop.call("look", id=name)["value"] == {"items": ["tea"], "was": 1}
        rewritten = shop.call("rewrite", id=name)
        assert shop.call("look", id=name) == rewritten
        assert rewritten["value"] == {"items": ["tea"], "was": 1}

    def test_a_value_of_a_later_form_is_missing(self) -> None:
        shop = self.open_shop(self.NEW)
        name = shop.call("old")
        shop.call("rewrite", id=name)
        assert "You have no cart" in shop.refuse("get", id=name).message

    def test_without_an_upgrade_an_earlier_form_is_missing(self) -> None:
        shop = self.open_shop(replace(self.NEW, upgrade=None))
        assert "You have no cart" in shop.refuse("look", id=shop.call("old")).message


class TestValues:
    def test_a_value_that_is_too_large_is_refused_in_a_sentence(self, shop: Shop) -> None:
        assert shop.call("create", value="x" * (LARGEST_VALUE - 2))["version"] == 1
        failed = shop.refuse("create", value="x" * (LARGEST_VALUE - 1))
        assert (failed.code, failed.outcome) == ("reported", "none")
        assert failed.message == (
            f"The cart is too large to be kept: its JSON has {LARGEST_VALUE + 1} characters, and {LARGEST_VALUE} are "
            "possible."
        )

    def test_a_value_that_is_nested_too_deeply_is_refused(self) -> None:
        deep: Any = []
        for _ in range(100):
            deep = [deep]
        shop = Shop(deep=lambda ctx, _: ctx.handles.create(CART, deep).id)
        assert "nested too deeply" in shop.refuse("deep").message

    @pytest.mark.parametrize("value", [object(), float("nan"), {1: 2}, "\ud800"])
    def test_a146_a_value_that_is_not_json_is_a_fault_of_the_author(self, value: object) -> None:
        shop = Shop(odd=lambda ctx, _: ctx.handles.create(CART, value).id)
        assert shop.refuse("odd").code == "exception"

    @pytest.mark.parametrize("kind", ["", "Cart", "a_b", "x" * 33, "1a", "a#b"])
    def test_a_kind_that_no_handle_can_have_is_a_fault_of_the_author(self, kind: str) -> None:
        shop = Shop(odd=lambda ctx, _: ctx.handles.create(kind, 0).id)
        assert shop.refuse("odd").code == "exception"

    def test_a_kept_value_has_no_secret(self) -> None:
        def keep(_: Any, ctx: Context) -> Json:
            return ctx.handles.create(CART, [ctx.secret("pin")]).value

        functions = StatefulFunctions(Function("desk::f", keep), secrets={"pin": "correct horse battery"})
        assert read_value(functions.call("desk::f")) == ["***"]
        assert "horse" not in str(functions.gateway.handles.handles)


@pytest.mark.invariant(156)
@pytest.mark.parametrize("action", [CREATE, READ, WRITE, DELETE, LIST])
@pytest.mark.parametrize("lost", ["lost_before", "lost_after"])
def test_a_lost_message_is_sent_again_and_changes_nothing_twice(
    shop: Shop, action: str, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)
    getattr(shop.functions.transport, lost)[action] = 2
    made = shop.call("create")
    assert shop.call("put", id=made["id"], value=[1])["version"] == 2
    assert shop.call("list") == [[made["id"], 2]]
    shop.call("delete", id=made["id"])
    assert shop.call("list") == []


def test_an_executor_without_the_gateway_says_so() -> None:
    reply = host_callable(lambda _, ctx: ctx.handles.create("cart", 0).id).call("f")
    assert isinstance(reply, Failure)
    assert reply.message.startswith("ctx.handles is not possible: this executor was deployed without GATEWAY_FUNCTION.")


GOOD: Any = {
    "id": f"cart_{'a' * 26}", "text": "1", "schema": 1, "seconds": 60, "write": "w", "version": 1, "kind": "cart"
}  # fmt: skip


@pytest.mark.parametrize(
    ("action", "changes"),
    [
        *((action, {"id": odd}) for action in (CREATE, READ, WRITE, DELETE) for odd in ("", "cart_1", "x#y", 7, None)),
        *((CREATE, {"seconds": odd}) for odd in (0, -1, 1e12, "60", None, True)),
        *((action, {"text": odd}) for action in (CREATE, WRITE) for odd in ("{", "NaN", 1, '"\ud800"', "[" * 90_000)),
        *((action, {"text": f'"{"x" * LARGEST_VALUE}"'}) for action in (CREATE, WRITE)),
        *((action, {"write": odd}) for action in (CREATE, WRITE) for odd in ("", "w" * 65, 7, "\ud800")),
        *((action, {"schema": odd}) for action in (CREATE, WRITE) for odd in (-1, 1.5, "1", None, 1e300)),
        *((WRITE, {"version": odd}) for odd in (-1, 1.5, "1", None, 1e300)),
        *((LIST, {"kind": odd}) for odd in ("", "A", "a_", "a#", 7, None)),
    ],
)
def test_malformed_operations_are_refused(shop: Shop, action: str, changes: Any) -> None:
    reply = shop.functions.perform(read_token(shop), action, {**GOOD, **changes})
    assert isinstance(reply, Failure)
    assert reply.code == "not_understood", reply


@pytest.mark.invariant(157)
def test_no_field_names_another_owner(shop: Shop) -> None:
    made = shop.call("create")
    token = read_token(shop, BOB)
    forged = {"tenant": "default", "principal": "ann", "owner": "ann", "subject": "ann", "function": "desk::create"}
    assert shop.functions.perform(token, READ, {**forged, "id": made["id"]}) == Result({"state": "missing"}, [])


def read_token(shop: Shop, principal: Principal = ANN) -> str:
    """Return the token of a call that was just made, which is valid until its deadline."""
    tokens: list[str] = []
    handle = shop.functions.gateway.executors[DESK.arn]
    shop.functions.gateway.executors[DESK.arn] = lambda event: tokens.append(str(event["token"])) or handle(event)
    shop.call("list", principal=principal)
    return tokens[-1]


def test_a_client_passes_a_handle_from_call_to_call() -> None:
    """As a model does: the id is in the answer of one tool and in the arguments of the next one."""
    kit = Toolkit("desk")

    @kit.tool
    def open_cart(ctx: Context) -> dict[str, str]:
        """Opens a cart."""
        return {"cart": ctx.handles.create(CART, []).id}

    @kit.tool
    def add(cart: str, item: str, ctx: Context) -> dict[str, object]:
        """Puts an item into a cart."""
        found = ctx.handles.get(cart, CART)
        return {"items": ctx.handles.put(found, [*found.value, item]).value}

    assert [open_cart, add]
    served = ServedToolkits(kit)
    cart = served.call("desk__open_cart")["structuredContent"]["cart"]
    for items in (["tea"], ["tea", "ham"]):
        assert served.call("desk__add", cart=cart, item=items[-1])["structuredContent"] == {"items": items}
    served.gateway.clock.advance(200)
    served.key = str(served.gateway.make_key())
    missing = served.call("desk__add", cart=cart, item="tea")
    assert missing["isError"] is True
    assert "Call `desk.open_cart` to make a new one" in missing["content"][0]["text"]
