"""Models of Pydantic's as inputs and outputs."""

from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator

from signpost.toolkit import DeclarationError, Toolkit, executor
from tests.support.imports import imported_by


class Item(BaseModel):
    name: str
    count: int = Field(default=1, ge=1)


class Order(BaseModel):
    model_config = ConfigDict(strict=True)

    items: list[Item]
    day: date
    to: Literal["home", "work"] = "home"
    reply_to: str | None = Field(default=None, alias="replyTo")

    @field_validator("day")
    @classmethod
    def not_in_the_past(cls, day: date) -> date:
        if day.year < 2020:
            raise ValueError("is over")
        return day


def order_kit(answer: Any) -> Toolkit:
    kit = Toolkit("shop")

    @kit.tool(input=Order, output=Order)
    def place(order: Order) -> Any:
        assert isinstance(order, Order)
        return order if answer is None else answer

    assert place
    return kit


GOOD = {"items": [{"name": "tea"}], "day": "2027-01-31", "replyTo": "ada@example.com"}


def test_a_model_is_published_cast_and_encoded() -> None:
    kit = order_kit(None)
    schema: Any = kit.functions[0].input_schema
    assert schema["properties"]["items"] == {"items": {"$ref": "#/$defs/Item"}, "title": "Items", "type": "array"}
    assert kit.test("place", GOOD).value == {**GOOD, "items": [{"name": "tea", "count": 1}], "to": "home"}


def test_arguments_that_violate_the_schema_of_a_model_never_reach_it() -> None:
    message = order_kit(None).test("place", {**GOOD, "items": [{"name": "tea", "count": 0}]}).text
    assert message.startswith(
        "shop::place was not called: the argument `items.0.count` did not satisfy its input schema"
    )


def test_an_argument_that_only_the_model_refuses_is_an_invalid_argument() -> None:
    failed = order_kit(None).test("place", {**GOOD, "day": "1999-01-31"}).failure
    assert failed is not None
    assert (failed.code, failed.outcome) == ("invalid_arguments", "none")
    assert failed.message == (
        "shop::place was not called: the argument `day` did not satisfy its input schema: Value error, is over."
    )


def test_a_result_that_its_output_model_refuses_is_not_returned() -> None:
    failed = order_kit({"items": [], "day": 5}).test("place", GOOD).failure
    assert failed is not None
    assert failed.code == "result_refused"


def test_models_inside_a_result_are_encoded() -> None:
    kit = Toolkit("shop")

    @kit.tool
    def stock() -> Any:
        return {"items": [Item(name="tea")]}

    assert kit.test("stock").value == {"items": [{"name": "tea", "count": 1}]}
    assert stock


class Names(RootModel[list[str]]):
    pass


def test_a_model_that_is_no_object_or_is_a_parameter_is_refused() -> None:
    kit = Toolkit("shop")
    with pytest.raises(DeclarationError, match="shop::f: input is not valid: Names must describe an object"):
        kit.tool(input=Names)(function_of_args())
    kit.tool(input=Item, strict=True)(function_of_args())
    with pytest.raises(DeclarationError, match="shop::f: input is not valid: strict"):
        executor(kit)
    kit = Toolkit("shop")

    @kit.tool
    def g(item: Item) -> None: ...

    with pytest.raises(DeclarationError, match="shop::g: its parameter item: no field type fits Item"):
        executor(kit)
    assert g


def function_of_args() -> Any:
    def f(args: Any) -> Any:
        return args

    return f


def test_pydantic_is_not_imported_without_models() -> None:
    code = """
from signpost.toolkit import Toolkit
kit = Toolkit("shop")
def f(args):
    return args
kit.tool(input={"a": "string"})(f)
assert kit.test("f", {"a": "b"}).value == {"a": "b"}
"""
    assert imported_by(code, {"pydantic"}) == set()


def test_an_executor_of_plain_functions_imports_no_toolkit_modules() -> None:
    code = """
from signpost.toolkit import Function, executor
executor(Function("f", lambda: 1))
"""
    names = {"signpost.toolkit.kit", "signpost.toolkit.content", "signpost.toolkit.rich_result"}
    assert imported_by(code, names) == set()
