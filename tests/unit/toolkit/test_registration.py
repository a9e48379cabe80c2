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


def library_kit() -> Toolkit:
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


def hidden_flags(host: Toolkit | RegisteredToolkit) -> Sequence[bool]:
    return [one.hidden for one in host.functions]


def test_n013_a_whole_kit_is_hidden_where_it_is_registered() -> None:
    assert hidden_flags(kit_of_three()) == [False, True, False]
    assert hidden_flags(registered(kit_of_three(), hidden=True)) == [True, True, True]
    assert hidden_flags(registered(kit_of_three(), visible=False)) == [True, True, True]


def test_n014_a_registration_can_show_hidden_tools_of_a_kit() -> None:
    assert hidden_flags(registered(kit_of_three(), hidden=False)) == [False, False, False]
    assert hidden_flags(registered(kit_of_three(), visible=True)) == [False, False, False]


def test_n015_the_category_of_a_registration_is_that_of_every_tool() -> None:
    of = [one.category for one in registered(kit_of_three(), category="Admin").functions]
    assert of == ["Admin", "Admin", "Admin"]
    assert hidden_flags(registered(kit_of_three(), category="Admin")) == hidden_flags(kit_of_three())


@pytest.mark.parametrize("option", ["name", "description"])
def test_n016_a_registered_name_or_description_needs_a_single_function(option: str) -> None:
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
def test_n028_hidden_overrides_visible_and_both_override_the_declaration(
    said: Any, is_hidden: bool | None, written: bool
) -> None:
    function = Function("yard::f", lambda: None, hidden=written)
    (found,) = registered(function, **said).functions
    assert found.hidden is (written if is_hidden is None else is_hidden)


def test_a_registration_hides_and_shows_components_but_not_their_helpers() -> None:
    named = [one.id for one in library_kit().functions]
    assert named == [
        "library::review", "library::review::complete", "library::rules", "library::book", "library::book::enumerate",
    ]  # fmt: skip
    assert hidden_flags(library_kit()) == [False, True, False, True, True]
    assert hidden_flags(registered(library_kit(), hidden=True)) == [True] * 5
    assert hidden_flags(registered(library_kit(), visible=True)) == [False, True, False, False, True]


def test_a_category_is_refused_for_a_toolkit_without_tools() -> None:
    with pytest.raises(DeclarationError, match="library: category is for tools, and library has none"):
        registered(library_kit(), category="Books")


def test_a_registration_can_rename_a_prompt_and_keeps_its_helper() -> None:
    kit = Toolkit("library")

    @kit.prompt(complete={"of": lambda: ["a"]})
    def review(of: str) -> str:
        return of

    assert review
    prompt, helper = registered(kit, name="check", description="Checks.").functions
    assert (prompt.id, prompt.name, prompt.description) == ("library::review", "check", "Checks.")
    assert helper == kit.functions[1]


def test_a_registered_namespace_applies_to_functions_and_their_helpers() -> None:
    moved = registered(library_kit(), namespace="archive")
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


def test_the_outer_of_two_registrations_wins() -> None:
    inner = registered(kit_of_one(), hidden=True, category="Inner", namespace="inner")
    (outer,) = registered(inner, visible=True, namespace="outer").functions
    assert (outer.id, outer.hidden, outer.category) == ("outer::server_time", False, "Inner")


def test_a_registration_leaves_its_kit_unchanged() -> None:
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
def test_an_invalid_registration_is_refused_by_kit_and_option(said: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=f"^yard: {message}"):
        registered(kit_of_one(), **said)


def plain() -> str:
    return "no tool"


@pytest.mark.parametrize("host", [plain, [plain], None, {"functions": ()}])
def test_a_value_that_is_no_toolkit_is_refused(host: Any) -> None:
    with pytest.raises(DeclarationError) as refused:
        registered(host, hidden=True)
    assert str(refused.value) == f"{host!r} cannot be hosted: it is not a Toolkit, a RegisteredToolkit or a Function."
