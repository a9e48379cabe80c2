"""The sample API key of a laptop cloud, and the commands that connect with it."""

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
    """Store the sample key in the stack and return the lines that tell the developer how to connect with it."""
    key = _load_or_create_key(home / KEY_FILE)
    _store(key, stack)
    url = stack.outputs["McpUrl"]
    header = f'--header "Authorization: Bearer {key}"'
    inspector = f"npx @modelcontextprotocol/inspector@2.12.0 --cli {url} --transport http --method tools/list"
    return (
        f"API key       {key}",
        f"Other hosts   {url}?names=portable if tool names may have letters, digits, _ and - only",
        f"Claude Code   claude mcp add --transport http signpost {url} {header}",
        f"Inspector     {inspector} {header}",
        "As a person   .venv/bin/signpost login && .venv/bin/signpost token",
        'Operator      eval "$(make env)"; signpost keys list',
    )


def _load_or_create_key(file: Path) -> PresentedKey:
    """Return the key in the file, or write a new one.

    The key stays the same as long as the cloud's home exists, so a configured client keeps working.
    """
    existing = parse_api_key(file.read_text().strip()) if file.exists() else None
    if existing is not None:
        return existing
    key = new_key(TENANT)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(f"{key}\n")
    return key


def _store(key: PresentedKey, stack: DeployedStack) -> None:
    """Add the key to the registry table, unless it is stored already: a stored key may be revoked and stays so."""
    keys = DynamoApiKeys(boto3.client("dynamodb"), stack.outputs["RegistryTableName"])
    keys.add(stored_key(key, "sample key of the laptop cloud", created_at=time.time()))
