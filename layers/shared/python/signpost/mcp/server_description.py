"""The name, title, version and instructions with which the server introduces itself to the clients of a tenant."""

from typing import TYPE_CHECKING

from signpost import __version__
from signpost.calling.runtime_settings import SERVER_INSTRUCTIONS, SERVER_NAME, SERVER_TITLE, tenant_text
from signpost.errors import Unavailable
from signpost.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from signpost.list_revisions import RevisionView
    from signpost.model import JsonObject, SettingValue


@dataclass(frozen=True, slots=True)
class ServerDescription:
    info: "JsonObject"
    """The `serverInfo` of MCP."""
    added_instructions: str
    """The text that the tenant or the deployment adds to the instructions of a surface; empty if there is none."""

    def complete_instructions(self, shipped: str) -> str:
        """Returns the instructions of a surface with the added text behind them. The shipped ones are never replaced,
        because they say how to follow links, and come first, because some clients cut long instructions."""
        return f"{shipped}\n\n{self.added_instructions}" if self.added_instructions else shipped


def describe_server(settings: "Mapping[str, SettingValue]") -> ServerDescription:
    """Builds the description from the settings that apply to a tenant."""
    name, title = tenant_text(settings, SERVER_NAME), tenant_text(settings, SERVER_TITLE)
    return ServerDescription(
        {"name": name, "title": title, "version": __version__}, tenant_text(settings, SERVER_INSTRUCTIONS).strip()
    )


class ServerDescriptions:
    """Describes the server to the tenants of a deployment."""

    def __init__(self, revisions: "RevisionView") -> None:
        self._revisions = revisions

    def load(self, tenant: str) -> ServerDescription:
        """Describes the server by the settings of the tenant, at most two seconds old. They come with the revisions of
        the tenant's lists. A client can connect while these cannot be read."""
        try:
            return describe_server(self._revisions.of(tenant).settings)
        except Unavailable:
            return self.load_last(tenant)

    def load_last(self, tenant: str) -> ServerDescription:
        """Describes the server by the settings that were read last, without a read. Results have this description
        in their `_meta`."""
        revisions = self._revisions.last_read(tenant)
        return describe_server({} if revisions is None else revisions.settings)
