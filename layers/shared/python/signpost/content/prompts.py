"""Prompts: registering, removing, listing and rendering slash commands."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost.content import markdown
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.cache import ContentView
from signpost.content.callers import Caller, visible_entry
from signpost.content.handlers import Handlers, refuse_internal
from signpost.content.model import PromptChange, StoredPrompt
from signpost.content.names import problem_with_prompt_name
from signpost.model import Json, JsonObject, PromptArgument
from signpost.policy import policy_items
from signpost.policy.access import AccessLookup
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.content.ports import ContentStore
    from signpost.ports import Timestamps

LARGEST_PROMPT = 262_144
"""Bytes of a stored prompt as JSON, so that it fits into a row."""


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    description: str
    messages: Sequence[Json]
    """The messages as the handler returned them, unchecked."""


class Prompts:
    """Registers, lists and renders prompts."""

    def __init__(
        self,
        *,
        content: "ContentStore",
        view: ContentView,
        handlers: Handlers,
        accesses: AccessLookup,
        timestamps: "Timestamps",
    ) -> None:
        self._content = content
        self._accesses = accesses
        self._view = view
        self._handlers = handlers
        self._timestamps = timestamps

    def register(
        self, name: str, description: str, function: str, arguments: Sequence[PromptArgument], caller: Caller
    ) -> StoredPrompt | RegistryRefusal:
        """Register a prompt. Its function need not exist yet."""
        prompt = StoredPrompt(name, description, function, tuple(arguments), self._timestamps.now())
        if refusal := refusal_of(prompt):
            return refusal
        self._content.apply(caller.tenant, [PromptChange(name, prompt)])
        return prompt

    def unregister(self, name: str, caller: Caller) -> bool | RegistryRefusal:
        """Remove a prompt. Returns whether it existed."""
        if problem := problem_with_prompt_name(name):
            return RegistryRefusal("invalid_name", f"{problem}.")
        return self._content.apply(caller.tenant, [PromptChange(name, None)])[0] is not None

    def list_readable(self, caller: Caller) -> Sequence[StoredPrompt]:
        """List the prompts that the caller may use, sorted by the bytes of the name."""
        if caller.tenant is None:
            return self._content.prompts(None)
        prompts = self._view.prompts(caller.tenant, fresh=caller.fresh)
        return self._accesses.of(caller.principal).filter(prompts, lambda prompt: policy_items.prompt_item(prompt.name))

    def render(self, name: str, arguments: JsonObject, caller: Caller) -> RenderedPrompt | RegistryRefusal:
        """Render a prompt by its function. The function gets the arguments unchecked and must check them itself."""
        if problem := problem_with_prompt_name(name):
            return RegistryRefusal("invalid_name", f"{problem}.")
        visible = self._find(name, caller)
        if visible is None:
            return RegistryRefusal(
                "not_found", f"Prompt not found: {name}. Call `prompts::list` for the list of prompts."
            )
        return self._render(visible[1], arguments, caller)

    def _find(self, name: str, caller: Caller) -> tuple[str | None, StoredPrompt] | None:
        """Find the visible prompt, with the tenant that owns it. A denied name is not looked up."""
        if not self._accesses.of(caller.principal).admits(policy_items.prompt_item(name)):
            return None
        return visible_entry(self._content.prompt(caller.reading_tenant, name), caller)

    def _render(self, prompt: StoredPrompt, arguments: JsonObject, caller: Caller) -> RenderedPrompt | RegistryRefusal:
        function = prompt.function.strip()
        answer = refuse_internal(function) or self._handlers.render_prompt(function, arguments, caller)
        if isinstance(answer, RegistryRefusal):
            return answer
        messages = messages_of(answer, function)
        return messages if isinstance(messages, RegistryRefusal) else RenderedPrompt(prompt.description, messages)


def messages_of(answer: Json, function: str) -> Sequence[Json] | RegistryRefusal:
    """Turn the answer of a prompt's function into messages, or refuse it if it has another shape."""
    messages = markdown.prompt_messages(answer)
    if messages is not None:
        return messages
    return RegistryRefusal(
        "unsupported_shape",
        f"{quote_text(function)} answered an unsupported shape: a prompt is a text, "
        "{content: text} or {messages: []}.",
        {"function": function},
    )


def refusal_of(prompt: StoredPrompt) -> RegistryRefusal | None:
    """Return the reason why the prompt cannot be registered; None if it can."""
    if problem := problem_with_prompt_name(prompt.name):
        return RegistryRefusal("invalid_name", f"{problem}.")
    problem = _problem_with_texts(prompt) or _problem_with_arguments(prompt.arguments) or _problem_with_size(prompt)
    return RegistryRefusal("invalid_content", f"{problem}.") if problem else None


def _problem_with_texts(prompt: StoredPrompt) -> str | None:
    if not prompt.description.strip():
        return "description must be non-empty"
    return None if prompt.function.strip() else "function_id must be non-empty"


def _problem_with_arguments(arguments: Sequence[PromptArgument]) -> str | None:
    names: set[str] = set()
    for argument in arguments:
        if not argument.name.strip():
            return "argument name must be non-empty"
        if argument.name in names:
            return f"duplicate argument name {quote_text(argument.name)}"
        names.add(argument.name)
    return None


def _problem_with_size(prompt: StoredPrompt) -> str | None:
    size = len(json.dumps(asdict(prompt), ensure_ascii=False).encode())
    return f"prompt is too large: {size} bytes, at most {LARGEST_PROMPT}" if size > LARGEST_PROMPT else None
