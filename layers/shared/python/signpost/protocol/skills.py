"""The extension `io.modelcontextprotocol/skills` (SEP-2640): Agent Skills, whose files are resources."""

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.model import JsonObject
from signpost.protocol import results
from signpost.protocol.exchange import Exchange
from signpost.protocol.messages import encode
from signpost.protocol.pages import page
from signpost.protocol.results import Listing


def listed(exchange: Exchange) -> Listing | Rejection:
    return page(
        exchange,
        "skills",
        [skill for provider in exchange.surface.skills for skill in provider.skills(exchange.call)],
        lambda skill: skill.uri,
        lambda skill: encode(results.agent_skill(skill.describe())),
    )


def got(exchange: Exchange) -> JsonObject | Rejection:
    uri = exchange.params.get("uri")
    if not isinstance(uri, str):
        return Rejection(INVALID_PARAMS, "skills/get takes the `uri` of a SKILL.md.")
    for provider in exchange.surface.skills:
        skill = provider.skill(uri, exchange.call)
        if skill is not None:
            return {"skill": results.agent_skill(skill)}
    return Rejection(INVALID_PARAMS, "There is no skill whose SKILL.md is at this URI.", {"uri": uri})


def directory_read(exchange: Exchange) -> Listing | Rejection:
    uri = exchange.params.get("uri")
    if not isinstance(uri, str):
        return Rejection(INVALID_PARAMS, "resources/directory/read takes the `uri` of a directory.")
    for provider in exchange.surface.skills:
        children = provider.directory(uri, exchange.call)
        if children is not None:
            return page(
                exchange,
                "resources",
                children,
                lambda child: child.uri,
                lambda child: encode(results.resource(child, exchange.era)),
                of=uri,
            )
    return Rejection(INVALID_PARAMS, "There is no directory at this URI.", {"uri": uri})
