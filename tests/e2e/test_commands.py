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
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_within

pytestmark = pytest.mark.cloud


@pytest.mark.invariant(4)
def test_a_key_is_created_used_listed_and_revoked(product_stack: Stack, signpost: ProcessRunner) -> None:
    options = ("--role", "author", "--expires-in", "30d", "--owner", "ada", "--stack", "both")
    created = signpost("keys", "create", "ci", *options)
    key = created.stdout.strip()
    assert product_stack.request(key).status == 200
    (row,) = [
        row for row in parse_json_lines(signpost("keys", "list", "--stack", "both").stdout) if row["name"] == "ci"
    ]
    assert (row["state"], row["roles"], row["owner"]) == ("valid", ["author"], "ada")
    assert key.split("_")[3] not in json.dumps(row)
    revoked = signpost("keys", "revoke", row["id"], "--stack", "both")
    assert parse_json_lines(revoked.stdout)[0]["state"] == "revoked"
    wait_within(
        LOOKUP_LIFETIME,
        "the key to be refused",
        lambda: product_stack.request(key).status,
        lambda status: status == 401,
    )


def test_keys_list_shows_only_the_keys_of_its_tenant(product_stack: Stack, signpost: ProcessRunner) -> None:
    key = signpost("keys", "create", "theirs", "--tenant", "acme", "--stack", "both").stdout.strip()
    assert key.startswith("sp_acme_")
    assert product_stack.request(key).status == 200
    assert "theirs" not in signpost("keys", "list", "--stack", "both").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("keys", "list", "--stack", "nowhere"), "nowhere"),
        (("keys", "revoke", "0a1b2c3d4e5f", "--stack", "both"), "no key"),
        (("keys", "create", "x", "--tenant", "No Tenant"), "tenant name"),
        (("keys", "create", "x", "--expires-in", "soon"), "30d"),
        (("keys", "create", "x", "--owner", "api-key:0a1b2c3d4e5f"), "the `sub` of a person's tokens"),
        (("keys", "create", "x", "--owner", " "), "the `sub` of a person's tokens"),
    ],
)
def test_a_failed_keys_command_prints_a_message_without_a_traceback(
    product_stack: Stack, signpost: ProcessRunner, arguments: tuple[str, ...], says: str
) -> None:
    del product_stack  # it must be there
    done = signpost(*arguments)
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"])
def test_a_missing_region_or_credential_fails_with_a_hint_about_the_profile(laptop: Laptop, missing: str) -> None:
    environment = {**laptop.emulator.environment(), "PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"}
    kept = {name: value for name, value in environment.items() if name not in (missing, "AWS_REGION")}
    command = [sys.executable, "-c", "import sys; from signpost.cli import main; sys.exit(main())", "keys", "list"]
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "AWS_PROFILE" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_rotation_of_the_master_keys_keeps_the_previous_key(
    laptop: Laptop, product_stack: Stack, signpost: ProcessRunner
) -> None:
    secrets, arn = laptop.client("secretsmanager"), product_stack.deployed.outputs["MasterSecretArn"]
    before = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])
    assert signpost("secret", "rotate", "--stack", "both").returncode == 0
    after = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])
    assert after["previous"] == before["current"]
    assert after["current"] != before["current"]


def open_registry_table(laptop: Laptop, stack: Stack) -> tuple[Any, str]:
    return laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"]


def test_settings_are_set_listed_and_unset(product_stack: Stack, signpost: ProcessRunner) -> None:
    del product_stack  # it must be there
    of_tenant = ("--tenant", "settings", "--stack", "both")
    of_function = ("--function", "email::send", *of_tenant)
    (everywhere,) = parse_json_lines(signpost("settings", "set", "breaker_failures", "5", *of_tenant).stdout)
    (here,) = parse_json_lines(signpost("settings", "set", "tool_timeout_ms", "5000", *of_function).stdout)
    assert everywhere == {"function": None, "setting": "breaker_failures", "value": 5}
    assert here == {"function": "email::send", "setting": "tool_timeout_ms", "value": 5_000}
    assert parse_json_lines(signpost("settings", "list", *of_tenant).stdout) == [everywhere, here]
    assert parse_json_lines(signpost("settings", "list", *of_function).stdout) == [here]
    assert parse_json_lines(signpost("settings", "unset", "tool_timeout_ms", *of_function).stdout) == [
        {**here, "value": None}
    ]
    assert parse_json_lines(signpost("settings", "list", *of_tenant).stdout) == [everywhere]
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
def test_an_invalid_setting_is_refused_with_a_message(
    laptop: Laptop, product_stack: Stack, signpost: ProcessRunner, arguments: tuple[str, ...], says: str
) -> None:
    directory = DynamoDirectory(*open_registry_table(laptop, product_stack))
    directory.place("refusals", Executor("arn:slow", "arn:slow-keys", 6_000), [HostedFunction("slow::report")])
    done = signpost("settings", "set", *arguments, "--tenant", "refusals", "--stack", "both")
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert parse_json_lines(signpost("settings", "list", "--tenant", "refusals", "--stack", "both").stdout) == []


def test_an_open_breaker_is_listed_and_reset(laptop: Laptop, product_stack: Stack, signpost: ProcessRunner) -> None:
    breakers, of_tenant = (
        DynamoBreakers(*open_registry_table(laptop, product_stack)),
        ("--tenant", "breakers", "--stack", "both"),
    )
    breakers.open("breakers", "email::send", BreakerState(1_800_000_000.5, 3, "timed_out"))
    breakers.open("breakers", "files::read", BreakerState(1_800_000_000, 4, "crashed", probing_until=4_000_000_000))
    email, files = parse_json_lines(signpost("breakers", "list", *of_tenant).stdout)
    assert email == {
        "function": "email::send",
        "principal": None,
        "state": "open",
        "failures": 3,
        "last_failure": "timed_out",
        "until": "2027-01-15T08:00:00+00:00",
    }
    assert (files["function"], files["state"]) == ("files::read", "probing")
    for was_open in (True, False):
        (done,) = parse_json_lines(signpost("breakers", "reset", "email::send", *of_tenant).stdout)
        assert done == {"function": "email::send", "state": "closed", "was_open": was_open}
    assert [row["function"] for row in parse_json_lines(signpost("breakers", "list", *of_tenant).stdout)] == [
        "files::read"
    ]


def test_help_lists_the_commands(signpost: ProcessRunner) -> None:
    assert "keys" in signpost("--help").stdout
