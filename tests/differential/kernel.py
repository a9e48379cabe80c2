"""The official SDK's kernel in the place of ours: the same providers, behind somebody else's protocol.

Driven directly, without its web stack. What the SDK leaves to the server, this
adapter takes from the text of the specification and not from our code: which era a request speaks,
that arguments are held against the tool's schema, and what an unknown name is answered.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

import anyio
import mcp_types as types
from jsonschema import Draft202012Validator
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS, InboundLadderRejection, classify_inbound_request
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from signpost.errors import Rejection
from signpost.mcp.providers import ToolProvider
from signpost.mcp.surface import Surface
from signpost.model import (
    Call,
    CallToolResult,
    Completion,
    GetPromptResult,
    InputRequired,
    Prompt,
    Resource,
    ResourceTemplate,
    Task,
    Tool,
)
from tests.differential.outcome import Outcome, Sent, outcome

RESOURCE_NOT_FOUND_LEGACY = -32002
UNNAMED = "2025-03-26"
"""The revision of a request that names none (2025-06-18, basic/transports, "Protocol Version Header")."""
CACHED: tuple[CacheableMethod, ...] = (
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
)  # fmt: skip
_RESPONSE = TypeAdapter[JSONRPCResponse | JSONRPCError](JSONRPCResponse | JSONRPCError)


class Kernel:
    """Use it in a `with`: it keeps an event loop, as a warm function would."""

    def __init__(self, surface: Surface, call: Call) -> None:
        self._server = SdkHandlers(surface, call).server()
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs what clients do wrong
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("mcp").setLevel(logging.NOTSET)
        self._runner.close()

    def answer(self, sent: Sent) -> Outcome:
        document: dict[str, Any] = json.loads(json.dumps(sent.document))
        headers = {name.lower(): value.strip(" \t") for name, value in sent.headers.items()}
        if _is_response(document) and not _is_modern({}, headers):  # a response has no params to be modern in
            return Outcome(202)
        if "id" not in document:
            return _notification(document, headers)
        try:
            request = JSONRPCRequest.model_validate(document)
        except ValidationError:
            return _error_outcome(INVALID_REQUEST)
        return self._modern(request, headers) if _is_modern(document, headers) else self._legacy(request, headers)

    def _modern(self, request: JSONRPCRequest, headers: Mapping[str, str]) -> Outcome:
        route = classify_inbound_request(request.model_dump(), headers=headers)
        if isinstance(route, InboundLadderRejection):
            return _error_outcome(route.code, request.id)
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        message = self._served(request, connection)
        code = message.get("error", {}).get("code")
        return outcome(ERROR_CODE_HTTP_STATUS.get(code, 200), message)

    def _legacy(self, request: JSONRPCRequest, headers: Mapping[str, str]) -> Outcome:
        connection = Connection.from_envelope(headers.get("mcp-protocol-version", UNNAMED), None, None)
        return outcome(200, self._served(request, connection))

    def _served(self, request: JSONRPCRequest, connection: Connection) -> dict[str, Any]:
        served = serve_one(
            self._server,
            OneRequestDispatch(request.id),
            request.method,
            request.params,
            connection=connection,
            lifespan_state={},
        )
        try:
            return {"id": request.id, "result": self._runner.run(served)}
        except Exception as fault:  # noqa: BLE001 - the SDK leaves the boundary to whoever drives it
            return {"id": request.id, "error": {"code": modern_error_data(fault).code}}


@dataclass(slots=True)
class OneRequestDispatch:
    """One request without a way back to its client."""

    request_id: types.RequestId
    transport: TransportContext = field(default=TransportContext(kind="test", can_send_request=False))
    message_metadata: MessageMetadata = None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        del params, opts
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Progress and log messages are no part of what is compared."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Likewise."""


def _is_modern(document: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    version = headers.get("mcp-protocol-version")
    if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return True
    params: Any = document.get("params")
    meta: Any = cast("Mapping[str, Any]", params).get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and types.PROTOCOL_VERSION_META_KEY in meta


def _is_response(document: Mapping[str, Any]) -> bool:
    """Older revisions take responses, to requests that we never send."""
    try:
        _RESPONSE.validate_python(document)
    except ValidationError:
        return False
    return not isinstance(document.get("method"), str)


def _notification(document: Mapping[str, Any], headers: Mapping[str, str]) -> Outcome:
    try:
        JSONRPCNotification.model_validate(document)
    except ValidationError:
        return _error_outcome(INVALID_REQUEST)
    version = headers.get("mcp-protocol-version", UNNAMED)
    known = version in HANDSHAKE_PROTOCOL_VERSIONS or version in MODERN_PROTOCOL_VERSIONS
    return Outcome(202) if known else _error_outcome(types.UNSUPPORTED_PROTOCOL_VERSION)


def _error_outcome(code: int, message_id: types.RequestId | None = None) -> Outcome:
    return Outcome(ERROR_CODE_HTTP_STATUS.get(code, 200), code=code, id=message_id)


class SdkHandlers:
    """Our providers as handlers of the SDK. The kernel brings their results into the shape of each revision."""

    def __init__(self, surface: Surface, call: Call) -> None:
        self._surface = surface
        self._call = call

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "oracle",
            cache_hints=dict.fromkeys(CACHED, CacheHint()),
            instructions=self._surface.instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_resource_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        server.middleware.clear()  # tracing, which costs time and changes no answer
        return server

    async def _list_tools(self, _ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        _refuse_cursor(params)
        return types.ListToolsResult(tools=[_tool(tool) for _, tool in self._tools()])

    async def _call_tool(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        found = next(((provider, tool) for provider, tool in self._tools() if tool.name == params.name), None)
        if found is None:
            raise MCPError(INVALID_PARAMS, "unknown tool")
        provider, tool = found
        _refuse_state(ctx, params.request_state)
        arguments: dict[str, Any] = params.arguments or {}
        faults = [fault.message for fault in Draft202012Validator(dict(tool.input_schema)).iter_errors(arguments)]
        if faults:
            return _error_result(faults[0])
        result = provider.call_tool(tool, arguments, self._call)
        match result:
            case InputRequired():
                return _input_required_result(ctx, result) if _speaks_modern(ctx) else _error_result("ask your user")
            case CallToolResult():
                return _tool_result(result)
            case Rejection(code, message):
                raise MCPError(code, message)
            case Task():
                raise TypeError("The surfaces that are compared have no tasks.")

    async def _list_resources(
        self, _ctx: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        _refuse_cursor(params)
        found = (resource for provider in self._surface.resources for resource in provider.resources(self._call))
        return types.ListResourcesResult(resources=[_resource(resource) for resource in found])

    async def _list_resource_templates(
        self, _ctx: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        _refuse_cursor(params)
        found = (each for provider in self._surface.resources for each in provider.resource_templates(self._call))
        return types.ListResourceTemplatesResult(resource_templates=[_template(template) for template in found])

    async def _read_resource(self, ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        _refuse_state(ctx, params.request_state)
        for provider in self._surface.resources:
            contents = provider.read_resource(params.uri, self._call)
            if contents is not None and not isinstance(contents, InputRequired):
                return types.ReadResourceResult.model_validate({"contents": contents})
        modern = _speaks_modern(ctx)
        raise MCPError(INVALID_PARAMS if modern else RESOURCE_NOT_FOUND_LEGACY, "unknown resource")

    async def _list_prompts(self, _ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        _refuse_cursor(params)
        found = (prompt for provider in self._surface.prompts for prompt in provider.prompts(self._call))
        return types.ListPromptsResult(prompts=[_prompt(prompt) for prompt in found])

    async def _get_prompt(self, ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        _refuse_state(ctx, params.request_state)
        for provider in self._surface.prompts:
            result = provider.get_prompt(params.name, params.arguments or {}, self._call)
            if isinstance(result, GetPromptResult):
                rendered = {"messages": result.messages, "description": result.description}
                return types.GetPromptResult.model_validate(rendered)
        raise MCPError(INVALID_PARAMS, "unknown prompt")

    async def _complete(self, _ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        reference = params.ref.model_dump(by_alias=True)
        given = (params.context.arguments if params.context else None) or {}
        for provider in self._surface.completions:
            found = provider.complete(reference, params.argument.name, params.argument.value, given, self._call)
            if isinstance(found, Completion):
                return types.CompleteResult(completion=types.Completion(values=list(found.values)))
        raise MCPError(INVALID_PARAMS, "nothing to complete")

    def _tools(self) -> list[tuple[ToolProvider, Tool]]:
        return [(provider, tool) for provider in self._surface.tools for tool in provider.tools(self._call)]


def _refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "invalid cursor")


def _refuse_state(ctx: Any, state: str | None) -> None:
    """2026-07-28, MRTR: a state that fails the check MUST be rejected, and none of these tools ever gave one. Without a
    state, answers answer nothing, so no call has any."""
    if _speaks_modern(ctx) and state is not None:
        raise MCPError(INVALID_PARAMS, "invalid requestState")


def _input_required_result(ctx: Any, required: InputRequired) -> types.InputRequiredResult:
    """2026-07-28, MRTR: a server MUST NOT ask for what the client did not declare. The SDK leaves that to it."""
    declared = ctx.params["_meta"][types.CLIENT_CAPABILITIES_META_KEY]
    needed = {str(request["method"]).partition("/")[0] for request in required.requests.values()}
    if not needed <= set(declared):
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "a capability is missing")
    return types.InputRequiredResult.model_validate({"inputRequests": required.requests})


def _error_result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


def _speaks_modern(ctx: Any) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _tool(tool: Tool) -> types.Tool:
    wire = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    }
    return types.Tool.model_validate(wire)


def _tool_result(result: CallToolResult) -> types.CallToolResult:
    wire = {"content": result.content, "isError": result.is_error, "structuredContent": result.structured}
    return types.CallToolResult.model_validate(wire)


def _resource(resource: Resource) -> types.Resource:
    return types.Resource(uri=resource.uri, name=resource.name, mime_type=resource.mime_type)


def _template(template: ResourceTemplate) -> types.ResourceTemplate:
    return types.ResourceTemplate(uri_template=template.uri_template, name=template.name, mime_type=template.mime_type)


def _prompt(prompt: Prompt) -> types.Prompt:
    arguments = [types.PromptArgument(name=each.name, required=each.required) for each in prompt.arguments]
    return types.Prompt(name=prompt.name, description=prompt.description, arguments=arguments)
