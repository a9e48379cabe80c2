"""The JSON text of listed tools, kept: the same few hundred are asked for over and over."""

from signpost.model import Tool
from signpost.protocol import results
from signpost.protocol.eras import Era
from signpost.protocol.messages import encode

REMEMBERED = 20_000


class ToolTexts:
    """By the identity of the tool, which the memory keeps alive: providers list the same objects time and again."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, str, str], tuple[Tool, str]] = {}

    def of(self, tool: Tool, name: str, era: Era) -> str:
        kept = self._texts.get((id(tool), name, era.version))
        return kept[1] if kept else self._keep(tool, name, era)

    def _keep(self, tool: Tool, name: str, era: Era) -> str:
        if len(self._texts) >= REMEMBERED:
            self._texts.clear()
        text = encode(results.tool(tool, name, era))
        self._texts[id(tool), name, era.version] = (tool, text)
        return text
