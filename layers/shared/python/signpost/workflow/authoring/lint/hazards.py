"""Find the hazards of a workflow: hidden characters and comments in its texts, names that look alike, literal secrets
in its settings, and slow patterns in its schemas."""

from collections.abc import Iterable, Iterator, Mapping

from signpost.hazards.characters import find_hidden_characters
from signpost.hazards.model import Hazard
from signpost.hazards.names import find_label_hazards, find_look_alikes, find_name_hazards
from signpost.hazards.schemas import find_schema_hazards
from signpost.hazards.secrets import find_secrets
from signpost.hazards.texts import find_text_hazards
from signpost.model import Json, JsonObject, as_object
from signpost.workflow.authoring.problems import LintFinding
from signpost.workflow.definition import Pointer

INPUT_SCHEMA = "inputSchema"
_READ_TEXTS = frozenset(("title", "description", "goal", "guidance", "tags", "aliases", "examples"))
"""The members with texts that clients read as markdown."""


def check_document(name: str, document: JsonObject) -> Iterator[LintFinding]:
    """Check the document of a workflow, with capabilities in place of the references to them."""
    title = document.get("title")
    yield from _build_findings((), find_name_hazards(name))
    yield from check_settings(document)
    yield from _build_findings(("title",), find_name_hazards(title) if isinstance(title, str) else ())
    yield from _check_state_names(as_object(document.get("states")))


def check_settings(value: Json) -> Iterator[LintFinding]:
    """Check the texts, schemas and settings of a workflow or a connection."""
    for secret in find_secrets(_without_schemas(value)):
        yield LintFinding(secret.at, secret.hazard.message, code=secret.hazard.code)
    yield from _check_texts(value, (), is_read=False)


def check_entry_names(names: Iterable[str]) -> Iterator[tuple[str, LintFinding]]:
    """Check the names of the entries of a manifest: no two may look alike."""
    for name, hazard in find_look_alikes(names):
        yield name, LintFinding((), f"{name!a} {hazard.message}", code=hazard.code)


def _build_findings(at: Pointer, hazards: Iterable[Hazard]) -> Iterator[LintFinding]:
    for hazard in hazards:
        yield LintFinding(at, hazard.message, code=hazard.code)


def _check_state_names(states: JsonObject) -> Iterator[LintFinding]:
    for name, hazard in find_label_hazards(list(states), "another state"):
        yield LintFinding(("states", name), f"the state {name!a}: {hazard.message}", code=hazard.code)
    places: dict[str, Pointer] = {}
    for state, fields in states.items():
        for name in as_object(as_object(fields).get("transitions")):
            places.setdefault(name, ("states", state, "transitions", name))
    for name, hazard in find_label_hazards(list(places), "another transition"):
        yield LintFinding(places[name], f"the transition {name!a}: {hazard.message}", code=hazard.code)


def _check_texts(value: Json, at: Pointer, *, is_read: bool) -> Iterator[LintFinding]:
    if isinstance(value, str):
        yield from _build_findings(at, find_text_hazards(value) if is_read else find_hidden_characters(value))
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if name == INPUT_SCHEMA:
                yield from _check_schema(member, (*at, name))
            else:
                yield from _check_texts(member, (*at, name), is_read=is_read or name in _READ_TEXTS)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _check_texts(entry, (*at, index), is_read=is_read)


def _check_schema(schema: Json, at: Pointer) -> Iterator[LintFinding]:
    for found in find_schema_hazards(schema):
        yield LintFinding((*at, *found.at), f"the schema: {found.hazard.message}", code=found.hazard.code)


def _without_schemas(value: Json) -> Json:
    """Return the value without its schemas, in which `password` names a member and no setting."""
    if isinstance(value, Mapping):
        return {name: _without_schemas(member) for name, member in value.items() if name != INPUT_SCHEMA}
    return [_without_schemas(entry) for entry in value] if isinstance(value, list) else value
