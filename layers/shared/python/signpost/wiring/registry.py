"""The registry function: the thirteen functions, what is loaded at run time, and what a deployment ships."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock, SystemTimestamps
from signpost.adapters.cloudformation import put_answer
from signpost.adapters.dynamodb import (
    DynamoApiKeys,
    DynamoBreakers,
    DynamoContentStore,
    DynamoDirectory,
    DynamoFunctionStates,
    DynamoIssuerKeySets,
    DynamoPlacedFunctions,
    DynamoRevisionRows,
)
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.loaded_executors import DynamoLoadedExecutors
from signpost.adapters.executor_configuration import LambdaConfiguration
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import LambdaLink
from signpost.adapters.oidc import HttpKeySetSource
from signpost.adapters.s3 import S3Bodies, S3Publications, S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedSecrets
from signpost.adapters.shipped import shipped_in
from signpost.deployment import Deployment
from signpost.execution.allow_list import AllowList
from signpost.execution.executor_keys import ExecutorKeys
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionLists
from signpost.execution.loader import Loader
from signpost.execution.offers import Offers
from signpost.execution.placement import Placer
from signpost.execution.revisions import RevisionView
from signpost.identity.authenticator import Authenticator
from signpost.identity.invocation import Invokers
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Json, Principal
from signpost.policy.access import Unrestricted
from signpost.policy.key_ring import KeyRing
from signpost.ports import Bodies, ContentStore
from signpost.records import dataclass
from signpost.registry.catalogue_publisher import CataloguePublisher
from signpost.registry.loading import LoadingFunctions
from signpost.registry.names import is_internal
from signpost.registry.publisher import ManifestFunctions, Publisher
from signpost.registry_door import RegistryDoor
from signpost.settings import RegistrySettings, problem_with, registry_settings
from signpost.telemetry import Telemetry
from signpost.wiring.calling import calling
from signpost.wiring.clients import CALLS, CLIENT
from signpost.wiring.documents import Documents, documents
from signpost.wiring.identity import authenticator


@dataclass(frozen=True, slots=True)
class Registry:
    """A warm registry function: everybody asks by `function_id` but CloudFormation, which has a form of its own."""

    deployment: Deployment
    door: RegistryDoor

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        if "ResponseURL" in event and "function_id" not in event:
            return self.deployment.handle(event)
        return self.door.handle(event, remaining_ms, request_id)


@dataclass(frozen=True, slots=True)
class Composition:
    """What a registry function is made of, whoever its operator is."""

    settings: RegistrySettings
    deployment: Deployment
    documents: Documents
    publisher: Publisher
    loader: Loader
    authenticator: Authenticator
    telemetry: Telemetry


def registry(environment: Mapping[str, str]) -> Registry:
    composition = composed(environment)
    return Registry(composition.deployment, operators_door(composition, composition.settings.operator_tenant))


def composed(environment: Mapping[str, str]) -> Composition:
    settings = registry_settings(environment)
    telemetry = Telemetry("registry")
    clients = _Clients()
    content, bodies = _content(settings, clients), S3Bodies(clients.s3, settings.content_bucket)
    publisher = Publisher(
        content=content,
        bodies=bodies,
        catalogues=_catalogues(settings, clients, content),
        timestamps=SystemTimestamps(),
    )
    offers, keys = _offers(clients, telemetry), _executor_keys(settings, clients)
    deployment = Deployment(
        placer=Placer(offers=offers, keys=keys, directory=DynamoDirectory(clients.dynamodb, settings.registry_table)),
        publisher=publisher,
        content=lambda: shipped_in(Path(environment["LAMBDA_TASK_ROOT"])),
        answer=put_answer,
        telemetry=telemetry,
    )
    return Composition(
        settings=settings,
        deployment=deployment,
        documents=_documents(settings, clients, telemetry, content, bodies),
        publisher=publisher,
        loader=_loader(settings, clients, offers, keys),
        authenticator=_authenticator(settings, clients),
        telemetry=telemetry,
    )


def operators_door(composition: Composition, tenant: str) -> RegistryDoor:
    operator = Principal("operator", tenant, "signpost:operator", permissions=frozenset({ADMINISTRATION}))
    identity = composition.settings.identity
    return RegistryDoor(
        functions=composition.documents.functions,
        beside=[ManifestFunctions(composition.publisher), LoadingFunctions(composition.loader)],
        identify=Invokers(operator=operator, authenticator=composition.authenticator, problem=problem_with(identity)),
        telemetry=composition.telemetry,
        clock=SystemClock(),
        alarm=alarm,
    )


class _Clients:
    """The one for the table is made at init, the rest at first use."""

    def __init__(self) -> None:
        self.dynamodb = boto3.client("dynamodb", config=CLIENT)
        self.s3 = cache(lambda: boto3.client("s3", config=CLIENT))
        self.secrets = cache(lambda: boto3.client("secretsmanager", config=CLIENT))
        self.lambdas = cache(lambda: boto3.client("lambda", config=CALLS))


def _content(settings: RegistrySettings, clients: _Clients) -> ContentStore:
    publications = S3Publications(clients.s3, settings.content_bucket)
    return DynamoContentStore(clients.dynamodb, settings.registry_table, publications, settings.scopes)


def _catalogues(settings: RegistrySettings, clients: _Clients, content: ContentStore) -> CataloguePublisher:
    values = S3Values(clients.s3, settings.content_bucket)
    definitions = DynamoDefinitionTexts(clients.dynamodb, settings.registry_table, values)
    return CataloguePublisher(content=content, values=values, definitions=definitions)


def _documents(
    settings: RegistrySettings, clients: _Clients, telemetry: Telemetry, content: ContentStore, bodies: Bodies
) -> Documents:
    table, clock = settings.registry_table, SystemClock()
    revisions = RevisionView(rows=DynamoRevisionRows(clients.dynamodb, table, settings.tuning), clock=clock)
    lists = FunctionLists(placed=DynamoPlacedFunctions(clients.dynamodb, table), revisions=revisions)
    return documents(
        content=content,
        revisions=revisions,
        bodies=bodies,
        # Whoever may invoke this function may do so as the operator, too: IAM is the gate, and policy would be none.
        access=FunctionAccess(accesses=Unrestricted(), lists=lists),
        calling=calling(
            function_states=DynamoFunctionStates(clients.dynamodb, table, settings.tuning),
            breakers=DynamoBreakers(clients.dynamodb, table),
            link=LambdaLink(clients.lambdas, clock=clock, left_behind=telemetry.left_behind),
            keys=KeyRing(store=SecretMasterKeys(clients.secrets, settings.master_secret_arn), clock=clock),
            clock=clock,
            ids=RandomIds(),
            telemetry=telemetry,
        ),
        clock=clock,
        timestamps=SystemTimestamps(),
    )


def _authenticator(settings: RegistrySettings, clients: _Clients) -> Authenticator:
    table = settings.registry_table
    return authenticator(
        settings.identity,
        api_keys=DynamoApiKeys(clients.dynamodb, table),
        issuer_key_sets=DynamoIssuerKeySets(clients.dynamodb, table),
        key_set_source=HttpKeySetSource(),
        clock=SystemClock(),
        anonymous=None,  # an invocation has no address that it could come from
    )


def _offers(clients: _Clients, telemetry: Telemetry) -> Offers:
    clock = SystemClock()
    return Offers(
        inspector=LambdaConfiguration(clients.lambdas),
        link=LambdaLink(clients.lambdas, clock=clock, left_behind=telemetry.left_behind),
        clock=clock,
    )


def _executor_keys(settings: RegistrySettings, clients: _Clients) -> ExecutorKeys:
    return ExecutorKeys(
        stack_keys=SecretMasterKeys(clients.secrets, settings.master_secret_arn),
        secrets=TaggedSecrets(clients.secrets),
        directory=DynamoDirectory(clients.dynamodb, settings.registry_table),
    )


def _loader(settings: RegistrySettings, clients: _Clients, offers: Offers, keys: ExecutorKeys) -> Loader:
    return Loader(
        allowed=AllowList(settings.executor_functions),
        offers=offers,
        keys=keys,
        directory=DynamoLoadedExecutors(clients.dynamodb, settings.registry_table),
        breakers=DynamoBreakers(clients.dynamodb, settings.registry_table),
        is_reserved=is_internal,
    )
