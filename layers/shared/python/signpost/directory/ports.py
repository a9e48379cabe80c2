"""Ports of the directory: its stored rows, and the AWS services that placing an executor needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from signpost.contract import Executor, ExecutorVersion, HostedFunction, PlacedExecutor
    from signpost.directory.model import DirectoryChange, DirectorySnapshot
    from signpost.model import MasterKeys


class ExecutorInspector(Protocol):
    def inspect(self, lambda_function: str) -> Executor | str:
        """Return the executor behind a name or ARN, or a sentence that says why it is not an executor."""
        ...


class ExecutorTags(Protocol):
    def read_tag(self, executor_arn: str, name: str) -> str | None:
        """Return the text of a tag of the Lambda function; None without the tag or without the function."""
        ...


class ExecutorSecrets(Protocol):
    def problem_with(self, secret: str) -> str | None:
        """Say why keys of an executor must not be written to this secret; None if they may be."""
        ...

    def write(self, secret: str, keys: MasterKeys) -> bool:
        """Write the keys. Return False if there is no such secret."""
        ...


class Directory(Protocol):
    """The record of which executor hosts which functions. The tenant None stands for the functions that the deployment
    ships to every tenant."""

    def list_placed(self) -> Sequence[PlacedExecutor]:
        """List all placements of all tenants, one per tenant and executor."""
        ...

    def place(
        self,
        tenant: str | None,
        executor: Executor,
        hosted: Sequence[HostedFunction],
        terms: ExecutorVersion | None = None,
    ) -> Sequence[str]:
        """Make these, and no others, the functions of the executor. If other executors host some of them, change
        nothing and return those."""
        ...

    def remove(self, tenant: str | None, executor_arn: str) -> bool:
        """Remove the executor's functions. Return False if it hosts none for this tenant."""
        ...


class LoadedExecutors(Protocol):
    """The directory of a tenant, where it changes at run time."""

    def read(self, tenant: str) -> DirectorySnapshot: ...

    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        """Decide on a snapshot of the directory and write the whole change, with its notices, in one transaction.
        Decide again if another change was written first."""
        ...
