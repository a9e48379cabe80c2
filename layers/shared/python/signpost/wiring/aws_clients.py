"""The AWS clients of a Lambda function or of an operator, with their time-outs and retries."""

from functools import cache, cached_property
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

CLIENT_CONFIG = Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
# One attempt: a second one may run a slow function twice. The read timeout is longer than every caller's deadline.
CALL_CONFIG = Config(connect_timeout=1, read_timeout=60, retries={"total_max_attempts": 1}, max_pool_connections=32)
LONG_CALL_CONFIG = CALL_CONFIG.merge(Config(read_timeout=900, tcp_keepalive=True))
"""For calls with no waiting client: as long as a function may run, over connections that are kept alive."""
SIGNATURE_CONFIG = Config(signature_version="s3v4")
"""S3 signs links to objects with version 4, which every region accepts."""


class AwsClients:
    """The AWS clients of one process, each made once and only if it is used.

    Adapters of tables take the client of DynamoDB itself, so it is made at init. All others take a function that
    makes theirs: many invocations need none. `call_config` is for the client that invokes Lambda functions, `config`
    for all others.
    """

    def __init__(self, config: Config = CLIENT_CONFIG, call_config: Config = CALL_CONFIG) -> None:
        s3_config = config.merge(SIGNATURE_CONFIG)
        self._config = config
        self.s3: Callable[[], S3Client] = cache(lambda: boto3.client("s3", config=s3_config))
        self.secrets: Callable[[], SecretsManagerClient] = cache(lambda: boto3.client("secretsmanager", config=config))
        self.lambdas: Callable[[], LambdaClient] = cache(lambda: boto3.client("lambda", config=call_config))
        self.sqs: Callable[[], SQSClient] = cache(lambda: boto3.client("sqs", config=config))
        self.events: Callable[[], EventBridgeClient] = cache(lambda: boto3.client("events", config=config))

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        return boto3.client("dynamodb", config=self._config)
