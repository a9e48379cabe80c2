"""Functions that take each argument by its name: their parameters and annotations are read as a field spec."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from inspect import Parameter, signature
from typing import Any, get_origin

from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.toolkit.annotations import FieldSpecDict, UnsupportedAnnotation, hints_of, spec_of_member
from signpost.toolkit.context import Context
from signpost.toolkit.function import DeclarationError


@dataclass(frozen=True, slots=True)
class NamedParameters:
    """The parameters of a function that takes each argument by its name."""

    fields: Mapping[str, FieldSpecDict]
    """The parameters as a field spec."""
    context: str | None
    """The name of the parameter that receives the context; None if there is none."""


def read_named_parameters(
    name: str, run: Callable[..., object], advice: str = "declare its arguments as `input`"
) -> NamedParameters | None:
    """Read the parameters of a function; None if it takes all arguments as one mapping. Raises DeclarationError, which
    gives `advice` for functions without usable annotations."""
    try:
        hints = hints_of(run)
        parameters = list(signature(run).parameters.values())
        if _takes_all_as_one(parameters, hints):
            return None
        contexts = [parameter.name for parameter in parameters if hints.get(parameter.name) is Context]
        fields = {
            parameter.name: _field_of(parameter, hints) for parameter in parameters if parameter.name not in contexts
        }
    except UnsupportedAnnotation as fault:
        raise DeclarationError(f"{name}: {fault}; {advice}.") from fault
    except RecursionError as fault:
        raise DeclarationError(f"{name}: the type of its arguments refers to itself; {advice}.") from fault
    if len(contexts) > 1:
        raise DeclarationError(f"{name}: its parameters {' and '.join(contexts)} are of type Context; keep one.")
    return NamedParameters(fields, contexts[0] if contexts else None)


def _takes_all_as_one(parameters: Sequence[Parameter], hints: Mapping[str, Any]) -> bool:
    """Whether the parameters are `args`, without a type or with that of any mapping, and at most a context."""
    if not parameters or parameters[0].name != "args" or parameters[0].kind is Parameter.VAR_POSITIONAL:
        return False
    if any(hints.get(parameter.name, Any) not in (Any, Context) for parameter in parameters[1:]):
        return False
    hint = hints.get("args", dict)
    return hint in (Any, JsonObject) or (get_origin(hint) or hint) in (dict, Mapping)


def _field_of(parameter: Parameter, hints: Mapping[str, Any]) -> FieldSpecDict:
    if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
        raise UnsupportedAnnotation(f"its parameter {parameter.name} is positional-only or variadic")
    if parameter.name not in hints:
        raise UnsupportedAnnotation(f"its parameter {parameter.name} has no annotation")
    try:
        return spec_of_member(
            hints[parameter.name], MISSING if parameter.default is Parameter.empty else parameter.default
        )
    except UnsupportedAnnotation as fault:
        raise UnsupportedAnnotation(f"its parameter {parameter.name}: {fault}") from fault
