"""The registry function."""

from collections.abc import Mapping

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.cloudformation import put_answer
from signpost.adapters.dynamodb import DynamoDirectory
from signpost.adapters.executor_configuration import LambdaConfiguration
from signpost.adapters.lambdas import LambdaLink
from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedSecrets
from signpost.deployment import Deployment
from signpost.execution.placement import Placer
from signpost.settings import registry_settings
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CALLS, CLIENT


def deployment(environment: Mapping[str, str]) -> Deployment:
    settings = registry_settings(environment)
    telemetry = Telemetry("registry")
    clock = SystemClock()
    secrets = boto3.client("secretsmanager", config=CLIENT)
    lambdas = boto3.client("lambda", config=CALLS)
    placer = Placer(
        inspector=LambdaConfiguration(lambda: lambdas),
        link=LambdaLink(lambda: lambdas, clock=clock, left_behind=telemetry.left_behind),
        stack_keys=SecretMasterKeys(lambda: secrets, settings.master_secret_arn),
        secrets=TaggedSecrets(secrets),
        directory=DynamoDirectory(boto3.client("dynamodb", config=CLIENT), settings.registry_table),
        clock=clock,
    )
    return Deployment(placer=placer, answer=put_answer, telemetry=telemetry)
