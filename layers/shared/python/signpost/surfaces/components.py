"""Prompts, resources and templates of toolkits, beside those of the registry, which go first."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.contract import Request
from signpost.errors import INVALID_PARAMS, Rejection
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import REMEMBERED_TENANTS, REVALIDATED_EVERY, FunctionList
from signpost.made_once import MadeOnce
from signpost.model import (
    Call,
    Completion,
    InputRequired,
    Json,
    JsonObject,
    Principal,
    Prompt,
    PromptResult,
    Resource,
    ResourceTemplate,
)
from signpost.policy.access import Access
from signpost.ports import Clock, Executors
from signpost.registry.functions import TEMPLATES
from signpost.registry.prompts import Prompts
from signpost.surfaces.documents import TO_ANSWER, caller_of

if TYPE_CHECKING:
    from signpost.surfaces.component_index import ComponentIndex, Declared

INSTANCES_WITHIN = 5.0
"""Seconds that a list waits for all the functions that name instances of templates."""


class ToolkitComponents:
    """What reads them is imported when somebody asks: most clients come for tools."""

    def __init__(self, *, access: FunctionAccess, executors: Executors, prompts: Prompts, clock: Clock) -> None:
        self._access = access
        self._executors = executors
        self._prompts = prompts
        self._clock = clock
        self._indices: MadeOnce[tuple[str, Access], FunctionList, ComponentIndex] = MadeOnce()
        self._instances: dict[Principal, tuple[float, ComponentIndex, Sequence[Resource]]] = {}

    def prompts(self, call: Call) -> Sequence[Prompt]:
        return self._reached(self._index(call).listed_prompts, call)

    def hidden_prompts(self, call: Call) -> Sequence[Prompt]:
        return self._reached(self._index(call).hidden_prompts, call)

    def get_prompt(
        self, name: str, arguments: Mapping[str, str], call: Call
    ) -> PromptResult | InputRequired | Rejection | None:
        """Whoever asks here was told by the registry that it has none of this name."""
        found = self._index(call).prompts.get(name)
        if found is None:
            self._access.missed(call.principal, name)
            return None
        missing = [one.name for one in found.component.arguments if one.required and one.name not in arguments]
        if missing:
            return Rejection(INVALID_PARAMS, f"{name} needs the argument `{missing[0]}`.", {"argument": missing[0]})
        value = self._value(found.hosted.function, arguments, call)
        if isinstance(value, InputRequired | Rejection):
            return value
        from signpost.surfaces.component_answers import rendered  # noqa: PLC0415 - as above

        return rendered(value, found.hosted.function, found.hosted.description)

    def resources(self, call: Call) -> Sequence[Resource]:
        index = self._index(call)
        return [*index.listed_resources, *self._listed_instances(index, call)]

    def hidden_resources(self, call: Call) -> Sequence[Resource]:
        return self._index(call).hidden_resources

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        return self._index(call).listed_templates

    def hidden_resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        return self._index(call).hidden_templates

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | InputRequired | Rejection | None:
        for hosted, variables in self._index(call).at(uri):
            if not self._access.admits(call.principal, hosted.function, uri):
                continue
            value = self._value(hosted.function, variables, call)
            if isinstance(value, InputRequired | Rejection):
                return value
            from signpost.surfaces.component_answers import contents_at  # noqa: PLC0415 - as above

            contents = contents_at(uri, value, hosted.function)
            if contents is not None:
                return contents
        return None

    def complete(
        self, reference: JsonObject, argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | Rejection | None:
        index = self._index(call)
        if reference.get("type") == "ref/prompt":
            own = self._arguments_of_registered(str(reference["name"]), call)
            found = index.prompts.get(str(reference["name"])) if own is None else None
        else:
            own = _variables_of_registered(str(reference["uri"]))
            found = index.templates.get(str(reference["uri"])) if own is None else None
        if own is not None:
            # Nothing is known of what these may be.
            return Completion(()) if argument in own else None
        completed = None if found is None else self._completion(found, argument, value, given, call)
        if found is None or not isinstance(completed, Completion):
            return completed
        return self._left(found, argument, given, completed, call)

    def _reached(self, prompts: Sequence[Prompt], call: Call) -> Sequence[Prompt]:
        """Those in whose place the registry has none."""
        taken = {prompt.name for prompt in self._prompts.all(caller_of(call))} if prompts else ()
        return [prompt for prompt in prompts if prompt.name not in taken]

    def _completion(
        self, found: "Declared", argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | Rejection | None:
        from signpost.execution.components import COMPLETES, names_of  # noqa: PLC0415 - as above
        from signpost.surfaces.component_answers import completion  # noqa: PLC0415 - as above

        if argument not in names_of(found.component):
            return None
        values = found.component.complete.get(argument, ())
        if values is not None:
            fitting = [one for one in values if one.startswith(value)]
            return Completion(fitting, len(fitting))
        function = found.hosted.function + COMPLETES
        answer = self._value(function, {"argument": argument, "value": value, "given": given}, call)
        if isinstance(answer, InputRequired):
            return Completion(())  # nobody answers questions while they type
        return answer if isinstance(answer, Rejection) else completion(answer, function)

    def _left(
        self, found: "Declared", argument: str, given: Mapping[str, str], completed: Completion, call: Call
    ) -> Completion:
        """Without the values that make an instance which is denied."""
        if found.component.uri is None or self._access.of(call.principal).is_open:
            return completed
        from signpost.execution.uri_templates import uri_template  # noqa: PLC0415 - as above

        template, function = uri_template(found.component.uri), found.hosted.function

        def is_left(value: str) -> bool:
            uri = template.expanded({**given, argument: value})
            return uri is None or self._access.allows(call.principal, function, uri)

        left = [value for value in completed.values if is_left(value)]
        return completed if len(left) == len(completed.values) else _recounted(completed, left)

    def _arguments_of_registered(self, name: str, call: Call) -> Sequence[str] | None:
        found = next((prompt for prompt in self._prompts.all(caller_of(call)) if prompt.name == name), None)
        return None if found is None else [argument.name for argument in found.arguments]

    def _listed_instances(self, index: "ComponentIndex", call: Call) -> Sequence[Resource]:
        """For as long as lists are remembered: functions may list something else to each principal."""
        if not index.enumerating:
            return ()
        now = self._clock.now()
        looked_at, seen, listed = self._instances.get(call.principal, (0.0, None, ()))
        if seen is index and now - looked_at < REVALIDATED_EVERY:
            return listed
        if len(self._instances) >= REMEMBERED_TENANTS:
            self._instances.clear()
        listed = self._named_instances(index, call, now + INSTANCES_WITHIN)
        self._instances[call.principal] = now, index, listed
        return listed

    def _named_instances(self, index: "ComponentIndex", call: Call, until: float) -> Sequence[Resource]:
        """What a function does not name in time, or cannot, is not listed, and can be read all the same."""
        from signpost.execution.components import ENUMERATES  # noqa: PLC0415 - as above
        from signpost.surfaces.component_answers import instances  # noqa: PLC0415 - as above

        named: dict[str, Resource] = {}
        for pattern in index.enumerating:
            function = pattern.declared.hosted.function
            value = self._value(function + ENUMERATES, {}, call, until)
            listed = () if isinstance(value, InputRequired | Rejection) else instances(value, pattern.template)
            new = [one for one in listed if one.uri not in index.resources and one.uri not in named]
            named |= {one.uri: one for one in new if self._access.allows(call.principal, function, one.uri)}
        return list(named.values())

    def _value(
        self, function: str, arguments: JsonObject, call: Call, until: float | None = None
    ) -> Json | InputRequired | Rejection:
        from signpost.surfaces.component_answers import value_of  # noqa: PLC0415 - as above

        request = Request(
            function=function,
            arguments=arguments,
            principal=call.principal,
            ends_at=call.deadline if until is None else min(until, call.deadline - TO_ANSWER),
            trace=call.trace,
            answers=call.answers,
            state=call.state,
        )
        return value_of(self._executors.invoke(request), function)

    def _index(self, call: Call) -> "ComponentIndex":
        """Of what policy leaves to who asks. The same for as long as nothing has changed."""
        principal = call.principal
        functions, whose = self._access.left(principal), (principal.tenant, self._access.of(principal))

        def made() -> "ComponentIndex":
            from signpost.surfaces.component_index import ComponentIndex  # noqa: PLC0415 - as above

            return ComponentIndex(functions, lambda function: self._access.shows(principal, function))

        return self._indices.of(whose, functions, made)


def _recounted(completed: Completion, left: Sequence[str]) -> Completion:
    """Of what was not named nobody knows how much is left."""
    are_all = completed.total == len(completed.values) and not completed.has_more
    return Completion(left, len(left) if are_all else None, completed.has_more)


def _variables_of_registered(pattern: str) -> Sequence[str] | None:
    if all(template["uriTemplate"] != pattern for template in TEMPLATES):
        return None
    from signpost.execution.uri_templates import uri_template  # noqa: PLC0415 - as above

    return uri_template(pattern).names
