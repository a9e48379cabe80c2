"""A manifest as everything else takes it: capabilities in their places, exposures compiled, the catalogue listed.

Whoever publishes asks here, with positions or without: what is refused by `resolved` cannot be published, and what it
answers is resolved once and for all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from signpost.model import PROXY, Json, JsonObject, as_object
from signpost.policy.written_rules import faults
from signpost.records import dataclass
from signpost.workflow.capabilities import OF_ENTERING, OF_TRANSITIONS, Capabilities
from signpost.workflow.definition import Definition, read
from signpost.workflow.discovery import EntryKind
from signpost.workflow.links import NO_ARGUMENTS
from signpost.workflow.problems import Problem, error
from signpost.workflow.proxy import READY, compiled, is_compiled, transitions_in
from signpost.workflow.reliability import misplaced
from signpost.workflow.written import Written, plain

POLICIES = "policies"
MAPPINGS = ("capabilities", "connections", "proxy", "workflows", "discovery", "audit", POLICIES)
LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalogue has, and what a search goes over."""

    id: str
    kind: EntryKind
    title: str
    description: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    examples: Sequence[str] = ()
    text: str = ""
    """What of it is found by a search beside these."""
    input_schema: JsonObject | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Configuration:
    workflows: Mapping[str, JsonObject]
    """The documents of the definitions by their id, with `proxy_default` if anything is exposed."""
    definitions: Mapping[str, Definition]
    entries: Sequence[Entry]
    connections: JsonObject
    discovery: JsonObject
    audit: JsonObject

    @property
    def manifest(self) -> JsonObject:
        """What it resolves to again."""
        said: dict[str, Json] = {
            "connections": self.connections,
            "workflows": self.workflows,
            "discovery": self.discovery,
            "audit": self.audit,
        }
        return {"version": 1, **{name: member for name, member in said.items() if member}}


@dataclass(slots=True)
class Resolution:
    """On the way there: what of it could be read, and what is wrong."""

    manifest: Written
    workflows: dict[str, Written] = field(default_factory=dict[str, Written])
    """With capabilities in their places."""
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    problems: list[Problem] = field(default_factory=list[Problem])

    def part(self, name: str) -> JsonObject:
        return as_object(plain(self.manifest.get(name)))

    @property
    def configuration(self) -> Configuration:
        return Configuration(
            workflows={name: as_object(plain(document)) for name, document in self.workflows.items()},
            definitions=self.definitions,
            entries=list(entries(self)),
            connections=self.part("connections"),
            discovery=self.part("discovery"),
            audit=self.part("audit"),
        )


def resolved(manifest: Written) -> Configuration | Sequence[Problem]:
    """What it says, or everything that keeps it from being published."""
    resolution = resolve(manifest)
    return resolution.problems or resolution.configuration


def resolve(manifest: Written) -> Resolution:
    resolution = Resolution(manifest)
    if not manifest.is_mapping:
        resolution.problems.append(
            error(manifest.place, "a manifest is a mapping, of `version`, `workflows` and others")
        )
        return resolution
    resolution.problems += _faults_of_form(manifest)
    capabilities = Capabilities(_mappings_in(manifest, "capabilities", "capability", resolution.problems))
    capabilities.check()
    for name, document in _mappings_in(manifest, "workflows", "workflow", resolution.problems).items():
        _take(resolution, name, _inlined(document, capabilities))
    _take_exposures(resolution, capabilities)
    _mappings_in(manifest, "connections", "connection", resolution.problems)
    resolution.problems += _faults_of_policies(manifest)
    resolution.problems += capabilities.problems
    resolution.problems = list(dict.fromkeys(map(_hashable, resolution.problems)))
    return resolution


def _hashable(problem: Problem) -> Problem:
    return replace(problem, path=tuple(problem.path))


def _faults_of_form(manifest: Written) -> Iterable[Problem]:
    version = manifest.get("version")
    if version is None:
        yield error(manifest.place, "`version` is missing: write `version: 1`")
    elif isinstance(version.content, bool) or not isinstance(version.content, int | float | str):
        yield error(manifest.place_of(("version",)), "`version` must be a number, as in `version: 1`")
    for name in MAPPINGS:
        part = manifest.get(name)
        if part is not None and not part.is_mapping:
            yield error(manifest.place_of((name,)), f"`{name}` must be a mapping")


def _faults_of_policies(manifest: Written) -> Iterable[Problem]:
    for name, fault in faults(as_object(plain(manifest.get(POLICIES)))):
        yield error(manifest.place_of((POLICIES, name)), f"the policy {name!r}: {fault}")


def _mappings_in(manifest: Written, part: str, what: str, problems: list[Problem]) -> Mapping[str, Written]:
    found: dict[str, Written] = {}
    written = manifest.get(part)
    for name, member in written.members.items() if written else ():
        place = manifest.place_of((part, name))
        if not name or len(name) > LONGEST_ID or not name.isprintable():
            problems.append(error(place, f"a {what} has a name of 1 to {LONGEST_ID} printable characters"))
        elif member.content is not None and not member.is_mapping:
            problems.append(error(place, f"the {what} {name!r} must be a mapping"))
        else:
            found[name] = member if member.is_mapping else replace(member, content={})
    return found


def _take(resolution: Resolution, name: str, document: Written) -> None:
    resolution.workflows[name] = document
    found = read(name, plain(document))
    if isinstance(found, Definition):
        resolution.definitions[name] = found
        found = list(misplaced(found))
    parent = resolution.manifest.members.get("workflows", document)
    for fault in found:
        place = document.place_of(fault.at) if fault.at else parent.names.get(name, document.place)
        resolution.problems.append(error(place, f"{_called(name, fault.at)}: {fault.message}"))


def _called(workflow: str, at: Sequence[str | int]) -> str:
    """A part of a definition, as its author would call it."""
    where = ".".join(map(str, at))
    return f"{workflow}: `{where}`" if where else workflow


def _take_exposures(resolution: Resolution, capabilities: Capabilities) -> None:
    proxy = resolution.manifest.get("proxy")
    exposures = proxy.get("expose") if proxy else None
    own = resolution.workflows.get(PROXY)
    if own is not None and (exposures is not None or not is_compiled(own)):
        message = f"the name {PROXY} is kept for what `proxy.expose` is compiled to: name this workflow otherwise"
        resolution.problems.append(error(resolution.manifest.place_of(("workflows", PROXY)), message))
    if proxy is None or exposures is None:
        return
    if not isinstance(exposures.content, list):
        resolution.problems.append(error(proxy.place_of(("expose",)), "`expose` must be a list"))
        return
    document, problems = compiled(exposures, capabilities)
    resolution.problems += problems
    if exposures.entries:
        _take(resolution, PROXY, document)


def _inlined(document: Written, capabilities: Capabilities) -> Written:
    states = document.get("states")
    if states is None or not states.is_mapping:
        return document
    return document.having(states=_each(states, lambda state: _state(state, capabilities)))


def _state(state: Written, capabilities: Capabilities) -> Written:
    on_enter, transitions = state.get("onEnter"), state.get("transitions")
    if on_enter and on_enter.is_mapping:
        state = state.having(onEnter=capabilities.inlined(on_enter, OF_ENTERING))
    if transitions and transitions.is_mapping:
        state = state.having(
            transitions=_each(transitions, lambda transition: capabilities.inlined(transition, OF_TRANSITIONS))
        )
    return state


def _each(mapping: Written, change: Callable[[Written], Written]) -> Written:
    changed = {name: change(member) if member.is_mapping else member for name, member in mapping.members.items()}
    return replace(mapping, content=changed)


def entries(resolution: Resolution) -> Iterable[Entry]:
    for name, definition in resolution.definitions.items():
        if name == PROXY:
            yield from _exposed(definition, as_object(plain(resolution.workflows[name])))
        else:
            examples = _texts(as_object(plain(resolution.workflows[name])), "examples")
            yield _workflow(definition, examples)
    for name, connection in resolution.part("connections").items():
        yield connection_entry(name, as_object(connection))


def _workflow(definition: Definition, examples: Sequence[str]) -> Entry:
    return Entry(
        id=definition.id,
        kind="workflow",
        title=definition.title,
        description=definition.description,
        tags=definition.tags,
        aliases=definition.aliases,
        examples=examples,
        text=" ".join(filter(None, _words(definition))),
        input_schema=definition.input_schema,
        enabled=definition.enabled,
    )


def _words(definition: Definition) -> Iterable[str | None]:
    for state in definition.states.values():
        yield from (state.name, state.description, state.goal, state.guidance)
        for transition in state.transitions.values():
            yield from (transition.name, transition.title, transition.description)


def _exposed(definition: Definition, document: JsonObject) -> Iterable[Entry]:
    transitions = transitions_in(document)
    for name, transition in definition.states[READY].transitions.items():
        fields = transitions[name]
        yield Entry(
            id=name,
            kind="capability",
            title=transition.title,
            description=transition.description or "",
            tags=_texts(fields, "tags"),
            aliases=_texts(fields, "aliases"),
            examples=_texts(fields, "examples"),
            text=name,
            input_schema=None if transition.input_schema == NO_ARGUMENTS else transition.input_schema,
        )


def connection_entry(name: str, fields: JsonObject) -> Entry:
    title, description, kind = (fields.get(one) for one in ("title", "description", "kind"))
    return Entry(
        id=f"connection:{name}",
        kind="connection",
        title=title if isinstance(title, str) and title else name,
        description=description if isinstance(description, str) else "",
        tags=_texts(fields, "tags"),
        text=f"{name} {kind}" if isinstance(kind, str) else name,
    )


def _texts(fields: JsonObject, name: str) -> Sequence[str]:
    listed = fields.get(name)
    return tuple(text for text in listed if isinstance(text, str)) if isinstance(listed, list) else ()
