"""A folder with an app.py as an executor beside a stack: its template, and the SAM CLI that deploys it."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from signpost.cli.failure import CommandFailed
from signpost.execution.allow_list import MARK, AllowList
from signpost.loads import NotPlaced

TEMPLATE = "template.yaml"
APP = "app.py"
NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
LONGEST_NAME = 64
"""Characters of the name of a Lambda function."""

type Tell = Callable[[str], None]


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
    called = f"{beside}-executor-{name}"
    if len(called) > LONGEST_NAME:
        raise CommandFailed(f"The Lambda function would be called {called}, which may have {LONGEST_NAME} characters.")
    return called


def check_allowed(name: str, gateway: str, allowed: str) -> None:
    """Whether a stack may call it, by the ARN of its gateway and its parameter ExecutorFunctions: before it is built
    for nothing. Raises CommandFailed."""
    patterns = [pattern.strip() for pattern in allowed.split(",") if pattern.strip()]
    place = gateway.partition(MARK)[0]
    arn = f"{place}{MARK}{name}"
    if isinstance(AllowList(patterns).arn_of(arn), NotPlaced):
        wider = ",".join((*patterns, arn))
        raise CommandFailed(f"The stack may not call {name}. Deploy it with the parameter ExecutorFunctions={wider}")


def deploy(folder: Path, name: str, parameters: Mapping[str, str], tell: Tell) -> None:
    """As its author could do it by hand: `sam build && sam deploy`, which take minutes, so that each of their lines is
    told at once. Raises CommandFailed."""
    overrides = [f"{parameter}={value}" for parameter, value in parameters.items() if value]
    given = ["--parameter-overrides", *overrides]
    _sam(folder, ["build", "--template-file", TEMPLATE, *given], tell)
    quietly = ("--resolve-s3", "--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar")
    _sam(folder, ["deploy", "--stack-name", name, "--capabilities", "CAPABILITY_IAM", *quietly, *given], tell)


def _sam(folder: Path, arguments: Sequence[str], tell: Tell) -> None:
    program = shutil.which("sam")
    if program is None:
        raise CommandFailed('The SAM CLI is not on the PATH. On a laptop cloud: eval "$(make env)"')
    running = subprocess.Popen(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with running:
        for line in running.stdout or ():
            tell(line.rstrip())
    if running.returncode:
        raise CommandFailed(f"sam {arguments[0]} failed in {folder}; what it says of that stands above.")


def _check_is_one(folder: Path) -> None:
    if not (folder / APP).is_file():
        raise CommandFailed(f"There is no {APP} in {folder}: the module with `handler = executor(…)`.")
