"""The signing keys of executors, each derived from the master keys of the stack.

An executor gets its keys before it is placed, because a function that is in the directory can be called.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.contract import Executor
from signpost.directory.model import PlacementRefusal
from signpost.model import MasterKeys
from signpost.signing.capability_tokens import derive_executor_key

if TYPE_CHECKING:
    from signpost.directory.ports import Directory, ExecutorSecrets
    from signpost.signing.ports import MasterKeyStore


class ExecutorKeys:
    """Writes the signing keys of executors into their secrets."""

    def __init__(self, *, stack_keys: "MasterKeyStore", secrets: "ExecutorSecrets", directory: "Directory") -> None:
        self._stack_keys = stack_keys
        self._secrets = secrets
        self._directory = directory

    def write_keys(self, executor: Executor) -> MasterKeys | PlacementRefusal:
        """Derive the executor's keys, write them into its secret and return the stack keys they were derived from."""
        if problem := self._problem_with_secret(executor):
            return PlacementRefusal("invalid_secret", f"{executor.arn}: {problem}")
        keys = self._stack_keys.read()
        if not self._write(executor, keys):
            return PlacementRefusal("invalid_secret", f"{executor.arn}: there is no secret {executor.key_secret_arn}.")
        return keys

    def rewrite_rotated(self, executor: Executor, derived_from: MasterKeys) -> None:
        """Write the executor's keys again if the stack keys were rotated after `derived_from` was read. The rotation
        may have run before the directory had the executor, or `write_keys` may have overwritten the keys that it
        wrote."""
        if (current := self._stack_keys.read()) != derived_from:
            self._write(executor, current)

    def hand_out(self, keys: MasterKeys) -> Sequence[str]:
        """Write the new keys of every executor, before the stack signs with them. Return the ARNs of the executors that
        have lost their secret."""
        executors = {
            (placed.executor.arn, placed.executor.key_secret_arn): placed.executor
            for placed in self._directory.list_placed()
        }
        return [executor.arn for executor in executors.values() if not self._write(executor, keys)]

    def _problem_with_secret(self, executor: Executor) -> str | None:
        """Say why the executor's secret must not be written. An executor names its secret itself, so it could name the
        stack's secret or that of another executor to have it overwritten."""
        if problem := self._secrets.problem_with(executor.key_secret_arn):
            return problem
        for placed in self._directory.list_placed():
            other = placed.executor
            if other.key_secret_arn == executor.key_secret_arn and other.arn != executor.arn:
                return f"its secret holds the keys of {other.arn}. Give this executor a secret of its own."
        return None

    def _write(self, executor: Executor, keys: MasterKeys) -> bool:
        return self._secrets.write(executor.key_secret_arn, keys_of(executor.arn, keys))


def keys_of(executor_arn: str, stack_keys: MasterKeys) -> MasterKeys:
    """Derive the keys of one executor from the keys of the stack."""
    previous = stack_keys.previous
    return MasterKeys(
        current=derive_executor_key(stack_keys.current, executor_arn),
        previous=derive_executor_key(previous, executor_arn) if previous is not None else None,
    )
