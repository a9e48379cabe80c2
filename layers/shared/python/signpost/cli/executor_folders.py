"""Deploys a folder with an app.py as an executor of a stack, by the SAM CLI and a template."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import ShowLine
from signpost.directory.allow_list import ARN_MARK, AllowList
from signpost.directory.model import PlacementRefusal

TEMPLATE = "template.yaml"
APP = "app.py"
NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
LONGEST_NAME = 64
"""Characters that the name of a Lambda function may have."""


def read_template() -> str:
    """Read the template for executors that need no resources besides their function."""
    return files("signpost.cli").joinpath("executor_template.yaml").read_text("utf-8")


def write_template(folder: Path) -> bool:
    """Write the template into the folder. Returns False if the folder has one: that belongs to its author."""
    check_has_app(folder)
    try:
        with (folder / TEMPLATE).open("x", encoding="utf-8") as file:
            file.write(read_template())
    except FileExistsError:
        return False
    return True


def stack_name(folder: Path, signpost_stack: str) -> str:
    """Return the name of the stack of an executor, which is also the name of its Lambda function.

    It depends on the folder and the Signpost stack only, so that the Signpost stack can allow the executor before it is
    deployed."""
    name = folder.resolve().name.lower().replace("_", "-")
    if not NAME.fullmatch(name):
        raise CommandFailed(
            f"The name of the folder is the name of the executor, and {name!r} is not valid: use a-z, 0-9 and -, "
            "a letter first, at most 32 characters."
        )
    function_name = f"{signpost_stack}-executor-{name}"
    if len(function_name) > LONGEST_NAME:
        raise CommandFailed(
            f"The name of the Lambda function would be {function_name}, which is longer than {LONGEST_NAME} "
            "characters. Use a shorter folder name."
        )
    return function_name


def check_allowed(name: str, stack_function: str, allowed: str) -> None:
    """Raise CommandFailed unless the Signpost stack may call the executor of this name.

    The ARN of a function of the stack and the parameter ExecutorFunctions of the stack decide. Checked first, so that
    an executor that cannot be called is not built."""
    patterns = [pattern.strip() for pattern in allowed.split(",") if pattern.strip()]
    arn = arn_of(name, stack_function)
    if isinstance(AllowList(patterns).arn_of(arn), PlacementRefusal):
        parameter = ",".join((*patterns, arn))
        raise CommandFailed(
            f"The stack may not call {name}. Deploy the stack with the parameter ExecutorFunctions={parameter}"
        )


def arn_of(name: str, stack_function: str) -> str:
    """Return the ARN of the Lambda function of this name, in the account and region of a function of the stack."""
    return f"{stack_function.partition(ARN_MARK)[0]}{ARN_MARK}{name}"


def deploy(folder: Path, name: str, parameters: Mapping[str, str], show_line: ShowLine) -> None:
    """Run `sam build` and `sam deploy`, as the author could do it by hand. Raises CommandFailed.

    Both take minutes, so each line of their output is shown at once."""
    overrides = [override_of(parameter, value) for parameter, value in parameters.items() if value]
    parameter_options = ["--parameter-overrides", *overrides]
    _run_sam(folder, ["build", "--template-file", TEMPLATE, *parameter_options], show_line)
    quiet_options = ("--resolve-s3", "--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar")
    _run_sam(
        folder,
        ["deploy", "--stack-name", name, "--capabilities", "CAPABILITY_IAM", *quiet_options, *parameter_options],
        show_line,
    )


def override_of(parameter: str, value: str) -> str:
    """Write a parameter as SAM reads it. Without quotes a value ends at its first space."""
    return f'{parameter}="{value}"' if " " in value else f"{parameter}={value}"


def _run_sam(folder: Path, arguments: Sequence[str], show_line: ShowLine) -> None:
    program = shutil.which("sam")
    if program is None:
        raise CommandFailed('The SAM CLI is not on the PATH. Install it, or on a laptop cloud run: eval "$(make env)"')
    process = subprocess.Popen(
        [program, *arguments],
        cwd=folder,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        for line in process.stdout or ():
            show_line(line.rstrip())
    if process.returncode:
        raise CommandFailed(f"`sam {arguments[0]}` failed in {folder}. See its output above.")


def check_has_app(folder: Path) -> None:
    """Raise CommandFailed for a folder that is no executor."""
    if not (folder / APP).is_file():
        raise CommandFailed(f"There is no {APP} in {folder}. Create it, with `handler = executor(…)`.")
