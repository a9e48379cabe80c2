"""A model that follows links. It stands in for the language model of an agent framework, and decides by rule."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from signpost.model import Json, JsonObject, as_object
from tests.frameworks.gateway_answers import read_answer
from tests.frameworks.json_lists import as_list
from tests.frameworks.strict_arguments import constrain

HOMES = ("gateway.home", "gateway_home")
MOST_CALLS = 20
"""The number of calls after which the model ends a conversation that has not reached the end of its run."""
_SEPARATORS = ("", "_", "-")
"""The characters between the name of the server, with which some frameworks begin the names of its tools, and the
name."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a framework offers it to its model."""

    name: str
    input_schema: JsonObject
    is_strict: bool = False
    """Whether the API holds the model to the schema: it can only write arguments that the schema has."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: JsonObject


class FollowingModel:
    """Starts the workflow of one title, then takes the first transition of each answer, until the run has ended.

    It calls only tools that it is offered, by the names that links give: a name in another spelling ends the
    conversation. It decides from the conversation alone, so a framework may ask it repeatedly.
    """

    def __init__(self, title: str) -> None:
        self._title = title

    def decide(self, tools: Sequence[OfferedTool], results: Sequence[str]) -> ToolCall | str:
        """Return the next call after these results, or the text that ends the conversation."""
        if not results:
            return self._begin(tools)
        if len(results) >= MOST_CALLS:
            return f"Stopped after {len(results)} calls. The last result: {results[-1]}"
        answer = read_answer(results[-1])
        if answer is None:
            return f"The result of the call has no links: {results[-1]}"
        if "error" in answer:
            return f"The call was refused: {json.dumps(answer['error'])}"
        if answer.get("terminal") is True:
            return format_end(str(answer["workflowId"]), str(answer["state"]))
        return self._follow(answer, tools)

    def _begin(self, tools: Sequence[OfferedTool]) -> ToolCall | str:
        """Call the tool of the workflow, or else the tool that lists the workflows."""
        workflow = next((tool for tool in tools if _slug(tool.name).endswith(_slug(self._title))), None)
        if workflow is not None:
            return _call(workflow, _example_object(workflow.input_schema))
        home = next((tool for name in HOMES if (tool := _find_tool(tools, name))), None)
        return _call(home, {}) if home else f"No tool starts the workflow {self._title}: {_names(tools)}"

    def _follow(self, answer: JsonObject, tools: Sequence[OfferedTool]) -> ToolCall | str:
        link = self._start_link(answer) if "items" in answer else _first_link(answer, "transition")
        if link is None:
            return f"There is no link to go on: {json.dumps(answer)}"
        method, arguments = str(link["method"]), as_object(link["args"])
        tool = _find_tool(tools, method)
        if tool is None:
            return f"A link names the tool {method}, and only these are offered: {_names(tools)}"
        if "inputSchema" in link:
            filled = {**_example_object(as_object(link["inputSchema"])), **as_object(arguments.get("arguments"))}
            arguments = {**arguments, "arguments": filled}
        return _call(tool, arguments)

    def _start_link(self, home: JsonObject) -> JsonObject | None:
        items = [as_object(item) for item in as_list(home["items"])]
        item = next((item for item in items if item.get("title") == self._title), None)
        return _first_link(item, "start") if item else None


def format_end(workflow_id: str, state: str) -> str:
    """Return the text with which the model ends a conversation whose run has ended."""
    return f"The run {workflow_id} has ended in the state {state}."


def _first_link(answer: JsonObject, rel: str) -> JsonObject | None:
    links = [as_object(link) for link in as_list(answer.get("links"))]
    return next((link for link in links if link.get("rel") == rel), None)


def _find_tool(tools: Sequence[OfferedTool], name: str) -> OfferedTool | None:
    """Return the tool of this name, which may begin with the name of its server."""
    endings = [f"{separator}{name}" for separator in _SEPARATORS]
    exact = next((tool for tool in tools if tool.name == name), None)
    return exact or next((tool for tool in tools if tool.name.endswith(tuple(endings[1:]))), None)


def _call(tool: OfferedTool, arguments: JsonObject) -> ToolCall:
    """Build a call that has every required argument: some frameworks require all, and allow null for the optional."""
    properties = as_object(tool.input_schema.get("properties"))
    required = [str(name) for name in as_list(tool.input_schema.get("required"))]
    nulls: dict[str, Json] = {
        name: None for name in required if name not in arguments and _allows_null(as_object(properties.get(name)))
    }
    complete: JsonObject = {**arguments, **nulls}
    return ToolCall(tool.name, as_object(constrain(complete, tool.input_schema)) if tool.is_strict else complete)


def _allows_null(schema: JsonObject) -> bool:
    kinds = schema.get("type")
    choices = as_list(schema.get("anyOf"))
    return kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or {"type": "null"} in choices


def _example_object(schema: JsonObject) -> JsonObject:
    """Return an object with the required properties of the schema."""
    properties = as_object(schema.get("properties"))
    required = [str(name) for name in as_list(schema.get("required"))]
    return {name: _example_value(as_object(properties.get(name))) for name in required}


def _example_value(schema: JsonObject) -> Json:
    if choices := as_list(schema.get("enum")):
        return choices[0]
    match schema.get("type"):
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "object":
            return _example_object(schema)
        case "array":
            return [_example_value(as_object(schema.get("items")))]
        case _:
            return None if _allows_null(schema) else "as usual"


def _names(tools: Sequence[OfferedTool]) -> str:
    return ", ".join(tool.name for tool in tools)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower())
