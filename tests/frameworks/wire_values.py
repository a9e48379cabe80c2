"""Values that both wire forms of OpenAI's API have."""

from signpost.model import Json, JsonObject, as_object
from tests.frameworks.following_model import OfferedTool
from tests.frameworks.json_lists import as_list


def read_function(function: JsonObject) -> OfferedTool:
    """Return the tool of a function in a request."""
    schema = as_object(function.get("parameters"))
    return OfferedTool(str(function.get("name")), schema, is_strict=function.get("strict") is True)


def join_parts(content: Json) -> str:
    """Return the text of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(str(as_object(part).get("text", "")) for part in as_list(content))
