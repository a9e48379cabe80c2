"""The specifications of the registry's functions and triggers, as data: ids, descriptions and schemas."""

from collections.abc import Mapping, Sequence

from signpost.content.names import LONGEST_ID, LONGEST_SEGMENT, is_internal
from signpost.model import Json, JsonObject
from signpost.records import dataclass

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    id: str
    description: str
    request: JsonObject
    response: JsonObject

    @property
    def is_hidden(self) -> bool:
        """Whether the function is hidden from MCP clients."""
        return is_internal(self.id)


@dataclass(frozen=True, slots=True)
class TriggerSpec:
    id: str
    description: str
    payload: JsonObject
    """The schema of the payload that subscribers receive."""


def schema(title: str, properties: Mapping[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    """Build the schema of an object. Members that it does not name are ignored."""
    return {"$schema": DIALECT, "title": title, **_object_schema(properties, optional)}


def _object_schema(properties: Mapping[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    required = sorted(properties.keys() - set(optional))
    return {
        "type": "object",
        **({"properties": properties} if properties else {}),
        **({"required": required} if required else {}),
    }


def list_schema(items: Mapping[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    return {"type": "array", "items": _object_schema(items, optional)}


def text_schema(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def nullable(value: JsonObject) -> JsonObject:
    """Build the schema of a value or null. Some hosts do not accept a list of types."""
    return {"anyOf": [value, {"type": "null"}]}


STRING: JsonObject = {"type": "string"}
COUNT: JsonObject = {"type": "integer", "minimum": 0}
OPTIONAL_STRING: JsonObject = nullable(STRING)

SKILL_ID: JsonObject = {
    **text_schema(
        "Unique id of the document: segments of lowercase letters, digits, - and _ with a slash between them. A "
        f"segment has at most {LONGEST_SEGMENT} characters, the whole at most {LONGEST_ID}; the first one is not fn."
    ),
    "maxLength": LONGEST_ID,
}
PROMPT_NAME: JsonObject = {
    **text_schema("Unique name of the slash command: lowercase letters, digits, - and _."),
    "maxLength": LONGEST_SEGMENT,
}

PROMPT_ARGUMENT: Mapping[str, Json] = {
    "name": STRING,
    "description": OPTIONAL_STRING,
    "required": {"type": "boolean", "default": False},
}
RESOURCE: Mapping[str, Json] = {
    "uri": STRING,
    "name": STRING,
    "mimeType": STRING,
    "description": STRING,
    "size": COUNT,
}

FETCH_REQUEST = schema(
    "FetchSkillInput",
    {
        "uri": {**OPTIONAL_STRING, "description": "One iii:// URI.", "default": None},
        "uris": {
            **nullable({"type": "array", "items": STRING}),
            "description": "Several iii:// URIs, read into one text. Takes precedence over uri.",
            "default": None,
        },
    },
    optional=("uri", "uris"),
)
FETCH_RESPONSE: JsonObject = {"$schema": DIALECT, "title": "String", "type": "string"}
FETCH_DESCRIPTION = (
    "Reads the documents at one or several iii:// URIs. Documents link to each other with such URIs: call this with "
    "the links worth following, several at once where possible."
)


def empty_schema(title: str) -> JsonObject:
    return schema(title, {})


FUNCTIONS: Sequence[FunctionSpec] = (
    FunctionSpec(
        "skills::register",
        "Stores a markdown document, which is then read at iii://{id}. Registering the same id again replaces it.",
        schema("RegisterSkillInput", {"id": SKILL_ID, "skill": text_schema("The markdown that is served.")}),
        schema("RegisterSkillOutput", {"id": STRING, "registered_at": STRING}),
    ),
    FunctionSpec(
        "skills::unregister",
        "Removes a document. If there is none under this id, succeeds with `removed: false`.",
        schema("UnregisterSkillInput", {"id": SKILL_ID}),
        schema("UnregisterSkillOutput", {"id": STRING, "removed": {"type": "boolean"}}),
    ),
    FunctionSpec(
        "skills::list",
        "Lists the documents by id, with size and time but without their text.",
        empty_schema("ListSkillsInput"),
        schema(
            "ListSkillsOutput",
            {"skills": list_schema({"id": STRING, "bytes": COUNT, "registered_at": STRING})},
        ),
    ),
    FunctionSpec(
        "skills::resources-list",
        "For bridges: the documents as MCP resources, the index iii://skills first.",
        empty_schema("EmptyInput"),
        schema("ResourcesListOutput", {"resources": list_schema(RESOURCE, optional=("description", "size"))}),
    ),
    FunctionSpec(
        "skills::resources-read",
        "For bridges: the document at an iii:// URI, as the contents of an MCP resource.",
        schema("ReadResourceInput", {"uri": STRING}),
        schema("ReadResourceOutput", {"contents": list_schema({"uri": STRING, "mimeType": STRING, "text": STRING})}),
    ),
    FunctionSpec(
        "skills::resources-templates",
        "For bridges: the templates of iii:// URIs.",
        empty_schema("EmptyInput"),
        schema(
            "ResourceTemplatesOutput",
            {
                "resourceTemplates": list_schema(
                    {"uriTemplate": STRING, "name": STRING, "description": STRING, "mimeType": STRING},
                    optional=("mimeType",),
                )
            },
        ),
    ),
    FunctionSpec("skills::fetch_skill", FETCH_DESCRIPTION, FETCH_REQUEST, FETCH_RESPONSE),
    FunctionSpec("skill::fetch", FETCH_DESCRIPTION, FETCH_REQUEST, FETCH_RESPONSE),
    FunctionSpec(
        "prompts::register",
        "Stores a slash command, which a function renders. Registering the same name again replaces it.",
        schema(
            "RegisterPromptInput",
            {
                "name": PROMPT_NAME,
                "description": text_schema("The text that users see when they choose a command."),
                "function_id": text_schema("The function that renders it from the arguments."),
                "arguments": {**list_schema(PROMPT_ARGUMENT, optional=("description", "required")), "default": []},
            },
            optional=("arguments",),
        ),
        schema("RegisterPromptOutput", {"name": STRING, "registered_at": STRING}),
    ),
    FunctionSpec(
        "prompts::unregister",
        "Removes a slash command. If there is none of this name, succeeds with `removed: false`.",
        schema("UnregisterPromptInput", {"name": PROMPT_NAME}),
        schema("UnregisterPromptOutput", {"name": STRING, "removed": {"type": "boolean"}}),
    ),
    FunctionSpec(
        "prompts::list",
        "Lists the slash commands by name, with function, number of arguments and time.",
        empty_schema("ListPromptsInput"),
        schema(
            "ListPromptsOutput",
            {
                "prompts": list_schema(
                    {"name": STRING, "function_id": STRING, "arguments": COUNT, "registered_at": STRING}
                )
            },
        ),
    ),
    FunctionSpec(
        "prompts::mcp-list",
        "For bridges: the slash commands as MCP prompts with all their arguments.",
        empty_schema("EmptyInput"),
        schema(
            "PromptsListOutput",
            {
                "prompts": list_schema(
                    {
                        "name": STRING,
                        "description": STRING,
                        "arguments": list_schema(
                            {"name": STRING, "required": {"type": "boolean"}, "description": STRING},
                            optional=("description",),
                        ),
                    }
                )
            },
        ),
    ),
    FunctionSpec(
        "prompts::mcp-get",
        "For bridges: renders a slash command, as the messages of an MCP prompt.",
        schema(
            "PromptGetInput",
            {"name": STRING, "arguments": {**nullable({"type": "object"}), "default": None}},
            optional=("arguments",),
        ),
        schema("PromptGetOutput", {"description": STRING, "messages": {"type": "array"}}),
    ),
)

OPERATION: JsonObject = {"enum": ["register", "unregister"]}

TRIGGERS: Sequence[TriggerSpec] = (
    TriggerSpec(
        "skills::on-change",
        "After each change of the skill documents.",
        schema("SkillsOnChange", {"op": OPERATION, "id": STRING}),
    ),
    TriggerSpec(
        "prompts::on-change",
        "After each change of the prompts.",
        schema("PromptsOnChange", {"op": OPERATION, "name": STRING}),
    ),
    TriggerSpec(
        "workflows::on-change",
        "After each change of the workflows; all capabilities together count as the workflow proxy_default.",
        schema("WorkflowsOnChange", {"op": OPERATION, "id": STRING, "digest": STRING}, optional=("digest",)),
    ),
    TriggerSpec(
        "skills::registry",
        "After each load, reload or unload of an executor, for each of its callable skills.",
        schema("SkillsRegistry", {"op": {"enum": ["load", "unload", "reload"]}, "name": STRING}),
    ),
    TriggerSpec(
        "policies::on-change",
        "After each change of the policy rules.",
        schema("PoliciesOnChange", {"op": OPERATION, "id": STRING, "digest": STRING}, optional=("digest",)),
    ),
    TriggerSpec(
        "lists::on-change",
        "After a function has announced that a list of tools, prompts or resources changed.",
        schema("ListsOnChange", {"op": {"enum": ["change"]}, "list": {"enum": ["tools", "prompts", "resources"]}}),
    ),
    TriggerSpec(
        "resources::on-change",
        "After a function has announced that a resource changed.",
        schema("ResourcesOnChange", {"op": {"enum": ["update"]}, "uri": STRING}),
    ),
)
