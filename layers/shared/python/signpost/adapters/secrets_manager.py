"""The stack's master keys, the keys of executors, and secrets of executors' functions, in Secrets Manager."""

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of
from signpost.errors import PermanentlyUnavailable
from signpost.model import MasterKeys

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


EXECUTOR_KEYS_TAG = "signpost:executor-keys"
"""The tag of a secret that may be overwritten with the keys of an executor; a secret without it is left alone."""


class TaggedExecutorSecrets:
    """Checks and writes the secrets of executors, each with the keys of one executor."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]") -> None:
        self._make_client = client

    @cached_property
    def _client(self) -> "SecretsManagerClient":
        return self._make_client()

    def problem_with(self, secret: str) -> str | None:
        try:
            described = call(self._client.describe_secret, SecretId=secret)
        except ClientError as fault:
            if code_of(fault) == "ResourceNotFoundException":
                return f"there is no secret {secret}."
            if code_of(fault) == "AccessDeniedException":  # the policy allows only secrets with the tag
                return f"its secret {secret} cannot be read. Add the tag {EXECUTOR_KEYS_TAG} to it."
            raise
        if described.get("ARN") != secret:
            return f"it does not name its secret by the ARN. Use {described.get('ARN')}."
        if not any(tag.get("Key") == EXECUTOR_KEYS_TAG for tag in described.get("Tags", [])):
            return f"its secret {secret} has no tag {EXECUTOR_KEYS_TAG}. Add it if executor keys may replace its text."
        return None

    def write(self, secret: str, keys: MasterKeys) -> bool:
        try:
            SecretMasterKeys(lambda: self._client, secret).write(keys)
        except ClientError as fault:
            if code_of(fault) in ("ResourceNotFoundException", "InvalidRequestException"):  # deleted, or soon deleted
                return False
            raise
        return True


class SecretMasterKeys:
    """Reads and writes the master keys. Takes a function that makes the client, since most requests need no key."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]", secret_arn: str) -> None:
        self._make_client = client
        self._secret_arn = secret_arn

    @cached_property
    def _client(self) -> "SecretsManagerClient":
        return self._make_client()

    def read(self) -> MasterKeys:
        stored = json.loads(call(self._client.get_secret_value, SecretId=self._secret_arn)["SecretString"])
        return MasterKeys(current=stored["current"], previous=stored.get("previous"))

    def write(self, keys: MasterKeys) -> None:
        stored = {"current": keys.current, "previous": keys.previous}
        call(self._client.put_secret_value, SecretId=self._secret_arn, SecretString=json.dumps(stored))


class SecretsManagerTexts:
    """Reads secrets as the text that their owner stored."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]") -> None:
        self._make_client = client

    @cached_property
    def _client(self) -> "SecretsManagerClient":
        return self._make_client()

    def read(self, secret: str) -> str:
        try:
            stored = call(self._client.get_secret_value, SecretId=secret)
        except ClientError as fault:
            raise PermanentlyUnavailable(code_of(fault)) from fault
        if "SecretString" not in stored:
            raise PermanentlyUnavailable("it contains binary data, not text")
        return stored["SecretString"]
