"""The YAML of a front matter as JSON: the core schema of YAML 1.2, which is what clients read it by. PyYAML resolves by
YAML 1.1, where `no` is false and `2026-11-18` a date, so that only its structure is taken from it.

Whoever needs this imports it late: PyYAML is felt at a cold start, and few documents have a front matter.
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


class _Loader(yaml.BaseLoader):
    @override
    def compose_node(self, parent: Any, index: Any) -> Any:
        # An alias can stand for a tree of aliases, and so on: a few lines would be gigabytes.
        if self.check_event(yaml.AliasEvent):
            raise ValueError("an alias")
        return super().compose_node(parent, index)


def mapping(text: str) -> JsonObject | None:
    """None unless the text is one mapping that every reader reads alike, and JSON can say."""
    if _LINE_ENDS_OF_YAML_1_1.search(text):
        return None
    try:
        read = _json(yaml.compose(text, _Loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) and read and not is_too_deep(read) else None


def _json(node: Any) -> Json:
    if node is None or node.tag not in _PLAIN_TAGS:
        raise ValueError("nothing, or a tag")
    if isinstance(node, yaml.SequenceNode):
        return [_json(child) for child in node.value]
    if isinstance(node, yaml.MappingNode):
        read = {_key(key): _json(child) for key, child in node.value}
        if len(read) != len(node.value):
            raise ValueError("a repeated key")
        return read
    return resolved(node.value) if node.style is None else node.value


def _key(node: Any) -> str:
    """Readers do not agree on what becomes of keys that are no texts, or of `<<`."""
    read = _json(node) if isinstance(node, yaml.ScalarNode) else None
    if not isinstance(read, str) or len(read) > LONGEST_KEY or read == "<<":
        raise ValueError("a key that is no short text")
    return read


def resolved(text: str) -> Json:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return _finite(float(text))
    if _NOT_JSON.fullmatch(text):
        raise ValueError("no number of JSON")
    return text


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ValueError("too large a number")
    return value
