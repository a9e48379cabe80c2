"""Plain functions as tools: what is said of them, how they want to be called, and what is refused at import."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from signpost.contract import LONGEST_NAME, LONGEST_TITLE
from signpost.model import JsonObject
from signpost.toolkit import Context, DeclarationError, Function, Toolkit, executor
from signpost.toolkit.hosting import functions_by_id
from signpost.toolkit.options import HINTS, ToolOptions


def kit_of_five() -> Toolkit:
    kit = Toolkit("files", category="Utility")

    @kit.tool(name="files.read", category="Files", description="Reads a file.", input={"path": "string"})
    def read(args: Any, ctx: Any) -> Any:
        return [args, ctx]

    @kit.tool
    def server_time() -> str:
        """The time of the server.

        In its own zone.
        """
        return "noon"

    @kit.tool(visible=False)
    @kit.tool(input='{"type": "object", "properties": {"q": {"type": "string"}}}')
    def lookup(args: Any) -> Any:
        return args["q"]

    @kit.tool(title="Sum", annotations={"read_only_hint": True}, meta={"cost": 1})
    def add(a: int, b: int = 2) -> int:
        return a + b

    @kit.tool(input_schema={"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})
    def either(args: Any) -> Any:
        return args

    assert [read, server_time, lookup, add, either]
    return kit


def declared_function(*stacked: dict[str, Any], run: Any = None) -> Function:
    """One tool of these decorators, the outermost first."""
    kit = Toolkit("yard", category="Yard")
    declared: Any = run or simple()
    for said in reversed(stacked or ({},)):
        declared = kit.tool(**said)(declared)
    (function,) = kit.functions
    return function


def simple() -> Any:
    def f() -> None:
        """Does nothing."""

    return f


def test_n001_n039_n041_functions_are_tools_in_the_order_of_their_declaration() -> None:
    functions = kit_of_five().functions
    assert [function.name for function in functions] == ["files.read", "server_time", "lookup", "add", "either"]
    assert [function.id for function in functions] == [
        f"files::{name}" for name in ("read", "server_time", "lookup", "add", "either")
    ]


def test_n002_stacked_decorators_declare_one_tool_and_the_nearest_wins() -> None:
    lookup = kit_of_five().functions[2]
    assert lookup.hidden
    assert lookup.input_schema == {"type": "object", "properties": {"q": {"type": "string"}}}
    merged = declared_function({"name": "far", "title": "T", "hidden": True}, {"name": "near", "hidden": False})
    assert (merged.name, merged.title, merged.hidden) == ("near", "T", False)


def test_n003_the_category_of_a_tool_overrides_that_of_the_kit() -> None:
    assert [function.category for function in kit_of_five().functions] == ["Files", *["Utility"] * 4]
    assert Toolkit("bare").category is None


def test_a_decorated_function_is_unchanged() -> None:
    def plain(a: int) -> int:
        return a + 1

    assert Toolkit("yard").tool(plain) is plain
    assert Toolkit("yard").tool(title="T")(plain)(1) == 2


def test_n004_a_spec_is_a_schema_and_a_cast_and_an_output_schema() -> None:
    kit = Toolkit("yard")
    mode = {"type": "enum", "values": ["plain", "loud"], "default": "plain", "description": "How."}

    @kit.tool(
        input={"message": {"type": "string", "required": True}, "mode": mode},
        output={"said": {"type": "string", "required": True}},
    )
    def echo(args: Any) -> Any:
        return {"said": f"{args['message']} {args['mode']}"}

    (function,) = kit.functions
    assert function.input_schema == {
        "type": "object",
        "properties": {
            "message": {"type": "string"},
            "mode": {"type": "string", "enum": ["plain", "loud"], "description": "How.", "default": "plain"},
        },
        "required": ["message"],
    }
    assert function.output_schema == {
        "type": "object",
        "properties": {"said": {"type": "string"}},
        "required": ["said"],
    }
    assert kit.test("echo", {"message": "a"}).structured == {"said": "a plain"}
    assert echo({"message": "a", "mode": "b"})


def test_n005_n012_n040_raw_schemas_are_kept_and_arguments_are_not_cast() -> None:
    kit = kit_of_five()
    assert kit.functions[4].input_schema == {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert kit.test("lookup", {"q": "a"}).value == "a"
    assert kit.test("either", {"a": 1, "more": "2027-01-31"}).value == {"a": 1, "more": "2027-01-31"}
    assert kit.test("either", {"a": 1, "b": 2}).failure


@pytest.mark.parametrize(("option", "kept"), [("input_schema", "input_schema"), ("output_schema", "output_schema")])
def test_a_raw_schema_overrides_a_spec(option: str, kept: str) -> None:
    raw = {"type": "object", "required": ["raw"]}
    spec = option.removesuffix("_schema")
    assert getattr(declared_function({option: raw, spec: {"a": "string"}}, run=function_of_args()), kept) == raw


def function_of_args() -> Any:
    def f(args: Any) -> Any:
        return args

    return f


def test_n010_a_function_gets_the_parameters_that_it_takes() -> None:
    kit = kit_of_five()
    assert kit.test("server_time").value == "noon"
    assert kit.test("lookup", {"q": "a"}).value == "a"
    first, second = Toolkit("yard"), {"input": {"a": "string"}}

    @first.tool(**second)  # pyright: ignore[reportArgumentType] - the options stand in a mapping of their own
    def both(args: Any, ctx: Context) -> Any:
        return [args, ctx.principal.subject]

    assert first.test("both", {"a": "b"}, principal="ada").value == [{"a": "b"}, "ada"]
    assert both


def test_a063_a065_the_description_is_the_docstring_or_empty() -> None:
    server_time, lookup = kit_of_five().functions[1:3]
    assert server_time.description == "The time of the server.\n\nIn its own zone."
    assert lookup.description == ""
    assert declared_function({"description": "Said."}).description == "Said."


def test_a066_a067_a068_a070_n038_undeclared_options_are_absent() -> None:
    said, silent = kit_of_five().functions[3], kit_of_five().functions[4]
    assert (said.title, said.annotations, said.meta) == ("Sum", {"readOnlyHint": True}, {"cost": 1})
    assert (silent.title, silent.annotations, silent.meta, silent.output_schema) == (None, {}, {}, None)


def test_n037_hints_are_known_by_either_spelling_and_published_by_that_of_mcp() -> None:
    snake = {hint: "T" if hint == "title" else True for hint in HINTS}
    camel = {HINTS[hint]: value for hint, value in snake.items()}
    assert (
        declared_function({"annotations": snake}).annotations
        == declared_function({"annotations": camel}).annotations
        == camel
    )


def test_every_option_reaches_the_hosted_function() -> None:
    function = declared_function({
        "timeout_ms": 5_000, "permissions": ["mail"], "idempotent": True, "isolate": True, "readable": False,
        "expose": True, "doc": "mail/send", "icons": [{"src": "https://a.test/i.png"}],
    })  # fmt: skip
    hosted = function.hosted
    assert (hosted.timeout_ms, hosted.permissions, hosted.idempotent) == (5_000, frozenset({"mail"}), True)
    assert (function.isolate, hosted.readable, hosted.exposed, hosted.doc) == (True, False, True, "mail/send")
    assert list(hosted.icons) == [{"src": "https://a.test/i.png"}]


@pytest.mark.parametrize(
    ("said", "hidden"),
    [({}, False), ({"hidden": True}, True), ({"visible": False}, True), ({"hidden": False, "visible": False}, False)],
)
def test_n028_hidden_overrides_visible(said: dict[str, Any], hidden: bool) -> None:
    assert declared_function(said).hidden is hidden


# Refused at import


def generating(args: Any) -> Any:
    yield args


async def generating_asynchronously(args: Any) -> Any:
    yield args


def _private() -> None: ...


def Shouting() -> None: ...  # noqa: N802 - that is what is wrong with it


class Called:
    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (generating, "yard::generating: it is a generator"),
        (generating_asynchronously, "yard::generating_asynchronously: it is an async generator"),
        (_private, "yard::_private: .* is private"),
        (Shouting, "'yard::Shouting' is not a valid function id"),
        (lambda: None, "'yard::<lambda>' is not a valid function id"),
        (Called, "yard: .*Called.* is not a function"),
        (Called(), "yard: .* is not a function"),
        (functools.partial(simple), "yard: .* is not a function"),
        (len, "yard: .*len.* is not a function"),
        ("f", "yard: 'f' is not a function"),
    ],
)
def test_n023_a_value_that_is_no_public_function_is_refused(run: Any, words: str) -> None:
    for decorate in (Toolkit("yard").tool, Toolkit("yard").tool(title="T")):
        with pytest.raises(DeclarationError, match=words):
            decorate(run)


def three(args: Any, ctx: Any, more: Any) -> None: ...


def context_first(ctx: Any) -> None: ...


def with_a_name(args: Any, *, limit: int) -> None: ...


@pytest.mark.parametrize("run", [three, context_first, with_a_name])
def test_n024_more_than_arguments_and_context_is_refused_when_the_kit_is_hosted(run: Any) -> None:
    kit = Toolkit("yard")
    kit.tool(input={"a": "string"})(run)
    with pytest.raises(DeclarationError, match=f"yard::{run.__name__}: its parameters are"):
        executor(kit)


@pytest.mark.parametrize("option", ["input", "output", "input_schema", "output_schema"])
@pytest.mark.parametrize(
    "text", ["{", "[]", "5", '{"type": "nonsense"}', '{"a": NaN}', '{"$ref": "https://a.test"}', "[" * 100_000]
)
def test_n025_n047_text_that_is_no_schema_is_refused_by_tool_and_option(option: Any, text: str) -> None:
    with pytest.raises(DeclarationError, match=f"yard::f: {option} is not valid: "):
        declared_function({option: text}, run=function_of_args())


def test_n047_either_schema_may_be_given_as_text() -> None:
    text = '{"type": "object", "properties": {"q": {"type": "string"}}}'
    function = declared_function({"input": text, "output": text}, run=function_of_args())
    assert (
        function.input_schema == function.output_schema == {"type": "object", "properties": {"q": {"type": "string"}}}
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"name": ""}, "name is not a text of 1 to 128"),
        ({"name": "a\nb"}, "name is not a text of 1 to 128 printable"),
        ({"name": "x" * (LONGEST_NAME + 1)}, "name is not a text"),
        ({"name": None}, "name must not be None"),
        ({"title": 5}, "title is not a text"),
        ({"title": "x" * (LONGEST_TITLE + 1)}, "title is not a text"),
        ({"category": " "}, "category is not a text"),
        ({"description": 5}, "description is not a text"),
        ({"description": "x" * 4_001}, "description is not a text"),
        (
            {"annotations": {"readonly": True}},
            "annotations has an unknown hint 'readonly'; use one of title, read_only_hint",
        ),
        ({"annotations": {"read_only_hint": "yes"}}, "annotations must have a boolean as its hint read_only_hint"),
        ({"annotations": {"title": True}}, "annotations must have a text as its hint title"),
        ({"annotations": ["read_only_hint"]}, "annotations must be a mapping"),
        ({"icons": [{"src": "http://a.test"}]}, "icons is not a list"),
        ({"icons": "https://a.test"}, "icons is not a list"),
        ({"meta": "x"}, "meta is not an object"),
        ({"meta": {"a": {1, 2}}}, "meta is not JSON"),
        ({"meta": {"a": float("nan")}}, "meta is not JSON"),
        ({"meta": {"a": "x" * 10_000}}, "meta has more than 8000"),
        ({"hidden": 1}, "hidden is neither"),
        ({"visible": "no"}, "visible is neither"),
        ({"strict": 1}, "strict is neither"),
        ({"idempotent": "yes"}, "idempotent is neither"),
        ({"isolate": 1}, "isolate is neither"),
        ({"timeout_ms": 0}, "timeout_ms must be a positive"),
        ({"permissions": "mail"}, "permissions must be a sequence"),
        ({"doc": "Mail Send"}, "doc is not a valid id of a skill document: "),
        ({"doc": 5}, "doc must be the id"),
        ({"colour": "red"}, "colour is not an option; the options are annotations, calls, category"),
        (
            {"input_schema": {"a": "string"}, "strict": True},
            "input_schema is not valid: strict works with field specs only",
        ),
        ({"input": {"type": "object"}, "strict": True}, "input is not valid: strict works with field specs only"),
        ({"input": int}, "input is not valid: it must describe an object"),
        ({"input": "Itself"}, "input is not valid: its text is not JSON"),
        ({"input_schema": ["a"]}, "input_schema is not valid: it must be a JSON object"),
        ({"input_schema": {"const": {1}}}, "input_schema is not valid: it has no form in JSON"),
    ],
)
def test_an_invalid_option_is_refused_by_tool_and_option(said: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=f"^yard::f: {words}"):
        declared_function(said, run=function_of_args())


@pytest.mark.parametrize("option", sorted(ToolOptions.__annotations__))
def test_every_option_is_checked(option: str) -> None:
    with pytest.raises(DeclarationError, match=f"^yard::f: {option} "):
        Toolkit("yard").tool(**{option: 1j})(function_of_args())  # pyright: ignore[reportArgumentType] - that is what is wrong


@pytest.mark.parametrize("namespace", ["", "Yard", "a:b", "a::", None])
def test_a_namespace_is_the_beginning_of_an_id(namespace: Any) -> None:
    with pytest.raises(DeclarationError, match="is not a valid namespace"):
        Toolkit(namespace)


def test_the_category_of_a_kit_is_a_text() -> None:
    with pytest.raises(DeclarationError, match="yard: category is not a text"):
        Toolkit("yard", category="")


def test_n022_two_tools_of_one_name_are_refused_by_that_name() -> None:
    kit = Toolkit("yard")
    kit.tool(name="the one")(simple())

    @kit.tool(name="the one")
    def other() -> None: ...

    assert other
    with pytest.raises(DeclarationError, match="tools of the name 'the one'"):
        executor(kit)


def test_two_functions_of_one_name_are_refused_where_the_second_is_declared() -> None:
    kit = Toolkit("yard")
    kit.tool(simple())
    with pytest.raises(DeclarationError, match="yard::f"):
        kit.tool(simple())


def test_kits_and_functions_are_hosted_together_under_unique_names() -> None:
    first, second = Toolkit("one"), Toolkit("two")
    first.tool(simple())
    second.tool(name="g")(simple())
    hosted = functions_by_id([first, Function("plain", lambda: 1), second])
    assert list(hosted) == ["one::f", "plain", "two::f"]
    with pytest.raises(DeclarationError, match="called one::f"):
        executor(first, Function("one::f", lambda: 1))
    with pytest.raises(DeclarationError, match="tools of the name 'g'"):
        executor(second, Function("plain", lambda: 1, name="g"))
    wrong: Any = simple()
    with pytest.raises(DeclarationError, match="it is not a Toolkit, a RegisteredToolkit or a Function"):
        executor(wrong)


# What annotations say


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Where(TypedDict):
    street: str
    number: NotRequired[int]


@dataclass
class Order:
    item: str
    count: Annotated[int, "How many.", {"min": 1}] = 1
    notes: list[str] = field(default_factory=list[str])


type Name = str
NAMED: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, NAMED),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (list[str], {"type": "array", "items": NAMED}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (list[list[int]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"] | None, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        (Level, {"type": "string", "enum": ["low", "high"]}),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, NAMED]}),
        (date, {"type": "string", "format": "date"}),
        (Annotated[str, "Whom."], {**NAMED, "description": "Whom."}),
        (Annotated[int, {"min": 1}], {"type": "integer", "minimum": 1}),
        (Name, NAMED),
        (
            Where,
            {"type": "object", "properties": {"street": NAMED, "number": {"type": "integer"}}, "required": ["street"]},
        ),
    ],
)
def test_annotations_are_published(annotation: Any, schema: JsonObject) -> None:
    def f(one: Any) -> None: ...

    f.__annotations__["one"] = annotation
    published = declared_function(run=f).input_schema
    assert published == {"type": "object", "properties": {"one": schema}, "required": ["one"]}


def test_a_function_with_annotated_parameters_is_called_by_their_names() -> None:
    kit = Toolkit("yard")

    @kit.tool
    def ship(
        order: Order, level: Level, *, ctx: Context, day: date = date(2027, 1, 31), to: Where | None = None
    ) -> Any:
        return [type(order).__name__, order, level is Level.HIGH, day, to, ctx.tenant]

    answered = kit.test("ship", {"order": {"item": "tea", "x": 1}, "level": "high", "evil": 1}).value
    assert answered == ["Order", {"item": "tea", "count": 1, "notes": []}, True, "2027-01-31", None, "test"]
    properties: Any = kit.functions[0].input_schema
    assert properties["required"] == ["order", "level"]
    assert properties["properties"]["day"]["default"] == "2027-01-31"
    assert properties["properties"]["order"]["properties"]["count"] == {
        "type": "integer", "minimum": 1, "description": "How many.", "default": 1,
    }  # fmt: skip
    assert "ctx" not in properties["properties"]
    assert ship


def test_a_default_of_none_is_not_published() -> None:
    def f(one: str = None) -> Any:  # pyright: ignore[reportArgumentType] # noqa: RUF013 - many write it so
        return one

    function = declared_function(run=f)
    assert function.input_schema == {"type": "object", "properties": {"one": {"type": "string"}}}


def test_a_function_of_args_gets_all_arguments() -> None:
    for annotation in (None, Any, dict, dict[str, Any], Mapping[str, Any], JsonObject):
        kit = Toolkit("yard")

        def f(args: Any) -> Any:
            return args

        f.__annotations__ = {} if annotation is None else {"args": annotation}
        kit.tool(f)
        assert kit.test("f", {"a": 1}).value == {"a": 1}
        assert kit.functions[0].input_schema == {"type": "object"}


def test_args_may_only_be_followed_by_a_context() -> None:
    def whole(args: dict[str, Any], ctx: Context) -> Any:
        return [args, ctx.tenant]

    def bare(args: Any, ctx: Any) -> Any:
        return [args, ctx.tenant]

    bare.__annotations__ = {}

    def named(args: dict[str, int], limit: int = 3) -> Any:
        return [args, limit]

    kit = Toolkit("yard")
    for run in (whole, bare, named):
        kit.tool(run)
    assert kit.test("whole", {"a": 1}).value == kit.test("bare", {"a": 1}).value == [{"a": 1}, "test"]
    assert kit.test("named", {"args": {"a": 1}}).value == [{"a": 1}, 3]


def test_args_of_another_type_are_an_ordinary_parameter() -> None:
    def f(args: list[str]) -> Any:
        return args

    kit = Toolkit("yard")
    kit.tool(f)
    assert kit.test("f", {"args": ["a"]}).value == ["a"]


# What is wrong is what they say, or do not.
def unannotated(city, day: str) -> None: ...  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]


def positional(city: str, /) -> None: ...


def starred(*cities: str) -> None: ...


def keywords(**cities: str) -> None: ...


def odd(city: complex) -> None: ...


def odd_map(city: dict[int, str]) -> None: ...


def two_contexts(a: Context, b: Context) -> None: ...


def unknown_name(city: "Nowhere") -> None: ...  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType] # noqa: F821 - likewise


def bad_default(city: str = 5) -> None: ...  # pyright: ignore[reportArgumentType] - likewise


def sentinel(city: str = object()) -> None: ...  # pyright: ignore[reportArgumentType] - likewise


@dataclass
class Itself:
    parent: "Itself | None" = None


def recursive(one: Itself) -> None: ...


REFUSED_SIGNATURES: list[tuple[Any, str]] = [
    (unannotated, "its parameter city has no annotation; declare its arguments as `input`"),
    (positional, "its parameter city is positional-only or variadic"),
    (starred, "its parameter cities is positional-only or variadic"),
    (keywords, "its parameter cities is positional-only or variadic"),
    (odd, "its parameter city: no field type fits complex"),
    (odd_map, "its parameter city: the keys of .* must be of type str"),
    (two_contexts, "its parameters a and b are of type Context"),
    (unknown_name, "its annotations cannot be read"),
    (bad_default, "field `city`: its default does not satisfy"),
    (sentinel, "field `city`: default has no form in JSON"),
    (recursive, "the type of its arguments refers to itself"),
]


def test_a_recursive_class_is_refused_as_input() -> None:
    with pytest.raises(DeclarationError, match="yard::f: input is not valid: the type refers to itself"):
        declared_function({"input": Itself}, run=function_of_args())


@pytest.mark.parametrize(("run", "words"), REFUSED_SIGNATURES)
def test_an_unsupported_annotation_is_refused_by_function_and_parameter(run: Any, words: str) -> None:
    kit = Toolkit("yard")
    kit.tool(run)
    with pytest.raises(DeclarationError, match=f"yard::{run.__name__}: {words}"):
        executor(kit)


def test_classes_are_accepted_as_input_and_output() -> None:
    kit = Toolkit("yard")

    @kit.tool(input=Order, output=Where)
    def place(order: Order) -> Where:
        return {"street": order.item}

    assert kit.test("place", {"item": "tea"}).value == {"street": "tea"}
    assert place


def test_strict_tools_with_annotations_refuse_undeclared_arguments() -> None:
    def f(one: str = "a") -> None: ...

    kit = Toolkit("yard")
    kit.tool(strict=True)(f)
    assert kit.test("f").failure is None
    assert kit.test("f", {"two": 1}).failure
    loose = Toolkit("yard")
    loose.tool(strict=True)(function_of_args())
    with pytest.raises(DeclarationError, match="yard::f: strict needs declared arguments"):
        executor(loose)


def test_functions_declare_their_own_calls_or_those_of_their_toolkit() -> None:
    kit = Toolkit("yard", calls=["crm::find"])

    @kit.tool
    def first() -> str:
        return ""

    @kit.tool(calls=["crm::save"])
    def second() -> str:
        return ""

    @kit.prompt
    def third() -> str:
        return ""

    @kit.tool(calls=[])
    def fourth() -> str:
        return ""

    declared = [sorted(function.hosted.callees) for function in kit.functions]
    assert declared == [["crm::find"], ["crm::save"], ["crm::find"], []]
    assert len({first, second, third, fourth}) == len(declared)


@pytest.mark.parametrize("calls", ["crm::find", ["crm find"], [7], [f"crm::f{number}" for number in range(51)]])
def test_invalid_calls_are_refused_at_import(calls: Any) -> None:
    with pytest.raises(DeclarationError, match="yard: calls "):
        Toolkit("yard", calls=calls)
    with pytest.raises(DeclarationError, match="f: calls "):
        Function("f", lambda: None, calls=calls)
