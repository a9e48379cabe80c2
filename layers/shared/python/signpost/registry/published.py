"""What the registry publishes of itself, as data: its functions and triggers with their schemas."""

from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.registry.names import LONGEST_ID, LONGEST_SEGMENT, is_internal

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class PublishedFunction:
    id: str
    description: str
    request: JsonObject
    response: JsonObject

    @property
    def hidden(self) -> bool:
        """Whether MCP clients never see it."""
        return is_internal(self.id)


@dataclass(frozen=True, slots=True)
class PublishedTrigger:
    id: str
    description: str
    payload: JsonObject
    """What subscribers get."""


def _schema(title: str, properties: Mapping[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    """Of an object; members it does not name are ignored."""
    schema: dict[str, Json] = {"$schema": DIALECT, "title": title, **_object(properties, optional)}
    return schema


def _object(properties: Mapping[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    required = sorted(properties.keys() - set(optional))
    return {
        "type": "object",
        **({"properties": properties} if properties else {}),
        **({"required": required} if required else {}),
    }


def _list_of(items: Mapping[str, Json], optional: Sequence[str] = ()) -> JsonObject:
    return {"type": "array", "items": _object(items, optional)}


def _text(says: str) -> JsonObject:
    return {"type": "string", "description": says}


STRING: JsonObject = {"type": "string"}
COUNT: JsonObject = {"type": "integer", "minimum": 0}
OPTIONAL_STRING: JsonObject = {"type": ["string", "null"]}

SKILL_ID: JsonObject = {
    **_text(
        "Unique id of the document: segments of lowercase letters, digits, - and _ with a slash between them. A "
        f"segment has at most {LONGEST_SEGMENT} characters, the whole at most {LONGEST_ID}; the first one is not fn."
    ),
    "maxLength": LONGEST_ID,
}
PROMPT_NAME: JsonObject = {
    **_text("Unique name of the slash command: lowercase letters, digits, - and _."),
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

FETCH_REQUEST = _schema(
    "FetchSkillInput",
    {
        "uri": {**OPTIONAL_STRING, "description": "One iii:// URI.", "default": None},
        "uris": {
            "type": ["array", "null"],
            "items": STRING,
            "description": "Several iii:// URIs, read into one text. Goes before uri.",
            "default": None,
        },
    },
    optional=("uri", "uris"),
)
FETCH_RESPONSE: JsonObject = {"$schema": DIALECT, "title": "String", "type": "string"}
FETCHES = (
    "Reads what is behind one or several iii:// URIs. Documents link to each other with such URIs: call this with the "
    "links worth following, several at once where possible."
)


def _empty(title: str) -> JsonObject:
    return _schema(title, {})


FUNCTIONS: Sequence[PublishedFunction] = (
    PublishedFunction(
        "skills::register",
        "Stores a markdown document, which is then read at iii://{id}. The same id again replaces it.",
        _schema("RegisterSkillInput", {"id": SKILL_ID, "skill": _text("The markdown that is served.")}),
        _schema("RegisterSkillOutput", {"id": STRING, "registered_at": STRING}),
    ),
    PublishedFunction(
        "skills::unregister",
        "Removes a document. What is not there counts as removed before.",
        _schema("UnregisterSkillInput", {"id": SKILL_ID}),
        _schema("UnregisterSkillOutput", {"id": STRING, "removed": {"type": "boolean"}}),
    ),
    PublishedFunction(
        "skills::list",
        "Lists the documents by id, with size and time but without their text.",
        _empty("ListSkillsInput"),
        _schema(
            "ListSkillsOutput",
            {"skills": _list_of({"id": STRING, "bytes": COUNT, "registered_at": STRING})},
        ),
    ),
    PublishedFunction(
        "skills::resources-list",
        "For bridges: the documents as MCP resources, the index iii://skills first.",
        _empty("EmptyInput"),
        _schema("ResourcesListOutput", {"resources": _list_of(RESOURCE, optional=("description", "size"))}),
    ),
    PublishedFunction(
        "skills::resources-read",
        "For bridges: what is behind an iii:// URI, as the contents of an MCP resource.",
        _schema("ReadResourceInput", {"uri": STRING}),
        _schema("ReadResourceOutput", {"contents": _list_of({"uri": STRING, "mimeType": STRING, "text": STRING})}),
    ),
    PublishedFunction(
        "skills::resources-templates",
        "For bridges: the templates of iii:// URIs.",
        _empty("EmptyInput"),
        _schema(
            "ResourceTemplatesOutput",
            {
                "resourceTemplates": _list_of(
                    {"uriTemplate": STRING, "name": STRING, "description": STRING, "mimeType": STRING},
                    optional=("mimeType",),
                )
            },
        ),
    ),
    PublishedFunction("skills::fetch_skill", FETCHES, FETCH_REQUEST, FETCH_RESPONSE),
    PublishedFunction("skill::fetch", FETCHES, FETCH_REQUEST, FETCH_RESPONSE),
    PublishedFunction(
        "prompts::register",
        "Stores a slash command, which a function renders. The same name again replaces it.",
        _schema(
            "RegisterPromptInput",
            {
                "name": PROMPT_NAME,
                "description": _text("What people read where they choose a command."),
                "function_id": _text("The function that renders it from the arguments."),
                "arguments": {**_list_of(PROMPT_ARGUMENT, optional=("description", "required")), "default": []},
            },
            optional=("arguments",),
        ),
        _schema("RegisterPromptOutput", {"name": STRING, "registered_at": STRING}),
    ),
    PublishedFunction(
        "prompts::unregister",
        "Removes a slash command. What is not there counts as removed before.",
        _schema("UnregisterPromptInput", {"name": PROMPT_NAME}),
        _schema("UnregisterPromptOutput", {"name": STRING, "removed": {"type": "boolean"}}),
    ),
    PublishedFunction(
        "prompts::list",
        "Lists the slash commands by name, with function, number of arguments and time.",
        _empty("ListPromptsInput"),
        _schema(
            "ListPromptsOutput",
            {"prompts": _list_of({"name": STRING, "function_id": STRING, "arguments": COUNT, "registered_at": STRING})},
        ),
    ),
    PublishedFunction(
        "prompts::mcp-list",
        "For bridges: the slash commands as MCP prompts with all their arguments.",
        _empty("EmptyInput"),
        _schema(
            "PromptsListOutput",
            {
                "prompts": _list_of(
                    {
                        "name": STRING,
                        "description": STRING,
                        "arguments": _list_of(
                            {"name": STRING, "required": {"type": "boolean"}, "description": STRING},
                            optional=("description",),
                        ),
                    }
                )
            },
        ),
    ),
    PublishedFunction(
        "prompts::mcp-get",
        "For bridges: renders a slash command, as the messages of an MCP prompt.",
        _schema(
            "PromptGetInput",
            {"name": STRING, "arguments": {"type": ["object", "null"], "default": None}},
            optional=("arguments",),
        ),
        _schema("PromptGetOutput", {"description": STRING, "messages": {"type": "array"}}),
    ),
)

OPERATION: JsonObject = {"enum": ["register", "unregister"]}

TRIGGERS: Sequence[PublishedTrigger] = (
    PublishedTrigger(
        "skills::on-change",
        "After each change of the skill documents.",
        _schema("SkillsOnChange", {"op": OPERATION, "id": STRING}),
    ),
    PublishedTrigger(
        "prompts::on-change",
        "After each change of the prompts.",
        _schema("PromptsOnChange", {"op": OPERATION, "name": STRING}),
    ),
    PublishedTrigger(
        "workflows::on-change",
        "After each change of the workflows; the capabilities together are the workflow proxy_default.",
        _schema("WorkflowsOnChange", {"op": OPERATION, "id": STRING, "digest": STRING}, optional=("digest",)),
    ),
)


def as_document() -> JsonObject:
    """All of it in the form of the API reference that it comes from."""
    return {
        "functions": [
            {
                "name": function.id,
                "description": function.description,
                "hidden": function.hidden,
                "metadata": {},
                "request_schema": function.request,
                "response_schema": function.response,
            }
            for function in FUNCTIONS
        ],
        "triggers": [
            {
                "name": trigger.id,
                "description": trigger.description,
                "metadata": {},
                "invocation_schema": trigger.payload,
                "return_schema": {},
            }
            for trigger in TRIGGERS
        ],
    }
