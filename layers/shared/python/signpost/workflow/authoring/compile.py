"""Compile a manifest: replace references to capabilities, compile exposures, list the entries of the catalogue.

Every publisher compiles here, with places in files or without. A manifest that `compile_manifest` refuses cannot be
published, and one that it compiles needs no further resolution.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from signpost.model import PROXY_WORKFLOW, Json, JsonObject, as_object
from signpost.policy.rules_format import find_faults
from signpost.records import dataclass
from signpost.workflow.authoring.capabilities import ON_ENTER_MEMBERS, TRANSITION_MEMBERS, CapabilityResolver
from signpost.workflow.authoring.discovery import EntryKind
from signpost.workflow.authoring.exposures import compile_exposures, is_compiled_proxy
from signpost.workflow.authoring.nested_values import mark_nested_values
from signpost.workflow.authoring.problems import Problem, error
from signpost.workflow.authoring.source_tree import SourceNode, to_json
from signpost.workflow.authoring.steps import rewrite_steps
from signpost.workflow.definition import Definition, DefinitionFault
from signpost.workflow.definition_reader import parse_definition
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS
from signpost.workflow.proxy_default import READY, transitions_in
from signpost.workflow.retry_policy import find_human_fallbacks
from signpost.workflow.titles import LONGEST_TITLE, find_title_fault

POLICIES, SCHEDULES = "policies", "schedules"
MAPPING_PARTS = ("capabilities", "connections", "proxy", "workflows", "discovery", "audit", POLICIES, SCHEDULES)
LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One workflow, capability or connection as the catalogue lists and searches it."""

    id: str
    kind: EntryKind
    title: str
    description: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    examples: Sequence[str] = ()
    text: str = ""
    """Further words that a search finds, beside the fields above."""
    input_schema: JsonObject | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class CompiledManifest:
    """A manifest without problems."""

    workflows: Mapping[str, JsonObject]
    """The documents of the definitions by their id, with `proxy_default` if anything is exposed."""
    definitions: Mapping[str, Definition]
    entries: Sequence[CatalogueEntry]
    connections: JsonObject
    discovery: JsonObject
    audit: JsonObject

    @property
    def manifest(self) -> JsonObject:
        """The manifest that compiles to this result again."""
        parts: dict[str, Json] = {
            "connections": self.connections,
            "workflows": self.workflows,
            "discovery": self.discovery,
            "audit": self.audit,
        }
        return {"version": 1, **{name: member for name, member in parts.items() if member}}


@dataclass(slots=True)
class ManifestResolution:
    """The state of a compilation: the parts of the manifest that could be read, and its problems."""

    manifest: SourceNode
    workflows: dict[str, SourceNode] = field(default_factory=dict[str, SourceNode])
    """The documents of the workflows, with capabilities in place of the references to them."""
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    problems: list[Problem] = field(default_factory=list[Problem])

    def part(self, name: str) -> JsonObject:
        return as_object(to_json(self.manifest.get(name)))

    @property
    def compiled_manifest(self) -> CompiledManifest:
        return CompiledManifest(
            workflows={name: as_object(to_json(document)) for name, document in self.workflows.items()},
            definitions=self.definitions,
            entries=list(catalogue_entries(self)),
            connections=self.part("connections"),
            discovery=self.part("discovery"),
            audit=self.part("audit"),
        )


def compile_manifest(manifest: SourceNode) -> CompiledManifest | Sequence[Problem]:
    """Compile a manifest, or return all problems that keep it from being published."""
    resolution = resolve_manifest(manifest)
    return resolution.problems or resolution.compiled_manifest


def resolve_manifest(manifest: SourceNode) -> ManifestResolution:
    resolution = ManifestResolution(manifest)
    if not manifest.is_mapping:
        resolution.problems.append(
            error(manifest.place, "a manifest must be a mapping with `version`, `workflows` and other parts")
        )
        return resolution
    resolution.problems += _check_form(manifest)
    capabilities = CapabilityResolver(_read_mappings(manifest, "capabilities", "capability", resolution.problems))
    capabilities.check()
    for name, document in _read_mappings(manifest, "workflows", "workflow", resolution.problems).items():
        _add_workflow(resolution, name, _inline_capabilities(document, capabilities))
    _add_proxy_workflow(resolution, capabilities)
    _read_mappings(manifest, "connections", "connection", resolution.problems)
    resolution.problems += _check_policies(manifest)
    resolution.problems += _check_schedules(resolution)
    resolution.problems += capabilities.problems
    resolution.problems = list(dict.fromkeys(resolution.problems))
    return resolution


def _check_form(manifest: SourceNode) -> Iterable[Problem]:
    version = manifest.get("version")
    if version is None:
        yield error(manifest.place, "`version` is missing: write `version: 1`")
    elif not _is_known_version(version.content):
        yield error(manifest.place_of(("version",)), "`version` must be 1, the only version of this file format")
    for name in MAPPING_PARTS:
        part = manifest.get(name)
        if part is not None and not part.is_mapping:
            yield error(manifest.place_of((name,)), f"`{name}` must be a mapping")


def _is_known_version(version: object) -> bool:
    return not isinstance(version, bool) and version in (1, "1", "1.0")


def _check_policies(manifest: SourceNode) -> Iterable[Problem]:
    for name, fault in find_faults(as_object(to_json(manifest.get(POLICIES)))):
        yield error(manifest.place_of((POLICIES, name)), f"the policy {name!r}: {fault}")


def _check_schedules(resolution: ManifestResolution) -> Iterable[Problem]:
    section = resolution.manifest.get(SCHEDULES)
    if section is None or not section.is_mapping:
        return
    # Imported on first use: few manifests have schedules.
    from signpost.workflow.schedules import describe_fault, find_input_problem, find_schedule_faults  # noqa: PLC0415

    for name, fault in find_schedule_faults(as_object(to_json(section))):
        place = section.place_of((name, *fault.at)) if fault.at else section.place_of_name(name)
        yield error(place, f"the schedule {name!r}: {describe_fault(fault)}")
    for name, schedule in section.members.items():
        workflow, start_input = schedule.get("workflow"), schedule.get("input")
        definition = resolution.definitions.get(workflow.text or "") if workflow else None
        if definition is None or definition.input_schema is None or definition.id == PROXY_WORKFLOW:
            continue
        if problem := find_input_problem(definition.input_schema, as_object(to_json(start_input))):
            yield error(
                (start_input or schedule).place,
                f"the schedule {name!r}: {definition.id} could not be started: {problem}",
            )


def _read_mappings(manifest: SourceNode, part: str, noun: str, problems: list[Problem]) -> Mapping[str, SourceNode]:
    mappings: dict[str, SourceNode] = {}
    section = manifest.get(part)
    for name, member in section.members.items() if section else ():
        place = manifest.place_of((part, name))
        if not name or len(name) > LONGEST_ID or not name.isprintable():
            problems.append(error(place, f"the name of a {noun} must have 1 to {LONGEST_ID} printable characters"))
        elif member.content is not None and not member.is_mapping:
            problems.append(error(place, f"the {noun} {name!r} must be a mapping"))
        else:
            mappings[name] = member if member.is_mapping else replace(member, content={})
    return mappings


def _add_workflow(resolution: ManifestResolution, name: str, document: SourceNode) -> None:
    document = mark_nested_values(document)
    resolution.workflows[name] = document
    parsed = parse_definition(name, to_json(document))
    if isinstance(parsed, Definition):
        resolution.definitions[name] = parsed
    faults = [*find_human_fallbacks(parsed), *_find_title_faults(parsed)] if isinstance(parsed, Definition) else parsed
    parent = resolution.manifest.members.get("workflows", document)
    for fault in faults:
        place = document.place_of(fault.at) if fault.at else parent.name_places.get(name, document.place)
        resolution.problems.append(error(place, f"{_label_of(name, fault.at)}: {fault.message}"))


def _find_title_faults(definition: Definition) -> Iterable[DefinitionFault]:
    """Yield the fault of a title that cannot name the tool that starts the workflow. A missing title is the id."""
    fault = None if definition.id == PROXY_WORKFLOW else find_title_fault(definition.title)
    if fault is None:
        return
    if definition.title == definition.id:
        message = f"its id is too long to name a tool: write a `title` of at most {LONGEST_TITLE} characters"
        yield DefinitionFault((), message)
    else:
        yield DefinitionFault(("title",), fault)


def _label_of(workflow: str, at: Sequence[str | int]) -> str:
    """Name a part of a definition for its author, by its workflow and its path."""
    path = ".".join(map(str, at))
    return f"{workflow}: `{path}`" if path else workflow


def _add_proxy_workflow(resolution: ManifestResolution, capabilities: CapabilityResolver) -> None:
    proxy = resolution.manifest.get("proxy")
    exposures = proxy.get("expose") if proxy else None
    declared = resolution.workflows.get(PROXY_WORKFLOW)
    if declared is not None and (exposures is not None or not is_compiled_proxy(declared)):
        message = f"the name {PROXY_WORKFLOW} is reserved for the compiled `proxy.expose`: rename this workflow"
        resolution.problems.append(error(resolution.manifest.place_of(("workflows", PROXY_WORKFLOW)), message))
    if proxy is None or exposures is None:
        return
    if not isinstance(exposures.content, list):
        resolution.problems.append(error(proxy.place_of(("expose",)), "`expose` must be a list"))
        return
    document, problems = compile_exposures(exposures, capabilities)
    resolution.problems += problems
    if exposures.entries:
        _add_workflow(resolution, PROXY_WORKFLOW, document)


def _inline_capabilities(document: SourceNode, capabilities: CapabilityResolver) -> SourceNode:
    return rewrite_steps(
        document,
        on_enter=lambda entry: capabilities.inline(entry, ON_ENTER_MEMBERS),
        transition=lambda transition: capabilities.inline(transition, TRANSITION_MEMBERS),
    )


def catalogue_entries(resolution: ManifestResolution) -> Iterable[CatalogueEntry]:
    for name, definition in resolution.definitions.items():
        if name == PROXY_WORKFLOW:
            yield from _capability_entries(definition, as_object(to_json(resolution.workflows[name])))
        else:
            examples = _strings_in(as_object(to_json(resolution.workflows[name])), "examples")
            yield _workflow_entry(definition, examples)
    for name, connection in resolution.part("connections").items():
        yield connection_entry(name, as_object(connection))


def _workflow_entry(definition: Definition, examples: Sequence[str]) -> CatalogueEntry:
    return CatalogueEntry(
        id=definition.id,
        kind="workflow",
        title=definition.title,
        description=definition.description,
        tags=definition.tags,
        aliases=definition.aliases,
        examples=examples,
        text=" ".join(filter(None, _searchable_texts(definition))),
        input_schema=definition.input_schema,
        enabled=definition.enabled,
    )


def _searchable_texts(definition: Definition) -> Iterable[str | None]:
    for state in definition.states.values():
        yield from (state.name, state.description, state.goal, state.guidance)
        for transition in state.transitions.values():
            yield from (transition.name, transition.title, transition.description)


def _capability_entries(definition: Definition, document: JsonObject) -> Iterable[CatalogueEntry]:
    transitions = transitions_in(document)
    for name, transition in definition.states[READY].transitions.items():
        fields = transitions[name]
        yield CatalogueEntry(
            id=name,
            kind="capability",
            title=transition.title,
            description=transition.description or "",
            tags=_strings_in(fields, "tags"),
            aliases=_strings_in(fields, "aliases"),
            examples=_strings_in(fields, "examples"),
            text=name,
            input_schema=None if transition.input_schema == NO_ARGUMENTS else transition.input_schema,
        )


def connection_entry(name: str, fields: JsonObject) -> CatalogueEntry:
    title, description, kind = (fields.get(member) for member in ("title", "description", "kind"))
    return CatalogueEntry(
        id=f"connection:{name}",
        kind="connection",
        title=title if isinstance(title, str) and title else name,
        description=description if isinstance(description, str) else "",
        tags=_strings_in(fields, "tags"),
        text=f"{name} {kind}" if isinstance(kind, str) else name,
    )


def _strings_in(fields: JsonObject, name: str) -> Sequence[str]:
    entries = fields.get(name)
    return tuple(text for text in entries if isinstance(text, str)) if isinstance(entries, list) else ()
