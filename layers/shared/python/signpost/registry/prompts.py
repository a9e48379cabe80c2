"""Prompts: how slash commands come and go, and how one is rendered."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from signpost.content import PromptChange, StoredPrompt
from signpost.model import Json, JsonObject, PromptArgument
from signpost.policy import items
from signpost.policy.access import Accesses
from signpost.ports import ContentStore, Timestamps
from signpost.records import dataclass
from signpost.registry import markdown
from signpost.registry.callers import Caller, uppermost
from signpost.registry.handlers import Handlers, guarded
from signpost.registry.names import problem_with_prompt_name
from signpost.registry.refusals import Refused, quoted
from signpost.registry.view import ContentView

LARGEST_PROMPT = 262_144
"""Bytes of everything that is kept of one, so that it fits into a row."""


@dataclass(frozen=True, slots=True)
class Rendered:
    description: str
    messages: Sequence[Json]
    """As the handler answered them, whatever that is."""


class Prompts:
    def __init__(
        self,
        *,
        content: ContentStore,
        view: ContentView,
        handlers: Handlers,
        accesses: Accesses,
        timestamps: Timestamps,
    ) -> None:
        self._content = content
        self._accesses = accesses
        self._view = view
        self._handlers = handlers
        self._timestamps = timestamps

    def register(
        self, name: str, description: str, function: str, arguments: Sequence[PromptArgument], caller: Caller
    ) -> StoredPrompt | Refused:
        """The handler need not be there yet."""
        prompt = StoredPrompt(name, description, function, tuple(arguments), self._timestamps.now())
        if refused := refusal_of(prompt):
            return refused
        self._content.apply(caller.tenant, [PromptChange(name, prompt)])
        return prompt

    def unregister(self, name: str, caller: Caller) -> bool | Refused:
        """Whether it was there."""
        if problem := problem_with_prompt_name(name):
            return Refused("invalid_name", f"{problem}.")
        return self._content.apply(caller.tenant, [PromptChange(name, None)])[0] is not None

    def all(self, caller: Caller) -> Sequence[StoredPrompt]:
        """Those that the caller may use, by name, in the order of its bytes."""
        if caller.tenant is None:
            return self._content.prompts(None)
        found, access = self._view.prompts(caller.tenant, fresh=caller.fresh), self._accesses.of(caller.principal)
        return found if access.is_open else [prompt for prompt in found if access.allows(items.prompt(prompt.name))]

    def render(self, name: str, arguments: JsonObject, caller: Caller) -> Rendered | Refused:
        """The handler gets the arguments as they are: to check them is up to it."""
        if problem := problem_with_prompt_name(name):
            return Refused("invalid_name", f"{problem}.")
        found = self._found(name, caller)
        if found is None:
            return Refused("not_found", f"Prompt not found: {name}. `prompts::list` names those there are.")
        return self._rendered(found[1], arguments, caller)

    def _found(self, name: str, caller: Caller) -> tuple[str | None, StoredPrompt] | None:
        """With whose it is. What is denied is not looked for."""
        if not self._accesses.of(caller.principal).admits(items.prompt(name)):
            return None
        reader = caller.principal.tenant if caller.tenant is None else caller.tenant
        return uppermost(self._content.prompt(reader, name), caller)

    def _rendered(self, prompt: StoredPrompt, arguments: JsonObject, caller: Caller) -> Rendered | Refused:
        function = prompt.function.strip()
        answer = guarded(function) or self._handlers.render(function, arguments, caller)
        if isinstance(answer, Refused):
            return answer
        messages = messages_of(answer, function)
        return messages if isinstance(messages, Refused) else Rendered(prompt.description, messages)


def messages_of(answer: Json, function: str) -> Sequence[Json] | Refused:
    """What the handler answered, as messages."""
    messages = markdown.prompt_messages(answer)
    if messages is not None:
        return messages
    return Refused(
        "unsupported_shape",
        f"{quoted(function)} answered an unsupported shape: a prompt is a text, {{content: text}} or {{messages: []}}.",
        {"function": function},
    )


def refusal_of(prompt: StoredPrompt) -> Refused | None:
    """Why this cannot be registered."""
    if problem := problem_with_prompt_name(prompt.name):
        return Refused("invalid_name", f"{problem}.")
    problem = _problem_with_texts(prompt) or _problem_with_arguments(prompt.arguments) or _problem_with_size(prompt)
    return Refused("invalid_content", f"{problem}.") if problem else None


def _problem_with_texts(prompt: StoredPrompt) -> str | None:
    if not prompt.description.strip():
        return "description must be non-empty"
    return None if prompt.function.strip() else "function_id must be non-empty"


def _problem_with_arguments(arguments: Sequence[PromptArgument]) -> str | None:
    seen: set[str] = set()
    for argument in arguments:
        if not argument.name.strip():
            return "argument name must be non-empty"
        if argument.name in seen:
            return f"duplicate argument name {quoted(argument.name)}"
        seen.add(argument.name)
    return None


def _problem_with_size(prompt: StoredPrompt) -> str | None:
    size = len(json.dumps(asdict(prompt), ensure_ascii=False).encode())
    return f"prompt is too large: {size} bytes, at most {LARGEST_PROMPT}" if size > LARGEST_PROMPT else None
