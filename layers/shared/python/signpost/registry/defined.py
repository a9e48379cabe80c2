"""What a manifest defines, as the catalogue keeps it."""

from collections.abc import Sequence

from signpost.model import PROXY, CatalogueItem, Json, JsonObject, as_object
from signpost.registry.digests import digest_of
from signpost.registry.sent_definitions import SentDefinitions
from signpost.workflow import story
from signpost.workflow.configuration import Configuration, Entry, connection_entry, resolved
from signpost.workflow.proxy import transitions_in
from signpost.workflow.written import written

LONGEST_TEXT = 10_000
"""Characters of what describes the inside of a workflow. Every cold gateway reads them, for searches only."""


def defined_in(value: Json) -> SentDefinitions | Sequence[str]:
    """Of a manifest with capabilities in their places, or a part of one; or what is wrong with it."""
    configuration = resolved(written(value))
    if not isinstance(configuration, Configuration):
        return [problem.message for problem in configuration]
    texts = {name: story.text_of(document) for name, document in configuration.workflows.items() if name != PROXY}
    transitions = transitions_in(as_object(configuration.workflows.get(PROXY)))
    digests = {
        "workflow": {name: digest_of(text) for name, text in texts.items()},
        "capability": {name: digest_of(story.text_of(transition)) for name, transition in transitions.items()},
    }
    return SentDefinitions(
        texts=list(texts.values()),
        items=[_item(one, digests[one.kind][one.id]) for one in configuration.entries if one.kind in digests],
        transitions={digests["capability"][name]: transition for name, transition in transitions.items()},
    )


def problems_with_settings(settings: JsonObject) -> Sequence[str]:
    """As a manifest of nothing else would have them."""
    found = resolved(written({"version": 1, **settings}))
    return () if isinstance(found, Configuration) else [f"{problem.message}." for problem in found]


def connection_items(connections: JsonObject) -> Sequence[CatalogueItem]:
    return [_item(connection_entry(name, as_object(fields)), "") for name, fields in connections.items()]


def _item(entry: Entry, digest: str) -> CatalogueItem:
    return CatalogueItem(
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        description=entry.description,
        tags=tuple(entry.tags),
        aliases=tuple(entry.aliases),
        text=entry.text[:LONGEST_TEXT],
        definition=digest,
        enabled=entry.enabled,
        input_schema=(entry.input_schema or {}) if entry.kind == "workflow" else None,
    )
