"""A session in which SAM's local commands work: an engine, a stack on an emulator, and the way between them."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import boto3

from local.errors import CloudError
from local.progress import Progress
from local.project import Project
from local.sam import tool_environment
from local.sam_local.engine import Engine, docker, docker_answers
from local.sam_local.network import PortRelay
from local.sam_local.podman import podman
from local.sam_local.variables import ENDPOINT, deployed_variables
from local.stack import machine_architecture
from local.throwaway import throwaway_stack

_SECONDS_FOR_A_COMMAND = 600.0


@dataclass(frozen=True, slots=True)
class SamSession:
    project: Project
    engine: Engine
    environment: Mapping[str, str]
    """The environment of SAM's commands, with the variables that the page's commands use."""

    def start(self, command: str, log: Path) -> "subprocess.Popen[bytes]":
        """Start a shell command as the leader of a process group of its own."""
        with log.open("wb") as out:
            return subprocess.Popen(
                self._words(f"exec {command}"),
                cwd=self.project.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Run a shell command. Raises CloudError, with the end of its error output, if it fails."""
        try:
            done = subprocess.run(
                self._words(command),
                cwd=self.project.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS_FOR_A_COMMAND,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CloudError(f"no answer after {_SECONDS_FOR_A_COMMAND:.0f} s: {command}") from error
        if done.returncode != 0:
            raise CloudError(f"exit code {done.returncode}: {command}\n{done.stderr[-3000:]}")
        return done

    def open_shell(self) -> int:
        """Run the developer's shell until it ends, and return its exit code."""
        shell = os.environ.get("SHELL", "bash")
        return subprocess.run(
            [*self.engine.prefix, shell], cwd=self.project.root, env=self.environment, check=False
        ).returncode

    def _words(self, command: str) -> list[str]:
        return [*self.engine.prefix, "bash", "-o", "pipefail", "-c", command]


@contextlib.contextmanager
def open_session(progress: Progress) -> Generator[SamSession]:
    """Provide a session with a stack of its own. All of it but the image is removed after the block."""
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(docker() if docker_answers() else podman(progress))
        build, environment, names = stack.enter_context(throwaway_stack(progress))
        project = Project(build=build.directory)
        endpoint = stack.enter_context(_endpoint_for_containers(engine, environment[ENDPOINT]))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sam-local-")))
        file = folder / "env-vars.json"
        deployed = _deployed_variables(project, environment, names)
        file.write_text(json.dumps(deployed_variables(deployed, project.built_template(), endpoint), indent=1))
        yield SamSession(project, engine, _command_environment(engine, environment, file))


@contextlib.contextmanager
def _endpoint_for_containers(engine: Engine, endpoint: str) -> Generator[str]:
    """Provide the address at which containers reach the emulator, which listens on loopback only."""
    port = urlsplit(endpoint).port or 0
    listener = engine.listen()
    if listener is None:
        yield f"http://{engine.bridge}:{port}"
        return
    with PortRelay(listener, port):
        yield f"http://{engine.bridge}:{listener.getsockname()[1]}"


def _deployed_variables(
    project: Project, environment: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    client = boto3.client(
        "lambda",
        endpoint_url=environment[ENDPOINT],
        region_name=environment["AWS_REGION"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )
    functions = sorted(project.logical_ids().values())
    configurations = {name: client.get_function_configuration(FunctionName=names[name]) for name in functions}
    return {name: found.get("Environment", {}).get("Variables", {}) for name, found in configurations.items()}


def _command_environment(engine: Engine, environment: Mapping[str, str], variables: Path) -> dict[str, str]:
    """Return the environment of SAM's commands. It has no AWS_ENDPOINT_URL, so that only the file decides."""
    credentials = {name: value for name, value in environment.items() if name != ENDPOINT}
    page = {"ENV_VARS": str(variables), "ARCHITECTURE": machine_architecture()}
    return {**tool_environment(), **credentials, **engine.environment, **page}
