"""The functions of a tenant as tools: the bridge at /mcp/functions.

Whatever is not listed is refused as a tool that does not exist. So nothing here leads to the registry's administration
or back to the bridge itself, whoever hosts what.
"""

import json
from collections.abc import Mapping, Sequence
from math import ceil

from signpost.contract import Failure, Hosted, KeptResult, Reply, Request, Result, Shown
from signpost.execution.functions import REMEMBERED_TENANTS, FunctionList, FunctionLists, FunctionView
from signpost.execution.tuning import of_tenant, placement_of, words_of_tenant
from signpost.model import Call, InputRequired, Json, JsonObject, SettingValue, Tool, ToolResult, as_object
from signpost.ports import AnswerStore, Executors
from signpost.protocol.results import link_content
from signpost.registry.names import is_internal
from signpost.registry.skills import FETCH
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep

INSTRUCTIONS = (
    "Every tool here is a function; `__` in its name stands for `::` in its id. "
    "Documents at iii:// URIs say when and how to use them: begin with iii://skills, by skill__fetch or as a resource."
)
LONGEST_STRUCTURED = 100_000
"""Characters of a result that is sent a second time as structured content."""
NOTHING = Shown()


class FunctionTools:
    def __init__(
        self, *, lists: FunctionLists, functions: FunctionView, executors: Executors, long_answers: AnswerStore
    ) -> None:
        self._lists = lists
        self._functions = functions
        self._executors = executors
        self._long_answers = long_answers
        self._listed: dict[str, tuple[FunctionList, Sequence[Tool]]] = {}

    def tools(self, call: Call) -> Sequence[Tool]:
        """The same objects for as long as nothing has changed, so that their text is made once."""
        tenant = call.principal.tenant
        found = self._lists.of(tenant)
        listed = self._listed.get(tenant)
        if listed is None or listed[0] is not found:
            if len(self._listed) >= REMEMBERED_TENANTS:
                self._listed.clear()
            listed = self._listed[tenant] = found, _tools(found)
        return listed[1]

    def tool(self, name: str, call: Call) -> Tool | None:
        """By what a call has to look at anyway."""
        function = function_of(name)
        if function is None or is_never_a_tool(function):
            return None
        state = self._functions.state(call.principal.tenant, function)
        placement = placement_of(state)
        if placement is None or not is_visible(placement.hosted, state.tenant_settings):
            return None
        return _tool(placement.hosted)

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult | InputRequired:
        request = Request(
            function=function_of(tool.name) or "",
            arguments=arguments,
            principal=call.principal,
            ends_at=call.deadline,
            trace=call.trace,
            answers=call.answers,
            state=call.state,
        )
        return self._shown(self._executors.invoke(request), tool)

    def _shown(self, reply: Reply, tool: Tool) -> ToolResult | InputRequired:
        match reply:
            case InputRequired():
                return reply
            case Result(value, shown=shown) if not is_too_deep(value):
                return _answered(value, shown or NOTHING, tool)
            case Result():
                return _failed(f"It ran, but its answer is nested more than {DEEPEST_VALUE} deep and cannot be shown.")
            case KeptResult(key):
                # Clients hold an ordinary result against the output schema, which a link cannot satisfy.
                is_error = tool.output_schema is not None
                return ToolResult(link_content(self._long_answers.address(key)), is_error=is_error)
            case Failure(message=message, retry_after_ms=wait, shown=shown):
                sentence = message if wait is None else f"{message} Try again in {ceil(wait / 1000)} s."
                return _failed(sentence, shown or NOTHING)


def name_of(function: str) -> str:
    return function.replace("::", "__")


def function_of(name: str) -> str | None:
    """The only one that can have this name; None if there is none."""
    function = name.replace("__", "::")
    return function if name_of(function) == name else None


def has_name(function: str) -> bool:
    """Whether its tool name leads back to it. `a__b::c` and `a_::b` have names that would be those of others."""
    return function_of(name_of(function)) == function


def is_visible(hosted: Hosted, settings: Mapping[str, SettingValue]) -> bool:
    hidden = hosted.function.startswith(tuple(words_of_tenant(settings, "hidden_prefixes")))
    if hidden or is_never_a_tool(hosted.function):
        return False
    return hosted.exposed or not of_tenant(settings, "require_expose")


def is_never_a_tool(function: str) -> bool:
    """`skill::fetch` is a tool of the registry's own, which no executor can take the place of."""
    return function == FETCH or is_internal(function)


def shown_schema(schema: JsonObject | None) -> JsonObject:
    """What clients take: some refuse `true` or `false` for a property, and all want an object. The executor goes by the
    schema as it was declared."""
    plain = _without_booleans({"properties": {}} if schema is None else schema)
    return {**plain, "type": "object"}


def _without_booleans(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema
    shown: JsonObject = {name: _without_booleans(as_object(one)) for name, one in properties.items()}
    return {**schema, "properties": shown}


def _tools(found: FunctionList) -> Sequence[Tool]:
    named = (hosted for hosted in found.functions if has_name(hosted.function))
    return [_tool(hosted) for hosted in named if not hosted.hidden and is_visible(hosted, found.settings)]


def _tool(hosted: Hosted) -> Tool:
    return Tool(
        name_of(hosted.function),
        hosted.description,
        shown_schema(hosted.input_schema),
        title=hosted.title,
        output_schema=_shown_output(hosted.output_schema),
        annotations=hosted.annotations,
        icons=hosted.icons,
        meta={**hosted.meta, "category": hosted.category} if hosted.category else hosted.meta,
    )


def _shown_output(schema: JsonObject | None) -> JsonObject | None:
    """Of what is no object there is no structured content that a client could hold against it."""
    return shown_schema(schema) if schema is not None and schema.get("type") == "object" else None


def _answered(value: Json, shown: Shown, tool: Tool) -> ToolResult:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    is_short = len(text) <= LONGEST_STRUCTURED
    structured = value if isinstance(value, Mapping) and (is_short or tool.output_schema is not None) else None
    # What is long and structured nonetheless is not sent twice.
    words = [_text(text)] if is_short or structured is None else []
    return ToolResult(shown.content or words, structured, meta=shown.meta)


def _failed(sentence: str, shown: Shown = NOTHING) -> ToolResult:
    return ToolResult(shown.content or [_text(sentence)], is_error=True, meta=shown.meta)


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
