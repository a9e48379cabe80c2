"""What the tables of a stack say of workflows: what is published, what runs, and what has happened."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import visible
from signpost.model import PROXY
from signpost.records import dataclass
from signpost.registry.definitions import definition_under
from signpost.spelling import meant
from signpost.workflow.definition import NotADefinition

if TYPE_CHECKING:
    from signpost.ports import Clock, Texts
    from signpost.registry.catalogue import CatalogueView, Snapshot
    from signpost.workflow.definition import Definition
    from signpost.workflow.instance import AuditEvent, EvidenceItem, Hop, Instance, Waiting


class Instances(Protocol):
    def load(self, tenant: str, workflow_id: str) -> "Instance | None": ...

    def waiting(self, tenant: str) -> "Sequence[Waiting]":
        """The requests that are open, oldest first."""
        ...

    def history(self, tenant: str, workflow_id: str) -> "Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]":
        """What each step that changed something took and gave, in their order."""
        ...

    def audit(self, tenant: str, workflow_id: str) -> "Sequence[AuditEvent]": ...


@dataclass(frozen=True, slots=True)
class Runs:
    instances: Instances
    definitions: "Texts"
    catalogue: "CatalogueView"
    clock: "Clock"
    mcp_url: str

    def snapshot(self, tenant: str) -> "Snapshot":
        try:
            return self.catalogue.snapshot(tenant)
        except LookupError as fault:
            message = f"The catalogue of tenant {tenant!r} cannot be read: {str(fault).rstrip('.')}"
            raise CommandFailed(visible(f"{message}. Publish its manifests again.")) from fault

    def current(self, tenant: str, definition_id: str) -> str:
        """The digest of what would be started now, were it not switched off."""
        published = self.snapshot(tenant).published
        digests = {item.id: item.definition for item in published.items if item.kind == "workflow"}
        digests |= {PROXY: published.proxy} if published.proxy else {}
        if definition_id in digests:
            return digests[definition_id]
        close = meant(definition_id, digests)
        if any(item.id == definition_id for item in published.items):
            advice = f"It is something else; capabilities are transitions of {PROXY}."
        elif close:
            advice = f"Did you mean {close}?"
        else:
            advice = f"`signpost workflow list --tenant {tenant}` says what there is."
        raise CommandFailed(visible(f"Tenant {tenant!r} has no workflow {definition_id!r}. {advice}"))

    def instance(self, tenant: str, workflow_id: str) -> "Instance":
        try:
            found = self.instances.load(tenant, workflow_id)
        except LookupError as fault:  # a value that is too long for a row
            raise CommandFailed(visible(f"A part of {workflow_id} is not there: {fault}")) from fault
        if found is not None:
            return found
        close = meant(workflow_id, {waiting.workflow_id for waiting in self.instances.waiting(tenant)})
        advice = f"Did you mean {close}?" if close else "The answer of workflow.start says it: it begins with wf_."
        message = f"No run of a workflow in tenant {tenant!r} has the id {workflow_id!r}. {advice}"
        raise CommandFailed(visible(message))

    def pinned(self, tenant: str, instance: "Instance") -> "Definition":
        """The definition that it was started with, whatever was published since."""
        return self.definition(tenant, instance.definition_id, instance.digest)

    def text(self, tenant: str, digest: str) -> str:
        """The document, in the order in which it was written."""
        return self.definitions.read(tenant, digest)

    def definition(self, tenant: str, definition_id: str, digest: str) -> "Definition":
        try:
            return definition_under(self.definitions, tenant, definition_id, digest)
        except LookupError as fault:
            message = f"The definition {digest} of {definition_id} is not there: {str(fault).rstrip('.')}"
            raise CommandFailed(visible(f"{message}. Publish what it came from again.")) from fault
        except NotADefinition as fault:
            message = f"This release cannot read the definition {digest} of {definition_id}"
            raise CommandFailed(visible(f"{message} ({fault}). Use the release of the stack.")) from fault
