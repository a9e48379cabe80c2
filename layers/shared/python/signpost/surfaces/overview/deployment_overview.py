"""The deployment: its name, release, protocol revisions and endpoints, and the number of items of each kind that the
caller can use."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.content.api.functions import addressable_skills
from signpost.mcp.revisions import LEGACY_VERSIONS, MODERN_VERSIONS
from signpost.model import Call, Json, JsonObject
from signpost.surfaces.documents import caller_of

if TYPE_CHECKING:
    from signpost.catalogue.callable_skills import CallableSkills
    from signpost.content.documents import Skills
    from signpost.mcp.providers import PromptProvider
    from signpost.mcp.server_description import ServerDescriptions

SURFACES: Mapping[str, str] = {
    "/mcp": "Seven tools that find, start and drive everything.",
    "/mcp/flat": "Every skill and every workflow as a tool.",
    "/mcp/functions": "Every function as a tool.",
}
"""The tools of each endpoint, by path."""


class DeploymentOverview:
    def __init__(
        self,
        *,
        public_url: str,
        server: "ServerDescriptions",
        catalogue: CatalogueAccess,
        callable_skills: "CallableSkills",
        skills: "Skills",
        prompts: "Sequence[PromptProvider]",
    ) -> None:
        self._public_url = public_url
        self._server = server
        self._catalogue = catalogue
        self._callable_skills = callable_skills
        self._skills = skills
        self._prompts = prompts

    def read_all(self, call: Call) -> JsonObject:
        return {
            **self._server.load(call.principal.tenant).info,
            "product": "Signpost",
            "tenant": call.principal.tenant,
            "protocolVersions": [*MODERN_VERSIONS, *LEGACY_VERSIONS],
            "endpoints": [
                {"path": path, "url": f"{self._public_url}{path}", "description": says}
                for path, says in SURFACES.items()
            ],
            "counts": self._count(call),
        }

    def read_one(self, name: str, call: Call) -> None:
        del name, call

    def list_names(self, call: Call) -> Sequence[str]:
        del call
        return ()

    def _count(self, call: Call) -> Json:
        """Count the items that lists show to the caller, by kind."""
        items, caller = self._catalogue.load(call.principal).items, caller_of(call)
        return {
            "documents": len(addressable_skills(self._skills.list_readable(caller))),
            "prompts": sum(len(provider.prompts(call)) for provider in self._prompts),
            "workflows": sum(item.kind == "workflow" for item in items),
            "capabilities": sum(item.kind == "capability" for item in items),
            "skills": len(self._callable_skills.allowed(call.principal).listed),
        }
