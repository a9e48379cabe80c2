"""The keys of executors, each derived from those of the stack: whoever is placed gets them first, since a function that
can be found can be called."""

from collections.abc import Sequence

from signpost.contract import Executor
from signpost.loads import NotPlaced
from signpost.model import MasterKeys
from signpost.policy.capabilities import executor_key
from signpost.ports import Directory, ExecutorSecrets, MasterKeyStore


class ExecutorKeys:
    def __init__(self, *, stack_keys: MasterKeyStore, secrets: ExecutorSecrets, directory: Directory) -> None:
        self._stack_keys = stack_keys
        self._secrets = secrets
        self._directory = directory

    def give(self, executor: Executor) -> MasterKeys | NotPlaced:
        """Answers the keys of the stack that they were derived from."""
        if problem := self._problem_with_secret(executor):
            return NotPlaced("invalid_secret", f"{executor.arn}: {problem}")
        keys = self._stack_keys.read()
        if not self._write(executor, keys):
            return NotPlaced("invalid_secret", f"{executor.arn}: there is no secret {executor.key_secret_arn}.")
        return keys

    def renew(self, executor: Executor, given: MasterKeys) -> None:
        """Again, if they were rotated meanwhile: by somebody who did not find the executor in the directory yet, or
        whose keys for it have just been overwritten."""
        if (now := self._stack_keys.read()) != given:
            self._write(executor, now)

    def hand_out(self, keys: MasterKeys) -> Sequence[str]:
        """Gives every executor its keys, before the stack signs with new ones. Answers those whose secret is gone."""
        executors = {(one.executor.arn, one.executor.key_secret_arn): one.executor for one in self._directory.placed()}
        return [executor.arn for executor in executors.values() if not self._write(executor, keys)]

    def _problem_with_secret(self, executor: Executor) -> str | None:
        """An executor names its secret itself, and might name the stack's or another one's to have it overwritten."""
        if problem := self._secrets.problem_with(executor.key_secret_arn):
            return problem
        for placed in self._directory.placed():
            other = placed.executor
            if other.key_secret_arn == executor.key_secret_arn and other.arn != executor.arn:
                return f"its secret holds the keys of {other.arn}."
        return None

    def _write(self, executor: Executor, keys: MasterKeys) -> bool:
        return self._secrets.write(executor.key_secret_arn, keys_of(executor.arn, keys))


def keys_of(executor_arn: str, stack_keys: MasterKeys) -> MasterKeys:
    previous = stack_keys.previous
    return MasterKeys(
        current=executor_key(stack_keys.current, executor_arn),
        previous=executor_key(previous, executor_arn) if previous is not None else None,
    )
