"""Parses the YAML of a front matter into JSON by the core schema of YAML 1.2, as clients do. PyYAML resolves scalars by
YAML 1.1, where `no` is false and `2026-11-18` a date, so only the structure is taken from PyYAML.

Import this module on first use: PyYAML slows a cold start, and few documents have a front matter.
"""

import re
from math import isfinite
from typing import Any, override

import yaml

from signpost.model import Json, JsonObject
from signpost.schema.limits import is_too_deep

LONGEST_KEY = 100
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}
_CONSTANTS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL, _HEXADECIMAL = re.compile(r"0o[0-7]+"), re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LINE_ENDS_OF_YAML_1_1 = re.compile("[\x85\u2028\u2029]")


class _FrontMatterLoader(yaml.BaseLoader):
    @override
    def compose_node(self, parent: Any, index: Any) -> Any:
        # An alias can stand for a tree of aliases, and so on: a few lines could expand to gigabytes.
        if self.check_event(yaml.AliasEvent):
            raise ValueError("an alias")
        return super().compose_node(parent, index)


def parse_mapping(text: str) -> JsonObject | None:
    """Parse a mapping; None unless every YAML reader reads the text alike and JSON can express the result."""
    if _LINE_ENDS_OF_YAML_1_1.search(text):
        return None
    try:
        value = _to_json(yaml.compose(text, _FrontMatterLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value and not is_too_deep(value) else None


def _to_json(node: Any) -> Json:
    if node is None or node.tag not in _PLAIN_TAGS:
        raise ValueError("nothing, or a tag")
    if isinstance(node, yaml.SequenceNode):
        return [_to_json(child) for child in node.value]
    if isinstance(node, yaml.MappingNode):
        mapping = {_parse_key(key): _to_json(child) for key, child in node.value}
        if len(mapping) != len(node.value):
            raise ValueError("a repeated key")
        return mapping
    return resolve_scalar(node.value) if node.style is None else node.value


def _parse_key(node: Any) -> str:
    """Parse a key, which must be a short text. YAML readers disagree about keys of other types and about `<<`."""
    key = _to_json(node) if isinstance(node, yaml.ScalarNode) else None
    if not isinstance(key, str) or len(key) > LONGEST_KEY or key == "<<":
        raise ValueError("a key that is no short text")
    return key


def resolve_scalar(text: str) -> Json:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return _require_finite(float(text))
    if _NOT_JSON.fullmatch(text):
        raise ValueError("no number of JSON")
    return text


def _require_finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError("too large a number")
    return value
