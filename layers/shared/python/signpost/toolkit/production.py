"""Which adapter stands behind which port of the harness in an AWS account. One a warm function, made at init."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters.clock import SystemClock
from signpost.adapters.s3 import S3KeptResults
from signpost.adapters.secrets_manager import SecretMasterKeys, SecretsManagerTexts
from signpost.policy.capabilities import TokenVerifier
from signpost.policy.key_ring import KeyRing
from signpost.ports import Clock
from signpost.schema.validation import Validators
from signpost.toolkit.context import World
from signpost.toolkit.function import DeclarationError, Hosting
from signpost.toolkit.gateway_calls import GatewayCalls
from signpost.toolkit.harness import Harness
from signpost.toolkit.log import Log
from signpost.toolkit.secrets import Secrets, named_in

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient


def harness_of(hosting: Hosting, environment: Mapping[str, str]) -> Harness:
    """Raises DeclarationError."""
    own, clock = _own_secret(environment), SystemClock()
    manager = _secrets_manager()
    log = Log(environment.get("AWS_LAMBDA_FUNCTION_NAME", ""))
    keys = KeyRing(store=SecretMasterKeys(lambda: manager, own), clock=clock)
    return Harness(
        hosting,
        tokens=TokenVerifier(keys, clock=clock),
        clock=clock,
        validators=Validators(),
        world=World(
            nested=_nested(environment, clock, log),
            secrets=Secrets(named_in(environment), SecretsManagerTexts(lambda: manager), clock),
            log=log,
        ),
        kept_results=_kept_results(environment),
    )


def _own_secret(environment: Mapping[str, str]) -> str:
    secret = environment.get("EXECUTOR_KEY_SECRET_ARN")
    if not secret:
        raise DeclarationError(
            "EXECUTOR_KEY_SECRET_ARN is not set: it names the secret with the keys of this executor's tokens."
        )
    return secret


def _secrets_manager() -> "SecretsManagerClient":
    # Only who builds for production pays for the SDK, and does so at init, where the processor is ours alone.
    import boto3  # noqa: PLC0415

    return boto3.client("secretsmanager", config=_patience())


def _nested(environment: Mapping[str, str], clock: Clock, log: Log) -> GatewayCalls | None:
    gateway = environment.get("GATEWAY_FUNCTION")
    if not gateway:
        return None
    # Not before: it imports botocore.
    from signpost.adapters.lambdas import LambdaLink  # noqa: PLC0415

    def left_behind(thread: str) -> None:
        log.event("WARNING", "left behind", threads=[thread])

    return GatewayCalls(LambdaLink(_lambda, clock=clock, left_behind=left_behind), gateway)


def _lambda() -> "LambdaClient":
    import boto3  # noqa: PLC0415 - as in _secrets_manager
    from botocore.config import Config  # noqa: PLC0415 - as in _secrets_manager

    # A second attempt may run a slow function twice; that of whoever called ends this one's time.
    return boto3.client("lambda", config=Config(connect_timeout=1, read_timeout=60, retries={"total_max_attempts": 1}))


def _kept_results(environment: Mapping[str, str]) -> S3KeptResults | None:
    bucket = environment.get("CONTENT_BUCKET")
    return S3KeptResults(_s3, bucket) if bucket else None


def _s3() -> "S3Client":
    import boto3  # noqa: PLC0415 - as in _secrets_manager

    return boto3.client("s3", config=_patience())


def _patience() -> "Config":
    from botocore.config import Config  # noqa: PLC0415 - as in _secrets_manager

    return Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
