"""The master keys of the stack in Secrets Manager, and secrets of others'."""

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters.aws import call, code_of
from signpost.errors import Withheld
from signpost.model import MasterKeys

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


EXECUTOR_KEYS = "signpost:executor-keys"
"""The tag of a secret that is meant to be overwritten with the keys of an executor. No other is."""


class TaggedSecrets:
    """The secrets of executors, each with the keys of one."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]") -> None:
        self._make_client = client

    @cached_property
    def _client(self) -> "SecretsManagerClient":
        return self._make_client()

    def problem_with(self, secret: str) -> str | None:
        try:
            found = call(self._client.describe_secret, SecretId=secret)
        except ClientError as fault:
            if code_of(fault) == "ResourceNotFoundException":
                return f"there is no secret {secret}."
            if code_of(fault) == "AccessDeniedException":  # where only those with the tag are open to whoever asks
                return f"its secret {secret} cannot be looked at; has it the tag {EXECUTOR_KEYS}?"
            raise
        if found.get("ARN") != secret:
            return f"it names its secret by something else than the ARN {found.get('ARN')}."
        if not any(tag.get("Key") == EXECUTOR_KEYS for tag in found.get("Tags", [])):
            return f"its secret {secret} has no tag {EXECUTOR_KEYS}, and may be for something else."
        return None

    def write(self, secret: str, keys: MasterKeys) -> bool:
        try:
            SecretMasterKeys(lambda: self._client, secret).write(keys)
        except ClientError as fault:
            if code_of(fault) in ("ResourceNotFoundException", "InvalidRequestException"):  # gone, or about to be
                return False
            raise
        return True


class SecretMasterKeys:
    """Takes a function that makes the client: most requests need no key, so none is made before one does."""

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
    """Secrets whose text is whatever its owner put there."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]") -> None:
        self._make_client = client

    @cached_property
    def _client(self) -> "SecretsManagerClient":
        return self._make_client()

    def read(self, secret: str) -> str:
        try:
            found = call(self._client.get_secret_value, SecretId=secret)
        except ClientError as fault:
            raise Withheld(code_of(fault)) from fault
        if "SecretString" not in found:
            raise Withheld("it holds no text")
        return found["SecretString"]
