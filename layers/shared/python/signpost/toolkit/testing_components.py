"""Trials of prompts, resources, templates and their completions, without an executor or a gateway, for authors'
tests."""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from signpost.calling.components import COMPLETE_SUFFIX, ENUMERATE_SUFFIX, argument_names_of
from signpost.calling.uri_templates import parse_uri_template
from signpost.contract import PROMPT, RESOURCE, TEMPLATE, Failure
from signpost.model import InputRequired, JsonObject, as_object
from signpost.records import dataclass
from signpost.toolkit.function import Function
from signpost.toolkit.testing import TrialResult, TrialSetup, run_trial


@dataclass(frozen=True, slots=True)
class _ComponentResult:
    """The result of a trial without its answer: failure, required input, fault, log and progress."""

    result: TrialResult

    @property
    def failure(self) -> Failure | None:
        return self.result.failure

    @property
    def asked(self) -> InputRequired | None:
        return self.result.asked

    @property
    def fault(self) -> str:
        return self.result.fault

    @property
    def logged(self) -> Sequence[JsonObject]:
        return self.result.logged

    @property
    def progress(self) -> Sequence[JsonObject]:
        return self.result.progress


@dataclass(frozen=True, slots=True)
class PromptTrialResult(_ComponentResult):
    """The result of rendering a prompt."""

    declared: str

    @property
    def messages(self) -> Sequence[JsonObject]:
        """The messages of the prompt. Raises AssertionError if it failed or required input."""
        return _objects(as_object(self.result.value), "messages")

    @property
    def description(self) -> str:
        return str(as_object(self.result.value).get("description", self.declared))

    @property
    def text(self) -> str:
        """The texts of the messages."""
        return _texts(as_object(message["content"]) for message in self.messages)


@dataclass(frozen=True, slots=True)
class ResourceTrialResult(_ComponentResult):
    """The result of reading a resource."""

    uri: str

    @property
    def contents(self) -> Sequence[JsonObject]:
        """The contents of the resource. Raises AssertionError if it failed or required input."""
        return [{"uri": self.uri, **content} for content in _objects(as_object(self.result.value), "contents")]

    @property
    def text(self) -> str:
        return _texts(self.contents)

    @property
    def blob(self) -> bytes:
        """The bytes of all binary contents, joined."""
        return b"".join(b64decode(str(content["blob"])) for content in self.contents if "blob" in content)


@dataclass(frozen=True, slots=True)
class ComponentTrials:
    """Runs trials of the components of one toolkit."""

    functions: Sequence[Function]
    trial: TrialSetup

    def render_prompt(self, name: str, args: Mapping[str, str]) -> PromptTrialResult:
        """Render a prompt. Raises LookupError if there is no such prompt."""
        prompts = {str(function.name): function for function in self._of_kind(PROMPT)}
        if name not in prompts:
            raise LookupError(f"There is no prompt {name!r}; there are {', '.join(map(repr, prompts)) or 'none'}.")
        return PromptTrialResult(run_trial(prompts[name], args, self.trial), prompts[name].description)

    def read_resource(self, uri: str) -> ResourceTrialResult:
        """Read the first resource or template instance at a URI that answers. Raises LookupError if there is none."""
        for function, variables in self._functions_at(uri):
            result = run_trial(function, variables, self.trial)
            if result.failure or result.asked or result.answered is not None:
                return ResourceTrialResult(result, uri)
        raise LookupError(f"There is no resource at {uri!r}.")

    def complete_argument(self, name: str, argument: str, rest: JsonObject) -> Sequence[str]:
        """Complete an argument of a prompt or a template. Raises LookupError if there is no such argument."""
        prompts = {function.name: function for function in self._of_kind(PROMPT)}
        functions: Mapping[str | None, Function] = {**prompts, **self._templates()}
        component = functions[name].component if name in functions else None
        if component is None or argument not in argument_names_of(component):
            raise LookupError(f"There is no prompt or template {name!r} with an argument {argument!r} to complete.")
        values = component.complete.get(argument, ())
        if values is not None:
            return [value for value in values if value.startswith(str(rest["value"]))]
        completion = self._run_helper(functions[name].id + COMPLETE_SUFFIX, {"argument": argument, **rest})
        return [str(value) for value in cast("Sequence[str]", completion["values"])]

    def list_instances(self, uri: str) -> Sequence[JsonObject]:
        """List the instances of a template. Raises LookupError if there is no such template."""
        template = self._templates().get(uri)
        if template is None:
            raise LookupError(f"There is no template {uri!r}.")
        return _objects(self._run_helper(template.id + ENUMERATE_SUFFIX, {}), "resources")

    def _functions_at(self, uri: str) -> Iterator[tuple[Function, Mapping[str, str]]]:
        """Find the functions that may answer a URI, in the order of the gateway."""
        yield from (
            (function, {})
            for function in self._of_kind(RESOURCE)
            if function.component and function.component.uri == uri
        )
        templates = [(parse_uri_template(str(pattern)), function) for pattern, function in self._templates().items()]
        for template, function in sorted(templates, key=lambda pair: (-pair[0].literal_length, pair[1].id)):
            variables = template.values_in(uri)
            if variables is not None:
                yield function, variables

    def _of_kind(self, kind: str) -> Sequence[Function]:
        return [
            function
            for function in self.functions
            if function.component is not None and function.component.kind == kind
        ]

    def _templates(self) -> Mapping[str | None, Function]:
        return {
            function.component.uri: function for function in self._of_kind(TEMPLATE) if function.component is not None
        }

    def _run_helper(self, name: str, arguments: JsonObject) -> JsonObject:
        """Run a helper function and return its answer. Raises LookupError."""
        helper = next((function for function in self.functions if function.id == name), None)
        if helper is None:
            raise LookupError(f"There is no function {name}.")
        return as_object(run_trial(helper, arguments, self.trial).value)


def _objects(value: JsonObject, name: str) -> Sequence[JsonObject]:
    return cast("Sequence[JsonObject]", value[name])


def _texts(blocks: Iterable[JsonObject]) -> str:
    return "\n".join(str(block["text"]) for block in blocks if "text" in block)
