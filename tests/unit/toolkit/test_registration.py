"""What whoever hosts a toolkit says of it, over what its author wrote."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.toolkit import DeclarationError, Function, Toolkit, executor, registered
from signpost.toolkit.hosting import functions_by_id
from signpost.toolkit.registration import RegisteredToolkit


def kit_of_three() -> Toolkit:
    kit = Toolkit("files", category="Utility")

    @kit.tool(name="files.read", category="Files")
    def read() -> None:
        """Reads."""

    @kit.tool(visible=False)
    def lookup() -> None:
        """Looks up."""

    @kit.tool
    def add() -> None:
        """Adds."""

    assert [read, lookup, add]
    return kit


def kit_of_one() -> Toolkit:
    kit = Toolkit("yard", category="Yard")

    @kit.tool(title="Time")
    def server_time() -> str:
        """The time."""
        return "noon"

    assert server_time
    return kit


def library() -> Toolkit:
    kit = Toolkit("library")

    @kit.prompt(complete={"of": lambda: ["a"]})
    def review(of: str) -> str:
        return of

    @kit.resource("library://rules.md")
    def rules() -> str:
        return "# Rules"

    def none() -> Sequence[str]:
        return ()

    @kit.template("library://books/{book}", hidden=True, enumerate=none)
    def book(book: str) -> str:
        return book

    assert [review, rules, book]
    return kit


def hidden(host: Toolkit | RegisteredToolkit) -> Sequence[bool]:
    return [one.hidden for one in host.functions]


def test_n013_a_whole_kit_is_hidden_where_it_is_registered() -> None:
    assert hidden(kit_of_three()) == [False, True, False]
    assert hidden(registered(kit_of_three(), hidden=True)) == [True, True, True]
    assert hidden(registered(kit_of_three(), visible=False)) == [True, True, True]


def test_n014_what_a_kit_hides_is_shown_where_it_is_registered() -> None:
    assert hidden(registered(kit_of_three(), hidden=False)) == [False, False, False]
    assert hidden(registered(kit_of_three(), visible=True)) == [False, False, False]


def test_n015_a_category_that_is_said_there_is_that_of_every_tool() -> None:
    of = [one.category for one in registered(kit_of_three(), category="Admin").functions]
    assert of == ["Admin", "Admin", "Admin"]
    assert hidden(registered(kit_of_three(), category="Admin")) == hidden(kit_of_three())


@pytest.mark.parametrize("option", ["name", "description"])
def test_n016_a_name_or_a_description_is_ambiguous_of_several_and_counts_of_one(option: str) -> None:
    said: Any = {option: "other"}
    with pytest.raises(
        DeclarationError, match=f"files: {option} is for one function, and it has files::read, files::lookup, "
    ):
        registered(kit_of_three(), **said)
    (alone,) = registered(kit_of_one(), **said).functions
    assert getattr(alone, option) == "other"
    assert (alone.id, alone.title, alone.category) == ("yard::server_time", "Time", "Yard")
    function = Function("yard::f", lambda: None, name="f", description="F.")
    assert getattr(registered(function, **said).functions[0], option) == "other"


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("said", "is_hidden"),
    [
        ({}, None),
        ({"hidden": True}, True),
        ({"hidden": False}, False),
        ({"visible": False}, True),
        ({"visible": True}, False),
        ({"hidden": True, "visible": True}, True),
        ({"hidden": False, "visible": False}, False),
    ],
)
def test_n028_hidden_goes_before_visible_and_both_before_what_is_written(
    said: Any, is_hidden: bool | None, written: bool
) -> None:
    function = Function("yard::f", lambda: None, hidden=written)
    (found,) = registered(function, **said).functions
    assert found.hidden is (written if is_hidden is None else is_hidden)


def test_prompts_resources_and_templates_are_hidden_and_shown_likewise_and_what_helps_them_stays_as_it_is() -> None:
    named = [one.id for one in library().functions]
    assert named == [
        "library::review", "library::review::complete", "library::rules", "library::book", "library::book::enumerate",
    ]  # fmt: skip
    assert hidden(library()) == [False, True, False, True, True]
    assert hidden(registered(library(), hidden=True)) == [True] * 5
    assert hidden(registered(library(), visible=True)) == [False, True, False, False, True]


def test_a_category_is_refused_of_what_has_no_tool() -> None:
    with pytest.raises(DeclarationError, match="library: category is for tools, and library has none"):
        registered(library(), category="Books")


def test_one_prompt_may_be_called_otherwise_with_all_that_helps_it() -> None:
    kit = Toolkit("library")

    @kit.prompt(complete={"of": lambda: ["a"]})
    def review(of: str) -> str:
        return of

    assert review
    prompt, helper = registered(kit, name="check", description="Checks.").functions
    assert (prompt.id, prompt.name, prompt.description) == ("library::review", "check", "Checks.")
    assert helper == kit.functions[1]


def test_in_another_namespace_they_are_other_functions_and_what_helps_them_goes_along() -> None:
    moved = registered(library(), namespace="archive")
    assert [one.id for one in moved.functions] == [
        "archive::review", "archive::review::complete", "archive::rules", "archive::book", "archive::book::enumerate",
    ]  # fmt: skip
    assert registered(Function("f", lambda: None), namespace="yard").functions[0].id == "yard::f"
    assert registered(Function("a::b::f", lambda: None), namespace="yard").functions[0].id == "yard::f"


def test_n051_a_tool_is_hosted_a_second_time_under_another_name_and_namespace() -> None:
    kit = kit_of_one()
    hosted = functions_by_id([kit, registered(kit, namespace="clock", name="clock.time")])
    assert {one.id: one.name for one in hosted.values()} == {
        "yard::server_time": "server_time",
        "clock::server_time": "clock.time",
    }
    for again in (registered(kit, name="clock.time"), registered(kit, namespace="clock")):
        with pytest.raises(DeclarationError, match="Two functions are"):
            executor(kit, again)


def test_of_two_registrations_the_outer_one_counts() -> None:
    inner = registered(kit_of_one(), hidden=True, category="Inner", namespace="inner")
    (outer,) = registered(inner, visible=True, namespace="outer").functions
    assert (outer.id, outer.hidden, outer.category) == ("outer::server_time", False, "Inner")


def test_the_kit_stays_what_it_was() -> None:
    kit = kit_of_three()
    before = kit.functions
    registered(kit, hidden=True, category="Admin", namespace="other")
    assert kit.functions is before


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"hiden": True},
            "hiden is not an option of a registration; the options are category, description, hidden, name",
        ),
        ({"hidden": 1}, "hidden is neither true nor false"),
        ({"visible": "no"}, "visible is neither true nor false"),
        ({"category": ""}, "category is not a text"),
        ({"name": ""}, "name is not a text"),
        ({"description": 1}, "description is not a text"),
        ({"namespace": "No Such"}, "namespace 'No Such' is not a valid namespace"),
        ({"name": None}, "name must not be None"),
    ],
)
def test_what_cannot_be_is_refused_by_kit_and_option(said: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=f"^yard: {message}"):
        registered(kit_of_one(), **said)


def plain() -> str:
    return "no tool"


@pytest.mark.parametrize("host", [plain, [plain], None, {"functions": ()}])
def test_what_is_no_toolkit_is_refused_by_what_it_is(host: Any) -> None:
    with pytest.raises(DeclarationError) as refused:
        registered(host, hidden=True)
    assert str(refused.value) == f"{host!r} cannot be hosted: it is not a Toolkit, a RegisteredToolkit or a Function."
