"""Providers of each kind with known answers, for clients and suites that need a server with content.

Only the principals of one tenant see them, so that they cannot be mistaken for the content of a deployment.
"""

import base64
import json
from collections.abc import Mapping, Sequence

from signpost.model import (
    Call,
    CallToolResult,
    Completion,
    GetPromptResult,
    InputRequired,
    JsonObject,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    Tool,
)
from stage.tools import BEHAVIOURS, IMAGE, build_embedded_resource, build_question, build_text, read_content

TENANT = "fixtures"
STATIC_TEXT = "test://static-text"
STATIC_BINARY = "test://static-binary"
TEMPLATE_PREFIX, TEMPLATE_SUFFIX = "test://template/", "/data"

PROMPTS = (
    Prompt("test_simple_prompt", description="Says a fixed thing."),
    Prompt(
        "test_prompt_with_arguments",
        description="Repeats its arguments.",
        arguments=[PromptArgument("arg1", required=True), PromptArgument("arg2", required=True)],
    ),
    Prompt(
        "test_prompt_with_embedded_resource",
        description="Embeds a resource.",
        arguments=[PromptArgument("resourceUri", required=True)],
    ),
    Prompt("test_prompt_with_image", description="Shows a picture."),
    Prompt("test_input_required_result_prompt", description="Asks before it answers."),
    Prompt("test_prompt", description="Greets.", arguments=[PromptArgument("name", "Whom to greet.", required=True)]),
)


class FixtureProvider:
    def tools(self, call: Call) -> Sequence[Tool]:
        return [tool for tool, _ in BEHAVIOURS.values()] if _is_ours(call) else ()

    def tool(self, name: str, call: Call) -> Tool | None:
        found = BEHAVIOURS.get(name) if _is_ours(call) else None
        return found[0] if found else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        _, behaviour = BEHAVIOURS[tool.name]
        return behaviour(arguments, call)

    def resources(self, call: Call) -> Sequence[Resource]:
        text_file = Resource(STATIC_TEXT, "Static text", mime_type="text/plain")
        picture = Resource(STATIC_BINARY, "Static picture", mime_type="image/png")
        return [text_file, picture] if _is_ours(call) else ()

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        uri = f"{TEMPLATE_PREFIX}{{id}}{TEMPLATE_SUFFIX}"
        return [ResourceTemplate(uri, "Data by id", mime_type="application/json")] if _is_ours(call) else ()

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        if not _is_ours(call):
            return None
        if uri == STATIC_TEXT:
            return [{"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}]
        if uri == STATIC_BINARY:
            return [{"uri": uri, "mimeType": "image/png", "blob": base64.b64encode(b"not a picture").decode()}]
        if uri.startswith(TEMPLATE_PREFIX) and uri.endswith(TEMPLATE_SUFFIX):
            resource_id = uri.removeprefix(TEMPLATE_PREFIX).removesuffix(TEMPLATE_SUFFIX)
            data = {"id": resource_id, "templateTest": True, "data": f"Data for ID: {resource_id}"}
            return [{"uri": uri, "mimeType": "application/json", "text": json.dumps(data, separators=(",", ":"))}]
        return None

    def prompts(self, call: Call) -> Sequence[Prompt]:
        return PROMPTS if _is_ours(call) else ()

    def get_prompt(self, name: str, arguments: Mapping[str, str], call: Call) -> GetPromptResult | InputRequired | None:
        if not _is_ours(call):
            return None
        if name == "test_input_required_result_prompt":
            return _prompt_after_a_question(call)
        contents = _contents(name, arguments)
        return GetPromptResult([{"role": "user", "content": content} for content in contents]) if contents else None

    def complete(
        self, reference: JsonObject, argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | None:
        del given
        known = {prompt.name for prompt in PROMPTS}
        if not _is_ours(call) or not (reference.get("name") in known or reference.get("type") == "ref/resource"):
            return None
        names = ("operator", "author", "approver") if argument == "name" else ()
        return Completion([name for name in names if name.startswith(value)])


def _contents(name: str, arguments: Mapping[str, str]) -> Sequence[JsonObject]:
    values = {"arg1": "", "arg2": "", "resourceUri": "", "name": "everybody", **arguments}
    return {
        "test_simple_prompt": [build_text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            build_text(f"Prompt with arguments: arg1='{values['arg1']}', arg2='{values['arg2']}'"),
        ],
        "test_prompt_with_embedded_resource": [
            build_embedded_resource(values["resourceUri"], "text/plain", "Embedded resource content for testing."),
            build_text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [IMAGE, build_text("Please analyze the image above.")],
        "test_prompt": [build_text(f"Greet {values['name']}.")],
    }.get(name, [])


def _prompt_after_a_question(call: Call) -> GetPromptResult | InputRequired:
    context = (read_content(call, "user_context") or {}).get("context")
    if not isinstance(context, str):
        return InputRequired({"user_context": build_question("What context should the prompt use?", "context")})
    return GetPromptResult([{"role": "user", "content": build_text(f"In this context: {context}")}])


def _is_ours(call: Call) -> bool:
    return call.principal.tenant == TENANT
