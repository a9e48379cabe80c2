"""The rules that need no deployment, by the names that the cases give them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from signpost.cli.publish import config
from signpost.cli.retry_plan import build_handshake_plan
from signpost.content import markdown, names, uris
from signpost.content.api.errors import RegistryRefusal
from signpost.content.prompts import messages_of
from tests.acceptance.expectations import Seen


def apply_rule(op: str, given: Mapping[str, Any]) -> Seen:
    answer = RULES[op](given)
    return Seen(error=answer.message) if isinstance(answer, RegistryRefusal) else Seen(answer)


def _parse_uri(uri: str) -> dict[str, str] | RegistryRefusal:
    match uris.parse(uri):
        case uris.Index():
            return {"kind": "index"}
        case uris.SkillDocument(skill_id):
            return {"kind": "skill", "id": skill_id}
        case uris.Section(function):
            return {"kind": "section", "function_id": function}
        case RegistryRefusal() as refused:
            return refused


def _refusal_of(problem: str | None) -> RegistryRefusal | None:
    return None if problem is None else RegistryRefusal("invalid_id", problem)


def _section(value: Any) -> dict[str, str]:
    written = markdown.section_text(value)
    return {"text": written.text, "mimeType": written.mime_type}


def _plan(given: Mapping[str, Any]) -> dict[str, Any]:
    made = build_handshake_plan(given["latency_s"], given["fail_first"])
    return {"attempts_at": made.attempts_at, "outcome": made.outcome}


def _configuration(given: Mapping[str, Any]) -> dict[str, Any]:
    """Of a file with this document, or of none."""
    document = given["document"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        if document is not None:
            path.write_text("{" if document == "malformed" else json.dumps(document))
        return asdict(config.read_config(path, _ignore_warning))


def _ignore_warning(warning: str) -> None:
    """The cases expect none in particular."""
    assert warning


RULES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "pure.title": lambda given: markdown.title_of(given["markdown"]),
    "pure.description": lambda given: markdown.description_of(given["markdown"]),
    "pure.truncate": lambda given: markdown.truncate(given["text"], given["max"]),
    "pure.parse_uri": lambda given: _parse_uri(given["uri"]),
    "pure.validate_id": lambda given: _refusal_of(names.problem_with_skill_id(given["id"])),
    "pure.validate_name": lambda given: _refusal_of(names.problem_with_prompt_name(given["name"])),
    "pure.hidden": lambda given: names.is_internal(given["function_id"]),
    "pure.normalize_section": lambda given: _section(given["value"]),
    "pure.normalize_prompt": lambda given: messages_of(given["value"], "f"),
    "config.load": _configuration,
    "handshake.plan": _plan,
}
