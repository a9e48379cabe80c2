"""The credentials a developer starts with, and the lines to paste that use them."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import boto3

from local.stack import DeployedStack
from signpost.adapters.dynamodb import DynamoApiKeys
from signpost.cli.keys import new_key, stored_key
from signpost.identity.api_keys import PresentedKey, parse_api_key

KEY_FILE = "sample-api-key"
TENANT = "default"


def sample_lines(stack: DeployedStack, home: Path) -> Sequence[str]:
    """Makes sure the sample key works, and says how to connect with it."""
    key = _kept_key(home / KEY_FILE)
    _store(key, stack)
    url = stack.outputs["McpUrl"]
    header = f'--header "Authorization: Bearer {key}"'
    inspector = f"npx @modelcontextprotocol/inspector@2.12.0 --cli {url} --transport http --method tools/list"
    return (
        f"API key       {key}",
        f"Claude Code   claude mcp add --transport http signpost {url} {header}",
        f"Inspector     {inspector} {header}",
        "As a person   .venv/bin/signpost login && .venv/bin/signpost token",
        'Operator      eval "$(make env)"; signpost keys list',
    )


def _kept_key(file: Path) -> PresentedKey:
    """The same key for as long as this cloud's home exists: a client once configured goes on working."""
    kept = parse_api_key(file.read_text().strip()) if file.exists() else None
    if kept is not None:
        return kept
    made = new_key(TENANT)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(f"{made}\n")
    return made


def _store(key: PresentedKey, stack: DeployedStack) -> None:
    """Adding is conditional: a key that is there already, revoked perhaps, stays as it is."""
    keys = DynamoApiKeys(boto3.client("dynamodb"), stack.outputs["RegistryTableName"])
    keys.add(stored_key(key, "sample key of the laptop cloud", created_at=time.time()))
