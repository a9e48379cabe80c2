"""What the makefiles of `sam build` read: a build in a container sees the folder of its resource, and no other."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from local.intrinsics import parse_template

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATE: dict[str, Any] = parse_template((PROJECT / "template.yaml").read_text())
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]
TARGETS = {"layers/shared": "build-SharedLayer", "functions/executor_core": "build-ExecutorCoreFunction"}


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
@pytest.mark.parametrize("folder", TARGETS)
def test_a_build_reads_files_of_its_own_folder_alone(folder: str, architecture: str, tmp_path: Path) -> None:
    source, artifacts = tmp_path / "source", tmp_path / "artifacts"
    shutil.copytree(PROJECT / folder, source, symlinks=True)
    command = ["make", "--dry-run", "--makefile", str(source / "Makefile"), TARGETS[folder]]
    done = subprocess.run(
        [*command, f"ARTIFACTS_DIR={artifacts}", "SIGNPOST_STAGE="],
        cwd=source / "platforms" / architecture,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # The line of the test stage copies nothing in a product build.
    product = "\n".join(line for line in done.stdout.splitlines() if "tests/stage" not in line)
    read = {Path(path) for path in re.findall(r"(?<![\w.*/])/[\w./-]+", product)}
    outside = {path for path in read if not path.is_relative_to(tmp_path)}
    assert outside <= {Path("/opt/python"), Path("/var/task")}, done.stdout
    assert source / "requirements.txt" in read, done.stdout
    missing = {path for path in read if path.is_relative_to(source) and not path.exists()}
    assert not missing, done.stdout


def test_a_build_works_in_a_folder_of_its_own_resource() -> None:
    """SAM finds the working directory in a container only below the folder that it mounts."""
    built = {
        resource["Properties"].get("CodeUri") or resource["Properties"]["ContentUri"]: resource["Metadata"]
        for resource in RESOURCES.values()
        if resource.get("Metadata", {}).get("BuildMethod") == "makefile"
    }
    assert sorted(built) == sorted(TARGETS)
    for folder, metadata in built.items():
        assert metadata["WorkingDirectory"] == {"Fn::Sub": f"{folder}/platforms/${{Architecture}}"}


def test_the_page_on_operations_names_the_programs_of_a_build() -> None:
    makefiles = "".join((PROJECT / folder / "Makefile").read_text() for folder in TARGETS)
    programs = set(re.findall(r"^\t([a-z][\w.]*)", makefiles.replace("\\\n", " "), re.MULTILINE))
    assert "python3.13" in programs
    prerequisites = (PROJECT / "docs/operations.md").read_text().partition("## Deploy")[0]
    everywhere = {"cp", "rm", "find"}
    assert {name for name in (*programs, "make", "pip") if f"`{name}`" not in prerequisites} <= everywhere
