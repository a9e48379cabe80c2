"""Compiles the definitions of a manifest into the texts and items that the catalogue stores."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from signpost.catalogue.publishing.references import BodyKey, Reference, list_step_references
from signpost.catalogue.publishing.sent_definitions import DefinedKind, SentDefinitions
from signpost.content.digests import digest_of
from signpost.hazards.model import EntryKind, PublicationWarning
from signpost.model import LONGEST_ITEM_TEXT, PROXY_WORKFLOW, CatalogueItem, Json, JsonObject, as_object
from signpost.workflow.authoring.compile import (
    CatalogueEntry,
    CompiledManifest,
    compile_manifest,
    connection_entry,
)
from signpost.workflow.authoring.source_tree import build_source_node
from signpost.workflow.proxy_default import transitions_in
from signpost.workflow.running import serialization


def compile_definitions(value: Json) -> SentDefinitions | Sequence[str]:
    """Compile a manifest, or a part of one, in which all capabilities are written out. Returns the messages of its
    problems if it has any."""
    compiled = compile_manifest(build_source_node(value))
    if not isinstance(compiled, CompiledManifest):
        return [problem.message for problem in compiled]
    texts = {
        name: serialization.text_of(document) for name, document in compiled.workflows.items() if name != PROXY_WORKFLOW
    }
    transitions = transitions_in(as_object(compiled.workflows.get(PROXY_WORKFLOW)))
    digests: Mapping[DefinedKind, Mapping[str, str]] = {
        "workflow": {name: digest_of(text) for name, text in texts.items()},
        "capability": {name: digest_of(serialization.text_of(transition)) for name, transition in transitions.items()},
    }
    return SentDefinitions(
        texts=list(texts.values()),
        items=[
            _item_of(entry, digests[kind][entry.id])
            for entry in compiled.entries
            for kind in digests
            if kind == entry.kind
        ],
        transitions={digests["capability"][name]: transition for name, transition in transitions.items()},
        warnings=_find_warnings(compiled, digests),
        references=_find_references(compiled, digests),
    )


def _find_warnings(
    compiled: CompiledManifest, digests: Mapping[DefinedKind, Mapping[str, str]]
) -> Mapping[tuple[EntryKind, str, str], Sequence[PublicationWarning]]:
    """Find the warnings about the workflows and capabilities, by kind, id and digest."""
    # Imported on first use: the lint checks are slow to import, and only publications of workflows need them.
    from signpost.workflow.authoring.lint.check import find_hazards  # noqa: PLC0415

    found = defaultdict[tuple[EntryKind, str, str], list[PublicationWarning]](list)
    for workflow, document in compiled.workflows.items():
        for finding in find_hazards(workflow, compiled.definitions.get(workflow), document):
            kind: DefinedKind = "capability" if workflow == PROXY_WORKFLOW else "workflow"
            name = str(finding.at[3]) if kind == "capability" and len(finding.at) > 3 else workflow
            if finding.code is not None and name in digests[kind]:
                warning = PublicationWarning(finding.code, kind, name, finding.message)
                found[kind, name, digests[kind][name]].append(warning)
    return found


def _find_references(
    compiled: CompiledManifest, digests: Mapping[DefinedKind, Mapping[str, str]]
) -> Mapping[BodyKey, Sequence[Reference]]:
    """Find the references of the workflows, and of each capability, which is a step of the proxy workflow."""
    found = defaultdict[BodyKey, list[Reference]](list)
    for workflow, definition in compiled.definitions.items():
        for step, reference in list_step_references(definition):
            kind: DefinedKind = "capability" if workflow == PROXY_WORKFLOW else "workflow"
            name, place = (step, "") if kind == "capability" else (workflow, reference.place)
            found[kind, name, digests[kind][name]].append(replace(reference, place=place))
    return {key: list(dict.fromkeys(references)) for key, references in found.items()}


def problems_with_settings(settings: JsonObject) -> Sequence[str]:
    """Return the messages of the problems with settings, checked like a manifest that has only these settings."""
    compiled = compile_manifest(build_source_node({"version": 1, **settings}))
    return () if isinstance(compiled, CompiledManifest) else [f"{problem.message}." for problem in compiled]


def connection_items(connections: JsonObject) -> Sequence[CatalogueItem]:
    return [_item_of(connection_entry(name, as_object(fields)), "") for name, fields in connections.items()]


def _item_of(entry: CatalogueEntry, digest: str) -> CatalogueItem:
    return CatalogueItem(
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        description=entry.description,
        tags=tuple(entry.tags),
        aliases=tuple(entry.aliases),
        text=" ".join((*entry.examples, entry.text))[:LONGEST_ITEM_TEXT],
        definition=digest,
        enabled=entry.enabled,
        input_schema=(entry.input_schema or {}) if entry.kind == "workflow" else None,
    )
