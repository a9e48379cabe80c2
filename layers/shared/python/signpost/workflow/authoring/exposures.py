"""Exposures: capabilities that clients call without a workflow of their own. Each of them is compiled to a transition
of the workflow `proxy_default`, from its only state back to that state."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.model import as_object
from signpost.records import dataclass
from signpost.workflow.authoring.capabilities import COMBINED_MEMBERS, OVERRIDING_MEMBERS, CapabilityResolver
from signpost.workflow.authoring.problems import Problem, error
from signpost.workflow.authoring.source_tree import SourceNode, build_source_node, to_json
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS
from signpost.workflow.proxy_default import FIXED_FIELDS, READY, RESULT, document_of, transitions_in

EXPOSURE_MEMBERS = (*OVERRIDING_MEMBERS, *COMBINED_MEMBERS)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,199}")


def compile_exposures(exposures: SourceNode, capabilities: CapabilityResolver) -> tuple[SourceNode, Sequence[Problem]]:
    """Build the document of `proxy_default` from the exposures, and collect the problems."""
    compiler = _ExposureCompiler(capabilities)
    for exposure in exposures.entries:
        compiler.add_exposure(exposure)
    return _build_document(exposures, compiler.transitions), compiler.problems


def is_compiled_proxy(document: SourceNode) -> bool:
    """Check whether the document is a result of `compile_exposures`, so that a compiled manifest compiles unchanged."""
    fields = as_object(to_json(document))
    transitions = transitions_in(fields)
    has_fixed_form = fields == document_of(transitions)
    return has_fixed_form and all(
        _NAME.fullmatch(name) and transition.get("target") == READY for name, transition in transitions.items()
    )


def _build_document(exposures: SourceNode, transitions: Mapping[str, SourceNode]) -> SourceNode:
    document = build_source_node({**FIXED_FIELDS, "states": {READY: {}}}, exposures.place)
    places = {name: transition.place for name, transition in transitions.items()}
    ready = SourceNode({"transitions": SourceNode(transitions, exposures.place, places)}, exposures.place)
    return document.with_members(states=document.members["states"].with_members(**{READY: ready}))


@dataclass(slots=True)
class _ExposureCompiler:
    capabilities: CapabilityResolver
    transitions: dict[str, SourceNode] = field(default_factory=dict[str, SourceNode])
    problems: list[Problem] = field(default_factory=list[Problem])

    def add_exposure(self, exposure: SourceNode) -> None:
        if not exposure.is_mapping:
            self.problems.append(error(exposure.place, "an exposure must be a mapping with a `name` or a `capability`"))
            return
        name = exposure.get("as") or exposure.get("name") or exposure.get("capability")
        if name is None or name.text is None or not _NAME.fullmatch(name.text):
            requirement = "an exposure needs a name (`as`, `name` or `capability`)"
            place = name.place if name else exposure.place
            self.problems.append(
                error(place, f"{requirement} of at most 200 letters, digits and _.-, beginning with a letter")
            )
        elif name.text in self.transitions:
            self.problems.append(error(name.place, f"{name.text!r} is exposed twice: give one exposure another `as`"))
        else:
            self.transitions[name.text] = self._build_transition(exposure)

    def _build_transition(self, exposure: SourceNode) -> SourceNode:
        capability = exposure.get("capability")
        merged = self.capabilities.resolve_wrapper(capability, exposure) if capability else exposure
        merged = self.capabilities.inline(merged, EXPOSURE_MEMBERS)
        place = merged.place
        members = {name: member for name in EXPOSURE_MEMBERS if (member := merged.get(name))}
        fixed_members = {
            "target": build_source_node(READY, place),
            "output": build_source_node({RESULT: "$"}, place),
        }
        default_members = {
            "inputSchema": build_source_node(NO_ARGUMENTS, place),
            "executor": build_source_node({"kind": "noop"}, place),
        }
        return SourceNode({**default_members, **members, **fixed_members}, place, merged.name_places)
