"""The commands of docs/operations.md, run in their order on the laptop cloud.

`make prove` runs both `sam build` as they are written. In `make test` each is the build that all stacks of the run
share: the same command for the same sources, with the template, the directory and the configuration named.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.sam import tool_environment
from local.stack import PROJECT, machine_architecture
from tests.support.effort import is_proof
from tests.support.laptop import Laptop
from tests.support.line_output import ShowLine
from tests.support.project_view import link_project

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
if [ "$1" = build ]; then {build}; fi
exec {sam} "${{arguments[@]}}"
"""
LAPTOP_PARAMETERS = ("Architecture", "EndpointUrl")
"""The parameters that `sam build` and `sam deploy` get here in addition."""
SHARED_BUILD = 'exec {python} -c "{code}"'
BUILD_CODE = (
    "import sys; from pathlib import Path; from local.progress import Progress; from local.stack import build; "
    "build('product', log=Path('{log}'), progress=Progress(sys.stderr))"
)
LONGEST_SECONDS = 900
"""Many times what all of it takes on a machine that has nothing else to do."""
BUILD = "sam build\n"
STEPS = 8
"""Blocks of the first deployment whose output the page has."""
SLOWEST = 8
"""Commands that a run of the page names."""


BLOCK = re.compile(
    r"^```bash\n(?P<script>.*?)^```$(?:\n\n<!-- prints -->\n```text\n(?P<printed>.*?)^```$)?", re.MULTILINE | re.DOTALL
)
MARK = "=== the output of block"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of commands of the page, with the lines that the page says it prints."""

    script: str
    printed: Sequence[str]


def blocks() -> list[Block]:
    found = BLOCK.finditer(PAGE.read_text())
    return [Block(one["script"], (one["printed"] or "").splitlines()) for one in found]


def build_script() -> str:
    """Return all blocks as one script, which marks where the output of each begins."""
    marked = [f"echo '{MARK} {number} ==='\n{block.script}" for number, block in enumerate(blocks())]
    # Commands report on both outputs. The trace goes to a third, since it has the commands too.
    return "exec 9>&2 2>&1; BASH_XTRACEFD=9; PS4='+ $EPOCHREALTIME '\nset -xeuo pipefail\n" + "\n".join(marked)


def find_missing(expected: Sequence[str], output: str) -> Sequence[str]:
    """Return the lines that the output does not have, each after the one before. `…` stands for any characters."""
    lines = iter(output.splitlines())
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in expected]
    return [
        line
        for line, pattern in zip(expected, patterns, strict=True)
        if not any(re.search(pattern, printed) for printed in lines)
    ]


def test_a_line_that_is_not_printed_in_its_place_is_found() -> None:
    output = "one 1\ntwo 2 and more\nthree"
    assert find_missing(["one …", "two … more"], output) == []
    assert find_missing(["two …", "one …"], output) == ["one …"]
    assert find_missing(["four"], output) == ["four"]


def test_the_page_says_what_its_commands_need_on_a_laptop() -> None:
    introduction = PAGE.read_text().partition("\n## ")[0]
    additions = ("`sam build`", "`sam deploy`", *(f"`{name}=" for name in LAPTOP_PARAMETERS), "`.tools/aws/bin`")
    assert [addition for addition in additions if addition not in introduction] == []


def stored_resources(laptop: Laptop) -> set[str]:
    """Return the tables and buckets. The bucket of SAM is not of the stack."""
    tables = laptop.client("dynamodb").list_tables()["TableNames"]
    buckets = [bucket["Name"] for bucket in laptop.client("s3").list_buckets()["Buckets"]]
    return {*tables, *(name for name in buckets if not name.startswith("aws-sam-cli"))}


@pytest.fixture
def shell_environment(laptop: Laptop, tmp_path: Path) -> dict[str, str]:
    environment = {**tool_environment(), **laptop.emulator.environment()}
    shim = tmp_path / "bin" / "sam"
    shim.parent.mkdir()
    values = (machine_architecture(), laptop.emulator.url)
    extra = " ".join(f"{name}={value}" for name, value in zip(LAPTOP_PARAMETERS, values, strict=True))
    code = BUILD_CODE.format(log=tmp_path / "build.log")
    build = ":" if is_proof() else SHARED_BUILD.format(python=sys.executable, code=code)
    shim.write_text(SAM.format(extra=extra, sam=PROJECT / ".tools/sam/bin/sam", build=build))
    shim.chmod(0o755)
    (shim.parent / "aws").symlink_to(PROJECT / ".tools/aws/bin/aws")
    path = f"{shim.parent}{os.pathsep}{environment['PATH']}"
    return {**environment, "PATH": path, "AWS_PAGER": ""}


def slowest(trace: str) -> str:
    """The commands of a shell's trace that took longest, each up to the one that follows."""
    lines = [match.groups() for match in re.finditer(r"^\++ (\d+[.,]\d+) (.*)$", trace, re.MULTILINE)]
    times = [float(at.replace(",", ".")) for at, _ in lines]
    took = sorted(
        ((after - at, line) for at, after, (_, line) in zip(times, times[1:], lines, strict=False)), reverse=True
    )
    return "\n".join(f"  {seconds:5.1f} s  {line[:100]}" for seconds, line in took[:SLOWEST])


def test_every_block_runs_and_no_resource_remains(
    laptop: Laptop, shell_environment: dict[str, str], tmp_path: Path, show_line: ShowLine
) -> None:
    before = stored_resources(laptop)
    done = subprocess.run(
        ["bash", "-c", build_script()],
        cwd=link_project(tmp_path / "project") if is_proof() else PROJECT,
        env=shell_environment,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    outputs = re.split(rf"^{MARK} \d+ ===$", done.stdout, flags=re.MULTILINE)[1:]
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    show_line(f"docs/operations.md, its slowest commands:\n{slowest(done.stderr)}")
    missing = [
        find_missing(block.printed, output)
        for block, output in zip(blocks(), outputs, strict=True)
        if is_proof() or block.script != BUILD  # otherwise it is not sam that builds
    ]
    assert not any(missing), f"{missing}\n{done.stdout[-20_000:]}"
    assert sum(len(block.printed) > 0 for block in blocks()) >= STEPS
    assert '"state": "revoked"' in done.stdout
    assert '{"function": "email::send", "setting": "tool_timeout_ms", "value": 5000}' in done.stdout
    assert '"state": "closed", "was_open": false' in done.stdout
    assert "+ handbook\npublished: 1 added, 0 changed, 0 same, 0 removed\n" in done.stdout
    # The restored table had the keys: the list after the restore shows what the list before it did.
    assert done.stdout.count('"name": "publisher"') == 2
    assert stored_resources(laptop) == before
