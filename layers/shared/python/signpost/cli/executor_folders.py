"""A folder with an app.py as an executor beside a stack: its template, and the SAM CLI that deploys it."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from signpost.cli.failure import CommandFailed

TEMPLATE = "template.yaml"
APP = "app.py"
NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
SHOWN_LINES = 25


def template() -> str:
    """What an executor of functions without needs of their own is deployed from."""
    return files("signpost.cli").joinpath("executor_template.yaml").read_text("utf-8")


def write_template(folder: Path) -> bool:
    """False if there is one: it is its author's."""
    _check_is_one(folder)
    try:
        with (folder / TEMPLATE).open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError:
        return False
    return True


def stack_name(folder: Path, beside: str) -> str:
    """Of the executor, and so of its Lambda function: known before there is one, so that a stack can allow it."""
    name = folder.resolve().name.lower().replace("_", "-")
    if not NAME.fullmatch(name):
        raise CommandFailed(f"The executor is called like its folder, and {name!r} is no name: use a-z, 0-9 and -.")
    return f"{beside}-executor-{name}"


def deploy(folder: Path, name: str, parameters: Mapping[str, str]) -> None:
    """As its author could do it by hand: `sam build && sam deploy`. Raises CommandFailed."""
    overrides = [f"{parameter}={value}" for parameter, value in parameters.items() if value]
    given = ["--parameter-overrides", *overrides]
    _sam(folder, ["build", "--template-file", TEMPLATE, *given])
    quietly = ("--resolve-s3", "--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar")
    _sam(folder, ["deploy", "--stack-name", name, "--capabilities", "CAPABILITY_IAM", *quietly, *given])


def _sam(folder: Path, arguments: Sequence[str]) -> None:
    program = shutil.which("sam")
    if program is None:
        raise CommandFailed('The SAM CLI is not on the PATH. On a laptop cloud: eval "$(make env)"')
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        end = "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
        raise CommandFailed(f"sam {arguments[0]} failed in {folder}:\n{end}")


def _check_is_one(folder: Path) -> None:
    if not (folder / APP).is_file():
        raise CommandFailed(f"There is no {APP} in {folder}: the module with `handler = executor(…)`.")
