"""Reads the configuration file that the skills document describes.

An invalid file does not stop a command: there is a warning, and the defaults replace the whole file."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from signpost.cli.documents import read_document
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass

type Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    skills: str = "skills"
    prompts: str = "prompts"


@dataclass(frozen=True, slots=True)
class SkillsConfig:
    scopes: ScopeSettings = field(default_factory=ScopeSettings)
    state_timeout_ms: int = 10_000


DEFAULTS = SkillsConfig()


class _InvalidField(Exception):  # noqa: N818 - named after the event
    """The message names the field and the value that it must have."""


def read_config(path: Path, warn: Warn) -> SkillsConfig:
    try:
        document = read_document(path)
    except CommandFailed as failure:
        warn(f"{failure} The defaults are used.")
        return DEFAULTS
    return parse_config(document, warn)


def parse_config(document: object, warn: Warn) -> SkillsConfig:
    """Parse a document that was read before, or None for a missing one.

    A document that is not valid leads to a warning and the defaults."""
    try:
        return _parse_fields(document)
    except _InvalidField as fault:
        warn(f"The configuration is not valid: {fault}. The defaults are used for all settings.")
        return DEFAULTS


def _parse_fields(document: object) -> SkillsConfig:
    fields = _require_mapping(document, "it")
    scopes = _require_mapping(fields.get("scopes", {}), "scopes")
    return SkillsConfig(
        ScopeSettings(
            skills=_require_text(scopes, "skills", DEFAULTS.scopes.skills),
            prompts=_require_text(scopes, "prompts", DEFAULTS.scopes.prompts),
        ),
        state_timeout_ms=_require_milliseconds(fields, "state_timeout_ms", DEFAULTS.state_timeout_ms),
    )


def _require_mapping(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value  # pyright: ignore[reportUnknownVariableType] - the callers check its values
    raise _InvalidField(f"{name} must be a mapping")


def _require_text(fields: Mapping[str, Any], name: str, default: str) -> str:
    value = fields.get(name, default)
    if isinstance(value, str) and value:
        return value
    raise _InvalidField(f"scopes.{name} must be a text")


def _require_milliseconds(fields: Mapping[str, Any], name: str, default: int) -> int:
    value = fields.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise _InvalidField(f"{name} must be a whole number of milliseconds")
