"""The configuration file of the skills document. A bad one never keeps anything from running: there is a warning, and
the defaults count instead of all of it."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from signpost.cli.documents import parsed
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass

type Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Scopes:
    skills: str = "skills"
    prompts: str = "prompts"


@dataclass(frozen=True, slots=True)
class Configuration:
    scopes: Scopes = field(default_factory=Scopes)
    state_timeout_ms: int = 10_000


DEFAULTS = Configuration()


class _Wrong(Exception):  # noqa: N818 - it names what happened
    """The message says which field, and what it has to be."""


def read(path: Path, warn: Warn) -> Configuration:
    try:
        document = parsed(path)
    except CommandFailed as failure:
        warn(f"{failure} The defaults are used.")
        return DEFAULTS
    return load(document, warn)


def load(document: object, warn: Warn) -> Configuration:
    """What a document says that was read already; None for one that is not there."""
    try:
        return _configuration(document)
    except _Wrong as wrong:
        warn(f"The configuration is not used, not even in part: {wrong}. The defaults are used.")
        return DEFAULTS


def _configuration(document: object) -> Configuration:
    fields = _mapping(document, "it")
    scopes = _mapping(fields.get("scopes", {}), "scopes")
    return Configuration(
        Scopes(
            skills=_text(scopes, "skills", DEFAULTS.scopes.skills),
            prompts=_text(scopes, "prompts", DEFAULTS.scopes.prompts),
        ),
        state_timeout_ms=_milliseconds(fields, "state_timeout_ms", DEFAULTS.state_timeout_ms),
    )


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value  # pyright: ignore[reportUnknownVariableType] - of what, its readers find out
    raise _Wrong(f"{name} must be a mapping")


def _text(fields: Mapping[str, Any], name: str, default: str) -> str:
    value = fields.get(name, default)
    if isinstance(value, str) and value:
        return value
    raise _Wrong(f"scopes.{name} must be a text")


def _milliseconds(fields: Mapping[str, Any], name: str, default: int) -> int:
    value = fields.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise _Wrong(f"{name} must be a whole number of milliseconds")
