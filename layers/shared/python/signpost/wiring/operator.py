"""The adapters with which the commands of an operator reach a deployed stack, under the operator's AWS credentials."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import (
    DynamoApiKeys,
    DynamoBreakers,
    DynamoContentStore,
    DynamoDirectory,
    DynamoFunctionStates,
    DynamoIssuerKeySets,
    DynamoPlacedFunctions,
    DynamoRevisionRows,
    DynamoRuntimeSettings,
)
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.due import DynamoDue
from signpost.adapters.dynamodb.grants import DynamoGrants
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.dynamodb.outbox_times import DynamoOutboxTimes
from signpost.adapters.dynamodb.run_lists import DynamoRunLists
from signpost.adapters.dynamodb.run_records import DynamoRunRecords
from signpost.adapters.dynamodb.scopes import scopes_in
from signpost.adapters.dynamodb.stored_formats import StoredFormats
from signpost.adapters.dynamodb.timetables import DynamoTimetables
from signpost.adapters.dynamodb.workflow_stream_reader import WorkflowStreamReader
from signpost.adapters.executor_configuration import LambdaConfiguration
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedExecutorSecrets
from signpost.adapters.sqs import SqsDeadLetters, SqsQueue
from signpost.adapters.undelivered_batches import UndeliveredBatches
from signpost.calling.lookup import FunctionLists
from signpost.catalogue.cache import CatalogueView
from signpost.directory.keys import ExecutorKeys
from signpost.directory.offers import Offers
from signpost.directory.placement import Placer
from signpost.list_revisions import RevisionView
from signpost.wiring.aws_clients import LONG_CALL_CONFIG, AwsClients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signpost.calling.ports import (
        Breakers,
        FunctionStates,
        GrantStore,
        LambdaTransport,
        PlacedFunctions,
        RuntimeSettings,
    )
    from signpost.content.model import ScopeNames
    from signpost.directory.ports import Directory, ExecutorSecrets
    from signpost.identity.ports import ApiKeys, IssuerKeySets
    from signpost.ports import TextStore
    from signpost.signing.ports import MasterKeyStore

# An operator may be far from the region, and no client waits: the time-outs are those of botocore.
OPERATOR_CONFIG = Config()
OPERATOR_CALL_CONFIG = LONG_CALL_CONFIG.merge(Config(connect_timeout=60))

type StackOutputs = Mapping[str, str]
"""The outputs of a stack by their keys. A missing one is a KeyError at its first use."""


class OperatorAdapters:
    """The adapters of one stack, each made at its first use."""

    def __init__(self, outputs: StackOutputs) -> None:
        self._outputs = outputs
        self._clients = AwsClients(OPERATOR_CONFIG, OPERATOR_CALL_CONFIG)
        self.clock = SystemClock()

    @property
    def api_keys(self) -> "ApiKeys":
        return DynamoApiKeys(self._clients.dynamodb, self._registry_table)

    @property
    def api_key_rows(self) -> DynamoApiKeys:
        """The API keys with the ends of their rows, which earlier releases take for the expiry."""
        return DynamoApiKeys(self._clients.dynamodb, self._registry_table)

    @property
    def settings(self) -> "RuntimeSettings":
        return DynamoRuntimeSettings(self._clients.dynamodb, self._registry_table)

    @property
    def breakers(self) -> "Breakers":
        return DynamoBreakers(self._clients.dynamodb, self._registry_table)

    @property
    def grants(self) -> "GrantStore":
        return DynamoGrants(self._clients.dynamodb, self._registry_table)

    @property
    def functions(self) -> "FunctionStates":
        return DynamoFunctionStates(self._clients.dynamodb, self._registry_table)

    @property
    def directory(self) -> "Directory":
        return DynamoDirectory(self._clients.dynamodb, self._registry_table)

    @property
    def placed_functions(self) -> "PlacedFunctions":
        return DynamoPlacedFunctions(self._clients.dynamodb, self._registry_table)

    @property
    def issuer_key_sets(self) -> "IssuerKeySets":
        return DynamoIssuerKeySets(self._clients.dynamodb, self._registry_table)

    @property
    def stored_formats(self) -> StoredFormats:
        return StoredFormats(self._clients.dynamodb, self._registry_table)

    def list_scopes(self) -> "Sequence[str | None]":
        """List the tenants whose content ever changed, and None if the deployment ships content."""
        return list(scopes_in(self._clients.dynamodb, self._registry_table))

    def content(self, scopes: "ScopeNames") -> DynamoContentStore:
        batches = S3ChangeBatchStore(self._clients.s3, self._outputs["ContentBucketName"])
        return DynamoContentStore(self._clients.dynamodb, self._registry_table, batches, scopes)

    @property
    def function_lists(self) -> FunctionLists:
        return FunctionLists(placed=self.placed_functions, revisions=self._revisions)

    @property
    def catalogue(self) -> CatalogueView:
        return CatalogueView(revisions=self._revisions, texts=self._values)

    @property
    def definitions(self) -> "TextStore":
        return DynamoDefinitionTexts(self._clients.dynamodb, self._registry_table, self._values)

    @property
    def instances(self) -> DynamoInstanceStore:
        return DynamoInstanceStore(self._clients.dynamodb, self._outputs["WorkflowsTableName"], self._values)

    @property
    def run_lists(self) -> DynamoRunLists:
        return DynamoRunLists(self._clients.dynamodb, self._outputs["WorkflowsTableName"])

    @property
    def timetables(self) -> DynamoTimetables:
        return DynamoTimetables(self._clients.dynamodb, self._outputs["WorkflowsTableName"])

    @property
    def due_instances(self) -> DynamoDue:
        return DynamoDue(self._clients.dynamodb, self._outputs["WorkflowsTableName"])

    @property
    def run_records(self) -> DynamoRunRecords:
        return DynamoRunRecords(self._clients.dynamodb, self._outputs["WorkflowsTableName"], self.instances)

    @property
    def stack_keys(self) -> "MasterKeyStore":
        return SecretMasterKeys(self._clients.secrets, self._outputs["MasterSecretArn"])

    @property
    def placer(self) -> Placer:
        keys = ExecutorKeys(stack_keys=self.stack_keys, secrets=self.executor_secrets, directory=self.directory)
        return Placer(offers=self.offers, keys=keys, directory=self.directory)

    @property
    def offers(self) -> Offers:
        return Offers(inspector=LambdaConfiguration(self._clients.lambdas), link=self.link, clock=self.clock)

    @property
    def executor_secrets(self) -> "ExecutorSecrets":
        return TaggedExecutorSecrets(self._clients.secrets)

    @property
    def executor_tags(self) -> LambdaConfiguration:
        return LambdaConfiguration(self._clients.lambdas)

    @property
    def link(self) -> "LambdaTransport":
        return BotoLambdaTransport(self._clients.lambdas, clock=self.clock, log_abandoned_call=lambda _: None)

    @property
    def undelivered_batches(self) -> UndeliveredBatches:
        return UndeliveredBatches(self.dead_letters("UndeliveredChangesUrl"))

    @property
    def outbox_times(self) -> DynamoOutboxTimes:
        return DynamoOutboxTimes(self._clients.dynamodb, self._registry_table)

    @property
    def workflow_stream(self) -> WorkflowStreamReader:
        return WorkflowStreamReader(boto3.client("dynamodbstreams", config=OPERATOR_CONFIG))

    def dead_letters(self, output: str) -> SqsDeadLetters:
        return SqsDeadLetters(self._clients.sqs, self._outputs[output])

    def queue(self, output: str) -> SqsQueue:
        return SqsQueue(self._clients.sqs, self._outputs[output])

    def output(self, name: str) -> str:
        return self._outputs[name]

    @property
    def _registry_table(self) -> str:
        return self._outputs["RegistryTableName"]

    @cached_property
    def _values(self) -> S3Values:
        return S3Values(self._clients.s3, self._outputs["ContentBucketName"])

    @cached_property
    def _revisions(self) -> RevisionView:
        return RevisionView(rows=DynamoRevisionRows(self._clients.dynamodb, self._registry_table), clock=self.clock)
