"""Instances of `proxy_default` that were started for one capability: that one is linked, with what was given for it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from signpost.model import PROXY, JsonObject, Principal, as_object
from signpost.schema.validation import Validators
from signpost.workflow.admission import filled
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.instance import Instance
from signpost.workflow.links import NO_ARGUMENTS
from signpost.workflow.steps import Submitted

CAPABILITY, ARGUMENTS = "capability", "arguments"
LONGEST_SHOWN = 200
"""Characters of a name that nothing has."""


def capabilities(proxy: Definition) -> Mapping[str, Transition]:
    return proxy.states[proxy.initial_state].transitions


def restricted(proxy: Definition, is_left: Callable[[str], bool], kept: str | None) -> Definition:
    """With those capabilities only, and with the one that is kept."""
    initial = proxy.states[proxy.initial_state]
    denied = {name for name in initial.transitions if not is_left(name)}
    if not denied:
        return proxy
    left = {name: one for name, one in initial.transitions.items() if name not in denied}
    if kept in denied:
        left[kept] = replace(initial.transitions[kept], is_denied=True)
    return replace(proxy, states={**proxy.states, proxy.initial_state: replace(initial, transitions=left)})


def declared(proxy: Definition, capability: str) -> JsonObject | None:
    """The schema of its arguments; None where its author declared none, and it takes none."""
    schema = capabilities(proxy)[capability].input_schema
    return None if schema == NO_ARGUMENTS else schema


def wanted_by(definition_id: str, given: JsonObject) -> str:
    """What somebody wants who starts this of that: a capability, or the workflow."""
    wanted = given.get(CAPABILITY)
    return wanted if definition_id == PROXY and isinstance(wanted, str) else definition_id


def unknown_capability(definition: Definition, given: JsonObject) -> str | None:
    """The one that is asked for, if there is none of that name."""
    wanted = given.get(CAPABILITY)
    if definition.id != PROXY or wanted is None:
        return None
    if isinstance(wanted, str):
        return None if wanted in capabilities(definition) else wanted[:LONGEST_SHOWN]
    return json.dumps(wanted)[:LONGEST_SHOWN]


def complete(validators: Validators, proxy: Definition, instance: Instance, principal: Principal) -> Submitted | None:
    """What was started is submitted at once where nothing is missing for that."""
    wanted = instance.input.get(CAPABILITY)
    transition = capabilities(proxy).get(wanted) if proxy.id == PROXY and isinstance(wanted, str) else None
    if transition is None or transition.actor not in ("agent", "system"):
        return None
    schema = transition.input_schema if transition.input_schema is not None else NO_ARGUMENTS
    arguments = _arguments(schema, instance.input)
    if validators.violation(schema, filled(schema, arguments)) is not None:
        return None
    return Submitted(instance.version, transition.name, arguments, principal)


def narrowed(instance: Instance, links: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """The others stay legal, but whoever chose one of five hundred need not read all of them with every answer."""
    wanted = instance.input.get(CAPABILITY)
    if instance.definition_id != PROXY or wanted is None or instance.claim is not None:
        return links
    return [_prefilled(link, instance.input) for link in links if as_object(link["args"])["transition"] == wanted]


def _prefilled(link: JsonObject, given: JsonObject) -> JsonObject:
    args = as_object(link["args"])
    arguments: JsonObject = {**as_object(args["arguments"]), **_arguments(as_object(link["inputSchema"]), given)}
    return {**link, "args": {**args, ARGUMENTS: arguments}}


def _arguments(schema: JsonObject, given: JsonObject) -> JsonObject:
    """All that was given beside the name, or one object with all of it."""
    beside = {name: value for name, value in given.items() if name != CAPABILITY}
    if beside.keys() == {ARGUMENTS} and ARGUMENTS not in as_object(schema.get("properties")):
        return as_object(beside[ARGUMENTS])
    return beside
