"""A provider of each kind with known answers, for clients and suites that need a server with content.

Only the principals of one tenant see it, so that it cannot be mistaken for what a deployment offers.
"""

from collections.abc import Mapping, Sequence

from signpost.model import (
    Call,
    Completion,
    JsonObject,
    Prompt,
    PromptArgument,
    PromptResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
)

TENANT = "fixtures"
STATIC_TEXT = "test://static-text"
TEMPLATE_PREFIX, TEMPLATE_SUFFIX = "test://template/", "/data"
NO_ARGUMENTS: JsonObject = {"type": "object", "additionalProperties": False}

TOOLS = (
    Tool("test_simple_text", "Answers a fixed text.", NO_ARGUMENTS),
    Tool("test_crash", "Fails in a way that nobody foresaw.", NO_ARGUMENTS),
)
PROMPT = Prompt(
    "test_prompt", description="Greets.", arguments=[PromptArgument("name", "Whom to greet.", required=True)]
)


class Fixtures:
    def tools(self, call: Call) -> Sequence[Tool]:
        return TOOLS if _is_ours(call) else ()

    def call_tool(self, name: str, arguments: JsonObject, call: Call) -> ToolResult | None:
        if not _is_ours(call):
            return None
        if name == "test_crash":
            raise RuntimeError(f"nobody foresaw {arguments}")
        if name == "test_simple_text":
            return ToolResult([{"type": "text", "text": "This is a simple text response for testing."}])
        return None

    def resources(self, call: Call) -> Sequence[Resource]:
        return [Resource(STATIC_TEXT, "Static text", mime_type="text/plain")] if _is_ours(call) else ()

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        template = ResourceTemplate(f"{TEMPLATE_PREFIX}{{id}}{TEMPLATE_SUFFIX}", "Data by id", mime_type="text/plain")
        return [template] if _is_ours(call) else ()

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        if not _is_ours(call):
            return None
        if uri == STATIC_TEXT:
            return [{"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}]
        if uri.startswith(TEMPLATE_PREFIX) and uri.endswith(TEMPLATE_SUFFIX):
            wanted = uri.removeprefix(TEMPLATE_PREFIX).removesuffix(TEMPLATE_SUFFIX)
            return [{"uri": uri, "mimeType": "text/plain", "text": f"Data of {wanted}"}]
        return None

    def prompts(self, call: Call) -> Sequence[Prompt]:
        return [PROMPT] if _is_ours(call) else ()

    def get_prompt(self, name: str, arguments: Mapping[str, str], call: Call) -> PromptResult | None:
        if not _is_ours(call) or name != PROMPT.name:
            return None
        text = f"Greet {arguments.get('name', 'everybody')}."
        return PromptResult([{"role": "user", "content": {"type": "text", "text": text}}])

    def complete(self, reference: JsonObject, argument: str, value: str, call: Call) -> Completion | None:
        if not _is_ours(call) or reference.get("name") != PROMPT.name or argument != "name":
            return None
        return Completion([name for name in ("operator", "author", "approver") if name.startswith(value)])


def _is_ours(call: Call) -> bool:
    return call.principal.tenant == TENANT
