"""The commands of docs/operations.md, run in their order on the laptop cloud."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from local.stack import PROJECT, machine_architecture, tool_environment
from tests.support.laptop import Laptop
from tests.support.project_view import project_view

pytestmark = pytest.mark.cloud

PAGE = PROJECT / "docs/operations.md"
# What an account need not be told: where AWS is, and what this machine can run.
SAM = """#!/usr/bin/env bash
set -euo pipefail
arguments=() ; added=no
for argument in "$@"; do
    arguments+=("$argument")
    if [ "$argument" = --parameter-overrides ]; then arguments+=({extra}); added=yes; fi
done
case "$1-$added" in build-no|deploy-no) arguments+=(--parameter-overrides {extra}) ;; esac
exec {sam} "${{arguments[@]}}"
"""


def blocks() -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def remains(laptop: Laptop) -> set[str]:
    """What holds data; the bucket of SAM itself is not of the stack."""
    tables = laptop.client("dynamodb").list_tables()["TableNames"]
    buckets = [bucket["Name"] for bucket in laptop.client("s3").list_buckets()["Buckets"]]
    return {*tables, *(name for name in buckets if not name.startswith("aws-sam-cli"))}


@pytest.fixture
def shell_environment(laptop: Laptop, tmp_path: Path) -> dict[str, str]:
    environment = {**tool_environment(), **laptop.emulator.environment()}
    shim = tmp_path / "bin" / "sam"
    shim.parent.mkdir()
    extra = f"Architecture={machine_architecture()} EndpointUrl={laptop.emulator.url}"
    shim.write_text(SAM.format(extra=extra, sam=PROJECT / ".tools/sam/bin/sam"))
    shim.chmod(0o755)
    (shim.parent / "aws").symlink_to(PROJECT / ".tools/aws/bin/aws")
    return {**environment, "PATH": f"{shim.parent}{os.pathsep}{environment['PATH']}", "AWS_PAGER": ""}


def test_every_block_runs_and_nothing_remains_at_the_end(
    laptop: Laptop, shell_environment: dict[str, str], tmp_path: Path
) -> None:
    before = remains(laptop)
    script = "set -euo pipefail\n" + "\n".join(blocks())
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=project_view(tmp_path / "project"),
        env=shell_environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert '"state": "revoked"' in done.stdout
    assert '{"function": "email::send", "setting": "tool_timeout_ms", "value": 5000}' in done.stdout
    assert '"state": "closed", "was_open": false' in done.stdout
    assert "+ handbook\npublished: 1 added, 0 changed, 0 same, 0 removed\n" in done.stdout
    # The restored table had the keys: the list after the restore shows what the list before it did.
    assert done.stdout.count('"name": "publisher"') == 2
    assert remains(laptop) == before
