"""The container engine that SAM uses: Docker with AWS's image, or podman with an image of this machine's packages."""

import contextlib
import socket
import subprocess
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from local.sam_local.network import listen

_SECONDS_TO_ANSWER = 20.0
_DESKTOP = "host.docker.internal"
"""The name that Docker Desktop gives this machine in a container, where its loopback answers."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine, and the way from its containers to this machine."""

    name: str
    bridge: str
    """The address of this machine on the network of the containers."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """The variables with which SAM finds the engine."""
    process: int | None = None
    """The process in whose network namespace the containers are, unless it is that of this machine."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words before a command that has to reach the ports of containers."""
        return () if self.process is None else ("nsenter", "--target", str(self.process), "--net", "--")

    def listen(self) -> socket.socket | None:
        """Listen on the bridge's address; None if containers reach this machine's loopback by a name instead."""
        if self.bridge == _DESKTOP:
            return None
        return listen(self.bridge, process=self.process, is_made_later=self.process is not None)


def docker_answers() -> bool:
    """Whether a Docker engine runs and this user may use it."""
    return _ask_docker("version", "--format", "{{.Server.Version}}") is not None


@contextlib.contextmanager
def docker() -> Generator[Engine]:
    """Provide the running Docker engine; SAM pulls the official image and removes its containers."""
    gateway = _ask_docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}") or _DESKTOP
    try:
        listen(gateway, process=None).close()
    except OSError:  # the bridge is in the virtual machine of Docker Desktop
        gateway = _DESKTOP
    yield Engine("Docker", gateway)


def _ask_docker(*arguments: str) -> str | None:
    """Return the line that a command of Docker prints, or None if it fails."""
    try:
        done = subprocess.run(
            ["docker", *arguments], capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
