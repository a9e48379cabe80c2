"""The tools of the provider with known answers, which tests of the protocol call in memory."""

from collections.abc import Callable, Mapping

from signpost.model import Call, CallToolResult, InputRequired, Json, JsonObject, Tool, as_object
from stage.samples import (
    AUDIO,
    IMAGE,
    MIRRORED_SCHEMA,
    RICH_SCHEMA,
    ROOTS,
    build_embedded_resource,
    build_question,
    build_sampling,
    build_text,
)

type Behaviour = Callable[[JsonObject, Call], CallToolResult | InputRequired]

NO_ARGUMENTS: JsonObject = {"type": "object", "additionalProperties": False}


def read_content(call: Call, key: str) -> JsonObject | None:
    """Return the content that a person filled in; None if there is none."""
    answer = as_object(call.answers.get(key))
    content = answer.get("content")
    return content if answer.get("action") == "accept" and isinstance(content, Mapping) else None


def answer_with(*content: JsonObject, is_error: bool = False) -> Behaviour:
    return lambda _arguments, _call: CallToolResult(content, is_error=is_error)


def _with_logging(_arguments: JsonObject, call: Call) -> CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.notifications.send_log(call, "info", words)
    return CallToolResult([build_text("Logged.")])


def _with_progress(_arguments: JsonObject, call: Call) -> CallToolResult:
    for done in (0, 50, 100):
        call.notifications.send_progress(call, done, 100)
    return CallToolResult([build_text("Progressed.")])


def _ask_name(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    name = (read_content(call, "user_name") or {}).get("name")
    if not isinstance(name, str):
        return InputRequired({"user_name": build_question("What is your name?", "name")})
    return CallToolResult([build_text(f"Hello, {name}!")])


def _sample_capital(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    answer = as_object(as_object(call.answers.get("capital_question")).get("content")).get("text")
    if not isinstance(answer, str):
        return InputRequired({"capital_question": build_sampling("What is the capital of France?", 100)})
    return CallToolResult([build_text(answer)])


def _with_state(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    if read_content(call, "confirm") is None or call.state != "asked":
        return InputRequired({"confirm": build_question("Please confirm", "ok", "boolean")}, state="asked")
    return CallToolResult([build_text("state-ok")])


def _ask_three(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    if {"user_name", "greeting", "client_roots"} <= set(call.answers) and call.state == "asked":
        return CallToolResult([build_text("All three were answered.")])
    requests = {
        "user_name": build_question("What is your name?", "name"),
        "greeting": build_sampling("Generate a greeting", 50),
        "client_roots": ROOTS,
    }
    return InputRequired(requests, state="asked")


def _two_rounds(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    first = as_object(call.state).get("name") or (read_content(call, "step1") or {}).get("name")
    if not isinstance(first, str):
        return InputRequired({"step1": build_question("Step 1: What is your name?", "name")}, state={"round": 1})
    color = (read_content(call, "step2") or {}).get("color")
    if not isinstance(color, str):
        asked = {"step2": build_question("Step 2: What is your favorite color?", "color")}
        return InputRequired(asked, state={"round": 2, "name": first})
    return CallToolResult([build_text(f"{first} likes {color}.")])


def _what_is_declared(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    """Send only the input requests for which the client has declared the capability."""
    requests: dict[str, JsonObject] = {}
    if "elicitation" in call.client.capabilities:
        requests["user_name"] = build_question("What is your name?", "name")
    if "sampling" in call.client.capabilities:
        requests["greeting"] = build_sampling("Generate a greeting", 50)
    if not requests or set(requests) <= set(call.answers):
        return CallToolResult([build_text("Nothing left to ask.")])
    return InputRequired(requests)


def _needs_sampling(_arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
    del call
    return InputRequired({"answer": build_sampling("Anything", 10)})


def _crash(arguments: JsonObject, _call: Call) -> CallToolResult:
    raise RuntimeError(f"unexpected: {arguments}")


def _add(arguments: JsonObject, _call: Call) -> CallToolResult:
    numbers = [number for number in (arguments.get("a"), arguments.get("b")) if isinstance(number, int | float)]
    return CallToolResult([build_text(str(sum(numbers)))], structured={"sum": sum(numbers)})


def _break_its_word(_arguments: JsonObject, _call: Call) -> CallToolResult:
    return CallToolResult([build_text("two")], structured={"sum": "two"})


def _long(arguments: JsonObject, call: Call) -> CallToolResult:
    size, kind = arguments.get("characters"), arguments.get("of", "x")
    for _ in range(as_int(arguments.get("notices"))):
        call.notifications.send_log(call, "info", "x" * 100_000)
    return CallToolResult([build_text(str(kind) * as_int(size))])


def as_int(value: Json) -> int:
    return value if isinstance(value, int) else 0


SUM_SCHEMA: JsonObject = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
TWO_NUMBERS_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
MIXED_CONTENT = (build_text("Multiple content types test:"), IMAGE)
MIXED_RESOURCE = build_embedded_resource(
    "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
)
ERROR_TEXT = build_text("This tool intentionally returns an error for testing")


def _tool(name: str, description: str, schema: JsonObject = NO_ARGUMENTS, output: JsonObject | None = None) -> Tool:
    return Tool(name, description, schema, output_schema=output)


BEHAVIOURS: Mapping[str, tuple[Tool, Behaviour]] = {
    tool.name: (tool, behaviour)
    for tool, behaviour in (
        (
            _tool("test_simple_text", "Answers a fixed text."),
            answer_with(build_text("This is a simple text response for testing.")),
        ),
        (_tool("test_audio_content", "Answers a sound."), answer_with(AUDIO)),
        (
            _tool("test_multiple_content_types", "Answers three kinds at once."),
            answer_with(*MIXED_CONTENT, MIXED_RESOURCE),
        ),
        (_tool("test_error_handling", "Always reports an error."), answer_with(ERROR_TEXT, is_error=True)),
        (_tool("test_tool_with_logging", "Logs three times."), _with_logging),
        (_tool("test_logging_tool", "Logs three times."), _with_logging),
        (_tool("test_tool_with_progress", "Reports progress three times."), _with_progress),
        (_tool("test.ask", "Asks, and keeps retry state.", {"type": "object"}), _with_state),
        (_tool("test_missing_capability", "Needs a client that samples."), _needs_sampling),
        (_tool("test_input_required_result_elicitation", "Asks for a name."), _ask_name),
        (_tool("test_input_required_result_sampling", "Has a question sampled."), _sample_capital),
        (_tool("test_input_required_result_request_state", "Asks, and keeps retry state."), _with_state),
        (_tool("test_input_required_result_multiple_inputs", "Asks three things at once."), _ask_three),
        (_tool("test_input_required_result_multi_round", "Asks one thing after the other."), _two_rounds),
        (_tool("test_input_required_result_capabilities", "Asks what the client supports."), _what_is_declared),
        (
            _tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", RICH_SCHEMA),
            answer_with(build_text("Valid.")),
        ),
        (
            _tool("test_mirrored_argument", "Has an argument that a header repeats.", MIRRORED_SCHEMA),
            answer_with(build_text("Agreed.")),
        ),
        (_tool("test_add", "Adds two numbers.", TWO_NUMBERS_SCHEMA, SUM_SCHEMA), _add),
        (
            _tool("test_broken_promise", "Returns a result that its output schema forbids.", output=SUM_SCHEMA),
            _break_its_word,
        ),
        (_tool("test_long_answer", "Answers as much as is asked for.", {"type": "object"}), _long),
        (_tool("test_crash", "Raises an unexpected error.", {"type": "object"}), _crash),
    )
}
