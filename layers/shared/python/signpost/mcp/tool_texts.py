"""A cache of the JSON text of listed tools, since clients list the same few hundred again and again."""

from signpost.caches import BoundedCache
from signpost.mcp import results
from signpost.mcp.messages import encode
from signpost.mcp.revisions import ProtocolRevision
from signpost.mcp.tool_names import ToolNames, spell_mentions
from signpost.model import Tool

CACHE_SIZE = 20_000


class ToolTexts:
    """The JSON texts of tools by object identity.

    Providers list the same objects each time; an entry keeps its tool alive, so that no other tool gets the same
    identity.
    """

    def __init__(self) -> None:
        self._texts = BoundedCache[tuple[int, str, str], tuple[Tool, str]](CACHE_SIZE)

    def of(self, tool: Tool, names: ToolNames, revision: ProtocolRevision) -> str:
        """Return the text of the tool, with its name and the tools that it mentions as the caller's list has them."""
        name = names.spell(tool.name)
        entry = self._texts.get((id(tool), name, revision.version))
        text = entry[1] if entry else self._keep(tool, name, revision)
        return spell_mentions(text, tool.mentions, names.spell) if tool.mentions else text

    def _keep(self, tool: Tool, name: str, revision: ProtocolRevision) -> str:
        text = encode(results.build_tool_entry(tool, name, revision))
        self._texts.put((id(tool), name, revision.version), (tool, text))
        return text
