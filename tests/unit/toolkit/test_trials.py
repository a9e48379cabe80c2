"""What authors test with: the checks of an executor, without one."""

import enum
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from signpost.contract import Failure
from signpost.model import InputRequired, Principal
from signpost.toolkit import Answer, CallEnded, CallFailed, Content, Context, ToolError, Toolkit, ToolResult
from signpost.toolkit.testing import TrialState


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    on: date


def kit_with_tool(value: Any, **said: Any) -> Toolkit:
    """A kit whose tool `f` answers this."""
    kit = Toolkit("yard")

    def f() -> Any:
        return value() if callable(value) else value

    kit.tool(**said)(f)
    return kit


@pytest.mark.parametrize(
    ("answered", "value"),
    [
        ("text", "text"),
        (5, 5),
        (1.5, 1.5),
        (True, True),
        (None, None),
        ({"a": [1]}, {"a": [1]}),
        ([], []),
        ((1, 2), [1, 2]),
        (Point(1, date(2027, 1, 31)), {"x": 1, "on": "2027-01-31"}),
        (
            {"colour": Colour.RED, "points": [Point(1, date(2027, 1, 31))]},
            {"colour": "red", "points": [{"x": 1, "on": "2027-01-31"}]},
        ),
        (Answer({"a": Colour.RED}), {"a": "red"}),
    ],
)
def test_a_trial_has_the_plain_value_of_a_tool(answered: Any, value: Any) -> None:
    tested = kit_with_tool(answered).test("f")
    assert tested.value == value
    assert tested.structured == (value if isinstance(value, dict) else None)
    assert tested.failure is None


def test_content_is_shown_and_its_text_is_the_value() -> None:
    image = Content.image(b"\x00", "image/png")
    tested = kit_with_tool([Content.text("one"), image, Content.text("two")]).test("f")
    assert tested.content == [Content.text("one").block, image.block, Content.text("two").block]
    assert (tested.value, tested.text, tested.structured) == ("one\ntwo", "one\ntwo", None)
    assert kit_with_tool(image).test("f").value is None


def test_a_tool_result_has_content_structured_value_meta_and_evidence() -> None:
    result = ToolResult([Content.text("Five.")], structured={"n": 5}, meta={"took": 3})
    tested = kit_with_tool(Answer(result, evidence=[{"kind": "counted"}])).test("f")
    assert (tested.text, tested.structured, tested.meta) == ("Five.", {"n": 5}, {"took": 3})
    assert tested.evidence == [{"kind": "counted"}]
    assert kit_with_tool(ToolResult(structured={"n": 5})).test("f").text == '{"n": 5}'


def test_a_failed_trial_has_a_failure_and_reading_its_value_is_an_error() -> None:
    def refuses() -> None:
        raise ToolError("No mail today.", kind="rate_limited", retry_after_ms=5)

    tested = kit_with_tool(refuses).test("f")
    assert tested.failure == Failure("reported", "rate_limited", "none", "No mail today.", 5)
    assert tested.text == "No mail today."
    with pytest.raises(AssertionError, match=r"f failed: No mail today\."):
        _ = tested.value


def test_a_tool_result_may_be_an_error() -> None:
    said = ToolResult([Content.text("No."), Content.text("Never.")], is_error=True)
    tested = kit_with_tool(said, output={"n": {"type": "integer", "required": True}}).test("f")
    assert tested.failure is not None
    assert (tested.failure.code, tested.failure.outcome, tested.failure.message) == ("reported", "none", "No.\nNever.")
    assert tested.content == [Content.text("No.").block, Content.text("Never.").block]
    bare = kit_with_tool(ToolResult(is_error=True)).test("f").failure
    assert bare is not None
    assert bare.message == "It reported a failure without a message."
    told = kit_with_tool(ToolResult(structured={"why": "late"}, is_error=True)).test("f").failure
    assert told is not None
    assert told.message == '{"why": "late"}'


def test_an_exception_has_a_message_for_callers_and_a_fault_for_the_log() -> None:
    tested = kit_with_tool(lambda: 1 / 0).test("f")
    assert tested.failure is not None
    assert tested.failure.message == "yard::f failed unexpectedly."
    assert "ZeroDivisionError" in tested.fault
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        _ = tested.value


@pytest.mark.parametrize(
    "wrong",
    [
        [Content.text("a"), "b"],
        {"content": Content.text("a")},
        {"answer": Answer(1)},
        [InputRequired({})],
        {"class": Point},
        ToolResult(structured=[1]),
        ToolResult("a"),  # pyright: ignore[reportArgumentType] - likewise
        ToolResult(["a"]),  # pyright: ignore[reportArgumentType] - that is what is wrong
        ToolResult(meta=[1]),  # pyright: ignore[reportArgumentType] - likewise
        Answer(1, evidence="x"),  # pyright: ignore[reportArgumentType] - likewise
        object(),
        {1, 2},
        {1: 2},
        Point({1: 2}, date(2027, 1, 31)),  # pyright: ignore[reportArgumentType] - likewise
        b"bytes",
        float("nan"),
    ],
)
def test_a_value_without_a_wire_form_is_a_bad_result(wrong: Any) -> None:
    tested = kit_with_tool(lambda: wrong).test("f")
    assert tested.failure is not None
    assert (tested.failure.code, tested.failure.outcome) == ("bad_result", "unknown")
    assert tested.fault


def test_a072_an_optional_field_of_an_output_may_be_null() -> None:
    kit = kit_with_tool({"n": 1, "note": None}, output={"n": {"type": "integer", "required": True}, "note": "string"})
    schema: Any = kit.functions[0].output_schema
    assert schema["properties"] == {"n": {"type": "integer"}, "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    assert schema["required"] == ["n"]
    assert kit.test("f").value == {"n": 1, "note": None}


def test_a071_the_fields_of_an_output_are_as_deep_as_those_of_an_input() -> None:
    rows = {
        "type": ("array", "object"),
        "required": True,
        "fields": {"id": {"type": "integer", "required": True, "description": "Which."}},
    }
    schema: Any = kit_with_tool(None, output={"rows": rows}).functions[0].output_schema
    item = {"type": "object", "properties": {"id": {"type": "integer", "description": "Which."}}, "required": ["id"]}
    assert schema["properties"] == {"rows": {"type": "array", "items": item}}


def test_a078_a_result_that_violates_its_schema_is_not_returned() -> None:
    tested = kit_with_tool({"n": "five"}, output={"n": {"type": "integer", "required": True}}).test("f")
    assert tested.failure is not None
    assert (tested.failure.code, tested.failure.outcome) == ("result_refused", "unknown")
    assert "`n` of its result" in tested.fault
    assert "five" not in tested.text
    assert kit_with_tool("text", output={"n": "integer"}).test("f").failure


def test_a079_a080_arguments_may_be_left_out_where_none_is_required() -> None:
    kit = Toolkit("yard")

    @kit.tool(input={"n": {"type": "integer", "default": 1}})
    def lenient(args: Any) -> Any:
        return args

    @kit.tool
    def demanding(n: int) -> Any:
        return n

    assert kit.test("lenient").value == {"n": 1}
    missing = kit.test("demanding").failure
    assert missing is not None
    assert missing.code == "invalid_arguments"
    assert [lenient, demanding]


def test_n009_a_missing_argument_is_reported_with_its_function() -> None:
    kit = Toolkit("yard")

    @kit.tool(name="greet")
    def f(name: str) -> str:
        return name

    assert kit.test("greet").text.startswith("yard::f was not called: the argument `name`")
    assert f("a") == "a"


def test_a_trial_sets_principal_and_permissions() -> None:
    kit = Toolkit("yard")

    @kit.tool(permissions=["mail", "web"], timeout_ms=5_000)
    def who(ctx: Context) -> Any:
        return [ctx.principal.subject, ctx.principal.human, sorted(ctx.permissions), ctx.remaining() <= 5]

    assert kit.test("who").value == ["tester", False, ["mail", "web"], True]
    ada = Principal("ada", "acme", "issuer", human=True)
    assert kit.test("who", principal=ada, permissions=["mail", "root"]).value == [
        "ada",
        True,
        ["mail"],
        True,
    ]
    assert who


def test_nested_calls_of_a_trial_are_answered_by_stand_ins() -> None:
    kit = Toolkit("yard")

    @kit.tool(calls=["other::one"])
    def asks(word: str, ctx: Context) -> Any:
        return ctx.call("other::one", {"word": word})

    def refuses(arguments: Any) -> None:
        raise ToolError(f"No {arguments['word']}.")

    assert (
        kit.test("asks", {"word": "tea"}, calls={"other::one": lambda arguments: f"{arguments['word']}!"}).value
        == "tea!"
    )
    assert kit.test("asks", {"word": "tea"}, calls={"other::one": refuses}).text == "No tea."
    alone = kit.test("asks", {"word": "tea"}).failure
    assert alone is not None
    assert alone.message == "There is no function other::one."
    assert asks


def test_required_input_is_answered_in_a_second_trial() -> None:
    kit = Toolkit("yard")
    question = InputRequired({"name": {"method": "elicitation/create", "params": {}}}, state={"round": 1})

    @kit.tool
    def greet(ctx: Context) -> Any:
        return [ctx.answers["name"], ctx.state] if ctx.answers else question

    first = kit.test("greet")
    assert first.asked == question
    with pytest.raises(AssertionError, match="greet asked for name first"):
        _ = first.value
    assert kit.test("greet", after=first.asked, answers={"name": "Ada"}).value == ["Ada", {"round": 1}]
    assert greet


def test_a_context_ends_with_its_call() -> None:
    kept: list[Context] = []
    kit = Toolkit("yard")

    @kit.tool
    def keeps(ctx: Context) -> None:
        kept.append(ctx)

    assert kit.test("keeps").value is None
    with pytest.raises(CallEnded):
        kept[0].call("other")
    assert issubclass(CallFailed, ToolError)
    assert keeps


def test_an_unknown_tool_is_reported_with_the_known_ones() -> None:
    with pytest.raises(LookupError, match="yard has no tool 'g'; it has 'f'"):
        kit_with_tool(1).test("g")
    with pytest.raises(LookupError, match="yard has no tool 'g'; it has none"):
        Toolkit("yard").test("g")


def charging_kit(effects: list[str]) -> Toolkit:
    kit = Toolkit("desk")

    @kit.tool
    def charge(amount: int, ctx: Context) -> int:
        return ctx.once("charge", lambda: effects.append("charged") or amount)

    @kit.tool
    def open_cart(ctx: Context) -> str:
        return ctx.handles.create("cart", []).id

    @kit.tool
    def read_cart(cart: str, ctx: Context) -> object:
        return ctx.handles.get(cart, "cart").value

    return kit


def test_trials_with_the_same_state_are_rounds_of_one_request() -> None:
    effects: list[str] = []
    kit, kept = charging_kit(effects), TrialState()
    assert [kit.test("charge", {"amount": 5}, kept=kept).value for _ in range(2)] == [5, 5]
    assert effects == ["charged"]
    kit.test("charge", {"amount": 5})  # a request of its own
    assert len(effects) == 2


def test_trials_with_the_same_state_share_handles_of_one_caller() -> None:
    kit, kept = charging_kit([]), TrialState()
    cart = kit.test("open_cart", kept=kept).value
    assert kit.test("read_cart", {"cart": cart}, kept=kept).value == []
    for missing in (
        kit.test("read_cart", {"cart": cart}),
        kit.test("read_cart", {"cart": cart}, kept=kept, principal="another"),
    ):
        assert missing.failure is not None
        assert "You have no cart" in missing.failure.message
