"""The operator's commands, as processes with AWS credentials, on a deployed stack."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from signpost.adapters.dynamodb import DynamoBreakers, DynamoDirectory
from signpost.contract import BreakerState, Executor, HostedFunction
from signpost.identity.api_keys import LOOKUP_LIFETIME
from tests.support.commands import Run, rows
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import seen_within

pytestmark = pytest.mark.cloud


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
    seen_within(LOOKUP_LIFETIME, "the key to be refused", lambda: both.ask(key).status, lambda status: status == 401)


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


def registry(laptop: Laptop, stack: Stack) -> tuple[Any, str]:
    return laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"]


def test_settings_are_set_listed_and_unset(both: Stack, signpost: Run) -> None:
    del both  # it must be there
    of_tenant = ("--tenant", "settings", "--stack", "both")
    of_function = ("--function", "email::send", *of_tenant)
    (everywhere,) = rows(signpost("settings", "set", "breaker_failures", "5", *of_tenant).stdout)
    (here,) = rows(signpost("settings", "set", "tool_timeout_ms", "5000", *of_function).stdout)
    assert everywhere == {"function": None, "setting": "breaker_failures", "value": 5}
    assert here == {"function": "email::send", "setting": "tool_timeout_ms", "value": 5_000}
    assert rows(signpost("settings", "list", *of_tenant).stdout) == [everywhere, here]
    assert rows(signpost("settings", "list", *of_function).stdout) == [here]
    assert rows(signpost("settings", "unset", "tool_timeout_ms", *of_function).stdout) == [{**here, "value": None}]
    assert rows(signpost("settings", "list", *of_tenant).stdout) == [everywhere]
    again = signpost("settings", "unset", "tool_timeout_ms", *of_function)
    assert again.returncode == 1
    assert "is not set for function email::send" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tool_timeout", "5000"), "Did you mean tool_timeout_ms?"),
        (("tool_timeout_ms", "0"), "from 1 to 900000"),
        (("shipped_content", "0", "--function", "slow::report"), "leave out --function"),
        (("tool_timeout_ms", "6001", "--function", "slow::report"), "ends calls after 6000 ms"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_in_a_sentence(
    laptop: Laptop, both: Stack, signpost: Run, arguments: tuple[str, ...], says: str
) -> None:
    directory = DynamoDirectory(*registry(laptop, both))
    directory.place("refusals", Executor("arn:slow", "arn:slow-keys", 6_000), [HostedFunction("slow::report")])
    done = signpost("settings", "set", *arguments, "--tenant", "refusals", "--stack", "both")
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert rows(signpost("settings", "list", "--tenant", "refusals", "--stack", "both").stdout) == []


def test_an_open_breaker_is_listed_and_reset(laptop: Laptop, both: Stack, signpost: Run) -> None:
    breakers, of_tenant = DynamoBreakers(*registry(laptop, both)), ("--tenant", "breakers", "--stack", "both")
    breakers.open("breakers", "email::send", BreakerState(1_800_000_000.5, 3, "timed_out"))
    breakers.open("breakers", "files::read", BreakerState(1_800_000_000, 4, "crashed", probing_until=4_000_000_000))
    email, files = rows(signpost("breakers", "list", *of_tenant).stdout)
    assert email == {
        "function": "email::send",
        "state": "open",
        "failures": 3,
        "last_failure": "timed_out",
        "until": "2027-01-15T08:00:00+00:00",
    }
    assert (files["function"], files["state"]) == ("files::read", "probing")
    for was_open in (True, False):
        (done,) = rows(signpost("breakers", "reset", "email::send", *of_tenant).stdout)
        assert done == {"function": "email::send", "state": "closed", "was_open": was_open}
    assert [row["function"] for row in rows(signpost("breakers", "list", *of_tenant).stdout)] == ["files::read"]


def test_help_comes_at_once(signpost: Run) -> None:
    assert "keys" in signpost("--help").stdout
