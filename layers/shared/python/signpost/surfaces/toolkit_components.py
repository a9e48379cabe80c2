"""Prompts, resources and templates of toolkits. Those of the registry take precedence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache, DerivedCache
from signpost.calling.client_needs import reject_lacking_client
from signpost.calling.function_access import FunctionAccess
from signpost.calling.function_listing import FunctionListing, ListedFunctions, ListKey
from signpost.content.api.functions import RESOURCE_TEMPLATES
from signpost.content.prompts import Prompts
from signpost.contract import CallRequest, HostedFunction
from signpost.errors import INVALID_PARAMS, Rejection
from signpost.list_revisions import REMEMBERED_TENANTS, REVALIDATION_INTERVAL
from signpost.model import (
    Call,
    Completion,
    GetPromptResult,
    InputRequired,
    Json,
    JsonObject,
    Principal,
    Prompt,
    Resource,
    ResourceTemplate,
)
from signpost.surfaces.asking_functions import give_answers, name_function
from signpost.surfaces.call_clients import call_client_of, notice_receiver_of
from signpost.surfaces.documents import ANSWER_MARGIN, caller_of

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.ports import Clock
    from signpost.surfaces.toolkit_index import ComponentIndex, DeclaredComponent

INSTANCES_WITHIN = 5.0
"""Seconds that a list waits for all functions that list instances of templates."""


class ToolkitComponents:
    """The provider of components. Modules that read them are imported on first use: most clients use tools only."""

    def __init__(
        self,
        *,
        access: FunctionAccess,
        listing: FunctionListing,
        executors: "FunctionInvoker",
        prompts: Prompts,
        clock: "Clock",
    ) -> None:
        self._access = access
        self._listing = listing
        self._executors = executors
        self._prompts = prompts
        self._clock = clock
        self._indices: DerivedCache[ListKey, ListedFunctions, ComponentIndex] = DerivedCache()
        self._instances = BoundedCache[Principal, tuple[float, "ComponentIndex", Sequence[Resource]]](
            REMEMBERED_TENANTS
        )

    def prompts(self, call: Call) -> Sequence[Prompt]:
        return self._drop_registered(self.index(call).listed_prompts, call)

    def hidden_prompts(self, call: Call) -> Sequence[Prompt]:
        return self._drop_registered(self.index(call).hidden_prompts, call)

    def get_prompt(
        self, name: str, arguments: Mapping[str, str], call: Call
    ) -> GetPromptResult | InputRequired | Rejection | None:
        """Render a prompt. Called only after the registry has found no prompt of this name."""
        declared = self.index(call).prompts.get(name)
        if declared is None:
            self._access.record_miss(call.principal, name)
            return None
        missing = [
            argument.name
            for argument in declared.component.arguments
            if argument.required and argument.name not in arguments
        ]
        if missing:
            return Rejection(INVALID_PARAMS, f"{name} needs the argument `{missing[0]}`.", {"argument": missing[0]})
        value = self._call_component(declared.hosted, arguments, call)
        if isinstance(value, InputRequired | Rejection):
            return value
        from signpost.surfaces.toolkit_answers import prompt_result_of  # noqa: PLC0415 - as above

        return prompt_result_of(value, declared.hosted.function, declared.hosted.description)

    def resources(self, call: Call) -> Sequence[Resource]:
        index = self.index(call)
        return [*index.listed_resources, *self._list_instances(index, call)]

    def hidden_resources(self, call: Call) -> Sequence[Resource]:
        return self.index(call).hidden_resources

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        return self.index(call).listed_templates

    def hidden_resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        return self.index(call).hidden_templates

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | InputRequired | Rejection | None:
        for hosted, variables in self.index(call).find_at(uri):
            if not self._access.admits(call.principal, hosted.function, uri):
                continue
            value = self._call_component(hosted, variables, give_answers(hosted.function, call))
            if isinstance(value, InputRequired):
                return name_function(value, hosted.function, call)
            if isinstance(value, Rejection):
                return value
            from signpost.surfaces.toolkit_answers import contents_at  # noqa: PLC0415 - as above

            contents = contents_at(uri, value, hosted.function)
            if contents is not None:
                return contents
        return None

    def complete(
        self, reference: JsonObject, argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | Rejection | None:
        index = self.index(call)
        if reference.get("type") == "ref/prompt":
            registered_names = self._arguments_of_registered(str(reference["name"]), call)
            declared = index.prompts.get(str(reference["name"])) if registered_names is None else None
        else:
            registered_names = _variables_of_registered(str(reference["uri"]))
            declared = index.templates.get(str(reference["uri"])) if registered_names is None else None
        if registered_names is not None:
            # The registry knows no values for these.
            return Completion(()) if argument in registered_names else None
        completed = None if declared is None else self._complete_argument(declared, argument, value, given, call)
        if declared is None or not isinstance(completed, Completion):
            return completed
        return self._drop_denied(declared, argument, given, completed, call)

    def _drop_registered(self, prompts: Sequence[Prompt], call: Call) -> Sequence[Prompt]:
        """Leave out prompts that have the name of a prompt of the registry."""
        taken = {prompt.name for prompt in self._prompts.list_readable(caller_of(call))} if prompts else ()
        return [prompt for prompt in prompts if prompt.name not in taken]

    def _complete_argument(
        self, declared: "DeclaredComponent", argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | Rejection | None:
        from signpost.calling.components import COMPLETE_SUFFIX, argument_names_of  # noqa: PLC0415 - as above
        from signpost.surfaces.toolkit_answers import completion_of  # noqa: PLC0415 - as above

        if argument not in argument_names_of(declared.component):
            return None
        values = declared.component.complete.get(argument, ())
        if values is not None:
            fitting = [known for known in values if known.startswith(value)]
            return Completion(fitting, len(fitting))
        function = declared.hosted.function + COMPLETE_SUFFIX
        answer = self._call_function(function, {"argument": argument, "value": value, "given": given}, _mute(call))
        if isinstance(answer, InputRequired):
            return Completion(())  # a user who is typing answers no questions
        return answer if isinstance(answer, Rejection) else completion_of(answer, function)

    def _drop_denied(
        self, declared: "DeclaredComponent", argument: str, given: Mapping[str, str], completed: Completion, call: Call
    ) -> Completion:
        """Leave out the values that lead to an instance which policy denies."""
        if declared.component.uri is None or self._access.of(call.principal).is_open:
            return completed
        from signpost.calling.uri_templates import parse_uri_template  # noqa: PLC0415 - as above

        template, function = parse_uri_template(declared.component.uri), declared.hosted.function

        def is_allowed(value: str) -> bool:
            uri = template.expand({**given, argument: value})
            return uri is None or self._access.allows(call.principal, function, uri)

        allowed = [value for value in completed.values if is_allowed(value)]
        return completed if len(allowed) == len(completed.values) else _recount(completed, allowed)

    def _arguments_of_registered(self, name: str, call: Call) -> Sequence[str] | None:
        """Return the arguments of a prompt of the registry; None if the registry does not have it."""
        found = next((prompt for prompt in self._prompts.list_readable(caller_of(call)) if prompt.name == name), None)
        return None if found is None else [argument.name for argument in found.arguments]

    def _list_instances(self, index: "ComponentIndex", call: Call) -> Sequence[Resource]:
        """Return the listed instances of templates. They are cached as long as lists are, and for each principal,
        because functions may list different ones to each."""
        if not index.enumerating_templates:
            return ()
        now = self._clock.now()
        read_at, cached_index, listed = self._instances.get(call.principal) or (0.0, None, ())
        if cached_index is index and now - read_at < REVALIDATION_INTERVAL:
            return listed
        listed = self._fetch_instances(index, call, now + INSTANCES_WITHIN)
        self._instances.put(call.principal, (now, index, listed))
        return listed

    def _fetch_instances(self, index: "ComponentIndex", call: Call, until: float) -> Sequence[Resource]:
        """Call the functions that list instances. Those of a function that fails or is too slow are not listed, but can
        be read."""
        from signpost.calling.components import ENUMERATE_SUFFIX  # noqa: PLC0415 - as above
        from signpost.surfaces.toolkit_answers import instances_of  # noqa: PLC0415 - as above

        by_uri: dict[str, Resource] = {}
        for pattern in index.enumerating_templates:
            function = pattern.declared.hosted.function
            value = self._call_function(function + ENUMERATE_SUFFIX, {}, _mute(call), until)
            listed = () if isinstance(value, InputRequired | Rejection) else instances_of(value, pattern.template)
            new = [
                resource for resource in listed if resource.uri not in index.resources and resource.uri not in by_uri
            ]
            by_uri |= {
                resource.uri: resource
                for resource in new
                if self._access.allows(call.principal, function, resource.uri)
            }
        return list(by_uri.values())

    def _call_component(
        self, hosted: HostedFunction, arguments: JsonObject, call: Call
    ) -> Json | InputRequired | Rejection:
        """Call the function of a component, unless the client lacks what it needs."""
        rejection = reject_lacking_client(hosted, call_client_of(call))
        return rejection or self._call_function(hosted.function, arguments, call)

    def _call_function(
        self, function: str, arguments: JsonObject, call: Call, until: float | None = None
    ) -> Json | InputRequired | Rejection:
        from signpost.surfaces.toolkit_answers import value_of  # noqa: PLC0415 - as above

        request = CallRequest(
            function=function,
            arguments=arguments,
            principal=call.principal,
            ends_at=call.deadline if until is None else min(until, call.deadline - ANSWER_MARGIN),
            trace=call.trace,
            answers=call.answers,
            state=call.state,
            client=call_client_of(call),
            notify=notice_receiver_of(call),
        )
        return value_of(self._executors.invoke(request), function)

    def index(self, call: Call) -> "ComponentIndex":
        """Return the index of the components that policy allows the principal. The same object for as long as nothing
        has changed."""
        listed = self._listing.of(call.principal)

        def build_index() -> "ComponentIndex":
            from signpost.surfaces.toolkit_index import ComponentIndex  # noqa: PLC0415 - as above

            return ComponentIndex(listed.functions, listed.unlisted)

        return self._indices.get(listed.key, listed, build_index)


def _mute(call: Call) -> Call:
    """Return the call for a function whose questions the client cannot answer."""
    return replace(call, client=replace(call.client, can_answer=False))


def _recount(completed: Completion, allowed: Sequence[str]) -> Completion:
    """Return the completion with the values that are left. Their total is known only if all values were in the
    answer."""
    are_all = completed.total == len(completed.values) and not completed.has_more
    return Completion(allowed, len(allowed) if are_all else None, completed.has_more)


def _variables_of_registered(pattern: str) -> Sequence[str] | None:
    """Return the variables of a template of the registry; None if the registry does not have it."""
    if all(template["uriTemplate"] != pattern for template in RESOURCE_TEMPLATES):
        return None
    from signpost.calling.uri_templates import parse_uri_template  # noqa: PLC0415 - as above

    return parse_uri_template(pattern).names
