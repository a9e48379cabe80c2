"""The functions that the official conformance suite calls, written as any author writes them.

The suite knows its tools by names of one part, and `/mcp/functions` names tools by the ids of functions. So the id of
each tool here is its name, without the namespace of the toolkit.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.toolkit import Content, Context, Elicit, Function, ToolError, Toolkit, ToolResult, executor, user
from stage import samples
from stage.samples import ROOTS, build_question, build_sampling

kit = Toolkit("conformance")

LONGEST_TASK_MS = 70_000
"""More than a client waits, so that a call is a run."""
LONGEST_SLEEP = 5.0
"""The suite has many tasks of a minute, which it cancels at once or leaves alone. A function cannot be interrupted, so
longer sleeps would keep all workers of the stage until other scenarios have given up."""


@kit.tool
def test_simple_text() -> str:
    """Answers a fixed text."""
    return "This is a simple text response for testing."


@kit.tool
def test_image_content() -> Content:
    """Answers a picture."""
    return Content.image(samples.RED_PIXEL, "image/png")


@kit.tool
def test_audio_content() -> Content:
    """Answers a sound."""
    return Content.audio(samples.SILENCE, "audio/wav")


@kit.tool
def test_embedded_resource() -> Content:
    """Answers a resource."""
    text = "This is an embedded resource content."
    return Content.resource("test://embedded-resource", text=text, mime_type="text/plain")


@kit.tool
def test_multiple_content_types() -> list[Content]:
    """Answers three kinds at once."""
    data = '{"test":"data","value":123}'
    return [
        Content.text("Multiple content types test:"),
        Content.image(samples.RED_PIXEL, "image/png"),
        Content.resource("test://mixed-content-resource", text=data, mime_type="application/json"),
    ]


@kit.tool
def test_error_handling() -> ToolResult:
    """Always reports an error."""
    return ToolResult([Content.text("This tool intentionally returns an error for testing")], is_error=True)


def _log_three_times(ctx: Context) -> str:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log.info(words)
    return "Logged."


@kit.tool
def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    return _log_three_times(ctx)


@kit.tool
def test_logging_tool(ctx: Context) -> str:
    """Logs three times."""
    return _log_three_times(ctx)


@kit.tool
def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times."""
    for done in (0, 50, 100):
        ctx.progress(done, 100, f"{done} of 100")
    return "Progressed."


@kit.tool(input_schema=samples.RICH_SCHEMA)
def json_schema_2020_12_tool(args: JsonObject) -> str:
    """Tool with JSON Schema 2020-12 features"""
    del args
    return "Valid."


@kit.tool(input_schema=samples.MIRRORED_SCHEMA)
def test_mirrored_argument(args: JsonObject) -> str:
    """Has an argument that a header repeats."""
    del args
    return "Agreed."


def _read_content(ctx: Context, key: str) -> JsonObject | None:
    """Return the content that a person filled in; None if there is none."""
    answer = as_object(ctx.answers.get(key))
    content = answer.get("content")
    return content if answer.get("action") == "accept" and isinstance(content, Mapping) else None


def _ask_name(ctx: Context) -> str | InputRequired:
    name = (_read_content(ctx, "user_name") or {}).get("name")
    if not isinstance(name, str):
        return InputRequired({"user_name": build_question("What is your name?", "name")})
    return f"Hello, {name}!"


def _confirm(ctx: Context) -> str | InputRequired:
    if _read_content(ctx, "confirm") is None or ctx.state != "asked":
        return InputRequired({"confirm": build_question("Please confirm", "ok", "boolean")}, state="asked")
    return "state-ok"


@kit.tool
def test_streaming_elicitation(ctx: Context) -> object:
    """Asks for a name."""
    return _ask_name(ctx)


@kit.tool
def test_elicitation(message: str, ctx: Context) -> object:
    """Asks for a name."""
    del message
    return _ask_name(ctx)


@kit.tool
def test_input_required_result_elicitation(ctx: Context) -> object:
    """Asks for a name."""
    return _ask_name(ctx)


@kit.tool
def test_missing_capability() -> InputRequired:
    """Needs a client that samples."""
    return InputRequired({"answer": build_sampling("Anything", 10)})


@kit.tool
def test_sampling(prompt: str) -> InputRequired:
    """Needs a client that samples."""
    return InputRequired({"answer": build_sampling(prompt, 10)})


@kit.tool
def test_input_required_result_sampling(ctx: Context) -> object:
    """Has a question sampled."""
    answer = as_object(as_object(ctx.answers.get("capital_question")).get("content")).get("text")
    if not isinstance(answer, str):
        return InputRequired({"capital_question": build_sampling("What is the capital of France?", 100)})
    return answer


@kit.tool
def test_input_required_result_list_roots(ctx: Context) -> object:
    """Asks for the roots."""
    roots = as_object(ctx.answers.get("client_roots")).get("roots")
    return f"Roots: {roots}" if isinstance(roots, list) else InputRequired({"client_roots": ROOTS})


@kit.tool
def test_input_required_result_request_state(ctx: Context) -> object:
    """Asks, and keeps retry state."""
    return _confirm(ctx)


@kit.tool
def test_input_required_result_tampered_state(ctx: Context) -> object:
    """Asks, and keeps retry state."""
    return _confirm(ctx)


@kit.tool
def test_input_required_result_multiple_inputs(ctx: Context) -> object:
    """Asks three things at once."""
    if {"user_name", "greeting", "client_roots"} <= set(ctx.answers):
        return "All three were answered."
    requests = {
        "user_name": build_question("What is your name?", "name"),
        "greeting": build_sampling("Generate a greeting", 50),
        "client_roots": ROOTS,
    }
    return InputRequired(requests, state="asked")


@kit.tool
def test_input_required_result_multi_round(ctx: Context) -> object:
    """Asks one thing after the other."""
    first = as_object(ctx.state).get("name") or (_read_content(ctx, "step1") or {}).get("name")
    if not isinstance(first, str):
        return InputRequired({"step1": build_question("Step 1: What is your name?", "name")}, state={"round": 1})
    color = (_read_content(ctx, "step2") or {}).get("color")
    if not isinstance(color, str):
        asked = {"step2": build_question("Step 2: What is your favorite color?", "color")}
        return InputRequired(asked, state={"round": 2, "name": first})
    return f"{first} likes {color}."


@kit.tool
def test_input_required_result_capabilities(ctx: Context) -> object:
    """Asks what the client supports."""
    questions = {"elicitation": ("user_name", build_question("What is your name?", "name"))}
    questions["sampling"] = ("greeting", build_sampling("Generate a greeting", 50))
    requests = dict(question for capability, question in questions.items() if ctx.can(capability))
    return "Nothing left to ask." if set(requests) <= set(ctx.answers) else InputRequired(requests)


@kit.prompt
def test_simple_prompt() -> str:
    """Says a fixed thing."""
    return "This is a simple prompt for testing."


@kit.prompt(complete={"arg1": ["paris", "party"]})
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Repeats its arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@kit.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> object:  # noqa: N803 - the suite's name of the argument
    """Embeds a resource."""
    text = "Embedded resource content for testing."
    embedded = Content.resource(resourceUri, text=text, mime_type="text/plain")
    return [user(embedded), user("Please process the embedded resource above.")]


@kit.prompt
def test_prompt_with_image() -> object:
    """Shows a picture."""
    return [user(Content.image(samples.RED_PIXEL, "image/png")), user("Please analyze the image above.")]


@kit.prompt
def test_input_required_result_prompt(ctx: Context) -> object:
    """Asks before it answers."""
    context = (_read_content(ctx, "user_context") or {}).get("context")
    if not isinstance(context, str):
        return InputRequired({"user_context": build_question("What context should the prompt use?", "context")})
    return user(f"In this context: {context}")


@kit.resource(samples.STATIC_TEXT, name="Static text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@kit.resource(samples.STATIC_BINARY, name="Static picture", mime_type="image/png")
def static_binary() -> bytes:
    return samples.BINARY


@kit.template(samples.TEMPLATE, name="Data by id", mime_type="application/json")
def template_data(id: str) -> Mapping[str, Json]:  # noqa: A002 - the variable of the URI
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# For the scenarios of the tasks extension.


@kit.tool(task="never")
def greet(name: str) -> str:
    """Greets, and is never a task."""
    return f"Hello, {name}!"


@kit.tool(timeout_ms=LONGEST_TASK_MS)
def slow_compute(seconds: float, label: str = "") -> str:
    """Takes as many seconds as it is told, five at most."""
    time.sleep(min(seconds, LONGEST_SLEEP))
    return f"Computed {label} in {seconds} s."


@kit.tool(task="required")
def failing_job() -> str:
    """Fails after a second."""
    time.sleep(1)
    raise ToolError("The job failed.")


@kit.tool(task="required")
def protocol_error_job() -> str:
    """Ends in an exception."""
    raise RuntimeError("unexpected")


@kit.tool(task="required")
def confirm_delete(filename: str, ctx: Context) -> object:
    """Asks before it deletes."""
    confirmed = _read_content(ctx, "confirm")
    if confirmed is None:
        return InputRequired({"confirm": build_question(f"Delete {filename}?", "confirm", "boolean")})
    return f"Deleted {filename}." if confirmed.get("confirm") is True else f"Kept {filename}."


@kit.tool(task="required")
def multi_input(ctx: Context) -> object:
    """Asks two questions at once."""
    fields = {"name": {"type": "string", "required": True}, "confirm": {"type": "boolean", "required": True}}
    answers = ctx.ask_all({key: Elicit(f"The {key} name?", fields) for key in ("first", "second")})
    return f"The answers: {[answer.content for answer in answers.values()]}"


@kit.tool(task="required", needs=("elicitation",))
def test_tool_with_task(ctx: Context) -> object:
    """Asks for a name, then works on as a task."""
    return _ask_name(ctx)


def _hosted(function: Function) -> Function:
    return function if function.component is not None else replace(function, id=function.name or function.id)


handler = executor(*map(_hosted, kit.functions))
