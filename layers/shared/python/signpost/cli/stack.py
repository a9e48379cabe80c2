"""The deployed stack an operator works on, with the operator's own AWS credentials."""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed
from signpost.records import dataclass
from signpost.settings import TENANT

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

    from signpost.adapters.undelivered import GivenUp
    from signpost.cli.deliveries import Retry
    from signpost.cli.failed_work import FailedWork
    from signpost.cli.policy import Rulebook
    from signpost.cli.redrive import Redrive
    from signpost.cli.runs import Runs
    from signpost.execution.placement import Placer
    from signpost.ports import (
        ApiKeys,
        Breakers,
        Directory,
        FunctionStates,
        MasterKeyStore,
        RuntimeSettings,
    )

DEFAULT_STACK = "signpost"


@dataclass(frozen=True, slots=True)
class Registry:
    """What operators change in the registry table."""

    api_keys: "ApiKeys"
    settings: "RuntimeSettings"
    breakers: "Breakers"
    functions: "FunctionStates"
    directory: "Directory"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, help="name of the deployed stack (default: %(default)s)")


def add_tenant_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", default="default", type=_tenant, help="default: %(default)s")


@contextmanager
def registry(name: str) -> Generator[Registry]:
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters import dynamodb  # noqa: PLC0415 - see _aws

        client, table = boto3.client("dynamodb"), outputs["RegistryTableName"]
        yield Registry(
            api_keys=dynamodb.DynamoApiKeys(client, table),
            settings=dynamodb.DynamoRuntimeSettings(client, table),
            breakers=dynamodb.DynamoBreakers(client, table),
            functions=dynamodb.DynamoFunctionStates(client, table),
            directory=dynamodb.DynamoDirectory(client, table),
        )


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of the stack, and whoever gives executors theirs."""

    stack: "MasterKeyStore"
    placer: "Placer"


@contextmanager
def retry(name: str) -> "Generator[Retry]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.sqs import SetAside, SqsQueue  # noqa: PLC0415 - see _aws
        from signpost.cli.deliveries import Retry  # noqa: PLC0415 - it imports this module

        sqs = boto3.client("sqs")
        yield Retry(
            unheard=SetAside(lambda: sqs, outputs["UnheardChangesUrl"]),
            failed=SetAside(lambda: sqs, outputs["FailedDeliveriesUrl"]),
            changes=SqsQueue(lambda: sqs, outputs["ChangesUrl"]),
            deliveries=SqsQueue(lambda: sqs, outputs["DeliveryQueueUrl"]),
        )


@contextmanager
def failed_work(name: str) -> "Generator[FailedWork]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.sqs import SetAside, SqsQueue  # noqa: PLC0415 - see _aws
        from signpost.cli.failed_work import FailedWork  # noqa: PLC0415 - it imports this module

        sqs = boto3.client("sqs")
        failed, work = outputs["FailedWorkUrl"], outputs["WorkQueueUrl"]
        yield FailedWork(SetAside(lambda: sqs, failed), SqsQueue(lambda: sqs, work))


@contextmanager
def redrive(name: str) -> "Generator[Redrive[GivenUp]]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws
        from botocore.config import Config  # noqa: PLC0415 - see _aws

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb.outbox import KEPT_FOR  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb.outbox_times import DynamoOutboxTimes  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb.shown_steps import ShownSteps  # noqa: PLC0415 - see _aws
        from signpost.adapters.lambdas import LambdaLink  # noqa: PLC0415 - see _aws
        from signpost.adapters.sqs import SetAside  # noqa: PLC0415 - see _aws
        from signpost.adapters.undelivered import UndeliveredChanges  # noqa: PLC0415 - see _aws
        from signpost.cli.redrive import PATIENCE, ByPlace, ByTime, Redrive, Teller  # noqa: PLC0415 - see _aws
        from signpost.wiring.clients import CALLS  # noqa: PLC0415 - see _aws

        patient = CALLS.merge(Config(read_timeout=PATIENCE))
        lambdas, clock = boto3.client("lambda", config=patient), SystemClock()
        changes = DynamoOutboxTimes(boto3.client("dynamodb"), outputs["RegistryTableName"])
        steps = ShownSteps(boto3.client("dynamodbstreams"))
        yield Redrive(
            queue=UndeliveredChanges(SetAside(lambda: boto3.client("sqs"), outputs["UndeliveredChangesUrl"])),
            tellers=[
                Teller(outputs["RelayFunctionName"], ByTime(changes, kept_for=KEPT_FOR, clock=clock)),
                Teller(outputs["HeraldFunctionName"], ByPlace(steps.again)),
            ],
            link=LambdaLink(lambda: lambdas, clock=clock, left_behind=lambda _: None),
            clock=clock,
        )


@contextmanager
def keys(name: str) -> Generator[Keys]:
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb import DynamoDirectory  # noqa: PLC0415 - see _aws
        from signpost.adapters.executor_configuration import LambdaConfiguration  # noqa: PLC0415 - see _aws
        from signpost.adapters.lambdas import LambdaLink  # noqa: PLC0415 - see _aws
        from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedSecrets  # noqa: PLC0415 - see _aws
        from signpost.execution.executor_keys import ExecutorKeys  # noqa: PLC0415 - see _aws
        from signpost.execution.offers import Offers  # noqa: PLC0415 - see _aws
        from signpost.execution.placement import Placer  # noqa: PLC0415 - see _aws

        secrets, lambdas, clock = boto3.client("secretsmanager"), boto3.client("lambda"), SystemClock()
        stack_keys = SecretMasterKeys(lambda: secrets, outputs["MasterSecretArn"])
        directory = DynamoDirectory(boto3.client("dynamodb"), outputs["RegistryTableName"])
        link = LambdaLink(lambda: lambdas, clock=clock, left_behind=lambda _: None)
        placer = Placer(
            offers=Offers(inspector=LambdaConfiguration(lambda: lambdas), link=link, clock=clock),
            keys=ExecutorKeys(stack_keys=stack_keys, secrets=TaggedSecrets(lambda: secrets), directory=directory),
            directory=directory,
        )
        yield Keys(stack_keys, placer)


def beside(name: str) -> Mapping[str, str]:
    """What an executor in a stack of its own has to know of this one; and `McpUrl`, where its tools will be, and
    `ExecutorFunctions`, which this one may call."""
    with _described(name) as stack:
        outputs = _outputs(stack)
        given = {one.get("ParameterKey", ""): one.get("ParameterValue", "") for one in stack.get("Parameters", [])}
        named = {output: outputs[output] for output in ("LayerArn", "GatewayFunctionArn", "McpUrl")}
        asked = ("Architecture", "EndpointUrl", "ExecutorFunctions")
        return {**named, **{parameter: given.get(parameter, "") for parameter in asked}}


@contextmanager
def runs(name: str) -> "Generator[Runs]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb import DynamoRevisionRows  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb.instances import DynamoInstances  # noqa: PLC0415 - see _aws
        from signpost.adapters.s3 import S3Values  # noqa: PLC0415 - see _aws
        from signpost.cli.runs import Runs  # noqa: PLC0415 - see _aws
        from signpost.execution.revisions import RevisionView  # noqa: PLC0415 - see _aws
        from signpost.registry.catalogue import CatalogueView  # noqa: PLC0415 - see _aws

        tables, s3, clock = boto3.client("dynamodb"), boto3.client("s3"), SystemClock()
        registry, bucket = outputs["RegistryTableName"], outputs["ContentBucketName"]
        values, rows = S3Values(lambda: s3, bucket), DynamoRevisionRows(tables, registry)
        yield Runs(
            instances=DynamoInstances(tables, outputs["WorkflowsTableName"], values),
            definitions=DynamoDefinitionTexts(tables, registry, values),
            catalogue=CatalogueView(revisions=RevisionView(rows=rows, clock=clock), texts=values),
            clock=clock,
            mcp_url=outputs["McpUrl"],
        )


@contextmanager
def rulebook(name: str) -> "Generator[Rulebook]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.clock import SystemClock  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb import DynamoPlacedFunctions, DynamoRevisionRows  # noqa: PLC0415 - see _aws
        from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts  # noqa: PLC0415 - see _aws
        from signpost.adapters.s3 import S3Values  # noqa: PLC0415 - see _aws
        from signpost.cli.policy import Rulebook  # noqa: PLC0415 - it imports this module
        from signpost.execution.functions import FunctionLists  # noqa: PLC0415 - see _aws
        from signpost.execution.revisions import RevisionView  # noqa: PLC0415 - see _aws
        from signpost.registry.catalogue import CatalogueView  # noqa: PLC0415 - see _aws

        tables, s3, clock = boto3.client("dynamodb"), boto3.client("s3"), SystemClock()
        table, bucket = outputs["RegistryTableName"], outputs["ContentBucketName"]
        values = S3Values(lambda: s3, bucket)
        revisions = RevisionView(rows=DynamoRevisionRows(tables, table), clock=clock)
        yield Rulebook(
            catalogue=CatalogueView(revisions=revisions, texts=values),
            texts=DynamoDefinitionTexts(tables, table, values),
            lists=FunctionLists(placed=DynamoPlacedFunctions(tables, table), revisions=revisions),
        )


@contextmanager
def _aws(name: str) -> Generator[Mapping[str, str]]:
    """The outputs of the stack; around what is done with them, AWS's refusals become sentences."""
    with _described(name) as stack:
        yield _outputs(stack)


@contextmanager
def _described(name: str) -> "Generator[StackTypeDef]":
    # boto3 takes a tenth of a second to import, which `signpost --help` should not pay.
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


def _outputs(stack: "StackTypeDef") -> Mapping[str, str]:
    return {output.get("OutputKey", ""): output.get("OutputValue", "") for output in stack.get("Outputs", [])}


def _tenant(text: str) -> str:
    if not TENANT.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"a tenant name is made of a-z, 0-9 and -, at most 32 characters; not {text!r}"
        )
    return text
