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


def kit_of(answer: Any) -> Toolkit:
    kit = Toolkit("shop")

    @kit.tool(input=Order, output=Order)
    def place(order: Order) -> Any:
        assert isinstance(order, Order)
        return order if answer is None else answer

    assert place
    return kit


GOOD = {"items": [{"name": "tea"}], "day": "2027-01-31", "replyTo": "ada@example.com"}


def test_a_model_is_published_made_and_written_again() -> None:
    kit = kit_of(None)
    schema: Any = kit.functions[0].input_schema
    assert schema["properties"]["items"] == {"items": {"$ref": "#/$defs/Item"}, "title": "Items", "type": "array"}
    assert kit.test("place", GOOD).value == {**GOOD, "items": [{"name": "tea", "count": 1}], "to": "home"}


def test_what_does_not_satisfy_the_schema_of_a_model_never_reaches_it() -> None:
    message = kit_of(None).test("place", {**GOOD, "items": [{"name": "tea", "count": 0}]}).text
    assert message.startswith(
        "shop::place was not called: the argument `items.0.count` did not satisfy its input schema"
    )


def test_what_only_the_model_refuses_is_an_argument_that_is_refused() -> None:
    failed = kit_of(None).test("place", {**GOOD, "day": "1999-01-31"}).failure
    assert failed is not None
    assert (failed.code, failed.outcome) == ("invalid_arguments", "none")
    assert failed.message == (
        "shop::place was not called: the argument `day` did not satisfy its input schema: Value error, is over."
    )


def test_what_a_model_of_the_output_does_not_allow_is_not_answered() -> None:
    failed = kit_of({"items": [], "day": 5}).test("place", GOOD).failure
    assert failed is not None
    assert failed.code == "result_refused"


def test_models_inside_a_result_are_written() -> None:
    kit = Toolkit("shop")

    @kit.tool
    def stock() -> Any:
        return {"items": [Item(name="tea")]}

    assert kit.test("stock").value == {"items": [{"name": "tea", "count": 1}]}
    assert stock


class Names(RootModel[list[str]]):
    pass


def test_what_is_no_object_or_part_of_a_signature_is_refused() -> None:
    kit = Toolkit("shop")
    with pytest.raises(DeclarationError, match="shop::f: input is not valid: Names must describe an object"):
        kit.tool(input=Names)(takes_all())
    kit.tool(input=Item, strict=True)(takes_all())
    with pytest.raises(DeclarationError, match="shop::f: input is not valid: strict"):
        executor(kit)
    kit = Toolkit("shop")

    @kit.tool
    def g(item: Item) -> None: ...

    with pytest.raises(DeclarationError, match="shop::g: its parameter item: no field type fits Item"):
        executor(kit)
    assert g


def takes_all() -> Any:
    def f(args: Any) -> Any:
        return args

    return f


def test_who_has_no_models_does_not_wait_for_pydantic() -> None:
    code = """
from signpost.toolkit import Toolkit
kit = Toolkit("shop")
def f(args):
    return args
kit.tool(input={"a": "string"})(f)
assert kit.test("f", {"a": "b"}).value == {"a": "b"}
"""
    assert imported_by(code, {"pydantic"}) == set()


def test_what_an_executor_of_plain_functions_has_no_use_for_is_not_imported() -> None:
    code = """
from signpost.toolkit import Function, executor
executor(Function("f", lambda: 1))
"""
    names = {"signpost.toolkit.kit", "signpost.toolkit.content", "signpost.toolkit.rich_result"}
    assert imported_by(code, names) == set()
