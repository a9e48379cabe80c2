"""What the makefiles of `sam build` read: a build in a container sees the folder of the built resource, and no other."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
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
