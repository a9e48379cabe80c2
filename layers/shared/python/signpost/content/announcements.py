"""Announcements: running functions tell that a list or a resource changed, for which the registry has no row."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from signpost.calling.components import fault_of_uri
from signpost.calling.context_operations import ContextAction
from signpost.calling.failures import reported_failure
from signpost.content.api.function_ids import CHANGED, RESOURCE_UPDATED
from signpost.content.changes import LIST_EVENT, RESOURCE_EVENT
from signpost.content.deliveries import TRIGGER_ISSUER
from signpost.content.model import Announcement
from signpost.contract import LONGEST_URI, CallReply, Result
from signpost.model import ENGINE_SUBJECT, JsonObject
from signpost.signing.capability_tokens import CapabilityGrant

if TYPE_CHECKING:
    from signpost.content.ports import ContentStore

LISTS = ("tools", "prompts", "resources")


def fault_of_list(kind: object) -> str | None:
    """Return the fault of the name of a list as a sentence; None if there is none."""
    return None if kind in LISTS else f"A list that changed is one of {', '.join(LISTS)}."


def fault_of_updated(uri: object) -> str | None:
    """Return the fault of the URI of a resource as a sentence; None if there is none. Resources that Signpost serves
    itself have events of their own."""
    if not isinstance(uri, str) or len(uri) > LONGEST_URI:
        return f"The URI of a resource is a text of at most {LONGEST_URI} characters."
    fault = fault_of_uri(uri)
    return None if fault is None else f"The URI of a resource that changed {fault}."


class AnnouncementOperations:
    """Performs the context operations by which functions announce changes."""

    def __init__(self, content: "ContentStore") -> None:
        self._content = content

    @property
    def actions(self) -> Mapping[str, ContextAction]:
        return {CHANGED: self._announce_list, RESOURCE_UPDATED: self._announce_resource}

    def _announce_list(self, call: CapabilityGrant, fields: JsonObject) -> CallReply:
        kind = fields.get("list")
        return self._announce(call, fault_of_list(kind), lambda: Announcement(LIST_EVENT.type, "change", str(kind)))

    def _announce_resource(self, call: CapabilityGrant, fields: JsonObject) -> CallReply:
        uri = fields.get("uri")
        return self._announce(
            call, fault_of_updated(uri), lambda: Announcement(RESOURCE_EVENT.type, "update", str(uri))
        )

    def _announce(self, call: CapabilityGrant, fault: str | None, build: Callable[[], Announcement]) -> CallReply:
        if call.issuer in (TRIGGER_ISSUER, ENGINE_SUBJECT):
            fault = (
                "A function that a trigger or a workflow calls by itself announces no changes: the event could call "
                "it again."
            )
        if fault is not None:
            return reported_failure("permanent_error", fault)
        return Result({"sequence": self._content.announce(call.tenant, build())})
