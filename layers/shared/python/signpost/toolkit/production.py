"""Composition of the harness in an AWS account: the adapters behind its ports. It is built once per sandbox, at
init."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters.clock import SystemClock
from signpost.adapters.s3 import S3KeptResults
from signpost.adapters.secrets_manager import SecretMasterKeys, SecretsManagerTexts
from signpost.schema.validation import Validators
from signpost.signing.capability_tokens import TokenVerifier
from signpost.signing.key_ring import KeyRing
from signpost.toolkit.context import ContextServices
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.function import DeclarationError, ExecutorFunctions
from signpost.toolkit.gateway_calls import GatewayCalls
from signpost.toolkit.harness import Harness
from signpost.toolkit.log import Log
from signpost.toolkit.secrets import Secrets, find_secret_arns

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient

    from signpost.ports import Clock


def build_harness(hosting: ExecutorFunctions, environment: Mapping[str, str]) -> Harness:
    """Build the harness from the environment variables of the executor. Raises DeclarationError."""
    key_secret_arn, clock = _key_secret_arn(environment), SystemClock()
    manager = _secrets_manager_client()
    log = Log(environment.get("AWS_LAMBDA_FUNCTION_NAME", ""))
    gateway = _build_gateway_calls(environment, clock, log)
    keys = KeyRing(store=SecretMasterKeys(lambda: manager, key_secret_arn), clock=clock)
    return Harness(
        hosting,
        tokens=TokenVerifier(keys, clock=clock),
        clock=clock,
        validators=Validators(nested_alarm),
        services=ContextServices(
            nested=gateway,
            operations=gateway,
            secrets=Secrets(find_secret_arns(environment), SecretsManagerTexts(lambda: manager), clock),
            log=log,
        ),
        kept_results=_build_kept_results(environment),
    )


def _key_secret_arn(environment: Mapping[str, str]) -> str:
    secret = environment.get("EXECUTOR_KEY_SECRET_ARN")
    if not secret:
        raise DeclarationError(
            "EXECUTOR_KEY_SECRET_ARN is not set: set it to the ARN of the secret with this executor's token keys."
        )
    return secret


def _secrets_manager_client() -> "SecretsManagerClient":
    # Imported here: only production needs the SDK, and imports it at init, where the full processor is available.
    import boto3  # noqa: PLC0415

    return boto3.client("secretsmanager", config=_client_config())


def _build_gateway_calls(environment: Mapping[str, str], clock: "Clock", log: Log) -> GatewayCalls | None:
    gateway = environment.get("GATEWAY_FUNCTION")
    if not gateway:
        return None
    # Imported on first use: it imports botocore.
    from signpost.adapters.lambdas import BotoLambdaTransport  # noqa: PLC0415

    def log_left_behind(thread: str) -> None:
        log.write_event("WARNING", "left behind", threads=[thread])

    return GatewayCalls(BotoLambdaTransport(_lambda_client, clock=clock, log_abandoned_call=log_left_behind), gateway)


def _lambda_client() -> "LambdaClient":
    import boto3  # noqa: PLC0415 - as in _secrets_manager_client
    from botocore.config import Config  # noqa: PLC0415 - as in _secrets_manager_client

    # No retries: a second attempt may run a slow function twice. The deadline of the call ends the wait.
    return boto3.client("lambda", config=Config(connect_timeout=1, read_timeout=60, retries={"total_max_attempts": 1}))


def _build_kept_results(environment: Mapping[str, str]) -> S3KeptResults | None:
    bucket = environment.get("CONTENT_BUCKET")
    return S3KeptResults(_s3_client, bucket) if bucket else None


def _s3_client() -> "S3Client":
    import boto3  # noqa: PLC0415 - as in _secrets_manager_client

    return boto3.client("s3", config=_client_config())


def _client_config() -> "Config":
    from botocore.config import Config  # noqa: PLC0415 - as in _secrets_manager_client

    return Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
