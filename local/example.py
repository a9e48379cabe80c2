"""The executors of examples/ beside the stack.

The executor of the first slash command is always deployed and placed. `python -m local example` loads the others.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local.emulator import PROJECT, Emulator
from local.errors import CloudError
from local.progress import Progress
from local.sources import digest_of_files
from local.stack import Build, DeployedStack, deploy, machine_architecture
from signpost.cli import remote
from signpost.cli import stack as operator
from signpost.cli.failure import CommandFailed
from signpost.directory.placement import PlacementError
from signpost.errors import Unavailable

TENANT = "default"


@dataclass(frozen=True, slots=True)
class Example:
    """A folder with a template, and with code that imports nothing but the layer."""

    folder: str
    stack_name: str
    """The name of its stack, and also of its function."""

    @property
    def function_arn(self) -> str:
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.stack_name}"

    def deploy(self, emulator: Emulator, signpost: DeployedStack, home: Path, progress: Progress) -> None:
        parameters = {
            "LayerArn": signpost.outputs["LayerArn"],
            "Architecture": machine_architecture(),
            "EndpointUrl": emulator.url,
        }
        # No build is needed: all modules that it imports are in the layer.
        digest = digest_of_files(PROJECT, (f"{self.folder}/template.yaml", f"{self.folder}/executor"))
        log = home / f"deploy-{self.stack_name}.log"
        deploy(emulator, self.stack_name, Build(PROJECT / self.folder, digest), parameters, log=log, progress=progress)


WELCOME = Example("examples/welcome", "signpost-welcome")
LOADABLE: Mapping[str, Example] = {"system-info": Example("examples/system-info", "signpost-system-info")}


def provide_example(emulator: Emulator, signpost: DeployedStack, home: Path, progress: Progress) -> None:
    """Deploy the first example as a stack of its own, as an author does, and place its executor for the tenant."""
    WELCOME.deploy(emulator, signpost, home, progress)
    try:
        with operator.open_adapters(signpost.name) as adapters:
            adapters.placer.place(WELCOME.function_arn, TENANT)
    except (CommandFailed, PlacementError) as fault:
        raise CloudError(f"The example cannot be called: {fault}") from fault


def load_example(name: str, emulator: Emulator, signpost: DeployedStack, home: Path, progress: Progress) -> None:
    """Deploy an example as a stack of its own, and load or reload it as an administrator of the tenant."""
    example = LOADABLE[name]
    example.deploy(emulator, signpost, home, progress)
    try:
        with operator.open_adapters(signpost.name) as adapters:
            loaded = {placed.executor.arn for placed in adapters.directory.list_placed() if placed.tenant is not None}
        operation = "reload" if example.function_arn in loaded else "load"
        with remote.connect_registry_once(signpost.name, emulator.url, progress.say) as call:
            result = call(f"skills::{operation}", {"executor": example.function_arn})
    except (CommandFailed, Unavailable) as fault:
        raise CloudError(f"The example is not loaded: {fault}") from fault
    progress.say(json.dumps(result))
