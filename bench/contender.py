"""The contenders of a bench, each with its modules, its packages and the way its processes are started."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path

from bench.errors import BenchError
from local.built import BuiltFunction
from local.project import Project

_TOOLS = Path(__file__).parents[1] / ".tools"
_FLOOR_NAME = "floor: Python + boto3.client('dynamodb')"
_OURS_NAME = "signpost, jwt"


@dataclass(frozen=True, slots=True)
class Contender:
    """A program that is measured: an init and, unless it is the floor, a handler."""

    name: str
    init: str
    """The Python statements of the cold init."""
    search_path: tuple[Path, ...]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    first_module: str = ""
    """The module of the handler that is timed until its first answer."""
    warm_module: str = ""
    """The module of the handler with the tools of the bench."""
    python: Path = Path(sys.executable)
    is_rival: bool = False
    """Whether a verdict compares the gateway with it. The others are only shown."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another MCP server, installed in a venv of its own."""

    module: str
    venv: str
    distribution: str
    name: str
    """The name in the table, with {} for the version of the distribution."""
    is_rival: bool = True

    def contender(self, root: Path, variables: Mapping[str, str]) -> Contender:
        module = f"bench.peers.{self.module}"
        packages = self._packages()
        return Contender(
            name=self.name.format(_version(self.distribution, packages)),
            init=f"import {module}",
            search_path=(packages, root),
            variables=variables,
            first_module=module,
            warm_module=module,
            python=_TOOLS / self.venv / "bin" / "python",
            is_rival=self.is_rival,
        )

    def _packages(self) -> Path:
        packages = next((_TOOLS / self.venv).glob("lib/python*/site-packages"), None)
        if packages is None:
            raise BenchError(f"{self.venv} is not installed. Install it: local/setup.sh {self.venv}")
        return packages


PEERS = (
    Peer("fastmcp_mangum", "bench-fastmcp", "fastmcp", "FastMCP {} + Mangum"),
    Peer("mcp_mangum", "bench-mcp-mangum", "mcp", "MCP SDK {} + Mangum"),
    Peer("mcp_kernel", "bench-mcp-kernel", "mcp", "MCP SDK {}, kernel alone"),
    Peer("awslabs", "bench-awslabs", "awslabs-mcp-lambda-handler", "awslabs handler {}", is_rival=False),
)


def floor_contender(gateway: BuiltFunction, variables: Mapping[str, str]) -> Contender:
    init = "import boto3; boto3.client('dynamodb')"
    return Contender(_FLOOR_NAME, init, gateway.search_path[1:], variables)


def our_contender(project: Project, gateway: BuiltFunction, variables: Mapping[str, str]) -> Contender:
    return Contender(
        name=_OURS_NAME,
        init="import app",
        search_path=(*gateway.search_path, project.root),
        variables={**gateway.environment, **variables},
        first_module="app",
        warm_module="bench.ours",
    )


def peer_contenders(project: Project, variables: Mapping[str, str]) -> Iterator[Contender]:
    return (peer.contender(project.root, variables) for peer in PEERS)


def _version(distribution: str, packages: Path) -> str:
    installed = next(iter(distributions(name=distribution, path=[str(packages)])), None)
    if installed is None:
        raise BenchError(f"{distribution} is not installed in {packages}")
    return installed.version
