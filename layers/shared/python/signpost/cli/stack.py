"""Opens the parts of a deployed stack for an operator, with the AWS credentials of the operator."""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed
from signpost.records import dataclass
from signpost.settings import TENANT

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

    from signpost.adapters.undelivered_batches import UndeliveredBatch
    from signpost.calling.ports import Breakers, FunctionStates, RuntimeSettings
    from signpost.cli.deliveries import DeliveryRetry
    from signpost.cli.failed_work import WorkRetry
    from signpost.cli.policy import PolicyReader
    from signpost.cli.redrive import Redrive
    from signpost.cli.runs.store import WorkflowReader
    from signpost.directory.placement import Placer
    from signpost.directory.ports import Directory
    from signpost.identity.ports import ApiKeys
    from signpost.signing.ports import MasterKeyStore

DEFAULT_STACK = "signpost"


@dataclass(frozen=True, slots=True)
class RegistryStores:
    """The stores in the registry table that an operator changes directly."""

    api_keys: "ApiKeys"
    settings: "RuntimeSettings"
    breakers: "Breakers"
    functions: "FunctionStates"
    directory: "Directory"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, help="name of the deployed stack (default: %(default)s)")


def add_tenant_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", default="default", type=_parse_tenant, help="default: %(default)s")


@contextmanager
def open_registry(name: str) -> Generator[RegistryStores]:
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters import dynamodb  # noqa: PLC0415 - see _describe_stack

        client, table = boto3.client("dynamodb"), outputs["RegistryTableName"]
        yield RegistryStores(
            api_keys=dynamodb.DynamoApiKeys(client, table),
            settings=dynamodb.DynamoRuntimeSettings(client, table),
            breakers=dynamodb.DynamoBreakers(client, table),
            functions=dynamodb.DynamoFunctionStates(client, table),
            directory=dynamodb.DynamoDirectory(client, table),
        )


@dataclass(frozen=True, slots=True)
class StackKeys:
    """The master keys of the stack, with the placer that hands executors their keys."""

    stack: "MasterKeyStore"
    placer: "Placer"


@contextmanager
def open_delivery_retry(name: str) -> "Generator[DeliveryRetry]":
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters.sqs import SqsDeadLetters, SqsQueue  # noqa: PLC0415 - see _describe_stack
        from signpost.cli.deliveries import DeliveryRetry  # noqa: PLC0415 - it imports this module

        sqs = boto3.client("sqs")
        yield DeliveryRetry(
            failed_changes=SqsDeadLetters(lambda: sqs, outputs["UnheardChangesUrl"]),
            failed_deliveries=SqsDeadLetters(lambda: sqs, outputs["FailedDeliveriesUrl"]),
            changes=SqsQueue(lambda: sqs, outputs["ChangesUrl"]),
            deliveries=SqsQueue(lambda: sqs, outputs["DeliveryQueueUrl"]),
        )


@contextmanager
def open_work_retry(name: str) -> "Generator[WorkRetry]":
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters.sqs import SqsDeadLetters, SqsQueue  # noqa: PLC0415 - see _describe_stack
        from signpost.cli.failed_work import WorkRetry  # noqa: PLC0415 - it imports this module

        sqs = boto3.client("sqs")
        failed, work = outputs["FailedWorkUrl"], outputs["WorkQueueUrl"]
        yield WorkRetry(SqsDeadLetters(lambda: sqs, failed), SqsQueue(lambda: sqs, work))


@contextmanager
def open_redrive(name: str) -> "Generator[Redrive[UndeliveredBatch]]":
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack
        from botocore.config import Config  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb.outbox import RETENTION_SECONDS  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb.outbox_times import DynamoOutboxTimes  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb.workflow_stream_reader import WorkflowStreamReader  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.lambdas import BotoLambdaTransport  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.sqs import SqsDeadLetters  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.undelivered_batches import UndeliveredBatches  # noqa: PLC0415 - see _describe_stack
        from signpost.cli.redrive import PATIENCE, OutboxRecovery, Redrive, RedriveRelay, StreamRecovery  # noqa: PLC0415 - see _describe_stack
        from signpost.wiring.aws_clients import CALL_CONFIG  # noqa: PLC0415 - see _describe_stack

        patient = CALL_CONFIG.merge(Config(read_timeout=PATIENCE))
        lambdas, clock = boto3.client("lambda", config=patient), SystemClock()
        changes = DynamoOutboxTimes(boto3.client("dynamodb"), outputs["RegistryTableName"])
        steps = WorkflowStreamReader(boto3.client("dynamodbstreams"))
        yield Redrive(
            queue=UndeliveredBatches(SqsDeadLetters(lambda: boto3.client("sqs"), outputs["UndeliveredChangesUrl"])),
            relays=[
                RedriveRelay(
                    outputs["RelayFunctionName"], OutboxRecovery(changes, retention=RETENTION_SECONDS, clock=clock)
                ),
                RedriveRelay(outputs["HeraldFunctionName"], StreamRecovery(steps.read_batch)),
            ],
            link=BotoLambdaTransport(lambda: lambdas, clock=clock, log_abandoned_call=lambda _: None),
            clock=clock,
        )


@contextmanager
def open_keys(name: str) -> Generator[StackKeys]:
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb import DynamoDirectory  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.executor_configuration import LambdaConfiguration  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.lambdas import BotoLambdaTransport  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedExecutorSecrets  # noqa: PLC0415 - see _describe_stack
        from signpost.directory.keys import ExecutorKeys  # noqa: PLC0415 - see _describe_stack
        from signpost.directory.offers import Offers  # noqa: PLC0415 - see _describe_stack
        from signpost.directory.placement import Placer  # noqa: PLC0415 - see _describe_stack

        secrets, lambdas, clock = boto3.client("secretsmanager"), boto3.client("lambda"), SystemClock()
        stack_keys = SecretMasterKeys(lambda: secrets, outputs["MasterSecretArn"])
        directory = DynamoDirectory(boto3.client("dynamodb"), outputs["RegistryTableName"])
        link = BotoLambdaTransport(lambda: lambdas, clock=clock, log_abandoned_call=lambda _: None)
        placer = Placer(
            offers=Offers(inspector=LambdaConfiguration(lambda: lambdas), link=link, clock=clock),
            keys=ExecutorKeys(
                stack_keys=stack_keys, secrets=TaggedExecutorSecrets(lambda: secrets), directory=directory
            ),
            directory=directory,
        )
        yield StackKeys(stack_keys, placer)


def read_executor_parameters(name: str) -> Mapping[str, str]:
    """Read the parameters that the stack of an executor takes from this stack.

    Two more are for the command itself: `McpUrl`, the endpoint at which the tools of the executor appear, and
    `ExecutorFunctions`, the Lambda functions that this stack may call."""
    with _describe_stack(name) as stack:
        outputs = _outputs_of(stack)
        parameters = {
            parameter.get("ParameterKey", ""): parameter.get("ParameterValue", "")
            for parameter in stack.get("Parameters", [])
        }
        from_outputs = {output: outputs[output] for output in ("LayerArn", "GatewayFunctionArn", "McpUrl")}
        names = ("Architecture", "EndpointUrl", "ExecutorFunctions")
        return {**from_outputs, **{parameter: parameters.get(parameter, "") for parameter in names}}


@contextmanager
def open_workflows(name: str) -> "Generator[WorkflowReader]":
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb import DynamoRevisionRows  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb.instances import DynamoInstanceStore  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.s3 import S3Values  # noqa: PLC0415 - see _describe_stack
        from signpost.catalogue.cache import CatalogueView  # noqa: PLC0415 - see _describe_stack
        from signpost.cli.runs.store import WorkflowReader  # noqa: PLC0415 - see _describe_stack
        from signpost.list_revisions import RevisionView  # noqa: PLC0415 - see _describe_stack

        tables, s3, clock = boto3.client("dynamodb"), boto3.client("s3"), SystemClock()
        registry, bucket = outputs["RegistryTableName"], outputs["ContentBucketName"]
        values, rows = S3Values(lambda: s3, bucket), DynamoRevisionRows(tables, registry)
        yield WorkflowReader(
            instances=DynamoInstanceStore(tables, outputs["WorkflowsTableName"], values),
            definitions=DynamoDefinitionTexts(tables, registry, values),
            catalogue=CatalogueView(revisions=RevisionView(rows=rows, clock=clock), texts=values),
            clock=clock,
            mcp_url=outputs["McpUrl"],
        )


@contextmanager
def open_policies(name: str) -> "Generator[PolicyReader]":
    with _open_outputs(name) as outputs:
        import boto3  # noqa: PLC0415 - see _describe_stack

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb import DynamoPlacedFunctions, DynamoRevisionRows  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts  # noqa: PLC0415 - see _describe_stack
        from signpost.adapters.s3 import S3Values  # noqa: PLC0415 - see _describe_stack
        from signpost.calling.lookup import FunctionLists  # noqa: PLC0415 - see _describe_stack
        from signpost.catalogue.cache import CatalogueView  # noqa: PLC0415 - see _describe_stack
        from signpost.cli.policy import PolicyReader  # noqa: PLC0415 - it imports this module
        from signpost.list_revisions import RevisionView  # noqa: PLC0415 - see _describe_stack

        tables, s3, clock = boto3.client("dynamodb"), boto3.client("s3"), SystemClock()
        table, bucket = outputs["RegistryTableName"], outputs["ContentBucketName"]
        values = S3Values(lambda: s3, bucket)
        revisions = RevisionView(rows=DynamoRevisionRows(tables, table), clock=clock)
        yield PolicyReader(
            catalogue=CatalogueView(revisions=revisions, texts=values),
            texts=DynamoDefinitionTexts(tables, table, values),
            lists=FunctionLists(placed=DynamoPlacedFunctions(tables, table), revisions=revisions),
        )


@contextmanager
def _open_outputs(name: str) -> Generator[Mapping[str, str]]:
    """Yield the outputs of the stack. Errors of AWS inside the context become CommandFailed."""
    with _describe_stack(name) as stack:
        yield _outputs_of(stack)


@contextmanager
def _describe_stack(name: str) -> "Generator[StackTypeDef]":
    # boto3 takes a tenth of a second to import, which would slow down `signpost --help`.
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

    from signpost.errors import Unavailable  # noqa: PLC0415 - as above

    try:
        yield boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except KeyError as fault:
        raise CommandFailed(f"The stack {name!r} has no output {fault}. Is it a stack of Signpost?") from fault
    except (BotoCoreError, ClientError, Unavailable) as fault:
        reason = f"{fault}".rstrip(".")
        raise CommandFailed(f"Stack {name!r}: {reason}. Check --stack, AWS_PROFILE and AWS_REGION.") from fault


def _outputs_of(stack: "StackTypeDef") -> Mapping[str, str]:
    return {output.get("OutputKey", ""): output.get("OutputValue", "") for output in stack.get("Outputs", [])}


def _parse_tenant(text: str) -> str:
    if not TENANT.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"a tenant name is made of a-z, 0-9 and -, at most 32 characters; not {text!r}"
        )
    return text
