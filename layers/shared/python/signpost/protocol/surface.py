"""A surface: one view of the registry as MCP, put together from providers."""

from collections.abc import Sequence

from signpost.model import JsonObject
from signpost.ports import CompletionProvider, PromptProvider, ResourceProvider, SkillProvider, ToolProvider
from signpost.records import dataclass

SKILLS = "io.modelcontextprotocol/skills"


@dataclass(frozen=True, slots=True)
class Surface:
    name: str
    instructions: str
    tools: Sequence[ToolProvider] = ()
    resources: Sequence[ResourceProvider] = ()
    prompts: Sequence[PromptProvider] = ()
    completions: Sequence[CompletionProvider] = ()
    skills: Sequence[SkillProvider] = ()

    @property
    def capabilities(self) -> JsonObject:
        """Derived, so that nothing is advertised that is not served."""
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

    def offers(self, name: str) -> bool:
        """Whether it has this capability or extension."""
        return name in self.capabilities or name in self.extensions
