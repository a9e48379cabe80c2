"""The extension `io.modelcontextprotocol/skills` (SEP-2640): Agent Skills, whose files are resources."""

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp import results
from signpost.mcp.messages import encode
from signpost.mcp.pages import build_page
from signpost.mcp.request import McpRequest
from signpost.mcp.results import Listing
from signpost.model import JsonObject


def list_skills(request: McpRequest) -> Listing | Rejection:
    return build_page(
        request,
        "skills",
        [skill for provider in request.surface.skills for skill in provider.skills(request.call)],
        lambda skill: skill.uri,
        lambda skill: encode(results.build_skill_entry(skill.describe())),
    )


def get_skill(request: McpRequest) -> JsonObject | Rejection:
    uri = request.params.get("uri")
    if not isinstance(uri, str):
        return Rejection(INVALID_PARAMS, "skills/get takes the `uri` of a SKILL.md.")
    for provider in request.surface.skills:
        skill = provider.skill(uri, request.call)
        if skill is not None:
            return {"skill": results.build_skill_entry(skill)}
    return Rejection(INVALID_PARAMS, "There is no skill whose SKILL.md is at this URI.", {"uri": uri})


def read_directory(request: McpRequest) -> Listing | Rejection:
    uri = request.params.get("uri")
    if not isinstance(uri, str):
        return Rejection(INVALID_PARAMS, "resources/directory/read takes the `uri` of a directory.")
    for provider in request.surface.skills:
        children = provider.directory(uri, request.call)
        if children is not None:
            return build_page(
                request,
                "resources",
                children,
                lambda child: child.uri,
                lambda child: encode(results.build_resource_entry(child, request.revision)),
                of=uri,
            )
    return Rejection(INVALID_PARAMS, "There is no directory at this URI.", {"uri": uri})
