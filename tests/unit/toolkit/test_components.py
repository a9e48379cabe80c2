"""Prompts, resources and templates as their authors write and test them."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from signpost.calling.components import (
    KINDS,
    RESERVED_SCHEMES,
    component_object,
    component_of,
    fault_of_component,
)
from signpost.content import uris
from signpost.content.agent_skills import tree
from signpost.contract import LONGEST_COMPONENT, LONGEST_URI, Component, Failure
from signpost.model import InputRequired, JsonObject, PromptArgument
from signpost.surfaces.overview.resources import SCHEME as OVERVIEWS
from signpost.toolkit import (
    Content,
    Context,
    DeclarationError,
    PromptResult,
    ToolError,
    Toolkit,
    assistant,
    system,
    user,
)
from signpost.toolkit.component_options import OPTIONS
from signpost.toolkit.resource_contents import MOST_INSTANCES

BYTES = "application/octet-stream"


class Tone(enum.Enum):
    KIND = "kind"
    DRY = "dry"


@dataclass
class Address:
    street: str
    number: int = 1


def kit_with_prompt(run: Callable[..., Any], **said: Any) -> Toolkit:
    kit = Toolkit("yard")
    kit.prompt(**said)(run)
    return kit


def kit_with_resource(value: Any, **said: Any) -> Toolkit:
    """A kit whose resource at yard://f answers this."""
    kit = Toolkit("yard")

    def f() -> Any:
        return value() if callable(value) else value

    kit.resource("yard://f", **said)(f)
    return kit


def arguments_of(kit: Toolkit) -> list[PromptArgument]:
    component = kit.functions[0].component
    assert component is not None
    return list(component.arguments)


def argument_descriptions(**fields: Any) -> dict[str, str | None]:
    def f(args: Any) -> Any:
        return str(args)

    return {one.name: one.description for one in arguments_of(kit_with_prompt(f, arguments=fields))}


# What prompts take


def test_a012_a_prompt_without_parameters_has_no_arguments() -> None:
    def f() -> str:
        return "a"

    assert arguments_of(kit_with_prompt(f)) == []
    assert kit_with_prompt(f).get_prompt("f").text == "a"


def test_a013_a051_n076_each_argument_has_name_required_flag_and_description() -> None:
    fields = {"to": {"type": "string", "required": True, "description": "Whom."}, "times": "integer"}
    assert arguments_of(kit_with_prompt(function_of_args(), arguments=fields)) == [
        PromptArgument("to", "Whom.", required=True),
        PromptArgument("times", "Optional: integer."),
    ]


def function_of_args() -> Callable[..., Any]:
    def f(args: Any) -> Any:
        return str(args)

    return f


def test_a014_a052_a_generated_description_names_the_type() -> None:
    assert argument_descriptions(
        a="integer", b="number", c="boolean", d=("array", "integer"), e="map", f="string",
        g={"type": "enum", "values": ["x", "y"]}, h={"type": "object", "fields": {"street": "string", "no": "integer"}},
        i={"type": "integer", "nullable": True}, j={"type": "any_of", "of": ["integer", "boolean"]},
        k={"type": "string", "required": True}, m=("array", "string"),
    ) == {
        "a": "Optional: integer.",
        "b": "Optional: number.",
        "c": "Optional: boolean.",
        "d": "Optional: array of integer, as JSON.",
        "e": "Optional: object, as JSON.",
        "f": "Optional: text.",
        "g": "Optional: one of x, y.",
        "h": "Optional: object of street, no, as JSON.",
        "i": "Optional: integer or null.",
        "j": "Optional: integer or boolean.",
        "k": "Required: text.",
        "m": "Optional: array of text, as JSON.",
    }  # fmt: skip


def test_a021_a_declared_description_overrides_the_generated_one() -> None:
    assert argument_descriptions(a={"type": "integer", "description": "How many."}, b="integer") == {
        "a": "How many.",
        "b": "Optional: integer.",
    }


def test_a053_a_generated_description_names_the_default() -> None:
    assert argument_descriptions(a={"type": "integer", "default": 5})["a"] == "Optional: integer; 5 if left out."


def test_text_arguments_are_cast_to_their_declared_types() -> None:
    given: list[Any] = []

    def f(n: int, tone: Tone, at: Address | None = None, loud: bool = False, word: str = "") -> str:  # noqa: FBT002 - an argument by name
        given.extend((n, tone, at, loud, word))
        return "a"

    args = {"n": "5", "tone": "dry", "at": '{"street": "Elm"}', "loud": "true", "word": "7", "else": "x"}
    assert kit_with_prompt(f).get_prompt("f", args).text == "a"
    assert given == [5, Tone.DRY, Address("Elm"), True, "7"]


@pytest.mark.parametrize(
    ("text", "argument"), [("five", "n"), ("1.5", "n"), ("NaN", "n"), ('"5"', "n"), ("[" * 9_999, "n")]
)
def test_a_text_argument_of_another_type_is_refused_by_name(text: str, argument: str) -> None:
    def f(n: int) -> str:
        raise AssertionError(n)

    failed = kit_with_prompt(f).get_prompt("f", {"n": text}).failure
    assert isinstance(failed, Failure)
    assert failed.code == "invalid_arguments"
    assert f"the argument `{argument}`" in failed.message


def test_n078_a_missing_required_argument_is_refused_by_name() -> None:
    def f(to: str) -> str:
        raise AssertionError(to)

    failed = kit_with_prompt(f).get_prompt("f").failure
    assert isinstance(failed, Failure)
    assert "`to`" in failed.message or "'to'" in failed.message


def test_a_prompt_that_takes_args_gets_all_text_arguments() -> None:
    def f(args: Any, ctx: Context) -> str:
        return f"{ctx.principal.subject} {args}"

    assert kit_with_prompt(f).get_prompt("f", {"a": "1"}, principal="ada").text == "ada {'a': '1'}"


# What prompts answer


@pytest.mark.parametrize(
    ("answer", "messages"),
    [
        ("Ahoy.", [("user", Content.text("Ahoy."))]),
        (assistant("Aye."), [("assistant", Content.text("Aye."))]),
        (Content.image(b"\x00", "image/png"), [("user", Content.image(b"\x00", "image/png"))]),
        ([user("a"), assistant(Content.text("b"))], [("user", Content.text("a")), ("assistant", Content.text("b"))]),
        ([system("Be kind."), user("a")], [("user", Content.text("Be kind.")), ("user", Content.text("a"))]),
        (PromptResult(["a"]), [("user", Content.text("a"))]),
        ([], []),
    ],
)
def test_a_prompt_answers_messages(answer: Any, messages: list[tuple[str, Content]]) -> None:
    found = kit_with_prompt(function_answering(answer)).get_prompt("f")
    assert found.messages == [{"role": role, "content": content.block} for role, content in messages]


def function_answering(answer: Any) -> Callable[..., Any]:
    def f() -> Any:
        """Answers it."""
        return answer

    return f


def test_n077_the_description_of_a_result_overrides_the_declared_one() -> None:
    assert kit_with_prompt(function_answering("a")).get_prompt("f").description == "Answers it."
    assert kit_with_prompt(function_answering("a"), description="Said.").get_prompt("f").description == "Said."
    assert kit_with_prompt(function_answering(PromptResult(["a"], "Mine."))).get_prompt("f").description == "Mine."


NO_TEXT: Any = 5


@pytest.mark.parametrize("answer", [5, {"a": 1}, None, [5], PromptResult([user("a")], NO_TEXT)])
def test_an_invalid_prompt_answer_is_a_bad_result(answer: Any) -> None:
    found = kit_with_prompt(function_answering(answer)).get_prompt("f")
    assert found.failure is not None
    assert found.failure.code == "bad_result"
    assert found.fault


def test_a_message_is_no_answer_of_a_tool() -> None:
    kit = Toolkit("yard")
    kit.tool(function_answering(user("a")))
    failed = kit.test("f").failure
    assert failed is not None
    assert failed.code == "bad_result"


def test_a_prompt_may_require_input_or_fail() -> None:
    asked = InputRequired({"a": {"method": "roots/list", "params": {}}})
    assert kit_with_prompt(function_answering(asked)).get_prompt("f").asked == asked

    def f() -> str:
        raise ToolError("Not today.")

    failed = kit_with_prompt(f).get_prompt("f").failure
    assert failed is not None
    assert failed.message == "Not today."


@pytest.mark.parametrize("said", [5, None])
def test_a_message_has_text_or_content(said: Any) -> None:
    with pytest.raises(ValueError, match="must be a text or Content"):
        user(said)


# What resources answer


@pytest.mark.parametrize(
    ("answer", "contents"),
    [
        ("a", [{"mimeType": "text/plain", "text": "a"}]),
        (b"\x00", [{"mimeType": "application/octet-stream", "blob": "AA=="}]),
        ({"a": Tone.DRY}, [{"mimeType": "application/json", "text": '{"a": "dry"}'}]),
        ([1, 2], [{"mimeType": "application/json", "text": "[1, 2]"}]),
        (5, [{"mimeType": "application/json", "text": "5"}]),
        (Content.text("a"), [{"mimeType": "text/plain", "text": "a"}]),
        (Content.image(b"\x00", "image/png"), [{"mimeType": "image/png", "blob": "AA=="}]),
        (["a", b"\x00"], [{"mimeType": "text/plain", "text": "a"}, {"mimeType": BYTES, "blob": "AA=="}]),
        (Content.resource("yard://g", text="g"), [{"uri": "yard://g", "text": "g"}]),
    ],
)  # fmt: skip
def test_n072_a_resource_answers_text_bytes_a_value_or_several(answer: Any, contents: list[Any]) -> None:
    assert kit_with_resource(answer).read("yard://f").contents == [{"uri": "yard://f", **one} for one in contents]


def test_n072_a_declared_mime_type_overrides_the_default() -> None:
    assert (
        kit_with_resource("# A", mime_type="text/markdown").read("yard://f").contents[0]["mimeType"] == "text/markdown"
    )
    assert kit_with_resource(b"\x00", mime_type="a/b").read("yard://f").blob == b"\x00"


def test_n073_a_resource_without_an_answer_is_not_found() -> None:
    with pytest.raises(LookupError, match=r"no resource at 'yard://f'"):
        kit_with_resource(None).read("yard://f")
    with pytest.raises(LookupError, match=r"no resource at 'yard://g'"):
        kit_with_resource("a").read("yard://g")


@pytest.mark.parametrize(
    "answer", [Content.link("yard://g", "g"), object(), {"a": b"\x00"}, ["a", Content.link("a:b", "b")]]
)
def test_an_invalid_resource_answer_is_a_bad_result(answer: Any) -> None:
    failed = kit_with_resource(answer).read("yard://f").failure
    assert failed is not None
    assert failed.code == "bad_result"


def complete_number(value: str, given: Any) -> list[str]:
    return [given["book"], value]


def echo_call(value: str, given: Any, ctx: Context) -> list[str]:
    return [value, str(given), ctx.principal.subject]


def list_pages(ctx: Context) -> list[Any]:
    return [f"yard://{ctx.principal.subject}/1", Content.link("yard://atlas/2", "Two", size=3)]


def page_kit() -> Toolkit:
    kit = Toolkit("yard")

    @kit.template(
        "yard://{book}/{number}",
        complete={"book": ["atlas", "alphabet", "bible"], "number": complete_number},
        enumerate=list_pages,
    )
    def page(book: str, number: int, ctx: Context) -> Any:
        return f"{book} {number!r} {ctx.principal.subject}" if number else None

    @kit.template("yard://{+path}")
    def anything(args: Any) -> Any:
        return args["path"]

    @kit.resource("yard://atlas/7")
    def seven() -> str:
        return "the seventh"

    assert [page, anything, seven]
    return kit


def test_a069_a_resource_has_a_uri_and_a_template_has_a_pattern() -> None:
    page, _, _, _, seven = (one.component for one in page_kit().functions)
    assert page is not None
    assert seven is not None
    assert (page.kind, page.uri) == ("template", "yard://{book}/{number}")
    assert (seven.kind, seven.uri, seven.complete) == ("resource", "yard://atlas/7", {})


def test_n072_n080_exact_uris_match_before_specific_and_general_templates() -> None:
    kit = page_kit()
    assert kit.read("yard://atlas/7").text == "the seventh"
    assert kit.read("yard://my%20atlas/8", principal="ada").text == "my atlas 8 ada"
    assert kit.read("yard://a/b/c").text == "a/b/c"


def test_n073_a_uri_that_one_template_lacks_is_read_from_the_next() -> None:
    assert page_kit().read("yard://atlas/0").text == "atlas/0"


def test_an_invalid_template_variable_is_refused_by_name() -> None:
    failed = page_kit().read("yard://atlas/x").failure
    assert failed is not None
    assert (failed.code, "`number`" in failed.message) == ("invalid_arguments", True)


def test_n070_a_template_lists_instances() -> None:
    assert page_kit().instances("yard://{book}/{number}", principal="ada") == [
        {"uri": "yard://ada/1", "name": "1"},
        {"uri": "yard://atlas/2", "name": "Two", "size": 3},
    ]


@pytest.mark.parametrize(
    "listed", [5, ["garden://a"], ["yard://a/b"], [Content.text("a")], [5], ["yard://a"] * (MOST_INSTANCES + 1)]
)
def test_an_invalid_instance_is_not_listed(listed: Any) -> None:
    kit = Toolkit("yard")
    kit.template("yard://{f}", enumerate=lambda: listed)(function_of_f())
    with pytest.raises(AssertionError, match="returned a value that is not JSON"):
        kit.instances("yard://{f}")


def function_of_f() -> Callable[..., Any]:
    def f(f: str) -> str:
        return f

    return f


# What completes them


def test_n079_completions_begin_with_the_typed_text() -> None:
    kit = page_kit()
    assert kit.complete("yard://{book}/{number}", "book", "a") == ["atlas", "alphabet"]
    assert kit.complete("yard://{book}/{number}", "book", "A") == []
    assert kit.complete("yard://{book}/{number}", "book") == ["atlas", "alphabet", "bible"]


def test_n080_a_completion_function_gets_the_typed_text_and_known_arguments() -> None:
    assert page_kit().complete("yard://{book}/{number}", "number", "1", {"book": "atlas"}) == ["atlas", "1"]

    def f(who: str = "") -> str:
        return who

    kit = kit_with_prompt(f, complete={"who": echo_call})
    assert kit.complete("f", "who", "a", principal="ada") == ["a", "{}", "ada"]


def test_n081_an_unknown_argument_is_not_completed() -> None:
    for of, argument in (("yard://{book}/{number}", "colour"), ("yard://{other}", "other"), ("page", "book")):
        with pytest.raises(LookupError):
            page_kit().complete(of, argument)
    assert page_kit().complete("yard://{+path}", "path") == []


# What all of them have


def test_a063_a064_a065_a066_a_declared_description_overrides_the_docstring() -> None:
    (plain,) = kit_with_prompt(function_answering("a")).functions
    assert (plain.description, plain.title) == ("Answers it.", None)
    (said,) = kit_with_prompt(function_answering("a"), description="Said.", title="T").functions
    assert (said.description, said.title) == ("Said.", "T")
    (bare,) = kit_with_resource("a").functions
    assert (bare.description, bare.title, bare.name) == ("", None, "f")


def test_a067_a068_n027_meta_icons_and_hidden_flag_are_those_of_the_author() -> None:
    said: Any = {"meta": {"a": 1}, "icons": [{"src": "https://a.test/i.png"}], "hidden": True}
    (prompt,), (resource,) = (
        kit_with_prompt(function_answering("a"), **said).functions,
        kit_with_resource("a", **said).functions,
    )
    assert prompt.meta == resource.meta == {"a": 1}
    assert prompt.icons == resource.icons == said["icons"]
    assert prompt.hidden
    assert resource.hidden
    assert not kit_with_resource("a").functions[0].hidden
    assert kit_with_resource("a", visible=False).functions[0].hidden
    assert not kit_with_resource("a", visible=False, hidden=False).functions[0].hidden


@pytest.mark.parametrize(
    ("uri", "name"),
    [("yard://a/b.md", "b.md"), ("yard://a/", "a"), ("yard:a", "a"), ("https://a.test", "a.test")],
)
def test_a_resource_is_named_after_the_last_part_of_its_uri(uri: str, name: str) -> None:
    kit = Toolkit("yard")
    kit.resource(uri)(function_answering("a"))
    assert kit.functions[0].name == name
    named = Toolkit("yard")
    named.resource(uri, name="mine")(function_answering("a"))
    assert named.functions[0].name == "mine"


def test_stacked_decorators_declare_one_prompt_and_the_nearest_wins() -> None:
    kit = Toolkit("yard")

    @kit.prompt(title="T", hidden=True)
    @kit.prompt(hidden=False)
    def f() -> str:
        return "a"

    (function,) = kit.functions
    assert (function.title, function.hidden, f()) == ("T", False, "a")


def test_components_are_not_readable_and_have_the_options_of_functions() -> None:
    def f(a: str) -> str:
        return a

    said: Any = {"timeout_ms": 5, "permissions": ["mail"], "isolate": True}
    prompt, helper = kit_with_prompt(f, complete={"a": lambda: ["x"]}, **said).functions
    assert (prompt.id, helper.id) == ("yard::f", "yard::f::complete")
    for function in (prompt, helper):
        assert (function.timeout_ms, function.permissions, function.isolate) == (5, ["mail"], True)
        assert not function.readable


# What cannot be


def refusal(declare: Callable[[Toolkit], Any]) -> str:
    kit = Toolkit("yard")

    def declared() -> object:
        declare(kit)
        return kit.functions

    with pytest.raises(DeclarationError) as refused:
        declared()
    return str(refused.value)


def f(a: str = "") -> str:
    return a


def nothing() -> str:
    return ""


def take_four(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a, b, c, d


def take_two(a: Any, b: Any) -> Any:
    return a, b


INVALID_OPTIONS: Any = [
        ("prompt", {"colour": 1}, "yard::f: colour is not an option of a prompt; the options are arguments,"),
        ("prompt", {"category": "a"}, "category is not an option of a prompt"),
        ("prompt", {"name": ""}, "yard::f: name is not a text of 1 to 128 printable characters"),
        ("prompt", {"title": None}, "title must not be None"),
        ("prompt", {"arguments": {"a": "strin"}}, "yard::f: arguments is not valid: field `a`: 'strin' is not one"),
        ("prompt", {"arguments": 5}, "arguments is not valid"),
        ("prompt", {"complete": 5}, "complete must be a mapping of arguments"),
        ("prompt", {"complete": {"a": 5}}, "complete must have a list of texts or a function for 'a'"),
        ("prompt", {"complete": {"b": ["x"]}}, "yard::f: it completes b, which is not one of its arguments"),
        ("prompt", {"complete": {"a": take_four}}, "yard::f: complete of a: its parameters are"),
        ("prompt", {"icons": [{"src": "ftp://a"}]}, "icons is not a list of objects"),
        ("prompt", {"meta": {"a": object()}}, "meta is not JSON"),
        ("prompt", {"hidden": "yes"}, "hidden is neither true nor false"),
        ("prompt", {"visible": 1}, "visible is neither true nor false"),
        ("prompt", {"complete": {"a": ["x" * LONGEST_COMPONENT]}}, f"has more than {LONGEST_COMPONENT} characters"),
        ("resource", {"mime_type": "text"}, "mime_type must be a text of the form type/subtype"),
        ("resource", {"size": -1}, "size must be a whole number of at least 0"),
        ("resource", {"size": True}, "size must be a whole number of at least 0"),
        ("resource", {"annotations": {"colour": 1}}, "annotations has an unknown key 'colour'; use one of audience,"),
        (
            "resource", {"annotations": {"priority": 2}},
            "annotations is not valid: priority must be a number from 0 to 1",
        ),
        ("resource", {"annotations": {"audience": ["me"]}}, "is not valid: audience has 'me'"),
        ("resource", {"annotations": {"last_modified": 5}}, "annotations is not valid: "),
        ("resource", {"annotations": 5}, "annotations must be a mapping"),
        ("resource", {"arguments": {}}, "arguments is not an option of a resource"),
        ("template", {"size": 5}, "size is not an option of a template"),
        ("template", {"enumerate": 5}, "enumerate must be a function"),
        ("template", {"enumerate": take_two}, "yard::f: enumerate: its parameters are"),
    ]  # fmt: skip


@pytest.mark.parametrize(("kind", "said", "words"), INVALID_OPTIONS)
def test_an_invalid_option_is_refused_by_function_and_key(kind: str, said: Any, words: str) -> None:
    places = {"prompt": (), "resource": ("yard://f",), "template": ("yard://{a}",)}

    def declare(kit: Toolkit) -> None:
        getattr(kit, kind)(*places[kind], **said)(function_named_f() if kind == "resource" else f)

    assert words in refusal(declare)


def function_named_f() -> Callable[..., Any]:
    return function_answering("a")


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("iii://f", "'iii://f' begins with iii:, which is reserved for the gateway"),
        ("III://f", "which is reserved for the gateway"),
        ("skill://f", "which is reserved for the gateway"),
        ("signpost://runs/f", "which is reserved for the gateway"),
        ("readme", "is not valid"),
        ("yard://a b", "is not valid"),
        ("yard://ä", "is not valid"),
        ("yard://{a}", "is not valid"),
        (f"yard://{'a' * LONGEST_URI}", f"has more than {LONGEST_URI} characters"),
        (5, "must be a text"),
    ],
)
def test_an_invalid_resource_uri_is_refused(uri: Any, words: str) -> None:
    assert words in refusal(lambda kit: kit.resource(uri)(function_answering("a")))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("yard://a", "has no variable"),
        ("iii://{a}", "which is reserved for the gateway"),
        ("{a}://b", "is not valid"),
        ("yard://{a", "has a brace that is not closed"),
        ("yard://{a}/{a}", "has the variable a twice"),
        ("yard://{b}", "yard::f: its uri has the variable b; give the function this parameter"),
        ("yard://{a}/{b}", "yard::f: its uri has the variable b; give the function this parameter"),
    ],
)
def test_a082_an_invalid_template_pattern_is_refused(pattern: str, words: str) -> None:
    assert words in refusal(lambda kit: kit.template(pattern)(f))


def test_the_function_of_a_template_takes_only_its_variables() -> None:
    def g(a: str, b: str) -> str:
        return a + b

    assert "it has the parameter b; give its uri this variable" in refusal(lambda kit: kit.template("yard://{a}")(g))


def test_the_function_of_a_resource_takes_only_a_context() -> None:
    def g(a: str, b: str) -> str:
        return a + b

    assert "it takes `ctx` or nothing" in refusal(lambda kit: kit.resource("yard://a")(g))
    kit = Toolkit("yard")

    @kit.resource("yard://a")
    def h(ctx: Context) -> str:
        return ctx.principal.subject

    assert kit.read("yard://a", principal="ada").text == "ada"
    assert h


def test_a_function_is_one_component_and_components_have_unique_names() -> None:
    assert "yard::f: it is a tool already, and cannot be a prompt" in refusal(lambda kit: kit.prompt(kit.tool(f)))
    assert "yard::f: it has a uri already, and cannot also have 'yard://b'" in refusal(
        lambda kit: kit.resource("yard://b")(kit.resource("yard://a")(function_named_f()))
    )

    def two(kit: Toolkit) -> None:
        kit.prompt(name="x")(f)
        kit.prompt(name="x")(nothing)

    def at_one_uri(kit: Toolkit) -> None:
        kit.resource("yard://a")(nothing)
        kit.resource("yard://a")(function_named_f())

    assert refusal(two) == "Two functions are prompts of the name 'x'. Change one of them."
    assert refusal(at_one_uri) == "Two functions are resources at yard://a. Change one of them."
    kit = Toolkit("yard")
    kit.prompt(name="x")(f)
    kit.tool(name="x")(nothing)
    assert len(kit.functions) == 2


def test_component_kinds_and_reserved_schemes_are_complete() -> None:
    assert {*OPTIONS, "helper"} == set(KINDS)
    assert tuple(scheme.partition(":")[0] for scheme in (uris.SCHEME, OVERVIEWS, tree.SCHEME)) == RESERVED_SCHEMES


@pytest.mark.parametrize(
    ("component", "words"),
    [
        (5, "is not a component"),
        (Component("app"), "has a kind that is not one of prompt, resource"),
        (Component("resource"), "has a URI that is not valid"),
        (Component("resource", "a:b", "text"), "MIME type"),
        (Component("resource", "a:b", size=-1), "size"),
        (Component("template", "a:b"), "has a pattern that has no variable"),
        (Component("template", f"a:{{{'b' * LONGEST_URI}}}"), "has more than"),
        (Component("prompt", arguments=(PromptArgument("a"), PromptArgument("a"))), "has the argument a twice"),
    ],
)
def test_components_of_a_manifest_are_checked_by_the_same_rules(component: Any, words: str) -> None:
    assert words in str(fault_of_component(component))


def test_the_json_of_a_component_is_complete() -> None:
    for function in (*page_kit().functions, *kit_with_prompt(f, complete={"a": ["x"]}).functions):
        assert function.component is not None
        assert component_of(component_object(function.component)) == function.component
        assert fault_of_component(function.component) is None


def test_a_prompt_of_annotated_parameters_is_described_by_them() -> None:
    def g(code: Annotated[str, "What to review."], language: Literal["python", "perl"] = "python") -> str:
        return code + language

    assert arguments_of(kit_with_prompt(g)) == [
        PromptArgument("code", "What to review.", required=True),
        PromptArgument("language", "Optional: one of python, perl; python if left out."),
    ]


def test_an_unknown_component_is_reported_with_the_known_ones() -> None:
    with pytest.raises(LookupError, match="there are 'f'"):
        kit_with_prompt(f).get_prompt("g")
    with pytest.raises(LookupError, match="no template"):
        kit_with_prompt(f).instances("yard://{a}")
    kit = Toolkit("yard")
    kit.template("yard://{a}")(f)
    with pytest.raises(LookupError, match="no function yard::f::enumerate"):
        kit.instances("yard://{a}")
    with pytest.raises(LookupError, match="no tool"):
        kit_with_prompt(f).test("f")


def untyped(a, b) -> None:  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType] - it is refused
    ...


def five(args: JsonObject) -> int:
    del args
    return 5


def test_a_trial_sets_permissions_nested_calls_and_answers() -> None:
    kit = Toolkit("yard")

    @kit.resource("yard://mail", permissions=["mail"], calls=["post::count"])
    def mail(ctx: Context) -> Any:
        ctx.require("mail")
        if not ctx.answers:
            return InputRequired({"roots": {"method": "roots/list", "params": {}}}, state={"n": 1})
        return [ctx.call("post::count", {}), ctx.state, ctx.answers]

    asked = kit.read("yard://mail").asked
    assert asked is not None
    read = kit.read("yard://mail", calls={"post::count": five}, after=asked, answers={"roots": {}})
    assert read.text == '[5, {"n": 1}, {"roots": {}}]'
    assert kit.read("yard://mail", permissions=()).failure
    assert mail


@pytest.mark.parametrize(
    ("kind", "words"), [("prompt", "declare its arguments as `arguments`"), ("template", "annotate its parameters")]
)
def test_a_parameter_without_a_type_is_refused_with_the_next_step(kind: str, words: str) -> None:
    places = ("yard://{a}/{b}",) if kind == "template" else ()
    assert words in refusal(lambda kit: getattr(kit, kind)(*places)(untyped))
