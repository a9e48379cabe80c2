"""A surface: one MCP view of the registry, made of providers."""

from collections.abc import Sequence

from signpost.mcp.providers import (
    CompletionProvider,
    PromptProvider,
    ResourceProvider,
    SkillProvider,
    ToolProvider,
)
from signpost.model import JsonObject
from signpost.records import dataclass

SKILLS = "io.modelcontextprotocol/skills"


@dataclass(frozen=True, slots=True)
class Surface:
    name: str
    instructions: str
    mentions: Sequence[str] = ()
    """The tools, and prefixes of tools, that the instructions name. They are spelled as the client's list has them."""
    tools: Sequence[ToolProvider] = ()
    resources: Sequence[ResourceProvider] = ()
    prompts: Sequence[PromptProvider] = ()
    completions: Sequence[CompletionProvider] = ()
    skills: Sequence[SkillProvider] = ()

    @property
    def capabilities(self) -> JsonObject:
        """The capabilities to advertise, derived from the providers, so that only served ones are advertised."""
        served = {
            "tools": self.tools,
            "resources": self.resources,
            "prompts": self.prompts,
            "completions": self.completions,
        }
        return {name: {} for name, providers in served.items() if providers}

    @property
    def extensions(self) -> JsonObject:
        return {SKILLS: {"directoryRead": True}} if self.skills else {}

    def has_capability(self, name: str) -> bool:
        """Whether the surface has this capability or extension."""
        return name in self.capabilities or name in self.extensions
