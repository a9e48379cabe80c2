"""A temporary stack for one command, deployed to an emulator of its own and deleted with it."""

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local.emulator import Emulator
from local.ports import free_port
from local.progress import Progress
from local.stack import Build, build, deploy, machine_architecture, resource_names

STACK = "throwaway"


@contextmanager
def throwaway_stack(progress: Progress) -> Generator[tuple[Build, Mapping[str, str], Mapping[str, str]]]:
    """Provide the build, the environment of its AWS clients, and the names of its resources by logical id."""
    with tempfile.TemporaryDirectory(prefix="signpost-") as folder:
        home = Path(folder)
        emulator = Emulator(home, free_port())
        built = build("product", log=home / "build.log", progress=progress)
        try:
            emulator.start()
            parameters = {"Architecture": machine_architecture(), "EndpointUrl": emulator.url}
            deploy(emulator, STACK, built, parameters, log=home / "deploy.log", progress=progress)
            yield built, emulator.environment(), resource_names(emulator, STACK)
        finally:
            emulator.stop()
