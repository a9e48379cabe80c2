"""The ports of a laptop cloud: three in a row, on loopback."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from local.errors import CloudError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """The door's port, and the two behind it."""

    door: int

    @property
    def emulator(self) -> int:
        """Where the emulator listens."""
        return self.door + 1

    @property
    def issuer(self) -> int:
        """Where the issuer of tokens listens."""
        return self.door + 2

    def __iter__(self) -> Iterator[int]:
        return iter((self.door, self.emulator, self.issuer))


def taken(port: int) -> CloudError:
    """Say that a port belongs to somebody else."""
    return CloudError(
        f"Port {port} is in use by another program. Stop that program, or choose other ports, for example: "
        "make run PORT=8865"
    )


def ensure_free(port: int) -> None:
    """Fail if something listens on this port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise taken(port) from error


def free_port() -> int:
    """A port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]
