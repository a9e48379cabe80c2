"""Reads the definitions that a tenant has published. An unreadable one keeps no other from being read."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from signpost.cli.doctor.rules.published_functions import UnreadableText

if TYPE_CHECKING:
    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.wiring.operator import OperatorAdapters
    from signpost.workflow.definition import Definition


def read_published_definitions(
    adapters: "OperatorAdapters", tenant: str, snapshot: "CatalogueSnapshot"
) -> "Iterator[Definition | UnreadableText]":
    from signpost.catalogue.definitions import read_definition  # noqa: PLC0415 - a part of the checks needs it
    from signpost.model import PROXY_WORKFLOW  # noqa: PLC0415 - as above
    from signpost.workflow.definition_reader import InvalidDefinition  # noqa: PLC0415 - as above

    digests = {item.id: item.definition for item in snapshot.items if item.kind == "workflow" and item.definition}
    if snapshot.proxy:
        digests[PROXY_WORKFLOW] = snapshot.proxy
    for workflow, digest in digests.items():
        try:
            yield read_definition(adapters.definitions, tenant, workflow, digest)
        except (LookupError, InvalidDefinition, json.JSONDecodeError) as fault:
            yield UnreadableText(tenant, workflow, str(fault))
