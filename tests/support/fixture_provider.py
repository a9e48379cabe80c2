"""Providers of each kind with known answers, for tests of the protocol in memory. Only the principals of one tenant see
them."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from signpost.mcp.surface import Surface
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
from stage.samples import BINARY, STATIC_BINARY, STATIC_TEXT, TEMPLATE, TENANT, build_question, build_text
from tests.support.fixture_tools import BEHAVIOURS, read_content

TEMPLATE_PREFIX, TEMPLATE_SUFFIX = TEMPLATE.split("{id}")

PROMPTS = (
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
        return [ResourceTemplate(TEMPLATE, "Data by id", mime_type="application/json")] if _is_ours(call) else ()

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        if not _is_ours(call):
            return None
        if uri == STATIC_TEXT:
            return [{"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}]
        if uri == STATIC_BINARY:
            return [{"uri": uri, "mimeType": "image/png", "blob": base64.b64encode(BINARY).decode()}]
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
        if name != "test_prompt":
            return None
        return GetPromptResult(
            [{"role": "user", "content": build_text(f"Greet {arguments.get('name', 'everybody')}.")}]
        )

    def complete(
        self, reference: JsonObject, argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | None:
        del given
        known = {prompt.name for prompt in PROMPTS}
        if not _is_ours(call) or not (reference.get("name") in known or reference.get("type") == "ref/resource"):
            return None
        names = ("operator", "author", "approver") if argument == "name" else ()
        return Completion([name for name in names if name.startswith(value)])


def _prompt_after_a_question(call: Call) -> GetPromptResult | InputRequired:
    context = (read_content(call, "user_context") or {}).get("context")
    if not isinstance(context, str):
        return InputRequired({"user_context": build_question("What context should the prompt use?", "context")})
    return GetPromptResult([{"role": "user", "content": build_text(f"In this context: {context}")}])


def add_fixtures(surface: Surface) -> Surface:
    """Return the surface with the providers in addition to its own."""
    fixtures = FixtureProvider()
    return replace(
        surface,
        tools=(*surface.tools, fixtures),
        resources=(*surface.resources, fixtures),
        prompts=(*surface.prompts, fixtures),
        completions=(*surface.completions, fixtures),
    )


def _is_ours(call: Call) -> bool:
    return call.principal.tenant == TENANT
