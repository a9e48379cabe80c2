"""Compare a manifest with its schema: find unknown names, values that are not allowed, and kinds of executors,
connections and definitions that do not exist."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from signpost.calling.lookup import may_exist
from signpost.model import PROXY_WORKFLOW, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.authoring.json_schema import (
    COMMON_SETTINGS,
    EXECUTOR_SETTINGS,
    EXTENSION_PREFIX,
    REQUIRED_SETTINGS,
    manifest_schema,
)
from signpost.workflow.authoring.problems import Problem, suggestion_for, warning
from signpost.workflow.authoring.source_tree import SourceNode, to_json
from signpost.workflow.executor_kinds import ExecutorKinds
from signpost.workflow.expressions import FORM
from signpost.workflow.guards import MAX_GUARD_DEPTH, TOO_DEEP, Expression, NotUnderstood, guard_of

ANY_NAME = "*"
NAME_HINTS: Mapping[tuple[str, str], str] = {
    ("onTimeout", "executor"): "a timeout runs no executor: move it to the `onEnter` of the target",
    ("onTimeout", "output"): "a timeout writes no output: move it to the `onEnter` of the target",
    ("audit", ANY_NAME): "nothing reads this: there are no settings of the audit",
    ("proxy", "import"): "tools are not imported: list the tools under `expose`",
}
LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class ManifestNode:
    """A node of a manifest together with the schema that applies to it."""

    label: str
    kind: str
    """The name of its schema under `$defs`; empty if the schema has none."""
    schema: JsonObject
    source: SourceNode
    guards_around: int = 0


def walk_manifest(manifest: SourceNode) -> Iterator[ManifestNode]:
    """Yield all nodes of a manifest, each before its children."""
    schema = manifest_schema()
    schemas = as_object(schema["$defs"])
    waiting = [ManifestNode("the manifest", "", schema, manifest)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed([_resolve_reference(child, schemas) for child in _children_of(node)])


def _children_of(node: ManifestNode) -> Iterator[ManifestNode]:
    properties, additional = as_object(node.schema.get("properties")), node.schema.get("additionalProperties")
    guards_around = node.guards_around + (node.kind == "guard")
    for name, member in node.source.members.items():
        schema = properties.get(name, additional)
        if isinstance(schema, Mapping):
            yield ManifestNode(name, "", schema, member, guards_around)
    for index, entry in enumerate(node.source.entries):
        yield ManifestNode(f"{node.label}[{index}]", "", as_object(node.schema.get("items")), entry, guards_around)


def _resolve_reference(node: ManifestNode, schemas: JsonObject) -> ManifestNode:
    reference = node.schema.get("$ref")
    if not isinstance(reference, str):
        return node
    kind = reference.rpartition("/")[2]
    return replace(node, kind=kind, schema=as_object(schemas[kind]))


def check_names(manifest: SourceNode, kinds: ExecutorKinds, other_workflows: Collection[str]) -> Iterator[Problem]:
    """Check a manifest for a deployment with these kinds of executors. `other_workflows` has the ids of the workflows
    that are published with it."""
    executor_checker = ExecutorChecker(manifest, kinds, other_workflows)
    for node in walk_manifest(manifest):
        yield from _check_unknown_names(node)
        if node.kind == "guard":
            yield from _check_guard(node)
        if node.kind == "executor":
            yield from executor_checker.check(node.source)
        if node.kind == "connection":
            yield from _check_connection_kind(node, kinds)
        if node.kind == "schedule":
            yield from executor_checker.check_workflow(
                node.source.get("workflow"), "this schedule cannot be published unless it is published by then"
            )


def _check_unknown_names(node: ManifestNode) -> Iterator[Problem]:
    properties = as_object(node.schema.get("properties"))
    if node.schema.get("additionalProperties") is not False:
        return
    for name in node.source.members:
        if name not in properties and not name.startswith(EXTENSION_PREFIX):
            hint = NAME_HINTS.get((node.label, name)) or NAME_HINTS.get((node.label, ANY_NAME))
            message = hint or f"unknown name {name!r}{suggestion_for(name, list(properties))}"
            yield warning(node.source.place_of_name(name), f"{node.label}: {message}", "unread_setting")


def _check_guard(node: ManifestNode) -> Iterator[Problem]:
    guard = guard_of(to_json(node.source))
    if node.guards_around == MAX_GUARD_DEPTH:
        yield warning(node.source.place, f"{TOO_DEEP}: this guard never passes")
    elif isinstance(guard, NotUnderstood):
        kind = node.source.get("kind")
        yield warning((kind or node.source).place, f"{guard.why}: this guard never passes")
    elif isinstance(guard, Expression) and guard.comparison is None:
        message = f"{guard.text!r} is no expression, so this guard never passes: {FORM}"
        yield warning(node.source.place_of(("expr",)), message)


def _check_connection_kind(node: ManifestNode, kinds: ExecutorKinds) -> Iterator[Problem]:
    kind = node.source.get("kind")
    if kind is not None and kind.text is not None and kinds.is_idle(kind.text):
        yield warning(kind.place, kinds.describe_idle_connection(kind.text), "idle_kind")


@dataclass(frozen=True, slots=True)
class ExecutorChecker:
    """Checks the kind, the settings, the connection and the definition of an executor."""

    manifest: SourceNode
    kinds: ExecutorKinds
    other_workflows: Collection[str]

    def check(self, executor: SourceNode) -> Iterator[Problem]:
        kind_node = executor.get("kind")
        kind = kind_node.text if kind_node else None
        if kind_node and kind:
            yield from self._check_settings(executor, kind_node, kind)
        elif executor.is_mapping and executor.get("capability") is None:
            yield warning(executor.place, "an executor needs a `kind`, or the name of a `capability`")
        if kind == "function":
            yield from _check_function(executor.get("function"))
        yield from self._check_connection(executor, kind)
        yield from self.check_workflow(executor.get("definitionId"), "the step fails unless it is published by then")

    def check_workflow(self, name: SourceNode | None, consequence: str) -> Iterator[Problem]:
        """Check the name of a workflow to start."""
        if name is None or name.text is None or name.text in self.other_workflows:
            return
        if name.text not in self._members_of("workflows"):
            names = [*self._members_of("workflows"), *self.other_workflows]
            place = "in this manifest or in those published with it" if self.other_workflows else "in this manifest"
            message = f"no workflow {name.text!r} is {place}{suggestion_for(name.text, names)}"
            yield warning(name.place, f"{message}; {consequence}")

    def _check_kind(self, kind_node: SourceNode, kind: str) -> Iterator[Problem]:
        if kind not in self.kinds.known:
            message = f"unknown executor kind {kind!r}{suggestion_for(kind, self.kinds.known)}"
            yield warning(kind_node.place, f"{message}; the kinds are {', '.join(self.kinds.known)}")
        elif self.kinds.is_idle(kind):
            yield warning(kind_node.place, self.kinds.describe_idle(kind), "idle_kind")

    def _check_settings(self, executor: SourceNode, kind_node: SourceNode, kind: str) -> Iterator[Problem]:
        yield from self._check_kind(kind_node, kind)
        if kind not in EXECUTOR_SETTINGS:
            return
        known = [*COMMON_SETTINGS, *EXECUTOR_SETTINGS[kind]]
        for name in executor.members:
            if name not in known and not name.startswith(EXTENSION_PREFIX):
                message = f"an executor of the kind {kind} has no setting {name!r}{suggestion_for(name, known)}"
                yield warning(executor.place_of_name(name), message, "unread_setting")
        if executor.get("capability") is None:
            for name in REQUIRED_SETTINGS.get(kind, ()):
                if executor.get(name) is None:
                    yield warning(kind_node.place, f"an executor of the kind {kind} needs `{name}`")

    def _check_connection(self, executor: SourceNode, kind: str | None) -> Iterator[Problem]:
        reference = executor.get("connection")
        if reference is None or reference.text is None:
            return
        connections = self._members_of("connections")
        if reference.text not in connections:
            message = f"there is no connection {reference.text!r}{suggestion_for(reference.text, list(connections))}"
            yield warning(reference.place, message)
            return
        connection_kind = connections[reference.text].get("kind")
        if kind in EXECUTOR_SETTINGS and connection_kind and connection_kind.text != kind:
            yield warning(
                reference.place,
                f"the connection {reference.text!r} is for executors of the kind {connection_kind.content}, not {kind}",
            )

    def _members_of(self, part: str) -> Mapping[str, SourceNode]:
        section = self.manifest.get(part)
        members: Mapping[str, SourceNode] = section.members if section else {}
        adds_proxy = part == "workflows" and self.manifest.get("proxy") is not None
        return {**members, PROXY_WORKFLOW: self.manifest} if adds_proxy else members


def _check_function(name: SourceNode | None) -> Iterator[Problem]:
    """Check that a function could have this id. Whether an executor hosts it is known to a deployment only."""
    if name is not None and name.text is not None and not may_exist(name.text):
        advice = "write the id itself: letters, digits and . : _ -, at most 256 characters; paths are not resolved here"
        message = f"no function can have the id {name.text[:LONGEST_MESSAGE]!r}: {advice}"
        yield warning(name.place, message, "unhosted_function")


def check_schema(manifest: SourceNode) -> Iterable[Problem]:
    """Find the values that do not match the schema that editors use."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import

    violation: Any
    try:
        for violation in Draft202012Validator(manifest_schema()).iter_errors(to_json(manifest)):
            if violation.validator != "additionalProperties":
                at = tuple(violation.absolute_path)
                yield warning(
                    manifest.place_of(at), f"`{'.'.join(map(str, at))}`: {violation.message[:LONGEST_MESSAGE]}"
                )
    except RecursionError:
        return  # too deeply nested: another check has reported it
