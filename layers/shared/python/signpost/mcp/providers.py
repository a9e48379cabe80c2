"""The ports of the providers that make up a surface: tools, resources, skills, prompts and completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from signpost.content.model import AgentSkill, ListedSkill
    from signpost.errors import Rejection
    from signpost.model import (
        Call,
        CallToolResult,
        Completion,
        GetPromptResult,
        InputRequired,
        Json,
        JsonObject,
        Prompt,
        Resource,
        ResourceTemplate,
        Task,
        Tool,
    )


type ToolOutcome = CallToolResult | InputRequired | Task | Rejection
"""The outcome of a call of a tool: its result, questions to the client, a task, or a rejection of the client."""


class ToolProvider(Protocol):
    def tools(self, call: Call) -> Sequence[Tool]:
        """The tools to list, always in the same order."""
        ...

    def tool(self, name: str, call: Call) -> Tool | None:
        """The tool of that name, listed or hidden; None if this provider has none for this caller."""
        ...

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolOutcome:
        """Calls the tool. The arguments satisfy its input schema. A rejection says what the client lacks."""
        ...


@runtime_checkable
class RefusalFormatter(Protocol):
    """Optional port of a tool provider that gives all its errors one form."""

    def format_refusal(self, arguments: JsonObject, message: str) -> CallToolResult:
        """Builds the result for arguments that do not satisfy the input schema."""
        ...


@runtime_checkable
class HiddenToolProvider(Protocol):
    """Optional port of a tool provider with tools that no list shows but that can be called as any other."""

    def hidden_tools(self, call: Call) -> Sequence[Tool]: ...


class ResourceProvider(Protocol):
    def resources(self, call: Call) -> Sequence[Resource]: ...

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]: ...

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | InputRequired | Rejection | None:
        """The contents at the URI; None if this provider has nothing there."""
        ...


@runtime_checkable
class HiddenResourceProvider(Protocol):
    """Optional port of a resource provider with resources and templates that no list shows but that can be read as any
    other."""

    def hidden_resources(self, call: Call) -> Sequence[Resource]: ...

    def hidden_resource_templates(self, call: Call) -> Sequence[ResourceTemplate]: ...


class SkillProvider(Protocol):
    """Agent Skills. Their files are resources, so a skill provider is a resource provider too."""

    def skills(self, call: Call) -> Sequence[ListedSkill]: ...

    def skill(self, uri: str, call: Call) -> AgentSkill | None:
        """The current skill whose SKILL.md is at the URI; None if this provider has none there."""
        ...

    def directory(self, uri: str, call: Call) -> Sequence[Resource] | None:
        """The direct children of the directory at the URI; None if this provider has no directory there."""
        ...


class TaskProvider(Protocol):
    """The tasks that calls of tools have become. Each belongs to the principal that made the call: for all others there
    is none, as there is none after its time."""

    def get_task(self, task_id: str, call: Call) -> Task | None: ...

    def answer_task(self, task_id: str, responses: Mapping[str, Json], call: Call) -> bool:
        """Give a task the answers to its questions, and let it continue once all are answered. Other answers are
        ignored. Return False if there is no such task."""
        ...

    def cancel_task(self, task_id: str, call: Call) -> bool:
        """Cancel a task that has not ended. Return False if there is no such task."""
        ...


class PromptProvider(Protocol):
    def prompts(self, call: Call) -> Sequence[Prompt]: ...

    def get_prompt(
        self, name: str, arguments: Mapping[str, str], call: Call
    ) -> GetPromptResult | InputRequired | Rejection | None:
        """The rendered prompt; None if this provider has none of that name."""
        ...


@runtime_checkable
class HiddenPromptProvider(Protocol):
    """Optional port of a prompt provider with prompts that no list shows but that can be got as any other."""

    def hidden_prompts(self, call: Call) -> Sequence[Prompt]: ...


class CompletionProvider(Protocol):
    def complete(
        self, reference: JsonObject, argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | Rejection | None:
        """Completes the value of an argument.

        `given` holds the other arguments as far as they are known. Returns None if this provider does not know the
        prompt or template that `reference` names, or its argument.
        """
        ...
