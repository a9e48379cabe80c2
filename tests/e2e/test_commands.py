"""The operator's commands, as processes with AWS credentials, on a deployed stack."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signpost.identity.api_keys import REVOKED_WITHIN
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

type Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def signpost(laptop: Laptop) -> Run:
    environment: Mapping[str, str] = {**laptop.emulator.environment(), "PATH": os.environ["PATH"]}

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", "import sys; from signpost.cli import main; sys.exit(main())", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    return run


def rows(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


@pytest.mark.invariant(4)
def test_a_key_is_created_used_listed_and_revoked(both: Stack, signpost: Run) -> None:
    created = signpost("keys", "create", "ci", "--role", "author", "--expires-in", "30d", "--stack", "both")
    key = created.stdout.strip()
    assert both.ask(key).status == 200
    (row,) = [row for row in rows(signpost("keys", "list", "--stack", "both").stdout) if row["name"] == "ci"]
    assert (row["state"], row["roles"]) == ("valid", ["author"])
    assert key.split("_")[3] not in json.dumps(row)
    revoked = signpost("keys", "revoke", row["id"], "--stack", "both")
    assert rows(revoked.stdout)[0]["state"] == "revoked"
    assert _refused_within(both, key, REVOKED_WITHIN)


def _refused_within(stack: Stack, key: str, seconds: float) -> bool:
    """Asks until the key is refused. Every gateway remembers a key for two seconds at most."""
    deadline = time.monotonic() + seconds + 1
    while time.monotonic() < deadline:
        if stack.ask(key).status == 401:
            return True
    return False


def test_keys_of_tenants_are_kept_apart(both: Stack, signpost: Run) -> None:
    key = signpost("keys", "create", "theirs", "--tenant", "acme", "--stack", "both").stdout.strip()
    assert key.startswith("sp_acme_")
    assert both.ask(key).status == 200
    assert "theirs" not in signpost("keys", "list", "--stack", "both").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("keys", "list", "--stack", "nowhere"), "nowhere"),
        (("keys", "revoke", "0a1b2c3d4e5f", "--stack", "both"), "no key"),
        (("keys", "create", "x", "--tenant", "No Tenant"), "tenant name"),
        (("keys", "create", "x", "--expires-in", "soon"), "30d"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    both: Stack, signpost: Run, arguments: tuple[str, ...], says: str
) -> None:
    del both  # it must be there
    done = signpost(*arguments)
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"])
def test_without_a_region_or_credentials_the_command_says_what_to_check(laptop: Laptop, missing: str) -> None:
    environment = {**laptop.emulator.environment(), "PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"}
    kept = {name: value for name, value in environment.items() if name not in (missing, "AWS_REGION")}
    command = [sys.executable, "-c", "import sys; from signpost.cli import main; sys.exit(main())", "keys", "list"]
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "AWS_PROFILE" in done.stderr
    assert "Traceback" not in done.stderr


def test_rotating_the_master_keys_keeps_the_previous_one(laptop: Laptop, both: Stack, signpost: Run) -> None:
    secrets, arn = laptop.client("secretsmanager"), both.deployed.outputs["MasterSecretArn"]
    before = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])
    assert signpost("secret", "rotate", "--stack", "both").returncode == 0
    after = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])
    assert after["previous"] == before["current"]
    assert after["current"] != before["current"]


def test_help_comes_at_once(signpost: Run) -> None:
    assert "keys" in signpost("--help").stdout
