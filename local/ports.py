"""The ports of a laptop cloud: three in a row, on loopback."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from local.errors import CloudError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """The port of the front door, and the two that follow it."""

    door: int

    @property
    def emulator(self) -> int:
        """The port of the emulator."""
        return self.door + 1

    @property
    def issuer(self) -> int:
        """The port of the token issuer."""
        return self.door + 2

    def __iter__(self) -> Iterator[int]:
        return iter((self.door, self.emulator, self.issuer))


def port_in_use_error(port: int) -> CloudError:
    """Return the error for a port on which another program listens."""
    return CloudError(
        f"Port {port} is in use by another program. Stop that program, or choose other ports, for example: "
        "make run PORT=8865"
    )


def ensure_free(port: int) -> None:
    """Raise an error if a program listens on this port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise port_in_use_error(port) from error


def free_port() -> int:
    """Return a port on which no program listens at the moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]
