"""Finds the warnings about the functions of an executor. Clients read their names, descriptions and schemas as those of
tools."""

from collections.abc import Iterable, Iterator, Sequence

from signpost.calling.components import prompt_name
from signpost.calling.skill_names import skill_name
from signpost.contract import PROMPT, HostedFunction
from signpost.directory.model import PlacementRefusal
from signpost.hazards.model import Hazard, PublicationWarning, describe_warning, warn_about
from signpost.hazards.names import find_look_alikes, find_name_hazards
from signpost.hazards.orders import find_orders
from signpost.hazards.schemas import find_schema_hazards
from signpost.hazards.texts import find_text_hazards
from signpost.model import Json

MOST_NAMED_WARNINGS = 5
"""Warnings that the message of a refusal names."""


def find_function_warnings(
    hosted: Sequence[HostedFunction], others: Iterable[HostedFunction] = ()
) -> Sequence[PublicationWarning]:
    """Find the warnings about functions that are loaded or placed beside the other functions of the tenant."""
    found = [warning for function in hosted for warning in _warn_of_function(function)]
    names = {_listed_name(function): function.function for function in hosted}
    replaced = {function.function for function in hosted}
    other_names = [_listed_name(function) for function in others if function.function not in replaced]
    for name, hazard in find_look_alikes(names, other_names, label="another function"):
        found += warn_about("function", names[name], [Hazard(hazard.code, f"its name {name!a} {hazard.message}")])
    return found


def refuse_warnings(arn: str, warnings: Sequence[PublicationWarning]) -> PlacementRefusal:
    listed = " ".join(f"{warning.id}: {describe_warning(warning)}" for warning in warnings[:MOST_NAMED_WARNINGS])
    return PlacementRefusal("has_warnings", f"{arn} has functions with warnings. {listed}")


def _listed_name(hosted: HostedFunction) -> str:
    component = hosted.component
    return prompt_name(hosted) if component is not None and component.kind == PROMPT else skill_name(hosted)


def _warn_of_function(hosted: HostedFunction) -> Iterator[PublicationWarning]:
    for label, name in (("name", skill_name(hosted)), ("title", hosted.title), ("category", hosted.category)):
        yield from _warn(hosted, f"its {label}", find_name_hazards(name or ""))
    yield from _warn(hosted, "its title", find_orders(hosted.title or ""))
    yield from _warn(hosted, "its description", find_text_hazards(hosted.description))
    extras: Json = {"annotations": hosted.annotations, "meta": hosted.meta}
    schemas = {"inputSchema": hosted.input_schema, "outputSchema": hosted.output_schema, "metadata": extras}
    for label, schema in schemas.items():
        for found in find_schema_hazards(schema):
            yield from _warn(hosted, f"`{'.'.join(map(str, (label, *found.at)))}`", [found.hazard])
    for argument in hosted.component.arguments if hosted.component is not None else ():
        hazards = (*find_name_hazards(argument.name), *find_text_hazards(argument.description or ""))
        yield from _warn(hosted, f"its argument {argument.name!a}", hazards)


def _warn(hosted: HostedFunction, label: str, hazards: Iterable[Hazard]) -> Iterator[PublicationWarning]:
    relabelled = (Hazard(hazard.code, f"{label}: {hazard.message}") for hazard in hazards)
    yield from warn_about("function", hosted.function, relabelled)
