"""Who runs in a bench: what stands for it, where its packages are, how its processes are started."""

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
    """Somebody with an init and, unless it is the floor, a handler. `answering` is the module of the handler whose
    first answer is timed, `warm` that of the one with the tools of the bench."""

    name: str
    init: str
    search_path: tuple[Path, ...]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    answering: str = ""
    warm: str = ""
    python: Path = Path(sys.executable)
    rival: bool = False
    """One that we mean to be ahead of; the others are only shown."""


@dataclass(frozen=True, slots=True)
class Peer:
    module: str
    venv: str
    distribution: str
    name: str
    rival: bool = True

    def contender(self, root: Path, variables: Mapping[str, str]) -> Contender:
        module = f"bench.peers.{self.module}"
        packages = self._packages()
        return Contender(
            name=self.name.format(_version(self.distribution, packages)),
            init=f"import {module}",
            search_path=(packages, root),
            variables=variables,
            answering=module,
            warm=module,
            python=_TOOLS / self.venv / "bin" / "python",
            rival=self.rival,
        )

    def _packages(self) -> Path:
        found = next((_TOOLS / self.venv).glob("lib/python*/site-packages"), None)
        if found is None:
            raise BenchError(f"{self.venv} is not installed. Install it: local/setup.sh {self.venv}")
        return found


PEERS = (
    Peer("fastmcp_mangum", "bench-fastmcp", "fastmcp", "FastMCP {} + Mangum"),
    Peer("mcp_mangum", "bench-mcp-mangum", "mcp", "MCP SDK {} + Mangum"),
    Peer("mcp_kernel", "bench-mcp-kernel", "mcp", "MCP SDK {}, kernel alone"),
    Peer("awslabs", "bench-awslabs", "awslabs-mcp-lambda-handler", "awslabs handler {}", rival=False),
)


def floor(gateway: BuiltFunction, variables: Mapping[str, str]) -> Contender:
    init = "import boto3; boto3.client('dynamodb')"
    return Contender(_FLOOR_NAME, init, gateway.search_path[1:], variables)


def ours(project: Project, gateway: BuiltFunction, variables: Mapping[str, str]) -> Contender:
    return Contender(
        name=_OURS_NAME,
        init="import app",
        search_path=(*gateway.search_path, project.root),
        variables={**gateway.environment, **variables},
        answering="app",
        warm="bench.ours",
    )


def peers(project: Project, variables: Mapping[str, str]) -> Iterator[Contender]:
    return (peer.contender(project.root, variables) for peer in PEERS)


def _version(distribution: str, packages: Path) -> str:
    found = next(iter(distributions(name=distribution, path=[str(packages)])), None)
    if found is None:
        raise BenchError(f"{packages} holds no {distribution}")
    return found.version
