"""Narrows instances of `proxy_default` to the capability they were started for, with the input as its arguments."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from signpost.model import PROXY_WORKFLOW, Json, JsonObject, Principal, as_object
from signpost.schema.validation import Validators
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.engine.actors import may_take
from signpost.workflow.engine.admission import complete_fields
from signpost.workflow.engine.argument_schemas import arguments_schema_of
from signpost.workflow.engine.steps import Submission
from signpost.workflow.instance import Instance

CAPABILITY, ARGUMENTS = "capability", "arguments"
LONGEST_SHOWN = 200
"""Characters that a message shows of a name that no capability has."""


def capabilities_of(proxy: Definition) -> Mapping[str, Transition]:
    return proxy.states[proxy.initial_state].transitions


def restrict_capabilities(proxy: Definition, is_left: Callable[[str], bool], kept: str | None) -> Definition:
    """Return the definition with the capabilities that are left only. `kept` stays, marked as denied if it is."""
    initial = proxy.states[proxy.initial_state]
    denied = {name for name in initial.transitions if not is_left(name)}
    if not denied:
        return proxy
    allowed = {name: transition for name, transition in initial.transitions.items() if name not in denied}
    if kept in denied:
        allowed[kept] = replace(initial.transitions[kept], is_denied=True)
    return replace(proxy, states={**proxy.states, proxy.initial_state: replace(initial, transitions=allowed)})


def join_capabilities(proxies: Sequence[Definition]) -> Definition:
    """Return the first definition with the capabilities of all."""
    first = proxies[0]
    capabilities = {name: transition for proxy in proxies for name, transition in capabilities_of(proxy).items()}
    initial = replace(first.states[first.initial_state], transitions=capabilities)
    return replace(first, states={**first.states, first.initial_state: initial})


def capability_schema_of(proxy: Definition, capability: str) -> JsonObject:
    """Return the schema of the arguments of a capability."""
    return arguments_schema_of(proxy, capabilities_of(proxy)[capability])


def start_schema_of(schema: JsonObject) -> JsonObject:
    """Return the schema of the input of a start beside `capability`: the arguments, or an object `arguments` with them
    if one of them is called `capability` itself."""
    properties = as_object(schema.get("properties"))
    if CAPABILITY not in properties or ARGUMENTS in properties:
        return schema
    named = {keyword: schema[keyword] for keyword in ("$defs", "definitions") if keyword in schema}
    return {**named, "type": "object", "properties": {ARGUMENTS: schema}, "required": [ARGUMENTS]}


def requested_capability(definition_id: str, workflow_input: JsonObject) -> str | None:
    """Return the capability that a start asks for; None if it asks for another workflow, or for none."""
    capability = workflow_input.get(CAPABILITY)
    return capability if definition_id == PROXY_WORKFLOW and isinstance(capability, str) else None


def start_target_of(definition_id: str, workflow_input: JsonObject) -> str:
    """Return the name that a start asks for: a capability, or the workflow."""
    return requested_capability(definition_id, workflow_input) or definition_id


def find_unknown_capability(definition: Definition, workflow_input: JsonObject) -> str | None:
    """Return the capability that the input names, if there is none of that name."""
    capability = workflow_input.get(CAPABILITY)
    if definition.id != PROXY_WORKFLOW or capability is None:
        return None
    is_known = isinstance(capability, str) and capability in capabilities_of(definition)
    return None if is_known else show_capability(capability)


def show_capability(capability: Json) -> str:
    """Return the capability that a client named as messages show it."""
    return (capability if isinstance(capability, str) else json.dumps(capability))[:LONGEST_SHOWN]


def build_first_submission(
    validators: Validators, proxy: Definition, instance: Instance, principal: Principal
) -> Submission | None:
    """Build the submission of the capability that an instance was started for; None if its arguments are incomplete or
    invalid, or if its actor is neither an agent nor a system that the principal is."""
    capability = instance.input.get(CAPABILITY)
    transition = (
        capabilities_of(proxy).get(capability) if proxy.id == PROXY_WORKFLOW and isinstance(capability, str) else None
    )
    if transition is None or transition.actor not in ("agent", "system"):
        return None
    if not may_take(proxy.states[instance.state], transition, principal):
        return None
    schema = arguments_schema_of(proxy, transition)
    arguments = _arguments_of(schema, instance.input)
    if validators.find_violation(schema, complete_fields(validators, schema, arguments)) is not None:
        return None
    return Submission(instance.version, transition.name, arguments, principal)


def narrow_links(instance: Instance, links: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Keep the links of the chosen capability. The others stay legal, but a client that chose one of five hundred need
    not read all of them with every answer."""
    capability = instance.input.get(CAPABILITY)
    if instance.definition_id != PROXY_WORKFLOW or capability is None or instance.claim is not None:
        return links
    return [
        _prefill_link(link, instance.input) for link in links if as_object(link["args"])["transition"] == capability
    ]


def _prefill_link(link: JsonObject, workflow_input: JsonObject) -> JsonObject:
    args = as_object(link["args"])
    arguments: JsonObject = {
        **as_object(args["arguments"]),
        **_arguments_of(as_object(link["inputSchema"]), workflow_input),
    }
    return {**link, "args": {**args, ARGUMENTS: arguments}}


def _arguments_of(schema: JsonObject, workflow_input: JsonObject) -> JsonObject:
    """Return the members of the input beside `capability`, or the object `arguments` if it is the only one."""
    others = {name: value for name, value in workflow_input.items() if name != CAPABILITY}
    if others.keys() == {ARGUMENTS} and ARGUMENTS not in as_object(schema.get("properties")):
        return as_object(others[ARGUMENTS])
    return others
