"""docs/toolkits.md says what the code does."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from signpost.calling.components import RESERVED_SCHEMES
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import (
    LONGEST_COMPONENT,
    LONGEST_DESCRIPTION,
    LONGEST_EXTRAS,
    LONGEST_NAME,
    LONGEST_TITLE,
    LONGEST_URI,
)
from signpost.mcp.results import MOST_COMPLETIONS
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import JsonObject, Principal
from signpost.surfaces import toolkit_answers
from signpost.surfaces.toolkit_components import INSTANCES_WITHIN
from signpost.testing.profiles import ClientOptions
from signpost.toolkit import component_options
from signpost.toolkit.annotations import MAKE
from signpost.toolkit.call_log import PROGRESS_INTERVAL
from signpost.toolkit.content import ContentAnnotations
from signpost.toolkit.context import Context, ContextServices
from signpost.toolkit.fields import KINDS, OPTIONS
from signpost.toolkit.handles import HandleKind
from signpost.toolkit.kit import Toolkit
from signpost.toolkit.notices import LONGEST_FACTS, LONGEST_NOTICES, MOST_NOTICES
from signpost.toolkit.options import HINTS, ToolOptions
from signpost.toolkit.registration import Overrides
from signpost.toolkit.resource_contents import MOST_INSTANCES
from signpost.toolkit.secrets import CACHE_SECONDS, SHORTEST_MASKED
from signpost.toolkit.testing import ClientReply, GatewayClient, TrialResult, TrialState
from tests.support.function_host import MemoryLog, build_call, build_secrets
from tests.support.memory_gateway import META
from tests.support.registry import MemoryRegistry
from tests.support.toolkits import RecordingTool, ServedToolkits

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/toolkits.md").read_text()
(
    WRITTEN, TEST, REGISTERED, SPEC, RIGHTS, GRANTS, PUBLISHING, ASYNC, EFFECTS, CARTS, CART_HOOKS, PROGRESS, CONTENT,
    QUESTION, QUESTION_TEST, COMPONENTS, COMPONENTS_TEST, THROUGH_A_GATEWAY, _,
) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)  # fmt: skip


def rows_after(words: str) -> Mapping[str, str]:
    """The second column of a table by its first."""
    table = PAGE.partition(words)[2].partition("|---")[2].partition("\n\n")[0]
    lines = [line.split("|")[1:-1] for line in table.splitlines()[1:]]
    return {cells[0].strip(" `"): cells[1].strip() for cells in lines}


def row_keys_after(words: str) -> Sequence[str]:
    """The first column of a table."""
    table = PAGE.partition(words)[2].partition("|---")[2].partition("\n\n")[0]
    return [line.split("|")[1] for line in table.splitlines()[1:]]


def names_in(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def run(code: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(code, "docs/toolkits.md", "exec"), names)  # noqa: S102 - the page's own example
    return names


def test_the_documented_toolkit_and_its_test_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    names = run(WRITTEN, {})
    run(TEST, names)["test_a_file_is_read"]()
    kit: Toolkit = names["kit"]
    first = kit.functions[0]
    assert (first.id, first.name) == ("files::read_file", "files.read")
    assert kit.test("lookup", {"q": "a"}).value == "a"


def test_the_documented_tool_checks_its_caller_and_calls_what_it_declares() -> None:
    kit = Toolkit("orders")
    run(RIGHTS, {"kit": kit, "Context": Context})
    answers: Mapping[str, Callable[[JsonObject], object]] = {"crm::find": lambda _: "Ada"}
    assert kit.test("cancel_order", {"order": "7"}, calls=answers).value == "Cancelled the order of Ada."
    guest = Principal("guest", "acme", "signpost:api-key")
    refused = kit.test("cancel_order", {"order": "7"}, calls=answers, principal=guest).failure
    assert refused is not None
    assert refused.message.startswith("You do not have the permission `orders.cancel`.")


def test_the_documented_tools_list_and_hide_one_another() -> None:
    kit = Toolkit("yard")
    run(GRANTS, {"kit": kit, "Context": Context})
    served = ServedToolkits(kit)
    assert "yard__reindex" not in served.list_tools()
    for name, is_listed in (("yard__unlock", True), ("yard__reindex", False)):
        assert served.call(name)["isError"] is False
        served.gateway.replace_adapters()  # another sandbox has no list in memory
        assert ("yard__reindex" in served.list_tools()) is is_listed


def test_the_documented_tool_keeps_notes_in_the_registry() -> None:
    kit = Toolkit("notes")
    run(PUBLISHING, {"kit": kit, "Context": Context})
    registry = MemoryRegistry()

    def call(function: str) -> Callable[[JsonObject], object]:
        return lambda payload: registry.call(function, payload)

    answers = {function: call(function) for function in ("skills::list", "skills::register")}
    kept = [kit.test("keep_note", {"name": "elm", "text": "Tall."}, calls=answers).value for _ in range(2)]
    assert kept == ["Added iii://notes/elm", "Replaced iii://notes/elm"]
    assert registry.read("iii://notes/elm") == "# elm\n\nTall.\n"


def test_the_documented_async_tool_calls_two_functions_at_once() -> None:
    kit = Toolkit("orders")
    run(ASYNC, {"kit": kit, "Context": Context})
    both = Barrier(2)

    def find(arguments: JsonObject) -> object:
        both.wait(10)
        return f"customer of {arguments['order']}"

    found = kit.test("find_both", {"first": "7", "second": "8"}, calls={"crm::find": find})
    assert found.value == ["customer of 7", "customer of 8"]


def test_the_documented_tool_reports_its_progress_and_what_it_did() -> None:
    kit = Toolkit("orders")
    run(PROGRESS, {"kit": kit, "Context": Context})
    trial = kit.test("import_orders", {"files": ["a", "b"]})
    assert [(report["done"], report["total"]) for report in trial.progress] == [(1, 2), (2, 2)]
    assert [line["said"] for line in trial.logged] == ["All files were imported."]


def test_the_documented_limits_of_notices_are_those_of_the_code() -> None:
    assert f"A call sends {MOST_NOTICES} notices with {LONGEST_NOTICES // 1024} KB at most." in PAGE
    assert f"than {LONGEST_FACTS:,} characters stay in the log." in PAGE


class Recorder:
    """A service whose calls are recorded; each answers its own name."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., str]:
        def call(*_: object) -> str:
            self.calls.append(name)
            return name

        return call


def test_the_documented_effects_happen_once() -> None:
    kit, service, kept = Toolkit("desk"), Recorder(), TrialState()
    run(EFFECTS, {"kit": kit, "Context": Context, "bank": service, "post": service})
    paid = [kit.test("pay", {"order": "7", "euros": 5}, kept=kept).value for _ in range(2)]
    assert paid == ["pay", "pay"]
    assert service.calls == ["pay", "send"]


def test_the_documented_carts_are_kept_from_call_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    names, kept = run(CARTS, {}), TrialState()
    kit: Toolkit = names["kit"]
    cart = kit.test("open_cart", kept=kept).value
    assert [kit.test("add", {"cart": cart, "item": "tea"}, kept=kept).value for _ in range(2)] == [1, 2]
    missing = kit.test("add", {"cart": cart, "item": "tea"}, kept=kept, principal="another").failure
    assert missing is not None
    assert "Call `desk.open_cart` to make a new one" in missing.message


def test_the_documented_hooks_rebuild_and_upgrade_a_cart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)

    def load_cart(subject: str) -> object:
        return {"items": [subject]}

    names = run(CARTS, {"load_cart": load_cart})
    kit: Toolkit = names["kit"]

    @kit.tool
    def open_old(ctx: Context) -> str:
        """Opens a cart as an earlier version of the toolkit does."""
        return ctx.handles.create(HandleKind("cart"), ["tea"]).id

    names["open_cart"].__globals__.update(run(CART_HOOKS, names))
    kept = TrialState()
    old = kit.test("open_old", kept=kept).value
    assert kit.test("add", {"cart": old, "item": "ham"}, kept=kept).value == 2
    assert kit.test("add", {"cart": f"cart_{'a' * 26}", "item": "ham"}, kept=kept).value == 2


def test_the_documented_registrations_are_two_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    assert "server_time" in run(REGISTERED, {})
    assert list(rows_after("<!-- registration options")) == list(Overrides.__annotations__)


def test_the_documented_field_spec_and_content_are_valid() -> None:
    taken = RecordingTool(run(SPEC, {})["SPEC"])
    assert taken.cast_arguments({"message": "a"}) == {"message": "a", "repeat": 1, "mode": "plain"}
    run(CONTENT, {})


def test_the_table_of_tool_options_matches_the_code() -> None:
    table = rows_after("<!-- options")
    assert table.keys() == ToolOptions.__annotations__.keys()
    assert names_in(table["annotations"]) == set(HINTS)


def test_the_documented_prompts_resources_and_their_test_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    names = run(COMPONENTS, {})
    run(COMPONENTS_TEST, names)["test_what_there_is_beside_tools"]()
    kit: Toolkit = names["kit"]
    assert kit.complete("review", "language", "py") == ["python"]


def test_the_documented_tests_through_a_gateway_pass() -> None:
    names = run(THROUGH_A_GATEWAY, {})
    tests = [name for name in names if name.startswith("test_")]
    assert len(tests) == 3
    for name in tests:
        names[name]()


@pytest.mark.parametrize(
    ("table", "members"),
    [
        ("<!-- client options", ClientOptions.__annotations__),
        ("<!-- client:", {*dir(GatewayClient(Toolkit("yard"))), "asked", "principal"} - {"connect"}),
        ("<!-- client replies", dir(ClientReply)),
    ],
    ids=["options", "client", "replies"],
)
def test_the_tables_of_the_gateway_client_match_the_code(table: str, members: Iterable[str]) -> None:
    documented = re.findall(r"`(\w+)(?:\(.*?\))?`", " ".join(row_keys_after(table)))
    assert sorted(documented) == sorted(name for name in members if not name.startswith("_"))


def documented_question(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME", raising=False)
    return run(QUESTION, {})


def test_the_documented_question_and_its_test_work(monkeypatch: pytest.MonkeyPatch) -> None:
    names = documented_question(monkeypatch)
    run(QUESTION_TEST, names)["test_a_refund_asks_how_much"]()


def test_the_documented_question_reaches_a_client_and_its_answer_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    served = ServedToolkits(documented_question(monkeypatch)["kit"], endpoint="/mcp/flat")
    meta: JsonObject = {"_meta": {**META, CLIENT_CAPABILITIES: {"elicitation": {}}}}
    call: JsonObject = {"name": "skill:refund", "arguments": {"order": "7"}, **meta}
    asked = served.request_result("tools/call", call)
    assert asked["inputRequests"]["amount"]["params"]["message"] == "How much of the order 7 is refunded?"

    def answer(amount: int) -> Any:
        answers: JsonObject = {"amount": {"action": "accept", "content": {"amount": amount}}}
        again: JsonObject = {**call, "inputResponses": answers, "requestState": asked["requestState"]}
        return served.request_result("tools/call", again)

    assert answer(30)["content"][0]["text"] == "Refunded 30 of the order 7."
    assert (list(answer(60)["inputRequests"]), list(answer(90)["inputRequests"])) == (["sure"], ["amount"])


@pytest.mark.parametrize(
    ("options", "listed"), [({}, ["input", "config", "zone"]), ({"strict": True}, ["zone"])], ids=["open", "closed"]
)
def test_input_and_config_are_listed_beside_an_open_schema_as_documented(options: Any, listed: list[str]) -> None:
    kit = Toolkit("clock")

    @kit.tool(**options)
    def server_time(zone: str = "UTC") -> str:
        return zone

    assert server_time
    properties = {
        path: served.list_tools()[name]["inputSchema"]["properties"]
        for path, name in (("/mcp/flat", "skill:server_time"), ("/mcp/functions", "clock__server_time"))
        for served in [ServedToolkits(kit, endpoint=path)]
    }
    assert [list(shown) for shown in properties.values()] == [listed, ["zone"]]


def test_the_table_of_component_options_matches_the_code() -> None:
    table = rows_after("<!-- component options")
    said = {
        kind: {option for option, kinds in table.items() if kind in names_in(kinds)}
        for kind in component_options.OPTIONS
    }
    assert said == {kind: set(options) for kind, options in component_options.OPTIONS.items()}
    about = next(line for line in PAGE.splitlines() if line.startswith("| `annotations` | `resource`"))
    assert names_in(about) == {"annotations", "resource", "template", *ContentAnnotations.__annotations__}


def test_the_table_of_types_matches_the_code() -> None:
    table = rows_after("<!-- fields")
    assert list(table) == list(KINDS)
    for name, kind in KINDS.items():
        assert names_in(table[name].partition(": ")[0]) == {*kind.keywords, *kind.parts} - {MAKE}
    every = PAGE.partition("Every type has")[2].partition(".")[0]
    assert names_in(every) == {*OPTIONS} - {"type"}


def test_the_documented_limits_match_the_code() -> None:
    assert f"{LONGEST_NAME} printable characters" in PAGE
    assert f"{LONGEST_TITLE} characters" in PAGE
    assert f"{LONGEST_DESCRIPTION:,} characters" in PAGE
    assert f"{LONGEST_EXTRAS:,} characters of JSON" in PAGE
    assert f"{LONGEST_COMPONENT:,} characters of JSON" in PAGE
    assert f"a URI has {LONGEST_URI:,}" in PAGE
    assert f"{MOST_INSTANCES:,}\nat most" in PAGE
    assert MOST_INSTANCES == toolkit_answers.MOST_INSTANCES
    assert f"A client gets {MOST_COMPLETIONS}" in PAGE
    assert (INSTANCES_WITHIN, REVALIDATION_INTERVAL) == (5, 2)
    assert all(f"`{scheme}://`" in PAGE for scheme in RESERVED_SCHEMES)


def test_the_table_of_the_context_matches_the_code() -> None:
    context = Context(build_call("f"), "", ContextServices(None, build_secrets({}), MemoryLog()), seconds=1)
    members = {name for name in dir(context) if not name.startswith("_")} - {"end", "input_required"}
    assert {
        name for cell in rows_after("<!-- context") for name in re.findall(r"(\w+)(?:\(.*?\))?`", f"{cell}`")
    } == members
    assert (CACHE_SECONDS, SHORTEST_MASKED, PROGRESS_INTERVAL) == (5 * 60, 8, 1)


def test_the_page_names_every_member_of_a_trial_result() -> None:
    section = PAGE.partition("what comes of it")[2]
    members = {name for name in dir(TrialResult) if not name.startswith("_")} - {"tool", "answered"}
    assert members <= names_in(section)


def test_the_readme_links_to_the_page() -> None:
    assert "(docs/toolkits.md)" in (PROJECT / "README.md").read_text()
