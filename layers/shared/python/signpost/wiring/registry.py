"""The composition of the registry function: its thirteen functions, executors loaded at run time, shipped content."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock, SystemTimestamps
from signpost.adapters.cloudformation import put_answer
from signpost.adapters.dynamodb import (
    DynamoApiKeys,
    DynamoBreakers,
    DynamoContentStore,
    DynamoDirectory,
    DynamoIssuerKeySets,
)
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.deployment_lists import DynamoDeploymentLists
from signpost.adapters.dynamodb.loaded_executors import DynamoLoadedExecutors
from signpost.adapters.executor_configuration import LambdaConfiguration
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.oidc import HttpKeySetSource
from signpost.adapters.s3 import S3Bodies, S3ChangeBatchStore, S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedExecutorSecrets
from signpost.adapters.shipped_content import read_shipped
from signpost.calling.nested import is_nested
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.api.load_functions import LoadFunctions
from signpost.content.names import is_internal
from signpost.directory.allow_list import AllowList
from signpost.directory.keys import ExecutorKeys
from signpost.directory.load_tenants import LoadTenants
from signpost.directory.loader import Loader
from signpost.directory.offers import Offers
from signpost.directory.placement import Placer
from signpost.entrypoints.registry_dispatch import RegistryDispatcher
from signpost.entrypoints.registry_invoke import RegistryHandler
from signpost.entrypoints.stack_resource import ContentInstaller, ListWriter, StackResource
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.identity.authenticator import Authenticator
from signpost.identity.invocation import InvocationAuthenticator
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Json, Principal
from signpost.records import dataclass
from signpost.settings import RegistrySettings, problem_with, registry_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients
from signpost.wiring.identity import build_authenticator
from signpost.wiring.registry_documents import RegistryDocuments, build_registry_documents

if TYPE_CHECKING:
    from signpost.content.ports import ContentStore
    from signpost.entrypoints.nested_calls import NestedCallHandler
    from signpost.entrypoints.registry_dispatch import AdministrationFunctions


LONGEST_INVOCATION_MS = 60_000
"""The time limit of a registry invocation. The time-out of the function is longer, for requests of CloudFormation."""


@dataclass(frozen=True, slots=True)
class RegistryFunction:
    """A warm registry function: it serves registry invocations, nested calls of its functions and, recognised by
    `ResponseURL`, CloudFormation."""

    stack_resource: StackResource
    handler: RegistryHandler
    nested: "Callable[[], NestedCallHandler]"

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        if is_nested(event):
            return self.nested().handle(event, min(remaining_ms, LONGEST_INVOCATION_MS))
        if "ResponseURL" in event and "function_id" not in event:
            return self.stack_resource.handle(event, remaining_ms)
        return self.handler.handle(event, min(remaining_ms, LONGEST_INVOCATION_MS), request_id)


@dataclass(frozen=True, slots=True)
class RegistryComposition:
    """The object graph of a registry function, without its operator."""

    settings: RegistrySettings
    stack_resource: StackResource
    documents: RegistryDocuments
    publisher: Publisher
    loader: Loader
    authenticator: Authenticator
    telemetry: Telemetry

    @property
    def administration(self) -> "Sequence[AdministrationFunctions]":
        """The functions for administrators."""
        return [PublishFunctions(self.publisher), LoadFunctions(self.loader)]


def build_registry(environment: Mapping[str, str]) -> RegistryFunction:
    composition = compose_registry(environment)
    return build_registry_function(composition)


def build_registry_function(composition: RegistryComposition) -> RegistryFunction:
    return RegistryFunction(
        stack_resource=composition.stack_resource,
        handler=build_operator_handler(composition, composition.settings.operator_tenant),
        nested=cache(lambda: composition.documents.build_nested_calls(composition.administration)),
    )


def compose_registry(environment: Mapping[str, str]) -> RegistryComposition:
    settings = registry_settings(environment)
    telemetry = Telemetry("registry")
    clients = AwsClients()
    content, bodies = _build_content_store(settings, clients), S3Bodies(clients.s3, settings.content_bucket)
    documents = build_registry_documents(settings, clients, telemetry, content, bodies)
    publisher = Publisher(
        content=content,
        bodies=bodies,
        catalogues=_build_catalogue_publisher(settings, clients, content),
        timestamps=SystemTimestamps(),
        references=documents.references,
    )
    offers, keys = _build_offers(clients, telemetry), _build_executor_keys(settings, clients)
    directory = DynamoDirectory(clients.dynamodb, settings.registry_table)
    stack_resource = StackResource(
        shipped=ContentInstaller(
            placer=Placer(offers=offers, keys=keys, directory=directory),
            publisher=publisher,
            content=lambda: read_shipped(Path(environment["LAMBDA_TASK_ROOT"])),
        ),
        lists=ListWriter(DynamoDeploymentLists(clients.dynamodb, settings.registry_table)),
        answer=put_answer,
        telemetry=telemetry,
        clock=SystemClock(),
        pause=time.sleep,
    )
    return RegistryComposition(
        settings=settings,
        stack_resource=stack_resource,
        documents=documents,
        publisher=publisher,
        loader=_build_loader(settings, clients, offers, keys),
        authenticator=_build_authenticator(settings, clients),
        telemetry=telemetry,
    )


def build_operator_handler(composition: RegistryComposition, tenant: str) -> RegistryHandler:
    operator = Principal("operator", tenant, "signpost:operator", permissions=frozenset({ADMINISTRATION}))
    identity = composition.settings.identity
    return RegistryHandler(
        functions=RegistryDispatcher(composition.documents.build_for_operator().functions, composition.administration),
        identify=InvocationAuthenticator(
            operator=operator, authenticator=composition.authenticator, problem=problem_with(identity)
        ),
        telemetry=composition.telemetry,
        clock=SystemClock(),
        alarm=alarm,
    )


def _build_content_store(settings: RegistrySettings, clients: AwsClients) -> "ContentStore":
    change_batches = S3ChangeBatchStore(clients.s3, settings.content_bucket)
    return DynamoContentStore(
        clients.dynamodb, settings.registry_table, change_batches, settings.scopes, settings.workflows_table
    )


def _build_catalogue_publisher(
    settings: RegistrySettings, clients: AwsClients, content: "ContentStore"
) -> CataloguePublisher:
    values = S3Values(clients.s3, settings.content_bucket)
    definitions = DynamoDefinitionTexts(clients.dynamodb, settings.registry_table, values)
    return CataloguePublisher(content=content, values=values, definitions=definitions)


def _build_authenticator(settings: RegistrySettings, clients: AwsClients) -> Authenticator:
    table = settings.registry_table
    return build_authenticator(
        settings.identity,
        api_keys=ApiKeyAuthenticator(keys=DynamoApiKeys(clients.dynamodb, table), clock=SystemClock()),
        issuer_key_sets=DynamoIssuerKeySets(clients.dynamodb, table),
        key_set_source=HttpKeySetSource(),
        deployment_lists=lambda: DynamoDeploymentLists(clients.dynamodb, table),
        clock=SystemClock(),
        anonymous=None,  # an invocation has no client address, so it is never local
    )


def _build_offers(clients: AwsClients, telemetry: Telemetry) -> Offers:
    clock = SystemClock()
    return Offers(
        inspector=LambdaConfiguration(clients.lambdas),
        link=BotoLambdaTransport(clients.lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
        clock=clock,
    )


def _build_executor_keys(settings: RegistrySettings, clients: AwsClients) -> ExecutorKeys:
    return ExecutorKeys(
        stack_keys=SecretMasterKeys(clients.secrets, settings.master_secret_arn),
        secrets=TaggedExecutorSecrets(clients.secrets),
        directory=DynamoDirectory(clients.dynamodb, settings.registry_table),
    )


def _build_loader(settings: RegistrySettings, clients: AwsClients, offers: Offers, keys: ExecutorKeys) -> Loader:
    lists = DynamoDeploymentLists(clients.dynamodb, settings.registry_table)
    return Loader(
        allowed=lambda: AllowList(lists.read().executors),
        tenants=LoadTenants(tags=LambdaConfiguration(clients.lambdas), operator_tenant=settings.operator_tenant),
        offers=offers,
        keys=keys,
        directory=DynamoLoadedExecutors(clients.dynamodb, settings.registry_table),
        breakers=DynamoBreakers(clients.dynamodb, settings.registry_table),
        is_reserved=is_internal,
    )
