"""Resolve CloudFormation's intrinsic functions without AWS: those that the functions of this project use."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from local.json_values import Json, JsonObject


class TemplateError(Exception):
    """A template, or a value for one of its names, cannot be resolved."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The values of names. `names` has pseudo parameters, resources (`Table`) and attributes (`Table.Arn`)."""

    parameters: Mapping[str, str]
    conditions: Mapping[str, Json]
    names: Mapping[str, str]


def parse_template(text: str) -> JsonObject:
    document: Json = yaml.load(text, _TemplateLoader)  # noqa: S506  # a SafeLoader that also knows the short tags
    return _mapping(document)


def parameter_values(template: JsonObject, overrides: Mapping[str, str]) -> dict[str, str]:
    declared = section(template, "Parameters")
    for name in overrides:
        if name not in declared:
            raise TemplateError(f"the template has no parameter {name}")
    return {name: _parameter_value(name, _mapping(declared[name]), overrides.get(name)) for name in declared}


def section(document: JsonObject, *path: str) -> JsonObject:
    """Return the mapping at this path, or an empty one if the document does not have it."""
    for name in path:
        document = _mapping(document.get(name) or {})
    return document


def resolve(value: Json, scope: Scope) -> Json:
    """Return the value with every intrinsic function replaced. CloudFormation has no null: None is AWS::NoValue."""
    if isinstance(value, list):
        return [resolved for item in value if (resolved := resolve(item, scope)) is not None]
    if not isinstance(value, dict):
        return value
    function = _function_in(value)
    if function is not None:
        return function(next(iter(value.values())), scope)
    return {key: resolved for key, item in value.items() if (resolved := resolve(item, scope)) is not None}


def resolve_text(value: Json, scope: Scope) -> str:
    return _text(resolve(value, scope))


def condition_holds(name: str, scope: Scope) -> bool:
    if name not in scope.conditions:
        raise TemplateError(f"the template has no condition {name}")
    return _holds(scope.conditions[name], scope)


type _Function = Callable[[Json, Scope], Json]


def _function_in(value: JsonObject) -> _Function | None:
    if len(value) != 1:
        return None
    name = next(iter(value))
    if name.startswith("Fn::") and name not in _FUNCTIONS:
        raise TemplateError(f"{name} is not supported by local/intrinsics.py")
    return _FUNCTIONS.get(name)


def _ref(argument: Json, scope: Scope) -> Json:
    name = _text(argument)
    return None if name == "AWS::NoValue" else _value_of(name, scope)


def _value_of(name: str, scope: Scope) -> str:
    for values in (scope.parameters, scope.names):
        if name in values:
            return values[name]
    raise TemplateError(f"{name} is no parameter, pseudo parameter or resource of the template")


def _attribute(argument: Json, scope: Scope) -> Json:
    """Return the value of an attribute; the name of its resource if the scope has no value for it."""
    parts = [_text(part) for part in argument] if isinstance(argument, list) else [_text(argument)]
    name = ".".join(parts)
    return _value_of(name if name in scope.names else parts[0].partition(".")[0], scope)


def _if(argument: Json, scope: Scope) -> Json:
    # Only the selected branch is resolved: the other may name a resource that has no value in the scope.
    condition, then, otherwise = _arguments(argument, 3)
    return resolve(then if condition_holds(_text(condition), scope) else otherwise, scope)


def _equals(argument: Json, scope: Scope) -> Json:
    left, right = _arguments(argument, 2)
    return resolve_text(left, scope) == resolve_text(right, scope)


def _not(argument: Json, scope: Scope) -> Json:
    (operand,) = _arguments(argument, 1)
    return not _holds(operand, scope)


def _and(argument: Json, scope: Scope) -> Json:
    return all(_holds(operand, scope) for operand in _arguments(argument))


def _or(argument: Json, scope: Scope) -> Json:
    return any(_holds(operand, scope) for operand in _arguments(argument))


def _holds(value: Json, scope: Scope) -> bool:
    match value:
        case {"Condition": str(name)}:
            return condition_holds(name, scope)
        case _:
            return resolve(value, scope) is True


def _sub(argument: Json, scope: Scope) -> Json:
    if isinstance(argument, str):
        return _substitute(argument, {}, scope)
    template, variables = _arguments(argument, 2)
    values = {name: resolve_text(value, scope) for name, value in _mapping(variables).items()}
    return _substitute(_text(template), values, scope)


def _substitute(template: str, values: Mapping[str, str], scope: Scope) -> str:
    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("!"):
            return f"${{{name[1:]}}}"
        return values[name] if name in values else _value_of(name, scope)

    return re.sub(r"\$\{\s*([^}]+?)\s*\}", replacement, template)


def _join(argument: Json, scope: Scope) -> Json:
    separator, items = _arguments(argument, 2)
    return _text(separator).join(_text(item) for item in _items(resolve(items, scope)))


def _items(value: Json) -> list[Json]:
    """Return the items of a list. The value of a list parameter is a text with commas."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else _arguments(value)


_FUNCTIONS: dict[str, _Function] = {
    "Ref": _ref,
    "Fn::GetAtt": _attribute,
    "Fn::If": _if,
    "Fn::Equals": _equals,
    "Fn::Not": _not,
    "Fn::And": _and,
    "Fn::Or": _or,
    "Fn::Sub": _sub,
    "Fn::Join": _join,
}


def _arguments(value: Json, count: int | None = None) -> list[Json]:
    if not isinstance(value, list) or (count is not None and len(value) != count):
        raise TemplateError(f"expected a list of {count or 'any number of'} arguments, found {value!r}")
    return value


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise TemplateError(f"expected a mapping, found {value!r}")
    return value


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TemplateError(f"expected text, found {value!r}")


def _parameter_value(name: str, declaration: JsonObject, override: str | None) -> str:
    value = declaration.get("Default") if override is None else override
    if value is None:
        raise TemplateError(f"parameter {name} needs a value")
    allowed = declaration.get("AllowedValues")
    if isinstance(allowed, list) and _text(value) not in map(_text, allowed):
        raise TemplateError(f"parameter {name} may not be {_text(value)!r}")
    return _text(value)


class _TemplateLoader(yaml.SafeLoader):
    """A YAML loader that knows CloudFormation's short tags."""


def _short_tag(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> dict[str, Any]:
    argument = _tagged_value(loader, node)
    if name == "GetAtt" and isinstance(argument, str):
        argument = argument.split(".", 1)
    return {name if name in {"Ref", "Condition"} else f"Fn::{name}": argument}


def _tagged_value(loader: yaml.SafeLoader, node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    raise TemplateError(f"unknown YAML node {node!r}")


_TemplateLoader.add_multi_constructor("!", _short_tag)
