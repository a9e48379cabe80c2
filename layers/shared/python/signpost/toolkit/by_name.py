"""Functions that take each argument by its name: what they take is what their annotations say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from inspect import Parameter, signature
from typing import Any, get_origin

from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.toolkit.annotations import Unsupported, Words, hints_of, member_of
from signpost.toolkit.context import Context
from signpost.toolkit.function import DeclarationError


@dataclass(frozen=True, slots=True)
class Named:
    """A function that takes each of its arguments by name."""

    fields: Mapping[str, Words]
    """What it takes, as a field spec."""
    context: str | None
    """The parameter that is given the context."""


def named(name: str, run: Callable[..., object], otherwise: str = "say what it takes as `input`") -> Named | None:
    """None if it takes all its arguments as one. Raises DeclarationError, which says what to do otherwise."""
    try:
        hints = hints_of(run)
        parameters = list(signature(run).parameters.values())
        if _takes_all_as_one(parameters, hints):
            return None
        contexts = [one.name for one in parameters if hints.get(one.name) is Context]
        fields = {one.name: _field_of(one, hints) for one in parameters if one.name not in contexts}
    except Unsupported as fault:
        raise DeclarationError(f"{name}: {fault}; {otherwise}.") from fault
    except RecursionError as fault:
        raise DeclarationError(f"{name}: what it takes is defined by itself.") from fault
    if len(contexts) > 1:
        raise DeclarationError(f"{name}: {contexts[1]} is a second Context.")
    return Named(fields, contexts[0] if contexts else None)


def _takes_all_as_one(parameters: Sequence[Parameter], hints: Mapping[str, Any]) -> bool:
    """Whether it is `args`, of no type or of one that any arguments have, and at most a context."""
    if not parameters or parameters[0].name != "args" or parameters[0].kind is Parameter.VAR_POSITIONAL:
        return False
    if any(hints.get(one.name, Any) not in (Any, Context) for one in parameters[1:]):
        return False
    hint = hints.get("args", dict)
    return hint in (Any, JsonObject) or (get_origin(hint) or hint) in (dict, Mapping)


def _field_of(parameter: Parameter, hints: Mapping[str, Any]) -> Words:
    if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
        raise Unsupported(f"its parameter {parameter.name} cannot be given by name")
    if parameter.name not in hints:
        raise Unsupported(f"its parameter {parameter.name} has no annotation")
    try:
        return member_of(hints[parameter.name], MISSING if parameter.default is Parameter.empty else parameter.default)
    except Unsupported as fault:
        raise Unsupported(f"its parameter {parameter.name}: {fault}") from fault
