"""Builds the services of documents and prompts of the registry function: for operators, and for nested calls."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock, SystemTimestamps
from signpost.adapters.dynamodb import (
    DynamoBreakers,
    DynamoFunctionStates,
    DynamoPlacedFunctions,
    DynamoRevisionRows,
)
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.s3 import S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.calling.context_operations import ContextOperations
from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionLists
from signpost.calling.nested import ExecutorRequests, NestedCallJudge
from signpost.catalogue.publishing.entry_references import EntryReferenceJudge
from signpost.catalogue.publishing.reference_warnings import ReferenceJudge
from signpost.content.api.functions import RegistryFunctions
from signpost.entrypoints.nested_calls import NestedCallHandler
from signpost.entrypoints.registry_dispatch import AdministrationFunctions, RegistryDispatcher
from signpost.entrypoints.registry_nested_calls import NestedRegistryCalls
from signpost.list_revisions import RevisionView
from signpost.policy.access import UnrestrictedAccess
from signpost.records import dataclass
from signpost.settings import RegistrySettings
from signpost.signing.key_ring import KeyRing
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients
from signpost.wiring.calling import CallServices, build_call_services
from signpost.wiring.documents import DocumentServices, build_document_services
from signpost.workflow.executor_kinds import ExecutorKinds

if TYPE_CHECKING:
    from signpost.content.ports import Bodies, ContentStore


@dataclass(frozen=True, slots=True)
class RegistryDocuments:
    """The stores and call services behind the documents of a registry function."""

    settings: RegistrySettings
    clients: AwsClients
    telemetry: Telemetry
    content: "ContentStore"
    bodies: "Bodies"
    revisions: RevisionView
    lists: FunctionLists
    calling: CallServices
    references: ReferenceJudge

    def build_for_operator(self) -> DocumentServices:
        # IAM decides on invocations of this function. A caller that may invoke it may act as the operator, so a policy
        # would restrict no caller.
        return self._build(FunctionAccess(accesses=UnrestrictedAccess(), lists=self.lists))

    def build_nested_calls(self, administration: Sequence[AdministrationFunctions]) -> NestedCallHandler:
        """Build the handler of nested calls, which are made in the name of principals: the rules of tenants apply."""
        # Imported on first use: operators' invocations, which most are, need no rules.
        from signpost.catalogue.cache import CatalogueView  # noqa: PLC0415
        from signpost.content.announcements import AnnouncementOperations  # noqa: PLC0415 - as above
        from signpost.wiring.policy import build_policy_services  # noqa: PLC0415 - as above

        values = S3Values(self.clients.s3, self.settings.content_bucket)
        policy = build_policy_services(
            catalogue=CatalogueView(revisions=self.revisions, texts=values),
            texts=DynamoDefinitionTexts(self.clients.dynamodb, self.settings.registry_table, values),
            lists=self.lists,
            telemetry=self.telemetry,
        )
        documents = self._build(policy.functions)
        calls = NestedRegistryCalls(
            judge=NestedCallJudge(mint=self.calling.mint, clock=SystemClock()),
            functions=RegistryDispatcher(documents.functions, administration),
            telemetry=self.telemetry,
        )
        operations = ContextOperations(
            mint=self.calling.mint, clock=SystemClock(), actions=AnnouncementOperations(self.content).actions
        )
        return NestedCallHandler(
            nested=ExecutorRequests(nested=calls, operations=operations),
            telemetry=self.telemetry,
            clock=SystemClock(),
            alarm=alarm,
        )

    def _build(self, access: FunctionAccess) -> DocumentServices:
        services = build_document_services(
            content=self.content,
            revisions=self.revisions,
            bodies=self.bodies,
            access=access,
            calling=self.calling,
            clock=SystemClock(),
            timestamps=SystemTimestamps(),
        )
        references = EntryReferenceJudge(self.references)
        functions = RegistryFunctions(skills=services.skills, prompts=services.prompts, references=references)
        return replace(services, functions=functions)


def build_registry_documents(
    settings: RegistrySettings,
    clients: AwsClients,
    telemetry: Telemetry,
    content: "ContentStore",
    bodies: "Bodies",
) -> RegistryDocuments:
    table, clock = settings.registry_table, SystemClock()
    revisions = RevisionView(rows=DynamoRevisionRows(clients.dynamodb, table, settings.tuning), clock=clock)
    lists = FunctionLists(placed=DynamoPlacedFunctions(clients.dynamodb, table), revisions=revisions)
    return RegistryDocuments(
        settings=settings,
        clients=clients,
        telemetry=telemetry,
        content=content,
        bodies=bodies,
        revisions=revisions,
        lists=lists,
        references=ReferenceJudge(functions=lists, kinds=read_executor_kinds),
        calling=build_call_services(
            function_states=DynamoFunctionStates(clients.dynamodb, table, settings.tuning),
            breakers=DynamoBreakers(clients.dynamodb, table),
            link=BotoLambdaTransport(clients.lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
            keys=KeyRing(store=SecretMasterKeys(clients.secrets, settings.master_secret_arn), clock=clock),
            clock=clock,
            ids=RandomIds(),
            telemetry=telemetry,
        ),
    )


def read_executor_kinds() -> ExecutorKinds:
    """Return the kinds of executors of every deployment."""
    # Imported on first use: only publications of workflows need the composition of the step executors.
    from signpost.wiring.workflows import EXECUTED_KINDS  # noqa: PLC0415
    from signpost.workflow.authoring.json_schema import EXECUTOR_SETTINGS  # noqa: PLC0415 - as above

    return ExecutorKinds(tuple(EXECUTOR_SETTINGS), EXECUTED_KINDS)
