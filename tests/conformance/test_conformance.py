"""The official conformance suite against the deployed test stage, in both eras. An executor hosts the functions that
the suite calls, and `/mcp/functions` lists them under the suite's names."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.executors import Executors
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

NODE_MODULES = Path(".tools/node/node_modules").resolve()
SUITE = NODE_MODULES / "@modelcontextprotocol/conformance/dist/index.js"
BASELINE = Path(__file__).parent / "baseline-2025-11-25.yml"
SCORED = 37
PENDING = 3
OF_EXTENSIONS = 10
"""The scenarios of the tasks extension. The suite plays them, but does not score them."""


ANSWERS_TO_NOTHING = "sep-2322-ignore-unexpected-params"
"""Warns that a first request with answers is asked. Nothing was asked before it, so its answers answer nothing: without
the sealed state of their questions, any client could answer what a function has not asked (invariant 149)."""


def summary(printed: str) -> tuple[set[str], set[str]]:
    """The scenarios of the suite's closing table: those that passed, and those that did not."""
    table = printed.split("=== SUMMARY ===")[1].split("Total:", maxsplit=1)[0]
    marks = re.findall(r"(✓|✗) ([\w-]+):", table)
    return {name for mark, name in marks if mark == "✓"}, {name for mark, name in marks if mark == "✗"}


def read_faults(folder: Path) -> Iterator[str]:
    """Read what the suite found wrong."""
    for file in folder.rglob("checks.json"):
        checks = [check for check in json.loads(file.read_text()) if check["status"] == "FAILURE"]
        yield from (f"{check['id']}: {check.get('errorMessage')}" for check in checks)


@pytest.fixture(autouse=True)
def hosted_fixtures(fixture_executors: Executors) -> None:
    """Host the functions that the suite calls, which takes their deployment."""
    del fixture_executors


def run(stage: Stack, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    url = f"{stage.url}/functions"
    command = [NODE_MODULES / ".bin/node", SUITE, "server", "--url", url, "-o", folder, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    print(done.stdout[-6000:], done.stderr[-2000:])  # noqa: T201 - `make conformance` shows it
    return done


@pytest.mark.invariant(26)
def test_2026_07_28_passes_all_scenarios(stage: Stack, tmp_path: Path) -> None:
    done = run(stage, tmp_path, "--requirements", "2026-07-28")
    assert done.returncode == 0, done.stdout[-3000:]
    passed, failed = summary(done.stdout)
    assert failed == set(), list(read_faults(tmp_path))
    assert len(passed | failed) == SCORED + PENDING + OF_EXTENSIONS
    rounds = [check for file in tmp_path.glob("*input-required*/checks.json") for check in json.loads(file.read_text())]
    assert {check["id"] for check in rounds if check["status"] != "SUCCESS"} == {ANSWERS_TO_NOTHING}


def test_2025_11_25_passes_except_for_its_baseline(stage: Stack, tmp_path: Path) -> None:
    done = run(stage, tmp_path, "--requirements", "2025-11-25", "--expected-failures", str(BASELINE))
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize(
    "scenario", ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"]
)
def test_the_pending_scenarios_pass(stage: Stack, tmp_path: Path, scenario: str) -> None:
    done = run(stage, tmp_path, "--scenario", scenario, "--spec-version", "2026-07-28")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "0 failed" in done.stdout


SKILLS = {
    "aviary": "# Aviary\n\nKeeps birds.\n",
    "aviary/feeding": "---\nname: feeding\ndescription: Feeds birds.\nmetadata: {version: '1.0'}\n---\n\n# Feeding\n",
    "aviary/feeding/at-night": "# At night\n\nFeeds owls.\n",
    "zoo": "# Zoo\n",
}
"""The suite reads the directory of the skill that is listed first, which needs another one inside it."""

NOT_LISTED = {"sep-2640-skillmd-metadata-name", "sep-2640-skillmd-metadata-description"}
"""Warnings about what resources/list would say of a SKILL.md. There every document is once, at its `iii://` address."""
CHECKS = {"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7}


@pytest.fixture(scope="module")
def stage_with_skills(laptop: Laptop, stage: Stack) -> Stack:
    functions, name = laptop.client("lambda"), stage.deployed.outputs["RegistryFunctionName"]
    for skill_id, body in SKILLS.items():
        event = {"function_id": "skills::register", "payload": {"id": skill_id, "skill": body}}
        answer = json.loads(functions.invoke(FunctionName=name, Payload=json.dumps(event).encode())["Payload"].read())
        assert answer.get("id") == skill_id, answer
    return stage


def read_checks(folder: Path) -> list[Any]:
    """What the suite wrote down of each check."""
    (written,) = folder.rglob("checks.json")
    return json.loads(written.read_text())


@pytest.mark.parametrize("scenario", CHECKS)
def test_the_scenarios_of_the_skills_extension_pass(stage_with_skills: Stack, tmp_path: Path, scenario: str) -> None:
    done = run(stage_with_skills, tmp_path, "--scenario", scenario)
    assert done.returncode == 0, done.stdout[-3000:]
    judged = {check["id"]: check["status"] for check in read_checks(tmp_path)}
    assert len(judged) == CHECKS[scenario]
    assert {check for check, status in judged.items() if status != "SUCCESS"} <= NOT_LISTED
    assert "SKIPPED" not in judged.values()
