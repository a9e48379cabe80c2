"""A surface: one MCP view of the registry, made of providers."""

from collections.abc import Callable, Sequence

from signpost.mcp.providers import (
    CompletionProvider,
    PromptProvider,
    ResourceProvider,
    SkillProvider,
    TaskProvider,
    ToolProvider,
)
from signpost.model import JsonObject
from signpost.records import dataclass

SKILLS = "io.modelcontextprotocol/skills"
TASKS = "io.modelcontextprotocol/tasks"


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
    tasks: Callable[[], TaskProvider] | None = None
    """Returns the provider of tasks, which the first task builds; None if no call of a tool becomes a task."""

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
        skills: JsonObject = {SKILLS: {"directoryRead": True}} if self.skills else {}
        tasks: JsonObject = {TASKS: {}} if self.tasks is not None else {}
        return {**skills, **tasks}

    def has_capability(self, name: str) -> bool:
        """Whether the surface has this capability or extension."""
        return name in self.capabilities or name in self.extensions
