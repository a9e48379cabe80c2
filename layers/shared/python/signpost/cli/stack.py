"""The deployed stack an operator works on, with the operator's own AWS credentials."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed

if TYPE_CHECKING:
    from signpost.ports import ApiKeys, MasterKeyStore

DEFAULT_STACK = "signpost"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, help="name of the deployed stack (default: %(default)s)")


def outputs(name: str) -> Mapping[str, str]:
    # boto3 takes a tenth of a second to import, which `signpost --help` should not pay.
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

    try:
        stacks = boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    except (BotoCoreError, ClientError) as fault:
        raise CommandFailed(
            f"The stack {name!r} cannot be read: {fault} Check --stack, AWS_PROFILE and AWS_REGION."
        ) from fault
    return {output.get("OutputKey", ""): output.get("OutputValue", "") for output in stacks[0].get("Outputs", [])}


def api_keys(name: str) -> "ApiKeys":
    import boto3  # noqa: PLC0415 - as above

    from signpost.adapters.dynamodb import DynamoApiKeys  # noqa: PLC0415 - as above

    return DynamoApiKeys(boto3.client("dynamodb"), outputs(name)["RegistryTableName"])


def master_keys(name: str) -> "MasterKeyStore":
    import boto3  # noqa: PLC0415 - as above

    from signpost.adapters.secrets_manager import SecretMasterKeys  # noqa: PLC0415 - as above

    return SecretMasterKeys(lambda: boto3.client("secretsmanager"), outputs(name)["MasterSecretArn"])
