"""The provider of the resources at `signpost://` URIs. Each overview is imported at its first read."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signpost.model import Call, Completion, JsonObject, Resource, ResourceTemplate
    from signpost.surfaces.overview.overviews import Overviews

SCHEME = "signpost://"


class OverviewResources:
    """Serves overviews as resources and templates."""

    def __init__(self, load: "Callable[[], Overviews]") -> None:
        self._load = load

    def resources(self, call: "Call") -> "Sequence[Resource]":
        """Lists nothing: `resources/list` has the documents and the resources of toolkits. Clients find overviews by
        their templates."""
        del call
        return ()

    def hidden_resources(self, call: "Call") -> "Sequence[Resource]":
        return self._load().list_resources(call)

    def resource_templates(self, call: "Call") -> "Sequence[ResourceTemplate]":
        return self._load().list_templates(call)

    def hidden_resource_templates(self, call: "Call") -> "Sequence[ResourceTemplate]":
        del call
        return ()

    def read_resource(self, uri: str, call: "Call") -> "Sequence[JsonObject] | None":
        return self._load().read(uri, call) if uri.startswith(SCHEME) else None

    def complete(
        self, reference: "JsonObject", argument: str, value: str, given: Mapping[str, str], call: "Call"
    ) -> "Completion | None":
        del given  # no template has a second variable
        pattern = str(reference.get("uri"))
        return self._load().complete(pattern, argument, value, call) if pattern.startswith(SCHEME) else None
