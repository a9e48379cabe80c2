"""The master keys of the stack in Secrets Manager."""

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.adapters.aws import call
from signpost.model import MasterKeys

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


class SecretsManagerStore:
    """The secrets of executors, each with the keys of one."""

    def __init__(self, client: "Callable[[], SecretsManagerClient]") -> None:
        self._make_client = client

    def keys(self, secret_arn: str) -> "SecretMasterKeys":
        return SecretMasterKeys(self._make_client, secret_arn)


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
