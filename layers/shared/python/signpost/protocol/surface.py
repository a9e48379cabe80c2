"""A surface: one view of the registry as MCP, put together from providers."""

from collections.abc import Sequence
from dataclasses import dataclass

from signpost.model import JsonObject
from signpost.ports import CompletionProvider, PromptProvider, ResourceProvider, ToolProvider


@dataclass(frozen=True, slots=True)
class Surface:
    name: str
    instructions: str
    tools: Sequence[ToolProvider] = ()
    resources: Sequence[ResourceProvider] = ()
    prompts: Sequence[PromptProvider] = ()
    completions: Sequence[CompletionProvider] = ()

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
