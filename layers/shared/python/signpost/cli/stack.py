"""The deployed stack an operator works on, with the operator's own AWS credentials."""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed

if TYPE_CHECKING:
    from signpost.ports import ApiKeys, MasterKeyStore

DEFAULT_STACK = "signpost"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, help="name of the deployed stack (default: %(default)s)")


@contextmanager
def api_keys(name: str) -> "Generator[ApiKeys]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.dynamodb import DynamoApiKeys  # noqa: PLC0415 - see _aws

        yield DynamoApiKeys(boto3.client("dynamodb"), outputs["RegistryTableName"])


@contextmanager
def master_keys(name: str) -> "Generator[MasterKeyStore]":
    with _aws(name) as outputs:
        import boto3  # noqa: PLC0415 - see _aws

        from signpost.adapters.secrets_manager import SecretMasterKeys  # noqa: PLC0415 - see _aws

        yield SecretMasterKeys(lambda: boto3.client("secretsmanager"), outputs["MasterSecretArn"])


@contextmanager
def _aws(name: str) -> Generator[Mapping[str, str]]:
    """The outputs of the stack; around what is done with them, AWS's refusals become sentences."""
    # boto3 takes a tenth of a second to import, which `signpost --help` should not pay.
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

    from signpost.errors import Unavailable  # noqa: PLC0415 - as above

    try:
        stacks = boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        yield {output.get("OutputKey", ""): output.get("OutputValue", "") for output in stacks[0].get("Outputs", [])}
    except KeyError as fault:
        raise CommandFailed(f"The stack {name!r} has no output {fault}. Is it a stack of Signpost?") from fault
    except (BotoCoreError, ClientError, Unavailable) as fault:
        reason = f"{fault}".rstrip(".")
        raise CommandFailed(f"Stack {name!r}: {reason}. Check --stack, AWS_PROFILE and AWS_REGION.") from fault
