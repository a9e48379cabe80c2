"""The AWS account, region and credentials that a function on this machine is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

NO_ENDPOINT = "http://127.0.0.1:9"
"""The discard port of this machine: a call to AWS fails at once and cannot leave the machine."""


@dataclass(frozen=True, slots=True)
class Account:
    endpoint: str = NO_ENDPOINT
    region: str = "us-east-1"
    account_id: str = "000000000000"
    access_key_id: str = "local"
    secret_access_key: str = "local"  # noqa: S105  # no account knows it
    session_token: str = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Take the region of an environment and, only if AWS_ENDPOINT_URL is set, its credentials."""
        region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or cls().region
        endpoint = environ.get("AWS_ENDPOINT_URL")
        if not endpoint:
            return cls(region=region)
        return cls(
            endpoint=endpoint,
            region=region,
            access_key_id=environ.get("AWS_ACCESS_KEY_ID") or cls().access_key_id,
            secret_access_key=environ.get("AWS_SECRET_ACCESS_KEY") or cls().secret_access_key,
            session_token=environ.get("AWS_SESSION_TOKEN", ""),
        )

    def variables(self) -> dict[str, str]:
        variables = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_SESSION_TOKEN": self.session_token,
        }
        return {name: value for name, value in variables.items() if value}

    def pseudo_parameters(self, stack: str) -> dict[str, str]:
        return {
            "AWS::AccountId": self.account_id,
            "AWS::Partition": "aws",
            "AWS::Region": self.region,
            "AWS::StackName": stack,
            "AWS::URLSuffix": "amazonaws.com",
        }

    def function_arn(self, name: str) -> str:
        return f"arn:aws:lambda:{self.region}:{self.account_id}:function:{name}"
