"""Reads definitions, workflow instances and their events from the tables of a stack."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from signpost.catalogue.definitions import read_definition
from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import make_printable
from signpost.model import PROXY_WORKFLOW
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.definition_reader import InvalidDefinition

if TYPE_CHECKING:
    from signpost.catalogue.cache import CachedCatalogue, CatalogueView
    from signpost.ports import Clock, TextStore
    from signpost.workflow.definition import Definition
    from signpost.workflow.instance import AuditEvent, EvidenceItem, Hop, Instance, OpenApproval
    from signpost.workflow.ports import RunLists, Timetables
    from signpost.workflow.running.verification import RunRecordReader


class InstanceReader(Protocol):
    """The part of the instance store that commands read."""

    def load(self, tenant: str, workflow_id: str) -> "Instance | None": ...

    def list_open_approvals(self, tenant: str) -> "Sequence[OpenApproval]":
        """List the open approval requests of a tenant, oldest first."""
        ...

    def history(self, tenant: str, workflow_id: str) -> "Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]":
        """Return the hops and the evidence of each step that changed the instance, in order."""
        ...

    def audit(self, tenant: str, workflow_id: str) -> "Sequence[AuditEvent]": ...


@dataclass(frozen=True, slots=True)
class WorkflowReader:
    """Reads workflows for commands. Raises CommandFailed with advice if a part is missing."""

    instances: InstanceReader
    records: "RunRecordReader"
    run_lists: "RunLists"
    definitions: "TextStore"
    timetables: "Timetables"
    catalogue: "CatalogueView"
    clock: "Clock"
    mcp_url: str

    def read_snapshot(self, tenant: str) -> "CachedCatalogue":
        try:
            return self.catalogue.load(tenant)
        except LookupError as fault:
            message = f"The catalogue of tenant {tenant!r} cannot be read: {str(fault).rstrip('.')}"
            raise CommandFailed(make_printable(f"{message}. Publish its manifests again.")) from fault

    def find_current_digest(self, tenant: str, definition_id: str) -> str:
        """Return the digest of the definition that a start uses now, also if the workflow is switched off."""
        published = self.read_snapshot(tenant).snapshot
        digests = {item.id: item.definition for item in published.items if item.kind == "workflow"}
        digests |= {PROXY_WORKFLOW: published.proxy} if published.proxy else {}
        if definition_id in digests:
            return digests[definition_id]
        close = suggest_name(definition_id, digests)
        if any(item.id == definition_id for item in published.items):
            advice = f"It is not a workflow; capabilities are transitions of {PROXY_WORKFLOW}."
        elif close:
            advice = f"Did you mean {close}?"
        else:
            advice = f"See `signpost workflow list --tenant {tenant}`."
        raise CommandFailed(make_printable(f"Tenant {tenant!r} has no workflow {definition_id!r}. {advice}"))

    def find_instance(self, tenant: str, workflow_id: str) -> "Instance":
        try:
            instance = self.instances.load(tenant, workflow_id)
        except LookupError as fault:  # the object of a value that is too long for a row is missing
            raise CommandFailed(make_printable(f"A stored part of {workflow_id} is missing: {fault}")) from fault
        if instance is not None:
            return instance
        close = suggest_name(
            workflow_id, {approval.workflow_id for approval in self.instances.list_open_approvals(tenant)}
        )
        advice = f"Did you mean {close}?" if close else "The answer of workflow.start has the id; it begins with wf_."
        message = f"No run of a workflow in tenant {tenant!r} has the id {workflow_id!r}. {advice}"
        raise CommandFailed(make_printable(message))

    def load_pinned(self, tenant: str, instance: "Instance") -> "Definition":
        """Read the definition with which the instance was started, also if another one was published since."""
        return self.read_definition(tenant, instance.definition_id, instance.digest)

    def read_text(self, tenant: str, digest: str) -> str:
        """Read the document of a definition, with its fields in the order of the author."""
        return self.definitions.read(tenant, digest)

    def read_definition(self, tenant: str, definition_id: str, digest: str) -> "Definition":
        try:
            return read_definition(self.definitions, tenant, definition_id, digest)
        except LookupError as fault:
            message = f"The definition {digest} of {definition_id} is missing: {str(fault).rstrip('.')}"
            raise CommandFailed(make_printable(f"{message}. Publish its manifest again.")) from fault
        except InvalidDefinition as fault:
            message = f"This release cannot read the definition {digest} of {definition_id}"
            raise CommandFailed(make_printable(f"{message} ({fault}). Use the release of the stack.")) from fault
