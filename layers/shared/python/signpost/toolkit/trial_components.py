"""Prompts, resources and what completes them without an executor or a gateway, for their author's tests."""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from signpost.contract import PROMPT, RESOURCE, TEMPLATE, Failure
from signpost.execution.components import COMPLETES, ENUMERATES, names_of
from signpost.execution.uri_templates import uri_template
from signpost.model import InputRequired, JsonObject, as_object
from signpost.records import dataclass
from signpost.toolkit.function import Function
from signpost.toolkit.trial import Trial, Tried, tried


@dataclass(frozen=True, slots=True)
class _Came:
    """What came of a call, but for what it answered."""

    tried: Tried

    @property
    def failure(self) -> Failure | None:
        return self.tried.failure

    @property
    def asked(self) -> InputRequired | None:
        return self.tried.asked

    @property
    def fault(self) -> str:
        return self.tried.fault

    @property
    def logged(self) -> Sequence[JsonObject]:
        return self.tried.logged

    @property
    def progress(self) -> Sequence[JsonObject]:
        return self.tried.progress


@dataclass(frozen=True, slots=True)
class Rendered(_Came):
    """What came of a prompt."""

    declared: str

    @property
    def messages(self) -> Sequence[JsonObject]:
        """Raises AssertionError if it did not answer any."""
        return _objects(as_object(self.tried.value), "messages")

    @property
    def description(self) -> str:
        return str(as_object(self.tried.value).get("description", self.declared))

    @property
    def text(self) -> str:
        """What can be read of its messages."""
        return _texts(as_object(message["content"]) for message in self.messages)


@dataclass(frozen=True, slots=True)
class Read(_Came):
    """What came of reading a resource."""

    uri: str

    @property
    def contents(self) -> Sequence[JsonObject]:
        """Raises AssertionError if it did not answer any."""
        return [{"uri": self.uri, **content} for content in _objects(as_object(self.tried.value), "contents")]

    @property
    def text(self) -> str:
        return _texts(self.contents)

    @property
    def blob(self) -> bytes:
        """The bytes among them."""
        return b"".join(b64decode(str(content["blob"])) for content in self.contents if "blob" in content)


@dataclass(frozen=True, slots=True)
class ComponentTrials:
    functions: Sequence[Function]
    trial: Trial

    def rendered(self, name: str, args: Mapping[str, str]) -> Rendered:
        """Raises LookupError."""
        prompts = {str(one.name): one for one in self._of_kind(PROMPT)}
        if name not in prompts:
            raise LookupError(f"There is no prompt {name!r}; there are {', '.join(map(repr, prompts)) or 'none'}.")
        return Rendered(tried(prompts[name], args, self.trial), prompts[name].description)

    def read(self, uri: str) -> Read:
        """Raises LookupError."""
        for function, variables in self._at(uri):
            came = tried(function, variables, self.trial)
            if came.failure or came.asked or came.answered is not None:
                return Read(came, uri)
        raise LookupError(f"There is nothing at {uri!r}.")

    def completed(self, of: str, argument: str, rest: JsonObject) -> Sequence[str]:
        """Raises LookupError."""
        prompts = {one.name: one for one in self._of_kind(PROMPT)}
        found: Mapping[str | None, Function] = {**prompts, **self._templates()}
        component = found[of].component if of in found else None
        if component is None or argument not in names_of(component):
            raise LookupError(f"There is no {argument!r} of {of!r} to complete.")
        values = component.complete.get(argument, ())
        if values is not None:
            return [value for value in values if value.startswith(str(rest["value"]))]
        came = self._helped(found[of].id + COMPLETES, {"argument": argument, **rest})
        return [str(value) for value in cast("Sequence[str]", came["values"])]

    def listed(self, uri: str) -> Sequence[JsonObject]:
        """Raises LookupError."""
        template = self._templates().get(uri)
        if template is None:
            raise LookupError(f"There is no template {uri!r}.")
        return _objects(self._helped(template.id + ENUMERATES, {}), "resources")

    def _at(self, uri: str) -> Iterator[tuple[Function, Mapping[str, str]]]:
        """As a gateway looks for it."""
        yield from ((one, {}) for one in self._of_kind(RESOURCE) if one.component and one.component.uri == uri)
        templates = [(uri_template(str(pattern)), one) for pattern, one in self._templates().items()]
        for template, function in sorted(templates, key=lambda one: (-one[0].said, one[1].id)):
            variables = template.values_in(uri)
            if variables is not None:
                yield function, variables

    def _of_kind(self, kind: str) -> Sequence[Function]:
        return [one for one in self.functions if one.component is not None and one.component.kind == kind]

    def _templates(self) -> Mapping[str | None, Function]:
        return {one.component.uri: one for one in self._of_kind(TEMPLATE) if one.component is not None}

    def _helped(self, name: str, arguments: JsonObject) -> JsonObject:
        """What a helper answers. Raises LookupError."""
        found = next((one for one in self.functions if one.id == name), None)
        if found is None:
            raise LookupError(f"There is no {name}.")
        return as_object(tried(found, arguments, self.trial).value)


def _objects(value: JsonObject, name: str) -> Sequence[JsonObject]:
    return cast("Sequence[JsonObject]", value[name])


def _texts(blocks: Iterable[JsonObject]) -> str:
    return "\n".join(str(block["text"]) for block in blocks if "text" in block)
