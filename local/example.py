"""The executor of examples/welcome beside the stack, so that the first slash command has a function behind it."""

from pathlib import Path

from local.emulator import PROJECT, Emulator
from local.errors import CloudError
from local.progress import Progress
from local.sources import digest_of_files
from local.stack import Build, DeployedStack, deploy, machine_architecture
from signpost.cli import stack as operator
from signpost.cli.failure import CommandFailed
from signpost.execution.placement import PlacementRefused

STACK_NAME = "signpost-welcome"
FUNCTION_ARN = "arn:aws:lambda:us-east-1:000000000000:function:signpost-welcome"
TENANT = "default"

_FOLDER = "examples/welcome"
_SOURCES = (f"{_FOLDER}/template.yaml", f"{_FOLDER}/executor")


def provide_example(emulator: Emulator, signpost: DeployedStack, home: Path, progress: Progress) -> None:
    """Deploys it, as a stack of an author's own, and has the tenant call it."""
    parameters = {
        "LayerArn": signpost.outputs["LayerArn"],
        "Architecture": machine_architecture(),
        "EndpointUrl": emulator.url,
    }
    # There is nothing to build: all that it imports is in the layer.
    source = Build(PROJECT / _FOLDER, digest_of_files(PROJECT, _SOURCES))
    deploy(emulator, STACK_NAME, source, parameters, log=home / "deploy-example.log", progress=progress)
    try:
        with operator.keys(signpost.name) as keys:
            keys.placer.place(FUNCTION_ARN, TENANT)
    except (CommandFailed, PlacementRefused) as fault:
        raise CloudError(f"The example cannot be called: {fault}") from fault
